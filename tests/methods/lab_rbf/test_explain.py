"""Explanations sum to predictions and match a slow twin; relevance and its spread."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.core.threads import blas_limited
from pliant.methods.lab_rbf import dense, trainer
from pliant.methods.lab_rbf.members import LABRBFMember, correlated_pairs
from tests.methods.lab_rbf.building import build
from tests.reference import naive_local

QUICK = {"n_support": 7, "n_members": 3, "max_iter": 5, "random_state": 0}
RNG = np.random.default_rng(0)
X = np.exp(RNG.normal(size=(90, 3)))  # skewed, so that transforms apply
Y = np.sin(X[:, 0]) + 0.3 * np.log(X[:, 1])
NEW = np.exp(RNG.normal(size=(6, 3)))
TARGETS = {
    "one": (LABRBFRegressor, Y),
    "two outputs": (LABRBFRegressor, np.column_stack([Y, 100 * X[:, 2]])),
    "two classes": (LABRBFClassifier, np.where(Y > 0.5, "yes", "no")),
    "three classes": (LABRBFClassifier, np.digitize(Y, [0.3, 0.8])),
}


@cache
def fitted(kind="one", scales=("raw",), metric="gradients", dense_profile="matern32", **options):
    """Fit local members that alternate between given scales, and dense members; all contribute."""
    cls, y = TARGETS[kind]
    model = build(cls, **{**QUICK, **options})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer.Trainer, "choose_scales", lambda *_: list(scales))
        choice = dense.Choice(metric, dense_profile, factor=0.25, alpha=0.01)
        patch.setattr(dense.Search, "best_choices", lambda _: [choice])
        patch.setattr(dense, "best_weight", lambda *_: 0.3)
        model.fit(X, y)
    for member in model.members_[3:]:
        assert (member.mixing is not None) == (metric == "gradients")
    assert len(model.members_) > 3
    weights = 1.0 + np.arange(len(model.members_))
    model.weights_ = weights / weights.sum()
    return model


def to_twin(member, output):
    """Convert one output of a member to the twin's form."""
    warp = member.warp_
    return naive_local.Expansion(
        warp(member.kernel_.centres),
        member.mapped_bandwidths() ** 2,
        member.dual_coef_[:, output],
        member.linear_coef_[:, output],
        member.intercept_[output],
        member.kernel_.profile,
        member.mixing,
    )


class Case(NamedTuple):
    kind: str
    scales: tuple[str, ...]
    profile: str
    metric: str = "gradients"
    dense_profile: str = "matern32"

    def fitted(self, **options):
        return fitted(**self._asdict(), **options)


def outputs(values):
    return values if values.ndim > 1 else values[:, None]


CASES = [
    Case("one", ("raw",), "gaussian"),
    Case("one", ("raw", "log", "asinh"), "matern52", "bandwidths", "gaussian"),
    Case("two outputs", ("log",), "laplacian", "gradients", "laplacian"),
    Case("two classes", ("asinh", "raw"), "gaussian", "bandwidths"),
    Case("three classes", ("raw", "log"), "gaussian"),
]


@pytest.mark.parametrize("case", CASES)
def test_explanation_matches_the_twin(case):
    model = case.fitted()
    assert len({member.warp_.key() for member in model.members_}) == len(case.scales)
    why, weights = model.explain(NEW, n_nearest=4), model.weights_
    sizes = [w * np.abs(m.dual_coef_) for w, m in zip(weights, model.members_, strict=True)]
    rounding = 1e-12 * np.vstack(sizes).sum(axis=0)  # of the terms of each output
    prediction, shares = outputs(why.prediction), why.shares.reshape(6, 3, -1)
    contributions, effects = why.contributions.reshape(6, 4, -1), why.effects.reshape(6, 3, -1)
    for row, output in np.ndindex(prediction.shape):
        expansions = [to_twin(member, output) for member in model.members_]
        points = [member.warp_(NEW[row : row + 1])[0] for member in model.members_]
        pairs = list(zip(expansions, points, strict=True))
        expected = weights @ [naive_local.parts(*pair) for pair in pairs]
        learned = outputs(why.kernel_part), outputs(why.linear_part)
        constant = np.broadcast_to(why.constant, prediction.shape)
        for each, value in zip((*learned, constant), expected, strict=True):
            assert each[row, output] == pytest.approx(value, rel=1e-9, abs=rounding[output])
        terms = [
            (distance, value, weight * term)
            for weight, pair in zip(weights, pairs, strict=True)
            for distance, value, term in naive_local.support_terms(*pair)
        ]
        order = sorted(range(len(terms)), key=lambda i: terms[i][0])[:4]
        near = np.array([terms[i] for i in order])
        # the order of coincident support points is arbitrary
        np.testing.assert_allclose(why.distances[row], near[:, 0], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(why.kernel_values[row], near[:, 1], rtol=1e-6)
        own = [terms[i][2] for i in why.nearest[row]]
        np.testing.assert_allclose(contributions[row, :, output], own, rtol=1e-6, atol=1e-9)
        deviations = [member.deviations_ for member in model.members_]
        slopes = naive_local.effects(expansions, weights, points, deviations)
        size = np.abs(slopes).max()
        np.testing.assert_allclose(effects[row, :, output], slopes, rtol=1e-5, atol=1e-6 * size)
        squares = slopes**2 / (slopes**2).sum()
        np.testing.assert_allclose(shares[row, :, output], squares, rtol=1e-4, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    case=st.sampled_from(CASES),
    factor=st.floats(1e-3, 1e6),
    moved=st.floats(-1e4, 1e4),
    count=st.integers(1, 40),
)
def test_parts_sum_to_the_prediction(case, factor, moved, count):
    model, points = case.fitted(), factor * NEW + moved
    why = model.explain(points, n_nearest=count)
    np.testing.assert_array_equal(why.prediction, why.kernel_part + why.linear_part + why.constant)
    sizes = np.abs(why.kernel_part) + np.abs(why.linear_part) + np.abs(why.constant)
    sizes = sizes + 0.01 * np.abs(model.dual_coef_).sum(axis=0)  # of rounding errors
    if case.kind in ("one", "two outputs"):
        low, high = model.target_low_, model.target_high_
        clipped = outputs(why.prediction).clip(low, high).reshape(why.prediction.shape)
        assert (np.abs(clipped - model.predict(points)) <= 1e-9 * sizes).all()
    else:
        assert (np.abs(why.prediction - model.decision_function(points)) <= 1e-9 * sizes).all()
    sums = why.shares.sum(axis=1)
    assert (np.isclose(sums, 1.0) | (np.abs(why.effects).max(axis=1) == 0)).all()
    assert (np.diff(why.distances, axis=1) >= 0).all()
    assert why.nearest.shape == why.rows.shape == (6, min(count, len(model.support_)))
    np.testing.assert_array_equal(why.rows, model.support_[why.nearest])


def test_clipped_feature_has_no_effect():
    model = fitted("one", ("log",))
    bent = np.flatnonzero(model.members_[0].warp_.kinds)
    assert len(bent)
    for far in (-1e9, 1e9):
        effects = model.explain(np.full((1, 3), far)).effects[0]
        assert (effects[bent] == 0).all()
    # the log transform, and therefore the prediction, is constant below zero
    points = np.array([[-0.1, 1.0, 1.0], [-0.2, 1.0, 1.0]])
    why = model.explain(points)
    assert why.prediction[0] == why.prediction[1]
    assert (why.effects[:, 0] == 0).all()
    assert (why.effects[:, 1:] != 0).any()


# Relevance and its spread


def again(member, X):
    """Return the member with relevances measured on other points."""
    a = np.vstack([member.dual_coef_, member.linear_coef_])
    return LABRBFMember.build(member, (a, member.intercept_), X)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("linear", [False, True])
def test_changes_match_permuted_features(case, linear):
    order = np.random.RandomState(0).permutation(len(X))
    for member in case.fitted(linear=linear).members_:
        measured = again(member, X)
        expected = naive_local.changes(member.expand, X, order)
        assert (expected > 1e-6).all()
        np.testing.assert_allclose(measured.changes_, expected, rtol=1e-9)


@pytest.mark.parametrize(("kind", "profile"), [("one", "matern52"), ("two outputs", "gaussian")])
@pytest.mark.parametrize("k", [0, -1], ids=["local", "dense"])
def test_support_slopes_match_differences_of_the_kernel(kind, profile, k):
    member = fitted(kind, profile=profile).members_[k]
    assert (member.objective_ == "dense") == (k == -1)
    step, measured = 1e-6, []
    for j in range(3):
        move = np.zeros(3)
        move[j] = step / member.warp_.slopes[j]
        high, low = (member.kernel_(at, member.kernel_.centres) for at in (NEW + move, NEW - move))
        measured.append((((high - low) / (2 * step)) ** 2).mean(axis=0))
    expected = np.column_stack(measured) * member.warp_(NEW).var(axis=0)
    size = np.abs(np.vstack([member.dual_coef_, member.linear_coef_])).max(axis=0)
    expected *= ((member.dual_coef_ / size) ** 2).sum(axis=1)[:, None]
    found, scale = again(member, NEW).support_slopes_, expected.max()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9 * scale)


# Correlated features


@blas_limited  # as fits do
def test_correlated_pairs_are_rank_correlations():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 200))
    features = np.column_stack(
        [b, np.exp(3 * a), np.zeros(200), -a, a + 0.1 * rng.normal(size=200)]
    )
    strongest, *others = correlated_pairs(features).tolist()
    assert strongest == [1, 3]
    assert sorted(others) == [[1, 4], [3, 4]]
    assert correlated_pairs(rng.normal(size=(500, 6))).shape == (0, 2)
