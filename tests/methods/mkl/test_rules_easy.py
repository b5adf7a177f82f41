"""EasyMKL compared with a conic solver, its limit lam = 1, and pairs of classes."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.exceptions import UniformWeightsWarning
from pliant.methods.mkl.rules import easy
from tests.reference import conic
from tests.reference import naive_kernel_weights as naive
from tests.reference.mkl_conic import svc_data


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.01, 0.3, 0.9])
def test_optimum_matches_conic_solver(seed, lam):
    X, y = svc_data(seed, 20)
    kernels = naive.gaussians(X, (0.5, 4, 20))
    (found,) = easy(naive.grams_of(kernels), [y], lam)
    g = cp.Variable(len(y), nonneg=True)
    L = naive.root_of(sum(kernels))
    cost = (1 - lam) * cp.sum_squares((L * y) @ g) + lam * cp.sum_squares(g)
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(g[y > 0]) == 1, cp.sum(g[y < 0]) == 1])
    conic.solve(problem)
    assert found.value == pytest.approx(problem.value, rel=1e-6)
    products = naive.hull_products(kernels, y, g.value)
    np.testing.assert_allclose(found.weights, products / products.sum(), rtol=0, atol=1e-4)


def test_lam_of_one_compares_class_means():
    X, y = svc_data(1)
    kernels = naive.gaussians(X)
    (found,) = easy(naive.grams_of(kernels), [y], 1.0)
    g = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    products = naive.hull_products(kernels, y, g)
    np.testing.assert_allclose(found.weights, products / products.sum(), rtol=1e-9)
    assert found.value == pytest.approx(g @ g, rel=1e-12)


def test_pairs_of_three_classes():
    X, _ = svc_data(2, 30)
    labels = np.arange(30) % 3
    kernels = naive.gaussians(X)
    pairs = list(combinations(range(3), 2))
    signs = [(labels == j) * 1.0 - (labels == i) for i, j in pairs]
    together = easy(naive.grams_of(kernels), signs, 0.2)
    for found, y in zip(together, signs, strict=True):
        rows = np.flatnonzero(y)
        own = naive.grams_of([K[np.ix_(rows, rows)] for K in kernels])
        (alone,) = easy(own, [y[rows]], 0.2)
        np.testing.assert_allclose(found.weights, alone.weights, rtol=0, atol=1e-12)
        assert found.value == pytest.approx(alone.value, rel=1e-12)


@given(seed=st.integers(0, 10_000), lam=st.sampled_from([0.1, 0.7]))
@settings(max_examples=15)
def test_permuted_and_duplicate_kernels(seed, lam):
    X, y = svc_data(seed)
    if np.ptp(y) == 0:
        y[0] = -y[0]
    kernels = naive.gaussians(X)
    (found,) = easy(naive.grams_of(kernels), [y], lam)
    order = np.random.default_rng(seed).permutation(5)
    (permuted,) = easy(naive.grams_of([kernels[m] for m in order]), [y], lam)
    np.testing.assert_allclose(permuted.weights, found.weights[order], rtol=0, atol=1e-5)
    (halves,) = easy(naive.grams_of([*kernels[:4], 0.5 * kernels[4], 0.5 * kernels[4]]), [y], lam)
    assert halves.weights[4] == halves.weights[5]
    assert halves.weights[4:].sum() == pytest.approx(found.weights[4], abs=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e6])
def test_constant_kernel_has_no_weight(value):
    X, y = svc_data(3)
    kernels = naive.gaussians(X)
    (found,) = easy(naive.grams_of([np.full((24, 24), value), *kernels]), [y], 0.1)
    (without,) = easy(naive.grams_of(kernels), [y], 0.1)
    assert found.weights[0] < 1e-9
    np.testing.assert_allclose(found.weights[1:], without.weights, rtol=0, atol=1e-8)


def test_one_kernel_and_equal_classes():
    X, y = svc_data(4)
    (one,) = easy(naive.grams_of(naive.gaussians(X)[2:3]), [y], 0.1)
    assert one.weights.tolist() == [1.0]
    same = naive.grams_of([np.ones((4, 4)), np.full((4, 4), 0.3)])
    with pytest.warns(UniformWeightsWarning, match="the classes do not differ"):
        (found,) = easy(same, [np.array([1.0, -1.0, 1.0, -1.0])], 0.1)
    assert found.weights.tolist() == [0.5, 0.5]
