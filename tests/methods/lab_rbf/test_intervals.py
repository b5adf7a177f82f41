"""Prediction intervals of LAB-RBF, compared to naive twins, and their coverage by simulation."""

import math
import pickle
from copy import copy
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import r2_score

from pliant import LABRBFRegressor
from pliant.methods import LABRBFErrorModel
from pliant.methods.lab_rbf import constants, intervals
from pliant.methods.lab_rbf.constants import MAX_RATIO, MIN_COMMON_SHARE, MIN_NOISE_SHARE, MIN_PAIRS
from tests.methods.lab_rbf.building import build

QUICK = {"n_support": 8, "n_members": 4, "max_iter": 8, "random_state": 0, "transforms": None}


def table(n=120, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + (0.05 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=n)


X, Y = table()
NEW, NEW_Y = table(400, seed=1)


@cache
def fitted(**options):
    return LABRBFRegressor(**{**QUICK, **options}).fit(X, Y)


# Scaled held-out errors, compared to loops over rows and pairs of members


def naive_errors(target, predicted, after):
    m, n = predicted.shape
    single, common, apart, near, n_single, n_pairs = 0.0, 0.0, 0.0, 0.0, 0, 0
    for i in range(n):
        holders = [k for k in range(m) if not math.isnan(predicted[k, i])]
        for k in holders:
            single += (target[i] - predicted[k, i]) ** 2
            n_single += 1
        for a, b in combinations(holders, 2):
            common += (target[i] - predicted[a, i]) * (target[i] - predicted[b, i])
            apart += (predicted[a, i] - predicted[b, i]) ** 2 / 2
            near += np.var(after[:, i], ddof=1)
            n_pairs += 1
    single /= n_single
    shared, ratio = single, 1.0
    if n_pairs >= MIN_PAIRS:
        shared = min(max(common / n_pairs, MIN_COMMON_SHARE * single), single)
        ratio = min(max(math.sqrt(apart / near), 1.0), MAX_RATIO)
    errors, spreads = [], []
    for i in range(n):
        mine = [target[i] - p for p in predicted[:, i] if not math.isnan(p)]
        expected = [shared + (single - shared) / k for k in (m, len(mine))]
        errors.append(math.sqrt(expected[0] / expected[1]) * sum(mine) / len(mine))
        spreads.append(np.std(after[:, i]))
    size = np.mean(np.square(errors))
    noise = max(size - np.mean((ratio * np.array(spreads)) ** 2), MIN_NOISE_SHARE * size)
    s = np.sqrt(noise + (ratio * np.array(spreads)) ** 2)
    return math.sqrt(noise), ratio, np.sort(np.array(errors) / s), errors


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(3, 40))
@settings(max_examples=40, deadline=None)
def test_scaled_errors_match_the_naive_twin(seed, m, n):
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=(m, n))
    predicted[rng.uniform(size=(m, n)) < 0.5] = np.nan
    predicted[0, np.isnan(predicted).all(axis=0)] = 0.0
    target, after = rng.normal(size=n), rng.normal(scale=0.3, size=(m, n))
    ours = intervals._scaled_errors(target, predicted, after)
    noise, ratio, errors, mean_errors = naive_errors(target, predicted, after)
    np.testing.assert_allclose(ours[3], mean_errors, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours[:2], [noise, ratio], rtol=1e-10)
    np.testing.assert_allclose(np.sort(ours[2]), errors, rtol=1e-10, atol=1e-12)


# Predictions of rows by the members that held them out


def test_one_member_predicts_the_rows_of_its_held_out_score():
    model = fitted(n_members=1, dense=False)
    rows, values = model._held_out
    assert len(rows) == 24
    score = r2_score(Y[rows], values[:, 0])
    np.testing.assert_allclose(score, model.validation_score_[0], rtol=1e-6)


@pytest.mark.parametrize("dense", [True, False])
def test_all_rows_are_held_out_by_ten_members_and_predicted_as_well_as_new_ones(dense):
    X, y = table(300, seed=2)
    model = LABRBFRegressor(**{**QUICK, "n_members": 10}, dense=dense).fit(X, y)
    rows, values = model._held_out
    np.testing.assert_array_equal(rows, np.arange(300))
    held_out, new = np.mean((y - values[:, 0]) ** 2), np.mean((NEW_Y - model.predict(NEW)) ** 2)
    assert 0.75 < held_out / new < 1.35


def test_held_out_predictions_stay_in_the_process_and_end_with_a_refit():
    model = fitted(n_members=2)
    assert model._held_out is not None
    assert pickle.loads(pickle.dumps(model))._held_out is None
    model = copy(model).refit_coefficients(X, Y)
    assert model._held_out is None


# Quantiles


def naive_rank(probability, n):
    """Compute the rank of the conformal quantile in exact arithmetic."""
    from fractions import Fraction

    rank = Fraction(str(probability)) * (n + 1)
    return math.floor(rank) if probability < 0.5 else math.ceil(rank)


@pytest.mark.parametrize("n", [1, 9, 18, 19, 39, 200])
@pytest.mark.parametrize("probability", [0.025, 0.05, 0.1, 0.45, 0.5, 0.9, 0.95, 0.975])
def test_conformal_quantiles_are_order_statistics(n, probability):
    errors = np.arange(1.0, n + 1)[:, None]
    model = LABRBFErrorModel(np.ones(1), np.ones(1), np.zeros(1), errors, None, exact=True)
    rank = naive_rank(probability, n)
    expected = -np.inf if rank < 1 else np.inf if rank > n else float(rank)
    assert model.quantile(probability) == [expected]


def test_weight_of_two_is_two_errors():
    z = np.array([[-1.0], [0.0], [2.0], [5.0]])
    weights = np.array([[1.0], [2.0], [1.0], [3.0]])
    once = LABRBFErrorModel(np.ones(1), np.ones(1), np.zeros(1), z, weights, exact=False)
    often = np.repeat(z[:, 0], weights[:, 0].astype(int))
    for probability in (0.05, 0.2, 0.5, 0.77, 0.99):
        expected = np.quantile(often, probability, method="inverted_cdf")
        assert once.quantile(probability) == [expected]


# Coverage


def test_coverage_of_default_intervals():
    X, y = table(600, seed=2)
    model = LABRBFRegressor(**{**QUICK, "n_support": 20}).fit(X, y)
    new, target = table(4000, seed=3)
    for coverage in (0.5, 0.8, 0.9, 0.95):
        low, high = model.predict_interval(new, coverage).T
        inside = np.mean((low <= target) & (target <= high))
        assert inside == pytest.approx(coverage, abs=0.06)
        assert 1 - inside > (1 - coverage) / 3  # as 0.95 + 0.06 > 1
    predicted, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean(std**2)) == pytest.approx(np.std(target - predicted), rel=0.15)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_coverage_of_calibrated_intervals(coverage):
    """The guarantee holds on average over calibration samples and new points."""
    model = LABRBFRegressor(**QUICK).fit(X, Y)
    points, targets = table(6000, seed=4)
    draws, n = 1500, 25
    rng = np.random.default_rng(5)
    inside = 0
    errors = model.error_model_
    mean, spread = model._mean_and_spread(points, errors.unit)
    for draw in range(draws):
        rows = rng.choice(len(points), n + 1, replace=False)
        calibrated = errors.calibrated((targets[rows[:n], None] - mean[rows[:n]]), spread[rows[:n]])
        s = calibrated.scale(spread[rows[n:]])[0]
        low, high = (calibrated.quantile((1 + sign * coverage) / 2) for sign in (-1, 1))
        inside += bool(low <= (targets[rows[n]] - mean[rows[n]]) / s <= high)
        if draw < 3:  # the model has the same intervals
            model.calibrate(points[rows[:n]], targets[rows[:n]])
            found = model.predict_interval(points[rows[n:]], coverage)
            expected = [[(mean[rows[n]] + s * end).item() for end in (low, high)]]
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    error = math.sqrt(coverage * (1 - coverage) / draws)
    assert inside / draws >= coverage - 3 * error
    assert inside / draws <= coverage + 2 / (n + 1) + 3 * error  # not too wide


def test_predictions_are_clipped_to_the_training_range_and_quantiles_are_not():
    model = copy(fitted())
    targets = np.full(50, Y.max() + 1.0)  # errors of the calibration samples are positive
    low, high = model.calibrate(NEW[:50], targets).predict_interval(NEW, 0.9).T
    median, predicted = model.predict_quantile(NEW), model.predict(NEW)
    assert predicted.max() <= Y.max()
    assert median.max() > Y.max()
    assert (predicted < low).any()
    assert (low <= median).all()
    assert (median <= high).all()


def test_too_few_calibration_samples_give_infinite_endpoints():
    model = LABRBFRegressor(**QUICK).fit(X, Y)
    assert np.isinf(model.calibrate(NEW[:18], NEW_Y[:18]).predict_interval(NEW, 0.9)).all()
    assert np.isfinite(model.calibrate(NEW[:19], NEW_Y[:19]).predict_interval(NEW, 0.9)).all()


def test_calibration_samples_are_used_only_for_intervals():
    """Targets of the calibration samples affect only the intervals."""
    whole = LABRBFRegressor(**QUICK, calibration=0.25).fit(X, Y)
    reserved = np.sort(np.random.RandomState(0).permutation(len(X))[: len(X) // 4])
    assert not np.isin(whole.support_, np.arange(len(X))[reserved]).any()
    changed = Y.copy()
    changed[reserved] += 3.0
    other = LABRBFRegressor(**QUICK, calibration=0.25).fit(X, changed)
    np.testing.assert_array_equal(whole.predict(NEW), other.predict(NEW))
    assert (other.predict_interval(NEW) > whole.predict_interval(NEW) + 2.0).all()
    rest = np.setdiff1d(np.arange(len(X)), reserved)
    alone = LABRBFRegressor(**QUICK).fit(X[rest], Y[rest])
    np.testing.assert_array_equal(alone.predict(NEW), whole.predict(NEW))
    alone.calibrate(X[reserved], Y[reserved])
    np.testing.assert_array_equal(alone.predict_interval(NEW), whole.predict_interval(NEW))


def test_calibration_counts_each_row_once_whatever_its_weight():
    weights = np.random.default_rng(6).uniform(0.5, 2.0, size=len(X))
    whole = LABRBFRegressor(**QUICK, calibration=0.25).fit(X, Y, weights)
    reserved = np.sort(np.random.RandomState(0).permutation(len(X))[: len(X) // 4])
    weights[reserved[::2]] *= 5.0
    other = LABRBFRegressor(**QUICK, calibration=0.25).fit(X, Y, weights)
    np.testing.assert_array_equal(whole.predict_interval(NEW), other.predict_interval(NEW))


def test_calibration_without_held_out_samples():
    settings = {**QUICK, "validation_fraction": 0, "alpha": 0.01, "shrinkage": 0.01}
    model = build(LABRBFRegressor, **settings).fit(X, Y)
    with pytest.raises(ValueError, match=r"validation_fraction=0 and no calibration samples"):
        model.predict_interval(NEW)
    with pytest.raises(ValueError, match=r"expected held-out or calibration samples"):
        model.predict(NEW, return_std=True)
    low, high = model.calibrate(NEW[:200], NEW_Y[:200]).predict_interval(NEW[200:], 0.9).T
    assert np.mean((low <= NEW_Y[200:]) & (NEW_Y[200:] <= high)) == pytest.approx(0.9, abs=0.08)
    np.testing.assert_allclose(high - low, (high - low)[0])  # the spread does not vary


def test_two_samples_are_too_few_to_reserve_one():
    with pytest.raises(ValueError, match=r"calibration=None for fewer than 3 samples, got 0\.5"):
        LABRBFRegressor(**QUICK, calibration=0.5).fit(X[:2], Y[:2])


# Several outputs, skewed targets, weights, files


def test_intervals_of_several_outputs():
    both = LABRBFRegressor(**QUICK).fit(X, np.column_stack([Y, 100.0 * Y[::-1]]))
    assert both.predict_interval(NEW).shape == (400, 2, 2)
    assert both.predict_quantile(NEW).shape == (400, 2)
    assert both.predict_quantile(NEW, [0.2, 0.4, 0.6]).shape == (400, 2, 3)
    predicted, std = both.predict(NEW, return_std=True)
    assert predicted.shape == std.shape == (400, 2)
    assert (std[:, 1] > 10 * std[:, 0]).all()
    both.calibrate(NEW[:60], np.column_stack([NEW_Y, NEW_Y])[:60])
    assert both.predict_interval(NEW).shape == (400, 2, 2)


def test_intervals_of_a_skewed_target(monkeypatch):
    monkeypatch.setattr(constants, "MAX_ASINH_LOSS", np.inf)
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(150, 3))
    y = np.exp(1.5 * Z[:, 0] + 0.7 * Z[:, 1] + 0.3 * rng.normal(size=150))
    model = LABRBFRegressor(**{**QUICK, "transforms": "auto"}).fit(Z, y)
    assert model.target_unit_ == np.median(y)
    low, high = model.predict_interval(Z, 0.9).T
    assert np.mean((low <= y) & (y <= high)) > 0.8
    predicted, std = model.predict(Z, return_std=True)
    assert np.corrcoef(predicted, std)[0, 1] > 0.5  # errors are proportional to y
    assert np.isfinite(
        model.calibrate(Z[:60], np.r_[-1.0, y[1:60]]).predict_interval(Z)[:, 1]
    ).all()


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_intervals_scale_with_the_target(unit):
    low, high = fitted().predict_interval(NEW).T
    other = LABRBFRegressor(**QUICK).fit(X, unit * Y)
    np.testing.assert_allclose(other.predict_interval(NEW) / unit, np.c_[low, high], rtol=1e-6)
    _, std = other.predict(NEW, return_std=True)
    _, expected = fitted().predict(NEW, return_std=True)
    np.testing.assert_allclose(std / unit, expected, rtol=1e-6)


def test_refit_deletes_only_a_calibration():
    model = LABRBFRegressor(**QUICK).fit(X, Y).refit_coefficients(X, Y)
    assert np.isfinite(model.predict_interval(NEW)).all()
    model.calibrate(NEW[:50], NEW_Y[:50]).refit_coefficients(X, Y)
    with pytest.raises(ValueError, match="again after refit_coefficients"):
        model.predict_interval(NEW)
    assert np.isfinite(model.calibrate(NEW[:50], NEW_Y[:50]).predict_interval(NEW)).all()


# Invalid arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict_interval(NEW, 90), r"expected coverage < 1, got 90"),
        (lambda m: m.predict_quantile(NEW, [0.5, 1.0]), r"expected q in \(0, 1\).*1\.0"),
        (lambda m: m.predict_quantile(NEW, np.nan), r"expected q in \(0, 1\).*nan"),
        (lambda m: m.predict_quantile(NEW, []), r"expected q in \(0, 1\).*\[\]"),
        (lambda m: m.predict_quantile(NEW, [0.5, 10**400]), r"expected q in \(0, 1\).*1000"),
        (lambda m: m.predict_quantile(NEW, "0.x"), r"expected q in \(0, 1\).*0\.x"),
        (lambda m: m.calibrate(NEW, np.column_stack([NEW_Y] * 2)), r"expected y with 1 outputs"),
        (lambda m: m.calibrate(NEW, np.full(400, np.nan)), r"NaN"),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted())
