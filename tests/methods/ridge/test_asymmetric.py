"""Asymmetric kernel ridge regression: both models, edge cases and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning
from sklearn.base import clone

from pliant import AsymmetricKernelRidge
from pliant.kernels import Kernel


class Widening(Kernel):
    """exp(-(1 + |t|^2) |x - t|^2), with a bandwidth that depends on the second point."""

    symmetric = False
    psd = False

    def _gram(self, X, Y):
        return widening(X, Y)


class Fixed(Widening):
    """The same kernel, but undefined for second points other than `centres`."""

    def __init__(self, centres):
        self.centres = centres

    def _gram(self, X, Y):
        if not np.array_equal(Y, self.centres):
            raise ValueError("bandwidths belong to the support points")
        return widening(X, Y)


def widening(X, Y):
    return np.exp(-(1 + (Y**2).sum(axis=1)) * ((X[:, None] - Y) ** 2).sum(axis=2))


def data(n=20, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, y if n_outputs is None else np.column_stack([y, X[:, 0] * y, y**2][:n_outputs])


NEW = np.random.default_rng(9).uniform(-1, 1, size=(7, 2))


@pytest.mark.parametrize("n_outputs", [None, 1, 3])
def test_both_models_are_those_of_equation_6(n_outputs):
    X, y = data(n_outputs=n_outputs)
    model = AsymmetricKernelRidge(Widening(), alpha=0.3).fit(X, y)
    K, ridge = widening(X, X), 0.3 * np.eye(len(X))
    first = widening(NEW, X) @ np.linalg.solve(K + ridge, y)
    second = widening(X, NEW).T @ np.linalg.solve(K.T + ridge, y)
    np.testing.assert_allclose(model.predict(NEW), first, atol=1e-12)
    np.testing.assert_allclose(model.predict_second(NEW), second, atol=1e-12)
    assert model.predict(NEW).shape == (7, *y.shape[1:])
    assert np.abs(first - second).max() > 0.01
    exact = np.linalg.norm(K + ridge, 1) * np.linalg.norm(np.linalg.inv(K + ridge), 1)
    assert exact / 10 < model.condition_ < exact * 1.001


def test_a_function_an_object_and_a_matrix_are_the_same():
    X, y = data()
    model = AsymmetricKernelRidge(Widening()).fit(X, y)
    function = AsymmetricKernelRidge(widening).fit(X, y)
    matrix = AsymmetricKernelRidge("precomputed").fit(widening(X, X), y)
    assert matrix.kernel_ is None
    np.testing.assert_array_equal(function.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(function.predict_second(NEW), model.predict_second(NEW))
    np.testing.assert_allclose(
        matrix.predict(widening(NEW, X)), model.predict(NEW), rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(
        matrix.predict_second(widening(X, NEW).T), model.predict_second(NEW), rtol=0, atol=1e-14
    )


@settings(deadline=None)
@given(
    seed=st.integers(0, 10**6),
    weights=st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(lambda w: sum(w) > 1),
)
def test_a_weight_is_a_repeated_row(seed, weights):
    X, y = data(12, n_outputs=2, seed=seed)
    rows = np.repeat(np.arange(12), weights)
    model = AsymmetricKernelRidge(Widening(), alpha=4.0)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X[rows], y[rows])
    scale = 1e-14 * max(weighted.condition_, repeated.condition_) * np.abs(y).max() * 40
    for method in ("predict", "predict_second"):
        np.testing.assert_allclose(
            getattr(weighted, method)(NEW), getattr(repeated, method)(NEW), rtol=0, atol=scale
        )


def test_residuals_and_multipliers_with_weights():
    X, y = data(n_outputs=2)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=len(X))
    weights[3] = 0.0
    model = AsymmetricKernelRidge(Widening(), alpha=0.4).fit(X, y, sample_weight=weights)
    e, r = y - model.predict(X), y - model.predict_second(X)
    np.testing.assert_allclose(model.residuals_, e, atol=1e-13)
    np.testing.assert_allclose(model.second_residuals_, r, atol=1e-13)
    np.testing.assert_allclose(model.multipliers_, weights[:, None] * r, atol=1e-12)
    np.testing.assert_allclose(model.second_multipliers_, weights[:, None] * e, atol=1e-12)
    assert np.abs(model.residuals_[3]).max() > 0.01
    assert not model.dual_coef_[3].any()


def test_a_kernel_of_fixed_second_points_has_no_second_model_elsewhere():
    X, y = data()
    model = AsymmetricKernelRidge(Fixed(X)).fit(X, y)
    free = AsymmetricKernelRidge(Widening()).fit(X, y)
    np.testing.assert_array_equal(model.predict(NEW), free.predict(NEW))
    np.testing.assert_array_equal(model.second_residuals_, free.second_residuals_)
    with pytest.raises(ValueError, match="bandwidths belong to the support points"):
        model.predict_second(NEW)


def test_a_singular_matrix_is_an_error():
    K = np.array([[0.0, 4.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])  # eigenvalues 2, -2, 3
    with pytest.raises(ValueError, match=r"K \+ alpha I with alpha = 2 .*condition number of"):
        AsymmetricKernelRidge("precomputed", alpha=2.0).fit(K, np.ones(3))
    model = AsymmetricKernelRidge("precomputed", alpha=1.9).fit(K, np.ones(3))
    np.testing.assert_allclose(K @ model.dual_coef_ + 1.9 * model.dual_coef_, 1.0)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_alpha_at_minus_an_eigenvalue_never_goes_unnoticed(seed):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(6, 6))
    values = np.linalg.eigvals(K)
    real = values.real[(np.abs(values.imag) == 0) & (values.real < -0.05)]
    if len(real):
        with pytest.raises(ValueError, match="K has an eigenvalue near -alpha"):
            AsymmetricKernelRidge("precomputed", alpha=-real[0]).fit(K, np.ones(6))


def test_an_ill_conditioned_matrix_is_a_warning_that_points_here():
    K = np.diag([1.0, -1.0 + 1e-13])
    with pytest.warns(LinAlgWarning, match=r"alpha = 1 has a condition number of 2.0e\+13") as seen:
        model = AsymmetricKernelRidge("precomputed").fit(K, [1.0, 1.0])
    assert seen[0].filename == __file__
    assert model.condition_ == pytest.approx(2e13, rel=1e-2)


def test_a_matrix_that_is_not_square():
    X, y = data()
    with pytest.raises(ValueError, match=r"square Gram matrix of shape \(n, n\), got \(20, 7\)"):
        AsymmetricKernelRidge("precomputed").fit(widening(X, NEW), y)
    model = AsymmetricKernelRidge("precomputed").fit(widening(X, X), y)
    for method in (model.predict, model.predict_second):
        with pytest.raises(ValueError, match="7 features"):
            method(widening(NEW, NEW))
