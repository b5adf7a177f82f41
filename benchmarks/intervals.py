"""Compare prediction intervals and probabilities of LAB-RBF and other methods on many tables.

    python -m benchmarks.intervals run LINES --data DIR [--methods NAME,...] [--tables NAME,...]
    python -m benchmarks.intervals page [LINES]

The first command adds a line of JSON to the file LINES for each missing fit. The second adds the
lines to the stored ones and writes JSON, page and figures.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.interval_methods import (
    HELD_OUT,
    INTERVALS,
    MOST_TUNED,
    PROBABILITIES,
    TITLES,
)
from benchmarks.lines import (
    computer,
    extend,
    options,
    provenance,
    read,
    write_json,
    write_picture,
    write_text,
)
from benchmarks.markdown import markdown_table
from benchmarks.tables import MOST_TRAIN, TASKS, TRAIN_SHARE, load, split
from pliant.core.typing import Array
from pliant.tables.comparison.text import TextColumn

LEVELS = (0.5, 0.8, 0.9, 0.95)

SEED = 100
BINS = 15
"""Number of equal bins of [0, 1] for the calibration error."""

LEAST, FEW = 1e-7, 0.01
"""Lower bound on probabilities, and minimum share of the samples in a drawn bin."""

CALIBRATED = ("lab_rbf_calibrated", "conformal_svr")

MARKERS = "osD^v"

TEXT = f"""
Splits of the regression tables, seed {SEED}: 70 % of the rows and at most 3000 for
training, at most 5000 for testing. LAB-RBF has its default settings; with calibration={HELD_OUT},
this share of the rows is used for calibration (split conformal prediction). Gaussian process:
scikit-learn's, on standardised features and target, a bandwidth for each feature, and noise, on
1000 rows at most; it is no longer measured. Quantile boosting:
`HistGradientBoostingRegressor(loss="quantile")` with default settings for each end; crossing ends
are exchanged. Conformal SVR: MAPIE's `SplitConformalRegressor`, the same share of calibration rows,
around a Gaussian SVR on standardised data; five-fold cross-validation on at most {MOST_TUNED} rows
selects C and gamma from 20 settings.

The standard error of a coverage c is the binomial one, the root of c (1 - c) / n, with n test rows.
It ignores that the errors of the calibration rows are a sample as well: with k of these, even
an exact method has the standard error of the root of c (1 - c) (1 / n + 1 / k). Widths and
interval scores (the width plus 2 / (1 - c) times the distance of a target from the interval; lower
is better) are divided by the standard deviation of the target. They are averaged over the tables on
which all methods have finite intervals; for that, LAB-RBF with calibration needs 2 / (1 - c) - 1
calibration rows.

In the figure, a symbol is the mean over the tables, a vertical line extends from the first to the
third quartile, and the grey band covers two points on either side.
"""

PROBABILITIES_TEXT = f"""
The classification tables with at most 3000 training rows, seed {SEED}. For the SVM, five-fold
cross-validation selects C and gamma from 20 settings, and Platt's method gives probabilities;
logistic regression and the forest of 500 trees have scikit-learn's defaults. The expected
calibration error compares the mean probability of the predicted class with the accuracy, in {BINS}
bins of equal width of this probability. In the figure, bins are means over the tables, without
bins of less than 1 % of the samples.
"""


def interval_scores(y: Array, ends: Array, coverage: float, unit: float) -> list[float | None]:
    """Return coverage, mean width and mean interval score of intervals.

    The interval score of Gneiting and Raftery (2007) is the width, plus 2 / (1 - coverage) times
    the distance of a target from the interval. Width and score are divided by `unit`; they are None
    if an interval is infinite. Crossing ends are exchanged.
    """
    low, high = np.sort(ends, axis=1).T
    inside = float(np.mean((low <= y) & (y <= high)))
    if not np.isfinite(ends).all():
        return [inside, None, None]
    beyond = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    width = high - low
    score = width + 2.0 / (1.0 - coverage) * beyond
    return [inside, float(width.mean() / unit), float(score.mean() / unit)]


def probability_scores(y: Array, shares: Array, classes: Array) -> dict[str, Any]:
    """Return accuracy, log loss, expected calibration error (Guo et al. 2017), and the bins.

    ``bins`` has, for each of `BINS` bins of confidence, its share of the samples, and the sums of
    confidences and of correct predictions, divided by the number of samples. The calibration
    error is the sum over the bins of the absolute differences of these two sums.
    """
    shares = np.clip(np.asarray(shares, dtype=np.float64), LEAST, None)
    shares /= shares.sum(axis=1, keepdims=True)
    confidence, correct = shares.max(axis=1), classes[shares.argmax(axis=1)] == y
    place = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    of_bin = [
        np.bincount(place, weights, BINS) / len(y)
        for weights in (np.ones(len(y)), confidence, correct.astype(np.float64))
    ]
    return {
        "accuracy": float(correct.mean()),
        "log_loss": float(log_loss(y, shares, labels=classes)),
        "calibration_error": float(np.abs(of_bin[1] - of_bin[2]).sum()),
        "bins": np.transpose(of_bin).tolist(),
    }


def measure(method: str, table: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return the scores of one fit, and the processor seconds of fit and predictions."""
    train, y_train, test, y_test = split("older", table, seed, folder, native=False)
    sizes = {"rows": len(y_train), "test_rows": len(y_test)}
    began = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if TASKS[table] == "classification":
            model = PROBABILITIES[method](True, seed).fit(train, y_train)
            scores = probability_scores(y_test, model.predict_proba(test), model.classes_)
        else:
            intervals = INTERVALS[method]
            assert intervals is not None
            ends_of = intervals(train, y_train, seed)
            unit = float(np.std(y_train))
            of_levels = [interval_scores(y_test, ends_of(test, c), c, unit) for c in LEVELS]
            scores = dict(
                zip(("coverage", "width", "score"), zip(*of_levels, strict=True), strict=True)
            )
    return {**sizes, "seconds": time.process_time() - began, **scores}


def _wide(lines: Iterable[Mapping[str, Any]], key: str) -> pd.DataFrame:
    """Return a quantity with a row for each table, and columns (method, level)."""
    values = {(line["method"], level): {} for line in lines for level in LEVELS}  # type: dict[tuple[str, float], dict[str, float]]
    for line in lines:
        for level, value in zip(LEVELS, line[key], strict=True):
            values[line["method"], level][line["table"]] = np.nan if value is None else value
    return pd.DataFrame(values)


def misses(lines: Sequence[Mapping[str, Any]], *, calibrating: bool = False) -> pd.DataFrame:
    """Return True for each coverage at least three standard errors from its level.

    If `calibrating`, the standard errors include the sampling of the calibration rows.
    """
    sizes = pd.DataFrame(lines).groupby("table")[["rows", "test_rows"]].first()
    variance = 1.0 / sizes["test_rows"]
    if calibrating:
        variance = variance + 1.0 / (HELD_OUT * sizes["rows"])
    coverage = _wide(lines, "coverage")
    levels = coverage.columns.get_level_values(1).to_numpy()
    errors = np.sqrt(np.outer(variance.loc[coverage.index], levels * (1.0 - levels)))
    return (coverage - levels).abs() > 3.0 * errors


def _percent(level: float) -> str:
    return f"{100 * level:g} %"


def _by_level(values: pd.Series, digits: int = 3) -> str:
    """Render a table with a row for each method and a column for each level."""
    rows = [
        {"method": TITLES[m], **{_percent(c): values[m, c] for c in LEVELS}}
        for m in INTERVALS
        if m in values.index.get_level_values(0)
    ]
    titles = [TextColumn(_percent(c), digits=digits) for c in LEVELS]
    return markdown_table(rows, [TextColumn("method"), *titles])


def _of_tables(missed: pd.DataFrame) -> pd.Series:
    return (~missed).sum().map(lambda count: f"{count} of {len(missed)}")


def _interval_page(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    coverage, width, score = (_wide(lines, key) for key in ("coverage", "width", "score"))
    finite = width.notna().all(axis=1)
    missed, sizes = misses(lines), pd.DataFrame(lines).groupby("table")["test_rows"].first()
    seconds = pd.DataFrame(lines).groupby("method")["seconds"].median()
    calibrated = misses(lines, calibrating=True)
    calibrated = calibrated[[name for name in CALIBRATED if name in calibrated]]
    shown = [
        {"table": table, "test rows": sizes[table]}
        | {
            f"{_percent(c)}{', calibrated' if m in CALIBRATED else ''}": f"{100 * value:.1f}"
            + (" *" if missed[m, c][table] else "")
            for m in INTERVALS
            if m.startswith("lab_rbf") and m in coverage
            for c, value in coverage[m].loc[table].items()
        }
        for table in coverage.index
    ]
    scores = score.xs(0.9, axis=1, level=1).rename(columns=TITLES)
    return [
        *_paragraphs(TEXT),
        "![Coverage minus nominal coverage, and relative width](intervals.png)\n",
        f"Mean coverage over {len(coverage)} tables (%), by nominal coverage:\n",
        _by_level(100.0 * coverage.mean(), digits=1),
        "Tables with a coverage within three standard errors:\n",
        _by_level(_of_tables(missed)),
        "Tables within three standard errors, including the sampling of the calibration rows:\n",
        _by_level(_of_tables(calibrated)),
        f"Mean width, over {finite.sum()} tables with finite intervals:\n",
        _by_level(width[finite].mean()),
        "Mean interval score, over the same tables:\n",
        _by_level(score[finite].mean()),
        "Processor seconds:\n",
        markdown_table([{TITLES[m]: seconds[m] for m in INTERVALS if m in seconds.index}]),
        "Coverage of LAB-RBF (%); a star marks values not within three standard errors:\n",
        markdown_table(shown),
        "Interval score at 90 %; a dash marks infinite intervals:\n",
        markdown_table([{"table": name, **row.dropna()} for name, row in scores.iterrows()]),
    ]


def _probability_page(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    frame = pd.DataFrame(lines)
    keys = {"accuracy": "accuracy", "log_loss": "log loss",
            "calibration_error": "expected calibration error"}  # fmt: skip
    means = frame.groupby("method")[list(keys)].mean()
    seconds = frame.groupby("method")["seconds"].median()
    names = [m for m in PROBABILITIES if m in means.index]
    rows = [
        {"method": TITLES[m], "tables": int((frame["method"] == m).sum())}
        | {title: means[key][m] for key, title in keys.items()}
        | {"processor seconds": seconds[m]}
        for m in names
    ]
    columns = [TextColumn(key, digits=2 if key == "processor seconds" else 4) for key in rows[0]]
    frame["shown"] = [f"{r['log_loss']:.3f} ({r['calibration_error']:.3f})" for r in lines]
    each = frame.pivot_table("shown", "table", "method", aggfunc="first")[names]
    return [
        *_paragraphs(PROBABILITIES_TEXT),
        "![Accuracy by confidence](calibration.png)\n",
        "Means over the tables:\n",
        markdown_table(rows, columns),
        "Log loss, and the expected calibration error in parentheses:\n",
        markdown_table([{"table": t, **row} for t, row in each.rename(columns=TITLES).iterrows()]),
    ]


def _paragraphs(text: str) -> list[str]:
    return [" ".join(block.split()) + "\n" for block in text.strip().split("\n\n")]


def to_markdown(found: Mapping[str, Any]) -> str:
    """Render a document as a Markdown page."""
    parts = ["# Prediction intervals and probabilities\n"]
    if found["intervals"]:
        parts += _interval_page(found["intervals"])
    if found["probabilities"]:
        parts += _probability_page(found["probabilities"])
    parts += ["Each method uses one thread; processor seconds are medians of fit and predictions."]
    return "\n".join([*parts, f"{computer(found)}\n"])


def draw(found: Mapping[str, Any], folder: Path) -> None:
    """Draw coverage and width of intervals, and the calibration of probabilities."""
    from matplotlib.figure import Figure

    if lines := found["intervals"]:
        coverage, width = _wide(lines, "coverage"), _wide(lines, "width")
        finite, places = width.notna().all(axis=1), np.arange(len(LEVELS))
        figure = Figure(figsize=(10.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        names = [m for m in INTERVALS if m in coverage]
        for k, name in enumerate(names):
            style = {"marker": MARKERS[k], "color": f"C{k}", "linewidth": 1.2, "markersize": 5}
            away = 100.0 * (coverage[name] - np.array(LEVELS))
            low, high = away.quantile([0.25, 0.75]).to_numpy()
            shift = 0.12 * (k - (len(names) - 1) / 2)
            left.vlines(places + shift, low, high, color=f"C{k}", alpha=0.5)
            left.plot(places + shift, away.mean(), label=TITLES[name], **style | {"linewidth": 0})
            right.plot(places, width[name][finite].mean(), **style)
        left.axhspan(-2.0, 2.0, color="0.9", zorder=0)
        left.axhline(0.0, color="0.3", linewidth=0.8)
        left.set_ylabel("coverage minus nominal (points)")
        right.set_ylabel("mean width / standard deviation of target")
        for ax in (left, right):
            ax.set_xticks(places, [f"{level:.0%}" for level in LEVELS])
            ax.set_xlabel("nominal coverage")
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        write_picture(folder / "intervals.png", figure)
    if lines := found["probabilities"]:
        figure = Figure(figsize=(5.5, 5.0), layout="constrained")
        ax = figure.subplots()
        ax.plot([0, 1], [0, 1], color="0.3", linewidth=0.8)
        for k, name in enumerate(PROBABILITIES):
            bins = [line["bins"] for line in lines if line["method"] == name]
            share, confidence, correct = np.mean(bins, axis=0).T
            full = share > FEW
            ax.plot(
                confidence[full] / share[full], correct[full] / share[full], marker=MARKERS[k],
                color=f"C{k}", linewidth=1.2, markersize=5, label=TITLES[name],
            )  # fmt: skip
        ax.set(xlim=(0.35, 1.02), ylim=(0.35, 1.02), xlabel="probability of the predicted class")
        ax.set_ylabel("share of correct predictions")
        ax.legend(frameon=False)
        write_picture(folder / "calibration.png", figure)


def _is_small(table: str, folder: Path) -> bool:
    """Return True if the training rows of a split need no subsampling."""
    return TRAIN_SHARE * len(load("older", table, folder)[1]) <= MOST_TRAIN


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or write the page."""
    made = (name for name, method in {**PROBABILITIES, **INTERVALS}.items() if method)
    given = options("intervals", words, methods=",".join(made), tables=",".join(TASKS))
    new = read(given.lines)
    if given.command == "page":
        path = given.out / "intervals.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        lists = {name: found.pop(name, []) for name in ("intervals", "probabilities")}
        for line in new:
            name = "intervals" if "coverage" in line else "probabilities"
            key = (line["method"], line["table"])
            lists[name] = [r for r in lists[name] if (r["method"], r["table"]) != key] + [line]
        head = {**found, **(provenance() if new else {})}
        head["command"] = "python -m benchmarks.intervals run LINES --data DIR"
        write_json(path, head, **lists)
        write_text(path.with_suffix(".md"), to_markdown({**head, **lists}))
        draw(lists, given.out)
        return
    keys = (
        {"method": method, "table": table, "seed": SEED}
        for table in given.tables.split(",")
        if TASKS[table] == "regression" or _is_small(table, given.data)
        for method in given.methods.split(",")
        if method in (INTERVALS if TASKS[table] == "regression" else PROBABILITIES)
    )
    extend(given.lines, keys, lambda **key: measure(**key, folder=given.data))


if __name__ == "__main__":
    main()
