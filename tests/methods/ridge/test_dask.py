"""Fits to Dask arrays and data frames agree with fits in memory."""

import numpy as np
import pandas as pd
import pytest

from pliant import LABRBFRegressor, SketchedKernelRidge, SketchedKernelRidgeClassifier
from pliant.kernels import Linear, Normalized
from tests.methods.ridge.sketched_cases import BOTH, NEW, WEIGHTS, X, Y

pytest.importorskip("dask", reason="needs Dask")
da = pytest.importorskip("dask.array", reason="needs Dask")
dd = pytest.importorskip("dask.dataframe", reason="needs dask.dataframe")

import dask  # noqa: E402


def parts(values, size=90):
    chunks = (size, *(max(1, each - 1) for each in np.shape(values)[1:]))  # two chunks of columns
    return da.from_array(values, chunks=chunks)


OPTIONS = [
    {},
    {"solver": "direct"},
    {"dtype": "float32"},
    {"kernel": "laplacian", "fit_intercept": False, "gamma": "auto"},
    {"kernel": "linear"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_fit_on_partitions_is_that_in_memory(options):
    model = SketchedKernelRidge(n_centers=40, random_state=0, tol=1e-9, alpha=0.3, **options)
    expected = model.fit(X, BOTH, WEIGHTS).predict(NEW)
    model.fit(parts(X), parts(BOTH, 50), parts(WEIGHTS, 30))
    lazy = model.predict(parts(NEW, 25))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (60, 2)
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.predict(NEW), lazy.compute(), rtol=1e-12)


def test_the_width_of_tl1_is_that_of_the_ranges():
    model = SketchedKernelRidge("tl1", n_centers=5, random_state=0)
    in_memory = model.fit(X, Y).kernel_.rho
    assert model.fit(parts(X), Y).kernel_.rho == pytest.approx(in_memory, rel=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "tl1"])
def test_rows_of_weight_zero_are_removed(kernel):
    weights = np.where(np.arange(len(X)) % 4 == 0, 0.0, WEIGHTS)
    weights[90:180] = 0.0  # a partition
    used = np.flatnonzero(weights)
    far, wrong = np.full_like(X, 1e6), np.full_like(Y, -1e6)
    far[used], wrong[used] = X[used], Y[used]
    model = SketchedKernelRidge(kernel, n_centers=40, random_state=0, tol=1e-9)
    expected = model.fit(X[used], Y[used], weights[used]).predict(NEW)
    support = used[model.support_]
    model.fit(parts(far), parts(wrong, 50), parts(weights, 30))
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(model.predict(NEW), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("labels", [Y > 0, np.digitize(Y, [-0.5, 0.7])], ids=["two", "three"])
def test_classes_are_predicted_partition_by_partition(labels):
    labels = np.array(["a", "b", "c"])[labels.astype(int)]
    model = SketchedKernelRidgeClassifier(n_centers=40, random_state=0, class_weight="balanced")
    expected = model.fit(X, labels)
    decisions, classes = expected.decision_function(NEW), expected.predict(NEW)
    model.fit(parts(X), da.from_array(labels, chunks=70))
    predicted = model.predict(parts(NEW, 25))
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), classes)
    lazy = model.decision_function(parts(NEW, 25))
    np.testing.assert_allclose(lazy.compute(), decisions, atol=1e-6)


def test_a_kernel_may_be_undefined_at_the_origin():
    points, new = X + 3.0, NEW + 3.0
    model = SketchedKernelRidge(Normalized(Linear()), n_centers=20, random_state=0)
    model.fit(parts(points), da.from_array(Y, chunks=70))
    lazy = model.predict(parts(new, 25))
    np.testing.assert_allclose(lazy.compute(), model.predict(new), atol=1e-9)


def test_data_frames_bring_names_and_unknown_lengths():
    names = ["u", "v", "w"]
    frame, new = (pd.DataFrame(each, columns=names) for each in (X, NEW))
    model = SketchedKernelRidge(n_centers=40, random_state=0)
    expected = model.fit(X, Y).predict(NEW)
    model.fit(dd.from_pandas(frame, npartitions=4), dd.from_pandas(pd.Series(Y), npartitions=3))
    assert list(model.feature_names_in_) == names
    lazy = model.predict(dd.from_pandas(new, npartitions=2))
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-6)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-6)
    with pytest.raises(ValueError, match="names must be in the same order"):
        model.predict(dd.from_pandas(new[["w", "v", "u"]], npartitions=2))
    some = parts(X)[da.from_array(X[:, 0] > 0.95, chunks=90)]  # unknown chunk lengths
    few = model.fit(some, Y[X[:, 0] > 0.95])
    assert len(few.dual_coef_) == (X[:, 0] > 0.95).sum()


def test_partitions_are_never_all_in_memory():
    held = []

    def part(block):
        held.append(len(block))
        return block

    lazy = parts(X).rechunk((100, 3)).map_blocks(part, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        model = SketchedKernelRidge(n_centers=20, random_state=0, solver="cg").fit(lazy, Y)
    assert set(held) <= {100}
    assert len(held) >= 4 * model.n_passes_


def unlike(block, block_info=None):
    """Return float32, int64 and float64 blocks in turn, whatever the dtype of the array."""
    return block.astype([np.float32, np.int64, np.float64][block_info[0]["chunk-location"][0] % 3])


def test_partitions_that_are_empty_or_of_unlike_types():
    whole = np.round(X * 8)  # the same numbers in all types
    chunks = ((0, 150, 0, 90, 160, 0), (3,))
    lazy = da.from_array(whole, chunks=chunks).map_blocks(
        unlike, dtype=float, meta=np.zeros((0, 0))
    )
    model = SketchedKernelRidge(n_centers=40, random_state=0, tol=1e-9)
    expected = model.fit(whole, Y, WEIGHTS).predict(whole)
    model.fit(lazy, da.from_array(Y, chunks=130), WEIGHTS)
    predicted = model.predict(lazy)
    assert predicted.chunks == (chunks[0],)
    np.testing.assert_allclose(predicted.compute(), expected, atol=1e-6)


def test_nan_where_numbers_are_missing():
    """The message names the partition and the row."""
    missing = np.where(np.arange(400) == 250, np.nan, Y)
    frame = pd.DataFrame(X.copy(), columns=["u", "v", "w"])
    frame.loc[250, "v"] = np.nan
    model = SketchedKernelRidge(n_centers=40, random_state=0, gamma=1.0)
    nullable = dd.from_pandas(frame.convert_dtypes(), npartitions=4)
    message = r"partition 2 \(rows 200 to 299\): expected finite numbers, got nan in X at row 250"
    for points in (nullable, da.from_array(frame.to_numpy(), chunks=(100, 3))):
        with pytest.raises(ValueError, match=message):
            model.fit(points, Y)
        model.set_params(gamma="scale")  # from the variance of all rows
    with pytest.raises(ValueError, match="expected finite numbers, got nan in y"):
        model.fit(parts(X), da.from_array(missing, chunks=100))
    lazy = model.fit(parts(X), Y).predict(da.from_array(frame.to_numpy(), chunks=(100, 3)))
    with pytest.raises(ValueError, match=message):
        lazy.compute()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:60], r"expected X of shape \(90, 3\), got \(60, 3\)"),
        (lambda rows: np.hstack([rows, rows]), r"expected X of shape \(90, 3\), got \(90, 6\)"),
        (lambda rows: rows.astype(str), "expected X to hold numbers, got dtype <U"),
    ],
    ids=["shorter", "wider", "text"],
)
@pytest.mark.parametrize("model", [SketchedKernelRidge(n_centers=20), LABRBFRegressor(max_iter=1)])
def test_blocks_other_than_declared_name_the_partition(model, change, message):
    def changed(rows, block_info):
        return change(rows) if block_info[0]["chunk-location"][0] == 2 else rows

    whole = da.from_array(X, chunks=(90, 3))
    lazy = whole.map_blocks(changed, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"^partition 2 \(rows 180 to 269\): " + message):
        model.fit(lazy, Y)
    with pytest.raises(ValueError, match=r"^partition 2 \(rows 180 to 269\): " + message):
        model.fit(X, Y).predict(lazy).compute()
    with pytest.raises(ValueError, match=r"n_features >= 1, got \(400, 0\)"):
        model.fit(whole[:, :0], Y)
