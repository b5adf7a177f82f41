"""Claims of the DANK paper about large sets: Lemma 5, Theorems 6 and 7, and corrections.

The problem has no intercept (problem (18)), the parts are problems (19), and problem (20) is the
whole one with zeros between different parts. In beta = y alpha, with tau = 0.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example as given_too
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.kernels import Gaussian
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, svr_dual, without_intercept
from pliant.methods.svm.rows import DenseRows
from tests.papers.hadamard_cases import classification_data, gaussian_gram, regression_data
from tests.reference.naive_box import (
    block_problem,
    box_by_cone,
    box_by_sdp,
    box_classification,
    box_regression,
    restricted,
)
from tests.reference.naive_hadamard import solve

decomposed = pytest.importorskip("papers.theory.decomposed", reason="papers/ is not here")
screening = pytest.importorskip("papers.theory.screening", reason="papers/ is not here")
between_parts, bound_on_loss = decomposed.between_parts, decomposed.bound_on_loss
printed_bound, theorem_seven = decomposed.printed_bound, screening.theorem_seven
theorem_seven_threshold = screening.theorem_seven_threshold

ETAS = st.floats(0, 6).map(lambda e: 10.0**e)


@dataclass
class Whole:
    """Problem (18) with a partition of the points."""

    K: np.ndarray
    p: np.ndarray
    labels: np.ndarray
    C: float
    eta: float
    epsilon: float = 0.0
    regression: bool = False

    def dual(self, members=None):
        some = np.arange(len(self.p)) if members is None else members
        rows, c = DenseRows(self.K[np.ix_(some, some)]), 1 / (4 * self.eta)
        if self.regression:
            dual = svr_dual(rows, self.p[some], self.C, self.epsilon)
        else:
            dual = svc_dual(rows, self.p[some], self.C)
        return without_intercept(dual.with_quartic(c))

    def naive(self):
        if self.regression:
            return box_regression(self.K, self.p, self.C, self.epsilon, self.eta)
        return box_classification(self.K, self.p, self.C, self.eta)

    def solve(self, members=None, tol=1e-10):
        result = smo.solve(self.dual(members), tol=tol)
        assert result.certificate.intercept == 0.0
        return result.x[:-1], result.value, result.gap

    def parts(self, tol=1e-10):
        """Return the combined solutions of the parts, and the sums of their values and gaps."""
        beta, total, gaps = np.zeros(len(self.p)), 0.0, 0.0
        for label in np.unique(self.labels):
            members = np.flatnonzero(self.labels == label)
            beta[members], value, gap = self.solve(members, tol)
            total, gaps = total + value, gaps + gap
        return beta, total, gaps

    def value(self, beta):
        return self.dual().value(np.append(beta, 0.0))

    def gap(self, beta):
        return self.dual().certificate(np.append(beta, 0.0)).gap

    def F(self, beta):
        return 1 + np.outer(beta, beta) * self.K / (4 * self.eta)

    def E(self):
        return self.K * (self.labels[:, None] != self.labels[None, :])

    def between(self):
        return between_parts(DenseRows(self.K), self.labels)

    def bound(self):
        return bound_on_loss(self.between(), self.C, self.eta, regression=self.regression)

    def bound_by_size(self, beta, best):
        """Return the bound with the largest mean entry of F(beta) and F(best), for classes."""
        size = np.abs(self.F(beta) + self.F(best)).max() / 2
        return size * self.C**2 / 2 * self.between().total


@st.composite
def wholes(draw, regression=None):
    """Yield random problems: any Gaussians, indefinite kernels, large and equal entries."""
    n, seed = draw(st.integers(2, 14)), draw(st.integers(0, 2**32 - 1))
    r = np.random.default_rng(seed)
    X = r.uniform(-1, 1, size=(n, 2))
    grams = {
        "gaussian": Gaussian(draw(st.sampled_from([0.01, 1.0, 30.0])))(X),
        "linear": X @ X.T,
        "cubic": (X @ X.T + 0.1) ** 3,
        "constant": np.full((n, n), 0.3),
    }
    K = draw(st.sampled_from([0.1, 1.0, 10.0])) * grams[draw(st.sampled_from(sorted(grams)))]
    labels = r.integers(0, draw(st.integers(1, n)), size=n)
    C, eta = draw(st.sampled_from([0.1, 1.0, 10.0])), draw(ETAS)
    if draw(st.booleans()) if regression is None else regression:
        p = draw(st.sampled_from([0.3, 3.0])) * r.standard_normal(n)
        return Whole(K, p, labels, C, eta, draw(st.sampled_from([0.0, 0.1])), regression=True)
    return Whole(K, r.choice([-1.0, 1.0], n), labels, C, eta)


def example(n=24, *, parts=3, C=4.0, eta=20.0, width=0.5, regression=False):
    X, p = regression_data(n) if regression else classification_data(n)
    labels = np.digitize(X[:, 0], np.linspace(0, 1, parts + 1)[1:-1])
    K = gaussian_gram(X, width)
    return Whole(K, p, labels, C, eta, 0.1 if regression else 0.0, regression=regression)


either = pytest.mark.parametrize("regression", [False, True], ids=["classes", "targets"])


@either
@pytest.mark.parametrize("eta", [0.5, 20.0, 1e4])
def test_three_ways_to_solve_problem_18_agree(regression, eta):
    whole = example(12, eta=eta, regression=regression)
    naive, (beta, value, gap) = whole.naive(), whole.solve()
    slow, slow_value, _ = solve(naive, 1e-10)
    assert value == pytest.approx(slow_value, abs=2e-9)
    assert gap <= 1e-9
    np.testing.assert_allclose(beta, slow, atol=2e-3)
    cone_value, cone_beta = box_by_cone(naive)
    assert cone_value == pytest.approx(value, abs=2e-6)
    np.testing.assert_allclose(cone_beta, beta, atol=5e-3)
    sdp_value, F = box_by_sdp(naive)
    assert sdp_value == pytest.approx(value, abs=2e-5)
    np.testing.assert_allclose(F, whole.F(beta), atol=2e-3)


@either
@pytest.mark.parametrize(("parts", "eta"), [(1, 2.0), (3, 2.0), (3, 1e3)])
def test_lemma_5_the_parts_together_are_the_optimum_of_problem_20(regression, parts, eta):
    """F is 1 between parts, not 0 as in the paper's block-diagonal matrix."""
    whole = example(12, parts=parts, eta=eta, regression=regression)
    naive = whole.naive()
    block = block_problem(naive, whole.labels)
    optimum, F = box_by_sdp(block)
    by_parts = [
        box_by_sdp(restricted(naive, np.flatnonzero(whole.labels == label)))[0]
        for label in np.unique(whole.labels)
    ]
    beta, total, _ = whole.parts()
    assert optimum == pytest.approx(sum(by_parts), rel=1e-5)
    assert optimum == pytest.approx(total, rel=1e-5)
    assert block.value(beta) == pytest.approx(total, rel=1e-12)
    assert block.gap(beta) <= 1e-8 * (1 + total)
    np.testing.assert_allclose(F, np.where(whole.E() != 0, 1, whole.F(beta)), atol=2e-3)


def rounding(*values):
    return 1e-10 * (1 + sum(map(abs, values)))


def equal_points(m, C, entry, eta=np.inf):
    """Return m equal points of one class, in separate parts."""
    return Whole(np.full((m, m), entry), np.ones(m), np.arange(m), C, eta)


def two_targets(t):
    K = np.array([[1, t], [t, t**2]])
    return Whole(K, np.array([1, t**2]), np.arange(2), 1.0, np.inf, regression=True)


@given(whole=wholes(), tol=st.sampled_from([1e-10, 0.3]))
@given_too(whole=equal_points(10, 3.0, 1 / 3.0), tol=1e-10)
@given_too(whole=equal_points(10, 1e6, 2e-9, 1.0), tol=1e-10)
@given_too(whole=two_targets(10.0), tol=1e-10)
@settings(max_examples=150, deadline=None)
def test_theorem_6_corrected(whole, tol):
    """Also for parts that are not finished; the size of F can replace its range for classes.

    The examples come near the bound, as the next tests show.
    """
    best, optimum, gap = whole.solve()
    beta, _, gaps = whole.parts(tol)
    value = whole.value(beta)
    slack = rounding(optimum, value)
    assert value <= optimum + gap + slack
    assert optimum - value <= whole.bound() + gaps + slack
    assert optimum - value <= whole.gap(beta) + slack
    if not whole.regression:
        assert optimum - value <= whole.bound_by_size(beta, best) + gaps + slack


@pytest.mark.parametrize("m", [2, 10, 100])
def test_no_smaller_factor_holds_for_classes(m):
    C = 3.0
    whole = equal_points(m, C, 1 / C)
    (best, optimum, _), (beta, _, _) = whole.solve(), whole.parts()
    loss = optimum - whole.value(beta)
    assert whole.bound() == pytest.approx(C * m * (m - 1) / 2)
    assert whole.bound_by_size(beta, best) == pytest.approx(whole.bound())
    assert loss == pytest.approx(whole.bound() * (m - 1) / m, rel=1e-8)


@pytest.mark.parametrize("m", [10, 100])
def test_no_smaller_second_term_holds(m):
    """m equal points of one class in separate parts, K_ij = (4 eta/C^3)^(1/2) and C large."""
    C, eta = 1e6, 1.0
    whole = equal_points(m, C, 2 / C**1.5, eta)
    loss = whole.solve()[1] - whole.value(whole.parts()[0])
    second = whole.bound() - bound_on_loss(whole.between(), C, np.inf)
    assert (1 - 3 / m) * second < loss <= whole.bound() < 1.01 * second


@pytest.mark.parametrize("t", [2.0, 10.0, 1000.0])
def test_no_smaller_factor_holds_for_targets_which_need_twice_that_for_classes(t):
    whole = two_targets(t)
    beta, _, _ = whole.parts()
    np.testing.assert_allclose(beta, 1, rtol=1e-6)
    loss = whole.solve()[1] - whole.value(beta)
    assert whole.bound() == pytest.approx(2 * t)
    assert loss >= whole.bound() * (t - 1) / t * (1 - 1e-6)


@pytest.mark.parametrize(("n", "eta"), [(2, 1.0), (2, 1e3), (2, 1e6), (200, 2e6)])
def test_theorem_6_as_printed_is_false(n, eta):
    """F-bar between the parts may be 1, as in the minimiser of (20), or 0, as printed.

    For two equal points and C = 1, alpha is 1 in each part and 1/2 in the whole, up to 1/eta.
    """
    whole = example(n, parts=5, eta=eta)
    if n == 2:
        whole = Whole(np.ones((2, 2)), np.ones(2), np.arange(2), 1.0, eta)
    (best, optimum, _), (beta, _, _) = whole.solve(), whole.parts()
    naive, apart = whole.naive(), whole.E() != 0
    for between in (0.0, 1.0):
        F_bar = np.where(apart, between, whole.F(beta))
        largest = np.maximum(whole.F(best), F_bar)
        printed = printed_bound(whole.between(), whole.C, largest.min(), largest.max())
        assert printed == pytest.approx(np.ptp(largest) * whole.C**2 * np.abs(whole.E()).sum() / 2)
        loss = optimum - naive.saddle(beta, F_bar)
        assert abs(loss) > max(0.25, 2 * printed)
    assert 0.25 < loss <= whole.bound()
    quartic = np.sum(np.outer(beta, beta) ** 2 * whole.E() ** 2) / (16 * eta)
    assert loss == pytest.approx(optimum - whole.value(beta) - quartic, abs=1e-5)


def test_parts_that_keep_the_equality_constraint_can_lose_everything():
    """Theorem 6 needs problems without an intercept: two parts, one class each, K = I."""
    K, signs, labels = np.eye(4), np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1])
    whole = Whole(K, signs, labels, 1.0, np.inf)
    assert whole.bound() == 0.0
    for members in (labels == 0, labels == 1):
        part = svc_dual(DenseRows(K[np.ix_(members, members)]), signs[members], 1.0)
        assert smo.solve(part).value == 0.0
    assert smo.solve(svc_dual(DenseRows(K), signs, 1.0)).value == pytest.approx(2.0)
    assert whole.parts()[1] == pytest.approx(whole.solve()[1]) == pytest.approx(2.0)


def theorem_7(whole, reading):
    """Return the points screened by (21) with one norm, and the threshold minus the gradient."""
    (best, _, _), (beta, _, _) = whole.solve(), whole.parts()
    inside = whole.K - whole.E()
    F_bar = np.where(whole.E() == 0, whole.F(beta), 1.0)
    gradient = 1 - whole.p * ((F_bar * inside) @ beta)
    largest = np.maximum(whole.F(best), F_bar)
    sums = np.abs(inside if reading == "its part" else whole.K).sum(axis=1)
    threshold = theorem_seven_threshold(
        sums, whole.C, largest.min(), largest.max(), np.abs(whole.K).max()
    )
    return theorem_seven(np.abs(beta), gradient, threshold), beta == 0, threshold - gradient


@given(whole=wholes(regression=False), reading=st.sampled_from(["its part", "all"]))
@settings(max_examples=75, deadline=None)
def test_theorem_7_screens_no_point_at_all(whole, reading):
    """The condition never holds: for alpha_i = 0 the gradient is at least 1 + the threshold.

    This follows from the signs of the two, whatever their factors.
    """
    screened, unused, excess = theorem_7(whole, reading)
    assert screened.sum() == 0
    assert (excess[unused] <= -1 + 1e-9).all()


@pytest.mark.parametrize("reading", ["its part", "all"])
def test_the_gradient_can_be_nearly_as_small_as_the_threshold_plus_1(reading):
    """100 equal points at C, and one a little farther from the origin, no support vector."""
    x = np.r_[np.ones(100), 1.01]
    whole = Whole(np.outer(x, x), np.ones(101), np.zeros(101), 0.01, np.inf)
    _, unused, excess = theorem_7(whole, reading)
    np.testing.assert_array_equal(unused, x > 1)
    assert -1.03 < excess[-1] < -1


def test_with_the_sign_of_figure_5c_all_unused_points_go_and_support_vectors_among_them():
    """As printed, Theorem 7 screens none of these points."""
    whole = example(60, parts=3, C=1.0)
    screened, unused, _ = theorem_7(whole, "its part")
    assert (screened.sum(), unused.sum() > 5) == (0, True)
    best, (alone, _, _), inside = whole.solve()[0], whole.parts(), whole.K - whole.E()
    gradient = 1 - whole.p * ((whole.F(alone) * inside) @ alone)
    sums = np.abs(inside).sum(axis=1)
    top = whole.F(alone).max()
    threshold = theorem_seven_threshold(sums, 1.0, 1.0, top, 1.0)
    np.testing.assert_allclose(threshold, -(top - 1 + top) * (sums + 1))
    wrong = theorem_seven(np.abs(alone), gradient, -threshold)
    np.testing.assert_array_equal(wrong, alone == 0)
    assert (best[wrong] != 0).sum() > 0
