"""The DANK paper's algorithms against a twin and pliant's optimum; bounds, safe screening."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.theory import accelerated
from papers.theory.accelerated import (
    algorithm_1,
    algorithm_2,
    classification,
    lipschitz_of_theorem_4,
    lipschitz_of_theorem_10,
    projected_gradient,
    regression,
)
from papers.theory.decomposed import between_parts
from papers.theory.screening import safe_zeros
from pliant import DANKClassifier, DANKRegressor
from pliant.kernels import Gaussian, Polynomial
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, without_intercept
from pliant.methods.svm.rows import DenseRows
from tests.papers.hadamard_cases import classification_data, gaussian_gram, regression_data
from tests.reference import dank_algorithm1

C, ETA, EPSILON = 1.0, 2.0, 0.05


def curvature(K):
    """A bound on the second derivatives of h, much smaller than that of Theorem 4."""
    return np.linalg.eigvalsh(K)[-1] * (1 + 3 * np.abs(K).max() * C**2 / (4 * ETA))


@pytest.mark.parametrize("name", ["algorithm_1", "projected_gradient"])
@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_the_iterates_are_those_of_the_twin(name, tau):
    X, y = classification_data()
    K, mine = gaussian_gram(X, 0.5), getattr(accelerated, name)
    twin = getattr(dank_algorithm1, name.replace("algorithm_1", "nesterov"))
    limits = {"max_iter": 40, "eps": 0.0}
    run, other = (method(K, y, 4.0, ETA, tau, **limits) for method in (mine, twin))
    np.testing.assert_allclose(run.values, other.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.moves, other.moves, rtol=1e-7)
    np.testing.assert_allclose(y * run.beta, other.alpha, atol=1e-9)
    assert len(run.values) == len(run.seconds) + 1 == 41


@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_algorithm_1_reaches_the_optimum_of_pliant_and_stops_at_a_short_move(tau):
    X, y = classification_data(n=12)
    K = gaussian_gram(X, 0.5)
    model = DANKClassifier(gamma=2.0, C=C, eta=ETA, tau=tau, tol=1e-9).fit(X, y)
    short = projected_gradient(K, y, C, ETA, tau, eps=1e-2)
    assert short.moves[-1] <= 1e-2 < min(short.moves[:-1])
    run = algorithm_1(K, y, C, ETA, tau, L=curvature(K), max_iter=300, eps=0.0)
    assert run.values[-1] == pytest.approx(model.objective_, rel=1e-6)
    assert run.values[-1] <= model.objective_ + model.dual_gap_ + 1e-9


@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_algorithm_2_reaches_the_optimum_of_pliant(tau):
    X, y = regression_data(n=12)
    K = gaussian_gram(X, 0.5)
    model = DANKRegressor(
        gamma=2.0, C=C, epsilon=EPSILON, eta=ETA, tau=tau, scale_target=False, tol=1e-9
    ).fit(X, y)
    run = algorithm_2(K, y, C, EPSILON, ETA, tau, L=2 * curvature(K), max_iter=500, eps=0.0)
    assert run.values[-1] == pytest.approx(model.objective_, rel=1e-6)
    assert run.values[-1] <= model.objective_ + model.dual_gap_ + 1e-9


@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_the_gradients_are_those_of_h_where_equation_25_has_another_sign(tau):
    X, y = regression_data(n=6)
    problem = regression(gaussian_gram(X, 0.5), y, C, EPSILON, ETA, tau)
    z = np.random.default_rng(0).uniform(0, C, 12)

    def h(z):
        return problem.value(z, problem.adaptation(problem.beta(z)))

    steps = 1e-5 * np.eye(12)
    numerical = [(h(z + step) - h(z - step)) / 2e-5 for step in steps]
    beta = problem.beta(z)
    F = problem.adaptation(beta)
    np.testing.assert_allclose(problem.slope(beta, F), numerical, atol=1e-7)
    printed = -EPSILON - (F * problem.K) @ beta - y
    assert np.abs(printed - numerical[6:]).max() > 0.1


def test_the_printed_constants_bound_the_curvature():
    X, y = classification_data(n=12)
    K = gaussian_gram(X, 0.5)
    assert curvature(K) <= lipschitz_of_theorem_4(K, C, ETA) < lipschitz_of_theorem_10(K, C, ETA)
    assert lipschitz_of_theorem_4(K, C, ETA) == dank_algorithm1.lipschitz_of_theorem_4(K, C, ETA)
    problem = classification(K, y, C, ETA, 0.1)
    z = problem.project(np.random.default_rng(0).uniform(-C, 2 * C, 12))
    assert (z >= 0).all()
    assert (z <= C).all()
    assert y @ z == pytest.approx(0, abs=1e-12)


N = 23
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
SIGNS = np.where(X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(N) > 0, 1.0, -1.0)
KERNELS = {"gaussian": Gaussian(1.5), "of both signs": Polynomial(degree=3, coef0=0.1)}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@every_kernel
def test_sums_between_parts_are_those_of_two_loops(kernel):
    K, labels = kernel(X), np.random.default_rng(2).integers(0, 4, size=N)
    pairs = [K[i, j] for i in range(N) for j in range(N) if labels[i] != labels[j]]
    expected = pytest.approx((np.abs(pairs).sum(), np.square(pairs).sum()), rel=1e-12)
    assert between_parts(DenseRows(K), labels) == expected
    assert between_parts(DenseRows(K), 7 - 3 * labels) == expected


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
def test_safe_zeros_are_zero_and_all_are_found_in_the_end(kernel, C, eta):
    K = kernel(X)
    dual = without_intercept(box_dual(K, C, eta))
    best = np.abs(smo.solve(dual, tol=1e-13).x[:-1])
    for tol in (1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9):
        result = smo.solve(dual, tol=tol)
        gap = max(result.gap, 1e-13 * (1 + abs(result.value)))
        zero = safe_zeros(dual.fields(result.x)[0][:-1], SIGNS, gap, K.diagonal())
        assert (best[zero] == 0).all()
    clear = SIGNS * (K @ (SIGNS * best)) > 1 + 1e-3 * np.sqrt(K.diagonal().max())
    assert zero.sum() >= clear.sum()
    assert not safe_zeros(9 * np.ones(3), np.ones(3), np.inf, np.ones(3)).any()
