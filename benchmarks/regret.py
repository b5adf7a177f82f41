"""Compare the blend with its best member in hindsight, by a bootstrap of held-out rows.

    python -m benchmarks.regret run LINES --data DIR [--rows 400] [--tables NAME,...]
    python -m benchmarks.regret page LINES

The first command stores the held-out predictions of a comparison of each table. The second learns
weights from rows drawn with replacement, and scores blend and members on the rows not drawn. It
takes seconds, so another rule for the weights is measured without a fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score, r2_score

from benchmarks.lines import (
    Line,
    computer,
    extend,
    options,
    provenance,
    read,
    rounded,
    seeds,
    write_json,
    write_text,
)
from benchmarks.markdown import markdown_table
from benchmarks.raw_tables import manifest, split
from pliant import compare
from pliant.core.typing import Array
from pliant.tables.comparison.blend import SMALLEST, blend_weights, extended_range
from pliant.tables.comparison.protocol import DEFAULT, DUMMY
from pliant.tables.comparison.race import TYPICAL
from pliant.tables.comparison.result import ComparisonResult

FOLDS, DRAWS = 3, 50
"""Folds of the first repeat, and bootstrap draws of a table."""

SCORES = {"regression": ("R2",), "classification": ("accuracy", "log loss")}

Loss: TypeAlias = Callable[[Sequence[str]], float]
"""The held-out loss of the blend of some methods."""

BOUNDS = {"R2": (0.003, 0.02), "accuracy": (0.003, 0.02), "log loss": (0.01, 0.02)}
"""Tolerated regret in the mean over tables, and on any; relative for the log loss."""

NOTES = (
    "`pliant.compare` with its default methods, {folds} folds, one repeat and at most {rows} "
    "training rows. In each of {draws} bootstrap draws of the held-out rows, the weights are "
    "learned from the rows drawn, and blend and members are scored on the others. The regret is "
    "the mean score of the best member, which only hindsight knows, less that of the blend; for "
    "the log loss it is relative. A negative regret means that the blend is better than each "
    "member."
)


def predictions(result: ComparisonResult) -> tuple[dict[str, Array], npt.NDArray[Any]]:
    """Return the held-out predictions of each member, and the targets, of the rows of all folds."""
    records = [r for r in result.records if r["method"] != DUMMY and r.get("kept")]
    complete = {e.name for e in result.methods if e.status == "done" and e.blends}
    found: dict[str, dict[int, Any]] = {}
    for record in records:
        if record["method"] in complete:
            kept = record["kept"]
            pairs = zip(kept["rows"], kept["values"], strict=True)
            found.setdefault(record["method"], {}).update(pairs)
    shared = sorted(set.intersection(*(set(rows) for rows in found.values())))
    y = np.array([result.truth[str(row)] for row in shared])
    return {name: np.array([rows[row] for row in shared]) for name, rows in found.items()}, y


def losses_of(values: Array, y: npt.NDArray[Any], classes: npt.NDArray[Any] | None) -> Array:
    """Return the squared error or the log loss of each row."""
    if classes is None:
        return np.asarray((values - y) ** 2)
    true = values[np.arange(len(y)), np.searchsorted(classes, y)]
    return -np.log(np.clip(true, SMALLEST, 1.0))


def scores_of(values: Array, y: npt.NDArray[Any], classes: Any) -> dict[str, float]:
    """Return R2, or accuracy and log loss."""
    if classes is None:
        return {"R2": float(r2_score(y, values))}
    return {
        "accuracy": float(accuracy_score(y, classes[values.argmax(axis=1)])),
        "log loss": float(losses_of(values, y, classes).mean()),
    }


def drawn_scores(result: ComparisonResult, draws: int = DRAWS) -> dict[str, dict[str, float]]:
    """Return the mean scores of the members, the blend, and LAB-RBF with each other member."""
    found, y = predictions(result)
    classes = None if result.task == "regression" else np.array(result.sample["classes"])
    names, stacked = list(found), np.stack(list(found.values()))
    if classes is None:
        stacked = stacked.clip(*extended_range(y))
    rng, n, ours = np.random.default_rng(0), len(y), names.index(DEFAULT)
    groups = {"blend": [*range(len(names))]}
    groups |= {f"with {names[j]}": [ours, j] for j in range(len(names)) if j != ours}
    rows: list[dict[str, dict[str, float]]] = []
    for _ in range(draws):
        inside = rng.integers(n, size=n)
        outside = np.setdiff1d(np.arange(n), inside)
        each = {
            name: scores_of(stacked[j][outside], y[outside], classes)
            for j, name in enumerate(names)
        }
        for title, members in groups.items():
            w = blend_weights(
                list(stacked[members][:, inside]),
                y[inside],
                classes=classes,
                trusted=members.index(ours),
            )
            blended = np.tensordot(w, stacked[members][:, outside], 1)
            each[title] = scores_of(blended, y[outside], classes)
        rows.append(each)
    return {
        who: {score: float(np.mean([row[who][score] for row in rows])) for score in rows[0][who]}
        for who in rows[0]
    }


def regret(scores: Mapping[str, Mapping[str, float]], score: str) -> tuple[str, float]:
    """Return the best member in hindsight, and how much worse the blend is."""
    members = {w: s[score] for w, s in scores.items() if w != "blend" and w[:5] != "with "}
    if score == "log loss":
        best = min(members, key=lambda who: members[who])
        return best, scores["blend"][score] / members[best] - 1
    best = max(members, key=lambda who: members[who])
    return best, members[best] - scores["blend"][score]


def curve_area(order: Sequence[str], seconds: Mapping[str, float], loss: Loss) -> float:
    """Return the mean excess of the blend's loss over that of all methods, over the log of time.

    LAB-RBF comes first. Each method takes five folds and a fit to all rows.
    """
    have, points, now = [DEFAULT], [], 5 * seconds[DEFAULT]
    for name in order:
        points.append((np.log(now), loss(have)))
        now, have = now + 6 * seconds[name], [*have, name]
    final, ends = loss(have), [*(start for start, _ in points[1:]), np.log(now)]
    excess = [(end - start) * (value / final - 1) for (start, value), end in
              zip(points, ends, strict=True)]  # fmt: skip
    return float(sum(excess) / (ends[-1] - points[0][0]))


def loss_of_members(result: ComparisonResult) -> Loss:
    """Return the loss of the blend of some methods, on rows that its weights have not seen."""
    found, y = predictions(result)
    classes = None if result.task == "regression" else np.array(result.sample["classes"])
    fold = np.random.default_rng(0).integers(3, size=len(y))

    @cache
    def loss(names: tuple[str, ...]) -> float:
        stacked = np.stack([found[name] for name in names])
        stacked = stacked if classes is not None else stacked.clip(*extended_range(y))
        each = np.empty(len(y))
        for k in range(3):
            seen = fold != k
            members = list(stacked[:, seen])
            w = blend_weights(members, y[seen], classes=classes, trusted=names.index(DEFAULT))
            blended = np.tensordot(w, stacked[:, ~seen], 1)
            each[~seen] = losses_of(blended, y[~seen], classes)
        return float(each.mean())

    return lambda names: loss(tuple(sorted(names)))


def orders(results: Sequence[tuple[str, ComparisonResult, Mapping[str, float]]]) -> list[Line]:
    """Compare orders of the methods by their curves over time.

    The gain of a method for a second is the mean, over the other tables of the task, of the share
    of LAB-RBF's loss that its blend with LAB-RBF removes, divided by its seconds on this table.
    """
    known = {}
    for table, result, seconds in results:
        loss = loss_of_members(result)
        names = [name for name in predictions(result)[0] if name != DEFAULT]
        gains = {name: 1 - loss([DEFAULT, name]) / loss([DEFAULT]) for name in names}
        known[table] = (result.task, names, seconds, loss, gains)
    areas: dict[str, list[float]] = {}
    for table, (task, names, seconds, loss, gains) in known.items():
        others = [k[4] for t, k in known.items() if t != table and k[0] == task]
        typical = {
            name: float(np.mean([np.clip(g[name], 0, 0.3) for g in others if name in g] or [0]))
            for name in names
        }
        rates = {
            "by typical time, as in a race": {n: -[*TYPICAL].index(n) for n in names},
            "by typical gain for a second": {n: typical[n] / seconds[n] for n in names},
            "by the gain for a second on this table": {n: gains[n] / seconds[n] for n in names},
            "by typical time, reversed": {n: [*TYPICAL].index(n) for n in names},
        }
        for title, rate in rates.items():
            order = sorted(names, key=lambda name: -rate[name])
            areas.setdefault(title, []).append(curve_area(order, seconds, loss))
    first = np.array(next(iter(areas.values())))
    return [
        {"order": title, "tables": len(values), "mean excess": float(np.mean(values)),
         "median": float(np.median(values)),
         "better than the first": int((np.array(values) < first - 1e-4).sum()),
         "worse": int((np.array(values) > first + 1e-4).sum())}
        for title, values in areas.items()
    ]  # fmt: skip


def page(lines: Sequence[Line], head: Mapping[str, Any]) -> str:
    each, summary, gains = [], [], []
    for task, scores in SCORES.items():
        own = [line for line in lines if line["task"] == task]
        for score in scores:
            found = [(line, *regret(line["scores"], score)) for line in own]
            if not found:
                continue
            most = max(found, key=lambda item: item[2])
            bound, bound_each = BOUNDS[score]
            summary.append({
                "score": score,
                "tables": len({line["table"] for line in own}),
                "mean regret": float(np.mean([item[2] for item in found])),
                "median": float(np.median([item[2] for item in found])),
                "blend worse, equal, better": ", ".join(
                    str(sum(np.sign(round(item[2], 9)) == s for item in found)) for s in (1, 0, -1)
                ),
                "bound": bound,
                "largest": most[2],
                "bound of each": bound_each,
                "on": most[0]["table"],
                "above it": sum(item[2] > bound_each for item in found),
            })  # fmt: skip
            each += [
                {"table": line["table"], "seed": line["seed"], "rows": line["rows"],
                 "score": score, "blend": line["scores"]["blend"][score],
                 "best member": who, "its score": line["scores"][who][score], "regret": lost}
                for line, who, lost in found
            ]  # fmt: skip
        gains += gains_of(own, task)
    return "\n\n".join([
        "# Regret of the blend",
        str(head["notes"]),
        markdown_table(summary),
        "Each table:",
        markdown_table(each),
        "The gain of a second member: the share of LAB-RBF's loss (squared error or log loss) that "
        "a blend of both removes, on tables with fewer and more training rows:",
        markdown_table(gains),
        "The order of the methods: mean excess of the blend's loss over its final one, from the "
        "end of LAB-RBF to the end of all methods, over the logarithm of time:",
        markdown_table(head["orders"]),
        computer(head),
    ]) + "\n"  # fmt: skip


def gain(line: Line, name: str) -> float:
    """Return the share of LAB-RBF's loss that its blend with a member removes."""
    scores = line["scores"]
    if line["task"] == "regression":
        return 1 - (1 - scores[f"with {name}"]["R2"]) / (1 - scores[DEFAULT]["R2"])
    return 1 - scores[f"with {name}"]["log loss"] / scores[DEFAULT]["log loss"]


def gains_of(lines: Sequence[Line], task: str) -> list[dict[str, Any]]:
    """Return, for each method and size, how often and by how much it improves LAB-RBF."""
    middle = 200
    rows = []
    names = dict.fromkeys(w[5:] for line in lines for w in line["scores"] if w[:5] == "with ")
    for title, part in (
        (f"up to {middle}", [line for line in lines if line["rows"] <= middle]),
        (f"above {middle}", [line for line in lines if line["rows"] > middle]),
    ):
        for name in names:
            values = [gain(line, name) for line in part if f"with {name}" in line["scores"]]
            took = [line["seconds"][name] for line in part if name in line["seconds"]]
            if values:
                rows.append({
                    "task": task,
                    "rows": title,
                    "method": name,
                    "tables": len(values),
                    "gains": sum(value > 0.002 for value in values),
                    "mean gain": float(np.mean(values)),
                    "median": float(np.median(values)),
                    "seconds of a fold": float(np.mean(took)),
                })  # fmt: skip
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Store held-out predictions of tables, or write the page."""
    given = options("regret", arguments, seeds="100:101", tables="", rows="400")
    kept = given.out / "regret.json"
    if given.command == "run":
        entries = manifest(given.data)
        wanted = given.tables.split(",") if given.tables else [*entries]
        keys = [{"table": name, "seed": s} for s in seeds(given.seeds) for name in wanted]

        def measure(table: str, seed: int) -> Line:
            train, _ = split(entries[table], seed, given.data)
            train = train[: int(given.rows)]
            X, y = train.drop(columns="target"), train["target"]
            task = entries[table]["task"]
            result = compare(
                X, y, task=task, budget=None, folds=FOLDS, repeats=1, random_state=seed, n_jobs=1
            )
            return {"result": result.to_dict()}

        extend(given.lines, keys, measure)
        return
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"lines": []}
    lines = {(line["table"], line["seed"]): line for line in found.pop("lines")}
    results = []
    for stored in read(given.lines):
        result = ComparisonResult.from_dict(stored["result"])
        took = {s.method.name: s.seconds["total"] for s in result.standings() if s.mean is not None}
        results.append((stored["table"], result, took))
        lines[stored["table"], stored["seed"]] = rounded({
            "table": stored["table"],
            "seed": stored["seed"],
            "task": result.task,
            "rows": result.sample["rows"],
            "columns": result.sample["features"],
            "scores": drawn_scores(result),
            "seconds": took,
        })  # fmt: skip
    head = found
    if results:
        notes = NOTES.format(folds=FOLDS, draws=DRAWS, rows=given.rows)
        command = f"python -m benchmarks.regret page, after run --rows {given.rows}"
        head |= provenance() | {"notes": notes, "command": command}
        head["orders"] = rounded(orders(results))
    write_json(kept, head, lines=lines.values())
    write_text(given.out / "regret.md", page([*lines.values()], head))


if __name__ == "__main__":
    main()
