"""LABRBFRegressor on large, small and degenerate tables, and in model files."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from pliant import LABRBFAlgorithm, LABRBFRegressor
from pliant.core import blocks
from pliant.exceptions import ModelFileError
from pliant.kernels import Gaussian
from pliant.methods import LABRBFMember, Warp
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf import table as table_module
from pliant.persistence import load, save
from tests.memory import peak_memory
from tests.methods.lab_rbf.building import build

QUICK = {"n_support": 8, "n_members": 2, "max_iter": 16, "random_state": 0}


def table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2


def quick(**options):
    return build(LABRBFRegressor, **{**QUICK, **options})


X, Y = table()
SKEWED = np.exp(3 * X), np.exp(3 * Y)


# Large tables


def memory_map(path, array):
    """Return a read-only memory map of an array."""
    file = np.lib.format.open_memmap(path, mode="w+", dtype=array.dtype, shape=array.shape)
    file[:] = array
    file.flush()
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_map_gives_the_same_model(tmp_path, dtype, transforms):
    points, y = (a.astype(dtype) for a in SKEWED)
    file = memory_map(tmp_path / "X.npy", points)
    assert isinstance(file, np.memmap)
    settings = {"transforms": transforms, "n_members": 1}  # members may have different transforms
    one, other = (quick(**settings).fit(data, y) for data in (points, file))
    assert other.predict(file).tobytes() == one.predict(points).tobytes()
    assert other.bandwidths_.tobytes() == one.bandwidths_.tobytes()
    assert other.support_vectors_.dtype == np.float64
    again = other.refit_coefficients(file, y)
    np.testing.assert_allclose(again.predict(file), one.predict(points), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "share", "transforms"), [(np.float32, 0.7, "auto"), (np.float64, 0.4, None)]
)
def test_memory_maps_are_not_copied(tmp_path, monkeypatch, dtype, share, transforms):
    for module in (table_module, blocks):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 200_000)
    points = np.random.default_rng(0).normal(size=(400_000, 40)).astype(dtype)
    np.exp(points, out=points)
    y = np.log(points[:, 0]) + points[:, 1]
    file = memory_map(tmp_path / "X.npy", points)
    monkeypatch.setattr(constants, "BANDWIDTH_ROWS", 500)
    model = quick(transforms=transforms, max_iter=2, dense=False)
    model.fit(points[:1000], y[:1000]).distance_to_support(points[:10])  # compiles and imports
    for action in (
        lambda: model.fit(file, y),
        lambda: model.refit_coefficients(file, y),
        lambda: model.predict(file),
        lambda: model.distance_to_support(file),
    ):
        with peak_memory() as used:
            action()
        assert used.peak < share * file.nbytes
    assert model.score(file[:1000], y[:1000]) > 0.5


def test_coefficients_use_all_rows(monkeypatch):
    monkeypatch.setattr(constants, "BANDWIDTH_ROWS", 100)
    points, y = table(2000)
    model = quick(dense=False).fit(points, y)
    assert model.score(points, y) > 0.9
    rows = quick(dense=False).fit(points, y).refit_coefficients(points, y)
    np.testing.assert_array_equal(rows.dual_coef_, model.dual_coef_)
    for member in model.members_:
        F = member.features(points)
        a = (
            np.vstack([member.dual_coef_, member.linear_coef_])
            if member.linear_
            else member.dual_coef_
        )
        normal = F.T @ (y[:, None] - member.intercept_ - F @ a) - member.alpha_ * a
        assert np.abs(normal).max() < 1e-6  # the normal equations of all rows hold


# Small tables


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transforms": None},
        {"validation_fraction": 0, "alpha": 0.1, "shrinkage": 0.01},
        {"validation_fraction": 0.9},
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


# Degenerate features


@pytest.mark.parametrize("objective", ["ridge", "evidence"])
def test_duplicate_rows(objective):
    points, y = np.repeat(X[:6], 10, axis=0), np.repeat(Y[:6], 10)
    y = y + np.tile(np.linspace(-0.01, 0.01, 10), 6)
    model = quick(objective=objective).fit(points, y)
    for member in model.members_:
        C = member.kernel_.centres
        n_distinct = 6 if member.objective_ == "dense" else len(C)
        assert len(np.unique(C, axis=0)) == n_distinct
    assert model.score(points, y) > 0.8


@pytest.mark.parametrize("objective", ["ridge", "evidence"])
def test_constant_points(objective):
    model = quick(objective=objective).fit(np.ones((60, 3)), Y)
    assert np.ptp(model.predict(X)) == 0
    np.testing.assert_allclose(model.predict(X), Y.mean(), atol=0.05)
    np.testing.assert_array_equal(model.bandwidths_, 0.0)
    np.testing.assert_array_equal(model.distance_to_support(X), 0.0)
    assert np.isfinite(model.feature_relevance_).all()


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize(
    ("unit", "offset"),
    [(1e-6, 0), (1, 1e8), (1e6, -1e14), (1e12, 0), (1e-12, 0)],
)
def test_units_and_origins_of_features(unit, offset, transforms):
    points = unit * X + offset
    model = quick(transforms=transforms).fit(points, Y)
    assert model.score(points, Y) > 0.95
    assert np.isfinite(model.distance_to_support(points)).all()
    for member in model._local_members:
        assert (model.distance_to_support(member.kernel_.centres) < 1e-3).all()


# Invalid data


@pytest.mark.parametrize(
    ("points", "y", "message"),
    [
        (X, np.ones(60), r"expected a target that varies, got y = 1\.0 in all 60 rows"),
        (X, np.column_stack([Y, np.full(60, -2.0)]), r"that varies, got y\[:, 1\] = -2\.0"),
        (
            X,
            1e-120 * (Y > 0),
            r"from 0\.0 to 1e-120 in 60 rows, a spread of 5e-121, not above 1e-97:",
        ),
        (X, np.where(Y > 1, np.nan, Y), "NaN"),
        (X, np.array(["1", "2"] * 30), "expected y to hold numbers"),
        (X, scipy.sparse.csr_array(Y[:, None]), "dense"),
        (X, Y[:9], "inconsistent"),
        (X, None, "y"),
        (np.where(X > 0.9, -np.inf, X), Y, "infinity"),
    ],
)
def test_invalid_data(points, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        quick().fit(points, y)


@pytest.mark.parametrize("weight", [1e-21, 1e21])
def test_weights_far_from_one_are_refused(weight):
    message = r"sample_weight with a mean from 1e-20 to .*, got a mean of 1e[-+]21; divide"
    with pytest.raises(ValueError, match=message):
        quick().fit(X, Y, np.full(60, weight))


# Model files


def round_trip(model, path):
    save(model, path)
    return load(path)


def test_model_files_pickles_and_clones_keep_the_algorithm(tmp_path):
    algorithm = LABRBFAlgorithm(objective="evidence", dtype="float64")
    options = {"n_members": 1, "max_iter": 2, "random_state": 0}
    model = LABRBFRegressor(8, algorithm=algorithm, **options).fit(X, Y)
    path = tmp_path / "model.pliant"
    save(model, path)
    copies = load(path), pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)
    for other in copies:
        assert other.predict(X).tobytes() == model.predict(X).tobytes()
        assert other.algorithm.get_params() == model.algorithm.get_params()
        assert other.algorithm is not model.algorithm
    with pytest.raises(ValueError, match=r"expected dtype in .* got 'magic'"):
        model.set_params(algorithm__dtype="magic").fit(X, Y)
    with pytest.raises(ModelFileError, match="expected dtype in"):
        save(model, path)


FORGERIES = {
    "": {
        "members_": [[], "members", [Gaussian(1.0)], [object.__new__(LABRBFMember)]],
        "weights_": [
            *(np.zeros(2), np.ones(1), "yes", np.array([0.5, 0.4]), np.array([1.5, -0.5])),
            *(np.full(2, np.nan), None),
        ],
        "target_low_": [np.array([np.nan]), np.zeros(7), np.array([1e9])],
        "target_unit_": [np.zeros(1), np.ones(3)],
        "n_outputs_": [5, "one"],
        "single_output_": ["yes"],
        "n_features_in_": [9],
    },
    "kernel_": {
        "centres": [np.full((8, 3), np.nan), np.zeros((7, 3))],
        "bandwidths": [np.full((8, 3), -1.0), "wide"],
        "profile": ["magic"],
        "warp": ["log", Warp.learn(np.eye(7))],
    },
    "warp_": {
        "kinds": [np.full(3, 9), np.zeros(2, dtype=int), "log"],
        "slopes": [np.full(3, np.nan), np.zeros((3, 3))],
        "centres": [np.zeros(1), None],
        "offsets": [np.full(3, np.nan)],
        "widths": [np.array([1.0, 0.0, np.inf])],
        "mixing": [np.eye(2), np.full((3, 3), np.nan), np.ones(3), "mixed"],
    },
    "error_model_": {
        "errors": [np.zeros((0, 1)), np.array([[1.0], [0.0]]), np.array([[np.nan]]), np.eye(2)],
        "noise": [np.zeros(1)],
        "ratio": [-np.ones(1)],
        "weights": [np.ones(3)],
        "exact": ["yes"],
    },
    "member": {
        "kernel_": [Gaussian(1.0)],
        "dual_coef_": [np.zeros((7, 1)), np.full((8, 1), np.nan), np.zeros(8), None],
        "linear_coef_": [np.zeros((2, 1))],
        "intercept_": [np.array([np.inf]), 0.0],
        "support_": [np.arange(7), "rows"],
        "changes_": [np.zeros(2)],
        "support_slopes_": [np.zeros((7, 3))],
        "deviations_": ["wide"],
        "alpha_": ["big", -1.0],
        "log_penalty_": [float("nan")],
        "linear_": ["no"],
        "warp_": [Gaussian(1.0), Warp.learn(np.eye(7))],
    },
}
MISSING = {"": ["single_output_", "weights_", "target_low_"], "member": ["support_", "warp_"]}


def part_of(model, name):
    member = model.members_[0]
    parts = {"": model, "member": member, "error_model_": model.error_model_}
    return parts[name] if name in parts else getattr(member, name)


@pytest.mark.parametrize("part", FORGERIES)
def test_inconsistent_attributes(tmp_path, part):
    fitted = quick(max_iter=1, dense=False).fit(X, Y)
    assert len(fitted.members_[0].support_) == 8
    cases = [(name, value) for name, values in FORGERIES[part].items() for value in values]
    for name, *values in [*cases, *((name,) for name in MISSING.get(part, []))]:
        model = pickle.loads(pickle.dumps(fitted))
        forged = part_of(model, part)
        object.__delattr__(forged, name)  # also of members, which are frozen
        for value in values:
            object.__setattr__(forged, name, value)
        with pytest.raises(ModelFileError, match=r"expected|attribute"):
            round_trip(model, tmp_path / "m.pliant")
        assert list(tmp_path.iterdir()) == [], (name, values)
