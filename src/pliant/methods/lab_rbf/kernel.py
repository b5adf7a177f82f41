"""Radial kernels with bandwidths of their own for each point of the second argument.

A profile h says how a kernel falls with the squared distance D. Profiles work on arrays of NumPy
and of PyTorch alike: `xp` is the module that made the array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.core.validation import check_choice, check_points
from pliant.methods.lab_rbf.warp import Warp

NEAR = 1e-12
"""Smallest squared distance at which the slope of exp(-r) is taken: it is infinite at 0.

At 0 itself the slope is set to 0: there a point is a centre, and stays one.
"""

FAR = 1e150
"""Points further away than this, in bandwidths, are taken to be at this distance."""


@dataclass(frozen=True)
class Profile:
    """A decreasing function h with h(0) = 1.

    Attributes
    ----------
    value : callable
        (xp, D) -> h(D); may overwrite D.
    slope : callable
        (xp, D, h(D)) -> h'(D) / `factor`. D is not read where `needs_distance` is false.
    factor : float
        Constant factor of h'.
    needs_distance : bool
        Whether the slope needs D in addition to h(D).
    cusp : bool
        Whether h'(0) is infinite, so that rounding errors near D = 0 show.
    """

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any, Any], Any]
    factor: float = 1.0
    needs_distance: bool = True
    cusp: bool = False


def _gaussian(xp: Any, D: Any) -> Any:
    """Return exp(-D)."""
    xp.negative(D, out=D)
    return xp.exp(D, out=D)


def _gaussian_slope(xp: Any, D: Any, values: Any) -> Any:
    return values


def _laplacian(xp: Any, D: Any) -> Any:
    """Return exp(-r), r = sqrt(D)."""
    xp.sqrt(D, out=D)
    return _gaussian(xp, D)


def _laplacian_slope(xp: Any, D: Any, values: Any) -> Any:
    slopes = values / xp.sqrt(xp.clip(D, NEAR, None))
    slopes[D == 0.0] = 0.0
    return slopes


def _matern52(xp: Any, D: Any) -> Any:
    """Return (1 + r + r^2/3) exp(-r), r = sqrt(5 D)."""
    r = xp.sqrt(5.0 * D)
    polynomial = 1.0 + r * (1.0 + r / 3.0)
    polynomial *= xp.exp(-r)
    return polynomial


def _matern52_slope(xp: Any, D: Any, values: Any) -> Any:
    r = xp.sqrt(5.0 * D)
    return (1.0 + r) * xp.exp(-r)


PROFILES: dict[str, Profile] = {
    "gaussian": Profile(_gaussian, _gaussian_slope, factor=-1.0, needs_distance=False),
    "laplacian": Profile(_laplacian, _laplacian_slope, factor=-0.5, cusp=True),
    "matern52": Profile(_matern52, _matern52_slope, factor=-5.0 / 6.0),
}
"""All profiles by name."""


class LocalRBFKernel(Kernel):
    """k(t, c_i) = h(|theta_i o (t - c_i)|^2), theta_i belonging to the centre c_i.

    It is neither symmetric nor positive semi-definite, and its second argument is fixed: only the
    centres have bandwidths. ``k(X, k.centres)`` has shape (n_samples, n_centres).

    Parameters
    ----------
    centres : array of shape (n_centres, n_features)
        The c_i, in the units of the features.
    bandwidths : array of shape (n_centres, n_features)
        The theta_i >= 0, in inverse units; 0 for a feature that is left out.
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
        self,
        centres: Array,
        bandwidths: Array,
        profile: str = "gaussian",
        warp: Warp | None = None,
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
            raise ValueError(
                "bandwidths belong to the support points; use "
                "kernel_(X, model.support_vectors_), or k(X, k.centres): expected those "
                f"{len(self.centres)} points as Y, got {len(Y)} others"
            )

    def _gram(self, X: Array, Y: Array) -> Array:
        profile = PROFILES[check_choice("profile", self.profile, PROFILES)]
        return np.asarray(profile.value(np, self.squares(X)))

    def _diagonal(self, X: Array) -> Array:
        self._check_pair(X, X)
        return np.ones(len(X))

    def squares(self, X: Array) -> Array:
        """Return |theta_i o (t - c_i)|^2, shape (n_samples, n_centres)."""
        points, centres = X, self.centres
        if self.warp is not None:
            points, centres = self.warp(points), self.warp(centres)
        middle = centres.mean(axis=0)  # the product form is exact near the origin
        return squared_distances(points - middle, centres - middle, self.bandwidths)


def squared_distances(X: Array, C: Array, theta: Array) -> Array:
    """Return |theta_i o (x - c_i)|^2 for each row x of X and c_i of C, shape (n, m).

    With W = theta o theta the squares expand to W_i'(x o x) - 2 (W_i o c_i)'x + W_i'(c_i o c_i):
    two matrix products instead of an array of shape (n, m, d).
    """
    # In units of the narrowest bandwidth of each feature nothing overflows.
    widest = theta.max(axis=0)
    with np.errstate(over="ignore"):
        X, C = ((points * widest).clip(-FAR, FAR) for points in (X, C))
    theta = theta / np.where(widest > 0, widest, 1.0)
    squares = theta * theta
    weighted = squares * C
    result = (X * X) @ squares.T
    result -= 2.0 * (X @ weighted.T)
    sizes = (weighted * C).sum(axis=1)
    result += sizes
    # Terms of the size of |theta_i o c_i|^2 cancel: what is left below their rounding error is 0.
    result[result < 16.0 * np.finfo(np.float64).eps * sizes] = 0.0
    return np.asarray(np.maximum(result, 0.0, out=result))
