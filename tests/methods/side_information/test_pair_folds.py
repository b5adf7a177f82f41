"""Pairs under cross-validation, their scores, and triplets."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from pliant import (
    KernelEmbedding,
    LogDetLearner,
    OrderSpectralLearner,
    PairKFold,
    SCGLogDetLearner,
    SideInformation,
)
from pliant.kernels import Gaussian, Linear
from pliant.metrics import (
    cross_validate_pairs,
    pair_distances,
    pair_score,
    pair_threshold,
    triplet_score,
)

seeds = st.integers(0, 10**6)
X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]


def pairs_of(seed=0, count=120):
    pairs, signs = SideInformation.from_labels(Y).sample_pairs(count, np.random.RandomState(seed))
    return SideInformation.from_pairs(len(Y), pairs[signs > 0], pairs[signs < 0])


def triplets_of(seed=0, count=200):
    rng, found = np.random.RandomState(seed), []
    while len(found) < count:
        a, b, c = rng.randint(len(Y), size=3)
        if a != b and Y[a] == Y[b] != Y[c]:
            found.append((a, b, c))
    return np.array(found)


def signed(pairs, signs):
    return {(*sorted(pair), sign) for pair, sign in zip(pairs.tolist(), signs, strict=True)}


# the splitter


@given(seed=seeds, n_splits=st.integers(2, 6), divide=st.sampled_from(["points", "pairs"]))
@settings(max_examples=25, deadline=None)
def test_every_pair_is_on_one_side_of_each_fold(seed, n_splits, divide):
    information = pairs_of(seed, 60)
    every, tested = signed(information.pairs, information.signs), []
    for fold in PairKFold(n_splits, divide, random_state=seed).split(information):
        inside = signed(fold.train[fold.similar], [1.0] * len(fold.similar))
        inside |= signed(fold.train[fold.dissimilar], [-1.0] * len(fold.dissimilar))
        held = signed(fold.test_pairs, fold.test_signs)
        assert inside | held == every
        assert not inside & held
        tested.append(held)
        if divide == "points":
            assert not np.isin(fold.test_pairs, fold.train).all(axis=1).any()
            out = np.setdiff1d(np.arange(len(Y)), fold.train)
            assert np.isin(out, information.known).all()
        else:
            np.testing.assert_array_equal(fold.train, np.arange(len(Y)))
    assert set.union(*tested) == every
    if divide == "pairs":
        assert sum(map(len, tested)) == len(every)


def test_pairs_are_divided_in_proportion_and_by_the_seed():
    information = pairs_of()
    first, again, other = (
        [fold.test_pairs.tolist() for fold in PairKFold(4, "pairs", seed).split(information)]
        for seed in (0, 0, 1)
    )
    assert first == again != other
    for fold in PairKFold(4, "pairs", 0).split(information):
        assert abs((fold.test_signs > 0).sum() - (information.signs > 0).sum() / 4) < 1
    assert PairKFold(4).get_n_splits() == 4


@pytest.mark.parametrize(
    ("splitter", "information", "message"),
    [
        (PairKFold(1), pairs_of(), "expected n_splits >= 2, an integer, got 1"),
        (PairKFold(divide="rows"), pairs_of(), "expected divide in ['pairs', 'points']"),
        (PairKFold(), SideInformation.from_labels(Y), "expected pairs or triplets, got labels"),
        (
            PairKFold(5, "pairs"),
            SideInformation.from_pairs(9, [(0, 1)], [(2, 3)]),
            "expected n_splits <= 2, the number of pairs, got 5",
        ),
        (
            PairKFold(2, random_state=0),
            SideInformation.from_pairs(9, [(0, 1)]),
            "expected pairs in the training part and in fold 1 of 2, got 1 held-out pairs of 1",
        ),
        (PairKFold(), "pairs", "expected a SideInformation, got str"),
    ],
)
def test_bad_divisions_are_refused(splitter, information, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        list(splitter.split(information))


# distances and scores


def test_distances_are_those_of_the_kernel_or_of_the_coordinates():
    pairs = pairs_of().pairs
    i, j = pairs.T
    euclidean = np.linalg.norm(X[i] - X[j], axis=1)
    np.testing.assert_allclose(pair_distances(Linear(), X, pairs), euclidean, atol=1e-7)
    np.testing.assert_allclose(pair_distances(Linear(), X, pairs[:, ::-1]), euclidean, atol=1e-7)
    learner = SCGLogDetLearner(strength=10.0).fit(X, Y)
    K = learner.kernel_(X)
    squares = K.diagonal()[i] + K.diagonal()[j] - 2 * K[i, j]
    np.testing.assert_allclose(pair_distances(learner, X, pairs) ** 2, squares, atol=1e-12)
    for model in (
        KernelEmbedding(learner).fit(X, Y),
        clone(learner).set_params(n_components=2).fit(X, Y),
        StandardScaler().fit(X),
    ):
        Z = model.transform(X)
        expected = np.linalg.norm(Z[i] - Z[j], axis=1)
        np.testing.assert_allclose(pair_distances(model, X, pairs), expected, atol=1e-14)


@given(
    seed=seeds, n=st.integers(2, 30), criterion=st.sampled_from(["accuracy", "balanced_accuracy"])
)
@settings(max_examples=20, deadline=None)
def test_no_threshold_is_better_than_the_calibrated_one(seed, n, criterion):
    rng = np.random.default_rng(seed)
    d = rng.integers(0, 8, n).astype(float)  # with ties
    s = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    s[:2] = 1.0, -1.0
    best = pair_threshold(d, s, criterion=criterion)
    scores = [getattr(pair_score(d, s, t), criterion) for t in (-np.inf, *(np.unique(d) + 0.5))]
    assert getattr(pair_score(d, s, best), criterion) == pytest.approx(max(scores), abs=1e-12)
    score = pair_score(d, s, best)
    assert score.auc == pytest.approx(roc_auc_score(s, -d))
    predicted = np.where(d <= best, 1.0, -1.0)
    assert score.balanced_accuracy == pytest.approx(balanced_accuracy_score(s, predicted))


def test_one_kind_of_pairs_has_an_accuracy_only():
    score = pair_score([1.0, 2.0], [1, 1], 1.5)
    assert score.accuracy == 0.5
    assert np.isnan(score.balanced_accuracy)
    assert np.isnan(score.auc)


@pytest.mark.parametrize("divide", ["points", "pairs"])
def test_a_learner_is_scored_on_pairs_that_it_has_not_seen(divide):
    learner = LogDetLearner(max_iter=50, random_state=0)
    cv = PairKFold(3, divide, random_state=0)
    scores = cross_validate_pairs(learner, X, pairs_of(), cv=cv)
    assert set(scores) == {"threshold", "n_pairs", "accuracy", "balanced_accuracy", "auc"}
    assert scores["auc"].shape == (3,)
    assert scores["auc"].mean() > 0.9
    assert scores["accuracy"].mean() > 0.8
    assert not hasattr(learner, "kernel_")


def test_held_out_pairs_have_no_say():
    """With the signs of held-out pairs turned, what is learned and the threshold stay."""
    information = pairs_of()
    fold = next(iter(PairKFold(3, random_state=0).split(information)))
    turned = signed(fold.test_pairs, -fold.test_signs)
    kept = signed(fold.train[fold.similar], [1.0] * len(fold.similar))
    kept |= signed(fold.train[fold.dissimilar], [-1.0] * len(fold.dissimilar))
    parts = [[(i, j) for i, j, sign in turned | kept if sign == s] for s in (1.0, -1.0)]
    other = SideInformation.from_pairs(len(Y), *parts)
    learner = SCGLogDetLearner(strength=10.0)
    first, second = (
        cross_validate_pairs(learner, X, each, cv=PairKFold(3, random_state=0))
        for each in (information, other)
    )
    assert first["threshold"][0] == second["threshold"][0]
    assert first["auc"][0] == pytest.approx(1.0 - second["auc"][0])


# triplets


def test_triplets_are_votes_on_pairs():
    triplets = [(0, 1, 2), (0, 1, 3), (1, 2, 0), (3, 2, 0), (2, 0, 3)]
    information = SideInformation.from_triplets(4, triplets)
    # (0, 1): 2 for, 1 against; (0, 2): 1, 1; (0, 3): 0, 2; (1, 2): 1, 0; (2, 3): 1, 1
    assert signed(information.pairs, information.signs) == {(0, 1, 1), (0, 3, -1), (1, 2, 1)}


@pytest.mark.parametrize(
    "learner",
    [
        SCGLogDetLearner(strength=10.0),
        LogDetLearner(max_iter=20, tol=0.1, random_state=0),
        OrderSpectralLearner(n_components=20),
        KernelEmbedding(SCGLogDetLearner(strength=10.0)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_learners_take_triplets_as_the_pairs_that_they_vote_for(learner):
    triplets = triplets_of()
    information = SideInformation.from_triplets(len(Y), triplets)
    parts = [information.pairs[information.signs == sign] for sign in (1.0, -1.0)]
    own = clone(learner).fit(X, triplets=triplets)
    by_pairs = clone(learner).fit(X, similar=parts[0], dissimilar=parts[1])
    np.testing.assert_array_equal(own.transform(X), by_pairs.transform(X))
    assert triplet_score(own, X, triplets) > 0.5


def test_the_score_of_triplets():
    assert triplet_score(Gaussian(0.5), X, triplets_of()) > 0.85
    assert triplet_score(Linear(), [[0.0], [1.0], [-1.0]], [(0, 1, 2)]) == 0.5
    learner = LogDetLearner(random_state=0, tol=0.1).fit(X, triplets=triplets_of(0))
    fresh = triplets_of(1)
    assert triplet_score(learner, X, fresh) > triplet_score(Gaussian(0.5), X, fresh)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"y": Y, "triplets": [(0, 1, 2)]}, "expected either y or triplets"),
        ({"similar": [(0, 1)], "triplets": [(0, 1, 2)]}, "expected either pairs or triplets"),
        ({"triplets": [(0, 0, 1)]}, "expected three points in a triplet, got triplets[0] = (0, 0"),
        ({"triplets": [(0, 1)]}, "expected triplets of shape (n_triplets, 3), got (1, 2)"),
        ({"triplets": [(0, 1, 99)]}, "expected row indices from 0 to 49"),
        ({"triplets": [(0.0, 1.0, 2.0)]}, "expected triplets to hold integer row indices"),
        ({"triplets": []}, "expected some triplets, got none"),
        ({"triplets": [(0, 1, 2), (0, 2, 1)]}, "expected triplets with a majority for some pair"),
    ],
)
@pytest.mark.parametrize("learner", [SCGLogDetLearner(), KernelEmbedding()], ids=["scg", "map"])
def test_bad_triplets_are_refused(learner, known, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        learner.fit(X, **known)


SCG = SCGLogDetLearner(strength=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pair_distances(Linear(), X, [(0, 50)]), "expected row indices from 0 to 49"),
        (lambda: pair_distances(Linear(), X, [(3, 3)]), "expected two points in a pair"),
        (lambda: pair_distances("k", X, [(0, 1)]), "expected a kernel or a fitted transformer"),
        (lambda: pair_distances(SCG, X, [(0, 1)]), "not fitted"),
        (
            lambda: pair_distances(
                SCGLogDetLearner("precomputed", strength=1.0).fit(X @ X.T, Y), X @ X.T, [(0, 1)]
            ),
            "expected a learner of points",
        ),
        (lambda: pair_threshold([1.0, 2.0], [1, 1]), "expected similar and dissimilar pairs, got"),
        (lambda: pair_threshold([1.0], [1, -1]), "expected signs of shape (1,), got (2,)"),
        (lambda: pair_threshold([1.0, 2.0], [1, 0]), "expected signs of +1 and -1, got 0 at 1"),
        (lambda: pair_threshold([1, 2], [1, -1], criterion="f1"), "expected criterion in"),
        (lambda: pair_score([], [], 1.0), "expected some pairs, got none"),
        (lambda: pair_score([1.0], [1], np.nan), "expected threshold to be a number, got nan"),
        (lambda: triplet_score(Linear(), X, []), "expected some triplets, got none"),
        (lambda: cross_validate_pairs(SCG, X[:9], pairs_of()), "expected X with 50 rows"),
        (
            lambda: cross_validate_pairs(SCG, X, pairs_of(), calibration=1.0),
            "expected calibration < 1, got 1",
        ),
        (
            lambda: cross_validate_pairs(
                SCG, X, SideInformation.from_pairs(50, [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]),
                cv=PairKFold(2, "pairs", 0),
            ),
            "expected similar and dissimilar pairs to calibrate a threshold on",
        ),
    ],
)  # fmt: skip
def test_bad_input_of_scores_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        call()
