"""In-place exponential of negative numbers, which dominates the cost of a radial kernel.

exp(x) = 2^k exp(r) with k = round(x / log 2) and r = x - k log 2. As |r| <= log(2) / 2, a Taylor
polynomial of exp(r) is accurate up to rounding. The loops contain no branches or calls, so the
compiler vectorises them. NumPy vectorises float64 exp only with AVX-512.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.loops import compiled

# Allow fused multiply-add: the product is not rounded before the addition.
compiled_fused: partial[Any] = partial(compiled, fastmath={"contract"})

C = tuple(1.0 / math.factorial(k) for k in range(14))
D = tuple(np.float32(c) for c in C[:8])
"""Taylor coefficients of exp in float64 and float32."""

CHUNK = 1024
"""Numbers per chunk; both passes over a chunk run in the L1 cache."""


def exponentials(values: npt.NDArray[Any], factor: float = 1.0) -> npt.NDArray[Any]:
    """Replace values by exp(min(factor * values, 0)) and return them.

    The relative error is below 3e-16 for float64 and 1e-7 for float32. Subnormal results are
    replaced by 0, and NaN stays NaN.
    """
    if process.BARE:
        return _by_numpy(values, factor)
    flat = values.ravel(order="K")  # a view if the memory is contiguous
    if values.dtype == np.float64 and np.may_share_memory(flat, values):
        _replace_64(flat, float(factor))
    elif values.dtype == np.float32 and np.may_share_memory(flat, values):
        _replace_32(flat, np.float32(factor))
    else:
        np.exp(np.minimum(factor * values, 0.0), out=values)
    return values


def _by_numpy(values: npt.NDArray[Any], factor: float) -> npt.NDArray[Any]:
    """Do the same with NumPy, whose exponential differs in the last bit."""
    values *= values.dtype.type(factor)
    lost = values < (-708.0 if values.dtype == np.float64 else -87.0)
    np.exp(np.minimum(values, 0.0, out=values), out=values)
    values[lost] = 0.0
    return values


@compiled_fused
def _replace_64(values: Any, factor: Any) -> None:
    # Adding `shift` puts the integer nearest to x in the last bits, for |x| up to shift / 4. For x
    # below `lowest`, exp(x) is subnormal and becomes 0. log 2 = high + low, and k * high is exact.
    shift, lowest, per_log2 = 1.5 * 2.0**52, -708.0, 1.0 / math.log(2.0)
    high, low = 0.6931471803691238, 1.9082149292705877e-10
    shifted = np.empty(CHUNK)
    exponents = shifted.view(np.int64)
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        bits = chunk.view(np.int64)
        for i in range(chunk.size):
            x = factor * chunk[i]
            x = 0.0 if x > 0.0 else x
            t = x * per_log2 + shift if x >= lowest else shift
            k = t - shift
            r = (x - k * high) - k * low
            p = C[10] + r * (C[11] + r * (C[12] + r * C[13]))  # Horner's rule
            p = C[6] + r * (C[7] + r * (C[8] + r * (C[9] + r * p)))
            p = C[2] + r * (C[3] + r * (C[4] + r * (C[5] + r * p)))
            p = 1.0 + r * (1.0 + r * p)
            chunk[i] = 0.0 if x < lowest else p
            shifted[i] = t
        for i in range(chunk.size):  # multiply by 2^k: add k to the exponent bits
            bits[i] += exponents[i] << 52


@compiled_fused
def _replace_32(values: Any, factor: Any) -> None:
    zero, shift, lowest = np.float32(0.0), np.float32(1.5 * 2.0**23), np.float32(-87.0)
    per_log2 = np.float32(1.0 / math.log(2.0))
    high, low = np.float32(0.693359375), np.float32(-2.12194440e-4)
    shifted = np.empty(CHUNK, dtype=np.float32)
    exponents = shifted.view(np.int32)
    for start in range(0, values.size, CHUNK):
        chunk = values[start : start + CHUNK]
        bits = chunk.view(np.int32)
        for i in range(chunk.size):
            x = factor * chunk[i]
            x = zero if x > zero else x
            t = x * per_log2 + shift if x >= lowest else shift
            k = t - shift
            r = (x - k * high) - k * low
            p = D[4] + r * (D[5] + r * (D[6] + r * D[7]))
            p = D[0] + r * (D[1] + r * (D[2] + r * (D[3] + r * p)))
            chunk[i] = zero if x < lowest else p
            shifted[i] = t
        for i in range(chunk.size):
            bits[i] += exponents[i] << np.int32(23)
