"""Compare the accuracy of the rules of multiple kernel learning.

    python -m benchmarks.mkl run LINES --data DIR [--sets NAME,...] [--methods NAME,...]
    python -m benchmarks.mkl page LINES

The first command adds a line of JSON to the file LINES for each missing fit. The second adds the
lines to the stored ones and writes JSON, page and figure.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load_local
from benchmarks.lines import (
    computer,
    extend,
    options,
    provenance,
    read,
    seeds,
    write_json,
    write_picture,
    write_text,
)
from benchmarks.markdown import markdown_table
from benchmarks.signed_ranks import signed_rank_p
from benchmarks.splits import random_halves
from pliant import MKLClassifier, MKLRegressor
from pliant.core.typing import Array, Indices
from pliant.kernels import Precomputed
from pliant.methods.mkl.candidates import WIDTHS, default_kernels, normalized_kernels
from pliant.tables.comparison.statistics import (
    average_ranks,
    corrected_t_test,
    friedman_test,
    holm,
)
from pliant.tables.comparison.text import TextColumn

SETS = {
    "diabetic": "diabetic_retinopathy", "heart": "heart_statlog", "monks1": "monks1_train",
    "monks2": "monks2_train", "monks3": "monks3_train", "sonar": "sonar", "spect": "spect_train",
    "glass": "glass", "fertility": "fertility", "wine": "wine",
    "breast-cancer": "breast_cancer_original_complete", "climate": "climate_crashes",
    "haberman": "haberman", "ionosphere": "ionosphere", "bodyfat": "bodyfat", "pyrim": "pyrim",
    "space": "space_ga", "triazines": "triazines", "housing": "boston_housing", "mg": "mg",
    "mpg": "auto_mpg",
}  # fmt: skip
"""The sets of the study of DANK's defaults, with the names of their files."""

REGRESSION = ("bodyfat", "pyrim", "space", "triazines", "housing", "mg", "mpg")
SEEDS = range(100, 110)
MOST_TRAIN, MOST_TEST, MOST_KERNELS = 200, 600, 200
"""Maximum numbers of training rows, test rows, and default kernels (an evenly spaced subset)."""

GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS, TOL, COARSE, EPSILON = 3, 1e-3, 1e-2, 0.1
"""Folds, tolerance of the final fits and of the search for C, and epsilon of the SVR."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A split of a set: training rows first; `grams` are kernel matrices of all rows."""

    classification: bool
    X: Array
    y: Array
    n: int
    grams: list[Precomputed]
    folds: list[tuple[Indices, Indices]]

    def score(self, rows: Indices, predicted: Array) -> float:
        """Return the accuracy, or R2, of the predictions for some rows."""
        measure = accuracy_score if self.classification else r2_score
        return float(measure(self.y[rows], predicted))

    def combined(self, weights: Array) -> Array:
        """Return the weighted sum of the kernel matrices."""
        return np.tensordot(weights, [kernel.gram for kernel in self.grams], 1)


@lru_cache(1)
def sample(table: str, seed: int, rows: int = MOST_TRAIN) -> Sample:
    """Return random halves of a set, or its predefined training and test rows."""
    data = load_local(SETS[table])
    X, y, classification = data.X, data.y, table not in REGRESSION
    if SETS[table].endswith("_train"):
        other = load_local(SETS[table].replace("_train", "_test"))
        X, y = np.concatenate([X, other.X]), np.concatenate([y, other.y])
        train, test = np.split(np.arange(len(y)), [len(data.y)])
    else:
        ((train, test),) = random_halves(y.tolist(), 1, stratify=classification, random_state=seed)
    rng = np.random.default_rng(seed)
    train, test = rng.permutation(train)[:rows], rng.permutation(test)[:MOST_TEST]
    Z = StandardScaler().fit(X[train]).transform(X[np.concatenate([train, test])])
    points, y = Z[: len(train)], y[np.concatenate([train, test])]
    every = default_kernels(points)
    some = np.linspace(0, len(every) - 1, min(MOST_KERNELS, len(every))).astype(int)
    kernels = normalized_kernels([every[m] for m in some], points, True)
    kind = StratifiedKFold if classification else KFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = list(kind(FOLDS, shuffle=True, random_state=seed).split(points, y[: len(train)]))
    grams = [Precomputed(kernel(Z), assume_psd=True) for kernel in kernels]
    return Sample(classification, Z, y, len(train), grams, folds)


def weighted(given: Sample, rows: Indices, C: float, tol: float, **options: Any) -> Any:
    """Fit an estimator of pliant to some rows; its inputs are row numbers."""
    kind, further = (
        (MKLClassifier, {}) if given.classification else (MKLRegressor, {"epsilon": EPSILON})
    )
    model = kind(given.grams, C=C, tol=tol, normalize=False, **further, **options)
    return model.fit(rows[:, None].astype(np.float64), given.y[rows])


def learned(given: Sample, **options: Any) -> Array:
    """Select C for weights that depend on it; return test predictions."""

    def score(C: float, train: Indices, held_out: Indices) -> float:
        model = weighted(given, train, C, COARSE, **options)
        return given.score(held_out, model.predict(held_out[:, None]))

    return _last(given, score, **options)


def fixed(given: Sample, **options: Any) -> Array:
    """Learn weights once per fold, with C = 1, then select C for the sum of kernels."""
    sums: dict[int, Array] = {}

    def score(C: float, train: Indices, held_out: Indices) -> float:
        key = int(held_out[0])
        if key not in sums:
            sums[key] = given.combined(weighted(given, train, 1.0, COARSE, **options).weights_)
        model = _plain(given, kernel="precomputed", C=C)
        model.fit(sums[key][np.ix_(train, train)], given.y[train])
        return given.score(held_out, model.predict(sums[key][np.ix_(held_out, train)]))

    return _last(given, score, **options)


def gaussian(given: Sample) -> Array:
    """Fit one Gaussian SVM; select C and one of the ten widths by cross-validation."""
    prefix = "" if given.classification else "regressor__"
    grid = {f"{prefix}C": GRID, f"{prefix}gamma": [0.5 / width**2 for width in WIDTHS]}
    search = GridSearchCV(_plain(given, kernel="rbf"), grid, cv=given.folds)
    return search.fit(given.X[: given.n], given.y[: given.n]).predict(given.X[given.n :])


def _plain(given: Sample, **settings: Any) -> Any:
    if given.classification:
        return SVC(**settings)
    return TransformedTargetRegressor(
        SVR(epsilon=EPSILON, **settings), transformer=StandardScaler()
    )


def _last(
    given: Sample, score: Callable[[float, Indices, Indices], float], **options: Any
) -> Array:
    """Return test predictions with the best C; ties go to the smallest."""
    means = [np.mean([score(C, *fold) for fold in given.folds]) for C in GRID]
    best = GRID[int(np.argmax(np.round(means, 12)))]
    model = weighted(given, np.arange(given.n), best, TOL, **options)
    return model.predict(np.arange(given.n, len(given.y))[:, None])


METHODS: dict[str, tuple[str, Callable[..., Array] | None, Mapping[str, Any]]] = {
    "svm": ("Gaussian SVM, tuned", gaussian, {}),
    "uniform": ("uniform", fixed, {"weights": "uniform"}),
    "performance": ("performance", None, {}),
    "align": ("align", fixed, {"weights": "align"}),
    "alignf": ("alignf", fixed, {"weights": "alignf"}),
    "easy": ("easy", fixed, {"weights": "easy"}),
    "simple": ("simple", learned, {"weights": "simple"}),
    "lp 2": ("simple, norm 2", learned, {"weights": "simple", "norm": 2.0}),
    "bemkl": ("BEMKL", None, {}),
}
"""Title, function and options of each; without a function: removed after its measurement."""


def measure(table: str, seed: int, method: str) -> dict[str, Any]:
    """Return the test score of a method, and the processor seconds of search and fit."""
    given, (_, predict, options) = sample(table, seed), METHODS[method]
    assert predict is not None
    began = process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = predict(given, **options)
    test = np.arange(given.n, len(given.y))
    score, sizes = given.score(test, predicted), {"rows": given.n, "test_rows": len(test)}
    return {"score": score, "seconds": process_time() - began, **sizes}


NAME, LEVEL = "mkl-accuracy", 0.05
REFERENCES = ("svm", "uniform")
"""The references of the tests."""

TEXT = f"""
Random halves of 14 sets for classification and 7 for regression, seeds {{seeds}}; at most
{MOST_TRAIN} training and {MOST_TEST} test rows. The sets monks1 to monks3 and spect have separate
test files: there, repeats differ only in the folds of cross-validation and the order of rows, and
there is no test over repeats. Features are standardised on the training rows. The kernels are the
defaults of `MKLClassifier`, or an evenly spaced {MOST_KERNELS} of them if there are more. Every
contestant selects C from {", ".join(f"{C:g}" for C in GRID)} by {FOLDS}-fold cross-validation on
the training rows, and the Gaussian SVM also selects one of the ten widths; BEMKL has no C. Weights
that do not depend on C are learned once in each fold, with C = 1. Regression standardises the
target, with epsilon = .1. "performance" (weights by the cross-validated score of each kernel) and
BEMKL had no gain and were removed from the package; the table keeps their rows.
"""

TESTS_TEXT = """
Mean score over the sets, mean rank (1 the best), and for each of two references: the mean
gain, the sets with a significant gain or loss (corrected paired t test over the repeats, 5 %, not
adjusted: without any difference, one set in twenty is expected), and the p-value of Wilcoxon's
signed-rank test over the sets, adjusted by Holm's method over the contestants.
"""


def summary(lines: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each method of a task, in order of mean rank."""
    means = lines.groupby(["table", "method"], sort=False)["score"].mean().unstack()
    means = means[[name for name in METHODS if name in means]]
    table = pd.DataFrame(
        {
            "method": [METHODS[name][0] for name in means],
            "score": means.mean(),
            "rank": average_ranks(means.to_numpy()) if means.shape[1] > 1 else 1.0,
        }
    )
    for reference in (name for name in REFERENCES if name in means):
        others = [name for name in means if name != reference]
        gains = means.sub(means[reference], axis=0).mean()[others]
        sides = pd.Series({name: _sides(lines, name, reference) for name in others})
        table[f"gain on {reference}"] = gains
        table[f"better / worse, {reference}"] = sides
        if len(means) > 1:
            p_values = [signed_rank_p(means[name], means[reference]) for name in others]
            table[f"p, {reference}"] = pd.Series(dict(zip(others, holm(p_values), strict=True)))
    table["seconds"] = lines.groupby("method")["seconds"].mean()
    rows = table.sort_values("rank", kind="stable").to_dict("records")
    return [{k: None if v != v else v for k, v in row.items()} for row in rows]


def _sides(lines: pd.DataFrame, method: str, reference: str) -> str:
    """Return the numbers of sets on which a method is significantly better and worse."""
    sides = []
    for table, own in lines.groupby("table", sort=False):
        first, second = (own[own["method"] == name]["score"] for name in (method, reference))
        if len(first) > 1 and not SETS[str(table)].endswith("_train"):
            sizes = own.iloc[0]
            share = sizes["test_rows"] / sizes["rows"]
            test = corrected_t_test(first.tolist(), second.tolist(), share)
            sides.append(np.sign(test.statistic) if test.p_value < LEVEL else 0)
    return f"{sides.count(1)} / {sides.count(-1)}"


def to_markdown(found: Mapping[str, Any]) -> str:
    """Render a document as a Markdown page."""
    lines = pd.DataFrame(found["lines"])
    seeds = f"{lines['seed'].min()} to {lines['seed'].max()}"
    parts = ["# Accuracy of the rules for kernel weights\n"]
    parts += [" ".join(TEXT.format(seeds=seeds).split()) + "\n"]
    parts += [f"![Score of each rule minus the score of a tuned Gaussian SVM]({NAME}.png)\n"]
    for task, score, own in _by_task(lines):
        rows, groups = summary(own), own.groupby(["table", "method"], sort=False)["score"]
        means, spreads = groups.mean().unstack(), groups.std().unstack()
        parts += [f"## {task.capitalize()}, {len(means)} sets\n", " ".join(TESTS_TEXT.split())]
        parts += ["", markdown_table(rows, [_column(key, score) for key in rows[0]])]
        if len(means) > 1 and means.shape[1] > 2:
            p = friedman_test(means.to_numpy()).p_value
            parts += [f"Friedman's test that all are equivalent: p = {p:.2g}.\n"]
        parts += [f"Mean {score} and its standard deviation:\n"]
        shown = [
            {"set": table}
            | {
                METHODS[m][0]: f"{means[m][table]:.3f} ± {spreads[m][table]:.3f}"
                for m in METHODS
                if m in means
            }
            for table in means.index
        ]
        parts += [markdown_table(shown)]
    return "\n".join([*parts, f"{computer(found)}\n"])


def _by_task(lines: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    regression = lines["table"].isin(REGRESSION)
    tasks = [
        ("classification", "accuracy", lines[~regression]),
        ("regression", "R2", lines[regression]),
    ]
    return [each for each in tasks if len(each[2])]


def _column(key: str, score: str) -> TextColumn:
    titles = {"score": score, "rank": "mean rank", "seconds": "processor seconds"}
    digits = {"score": 4, "rank": 2, "seconds": 2}
    return TextColumn(
        key, titles.get(key, key), 4 if key.startswith("gain") else digits.get(key, 3)
    )


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Draw the score difference of each method from the tuned SVM, one dot per set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    tasks = _by_task(pd.DataFrame(found["lines"]))
    for ax, (task, score, own) in zip(figure.subplots(1, 2), tasks, strict=False):
        means = own.groupby(["table", "method"], sort=False)["score"].mean().unstack()
        rng = np.random.default_rng(0)
        names = [name for name in METHODS if name in means and name != REFERENCES[0]]
        for place, name in enumerate(names):
            gains = means[name] - means[REFERENCES[0]]
            jitter = rng.uniform(-0.2, 0.2, len(gains))
            ax.scatter(gains, place + jitter, s=14, color=f"C{place}", alpha=0.7, linewidth=0)
            ax.plot([gains.median()] * 2, [place - 0.35, place + 0.35], color=f"C{place}")
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_yticks(range(len(names)), [METHODS[name][0] for name in names])
        ax.invert_yaxis()
        ax.locator_params(axis="x", nbins=6)
        ax.set_xlabel(f"{score} minus the tuned Gaussian SVM's")
        ax.set_title(f"{task}, {len(means)} sets; lines: medians", fontsize=10)
    write_picture(path, figure)


def document(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON document: the computer and the lines, in the order of the page."""
    last = {(r["table"], r["seed"], r["method"]): r for r in lines}.values()
    order = {name: place for place, name in enumerate(SETS)}
    kept = sorted(last, key=lambda r: (order[r["table"]], r["seed"]))
    command = "python -m benchmarks.mkl run LINES --data DIR"
    return {"format": 1, **provenance(), "command": command, "lines": kept}


def write(found: dict[str, Any], folder: Path) -> None:
    """Write JSON, page and figure into a folder."""
    head = {key: value for key, value in found.items() if key != "lines"}
    write_json(folder / f"{NAME}.json", head, lines=found["lines"])
    write_text(folder / f"{NAME}.md", to_markdown(found))
    draw(found, folder / f"{NAME}.png")


def main(words: list[str] | None = None) -> None:
    """Measure, or write the page."""
    given = options(
        "mkl", words, sets=",".join(SETS), methods=",".join(m for m in METHODS if METHODS[m][1]),
        seeds=f"{SEEDS.start}:{SEEDS.stop}",
    )  # fmt: skip
    if given.command == "page":
        kept, new = given.out / f"{NAME}.json", read(given.lines)
        found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"lines": []}
        write(document([*found["lines"], *new]) if new else found, given.out)
        return
    os.environ["PLIANT_DATA"] = str(given.data)
    keys = (
        {"table": table, "seed": seed, "method": method}
        for seed in seeds(given.seeds)
        for table in given.sets.split(",")
        for method in given.methods.split(",")
        if method != "easy" or table not in REGRESSION
    )
    extend(given.lines, keys, measure)


if __name__ == "__main__":
    main()
