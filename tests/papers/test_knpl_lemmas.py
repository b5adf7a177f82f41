"""Claims of the KNPL paper (AAAI 2018) about its problem and algorithms.

The paper writes every norm without a subscript: the lemmas are checked for the Frobenius and the
spectral norm of matrices. Its gamma is called eta here.
"""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.papers.hadamard_cases import (
    KNPL_OPTIMA,
    Case,
    cases,
    classification_data,
    gaussian_gram,
)
from tests.reference.dank_algorithm1 import gamma_matrix, gradient
from tests.reference.knpl_admm import (
    admm,
    alternate,
    printed_column,
    project_columns,
    projected_gradient,
)
from tests.reference.naive_hadamard import centred, classification, project_alpha

ROUNDING = 1e-10
NORMS = ["fro", 2]


def gammas(case):
    return [gamma_matrix(case.K, case.y, a, case.eta) for a in (case.alpha, case.other)]


def bound_of_the_lemmas(case, norm):
    lengths = np.linalg.norm(case.alpha) + np.linalg.norm(case.other)
    distance = np.linalg.norm(case.alpha - case.other)
    return np.linalg.norm(case.K, norm) * lengths / (4 * case.eta) * distance


def lipschitz_of_theorem_1(K, C, eta):
    return 3 * len(K) * C**2 * np.linalg.norm(K) ** 2 / (4 * eta)


@pytest.mark.parametrize("norm", NORMS)
@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_lemmas_1_and_2_bound_the_change_of_gamma_and_g(norm, case):
    Gamma, other = gammas(case)
    slack = ROUNDING * (1 + np.linalg.norm(Gamma))
    change = np.linalg.norm(Gamma - other, norm)
    assert change <= bound_of_the_lemmas(case, norm) + slack
    assert np.linalg.norm((1 + centred(Gamma)) - (1 + centred(other)), norm) <= change + slack


@pytest.mark.parametrize("norm", NORMS)
def test_no_smaller_factor_of_lemmas_1_and_2_holds_for_all_n(norm):
    """One point is not the zero of the feature space, and its label is not that of the others.

    The bound is attained up to m/(m + 1), with m others; DANK's Lemma 3 has the same bound.
    """
    m = 100
    K, y = np.zeros((m + 1, m + 1)), np.r_[1.0, -np.ones(m)]
    K[0, 0] = 2.0
    case = Case(K, y, C=9.0, eta=0.5, tau=0.0, alpha=np.r_[m, np.ones(m)] / m, other=0 * y)
    Gamma, other = gammas(case)
    bound = bound_of_the_lemmas(case, norm)
    assert np.linalg.norm(Gamma - other, norm) == pytest.approx(bound * m / (m + 1), rel=1e-12)
    assert np.linalg.norm(centred(Gamma) - centred(other), norm) >= 0.97 * bound


def test_theorem_1_as_printed_is_false():
    """The constant vanishes as eta grows, while h becomes the dual of an SVM: the proof uses
    G as Gamma, but G tends to 11', not to 0. DANK's constants hold (`test_dank_lemmas`). No factor
    mends a constant that vanishes, so its size plays no role here.
    """
    X, y = classification_data()
    K, C, eta = gaussian_gram(X, 0.5), 1.0, 1e9
    a, b = np.zeros(24), project_alpha(np.ones(24), y, C)
    slopes = [gradient(K, y, v, 1 + centred(gamma_matrix(K, y, v, eta))) for v in (a, b)]
    change = np.linalg.norm(slopes[0] - slopes[1])
    assert change > 1000 * lipschitz_of_theorem_1(K, C, eta) * np.linalg.norm(a - b)


@settings(max_examples=25, deadline=None)
@given(case=cases(gaussian=True))
def test_admm_converges_to_the_closed_form(case):
    Gamma = gamma_matrix(case.K, case.y, case.alpha, case.eta)
    size = 1 + np.linalg.norm(Gamma)
    G, history = admm(Gamma, max_iter=300, eps=1e-11 * size, rho=1.0)
    assert history[-1] <= 1e-11 * size
    np.testing.assert_allclose(G, 1 + centred(Gamma), atol=1e-9 * size)
    G, _ = admm(Gamma, max_iter=300, eps=0.0)  # the growing penalty loses digits
    np.testing.assert_allclose(G, 1 + centred(Gamma), atol=1e-5 * size)


@settings(max_examples=25, deadline=None)
@given(case=cases(gaussian=True))
def test_fifteen_steps_of_admm_come_near(case):
    Gamma = gamma_matrix(case.K, case.y, case.alpha, case.eta)
    G, history = admm(Gamma)
    assert len(history) <= 15
    assert np.linalg.norm(G - 1 - centred(Gamma)) <= 5e-3 * (1 + np.linalg.norm(Gamma))


def test_fifteen_steps_of_admm_need_not_meet_the_papers_tolerance():
    X, y = classification_data()
    Gamma = gamma_matrix(gaussian_gram(X, 0.5), y, project_alpha(np.full(24, 2.0), y, 4.0), 2.0)
    _, history = admm(Gamma)
    assert len(history) == 15
    assert history[-1] > 10 * 1e-4
    assert history[3] < 0.1 * history[0]
    assert admm(Gamma, rho=1.0)[1][14] != history[14]


def test_equation_20_is_the_projection_up_to_its_factor():
    """tau from 1'q = n is correct; the multiplier of (18) is 4 times too large."""
    xi = np.random.default_rng(0).standard_normal(7)
    right = project_columns(xi[:, None])[:, 0]
    assert right.sum() == pytest.approx(7)
    np.testing.assert_allclose(xi - right, np.full(7, (xi - right)[0]))
    np.testing.assert_allclose(printed_column(xi), right)
    multiplier = -2 * (7 - xi.sum()) / 7
    np.testing.assert_allclose(printed_column(xi, multiplier), 4 * right)


@pytest.mark.parametrize(("s", "C", "eta", "optimum"), KNPL_OPTIMA)
def test_the_alternation_cycles_below_the_optimum(s, C, eta, optimum):
    X, y = classification_data()
    run = alternate(gaussian_gram(X, s), y, C, eta, rounds=60)
    a, b, c, d = run.after_adaptation[-4:]
    assert [a, b] == pytest.approx([c, d], abs=0.01)
    assert abs(c - d) > 1
    assert max(run.after_adaptation) < optimum - 1
    assert min(run.after_svm) > optimum + 1


@pytest.mark.parametrize(("s", "C", "eta", "optimum"), KNPL_OPTIMA)
def test_gradient_ascent_with_admm_inside_reaches_the_optimum(s, C, eta, optimum):
    X, y = classification_data()
    K = gaussian_gram(X, s)
    run = projected_gradient(K, y, C, eta, tol=1e-3, max_iter=300)
    problem = classification(K, y, C, eta, rule="knpl")
    assert problem.value(y * run.alpha) == pytest.approx(optimum, rel=1e-3)
    assert len(run.values) == len(run.seconds) + 1
    short = projected_gradient(K, y, C, eta, max_iter=3)
    assert short.values == run.values[:4]
    assert run.values[-1] == pytest.approx(problem.value(y * run.alpha), rel=1e-4)
