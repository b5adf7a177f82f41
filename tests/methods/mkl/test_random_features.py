"""Random Fourier features chosen by alignment, against loops, a conic solver and the kernels."""

import re

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from pliant import AlignedRandomFeatures
from pliant.kernels import Gaussian, Laplacian
from pliant.methods.mkl import random_features
from pliant.methods.mkl.random_features import weights_in_ball, weights_of_largest
from pliant.metrics import kernel_alignment
from tests.reference import conic
from tests.reference import naive_features as naive

RNG = np.random.default_rng
seeds = st.integers(0, 10**6)


def data(seed=0, n=60, d=4):
    r = RNG(seed)
    X = r.standard_normal((n, d))
    return X, np.where(np.abs(X[:, 0]) + 0.2 * r.standard_normal(n) > 0.7, "in", "out")


def targets(n):
    r = RNG(1)
    return {
        "two": r.integers(0, 2, n),
        "three": np.array(["a", "b", "c"])[r.integers(0, 3, n)],
        "real": 5.0 + r.standard_normal(n),
    }


# the scores and the weights


@pytest.mark.parametrize("kind", ["two", "three", "real"])
def test_scores_and_weights_are_those_of_loops(kind):
    X, y = data(n=30)[0], targets(30)[kind]
    features = AlignedRandomFeatures(20, rho=2.5, n_candidates=40, random_state=3).fit(X, y)
    everything = AlignedRandomFeatures(40, rho=0.0, n_candidates=40, random_state=3).fit(X, y)
    W, b = everything.frequencies_, everything.offsets_  # all candidates, in the order drawn
    s = naive.scores(X - X.mean(axis=0), y, W, b)
    np.testing.assert_allclose(features.scores_ / features.scores_.sum(), s / s.sum(), atol=1e-7)
    q = naive.weights(s / s.max(), 2.5)
    kept = np.argsort(-q)[: (q > 1e-12).sum()][:20]
    np.testing.assert_allclose(features.weights_, q[kept] / q[kept].sum(), atol=1e-5)
    np.testing.assert_array_equal(features.frequencies_, W[:, kept])
    np.testing.assert_array_equal(features.offsets_, b[kept])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rho", [0.05, 0.5, 2.0, 8.0])
def test_the_weights_in_the_ball_are_those_of_a_conic_solver(seed, rho):
    s = RNG(seed).exponential(size=25)
    q = weights_in_ball(s, rho)
    x = cp.Variable(25, nonneg=True)
    ball = cp.sum_squares(x - 1 / 25) * 25 <= rho
    problem = cp.Problem(cp.Maximize(s @ x), [cp.sum(x) == 1, ball])
    conic.solve(problem, (1e-10, 1e-9, 1e-8))
    assert s @ q == pytest.approx(problem.value, rel=1e-7)
    np.testing.assert_allclose(q, x.value, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5, 7.0]), min_size=1, max_size=12),
    st.floats(0.0, 20.0),
    st.floats(1e-6, 1e6),
)
def test_weights_with_ties(values, rho, scale):
    s = np.array(values)
    q = weights_in_ball(s, rho)
    assert (q >= 0).all()
    assert q.sum() == pytest.approx(1.0, rel=1e-12)
    assert s.size * (q @ q) - 1.0 <= rho + 1e-9
    assert (np.diff(q[np.argsort(s, kind="stable")]) >= -1e-12).all()
    assert s @ q >= s @ naive.weights(s, rho) - 1e-6 * s.max()
    np.testing.assert_allclose(weights_in_ball(3.0 + scale * s, rho), q, atol=1e-6)


@settings(max_examples=100, deadline=None)
@given(seeds, st.integers(1, 30))
def test_weights_of_the_largest_are_in_the_smallest_ball(seed, count):
    s = RNG(seed).exponential(size=30)
    q = weights_of_largest(s, count)
    assert (q > 0).sum() == count
    rho = 30 * (q @ q) - 1.0
    np.testing.assert_allclose(weights_in_ball(s, max(0.0, rho)), q, atol=1e-7)
    if 1 < count < 30:
        assert (weights_in_ball(s, 0.99 * rho) > 0).sum() > count


def test_weights_of_equal_scores():
    assert weights_of_largest(np.array([1.0, 2.0, 2.0]), 1).tolist() == [0.0, 1.0, 0.0]
    assert weights_of_largest(np.array([1.0, 2.0, 2.0]), 2).tolist() == [0.0, 0.5, 0.5]
    assert weights_of_largest(np.ones(4), 2).tolist() == [0.5, 0.5, 0.0, 0.0]
    assert weights_in_ball(np.ones(4), 2.0).tolist() == [0.25] * 4
    assert weights_in_ball(np.array([0.0, 1.0, 1.0]), 100.0).tolist() == [0.0, 0.5, 0.5]


# the kernel


@pytest.mark.parametrize(("kernel", "given"), [("gaussian", Gaussian), ("laplacian", Laplacian)])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_without_a_radius_the_kernel_is_approximated(kernel, given, shift):
    X, y = data(n=40)
    features = AlignedRandomFeatures(
        20_000, rho=0.0, n_candidates=20_000, gamma=0.3, kernel=kernel, random_state=0
    ).fit(X + shift, y)
    Z = features.transform(X + shift)
    np.testing.assert_allclose(Z @ Z.T, given(0.3)(X), atol=0.04)
    assert features.rho_ == pytest.approx(0.0, abs=1e-9)


def test_bandwidths_are_those_of_kernels_by_name():
    X, y = data()
    for gamma, number in [("scale", 1 / (4 * X.var())), ("auto", 0.25), (3.0, 3.0)]:
        features = AlignedRandomFeatures(5, gamma=gamma, random_state=0).fit(X, y)
        assert features.gamma_ == pytest.approx(number, rel=1e-12)
    assert AlignedRandomFeatures(5, random_state=0).fit(np.ones((4, 2)), [0, 1, 0, 1]).gamma_ == 1.0


def test_the_learned_kernel_is_better_aligned_on_new_points():
    for seed in range(5):
        X, y = data(seed, n=600, d=8)
        plain, aligned = (
            AlignedRandomFeatures(50, rho=rho, random_state=seed).fit(X[:300], y[:300])
            for rho in (0.0, "auto")
        )
        before, after = (
            kernel_alignment(Z @ Z.T, y[300:], centered=True)
            for Z in (plain.transform(X[300:]), aligned.transform(X[300:]))
        )
        assert after > 1.5 * before


def test_aligned_features_classify_better_than_as_many_plain_ones():
    errors = []
    for rho in (0.0, "auto"):
        scores = []
        for seed in range(5):
            X, y = data(seed, n=1500, d=10)
            features = AlignedRandomFeatures(50, rho=rho, random_state=seed)
            model = make_pipeline(features, RidgeClassifier(1e-3)).fit(X[:1000], y[:1000])
            scores.append(1 - model.score(X[1000:], y[1000:]))
        errors.append(np.mean(scores))
    assert errors[1] < 0.7 * errors[0]


# numbers and blocks


def test_the_number_of_features_is_limited():
    X, y = data()
    for rho in ("auto", 0.0, 0.3, 5.0, 1e9):
        features = AlignedRandomFeatures(30, rho=rho, random_state=0).fit(X, y)
        kept = len(features.weights_)
        assert kept == 1 if rho == 1e9 else 1 < kept <= 30
        assert (np.diff(features.weights_) <= 0.0).all()
        assert features.weights_.sum() == pytest.approx(1.0, rel=1e-12)
        assert features.transform(X).shape == (60, kept)
        names = [f"alignedrandomfeatures{i}" for i in range(kept)]
        assert features.get_feature_names_out().tolist() == names
        assert len(features.scores_) == 300
        assert rho == "auto" or features.rho_ <= rho + 1e-9


@pytest.mark.parametrize("kind", ["two", "three", "real"])
def test_blocks_change_nothing_but_rounding(kind, monkeypatch):
    X, y = data(n=57)[0], targets(57)[kind]
    whole = AlignedRandomFeatures(10, random_state=0).fit(X, y)
    Z = whole.transform(X)
    for entries in (1, 100, 1234):
        monkeypatch.setattr(random_features, "BLOCK_ENTRIES", entries)
        parts = AlignedRandomFeatures(10, random_state=0).fit(X, y)
        np.testing.assert_allclose(parts.scores_, whole.scores_, atol=1e-6 * whole.scores_.max())
        np.testing.assert_array_equal(parts.frequencies_, whole.frequencies_)
        np.testing.assert_allclose(parts.transform(X), Z, atol=1e-4)
        np.testing.assert_allclose(whole.transform(X), Z, atol=1e-12)


def test_the_same_random_state_gives_the_same_features():
    X, y = data()
    a, b, c = (
        AlignedRandomFeatures(10, random_state=seed).fit_transform(X, y) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 0.01


def test_points_in_float32_stay_so():
    X, y = data()
    features = AlignedRandomFeatures(10, random_state=0).fit(X, y)
    small = features.transform(X.astype(np.float32))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, features.transform(X), atol=1e-5)


def test_targets_are_classes_or_real():
    X, counts = data()[0], RNG(0).poisson(3.0, 60)
    one_hot, real = (
        AlignedRandomFeatures(10, target=target, random_state=0).fit(X, counts).scores_
        for target in ("auto", "real")
    )
    assert np.abs(one_hot / one_hot.sum() - real / real.sum()).max() > 1e-3
    as_floats = AlignedRandomFeatures(10, random_state=0).fit(X, counts + 0.5)
    np.testing.assert_allclose(as_floats.scores_, real, rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(seeds, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_neither_names_nor_scales_of_targets_matter(seed, shift, scale):
    X, y = data(seed % 100, n=30)
    real = RNG(seed).standard_normal(30)
    for one, other in [(y, y == "in"), (real, shift + scale * real)]:
        a, b = (AlignedRandomFeatures(5, random_state=seed).fit(X, each) for each in (one, other))
        np.testing.assert_allclose(a.scores_, b.scores_, atol=1e-4 * a.scores_.max())


def test_attributes_that_do_not_belong_together_are_refused():
    X, y = data()
    for name, value in [("weights_", -np.ones(10)), ("offsets_", np.zeros(9)), ("center_", [0.0])]:
        features = AlignedRandomFeatures(10, random_state=0).fit(X, y)
        features._check_loaded()
        setattr(features, name, value)
        with pytest.raises(ValueError, match=f"expected .*{name}"):
            features._check_loaded()


# what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "expected n_components >= 1, an integer, got 0"),
        ({"rho": -1.0}, "expected rho >= 0, a finite number, got -1.0"),
        ({"rho": "big"}, "expected rho in ['auto'], got 'big'"),
        ({"n_candidates": 99}, "expected n_candidates >= n_components = 100, got 99"),
        ({"gamma": 0.0}, "expected gamma > 0, a finite number, got 0.0"),
        ({"gamma": "sacle"}, "expected gamma in ['auto', 'scale'], got 'sacle'"),
        ({"kernel": "linear"}, "expected kernel in ['gaussian', 'laplacian', 'rbf'], got 'linear'"),
        ({"target": "rank"}, "expected target in ['auto', 'classes', 'real'], got 'rank'"),
        ({"target": "real"}, "expected y to hold numbers"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        AlignedRandomFeatures(**options).fit(*data())


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 60, "expected at least two different values in y, got 'a' only"),
        ([1.5] * 60, "expected at least two different values in y, got 1.5 only"),
        ([0.5] * 59 + [np.nan], "NaN"),
        ([0, 1], "inconsistent"),
    ],
)
def test_bad_targets_are_refused(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        AlignedRandomFeatures().fit(data()[0], y)
