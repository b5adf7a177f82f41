"""Rows with a border of zeros: the same numbers as the bordered matrix gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.kernels import Gaussian
from pliant.methods.svm.rows import BorderedRows, CachedRows, DenseRows, cached

N = 12
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 3))
KERNEL = Gaussian(0.7)
WHOLE = np.pad(KERNEL(X), (0, 1))

both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])
some = arrays(np.intp, st.integers(0, N), elements=st.integers(0, N))
vectors = arrays(float, N + 1, elements=st.just(0.0) | st.floats(-1e3, 1e3))
calls = st.one_of(
    st.tuples(st.just("block"), some),
    st.tuples(st.just("square"), some),
    st.tuples(st.just("part"), some, some),
    st.tuples(st.just("matvec"), vectors),
    st.tuples(st.just("both_matvecs"), vectors, vectors),
)


def expected(name, first, second=None):
    """The answer, from the whole matrix; of both sums, one above the other."""
    if name == "block":
        return WHOLE[first]
    if name == "square":
        return WHOLE[np.ix_(first, first)]
    if name == "part":
        return WHOLE[np.ix_(first, second)]
    if name == "both_matvecs":
        return np.stack([WHOLE @ first, WHOLE**2 @ (second * (first != 0))])
    return (WHOLE if name == "matvec" else WHOLE**2) @ first


@both_precisions
@given(script=st.lists(calls, max_size=6))
@settings(max_examples=100, deadline=None)
def test_whatever_is_asked_is_answered_as_by_the_bordered_matrix(dtype, script):
    for inner in (CachedRows(KERNEL, X, 1e-3, dtype), DenseRows(KERNEL(X), dtype)):
        rows = BorderedRows(inner)
        for name, *given_to in script:
            if name == "both_matvecs":
                given_to[1] = given_to[1] * (given_to[0] != 0)
            result = np.asarray(getattr(rows, name)(*given_to))
            is_sum = name.endswith(("matvec", "matvecs"))
            assert result.dtype == (np.float64 if is_sum else dtype)
            scale = 1.0 + is_sum * sum(np.abs(vector).sum() for vector in given_to)
            np.testing.assert_allclose(
                result, expected(name, *given_to), rtol=0, atol=20 * np.finfo(dtype).eps * scale
            )


def test_length_diagonal_and_room():
    inner = CachedRows(KERNEL, np.zeros((500, 1)), 1e-3)
    rows = BorderedRows(inner)
    assert len(rows) == 501
    assert rows.room == inner.room == cached.SMALLEST_ROOM
    np.testing.assert_array_equal(rows.diagonal(), [*inner.diagonal(), 0.0])
    assert not rows.diagonal().flags.writeable
    assert BorderedRows(DenseRows(np.eye(3))).room is None


def test_the_border_may_come_anywhere_and_more_than_once():
    rows = BorderedRows(CachedRows(KERNEL, X))
    for asked in ([N, 3, N], [N], [2, N, 0], [N, N]):
        asked = np.array(asked)
        np.testing.assert_allclose(rows.square(asked), WHOLE[np.ix_(asked, asked)], atol=1e-15)
        np.testing.assert_allclose(rows.block(asked), WHOLE[asked], atol=1e-15)


class Halt(Exception):
    pass


@pytest.mark.parametrize("name", ["matvec", "both_matvecs", "square"])
def test_a_pause_may_end_the_work_and_nothing_is_spoilt(name, monkeypatch):
    monkeypatch.setattr(cached, "BLOCK_ENTRIES", 2 * N)
    rows = BorderedRows(CachedRows(KERNEL, X, 1e-3))
    seen = []

    def pause():
        seen.append(1)
        if len(seen) == 3:
            raise Halt

    given_to = [np.arange(N + 1)] if name == "square" else [np.ones(N + 1)]
    given_to *= 2 if name == "both_matvecs" else 1
    with pytest.raises(Halt):
        getattr(rows, name)(*given_to, pause)
    assert len(seen) == 3
    result = np.asarray(getattr(rows, name)(*given_to))
    np.testing.assert_allclose(result, expected(name, *given_to), atol=1e-13)


def test_rows_of_zero_weight_are_not_read_nor_is_the_border():
    gram = KERNEL(X)
    gram[4] = np.nan
    weights = np.arange(N + 1.0)
    weights[4] = 0.0
    u, v = BorderedRows(DenseRows(gram)).both_matvecs(weights, weights**2)
    rest = np.flatnonzero(weights[:-1])
    np.testing.assert_allclose(u[:-1], weights[rest] @ gram[rest])
    np.testing.assert_allclose(v[:-1], weights[rest] ** 2 @ gram[rest] ** 2)
    assert u[-1] == v[-1] == 0.0


@pytest.mark.parametrize("shape", [(N,), (N + 2,)])
def test_weights_must_be_one_per_row(shape):
    rows = BorderedRows(CachedRows(KERNEL, X))
    with pytest.raises(ValueError, match="expected weights of shape"):
        rows.matvec(np.ones(shape))
