"""How a radial kernel falls with the squared distance D, and how fast.

Each profile overwrites an array of squared distances with h(D), and knows h'(D). They work on
arrays of NumPy and of PyTorch alike: `xp` is the module that made the array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["PROFILES", "Profile"]

NEAR = 1e-12
"""Distances below this have the slope of this one: that of exp(-r) is infinite at 0 (and 0 there,
where a point is a centre and stays one)."""


@dataclass(frozen=True)
class Profile:
    """A function h with h(0) = 1 that falls.

    Attributes
    ----------
    value : callable
        (xp, D) -> h(D); may overwrite D.
    slope : callable
        (xp, D, h(D)) -> h'(D) / `factor`. D is not read where `needs_distance` is false.
    factor : float
        What the slope is a multiple of.
    needs_distance : bool
        Whether the slope needs D beside h(D).
    cusp : bool
        Whether h'(0) is infinite, so that rounding near D = 0 shows.
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
"""All profiles by name; D = |theta o (t - c)|^2."""
