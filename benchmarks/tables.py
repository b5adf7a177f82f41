"""Compare LAB-RBF and other methods on many tables.

    python -m benchmarks.tables small                    # five tables of scikit-learn, ten minutes
    python -m benchmarks.tables fresh --data DIR         # the tables of the README, hours
    python -m benchmarks.tables older --data DIR         # 32 smaller tables

DIR has a folder ``fresh`` with MANIFEST.json and the tables, or files NAME.csv.gz for ``older``.
Each command measures the missing cells, adds a line of JSON for each to a file, and writes the
page: an interrupted run continues. ``--contestants`` selects methods: names of this folder, or
``module:function`` for your own; ``--page`` writes the page without measuring; ``--keep`` adds the
cells to the stored results. The page docs/how_to_compare.rst describes the protocol.

A cell is one fit: a contestant, a table, a split and a seed of the model. The score of a split is
the mean over the seeds, and the score of a table the mean over its splits. Means are exact
(fractions of the stored numbers, for accuracy of counts), so that ties are ties.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from benchmarks import raw_tables
from benchmarks.harness.measuring import ROOT
from benchmarks.lines import (
    computer,
    extend,
    provenance,
    read,
    write_json,
    write_picture,
    write_text,
)
from benchmarks.markdown import markdown_table
from benchmarks.table_contestants import (
    BY_DEFAULT,
    CONTESTANTS,
    MOST_ROWS,
    NATIVE,
    ONE_SEED,
    TITLES,
)
from pliant.core.typing import Array
from pliant.tables.comparison.text import TextColumn

TRAIN_SHARE, MOST_TRAIN, MOST_TEST = 0.7, 3000, 5000
"""Share of training rows, and maximum numbers of training and test rows."""

FIRST_SPLIT, FEW_ROWS, MANY_CELLS, FEW_CELLS = 100, 1000, 5, 3
"""First seed of the splits; five splits with five seeds each up to FEW_ROWS rows, three above."""

DRAWS = 20_000
"""Bootstrap samples of an interval: tables, and splits of each table, with replacement."""

SECTIONS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("tables.toml").read_text(encoding="utf-8")
)
"""Title, notes, and names of tables by task and half, for each section."""

BUILT_IN: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "friedman1": lambda: datasets.make_friedman1(2000, noise=1.0, random_state=0),
    "friedman1_300": lambda: datasets.make_friedman1(300, noise=1.0, random_state=0),
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "iris_flowers": lambda: datasets.load_iris(return_X_y=True),
    "wine_cultivars": lambda: datasets.load_wine(return_X_y=True),
}
"""Tables that need no file."""

RESULTS = ROOT / "benchmarks" / "results"
OURS = "lab_rbf"
FIELDS = (
    "label", "table", "split", "seed", "trained", "tested", "score", "log_loss", "auc", "fit_s",
)  # fmt: skip
"""Columns of the stored cells. The score is R2, or the number of test rows with the right class."""

KEY = list(FIELDS[:4])
METRICS = {"regression": ("score",), "classification": ("score", "log_loss", "auc")}


TASKS = {
    name: task
    for task in METRICS
    for half in SECTIONS["older"][task].values()
    for name in half
}  # fmt: skip
"""The task of each table of numbers, which other studies use too."""


def task_of(section: str, table: str) -> str:
    """Return the task of a table."""
    return next(
        task for task in METRICS for half in SECTIONS[section][task].values() if table in half
    )


def load(section: str, name: str, folder: Path | None) -> tuple[Any, Any]:
    """Return features and target of a table without categories."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    assert folder is not None
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        values = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    y = values[:, -1]
    if task_of(section, name) == "classification":
        y = np.unique(y, return_inverse=True)[1]
    return values[:, :-1], y


def split(
    section: str, name: str, seed: int, folder: Path | None, *, native: bool
) -> tuple[Any, Any, Any, Any]:
    """Return X and y of the training rows, then of the test rows."""
    if section == "fresh":
        assert folder is not None
        return split_fresh(name, seed, folder, native=native)
    X, y = load(section, name, folder)
    strata = None if task_of(section, name) == "regression" else y
    parts = train_test_split(X, y, train_size=TRAIN_SHARE, random_state=seed, stratify=strata)
    train, test, y_train, y_test = parts
    return train[:MOST_TRAIN], y_train[:MOST_TRAIN], test[:MOST_TEST], y_test[:MOST_TEST]


def split_fresh(name: str, seed: int, folder: Path, *, native: bool) -> tuple[Any, Any, Any, Any]:
    """Return X and y of the training rows, then of the test rows, of a table of data/fresh.

    A method with `native` categories gets frames; the others get arrays, with an indicator for each
    category and medians in place of missing numbers.
    """
    entry = raw_tables.manifest(folder)[name]
    train, test = raw_tables.split(entry, seed, folder)
    y, y_test = train.pop("target"), test.pop("target")
    if task_of("fresh", name) == "classification":
        classes = np.unique(y)
        y, y_test = np.searchsorted(classes, y), np.searchsorted(classes, y_test)
    cats = entry["cats"]
    numbers = [column for column in train.columns if column not in cats]
    for part in (train, test):
        part[cats] = part[cats].astype(object).fillna("missing").astype(str)
    medians = train[numbers].median()
    for part in (train, test):
        part[numbers] = part[numbers].fillna(medians)
    if native:
        for column in cats:
            kind = pd.CategoricalDtype(sorted(train[column].unique()))
            known = test[column].isin(kind.categories)
            test[column] = test[column].where(known, train[column].mode()[0]).astype(kind)
            train[column] = train[column].astype(kind)
        return train, np.asarray(y), test, np.asarray(y_test)
    indicators = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("categories", indicators, cats)], remainder="passthrough")
    X = encoder.fit_transform(train)
    return X, np.asarray(y), encoder.transform(test), np.asarray(y_test)


def measure(
    section: str, label: str, table: str, split_seed: int, seed: int, folder: Path | None
) -> dict[str, Any]:
    """Return the scores of one fit, and its processor seconds."""
    make = factory(label)
    native = getattr(make, "native", label in NATIVE)
    parts = split(section, table, split_seed, folder, native=native)
    train, y_train, test, y_test = parts
    sizes = {"trained": len(train), "tested": len(test)}
    if len(train) > MOST_ROWS.get(label, len(train)):
        return {**sizes, "score": None}
    classification = task_of(section, table) == "classification"
    model = make(classification, seed)
    if missing := [name for name in needed(classification) if not hasattr(model, name)]:
        kind = "classification" if classification else "regression"
        raise TypeError(
            f"expected {', '.join(missing)} for {kind}, got {type(model).__name__} without it"
        )
    began = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, y_train)
        seconds = time.process_time() - began
        predicted = np.asarray(model.predict(test)).ravel()
        if not classification:
            return {**sizes, "score": float(r2_score(y_test, predicted)), "fit_s": seconds}
        shares = np.clip(np.asarray(model.predict_proba(test), dtype=np.float64), 1e-7, None)
    shares /= shares.sum(axis=1, keepdims=True)
    loss = log_loss(y_test, shares, labels=np.unique(y_train))
    score = int((predicted == y_test).sum())
    scores = {"score": score, "log_loss": float(loss), "auc": auc(y_test, shares)}
    return {**sizes, **scores, "fit_s": seconds}


def needed(classification: bool) -> tuple[str, ...]:
    """Return the methods of an estimator that the comparison calls."""
    return ("fit", "predict", *(["predict_proba"] if classification else []))


def factory(label: str) -> Callable[[bool, int], Any]:
    """Return the function that makes a contestant: of this folder, or ``module:function``."""
    if label in CONTESTANTS:
        return CONTESTANTS[label]
    module, _, function = label.partition(":")
    if not function:
        raise ValueError(
            f"expected one of {sorted(CONTESTANTS)}, or module:function, got {label!r}"
        )
    try:
        made: Callable[[bool, int], Any] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"expected module:function to import, got {label!r}: {error}; PYTHONPATH must have the "
            "folder of the module, whose name is without .py"
        ) from error
    return made


def auc(y: Array, shares: Array) -> float | None:
    """Return the AUC, macro-averaged one-vs-rest; None if a class is missing from the test rows."""
    if len(np.unique(y)) < shares.shape[1]:
        return None
    if shares.shape[1] == 2:
        return float(roc_auc_score(y, shares[:, 1]))
    return float(roc_auc_score(y, shares, multi_class="ovr"))


def cells(
    section: str, labels: Sequence[str], names: Sequence[str], folder: Path | None
) -> Iterator[dict[str, Any]]:
    """Yield the keys of the cells: all splits with the first seed, then with the second, ..."""
    rows = {name: len(split(section, name, FIRST_SPLIT, folder, native=True)[0]) for name in names}
    single = {label: getattr(factory(label), "one_seed", label in ONE_SEED) for label in labels}
    for seed, k, name, label in product(range(MANY_CELLS), range(MANY_CELLS), names, labels):
        count = MANY_CELLS if rows[name] <= FEW_ROWS else FEW_CELLS
        if k < count and seed < (1 if single[label] else count):
            yield {"label": label, "table": name, "split": FIRST_SPLIT + k, "seed": seed}


# The page


def exact_mean(values: Iterable[float]) -> Fraction:
    exact = [Fraction(value) for value in values]
    return sum(exact, Fraction()) / len(exact)


def mean(values: Iterable[float]) -> float:
    """Return the mean, computed exactly and rounded once."""
    return float(exact_mean(values))


def by_split(rows: pd.DataFrame, task: str, tables: Sequence[str], metric: str) -> pd.DataFrame:
    """Return the exact mean of a metric over the seeds for each table, split and contestant.

    Counts of right classes become shares of the test rows. Splits are those that all contestants
    have that were measured on all of the tables; these are ranked.
    """
    own = rows[rows["table"].isin(tables) & rows[metric].notna()]
    if task == "classification" and metric == "score":
        share = [Fraction(int(s), int(n)) for s, n in zip(own["score"], own["tested"], strict=True)]
        own = own.assign(score=share)
    wide = own.groupby(["table", "split", "label"])[metric].agg(exact_mean).unstack()
    return wide.dropna(subset=ranked(wide))


def ranked(wide: pd.DataFrame) -> list[str]:
    """Return the contestants that were measured on all tables."""
    return [label for label in wide if wide[label].notna().groupby("table").any().all()]


def by_table(each: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the splits for each table and contestant."""
    return each.groupby("table").agg(lambda c: mean(c.dropna()) if c.notna().any() else np.nan)


def drawn(each: pd.DataFrame) -> Array:
    """Return the scores of the tables of bootstrap samples, shape (DRAWS, tables, methods)."""
    rng = np.random.default_rng(0)
    groups = [group.to_numpy(dtype=float) for _, group in each.groupby("table")]
    chosen = rng.integers(len(groups), size=(DRAWS, len(groups)))
    found = np.empty((*chosen.shape, each.shape[1]))
    for k, group in enumerate(groups):
        places = np.nonzero(chosen == k)
        splits = rng.integers(len(group), size=(len(places[0]), len(group)))
        found[places] = group[splits].mean(axis=1)
    return found


def interval(values: Array, digits: int) -> str:
    """Return the 95 % interval of some draws."""
    low, high = np.quantile(values, [0.025, 0.975])
    return f"{low:.{digits}f} to {high:.{digits}f}"


def seed_spread(rows: pd.DataFrame, task: str, tables: Sequence[str], label: str) -> float | None:
    """Return the standard deviation over the seeds of one fit, pooled over tables and splits.

    Those with a single seed are left out.
    """
    own = rows[rows["table"].isin(tables) & (rows["label"] == label) & rows["score"].notna()]
    score = own["score"] / (own["tested"] if task == "classification" else 1)
    variances = score.groupby([own["table"], own["split"]]).var().dropna()
    return float(np.sqrt(variances.mean())) if len(variances) else None


def standings(rows: pd.DataFrame, task: str, tables: Sequence[str]) -> list[dict[str, Any]]:
    """Return a line for each contestant on some tables, in order of mean rank."""
    tables = [name for name in tables if name in set(rows["table"])]
    if not tables or OURS not in set(rows["label"]):
        return []
    each = by_split(rows, task, tables, "score")
    score, names = by_table(each), ranked(each)
    sizes = rows.groupby("table")["trained"].max()
    groups = {
        "rank, whole tables": [name for name in score.index if sizes[name] < MOST_TRAIN],
        f"rank, cut to {MOST_TRAIN}": [name for name in score.index if sizes[name] == MOST_TRAIN],
    }
    draws = drawn(each[names])
    ranks = rankdata(-draws, axis=2).mean(axis=1)
    kinds = {"regression": "R2", "classification": "accuracy"}
    lines = []
    for label in each:
        line: dict[str, Any] = {"method": TITLES.get(label, label)}
        own = score[label].dropna()
        line["tables"] = len(own)
        counted = rows[(rows["label"] == label) & rows["table"].isin(tables)].dropna(subset="score")
        seeds = counted.groupby(["table", "split"]).size()
        line["seeds"] = "–".join(map(str, dict.fromkeys([seeds.min(), seeds.max()])))
        if label in names:
            place = names.index(label)
            line["mean rank"] = mean(score[names].rank(axis=1, ascending=False)[label])
            line["interval"] = interval(ranks[:, place], 1)
            for title, part in groups.items():
                if part:
                    each_rank = score.loc[part, names].rank(axis=1, ascending=False)[label]
                    line[f"{title} ({len(part)})"] = mean(each_rank)
        line[kinds[task]] = mean(own) if len(own) == len(score) else None
        line["sd of the seed"] = seed_spread(rows, task, tables, label)
        if label != OURS:
            common = each[[OURS, label]].dropna()
            pair = by_table(common)
            counts = (pair[OURS] > pair[label], pair[OURS] == pair[label], pair[OURS] < pair[label])
            line["LAB-RBF better, equal, worse"] = ", ".join(str(int(c.sum())) for c in counts)
            line["its lead"] = mean(pair[OURS]) - mean(pair[label])
            line["median lead"] = float((pair[OURS] - pair[label]).astype(float).median())
            lead = drawn(common)
            line["interval of the lead"] = interval((lead[..., 0] - lead[..., 1]).mean(axis=1), 3)
        line["seconds"] = float(counted.groupby("table")["fit_s"].median().median())
        lines.append(line)
    if task == "classification":
        _add_log_loss(lines, rows, tables, list(each))
    lines.sort(key=lambda line: (line.get("mean rank", np.inf), line["method"]))
    keys = dict.fromkeys(key for line in lines for key in line)
    return [{key: line.get(key) for key in keys} for line in lines]


def _add_log_loss(
    lines: Sequence[dict[str, Any]], rows: pd.DataFrame, tables: Sequence[str], labels: list[str]
) -> None:
    """Add the columns of log loss and AUC."""
    each = by_split(rows, "classification", tables, "log_loss")
    loss, names = by_table(each), ranked(each)
    ranks = rankdata(drawn(each[names]), axis=2).mean(axis=1)
    areas = by_table(by_split(rows, "classification", tables, "auc"))
    for label, line in zip(labels, lines, strict=True):
        if label in names:
            line["rank, log loss"] = mean(loss[names].rank(axis=1)[label])
            line["its interval"] = interval(ranks[:, names.index(label)], 1)
            line["log loss"] = mean(loss[label])
        if label in areas and areas[label].notna().all():
            line["AUC"] = mean(areas[label])
        if label != OURS and label in names:
            counts = (loss[OURS] < loss[label], loss[OURS] == loss[label], loss[OURS] > loss[label])
            line["in log loss"] = ", ".join(str(int(count.sum())) for count in counts)


def part_of(rows: pd.DataFrame, task: str, tables: Sequence[str], label: str) -> list[str]:
    """Return the ranks on the tables on which a contestant was measured, if it is on some only."""
    own = rows[(rows["label"] == label) & rows["score"].notna()]
    some = [name for name in tables if name in set(own["table"])]
    if not 1 < len(some) < len(tables):
        return []
    keys = ["method", "mean rank", "interval", "rank, log loss", "its interval"]
    lines = standings(rows, task, some)
    columns = [TextColumn(key, digits=2) for key in keys if key in lines[0]]
    told = f"On the {len(some)} tables of {task} with a {TITLES[label]} ({', '.join(some)}):\n"
    return [told, markdown_table(lines, columns)]


def behind(rows: pd.DataFrame, task: str, tables: Sequence[str]) -> str:
    """Return a sentence that names the tables with LAB-RBF far below the median method."""
    each = by_split(rows, task, tables, "score")
    score = by_table(each)[ranked(each)]
    median = score.median(axis=1)
    far = score.index[score[OURS] < median - 0.05]
    named = ", ".join(f"{name} ({score[OURS][name]:.3f}, {median[name]:.3f})" for name in far)
    found = f"on {named} (LAB-RBF, median)" if named else "on no table"
    return f"LAB-RBF is more than .05 below the median of the ranked methods {found}.\n"


DIGITS = {"mean rank": 2, "rank, log loss": 2, "seconds": 2, "sd of the seed": 4}


def to_markdown(section: str, rows: pd.DataFrame, report: Mapping[str, Any]) -> str:
    about = SECTIONS[section]
    parts = [f"# {about['title']}\n", " ".join((about["notes"] + PROTOCOL).split()) + "\n"]
    if about.get("figure"):
        parts += [f"![Errors relative to the best method, one dot per table]({about['figure']})\n"]
    for task in METRICS:
        tables = about[task]["report"]
        if not (lines := standings(rows, task, tables)):
            continue
        columns = [
            TextColumn(key, digits=2 if key.startswith("rank,") else DIGITS.get(key, 3))
            for key in lines[0]
        ]
        parts += [f"## {task.capitalize()}\n", markdown_table(lines, columns)]
        measured = [name for name in tables if name in set(rows["table"])]
        count = sum(line["mean rank"] is not None for line in lines)
        unranked = [
            f"{line['method']} is not ranked: it was measured on {line['tables']} of them."
            for line in lines
            if line["mean rank"] is None
        ]
        parts += [
            " ".join([f"{count} methods are ranked, on {len(measured)} tables.", *unranked]),
            behind(rows, task, measured),
        ]
        parts += part_of(rows, task, measured, "gaussian_process")
        score = by_table(by_split(rows, task, measured, "score"))
        order = [label for label in TITLES if label in score]
        order += [label for label in score if label not in TITLES]
        score = score[order].rename(columns=TITLES).astype(object)
        score = score.where(score.notna(), None)
        parts += ["Mean score of each table:\n"]
        parts += [markdown_table(score.reset_index().to_dict("records"))]
    return "\n".join([*parts, f"{computer(report)}\n"])


PROTOCOL = f"""
Each split uses 70 % of the rows for training, at most {MOST_TRAIN}, and at most {MOST_TEST} for
testing: up to {FEW_ROWS} training rows {MANY_CELLS} splits with {MANY_CELLS} seeds of the model
each, above {FEW_CELLS} of both. Methods without random draws have one seed; the column of seeds has
the least and the largest number. Scores are means over seeds, then over the splits that all methods
have which were measured on all tables. Mean ranks are among these methods, 1 the best; tables with
more rows are cut and have a separate column. Intervals (95 %) are bootstrap intervals over tables
and splits. *Equal* counts exact ties; accuracies are compared as counts of rows. The *lead* is
LAB-RBF's mean score less that of the method, on the same splits; the *sd of the seed* is the
standard deviation over the seeds of one fit, pooled over tables and splits with several seeds.
Seconds are processor time of one fit with BLAS on one thread, medians over the fits to a table and
over the tables, from several computers with other work: compare orders of magnitude only."""


def draw(section: str, rows: pd.DataFrame, path: Path) -> None:
    """Draw the errors relative to the best method, one dot per table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    for ax, task in zip(figure.subplots(1, 2), METRICS, strict=True):
        tables = SECTIONS[section][task]["report"]
        order = [line["method"] for line in standings(rows, task, tables) if line["mean rank"]]
        score = by_table(by_split(rows, task, tables, "score")).rename(columns=TITLES)[order]
        # Avoid infinite ratios on tables without errors of the best contestant.
        errors = (1.0 - score).clip(lower=5e-3)
        ratios = errors.div(errors.min(axis=1), axis=0)
        spread = np.random.default_rng(0).uniform(-0.25, 0.25, size=ratios.T.shape)
        for place, name in enumerate(order):
            color = "C3" if name == TITLES[OURS] else "0.45"
            dots = ratios[name].to_numpy()
            ax.scatter(dots, place + spread[place], s=12, color=color, alpha=0.7, linewidth=0)
            middle = float(np.exp(np.nanmean(np.log(dots))))
            ax.plot([middle, middle], [place - 0.35, place + 0.35], color=color, linewidth=2)
        ax.set(xscale="log", ylim=(len(order) - 0.5, -0.5))
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100) if tick <= np.nanmax(ratios)]
        ax.set_xticks(ticks, map(str, ticks))
        ax.set_xticks([], minor=True)
        ax.set_yticks(range(len(order)), order)
        kind = "1 - R2" if task == "regression" else "error rate"
        ax.set_xlabel(f"{kind} / lowest on the table")
        ax.set_title(f"{task}, {len(score)} tables")
    write_picture(path, figure)


def stored(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the head and the cells of a document of results; empty if there is none."""
    if not path.exists():
        return {}, []
    head = json.loads(path.read_text(encoding="utf-8"))
    return head, [dict(zip(FIELDS, line, strict=True)) for line in head.pop("results")]


def write_page(section: str, lines: Path, out: Path) -> Path:
    """Add the lines to the stored cells; write document, page and figure to the folder `out`."""
    name = SECTIONS[section]["name"]
    head, old = stored(RESULTS / f"{name}.json")
    new = read(lines)
    rows = pd.DataFrame([*old, *new], columns=FIELDS).drop_duplicates(KEY, keep="last")
    rows = rows.sort_values(KEY)
    if new:  # the versions of packages that are not here are those of the stored cells
        known = head.get("machine", {}).get("packages", {})
        head |= provenance() | {"command": f"python -m benchmarks.tables {section}"}
        head["machine"]["packages"] = known | head["machine"]["packages"]
    kept = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    path = out / f"{name}.json"
    write_json(path, head, results=kept)
    write_text(path.with_suffix(".md"), to_markdown(section, rows, head))
    if SECTIONS[section].get("figure"):
        draw(section, rows, path.with_name(SECTIONS[section]["figure"]))
    return path.with_suffix(".md")


def main(words: Sequence[str] | None = None) -> None:
    """Measure the missing cells of a section, and write its page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("section", choices=SECTIONS)
    add(
        "--lines", type=Path, metavar="FILE", help="measured cells; by default in benchmarks/output"
    )
    add("--data", type=Path, metavar="DIR", default=os.environ.get("PLIANT_DATA"),
        help="folder of the tables; not needed for small")  # fmt: skip
    add("--contestants", default="", metavar="A,B", help="names, or module:function")
    add("--tables", default="", metavar="A,B", help="measure only these tables of the section")
    add("--page", action="store_true", help="write the page without measuring")
    add("--keep", action="store_true", help="add the cells to the stored results in the repository")
    given = parser.parse_args(words)
    section, output = given.section, ROOT / "benchmarks" / "output"
    lines = given.lines or output / f"tables-{section}.jsonl"
    labels = names_of(given.contestants) or list(BY_DEFAULT[section])
    tables = [name for task in METRICS for name in SECTIONS[section][task]["report"]]
    chosen = names_of(given.tables) or tables
    if unknown := [name for name in chosen if name not in tables]:
        parser.error(f"argument --tables: expected some of {', '.join(tables)}, got {unknown[0]!r}")
    try:
        for label in labels:
            factory(label)
        if not given.page:
            check_data(section, chosen, given.data)
    except ValueError as error:
        parser.error(str(error))
    if not given.page:
        lines.parent.mkdir(parents=True, exist_ok=True)

        def one(label: str, table: str, split: int, seed: int) -> dict[str, Any]:
            return measure(section, label, table, split, seed, given.data)

        try:
            extend(lines, cells(section, labels, chosen, given.data), one)
        except KeyboardInterrupt:
            parser.exit(
                130, f"Interrupted; the results are in {lines}: the same command continues\n"
            )
    print(f"Written: {write_page(section, lines, RESULTS if given.keep else output)}")


def names_of(text: str) -> list[str]:
    """Return the names of a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def check_data(section: str, names: Sequence[str], folder: Path | None) -> None:
    """Raise ValueError if the folder of data lacks a table."""
    if section == "small":
        return
    if folder is None:
        raise ValueError("expected --data DIR or the variable PLIANT_DATA")
    if section == "fresh":
        manifest = folder / raw_tables.FOLDER / "MANIFEST.json"
        if not manifest.exists():
            raise ValueError(
                f"argument --data: expected a folder with {raw_tables.FOLDER}/{manifest.name}, "
                f"got {str(folder)!r}"
            )
        known = raw_tables.manifest(folder)
        absent = [name for name in names if name not in known]
    else:
        files = [name for name in names if name not in BUILT_IN]
        absent = [name for name in files if not (folder / f"{name}.csv.gz").exists()]
    if absent:
        raise ValueError(f"argument --data: expected a table {absent[0]!r} in {str(folder)!r}")


if __name__ == "__main__":
    main()
