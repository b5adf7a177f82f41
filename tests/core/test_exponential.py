"""Compare `exponentials` with NumPy's exponential in extended precision."""

import numpy as np
import pytest

from pliant.core.exponential import exponentials

ALLOWED = {np.float64: 3e-16, np.float32: 1e-7}
LOWEST = {np.float64: -708.0, np.float32: -87.0}


def points(dtype, seed=0):
    """Return numbers of all magnitudes for which the exponential is a normal number."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(LOWEST[dtype], 0.0, 20_000)
    near = -(10.0 ** rng.uniform(-20.0, 1.0, 20_000))
    ties = -np.log(2.0) * (np.arange(100) + 0.5)
    return np.concatenate([spread, near, ties, [0.0, LOWEST[dtype]]]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("factor", [1.0, -1.0, -0.37])
def test_it_is_the_exponential_to_rounding(dtype, factor):
    x = points(dtype)
    values = x.copy() if factor == 1.0 else (x / dtype(factor)).astype(dtype)
    exact = np.exp(np.longdouble(1.0) * (dtype(factor) * values))
    result = exponentials(values, factor)
    normal = exact >= np.finfo(dtype).smallest_normal
    assert result is values
    assert result.dtype == dtype
    assert float(np.abs(result[normal] / exact[normal] - 1).max()) < ALLOWED[dtype]
    assert (result[~normal] <= np.finfo(dtype).smallest_normal * 2).all()
    assert ((result >= 0) & (result <= 1)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_beyond_the_range(dtype):
    x = np.array([np.nan, -np.inf, -1e4, 0.0, 3.0, np.inf], dtype=dtype)
    np.testing.assert_array_equal(exponentials(x), [np.nan, 0.0, 0.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 3000])
def test_every_size_is_done_to_the_end(size):
    x = -np.arange(size) / 7.0
    np.testing.assert_allclose(exponentials(x.copy()), np.exp(x), rtol=1e-15)


@pytest.mark.parametrize("part", [np.s_[:, ::2], np.s_[1:5], np.s_[:, 3], np.s_[::-1]], ids=repr)
@pytest.mark.parametrize("order", ["C", "F"])
def test_views_are_overwritten_and_nothing_else(part, order):
    whole = np.asarray(-np.random.default_rng(1).random((10, 8)), order=order)
    expected = whole.copy()
    expected[part] = np.exp(whole[part])
    exponentials(whole[part])
    np.testing.assert_allclose(whole, expected, rtol=1e-15)
