"""TKL: reference optima through the estimators, what must not matter, and the corners of use."""

import contextlib
import gc
import math
import pickle
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import C_path, TKLClassifier, TKLRegressor
from pliant.core.progress import HAS_CALLBACKS
from pliant.methods.svm.rows import CachedRows
from pliant.methods.tessellated import base
from tests.papers.tessellated_cases import BASES, C1, CASES, R1, R3

REFERENCE_DIGITS = 4e-8
"""Relative error of the reference optima, which have eight digits after the point."""

X, Y = C1.X, C1.y
NEW = np.random.default_rng(9).uniform(-0.2, 1.2, (15, 2))
SOLVERS = ["lowrank", "frank-wolfe", "apd", "hybrid"]

open_gap = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_basis = pytest.mark.parametrize(("degree", "basis"), BASES)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def estimator_of(case, **options):
    """The estimator of a reference case, in the paper's scaling by default."""
    paper = {"C": case.C, "delta": case.delta, "scale": False, "normalize_measure": False}
    if case is C1:
        return TKLClassifier(**{**paper, **options})
    paper |= {"epsilon": case.margin.epsilon, "scale_target": False}
    return TKLRegressor(**{**paper, **options})


def decisions(model, points):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(points)


def primal(model, points, y, C):
    """1/2 w'K w + C sum of hinge losses, of the SVM that predicts."""
    w = model.dual_coef_
    losses = np.maximum(0, 1 - y * model.decision_function(points))
    return w @ model.kernel_(model.support_vectors_) @ w / 2 + np.sum(C * losses)


def assert_bounds(model, optimum):
    """The optimum lies between the bounds, which the gap and the histories repeat."""
    assert model.lower_bound_ <= optimum * (1 + REFERENCE_DIGITS)
    assert model.objective_ >= optimum * (1 - REFERENCE_DIGITS)
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.lower_bound_, abs=1e-300)
    assert model.objective_history_[-1] == model.objective_
    assert model.gap_history_[-1] == pytest.approx(model.dual_gap_, abs=1e-300)


# The optimum


@every_case
@every_basis
def test_the_reference_optima(case, degree, basis):
    model = estimator_of(case, degree=degree, basis=basis, tol=3e-7).fit(case.X, case.y)
    optimum = case.optimum(degree, basis)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert_bounds(model, optimum)
    assert model.dual_gap_ <= 3e-7 * model.objective_
    assert model.relative_gap_ == model.dual_gap_ / model.objective_
    P, F = model.shape_matrix_, model.shape_factor_
    np.testing.assert_array_equal(P, F @ F.T)
    assert np.trace(P) == pytest.approx(len(P), rel=1e-12)
    assert F.shape == (len(P), model.rank_)
    np.testing.assert_allclose(F.T @ F, np.diag((F**2).sum(axis=0)), atol=1e-10 * len(P))


@every_case
def test_normalising_the_measure_is_another_c(case):
    volume = (1 + 2 * case.delta) ** case.X.shape[1]
    normal = estimator_of(case, normalize_measure=True, C=volume * case.C, tol=1e-6)
    value = normal.fit(case.X, case.y).objective_
    assert value == pytest.approx(volume * case.optimum(1, "x"), rel=2e-6)


@every_solver
@pytest.mark.parametrize("case", [C1, R1], ids=lambda case: case.name)
def test_all_solvers_agree_to_their_gaps(case, solver):
    model = estimator_of(case, solver=solver, tol=0.05).fit(case.X, case.y)
    assert_bounds(model, case.optimum(1, "x"))
    assert model.dual_gap_ <= 0.05 * model.objective_


@every_solver
def test_two_points_on_a_line(solver):
    model = TKLClassifier(solver=solver, tol=0.05).fit([[0.0], [4.0]], ["a", "b"])
    assert list(model.predict([[-1e300], [0.0], [4.0], [1e300]])) == ["a", "a", "b", "b"]


@open_gap
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_the_objective_is_that_of_the_svm_that_predicts(C, dtype):
    r = np.random.default_rng(0)
    points = r.random((60, 2))
    y = np.where(points[:, 0] + 0.5 * r.standard_normal(60) > 0.5, 1, -1)
    model = TKLClassifier(C, dtype=dtype).fit(points, y)
    assert model.objective_ == pytest.approx(primal(model, points, y, C), rel=1e-8)
    assert model.dual_gap_ == model.objective_ - model.lower_bound_ > 0


def test_a_gap_that_single_precision_leaves_open_gives_a_warning():
    r = np.random.default_rng(0)
    points = r.random((60, 2))
    y = points[:, 0] + 0.5 * r.standard_normal(60) > 0.5
    with pytest.warns(ConvergenceWarning, match="float32 hides .*dtype='float64'"):
        TKLClassifier(1e7, dtype="float32").fit(points, y)


def test_the_objective_of_a_regression_is_that_of_the_svm_that_predicts():
    model = TKLRegressor(C=3.0, epsilon=0.05).fit(R1.X, R1.y)
    scale = R1.y.std()
    w = model.dual_coef_ / scale
    errors = np.maximum(0, np.abs(model.predict(R1.X) - R1.y) / scale - 0.05)
    value = w @ model.kernel_(model.support_vectors_) @ w / 2 + 3.0 * errors.sum()
    assert model.objective_ == pytest.approx(value, rel=1e-9)


# The learned kernel


@pytest.mark.parametrize("basis", ["x", "xz"])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("case", [C1, R3], ids=lambda case: case.name)
def test_prediction_is_the_expansion_in_the_learned_kernel(case, degree, basis):
    options = {"degree": degree, "basis": basis, "scale": True, "normalize_measure": True}
    model = estimator_of(case, **options).fit(10 * case.X - 3, case.y)
    new = np.random.default_rng(0).uniform(-5, 9, (20, case.X.shape[1]))
    expected = model.kernel_(new, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(decisions(model, new), expected, rtol=0, atol=1e-12 * 20)
    np.testing.assert_array_equal(model.support_vectors_, (10 * case.X - 3)[model.support_])
    kernel = model.kernel_.kernel
    assert (kernel.degree, kernel.basis, kernel.normalize_measure) == (degree, basis, True)
    np.testing.assert_array_equal(kernel.factor, model.shape_factor_)


def test_the_training_gram_is_that_of_the_kernel():
    model = TKLClassifier(C=10.0).fit(X, Y)
    K = model.kernel_(X)
    np.testing.assert_allclose(K, model.kernel_(X, X.copy()), rtol=0, atol=1e-12 * K.max())
    inner = model.kernel_.kernel.gram(model.kernel_.rescale(X))
    np.testing.assert_allclose(K, inner, rtol=0, atol=1e-12 * K.max())
    assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.trace(K)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), degree=st.integers(0, 2), basis=st.sampled_from(["x", "xz"]))
def test_predictions_do_not_depend_on_the_batch(seed, degree, basis):
    r = np.random.default_rng(seed)
    points, y = r.random((20, 2)), r.permutation(np.repeat([0, 1], 10))
    model = TKLClassifier(degree=degree, basis=basis, tol=0.05).fit(points, y)
    new = r.uniform(-0.5, 1.5, (7, 2))
    alone = np.concatenate([model.decision_function(x[None]) for x in new])
    np.testing.assert_allclose(model.decision_function(new), alone, rtol=0, atol=1e-10)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_objective_does_not_depend_on_row_order(seed):
    order = np.random.default_rng(seed).permutation(30)
    model = TKLRegressor(C=3.0, tol=1e-5).fit(R1.X, R1.y)
    other = TKLRegressor(C=3.0, tol=1e-5).fit(R1.X[order], R1.y[order])
    assert model.objective_ == pytest.approx(other.objective_, rel=1.1e-5)


def test_the_learned_kernel_works_in_other_methods():
    model = TKLClassifier(C=5.0, tol=1e-6).fit(X, Y)
    estimator = SVC(kernel=model.kernel_, C=5.0, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(
        estimator.decision_function(NEW), model.decision_function(NEW), atol=0.02
    )
    learned = TKLRegressor(C=10.0, epsilon=0.01).fit(R1.X, R1.y).kernel_
    ridge = KernelRidge(kernel="precomputed", alpha=0.01).fit(learned(R1.X), R1.y)
    process = GaussianProcessRegressor(learned, alpha=0.01).fit(R1.X, R1.y)
    new = np.linspace(0, 1, 7)[:, None]
    mean, deviation = process.predict(new, return_std=True)
    np.testing.assert_allclose(mean, ridge.predict(learned(new, R1.X)), atol=1e-8)
    assert (deviation > 0).all()
    assert process.score(R1.X, R1.y) > 0.98


# The scaling of features, and the box


@pytest.mark.parametrize("unit", [1e-310, 1e-12, 1.0, 1e12, 1e300])
def test_no_unit_of_the_features_is_too_large_or_too_small(unit):
    model, other = (TKLClassifier(C=5.0).fit(scale * X, Y) for scale in (1.0, unit))
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_allclose(
        other.decision_function(unit * NEW), model.decision_function(NEW), atol=1e-3
    )


def test_an_offset_of_the_features_changes_nothing():
    points = np.round(64 * X)
    model, other = (TKLClassifier(C=5.0).fit(points + offset, Y) for offset in (0, 2.0**50))
    np.testing.assert_array_equal(
        other.decision_function(points + 2.0**50), model.decision_function(points)
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


@pytest.mark.parametrize("basis", ["x", "xz"])
def test_points_far_outside_are_moved_to_the_box(basis):
    model = TKLClassifier(C=5.0, basis=basis, delta=(0.1, 0.4)).fit(X, Y)
    low, high = X.min(axis=0), X.max(axis=0)
    far = np.array([[1e308, -1e308], [-1e308, 1e308], [2.0, 0.5], [-1e9, 0.5]])
    box = np.clip(far, low - 0.1 * (high - low), high + 0.4 * (high - low))
    np.testing.assert_allclose(
        model.decision_function(far), model.decision_function(box), rtol=0, atol=1e-9
    )
    assert np.isfinite(model.decision_function(far)).all()


@pytest.mark.parametrize(
    ("delta", "lower", "upper"),
    [
        (0.3, [-0.3, -0.3], [1.3, 1.3]),
        (0, [0, 0], [1, 1]),
        ((0.1, 0.4), [-0.1, -0.1], [1.4, 1.4]),
        ([0.1, 0.4], [-0.1, -0.4], [1.1, 1.4]),
        ((0, np.array([0.2, 0.3])), [0, 0], [1.2, 1.3]),
        (np.float32(0.5), [-0.5, -0.5], [1.5, 1.5]),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [True, False])
def test_delta_is_a_number_a_pair_or_one_per_feature(delta, lower, upper, scale):
    model = TKLClassifier(C=5.0, delta=delta, scale=scale).fit(X, Y)
    np.testing.assert_allclose(model.lower_, lower, rtol=1e-7)
    np.testing.assert_allclose(model.upper_, upper, rtol=1e-7)
    assert model.dual_gap_ <= 1e-3 * model.objective_
    assert model.score(X, Y) > 0.9


def test_the_box_is_that_of_the_fit_whatever_the_parameters_become():
    model = TKLClassifier(delta=0.25).fit(X, Y)
    model.set_params(scale=False, delta=3.0)
    np.testing.assert_array_equal(model.lower_, [-0.25, -0.25])


# Weights


def test_zero_weights_leave_rows_out():
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


@pytest.mark.parametrize("estimator", [TKLClassifier, TKLRegressor])
def test_a_weight_of_two_is_a_row_twice_and_c_doubled(estimator):
    w = np.random.default_rng(0).integers(1, 4, 30)
    points, y = (X, Y) if estimator is TKLClassifier else (R1.X, R1.y)
    options = {} if estimator is TKLClassifier else {"scale_target": False}
    model = estimator(C=0.5, tol=1e-5, **options).fit(points, y, w)
    again = estimator(C=0.5, tol=1e-5, **options).fit(np.repeat(points, w, 0), np.repeat(y, w))
    assert model.objective_ == pytest.approx(again.objective_, rel=1.1e-5)
    twice = estimator(C=0.5, **options).fit(points, y, np.full(30, 2.0))
    doubled = estimator(C=1.0, **options).fit(points, y)
    assert twice.objective_ == pytest.approx(doubled.objective_, rel=1e-9)


def test_class_weights_are_weights():
    weight = {1: 3.0, -1: 0.5}
    model = TKLClassifier(class_weight=weight).fit(X, Y)
    by_hand = TKLClassifier().fit(X, Y, np.where(Y > 0, 3.0, 0.5))
    np.testing.assert_array_equal(model.dual_coef_, by_hand.dual_coef_)
    balanced = TKLClassifier(class_weight="balanced").fit(X, Y)
    counts = {s: 30 / (2 * (s == Y).sum()) for s in (1, -1)}
    given_ = TKLClassifier(class_weight=counts).fit(X, Y)
    np.testing.assert_allclose(balanced.dual_coef_, given_.dual_coef_)


# Many classes


def test_more_than_two_classes_learn_one_svm_per_pair():
    points, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = TKLClassifier(C=10).fit(points, names)
    assert model.score(points, names) > 0.95
    votes = model.decision_function(points)
    assert votes.shape == (150, 3)
    np.testing.assert_array_equal(model.classes_[votes.argmax(axis=1)], model.predict(points))
    pair = model.estimators_[2]
    assert list(pair.classes_) == ["versicolor", "virginica"]
    both = np.flatnonzero(y > 0)
    assert np.isin(pair.support_, both).all()
    f = pair.decision_function(points)
    assert ((f > 0) == (pair.predict(points) == "virginica")).all()
    assert (votes[both].argmax(axis=1) == 1 + (f[both] > 0)).all()
    np.testing.assert_array_equal(model.lower_, [-0.5] * 4)
    np.testing.assert_array_equal(model.n_iter_, [m.n_iter_ for m in model.estimators_])
    for name in ("kernel_", "shape_matrix_", "shape_factor_", "rank_", "dual_coef_", "dual_gap_",
                 "objective_", "lower_bound_", "relative_gap_", "gap_history_"):  # fmt: skip
        with pytest.raises(AttributeError, match=rf"use estimators_\[k\]\.{name}"):
            getattr(model, name)
    model.fit(points[both], names[both])
    assert not hasattr(model, "estimators_")


def test_svms_of_pairs_are_counted():
    points, y = load_iris(return_X_y=True)
    model = TKLClassifier(tol=0.1).fit(points, y)
    counts = [estimator.n_svm_solves_ for estimator in model.estimators_]
    np.testing.assert_array_equal(model.n_svm_solves_, counts)


def test_all_pairs_share_the_scaling_of_features():
    data = load_iris(as_frame=True)
    model = TKLClassifier(tol=0.1).fit(data.data, data.target)
    for estimator in model.estimators_:
        np.testing.assert_array_equal(estimator.kernel_.offset, data.data.min())
        np.testing.assert_array_equal(estimator.feature_names_in_, model.feature_names_in_)


# Limits and warnings


@every_solver
def test_an_unfinished_fit_warns_with_gap_and_advice(solver):
    message = (
        r"TKLClassifier stopped after 2 support vector machines with a relative gap of "
        r"0\.\d+, where tol = 1e-06 was asked for: .*raise max_iter"
    )
    model = TKLClassifier(solver=solver, max_iter=2, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.fit(X, Y)
    assert caught[0].filename == __file__
    assert model.n_svm_solves_ == model.n_iter_ == len(model.gap_history_) == 2
    assert model.dual_gap_ > 1e-6 * model.objective_
    assert np.isfinite(model.decision_function(NEW)).all()


def test_the_solver_gets_the_limit(monkeypatch):
    seen = []

    def solve(*args, **options):
        seen.append(options["max_iter"])
        raise KeyboardInterrupt

    monkeypatch.setitem(base.SOLVERS, "lowrank", solve)
    for limit in (-1, 7):
        model = TKLClassifier(max_iter=limit, prox=0.3)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
        with pytest.raises(NotFittedError):
            model.predict(X)
    assert seen == [-1, 7]


@pytest.mark.parametrize("C", [1e-300, 1e-6, 1e9, 1e12])
def test_extreme_penalties(C):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TKLClassifier(C=C, max_iter=60).fit(X, Y)
    assert 0 <= model.lower_bound_ <= model.objective_ * (1 + 1e-12)
    assert model.objective_ <= 24 * C * (1 + 1e-9)  # that of w = 0: twelve pairs of rows
    assert np.isfinite(model.decision_function(NEW)).all()


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("subsample", [None, 15])
def test_callbacks_see_progress_and_can_stop(subsample):
    class Recorder:
        def __init__(self, stop):
            self.stop = stop
            self.seen = []

        def setup(self, estimator, context):
            self.seen.append("setup")

        def teardown(self, estimator, context):
            self.seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.seen.append("begin")

        def on_fit_task_end(self, estimator, context):
            self.seen.append("end")
            return self.stop

    recorder = Recorder(stop=False)
    estimator = TKLClassifier(subsample=subsample, tol=0.3 if subsample else 1e-3, random_state=0)
    full = clone(estimator).set_callbacks(recorder).fit(X, Y)
    assert recorder.seen[0] == "setup"
    assert recorder.seen[-1] == "teardown"
    assert recorder.seen.count("begin") == recorder.seen.count("end") >= 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who stops a fit knows that the gap is open
        stopped = clone(estimator).set_callbacks(Recorder(stop=True)).fit(X, Y)
    assert stopped.n_iter_ < full.n_iter_
    assert stopped.dual_gap_ > full.dual_gap_


# Memory: some rows, rows on demand, single precision


@open_gap
@pytest.mark.parametrize("seed", range(3))
def test_p_of_some_rows_is_certified_on_all(seed):
    optimum = TKLClassifier(C=5.0, tol=1e-6).fit(X, Y)
    model = TKLClassifier(C=5.0, subsample=20, random_state=seed).fit(X, Y)
    assert model.lower_bound_ <= optimum.objective_ * (1 + 1e-12)
    assert model.objective_ >= optimum.lower_bound_ * (1 - 1e-12)
    assert model.objective_ == pytest.approx(primal(model, X, Y, 5.0), rel=1e-9)
    assert model.dual_gap_ <= 0.2 * model.objective_
    assert model.rank_ < 6


def test_an_open_gap_on_all_rows_names_the_rows():
    message = r"relative gap of .* P was learned on 10 of 30 rows; raise subsample"
    with pytest.warns(ConvergenceWarning, match=message):
        TKLClassifier(C=100.0, subsample=10, random_state=0, tol=1e-6).fit(X, Y)


@pytest.mark.parametrize("options", [{"subsample": 1000}, {"subsample": 120}, {"cache_mb": 0.01}])
def test_a_subsample_of_all_rows_is_no_subsample(options):
    r = np.random.default_rng(0)
    points = r.standard_normal((120, 20))
    y = np.where(points[:, 0] + points[:, 1] + r.standard_normal(120) > 0, 1, -1)
    model = TKLClassifier(C=0.05).fit(points, y)
    other = TKLClassifier(C=0.05, **options).fit(points, y)  # a warning is an error
    assert other.objective_ == pytest.approx(model.objective_, rel=2e-3)
    assert other.dual_gap_ <= 1e-3 * other.objective_


def test_a_subsample_holds_both_classes():
    y = np.arange(100) > 97
    points = np.random.default_rng(0).random((100, 2))
    for seed in range(5):
        model = TKLClassifier(subsample=5, tol=0.9, random_state=seed).fit(points, y)
        assert model.dual_gap_ <= 0.9 * model.objective_
    small = TKLClassifier(subsample=2, tol=0.9, random_state=0).fit(X, Y)
    assert len(small.classes_) == 2
    line = TKLRegressor(subsample=2, tol=0.99, random_state=0).fit(R1.X, R1.y)
    assert np.isfinite(line.predict(R1.X)).all()


@open_gap
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", [TKLClassifier, TKLRegressor])
def test_rows_on_demand_give_the_predictions_of_a_whole_gram(estimator, dtype):
    r = np.random.default_rng(0)
    points = r.random((300, 2))
    y = np.sin(6 * points[:, 0]) + points[:, 1] + 0.2 * r.standard_normal(300)
    y = y > 1 if estimator is TKLClassifier else y
    options = {"C": 3.0, "subsample": 80, "tol": 1e-3, "random_state": 0, "dtype": dtype}
    whole = estimator(**options).fit(points, y)
    rows = estimator(cache_mb=0.05, **options).fit(points, y)
    np.testing.assert_allclose(rows.shape_matrix_, whole.shape_matrix_, atol=1e-6)
    assert rows.objective_ == pytest.approx(whole.objective_, rel=1e-3)
    np.testing.assert_allclose(decisions(rows, points), decisions(whole, points), atol=0.02)


@open_gap
def test_a_regressor_stays_within_its_cache(monkeypatch):
    """Most samples are free, many more than the cache has room for; bounds hold as in memory."""
    monkeypatch.setattr("pliant.methods.svm.rows.cached.BLOCK_ENTRIES", 20_000)
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 20_000)
    r = np.random.default_rng(0)
    points = r.random((800, 2))
    y = np.sin(6 * points[:, 0]) + points[:, 1] ** 2 + 0.02 * r.standard_normal(800)
    options = {"C": 10.0, "epsilon": 0.01, "subsample": 100, "tol": 1e-3, "random_state": 0}
    fits, peaks = {}, {}
    for mb in (2000.0, 0.5):
        tracemalloc.start()
        fits[mb] = TKLRegressor(cache_mb=mb, **options).fit(points, y)
        peaks[mb] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    whole, rows = fits.values()
    gram, room = 8 * 800**2 / 2**20, math.isqrt(int(0.75 * 2**16))
    free = np.abs(rows.dual_coef_) < 10.0 * y.std() * (1 - 1e-9)
    assert free.sum() > room
    assert peaks[0.5] < 0.5 * gram < gram < peaks[2000.0]
    np.testing.assert_allclose(rows.shape_matrix_, whole.shape_matrix_, atol=1e-6)
    # Both solve the same SVM to a tenth of tol.
    assert rows.objective_ == pytest.approx(whole.objective_, rel=3e-4)
    spread = np.abs(rows.predict(points) - whole.predict(points)).max()
    assert spread <= 0.02 * y.std()
    assert rows.lower_bound_ <= whole.objective_ * (1 + 1e-9)
    assert whole.lower_bound_ <= rows.objective_ * (1 + 1e-9)


def test_single_precision_changes_little():
    double, single = (TKLClassifier(C=5.0, dtype=d, tol=1e-5).fit(X, Y) for d in
                      ("float64", "float32"))  # fmt: skip
    assert single.objective_ == pytest.approx(double.objective_, rel=2e-5)
    expected = single.kernel_(NEW, single.support_vectors_) @ single.dual_coef_
    np.testing.assert_allclose(
        single.decision_function(NEW), expected + single.intercept_, rtol=0, atol=1e-5
    )
    assert single.kernel_(X).dtype == np.float64


def test_many_rows_start_from_some_of_them():
    r = np.random.default_rng(0)
    points = r.random((2100, 2))
    y = points[:, 0] + 0.2 * r.standard_normal(2100) > points[:, 1]
    model = TKLClassifier(C=0.1, tol=1e-2, random_state=0, dtype="float32").fit(points, y)
    assert model.dual_gap_ <= 1e-2 * model.objective_
    assert model.n_svm_solves_ > len(model.objective_history_)


@open_gap
def test_the_same_call_gives_the_same_bytes():
    for options in ({}, {"subsample": 15, "random_state": 3}):
        model, again = (TKLClassifier(**options).fit(X, Y) for _ in range(2))
        assert again.dual_coef_.tobytes() == model.dual_coef_.tobytes()
        assert again.shape_factor_.tobytes() == model.shape_factor_.tobytes()
        copy = pickle.loads(pickle.dumps(model))
        assert copy.decision_function(NEW).tobytes() == model.decision_function(NEW).tobytes()
    other = TKLClassifier(subsample=15, random_state=4).fit(X, Y)
    assert other.shape_factor_.tobytes() != model.shape_factor_.tobytes()


# Special cases


@every_solver
def test_a_tube_that_covers_all_gives_a_constant(solver):
    model = TKLRegressor(epsilon=10.0, solver=solver).fit(R1.X, R1.y)
    assert model.objective_ == model.lower_bound_ == model.dual_gap_ == model.relative_gap_ == 0
    assert len(model.support_) == 0
    assert np.ptp(model.predict(R1.X)) == 0
    np.testing.assert_allclose(model.shape_matrix_, np.eye(4), atol=1e-12)
    some = TKLRegressor(epsilon=10.0, solver=solver, subsample=5, random_state=0).fit(R1.X, R1.y)
    np.testing.assert_array_equal(some.predict(R1.X), model.predict(R1.X))


def test_equal_points_with_opposite_labels_are_learned_from():
    model = TKLClassifier(C=2.0).fit(np.repeat(X, 2, axis=0), np.tile([0, 1], 30))
    assert model.objective_ == pytest.approx(2.0 * 60, rel=1e-3)
    once = np.vstack([X, X[:3]])
    some = TKLClassifier(C=100.0).fit(once, np.append(Y, -Y[:3]))
    f = some.decision_function(once)
    np.testing.assert_allclose(f[:3], f[-3:], atol=1e-9)


@pytest.mark.parametrize("unit", [2.0**664, 2.0**-664])
def test_no_unit_of_the_target_matters(unit):
    """A power of two, about 1e200: rounding the targets would change the result, up to `tol`."""
    model, other = (TKLRegressor().fit(R1.X, scale * R1.y) for scale in (1.0, unit))
    np.testing.assert_allclose(other.predict(R1.X) / unit, model.predict(R1.X), rtol=1e-6)


def test_fifty_features():
    r = np.random.default_rng(0)
    points = r.standard_normal((60, 50))
    model = TKLClassifier(C=0.01).fit(points, points[:, 0] > 0)
    assert model.shape_matrix_.shape == (102, 102)
    assert model.dual_gap_ <= 1e-3 * model.objective_


# scikit-learn's tools


def test_search_pipelines_and_paths():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), TKLClassifier(tol=0.05)),
        {"tklclassifier__delta": [0.2, (0.1, 0.5)], "tklclassifier__C": [1, 10]},
        cv=2,
    ).fit(X, Y)
    assert search.best_params_["tklclassifier__C"] == search.best_estimator_[-1].C
    assert cross_val_score(TKLRegressor(C=10, tol=0.05), R1.X, R1.y, cv=2).min() > 0.5
    estimators = C_path(TKLClassifier(tol=1e-4), X, Y, [10.0, 0.1])
    for estimator, C in zip(estimators, [10.0, 0.1], strict=True):
        alone = TKLClassifier(C=C, tol=1e-4).fit(X, Y)
        assert estimator.objective_ == pytest.approx(alone.objective_, rel=1.1e-4)
        assert estimator.score(X, Y) >= 0.5


@pytest.mark.parametrize("estimator", [TKLClassifier, TKLRegressor])
def test_parameters_come_back_as_they_were(estimator):
    delta = (np.array([0.1, 0.2]), 0.3)
    model = estimator(3.0, delta=delta, basis="xz", prox=0.1, random_state=5)
    assert model.get_params()["delta"] is delta
    copy = clone(model)
    assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert (copy.C, copy.basis, copy.prox, copy.random_state) == (3.0, "xz", 0.1, 5)
    assert estimator().set_params(**model.get_params()).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "lower_")


# Bad input

BAD_PARAMETERS = [
    ({"C": 0}, "expected C > 0, a finite number, got 0"),
    ({"C": -1.0}, "expected C > 0, a finite number, got -1.0"),
    ({"C": np.inf}, "expected C > 0, a finite number, got inf"),
    ({"C": "1"}, "expected C > 0, a finite number, got '1'"),
    ({"tol": 0}, "expected tol > 0, a finite number, got 0"),
    ({"tol": -1e-3}, "expected tol > 0, a finite number, got -0.001"),
    ({"degree": 13}, "expected degree <= 12, got 13"),
    ({"degree": -1}, "expected degree >= 0, an integer, got -1"),
    ({"degree": 1.5}, "expected degree >= 0, an integer, got 1.5"),
    ({"degree": True}, "expected degree >= 0, an integer, got True"),
    ({"basis": "z"}, r"expected basis in \['x', 'xz'\], got 'z'"),
    ({"basis": None}, r"expected basis in \['x', 'xz'\], got None"),
    ({"delta": -0.1}, "expected delta >= 0, got -0.1"),
    ({"delta": (0.1, -0.2)}, r"expected delta >= 0, got \(0.1, -0.2\)"),
    ({"delta": [0.1] * 5}, r"expected delta of shape \(\d,\), got \(5,\)"),
    ({"delta": (0.1, 0.2, 0.3)}, r"expected a tuple .*pair .*got \(0\.1, 0\.2, 0\.3\); .*list"),
    ({"delta": None}, "expected delta to be a number, a pair or a list, got None"),
    ({"delta": True}, "expected delta to be a number, a pair or a list, got True"),
    ({"delta": np.nan}, "expected finite numbers in delta, got nan"),
    ({"delta": np.inf}, "expected finite numbers in delta, got inf"),
    ({"delta": "wide"}, "expected delta to hold numbers"),
    ({"solver": "lowrnk"}, r"expected solver in .*got 'lowrnk' \(did you mean 'lowrank'\?\)"),
    ({"solver": None}, "expected solver in .*got None"),
    ({"prox": -1.0}, "expected prox >= 0, a finite number, got -1.0"),
    ({"prox": "none"}, r"expected prox in \['auto'\], got 'none'"),
    ({"subsample": 1}, "expected subsample >= 2, an integer, got 1"),
    ({"subsample": 0.5}, "expected subsample >= 2, an integer, got 0.5"),
    ({"cache_mb": 0}, "expected cache_mb > 0, a finite number, got 0"),
    ({"dtype": "int8"}, r"expected dtype in \['float32', 'float64'\], got 'int8'"),
    ({"scale": "yes"}, "expected scale True or False, got 'yes'"),
    ({"normalize_measure": 1}, "expected normalize_measure True or False, got 1"),
    ({"max_iter": 0}, "expected max_iter >= 1, or -1 for no limit, got 0"),
    ({"max_iter": -2}, "expected max_iter >= -1, an integer, got -2"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=str)
@pytest.mark.parametrize("estimator", [TKLClassifier, TKLRegressor])
def test_bad_parameters_get_one_clear_error(estimator, parameters, message):
    points, y = (X, Y) if estimator is TKLClassifier else (R1.X, R1.y)
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(points, y)


def test_a_wrong_random_state_is_refused_before_it_is_needed():
    with pytest.raises(ValueError, match=r"expected random_state to be a seed.* got 'seed'"):
        TKLClassifier(random_state="seed").fit(X, Y)


def bad_data():
    with_nan, with_inf = X.copy(), X.copy()
    with_nan[3, 1], with_inf[3, 1] = np.nan, np.inf
    wide = np.column_stack([X, np.where(np.arange(30) == 0, 1e308, -1e308)])
    many = np.random.default_rng(0).random((30, 5000))
    return {
        "nan": (with_nan, Y, "contains NaN"),
        "inf": (with_inf, Y, "contains infinity"),
        "one class": (X, np.ones(30), "expected at least two classes, got one class: 1.0"),
        "text": (np.full((30, 2), "a"), Y, "could not convert string to float"),
        "1-D": (X[:, 0], Y, "Expected 2D array, got 1D"),
        "lengths": (X, Y[:-1], "inconsistent numbers of samples"),
        "one row": (X[:1], Y[:1], "1 sample"),
        "empty": (X[:0], Y[:0], "0 sample"),
        "no features": (X[:, :0], Y, "0 feature"),
        "real target": (X, X[:, 0], "Unknown label type"),
        "range": (wide, Y, r"features of finite range, got -1e\+308 to 1e\+308 in column 2"),
        "n_P": (many, Y, r"n_P <= 10000, got n_P = 10002 for 5000 features: .* 0\.8 GB; lower"),
    }


@pytest.mark.parametrize("case", bad_data())
def test_bad_data_get_one_clear_error(case):
    points, y, message = bad_data()[case]
    with pytest.raises(ValueError, match=message):
        TKLClassifier().fit(points, y)


def test_sparse_points_are_refused():
    with pytest.raises(TypeError, match=r"Sparse data was passed for X.*toarray"):
        TKLClassifier().fit(scipy.sparse.csr_matrix(X), Y)


def test_too_many_functions_are_refused_before_any_memory_is_taken():
    points = np.random.default_rng(0).random((30, 60))
    with pytest.raises(ValueError, match=r"n_P = 14762 for 60 features: P would take 1\.74 GB"):
        TKLClassifier(degree=2, basis="xz").fit(points, Y)


def test_features_outside_the_box_are_refused_where_they_are_not_scaled():
    outside = X.copy()
    outside[4, 1] = 1.75
    with pytest.raises(ValueError, match=r"in the box .* got 1\.75 in column 1; scale=True"):
        TKLClassifier(scale=False).fit(outside, Y)
    w = np.ones(30)
    w[4] = 0
    assert TKLClassifier(scale=False).fit(outside, Y, w).score(X, Y) > 0.9
    assert TKLClassifier(scale=False, delta=(0, 0.75)).fit(outside, Y).score(X, Y) > 0.9


def test_wrong_points_at_prediction_are_refused():
    model = TKLClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="3 features, but TKLClassifier is expecting 2"):
        model.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan, 0.0]])


def test_kernel_values_that_overflow_are_refused():
    with np.errstate(all="ignore"):
        for options in ({"dtype": "float32", "normalize_measure": False, "delta": 1e30},
                        {"delta": 1e200, "basis": "xz"}, {"delta": 1e308}):  # fmt: skip
            with pytest.raises(ValueError, match=r"expected .*finite"):
                TKLClassifier(**options).fit(X, Y)


@pytest.mark.filterwarnings("ignore")
def test_bounds_that_are_not_finite_are_never_a_certificate():
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # an error is as good
        model = TKLClassifier(C=1e100, dtype="float32", max_iter=5).fit(X, Y)
        assert np.isfinite(model.objective_)
        assert model.objective_ >= model.lower_bound_


def test_bad_weights_and_targets():
    with pytest.raises(ValueError, match="expected sample_weight >= 0, got -1"):
        TKLClassifier().fit(X, Y, -np.ones(30))
    with pytest.raises(ValueError, match="expected some sample_weight > 0, got only zeros"):
        TKLClassifier().fit(X, Y, np.zeros(30))
    with pytest.raises(ValueError, match="at least two classes, got one class: 1"):
        TKLClassifier().fit(X, Y, (Y > 0).astype(float))
    with pytest.raises(ValueError, match="in both classes 0 and 1"):
        TKLClassifier().fit(X, np.arange(30) % 3, (np.arange(30) % 3 > 0).astype(float))
    with pytest.raises(ValueError, match="expected class_weight"):
        TKLClassifier(class_weight="fair").fit(X, Y)
    with pytest.raises(ValueError, match="expected class weights > 0"):
        TKLClassifier(class_weight={1: -1.0, -1: 1.0}).fit(X, Y)
    with pytest.raises(ValueError, match="C times the weights to be finite"):
        TKLClassifier(C=1e300).fit(X, Y, np.full(30, 1e300))
    with pytest.raises(ValueError, match="expected a target that varies, got y = 3 in all 30"):
        TKLRegressor().fit(X, np.full(30, 3.0))
    with pytest.raises(ValueError, match=r"expected epsilon >= 0, a finite number, got -0\.1"):
        TKLRegressor(epsilon=-0.1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="expected scale_target True or False, got 'yes'"):
        TKLRegressor(scale_target="yes").fit(X, X[:, 0])


def test_many_classes_give_one_warning_of_open_gaps():
    r = np.random.default_rng(0)
    points, y = r.random((60, 3)), np.repeat(["a", "b", "c"], 20)
    message = r"\d of 3 pairs of classes; the first: TKLClassifier stopped after 2 support vector"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        TKLClassifier(C=100.0, max_iter=2, tol=1e-9).fit(points, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@open_gap
@pytest.mark.parametrize("estimator", [TKLClassifier, TKLRegressor])
def test_no_more_than_one_cache_of_kernel_values_is_alive(estimator, monkeypatch):
    """Each SVM has rows of its own: the ones before must be gone, without a garbage collector."""
    alive, most, made = weakref.WeakSet(), [], CachedRows.__init__

    def counted(self, *args, **options):
        made(self, *args, **options)
        alive.add(self)
        most.append(len(alive))

    monkeypatch.setattr(CachedRows, "__init__", counted)
    r = np.random.default_rng(0)
    points = r.random((150, 8))
    y = np.sin(6 * points[:, 0]) + 2 * points[:, 1] * points[:, 2] + 0.2 * r.standard_normal(150)
    y = y > 1 if estimator is TKLClassifier else y
    gc.disable()
    try:
        estimator(cache_mb=0.05, subsample=10, tol=1e-4, random_state=0).fit(points, y)
    finally:
        gc.enable()
    assert most == [1, 1, 1]  # at the given P and at two blends
    assert not alive
