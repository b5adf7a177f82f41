"""Objectives of the bandwidths: slow twins, gradients, precision and degenerate data."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.linalg import cho_solve
from sklearn.kernel_ridge import KernelRidge

from pliant.core.device import get_device
from pliant.kernels import Gaussian, Matern
from pliant.methods.lab_rbf import objective
from pliant.methods.lab_rbf.constants import JITTER, LOG_SQUARE_RANGE
from pliant.methods.lab_rbf.kernel import PROFILES
from pliant.methods.lab_rbf.objective import (
    BandwidthProblem,
    LocalFeatures,
    LocalRows,
    MarginalLikelihood,
    Ridge,
    dual_ridge_path,
    ridge_path,
)
from pliant.methods.lab_rbf.paper import Interpolation
from tests.reference import naive_local as naive

OBJECTIVES = ("ridge", "evidence", "interpolation")
SCALE, LEVEL = 1.3, 0.2


@dataclass
class Case:
    """Data and parameters of an objective, evaluated by the library and by a slow twin."""

    objective: str = "ridge"
    profile: str = "gaussian"
    outputs: int = 1
    linear: bool = False
    weighted: bool = False
    alpha: float = 0.3
    seed: int = 0
    n: int = 14
    m: int = 4
    d: int = 3

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        self.X = rng.uniform(-1, 1, size=(self.n, self.d))
        self.Y = rng.normal(size=(self.n, self.outputs))
        self.weights = rng.uniform(0.2, 3.0, size=self.n) if self.weighted else None
        self.centres = self.X[: self.m].copy()
        self.s = rng.normal(size=(self.m, self.d))

    def rows(self, dtype="float64", device="cpu"):
        features = LocalFeatures(
            self.centres, PROFILES[self.profile], self.linear, get_device(device, dtype)
        )
        return LocalRows.from_arrays(features, self.X, self.Y, self.weights)

    def problem(self, **kinds):
        rows = self.rows(**kinds)
        if self.objective == "ridge":
            return Ridge(rows, self.alpha, SCALE)
        if self.objective == "evidence":
            return MarginalLikelihood(rows, SCALE)
        return Interpolation(rows, self.Y[: self.m], self.alpha, SCALE)

    def naive(self, s, level=LEVEL):
        F = naive.features(self.X, self.centres, s, self.profile, self.linear)
        rooted, Y = naive.rooted(self.weights, F, self.Y)
        if self.objective == "ridge":
            return naive.ridge(rooted, Y, self.alpha, SCALE)
        if self.objective == "evidence":
            lam = math.exp(level) + JITTER * float((rooted**2).sum(axis=0).mean())
            return naive.evidence(rooted, Y, lam, SCALE)
        c = naive.interpolation_coefficients(
            self.centres, self.Y[: self.m], s, self.alpha, self.profile
        )
        return naive.interpolation(rooted, Y, c, SCALE)


CASES = [
    Case(objective, profile, outputs, linear, weighted)
    for objective, profile, outputs, linear, weighted in itertools.product(
        OBJECTIVES, PROFILES, (1, 2), (False, True), (False, True)
    )
    if not (linear and objective == "interpolation")  # has no linear part
]
CASES += [  # more features than rows
    Case(objective, "matern52", outputs, True, weighted, n=7, d=9)
    for objective, outputs, weighted in itertools.product(
        ("ridge", "evidence"), (1, 2), (False, True)
    )
]


def name(case):
    words = [case.objective, case.profile, f"{case.outputs}y", f"{case.n}x{case.d}"]
    return "-".join(words + ["linear"] * case.linear + ["weighted"] * case.weighted)


def relative(difference, reference):
    return np.abs(difference).max() / max(1e-3, np.abs(reference).max())


@pytest.mark.parametrize("case", CASES, ids=name)
def test_value_and_gradient_match_the_slow_twin(case):
    point = case.problem().at(case.s, LEVEL)
    assert point.value == pytest.approx(case.naive(case.s), rel=1e-10, abs=1e-10)
    expected = naive.differences(case.naive, case.s)
    assert relative(point.gradient - expected, expected) < 1e-7
    by_level = naive.differences(lambda level: case.naive(case.s, level[0]), np.array([LEVEL]))
    assert point.log_penalty == pytest.approx(by_level[0], abs=1e-9)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_value_without_gradient_and_cache(case):
    problem = case.problem()
    point = problem.at(case.s, LEVEL)
    assert problem.value(case.s, LEVEL) == point.value
    assert problem.at(case.s.copy(), LEVEL) is point
    s, moved = case.s.copy(), case.s.copy()
    moved[-1, -1] += 0.1
    for other in (problem.at(moved, LEVEL), problem.at(s, LEVEL)):
        assert other is not point
    s += 0.1  # the caller may modify the array of a cached point
    assert problem.at(s, LEVEL).value == case.problem().at(s, LEVEL).value


def of_rows(case, rows, weights=None):
    """Build the objective on some rows of a case, with the same centres and their targets."""
    other = replace(case)
    other.X, other.Y, other.weights = case.X[rows], case.Y[rows], weights
    problem = other.problem()
    if case.objective == "interpolation":
        problem = replace(problem, target=case.Y[: case.m])
    return problem


def assert_alike(one, other):
    assert other.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_row_order_unit_weights_and_samples(objective):
    case = Case(objective, "matern52", 2, weighted=True)
    point, order = (
        case.problem().at(case.s, LEVEL),
        np.random.default_rng(1).permutation(case.n),
    )
    assert_alike(point, of_rows(case, order, case.weights[order]).at(case.s, LEVEL))
    chosen = np.array([3, 7, 8, 12])
    expected = of_rows(case, chosen, case.weights[chosen]).at(case.s, LEVEL)
    assert_alike(expected, case.problem().sample(chosen).at(case.s, LEVEL))
    every = np.arange(case.n)
    expected = of_rows(case, every).at(case.s, LEVEL)
    assert_alike(expected, of_rows(case, every, np.ones(case.n)).at(case.s, LEVEL))


@pytest.mark.parametrize("objective", ["ridge", "interpolation"])
def test_weight_of_two_is_a_repeated_row(objective):
    case = Case(objective, outputs=2)
    case.weights = np.random.default_rng(2).integers(0, 3, size=case.n).astype(float)
    rows = np.repeat(np.arange(case.n), case.weights.astype(int))
    one, other = case.problem().at(case.s, LEVEL), of_rows(case, rows).at(case.s, LEVEL)
    share = len(rows) / case.n  # both are averages over rows
    assert other.value * share == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(other.gradient * share, one.gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("profile", "kernel"),
    [
        ("gaussian", Gaussian(0.49)),
        ("matern52", Matern(2.5, 0.245)),
        ("laplacian", Matern(0.5, 0.245)),
    ],
)
def test_equal_bandwidths_give_kernel_ridge(profile, kernel):
    case = Case("interpolation", profile, 2, n=40, m=25)
    s = np.full((25, 3), 2 * math.log(0.7))
    ours = case.problem().coefficients(s)
    gram = kernel(case.centres)
    theirs = KernelRidge(alpha=case.alpha, kernel="precomputed").fit(gram, case.Y[:25])
    np.testing.assert_allclose(ours, theirs.dual_coef_, rtol=0, atol=1e-10)
    loss = np.sum((theirs.predict(kernel(case.X, case.centres)) - case.Y) ** 2) / (40 * SCALE)
    exact = 1e-10 if profile != "laplacian" else 1e-7  # exp(-r) at r = 0 in product form
    assert case.problem().at(s).value == pytest.approx(loss, rel=exact)


@pytest.mark.parametrize("case", CASES[::3], ids=name)
def test_pytorch_matches_numpy(case):
    pytest.importorskip("torch")
    one = case.problem().at(case.s, LEVEL)
    other = case.problem(device="torch").at(case.s, LEVEL)
    assert other.value == pytest.approx(one.value, rel=1e-10)
    assert relative(other.gradient - one.gradient, one.gradient) < 1e-8


@pytest.mark.parametrize("learns_penalty", [False, True])
def test_shrinkage_penalty(learns_penalty):
    case = Case("evidence", outputs=2)
    problem = BandwidthProblem(case.problem(), 0.7, learns_penalty)
    x = problem.pack(case.s, LEVEL)
    assert x.shape == (case.s.size + learns_penalty,)
    value, gradient = problem.value_and_gradient(x)
    level = LEVEL if learns_penalty else 0.0
    assert value == pytest.approx(case.naive(case.s, level) + 0.7 * naive.spread(case.s))

    def naively(x):
        s = x[: case.s.size].reshape(case.s.shape)
        return case.naive(s, x[-1] if learns_penalty else 0.0) + 0.7 * naive.spread(s)

    np.testing.assert_allclose(gradient, naive.differences(naively, x), rtol=0, atol=1e-8)
    s, unpacked = problem.unpack(x)
    np.testing.assert_array_equal(s, case.s)
    assert unpacked == level


@pytest.mark.parametrize("learns_penalty", [False, True])
def test_shared_bandwidths(learns_penalty):
    case = Case("evidence", "matern52", 2)
    problem = BandwidthProblem(case.problem(), math.inf, learns_penalty)
    row = np.array([0.3, -1.0, 0.5])
    x = problem.pack(np.tile(row, (case.m, 1)), LEVEL)
    np.testing.assert_allclose(x, [*row, LEVEL][: len(x)])

    def naively(x):
        return case.naive(np.tile(x[:3], (case.m, 1)), x[-1] if learns_penalty else 0.0)

    value, gradient = problem.value_and_gradient(x)
    assert value == pytest.approx(naively(x), rel=1e-12)
    np.testing.assert_allclose(gradient, naive.differences(naively, x), rtol=0, atol=1e-8)


@pytest.mark.parametrize("shrinkage", [0.0, math.inf])
def test_bandwidths_are_bounded(shrinkage):
    problem = BandwidthProblem(Case().problem(), shrinkage)
    x = problem.pack(np.array([[-99.0, 99.0, 0.0]] * 4), 0.0)
    s, _ = problem.unpack(x)
    np.testing.assert_allclose(s, [[*LOG_SQUARE_RANGE, 0.0]] * 4)
    assert np.isfinite(problem.value_and_gradient(x)[0])


@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e4])
def test_ridge_path_matches_each_alpha(alpha):
    case = Case(outputs=2, linear=True)
    F = naive.features(case.X, case.centres, case.s, "gaussian", True)
    path = ridge_path(F.T @ F, F.T @ case.Y, np.array([0.5, alpha]))
    assert path.shape == (2, 7, 2)
    np.testing.assert_allclose(path[1], naive.ridge_coefficients(F, case.Y, alpha), atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e4])
def test_dual_ridge_path_matches_each_alpha(alpha):
    case = Case(outputs=2, linear=True, n=7, d=9)
    F = naive.features(case.X, case.centres, case.s, "gaussian", True)
    path = dual_ridge_path(F, case.Y, np.array([0.5, alpha]))
    assert path.shape == (2, 13, 2)
    np.testing.assert_allclose(path[1], naive.ridge_coefficients(F, case.Y, alpha), atol=1e-6)


DEGENERATE = {
    "dirac": lambda case: case.s.fill(LOG_SQUARE_RANGE[1]),
    "flat": lambda case: case.s.fill(LOG_SQUARE_RANGE[0]),
    "equal centres": lambda case: case.centres.__setitem__(1, case.centres[0]),
    "constant feature": lambda case: case.X.__setitem__((slice(None), 0), 0.0),
    "constant target": lambda case: case.Y.fill(0.0),
    "far rows": lambda case: case.X.__setitem__(0, 1e6),
}


@pytest.mark.parametrize("data", DEGENERATE)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_degenerate_data_give_finite_values(objective, profile, data):
    case = Case(objective, profile, 2)
    DEGENERATE[data](case)
    point = case.problem().at(case.s, LEVEL)
    assert math.isfinite(point.value)
    assert np.isfinite(point.gradient).all()
    unbounded = objective == "evidence" and data == "constant target"  # log 0
    if data != "far rows" and not unbounded:
        assert point.value == pytest.approx(case.naive(case.s), rel=1e-6, abs=1e-9)


# float32 products


LARGE = Case(n=1500, m=60, d=3, outputs=2, linear=True, weighted=True)


def products(case=LARGE):
    """Return rows in float32, F'F and F'y in float64, and F."""
    rows = case.rows(dtype="float32")
    features = rows.evaluate(case.s).features
    F = np.float64(features)
    return rows, F.T @ F, F.T @ np.float64(rows.target), features


def test_small_ridge_penalties_use_float64():
    rows, gram, right, features = products()
    coarse = rows.normal_equations(features, 1e-3 * gram.diagonal().mean())
    assert coarse.rounded
    np.testing.assert_allclose(coarse.gram, gram, rtol=0, atol=1e-5 * gram.max())
    assert not np.allclose(coarse.gram, gram, rtol=0, atol=1e-12 * gram.max())
    exact = rows.normal_equations(features, 1e-6 * gram.diagonal().mean())
    assert not exact.rounded
    np.testing.assert_allclose(exact.gram, gram, rtol=0, atol=1e-12 * gram.max())
    np.testing.assert_allclose(exact.right, right, rtol=0, atol=1e-11 * np.abs(right).max())
    few, _, _, features = products(replace(LARGE, n=200))
    assert not few.normal_equations(features, 1e6).rounded
    double = LARGE.rows()
    assert not double.normal_equations(double.evaluate(LARGE.s).features, 1e6).rounded


def test_refinement_removes_most_of_the_rounding_error():
    rows, gram, right, features = products()
    alpha = 3e-5 * float(gram.diagonal().mean())
    expected = np.linalg.solve(gram + alpha * np.eye(len(gram)), right)
    equations = rows.normal_equations(features, alpha)
    assert equations.rounded
    factor = objective.cholesky_factor(equations.gram, alpha)
    coarse = cho_solve((factor, True), equations.right)
    refined, *_ = objective.ridge_solution(rows, features, alpha)
    assert np.abs(refined - expected).max() < 0.2 * np.abs(coarse - expected).max()


@pytest.mark.parametrize("kind", ["ridge", "evidence"])
def test_rounding_errors_above_the_penalty(kind, monkeypatch):
    """The float32 Gram matrix of nearly equal features has negative eigenvalues.

    The errors depend on the processor, so the test adds some that are twice the penalty.
    """
    case = Case(kind, n=1500, m=300, d=30, alpha=3e-5 * 1500)
    case.X = np.where(case.X < 0.8, -1.0, 1.0)
    case.centres, s = case.X[:300].copy(), np.full((300, 30), -7.0)
    plain = objective.LocalRows.normal_equations

    def with_errors(rows, F, ridge=0.0):
        found = plain(rows, F, ridge)
        errors = 2.0 * case.alpha * np.eye(300) if found.rounded else 0.0
        return found._replace(gram=found.gram - errors)

    monkeypatch.setattr(objective.LocalRows, "normal_equations", with_errors)
    rows = case.rows(dtype="float32")
    rounded = rows.normal_equations(rows.evaluate(s).features, case.alpha)
    assert rounded.rounded
    assert np.linalg.eigvalsh(rounded.gram)[0] < -case.alpha
    exact, single = (
        case.problem(dtype=dtype).value(s, math.log(case.alpha)) for dtype in ("float64", "float32")
    )
    assert single == pytest.approx(exact, rel=1e-5)
