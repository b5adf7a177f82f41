"""Warm-started paths over C agree with separate fits."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from pliant import C_path, DANKClassifier, DANKRegressor, MKLClassifier, TKLClassifier
from pliant.core.progress import HAS_CALLBACKS
from pliant.methods.svm.machine import SVMClassifier
from tests.methods.dank.test_dank import Recorder, classification, regression


@pytest.mark.parametrize("eta", ["auto", 3.0])
@pytest.mark.parametrize("machine", [DANKClassifier, DANKRegressor])
def test_each_machine_of_a_path_equals_its_own_fit(machine, eta):
    X, y = classification(n=80) if machine is DANKClassifier else regression(n=80)
    Cs = [10.0, 0.3, 1.0, 1.2]
    path = C_path(machine(eta=eta, tol=1e-8), X, y, Cs)
    for C, fitted in zip(Cs, path, strict=True):
        alone = machine(C=C, eta=eta, tol=1e-8).fit(X, y)
        assert fitted.C == C
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=1e-6)
        assert fitted.n_features_in_ == alone.n_features_in_
        np.testing.assert_allclose(fitted.predict(X), alone.predict(X), atol=1e-3)


@pytest.mark.parametrize("eta", ["auto", 3.0])
def test_a_path_that_stands_still_takes_no_step(eta):
    X, y = classification(n=80)
    first, second, third = C_path(DANKClassifier(eta=eta), X, y, [2.0, 2.0, 2.0])
    assert first.n_iter_ > 0
    if eta == "auto":  # only the plain SVM starts at its solution
        assert second.n_iter_ < first.n_iter_
    else:
        assert second.n_iter_ == third.n_iter_ == 0
        assert third.dual_coef_.tobytes() == first.dual_coef_.tobytes()


def test_a_path_serves_many_classes_and_weights():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    path = C_path(DANKClassifier(tol=1e-6), X, y, [0.1, 1.0], sample_weight=weights)
    alone = DANKClassifier(C=1.0, tol=1e-6).fit(X, y, weights)
    np.testing.assert_array_equal(path[1].predict(X), alone.predict(X))
    assert len(path[0].estimators_) == 3


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("model", [DANKClassifier(), MKLClassifier(["gaussian", "laplacian"])])
def test_each_fit_of_a_path_calls_the_callbacks(model):
    X, y = classification(n=80)
    recorder = Recorder()
    C_path(model.set_callbacks(recorder), X, y, [1.0, 2.0])
    assert recorder.seen[0] == "setup"
    assert recorder.seen.count("setup") == recorder.seen.count("teardown") == 2
    assert recorder.seen.count("begin") == recorder.seen.count("end") > 2


@pytest.mark.parametrize(
    ("Cs", "message"),
    [
        ([], "expected at least one value in Cs, got none"),
        ([1.0, 1e13], "expected C from 1e-12 to 1e12, got 1"),
    ],
)
@pytest.mark.parametrize("machine", [DANKClassifier, MKLClassifier, TKLClassifier])
def test_an_invalid_value_is_refused_before_any_fit(machine, Cs, message, monkeypatch):
    monkeypatch.setattr(SVMClassifier, "_training_data", lambda *_: pytest.fail("a fit began"))
    with pytest.raises(ValueError, match=message):
        C_path(machine(), *classification(n=20), Cs)
