"""GKL with any basis N, against TKL and semidefinite programs."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pliant import (
    GeneralizedPolynomial,
    GKLClassifier,
    GKLRegressor,
    QuadratureKernel,
    TessellatedKernel,
    TKLClassifier,
)
from pliant.kernels import Gaussian
from pliant.methods.tkl.solvers.search import WINDOW
from tests.papers.tessellated_cases import C1, R1
from tests.reference.naive_tessellated import cells_rule, polynomial_tensor, tessellated_values
from tests.reference.tessellated_sdp import by_weights, classification

X, Y = C1.X, C1.y
NEW = np.random.default_rng(9).uniform(-0.2, 1.2, (15, 2))
NODES, WEIGHTS = np.linspace(0.05, 0.95, 8)[:, None], np.full(8, 0.125)


def bumps(nodes, points):
    """Evaluate a basis of three functions of z - x_1, shape (q, m, 3)."""
    distance = nodes - points[:, 0]
    return np.stack([np.ones_like(distance), np.exp(-(distance**2)), distance > 0], axis=-1)


def bumps_kernel(**changes):
    return QuadratureKernel(**{"function": bumps, "nodes": NODES, "weights": WEIGHTS, **changes})


# The optimum


def test_tessellated_kernels_agree_with_tkl():
    model = GKLClassifier(TessellatedKernel(-0.3, 1.3), C=C1.C, tol=3e-7).fit(X, Y)
    tkl = TKLClassifier(C1.C, delta=0.3, scale=False, tol=3e-7).fit(X, Y)
    assert model.objective_ == pytest.approx(C1.optimum(1, "x"), rel=1e-6)
    np.testing.assert_allclose(model.decision_function(NEW), tkl.decision_function(NEW))
    family, options = TessellatedKernel(-0.5, 1.5), {"epsilon": 0.1, "scale_target": False}
    line = GKLRegressor(family, C=R1.C, tol=3e-7, **options).fit(R1.X, R1.y)
    assert line.objective_ == pytest.approx(R1.optimum(1, "x"), rel=1e-6)


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_a_tessellated_basis_on_nodes_reaches_its_optimum(basis):
    """N is polynomial in the cells between points, also for the paper's basis of x and z."""

    def values(nodes, points):
        return np.stack([tessellated_values(nodes, x, 1, basis) for x in points], axis=1)

    nodes, weights = cells_rule([np.unique([-0.3, 1.3, *column]) for column in X.T], 2)
    family = QuadratureKernel(values, nodes, weights / 1.6**2)
    model = GKLClassifier(family, C=C1.C, tol=3e-7).fit(X, Y)
    assert model.objective_ == pytest.approx(C1.optimum(1, basis), rel=1e-6)


def test_polynomials_reach_the_optimum_of_the_semidefinite_program():
    model = GKLClassifier(GeneralizedPolynomial(-0.3, 1.3, 2), C=C1.C, tol=1e-6).fit(X, Y)
    G = polynomial_tensor(X, X, -0.3, 1.3, 2, normalized=True)
    optimum, _ = by_weights(G, C1.margin)
    assert model.objective_ == pytest.approx(optimum, rel=3e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_any_basis_reaches_the_optimum_of_the_semidefinite_program(C):
    model = GKLClassifier(bumps_kernel(), C=C, tol=1e-5).fit(X, Y)
    N = bumps(NODES, X)
    G = np.einsum("q,qki,qlj->ijkl", WEIGHTS, N, N)
    optimum, _ = by_weights(G, classification(Y, C))
    assert model.objective_ == pytest.approx(optimum, rel=2e-5)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)
    assert np.trace(model.shape_matrix_) == pytest.approx(3)
    floored = GKLClassifier(bumps_kernel(), C=C, floor=0.25).fit(X, Y)
    assert np.linalg.eigvalsh(floored.shape_matrix_)[0] == pytest.approx(0.25, rel=1e-9)


# The learned kernel


@pytest.mark.parametrize(
    "family",
    [GeneralizedPolynomial(), TessellatedKernel(-0.5, 1.5), bumps_kernel(), None],
    ids=lambda family: type(family).__name__,
)
@pytest.mark.parametrize("estimator", [GKLClassifier, GKLRegressor])
def test_prediction_is_the_expansion_in_the_learned_kernel(estimator, family):
    y = Y if estimator is GKLClassifier else np.sin(5 * X[:, 0]) + X[:, 1]
    model = estimator(family, C=5.0).fit(X, y)
    f = model.decision_function if estimator is GKLClassifier else model.predict
    expected = model.kernel_(NEW, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(f(NEW), expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max()))
    np.testing.assert_array_equal(model.kernel_.factor, model.shape_factor_)
    assert isinstance(model.kernel_, type(family or GeneralizedPolynomial()))
    assert model.dual_gap_ <= 1e-3 * model.objective_


def test_the_family_is_copied_and_its_shape_ignored():
    given = TessellatedKernel(-0.5, 1.5, factor=np.ones((6, 1)))
    model = GKLClassifier(given).fit(X, Y)
    other = GKLClassifier(TessellatedKernel(-0.5, 1.5)).fit(X, Y)
    np.testing.assert_array_equal(model.shape_factor_, other.shape_factor_)
    nodes = NODES.copy()
    by_values = GKLClassifier(bumps_kernel(nodes=nodes)).fit(X, Y)
    before, same = model.decision_function(NEW), by_values.decision_function(NEW)
    given.upper = 99.0
    nodes += 1.0
    np.testing.assert_array_equal(model.decision_function(NEW), before)
    np.testing.assert_array_equal(by_values.decision_function(NEW), same)


def test_a_basis_must_be_finite_only_on_the_points():
    """1/x is a basis function on positive points and infinite at 0."""

    def inverse(nodes, points):
        return bumps(nodes, points) / points[None, :, :1]

    model = GKLClassifier(bumps_kernel(function=inverse)).fit(X + 0.1, Y)
    assert np.isfinite(model.decision_function(X + 0.1)).all()


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match=r"GKLClassifier stopped after 1 support vector"):
        GKLClassifier(GeneralizedPolynomial(degree=2), max_iter=1, tol=1e-9).fit(X, Y)
    wide = GeneralizedPolynomial(-1e12, 1e12)
    with pytest.warns(ConvergenceWarning, match="the bounds did not improve"):
        model = GKLRegressor(wide).fit([[0.3, 0], [0, 0], [0, -1.4], [0, 0]], [0.2, -0.1, 0.1, 0])
    assert model.n_iter_ < 2 * WINDOW


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(1.0), 3, GeneralizedPolynomial], ids=str)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match=r"expected a GeneralizedKernel, such as .*, got "):
        GKLRegressor(kernel).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (bumps_kernel(function=lambda z, x: bumps(z, x)[:3]), r"shape \(8, .*n_P\).* got .*\(3, 1"),
        (bumps_kernel(function=lambda z, x: "text"), "expected the function to return numbers"),
        (GeneralizedPolynomial(degree=70), r"expected n_P <= 10000, got n_P = 1150626 for 2 feat"),
        (bumps_kernel(function=lambda z, x: 1e200 * bumps(z, x)), "expected .*kernel values of"),
    ],
    ids=range(4),
)
def test_invalid_families_raise_one_clear_error(family, message):
    with pytest.raises(ValueError, match=message):
        GKLClassifier(family).fit(X, Y)
