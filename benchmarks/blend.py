"""Compare the blend with its contenders and CatBoost on 47 tables.

    python -m benchmarks.blend run LINES --data DIR [--contestants race,catboost] [--seeds 100:101]
    python -m benchmarks.blend page [LINES]

The first command adds a line of JSON to the file LINES for each missing table. The second adds the
lines to the stored ones and writes JSON and page.
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
from scipy.stats import rankdata, wilcoxon
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
from benchmarks.table_contestants import CONTESTANTS as CONTESTANTS_OF_TABLES
from pliant import compare
from pliant.persistence import save
from pliant.tables.comparison.cells import FittedMethod, fit_apart, predictions_of
from pliant.tables.comparison.metrics import Predictions
from pliant.tables.comparison.text import TextColumn

TRAIN_SHARE, MOST_TRAIN, MOST_TEST = 0.7, 3000, 5000
"""Share of training rows, and maximum numbers of training and test rows."""

BUDGET = 120.0
"""Seconds of a race on two cores; `--budget none` has no limit and one repeat."""

FOLDER = "fresh"
NEAR = 0.02
"""Tolerated difference between the best single contender and the blend."""

METRICS = {"r2": "R2", "accuracy": "accuracy", "log_loss": "log loss"}
LOWER = ("log_loss",)

RIVALS = {"autogluon-medium": "AutoGluon medium", "autogluon-good": "AutoGluon good"}
"""Contestants that blend models themselves. Ranks are without them."""

NOTES = (
    "The blend of `pliant.compare` with its default contenders, without extra packages, and "
    "CatBoost {catboost} with its defaults and native categorical features. Each split uses 70 % "
    "of the rows for training, at most {train}, and at most {test} for testing. The contenders "
    "are fitted to the same rows as the blend. The rank is the blend's rank among all of them, on "
    "the test rows. Weights and contenders were chosen on the even tables in alphabetical order "
    "(seed 360, at most 1000 rows). Six odd tables were measured before, and cholesterol led to "
    "the penalty by losses. LAB-RBF and the weights are of earlier versions. Seconds are processor "
    "time, next to other work of low priority."
)


AGAINST = (
    TextColumn("metric"),
    TextColumn("method"),
    TextColumn("rank", "mean rank", digits=2),
    TextColumn("counts", "blend better, equal, worse"),
    TextColumn("p", digits=2),
)
"""Columns of the comparison of the blend with each method."""


def manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest entry of each table by name."""
    entries = json.loads((folder / FOLDER / "MANIFEST.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in sorted(entries, key=lambda each: each["name"])}


def split(entry: Mapping[str, Any], seed: int, folder: Path) -> list[pd.DataFrame]:
    """Return the training and test rows of a table, with the column "target"."""
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
    """Measure the blend and each contender on the test rows."""
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
        method.name: scores_of(y, predictions_of(fitted, X))
        for method, fitted in zip(singles, models, strict=True)
    }
    start = time.perf_counter()
    blended = FittedMethod(blend.steps[-1][1] if result.best == "blend" else blend[1:])
    predictions = predictions_of(blended, X)
    predicting = time.perf_counter() - start
    scores["blend"] = scores_of(y, predictions)
    expected = result.expected
    with tempfile.TemporaryDirectory() as place:
        save(blend, Path(place) / "model.pliant")
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


def scores_of(y: Any, predictions: Predictions) -> dict[str, float]:
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
    train, test = split(entry, seed, folder)
    for part in (train, test):
        texts = part[entry["cats"]].astype(object).fillna("missing").astype(str)
        part[entry["cats"]] = texts.astype("category")
    classes = entry["task"] == "classification"
    model = CONTESTANTS_OF_TABLES["catboost"](classes, seed)
    start = time.process_time()
    model.fit(train.drop(columns="target"), train["target"])
    used, X = time.process_time() - start, test.drop(columns="target")
    values = np.ravel(model.predict(X))
    probability = model.predict_proba(X) if classes else None
    known = model.model.classes_ if classes else None
    predictions = Predictions(values, None, probability, known)
    scores = {"catboost": scores_of(test["target"].to_numpy(), predictions)}
    return {"scores": scores, "seconds": {"processor": used}}


def autogluon(
    entry: Mapping[str, Any], seed: int, folder: Path, budget: float | None, quality: str
) -> Line:
    """Measure AutoGluon with the time limit of a race, two cores and the metric of the page."""
    from autogluon.tabular import TabularPredictor

    train, test = split(entry, seed, folder)
    classes = entry["task"] == "classification"
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        predictor = TabularPredictor(
            "target",
            problem_type=None if classes else "regression",
            eval_metric="log_loss" if classes else "r2",
            path=place,
            verbosity=0,
        ).fit(train, presets=f"{quality}_quality", time_limit=budget, num_cpus=2)
        fitted = time.perf_counter()
        X = test.drop(columns="target")
        values = predictor.predict(X).to_numpy()
        predicted = time.perf_counter() - fitted
        probability = predictor.predict_proba(X).to_numpy() if classes else None
        size = predictor.disk_usage()
    known = np.array(predictor.class_labels) if classes else None
    scores = scores_of(test["target"].to_numpy(), Predictions(values, None, probability, known))
    seconds = {"all": fitted - start, "predict": predicted}
    return {"scores": {f"autogluon-{quality}": scores}, "seconds": seconds, "bytes": size}


CONTESTANTS: dict[str, Callable[..., Line]] = {
    "race": race,
    "catboost": catboost,
    "autogluon-medium": partial(autogluon, quality="medium"),
    "autogluon-good": partial(autogluon, quality="good"),
}


def merge_lines(lines: Sequence[Line]) -> dict[tuple[str, int], Line]:
    """Return a line for each table and seed with the scores of all contestants.

    `rivals` maps each rival to its line.
    """
    tables: dict[tuple[str, int], Line] = {}
    for line in lines:
        mine = tables.setdefault((line["table"], line["seed"]), {"scores": {}, "rivals": {}})
        if line["contestant"] in RIVALS:
            mine["rivals"][line["contestant"]] = line
            continue
        scores = mine["scores"] | line["scores"]
        mine |= line if line["contestant"] == "race" else {}
        mine["scores"] = scores
    return {key: line for key, line in tables.items() if "blend" in line["scores"]}


def ranks(tables: Mapping[Any, Line], metric: str) -> list[tuple[str, float, float]]:
    """Return the name, the rank of the blend, and the lead of the best single, for each table.

    The lead is positive if the best single contender beats the blend.
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


def coverage(tables: Mapping[Any, Line]) -> float:
    """Return the share of tables with a test score in the expected interval."""
    inside = [
        low <= line["scores"]["blend"][line["metric"]] <= high
        for line in tables.values()
        for _, low, high in [line["expected"]]
        if low is not None and line["metric"] in line["scores"]["blend"]
    ]
    return float(np.mean(inside)) if inside else float("nan")


def page(lines: Sequence[Line], head: Mapping[str, Any]) -> str:
    tables = merge_lines(lines)
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
                    "inside": coverage(part),
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
        "# The blend and its contenders",
        str(head["notes"]),
        markdown_table(rows, columns),
        "The blend and each method on all tables (p: Wilcoxon's signed-rank test over the tables):",
        markdown_table(against_each(tables), AGAINST),
        markdown_table(each),
        *rivals_section(tables),
        computer(head),
    ]) + "\n"  # fmt: skip


def against_each(tables: Mapping[Any, Line]) -> list[dict[str, Any]]:
    """Return mean ranks, and the blend against each method that most tables have, for each metric.

    Ranks are among the methods of a table; kernel ridge regression replaces the process from 1000
    rows on.
    """
    rows = []
    for metric, title in METRICS.items():
        scores = pd.DataFrame({
            key: {who: each[metric] for who, each in line["scores"].items() if metric in each}
            for key, line in tables.items()
        }).T  # fmt: skip
        scores = scores.dropna(how="all") * (-1 if metric in LOWER else 1)
        places = scores.rank(axis=1, ascending=False)
        for who in [name for name in scores if scores[name].notna().mean() > 0.9]:
            row = {"metric": title, "method": who, "rank": places[who].mean()}
            if who != "blend":
                lead = (scores["blend"] - scores[who]).dropna()
                row["counts"] = f"{(lead > 0).sum()}, {(lead == 0).sum()}, {(lead < 0).sum()}"
                row["p"] = float(wilcoxon(lead).pvalue)
            rows.append(row)
    return rows


def rivals_section(tables: Mapping[tuple[str, int], Line]) -> list[str]:
    """Compare the blend with its rivals on the tables that all have; [] without any."""
    scores, costs, better = [], [], dict.fromkeys((*RIVALS, "all"), 0)
    for (name, _), line in sorted(tables.items()):
        if line["rivals"].keys() != RIVALS.keys():
            continue
        metric = "r2" if "r2" in line["scores"]["blend"] else "log_loss"
        lines = {"blend": line, **{who: line["rivals"][who] for who in RIVALS}}
        values = {who: each["scores"][who][metric] for who, each in lines.items()}
        sign = -1 if metric in LOWER else 1
        ahead = {who: sign * values["blend"] > sign * values[who] for who in RIVALS}
        for who in better:
            better[who] += ahead.get(who, all(ahead.values()))
        titled = {RIVALS.get(who, who): value for who, value in values.items()}
        scores.append({"table": name, "metric": METRICS[metric], **titled})
        cost: dict[str, Any] = {"table": name}
        for who, each in lines.items():
            title = RIVALS.get(who, who)
            cost[f"{title}, s"] = each["seconds"]["all"]
            cost[f"{title}, s to predict"] = each["seconds"]["predict"]
            cost[f"{title}, MB"] = each["bytes"] / 1e6
        costs.append(cost)
    if not scores:
        return []
    counts = ", ".join(f"than {RIVALS[who]} on {better[who]}" for who in RIVALS)
    return [
        "## The blend and AutoGluon",
        "AutoGluon 1.6.3 has the same rows, time limit and cores. Of every second odd table, "
        f"{len(scores)} in all, the blend has the better score {counts}, than both on "
        f"{better['all']}.",
        markdown_table(scores),
        "Seconds to learn and to predict the test rows, and size on disk:",
        markdown_table(costs),
    ]


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
    replaced = {(n["table"], n["seed"], n["contestant"]) for n in new}
    lines = [o for o in old if (o["table"], o["seed"], o["contestant"]) not in replaced] + new
    notes = NOTES.format(catboost="1.2", train=MOST_TRAIN, test=MOST_TEST)
    head = {**found, **(provenance() if new else {}), "notes": notes}
    write_json(kept, head, lines=lines)
    write_text(given.out / "blend.md", page(lines, head))


if __name__ == "__main__":
    main()
