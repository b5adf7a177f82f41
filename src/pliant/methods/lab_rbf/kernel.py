"""Kernels with bandwidths of their own for each point of the second argument."""

from __future__ import annotations

import numpy as np

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.core.validation import check_choice, check_points
from pliant.methods.lab_rbf.profiles import PROFILES
from pliant.methods.lab_rbf.warp import Warp

__all__ = ["LocalRBFKernel"]


class LocalRBFKernel(Kernel):
    """k(t, c_i) = h(|theta_i o (t - c_i)|^2), theta_i belonging to the centre c_i.

    It is not symmetric, not PSD, and its second argument is fixed: only the centres have
    bandwidths. ``k(X, k.centres)`` has shape (n, m).

    Parameters
    ----------
    centres : array of shape (m, d)
        c_i, in the units of the features.
    bandwidths : array of shape (m, d)
        theta_i >= 0, in inverse units; 0 for a feature that is left out.
    profile : {"gaussian", "laplacian", "matern52"}
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
        """Return |theta_i o (t - c_i)|^2, shape (n, m)."""
        points, centres = X, self.centres
        if self.warp is not None:
            points, centres = self.warp(points), self.warp(centres)
        middle = centres.mean(axis=0)  # the product form is exact near the origin
        return squared_distances(points - middle, centres - middle, self.bandwidths)


FAR = 1e150
"""Points further away than this, in bandwidths, are taken to be at this distance."""


def squared_distances(X: Array, C: Array, theta: Array) -> Array:
    """Return |theta_i o (x - c_i)|^2 for each row of X, shape (n, m), by two matrix products."""
    widest = theta.max(axis=0)  # nothing overflows in units of the narrowest bump
    with np.errstate(over="ignore"):
        X, C = ((points * widest).clip(-FAR, FAR) for points in (X, C))
    theta = theta / np.where(widest > 0, widest, 1.0)
    squares = theta * theta
    weighted = squares * C
    result = (X * X) @ squares.T
    result -= 2.0 * (X @ weighted.T)
    sizes = (weighted * C).sum(axis=1)
    result += sizes
    result[result < 16.0 * np.finfo(np.float64).eps * sizes] = 0.0  # what cancels is of that size
    return np.asarray(np.maximum(result, 0.0, out=result))
