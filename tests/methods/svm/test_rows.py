"""Rows of a Gram matrix, dense, on demand or bordered, agree with the matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.kernels import Gaussian
from pliant.methods.svm import rows as module
from pliant.methods.svm.rows import CachedRows, DenseRows
from tests.memory import peak_memory

N = 20
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 3))
KERNEL = Gaussian(0.7)
GRAM = KERNEL(X)
DENSE = DenseRows(GRAM)

both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@st.composite
def calls(draw, n):
    """Draw a method and its arguments, for rows of n coordinates."""
    some = arrays(np.intp, st.integers(0, min(n, N)), elements=st.integers(0, n - 1))
    vectors = arrays(float, n, elements=st.just(0.0) | st.floats(-1e3, 1e3))
    name = draw(st.sampled_from(["square", "part", "matvec", "both_matvecs"]))
    if name == "both_matvecs":
        weights = draw(vectors)
        return name, weights, draw(vectors) * (weights != 0)
    if name == "part":
        return name, draw(some), draw(some)
    return name, draw(some if name == "square" else vectors)


def expected(whole, name, first, second=None):
    """Return the expected result from the whole matrix, stacked for `both_matvecs`."""
    if name == "square":
        return whole[np.ix_(first, first)]
    if name == "part":
        return whole[np.ix_(first, second)]
    if name == "both_matvecs":
        return np.stack([whole @ first, whole**2 @ second])
    return whole @ first


def assert_answers(rows, whole, script, dtype):
    for name, *arguments in script:
        result = np.asarray(getattr(rows, name)(*arguments))
        is_sum = name.endswith(("matvec", "matvecs"))
        assert result.dtype == (np.float64 if is_sum else dtype)
        scale = 1.0 + is_sum * sum(np.abs(vector).sum() for vector in arguments)
        atol = 20 * np.finfo(dtype).eps * scale
        np.testing.assert_allclose(result, expected(whole, name, *arguments), rtol=0, atol=atol)
    diagonal = rows.diagonal()
    np.testing.assert_allclose(diagonal, whole.diagonal(), atol=1e-7)
    assert diagonal.dtype == np.float64
    assert len(rows) == len(whole)


@both_precisions
@pytest.mark.parametrize("block_entries", [module.BLOCK_ENTRIES, 50])
@given(n_rows=st.integers(0, N + 2), script=st.lists(calls(N), max_size=8))
@settings(max_examples=60, deadline=None)
def test_whatever_has_been_asked_before_answers_are_those_of_the_whole_matrix(
    dtype, block_entries, n_rows, script
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_ENTRIES", block_entries)
        rows = CachedRows(KERNEL, X, room_for(n_rows, dtype), dtype)
        assert_answers(rows, GRAM, script, dtype)


@both_precisions
@given(script=st.lists(calls(N + 1), max_size=6))
@settings(max_examples=50, deadline=None)
def test_bordered_rows_answer_as_the_bordered_matrix_does(dtype, script):
    for rows in (CachedRows(KERNEL, X, 1e-3, dtype), DenseRows(GRAM.astype(dtype))):
        assert_answers(rows.bordered(), np.pad(GRAM, (0, 1)), script, dtype)


class Counting:
    """A kernel that counts its evaluated values."""

    def __init__(self, kernel=KERNEL):
        self.kernel, self.values = kernel, 0

    def __call__(self, A, B):
        self.values += len(A) * len(B)
        return self.kernel(A, B)

    def diag(self, A):
        return self.kernel.diag(A)

    def prepared(self, points):
        return None


def room_for(n_rows, dtype=np.float64):
    """Return the cache_mb for `n_rows` rows of X and the square block of minimum size."""
    return (N * n_rows + N**2 + 0.5) * np.dtype(dtype).itemsize / 2**20


def warm_and_counting(n_rows):
    """Return rows with a cache of that size, and their kernel with its count reset."""
    kernel = Counting()
    rows = CachedRows(kernel, X, room_for(n_rows))
    kernel.values = 0
    return rows, kernel


@pytest.mark.parametrize(("n_rows", "computed"), [(0, 12), (1, 9), (2, 6), (3, 3), (4, 3)])
def test_a_cache_that_is_too_small_still_serves_what_fits(n_rows, computed):
    """Use the same three rows four times; a least recently used cache would have no hit."""
    rows, kernel = warm_and_counting(n_rows)
    rows.square(np.arange(N))  # leaves space for n_rows rows
    kernel.values = 0
    w = np.zeros(N)
    w[[2, 5, 7]] = 1.0
    for _ in range(4):
        rows.matvec(w)
    assert kernel.values == computed * N


def test_a_square_part_reads_kept_rows_and_computes_half_of_the_rest():
    rows, kernel = warm_and_counting(n_rows=N)
    rows.matvec((np.arange(N) < 5).astype(float))
    kernel.values = 0
    rows.square(np.arange(10))
    assert kernel.values == 25
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_ENTRIES", 5)
        kernel.values = 0
        rows.square(np.arange(10))
    assert kernel.values == 5 + 4 + 3 + 2 + 1


@pytest.mark.parametrize("cache_mb", [0.5, 2.0, 5.0])
def test_memory_stays_within_the_bound(cache_mb, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 20_000)
    points = np.random.default_rng(1).uniform(size=(2000, 2))
    CachedRows(KERNEL, points, cache_mb).matvec(np.ones(2000))  # compiles
    with peak_memory() as used:
        rows = CachedRows(KERNEL, points, cache_mb)
        rows.matvec(np.ones(2000))
        rows.square(np.arange(rows.max_block))
        rows.matvec(np.arange(2000.0))
    assert used.peak < cache_mb * 2**20 + 10 * 20_000 * 8
    assert rows._memory.rows.nbytes + rows.max_block**2 * 8 <= cache_mb * 2**20


class Halt(Exception):
    pass


@pytest.mark.parametrize("name", ["matvec", "both_matvecs", "square"])
def test_a_pause_may_end_the_work_and_nothing_is_spoilt(name, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 2 * N)
    rows = CachedRows(KERNEL, X, room_for(3))
    calls = []

    def pause():
        calls.append(1)
        if len(calls) == 3:
            raise Halt

    arguments = [np.arange(N) if name == "square" else np.ones(N)]
    arguments *= 2 if name == "both_matvecs" else 1
    with pytest.raises(Halt):
        getattr(rows, name)(*arguments, pause)
    assert len(calls) == 3
    np.testing.assert_allclose(
        getattr(rows, name)(*arguments), getattr(DENSE, name)(*arguments), atol=1e-13
    )
