"""Many C on one Gram matrix, each started from its neighbour's solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from pliant.methods.svm.estimators import BaseSVM, WarmStart

__all__ = ["C_path"]


def C_path(
    machine: BaseSVM,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    Cs: Sequence[float],
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> list[Any]:
    """Fit one machine for each C, sharing the Gram matrix and starting warm.

    Each machine equals a fit of its own to the tolerance of the machine; together they cost
    less, which is what cross-validation over C needs. (`TKLClassifier` and its kind, whose Gram
    matrix depends on C, are fitted one by one.)

    Parameters
    ----------
    machine : BaseSVM
        Such as a `DANKClassifier`; it is cloned, not changed.
    X, y, sample_weight : array-like
        As in its ``fit``.
    Cs : sequence of float
        Each > 0, in any order.

    Returns
    -------
    list of machines
        Fitted, in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from pliant import C_path, DANKClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> machines = C_path(DANKClassifier(), X, y, [0.1, 1, 10])
    >>> [machine.C for machine in machines]
    [0.1, 1, 10]
    """
    if len(Cs) == 0:
        raise ValueError("expected at least one C, got none")
    machines = [clone(machine).set_params(C=C) for C in Cs]
    for each in machines:
        each._check_parameters()
    first = machines[0]
    tasks = first._prepare(X, y, sample_weight)
    seen = {name: value for name, value in vars(first).items() if name.endswith("_")}
    starts: list[WarmStart | None] = [None] * len(tasks)
    rising = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable")
    for position, here in enumerate(rising):
        vars(machines[here]).update(seen)
        solutions = machines[here]._complete(tasks, starts, callback=_carry_on)
        if position + 1 < len(rising):
            growth = Cs[rising[position + 1]] / Cs[here]
            starts = [WarmStart(beta, growth) for beta in solutions]
    return machines


def _carry_on(_step: object) -> bool:
    return False
