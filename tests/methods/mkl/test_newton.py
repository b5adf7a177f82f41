"""The weight problem, its bounds, and Newton's method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.progress import Status
from pliant.kernels import Gaussian
from pliant.methods.mkl import newton
from pliant.methods.mkl import problem as source
from pliant.methods.mkl.problem import Grams, WeightLearning
from pliant.methods.svm import smo
from pliant.methods.svm.dual import project_box_hyperplane
from pliant.methods.svm.problem import SVMProblem
from tests.reference.mkl_conic import GAMMAS, optimum, svc_data, svr_data


def svm(X, target, C, epsilon=None):
    """Return an SVM on points with row numbers 0, 1, ..., all of weight 1."""
    return SVMProblem(X, np.arange(len(X)), target, np.ones(len(X)), C, epsilon)


def classification(seed=0, C=4.0, norm=1.0, n=24, gammas=GAMMAS):
    X, y = svc_data(seed, n)
    grams = Grams([Gaussian(gamma) for gamma in gammas], X, 100.0)
    return WeightLearning(grams, [np.arange(n)], [svm(X, y, C)], norm)


def regression(seed=0, C=4.0, epsilon=0.05, norm=1.0):
    X, y = svr_data(seed)
    grams = Grams([Gaussian(gamma) for gamma in GAMMAS], X, 100.0)
    return WeightLearning(grams, [np.arange(24)], [svm(X, y, C, epsilon)], norm)


def value_at(problem, d, tol=1e-13):
    """Return J(d), the solutions of the SVMs, q, and the duals."""
    duals = problem.duals(problem.grams.combined(d))
    solutions = [smo.solve(dual, tol=tol).x for dual in duals]
    q = problem.quadratic(solutions, problem.products(solutions))
    values = [dual.value(b) for dual, b in zip(duals, solutions, strict=True)]
    return np.mean(values), solutions, q, duals


@pytest.mark.parametrize(
    ("problem", "value", "weights", "digits"),
    [
        (classification(), 10.61748569, [0, 0, 0, 0.29060386, 0.70939588], 5e-5),
        (
            classification(norm=2.0),
            6.810216281,
            [0.0333867, 0.1471021, 0.3644855, 0.4943984, 0.7745753],
            5e-7,
        ),
        (
            classification(norm=4 / 3),
            8.653423383,
            [0.0001942, 0.0155668, 0.2038197, 0.3368744, 0.7170116],
            5e-7,
        ),
        (regression(), 4.023100268, [0, 0, 0, 0.54487112, 0.45512888], 5e-7),
    ],
    ids=["simple-svc", "norm-2", "norm-4/3", "simple-svr"],
)
def test_reference_values(problem, value, weights, digits):
    result = newton.solve(problem, tol=1e-12)
    assert result.value == pytest.approx(value, rel=1e-8)
    assert result.gap <= 1e-10 * value
    np.testing.assert_allclose(result.x, weights, atol=digits)


@pytest.mark.parametrize("norm", [1.0, 1.2, 2.0, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_optimum_matches_conic_solver(seed, norm):
    r = np.random.default_rng(seed)
    C = r.uniform(0.5, 20.0, size=24)  # sample weights
    for problem in (classification(seed + 1, C, norm), regression(seed + 1, C, norm=norm)):
        dual = problem.duals(np.eye(24))[0]
        grams = [problem.grams[m] for m in range(5)]
        value = optimum(grams, dual.linear, dual.lower, dual.upper, dual.epsilon, norm)
        result = newton.solve(problem, tol=1e-8)
        assert result.value == pytest.approx(value, rel=2e-6)
        assert result.status is Status.CONVERGED
        assert (result.x**norm).sum() == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), norm=st.sampled_from([1.0, 1.5, 3.0]), share=st.floats(0, 1))
def test_bounds_hold_for_any_coefficients_and_weights(seed, norm, share):
    r = np.random.default_rng(seed)
    problem = classification(seed % 5, norm=norm)
    best = newton.solve(problem, tol=1e-9)
    d = r.dirichlet(np.ones(5)) ** (1.0 / norm)
    dual = problem.duals(problem.grams.combined(d))[0]
    b = project_box_hyperplane(4.0 * share * r.normal(size=24), dual.lower, dual.upper)
    q = problem.quadratic([b], problem.products([b]))
    certificate = dual.certificate(b)
    slack = 1e-8 * best.value
    assert problem.lower_bound(dual.gain(b), q) <= best.value + slack
    assert certificate.value + certificate.gap >= best.value - best.gap - slack


@pytest.mark.parametrize("norm", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("multiple", [1.0, 2.0])
def test_the_lower_bound_is_attained(norm, multiple):
    """At the optimum, and at its multiples, as no coefficient is at C."""
    problem = classification(C=1e6, norm=norm)
    best = newton.solve(problem, tol=1e-9)
    dual = problem.duals(problem.grams.combined(best.x))[0]
    b = multiple * smo.solve(dual, tol=1e-9).x
    q = problem.quadratic([b], problem.products([b]))
    assert problem.lower_bound(dual.gain(b), q) == pytest.approx(best.value, rel=1e-6)


def test_curvature_is_the_derivative_of_the_slopes():
    problem = classification(C=3.0)
    d = np.array([0.1, 0.2, 0.3, 0.2, 0.2])
    _, solutions, _, duals = value_at(problem, d)
    gram, products = problem.grams.combined(d), problem.products(solutions)
    hessian, changes = problem.curvature(gram, solutions, products, duals)
    step = 1e-5
    for m in range(5):
        shift = step * np.eye(5)[m]
        _, (above,), q_above, _ = value_at(problem, d + shift)
        _, (below,), q_below, _ = value_at(problem, d - shift)
        slopes = -0.5 * (q_above - q_below) / (2 * step)
        np.testing.assert_allclose(hessian[:, m], slopes, rtol=1e-3, atol=1e-4)
        free, change = changes[0]
        moved = (above - below)[free] / (2 * step)
        np.testing.assert_allclose(change[:, m], moved, rtol=1e-3, atol=1e-3)


def test_products_of_small_svms_are_those_of_their_rows_and_columns(monkeypatch):
    X, y = svc_data(3, 30)
    places = [np.arange(20), np.arange(8, 30), np.array([0, 5, 29])]
    svms = [svm(X[some], y[some], C=2.0) for some in places]
    solutions = [np.sin(some + 1.0) for some in places]
    for megabytes, digits in ((100.0, 1e-12), (0.03, 1e-6)):  # float64, then float32
        grams = Grams([Gaussian(gamma) for gamma in GAMMAS], X, megabytes)
        for entries in (source.BLOCK_ENTRIES, 0):
            monkeypatch.setattr(source, "BLOCK_ENTRIES", entries)
            problem = WeightLearning(grams, places, svms)
            assert (problem._blocks is None) is (entries == 0)
            for some in (None, np.array([3, 1])):
                products = problem.products(solutions, some)
                for each, rows, b in zip(products, places, solutions, strict=True):
                    chosen = GAMMAS if some is None else np.array(GAMMAS)[some]
                    expected = [Gaussian(gamma)(X[rows]) @ b for gamma in chosen]
                    np.testing.assert_allclose(each, expected, rtol=digits, atol=digits)
        monkeypatch.undo()


def test_svms_share_weights_of_the_mean_objective():
    X, y = svc_data(3, 30)
    other = np.sign(X[:, 2] - 0.5)
    grams = Grams([Gaussian(gamma) for gamma in GAMMAS], X, 100.0)
    places = [np.arange(20), np.arange(8, 30)]
    svms = [svm(X[:20], y[:20], C=2.0), svm(X[8:], other[8:], C=2.0)]
    result = newton.solve(WeightLearning(grams, places, svms), tol=1e-9)
    assert result.gap <= 1e-9 * result.value
    problem = WeightLearning(grams, places, svms)
    assert value_at(problem, result.x)[0] == pytest.approx(result.value, rel=1e-8)
    # the optimal weights of each SVM are not better for the mean objective
    for t in range(2):
        alone = newton.solve(WeightLearning(grams, [places[t]], [svms[t]]), tol=1e-9)
        assert value_at(problem, alone.x)[0] >= result.value * (1 - 1e-9)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_permuted_kernels_have_permuted_weights(norm):
    one = newton.solve(classification(norm=norm), tol=1e-10)
    permuted = newton.solve(classification(norm=norm, gammas=GAMMAS[::-1]), tol=1e-10)
    np.testing.assert_allclose(permuted.x[::-1], one.x, atol=1e-5)


def test_a_kernel_given_twice_changes_the_optimum_for_larger_norms_only():
    """Two equal weights have a smaller norm than one weight of their sum."""
    gammas = (*GAMMAS, GAMMAS[-1])
    once, twice = (newton.solve(classification(gammas=g), tol=1e-10) for g in (GAMMAS, gammas))
    assert twice.value == pytest.approx(once.value)
    once = newton.solve(classification(norm=2.0), tol=1e-10)
    twice = newton.solve(classification(norm=2.0, gammas=gammas), tol=1e-10)
    assert twice.value < once.value - twice.gap
    assert twice.x[-2] == pytest.approx(twice.x[-1], abs=1e-4)


def test_stopping():
    problem = classification()
    assert newton.solve(problem, tol=1e-9, max_iter=1).status is Status.MAX_ITER
    stopped = newton.solve(problem, tol=1e-9, callback=lambda _: True)
    assert stopped.status is Status.STOPPED
    assert stopped.certificate.upper >= stopped.certificate.lower
    impossible = newton.solve(problem, tol=1e-30)
    assert impossible.status in (Status.STALLED, Status.MAX_ITER)


@pytest.mark.parametrize("megabytes", [1.0, 0.012, 0.006])
def test_weights_do_not_depend_on_memory(megabytes):
    # 5 matrices of 24 x 24: 23 KB in float64, 11.5 KB in float32, 4.6 KB for one.
    X, y = svc_data(0)
    grams = Grams([Gaussian(gamma) for gamma in GAMMAS], X, megabytes)
    problem = WeightLearning(grams, [np.arange(24)], [svm(X, y, C=4.0)])
    expected = {1.0: np.float64, 0.012: np.float32, 0.006: None}[megabytes]
    assert grams.whole == (expected is not None)
    assert grams.dtype == (expected or np.float32)
    np.testing.assert_allclose(grams.products(y)[3], Gaussian(8.0)(X) @ y, rtol=1e-6)
    result = newton.solve(problem, tol=1e-6)
    assert result.value == pytest.approx(10.61748576, rel=1e-6)


def test_too_little_memory_raises():
    with pytest.raises(ValueError, match=r"cache_mb >= 1, .*24 samples, got 0\.001"):
        Grams([Gaussian(1.0)], svc_data(0)[0], 0.001)
