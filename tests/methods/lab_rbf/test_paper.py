"""The paper's algorithm: theorem, centres, stops, small tables, refusals."""

import numpy as np
import pytest
from sklearn.base import clone

from pliant import LABRBFClassifier, LABRBFPaperAlgorithm, LABRBFRegressor
from pliant.core.progress import HAS_CALLBACKS
from tests.methods.lab_rbf.test_regressor import NEW, TWO, StopAfter, X, Y, formula

DOUBLE = LABRBFPaperAlgorithm(learning_rate=0.02, dtype="float64")


def paper(n_support=10, **options):
    """Return a regressor with a few hundred steps."""
    options = {"max_iter": 150, "random_state": 0, **options}
    return LABRBFRegressor.from_paper(n_support, **options)


def is_theorem_1(model, y):
    """Return True if the coefficients are those of Theorem 1."""
    C = model.support_vectors_
    A = model.kernel_(C, C.copy()) + 1e-3 * np.eye(len(C))
    c = np.linalg.solve(A, y[model.support_] - model.intercept_)
    return np.allclose(model.dual_coef_, c, rtol=0, atol=1e-8 * np.abs(c).max())


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("profile", ["gaussian", "laplacian"])
def test_the_model_is_theorem_1_at_the_support_points(profile, y):
    model = paper(profile=profile).set_params(algorithm=DOUBLE).fit(X, y)
    assert len(model.support_) == len(np.unique(model.support_)) == 10
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(model.alpha_, 1e-3)
    assert is_theorem_1(model, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict(NEW), formula(model, NEW), rtol=0, atol=1e-10)


def test_members_weights_and_refits():
    weights = np.where(np.arange(len(Y)) % 3, 1.5, 0.0)
    model = paper(n_members=2).set_params(algorithm=DOUBLE).fit(X, Y, weights)
    assert len(model.members_) == 2
    used = weights > 0
    assert used[model.support_].all()
    other = clone(model).fit(X[used], Y[used], weights[used])
    np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))
    refitted = model.refit_coefficients(X, Y)
    assert refitted.score(X, Y) > 0.9


@pytest.mark.skipif(not HAS_CALLBACKS, reason="requires scikit-learn 1.9")
@pytest.mark.parametrize("steps", [1, 40, 160])
def test_a_stopped_fit_is_a_model(steps):
    full = paper().set_params(algorithm=DOUBLE).fit(X, Y)
    model = clone(full).set_callbacks(StopAfter(steps)).fit(X, Y)
    history = model.objective_history_[0]
    np.testing.assert_array_equal(history, full.objective_history_[0][:steps])
    assert len(history) == model.n_iter_ == steps
    assert is_theorem_1(model, Y)


def test_a_tiny_time_limit_leaves_one_member():
    model = paper(n_members=2, max_seconds=1e-9).fit(X, Y)
    assert len(model.members_) == 1
    assert np.isfinite(model.predict(NEW)).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows(n):
    model = paper(max_iter=10).fit(X[:n], Y[:n])
    assert model.predict(X).min() >= Y[:n].min()
    assert model.predict(X).max() <= Y[:n].max()
    assert np.isfinite(model.feature_relevance_).all()


def test_repeated_and_constant_points():
    points, y = np.repeat(X[:6], 10, axis=0), np.repeat(Y[:6], 10)
    y = y + np.tile(np.linspace(-0.01, 0.01, 10), 6)
    model = paper().fit(points, y)
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_) == 6
    assert model.score(points, y) > 0.8
    model = paper(max_iter=10).fit(np.ones((60, 3)), Y[:60])
    assert np.ptp(model.predict(X)) == 0


def test_a_classifier_learns_its_own_coefficients():
    settings = paper().get_params(deep=False)
    del settings["calibration"]
    labels = (Y > 0.3).astype(int)
    model = LABRBFClassifier(**settings).fit(X, labels)
    assert model.members_[0].objective_ == "interpolation"
    assert model.score(X, labels) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation_fraction": 0.2}, "expected validation_fraction=0 with .*, got 0.2"),
        ({"transforms": "auto"}, "expected transforms=None with .*, got 'auto'"),
        ({"warm_start": True}, "expected warm_start=False with .*, got True"),
        ({"alpha": "auto"}, "expected a number for alpha with .*, such as 1e-3, got 'auto'"),
        ({"algorithm__learning_rate": 0.0}, "expected learning_rate > 0"),
    ],
)
def test_parameters_of_another_algorithm_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        paper().set_params(**options).fit(X, Y)


def test_a_default_fit_does_not_continue_it():
    model = paper(max_iter=10).fit(X, Y)
    model.set_params(**LABRBFRegressor(warm_start=True).get_params(deep=False))
    with pytest.raises(ValueError, match=r"expected warm_start=False after .*, got True"):
        model.fit(X, Y)
