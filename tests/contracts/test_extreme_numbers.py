"""Support vector machines and kernel weights on numbers at the ends of the range of floats.

Each fit gives finite predictions or an error of one sentence, and no warning of NumPy.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pliant import (
    C_path,
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    MKLClassifier,
    MKLRegressor,
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
)
from pliant.kernels import Gaussian, Linear

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
TARGET = np.sin(X[:, 0])
CLASSIFIERS = [
    DANKClassifier,
    KNPLClassifier,
    MKLClassifier,
    SketchedKernelRidgeClassifier,
]
REGRESSORS = [DANKRegressor, KNPLRegressor, MKLRegressor, SketchedKernelRidge]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_of_any_size_are_classes(kind):
    model = kind().fit(X, Y * -7e18)
    assert set(model.predict(X)) <= {0.0, -7e18}
    with pytest.raises(ValueError, match="Unknown label type: continuous"):  # scikit-learn's rule
        kind().fit(X, Y * 1e300)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_that_cannot_be_sorted_are_refused(kind):
    with pytest.raises(ValueError, match="expected labels of one type in y: '<' not supported"):
        kind().fit(X, np.array(["b", 1] * 6, dtype=object))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_text_is_no_target(kind):
    with pytest.raises(ValueError, match="expected y to hold numbers: got an array of <U1"):
        kind().fit(X, np.array(["a", "b"] * 6))


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize(
    ("odd", "error", "words"),
    [
        (10**400, ValueError, "expected numbers in the range of floats: int too large"),
        (pd.NA, TypeError, r"expected X and y to hold numbers: float\(\) argument must be"),
    ],
)
def test_objects_that_are_no_floats_are_refused(kind, odd, error, words):
    table = X.astype(object)
    table[3, 1] = odd
    with pytest.raises(error, match=words):
        kind().fit(pd.DataFrame(table) if odd is pd.NA else table, Y)


@pytest.mark.parametrize("seed", [-1, 2**40, "abc"])
@pytest.mark.parametrize(
    "model",
    [
        DANKClassifier(partition="kmeans", n_parts=2),
        KNPLClassifier(partition="kmeans", n_parts=2),
        SketchedKernelRidge(),
    ],
)
def test_seeds_out_of_range_are_quoted(model, seed):
    with pytest.raises(ValueError, match=rf"integer from 0 to 2\*\*32 - 1, got {seed!r}"):
        model.set_params(random_state=seed).fit(X, Y)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("size", [1e-300, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("kind", [DANKClassifier, KNPLClassifier, MKLClassifier])
def test_a_penalty_of_any_size(kind, size):
    for kernel in (Gaussian(1.0), Linear()):
        given = {"kernel": kernel}
        if kind is MKLClassifier:
            given = {"kernels": [kernel], "max_seconds": 0.1}
        try:
            model = kind(C=size, max_iter=20, **given).fit(X, Y)
        except ValueError as error:
            assert str(error).startswith("expected finite")  # noqa: PT017
        else:
            assert np.isfinite(model.decision_function(X)).all()
            assert np.isfinite(model.objective_)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
def test_a_path_over_penalties_of_any_size():
    models = C_path(DANKClassifier(max_iter=20), X, Y, [1e-300, 1e-5, 1e5, 1e100])
    assert all(np.isfinite(model.decision_function(X)).all() for model in models)


@pytest.mark.parametrize("kind", [DANKRegressor, MKLRegressor, SketchedKernelRidge])
def test_predictions_beyond_the_range_of_floats_are_refused(kind):
    one = kind in (DANKRegressor, SketchedKernelRidge)
    given = {"kernel": Linear()} if one else {"kernels": [Linear()], "normalize": False}
    model = kind(**given).fit(X, 1e200 * TARGET)
    assert np.isfinite(model.predict(1e50 * X)).all()
    with pytest.raises(ValueError, match="expected finite outputs, got inf or NaN for row 0 of X"):
        model.predict(1e200 * X)
