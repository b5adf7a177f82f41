"""The blend of a race beside its contenders and CatBoost, on 47 tables with categories and gaps.

    python -m benchmarks.blend run LINES --data DIR [--contestants race,catboost] [--seeds 100:101]
    python -m benchmarks.blend page [LINES]

The first adds a line of JSON to the file LINES for each table that it lacks. The second adds the
lines to the kept ones and writes JSON and page.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import train_test_split

from benchmarks.lines import (
    Line,
    computer,
    extend,
    options,
    provenance,
    read,
    seeds,
    write_json,
    write_text,
)
from benchmarks.markdown import markdown_table
from pliant import compare
from pliant.comparison.cells import FittedMethod, fit_apart, predictions_of
from pliant.comparison.metrics import Predictions
from pliant.comparison.text import TextColumn
from pliant.persistence import save_model

TRAIN_SHARE, MOST_TRAIN, MOST_TEST = 0.7, 3000, 5000
"""Share of the rows to learn from, and the largest numbers of rows of both parts."""

BUDGET = 120.0
"""Seconds of a race on two cores; `--budget none` in place of it has no limit and one repeat."""

FOLDER = "fresh"
NEAR = 0.02
"""How much worse than the best single contender the blend may be."""

METRICS = {"r2": "R2", "accuracy": "accuracy", "log_loss": "log loss"}
LOWER = ("log_loss",)

NOTES = (
    "The race of `pliant.compare` with its default contenders, none of them an extra package, and "
    "CatBoost {catboost} with its defaults, which gets categories as such. Each split takes 70 % "
    "of the rows to learn from, at most {train}, and at most {test} to test on. The contenders are "
    "fitted on the same rows as the blend. A rank is that of the blend among all of them, on the "
    "test rows. Weights and contenders were chosen on the even tables in the order of their "
    "names (seed 360, at most 1000 rows). Six odd ones were measured before, and cholesterol "
    "prompted the pull by losses. Seconds are of the processor, beside other work of low priority."
)


def manifest(folder: Path) -> dict[str, Any]:
    """Return the facts of each table by name."""
    entries = json.loads((folder / FOLDER / "MANIFEST.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in sorted(entries, key=lambda each: each["name"])}


def split(entry: Mapping[str, Any], seed: int, folder: Path) -> list[pd.DataFrame]:
    """Return the rows of a table to learn from and to test on, with the column "target"."""
    classes = entry["task"] == "classification"
    texts = dict.fromkeys([*entry["cats"], *(["target"] if classes else [])], object)
    path = folder / FOLDER / entry["file"]
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    strata = frame["target"] if classes else None
    train, test = train_test_split(
        frame, train_size=TRAIN_SHARE, random_state=seed, stratify=strata
    )
    train, test = train[:MOST_TRAIN], test[:MOST_TEST]
    if classes:
        test = test[test["target"].isin(train["target"].unique())]
    return [train.reset_index(drop=True), test.reset_index(drop=True)]


def race(entry: Mapping[str, Any], seed: int, folder: Path, budget: float | None) -> Line:
    """Measure a race: the blend and each contender on the test rows."""
    train, test = split(entry, seed, folder)
    start, used = time.perf_counter(), time.process_time()
    result = compare(
        train.drop(columns="target"),
        train["target"],
        task=entry["task"],
        budget=budget or 1e6,
        repeats=2 if budget else 1,
        random_state=seed,
    )
    raced = time.perf_counter() - start
    cells = sum(record["seconds"]["total"] for record in result.records if "seconds" in record)
    blend = result.fit_best()
    seconds = time.perf_counter() - start
    source = result.source
    assert source is not None
    schema, protocol = source.sample.schema, result.protocol
    assert schema is not None
    X, y = schema.features(test), schema.target_values(test)
    rows = np.arange(len(source.sample.y))
    singles = [method for method in source.methods if method.name != "dummy"]
    models = fit_apart(source.sample, protocol, singles, rows)
    scores = {
        method.name: measured(y, predictions_of(fitted, X))
        for method, fitted in zip(singles, models, strict=True)
    }
    start = time.perf_counter()
    blended = FittedMethod(blend.steps[-1][1] if result.best == "blend" else blend[1:])
    predictions = predictions_of(blended, X)
    predicting = time.perf_counter() - start
    scores["blend"] = measured(y, predictions)
    expected = result.expected
    with tempfile.TemporaryDirectory() as place:
        save_model(blend, Path(place) / "model.pliant")
        size = (Path(place) / "model.pliant").stat().st_size
    return {
        "scores": scores,
        "metric": result.metric.name,
        "expected": [expected.mean, expected.low, expected.high],
        "weights": {} if result.blend is None else result.blend.weights,
        "left": [entry.name for entry in result.methods if entry.status != "done"],
        "rows": len(train),
        "seconds": {
            "race": raced,
            "all": seconds,
            "processor": cells + time.process_time() - used,
            "predict": predicting,
        },
        "bytes": size,
    }


def measured(y: Any, predictions: Predictions) -> dict[str, float]:
    """Return the scores of predictions."""
    if predictions.classes is None:
        return {"r2": float(r2_score(y, predictions.values))}
    probability = predictions.probability
    scores = {"accuracy": float(accuracy_score(y, predictions.values))}
    if probability is not None:
        clipped = np.clip(probability, 1e-6, 1)
        clipped /= clipped.sum(axis=1, keepdims=True)
        loss = log_loss(y, clipped, labels=predictions.classes)
        scores["log_loss"] = float(loss)
    return scores


def catboost(entry: Mapping[str, Any], seed: int, folder: Path, _: float | None) -> Line:
    """Measure CatBoost with its defaults."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    train, test = split(entry, seed, folder)
    for part in (train, test):
        part[entry["cats"]] = part[entry["cats"]].astype(object).fillna("missing").astype(str)
    classes = entry["task"] == "classification"
    model = (CatBoostClassifier if classes else CatBoostRegressor)(
        random_seed=seed, verbose=False, allow_writing_files=False, cat_features=entry["cats"]
    )
    start = time.process_time()
    model.fit(train.drop(columns="target"), train["target"])
    used, X = time.process_time() - start, test.drop(columns="target")
    values = np.ravel(model.predict(X))
    probability = model.predict_proba(X) if classes else None
    known = model.classes_ if classes else None
    predictions = Predictions(values, None, probability, known)
    scores = {"catboost": measured(test["target"].to_numpy(), predictions)}
    return {"scores": scores, "seconds": {"processor": used}}


def autogluon(
    entry: Mapping[str, Any], seed: int, folder: Path, budget: float | None, quality: str
) -> Line:
    """Measure AutoGluon with the time of a race and two cores; the metric is that of the page."""
    from autogluon.tabular import TabularPredictor

    train, test = split(entry, seed, folder)
    classes = entry["task"] == "classification"
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        predictor = TabularPredictor(
            "target", path=place, eval_metric="log_loss" if classes else "r2", verbosity=0
        ).fit(train, presets=f"{quality}_quality", time_limit=budget, num_cpus=2)
        fitted = time.perf_counter()
        X = test.drop(columns="target")
        values = predictor.predict(X).to_numpy()
        predicted = time.perf_counter() - fitted
        probability = predictor.predict_proba(X).to_numpy() if classes else None
        size = predictor.disk_usage()
    known = np.array(predictor.class_labels) if classes else None
    scores = measured(test["target"].to_numpy(), Predictions(values, None, probability, known))
    seconds = {"all": fitted - start, "predict": predicted}
    return {"scores": {f"autogluon-{quality}": scores}, "seconds": seconds, "bytes": size}


CONTESTANTS: dict[str, Callable[..., Line]] = {
    "race": race,
    "catboost": catboost,
    "autogluon-medium": partial(autogluon, quality="medium"),
    "autogluon-good": partial(autogluon, quality="good"),
}


def joined(lines: Sequence[Line]) -> dict[tuple[str, int], Line]:
    """Return a line for each table and seed, with the scores of all contestants."""
    tables: dict[tuple[str, int], Line] = {}
    for line in lines:
        mine = tables.setdefault((line["table"], line["seed"]), {"scores": {}})
        scores = mine["scores"] | line["scores"]
        mine |= line if line["contestant"] == "race" else {}
        mine["scores"] = scores
    return {key: line for key, line in tables.items() if "blend" in line["scores"]}


def ranks(tables: Mapping[Any, Line], metric: str) -> list[tuple[str, float, float]]:
    """Return for each table: its name, the rank of the blend, and by how much a single is better.

    The second is positive where the best single contender beats the blend.
    """
    found = []
    for (name, _), line in tables.items():
        values = {who: s[metric] for who, s in line["scores"].items() if metric in s}
        if "blend" not in values:
            continue
        sign = 1 if metric in LOWER else -1
        order = rankdata([sign * value for value in values.values()])
        rank = float(order[list(values).index("blend")])
        singles = [-sign * v for who, v in values.items() if who not in ("blend", "catboost")]
        found.append((name, rank, max(singles) + sign * values["blend"]))
    return found


def covered(tables: Mapping[Any, Line]) -> float:
    """Return the share of tables whose test score lies in the interval that was expected."""
    inside = [
        low <= line["scores"]["blend"][line["metric"]] <= high
        for line in tables.values()
        for _, low, high in [line["expected"]]
        if low is not None and line["metric"] in line["scores"]["blend"]
    ]
    return float(np.mean(inside)) if inside else float("nan")


def page(lines: Sequence[Line], head: Mapping[str, Any]) -> str:
    """Return the page of kept lines."""
    tables = joined(lines)
    names = sorted({name for name, _ in tables})
    halves = {"odd": set(names[1::2]), "even": set(names[::2]), "all": set(names)}
    rows = []
    for half, members in halves.items():
        part = {key: line for key, line in tables.items() if key[0] in members}
        for metric, title in METRICS.items():
            found = ranks(part, metric)
            if found:
                rows.append({
                    "tables": half,
                    "metric": title,
                    "n": len(found),
                    "rank": float(np.mean([rank for _, rank, _ in found])),
                    "worse": sum(gap > NEAR for _, _, gap in found),
                    "most": max(gap for _, _, gap in found),
                    "inside": covered(part),
                })  # fmt: skip
    columns = (
        TextColumn("tables"),
        TextColumn("metric"),
        TextColumn("n", "tables"),
        TextColumn("rank", "mean rank of the blend", digits=2),
        TextColumn("worse", f"more than {NEAR} below the best single contender"),
        TextColumn("most", "largest such gap", digits=3),
        TextColumn("inside", "test score in the expected interval", digits=2),
    )
    others = sorted({who for line in tables.values() for who in line["scores"]} - {"blend"})
    each = [_row(key, line, ["blend", *others]) for key, line in sorted(tables.items())]
    return "\n\n".join([
        "# The blend of a race beside its contenders",
        str(head["notes"]),
        markdown_table(rows, columns),
        markdown_table(each),
        computer(head),
    ]) + "\n"  # fmt: skip


def _row(key: tuple[str, int], line: Line, contestants: Sequence[str]) -> dict[str, Any]:
    """Return the row of a table: the score of the blend and of each contender."""
    metric = "r2" if "r2" in line["scores"]["blend"] else "log_loss"
    values = {who: line["scores"].get(who, {}).get(metric) for who in contestants}
    weights = ", ".join(f"{name} {w:.2f}" for name, w in line["weights"].items())
    seconds = line["seconds"]["processor"]
    return {"table": key[0], "metric": METRICS[metric], **values, "weights": weights, "s": seconds}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure tables, or write the page."""
    given = options(
        "blend", arguments, contestants="race", seeds="100:101", tables="", budget=str(BUDGET)
    )
    kept = given.out / "blend.json"
    if given.command == "run":
        entries = manifest(given.data)
        budget = None if given.budget == "none" else float(given.budget)
        wanted = given.tables.split(",") if given.tables else [*entries]
        keys = [
            {"table": name, "seed": seed, "contestant": who}
            for seed in seeds(given.seeds)
            for name in wanted
            for who in given.contestants.split(",")
        ]

        def measure(table: str, seed: int, contestant: str) -> Line:
            return CONTESTANTS[contestant](entries[table], seed, given.data, budget)

        extend(given.lines, keys, measure)
        return
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"lines": []}
    old, new = found.pop("lines"), read(given.lines)
    measured_anew = {(n["table"], n["seed"], n["contestant"]) for n in new}
    lines = [o for o in old if (o["table"], o["seed"], o["contestant"]) not in measured_anew] + new
    notes = NOTES.format(catboost="1.2", train=MOST_TRAIN, test=MOST_TEST)
    head = {**found, **(provenance() if new else {}), "notes": notes}
    write_json(kept, head, lines=lines)
    write_text(given.out / "blend.md", page(lines, head))


if __name__ == "__main__":
    main()
