"""Composite kernels: values, properties and errors."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    MKLClassifier,
    SCGLogDetLearner,
    SketchedKernelRidge,
)
from pliant.kernels import (
    TL1,
    Gaussian,
    Kernel,
    Linear,
    Normalized,
    On,
    Polynomial,
    Product,
    Scaled,
    Sum,
    WeightedSum,
)
from tests.reference import naive_kernels as naive

X = np.random.default_rng(0).uniform(-1, 1, size=(7, 3))
Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 3))
k, q = Gaussian(0.5), Polynomial(2)


@pytest.mark.parametrize(
    ("made", "kind", "expected"),
    [
        (k + q, Sum, k(X, Y) + q(X, Y)),
        (k * q, Product, k(X, Y) * q(X, Y)),
        (3 * k, Scaled, 3 * k(X, Y)),
        (k * 3, Scaled, 3 * k(X, Y)),
        (np.float64(3) * k, Scaled, 3 * k(X, Y)),
        (k * np.float32(3), Scaled, 3 * k(X, Y)),
        (0.5 * (k + q) * k + q, Sum, 0.5 * (k(X, Y) + q(X, Y)) * k(X, Y) + q(X, Y)),
        (k + k + k, Sum, 3 * k(X, Y)),
    ],
)
def test_operators_make_kernels(made, kind, expected):
    assert type(made) is kind
    np.testing.assert_allclose(made(X, Y), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "made",
    [
        lambda inner: inner + k,
        lambda inner: k + inner,
        lambda inner: k * inner,
        lambda inner: 2 * inner,
        Normalized,
        lambda inner: Normalized(3 * (k + k * inner)),
    ],
)
def test_a_kernel_is_psd_and_symmetric_if_its_parts_are(made):
    class OneSided(Gaussian):
        symmetric = False

    assert made(Gaussian()).psd
    assert made(Gaussian()).symmetric
    assert not made(TL1()).psd
    assert made(TL1()).symmetric
    assert not made(OneSided()).symmetric


def test_normalized_agrees_with_the_formula():
    twin = naive.normalized(naive.polynomial(2, 1.0, 1.0))
    np.testing.assert_allclose(
        Normalized(q)(X, Y), naive.gram_by_loops(twin, X, Y), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(Normalized(q).diag(X), 1.0, rtol=1e-15)


class SparseProducts(Kernel):
    """A kernel of a user, with the inner products of sparse points."""

    takes_sparse = True

    def _gram(self, X, Y):
        products = X @ Y.T
        return products.toarray() if scipy.sparse.issparse(products) else products


def test_the_diagonal_of_a_users_kernel_on_sparse_points():
    kernel, points = SparseProducts(), scipy.sparse.csr_array(X)
    np.testing.assert_allclose(kernel.diag(points), (X * X).sum(axis=1))
    np.testing.assert_allclose(Normalized(kernel).diag(points), 1.0)
    np.testing.assert_allclose(kernel.diag(X), (X * X).sum(axis=1))


def test_a_zero_on_the_diagonal_cannot_be_normalised():
    kernel = Normalized(Linear())
    with_zero = X.copy()
    with_zero[4] = 0
    said = r"expected finite k\(x, x\) > 0 for a normalised kernel, got 0; add"
    for call in (lambda: kernel(X, with_zero), lambda: kernel.diag(with_zero)):
        with pytest.raises(ValueError, match=said):
            call()


TAKERS = [
    DANKClassifier, MKLClassifier, SCGLogDetLearner, AsymmetricKernelRidge, SketchedKernelRidge
]  # fmt: skip


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("outer", [Gaussian() + Linear(), Gaussian() * Linear(), 2.0 * Gaussian()])
@pytest.mark.parametrize("wrong", ["x", 3.0, Gaussian])
def test_what_is_no_kernel_within_a_kernel_is_refused_by_calls_and_fits(taker, outer, wrong):
    name = next(iter(outer.get_params(deep=False)))
    inner = clone(outer).set_params(**{name: wrong})
    for kernel in (inner, On(inner, [0]), WeightedSum([Gaussian(), inner], 1.0)):
        model = taker([kernel] if taker is MKLClassifier else kernel)
        for use in (kernel, kernel.diag, lambda X, model=model: model.fit(X, X[:, 0] > 0)):
            with pytest.raises(ValueError, match=rf"\({name}=\.\.\.\) to be a kernel, got"):
                use(X)
