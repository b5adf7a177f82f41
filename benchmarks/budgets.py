"""Measure models that are learned within a budget: pliant, AutoGluon and FLAML.

    python -m benchmarks.budgets run LINES --data DIR --study idle [--python PATH]
    python -m benchmarks.budgets page [LINES]

The first command adds a line of JSON to the file LINES for each missing measurement of a study, and
can be ended and repeated at any time. `--python` is the interpreter of an environment with
AutoGluon and FLAML. The second adds the lines to the stored ones and writes JSON and page.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.harness.machine import load_average
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
from benchmarks.raw_tables import manifest, scores_of, split
from pliant.tables.comparison.metrics import Predictions

CORES = 2

TWELVE = (
    "SLID", "auto_imports", "cholesterol", "elevators", "magic", "movement_libras", "phoneme",
    "ring", "servo", "stackoverflow", "titanic", "wine_white_quality",
)  # fmt: skip
"""Every second odd table, in alphabetical order."""

SMALL = ("Hitters", "bands", "cpu", "hungarian", "machine", "pharynx", "tic_tac_toe", "vowel")
"""Tables of 136 to 693 training rows on which a budget was once worse than none."""

AUTOGLUON = ("autogluon-medium", "autogluon-good", "autogluon-best")
ELSEWHERE = (*AUTOGLUON, "flaml")

TITLES = {
    "fit": "pliant, no budget",
    "pliant": "pliant",
    "autogluon-medium": "AutoGluon medium",
    "autogluon-good": "AutoGluon good",
    "autogluon-best": "AutoGluon best",
    "flaml": "FLAML",
}


@dataclass(frozen=True)
class Study:
    """Tables, splits, budgets in seconds and contestants; `loops` other processes run meanwhile."""

    tables: tuple[str, ...]
    seeds: str
    budgets: tuple[float, ...]
    contestants: tuple[str, ...]
    loops: int = 0


STUDIES = {
    "idle": Study(TWELVE, "100:103", (60,), ("fit", "pliant", *ELSEWHERE)),
    "curve": Study(TWELVE, "100:101", (5, 10, 20, 180), ("pliant", "autogluon-good", "flaml")),
    "busy": Study(
        (*SMALL, "auto_imports", "cholesterol", "contraceptive", "servo", "strike", "titanic",
         "vehicle", "wine_red"),
        "100:102", (2, 5, 20, 60, 180), ("fit", "pliant"), loops=2,
    ),
}  # fmt: skip

NEAR, FAR = {"R2": 0.005, "accuracy": 0.005, "log loss": 0.02}, 0.02
"""Tolerated loss against no budget, in the mean of the splits, and the bound for any split; the log
loss is relative."""

NOTES = (
    "Each measurement is a new process on two cores, with the same 70 % of the rows (at most 3000) "
    "to learn from and the same test rows (at most 5000). The budget starts with the call, after "
    "the imports. *idle*: a minute for each contestant. *curve*: other budgets on the first split. "
    "*busy*: two other processes run in a loop. A fit of pliant ends when no method is left, often "
    "before the budget does. *idle* was measured before changes of the race that concern rare "
    "classes, more than two jobs, times of rows and busy computers. They changed one model of the "
    "first split, that of auto_imports (R2 .928 before, .930 after them)."
)


LOOP = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run processes in a loop during a ``with`` block; they end with this process."""
    running = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(
    entry: Mapping[str, Any], seed: int, folder: Path, budget: float, who: str, python: str
) -> Line:
    """Learn a model in another process, and score its predictions."""
    train, test = split(entry, seed, folder)
    texts = [*entry["cats"], *(["target"] if entry["task"] == "classification" else [])]
    task = {
        "contestant": who,
        "budget": budget,
        "seed": seed,
        "cores": CORES,
        "task": entry["task"],
        "texts": texts,
    }
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        train.to_csv(here / "train.csv", index=False)
        test.drop(columns="target").to_csv(here / "test.csv", index=False)
        (here / "task.json").write_text(json.dumps(task), encoding="utf-8")
        worker = Path(__file__).with_name("budget_worker.py")
        apart = who in ELSEWHERE
        environment = {name: value for name, value in os.environ.items()
                       if not (apart and name.startswith("PYTHON"))}  # fmt: skip
        before = load_average()
        try:
            done = subprocess.run(
                [python if apart else sys.executable, "-P", str(worker), place],
                timeout=10 * budget + 600, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=environment, text=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            return {"error": str(error), "load": before}
        if done.returncode:
            raise RuntimeError(f"{who} did not run: {done.stderr[-2000:]}")
        found = json.loads((here / "result.json").read_text(encoding="utf-8"))
    kept = ("version", "error", "seconds", "bytes", "contents", "warnings")
    line = {key: found[key] for key in kept if key in found} | {"load": before}
    if "error" in found:
        return line
    probability = np.array(found["probability"]) if "probability" in found else None
    classes = np.array(found["classes"]) if "classes" in found else None
    predictions = Predictions(np.array(found["values"]), None, probability, classes)
    titled = {"r2": "R2", "accuracy": "accuracy", "log_loss": "log loss"}
    scores = scores_of(test["target"].to_numpy(), predictions)
    return line | {"scores": {titled[name]: value for name, value in scores.items()}}


def frame_of(lines: Iterable[Line]) -> pd.DataFrame:
    """Return a row for each score, with the main one marked: R2 or the log loss."""
    rows = [
        {**{k: line[k] for k in ("study", "table", "seed", "budget", "contestant")},
         "metric": metric, "score": score, "main": metric != "accuracy",
         "seconds": line.get("seconds", {}).get("fit", np.nan)}
        for line in lines
        for metric, score in line.get("scores", {}).items()
    ]  # fmt: skip
    columns = ["study", "table", "seed", "budget", "contestant", "metric", "score", "main"]
    columns += ["seconds"]
    return pd.DataFrame(rows, columns=columns)


def signed(scores: pd.DataFrame) -> pd.Series:
    """Return scores that are better if higher."""
    return scores["score"] * np.where(scores["metric"] == "log loss", -1.0, 1.0)


def outcomes(a: pd.Series, b: pd.Series) -> str:
    """Return how often a is higher than b, equal (to nine digits) and lower."""
    lead = (a - b).dropna().round(9)
    return ", ".join(str(int(each.sum())) for each in (lead > 0, lead == 0, lead < 0))


def idle_section(lines: Sequence[Line], scores: pd.DataFrame) -> list[str]:
    """Compare the means over the splits, with ranks and seconds, and count the tables won."""
    own = scores[(scores["study"] == "idle") & scores["main"]]
    if own.empty:
        return []
    means = own.groupby(["table", "metric", "contestant"])["score"].mean().unstack()
    means = means.reindex(columns=[who for who in TITLES if who in means])
    sign = np.where(means.index.get_level_values("metric") == "log loss", -1.0, 1.0)
    better = means.mul(sign, axis=0)
    complete = better.dropna()
    ranks = complete.rank(axis=1, ascending=False).mean()
    rivals = [who for who in AUTOGLUON if who in better]
    singly = signed(own).groupby([own["table"], own["seed"], own["contestant"]]).first().unstack()
    summary = []
    for who in better:
        row: dict[str, Any] = {"contestant": TITLES[who], "mean rank": float(ranks[who])}
        if "pliant" in better:
            rival = who != "pliant"
            row["pliant better, equal, worse"] = (
                outcomes(better["pliant"], better[who]) if rival else ""
            )
            row["on single splits"] = outcomes(singly["pliant"], singly[who]) if rival else ""
            alone = rival and who != "fit" and "fit" in better
            row["no budget better, equal, worse"] = (
                outcomes(better["fit"], better[who]) if alone else ""
            )
        used = [
            line["seconds"]["fit"]
            for line in lines
            if line["study"] == "idle" and line["contestant"] == who and "seconds" in line
        ]
        summary.append(row | {"median seconds": float(np.median(used)), "most": max(used)})
    text = [f"{len(complete)} tables, {own['seed'].nunique()} splits, 60 s."]
    if rivals and "pliant" in better:
        ahead = int((better["pliant"] > better[rivals].max(axis=1)).sum())
        text.append(f"pliant is ahead of the best preset of AutoGluon on {ahead} tables.")
    if {"pliant", "fit"} <= set(better):
        lead = better["pliant"] - better["fit"]
        gains, losses = (int((sign * lead > 0.005).sum()) for sign in (1, -1))
        text.append(
            f"Compared with no budget, {gains} gains and {losses} losses are larger than .005."
        )
    shown = means.rename(columns=TITLES).reset_index().to_dict("records")
    return [
        "## A minute",
        " ".join(text),
        markdown_table(summary),
        "By score:",
        markdown_table(by_score(complete)),
        "Mean scores in a minute:",
        markdown_table(shown),
    ]


def by_score(better: pd.DataFrame) -> list[dict[str, Any]]:
    """Return mean ranks, and comparisons with pliant, for each score."""
    rows = []
    for metric, part in better.groupby("metric"):
        ranks = part.rank(axis=1, ascending=False).mean()
        for who in better:
            row = {"score": metric, "contestant": TITLES[who], "tables": len(part)}
            row["mean rank"] = float(ranks[who])
            if "pliant" in better and who != "pliant":
                row["pliant better, equal, worse"] = outcomes(part["pliant"], part[who])
            rows.append(row)
    return rows


def curve_section(lines: Sequence[Line], scores: pd.DataFrame) -> list[str]:
    """Return the mean score for each budget and contestant; a missing model has no score."""
    measured = {(line["contestant"], line["budget"]) for line in lines}
    own = scores[(scores["study"] == "curve") & scores["main"]]
    if own.empty:
        return []
    minute = minute_of(scores, own) & scores["contestant"].isin(own["contestant"])
    own = pd.concat([own, scores[minute]])
    contestants = [who for who in TITLES if who in set(own["contestant"])]
    rows = []
    for (budget, metric), part in own.groupby(["budget", "metric"]):
        row: dict[str, Any] = {"budget, s": f"{budget:g}", "score": metric}
        tables = part["table"].nunique()
        for who in contestants:
            mine = part[part["contestant"] == who]["score"]
            absent = f" ({tables - len(mine)} without a model)" if len(mine) < tables else ""
            none = "no model" if (who, budget) in measured else "not measured"
            row[TITLES[who]] = f"{mine.mean():.3f}{absent}" if len(mine) else none
        rows.append(row)
    alone = scores[minute_of(scores, own) & (scores["contestant"] == "fit")]
    for metric, part in alone.groupby("metric"):
        rows.append({"budget, s": "none", "score": metric, "pliant": f"{part['score'].mean():.3f}"})
    wide = own.assign(score=signed(own)).pivot_table(
        index=["table", "seed"], columns=["contestant", "budget"], values="score"
    )
    found = []
    for who in dict.fromkeys(wide.columns.get_level_values(0)):
        lead = wide[who].sub(wide[who].iloc[:, -1], axis=0).mean()
        leads = {
            f"{b:g} s": float(lead[b]) if b in lead else None
            for b in sorted(own["budget"].unique())
        }
        found.append({"contestant": TITLES[who], **leads})
    keys = ["table", "metric", "budget"]
    by_table = own.pivot_table(index=keys, columns="contestant", values="score")
    by_table = by_table[contestants].rename(columns=TITLES).reset_index()
    by_table["budget"] = by_table["budget"].map("{:g} s".format)
    counts = []
    for (budget, who), part in own.groupby(["budget", "contestant"]):
        rival = who != "pliant" and ("pliant", budget) in wide
        counts.append({
            "budget, s": f"{budget:g}",
            "contestant": TITLES[who],
            "models": len(part),
            "of LAB-RBF alone": alone_of(lines, budget, part) if who == "pliant" else None,
            "pliant better, equal, worse":
                outcomes(wide["pliant", budget], wide[who, budget]) if rival else "",
            "median seconds": float(part["seconds"].median()),
            "most": float(part["seconds"].max()),
        })  # fmt: skip
    return [
        "## The curve",
        "Mean scores over the tables:",
        markdown_table(rows),
        "Tables with a model, comparisons on these, and seconds:",
        markdown_table(counts),
        "Mean lead over the longest budget (higher is better, in R2 and minus the log loss):",
        markdown_table(found),
        "Scores of each table:",
        markdown_table(by_table.astype(object).where(by_table.notna(), None).to_dict("records")),
    ]


def alone_of(lines: Sequence[Line], budget: float, part: pd.DataFrame) -> int:
    """Return the number of models of pliant within a budget that are no blend."""
    study = part["study"].iloc[0]
    return sum(
        len(line["contents"]) == 1
        for line in lines
        if (line["study"], line["budget"], line["contestant"]) == (study, budget, "pliant")
        and line["seed"] in set(part["seed"])
    )


def minute_of(scores: pd.DataFrame, own: pd.DataFrame) -> pd.Series:
    """Return which scores are those of the idle study on the same tables and splits."""
    same = scores["seed"].isin(own["seed"]) & scores["table"].isin(own["table"])
    return same & (scores["study"] == "idle") & scores["main"]


def busy_section(lines: Sequence[Line], scores: pd.DataFrame) -> list[str]:
    """Compare each budget with no budget, on a busy computer."""
    own = scores[scores["study"] == "busy"]
    if own.empty:
        return []
    errors = [line for line in lines if line["study"] == "busy" and "error" in line]
    base = own[own["contestant"] == "fit"].set_index(["table", "seed", "metric"])["score"]
    rows, worst = [], []
    for (budget, metric), part in own[own["contestant"] == "pliant"].groupby(["budget", "metric"]):
        mine = part.set_index(["table", "seed", "metric"])["score"]
        pairs = pd.concat({"mine": mine, "base": base}, axis=1).dropna()
        lost = pairs["base"] - pairs["mine"]
        if metric == "log loss":
            lost = pairs["mine"] / pairs["base"] - 1
        by_table = lost.groupby("table").mean()
        rows.append({
            "budget, s": f"{budget:g}",
            "score": metric,
            "tables": len(by_table),
            "mean loss": float(by_table.mean()),
            "worse, better in the mean": ", ".join(
                str(int((sign * by_table > NEAR[metric]).sum())) for sign in (1, -1)
            ),
            f"splits worse by {FAR}": int((lost > FAR).sum()),
            "largest": float(lost.max()),
            "on": f"{lost.idxmax()[0]}, {lost.idxmax()[1]}",
            "errors": sum(line["budget"] == budget for line in errors),
        })  # fmt: skip
        worst += [
            {"budget, s": f"{budget:g}", "score": metric, "table": table, "loss": float(value)}
            for table, value in by_table.items()
            if value > NEAR[metric]
        ]
    told = ["No table is worse by more than its bound."]
    if worst:
        told = ["Tables that are worse by more than the bound:", markdown_table(worst)]
    bounds = ", ".join(f"{bound} in {metric}" for metric, bound in NEAR.items())
    about = f"Loss of a budget against none. Tables are counted beyond these bounds: {bounds}."
    return ["## A busy computer", about, markdown_table(rows), *told]


def contents_section(lines: Sequence[Line]) -> list[str]:
    """List what the models of a minute contain, with size and time to predict."""
    rows = [
        {"study": line["study"], "table": line["table"], "seed": line["seed"],
         "contents": ", ".join(f"{name} {w:.2f}" for name, w in line["contents"].items()),
         "MB": line["bytes"] / 1e6, "s to fit": line["seconds"]["fit"],
         "s to predict": line["seconds"]["predict"]}
        for line in lines
        if line["contestant"] == "pliant" and line["budget"] == 60 and "contents" in line
    ]  # fmt: skip
    return ["## What the models of a minute contain", markdown_table(rows)] if rows else []


def page(lines: Sequence[Line], head: Mapping[str, Any]) -> str:
    scores = frame_of(lines)
    versions = sorted({line["version"] for line in lines if "version" in line})
    failed = [
        {key: line[key] for key in ("study", "table", "seed", "budget", "contestant", "error")}
        for line in lines
        if "error" in line
    ]
    return "\n\n".join([
        "# Models within a budget",
        f"{head['notes']} Versions: {', '.join(versions)}.",
        *idle_section(lines, scores),
        *curve_section(lines, scores),
        *busy_section(lines, scores),
        *contents_section(lines),
        *(["## Errors", markdown_table(failed)] if failed else []),
        computer(head),
    ]) + "\n"  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure a study, or write the page."""
    given = options(
        "budgets", arguments, study="idle", python=sys.executable, tables="", contestants="",
        budgets="", seeds="",
    )  # fmt: skip
    kept = given.out / "budgets.json"
    if given.command == "run":
        entries, study = manifest(given.data), STUDIES[given.study]
        tables = given.tables.split(",") if given.tables else study.tables
        budgets = [float(b) for b in given.budgets.split(",")] if given.budgets else study.budgets
        contestants = given.contestants.split(",") if given.contestants else study.contestants
        keys = [
            {"study": given.study, "table": table, "seed": seed, "budget": budget,
             "contestant": who}
            for seed in seeds(given.seeds or study.seeds)
            for table in tables
            for who in contestants
            for budget in (budgets if who != "fit" else [0.0])
        ]  # fmt: skip

        def one(study: str, table: str, seed: int, budget: float, contestant: str) -> Line:
            with busy(STUDIES[study].loops):
                return measure(entries[table], seed, given.data, budget, contestant, given.python)

        extend(given.lines, keys, one)
        return
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"lines": []}
    key = ("study", "table", "seed", "budget", "contestant")
    new = read(given.lines)
    lines = {tuple(line[k] for k in key): line for line in [*found.pop("lines"), *new]}
    head = {**found, **(provenance() if new else {}), "notes": NOTES}
    head["command"] = "python -m benchmarks.budgets run LINES --data DIR --study STUDY"
    write_json(kept, head, lines=lines.values())
    write_text(given.out / "budgets.md", page([*lines.values()], head))


if __name__ == "__main__":
    main()
