"""Rows on demand: the same numbers as the whole matrix gives, in bounded memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.kernels import TL1, FunctionKernel, Gaussian, Polynomial, Precomputed
from pliant.methods.svm.rows import CachedRows, DenseRows, cached

N = 20
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 3))
KERNEL = Gaussian(0.7)
DENSE = DenseRows(KERNEL(X))

numbers = st.integers(0, N - 1)
some = arrays(np.intp, st.integers(0, N), elements=numbers)
vectors = arrays(float, N, elements=st.just(0.0) | st.floats(-1e3, 1e3))


class Counting:
    """A kernel that counts the values it has been asked for."""

    symmetric = True

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
    """The cache_mb that holds so many rows of X besides the square part that is always possible."""
    return (N * n_rows + N**2 + 0.5) * np.dtype(dtype).itemsize / 2**20


def warm_and_counting(n_rows):
    """Rows in a cache of that size, on which the count starts at zero."""
    kernel = Counting()
    rows = CachedRows(kernel, X, room_for(n_rows))
    kernel.values = 0
    return rows, kernel


calls = st.one_of(
    st.tuples(st.just("block"), some),
    st.tuples(st.just("square"), some),
    st.tuples(st.just("part"), some, some),
    st.tuples(st.just("matvec"), vectors),
    st.tuples(st.just("both_matvecs"), vectors, vectors),
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("block_entries", [cached.BLOCK_ENTRIES, 50])
@given(n_rows=st.integers(0, N + 2), script=st.lists(calls, max_size=8))
@settings(max_examples=60, deadline=None)
def test_whatever_has_been_asked_before_answers_are_those_of_the_whole_matrix(
    dtype, block_entries, n_rows, script
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cached, "BLOCK_ENTRIES", block_entries)
        rows = CachedRows(KERNEL, X, room_for(n_rows, dtype), dtype)
        for name, *arguments in script:
            if name == "both_matvecs":
                arguments[1] = arguments[1] * (arguments[0] != 0)
            result = np.asarray(getattr(rows, name)(*arguments))
            expected = getattr(DENSE, name)(*arguments)
            is_sum = name.endswith(("matvec", "matvecs"))
            assert result.dtype == (np.float64 if is_sum else dtype)
            scale = 1 + sum(np.abs(vector).sum() for vector in arguments) if is_sum else 1.0
            np.testing.assert_allclose(
                result, expected, rtol=0, atol=20 * np.finfo(dtype).eps * scale
            )


def test_length_and_diagonal_are_those_of_the_matrix():
    rows = CachedRows(Polynomial(degree=2), X, dtype=np.float32)
    assert len(rows) == N
    expected = Polynomial(degree=2).diag(X).astype(np.float32)
    np.testing.assert_array_equal(rows.diagonal(), expected)
    assert rows.diagonal().dtype == np.float64


def test_a_row_is_computed_once_if_it_fits():
    rows, kernel = warm_and_counting(n_rows=5)
    w = np.zeros(N)
    w[[2, 5, 7]] = 1.0
    for _ in range(3):
        rows.matvec(w)
        rows.block(np.array([7, 2]))
        rows.part(np.array([5]), np.arange(4))
    assert kernel.values == 3 * N


@pytest.mark.parametrize(("n_rows", "computed"), [(0, 12), (1, 9), (2, 6), (3, 3), (4, 3)])
def test_a_cache_that_is_too_small_still_serves_what_fits(n_rows, computed):
    """The same three rows four times over: keeping the most recent ones would serve none."""
    rows, kernel = warm_and_counting(n_rows)
    rows.square(np.arange(N))  # takes its place in the cache; n_rows rows are left
    kernel.values = 0
    w = np.zeros(N)
    w[[2, 5, 7]] = 1.0
    for _ in range(4):
        rows.matvec(w)
    assert kernel.values == computed * N


def test_rows_in_use_replace_rows_that_are_not():
    rows, kernel = warm_and_counting(n_rows=3)
    rows.square(np.arange(N))
    first, second = np.zeros(N), np.zeros(N)
    first[[1, 2, 3]], second[[11, 12, 13]] = 1.0, 1.0
    rows.matvec(first)
    rows.matvec(second)
    kernel.values = 0
    rows.matvec(second)
    assert kernel.values == 0


def test_rows_used_often_outlive_one_use_of_others():
    rows, kernel = warm_and_counting(n_rows=2)
    rows.square(np.arange(N))
    often, once = np.zeros(N), np.zeros(N)
    often[[1, 2]] = 1.0
    once[3:] = 1.0
    for _ in range(5):
        rows.matvec(often)
    rows.matvec(often + once)
    kernel.values = 0
    rows.matvec(often)
    assert kernel.values == 0


def test_both_sums_compute_each_row_once():
    rows, kernel = warm_and_counting(n_rows=0)
    w = np.zeros(N)
    w[[2, 5, 7]] = 1.0, -2.0, 3.0
    rows.both_matvecs(w, w**2)
    assert kernel.values == 3 * N


def test_a_square_part_reads_kept_rows_and_computes_half_of_the_rest():
    rows, kernel = warm_and_counting(n_rows=N)
    rows.block(np.arange(5))
    kernel.values = 0
    rows.square(np.arange(10))
    assert kernel.values == 25
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cached, "BLOCK_ENTRIES", 5)
        kernel.values = 0
        rows.square(np.arange(10))
    assert kernel.values == 5 + 4 + 3 + 2 + 1


def test_the_next_square_part_takes_the_place_of_the_last():
    rows = CachedRows(KERNEL, X)
    first = rows.square(np.arange(4))
    second = rows.square(np.arange(4, 8))
    assert np.shares_memory(first, second)
    np.testing.assert_allclose(second, DENSE.square(np.arange(4, 8)), atol=1e-15)


@pytest.mark.parametrize("cache_mb", [0.5, 2.0, 5.0])
def test_memory_stays_within_the_bound(cache_mb, monkeypatch):
    monkeypatch.setattr(cached, "BLOCK_ENTRIES", 20_000)
    points = np.random.default_rng(1).uniform(size=(2000, 2))
    CachedRows(KERNEL, points, cache_mb).matvec(np.ones(2000))  # compiles
    tracemalloc.start()
    rows = CachedRows(KERNEL, points, cache_mb)
    rows.matvec(np.ones(2000))
    rows.square(np.arange(rows.room))
    rows.matvec(np.arange(2000.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < cache_mb * 2**20 + 10 * 20_000 * 8
    assert rows._memory.rows.nbytes + rows.room**2 * 8 <= cache_mb * 2**20


def test_a_solver_may_ask_for_a_square_part_of_three_quarters_of_the_cache():
    points = np.zeros((3000, 1))
    for dtype in (np.float32, np.float64):
        rows = CachedRows(KERNEL, points, 8.0, dtype)
        share = rows.room**2 * np.dtype(dtype).itemsize / 2**23
        assert 0.74 < share <= 0.75
    assert CachedRows(KERNEL, points, 1e-9).room == cached.SMALLEST_ROOM
    assert CachedRows(KERNEL, X).room == N


def test_more_than_the_room_is_refused():
    rows = CachedRows(KERNEL, np.zeros((500, 1)), 1e-3)
    with pytest.raises(ValueError, match="expected at most 128 indices, got 129"):
        rows.square(np.arange(129))


class Halt(Exception):
    pass


@pytest.mark.parametrize("name", ["matvec", "both_matvecs", "square"])
def test_a_pause_may_end_the_work_and_nothing_is_spoilt(name, monkeypatch):
    monkeypatch.setattr(cached, "BLOCK_ENTRIES", 2 * N)
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


def test_rows_of_zero_weight_are_neither_computed_nor_read():
    rows, kernel = warm_and_counting(n_rows=2)
    np.testing.assert_array_equal(rows.matvec(np.zeros(N)), np.zeros(N))
    assert kernel.values == 0


def test_rows_of_a_precomputed_kernel_are_those_of_its_matrix():
    rows = CachedRows(Precomputed(DENSE.gram), np.arange(float(N))[:, None], 1.0)
    np.testing.assert_array_equal(rows.block(np.arange(N)), DENSE.gram)


@pytest.mark.parametrize("cache_mb", [0, -1.0, np.nan, np.inf, "big", True])
def test_the_cache_must_be_a_positive_number(cache_mb):
    with pytest.raises(ValueError, match="expected cache_mb > 0, a finite number, got"):
        CachedRows(KERNEL, X, cache_mb)


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex128, np.longdouble])
def test_other_precisions_are_refused(dtype):
    with pytest.raises(ValueError, match="expected dtype float32 or float64, got"):
        CachedRows(KERNEL, X, dtype=dtype)


def test_a_kernel_that_says_it_is_not_symmetric_is_refused():
    kernel = Counting()
    kernel.symmetric = False
    with pytest.raises(ValueError, match="expected a symmetric kernel, got"):
        CachedRows(kernel, X)
    assert kernel.values == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_kernel_that_turns_out_not_symmetric_is_refused(dtype):
    skewed = FunctionKernel(lambda A, B: A @ B.T + 1e-3 * A[:, :1])
    said = r"expected a symmetric kernel, got .* for rows \d+ and \d+ but .* for rows \d+ and \d+"
    with pytest.raises(ValueError, match=said):
        CachedRows(skewed, X, dtype=dtype)


def test_a_kernel_that_is_not_psd_is_taken():
    np.testing.assert_array_equal(CachedRows(TL1(), X).square(np.arange(N)), TL1()(X))


@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float32, 1e30), (np.float64, 1e200)], ids=["float32", "float64"]
)
def test_values_that_overflow_are_refused(dtype, scale):
    points = np.ones((100, 1))
    points[1] = scale  # not in the sample on which symmetry is checked
    with pytest.raises(ValueError, match=r"expected finite kernel values(,| in float32)"):
        CachedRows(Polynomial(degree=2), points, dtype=dtype).matvec(np.ones(100))


@pytest.mark.parametrize("bad", [np.ones(3), np.full((3, 1), np.nan), [["a"], ["b"]]])
def test_bad_points_are_refused(bad):
    with pytest.raises(ValueError, match="expected"):
        CachedRows(KERNEL, bad)


@pytest.mark.parametrize("shape", [(N - 1,), (N, 1)])
def test_weights_must_be_one_per_row(shape):
    rows = CachedRows(KERNEL, X)
    with pytest.raises(ValueError, match=r"expected weights of shape \(20,\), got"):
        rows.matvec(np.ones(shape))
    with pytest.raises(ValueError, match=r"expected weights of shape \(20,\), got"):
        rows.both_matvecs(np.ones(shape), np.ones(N))
