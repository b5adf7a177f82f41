"""Logistic regression on many classes, compared with the solver for few and with its optimum."""

import numpy as np
import pytest

from pliant.methods.lab_rbf import logistic
from pliant.methods.lab_rbf.logistic import (
    PenalisedLogLoss,
    WhitenedLogLoss,
    best_penalty,
    held_out_scores,
    logistic_path,
)
from pliant.methods.lab_rbf.table import Table


def problem(n=60, p=9, q=12, seed=0):
    """Return features, indicators of q classes, and weights."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(q), rng.integers(0, q, n - q)])
    centres = rng.normal(size=(q, p))
    F = centres[labels] + 0.7 * rng.normal(size=(n, p))
    return F, np.eye(q)[labels], rng.uniform(0.5, 2.0, n)


def values(F, indicators, weights, penalties, path):
    """Return the objective of each pair of W and b."""
    A = np.hstack([F, np.ones((len(F), 1))])
    found = []
    for penalty, (W, b) in zip(penalties, path, strict=True):
        ridge = np.full((A.shape[1], 1), penalty)
        ridge[-1] = logistic.INTERCEPT_PENALTY * weights.sum()
        loss = PenalisedLogLoss(A, indicators, weights, ridge)
        found.append(loss.evaluate(np.vstack([W, b])).value)
    return np.array(found)


@pytest.mark.parametrize("p", [9, 80])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("penalties", [[10.0, 1.0, 0.1], [0.3]])
def test_many_classes_reach_the_optimum_of_few(p, weighted, penalties, monkeypatch):
    F, indicators, weights = problem(p=p)
    given = weights if weighted else None
    weights = weights if weighted else np.ones(len(F))
    penalties = np.array(penalties)
    monkeypatch.setattr(logistic, "MAX_NEWTON", 10**9)
    exact = values(
        F, indicators, weights, penalties, logistic_path(F, indicators, given, penalties)
    )
    monkeypatch.setattr(logistic, "MANY_COEFFICIENTS", 0)
    path = logistic_path(F, indicators, given, penalties)
    assert len(path) == len(penalties)
    ours = values(F, indicators, weights, penalties, path)
    np.testing.assert_allclose(ours, exact, rtol=2e-2)
    assert (ours[0] - exact[0]) / exact[0] < 2e-3


def test_a_path_of_many_classes_ends_after_the_time_limit(monkeypatch):
    """Smaller penalties get the coefficients of the last one; a single penalty is solved."""
    monkeypatch.setattr(logistic, "MANY_COEFFICIENTS", 0)
    F, indicators, weights = problem()
    whole = logistic_path(F, indicators, weights, np.array([10.0, 1.0, 0.1]))
    short = logistic_path(F, indicators, weights, np.array([10.0, 1.0, 0.1]), lambda: True)
    assert len(short) == 3
    assert short[0] is short[1] is short[2]
    np.testing.assert_array_equal(short[0][0], whole[0][0])
    for is_over in (None, lambda: True):
        ((W, b),) = logistic_path(F, indicators, weights, np.array([0.3]), is_over)
        found = values(F, indicators, weights, [0.3], [(W, b)])
        start = values(F, indicators, weights, [0.3], [(0 * W, 0 * b)])
        assert found < 0.5 * start


def test_more_classes_take_fewer_steps(monkeypatch):
    monkeypatch.setattr(logistic, "MANY_COEFFICIENTS", 0)
    F, indicators, weights = problem()
    steps, minimise = [], WhitenedLogLoss.minimise
    monkeypatch.setattr(
        WhitenedLogLoss, "minimise", lambda *given: steps.append(given[-1]) or minimise(*given)
    )
    for limit in (12, 11):  # of twelve classes
        monkeypatch.setattr(logistic.constants, "MANY_CLASSES", limit)
        logistic_path(F, indicators, weights, np.array([0.3]))
    assert steps == [logistic.PATH_STEPS] * 3 + [logistic.FEW_PATH_STEPS] * 3


def test_the_whitened_objective_is_the_objective():
    F, indicators, weights = problem()
    ridge = np.full(9, 0.7)
    share = 11 / 144
    R = np.linalg.cholesky((F * weights[:, None]).T @ F * share + np.diag(ridge))
    loss = WhitenedLogLoss(np.linalg.solve(R, F.T).T, indicators, weights, share)
    W = np.random.default_rng(1).normal(size=(9, 12))
    plain = PenalisedLogLoss(F, indicators, weights, ridge[:, None])
    value, gradient = loss.evaluate(R.T @ W)
    point = plain.evaluate(W)
    assert value == pytest.approx(point.value, rel=1e-6)
    np.testing.assert_allclose(R @ gradient, point.gradient, atol=1e-5)
    for seed in range(5):  # central differences along random directions
        step = 1e-5 * np.random.default_rng(seed).normal(size=W.shape)
        rise = plain.evaluate(W + step).value - plain.evaluate(W - step).value
        assert rise / 2.0 == pytest.approx(float((point.gradient * step).sum()), rel=1e-5)


# Held-out rows


def held_out_problem():
    """Return features and a table of training rows, and of held-out rows."""
    F, indicators, weights = problem(n=140, p=5, q=3)
    tables = []
    for rows in (slice(0, 90), slice(90, 140)):
        signs = 2.0 * indicators[rows] - 1.0
        tables.append((F[rows], Table(signs, signs, np.arange(len(signs)), weights[rows])))
    return [each for pair in tables for each in pair]


def log_losses(scores, held_out):
    """Return the weighted log loss of held-out rows for each penalty."""
    shifted = scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))
    own = (shifted * (held_out.Y > 0)).sum(axis=2)
    return -np.average(own, axis=1, weights=held_out.weights)


@pytest.mark.parametrize("rise", [1.0, 1.05, np.inf])
def test_a_path_ends_where_the_held_out_loss_has_risen(rise, monkeypatch):
    F, rows, G, held_out = held_out_problem()
    penalties = 10.0 ** np.arange(2, -5, -1)
    monkeypatch.setattr(logistic, "HELD_OUT_RISE", rise)
    scores = held_out_scores(F, rows, penalties, G, held_out, lambda: False)
    path = logistic_path(F, rows.Y > 0, rows.weights, penalties)
    whole = np.stack([G @ W + b for W, b in path])
    losses = log_losses(whole, held_out)
    risen = np.append(losses > rise * np.minimum.accumulate(losses), True)
    last = min(int(risen.argmax()), len(penalties) - 1)
    assert (last < len(penalties) - 1) == (rise < 2.0)
    np.testing.assert_array_equal(scores[: last + 1], whole[: last + 1])
    assert np.isnan(scores[last + 1 :]).all()


def test_a_path_of_held_out_scores_ends_after_the_time_limit():
    F, rows, G, held_out = held_out_problem()
    answers = iter([False, True])  # asked before each penalty but the first
    penalties = 10.0 ** np.arange(2, -5, -1)
    short = held_out_scores(F, rows, penalties, G, held_out, lambda: next(answers))
    whole = held_out_scores(F, rows, penalties, G, held_out, lambda: False)
    np.testing.assert_array_equal(short[:2], whole[:2])
    assert np.isnan(short[2:]).all()


@pytest.mark.parametrize("exponent", [-0.4, 0.0, 0.7, 1.3])
def test_the_best_penalty_is_the_minimum_of_a_parabola_in_its_logarithm(exponent):
    penalties = 10.0 ** np.arange(2, -4, -1)
    losses = 0.3 + 0.05 * (np.log10(penalties) - exponent) ** 2
    assert best_penalty(penalties, losses) == pytest.approx(10.0**exponent, rel=1e-9)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([1.0, 2.0, 3.0], 10.0),  # at an end
        ([3.0, 2.0, 1.0], 0.1),
        ([2.0, 1.0, np.nan], 1.0),  # beside an untried penalty
        ([1.0, 1.0, 1.0], 10.0),
        ([1.0], 10.0),
    ],
)
def test_the_best_penalty_is_a_tried_one_without_two_neighbours(losses, expected):
    penalties = 10.0 ** (1.0 - np.arange(len(losses)))
    assert best_penalty(penalties, np.array(losses)) == expected
