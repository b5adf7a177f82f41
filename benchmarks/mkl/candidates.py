"""The data and the kernels of the experiments of Rakotomamonjy et al. (2008).

Gaussians of ten bandwidths and polynomials of degree 1 to 3, on all variables and on each one
alone, scaled to unit trace on the training rows; variables of mean zero and variance one, from the
training rows; 70 % of the rows to learn from. The formulas are those of the authors' Matlab
toolbox: exp(-|x - x'|^2/(2 s^2)), (x'x + 1)^p for p > 1, and x'x.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load_local
from pliant.core.typing import Array, Indices

BANDWIDTHS = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
DEGREES = (1, 2, 3)
TRAIN_SHARE = 0.7
C = 100.0

SETS = {
    "ionosphere": "ionosphere",
    "sonar": "sonar",
    "liver": "liver_disorders",
    "pima": "pima_diabetes",
    "wdbc": "breast_cancer_wdbc",
}
"""Names on the page, and those of the data folder."""


@dataclass(frozen=True)
class Split:
    """The Gram matrices of all kernels, and the labels."""

    grams: Array
    """Shape (M, n, n)."""
    y: Array
    """-1 and 1, shape (n,)."""
    cross: Array
    """Kernel values of test and training rows, shape (M, n_test, n)."""
    y_test: Array


def split(
    name: str,
    seed: int,
    folder: Path | None = None,
    *,
    rows: int | None = None,
    kernels: int | None = None,
) -> Split:
    """Return the kernels of a random split; `rows` to learn from and `kernels` at most, if given.

    Of more kernels than that, an even share is taken from their list.
    """
    data = load_local(SETS.get(name, name), folder)
    y = np.where(data.y == data.y.max(), 1.0, -1.0)
    parts = train_test_split(data.X, y, train_size=TRAIN_SHARE, random_state=seed, stratify=y)
    train, test, y_train, y_test = parts
    train, y_train = train[:rows], y_train[:rows]
    scaler = StandardScaler().fit(train)
    scaled = scaler.transform(train)
    grams, cross = stacks(scaled, scaler.transform(test), kernels)
    return Split(grams, y_train, cross, y_test)


def stacks(points: Array, new: Array, kernels: int | None = None) -> tuple[Array, Array]:
    """Return the scaled kernels of the points, (M, n, n), and of new ones with them."""
    chosen = columns(points)
    if kernels is not None:
        many = len(chosen) * (len(BANDWIDTHS) + len(DEGREES))
        wanted = set(np.linspace(0, many - 1, min(kernels, many)).astype(int))
    else:
        wanted = None
    grams: list[Array] = []
    cross: list[Array] = []
    for number, (gram, other) in enumerate(_pairs(points, new, chosen)):
        if wanted is None or number in wanted:
            scale = 1.0 / np.trace(gram)
            grams.append(gram * scale)
            cross.append(other * scale)
    return np.array(grams), np.array(cross)


def columns(points: Array) -> list[Indices]:
    """Return all variables that are not constant, and each of them alone."""
    varying = np.flatnonzero(np.ptp(points, axis=0) > 0.0)
    return [varying, *varying[:, None]]


def _pairs(points: Array, new: Array, chosen: Sequence[Indices]) -> Iterator[tuple[Array, Array]]:
    for of in chosen:
        rows = np.concatenate([points, new])[:, of]
        inner = rows @ rows[: len(points)].T
        norms = (rows**2).sum(axis=1)
        squares = np.maximum(norms[:, None] + norms[: len(points)] - 2.0 * inner, 0.0)
        for bandwidth in BANDWIDTHS:
            yield _parted(np.exp(squares / (-2.0 * bandwidth**2)), len(points))
        for degree in DEGREES:
            yield _parted(inner if degree == 1 else (inner + 1.0) ** degree, len(points))


def _parted(values: Array, n: int) -> tuple[Array, Array]:
    return values[:n], values[n:]
