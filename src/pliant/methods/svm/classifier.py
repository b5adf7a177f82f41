"""Classification: two classes by one function, more by one function per pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pliant.core.typing import Array
from pliant.core.validation import check_weights, plain, stack_level
from pliant.methods.svm.machine import KernelMachine, Task, WarmStart

__all__ = ["KernelClassifier"]


class KernelClassifier(ClassifierMixin, KernelMachine):
    """A kernel machine that tells classes apart.

    With more than two classes, ``estimators_`` holds one fitted machine of two classes for each
    pair (0, 1), (0, 2), ..., (1, 2), ...; they vote.
    """

    class_weight: Any

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> list[Task]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = check_weights(sample_weight, X)
        seen = np.unique(codes[weights > 0])
        if len(seen) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[seen[0]])!r}"
            )
        weights = weights * self._class_factors(y)[codes]
        kernel, rows, psd = self._common(X, weights > 0)
        tasks = []
        for low, high in combinations(range(len(self.classes_)), 2):
            members = np.flatnonzero(((codes == low) | (codes == high)) & (weights > 0))
            signs = np.where(codes[members] == high, 1.0, -1.0)
            if len(np.unique(signs)) < 2:
                raise ValueError(
                    f"expected samples of positive weight in both classes "
                    f"{plain(self.classes_[low])!r} and {plain(self.classes_[high])!r}"
                )
            points = self._points(X, members)
            name = f"{low}-{high}" if len(self.classes_) > 2 else ""
            tasks.append(
                Task(kernel, points, members, signs, weights[members], rows, psd, name=name)
            )
        return tasks

    def _class_factors(self, y: Array) -> Array:
        try:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"expected class_weight None, 'balanced' or a dict of the classes, "
                f"got {self.class_weight!r}: {error}"
            ) from None
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise ValueError(f"expected class weights > 0, got {self.class_weight!r}")
        return np.asarray(factors, dtype=np.float64)

    def _complete(
        self,
        tasks: list[Task],
        starts: Sequence[WarmStart | None],
        callback: Callable[..., Any],
    ) -> list[Array]:
        if len(tasks) == 1:
            return super()._complete(tasks, starts, callback)
        machines, solutions = [], []
        pairs = combinations(self.classes_, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            for task, start, pair in zip(tasks, starts, pairs, strict=True):
                machine = clone(self)
                machine.classes_ = np.array(pair, dtype=self.classes_.dtype)
                for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
                    setattr(machine, name, getattr(self, name))
                solutions.append(machine._learn(task, start, callback))
                machines.append(machine)
        _warn_once(caught, len(tasks))
        self.n_iter_ = np.array([machine.n_iter_ for machine in machines])
        self.estimators_ = machines
        return solutions

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return how decidedly each point belongs to a class.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"

        Returns
        -------
        array of shape (m,), or (m, n_classes) for more than two classes
            Two classes: f(x) = sum_j beta_j k(x, x_j) + b, positive for ``classes_[1]``. More:
            the votes of the pairs, plus their summed decisions squeezed into (-1/3, 1/3).
        """
        points = self._checked_input(X)
        if "estimators_" not in vars(self):
            return self._expand(points)
        return self._votes(np.column_stack([m._expand(points) for m in self.estimators_]))

    def _votes(self, decisions: Array) -> Array:
        votes = np.zeros((len(decisions), len(self.classes_)))
        sums = np.zeros_like(votes)
        for (low, high), f in zip(
            combinations(range(len(self.classes_)), 2), decisions.T, strict=True
        ):
            votes[:, low] += f <= 0
            votes[:, high] += f > 0
            sums[:, low] -= f
            sums[:, high] += f
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each point, shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for kernel="precomputed"
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])


def _warn_once(caught: list[warnings.WarningMessage], count: int) -> None:
    """Make one warning of the many that `count` machines gave about gaps left open."""
    opened = [w.message for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in caught:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn(other.message, stacklevel=stack_level())
    if opened:
        told = f"{len(opened)} of {count} pairs of classes; the first: {opened[0]}"
        warnings.warn(told, ConvergenceWarning, stacklevel=stack_level())
