"""Work that candidates of a search have in common, done once: the kernels that they learn."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, Self

import joblib
from sklearn.base import clone

from pliant.core.validation import check_real
from pliant.methods.side_information.learned_kernel import BaseLearnedKernel

CACHE_MB = 100.0
"""Memory for learned kernels: those of 400 rows, of a grid of 12 on three folds."""


class RecentResults:
    """Keeps the last results of functions in memory, with the interface of ``joblib.Memory``.

    Each call returns a copy of its own. Clones of an estimator share the results; a pickle has
    none of them.

    Parameters
    ----------
    cache_mb : float, default=100
        > 0: memory for results, in units of 2^20 bytes; the one that was asked for the longest
        time ago goes first.

    Attributes
    ----------
    hits : int
        Calls whose result was there.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.comparison.run.sharing import RecentResults
    >>> invert = RecentResults().cache(np.linalg.inv)
    >>> bool((invert(np.eye(3)) == invert(np.eye(3))).all())  # computed once
    True
    """

    def __init__(self, cache_mb: float = CACHE_MB) -> None:
        self.cache_mb = check_real("cache_mb", cache_mb, above=0)
        self.hits = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def cache(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that gives the same results and keeps them."""
        return partial(self._result, function)

    def clear(self) -> None:
        """Drop all results."""
        with self._lock:
            self._kept.clear()

    def _result(self, function: Callable[..., Any], *arguments: Any) -> Any:
        key = joblib.hash((function.__module__, function.__qualname__, arguments))
        with self._lock:
            packed = self._kept.get(key)
            if packed is not None:
                self._kept.move_to_end(key)
                self.hits += 1
        if packed is not None:
            return pickle.loads(packed)
        result = function(*arguments)
        packed = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._kept[key] = packed
            while sum(map(len, self._kept.values())) > self.cache_mb * 2.0**20:
                self._kept.popitem(last=False)
        return result

    def __sklearn_clone__(self) -> Self:
        """Return the same object: clones share the results."""
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[float]]:
        """Leave the results behind."""
        return type(self), (self.cache_mb,)

    def __repr__(self) -> str:
        """Return what makes another one."""
        return f"{type(self).__name__}(cache_mb={self.cache_mb:g})"


@contextmanager
def shared(estimator: Any, cache_mb: float = CACHE_MB) -> Iterator[Any]:
    """Lend a clone of an estimator whose clones, on the same rows, learn the same kernel once.

    What they learn is the same bit by bit, if learners that draw at random have an int as
    ``random_state``. At the end all that was kept is dropped; what is to last is a fit of the
    estimator itself.

    Parameters
    ----------
    estimator : estimator
        An estimator on a learned kernel, or one with such a part, such as a pipeline; any other is
        only cloned. A part with a ``memory`` keeps that.
    cache_mb : float, default=100
        > 0: memory for learned kernels, in units of 2^20 bytes.

    Yields
    ------
    estimator

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> from pliant import LearnedKernelClassifier, SCGLogDetLearner
    >>> from pliant.comparison.run.sharing import shared
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), SVC(kernel="precomputed"))
    >>> with shared(model) as lent:
    ...     search = GridSearchCV(lent, {"machine__C": [1, 10, 100]}, refit=False).fit(X, y)
    >>> fitted = model.set_params(**search.best_params_).fit(X, y)
    """
    lent, results = clone(estimator), RecentResults(cache_mb)
    try:
        yield lent.set_params(**dict.fromkeys(_memories(lent), results))
    finally:
        results.clear()


def _memories(estimator: Any) -> list[str]:
    """Return the names of the parameters that take a memory for learned kernels."""
    parts = {"": estimator, **estimator.get_params(deep=True)}
    return [
        f"{name}__memory".removeprefix("__")
        for name, part in parts.items()
        if isinstance(part, BaseLearnedKernel) and part.memory is None
    ]
