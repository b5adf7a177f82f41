"""SketchedKernelRidge against Nystroem and Ridge, KernelRidge, and a dense reference."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier

from pliant import LABRBFRegressor, MKLRegressor, SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.kernels import Gaussian, Laplacian, Precomputed
from pliant.methods.ridge import rows
from tests.methods.ridge.sketched_cases import BOTH, NEW, WEIGHTS, X, Y, objective, twin

ROUTES = [
    {"solver": "cg"},
    {"solver": "cg", "cache_mb": 0.05},
    {"solver": "direct", "cache_mb": 0.0},
    {"solver": "auto"},
    {"solver": "cg", "dtype": "float32"},
    {"solver": "direct", "dtype": "float32"},
]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_MB", 0.02)


@pytest.mark.parametrize("route", ROUTES, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_predictions_are_those_of_nystroem_and_ridge(route, intercept):
    features = Nystroem(gamma=1.5, n_components=60, random_state=3).fit(X)
    linear = Ridge(0.3, fit_intercept=intercept)
    linear.fit(features.transform(X), BOTH, sample_weight=WEIGHTS)
    model = SketchedKernelRidge(
        Gaussian(1.5),
        0.3,
        centers=features.components_,
        fit_intercept=intercept,
        tol=1e-8,
        **route,
    ).fit(X, BOTH, sample_weight=WEIGHTS)
    expected = linear.predict(features.transform(NEW))
    assert model.converged_
    assert (np.abs(model.predict(NEW) - expected) / BOTH.std(axis=0)).max() < 1e-6
    assert model.objective_ == pytest.approx(objective(model, X, BOTH, 0.3, WEIGHTS), rel=1e-9)


KERNELS = {
    "matern": lambda: "matern52",
    "function": lambda: lambda A, B: (1.0 + A @ B.T) ** 2,
    "linear": lambda: "linear",
    "columns": lambda: Gaussian([1.0, 0.0, 2.0]),
    "laplacian": lambda: Laplacian(0.5),
    "MKL": lambda: MKLRegressor(["gaussian", "poly"]).fit(X[:60], Y[:60]).kernel_,
    "LAB-RBF": lambda: (
        LABRBFRegressor(n_members=1, max_iter=5, random_state=0).fit(X, Y).symmetric_kernel_
    ),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_kernel_has_the_predictions_of_the_dense_problem(name, dtype):
    kernel = KERNELS[name]()
    alpha = 0.1 * float(kernel.diag(X[:50]).mean()) if name in ("MKL", "LAB-RBF") else 0.1
    model = SketchedKernelRidge(kernel, alpha, n_centers=40, tol=1e-9, random_state=1, dtype=dtype)
    model.fit(X, Y, WEIGHTS)
    expected = twin(model.kernel_, X, Y, X[model.support_], alpha, WEIGHTS)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_allclose(model.predict(NEW), expected(NEW), rtol=0, atol=1e-7)
    if name == "linear":  # with three features, three centres span the others
        assert len(model.dual_coef_) == 3


def test_the_asymmetric_kernel_of_lab_rbf_names_the_symmetric_one():
    kernel = LABRBFRegressor(20, n_members=1, max_iter=3, random_state=0).fit(X, Y).kernel_
    with pytest.raises(ValueError, match=r"symmetric_kernel_"):
        SketchedKernelRidge(kernel).fit(X, Y)


@pytest.mark.parametrize("solver", ["cg", "direct"])
def test_with_all_samples_as_centres_it_is_kernel_ridge_regression(solver):
    exact = KernelRidge(alpha=0.2, kernel="rbf", gamma=2.0).fit(X, Y, sample_weight=WEIGHTS)
    model = SketchedKernelRidge(
        alpha=0.2, gamma=2.0, fit_intercept=False, solver=solver, tol=1e-9
    ).fit(X, Y, WEIGHTS)
    assert model.intercept_ == 0.0
    assert len(model.support_) == np.count_nonzero(WEIGHTS)
    np.testing.assert_allclose(model.predict(NEW), exact.predict(NEW), rtol=0, atol=1e-7)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    alpha=st.floats(1e-4, 1e3),
    tol=st.floats(1e-8, 0.3),
    solver=st.sampled_from(["cg", "direct", "auto"]),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_the_gap_bounds_what_the_optimum_is_below_and_predictions_are_as_near(
    seed, alpha, tol, solver, dtype
):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    model = SketchedKernelRidge(
        Gaussian(0.7), alpha, n_centers=25, tol=tol, solver=solver, dtype=dtype, random_state=seed
    ).fit(Z, y)
    best = twin(model.kernel_, Z, y, model.support_vectors_, alpha)
    value = model.objective_ - objective_of_twin(model, best, Z, y, alpha)
    slack = 1e-9 * (y @ y)
    assert -slack <= value <= model.gap_ + slack
    assert model.converged_
    assert model.gap_ <= (tol * y.std()) ** 2 * len(y) * (1 + 1e-9)
    assert model.certified_error_ == pytest.approx(np.sqrt(model.gap_ / len(y)) / y.std())
    assert model.certified_error_ <= tol
    distance = np.square(model.predict(Z) - best(Z)).sum()
    assert distance <= model.gap_ / 4 + slack  # a alpha <= (a + alpha)^2/4


def test_no_smaller_gap_holds_for_large_alpha():
    """There the Hessian is nearly 2 alpha I."""
    rng = np.random.default_rng(0)
    Z, y, alpha = rng.normal(size=(80, 2)), rng.normal(size=80), 1e5
    model = SketchedKernelRidge(Gaussian(0.7), alpha, n_centers=25, tol=1e6, random_state=0)
    model.fit(Z, y)
    assert model.n_iter_ == 0
    best = twin(model.kernel_, Z, y, model.support_vectors_, alpha)
    value = model.objective_ - objective_of_twin(model, best, Z, y, alpha)
    assert value == pytest.approx(model.gap_, rel=1e-3)


def test_predictions_are_half_as_far_as_the_gap_allows_at_most():
    """Attained for one centre, and alpha the squared norm of its centred feature."""
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    feature = Gaussian(0.7)(Z, Z[:1])[:, 0]  # k(z, z) = 1
    alpha = ((feature - feature.mean()) ** 2).sum()
    model = SketchedKernelRidge(Gaussian(0.7), alpha, centers=Z[:1], tol=1e6).fit(Z, y)
    best = twin(model.kernel_, Z, y, model.support_vectors_, alpha)
    distance = np.square(model.predict(Z) - best(Z)).sum()
    assert distance == pytest.approx(model.gap_ / 4, rel=1e-6)


def objective_of_twin(model, best, Z, y, alpha):
    """Return the objective at the reference solution, from its values at the centres."""
    points = model.support_vectors_
    far = np.full((1, 2), 1e6)  # the Gaussian is zero there, so f is the intercept
    a = np.linalg.lstsq(
        model.kernel_(points, points.copy()), best(points) - best(far), rcond=1e-13
    )[0]
    norm = a @ (best(points) - best(far))
    return float(np.square(y - best(Z)).sum() + alpha * norm)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6), factor=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_order_repetition_and_scale_of_the_data(seed, factor, shift):
    rng = np.random.default_rng(seed)
    Z, y, centres = rng.normal(size=(50, 2)), rng.normal(size=50), rng.normal(size=(12, 2))
    model = SketchedKernelRidge(Gaussian(0.5), 0.4, centers=centres, tol=1e-10)
    counts = rng.integers(0, 3, 50)
    counts[0] = 1
    expected = model.fit(Z, y, counts).predict(NEW[:, :2])
    order = rng.permutation(np.repeat(np.arange(50), counts))
    repeated = model.fit(Z[order], y[order]).predict(NEW[:, :2])
    np.testing.assert_allclose(repeated, expected, rtol=0, atol=1e-8)
    moved = model.fit(Z, factor * y + shift, counts).predict(NEW[:, :2])
    np.testing.assert_allclose(moved, factor * expected + shift, rtol=1e-9, atol=1e-8 * factor)
    same = model.set_params(alpha=0.4 * factor).fit(Z, y, counts * factor).predict(NEW[:, :2])
    np.testing.assert_allclose(same, expected, rtol=0, atol=1e-8)


def test_a_large_penalty_leaves_the_weighted_mean():
    model = SketchedKernelRidge(alpha=1e12, random_state=0).fit(X, BOTH, WEIGHTS)
    mean = np.broadcast_to(WEIGHTS @ BOTH / WEIGHTS.sum(), (len(NEW), 2))
    np.testing.assert_allclose(model.predict(NEW), mean, rtol=1e-8, atol=1e-8)
    constant = SketchedKernelRidge().fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(constant.predict(NEW), 7.0, rtol=1e-15)
    assert (constant.n_iter_, constant.gap_, constant.residual_) == (0, 0.0, 0.0)
    assert constant.certified_error_ == 0.0


def test_duplicates_among_the_centres_are_left_out():
    centres = np.vstack([X[:20], X[:20], X[:5]])
    model = SketchedKernelRidge(Gaussian(3.0), 0.1, centers=centres, tol=1e-9).fit(X, Y)
    assert len(model.dual_coef_) == 20
    assert model.support_ is None
    assert {*map(tuple, model.support_vectors_)} == {*map(tuple, X[:20])}
    expected = twin(Gaussian(3.0), X, Y, X[:20], 0.1)
    np.testing.assert_allclose(model.predict(NEW), expected(NEW), rtol=0, atol=1e-7)
    repeated = np.repeat(X[:10], 3, axis=0)
    one = SketchedKernelRidge(Gaussian(3.0)).fit(repeated, np.repeat(Y[:10], 3))
    assert len(one.dual_coef_) == 10


def test_float32_keeps_float32_and_reaches_the_accuracy_of_float64():
    smooth = Gaussian(0.01)  # K_mm has numerical rank below 100
    models = [
        SketchedKernelRidge(smooth, 1e-4, n_centers=100, random_state=0, dtype=dtype).fit(X, Y)
        for dtype in ("float64", "float32")
    ]
    assert len(models[0].dual_coef_) < 100
    first, second = (model.predict(NEW) for model in models)
    np.testing.assert_allclose(second, first, rtol=0, atol=1e-6)
    plain = SketchedKernelRidge(n_centers=30, random_state=0)
    double, single = (plain.fit(points, Y).predict(NEW) for points in (X, X.astype(np.float32)))
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_a_limit_and_rounding_are_warnings_with_what_is_certified():
    model = SketchedKernelRidge(solver="cg", max_iter=1, n_centers=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"certifies .* of at most .* max_iter = 1") as seen:
        model.fit(X, Y)
    assert seen[0].filename == __file__
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.gap_ > 1e-12 * len(Y) * Y.var()
    assert f"of at most {model.certified_error_:.3g} standard deviations" in str(seen[0].message)
    hopeless = SketchedKernelRidge(Gaussian(0.01), alpha=1e-12, n_centers=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="rounding errors prevent .*; raise alpha"):
        hopeless.fit(X, Y)
    assert np.isfinite(hopeless.predict(NEW)).all()


def test_numbers_up_to_1e100():
    plain = SketchedKernelRidge(alpha=0.1, n_centers=30, random_state=0)
    expected = plain.fit(X, Y).predict(NEW)
    for size in (1e-90, 1e90):
        for dtype in ("float64", "float32"):
            model = SketchedKernelRidge(alpha=0.1, n_centers=30, random_state=0, dtype=dtype)
            predicted = model.fit(X, size * Y).predict(NEW)
            np.testing.assert_allclose(predicted / size, expected, rtol=0, atol=1e-5)
    loose = SketchedKernelRidge(n_centers=30, tol=1e12).fit(X, Y)
    assert (loose.n_iter_, loose.converged_) == (0, True)
    far = plain.fit(1e100 * X, Y).predict(1e100 * NEW)
    np.testing.assert_allclose(far, expected, atol=1e-6)
    with pytest.raises(ValueError, match="sample_weight of at least 1e-100, got at most 1e-150"):
        plain.fit(X, Y, np.full(len(X), 1e-150))
    with pytest.raises(ValueError, match=r"> 0 for at least one of 30 centres, got at most 0"):
        SketchedKernelRidge("linear", n_centers=30).fit(0 * X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"centers": "random"}, "expected centers in ['uniform'], got 'random'"),
        ({"centers": X[:, :2]}, "expected centers with 3 features, got 2"),
        ({"centers": X[:0]}, "or at least one point, got no points"),
        ({"centers": [[np.nan, 0, 0]]}, "expected finite numbers, got nan in centers at row 0"),
        ({"kernel": "rfb"}, "did you mean 'rbf'"),
        ({"kernel": "precomputed"}, "got kernel='precomputed', which needs the values of all"),
        ({"kernel": "sigmoid", "gamma": 5.0}, "positive semi-definite on the centres"),
        ({"kernel": Gaussian(), "gamma": 2.0}, "gamma applies only to kernels given by name"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SketchedKernelRidge(**{"n_centers": 30, **options}).fit(X, Y)


@pytest.mark.parametrize(
    "kernel",
    [
        Precomputed([[2.0, 1.0], [0.0, 2.0]]),
        lambda A, B: np.exp(-((A - B.T) ** 2) - 0.3 * (A - B.T)),
    ],
    ids=["matrix", "function"],
)
def test_kernels_that_are_not_symmetric_are_refused(kernel):
    with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
        SketchedKernelRidge(kernel).fit([[0.0], [1.0]], [0.0, 1.0])


def test_the_summary():
    model = SketchedKernelRidge(n_centers=20, random_state=0).fit(X, Y)
    summary = model.summary()
    (function,) = summary.functions
    assert function.n_support == summary.n_support == 20
    assert (function.gap, function.objective) == (model.gap_, model.objective_)
    assert function.relative_gap == model.certified_error_
    assert function.details == {"passes": model.n_passes_}


# Classification

TWO = np.where(Y > 0.3, "up", "down")
THREE = np.digitize(Y, [-0.5, 0.7])


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("solver", ["cg", "direct"])
def test_decisions_are_those_of_a_ridge_classifier_on_features(labels, class_weight, solver):
    features = Nystroem(gamma=1.5, n_components=50, random_state=0).fit(X)
    peer = RidgeClassifier(0.2, class_weight=class_weight)
    peer.fit(features.transform(X), labels, sample_weight=WEIGHTS)
    model = SketchedKernelRidgeClassifier(
        Gaussian(1.5),
        0.2,
        centers=features.components_,
        class_weight=class_weight,
        solver=solver,
        tol=1e-8,
    ).fit(X, labels, WEIGHTS)
    expected = peer.decision_function(features.transform(NEW))
    np.testing.assert_allclose(model.decision_function(NEW), expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.predict(NEW), peer.predict(features.transform(NEW)))
    np.testing.assert_array_equal(model.classes_, peer.classes_)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    ("class_weight", "y", "message"),
    [
        (
            "even",
            TWO,
            "expected class_weight to be None, 'balanced' or a dict .* got 'even'",
        ),
        (
            {"up": -1.0, "down": 1.0},
            TWO,
            "expected class weights from 1e-12 to 1e12, got {'up': -1.0",
        ),
        (None, ["a"] * 400, "expected at least two classes, got one class: 'a'"),
        (None, Y, "Unknown label type: continuous"),
    ],
)
def test_classes_that_cannot_be_learned(class_weight, y, message):
    with pytest.raises(ValueError, match=message):
        SketchedKernelRidgeClassifier(class_weight=class_weight).fit(X, y)
