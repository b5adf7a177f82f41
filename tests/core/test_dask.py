"""Rows of Dask collections: samples and reductions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.random import sample_without_replacement

import pliant
from pliant.core.dask import BRANCHES, MIN_CLASS_ROWS, DaskRows, reduce_tree

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def drawn_slowly(labels, weights, size, seed):
    """Draw the row numbers of a sample, one class at a time."""
    rng, numbers = np.random.RandomState(seed), []
    counted = [row for row in range(len(labels)) if weights[row] > 0]
    for label in sorted({labels[row] for row in counted}):
        own = [row for row in counted if labels[row] == label]
        if len(counted) <= size:
            numbers += own
            continue
        count = min(len(own), max(MIN_CLASS_ROWS, size * len(own) // len(counted)))
        numbers += [own[k] for k in sample_without_replacement(len(own), count, random_state=rng)]
    return sorted(numbers)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(2, 80),
    cuts=st.lists(st.integers(0, 80), max_size=4),
    size=st.integers(1, 100),
    seed=st.integers(0, 99),
)
def test_a_sample_is_that_of_a_slow_loop_however_rows_are_divided(n, cuts, size, seed):
    rng = np.random.default_rng(seed)
    X, weights = np.arange(2.0 * n).reshape(n, 2), rng.integers(0, 3, size=n).astype(float)
    labels = rng.choice(np.array(["a", "b", "c"]), size=n, p=[0.8, 0.15, 0.05])
    weights[:2], labels[:2] = 1.0, ["a", "b"]
    ends = [0, *sorted(min(cut, n) for cut in cuts), n]
    chunks = (tuple(np.diff(ends).tolist()), (2,))
    rows = DaskRows.from_collection(da.from_array(X, chunks=chunks), labels, weights, labelled=True)
    numbers = rows.draw(size, np.random.RandomState(seed), labelled=True)
    sample = rows.take(numbers, lambda block: block.X)
    expected = drawn_slowly(labels, weights, size, seed)
    np.testing.assert_array_equal(sample.numbers, expected)
    for part, of_all in zip(sample.rows, (X, labels, weights), strict=True):
        np.testing.assert_array_equal(part, of_all[expected])
    others = np.setdiff1d(np.flatnonzero(weights), expected)
    np.testing.assert_array_equal(np.concatenate(sample.rest), X[others])


@pytest.mark.parametrize("lazy", [True, False])
def test_a_pass_reads_the_targets_and_weights_of_its_partition(lazy):
    n = 20
    y, weights = np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 3.0
    given = (da.from_array(y, chunks=(3, 1)), da.from_array(weights, chunks=11)) if lazy else None
    X = da.from_array(np.arange(n)[:, None], chunks=((5, 0, 15), 1))
    rows = DaskRows.from_collection(X, *(given or (y, weights)), labelled=False)
    blocks = dask.compute(*rows.map_blocks(lambda block, first: (block, first), items="abc"))
    assert [first for _, first in blocks] == ["a", "b", "c"]
    for column, of_all in enumerate((np.arange(n)[:, None], y, weights)):
        found = [block[column] for block, _ in blocks]
        assert [len(part) for part in found] == [5, 0, 15]
        np.testing.assert_array_equal(np.concatenate(found), of_all)


@pytest.mark.parametrize("count", [1, 2, 8, 9, 65, 100])
def test_a_reduction_adds_up_all_tasks(count):
    tasks = [dask.delayed(k) for k in range(count)]
    seen = []

    def combine(parts):
        seen.append(len(parts))
        return sum(parts)

    assert reduce_tree(tasks, combine) == count * (count - 1) // 2
    assert max(seen, default=1) <= BRANCHES


def test_partitions_that_are_not_as_declared_are_one_clear_error():
    def ragged(block):
        return [row[: 1 + k % 2] for k, row in enumerate(block.tolist())]

    X, y = da.zeros((40, 2), chunks=(20, 2)), da.zeros(40, chunks=20)
    broken = X.map_blocks(ragged, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"^partition \d \(rows .*: expected X as an array: "):
        DaskRows.from_collection(broken, y, None, labelled=False).take(np.arange(3), len)
    unknown = da.from_delayed(dask.delayed(ragged)(np.zeros((40, 2))), (np.nan, 2), dtype=float)
    with pytest.raises(ValueError, match=r"^expected partitions of X that are arrays: 'list'"):
        DaskRows.from_collection(unknown, y, None, labelled=False)
    narrow = da.from_delayed(dask.delayed(np.zeros)((40, 1)), (np.nan, 2), dtype=float)
    with pytest.raises(ValueError, match=r"^expected X with 2 columns as declared, got 1"):
        DaskRows.from_collection(narrow, y, None, labelled=False)
    lists = y.map_blocks(lambda block: [[1, 2], [1]] * 10, dtype=float, meta=np.empty(0))
    for labels, name in (((lists, None), "y"), ((y, lists), "sample_weight")):
        with pytest.raises(ValueError, match=f"^expected {name} as an array: "):
            DaskRows.from_collection(X, *labels, labelled=False)
    for data in ((broken, y), (X, lists)):  # of an estimator that computes collections
        with pytest.raises(ValueError, match=r"^expected X or y as an array: "):
            pliant.KNPLRegressor().fit(*data)


def test_numbers_beyond_the_declared_float32_are_refused():
    X = da.full((20, 2), 1e200, chunks=(10, 2))
    X = X.map_blocks(np.asarray, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    with pytest.raises(ValueError, match=r"^partition \d .*expected finite numbers, got inf in X"):
        DaskRows.from_collection(X, np.zeros(20), None, labelled=False).take(np.arange(3), len)


def test_numbers_beyond_1e100_are_refused_with_their_row():
    X = np.zeros((40, 2))
    X[25, 1] = -1e160
    rows = DaskRows.from_collection(
        da.from_array(X, chunks=(20, 2)), np.zeros(40), None, labelled=False
    )
    with pytest.raises(
        ValueError, match=r"^partition 1 .*at most 1e100 .* -1e\+160 in X at row 25"
    ):
        rows.take(np.arange(3), lambda block: None)
