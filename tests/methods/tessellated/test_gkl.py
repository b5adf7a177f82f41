"""GKL: any basis N, against TKL, against semidefinite programs, and wrong kernels."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from pliant import GKLClassifier, GKLRegressor, TKLClassifier
from pliant.kernels import Gaussian, GeneralizedPolynomial, QuadratureKernel, TessellatedKernel
from pliant.methods.tessellated.solvers.search import LAP
from tests.papers.tessellated_cases import C1, R1
from tests.reference.naive_tessellated import (
    cells_rule,
    monomial_values,
    polynomial_tensor,
    tessellated_values,
)
from tests.reference.tessellated_sdp import by_weights, classification

X, Y = C1.X, C1.y
NEW = np.random.default_rng(9).uniform(-0.2, 1.2, (15, 2))
NODES, WEIGHTS = np.linspace(0.05, 0.95, 8)[:, None], np.full(8, 0.125)


def bumps(nodes, points):
    """A basis of three functions of z - x_1, shape (q, m, 3)."""
    distance = nodes - points[:, 0]
    return np.stack([np.ones_like(distance), np.exp(-(distance**2)), distance > 0], axis=-1)


def bumps_kernel(**changes):
    return QuadratureKernel(**{"function": bumps, "nodes": NODES, "weights": WEIGHTS, **changes})


def tensor_of(function, nodes, weights, points):
    """G_ij(x_k, x_l) of a quadrature rule."""
    N = function(nodes, points)
    return np.einsum("q,qki,qlj->ijkl", weights, N, N)


def gauss_legendre(lower, upper, count):
    """Nodes and weights on a square, exact for polynomials up to 2 count - 1 in each direction."""
    t, w = np.polynomial.legendre.leggauss(count)
    z = lower + (upper - lower) * (t + 1) / 2
    nodes = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    return nodes, np.outer(w, w).ravel() * (upper - lower) ** 2 / 4


# The optimum


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_tessellated_kernels_are_those_of_tkl(basis):
    family = TessellatedKernel(-0.3, 1.3, 1, basis, normalize_measure=False)
    model = GKLClassifier(family, C=5.0, tol=3e-7).fit(X, Y)
    tkl = TKLClassifier(5.0, delta=0.3, basis=basis, scale=False, normalize_measure=False, tol=3e-7)
    tkl.fit(X, Y)
    assert model.objective_ == pytest.approx(C1.optimum(1, basis), rel=1e-6)
    np.testing.assert_allclose(model.decision_function(NEW), tkl.decision_function(NEW))
    family = TessellatedKernel(-0.5, 1.5, 1, basis, normalize_measure=False)
    line = GKLRegressor(family, C=5.0, epsilon=0.1, scale_target=False, tol=3e-7).fit(R1.X, R1.y)
    assert line.objective_ == pytest.approx(R1.optimum(1, basis), rel=1e-6)
    assert isinstance(line.kernel_, TessellatedKernel)


def test_polynomials_reach_the_optimum_of_the_semidefinite_program():
    family = GeneralizedPolynomial(-0.3, 1.3, 2, normalize_measure=False)
    model = GKLClassifier(family, C=5.0, tol=1e-6).fit(X, Y)
    optimum, _ = by_weights(polynomial_tensor(X, X, -0.3, 1.3, 2), C1.margin)
    assert model.objective_ == pytest.approx(optimum, rel=3e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)


def test_polynomials_by_their_values_on_nodes_are_the_same():
    """Gauss-Legendre nodes are exact for the products of two polynomials."""

    def values(nodes, points):
        return np.stack([monomial_values(nodes, x, 2, "xz") for x in points], axis=1)

    nodes, weights = gauss_legendre(-0.3, 1.3, 3)
    closed = GKLClassifier(GeneralizedPolynomial(-0.3, 1.3, 2, False), tol=1e-5).fit(X, Y)
    model = GKLClassifier(QuadratureKernel(values, nodes, weights), tol=1e-5).fit(X, Y)
    assert model.objective_ == pytest.approx(closed.objective_, rel=2e-5)
    np.testing.assert_allclose(
        model.decision_function(NEW), closed.decision_function(NEW), atol=5e-2
    )


def test_a_tessellated_basis_on_nodes_is_that_of_tkl():
    """N is constant in the cells between the points, so one node a cell is exact."""

    def values(nodes, points):
        return np.stack([tessellated_values(nodes, x, 1, "x") for x in points], axis=1)

    edges = [np.unique([-0.3, 1.3, *column]) for column in X.T]
    nodes, weights = cells_rule(edges, 1)
    model = GKLClassifier(QuadratureKernel(values, nodes, weights), C=5.0, tol=3e-7).fit(X, Y)
    assert model.objective_ == pytest.approx(C1.optimum(1, "x"), rel=1e-6)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_any_basis_reaches_the_optimum_of_the_semidefinite_program(C):
    model = GKLClassifier(bumps_kernel(), C=C, tol=1e-5).fit(X, Y)
    optimum, _ = by_weights(tensor_of(bumps, NODES, WEIGHTS, X), classification(Y, C))
    assert model.objective_ == pytest.approx(optimum, rel=2e-5)
    assert model.lower_bound_ <= optimum * (1 + 1e-6)
    assert model.shape_matrix_.shape == (3, 3)
    assert np.trace(model.shape_matrix_) == pytest.approx(3)


@pytest.mark.parametrize("solver", ["lowrank", "frank-wolfe", "apd", "hybrid"])
def test_all_solvers_agree_to_their_gaps(solver):
    model = GKLClassifier(GeneralizedPolynomial(degree=2), solver=solver, tol=0.05).fit(X, Y)
    best = GKLClassifier(GeneralizedPolynomial(degree=2), tol=1e-6).fit(X, Y)
    assert model.lower_bound_ <= best.objective_
    assert best.lower_bound_ <= model.objective_ <= 1.06 * best.objective_


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


def test_the_shape_of_the_family_is_not_read():
    given = TessellatedKernel(-0.5, 1.5, factor=np.ones((6, 1)))
    model = GKLClassifier(given).fit(X, Y)
    other = GKLClassifier(TessellatedKernel(-0.5, 1.5)).fit(X, Y)
    np.testing.assert_array_equal(model.shape_factor_, other.shape_factor_)
    np.testing.assert_array_equal(given.factor, np.ones((6, 1)))


def test_a_fitted_model_does_not_change_with_its_parameters():
    family = TessellatedKernel(-0.5, 1.5)
    nodes = NODES.copy()
    by_values = GKLClassifier(bumps_kernel(nodes=nodes)).fit(X, Y)
    model = GKLClassifier(family).fit(X, Y)
    before, same = model.decision_function(NEW), by_values.decision_function(NEW)
    family.upper = 99.0
    nodes += 1.0
    np.testing.assert_array_equal(model.decision_function(NEW), before)
    np.testing.assert_array_equal(by_values.decision_function(NEW), same)
    assert clone(model).kernel.upper == 99.0


def test_the_learned_kernel_works_in_an_svm():
    model = GKLClassifier(GeneralizedPolynomial(degree=2), C=10.0, tol=1e-6).fit(X, Y)
    estimator = SVC(kernel=model.kernel_, C=10.0, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(
        estimator.decision_function(NEW), model.decision_function(NEW), atol=0.02
    )


def test_a_basis_need_only_be_finite_on_the_points():
    """1/x is a basis function on positive points, and has no value at 0."""

    def inverse(nodes, points):
        return bumps(nodes, points) / points[None, :, :1]

    model = GKLClassifier(bumps_kernel(function=inverse)).fit(X + 0.1, Y)
    assert np.isfinite(model.decision_function(X + 0.1)).all()


# Weights, classes, memory


def test_weights_and_classes_are_those_of_a_support_vector_machine():
    w = np.random.default_rng(0).integers(0, 3, 30)
    model = GKLClassifier(C=2.0, tol=1e-5).fit(X, Y, w)
    again = GKLClassifier(C=2.0, tol=1e-5).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    assert model.objective_ == pytest.approx(again.objective_, rel=1.1e-5)
    names = np.array(["a", "b", "c"])[np.arange(30) % 3]
    many = GKLClassifier(GeneralizedPolynomial(degree=2), tol=0.01).fit(X, names)
    assert many.decision_function(NEW).shape == (15, 3)
    assert many.estimators_[1].classes_.tolist() == ["a", "c"]
    with pytest.raises(AttributeError, match=r"use estimators_\[k\]\.shape_matrix_"):
        _ = many.shape_matrix_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_some_rows_and_rows_on_demand():
    best = GKLClassifier(GeneralizedPolynomial(degree=2), tol=1e-6).fit(X, Y)
    some = GKLClassifier(GeneralizedPolynomial(degree=2), subsample=15, random_state=1).fit(X, Y)
    rows = clone(some).set_params(cache_mb=1e-4).fit(X, Y)
    for model in (some, rows):
        assert model.lower_bound_ <= best.objective_ * (1 + 1e-9)
        assert model.objective_ >= best.lower_bound_ * (1 - 1e-9)
    np.testing.assert_array_equal(rows.shape_factor_, some.shape_factor_)
    np.testing.assert_allclose(rows.decision_function(NEW), some.decision_function(NEW), atol=0.02)


def test_single_precision_changes_little():
    double, single = (GKLClassifier(bumps_kernel(), dtype=d).fit(X, Y)
                      for d in ("float64", "float32"))  # fmt: skip
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)
    np.testing.assert_allclose(
        single.decision_function(NEW), double.decision_function(NEW), atol=1e-2
    )


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match=r"GKLClassifier stopped after 1 support vector"):
        GKLClassifier(GeneralizedPolynomial(degree=2), max_iter=1, tol=1e-9).fit(X, Y)


def test_search_over_the_parameters_of_the_family():
    search = GridSearchCV(
        make_pipeline(MinMaxScaler(), GKLClassifier(GeneralizedPolynomial(), tol=0.01)),
        {"gklclassifier__kernel__degree": [1, 2]},
        cv=2,
    ).fit(X, Y)
    learned = search.best_estimator_[-1].kernel_
    assert learned.degree == search.best_params_["gklclassifier__kernel__degree"]


def test_the_same_call_gives_the_same_bytes():
    model, again = (GKLClassifier(GeneralizedPolynomial(degree=2)).fit(X, Y) for _ in range(2))
    assert again.shape_factor_.tobytes() == model.shape_factor_.tobytes()
    copy = pickle.loads(pickle.dumps(model))
    assert copy.decision_function(NEW).tobytes() == model.decision_function(NEW).tobytes()


# Wrong kernels


@pytest.mark.parametrize("estimator", [GKLClassifier, GKLRegressor])
@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(1.0), 3, GeneralizedPolynomial], ids=str)
def test_a_kernel_of_no_family_is_refused(estimator, kernel):
    with pytest.raises(ValueError, match=r"expected a GeneralizedKernel, such as .*, got "):
        estimator(kernel).fit(X, X[:, 0] > 0.5)


WRONG_FAMILIES = [
    (bumps_kernel(function=lambda z, x: np.ones((8, 3))), r"shape \(8, .*n_P\).* got \(8, 3\)"),
    (bumps_kernel(function=lambda z, x: bumps(z, x)[:3]), r"shape \(8, .*n_P\).* got \(3, 1, 3"),
    (
        bumps_kernel(function=lambda z, x: np.ones((8, len(x), len(x)))),
        r"expected a factor of shape",
    ),
    (bumps_kernel(function=lambda z, x: 1j * bumps(z, x)), r"expected .*numbers.* complex"),
    (bumps_kernel(function=lambda z, x: np.nan * bumps(z, x)), "return finite numbers, got NaN"),
    (bumps_kernel(function=lambda z, x: bumps(z, x)[..., :0]), r"expected .*n_P"),
    (bumps_kernel(function=lambda z, x: "text"), r"expected a function .*numbers"),
    (bumps_kernel(function=lambda z: z), r"expected a function of nodes and points"),
    (bumps_kernel(function=None), r"expected .*function"),
    (bumps_kernel(weights=-WEIGHTS), r"expected weights >= 0, got -0\.125"),
    (bumps_kernel(weights=WEIGHTS[:3]), r"expected weights of shape \(8,\), got \(3,\)"),
    (bumps_kernel(nodes=np.full((8, 1), np.nan)), "expected finite numbers, got nan in nodes"),
    (GeneralizedPolynomial(degree=-1), "expected degree >= 0, an integer, got -1"),
    (GeneralizedPolynomial(lower=1.0), "expected lower < upper, got 1 and 1"),
    (TessellatedKernel(lower=[0.0] * 3), r"expected lower of shape \(2,\), got \(3,\)"),
    (TessellatedKernel(degree=13), "expected degree <= 12, got 13"),
    (TessellatedKernel(basis="z"), r"expected basis in \['x', 'xz'\], got 'z'"),
    (GeneralizedPolynomial(degree=70), r"expected n_P <= 10000, got n_P = 1150626 for 2 features"),
]


@pytest.mark.parametrize(("family", "message"), WRONG_FAMILIES, ids=range(len(WRONG_FAMILIES)))
def test_wrong_families_get_one_clear_error(family, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GKLClassifier(family).fit(X, Y)


def test_kernel_values_that_overflow_are_refused():
    huge = bumps_kernel(function=lambda z, x: 1e200 * bumps(z, x))
    with np.errstate(all="ignore"):
        for family, points in ((huge, X), (GeneralizedPolynomial(degree=2), 1e160 * X)):
            with pytest.raises(ValueError, match=r"expected .*finite"):
                GKLClassifier(family).fit(points, Y)


def test_coefficients_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"expected finite integrals .* upper = 1e\+200"):
        GKLClassifier(GeneralizedPolynomial(0.0, 1e200)).fit(X, Y)


@pytest.mark.parametrize("solver", ["lowrank", "frank-wolfe", "apd", "hybrid"])
@pytest.mark.parametrize("C", [1e-300, 1e-160, 1e-80])
def test_coefficients_whose_squares_are_too_small_for_floats(solver, C):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GKLClassifier(solver=solver, C=C).fit(X[:8], Y[:8])
    assert np.isfinite(model.decision_function(X)).all()


def test_a_search_that_does_not_come_on_ends_early():
    far = np.array([[0.3, 0.0], [0.0, 0.0], [0.0, -1.4e100], [0.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="the bounds did not improve"):
        model = GKLRegressor().fit(far, [0.2, -0.1, 0.1, 0.0])
    assert model.n_iter_ < 2 * LAP
    assert np.isfinite(model.predict(far)).all()


def test_two_samples_need_one_support_vector_machine():
    two = X[[0, np.flatnonzero(Y[0] != Y)[0]]]
    model = GKLClassifier(C=100.0).fit(two, [0, 1])
    searched = GKLClassifier(C=100.0, solver="frank-wolfe", tol=1e-6).fit(two, [0, 1])
    assert model.n_iter_ == 1
    assert model.objective_ == pytest.approx(searched.objective_, rel=1e-3)
    assert model.relative_gap_ <= 1e-3


BAD_PARAMETERS = [
    ({"C": -1.0}, r"expected C > 0, a finite number, got -1\.0"),
    ({"tol": 0}, "expected tol > 0, a finite number, got 0"),
    ({"solver": "adp"}, r"got 'adp' \(did you mean 'apd'\?\)"),
    ({"prox": "none"}, r"expected prox in \['auto'\], got 'none'"),
    ({"subsample": 1}, "expected subsample >= 2, an integer, got 1"),
    ({"cache_mb": -5}, "expected cache_mb > 0, a finite number, got -5"),
    ({"dtype": "int8"}, r"expected dtype in \['float32', 'float64'\], got 'int8'"),
    ({"max_iter": 0}, "expected max_iter >= 1, or -1 for no limit, got 0"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=str)
@pytest.mark.parametrize("estimator", [GKLClassifier, GKLRegressor])
def test_bad_parameters_get_one_clear_error(estimator, parameters, message):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(X, X[:, 0] > 0.5)
