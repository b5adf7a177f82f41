"""Sums between parts, bounds on what parts lose, and safe screening, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.theory import decomposed
from papers.theory.decomposed import (
    BetweenParts,
    between_parts,
    bound_on_loss,
    printed_bound,
)
from papers.theory.screening import (
    safe_at_bound,
    safe_zeros,
    theorem_seven,
    theorem_seven_threshold,
)
from pliant.kernels import Gaussian, Polynomial
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, without_intercept
from pliant.methods.svm.rows import CachedRows, DenseRows

N = 23
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
SIGNS = np.where(X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(N) > 0, 1.0, -1.0)
LABELS = np.random.default_rng(2).integers(0, 4, size=N)
KERNELS = {"gaussian": Gaussian(1.5), "of both signs": Polynomial(degree=3, coef0=0.1)}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def naive_between(K, labels):
    total = squares = 0.0
    for i in range(len(K)):
        for j in range(len(K)):
            if labels[i] != labels[j]:
                total += abs(K[i, j])
                squares += K[i, j] ** 2
    return total, squares


@every_kernel
@pytest.mark.parametrize("entries", [1, 20, 100, 10**6])
@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS[::-1], np.zeros(N, int), np.arange(N)[::-1], np.arange(N) % 2 * 7 - 3],
    ids=["four", "reversed", "one", "each alone", "odd numbers"],
)
def test_sums_between_parts_are_those_of_two_loops(kernel, entries, labels, monkeypatch):
    monkeypatch.setattr(decomposed, "BLOCK_ENTRIES", entries)
    K = kernel(X)
    expected = pytest.approx(naive_between(K, labels), rel=1e-12)
    assert between_parts(DenseRows(K), labels) == expected
    assert between_parts(CachedRows(kernel, X, cache_mb=0.01), labels) == expected
    assert between_parts(CachedRows(kernel, X, cache_mb=1.0), labels) == expected


def test_sums_of_single_precision_rows_are_double():
    K = np.full((3000, 3000), 1.0, dtype=np.float32) / np.float32(3)
    third = float(np.float32(1) / np.float32(3))
    found = between_parts(DenseRows(K), np.arange(3000) % 2)
    assert found == pytest.approx((2 * 1500**2 * third, 2 * 1500**2 * third**2), rel=1e-12)


def test_no_block_is_larger_than_allowed(monkeypatch):
    monkeypatch.setattr(decomposed, "BLOCK_ENTRIES", 50)
    rows, seen = DenseRows(KERNELS["gaussian"](X)), []

    class Watched:
        def __len__(self):
            return len(rows)

        def part(self, some, others):
            seen.append((some.size, others.size))
            return rows.part(some, others)

    between_parts(Watched(), LABELS)
    assert all(m * k <= 50 or m == 1 for m, k in seen)
    assert sum(m * k for m, k in seen) < N**2  # not the pairs within parts of full blocks


@given(
    labels=st.lists(st.integers(-2, 5), min_size=N, max_size=N),
    other=st.permutations(range(-2, 6)),
)
@settings(max_examples=50, deadline=None)
def test_sums_between_parts_do_not_depend_on_the_names_of_parts(labels, other):
    rows, labels = DenseRows(KERNELS["of both signs"](X)), np.array(labels)
    renamed = np.array(other)[labels + 2]
    first, second = between_parts(rows, labels), between_parts(rows, renamed)
    assert first == pytest.approx(second, rel=1e-12)
    finer = between_parts(rows, labels * N + np.arange(N))
    assert first.total <= finer.total * (1 + 1e-12)


@pytest.mark.parametrize("labels", [LABELS[:-1], LABELS[:, None], np.append(LABELS, 0)])
def test_there_is_a_label_for_each_row(labels):
    with pytest.raises(ValueError, match=r"expected labels of shape \(23,\), got \("):
        between_parts(DenseRows(KERNELS["gaussian"](X)), labels)


def test_the_bounds_are_their_formulas():
    between = BetweenParts(10.0, 3.0)
    assert bound_on_loss(between, 2.0, 4.0) == pytest.approx(2.0 * 10 + 16 / 64 * 3)
    assert bound_on_loss(between, 2.0, np.inf) == pytest.approx(20.0)
    assert bound_on_loss(between, 2.0, 4.0, regression=True) == pytest.approx(40.75)
    assert printed_bound(between, 2.0, 0.9, 1.1) == pytest.approx(0.5 * 0.2 * 4 * 10)
    assert printed_bound(between, 2.0, 1.0, 1.0) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: bound_on_loss(b, -1.0, 1.0), r"expected C > 0, a finite number, got -1\.0"),
        (lambda b: bound_on_loss(b, 1.0, 0.0), r"expected eta > 0, a number, got 0\.0"),
        (lambda b: printed_bound(b, 0.0, 1.0, 1.0), r"expected C > 0, a finite number, got 0\.0"),
        (lambda b: printed_bound(b, 1.0, 2.0, 1.0), r"expected F_low <= F_high, got 2\.0 and 1"),
        (lambda b: safe_zeros(X[:, 0], SIGNS, -0.5, X[:, 0]), "expected gap >= 0, .* got -0.5"),
        (lambda b: safe_zeros(X[:, 0], SIGNS, np.nan, X[:, 0]), "expected gap >= 0, .* got nan"),
        (
            lambda b: safe_at_bound((X[:, 0], X[:, 0]), SIGNS, 0.0, X[:, 0], 1.0, -2.0),
            "expected eta > 0, a number, got -2.0",
        ),
        (lambda b: theorem_seven_threshold(X[:, 0], 0.0, 1.0, 1.0, 1.0), "expected C > 0"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(BetweenParts(1.0, 1.0))


def box_dual(K, C, eta):
    return svc_dual(DenseRows(K), SIGNS, C, quartic=1 / (4 * eta))


def some_feasible(r, C):
    alpha = np.clip(r.uniform(-C, 2 * C, N), 0, C) * r.choice([0.0, 1.0], N)
    return SIGNS * alpha


@every_kernel
@given(
    C=st.sampled_from([0.1, 1.0, 30.0]),
    eta=st.sampled_from([0.1, 1.0, 100.0, np.inf]),
    seed=st.integers(0, 10**6),
    share=st.sampled_from([1.0, 0.1, 1e-2, 1e-4, 1e-8]),
)
@settings(max_examples=40, deadline=None)
def test_the_gap_bounds_the_distance_from_the_optimum(kernel, C, eta, seed, share):
    """(i) of `screening`, at points from far to near, and what follows for u and v."""
    K, c = kernel(X), 1 / (4 * eta)
    dual = without_intercept(box_dual(K, C, eta))
    best = smo.solve(dual, tol=1e-10).x[:-1]
    beta = best + share * (some_feasible(np.random.default_rng(seed), C) - best)
    gap = dual.certificate(np.append(beta, 0)).gap
    d, dd = beta - best, beta**2 - best**2
    moved = d @ K @ d, dd @ K**2 @ dd
    slack = 1e-6 * (1 + np.abs(best).sum()) * (np.sqrt(gap) + 1e-6)
    assert moved[0] + c / 2 * moved[1] <= gap + slack
    u = K @ beta
    assert (np.abs(u - K @ best) <= np.sqrt(gap * K.diagonal()) + np.sqrt(slack)).all()


@every_kernel
@pytest.mark.parametrize("C", [0.2, 2.0, 50.0])
@pytest.mark.parametrize("eta", [0.5, 50.0, 1e6, np.inf])
def test_safe_points_are_what_they_are_called(kernel, C, eta):
    K = kernel(X)
    dual, found = without_intercept(box_dual(K, C, eta)), [0, 0]
    best = np.abs(smo.solve(dual, tol=1e-13).x[:-1])
    for tol in (1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9):
        result = smo.solve(dual, tol=tol)
        u, v = (each[:-1] for each in dual.fields(result.x))
        gap = max(result.gap, 1e-13 * (1 + abs(result.value)))
        zero = safe_zeros(u, SIGNS, gap, K.diagonal())
        bound = safe_at_bound((u, v), SIGNS, gap, K.diagonal(), C, eta)
        assert (best[zero] == 0).all()
        assert best[bound] == pytest.approx(np.full(bound.sum(), C))
        assert not (zero & bound).any()
        found = zero.sum(), bound.sum()
    margins = SIGNS * (K @ (SIGNS * best))
    clear = margins > 1 + 1e-3 * np.sqrt(K.diagonal().max())
    assert found[0] >= clear.sum()
    clear = margins + C / (4 * eta) * (K**2 @ best**2) < 1 - 1e-3 * (1 + C * K.max())
    assert found[1] >= clear.sum()


@given(
    n=st.integers(1, 3),
    C=st.sampled_from([0.3, 1.0, 3.0]),
    eta=st.sampled_from([0.05, 0.5, 5.0, np.inf]),
    scale=st.sampled_from([0.3, 1.0, 4.0]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=300, deadline=None)
def test_safe_points_are_safe_from_anywhere(n, C, eta, scale, seed):
    """Problems so small that points far from the optimum have small gaps: there (i) is tight."""
    r = np.random.default_rng(seed)
    K, c, signs = scale * Gaussian(0.5)(r.uniform(-1, 1, (n, 2))), 1 / (4 * eta), np.ones(n)
    signs[1:] = r.choice([-1.0, 1.0], n - 1)
    dual = without_intercept(svc_dual(DenseRows(K), signs, C, quartic=c))
    best = np.abs(smo.solve(dual, tol=1e-13).x[:-1])
    for alpha in (r.uniform(0, C, n), np.full(n, C), np.zeros(n), best + 0.3 * (C - best)):
        beta = np.append(signs * alpha, 0)
        u, v = (each[:-1] for each in dual.fields(beta))
        gap = dual.certificate(beta).gap + 1e-12
        zero = safe_zeros(u, signs, gap, K.diagonal())
        bound = safe_at_bound((u, v), signs, gap, K.diagonal(), C, eta)
        assert (best[zero] <= 1e-6).all()
        assert (best[bound] >= C - 1e-6).all()


def test_screening_finds_zeros_and_bounds():
    """So that the test above is not about empty sets."""
    K = KERNELS["gaussian"](X)
    dual = without_intercept(box_dual(K, 0.3, 10.0))
    result = smo.solve(dual, tol=1e-10)
    fields = tuple(each[:-1] for each in dual.fields(result.x))
    alpha = np.abs(result.x[:-1])
    zero = safe_zeros(fields[0], SIGNS, 1e-9, K.diagonal())
    bound = safe_at_bound(fields, SIGNS, 1e-9, K.diagonal(), 0.3, 10.0)
    assert 0 < zero.sum() == (alpha == 0).sum()
    assert 0 < bound.sum() == (alpha == 0.3).sum()


def test_an_infinite_gap_screens_nothing():
    ones = np.ones(3)
    assert not safe_zeros(9 * ones, ones, np.inf, ones).any()
    assert not safe_at_bound((-9 * ones, ones), ones, np.inf, ones, 1.0, 1.0).any()


def test_the_threshold_of_theorem_seven_has_a_minus():
    sums = np.array([0.0, 3.0])
    found = theorem_seven_threshold(sums, 2.0, F_low=0.5, F_high=1.5, kappa=1.0)
    np.testing.assert_allclose(found, [-(1.0 + 1.5) * 2 * 1, -(1.0 + 1.5) * 2 * 4])
    alpha, gradient = np.array([0.0, 0.0, 0.5]), np.array([-6.0, -4.0, -9.0])
    chosen = theorem_seven(alpha, gradient, np.full(3, -5.0))
    np.testing.assert_array_equal(chosen, [True, False, False])
