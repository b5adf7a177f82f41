"""The TKL estimators: reference optima, invariances, parts, special cases."""

import gc
import math
import pickle
import weakref
from itertools import combinations

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC, SVR

from pliant import C_path, GKLClassifier, GKLRegressor, KMeansPartition, TKLClassifier, TKLRegressor
from pliant.core.progress import HAS_CALLBACKS
from pliant.exceptions import ModelFileError
from pliant.methods.summary import summarize
from pliant.methods.svm.parts import kmeans_partition
from pliant.methods.svm.problem import regression_data
from pliant.methods.svm.rows import CachedRows
from pliant.methods.tkl import fit
from pliant.methods.tkl.generalized_kernel import build_tessellated
from pliant.methods.tkl.parts import learn_in_parts
from pliant.persistence import load, save
from tests.memory import peak_memory
from tests.papers.tessellated_cases import C1, CASES, R1, R3
from tests.reference.naive_tessellated import gram, tessellated_tensor
from tests.reference.tessellated_sdp import by_weights, regression, svm

REFERENCE_DIGITS = 4e-8
"""Relative error of the reference optima, which have eight decimals."""

X, Y = C1.X, C1.y
NEW = np.random.default_rng(9).uniform(-0.2, 1.2, (15, 2))

open_gap = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
both = pytest.mark.parametrize("make", [TKLClassifier, TKLRegressor])


def estimator_of(case, **options):
    """Return the estimator of a reference case."""
    options = {"C": case.C, "delta": case.delta, "scale": False, **options}
    if case is C1:
        return TKLClassifier(**options)
    return TKLRegressor(**{"epsilon": case.margin.epsilon, "scale_target": False, **options})


def decisions(model, points):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(points)


def primal(model, points, y, C):
    """Compute 1/2 w'K w + C sum of hinge losses for the fitted SVM."""
    w = model.dual_coef_
    losses = np.maximum(0, 1 - y * model.decision_function(points))
    return w @ model.kernel_(model.support_vectors_) @ w / 2 + np.sum(C * losses)


def assert_bounds(model, optimum, rounding=REFERENCE_DIGITS):
    """Check that the optimum is between the bounds, which agree with gap and histories."""
    assert model.lower_bound_ <= optimum * (1 + rounding)
    assert model.objective_ >= optimum * (1 - rounding)
    digits = 1e-12 * abs(model.objective_)  # the bounds agree to these at a gap of zero
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.lower_bound_, abs=digits)
    assert model.objective_history_[-1] == model.objective_
    assert model.gap_history_[-1] == pytest.approx(model.dual_gap_, abs=digits)


@pytest.fixture
def small_subset(monkeypatch):
    """Learn P on 20 rows if the full Gram matrix exceeds `cache_mb`."""
    monkeypatch.setattr(fit, "SUBSET", 20)


# The optimum


@every_case
@pytest.mark.parametrize("degree", [0, 1])
def test_the_reference_optima(case, degree):
    model = estimator_of(case, degree=degree, tol=3e-7).fit(case.X, case.y)
    optimum = case.optimum(degree, "x")
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert_bounds(model, optimum)
    assert model.relative_gap_ == model.dual_gap_ / model.objective_ <= 3e-7
    P, F = model.shape_matrix_, model.shape_factor_
    np.testing.assert_array_equal(P, F @ F.T)
    assert np.trace(P) == pytest.approx(len(P), rel=1e-12)
    assert F.shape == (len(P), model.rank_)
    np.testing.assert_allclose(F.T @ F, np.diag((F**2).sum(axis=0)), atol=1e-10 * len(P))


def test_the_optimum_of_degree_3_agrees_with_the_semidefinite_program():
    points, y = R1.X[::3], R1.y[::3]
    G = tessellated_tensor(points, points, -0.5, 1.5, 3, "x", normalized=True)
    optimum, _ = by_weights(G, regression(y, 10.0, 0.1))
    options = {"degree": 3, "scale": False, "scale_target": False, "tol": 1e-4}
    model = TKLRegressor(10.0, **options).fit(points, y)
    assert model.objective_ == pytest.approx(optimum, rel=2e-4)
    assert_bounds(model, optimum, 1e-6)


@open_gap
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_the_objective_agrees_with_the_fitted_svm(C):
    r = np.random.default_rng(0)
    points = r.random((60, 2))
    y = np.where(points[:, 0] + 0.5 * r.standard_normal(60) > 0.5, 1, -1)
    model = TKLClassifier(C).fit(points, y)
    assert model.objective_ == pytest.approx(primal(model, points, y, C), rel=1e-8)
    assert model.dual_gap_ == model.objective_ - model.lower_bound_ > 0


def test_the_objective_of_a_regression_agrees_with_the_fitted_svm():
    model = TKLRegressor(C=3.0, epsilon=0.05).fit(R1.X, R1.y)
    scale = R1.y.std()
    w = model.dual_coef_ / scale
    errors = np.maximum(0, np.abs(model.predict(R1.X) - R1.y) / scale - 0.05)
    value = w @ model.kernel_(model.support_vectors_) @ w / 2 + 3.0 * errors.sum()
    assert model.objective_ == pytest.approx(value, rel=1e-9)


# P >= floor I


@pytest.mark.parametrize("floor", [0.01, 0.3, 0.9])
def test_a_floor_gives_the_optimum_the_trace_and_full_rank(floor):
    G = C1.tensor(1, "x")[..., :16, :16]
    margin = type(C1.margin)(Y[:16], C1.margin.lower[:16], C1.margin.upper[:16], 0.0)
    optimum, _ = by_weights(G, margin, floor)
    model = estimator_of(C1, floor=floor, tol=1e-5).fit(X[:16], Y[:16])
    assert model.objective_ == pytest.approx(optimum, rel=2e-5)
    assert_bounds(model, optimum, 1e-6)
    P = model.shape_matrix_
    assert np.linalg.eigvalsh(P)[0] == pytest.approx(floor, rel=1e-9)
    assert np.trace(P) == pytest.approx(len(P), rel=1e-9)
    assert model.rank_ == len(P)
    K = gram(G, P)
    np.testing.assert_allclose(model.kernel_(X[:16]), K, rtol=1e-9, atol=1e-9)
    assert svm(K, margin)[0] == pytest.approx(model.objective_, rel=2e-5)


@open_gap
def test_the_floor_holds_for_p_learned_on_a_subset(small_subset):
    model = estimator_of(C1, floor=0.2, tol=0.05, random_state=0, cache_mb=1e-3).fit(X, Y)
    optimum = by_weights(C1.tensor(1, "x"), C1.margin, 0.2)[0]
    assert np.linalg.eigvalsh(model.shape_matrix_)[0] == pytest.approx(0.2, rel=1e-6)
    assert_bounds(model, optimum, 1e-6)
    pair = TKLRegressor(floor=0.5).fit([[0.0], [1.0]], [0.0, 1.0])
    assert pair.dual_gap_ <= 1e-3 * pair.objective_


# The learned kernel


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("case", [C1, R3], ids=lambda case: case.name)
def test_prediction_is_the_expansion_in_the_learned_kernel(case, degree):
    model = estimator_of(case, degree=degree, scale=True).fit(10 * case.X - 3, case.y)
    new = np.random.default_rng(0).uniform(-5, 9, (20, case.X.shape[1]))
    expected = model.kernel_(new, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(decisions(model, new), expected, rtol=0, atol=1e-12 * 20)
    np.testing.assert_array_equal(model.support_vectors_, (10 * case.X - 3)[model.support_])
    assert model.kernel_.kernel.degree == degree
    np.testing.assert_array_equal(model.kernel_.kernel.factor, model.shape_factor_)
    alone = np.concatenate([decisions(model, x[None]) for x in new])
    np.testing.assert_allclose(decisions(model, new), alone, rtol=0, atol=1e-10)


# Scaling of features, and the box


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_fit_is_invariant_to_the_unit_of_the_features(unit):
    model, other = (TKLClassifier(C=5.0).fit(scale * X, Y) for scale in (1.0, unit))
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(
        other.decision_function(unit * NEW), model.decision_function(NEW), atol=1e-3
    )


def test_constant_features_change_nothing():
    with_constants = np.column_stack([np.full(30, 7.0), X, np.full(30, -1e9)])
    model = TKLClassifier(C=5.0).fit(with_constants, Y)
    assert model.score(with_constants, Y) == 1
    np.testing.assert_array_equal(model.kernel_.width[[0, 3]], 1)
    same = TKLClassifier(C=2.0).fit(np.ones((6, 2)), [0, 1] * 3)
    assert same.objective_ == same.lower_bound_ == 12
    np.testing.assert_array_equal(same.decision_function(np.eye(2)), same.intercept_)
    level = TKLRegressor(epsilon=0.0).fit(np.ones((6, 2)), [0.0, 1.0] * 3)
    np.testing.assert_allclose(level.predict(np.eye(2)), level.intercept_)


@pytest.mark.parametrize(
    ("delta", "lower", "upper"),
    [
        (0.3, [-0.3, -0.3], [1.3, 1.3]),
        (0, [0, 0], [1, 1]),
        ((0.1, 0.4), [-0.1, -0.1], [1.4, 1.4]),
        ([0.1, 0.4], [-0.1, -0.4], [1.1, 1.4]),
        ((0, np.array([0.2, 0.3])), [0, 0], [1.2, 1.3]),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [True, False])
def test_delta_is_a_number_a_pair_or_an_array(delta, lower, upper, scale):
    model = TKLClassifier(C=5.0, delta=delta, scale=scale).fit(X, Y)
    model.set_params(scale=False, delta=3.0)  # does not change the box of the fit
    np.testing.assert_allclose(model.lower_, lower, rtol=1e-7)
    np.testing.assert_allclose(model.upper_, upper, rtol=1e-7)
    assert model.dual_gap_ <= 1e-3 * model.objective_
    assert model.score(X, Y) > 0.9


# Weights


def test_zero_weights_drop_rows():
    w = np.random.default_rng(0).integers(0, 3, 30).astype(float)
    kept = w > 0
    model = TKLClassifier(C=2.0).fit(X, Y, w)
    left = TKLClassifier(C=2.0).fit(X[kept], Y[kept], w[kept])
    np.testing.assert_array_equal(model.decision_function(NEW), left.decision_function(NEW))
    np.testing.assert_array_equal(model.support_, np.flatnonzero(kept)[left.support_])
    assert (np.abs(model.dual_coef_) <= 2.0 * w[model.support_] + 1e-12).all()
    far = np.vstack([X, [[1e6, 0.0]]])
    other = TKLClassifier(C=2.0).fit(far, np.append(Y, 1), np.append(w, 0))
    np.testing.assert_array_equal(other.kernel_.width, model.kernel_.width)


@both
def test_weights_are_equivalent_to_repeated_rows_and_scaled_C(make):
    w = np.random.default_rng(0).integers(1, 4, 30)
    points, y = (X, Y) if make is TKLClassifier else (R1.X, R1.y)
    options = {} if make is TKLClassifier else {"scale_target": False}
    model = make(C=0.5, tol=1e-5, **options).fit(points, y, w)
    again = make(C=0.5, tol=1e-5, **options).fit(np.repeat(points, w, 0), np.repeat(y, w))
    assert model.objective_ == pytest.approx(again.objective_, rel=1.1e-5)
    twice = make(C=0.5, **options).fit(points, y, np.full(30, 2.0))
    doubled = make(C=1.0, **options).fit(points, y)
    assert twice.objective_ == pytest.approx(doubled.objective_, rel=1e-9)


# Multiclass models and summaries


def test_multiclass_learns_one_svm_per_pair():
    data = load_iris(as_frame=True)
    points, names = data.data, np.array(["setosa", "versicolor", "virginica"])[data.target]
    model = TKLClassifier(C=10).fit(points, names)
    assert model.score(points, names) > 0.95
    votes = model.decision_function(points)
    np.testing.assert_array_equal(model.classes_[votes.argmax(axis=1)], model.predict(points))
    pair, late = model.estimators_[2], np.flatnonzero(data.target > 0)
    assert list(pair.classes_) == ["versicolor", "virginica"]
    assert np.isin(pair.support_, late).all()
    f = pair.decision_function(points)
    assert (votes[late].argmax(axis=1) == 1 + (f[late] > 0)).all()
    np.testing.assert_array_equal(model.lower_, [-0.5] * 4)
    np.testing.assert_array_equal(model.n_iter_, [m.n_iter_ for m in model.estimators_])
    for estimator in model.estimators_:  # with the same scaling of features
        np.testing.assert_array_equal(estimator.kernel_.offset, points.min())
    for name in ("kernel_", "shape_matrix_", "rank_", "dual_gap_", "relative_gap_"):
        with pytest.raises(AttributeError, match=rf"use estimators_\[k\]\.{name}"):
            getattr(model, name)
    summary = model.summary()
    assert [each.classes for each in summary.functions] == [*combinations(model.classes_, 2)]
    support = set().union(*(part.support_.tolist() for part in model.estimators_))
    assert summary.n_support == len(support)


@pytest.mark.parametrize("make", [TKLClassifier, TKLRegressor, GKLClassifier, GKLRegressor])
def test_the_summary_of_one_function(make):
    with pytest.raises(NotFittedError):
        make().summary()
    case = C1 if make in (TKLClassifier, GKLClassifier) else R1
    model = make(C=5.0).fit(case.X, case.y)
    summary = summarize(model)
    (function,) = summary.functions
    assert (summary.kernel, summary.base_kernel) == (model.kernel_, None)
    assert summary.n_support == function.n_support == len(model.support_)
    assert (function.objective, function.gap) == (model.objective_, model.dual_gap_)
    assert function.relative_gap == model.relative_gap_ <= model.tol
    assert function.details == {"rank": model.rank_}
    tessellated = {"tessellation"} if make in (TKLClassifier, TKLRegressor) else set()
    assert summary.drawings == tessellated


# Limits and warnings


def test_an_unfinished_fit_warns_with_gap_and_advice():
    message = (
        r"TKLClassifier stopped after 2 support vector machines with a relative gap of "
        r"0\.\d+, above tol = 1e-06: .*raise max_iter"
    )
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = TKLClassifier(max_iter=2, tol=1e-6).fit(X, Y)
    assert caught[0].filename == __file__
    assert model.n_iter_ == len(model.gap_history_) == 2
    assert model.dual_gap_ > 1e-6 * model.objective_
    assert np.isfinite(model.decision_function(NEW)).all()


@open_gap
@pytest.mark.parametrize("C", [1e-12, 1e-6, 1e9, 1e12])
def test_extreme_penalties(C):
    model = TKLClassifier(C=C, max_iter=60).fit(X, Y)
    assert 0 <= model.lower_bound_ <= model.objective_ * (1 + 1e-12)
    assert model.objective_ <= 24 * C * (1 + 1e-9)  # the objective at w = 0 for 12 pairs of rows
    assert np.isfinite(model.decision_function(NEW)).all()


# Memory: rows on demand, starts


@open_gap
@pytest.mark.parametrize("seed", [0, 1])
def test_p_learned_on_a_subset_is_certified_on_all_rows(seed, small_subset):
    optimum = TKLClassifier(C=5.0, tol=1e-6).fit(X, Y)
    model = TKLClassifier(C=5.0, cache_mb=1e-3, random_state=seed).fit(X, Y)
    assert_bounds(model, optimum.objective_, 1e-5)
    assert model.objective_ == pytest.approx(primal(model, X, Y, 5.0), rel=1e-9)
    assert model.dual_gap_ <= 0.2 * model.objective_
    assert model.rank_ < 6
    again, other = (clone(model).set_params(random_state=s).fit(X, Y) for s in (seed, seed + 9))
    assert again.shape_factor_.tobytes() == model.shape_factor_.tobytes()
    assert other.shape_factor_.tobytes() != model.shape_factor_.tobytes()


def test_an_open_gap_names_the_size_of_the_subset(small_subset):
    message = r"relative gap of .* P was learned on 20 of 30 rows; raise cache_mb"
    with pytest.warns(ConvergenceWarning, match=message):
        TKLClassifier(C=100.0, cache_mb=1e-3, random_state=0, tol=1e-6).fit(X, Y)


@open_gap
def test_a_regressor_does_not_exceed_its_cache(monkeypatch):
    """Most samples are free, many more than fit into the cache; the bounds remain valid."""
    monkeypatch.setattr("pliant.methods.svm.rows.BLOCK_ENTRIES", 20_000)
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 20_000)
    monkeypatch.setattr(fit, "SUBSET", 100)
    r = np.random.default_rng(0)
    points = r.random((700, 2))
    y = np.sin(6 * points[:, 0]) + points[:, 1] ** 2 + 0.02 * r.standard_normal(700)
    unfitted = TKLRegressor(C=10.0, epsilon=0.01, tol=1e-3, random_state=0)
    whole = clone(unfitted).fit(points, y)
    with peak_memory() as used:
        rows = clone(unfitted).set_params(cache_mb=0.5).fit(points, y)
    free = np.abs(rows.dual_coef_) < 10.0 * y.std() * (1 - 1e-9)
    assert free.sum() > math.isqrt(int(0.75 * 2**16))
    assert used.peak < 0.5 * 8 * 700**2
    assert_bounds(rows, whole.objective_, 1e-3)


@open_gap
@both
def test_at_most_one_cache_of_kernel_values_exists(make, monkeypatch):
    """The rows of each SVM are freed before the next SVM, without a garbage collector."""
    alive, most, made = weakref.WeakSet(), [], CachedRows.__init__

    def counted(self, *args, **options):
        made(self, *args, **options)
        alive.add(self)
        most.append(len(alive))

    monkeypatch.setattr(CachedRows, "__init__", counted)
    monkeypatch.setattr(fit, "SUBSET", 10)
    r = np.random.default_rng(0)
    points = r.random((150, 8))
    y = np.sin(6 * points[:, 0]) + 2 * points[:, 1] * points[:, 2] + 0.2 * r.standard_normal(150)
    y = y > 1 if make is TKLClassifier else y
    gc.disable()
    try:
        make(cache_mb=0.05, tol=1e-4, random_state=0).fit(points, y)
    finally:
        gc.enable()
    assert most == [1, 1, 1]  # one SVM at P and two at blends of P and I
    assert not alive


def test_many_rows_are_warm_started_from_a_subset():
    r = np.random.default_rng(0)
    points = r.random((2100, 2))
    y = points[:, 0] + 0.2 * r.standard_normal(2100) > points[:, 1]
    model = TKLClassifier(C=0.1, tol=1e-2, random_state=0).fit(points, y)
    assert model.dual_gap_ <= 1e-2 * model.objective_
    assert model.n_iter_ > len(model.objective_history_)


# Special cases


def test_a_wide_tube_gives_a_constant():
    model = TKLRegressor(epsilon=10.0).fit(R1.X, R1.y)
    assert model.objective_ == model.lower_bound_ == model.dual_gap_ == model.relative_gap_ == 0
    assert len(model.support_) == 0
    assert np.ptp(model.predict(R1.X)) == 0
    np.testing.assert_array_equal(model.gap_history_, 0)


def test_equal_points_can_have_opposite_labels():
    model = TKLClassifier(C=2.0).fit(np.repeat(X, 2, axis=0), np.tile([0, 1], 30))
    assert model.objective_ == pytest.approx(2.0 * 60, rel=1e-3)
    two = TKLClassifier().fit([[0.0], [4.0]], ["a", "b"])
    assert list(two.predict([[-1e90], [0.0], [4.0], [1e90]])) == ["a", "a", "b", "b"]


def test_each_model_of_a_path_agrees_with_a_separate_fit():
    for estimator in C_path(TKLClassifier(tol=1e-4), X, Y, [10.0, 0.1]):
        alone = TKLClassifier(C=estimator.C, tol=1e-4).fit(X, Y)
        assert estimator.objective_ == pytest.approx(alone.objective_, rel=1.1e-4)


# Invalid input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": -0.1}, "expected delta >= 0, got -0.1"),
        ({"delta": [0.1] * 5}, r"expected delta of shape \(\d,\), got \(5,\)"),
        ({"delta": (0.1, 0.2, 0.3)}, r"expected a tuple .*pair .*got \(0\.1, 0\.2, 0\.3\); .*list"),
        ({"delta": None}, "expected delta to be a number, a pair or a list, got None"),
        ({"delta": np.inf}, "expected finite numbers in delta, got inf"),
        ({"delta": "wide"}, "expected delta to hold numbers"),
        ({"floor": 1.0}, "expected floor < 1, got 1.0"),
    ],
    ids=str,
)
def test_invalid_parameters_raise_one_clear_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        TKLClassifier(**parameters).fit(X, Y)


def test_invalid_data_raise_one_clear_error():
    outside, many = X.copy(), np.random.default_rng(0).random((30, 5000))
    outside[4, 1] = 1.75
    with pytest.raises(ValueError, match=r"in the box .* got 1\.75 in column 1; scale=True"):
        TKLClassifier(scale=False).fit(outside, Y)
    w = np.ones(30)
    w[4] = 0
    assert TKLClassifier(scale=False).fit(outside, Y, w).score(X, Y) > 0.9
    with pytest.raises(ValueError, match=r"n_P <= 10000, got n_P = 10002 for 5000 features: .*GB"):
        TKLClassifier().fit(many, Y)
    with pytest.raises(ValueError, match="got n_P = 24682 for 40 features"):
        TKLRegressor(degree=3).fit(many[:, :40], Y)


# In parts

r = np.random.default_rng(0)
POINTS = r.random((160, 2)) * [3.0, 50.0] + [1.0, -20.0]
SCALED = (POINTS - POINTS.min(axis=0)) / np.ptp(POINTS, axis=0)
TARGET = np.sin(6 * SCALED[:, 0]) + SCALED[:, 1] + 0.2 * r.standard_normal(160)
LABELS = np.where(TARGET + 0.8 * r.standard_normal(160) > 0.6, "yes", "no")
AWAY = r.random((40, 2)) * [5.0, 80.0] + [0.0, -35.0]  # partly outside the box
PARTS = {"C": 3.0, "tol": 1e-6, "partition": {"n_parts": 4}, "random_state": 0}


@pytest.fixture
def few_rows_for_p(monkeypatch):
    monkeypatch.setattr(fit, "SUBSET", 60)


def in_parts(make, **changed):
    return make(**PARTS | changed).fit(POINTS, LABELS if make is TKLClassifier else TARGET)


@open_gap
@both
@pytest.mark.parametrize("options", [{}, {"cache_mb": 1e-3}], ids=str)
def test_each_part_agrees_with_scikit_learn_on_the_learned_kernel(make, options, few_rows_for_p):
    model = in_parts(make, **options)
    expected, value = np.empty(40), 0.0
    inside = np.clip((AWAY - POINTS.min(axis=0)) / np.ptp(POINTS, axis=0), -0.5, 1.5)
    place = ((inside[:, None] - model.part_centres_) ** 2).sum(axis=2).argmin(axis=1)
    parts = kmeans_partition(SCALED, 4, random_state=0)
    np.testing.assert_array_equal(model.part_labels_, parts.labels)
    centre, scale = TARGET.mean(), TARGET.std()
    for part in range(4):
        rows, here = parts.members(part), place == part
        K, cross = model.kernel_(POINTS[rows]), model.kernel_(AWAY[here], POINTS[rows])
        if make is TKLClassifier:
            peer = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(K, LABELS[rows])
            expected[here] = peer.decision_function(cross)
            losses = 1 - np.where(LABELS[rows] == "yes", 1, -1) * peer.decision_function(K)
        else:
            target = (TARGET[rows] - centre) / scale
            peer = SVR(kernel="precomputed", C=3.0, tol=1e-8).fit(K, target)
            expected[here] = centre + scale * peer.predict(cross)
            losses = np.abs(target - peer.predict(K)) - 0.1
        beta, own = peer.dual_coef_[0], K[np.ix_(peer.support_, peer.support_)]
        value += 0.5 * beta @ own @ beta + 3.0 * np.maximum(0, losses).sum()
    np.testing.assert_allclose(decisions(model, AWAY), expected, atol=5e-3 * abs(expected).max())
    alone = np.concatenate([decisions(model, x[None]) for x in AWAY])
    np.testing.assert_allclose(decisions(model, AWAY), alone, rtol=1e-9, atol=1e-9)
    assert model.lower_bound_ <= value * (1 + 1e-9)
    assert model.objective_ == pytest.approx(value, rel=2e-5)
    assert model.dual_gap_ == pytest.approx(model.part_gaps_.sum(), rel=1e-9)
    assert model.dual_gap_ <= 1e-5 * model.objective_


@both
def test_p_of_few_rows_is_learned_on_all_rows_and_parts_run_in_parallel(make):
    model = in_parts(make, tol=1e-3)
    whole, one = (
        in_parts(make, partition=None, tol=1e-3),
        in_parts(make, partition={"n_parts": 1}, tol=1e-3),
    )
    np.testing.assert_allclose(model.shape_matrix_, whole.shape_matrix_, atol=1e-9)
    np.testing.assert_allclose(decisions(one, AWAY), decisions(whole, AWAY), atol=0.1)
    assert one.objective_ == pytest.approx(whole.objective_, rel=1e-3)
    with joblib.parallel_config(backend="loky"):
        processes = in_parts(make, tol=1e-3, partition=KMeansPartition(4, n_jobs=2))
    threads = in_parts(make, tol=1e-3, partition=KMeansPartition(4, n_jobs=2))
    for other in (threads, processes):
        np.testing.assert_array_equal(decisions(other, AWAY), decisions(model, AWAY))


@open_gap
def test_pure_parts_single_rows_multiclass_and_weights(few_rows_for_p):
    sides = np.where(POINTS[:, 0] < 2.4, "left", "right")
    pure = TKLClassifier(**PARTS | {"partition": KMeansPartition(8), "tol": 1e-2}).fit(
        POINTS, sides
    )
    assert any(len(set(sides[pure.part_labels_ == part])) == 1 for part in range(8))
    assert pure.score(POINTS, sides) >= 0.97
    single = TKLRegressor(**PARTS | {"partition": KMeansPartition(20), "tol": 1e-2}).fit(
        POINTS[:20], TARGET[:20]
    )
    np.testing.assert_allclose(single.predict(POINTS[:20]), TARGET[:20], atol=1e-12)
    iris, species = load_iris(return_X_y=True)
    several = TKLClassifier(C=10, partition={"n_parts": 3}, random_state=0, tol=1e-2)
    assert several.fit(iris, species).score(iris, species) >= 0.95
    assert [len(each.intercept_) for each in several.estimators_] == [3, 3, 3]
    used = np.arange(160) % 4 > 0
    one = TKLRegressor(**PARTS).fit(np.where(used[:, None], POINTS, POINTS[1]), TARGET, 1.0 * used)
    other = TKLRegressor(**PARTS).fit(POINTS[used], TARGET[used])
    np.testing.assert_allclose(one.predict(AWAY), other.predict(AWAY), rtol=1e-9)
    np.testing.assert_array_equal(one.support_, np.flatnonzero(used)[other.support_])


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.5])
def test_parts_reach_the_tolerance_of_a_small_optimum(scale):
    X = np.random.default_rng(0).uniform(size=(80, 5))
    model = TKLRegressor(partition=KMeansPartition(3), scale_target=False, epsilon=1e-4)
    model.fit(X, scale * X[:, 0])  # without a warning
    assert model.objective_ < 0.05
    assert model.dual_gap_ <= model.tol * model.objective_


@both
@pytest.mark.parametrize("partition", [None, {"n_parts": 4}], ids=["whole", "parts"])
@pytest.mark.parametrize("rows", [50, 160])  # for the interior-point method and for the search
def test_a_time_limit_leaves_valid_bounds_and_warns(make, partition, rows):
    y = (LABELS if make is TKLClassifier else TARGET)[:rows]
    settings = PARTS | {"partition": partition, "tol": 1e-6}
    with pytest.warns(ConvergenceWarning, match=r"the time limit max_seconds = 1e-09 was reached"):
        timed = make(**settings, max_seconds=1e-9).fit(POINTS[:rows], y)
    assert timed.dual_gap_ > 1e-6 * timed.objective_
    assert np.isfinite(decisions(timed, NEW[:, : POINTS.shape[1]])).all()
    if partition is None:
        whole = make(**settings | {"tol": 1e-3}, max_seconds=1e9).fit(POINTS[:rows], y)
        assert timed.lower_bound_ <= whole.objective_ * (1 + 1e-9)
        assert whole.lower_bound_ <= timed.objective_ * (1 + 1e-9)


class StopOnce:
    """Callback that stops the fit at its first step, and counts the steps."""

    seen = 0

    def ignore(self, estimator, context):
        """Ignore an event."""

    setup = teardown = on_fit_task_begin = ignore

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        return self.seen == 1


@pytest.mark.skipif(not HAS_CALLBACKS, reason="requires scikit-learn 1.9")
def test_a_callback_stops_the_problems_of_all_classes():
    iris, species = load_iris(return_X_y=True)
    stop = StopOnce()
    TKLClassifier().set_callbacks(stop).fit(iris[::5], species[::5])
    assert stop.seen == 2  # one step, and the end


def test_bounds_are_valid_after_a_callback_stops_the_parts():
    # a stopped fit does not warn, as pytest turns warnings into errors
    whole, model = in_parts(TKLRegressor), TKLRegressor(**PARTS)
    data = regression_data(model, POINTS, TARGET, None)
    options = fit.fit_options(model)
    family = build_tessellated(data.X, model.degree, model.delta, model.scale)

    def stops(step):  # after one part
        return step is None

    model._store(data, [learn_in_parts(data.problems[0], family, options, stops)])
    assert model.lower_bound_ <= whole.objective_ * (1 + 1e-9)
    assert whole.lower_bound_ <= model.objective_ * (1 + 1e-9)
    assert model.dual_gap_ > 0.1 * whole.objective_
    assert np.isfinite(model.predict(AWAY)).all()


@open_gap
@both
def test_model_files_reject_inconsistent_parts(tmp_path, make):
    model = in_parts(make, tol=0.1)
    assert model.summary().functions[0].details["parts"] == 4
    save(model, tmp_path / "m.pliant")
    loaded = load(tmp_path / "m.pliant")
    np.testing.assert_array_equal(decisions(loaded, AWAY), decisions(model, AWAY))
    for name, forged in (
        ("intercept_", model.intercept_[:-1]),
        ("intercept_", 0.0),
        ("support_parts_", model.support_parts_ + 1),
        ("support_parts_", model.support_parts_[:-1]),
        ("support_parts_", model.support_parts_ + 0.5),
        ("part_centres_", model.part_centres_[:, :1]),
    ):
        forgery = pickle.loads(pickle.dumps(model))
        setattr(forgery, name, forged)
        with pytest.raises(ModelFileError, match=r"intercept|support_parts_|part_centres_|finite"):
            save(forgery, tmp_path / "forged.pliant")
    model.set_params(partition=None).fit(POINTS, LABELS if make is TKLClassifier else TARGET)
    assert not [name for name in vars(model) if "part" in name and name.endswith("_")]


@open_gap
def test_too_many_parts_and_an_open_gap_are_reported(few_rows_for_p):
    with pytest.raises(ValueError, match="expected n_parts <= 160, the number of rows, got 161"):
        in_parts(TKLRegressor, partition={"n_parts": 161}, tol=0.1)
    with pytest.warns(ConvergenceWarning, match="P was learned on 60 of 160 rows; .*max_iter"):
        in_parts(TKLRegressor, max_iter=2, tol=1e-8)
    assert "partition" not in GKLClassifier().get_params()
