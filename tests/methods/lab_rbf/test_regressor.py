"""LABRBFRegressor: predictions, training, invariances, parameters and warm starts."""

import itertools
import pickle
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.core import blocks
from pliant.core.device import get_device
from pliant.core.progress import HAS_CALLBACKS
from pliant.methods import Warp
from pliant.methods.lab_rbf import constants, trainer
from pliant.methods.lab_rbf import table as table_module
from pliant.methods.lab_rbf.kernel import PROFILES, JoinedRBFKernel
from pliant.methods.summary import summarize
from tests.methods.lab_rbf.building import build

QUICK = {"n_support": 8, "n_members": 2, "max_iter": 10, "random_state": 0}
FIXED = {"transforms": None, "alpha": 0.01, "shrinkage": 0.01, "validation_fraction": 0}
"""Settings without held-out rows."""

NEW = np.random.default_rng(9).uniform(-1.2, 1.2, size=(25, 3))


def table(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=n)


def dyadic(n=60, d=3, seed=0):
    """Return points and targets on a grid of 1/64: shifts and scaling by 2 are exact."""
    X, y = table(n, d, seed)
    return np.round(64 * X) / 64, np.round(64 * y) / 64


def quick(**options):
    return build(LABRBFRegressor, **{**QUICK, **options})


X, Y = table()
TWO = np.column_stack([Y, 3.0 - X[:, 2] * Y])


def dense_members(model):
    return [member for member in model.members_ if member.objective_ == "dense"]


@cache
def fitted():
    return quick().fit(X, Y)


# Prediction


def positive_table():
    """Return log-normal features and a log-linear target, which need log transforms."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(150, 3))
    return np.exp(2 * Z), np.exp(1.5 * Z[:, 0] + 0.7 * Z[:, 1] + 0.02 * rng.normal(size=150))


@pytest.fixture
def asinh_of_targets(monkeypatch):
    """Fit asinh(y / u) for all skewed targets."""
    monkeypatch.setattr(constants, "MAX_ASINH_LOSS", np.inf)


def formula(model, points):
    """Compute predictions by the formula of the class docstring."""
    warp = model.members_[0].warp_
    moved = points if warp.affine else warp(points)
    f = model.kernel_(points, model.support_vectors_) @ model.dual_coef_
    f = f + moved @ model.linear_coef_ + model.intercept_
    if model.target_unit_ is not None:
        f = model.target_unit_ * np.sinh(f.reshape(len(f), -1)).reshape(f.shape)
    low, high = model.target_low_, model.target_high_
    return f.clip(low, high) if f.ndim > 1 else f.clip(low[0], high[0])


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence"])
def test_prediction_matches_the_formula(objective, outputs):
    model = quick(objective=objective).fit(X, Y if outputs == 1 else TWO)
    assert dense_members(model)
    size = np.abs(model.dual_coef_).sum()  # bounds the terms of the sum
    np.testing.assert_allclose(model.predict(NEW), formula(model, NEW), rtol=0, atol=1e-12 * size)
    m = len(model.support_)
    shape = (lambda k: (k,)) if outputs == 1 else (lambda k: (k, 2))
    assert model.dual_coef_.shape == shape(m)
    assert model.linear_coef_.shape == shape(3)
    assert np.shape(model.intercept_) == shape(1)[1:]
    assert model.predict(NEW).shape == shape(25)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.usefixtures("asinh_of_targets")
def test_prediction_matches_the_formula_with_transforms(outputs):
    points, y = positive_table()
    new = points[:20] * 1.01
    y = y if outputs == 1 else np.column_stack([y, 2 * y])
    model = quick(n_support=20, max_iter=20, n_members=1, random_state=1).fit(points, y)
    sizes = np.abs(y.reshape(len(y), -1))
    np.testing.assert_allclose(model.target_unit_, np.median(sizes, axis=0))
    assert dense_members(model)
    assert not any(member.warp_.affine for member in model.members_)
    # The terms of the sum are as large as the largest targets, and so are their rounding errors.
    atol = 1e-11 * np.abs(y).max()
    np.testing.assert_allclose(model.predict(new), formula(model, new), rtol=1e-10, atol=atol)
    assert model.score(points, y) > 0.9


@pytest.mark.parametrize("n_members", [2, 3])
def test_many_rows_use_every_transform_if_each_has_a_member(monkeypatch, n_members):
    monkeypatch.setattr(constants, "MEMBER_ROWS", 100)
    model = quick(n_members=n_members, max_iter=2, dense=False).fit(*positive_table())
    keys = [Warp.learn(positive_table()[0], scale).key() for scale in ("raw", "log", "asinh")]
    found = [member.warp_.key() for member in model.members_]
    if n_members == 3:
        assert found == keys
    else:
        assert found[0] != keys[0]  # the target is linear in the logarithms


def test_members_with_different_transforms_have_no_common_kernel():
    model = quick(transforms=None).fit(np.exp(2 * X), Y)
    assert len(model.members_) == 4
    for k, scale in enumerate(["log", "raw", "asinh", "log"]):
        member, warp = model.members_[k], Warp.learn(np.exp(2 * X), scale)
        nonlinear = None if warp.affine else warp
        kernel = replace(member.kernel_, bandwidths=member.mapped_bandwidths(), warp=nonlinear)
        model.members_[k] = replace(member, kernel_=kernel, warp_=warp)
    for name in ("bandwidths_", "linear_coef_", "intercept_"):
        assert not hasattr(model, name), name
        with pytest.raises(AttributeError, match=r"members_\[k\]"):
            getattr(model, name)
    # The support points of all members have one kernel, and their coefficients are weighted.
    assert isinstance(model.kernel_, JoinedRBFKernel)
    points = np.exp(2 * NEW).clip(*model.limits_)
    parts = zip(model.weights_, model.members_, strict=True)
    linear = sum(w * (m.warp_(points) @ m.linear_coef_ + m.intercept_) for w, m in parts)[:, 0]
    f = model.kernel_(points, model.support_vectors_) @ model.dual_coef_ + linear
    atol = 1e-12 * np.abs(model.dual_coef_).sum()
    np.testing.assert_allclose(model.explain(points).prediction, f, rtol=0, atol=atol)


@pytest.mark.parametrize("many", [False, True])
def test_bad_members_are_not_averaged(monkeypatch, many):
    points = np.random.default_rng(0).normal(size=(100, 3))
    left_out = 0
    if many:
        monkeypatch.setattr(constants, "MEMBER_ROWS", 99)
    for seed in range(3):
        model = quick(n_members=4, random_state=seed).fit(points, points @ [1.0, 2.0, 3.0])
        losses = 1.0 - model.validation_score_[:4]
        typical = losses.min() if many else np.median(losses)
        used, share = losses <= 2.0 * typical, model.weights_[4:].sum()
        expected = np.where(used, (1.0 - share) / used.sum(), 0.0)
        np.testing.assert_allclose(model.weights_[:4], expected, rtol=1e-12)
        assert len(model.weights_[4:]) in (0, used.sum())  # a dense member for each
        np.testing.assert_array_equal(model.weights_[4:], model.weights_[-1])
        left_out += np.sum(~used)
    assert left_out > 0


def test_predictions_do_not_depend_on_the_blocks(monkeypatch):
    expected = fitted().predict(NEW), fitted().distance_to_support(NEW)
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 30)
    np.testing.assert_allclose(fitted().predict(NEW), expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(fitted().distance_to_support(NEW), expected[1], rtol=0, atol=1e-7)


def test_points_are_clipped_to_the_limits():
    model = quick(transforms=None).fit(X, Y)
    low, high = model.limits_
    range_ = X.max(axis=0) - X.min(axis=0)
    np.testing.assert_allclose(low, X.min(axis=0) - range_ / 8)
    np.testing.assert_allclose(high, X.max(axis=0) + range_ / 8)
    far = NEW + np.array([10.0, 0.0, -1e6])
    np.testing.assert_array_equal(model.predict(far), model.predict(far.clip(low, high)))


def test_refit_extends_the_limits():
    model = quick().fit(X, Y)
    before = model.limits_
    model.refit_coefficients(np.vstack([X, [[5.0, 0.0, 0.0]]]), np.append(Y, 0.0))
    assert model.limits_[1, 0] > 5.0
    np.testing.assert_array_equal(model.limits_[:, 1:], before[:, 1:])
    np.testing.assert_array_equal(model.limits_[0], np.minimum(before[0], model.limits_[0]))


# Reproducibility


@pytest.mark.parametrize("entries", [4_000_000, 300])
def test_result_does_not_depend_on_n_jobs(monkeypatch, entries):
    monkeypatch.setattr(table_module, "BLOCK_ENTRIES", entries)
    points, y = table(300)
    one, two = (quick(n_members=3, n_jobs=jobs).fit(points, y) for jobs in (1, 2))
    assert one.predict(points).tobytes() == two.predict(points).tobytes()
    assert one.bandwidths_.tobytes() == two.bandwidths_.tobytes()


# Weights


def test_rows_with_weight_zero_are_ignored():
    kept = np.arange(80) % 3 > 0
    points, y = X.copy(), Y.copy()
    points[~kept], y[~kept] = 1e6, -1e6
    weights = np.where(kept, 0.5 + np.arange(80) / 80, 0.0)
    model = quick().fit(points, y, weights)
    left = quick().fit(X[kept], Y[kept], weights[kept])
    assert model.predict(NEW).tobytes() == left.predict(NEW).tobytes()
    np.testing.assert_array_equal(model.support_, np.flatnonzero(kept)[left.support_])


# Refitting the coefficients


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_refit_is_a_ridge_fit(linear, weighted):
    model = quick(linear=linear, alpha=0.01, dense=False).fit(X, TWO)
    bandwidths, centres = model.bandwidths_.copy(), model.support_vectors_.copy()
    points, _ = table(200, seed=5)
    y = np.column_stack([points[:, 0] * points[:, 1], np.cos(points[:, 2])])
    weights = np.random.default_rng(0).uniform(0.1, 2, 200) if weighted else None
    model.refit_coefficients(points, y, weights)
    np.testing.assert_array_equal(model.bandwidths_, bandwidths)
    np.testing.assert_array_equal(model.support_vectors_, centres)
    w = np.ones(200) if weights is None else weights
    for member in model.members_:
        F = member.kernel_(points, member.kernel_.centres)
        if linear:
            F = np.hstack([F, member.warp_(points)])
        mean = np.average(y, axis=0, weights=w)
        A = F.T @ (w[:, None] * F) + 0.01 * np.eye(F.shape[1])
        a = np.linalg.solve(A, F.T @ (w[:, None] * (y - mean)))
        m = len(member.dual_coef_)
        np.testing.assert_allclose(member.dual_coef_, a[:m], rtol=0, atol=1e-8 * np.abs(a).max())
        np.testing.assert_allclose(member.intercept_, mean, rtol=1e-12)
        if linear:
            np.testing.assert_allclose(
                member.linear_coef_, a[m:], rtol=0, atol=1e-8 * np.abs(a).max()
            )


@pytest.mark.parametrize("weighted", [True, False])
def test_more_features_than_rows(weighted):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 90))
    y, weights = points[:, 0] - points[:, 1], rng.uniform(0.5, 2.0, 20) if weighted else None
    model = quick(n_support=4, max_iter=3, alpha=0.3, dense=False).fit(points, y, weights)
    w = np.ones(20) if weights is None else weights
    assert any(member.linear_ for member in model.members_)
    for member in model.members_:
        F = member.features(points)
        a = np.vstack([member.dual_coef_, member.linear_coef_])[: F.shape[1]]
        residual = y[:, None] - member.intercept_ - F @ a
        np.testing.assert_allclose(F.T @ (w[:, None] * residual), 0.3 * a, rtol=0, atol=1e-9)


# Training


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("objective", ["ridge", "evidence"])
def test_objective_decreases(objective, profile):
    model = quick(objective=objective, profile=profile, **FIXED).fit(X, Y)
    for history in model.objective_history_:
        assert len(history) > 5
        assert all(b <= a + 1e-12 for a, b in pairwise(history))
        assert history[-1] < history[0]
    assert model.n_iter_ == sum(len(h) for h in model.objective_history_)


def test_support_points_are_distinct_training_points():
    model = quick(max_iter=20).fit(X, Y)
    assert dense_members(model)
    for member in model.members_:
        most = 80 if member.objective_ == "dense" else 8
        assert len(np.unique(member.support_)) == len(member.support_) <= most
    assert model.score(X, Y) > 0.8
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


# Stopping


class StopAfter:
    """Callback that stops the fit after some steps."""

    def __init__(self, n_steps):
        self.n_steps = n_steps

    def ignore(self, estimator, context):
        """Ignore an event."""

    setup = teardown = on_fit_task_begin = ignore

    def on_fit_task_end(self, estimator, context):
        self.n_steps -= 1
        return self.n_steps <= 0


needs_callbacks = pytest.mark.skipif(not HAS_CALLBACKS, reason="requires scikit-learn 1.9")


@needs_callbacks
@pytest.mark.parametrize("steps", [1, 4, 7, 9])
@pytest.mark.parametrize("objective", ["ridge", "evidence"])
def test_stopped_fit_keeps_the_best_result(objective, steps):
    full = quick(objective=objective, transforms=None, n_members=1).fit(X, Y)
    stopped = clone(full).set_callbacks(StopAfter(steps)).fit(X, Y)
    history = stopped.members_[0].objective_history_
    np.testing.assert_array_equal(history, full.members_[0].objective_history_[:steps])
    assert len(history) == stopped.n_iter_ == steps
    assert stopped.score(X, Y) > 0.2
    np.testing.assert_allclose(stopped.predict(NEW), formula(stopped, NEW), rtol=0, atol=1e-10)


@needs_callbacks
@pytest.mark.parametrize("objective", ["ridge", "evidence"])
def test_a_later_stop_is_no_worse_than_the_first_stage(objective, monkeypatch):
    lengths, learn = [], trainer.BandwidthTraining.learn_first_stage

    def learn_and_count(training):
        learn(training)
        lengths.append(len(training.history))

    monkeypatch.setattr(trainer.BandwidthTraining, "learn_first_stage", learn_and_count)
    model = quick(objective=objective, transforms=None, n_members=1).fit(X, Y)
    scores = []
    for steps in range(lengths[0], lengths[0] + 8):
        stopped = clone(model).set_callbacks(StopAfter(steps)).fit(X, Y)
        scores.append(stopped.validation_score_[0])
    assert min(scores) == scores[0]


@needs_callbacks
def test_a_stop_in_the_first_stage_leaves_one_member():
    model = quick(transforms=None).set_callbacks(StopAfter(5)).fit(X, Y)
    assert (model.n_members, len(model.members_)) == (2, 1)


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize("objective", ["ridge", "evidence"])
def test_tiny_time_limit_gives_a_fitted_model(objective, transforms):
    model = quick(objective=objective, transforms=transforms, max_seconds=1e-9)
    model.fit(np.exp(X), np.exp(3 * Y))
    assert len(model.members_) == 1
    assert np.isfinite(model.predict(np.exp(NEW))).all()
    assert model.score(np.exp(X), np.exp(3 * Y)) > 0
    assert sum(len(h) for h in model.objective_history_) < 10


# Relevance and distance


def test_relevance_of_a_linear_function():
    points, _ = table(200, 3)
    y = 2.0 * points[:, 0] - 1.0 * points[:, 2]
    model = quick(linear=True, n_support=3, max_iter=30).fit(points, y)
    spread = points.var(axis=0) * [4.0, 0.0, 1.0]
    np.testing.assert_allclose(model.feature_relevance_, spread / spread.sum(), atol=0.02)


def test_shares_of_a_distant_support_point():
    """Rounding errors can make its squared slopes negative, and its shares as large as 1e294."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 2))
    points[0], points[1] = 10.0, -10.0
    model = build(LABRBFRegressor, 100, n_members=1, random_state=0, max_iter=30, linear=False)
    shares = model.fit(points, np.sin(9 * points[:, 0])).support_relevance_
    assert shares.min() >= 0.0
    assert shares.max() <= 1.0 + 1e-12


def test_distance_to_support():
    local = [member for member in fitted().members_ if member.objective_ != "dense"]
    for member in local:
        assert fitted().distance_to_support(member.kernel_.centres).max() <= 1e-6
    assert dense_members(fitted())
    squares = []
    for member in local:
        u, C = (member.warp_(points) for points in (NEW, member.kernel_.centres))
        difference = (u[:, None] - C) * member.mapped_bandwidths()
        squares.append((difference**2).sum(axis=2).min(axis=1))
    expected = np.sqrt(np.min(squares, axis=0))
    np.testing.assert_allclose(fitted().distance_to_support(NEW), expected, rtol=0, atol=1e-7)
    away = fitted().distance_to_support(np.outer([2.0, 4.0, 8.0, 1e6], np.ones(3)))
    assert (np.diff(away) > 0).all()
    assert away[0] > np.median(fitted().distance_to_support(X))
    with pytest.raises(NotFittedError):
        LABRBFRegressor().distance_to_support(X)


# Invariances


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    factor=st.sampled_from([-4.0, 0.25, 2.0**40, -(2.0**-40)]),
    offset=st.sampled_from([0.0, -3.0, 1024.0]),
)
def test_predictions_scale_with_the_target(seed, factor, offset):
    points, y = dyadic(seed=seed)
    if abs(factor) < 1e-6:
        offset *= abs(factor)
    one = quick(transforms=None, max_iter=5).fit(points, y)
    other = quick(transforms=None, max_iter=5).fit(points, factor * y + offset)
    np.testing.assert_allclose(
        (other.predict(NEW) - offset) / factor, one.predict(NEW), rtol=0, atol=1e-6
    )


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    powers=st.lists(st.integers(-40, 40), min_size=3, max_size=3),
    moves=st.lists(st.integers(-1000, 1000), min_size=3, max_size=3),
)
def test_predictions_do_not_depend_on_units_of_features(seed, powers, moves):
    points, y = dyadic(seed=seed)
    new = np.round(64 * NEW) / 64
    units, origins = 2.0 ** np.array(powers), np.array(moves, dtype=float)
    one = quick(transforms=None, max_iter=5).fit(points, y)
    other = quick(transforms=None, max_iter=5).fit(units * (points + origins), y)
    np.testing.assert_allclose(
        other.predict(units * (new + origins)), one.predict(new), rtol=0, atol=1e-6
    )


# Devices


@cache
def score_on(device, dtype, objective):
    """Return the R2 on new rows after few steps; rounding may change later steps."""
    points, y = table(1000)
    y += 0.3 * np.random.default_rng(1).normal(size=1000)
    model = quick(
        n_support=12, objective=objective, alpha=0.1, transforms=None, max_iter=3,
        device=device, dtype=dtype,
    )  # fmt: skip
    return model.fit(points[:400], y[:400]).score(points[400:], y[400:])


@pytest.mark.parametrize("objective", ["ridge", "evidence"])
@pytest.mark.parametrize(
    ("device", "dtype"),
    [("cpu", "float32"), *itertools.product(["torch", "cuda"], ["float64", "float32"])],
)
def test_devices_give_the_same_score(device, dtype, objective):
    if device != "cpu":
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("requires a GPU")
    assert score_on(device, dtype, objective) == pytest.approx(
        score_on("cpu", "float64", objective), abs=1e-4
    )
    model = quick(device=device, dtype=dtype, objective=objective).fit(X, Y)
    assert model.dual_coef_.dtype == model.bandwidths_.dtype == np.float64
    pickle.dumps(model)


@pytest.mark.parametrize("device", ["torch", "cuda:1"])
def test_devices_other_than_the_cpu_need_pytorch(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = rf"device='{device}' needs PyTorch: pip install 'pliant\[torch\]'"
    with pytest.raises(ImportError, match=message):
        get_device(device, "float64")


@pytest.mark.parametrize(("device", "count"), [("cuda", 0), ("cuda:1", 1)])
def test_a_gpu_that_is_not_there_is_refused(device, count, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    with pytest.raises(ValueError, match=f"device='{device}' needs a GPU .* got {count} GPUs"):
        quick(device=device).fit(X, Y)


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match=r"expected device='cpu', .*, got 'gpu'"):
        quick(device="gpu").fit(X, Y)


# Parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation_fraction": 0}, "numbers for alpha and shrinkage"),
        ({"validation_fraction": 0, "alpha": 1.0}, "numbers for alpha and shrinkage"),
        ({"validation_fraction": 1.0}, "expected validation_fraction < 1, got 1"),
    ],
)
def test_incompatible_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X, Y)


# Summary


@pytest.mark.parametrize("cls", [LABRBFRegressor, LABRBFClassifier])
def test_summary_covers_the_members_with_a_weight(cls):
    y = Y if cls is LABRBFRegressor else np.digitize(Y, [0.0, 0.5])
    model = cls(**{**QUICK, "n_members": 3}).fit(X, y)
    assert len(model.members_) > 3
    model.weights_ = np.array([0.4, 0.0, 0.5, 0.1, *np.zeros(len(model.members_) - 4)])
    summary = summarize(model)
    (function,) = summary.functions
    assert (function.n_support, function.n_iter) == (len(model.support_), model.n_iter_)
    assert function.details["members"] == 3
    expected = np.average(model.validation_score_[[0, 2, 3]], weights=[0.4, 0.5, 0.1])
    assert function.details["held_out_score"] == pytest.approx(expected, rel=1e-12)
    assert summary.n_support == len(set(model.support_.tolist()))
    intervals = {"intervals"} if cls is LABRBFRegressor else set()
    assert summary.drawings == {"bandwidths", "relevance"} | intervals


def test_drawings_without_held_out_samples():
    model = quick(validation_fraction=0.0, alpha=0.1, shrinkage=0.0).fit(X, Y)
    assert model.summary().drawings == {"bandwidths", "relevance"}
    assert "intervals" in model.calibrate(X, Y).summary().drawings


def test_without_held_out_samples_no_transform_is_tried():
    model = quick(**{**FIXED, "transforms": "auto"}).fit(*positive_table())
    assert all(member.warp_.affine for member in model.members_)
    assert model.target_unit_ is None


# Warm start


def warm(**options):
    return quick(n_support=15, max_iter=4, warm_start=True, **{"dense": False, **options})


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize("objective", ["ridge", "evidence", "mixed"])
def test_warm_start_continues(objective, transforms):
    points = np.exp(2 * X)
    model = warm(objective=objective, transforms=transforms).fit(points, Y)
    support, first = model.support_vectors_, model.score(points, Y)
    numbers, last = model.support_, [h[-1] for h in model.objective_history_]
    for _ in range(4):
        model.fit(points, Y)
    np.testing.assert_array_equal(model.support_vectors_, support)
    np.testing.assert_array_equal(model.support_, numbers)
    assert model.score(points, Y) > first
    for history, before in zip(model.objective_history_, last, strict=True):
        assert len(history) <= 4 + 2
        assert history[-1] < before


@pytest.mark.usefixtures("asinh_of_targets")
def test_warm_start_keeps_the_transforms(monkeypatch):
    points, positive = np.exp(2 * X), np.exp(2 * Y)
    model = warm().fit(points, positive)
    unit = model.target_unit_
    scales = [member.warp_.key() for member in model.members_]
    calls = []
    monkeypatch.setattr(trainer.Trainer, "probe", lambda *args: calls.append(args))
    model.set_params(n_members=3).fit(points, positive)
    assert not calls
    assert model.target_unit_ is unit is not None
    assert [member.warp_.key() for member in model.members_[:2]] == scales
    assert model.members_[2].warp_.key() in scales
    model.fit(points, Y)  # negative targets have a transform too
    assert model.target_unit_ is unit


@pytest.mark.parametrize("cls", [LABRBFRegressor, LABRBFClassifier])
def test_warm_start_learns_new_dense_members(cls):
    y = Y if cls is LABRBFRegressor else np.digitize(Y, [0.0, 0.5])
    model = cls(**QUICK, warm_start=True).fit(X, y)
    assert dense_members(model)
    model.fit(X[:70], y[:70])
    local = [member for member in model.members_ if member.objective_ != "dense"]
    assert len(local) == 2
    for member in dense_members(model):
        np.testing.assert_array_equal(member.kernel_.centres, X[:70])


@pytest.mark.parametrize("classes", [2, 3])
def test_warm_start_of_a_classifier(classes):
    y = np.digitize(Y, [0.0, 0.5][: classes - 1])
    model = LABRBFClassifier(**QUICK, dense=False, warm_start=True).fit(X, y)
    support, last = model.support_vectors_, [h[-1] for h in model.objective_history_]
    model.fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, support)
    for history, before in zip(model.objective_history_, last, strict=True):
        assert history[-1] < before
    with pytest.raises(ValueError, match=r"expected labels .* with warm_start=True"):
        model.fit(X, y + 1)


@pytest.mark.parametrize(
    ("change", "data", "message"),
    [
        ({}, (X[:, :2], Y), r"expected 3 features and 1 outputs.* got 2 and 1"),
        ({}, (X, np.column_stack([Y, Y])), r"expected 3 features and 1 outputs.* got 3 and 2"),
        ({"n_members": 1}, (X, Y), r"expected n_members >= 2 .* got 1"),
        ({"calibration": 0.2}, (X, Y), r"expected calibration=None .* got 0.2: .* call calibrate"),
    ],
)
def test_incompatible_warm_starts(change, data, message):
    model = warm().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(*data)


@pytest.mark.parametrize(
    ("first", "change", "message"),
    [
        ({}, {"profile": "matern32"}, r"expected profile='gaussian' .* got 'matern32'"),
        ({}, {"algorithm__objective": "ridge"}, r"__objective='mixed' .* got 'ridge'"),
        (
            {"objective": "ridge"},
            {"algorithm__objective": "evidence"},
            r"expected algorithm__objective='ridge' .* got 'evidence'",
        ),
        ({}, {"algorithm__linear": True}, r"expected algorithm__linear='auto' .* got True"),
        (
            {"linear": True},
            {"algorithm__linear": False},
            r"expected algorithm__linear=True with warm_start=True, .* got False",
        ),
    ],
)
@pytest.mark.parametrize("cls", [LABRBFRegressor, LABRBFClassifier])
def test_a_warm_start_refuses_settings_that_contradict_its_members(cls, first, change, message):
    y = Y if cls is LABRBFRegressor else np.digitize(Y, [0.0, 0.5])
    options = {**QUICK, "max_iter": 4, "dense": False, "warm_start": True}
    model = build(cls, **options, **first).fit(X, y)
    before = model.predict(NEW)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(X, y)
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_a_warm_start_with_automatic_settings_keeps_those_of_its_members():
    model = warm(objective="ridge", linear=True, profile="matern32").fit(X, Y)
    model.fit(X, Y).set_params(algorithm="default").fit(X, Y)
    for member in model.members_:
        assert (member.objective_, member.linear_) == ("ridge", True)
        assert member.kernel_.profile == "matern32"
