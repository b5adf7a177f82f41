"""The paper's algorithm: theorem, centres, stops, small tables, refusals."""

import numpy as np
import pytest
from sklearn.base import clone

from pliant import LABRBFPaperRegressor
from pliant.core.progress import HAS_CALLBACKS
from tests.methods.lab_rbf.test_regressor import NEW, TWO, StopAfter, X, Y, formula


def paper(n_support=10, **options):
    """Return a regressor with a few hundred steps."""
    return LABRBFPaperRegressor(n_support, **{"max_iter": 150, "random_state": 0, **options})


def paper_in_double(**options):
    """Return a regressor that learns in float64."""
    return paper(learning_rate=0.02, dtype="float64", **options)


def is_theorem_1(model, y):
    """Return True if the coefficients are those of Theorem 1."""
    C = model.support_vectors_
    A = model.kernel_(C, C.copy()) + 1e-3 * np.eye(len(C))
    c = np.linalg.solve(A, y[model.support_] - model.intercept_)
    return np.allclose(model.dual_coef_, c, rtol=0, atol=1e-8 * np.abs(c).max())


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("profile", ["gaussian", "laplacian"])
def test_the_model_is_theorem_1_at_the_support_points(profile, y):
    model = paper_in_double(profile=profile).fit(X, y)
    assert len(model.support_) == len(np.unique(model.support_)) == 10
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(model.alpha_, 1e-3)
    assert is_theorem_1(model, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict(NEW), formula(model, NEW), rtol=0, atol=1e-10)


def test_weights():
    weights = np.where(np.arange(len(Y)) % 3, 1.5, 0.0)
    model = paper_in_double().fit(X, Y, weights)
    used = weights > 0
    assert used[model.support_].all()
    other = clone(model).fit(X[used], Y[used], weights[used])
    np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))


@pytest.mark.skipif(not HAS_CALLBACKS, reason="requires scikit-learn 1.9")
@pytest.mark.parametrize("steps", [1, 40, 160])
def test_a_stopped_fit_is_a_model(steps):
    full = paper_in_double().fit(X, Y)
    model = clone(full).set_callbacks(StopAfter(steps)).fit(X, Y)
    history = model.objective_history_[0]
    np.testing.assert_array_equal(history, full.objective_history_[0][:steps])
    assert len(history) == model.n_iter_ == steps
    assert is_theorem_1(model, Y)


def test_a_tiny_time_limit_leaves_a_model():
    model = paper(max_seconds=1e-9).fit(X, Y)
    assert model.n_iter_ < 150
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


def test_an_interpolant_has_no_intervals_and_no_held_out_score():
    model = paper(max_iter=5).fit(X, Y)
    assert not hasattr(model, "predict_interval")
    assert np.isnan(model.summary().functions[0].details["held_out_score"])
    assert model.alpha_ == 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "auto"}, "expected alpha"),
        ({"learning_rate": 0.0}, "expected learning_rate > 0, a finite number, got 0"),
        ({"initial_bandwidth": -1.0}, "expected initial_bandwidth > 0, a finite number, got -1"),
    ],
)
def test_parameters_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        paper(**options).fit(X, Y)
