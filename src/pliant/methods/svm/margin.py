"""What support vector machines share: the price of slack, and their dual without its Gram."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

import numpy as np

from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_real
from pliant.methods.svm.classifier import KernelClassifier
from pliant.methods.svm.dual import MarginDual, svc_dual, svr_dual
from pliant.methods.svm.machine import KernelMachine, Task
from pliant.methods.svm.regressor import KernelRegressor
from pliant.methods.svm.rows import Rows

__all__ = ["MarginClassifier", "MarginMachine", "MarginRegressor"]


class MarginMachine(KernelMachine):
    """A machine whose coefficients solve the dual of a support vector machine."""

    C: float
    tol: float
    max_iter: int

    @abstractmethod
    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        """Return what makes the dual of the plain support vector machine of its Gram matrix."""

    def _check_parameters(self) -> None:
        check_real("C", self.C, above=0)
        check_real("tol", self.tol, above=0)
        if check_integer("max_iter", self.max_iter, least=-1) == 0:
            raise ValueError("expected max_iter >= 1, or -1 for no limit, got 0")

    def _prices(self, task: Task) -> Array:
        with np.errstate(over="ignore"):
            prices = self.C * task.weights
        if not np.isfinite(prices).all():
            raise ValueError(
                f"expected C times the weights to be finite, got C = {self.C:g} and a weight of "
                f"{task.weights.max():g}"
            )
        return prices


class MarginClassifier(MarginMachine, KernelClassifier):
    """Classification, with one machine per pair of classes."""

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        return partial(svc_dual, signs=task.target, C=self._prices(task), psd=task.psd)


class MarginRegressor(MarginMachine, KernelRegressor):
    """Epsilon-regression."""

    epsilon: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("epsilon", self.epsilon, least=0)
        if not isinstance(self.scale_target, bool | np.bool_):
            raise ValueError(f"expected scale_target True or False, got {self.scale_target!r}")

    def _margin(self, task: Task) -> Callable[[Rows], MarginDual]:
        prices, epsilon = self._prices(task), float(self.epsilon)
        return partial(svr_dual, target=task.target, C=prices, epsilon=epsilon, psd=task.psd)
