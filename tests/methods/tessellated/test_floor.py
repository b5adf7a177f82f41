"""P >= floor I: the optimum, the certificate and the kernel that is learned."""

from functools import partial

import numpy as np
import pytest

from pliant import GKLClassifier, TKLClassifier, TKLRegressor
from pliant.kernels import GeneralizedPolynomial, TessellatedKernel
from pliant.methods.svm.dual import svr_dual
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers import frank_wolfe, hybrid, low_rank, primal_dual
from tests.papers.tessellated_cases import C1, R1
from tests.reference.naive_tessellated import gram, quadratic, tessellated_tensor
from tests.reference.tessellated_sdp import (
    by_shape_matrix,
    by_weights,
    classification,
    regression,
    svm,
)

X, Y, TARGET = C1.X[:16], C1.y[:16], R1.y[:16]
BOX = (-0.3, 1.3, 1, "x")
G = tessellated_tensor(X, X, *BOX)
CLASSES, REGRESSION = classification(Y, 5.0), regression(TARGET, 5.0, 0.1)
SOLVERS = [low_rank, frank_wolfe, primal_dual, hybrid]


def problem(floor):
    margin = partial(svr_dual, target=TARGET, C=5.0, epsilon=0.1)
    kernel = TessellatedKernel(*BOX, normalize_measure=False)
    return KernelLearning(kernel, X, margin, floor=floor)


def classifier(floor, **options):
    options = {"delta": 0.3, "scale": False, "normalize_measure": False, "tol": 1e-5} | options
    return TKLClassifier(5.0, floor=floor, **options)


# The optimum


@pytest.mark.parametrize("floor", [0.05, 0.5])
@pytest.mark.parametrize("margin", [CLASSES, REGRESSION], ids=["classes", "regression"])
def test_both_semidefinite_programs_agree(margin, floor):
    """The dual, from which P is eliminated, and the primal, where the constraint is stated."""
    dual, _ = by_weights(G, margin, floor)
    primal, P = by_shape_matrix(G, margin, floor)
    assert dual == pytest.approx(primal, rel=1e-5)
    assert np.linalg.eigvalsh(P)[0] >= floor - 1e-5
    assert dual > by_weights(G, margin)[0]


@pytest.mark.parametrize("floor", [0.01, 0.3, 0.9])
def test_the_estimator_reaches_the_optimum(floor):
    model = classifier(floor).fit(X, Y)
    optimum, _ = by_weights(G, CLASSES, floor)
    assert model.objective_ == pytest.approx(optimum, rel=2e-5)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)
    assert model.objective_ >= optimum * (1 - 1e-6)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda module: module.__name__.split(".")[-1])
def test_all_solvers_bound_the_optimum(solver):
    optimum, _ = by_weights(G, REGRESSION, 0.2)
    result = solver.solve(problem(0.2), tol=1e-4, max_iter=60)
    uppers, lowers = result.objectives, result.objectives - result.gaps
    assert (uppers >= optimum * (1 - 1e-6)).all()
    assert (lowers <= optimum * (1 + 1e-6)).all()
    assert result.value == pytest.approx(optimum, rel=1e-3)
    assert solver is not low_rank or result.gap <= 1e-4 * result.value


# The certificate, from its definition


def test_every_w_bounds_every_p_from_below():
    """kappa(w) - (floor tr D + (1 - floor) n_P lambda_max(D))/2 is the best P's value."""
    r = np.random.default_rng(0)
    w = REGRESSION.upper * r.uniform(-0.01, 0.01, len(X))
    w -= w.mean()
    D, n_p, floor = quadratic(G, w), len(G), 0.3
    values, vectors = np.linalg.eigh(D)
    best = floor * np.eye(n_p) + (1 - floor) * n_p * np.outer(vectors[:, -1], vectors[:, -1])
    cost = floor * np.trace(D) + (1 - floor) * n_p * values[-1]
    assert np.vdot(D, best) == pytest.approx(cost)
    gain = REGRESSION.gain(w)
    oracle = problem(floor).oracle(w, gain)
    share = min(1.0, gain / cost) if gain > 0 else 0.0
    assert oracle.lower == pytest.approx(share * gain - share**2 * cost / 2, rel=1e-9)
    np.testing.assert_allclose(oracle.matrix, (1 - floor) * D, atol=1e-10 * np.abs(D).max())
    assert oracle.lower <= svm(gram(G, best), REGRESSION)[0] * (1 + 1e-6)


# What is learned


def test_p_has_the_floor_the_trace_and_full_rank():
    model = classifier(0.1).fit(X, Y)
    P = model.shape_matrix_
    assert np.linalg.eigvalsh(P)[0] == pytest.approx(0.1, rel=1e-9)
    assert np.trace(P) == pytest.approx(len(P), rel=1e-9)
    assert model.rank_ == len(P)
    free = classifier(0.0).fit(X, Y)
    assert free.rank_ < len(P)
    assert np.linalg.eigvalsh(free.shape_matrix_)[0] == pytest.approx(0.0, abs=1e-9)


def test_the_objective_is_that_of_the_kernel_that_predicts():
    model = classifier(0.1).fit(X, Y)
    K = gram(G, model.shape_matrix_)
    np.testing.assert_allclose(model.kernel_(X), K, rtol=1e-9, atol=1e-9)
    assert svm(K, CLASSES)[0] <= model.objective_ * (1 + 1e-6)
    assert svm(K, CLASSES)[0] >= model.lower_bound_ * (1 - 1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", [{"subsample": 12}, {"dtype": "float32"}, {"cache_mb": 1e-3}])
def test_the_floor_holds_however_p_is_learned(options):
    model = classifier(0.2, tol=0.05, random_state=0, **options).fit(X, Y)
    assert np.linalg.eigvalsh(model.shape_matrix_)[0] == pytest.approx(0.2, rel=1e-6)
    optimum, _ = by_weights(G, CLASSES, 0.2)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)
    assert model.objective_ >= optimum * (1 - 1e-6)


def test_two_samples_and_any_family():
    model = TKLRegressor(floor=0.5).fit([[0.0], [1.0]], [0.0, 1.0])
    assert model.dual_gap_ <= 1e-3 * model.objective_
    learned = GKLClassifier(GeneralizedPolynomial(degree=2), floor=0.25).fit(X, Y)
    assert np.linalg.eigvalsh(learned.shape_matrix_)[0] == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize(
    ("floor", "message"),
    [(-0.1, "floor >= 0, a finite number, got -0.1"), (1.0, "floor < 1, got 1.0"), ("a", "floor")],
)
def test_bad_floors_get_one_clear_error(floor, message):
    with pytest.raises(ValueError, match=message):
        classifier(floor).fit(X, Y)
