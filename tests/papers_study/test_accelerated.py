"""The DANK paper's accelerated methods: against a slow twin, and the optimum of pliant's solver."""

import numpy as np
import pytest

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
from pliant import DANKClassifier, DANKRegressor
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
def test_algorithm_1_reaches_the_optimum_of_pliant(tau):
    X, y = classification_data(n=12)
    K = gaussian_gram(X, 0.5)
    model = DANKClassifier(gamma=2.0, C=C, eta=ETA, tau=tau, tol=1e-9).fit(X, y)
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


def test_a_run_stops_at_the_first_short_move():
    X, y = classification_data(n=12)
    run = projected_gradient(gaussian_gram(X, 0.5), y, C, ETA, 0.1, eps=1e-2)
    assert run.moves[-1] <= 1e-2 < min(run.moves[:-1])
    assert (np.diff(run.seconds) > 0).all()
