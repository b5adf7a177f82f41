"""Maps of single features: to a common range and, where they are skewed, to another scale."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_vector

WARPS = ("raw", "log", "asinh")
"""Scales of a feature: as it is, log(x + offset), asinh((x - offset) / width)."""

SKEWED = 1.0
"""Features whose absolute skewness is at most this keep their scale."""

DISTINCT = 5
"""Features with at most this many different values keep their scale."""

ENTRIES = 500_000
"""Entries that are copied at once, so that a memory map is never read as a whole."""

SAMPLE = 20_000
"""Approximate number of rows that scales are chosen from."""

SMALLEST = 1e-300
"""A feature whose half range is at most this counts as constant."""

BEYOND = 1.5
"""Bound on the absolute value of a feature on another scale: distant points stay comparable."""


class Warp(BaseEstimator):
    """The map u(x): each feature on its scale, then to [-1, 1] over the training points.

    Parameters
    ----------
    kinds : array of int of shape (n_features,)
        Index of each feature's scale in `WARPS`.
    offsets, widths : arrays of shape (n_features,)
        Parameters of the scales.
    centres, slopes : arrays of shape (n_features,)
        u = (scaled x - centre) * slope; a slope of 0 leaves a constant feature out.
    """

    def __init__(
        self, kinds: Indices, offsets: Array, widths: Array, centres: Array, slopes: Array
    ) -> None:
        self.kinds = kinds
        self.offsets = offsets
        self.widths = widths
        self.centres = centres
        self.slopes = slopes

    @classmethod
    def learn(cls, X: Array, kind: str = "raw", *, scale: bool = True) -> Self:
        """Return the map that suits given points.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        kind : {"raw", "log", "asinh"}, default="raw"
            Scale of the skewed features; "log" leaves features with negative values as they are.
        scale : bool, default=True
            Whether to map to [-1, 1]; otherwise features are only centred.
        """
        d = X.shape[1]
        check_choice("kind", kind, WARPS)
        warp = cls(np.zeros(d, dtype=np.intp), np.zeros(d), np.ones(d), np.zeros(d), np.ones(d))
        low, high = _range(warp, X)
        if kind != "raw":
            warp._bend(kind, np.asarray(X[:: max(1, len(X) // SAMPLE)], dtype=np.float64), low)
            low, high = _range(warp, X)
        half = high / 2 - low / 2
        warp.centres = low + half
        varies = half > SMALLEST
        warp.slopes = np.divide(1.0, half, out=np.zeros(d), where=varies) if scale else 1.0 * varies
        return warp

    def _bend(self, kind: str, X: Array, low: Array) -> None:
        """Choose the scale of each skewed feature, from some rows and the minimum of all rows."""
        for j in np.flatnonzero(_skewed(X)):
            fitted = _log_scale(X[:, j], low[j]) if kind == "log" else _asinh_scale(X[:, j])
            if fitted is not None:
                self.kinds[j], (self.offsets[j], self.widths[j]) = WARPS.index(kind), fitted

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        d = len(np.atleast_1d(self.slopes))
        for name in ("offsets", "widths", "centres", "slopes"):
            check_vector(name, getattr(self, name), d)
        kinds = np.asarray(self.kinds)
        if kinds.shape != (d,) or not np.isin(kinds, range(len(WARPS))).all():
            raise ValueError(f"expected kinds of {d} features, out of {WARPS}")

    @property
    def affine(self) -> bool:
        """Whether every feature keeps its scale."""
        return not np.any(self.kinds)

    def key(self) -> bytes:
        """Return bytes that are equal for equal maps."""
        parts = (self.kinds, self.offsets, self.widths, self.centres, self.slopes)
        return b"".join(np.asarray(part, dtype=np.float64).tobytes() for part in parts)

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Return u(x) of each row, float64, shape (n_samples, n_features)."""
        scaled = self._scaled(np.asarray(X))
        scaled -= self.centres
        scaled *= self.slopes
        bent = np.flatnonzero(self.kinds)
        scaled[:, bent] = scaled[:, bent].clip(-BEYOND, BEYOND)
        return scaled

    def _scaled(self, X: Array) -> Array:
        """Return each feature on its scale."""
        scaled = np.array(X, dtype=np.float64)
        for j in np.flatnonzero(self.kinds == WARPS.index("log")):
            scaled[:, j] = np.log(np.maximum(scaled[:, j], 0.0) + self.offsets[j])
        for j in np.flatnonzero(self.kinds == WARPS.index("asinh")):
            scaled[:, j] = np.arcsinh((scaled[:, j] - self.offsets[j]) / self.widths[j])
        return scaled


def _range(warp: Warp, X: Array) -> tuple[Array, Array]:
    """Return minimum and maximum of each scaled feature, computed in blocks of rows."""
    lows, highs = [], []
    step = max(1, ENTRIES // X.shape[1])
    for first in range(0, len(X), step):
        block = warp._scaled(X[first : first + step])
        lows.append(block.min(axis=0))
        highs.append(block.max(axis=0))
    return np.min(lows, axis=0), np.max(highs, axis=0)


def skewness(X: Array) -> Array:
    """Return the skewness of each column, shape (d,); 0 for a constant one."""
    size = np.abs(X).max(axis=0)
    unit = X / np.where(size > 0, size, 1.0)
    spread = unit.std(axis=0)
    deviation = (unit - unit.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray((deviation**3).mean(axis=0))


def _skewed(X: Array) -> Mask:
    """Return which features have many values and are skewed, to either side."""
    many = np.array([len(np.unique(column)) > DISTINCT for column in X.T], dtype=bool)
    return many & (np.abs(skewness(X)) > SKEWED)


def _log_scale(x: Array, low: float) -> tuple[float, float] | None:
    """Return offset and width of log(x + offset): a tenth of the median of the positive values."""
    if low < 0 or np.median(x) > (x.max() + low) / 2:
        return None
    return 0.1 * float(np.median(x[x > 0])), 1.0


def _asinh_scale(x: Array) -> tuple[float, float]:
    """Return median and half the interquartile range; if that is 0, a third of the deviation."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    width = (high - low) / 2
    return float(middle), float(width) if width > 0 else float(x.std()) / 3
