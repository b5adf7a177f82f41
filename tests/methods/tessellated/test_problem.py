"""The saddle point of kernel learning: its SVMs, its best P, and its bounds."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.kernels import GeneralizedPolynomial, TessellatedKernel
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.tessellated.problem import KernelLearning
from tests.papers.tessellated_cases import C1, R1, R3
from tests.reference.naive_tessellated import (
    gram,
    polynomial_tensor,
    quadratic,
    random_shape,
    tessellated_tensor,
)
from tests.reference.tessellated_sdp import best_shape, by_weights, classification, svm

every_case = pytest.mark.parametrize("case", [C1, R1, R3], ids=lambda case: case.name)


def margin_of(case):
    """Rows to the dual of the library, for the SVM of a case."""
    if case.margin.epsilon:
        return partial(svr_dual, target=case.y, C=case.C, epsilon=case.margin.epsilon)
    return partial(svc_dual, signs=case.y, C=case.C)


def problem_of(case, degree=1, basis="x", dtype=np.float64):
    kernel = TessellatedKernel(-case.delta, 1 + case.delta, degree, basis, False)
    return KernelLearning(kernel, case.X, margin_of(case), dtype)


def feasible(case, r):
    """Some w in the box with 1'w = 0."""
    w = r.uniform(case.margin.lower, case.margin.upper)
    up, down = w > 0, w < 0
    surplus = w.sum()
    side = up if surplus > 0 else down
    w[side] *= 1 - surplus / w[side].sum()
    return w


@every_case
@pytest.mark.parametrize(("degree", "basis"), [(0, "x"), (1, "x"), (1, "xz"), (2, "x"), (2, "xz")])
def test_size_gram_and_quadratic_form_are_those_of_the_twin(case, degree, basis):
    problem, G = problem_of(case, degree, basis), case.tensor(degree, basis)
    r = np.random.default_rng(0)
    assert problem.size == len(G)
    P, factor = random_shape(r, len(G), 2)
    K = problem.gram(factor)
    np.testing.assert_allclose(K, gram(G, P), rtol=0, atol=1e-12 * np.abs(K).max())
    w = feasible(case, r)
    D = problem.oracle(w, 0.0).matrix
    np.testing.assert_allclose(D, quadratic(G, w), rtol=0, atol=1e-12 * np.abs(D).max())


@every_case
def test_the_dual_is_that_of_the_svm(case):
    problem, G = problem_of(case), case.tensor(1, "x")
    dual = problem.dual(problem.gram(np.eye(problem.size)))
    np.testing.assert_array_equal(dual.linear, case.margin.p)
    np.testing.assert_array_equal(dual.lower, case.margin.lower)
    np.testing.assert_array_equal(dual.upper, case.margin.upper)
    assert dual.epsilon == case.margin.epsilon
    w = feasible(case, np.random.default_rng(0))
    assert dual.gain(w) == pytest.approx(case.margin.gain(w), rel=1e-12)
    expected = case.margin.gain(w) - np.trace(quadratic(G, w)) / 2
    assert dual.value(w) == pytest.approx(expected, rel=1e-10)
    optimum = svm(gram(G, np.eye(len(G))), case.margin)[0]
    assert smo.solve(dual, tol=1e-9).value == pytest.approx(optimum, rel=1e-7)


@every_case
@pytest.mark.parametrize("basis", ["x", "xz"])
def test_the_oracle_gives_the_best_p(case, basis):
    problem, G = problem_of(case, 1, basis), case.tensor(1, basis)
    w = feasible(case, np.random.default_rng(0))
    oracle = problem.oracle(w, case.margin.gain(w), 3)
    _, P = best_shape(quadratic(G, w), 0.0)
    assert oracle.vectors.shape == (problem.size, 3)
    assert (np.diff(oracle.values) <= 0).all()
    np.testing.assert_allclose(oracle.values, np.linalg.eigvalsh(oracle.matrix)[:-4:-1])
    v = oracle.vectors[:, 0]
    np.testing.assert_allclose(problem.size * np.outer(v, v), P, atol=1e-6 * problem.size)
    np.testing.assert_allclose(
        oracle.matrix @ v, oracle.values[0] * v, atol=1e-9 * oracle.values[0]
    )


@every_case
@pytest.mark.parametrize("share", [1e-3, 0.03, 0.3, 1.0])
def test_the_oracle_gives_the_best_bound_on_the_way_to_w(case, share):
    """The largest kappa(tw) - n_P/2 lambda_max(D(tw)), 0 <= t <= 1, at or inside the end."""
    problem, G = problem_of(case), case.tensor(1, "x")
    towards = case.by_weights(1, "x")[1]
    for w in (share * towards, share * feasible(case, np.random.default_rng(0))):
        gain, D = case.margin.gain(w), quadratic(G, w)
        steps = np.linspace(0, 1, 1001)
        bounds = [best_shape(t**2 * D, t * gain)[0] for t in steps]
        lower = problem.oracle(w, gain).lower
        cost = len(D) * np.linalg.eigvalsh(D)[-1]
        assert max(bounds) - 1e-12 * cost <= lower <= max(bounds) + 1e-6 * cost


def test_more_eigenvectors_than_there_are_is_all_of_them():
    problem = problem_of(C1, 0)
    oracle = problem.oracle(feasible(C1, np.random.default_rng(0)), 0.0, 5)
    assert oracle.vectors.shape == (2, 2)
    assert oracle.values.shape == (2,)


def test_no_weight_gives_no_bound():
    problem = problem_of(R1)
    oracle = problem.oracle(np.zeros(30), 0.0)
    assert oracle.lower == 0
    assert not oracle.matrix.any()
    assert problem.oracle(np.zeros(30), -1.0).lower <= 0


@pytest.mark.parametrize("case", [C1, R1], ids=lambda case: case.name)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6))
def test_every_w_bounds_every_p_from_below(case, seed, rank):
    """Weak duality: kappa(w) - n_P/2 lambda_max(D(w)) <= optimum <= OPT_A(P)."""
    problem, r = problem_of(case), np.random.default_rng(seed)
    w = feasible(case, r) * r.uniform()
    lower = problem.oracle(w, case.margin.gain(w)).lower
    factor = random_shape(r, problem.size, min(rank, problem.size))[1]
    run = smo.solve(problem.dual(problem.gram(factor)), tol=1e-3, max_iter=2000)
    optimum = case.optimum(1, "x")
    assert lower <= optimum * (1 + 1e-9)
    assert optimum <= (run.value + run.gap) * (1 + 1e-9)


def test_scaled_factors_have_the_trace_of_p():
    problem, r = problem_of(C1), np.random.default_rng(0)
    factor = r.standard_normal((6, 2))
    scaled = problem.scaled(factor)
    assert np.trace(scaled @ scaled.T) == pytest.approx(6, rel=1e-14)
    np.testing.assert_allclose(scaled / factor, (scaled / factor)[0, 0])


def test_a_smoothed_svm_has_the_proximal_term():
    problem, r = problem_of(C1), np.random.default_rng(0)
    K = problem.gram(np.eye(6))
    w, centre, rho = feasible(C1, r), feasible(C1, r), 0.7
    plain = problem.dual(K.copy()).value(w)
    smoothed = problem.smoothed(K.copy(), rho, centre).value(w)
    term = -rho / 2 * ((w - centre) ** 2).sum() + rho / 2 * (centre**2).sum()
    assert smoothed == pytest.approx(plain + term, rel=1e-12)


def test_single_precision():
    problem = problem_of(C1, 1, "xz", np.float32)
    K, exact = problem.gram(np.eye(10)), problem_of(C1, 1, "xz").gram(np.eye(10))
    assert K.dtype == np.float32
    centring = np.eye(len(K)) - 1.0 / len(K)  # the origin is another one
    moved = centring @ K.astype(float) @ centring - centring @ exact @ centring
    assert np.abs(moved).max() < 1e-6 * np.abs(exact).max()
    assert K.diagonal().max() < exact.diagonal().max()
    value, expected = (smo.solve(problem.dual(gram_), tol=1e-5).value for gram_ in (K, exact))
    assert value == pytest.approx(expected, rel=1e-4)


def test_the_polynomial_kernel_is_learned_by_the_same_problem():
    kernel = GeneralizedPolynomial(-0.3, 1.3, 2, normalize_measure=False)
    problem = KernelLearning(kernel, C1.X, margin_of(C1))
    G = polynomial_tensor(C1.X, C1.X, -0.3, 1.3, 2)
    assert problem.size == len(G) == 15
    optimum, w = by_weights(G, C1.margin)
    assert problem.oracle(w, C1.margin.gain(w)).lower == pytest.approx(optimum, rel=1e-6)


def test_normalising_the_measure_divides_c_by_the_volume():
    """OPT with the normalised measure and C is V OPT with the paper's and C/V."""
    volume = 1.6**2
    G = tessellated_tensor(C1.X, C1.X, -0.3, 1.3, 1, "x", normalized=True)
    normal = by_weights(G, classification(C1.y, C1.C))[0]
    paper = by_weights(C1.tensor(1, "x"), classification(C1.y, C1.C / volume))[0]
    assert normal == pytest.approx(volume * paper, rel=1e-7)
