"""Models without a plot, mismatched data, and a missing matplotlib raise one clear error."""

import sys

import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from pliant import (
    DANKClassifier,
    LABRBFRegressor,
    MKLClassifier,
    TKLClassifier,
)
from pliant.plots import (
    AdaptationDisplay,
    BandwidthDisplay,
    IntervalDisplay,
    RelevanceDisplay,
    TessellationDisplay,
    WeightsDisplay,
)

X, Y = load_iris(return_X_y=True)
LAB = LABRBFRegressor(5, n_members=1, max_iter=2, random_state=0).fit(X, X[:, 0])
TWO = LABRBFRegressor(5, n_members=1, max_iter=2, random_state=0).fit(X, X[:, :2])
MKL = MKLClassifier(["linear", "gaussian"]).fit(X, Y > 0)
TKL = TKLClassifier(tol=0.1).fit(X, Y > 0)
DANK = DANKClassifier().fit(X, Y > 0)

DISPLAYS = {
    AdaptationDisplay: (DANKClassifier(), (X, Y), "learns an adaptive matrix"),
    BandwidthDisplay: (LABRBFRegressor(), (), "learns bandwidths"),
    IntervalDisplay: (LABRBFRegressor(), (X, Y), "with prediction intervals"),
    RelevanceDisplay: (LABRBFRegressor(), (), "learns bandwidths"),
    TessellationDisplay: (TKLClassifier(), (X,), "learns a tessellated kernel"),
    WeightsDisplay: (MKLClassifier(), (), "learns kernel weights"),
}


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_models_that_are_not_fitted_or_have_no_such_picture(display):
    model, data, message = DISPLAYS[display]
    with pytest.raises(NotFittedError):
        display.from_estimator(model, *data)
    with pytest.raises(ValueError, match=f"{message}.* got SVC"):
        display.from_estimator(SVC().fit(X, Y > 0), *data)
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("display", [AdaptationDisplay, TessellationDisplay])
def test_a_model_of_many_classes_sends_to_its_parts(display):
    model, data, _ = DISPLAYS[display]
    fitted = type(model)(tol=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="with 3: plot one of its estimators_"):
        display.from_estimator(fitted, *data)


CALLS = [
    (
        lambda: AdaptationDisplay.from_estimator(DANK, X[:5], Y[:5]),
        "the training points, at least 150",
    ),
    (lambda: IntervalDisplay.from_estimator(LAB, X, Y, coverage=1.0), "coverage < 1, got 1"),
    (lambda: IntervalDisplay.from_estimator(TWO, X, Y), "model with one output, got 2"),
    (lambda: RelevanceDisplay.from_estimator(LAB, kind="bars"), "kind in .* got 'bars'"),
    (lambda: TessellationDisplay.from_estimator(TKL, X, features=(1, 1)), "distinct features"),
    (lambda: WeightsDisplay.from_estimator(MKL, kernel_names=["a"]), "2 kernel_names, got 1"),
    (lambda: WeightsDisplay.from_path([]), "models with equal numbers of kernels"),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=range(len(CALLS)))
def test_parts_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = WeightsDisplay([1.0, 0.1], ["a", "b"])
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'pliant\[plots\]'"):
        display.plot()
