"""The sequence of models, on a problem with a known solution and on the adapted duals."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.progress import Progress, Result, Status
from pliant.kernels import TL1, Gaussian
from pliant.methods.dank import sequential
from pliant.methods.dank.problem import hadamard_dual
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual
from pliant.methods.svm.rows import DenseRows
from tests.methods.svm import svm_samples


class Proof(NamedTuple):
    value: float
    gap: float
    linearized_gap: float


class Place(NamedTuple):
    beta: np.ndarray
    value: float
    f: np.ndarray


class Bowl:
    """Maximise g'x - 1/2 x'Hx; the model has the diagonal (1 + share) * row sums of abs(H)."""

    psd = True

    def __init__(self, n=6, seed=0):
        r = np.random.default_rng(seed)
        root = r.standard_normal((n, n))
        self.H, self.g = root @ root.T + 0.1 * np.eye(n), r.standard_normal(n)
        self.optimum = np.linalg.solve(self.H, self.g)
        self.verified = []

    def at(self, beta, near=None, *, verify=False):
        self.verified.append(verify)
        f = self.H @ beta
        return Place(beta, float(self.g @ beta - 0.5 * beta @ f), f)

    def certificate(self, point):
        slope = self.g - point.f
        gap = 0.5 * slope @ np.linalg.solve(self.H, slope)
        return Proof(point.value, gap, gap)

    def model(self, point, share):
        return point, (self.g - point.f), share * np.abs(self.H).sum(axis=1)

    def share(self, old, new):
        step = new.beta - old.beta
        found = step @ (new.f - old.f) / (step @ (np.abs(self.H).sum(axis=1) * step))
        return float(np.clip(found, 0.05, 1.0))

    def predicted_gain(self, at, old, new):
        return float((self.g - at.f) @ (new.beta - old.beta))


def exact(model, start, *, tol, max_iter, callback):
    """Return the maximiser of a diagonal model."""
    point, slope, curvature = model
    step = slope / curvature
    gain = float(0.5 * slope @ step)
    history = [Progress(0, point.value, gain), Progress(1, point.value + gain, 0.0)]
    callback(history[0])
    return Result(start + step, point.value + gain, 0.0, 1, Status.CONVERGED, history)


@pytest.mark.parametrize("seed", range(5))
def test_a_problem_with_a_known_solution(seed, monkeypatch):
    monkeypatch.setattr(smo, "solve", exact)
    problem = Bowl(seed=seed)
    result = sequential.solve(problem, np.zeros(6), tol=1e-10)
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, problem.optimum, atol=1e-3)
    assert result.value == pytest.approx(0.5 * problem.g @ problem.optimum, rel=1e-9)
    assert 0 <= result.gap <= 1e-10 * (1 + abs(result.value))
    assert np.all(np.diff(result.objectives) >= -1e-12)
    assert result.n_iter == len(result.history) - 1
    assert problem.verified[-1]
    assert result.certificate.gap == result.gap


def test_a_solver_without_progress_stalls(monkeypatch):
    tried = []

    def lazy(model, start, *, tol, max_iter, callback):
        tried.append(tol)
        value = model[0].value
        return Result(start, value, 0.0, 0, Status.CONVERGED, [Progress(0, value, 0.0)])

    monkeypatch.setattr(smo, "solve", lazy)
    result = sequential.solve(Bowl(), np.zeros(6), tol=1e-8)
    assert result.status is Status.STALLED
    assert len(tried) == sequential.PATIENCE
    assert np.all(np.diff(np.log(tried)) < 0)  # tolerances decrease
    np.testing.assert_array_equal(result.x, np.zeros(6))


def classification(n=30, seed=0, psd=True):
    X, y = svm_samples.classification(seed, n)
    gram = Gaussian(2.0)(X) if psd else TL1(rho=0.8)(X)
    return svc_dual(DenseRows(gram), y, 4.0, psd=psd)


RULES = {"tau": {"tau": 0.05}, "large tau": {"tau": 3.0}, "centred": {"centred": True}}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def solve(problem, **options):
    start = np.zeros(len(problem.plain.linear))
    return sequential.solve(problem, start, **options)


@every_rule
@given(
    seed=st.integers(0, 10**6),
    eta=st.sampled_from([1e-3, 0.1, 10.0, 1e4]),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    max_iter=st.integers(0, 60),
)
@settings(max_examples=15, deadline=None)
def test_every_iterate_is_feasible_and_bounded_by_its_gap(rule, seed, eta, C, max_iter):
    plain = classification(seed=seed)
    plain = svc_dual(plain.rows, plain.linear, C)
    problem = hadamard_dual(plain, eta, **rule)
    early, late = solve(problem, max_iter=max_iter), solve(problem, tol=1e-7)
    slack = 1e-8 * (1 + abs(late.value))
    assert abs(early.x.sum()) <= 1e-9 * (1 + np.abs(early.x).sum())
    assert ((plain.lower <= early.x) & (early.x <= plain.upper)).all()
    assert early.n_iter <= max_iter
    assert early.gap >= 0
    assert early.value <= late.value + late.gap + slack
    assert late.value <= early.value + early.gap + slack
    assert np.all(np.diff(early.objectives) >= -slack)
    assert np.all(np.diff(late.objectives) >= -slack)
    assert [step.n_iter for step in late.history] == sorted(step.n_iter for step in late.history)
    assert late.history[-1] == (late.n_iter, late.value, late.gap)


@every_rule
def test_any_start_leads_to_the_same_optimum(rule):
    plain = classification()
    problem = hadamard_dual(plain, 0.5, **rule)
    cold = solve(problem, tol=1e-9)
    warm = sequential.solve(problem, smo.solve(plain).x, tol=1e-9)
    again = sequential.solve(problem, cold.x, tol=1e-9)
    assert warm.value == pytest.approx(cold.value, rel=1e-8)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.x, cold.x)
