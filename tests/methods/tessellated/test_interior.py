"""The interior-point method for few samples: its optimum, its range of problems, its limits."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pliant import GKLClassifier, TKLClassifier
from pliant.core.progress import Status
from pliant.kernels import GeneralizedPolynomial, TessellatedKernel
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers import interior, low_rank
from tests.reference.naive_tessellated import gram, tessellated_tensor

FAMILIES = {
    "tessellated": TessellatedKernel(-0.5, 1.5, 1),
    "with z": TessellatedKernel(-0.5, 1.5, 1, "xz"),
    "polynomial": GeneralizedPolynomial(-0.5, 1.5, 2),
}
every_family = pytest.mark.parametrize("family", FAMILIES)


def problem_of(family="tessellated", m=9, n=2, C=5.0, seed=0, **options):
    rng = np.random.default_rng(seed)
    X, signs = rng.random((m, n)), np.where(np.arange(m) % 3, 1.0, -1.0)
    weights = C * (0.5 + rng.random(m))
    return KernelLearning(FAMILIES[family], X, partial(svc_dual, signs=signs, C=weights), **options)


@every_family
@pytest.mark.parametrize("seed", range(4))
def test_its_optimum_is_that_of_the_other_solver(family, seed):
    problem = problem_of(family, C=10.0**seed, seed=seed)
    ours = interior.solve(problem, tol=1e-7)
    theirs = low_rank.solve(problem, tol=1e-4)
    assert ours.status is Status.CONVERGED
    assert 0 <= ours.gap <= 1e-7 * ours.value
    # each optimum is between both pairs of bounds
    assert ours.value >= theirs.value - theirs.gap - 1e-9 * ours.value
    assert theirs.value >= ours.value - ours.gap - 1e-9 * ours.value
    assert np.vdot(ours.x, ours.x) == pytest.approx(problem.size)
    assert ours.x.shape[1] <= theirs.x.shape[1] + 1


def test_the_optimum_of_a_semidefinite_program():
    rng = np.random.default_rng(1)
    X, y = rng.random((7, 1)), np.array([1.0, -1, -1, 1, 1, -1, 1])
    kernel = TessellatedKernel(-0.5, 1.5, 1, "x", False)
    result = interior.solve(KernelLearning(kernel, X, partial(svc_dual, signs=y, C=3.0)), tol=1e-7)
    G = tessellated_tensor(X, X, -0.5, 1.5, 1, "x")
    K = gram(G, result.x @ result.x.T)
    proof = result.certificate
    residual = 1 - y * (K @ proof.w + proof.intercept)
    primal = 0.5 * proof.w @ K @ proof.w + 3.0 * np.maximum(residual, 0).sum()
    assert primal == pytest.approx(result.value, rel=1e-9)
    assert abs(proof.w.sum()) <= 1e-9
    assert (proof.w * y >= -1e-12).all()
    assert (proof.w * y <= 3 + 1e-12).all()


@every_family
def test_the_basis_holds_every_quadratic_form(family):
    problem = problem_of(family)
    integrals = interior._Integrals.of(problem)
    U = integrals.basis
    assert np.allclose(U.T @ U, np.eye(U.shape[1]))
    rng = np.random.default_rng(3)
    for _ in range(5):
        w = rng.standard_normal(9)
        w -= w.mean()
        D = problem.quadratic(w)
        small = (w @ (w @ integrals.values)).reshape((U.shape[1],) * 2)
        assert np.allclose(U @ small @ U.T, D, rtol=1e-9, atol=1e-9 * np.abs(D).max())
    S = np.cov(rng.standard_normal((U.shape[1], 50)))
    K = (integrals.values @ S.ravel()).reshape(9, 9)
    root = np.linalg.cholesky(S)
    assert np.allclose(K, problem.gram(U @ root), rtol=1e-9)


def test_integrals_of_a_table_are_used():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 3)), np.arange(24) % 6
    shared = TKLClassifier(tol=1e-6).fit(X, y)
    alone = TKLClassifier(tol=1e-6, cache_mb=1e-2).fit(X, y)  # no table fits
    for one, other in zip(shared.estimators_, alone.estimators_, strict=True):
        assert one.objective_ == pytest.approx(other.objective_, rel=2e-6)


def test_problems_of_other_kinds_are_left_to_other_solvers():
    problem = problem_of()
    assert interior.solve(problem) is not None
    regression = partial(svr_dual, target=np.arange(9.0), C=1.0, epsilon=0.0)
    one_class = partial(svc_dual, signs=np.ones(9), C=1.0)
    others = [
        replace(problem, margin=regression),
        replace(problem, margin=one_class),
        replace(problem, floor=0.1),
        replace(problem, dtype=np.float32),
        problem_of(m=interior.FEW_SAMPLES + 1),
        replace(problem, points=np.ones((9, 2))),  # nothing to learn
        KernelLearning(GeneralizedPolynomial(0.0, 1e60, 2), 1e60 * problem.points, problem.margin),
    ]
    assert [interior.solve(other) for other in others] == [None] * len(others)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_limit_leaves_certified_bounds(limit):
    problem = problem_of()
    optimum = interior.solve(problem, tol=1e-8).value
    result = interior.solve(problem, tol=1e-8, max_iter=limit)
    assert result.n_iter == limit == len(result.history)
    assert result.status is Status.MAX_ITER
    assert result.value - result.gap <= optimum <= result.value
    K = problem.gram(result.x)
    again = problem.dual(K).bound(result.certificate.w, 0.0, K @ result.certificate.w)
    assert np.isfinite(again.gap)


def test_a_callback_stops_it():
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) == 3

    result = interior.solve(problem_of(), tol=1e-8, callback=stop)
    assert result.status is Status.STOPPED
    assert result.n_iter == 3
    assert np.isfinite(result.value)


def test_stalled_steps_go_on_with_the_other_solver(monkeypatch):
    monkeypatch.setattr(interior, "MOST_STEPS", 2)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    model = TKLClassifier().fit(X, y)
    assert model.dual_gap_ <= 1e-3 * model.objective_
    assert model.n_iter_ > 2


@pytest.mark.parametrize("Model", [TKLClassifier, GKLClassifier])
def test_many_features_and_few_samples_close_the_gap(Model):
    # the search on factors of low rank gave up on these with gaps of 0.1 to 2 per cent
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 40)), np.arange(24) % 2
    model = Model().fit(X, y)
    assert 0 <= model.dual_gap_ <= 1e-3 * model.objective_
    assert model.n_iter_ <= 60
    assert model.rank_ <= 5


@pytest.mark.parametrize("scale", [1e120, 1e77])
def test_numbers_beyond_the_range_of_floats_are_left_to_the_other_solver(scale):
    problem = problem_of("polynomial", C=1.0)
    assert interior.solve(replace(problem, points=scale * problem.points)) is None
