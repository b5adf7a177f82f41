"""The map of features: its range, its scales, its corners."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pliant.kernels import Warp
from pliant.methods.lab_rbf.kernel import BEYOND, WARPS

RNG = np.random.default_rng(0)
SKEWED = np.exp(2 * RNG.normal(size=(200, 3)))
EVEN = RNG.uniform(-5, 3, size=(200, 3))
kinds = st.sampled_from(WARPS)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), kind=kinds, n=st.integers(2, 30), reach=st.floats(1e-3, 1e6))
def test_training_points_fill_the_box(seed, kind, n, reach):
    rng = np.random.default_rng(seed)
    X = reach * np.exp(2 * rng.normal(size=(n, 3))) * rng.choice([-1, 1], size=3)
    u = Warp.learn(X, kind)(X)
    np.testing.assert_allclose(u.min(axis=0), -1, atol=1e-9)
    np.testing.assert_allclose(u.max(axis=0), 1, atol=1e-9)


@pytest.mark.parametrize("kind", WARPS)
def test_a_map_rises_in_each_feature_and_mixes_none(kind):
    warp = Warp.learn(SKEWED, kind)
    order = np.argsort(SKEWED[:, 0])
    assert (np.diff(warp(SKEWED)[order, 0]) >= 0).all()
    moved = SKEWED.copy()
    moved[:, 1] += 1.0
    np.testing.assert_array_equal(warp(moved)[:, [0, 2]], warp(SKEWED)[:, [0, 2]])


@pytest.mark.parametrize("kind", WARPS)
def test_even_features_keep_their_scale(kind):
    warp = Warp.learn(EVEN, kind)
    assert warp.affine
    low, high = EVEN.min(axis=0), EVEN.max(axis=0)
    expected = 2 * (EVEN - low) / (high - low) - 1
    np.testing.assert_allclose(warp(EVEN), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_skewed_features_change_their_scale(kind):
    X = np.column_stack([SKEWED[:, 0], EVEN[:, 0]])
    warp = Warp.learn(X, kind)
    np.testing.assert_array_equal(warp.kinds, [WARPS.index(kind), 0])
    assert not warp.affine
    u = warp(X)[:, 0]
    raw = Warp.learn(X)(X)[:, 0]
    skewness = [abs((((z - z.mean()) / z.std()) ** 3).mean()) for z in (u, raw)]
    assert skewness[0] < 0.5 * skewness[1]


def test_the_scale_of_logarithms():
    x = SKEWED[:, :1]
    z = np.log(x + 0.1 * np.median(x))
    expected = 2 * (z - z.min()) / (z.max() - z.min()) - 1
    np.testing.assert_allclose(Warp.learn(x, "log")(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "x",
    [
        np.append(SKEWED[:, 0], -1e-9),  # a negative value has no logarithm
        -SKEWED[:, 0],
        100.0 - SKEWED[:, 0].clip(0, 99),  # skewed to the left
        np.repeat([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0], 10),  # two values
    ],
)
def test_what_keeps_its_scale_where_logarithms_are_asked_for(x):
    assert Warp.learn(x[:, None], "log").affine


def test_many_zeros_have_a_logarithm():
    x = np.concatenate([np.zeros(150), SKEWED[:50, 0]])[:, None]
    warp = Warp.learn(x, "log")
    assert not warp.affine
    assert np.isfinite(warp(x)).all()
    assert np.isfinite(warp(-x)).all()
    assert warp(-x).min() == -1.0


@pytest.mark.parametrize("kind", WARPS)
def test_constant_features_are_left_out(kind):
    X = np.column_stack([np.full(200, 7.0), SKEWED[:, 0], np.full(200, -1e12)])
    warp = Warp.learn(X, kind)
    np.testing.assert_array_equal(warp.slopes[[0, 2]], 0.0)
    np.testing.assert_array_equal(warp(X + 5.0)[:, [0, 2]], 0.0)
    assert warp.slopes[1] > 0


def test_without_scaling_features_are_only_centred():
    X = np.column_stack([EVEN, np.full(200, 3.0)])
    warp = Warp.learn(X, scale=False)
    np.testing.assert_array_equal(warp.slopes, [1, 1, 1, 0])
    u = warp(X)
    np.testing.assert_allclose(u.max(axis=0), -u.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(np.ptp(u, axis=0), [*np.ptp(EVEN, axis=0), 0.0])


@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_points_far_out_are_held_on_other_scales_and_free_on_their_own(kind):
    far = np.full((1, 3), 1e200)
    warp = Warp.learn(SKEWED, kind)
    np.testing.assert_array_equal(warp(far), BEYOND)
    assert (warp(-far) >= -BEYOND).all()
    assert (Warp.learn(SKEWED)(far) > 1e100).all()


@pytest.mark.parametrize("unit", [1e-150, 1e-100, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("kind", WARPS)
def test_no_unit_is_too_large_or_too_small(unit, kind):
    X = SKEWED / SKEWED.max()
    u = Warp.learn(unit * X, kind)(unit * X)
    assert np.isfinite(u).all()
    np.testing.assert_allclose(u, Warp.learn(X, kind)(X), rtol=0, atol=1e-3)


@pytest.mark.parametrize("kind", WARPS)
def test_large_tables_are_mapped_like_small_ones(kind):
    X = np.tile(SKEWED, (400, 1))  # more than one block
    X[-1] = SKEWED.max() * 2
    u = Warp.learn(X, kind)(X)
    assert u.max() == pytest.approx(1.0, abs=1e-9)
    assert u.argmax() // 3 == len(X) - 1


@pytest.mark.parametrize("kind", WARPS)
def test_float32_and_containers(kind):
    X = SKEWED.astype(np.float32)
    warp = Warp.learn(X, kind)
    assert warp(X).dtype == np.float64
    np.testing.assert_allclose(warp(X), Warp.learn(X.astype(np.float64), kind)(X), atol=1e-5)
    before = X.copy()
    np.testing.assert_array_equal(warp(X.tolist()), warp(X))
    np.testing.assert_array_equal(X, before)


def test_maps_that_are_the_same_have_the_same_key():
    one = Warp.learn(SKEWED, "log")
    assert one.key() == Warp.learn(SKEWED, "log").key() == clone(one).key()
    others = [Warp.learn(SKEWED, "raw"), Warp.learn(SKEWED, "asinh"), Warp.learn(EVEN)]
    assert len({one.key(), *(other.key() for other in others)}) == 4


def test_copies():
    warp = Warp.learn(SKEWED, "log")
    for copy in (pickle.loads(pickle.dumps(warp)), clone(warp)):
        np.testing.assert_array_equal(copy(SKEWED), warp(SKEWED))


FORGERIES = [
    ("kinds", np.array([0, 1, 3])),
    ("kinds", np.array([0, -1, 0])),
    ("kinds", np.array([0, 1])),
    ("kinds", "log"),
    ("kinds", np.array([0.5, 0.0, 0.0])),
    ("kinds", None),
    ("offsets", np.zeros(2)),
    ("offsets", np.full(3, np.nan)),
    ("widths", "x"),
    ("widths", np.array([1.0, 0.0, np.inf])),
    ("centres", np.zeros((3, 1))),
    ("centres", None),
    ("slopes", np.zeros((3, 3))),
    ("slopes", np.full(3, np.inf)),
]


@pytest.mark.parametrize(("name", "value"), FORGERIES)
def test_parameters_from_a_file_are_checked(name, value):
    warp = Warp.learn(SKEWED, "log")
    warp._check_loaded()
    setattr(warp, name, value)
    with pytest.raises(ValueError, match="expected"):
        warp._check_loaded()


def test_an_unknown_scale():
    with pytest.raises(ValueError, match=re.escape("'quantile'")):
        Warp.learn(SKEWED, "quantile")


@pytest.mark.parametrize("kind", WARPS)
def test_features_of_any_size_stay_in_the_range_of_floats(kind):
    rng = np.random.default_rng(0)
    widest = np.where(np.arange(60) == 0, 1.7e308, 1e-300 * np.exp(rng.normal(size=60)))
    smallest = 5e-324 * rng.integers(0, 9, 60) ** 4
    both = 1.7e308 * np.sign(rng.normal(size=60))
    X = np.column_stack([widest, smallest, both])
    warp = Warp.learn(X, kind)
    assert np.isfinite(warp(X)).all()
    far = np.full((1, 3), 1.7e308)
    assert not np.isnan(warp(np.vstack([far, -far]))).any()
