"""A kernel of pliant in scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array


class GPKernel(SklearnKernel):
    """A given or learned kernel, as it is, for `sklearn.gaussian_process`.

    It has no hyper-parameters of its own there; ``ConstantKernel() * GPKernel(k) + WhiteKernel()``
    learns its scale and the noise.

    Parameters
    ----------
    kernel : Kernel
        Symmetric and positive semi-definite.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __repr__(self) -> str:
        return f"GPKernel({self.kernel!r})"

    def __call__(
        self, X: npt.ArrayLike, Y: npt.ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return k(X, Y) and, if asked for, its gradient in no hyper-parameter."""
        gram = self._checked()(X, Y)
        return (gram, np.empty((*gram.shape, 0))) if eval_gradient else gram

    def diag(self, X: npt.ArrayLike) -> Array:
        """Return k(x, x) for each row of X."""
        return self._checked().diag(X)

    def is_stationary(self) -> bool:
        """Whether k depends on x - y alone; not known, so False."""
        return False

    def _check_loaded(self) -> None:
        """Raise ValueError if what a file holds is no kernel."""
        self._checked()

    def _checked(self) -> Kernel:
        kernel = self.kernel
        if not (isinstance(kernel, Kernel) and kernel.symmetric and kernel.psd):
            raise ValueError(f"expected a symmetric positive semi-definite kernel, got {kernel!r}")
        return kernel
