"""What a machine on a learned kernel does, whatever it predicts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, check_memory, validate_data

from pliant._version import __version__
from pliant.core.blocks import in_blocks
from pliant.core.kernels.base import Kernel, Scaled
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_flag, check_points, check_real
from pliant.methods.side_information.hidden_scores import unit_scale
from pliant.methods.side_information.learner import KernelLearner
from pliant.methods.side_information.scg import SCGLogDetLearner

__all__ = ["LearnedKernelMachine", "machine_has"]


def machine_has(name: str) -> Callable[[Any], bool]:
    """Return a check for `available_if`: whether the machine inside has the method `name`."""

    def check(self: Any) -> bool:
        machine = self.machine_ if hasattr(self, "machine_") else self._machine()
        getattr(machine, name)  # raises with the machine's own reason
        return True

    return check


class LearnedKernelMachine(BaseEstimator):
    """A learned kernel, then a machine on its Gram matrix."""

    learner: Any
    machine: Any
    unit_variance: bool
    random_state: Any
    memory: Any
    _predicts: str  # "classifier" or "regressor"
    n_features_in_: int

    @abstractmethod
    def _machine(self) -> Any:
        """Return the machine to fit, not fitted."""

    def _learner(self) -> Any:
        if self.learner is None:
            return SCGLogDetLearner()
        if not hasattr(self.learner, "fit") or isinstance(self.learner, type):
            raise TypeError(f"expected learner to be an estimator, got {self.learner!r}")
        return self.learner

    def _fresh_learner(self) -> Any:
        """Return a copy of the learner, with the random state if it takes one."""
        learner = clone(self._learner())
        if self.random_state is not None and "random_state" in learner.get_params(deep=False):
            learner.set_params(random_state=self.random_state)
        return self._told_unlabeled(learner) if isinstance(learner, KernelLearner) else learner

    def _told_unlabeled(self, learner: KernelLearner) -> KernelLearner:
        """Return a learner, set to take codes with -1 for unknown."""
        if learner.unlabeled is not None:
            raise ValueError(
                f"expected unlabeled to be given to {type(self).__name__}, got a learner with "
                f"unlabeled={learner.unlabeled!r}"
            )
        return learner.set_params(unlabeled=-1)

    def _fit(self, points: Array, learned_from: Any, known: Mask, targets: Any) -> None:
        """Learn the kernel, then fit the machine on the points whose targets are known."""
        machine = self._checked_machine()
        check_flag("unit_variance", self.unit_variance)
        rows = np.flatnonzero(known)
        learner = self._fresh_learner()
        learn = check_memory(self.memory).cache(learned)
        if isinstance(learner, KernelLearner):
            self.learner_, gram = learn(learner, points, learned_from, rows, __version__)
            self.support_vectors_ = self.learner_.support_vectors_[rows]
        else:
            self.support_vectors_ = points[rows]
            every = np.arange(len(rows))
            self.learner_, gram = learn(learner, points[rows], targets, every, __version__)
        self.scale_ = unit_scale(gram) if self.unit_variance else 1.0
        gram *= self.scale_
        self.machine_ = clone(machine).fit(gram, targets)

    def _checked_machine(self) -> Any:
        """Return the machine if it takes kernel values and predicts what is asked for."""
        machine = self._machine()
        if not hasattr(machine, "fit") or isinstance(machine, type):
            raise TypeError(f"expected machine to be an estimator, got {machine!r}")
        names, tags = machine.get_params(deep=False), get_tags(machine)
        if "metric" in names or not tags.input_tags.pairwise:
            raise TypeError(
                'expected machine to take kernel values, with kernel="precomputed", got '
                f"{machine!r}"
            )
        if tags.estimator_type != self._predicts:
            raise TypeError(f"expected machine to be a {self._predicts}, got {machine!r}")
        return machine

    @property
    def kernel_(self) -> Kernel:
        """The learned kernel, scaled."""
        check_is_fitted(self)
        return Scaled(kernel_of(self.learner_), self.scale_)

    def _ask(self, name: str, X: npt.ArrayLike) -> Any:
        """Return what the machine's method says of new points, in blocks of rows."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        kernel, method = self.kernel_, getattr(self.machine_, name)
        support = self.support_vectors_
        return in_blocks(points, len(support), lambda block: method(kernel(block, support)))

    def predict(self, X: npt.ArrayLike) -> Any:
        """Return the machine's prediction for each point, shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for a learner with kernel="precomputed"
        """
        return self._ask("predict", X)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the memory behind once there is a fit: it belongs to this machine's folders."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "memory": None} if "machine_" in state else state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn whether a precomputed matrix is sliced on both sides."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = get_tags(self._learner()).input_tags.pairwise
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        check_real("scale_", self.scale_, above=0)
        n = len(check_points(self.support_vectors_, "support_vectors_"))
        taken = getattr(self.machine_, "n_features_in_", None)
        if taken != n:
            raise ValueError(f"expected machine_ to take {n} kernel values, got {taken}")
        kernel_of(self.learner_)
        if self.memory is not None:
            raise ValueError(
                f"expected memory=None, which a file does not keep, got {self.memory!r}"
            )


def learned(
    learner: Any, points: Array, known: Any, rows: Indices, version: str
) -> tuple[Any, Array]:
    """Return a learner, fitted, and its kernel matrix of some rows: what a memory keeps.

    `known` is what it learns from; `version`, that of pliant, tells apart what each one keeps.
    """
    del version
    if isinstance(learner, KernelLearner):
        return learner, learner._fit(points, known, None, None)(rows)
    learner.fit(points, known)
    return learner, kernel_of(learner)(points[rows])


def kernel_of(learner: Any) -> Kernel:
    """Return the one kernel that a fitted learner has learned."""
    kernel = getattr(learner, "kernel_", None)
    if not isinstance(kernel, Kernel):
        raise TypeError(
            "expected learner to learn one kernel, as `kernel_`, got none from "
            f"{learner!r}; a machine with one kernel for each pair of classes has none"
        )
    return kernel
