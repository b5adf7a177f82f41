"""LABRBFRegressor on large, small and odd tables, and in model files."""

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import LABRBFRegressor, ModelFileError
from pliant.kernels import Gaussian, Warp
from pliant.methods import LABRBFMember
from pliant.methods.lab_rbf import members, regressor
from pliant.persistence import load_model, save_model

QUICK = {"n_support": 8, "n_members": 2, "max_iter": 16, "random_state": 0}


def table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2


def quick(**options):
    return LABRBFRegressor(**{**QUICK, **options})


X, Y = table()
SKEWED = np.exp(3 * X), np.exp(3 * Y)


# Large tables


def mapped(path, array):
    """The array in a file, read only."""
    file = np.lib.format.open_memmap(path, mode="w+", dtype=array.dtype, shape=array.shape)
    file[:] = array
    file.flush()
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_memory_map_is_an_array(tmp_path, dtype, transforms):
    points, y = (a.astype(dtype) for a in SKEWED)
    file = mapped(tmp_path / "X.npy", points)
    assert isinstance(file, np.memmap)
    settings = {"transforms": transforms, "n_members": 1}  # members may differ in their scales
    one, other = (quick(**settings).fit(data, y) for data in (points, file))
    assert other.predict(file).tobytes() == one.predict(points).tobytes()
    assert other.bandwidths_.tobytes() == one.bandwidths_.tobytes()
    assert other.support_vectors_.dtype == np.float64
    again = other.refit_coefficients(file, y)
    np.testing.assert_allclose(again.predict(file), one.predict(points), rtol=1e-9)


def peak_of(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "share", "transforms"), [(np.float32, 0.9, "auto"), (np.float64, 0.5, None)]
)
def test_points_in_a_file_are_never_copied_as_a_whole(
    tmp_path, monkeypatch, dtype, share, transforms
):
    monkeypatch.setattr(members, "BLOCK_ENTRIES", 200_000)
    points = np.random.default_rng(0).normal(size=(400_000, 20)).astype(dtype)
    np.exp(points, out=points)
    y = np.log(points[:, 0]) + points[:, 1]
    file = mapped(tmp_path / "X.npy", points)
    model = quick(transforms=transforms, max_iter=2, max_bandwidth_rows=500)
    for action in (
        lambda: model.fit(file, y),
        lambda: model.refit_coefficients(file, y),
        lambda: model.predict(file),
        lambda: model.distance_to_support(file),
    ):
        assert peak_of(action) < share * file.nbytes
    assert model.score(file[:1000], y[:1000]) > 0.5


def test_bandwidths_may_be_learned_on_some_of_the_rows():
    points, y = table(2000)
    model = quick(max_bandwidth_rows=100).fit(points, y)
    assert model.score(points, y) > 0.9
    rows = quick(max_bandwidth_rows=100).fit(points, y).refit_coefficients(points, y)
    np.testing.assert_array_equal(rows.dual_coef_, model.dual_coef_)
    for member in model.members_:
        F = member.features(points)
        a = np.vstack([member.dual_coef_, member.coef_]) if member.linear_ else member.dual_coef_
        normal = F.T @ (y[:, None] - member.intercept_ - F @ a) - member.alpha_ * a
        assert np.abs(normal).max() < 1e-6  # the coefficients are those of all rows


# Small tables


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence", "interpolation"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transforms": None},
        {"validation_fraction": 0, "alpha": 0.1, "shrinkage": 0.01},
        {"validation_fraction": 0.9},
        {"support": "residual"},
        {"support": "sorted"},
        {"solver": "adam"},
        {"profile": "laplacian", "dtype": "float32"},
    ],
    ids=str,
)
def test_few_rows(n, objective, options):
    model = quick(objective=objective, **options).fit(X[:n], Y[:n])
    predicted = model.predict(X)
    assert (predicted >= Y[:n].min()).all()
    assert (predicted <= Y[:n].max()).all()
    assert (model.bandwidths_ >= 0).all()
    assert np.isfinite(model.feature_relevance_).all()


@pytest.mark.parametrize("n_support", [60, 61, 10_000])
@pytest.mark.parametrize("support", ["kmeans++", "random", "sorted", "residual"])
def test_more_support_points_than_rows(n_support, support):
    model = quick(n_support=n_support, support=support).fit(X, Y)
    for member in model.members_:
        assert len(member.support_) == len(np.unique(member.support_)) <= 60
    assert model.score(X, Y) > 0.9


def test_one_support_point():
    model = quick(n_support=1).fit(X, Y)
    assert model.support_vectors_.shape == (2, 3)
    assert np.isfinite(model.predict(X)).all()


def test_one_feature():
    model = quick().fit(X[:, :1], Y)
    assert model.bandwidths_.shape == (len(model.support_), 1)
    np.testing.assert_allclose(model.feature_relevance_, [1.0])


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_few_rows_with_weight(kept):
    weights = np.r_[np.zeros(60 - kept), np.ones(kept)]
    if kept == 1:
        with pytest.raises(ValueError, match="expected a target that varies"):
            quick().fit(X, Y, weights)
        return
    model = quick().fit(X, Y, weights)
    assert (model.support_ >= 60 - kept).all()
    assert np.isfinite(model.predict(X)).all()


# Odd features


@pytest.mark.parametrize("support", ["kmeans++", "random", "sorted", "residual"])
@pytest.mark.parametrize("objective", ["ridge", "evidence", "interpolation"])
def test_duplicate_rows(objective, support):
    points, y = np.repeat(X[:6], 10, axis=0), np.repeat(Y[:6], 10)
    y = y + np.tile(np.linspace(-0.01, 0.01, 10), 6)
    model = quick(objective=objective, support=support).fit(points, y)
    for member in model.members_:
        C = member.kernel_.centres
        assert len(np.unique(C, axis=0)) == len(C)
    assert model.score(points, y) > 0.8


def test_features_that_never_vary():
    points = np.column_stack([np.full(60, 7.0), X, np.full(60, -1e12)])
    model = quick().fit(points, Y)
    assert model.score(points, Y) > 0.9
    np.testing.assert_array_equal(model.bandwidths_[:, [0, 4]], 0.0)
    np.testing.assert_array_equal(model.feature_relevance_[[0, 4]], 0.0)


@pytest.mark.parametrize("objective", ["ridge", "evidence", "interpolation"])
def test_points_that_are_all_the_same(objective):
    model = quick(objective=objective).fit(np.ones((60, 3)), Y)
    assert np.ptp(model.predict(X)) == 0
    if objective != "interpolation":  # which takes the value of the one support point
        np.testing.assert_allclose(model.predict(X), Y.mean(), atol=0.05)
    np.testing.assert_array_equal(model.bandwidths_, 0.0)
    np.testing.assert_array_equal(model.distance_to_support(X), 0.0)
    assert np.isfinite(model.feature_relevance_).all()


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize(
    ("unit", "offset"),
    [(1e6, 0), (1e-6, 0), (1, 1e8), (1e-3, 1e5), (1e6, -1e14), (1e100, 0), (1e-100, 0),
     (1e150, 0), (1e-150, 0)],
)  # fmt: skip
def test_units_and_origins_of_features(unit, offset, transforms):
    points = unit * X + offset
    model = quick(transforms=transforms).fit(points, Y)
    assert model.score(points, Y) > 0.95
    assert np.isfinite(model.distance_to_support(points)).all()
    assert (model.distance_to_support(model.support_vectors_) < 1e-3).all()


def test_features_of_very_different_units():
    units = np.array([1e-6, 1e6, 1.0])
    points = units * X + [0.0, 1e8, -1e3]
    model = quick().fit(points, Y)
    assert model.score(points, Y) > 0.95
    assert np.argmin(model.feature_relevance_) == 2
    line = model.kernel_(points, model.support_vectors_) @ model.dual_coef_
    line += points @ model.coef_ + model.intercept_
    expected = line.clip(Y.min(), Y.max())
    np.testing.assert_allclose(model.predict(points), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("convert", [np.ndarray.tolist, np.asfortranarray, np.round, np.float16])
def test_containers_and_types_of_points(convert):
    model = quick().fit(convert(X), Y)
    assert np.isfinite(model.predict(convert(X))).all()
    assert model.support_vectors_.dtype == np.float64


def test_points_in_whole_numbers():
    points = np.round(4 * X).astype(np.int16)
    model = quick().fit(points, Y)
    other = quick().fit(points.astype(float), Y)
    assert model.predict(points).tobytes() == other.predict(points.astype(float)).tobytes()


# Odd targets


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-160, 1e-9, 1e9, 1e153, 1e200, 1e300])
def test_units_of_the_target(unit, transforms):
    model = quick(transforms=transforms).fit(X, unit * Y)
    assert np.mean((model.predict(X) / unit - Y) ** 2) < 0.05 * Y.var()


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1.0, 1e153, 1e290])
def test_units_of_a_skewed_target(unit):
    model = quick().fit(X, unit * SKEWED[1])
    expected = quick().fit(X, SKEWED[1])
    assert model.target_transform_ == expected.target_transform_
    np.testing.assert_allclose(model.predict(X) / unit, expected.predict(X), rtol=1e-2)


def test_the_largest_target():
    y = np.sign(Y - np.median(Y)) * 1e306
    predicted = quick().fit(X, y).predict(X)
    assert np.isfinite(predicted).all()
    assert np.mean(np.sign(predicted) == np.sign(y)) > 0.8


@pytest.mark.parametrize("seed", [None, 11, 15, 20])
def test_targets_whose_terms_and_sums_are_beyond_the_range_of_floats(seed):
    rng = np.random.default_rng(seed)
    points, y = np.arange(6.0)[:, None], np.array([1.5e308, 1.7e308] * 3)
    if seed is not None:
        points, y = rng.standard_normal((3, 2)), 1.6e308 * np.sign(rng.uniform(-1.0, 1.0, 3))
    model = LABRBFRegressor(random_state=0).fit(points, y)
    small = LABRBFRegressor(random_state=0).fit(points, y / 2.0**1000)
    predicted, deviations = model.predict(points, return_std=True)
    np.testing.assert_allclose(predicted, 2.0**1000 * small.predict(points), rtol=1e-9)
    np.testing.assert_array_equal(predicted, model.predict(points))
    assert y.min() <= predicted.min()
    assert predicted.max() <= y.max()
    for values in (model.predict_interval(points), deviations):
        assert np.isfinite(values).all()
    calibrated = model.calibrate(points, 1.05 * y)
    assert np.isfinite(calibrated.predict_quantile(points, 0.5)).all()
    assert np.isfinite(calibrated.predict(points, return_std=True)[1]).all()


def test_coefficients_beyond_the_range_of_floats_are_refused():
    y = np.where(np.arange(60) == 10, -1.7e308, Y)
    rare = np.column_stack([X[:, 0], 1e-3 * X[:, 0] ** 2])
    with pytest.raises(ValueError, match=r"got inf for targets of up to 1\.7e\+308"):
        quick(alpha=1e-12, shrinkage=0.0).fit(rare, y)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e30, 1e300])
def test_weights_of_a_unit_that_products_do_not_hold_are_refused(unit):
    with pytest.raises(ValueError, match=re.escape(f"from 1e-20 to 1e+20, got {unit:.3g};")):
        quick().fit(X, Y, np.full(60, unit))


@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e20), ("float64", 1e200)])
def test_wide_features_that_are_not_scaled_are_refused(dtype, size):
    wide = X * np.where(np.arange(X.shape[1]) == 1, size, 1.0)
    with pytest.raises(ValueError, match=r"with scale=False, got .* in column 1; use scale=True"):
        quick(scale=False, dtype=dtype).fit(wide, Y)


def test_a_target_that_hardly_varies_is_refused():
    with pytest.raises(ValueError, match=r"got y from 0\.0 to 5e-324 in all 60 rows"):
        quick().fit(X, 5e-324 * (Y > 0))


def test_an_offset_of_the_target():
    model = quick().fit(X, Y + 1e8)
    assert np.mean((model.predict(X) - 1e8 - Y) ** 2) < 0.05 * Y.var()


@pytest.mark.parametrize("objective", ["ridge", "evidence", "interpolation"])
def test_targets_that_hardly_vary(objective):
    rare = np.zeros(60)
    rare[7] = 1.0
    for y in (rare, np.where(np.arange(60) < 3, Y, 0.0), (Y > 0).astype(int), Y > 0.5):
        predicted = quick(objective=objective).fit(X, y).predict(X)
        assert np.isfinite(predicted).all()
        assert predicted.min() >= np.min(y)
        assert predicted.max() <= np.max(y)


@pytest.mark.parametrize(
    ("y", "which", "value"),
    [(np.ones(60), "y", "1.0"), (np.column_stack([Y, np.full(60, -2.0)]), r"y\[:, 1\]", "-2.0")],
)
def test_a_target_that_never_varies_is_refused(y, which, value):
    message = f"expected a target that varies, got {which} = {value} in all 60 rows"
    with pytest.raises(ValueError, match=message):
        quick().fit(X, y)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_extreme_units_of_features_are_learned_or_left_out(unit):
    model = quick().fit(unit * X, Y)
    assert np.isfinite(model.predict(unit * X)).all()
    assert np.isfinite(model.distance_to_support(unit * X)).all()


def test_outputs_of_very_different_size():
    y = np.column_stack([1e9 * Y, 1e-9 * np.cos(2 * X[:, 2]) + 1e-6, X[:, 0]])
    model = quick(n_support=15, max_iter=20).fit(X, y)
    errors = ((model.predict(X) - y) ** 2).mean(axis=0) / y.var(axis=0)
    assert (errors < 0.2).all()
    assert model.feature_relevance_[2] > 0.1  # the small output is as good as the large one
    for j in range(3):
        assert model.predict(X)[:, j].min() >= y[:, j].min()
        assert model.predict(X)[:, j].max() <= y[:, j].max()


@pytest.mark.parametrize("objective", ["ridge", "evidence", "interpolation"])
def test_the_same_output_twice_is_learned_as_once(objective):
    settings = {"transforms": None, "max_iter": 4, "linear": False, "dtype": "float64"}
    once = quick(objective=objective, **settings).fit(X, Y)
    twice = quick(objective=objective, **settings).fit(X, np.column_stack([Y, Y]))
    np.testing.assert_allclose(twice.predict(X)[:, 0], twice.predict(X)[:, 1], atol=1e-12)
    if objective != "evidence":
        np.testing.assert_allclose(twice.predict(X)[:, 0], once.predict(X), atol=1e-4)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(Y > 1, np.nan, Y), "NaN"),
        (np.where(Y > 1, np.inf, Y), "infinity"),
        (np.column_stack([Y, np.where(Y > 1, np.nan, Y)]), "NaN"),
        (Y + 1j, "[Cc]omplex"),
        (np.array(["a", "b"] * 30), "number|float"),
        (np.array(["1", "2"] * 30), "expected y to hold numbers"),
        (np.arange(60).astype("datetime64[s]"), "expected y to hold numbers"),
        (scipy.sparse.csr_array(Y[:, None]), "dense"),
        (pd.array([1, 2] * 29 + [3, None], dtype="Int64"), "NaN"),
        (Y[:9], "inconsistent"),
        (Y[:, None, None], "dim 3"),
        (np.empty((60, 0)), "0 feature|output"),
        (None, "y"),
    ],
    ids=[
        "nan",
        "inf",
        "nan in one",
        "complex",
        "text",
        "digits",
        "dates",
        "sparse",
        "missing",
        "short",
        "3-D",
        "no outputs",
        "none",
    ],
)
def test_targets_that_are_refused(y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        quick().fit(X, y)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.where(X > 0.9, np.nan, X), "NaN"),
        (np.where(X > 0.9, -np.inf, X), "infinity"),
        (X[:, 0], "2D"),
        (X[:1], "minimum of 2"),
        (np.empty((60, 0)), "0 feature"),
        (X + 1j, "[Cc]omplex"),
        (np.full((60, 2), "a"), "convert|numbers"),
    ],
    ids=["nan", "inf", "1-D", "one row", "no features", "complex", "text"],
)
def test_points_that_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(points, Y[: len(points)])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[np.ones(59), -1], "expected sample_weight >= 0, got -1"),
        (np.r_[np.ones(59), np.nan], "expected finite numbers, got nan in sample_weight at row 59"),
        (np.zeros(60), "expected some sample_weight > 0"),
        (np.ones(5), r"expected sample_weight of shape \(60,\), got \(5,\)"),
        (1.0, r"expected sample_weight of shape \(60,\)"),
        (["a"] * 60, "expected sample_weight to hold numbers"),
    ],
)
def test_weights_that_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(X, Y, weights)


@pytest.mark.parametrize("unit", [1e-12, 1 / 60, 1e12])
@pytest.mark.parametrize("objective", ["ridge", "evidence", "interpolation"])
def test_the_unit_of_the_weights_matters_little(objective, unit):
    model = quick(objective=objective).fit(X, Y, np.full(60, unit))
    assert model.score(X, Y) > 0.8


def test_nullable_and_boolean_columns():
    y = pd.array(np.round(9 * Y).astype(int), dtype="Int64")
    model = quick().fit(pd.DataFrame(X).convert_dtypes(), y)
    assert model.score(X, np.asarray(y, dtype=float)) > 0.9
    weights = pd.Series(np.arange(60) > 3)
    np.testing.assert_array_equal(quick().fit(X, Y, weights).support_ > 3, True)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_small_table_gives_predictions_within_its_range(data):
    n, d = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 3))
    number = st.floats(-1e6, 1e6, allow_subnormal=False)
    points = np.array(data.draw(st.lists(number, min_size=n * d, max_size=n * d))).reshape(n, d)
    y = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    y[0] = y[1] + 1.0 + abs(y[1])
    objective = data.draw(st.sampled_from(["mixed", "interpolation"]))
    model = quick(n_support=4, max_iter=3, objective=objective).fit(points, y)
    for new in (points, 3 * points + 1):
        predicted = model.predict(new)
        assert predicted.min() >= y.min()
        assert predicted.max() <= y.max()
        assert np.isfinite(model.distance_to_support(new)).all()


# Model files


def round_trip(model, path):
    save_model(model, path)
    return load_model(path).model


SAVED = {
    "default": {},
    "interpolation": {"objective": "interpolation", "profile": "laplacian"},
    "adam, matern": {"solver": "adam", "profile": "matern52"},
    "nothing held out": {"validation_fraction": 0, "alpha": 0.1, "shrinkage": 0.0},
    "rigid": {"shrinkage": np.inf},
    "named": {"support": [1, 2, 30]},
    "named by array": {"support": np.array([1, 2, 30])},
    "float32": {"dtype": "float32"},
    "torch": {"device": "torch"},
}


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_machine_survives_a_model_file(tmp_path, name, outputs):
    if name == "torch":
        pytest.importorskip("torch")
    points, y = SKEWED
    model = quick(**SAVED[name]).fit(points, y if outputs == 1 else np.column_stack([y, -y]))
    loaded = round_trip(model, tmp_path / "m.pliant")
    assert loaded.predict(points).tobytes() == model.predict(points).tobytes()
    assert loaded.distance_to_support(X).tobytes() == model.distance_to_support(X).tobytes()
    for one, other in zip(loaded.members_, model.members_, strict=True):
        C = other.kernel_.centres
        np.testing.assert_array_equal(one.kernel_(points, C), other.kernel_(points, C))
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert set(vars(loaded)) == set(vars(model))
    for attribute in ("alpha_", "shrinkage_", "validation_score_", "feature_relevance_"):
        np.testing.assert_array_equal(getattr(loaded, attribute), getattr(model, attribute))
    loaded.refit_coefficients(points, y if outputs == 1 else np.column_stack([y, -y]))


def test_the_scales_of_features_and_target_survive(tmp_path, monkeypatch):
    monkeypatch.setattr(regressor, "LEAST_ROWS", 2)
    monkeypatch.setattr(regressor, "GAIN", np.inf)  # a logarithm is learned wherever it may be
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(150, 3))
    points, y = np.exp(2 * Z), np.exp(1.5 * Z[:, 0] + 0.7 * Z[:, 1])
    model = quick(n_support=20, n_members=1).fit(points, y)
    assert model.target_transform_ == "log"
    loaded = round_trip(model, tmp_path / "m.pliant")
    assert loaded.predict(points).tobytes() == model.predict(points).tobytes()
    assert loaded.target_transform_ == "log"
    kernel = round_trip(model.kernel_, tmp_path / "k.pliant")
    np.testing.assert_array_equal(
        kernel(points, kernel.centres), model.kernel_(points, model.support_vectors_)
    )


def test_frames_survive(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = quick(max_iter=1).fit(frame, pd.Series(Y))
    loaded = round_trip(model, tmp_path / "m.pliant")
    assert list(loaded.feature_names_in_) == list("abc")
    assert loaded.predict(frame).tobytes() == model.predict(frame).tobytes()


@pytest.mark.parametrize(
    "options",
    [{"random_state": np.random.RandomState(0)}, {"support": range(5)}],
    ids=["random_state", "support"],
)
def test_a_parameter_that_a_file_cannot_hold_is_named(tmp_path, options):
    model = quick(**options).fit(X, Y)
    with pytest.raises(ModelFileError, match=rf"model\.{next(iter(options))}"):
        save_model(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []


def first(model):
    return model.members_[0]


def forge(part, name, change):
    """A function that changes one attribute of a part of the model."""

    def forged(model):
        target = part(model)
        setattr(target, name, change(getattr(target, name)))

    return forged


def itself(model):
    return model


def warped(model):
    return first(model).warp_


def core(model):
    return first(model).kernel_


FORGERIES = {
    "no members": forge(itself, "members_", lambda _: []),
    "fewer members": forge(itself, "members_", lambda m: m[:1]),
    "another as member": forge(itself, "members_", lambda m: [m[0], Gaussian(1.0)]),
    "text as members": forge(itself, "members_", lambda _: "members"),
    "an empty member": forge(itself, "members_", lambda m: [m[0], LABRBFMember()]),
    "a number as members": forge(itself, "members_", lambda _: 3.0),
    "averaged, none": forge(itself, "averaged_", lambda a: a & False),
    "averaged, length": forge(itself, "averaged_", lambda a: a[:1]),
    "averaged, text": forge(itself, "averaged_", lambda _: "yes"),
    "low, nan": forge(itself, "target_low_", lambda a: a * np.nan),
    "low, length": forge(itself, "target_low_", lambda _: np.zeros(7)),
    "low, text": forge(itself, "target_low_", lambda _: "low"),
    "high below low": forge(itself, "target_high_", lambda a: a - 1e9),
    "target transform": forge(itself, "target_transform_", lambda _: "square"),
    "outputs": forge(itself, "n_outputs_", lambda _: 5),
    "single output": forge(itself, "single_output_", lambda _: "yes"),
    "outputs, text": forge(itself, "n_outputs_", lambda _: "one"),
    "features": forge(itself, "n_features_in_", lambda _: 9),
    "kernel": forge(first, "kernel_", lambda _: Gaussian(1.0)),
    "centres, nan": forge(core, "centres", lambda a: a * np.nan),
    "centres, fewer": forge(core, "centres", lambda a: a[:-1]),
    "centres, narrower": forge(core, "centres", lambda a: a[:, :1]),
    "bandwidths, negative": forge(core, "bandwidths", lambda a: -a),
    "bandwidths, text": forge(core, "bandwidths", lambda _: "wide"),
    "profile": forge(core, "profile", lambda _: "magic"),
    "kernel's warp": forge(core, "warp", lambda _: "log"),
    "coefficients, fewer": forge(first, "dual_coef_", lambda a: a[:-1]),
    "coefficients, nan": forge(first, "dual_coef_", lambda a: a * np.nan),
    "coefficients, more": forge(first, "dual_coef_", lambda a: np.hstack([a, a])),
    "coefficients, 1-D": forge(first, "dual_coef_", lambda a: a[:, 0]),
    "coefficients, none": forge(first, "dual_coef_", lambda _: None),
    "slopes of the line": forge(first, "coef_", lambda a: a[:-1]),
    "intercept": forge(first, "intercept_", lambda a: a * np.inf),
    "intercept, a number": forge(first, "intercept_", lambda a: float(a[0])),
    "support, length": forge(first, "support_", lambda a: a[:-1]),
    "support, text": forge(first, "support_", lambda _: "rows"),
    "relevance, width": forge(first, "changes_", lambda a: a[:-1]),
    "relevance, nan": forge(first, "changes_", lambda a: a * np.nan),
    "relevance of points": forge(first, "support_slopes_", lambda a: a[:-1]),
    "deviations, width": forge(first, "deviations_", lambda a: a[:-1]),
    "deviations, text": forge(first, "deviations_", lambda _: "wide"),
    "correlated, shape": forge(itself, "correlated_features_", lambda a: a[:, :1]),
    "correlated, text": forge(itself, "correlated_features_", lambda _: "none"),
    "correlated, fractions": forge(itself, "correlated_features_", lambda a: a + 0.5),
    "correlated, absent": forge(itself, "correlated_features_", lambda _: np.array([[1, 99]])),
    "correlated, negative": forge(itself, "correlated_features_", lambda _: np.array([[-1, 1]])),
    "correlated, itself": forge(itself, "correlated_features_", lambda _: np.array([[1, 1]])),
    "alpha, text": forge(first, "alpha_", lambda _: "big"),
    "level, nan": forge(first, "level_", lambda _: float("nan")),
    "alpha, negative": forge(first, "alpha_", lambda _: -1.0),
    "score, text": forge(first, "validation_score_", lambda _: "good"),
    "history, text": forge(first, "objective_history_", lambda _: "falling"),
    "linear, text": forge(first, "linear_", lambda _: "no"),
    "warp": forge(first, "warp_", lambda _: Gaussian(1.0)),
    "warp, other width": forge(first, "warp_", lambda _: Warp.learn(np.eye(7))),
    "warp, kinds": forge(warped, "kinds", lambda a: a + 9),
    "warp, nan": forge(warped, "slopes", lambda a: a * np.nan),
    "warp, length": forge(warped, "centres", lambda a: a[:1]),
    "no single output": lambda m: delattr(m, "single_output_"),
    "no support": lambda m: delattr(first(m), "support_"),
    "no averaged": lambda m: delattr(m, "averaged_"),
    "no transform": lambda m: delattr(m, "target_transform_"),
    "no correlated": lambda m: delattr(m, "correlated_features_"),
    "no deviations": lambda m: delattr(first(m), "deviations_"),
    "no changes": lambda m: delattr(first(m), "changes_"),
    "no low": lambda m: delattr(m, "target_low_"),
    "no warp": lambda m: delattr(first(m), "warp_"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, name):
    model = quick(max_iter=1).fit(X, Y)
    FORGERIES[name](model)
    with pytest.raises(ModelFileError, match=r"expected|lacks"):
        round_trip(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []
