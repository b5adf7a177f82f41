"""Read the data of the studies: sets, printed numbers, texts, and the rows of sets."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import nan, sqrt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from benchmarks.datasets import load_local
from pliant.core.typing import Array

FOLDER = Path(__file__).parent

_NUMBER = re.compile(r"\d*\.?\d+")


@dataclass(frozen=True)
class PaperSet:
    """A set of a paper, declared in `papers/sets`."""

    file: str
    """Name in the data folder; empty for scikit-learn's digits."""
    test_file: str | None = None
    """Separate test file; without one, the rows are split at random."""
    clipped: bool = False
    """True if features are clipped at their .1 and 99.9 percentiles in the training rows."""
    scaled: bool = True
    """True if random halves are scaled to [0, 1] by the training rows."""
    most_repeats: int | None = None
    """Maximum number of repeats, for a large set."""
    above: float | None = None
    """Threshold of a numeric target that separates two classes."""
    target_unit: float = 1.0
    printed: str | None = None
    """Name in the paper, if different."""
    support: int | None = None
    """Number of support points in the paper."""
    descent: Sequence[float] = (0.01, 128, 1.0)
    """Learning rate, batch size and sigma_0 of LAB-RBF in the paper."""
    labels: int | None = None
    """Number of labelled points, if the paper gives it."""
    per_class: int | None = None
    """Number of random rows of each class in a repeat; None for all."""
    unit: float | None = None
    """Divisor of the features; None standardises them."""
    n_parts: int = 1
    C: float = 1.0
    gamma: float = 1.0
    """C and gamma of the paper, if given: exp(-gamma |x - x'|^2)."""
    note: str = ""
    """Note for the page."""


def toml(name: str) -> dict[str, Any]:
    """Return a TOML file of this folder."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def paper_sets(group: str) -> dict[str, PaperSet]:
    """Return the sets of a group of studies, by the names on their pages."""
    sets = {}
    for name, fields in toml(f"sets/{group}").items():
        note = " ".join(fields.pop("note", "").split())
        sets[name] = PaperSet(**{"file": name, **fields}, note=note)
    return sets


@cache
def _texts(group: str) -> dict[str, str]:
    return {key: " ".join(value.split()) for key, value in toml(f"texts/{group}").items()}


def text(group: str, key: str, **values: Any) -> str:
    """Return a paragraph of `papers/texts` with its fields filled in."""
    return _texts(group)[key].format(**values)


Printed: TypeAlias = dict[str, dict[str, dict[str, str]]]
"""Printed cells by set, quantity and method; missing ones are left out."""


@cache
def printed(table: str) -> Printed:
    """Return the printed cells of a table, without d and n."""
    tables: Printed = {}
    with (FOLDER / "printed" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, quantity = row.pop("set"), row.pop("quantity")
            cells = {k: cell for k, cell in row.items() if cell and k not in ("d", "n")}
            tables.setdefault(name, {})[quantity] = cells
    return tables


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats, printed by a paper or measured."""

    mean: float
    spread: float | None
    """Standard deviation over the repeats; None if unknown."""
    repeats: int
    text: str

    @classmethod
    def of(cls, values: npt.ArrayLike, form: str) -> Estimate:
        """Summarise measurements; `form` formats a number, such as ``.1f``."""
        array = np.asarray(values, dtype=float)
        mean = float(array.mean())
        spread = float(array.std(ddof=1)) if len(array) > 1 else None
        shown = format(mean, form) + ("" if spread is None else f"±{format(spread, form)}")
        return cls(mean, spread, len(array), shown)

    @classmethod
    def printed(cls, text: str, repeats: int) -> Estimate | None:
        """Read a cell such as ``81.2±1.4•``; None without a number, such as ``N/A``."""
        shown = text.partition("(")[0].strip(" •")
        values = numbers(shown)
        if not values:
            return None
        return cls(values[0], values[1] if len(values) > 1 else None, repeats, shown)

    def error(self) -> float:
        """Return the standard error of the mean; nan if the spread is unknown."""
        return (nan if self.spread is None else self.spread) / sqrt(self.repeats)


def numbers(text: str) -> list[float]:
    """Return the numbers in a text."""
    return [float(number) for number in _NUMBER.findall(text)]


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a set."""

    X: Array
    """Shape (n, d)."""
    y: npt.NDArray[Any]
    """Shape (n,)."""
    task: str
    """Either "classification" or "regression"."""
    own_training: int | None = None
    """Number of rows from the training file; None if the set has no test file."""


def read(chosen: PaperSet, folder: str) -> Table:
    """Load a set; TableError if its file is missing."""
    if not chosen.file:
        return Table(*load_digits(return_X_y=True), "classification")
    data = load_local(chosen.file, folder)
    if chosen.above is not None:
        return Table(data.X, np.where(data.y > chosen.above, 1, -1), "classification")
    task = "regression" if data.task == "regression" else "classification"
    if chosen.test_file is None:
        y = data.y / chosen.target_unit if task == "regression" else data.y
        return Table(data.X, y, task)
    test = load_local(chosen.test_file, folder)
    X, y = np.concatenate([data.X, test.X]), np.concatenate([data.y, test.y])
    return Table(X, y, task, len(data.y))
