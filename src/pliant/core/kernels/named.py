"""From what a user hands in to a kernel object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from pliant.core.kernels.base import FunctionKernel, Kernel
from pliant.core.kernels.polynomial import Linear, Polynomial
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.kernels.stationary import Gaussian, Laplacian, Matern
from pliant.core.typing import Array
from pliant.core.validation import check_choice, check_real

__all__ = ["KERNEL_NAMES", "as_kernel"]

_WITH_GAMMA: dict[str, Callable[[float], Kernel]] = {
    "gaussian": lambda gamma: Gaussian(gamma=gamma),
    "laplacian": lambda gamma: Laplacian(gamma=gamma),
    "matern12": lambda gamma: Matern(nu=0.5, gamma=gamma),
    "matern32": lambda gamma: Matern(nu=1.5, gamma=gamma),
    "matern52": lambda gamma: Matern(nu=2.5, gamma=gamma),
    "polynomial": lambda gamma: Polynomial(gamma=gamma),
}

KERNEL_NAMES = (*_WITH_GAMMA, "linear")
"""The kernels that can be asked for by name."""

_OTHER_NAMES = {"rbf": "gaussian", "poly": "polynomial"}
"""What scikit-learn calls them."""


def as_kernel(kernel: Any, X: Array, gamma: float | str = "scale") -> Kernel:
    """Return the kernel that `kernel` stands for.

    Parameters
    ----------
    kernel : str, Kernel or callable
        A name in `KERNEL_NAMES`; a kernel object, which is cloned; a function of two matrices; or
        "precomputed".
    X : array of shape (n, d)
        The training points, for ``gamma="scale"`` and ``"auto"``; their Gram matrix, for
        "precomputed".
    gamma : float or {"scale", "auto"}
        For kernels by name: a number > 0; "scale" is 1/(d var(X)), "auto" is 1/d.

    Raises
    ------
    ValueError
        For an unknown name, a gamma that is not positive, or a gamma given beside a kernel
        that has none or brings its own.
    TypeError
        If `kernel` is none of these.
    """
    if isinstance(kernel, str):
        if kernel in _OTHER_NAMES:
            meant = _OTHER_NAMES[kernel]
            raise ValueError(f"expected kernel={meant!r}, as it is called here, got {kernel!r}")
        if check_choice("kernel", kernel, (*KERNEL_NAMES, "precomputed")) in _WITH_GAMMA:
            return _WITH_GAMMA[kernel](_gamma_value(gamma, X))
        _refuse_gamma(gamma, f"kernel={kernel!r} has no gamma")
        return Linear() if kernel == "linear" else Precomputed(X)
    _refuse_gamma(gamma, "gamma belongs to kernels given by name; set it on the kernel itself")
    if isinstance(kernel, Kernel):
        return clone(kernel)
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    name = getattr(kernel, "__name__", "")
    got = f"the class {name}: write {name}()" if name else repr(kernel)
    raise TypeError(
        f"expected kernel to be a name in {sorted(KERNEL_NAMES)}, a Kernel, a function of two "
        f"matrices or 'precomputed', got {got}"
    )


def _refuse_gamma(gamma: float | str, why: str) -> None:
    if not (isinstance(gamma, str) and gamma == "scale"):
        raise ValueError(f"expected gamma='scale' (its default), got {gamma!r}: {why}")


def _gamma_value(gamma: float | str, X: Array) -> float:
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ("scale", "auto"))
        spread = float(X.var()) if gamma == "scale" else 1.0
        rounding = (1e-12 * float(np.abs(X).max())) ** 2  # of equal numbers
        return 1.0 / (X.shape[1] * (spread if spread > rounding else 1.0))
    return check_real("gamma", gamma, above=0)
