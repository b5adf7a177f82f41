"""How well the rules predict, C chosen for each of them; a line of JSON for each fit.

The sets are those that DANK's defaults were studied on. Features are standardised on the training
rows; the kernels are the default ones of `MKLClassifier`, and are evaluated once for a split.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load_local
from benchmarks.mkl.contestants import Given
from benchmarks.splits import official, random_halves
from benchmarks.tables.running import read
from papers.data import paper_sets
from pliant.core.typing import Array, Indices

CLASSIFICATION = (
    "diabetic", "heart", "monks1", "monks2", "monks3", "sonar", "spect", "glass", "fertility",
    "wine", "breast-cancer", "climate", "haberman", "ionosphere",
)  # fmt: skip
REGRESSION = ("bodyfat", "pyrim", "space", "triazines", "housing", "mg", "mpg")
SEEDS = range(100, 110)

MOST_TRAIN, MOST_TEST = 200, 600
"""Rows of a split at most."""

MOST_KERNELS = 200
"""Of more default kernels, an even share is taken from their list."""

GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Of C, for all contestants that have one."""

FOLDS = 3
TOL = 1e-3
"""Of all that pliant fits; while C is chosen, `COARSE`."""
COARSE = 1e-2
EPSILON = 0.1
"""Width of the tube of regression, in standard deviations of the target."""

Line = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """A split of a set, and the values of all kernels."""

    classification: bool
    train: Array
    test: Array
    """Features, standardised."""
    y: Array
    y_test: Array
    values: Array
    """Kernels of all rows, training rows first, with the training rows, (M, n + n_test, n)."""
    folds: list[tuple[Indices, Indices]]

    def score(self, y: Array, predicted: Array) -> float:
        """Return the accuracy, or R2."""
        return float((accuracy_score if self.classification else r2_score)(y, predicted))


def sample(name: str, seed: int, folder: Path | None = None, rows: int = MOST_TRAIN) -> Sample:
    """Return random halves of a set, or its own training and test rows."""
    chosen = paper_sets("hadamard")[name]
    data = load_local(chosen.file, folder)
    X, y, classification = data.X, data.y, data.task != "regression"
    if chosen.test_file is not None:
        other = load_local(chosen.test_file, folder)
        ((train, test),) = official(data.y, other.y)
        X, y = np.concatenate([X, other.X]), np.concatenate([y, other.y])
    else:
        ((train, test),) = random_halves(y.tolist(), 1, stratify=classification, random_state=seed)
    rng = np.random.default_rng(seed)
    train, test = rng.permutation(train)[:rows], rng.permutation(test)[:MOST_TEST]
    scaler = StandardScaler().fit(X[train])
    points, new = scaler.transform(X[train]), scaler.transform(X[test])
    kind = StratifiedKFold if classification else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(kind(FOLDS, shuffle=True, random_state=seed).split(points, y[train]))
    return Sample(classification, points, new, y[train], y[test], kernel_values(points, new), folds)


def kernel_values(points: Array, new: Array) -> Array:
    """Return the values of the default kernels, (M, n + n_new, n)."""
    from pliant.methods.mkl.candidates import default_kernels, normalized_kernels

    every = default_kernels(points)
    some = np.linspace(0, len(every) - 1, min(MOST_KERNELS, len(every))).astype(int)
    kernels = normalized_kernels([every[m] for m in some], points, True)
    rows = np.concatenate([points, new])
    return np.array([kernel(rows, points) for kernel in kernels])


@dataclass(frozen=True)
class Method:
    """A contestant: its title, and a function of a sample and a seed that returns predictions."""

    title: str
    predict: Callable[..., tuple[Array, dict[str, Any]]]
    options: Mapping[str, Any] = field(default_factory=dict)
    classification_only: bool = False


def weighted(given: Sample, C: float, tol: float, options: Mapping[str, Any]) -> Any:
    """Return an estimator of pliant with these weights; its points are row numbers."""
    import pliant

    kernels = [Given(values) for values in given.values]
    common = {"C": C, "tol": tol, "normalize": False, "n_jobs": 1, **options}
    if given.classification:
        return pliant.MKLClassifier(kernels, **common)
    return pliant.MKLRegressor(kernels, epsilon=EPSILON, **common)


def learned(given: Sample, seed: int, **options: Any) -> tuple[Array, dict[str, Any]]:
    """Fit weights that depend on C, for each C and fold."""
    rows = numbers(np.arange(len(given.y)))

    def score(C: float, train: Indices, held_out: Indices) -> float:
        model = weighted(given, C, COARSE, options).fit(rows[train], given.y[train])
        return given.score(given.y[held_out], model.predict(rows[held_out]))

    best = chosen_C(score, given)
    return final(given, best, options)


def fixed(given: Sample, seed: int, **options: Any) -> tuple[Array, dict[str, Any]]:
    """Learn weights once in each fold, with C = 1, then choose C for the sum of kernels."""
    rows = numbers(np.arange(len(given.y)))
    grams: dict[int, Array] = {}

    def score(C: float, train: Indices, held_out: Indices) -> float:
        if (key := int(held_out[0])) not in grams:
            weights = (
                weighted(given, 1.0, COARSE, options).fit(rows[train], given.y[train]).weights_
            )
            grams[key] = np.tensordot(weights, given.values[:, : len(given.y)], 1)
        model = plain_svm(given, kernel="precomputed", C=C)
        model.fit(grams[key][np.ix_(train, train)], given.y[train])
        predicted = model.predict(grams[key][np.ix_(held_out, train)])
        return given.score(given.y[held_out], predicted)

    best = chosen_C(score, given)
    return final(given, best, options)


def bayesian(given: Sample, seed: int) -> tuple[Array, dict[str, Any]]:
    """Fit BEMKL, which has no C, with its default priors."""
    import pliant

    kind = pliant.BEMKLClassifier if given.classification else pliant.BEMKLRegressor
    model = kind([Given(values) for values in given.values], normalize=False)
    model.fit(numbers(np.arange(len(given.y))), given.y)
    return model.predict(test_numbers(given)), {}


def gaussian(given: Sample, seed: int) -> tuple[Array, dict[str, Any]]:
    """Fit one Gaussian SVM; C and one of the ten widths by cross-validation."""
    from pliant.methods.mkl.candidates import WIDTHS

    prefix = "" if given.classification else "regressor__"
    grid = {f"{prefix}C": GRID, f"{prefix}gamma": [0.5 / width**2 for width in WIDTHS]}
    search = GridSearchCV(plain_svm(given, kernel="rbf"), grid, cv=given.folds)
    search.fit(given.train, given.y)
    return search.predict(given.test), {"C": search.best_params_[f"{prefix}C"]}


def plain_svm(given: Sample, **settings: Any) -> BaseEstimator:
    """Return scikit-learn's SVC, or its SVR on a standardised target."""
    if given.classification:
        return SVC(**settings)
    return TransformedTargetRegressor(
        SVR(epsilon=EPSILON, **settings), transformer=StandardScaler()
    )


def chosen_C(score: Callable[[float, Indices, Indices], float], given: Sample) -> float:
    """Return the C of the grid with the best mean score, the smallest of equal ones."""
    means = [np.mean([score(C, train, held_out) for train, held_out in given.folds]) for C in GRID]
    return GRID[int(np.argmax(np.round(means, 12)))]


def final(given: Sample, C: float, options: Mapping[str, Any]) -> tuple[Array, dict[str, Any]]:
    """Return predictions of a fit on all training rows."""
    model = weighted(given, C, TOL, options).fit(numbers(np.arange(len(given.y))), given.y)
    facts = {"C": C, "selected": int((model.weights_ > 1e-8).sum())}
    return model.predict(test_numbers(given)), facts


def numbers(rows: Indices) -> Array:
    """Return row numbers as points."""
    return rows[:, None].astype(np.float64)


def test_numbers(given: Sample) -> Array:
    """Return the row numbers of the test rows."""
    return numbers(len(given.y) + np.arange(len(given.y_test)))


METHODS = {
    "svm": Method("Gaussian SVM, tuned", gaussian),
    "uniform": Method("uniform", fixed, {"weights": "uniform"}),
    "performance": Method("performance", fixed, {"weights": "performance"}),
    "align": Method("align", fixed, {"weights": "align"}),
    "alignf": Method("alignf", fixed, {"weights": "alignf"}),
    "easy": Method("easy", fixed, {"weights": "easy"}, classification_only=True),
    "simple": Method("simple", learned, {"weights": "simple"}),
    "lp 2": Method("simple, norm 2", learned, {"weights": "simple", "norm": 2.0}),
    "bemkl": Method("BEMKL", bayesian),
}
"""The contestants by name."""


class Cell(NamedTuple):
    """A fit: what identifies a line of the results."""

    table: str
    seed: int
    method: str


def cells(methods: Sequence[str], tables: Sequence[str], seeds: Iterable[int]) -> Iterator[Cell]:
    """Yield the fits of these methods on these sets."""
    for seed in seeds:
        for table in tables:
            for method in methods:
                if table in CLASSIFICATION or not METHODS[method].classification_only:
                    yield Cell(table, seed, method)


def measure(cell: Cell, given: Sample) -> Line:
    """Return the score of a method, and the processor seconds of its search and fit."""
    method, began = METHODS[cell.method], process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted, facts = method.predict(given, cell.seed, **method.options)
    seconds = process_time() - began
    line: Line = {**cell._asdict(), "score": round(given.score(given.y_test, predicted), 6)}
    sizes = {"rows": len(given.y), "test_rows": len(given.y_test), "kernels": len(given.values)}
    return {**line, "seconds": round(seconds, 3), **sizes, **facts}


def run_all(
    chosen: Iterable[Cell],
    path: Path,
    folder: Path | None,
    log: Callable[[str], None] = print,
) -> None:
    """Measure the cells that the file lacks, and add a line for each."""
    done = {Cell(line["table"], line["seed"], line["method"]) for line in read(path)}
    for (table, seed), group in groupby(chosen, key=lambda cell: cell[:2]):
        missing = [cell for cell in group if cell not in done]
        given = sample(table, seed, folder) if missing else None
        for cell in missing:
            assert given is not None
            line = measure(cell, given)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
            log(f"{table} | {seed} | {cell.method}: {line['score']:.4f}, {line['seconds']:.1f} s")
