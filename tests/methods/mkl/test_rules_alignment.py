"""Kernel weights by alignment, compared with a slow twin and a conic solver."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.exceptions import UniformWeightsWarning
from pliant.kernels import Gaussian
from pliant.methods.mkl import alignment
from pliant.methods.mkl.alignment import align, alignf, alignments
from pliant.methods.mkl.problem import Grams
from tests.methods.mkl.gram_matrices import grams_of
from tests.reference import conic
from tests.reference import naive_kernel_weights as naive
from tests.reference.mkl_conic import svc_data

RULES = pytest.mark.parametrize("rule", [align, alignf])


def case(seed, n=15, count=6):
    """Draw Gram matrices of low and full rank, signs and sample weights."""
    r = np.random.default_rng(seed)
    y = np.where(r.permutation(n) < n // 2, -1.0, 1.0)
    kernels = []
    for m in range(count):
        Z = r.standard_normal((n, 1 + m)) + 0.5 * (m % 3) * y[:, None]
        kernels.append(Z @ Z.T)
    return kernels, y, r.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("target", ["two classes", "three classes", "regression"])
def test_align_and_inner_products_match_slow_twin(target, weighted, monkeypatch):
    monkeypatch.setattr(alignment, "SLAB_ENTRIES", 400)  # several slabs
    kernels, y, s = case(1)
    s = s if weighted else None
    if target == "three classes":
        T = naive.one_hot(np.arange(len(y)) % 3)
    elif target == "regression":
        T = np.random.default_rng(2).standard_normal(len(y))
        T -= T.mean()
    else:
        T = y
    F = T.reshape(len(y), -1)
    Y = F @ F.T
    found = align(grams_of(kernels), T, s)
    np.testing.assert_allclose(found.weights, naive.align(kernels, Y, s), rtol=1e-10)
    cosines = [naive.alignment(K, Y, s) for K in kernels]
    assert found.value == pytest.approx(max(cosines), rel=1e-10)

    products = alignments(grams_of(kernels), T, s)
    centred = [naive.centred(K, s) for K in kernels]
    expected = [[naive.inner(A, B, s) for B in centred] for A in centred]
    np.testing.assert_allclose(products.products, expected, rtol=1e-10)
    centred_target = naive.centred(Y, s)
    expected = [naive.inner(A, centred_target, s) for A in centred]
    np.testing.assert_allclose(products.targets, expected, rtol=1e-10)
    d = np.random.default_rng(3).uniform(size=len(kernels))
    K = sum(weight * each for weight, each in zip(d, kernels, strict=True))
    assert products.alignment(d) == pytest.approx(naive.alignment(K, Y, s), rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_alignf_matches_conic_solver(seed):
    kernels, y, s = case(seed)
    found = alignf(grams_of(kernels), y, s)
    # the columns of G are the weighted, centred matrices; minimise |G v| subject to a'v = 1
    root = np.sqrt(np.outer(s, s))
    G = np.array([(root * naive.centred(K, s)).ravel() for K in kernels]).T
    target = (root * naive.centred(np.outer(y, y), s)).ravel()
    G, target = G / np.linalg.norm(G, axis=0), target / np.linalg.norm(target)
    v = cp.Variable(len(kernels), nonneg=True)
    R = np.linalg.qr(G)[1]
    conic.solve(cp.Problem(cp.Minimize(cp.norm(R @ v)), [(target @ G) @ v == 1.0]))
    direct = (target @ G @ v.value) / np.linalg.norm(G @ v.value)
    assert found.value == pytest.approx(direct, rel=1e-6)
    assert found.value + found.gap >= direct - 1e-12
    assert found.gap <= 1e-12


@RULES
@given(seed=st.integers(0, 10_000))
@settings(max_examples=20)
def test_permuted_and_scaled_kernels(rule, seed):
    kernels, y, s = case(seed)
    weights = rule(grams_of(kernels), y, s).weights
    order = np.random.default_rng(seed).permutation(len(kernels))
    permuted = rule(grams_of([kernels[m] for m in order]), y, s).weights
    np.testing.assert_allclose(permuted, weights[order], rtol=0, atol=1e-9)
    for scale in (1e-12, 3.0, 1e12):
        scaled = rule(grams_of([scale * K for K in kernels]), y, 7.0 * s).weights
        np.testing.assert_allclose(scaled, weights, rtol=0, atol=1e-9)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20)
def test_bound_on_the_alignment(seed):
    kernels, y, s = case(seed)
    products = alignments(grams_of(kernels), y, s)
    found = alignf(grams_of(kernels), y, s)
    others = np.random.default_rng(seed).exponential(size=(200, len(kernels)))
    best = max(products.alignment(d) for d in np.vstack([others, np.eye(len(kernels))]))
    assert best <= found.value + found.gap + 1e-12
    assert found.gap <= 1e-10


@RULES
def test_integer_weights_repeat_samples(rule):
    kernels, y, _ = case(4)
    counts = np.arange(len(y)) % 3 + 1
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = rule(grams_of([K[np.ix_(rows, rows)] for K in kernels]), y[rows])
    weighted = rule(grams_of(kernels), y, counts.astype(float))
    np.testing.assert_allclose(weighted.weights, repeated.weights, rtol=0, atol=1e-10)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-12)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_duplicate_kernel_shares_the_weight(factor):
    kernels, y, s = case(5)
    alone = alignf(grams_of(kernels), y, s)
    best = int(alone.weights.argmax())
    both = alignf(grams_of([*kernels, factor * kernels[best]]), y, s)
    assert both.value == pytest.approx(alone.value, rel=1e-12)
    assert both.gap < 1e-12
    # both weights give the same K(d) up to scale
    raw = np.append(both.weights[:-1], 0.0)[: len(kernels)]
    raw[best] += factor * both.weights[-1]
    np.testing.assert_allclose(raw / raw.sum(), alone.weights, rtol=0, atol=1e-8)


def test_nearly_dependent_kernels():
    r = np.random.default_rng(0)
    X = r.standard_normal((60, 8))
    y = np.sign(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * r.standard_normal(60))
    columns = [slice(None), *(slice(j, j + 1) for j in range(8))]
    kernels = [K for c in columns for K in naive.gaussians(X[:, c], np.logspace(-4, 3, 25))]
    products = alignments(grams_of(kernels), y)
    sizes = np.sqrt(products.products.diagonal())
    assert np.linalg.cond(products.products / np.outer(sizes, sizes)) > 1e15
    found = alignf(grams_of(kernels), y)
    assert (
        found.gap < 1e-8
    )  # sqrt(eps): a root of the products has the square root of their condition
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.value > align(grams_of(kernels), y).value


@RULES
def test_kernels_computed_on_demand(rule):
    # one or two matrices are kept in float32, and the others are computed in float64
    X, y = svc_data(1)
    kernels = [Gaussian(gamma) for gamma in (0.1, 0.5, 2.0, 8.0, 32.0)]
    kept = rule(Grams(kernels, X, 100.0), y)
    computed = Grams(kernels, X, 8.0 * 24**2 / 2**20)
    assert not computed.whole
    np.testing.assert_allclose(rule(computed, y).weights, kept.weights, rtol=0, atol=1e-6)
    halves = rule(Grams(kernels, X, 5 * 5.0 * 24**2 / 2**20), y)
    np.testing.assert_allclose(halves.weights, kept.weights, rtol=0, atol=2e-3)


@RULES
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1])
def test_constant_kernel_has_no_weight(rule, value):
    kernels, y, _ = case(8)
    n = len(y)
    without = rule(grams_of(kernels), y).weights
    weights = rule(grams_of([np.full((n, n), value), *kernels]), y).weights
    assert weights[0] == 0.0
    np.testing.assert_allclose(weights[1:], without, rtol=0, atol=1e-10)


@RULES
def test_constant_kernels_give_uniform_weights(rule):
    y = np.where(np.arange(6) < 3, 1.0, -1.0)
    with pytest.warns(UniformWeightsWarning, match="no kernel is aligned with the target"):
        found = rule(grams_of([np.full((6, 6), 0.3), np.zeros((6, 6))]), y)
    assert found.weights.tolist() == [0.5, 0.5]
    assert found.value == 0.0
    assert found.gap == 0.0


def test_negatively_aligned_kernels_have_no_weight():
    kernels, y, _ = case(10)
    against = np.eye(len(y)) - np.outer(y, y)  # not PSD
    found = align(grams_of([kernels[2], against]), y)
    assert found.weights.tolist() == [1.0, 0.0]
