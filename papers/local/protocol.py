"""How a set is split and scaled, and what a split is worth: the same for every contestant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import MinMaxScaler

from benchmarks.splits import holdout
from papers.sets import Table
from pliant.core.typing import Array, Indices

__all__ = ["LOCAL", "Labels", "LocalProtocol", "LocalSample", "parts", "scores", "split"]

Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class LocalProtocol:
    """What the studies hold fixed.

    Attributes
    ----------
    test_size : float
        The share of the rows that a machine is judged by.
    first_seed : int
        The seed of repeat 0; repeat r is drawn with the seed ``first_seed + r``.
    most_rows : tuple of (str, int)
        Sets of which only some random training rows of a split are used, and how many.
    """

    test_size: float = 0.2
    first_seed: int = 100
    most_rows: tuple[tuple[str, int], ...] = (("california_housing", 6000),)


LOCAL = LocalProtocol()
"""The seeds from 100 on, which no default was chosen by."""


@dataclass(frozen=True, eq=False)
class LocalSample:
    """Training and test rows of one split.

    Features are scaled to [-1, 1] by their least and greatest training values, the target of a
    regression likewise; or both are left in their own units.

    Attributes
    ----------
    name : str
        The set.
    task : {"classification", "regression"}
    X, y : arrays of shape (n, d), (n,)
        To learn from.
    X_test, y_test : arrays of shape (m, d), (m,)
        To be judged by.
    """

    name: str
    task: str
    X: Array
    y: Labels
    X_test: Array
    y_test: Labels


def split(
    name: str, table: Table, protocol: LocalProtocol, repeat: int, *, scaled: bool = True
) -> LocalSample:
    """Return the rows of one repeat; stratified for classes."""
    classes = table.task == "classification"
    ((train, test),) = holdout(
        table.y,
        test_size=protocol.test_size,
        stratify=classes,
        random_state=protocol.first_seed + repeat,
    )
    most = dict(protocol.most_rows).get(name)
    if most is not None:  # the rows come in the order of the table, which may mean something
        seed = protocol.first_seed + repeat
        train = np.sort(np.random.default_rng(seed).permutation(train)[:most])
    X, y, X_test, y_test = table.X[train], table.y[train], table.X[test], table.y[test]
    if scaled:
        X, X_test = _scaled(X, X_test)
    if scaled and not classes:
        y, y_test = (part.ravel() for part in _scaled(y[:, None], y_test[:, None]))
    return LocalSample(name, table.task, X, y, X_test, y_test)


def _scaled(train: Array, test: Array) -> tuple[Array, Array]:
    """Map both to [-1, 1] by the least and greatest training values."""
    scaler = MinMaxScaler((-1, 1)).fit(train)
    return scaler.transform(train), scaler.transform(test)


def parts(
    n_rows: int, seed: int, *, folds: int, most: tuple[int, int], small: int = 2000
) -> list[tuple[Indices, Indices]]:
    """Return the rows that parameters are chosen on, as pairs (to learn from, to judge by).

    Up to `small` rows these are the folds of cross-validation; beyond, one random hold-out of a
    fifth of the rows. Either side has as many rows as `most` says, at most.
    """
    if n_rows <= small:
        pairs = list(KFold(folds, shuffle=True, random_state=seed).split(np.arange(n_rows)))
    else:
        order = np.random.default_rng(seed).permutation(n_rows)
        pairs = [(order[n_rows // 5 :], order[: n_rows // 5])]
    return [(learn[: most[0]], judge[: most[1]]) for learn, judge in pairs]


def scores(sample: LocalSample, machine: Any) -> dict[str, float | None]:
    """Return ``test``: R2 or the accuracy; and for classes ``log_loss``, None without one."""
    predicted = machine.predict(sample.X_test)
    if sample.task == "regression":
        return {"test": float(r2_score(sample.y_test, predicted))}
    accuracy = float(np.mean(predicted == sample.y_test))
    if not hasattr(machine, "predict_proba"):
        return {"test": accuracy, "log_loss": None}
    probabilities = machine.predict_proba(sample.X_test)
    loss = float(log_loss(sample.y_test, probabilities, labels=machine.classes_))
    return {"test": accuracy, "log_loss": loss}
