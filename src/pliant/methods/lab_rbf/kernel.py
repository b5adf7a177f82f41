"""Radial kernels with separate bandwidths for each point of the second argument.

A profile h is a decreasing function of the squared distance D. Profiles take arrays of NumPy and of
PyTorch: `xp` is the module of the array. `Warp` maps features to a common range and, where they are
skewed, to another scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.core.exponential import exponentials
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_points, check_vector
from pliant.kernels.base import Kernel, _Wrapped
from pliant.kernels.standard import Gaussian, Matern
from pliant.methods.lab_rbf.constants import BEYOND, SKEWED, SMALLEST

CACHED = 130_000  # Number of kernel values that are computed together: 1 MB.


@dataclass(frozen=True)
class Profile:
    """A decreasing function h with h(0) = 1."""

    value: Callable[[Any, Any], Any]  # (xp, D) -> h(D); may overwrite D
    slope: Callable[[Any, Any, Any], Any]  # (xp, D, h(D)) -> h'(D) / factor
    factor: float = 1.0
    needs_distance: bool = True  # the slope needs D in addition to h(D)
    cusp: bool = False  # h'(0) is infinite, so that rounding errors near D = 0 show


def _gaussian(xp: Any, D: Any) -> Any:
    """Compute exp(-D)."""
    if xp is np:
        return exponentials(D, -1.0)
    xp.negative(D, out=D)
    return xp.exp(D, out=D)


def _gaussian_slope(xp: Any, D: Any, values: Any) -> Any:
    return values


def _laplacian(xp: Any, D: Any) -> Any:
    """Compute exp(-r), r = sqrt(D)."""
    xp.sqrt(D, out=D)
    return _gaussian(xp, D)


def _laplacian_slope(xp: Any, D: Any, values: Any) -> Any:
    # The slope of exp(-r) by D is infinite at 0, where the point is a centre and stays one.
    slopes = values / xp.sqrt(xp.clip(D, 1e-12, None))
    slopes[D == 0.0] = 0.0
    return slopes


def _matern52(xp: Any, D: Any) -> Any:
    """Compute (1 + r + r^2/3) exp(-r), r = sqrt(5 D)."""
    r = xp.sqrt(5.0 * D)
    polynomial = 1.0 + r * (1.0 + r / 3.0)
    polynomial *= _gaussian(xp, r)
    return polynomial


def _matern52_slope(xp: Any, D: Any, values: Any) -> Any:
    # d/dD (1 + r + r^2/3) exp(-r) = -5/6 (1 + r) exp(-r)
    r = xp.sqrt(5.0 * D)
    return (1.0 + r) * xp.exp(-r)


PROFILES: dict[str, Profile] = {
    "gaussian": Profile(_gaussian, _gaussian_slope, factor=-1.0, needs_distance=False),
    "laplacian": Profile(_laplacian, _laplacian_slope, factor=-0.5, cusp=True),
    "matern52": Profile(_matern52, _matern52_slope, factor=-5.0 / 6.0),
}
"""Profiles by name."""


class LocalRBFKernel(Kernel):
    """k(t, c_i) = h(|theta_i o (t - c_i)|^2) with bandwidths theta_i of each centre c_i.

    It is neither symmetric nor positive semi-definite. Its second argument is fixed: only the
    centres have bandwidths. ``k(X, k.centres)`` has shape (n_samples, n_centres).

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
        The c_i, in the units of the features.
    bandwidths : array of shape (n_centres, n_features)
        The theta_i >= 0, in inverse units; 0 leaves a feature out.
    profile : {"gaussian", "laplacian", "matern52"}, default="gaussian"
        h(D) = exp(-D), exp(-r) or (1 + s + s^2/3) exp(-s), r = sqrt(D), s = sqrt(5 D).
    warp : Warp, optional
        A map u of the features; then D = |theta_i o (u(t) - u(c_i))|^2.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eq. 1.
    """

    symmetric = False
    psd = False

    def __init__(
        self, centres: Array, bandwidths: Array, profile: str = "gaussian", warp: Warp | None = None
    ) -> None:
        self.centres = centres
        self.bandwidths = bandwidths
        self.profile = profile
        self.warp = warp

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        centres = check_points(self.centres, "centres")
        bandwidths = check_points(self.bandwidths, "bandwidths")
        if bandwidths.shape != centres.shape or (bandwidths < 0).any():
            raise ValueError(
                f"expected bandwidths >= 0 of shape {centres.shape}, got {bandwidths.shape}"
            )
        check_choice("profile", self.profile, PROFILES)
        warp: object = self.warp
        if warp is None:
            return
        if not isinstance(warp, Warp) or warp.slopes.shape != centres.shape[1:]:
            raise ValueError(f"expected a Warp of {centres.shape[1]} features")

    def _check_pair(self, X: Array, Y: Array) -> None:
        super()._check_pair(X, Y)
        if Y.shape != self.centres.shape or not np.array_equal(Y, self.centres):
            self._refuse(f"{len(Y)} others")

    def _refuse_one_set(self) -> None:
        self._refuse("one set of points (pass a copy of the support points for their matrix)")

    def _refuse(self, got: str) -> None:
        """Raise ValueError: bandwidths belong to the centres."""
        raise ValueError(
            "bandwidths belong to the support points; use kernel_(X, model.support_vectors_), or "
            f"k(X, k.centres): expected those {len(self.centres)} points as Y, got {got}; methods "
            "that need a symmetric kernel, such as SVC and KernelPCA, take model.symmetric_kernel_"
        )

    def symmetric_kernel(self) -> Kernel:
        """Build the symmetric kernel h(|theta o (x - y)|^2) with one bandwidth for each feature.

        theta is the geometric mean of the bandwidths over the centres. The kernel is positive
        semi-definite: a Gaussian or a Matern kernel, of the mapped features if there is a `warp`.
        """
        with np.errstate(divide="ignore"):
            squares = np.exp(2.0 * np.log(self.bandwidths).mean(axis=0))
        nu = {"gaussian": None, "laplacian": 0.5, "matern52": 2.5}[self.profile]
        kernel: Kernel = Gaussian(squares) if nu is None else Matern(nu, squares / 2.0)
        return kernel if self.warp is None else Mapped(kernel, self.warp)

    def _gram(self, X: Array, Y: Array) -> Array:
        check_choice("profile", self.profile, PROFILES)
        return self.values(X)

    def _diagonal(self, X: Array) -> Array:
        self._check_pair(X, X)
        return np.ones(len(X))

    def values(self, X: Array) -> Array:
        """Compute k(X, centres), shape (n_samples, n_centres)."""
        return np.asarray(PROFILES[self.profile].value(np, self.squares(X)))

    def squares(self, X: Array) -> Array:
        """Compute |theta_i o (t - c_i)|^2, shape (n_samples, n_centres)."""
        return _SquaredDistances.of(self).of_points(X)

    def times(self, X: Array, coefficients: Array) -> Array:
        """Compute k(X, centres) @ coefficients, shape (n_samples, q), in blocks for the cache."""
        profile, distances = PROFILES[self.profile], _SquaredDistances.of(self)
        result = np.empty((len(X), coefficients.shape[1]))
        step = max(1, CACHED // len(self.centres))
        for low in range(0, len(X), step):
            rows = slice(low, low + step)
            squares = distances.of_points(X[rows], exact_zero=profile.cusp)
            result[rows] = profile.value(np, squares) @ coefficients
        return result


def point_products(X: Array) -> Array:
    """Compute z(x) = [x o x, x, 1] of each row of X, shape (n, 2 d + 1)."""
    n, d = X.shape
    z = np.empty((n, 2 * d + 1))  # np.hstack takes longer for few rows
    z[:, :d], z[:, d : 2 * d], z[:, -1] = X * X, X, 1.0
    return z


def centre_products(W: Array, C: Array) -> Array:
    """Compute w_i = [W_i, -2 W_i o c_i, W_i'(c_i o c_i)], shape (m, 2 d + 1)."""
    # z(x)'w_i = W_i'((x - c_i) o (x - c_i)), the squared distance
    shifted, (m, d) = W * C, W.shape
    w = np.empty((m, 2 * d + 1))
    w[:, :d], w[:, d : 2 * d], w[:, -1] = W, -2.0 * shifted, (shifted * C).sum(axis=1)
    return w


class _SquaredDistances(NamedTuple):
    """|theta_i o (u(x) - u(c_i))|^2 for the centres c_i of a kernel, by one matrix product."""

    warp: Warp | None  # u
    middle: Array  # of the mapped centres: near the origin, the product form is exact
    widest: Array  # the largest theta of each feature, the inverse of the unit of points
    products: Array  # w_i in this unit, shape (2 d + 1, m)

    @classmethod
    def of(cls, kernel: LocalRBFKernel) -> Self:
        """Prepare the distances from the centres of a kernel."""
        theta, warp = kernel.bandwidths, kernel.warp
        centres = kernel.centres if warp is None else warp(kernel.centres)
        middle, widest = centres.mean(axis=0), theta.max(axis=0)
        theta = theta / np.where(widest > 0, widest, 1.0)
        products = centre_products(theta * theta, (centres - middle) * widest).T.copy()
        return cls(warp, middle, widest, products)

    def of_points(self, X: Array, *, exact_zero: bool = True) -> Array:
        """Compute the squares, (n, m); `exact_zero` sets those below rounding errors to 0."""
        points = (X if self.warp is None else self.warp(X)) - self.middle
        # Points beyond 1e150 bandwidths are moved to that distance, which has a square.
        result = point_products((points * self.widest).clip(-1e150, 1e150)) @ self.products
        if exact_zero:
            result[result < 16.0 * np.finfo(np.float64).eps * self.products[-1]] = 0.0
        return np.asarray(np.maximum(result, 0.0, out=result))


WARPS = ("raw", "log", "asinh")
"""Scales of a feature: x, log(x + offset), asinh((x - offset) / width)."""


@dataclass(eq=False, repr=False)
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

    kinds: Indices
    offsets: Array
    widths: Array
    centres: Array
    slopes: Array

    @classmethod
    def learn(cls, X: Array, kind: str = "raw") -> Self:
        """Choose the map for given points.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        kind : {"raw", "log", "asinh"}, default="raw"
            Scale of the skewed features; "log" leaves features with negative values as they are.
        """
        d = X.shape[1]
        check_choice("kind", kind, WARPS)
        warp = cls(np.zeros(d, dtype=np.intp), np.zeros(d), np.ones(d), np.zeros(d), np.ones(d))
        low, high = _range(warp, X)
        if kind != "raw":
            some = np.asarray(X[:: max(1, len(X) // 20_000)], dtype=np.float64)
            for j in np.flatnonzero(np.abs(skewness(some)) > SKEWED):
                x = some[:, j]
                if len(np.unique(x)) <= 5:  # counts and categories keep their scale
                    continue
                fitted = _log_scale(x, low[j]) if kind == "log" else _asinh_scale(x)
                if fitted is not None:
                    warp.kinds[j], (warp.offsets[j], warp.widths[j]) = WARPS.index(kind), fitted
            low, high = _range(warp, X)
        half = high / 2 - low / 2
        warp.centres = low + half
        warp.slopes = np.divide(1.0, half, out=np.zeros(d), where=half > SMALLEST)
        return warp

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
        """True if every feature keeps its scale."""
        return not np.any(self.kinds)

    def key(self) -> bytes:
        """Serialise the map: equal maps have equal bytes."""
        parts = (self.kinds, self.offsets, self.widths, self.centres, self.slopes)
        return b"".join(np.asarray(part, dtype=np.float64).tobytes() for part in parts)

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Compute u(x) of each row, float64, shape (n_samples, n_features)."""
        scaled = (self._scaled(np.asarray(X)) - self.centres) * self.slopes
        bent = np.flatnonzero(self.kinds)
        scaled[:, bent] = scaled[:, bent].clip(-BEYOND, BEYOND)
        return scaled

    def flat(self, X: Array) -> Mask:
        """Mark entries of X where u is constant: features on another scale, beyond its bounds."""
        outside = (self.kinds > 0) & (np.abs(self(X)) >= BEYOND)
        return np.asarray(outside | ((self.kinds == WARPS.index("log")) & (X < 0)))

    def _scaled(self, X: Array) -> Array:
        """Compute each feature on its scale."""
        scaled = np.array(X, dtype=np.float64)
        for j in np.flatnonzero(self.kinds == WARPS.index("log")):
            scaled[:, j] = np.log(np.maximum(scaled[:, j], 0.0) + self.offsets[j])
        for j in np.flatnonzero(self.kinds == WARPS.index("asinh")):
            scaled[:, j] = np.arcsinh((scaled[:, j] - self.offsets[j]) / self.widths[j])
        return scaled


class Mapped(_Wrapped):
    """A kernel of mapped features: k(x, y) = kernel(u(x), u(y)).

    Parameters
    ----------
    kernel : Kernel
    warp : Warp
        The map u.
    """

    def __init__(self, kernel: Kernel, warp: Warp) -> None:
        self.kernel = kernel
        self.warp = warp

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self.warp(X)
        return self.kernel._gram(left, left if Y is X else self.warp(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self.warp(X))

    def _check_pair(self, X: Array, Y: Array) -> None:
        super()._check_pair(X, Y)
        if X.shape[1] != len(self.warp.slopes):
            raise ValueError(
                f"expected points with {len(self.warp.slopes)} features, as the map's, "
                f"got {X.shape[1]}"
            )

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, do not belong together."""
        super()._check_loaded()
        if not isinstance(self.warp, Warp):
            raise ValueError(f"expected warp to be a Warp, got {type(self.warp).__name__}")


def _range(warp: Warp, X: Array) -> tuple[Array, Array]:
    """Compute minimum and maximum of each scaled feature in blocks of rows."""
    lows, highs = [], []
    step = max(1, 500_000 // X.shape[1])  # a memory map is never read as a whole
    for first in range(0, len(X), step):
        block = warp._scaled(X[first : first + step])
        lows.append(block.min(axis=0))
        highs.append(block.max(axis=0))
    return np.min(lows, axis=0), np.max(highs, axis=0)


def skewness(X: Array) -> Array:
    """Compute the skewness of each column, shape (d,); 0 for a constant column."""
    size = np.abs(X).max(axis=0)
    unit = X / np.where(size > 0, size, 1.0)
    spread = unit.std(axis=0)
    deviation = (unit - unit.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray((deviation**3).mean(axis=0))


def _log_scale(x: Array, low: float) -> tuple[float, float] | None:
    """Choose offset and width of log(x + offset): a tenth of the median of the positive values."""
    if low < 0 or np.median(x) > x.max() / 2 + low / 2:
        return None
    offset = 0.1 * float(np.median(x[x > 0]))
    return (offset, 1.0) if offset > 0 else None


def _asinh_scale(x: Array) -> tuple[float, float] | None:
    """Choose median and half the interquartile range; if that is 0, a third of the deviation."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    width = float(high - low) / 2 or float(x.std()) / 3
    return (float(middle), width) if width > 0 else None
