"""Kernels of the inner product, against loops, scikit-learn and explicit features."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, sigmoid_kernel

from pliant.kernels import Linear, Polynomial, Sigmoid
from tests.reference import naive_kernels as naive

X = np.random.default_rng(0).uniform(-1, 1, size=(7, 3))
Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 3))


def test_linear_is_the_inner_product():
    np.testing.assert_allclose(Linear()(X, Y), linear_kernel(X, Y), rtol=1e-14)
    np.testing.assert_allclose(Linear().diag(X), (X**2).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
@pytest.mark.parametrize("coef0", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 3.0])
def test_polynomial_agrees_with_the_formula_and_with_scikit_learn(degree, gamma, coef0):
    gram = Polynomial(degree, gamma, coef0)(X, Y)
    twin = naive.polynomial(degree, gamma, coef0)
    np.testing.assert_allclose(gram, naive.gram_by_loops(twin, X, Y), rtol=1e-11, atol=1e-14)
    peer = polynomial_kernel(X, Y, degree=degree, gamma=gamma, coef0=coef0)
    np.testing.assert_allclose(gram, peer, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("coef0", [-1.0, 0.0, 0.5])
def test_the_sigmoid_agrees_with_scikit_learn(coef0):
    kernel = Sigmoid(0.3, coef0)
    np.testing.assert_allclose(kernel(X, Y), sigmoid_kernel(X, Y, 0.3, coef0), rtol=1e-13)


@pytest.mark.parametrize("degree", [0, -2, 2.0, 2.5, "3", None, True])
def test_the_degree_must_be_a_whole_number_from_one(degree):
    said = rf"expected Polynomial\(degree=\.\.\.\) >= 1, an integer, got {degree!r}"
    with pytest.raises(ValueError, match=said):
        Polynomial(degree)(X)


@pytest.mark.parametrize("coef0", [-1e-9, np.inf, "1"])
def test_a_constant_below_zero_is_refused(coef0):
    said = rf"expected Polynomial\(coef0=\.\.\.\) >= 0, a finite number, got {coef0!r}"
    with pytest.raises(ValueError, match=said):
        Polynomial(2, 1.0, coef0)(X)
