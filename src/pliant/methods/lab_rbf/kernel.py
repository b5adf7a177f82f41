"""Radial kernels with separate bandwidths for each centre.

A profile h is a decreasing function of the squared distance D. Profiles accept NumPy and PyTorch
arrays: `xp` is the module of the array. `Warp` scales features to [-1, 1], after a nonlinear
transform of skewed features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import BaseEstimator
from pliant.core.exponential import exponentials
from pliant.core.form import Object, Part, SavedForm, indices, numbers
from pliant.core.parameters import check_choice, one_of
from pliant.core.typing import Array, Indices, Mask
from pliant.kernels.base import Kernel, _Wrapped
from pliant.kernels.standard import Gaussian, Matern
from pliant.methods.lab_rbf.constants import MIN_HALF_RANGE, MIN_SKEWNESS, WARP_BOUND

BLOCK_VALUES = 130_000  # Kernel values per block: 1 MB, to fit in the cache.


@dataclass(frozen=True)
class Profile:
    """Decreasing function h with h(0) = 1."""

    value: Callable[[Any, Any], Any]  # (xp, D) -> h(D); may overwrite D
    slope: Callable[[Any, Any, Any], Any]  # (xp, D, h(D)) -> h'(D) / factor
    factor: float = 1.0
    needs_distance: bool = True  # the slope needs D in addition to h(D)
    cusp: bool = False  # h'(0) is infinite, which amplifies rounding errors near D = 0


def _gaussian(xp: Any, D: Any) -> Any:
    """Compute exp(-D)."""
    if xp is np:
        return exponentials(D, -1.0)
    xp.negative(D, out=D)
    return xp.exp(D, out=D)


def _laplacian(xp: Any, D: Any) -> Any:
    """Compute exp(-r), r = sqrt(D)."""
    xp.sqrt(D, out=D)
    return _gaussian(xp, D)


def _laplacian_slope(xp: Any, D: Any, values: Any) -> Any:
    # h'(0) is infinite, but D = 0 at the centre does not depend on theta: use 0.
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


def _matern32(xp: Any, D: Any) -> Any:
    """Compute (1 + r) exp(-r), r = sqrt(3 D)."""
    r = xp.sqrt(3.0 * D)
    polynomial = 1.0 + r
    polynomial *= _gaussian(xp, r)
    return polynomial


def _matern32_slope(xp: Any, D: Any, values: Any) -> Any:
    # d/dD (1 + r) exp(-r) = -3/2 exp(-r)
    return xp.exp(-xp.sqrt(3.0 * D))


PROFILES: dict[str, Profile] = {
    "gaussian": Profile(_gaussian, lambda xp, D, values: values, -1.0, needs_distance=False),
    "laplacian": Profile(_laplacian, _laplacian_slope, factor=-0.5, cusp=True),
    "matern32": Profile(_matern32, _matern32_slope, factor=-1.5),
    "matern52": Profile(_matern52, _matern52_slope, factor=-5.0 / 6.0),
}
"""Profiles by name."""


WARPS = ("raw", "log", "asinh")
"""Transforms of a feature: x, log(x + offset), asinh((x - offset) / width)."""


@dataclass(eq=False, repr=False)
class Warp(BaseEstimator):
    """Transform u(x) of the features, scaled to [-1, 1] over the training points.

    Parameters
    ----------
    kinds : array of int of shape (n_features,)
        Index of each feature's transform in `WARPS`.
    offsets, widths : arrays of shape (n_features,)
        Parameters of the transforms.
    centres, slopes : arrays of shape (n_features,)
        u = (transformed x - centre) * slope; the slope of a constant feature is 0.
    mixing : array of shape (n_features, n_features), optional
        Matrix A of a linear map that follows: the result is A'u(x).
    """

    _form: ClassVar[SavedForm] = {
        "kinds": indices("features", high=len(WARPS) - 1),
        "offsets, widths, centres, slopes": numbers("features"),
        "mixing": Part("number", ("features", "features"), optional=True),
    }

    kinds: Indices
    offsets: Array
    widths: Array
    centres: Array
    slopes: Array
    mixing: Array | None = None

    @classmethod
    def learn(cls, X: Array, kind: str = "raw") -> Self:
        """Fit the transform to points.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        kind : {"raw", "log", "asinh"}, default="raw"
            Transform of skewed features; "log" does not transform features with negative values.
        """
        d = X.shape[1]
        check_choice("kind", kind, WARPS)
        warp = cls(np.zeros(d, dtype=np.intp), np.zeros(d), np.ones(d), np.zeros(d), np.ones(d))
        low, high = _transformed_range(warp, X)
        if kind != "raw":
            sample = np.asarray(X[:: max(1, len(X) // 20_000)], dtype=np.float64)
            for j in np.flatnonzero(np.abs(skewness(sample)) > MIN_SKEWNESS):
                x = sample[:, j]
                if len(np.unique(x)) <= 5:  # skip counts and categories
                    continue
                parameters = _fit_log(x, low[j]) if kind == "log" else _fit_asinh(x)
                if parameters is not None:
                    warp.kinds[j], (warp.offsets[j], warp.widths[j]) = WARPS.index(kind), parameters
            low, high = _transformed_range(warp, X)
        half = (high - low) / 2
        warp.centres = low + half
        warp.slopes = np.divide(1.0, half, out=np.zeros(d), where=half > MIN_HALF_RANGE)
        return warp

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.slopes)

    @property
    def affine(self) -> bool:
        """True if each feature is shifted and scaled only."""
        return self.mixing is None and not np.any(self.kinds)

    def key(self) -> bytes:
        """Serialise the transform: equal transforms have equal bytes."""
        mixing = np.zeros(0) if self.mixing is None else self.mixing
        parts = (self.kinds, self.offsets, self.widths, self.centres, self.slopes, mixing)
        return b"".join(np.asarray(part, dtype=np.float64).tobytes() for part in parts)

    def __call__(self, X: npt.ArrayLike) -> Array:
        """Compute u(x) for each row, float64, shape (n_samples, n_features)."""
        scaled = (self._transform(np.asarray(X)) - self.centres) * self.slopes
        nonlinear = np.flatnonzero(self.kinds)
        scaled[:, nonlinear] = scaled[:, nonlinear].clip(-WARP_BOUND, WARP_BOUND)
        return scaled if self.mixing is None else scaled @ self.mixing

    def flat(self, X: Array) -> Mask:
        """Return a mask of the entries of X where the transformed feature is clipped."""
        outside = (self.kinds > 0) & (np.abs(self(X)) >= WARP_BOUND)
        return np.asarray(outside | ((self.kinds == WARPS.index("log")) & (X < 0)))

    def _transform(self, X: Array) -> Array:
        """Transform the features, without scaling to [-1, 1]."""
        scaled = np.array(X, dtype=np.float64)
        for j in np.flatnonzero(self.kinds == WARPS.index("log")):
            scaled[:, j] = np.log(np.maximum(scaled[:, j], 0.0) + self.offsets[j])
        for j in np.flatnonzero(self.kinds == WARPS.index("asinh")):
            scaled[:, j] = np.arcsinh((scaled[:, j] - self.offsets[j]) / self.widths[j])
        return scaled


@dataclass(eq=False, repr=False)
class LocalRBFKernel(Kernel):
    """k(t, c_i) = h(|theta_i o (t - c_i)|^2) with bandwidths theta_i for each centre c_i.

    The kernel is neither symmetric nor positive semi-definite. Only the centres have bandwidths, so
    they are the only valid second argument: ``k(X, k.centres)``, shape (n_samples, n_centres).

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
        Centres c_i, in the units of the features.
    bandwidths : array of shape (n_centres, n_features)
        Bandwidths theta_i >= 0, in inverse units; a feature with bandwidth 0 is ignored.
    profile : {"gaussian", "laplacian", "matern32", "matern52"}, default="gaussian"
        h(D) = exp(-D), exp(-r), (1 + s) exp(-s) or (1 + t + t^2/3) exp(-t), with r = sqrt(D),
        s = sqrt(3 D) and t = sqrt(5 D). "laplacian", a function of the Euclidean norm, is
        `pliant.kernels.Matern` with nu = 1/2; `pliant.kernels.Laplacian` has the 1-norm.
    warp : Warp, optional
        Transform u of the features; then D = |theta_i o (u(t) - u(c_i))|^2.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eq. 1.
    """

    symmetric = False
    psd = False

    _form: ClassVar[SavedForm] = {
        "centres": Part("number", ("centres", "features")),
        "bandwidths": Part("number", ("centres", "features"), low=0.0),
        "profile": one_of(PROFILES),
        "warp": Object(Warp, sizes={"n_features": "features"}, optional=True),
    }

    centres: Array
    bandwidths: Array
    profile: str = "gaussian"
    warp: Warp | None = None

    @property
    def n_centres(self) -> int:
        """Number of centres."""
        return len(self.centres)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return np.shape(self.centres)[1]

    def _check_pair(self, X: Array, Y: Array) -> None:
        super()._check_pair(X, Y)
        if Y.shape != self.centres.shape or not np.array_equal(Y, self.centres):
            refuse_second_argument(self.centres, f"{len(Y)} other points")

    def _refuse_one_set(self) -> None:
        got = "one set of points (for k(X, X), call k(X, X.copy()))"
        refuse_second_argument(self.centres, got)

    def symmetric_kernel(self) -> Kernel:
        """Build the symmetric kernel h(|theta o (x - y)|^2) with one bandwidth per feature.

        theta is the geometric mean of the bandwidths over the centres. The kernel is positive
        semi-definite: a Gaussian or Matern kernel of the features, transformed by `warp` if set.
        """
        with np.errstate(divide="ignore"):
            squares = np.exp(2.0 * np.log(self.bandwidths).mean(axis=0))
        if not squares.any():
            raise ValueError("expected features that vary, got none: the kernel is constant")
        nu = {"gaussian": None, "laplacian": 0.5, "matern32": 1.5, "matern52": 2.5}[self.profile]
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
        return self._distances()(X)

    def times(self, X: Array, coefficients: Array) -> Array:
        """Compute k(X, centres) @ coefficients, shape (n_samples, q), in blocks of rows."""
        profile, distances = PROFILES[self.profile], self._distances()
        result = np.empty((len(X), coefficients.shape[1]))
        step = max(1, BLOCK_VALUES // len(self.centres))
        for low in range(0, len(X), step):
            rows = slice(low, low + step)
            squares = distances(X[rows], exact_zero=profile.cusp)
            result[rows] = profile.value(np, squares) @ coefficients
        return result

    def _distances(self) -> Callable[..., Array]:
        """Build a function that computes squared distances to the centres by a matrix product."""
        theta, warp = self.bandwidths, self.warp
        centres = self.centres if warp is None else warp(self.centres)
        # Products lose digits far from the origin, so points are centred and scaled.
        mean, scale = centres.mean(axis=0), theta.max(axis=0)
        theta = theta / np.where(scale > 0, scale, 1.0)
        products = centre_products(theta * theta, (centres - mean) * scale).T.copy()

        def distances(X: Array, *, exact_zero: bool = True) -> Array:
            """Compute squared distances, (n, m); `exact_zero` replaces rounding errors with 0."""
            points = (X if warp is None else warp(X)) - mean
            result = point_products(points * scale) @ products
            if exact_zero:
                result[result < 16.0 * np.finfo(np.float64).eps * products[-1]] = 0.0
            return np.asarray(np.maximum(result, 0.0, out=result))

        return distances


class JoinedRBFKernel(Kernel):
    """Kernels with different transforms or profiles, side by side: each has its own centres.

    ``k(X, k.centres)`` has a column for each centre. The kernel is neither symmetric nor positive
    semi-definite, and the centres are the only valid second argument.

    Parameters
    ----------
    parts : list of LocalRBFKernel
        At least one.
    """

    symmetric = False
    psd = False

    _form: ClassVar[SavedForm] = {
        "parts": Object(LocalRBFKernel, axis="parts", sizes={"n_features": "features"})
    }

    def __init__(self, parts: list[LocalRBFKernel]) -> None:
        self.parts = parts

    @property
    def centres(self) -> Array:
        """The centres of all parts, shape (n_centres, n_features)."""
        return np.vstack([part.centres for part in self.parts])

    def _check_pair(self, X: Array, Y: Array) -> None:
        super()._check_pair(X, Y)
        if not np.array_equal(Y, self.centres):
            refuse_second_argument(self.centres, f"{len(Y)} other points")

    def _refuse_one_set(self) -> None:
        got = "one set of points (for k(X, X), call k(X, X.copy()))"
        refuse_second_argument(self.centres, got)

    def _gram(self, X: Array, Y: Array) -> Array:
        return np.hstack([part.values(X) for part in self.parts])

    def _diagonal(self, X: Array) -> Array:
        self._check_pair(X, X)
        return np.ones(len(X))


def refuse_second_argument(centres: Array, got: str) -> NoReturn:
    """Raise ValueError: the second argument must be the centres."""
    raise ValueError(
        "bandwidths belong to the support points; use kernel_(X, model.support_vectors_) or "
        f"k(X, k.centres): expected the {len(centres)} support points as Y, got {got}. "
        "For methods that need a symmetric kernel, such as SVC, use model.symmetric_kernel_"
    )


def point_products(X: Array) -> Array:
    """Compute z(x) = [x o x, x, 1] for each row of X, shape (n, 2 d + 1)."""
    n, d = X.shape
    z = np.empty((n, 2 * d + 1))  # np.hstack is slower for few rows
    z[:, :d], z[:, d : 2 * d], z[:, -1] = X * X, X, 1.0
    return z


def centre_products(W: Array, C: Array) -> Array:
    """Compute w_i = [W_i, -2 W_i o c_i, W_i'(c_i o c_i)], shape (m, 2 d + 1)."""
    # z(x)'w_i = W_i'((x - c_i) o (x - c_i)), the squared distance
    shifted, (m, d) = W * C, W.shape
    w = np.empty((m, 2 * d + 1))
    w[:, :d], w[:, d : 2 * d], w[:, -1] = W, -2.0 * shifted, (shifted * C).sum(axis=1)
    return w


class Mapped(_Wrapped):
    """Kernel of transformed features: k(x, y) = kernel(u(x), u(y)).

    Parameters
    ----------
    kernel : Kernel
        Kernel of the transformed features.
    warp : Warp
        Transform u.
    """

    takes_sparse = False

    _form: ClassVar[SavedForm] = {"warp": Object(Warp)}

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
                f"expected points with the {len(self.warp.slopes)} features of the warp, "
                f"got {X.shape[1]}"
            )


def _transformed_range(warp: Warp, X: Array) -> tuple[Array, Array]:
    """Compute the minimum and maximum of each transformed feature, in blocks of rows."""
    lows, highs = [], []
    step = max(1, 500_000 // X.shape[1])  # limits memory use if X is a memory map
    for start in range(0, len(X), step):
        block = warp._transform(X[start : start + step])
        lows.append(block.min(axis=0))
        highs.append(block.max(axis=0))
    return np.min(lows, axis=0), np.max(highs, axis=0)


def skewness(X: Array) -> Array:
    """Compute the skewness of each column, shape (d,); 0 for a constant column."""
    size = np.abs(X).max(axis=0)
    scaled = X / np.where(size > 0, size, 1.0)
    spread = scaled.std(axis=0)
    scaled -= scaled.mean(axis=0)
    scaled /= np.where(spread > 0, spread, 1.0)
    return np.asarray((scaled**3).mean(axis=0))


def _fit_log(x: Array, low: float) -> tuple[float, float] | None:
    """Return the offset, a tenth of the median positive x, and the width; None if unsuitable."""
    if low < 0 or np.median(x) > (x.max() + low) / 2:
        return None
    offset = 0.1 * float(np.median(x[x > 0]))
    return (offset, 1.0) if offset > 0 else None


def _fit_asinh(x: Array) -> tuple[float, float] | None:
    """Return the offset (median) and width (half the interquartile range); None if constant."""
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75])
    width = float(high - low) / 2 or float(x.std()) / 3  # the quartiles may be equal
    return (float(middle), width) if width > 0 else None
