"""Whether a larger grid pays: searches of default grids and of grids with further parameters.

``python -m benchmarks.grids run LINES --data DIR`` adds a line of JSON to the file LINES for each
search that it lacks; ``python -m benchmarks.grids page LINES`` writes the document and its page.
A search is that of ``pliant compare``, on a random half of a table; the other half tests it.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ParameterGrid

from benchmarks.datasets import load_local
from benchmarks.harness.machine import describe_machine, load_average
from benchmarks.harness.report import computer, write_texts
from benchmarks.markdown import markdown_table
from benchmarks.tables.running import read
from pliant.comparison import Protocol, Sample
from pliant.comparison.report.rendering import Column
from pliant.comparison.run.folds import outer_split
from pliant.comparison.run.pipeline import pipeline
from pliant.comparison.run.search import search
from pliant.registry import METHODS

RESULTS = Path(__file__).parent / "results"

BINARY = ("heart_statlog", "sonar", "haberman", "ionosphere", "pima_diabetes")
CLASSES = ("wine", "iris")
TARGETS = ("yacht", "bodyfat")
TABLES: Mapping[str, Sequence[str]] = {
    "dank": (*BINARY, *TARGETS),
    "knpl": (*BINARY, *TARGETS),
    "scg-ldk": (*BINARY, *CLASSES),
    "ldk": (*BINARY, *CLASSES),
}
"""The tables of each method that has further parameters."""

SEEDS = range(5)
MOST_ROWS = 300
"""Of a larger table, this number of rows, drawn at random."""

CANDIDATES = 32
"""Of the search of ``pliant compare``."""

Line = dict[str, Any]


class Cell(NamedTuple):
    """One search. `also` names the further parameters, joined by "+"; `candidates` is its limit."""

    table: str
    seed: int
    method: str
    also: str
    candidates: int


def variants(method: str) -> list[tuple[str, int]]:
    """Return the further parameters and the candidates of the searches of a method.

    The default grid comes first. Each wider one is searched as ``pliant compare`` would, with at
    most `CANDIDATES` candidates drawn from it, and with up to three times as many.
    """
    default = METHODS[method]
    names = list(default.further)
    grids = [*names, "+".join(names)] if len(names) > 1 else names
    wider = [
        (also, min(limit, _size(method, also)))
        for also in grids
        for limit in (CANDIDATES, 3 * CANDIDATES)
    ]
    return [("", min(CANDIDATES, len(ParameterGrid(default.grid)))), *wider]


def _size(method: str, also: str) -> int:
    return len(ParameterGrid(METHODS[method].widened(*also.split("+")).grid))


def cells(methods: Iterable[str], seeds: Iterable[int]) -> Iterator[Cell]:
    """Return all searches: those of few candidates first, and of these the ones with tau last."""
    every = [
        Cell(table, seed, method, *each)
        for seed in seeds
        for method in methods
        for table in TABLES[method]
        for each in variants(method)
    ]
    yield from sorted(every, key=lambda cell: (cell.candidates > CANDIDATES, "tau" in cell.also))


def load(name: str, seed: int, folder: Path | None) -> Sample:
    """Return a table, or `MOST_ROWS` of its rows that the seed draws."""
    data = load_local(name, folder)
    rows = np.random.default_rng(seed).permutation(len(data.y))[:MOST_ROWS]
    task = "regression" if data.task == "regression" else "classification"
    return Sample.of(data.X[np.sort(rows)], data.y[np.sort(rows)], task=task)


def run(cell: Cell, sample: Sample) -> Line:
    """Search, fit with the chosen settings and test them; return scores and processor seconds."""
    protocol = Protocol(folds=2, repeats=1, candidates=cell.candidates, seed=cell.seed)
    train, test = outer_split(sample, protocol, 0, 0)
    method = METHODS[cell.method]
    method = method.widened(*cell.also.split("+")) if cell.also else method
    started = process_time()
    result = search(method, sample, train, protocol, cell.seed)
    model = pipeline(method, sample, len(train), cell.seed).set_params(**result.chosen)
    model.fit(sample.features(train), sample.y[train])
    seconds = process_time() - started
    score = model.score(sample.features(test), sample.y[test])
    chosen = {name.rpartition("__")[2]: value for name, value in result.chosen.items()}
    return {
        **cell._asdict(),
        "rows": len(train),
        "test_rows": len(test),
        "inner": round(float(result.score or 0.0), 5),
        "score": round(float(score), 5),
        "seconds": round(seconds, 3),
        "chosen": chosen,
    }


def run_all(chosen: Iterable[Cell], path: Path, folder: Path | None, limit: float) -> None:
    """Run the searches that the file lacks, until `limit` processor seconds are over."""
    done = {Cell(*(line[name] for name in Cell._fields)) for line in read(path)}
    for cell in chosen:
        if process_time() > limit:
            return
        if cell in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = json.dumps(run(cell, load(cell.table, cell.seed, folder)))
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def document(lines: Iterable[Line]) -> dict[str, Any]:
    """Return what JSON holds: the computer, and one line for each search."""
    wanted = set(cells(TABLES, SEEDS))
    last = {Cell(*(line[name] for name in Cell._fields)): line for line in lines}
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load_average": load_average(),
        "machine": describe_machine(),
        "lines": [last[key] for key in sorted(wanted & last.keys())],
    }


def gains(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return a row for each wider grid: its gains on the default one, in points, and its time.

    The standard error is that of the mean over the tables, each with its mean over the seeds.
    """
    rows = []
    for method in TABLES:
        base = {
            (line["table"], line["seed"]): line
            for line in lines
            if line["method"] == method and not line["also"]
        }
        for also, candidates in variants(method)[1:]:
            pairs = [
                (line, base[line["table"], line["seed"]])
                for line in lines
                if (line["method"], line["also"], line["candidates"]) == (method, also, candidates)
                and (line["table"], line["seed"]) in base
            ]
            if pairs:
                names = also.replace("learner__", "").replace("+", ", ")
                rows.append({"method": METHODS[method].title, "also": names} | _gain(pairs))
    return rows


def _gain(pairs: Sequence[tuple[Line, Line]]) -> dict[str, Any]:
    points = [100.0 * (wide["score"] - base["score"]) for wide, base in pairs]
    tables = sorted({wide["table"] for wide, _ in pairs})
    means = [
        float(np.mean([p for p, (wide, _) in zip(points, pairs, strict=True)
                       if wide["table"] == table]))
        for table in tables
    ]  # fmt: skip
    error = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None
    seconds = [sum(line["seconds"] for line in side) for side in zip(*pairs, strict=True)]
    return {
        "candidates": pairs[0][0]["candidates"],
        "searches": len(pairs),
        "gain": float(np.mean(means)),
        "error": error,
        "tables": f"{sum(m > 0 for m in means)} / {sum(m < 0 for m in means)}",
        "splits": f"{sum(p > 0 for p in points)} / {sum(p < 0 for p in points)}",
        "time": seconds[0] / seconds[1],
    }


COLUMNS = [
    Column("method"),
    Column("also", "also searched"),
    Column("candidates"),
    Column("searches"),
    Column("gain", "gain (points)", 2),
    Column("error", "standard error", 2),
    Column("tables", "tables better / worse"),
    Column("splits", "splits better / worse"),
    Column("time", "time ratio", 2),
]


def to_markdown(report: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    lines = report["lines"]
    seeds = sorted({line["seed"] for line in lines})
    tables = ", ".join(dict.fromkeys(line["table"] for line in lines))
    return (
        "# Whether a larger grid pays\n\n"
        "The search of `pliant compare` on a random half of a table, with the default grid of a "
        "method and with grids that have further parameters, and the score of the chosen settings "
        f"on the other half. Tables: {tables}; at most {MOST_ROWS} rows of each, seeds {seeds[0]} "
        f"to {seeds[-1]}. {CANDIDATES} candidates are those of `pliant compare` and "
        "`pliant fit --tune`, drawn from the grid; the default grids have 32 (DANK, KNPL), 60 "
        "(SCG-LDK) and 20 (LDK). Searches were run as long as a budget of processor time lasted, "
        "those with few candidates first.\n\n"
        "A gain is a difference of accuracies, or of R2, in points of a hundred: the mean over the "
        "tables, with its standard error. Ties are neither better nor worse. The time ratio is "
        "that of the processor times of searches and final fits.\n\n"
        f"{markdown_table(gains(lines), COLUMNS)}\n{computer(report)}\n"
    )


def main(words: list[str] | None = None) -> None:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grids")
    parser.add_argument("command", choices=("run", "page"))
    parser.add_argument("lines", type=Path, help="file of results; it grows")
    parser.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
    parser.add_argument("--methods", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--limit", type=float, default=np.inf, help="processor seconds")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the page goes")
    given = parser.parse_args(words)
    if given.command == "run":
        run_all(cells(given.methods, SEEDS), given.lines, given.data, given.limit)
        return
    report = document(read(given.lines))
    pages = {"json": json.dumps(report, indent=1) + "\n", "md": to_markdown(report)}
    write_texts({given.out / f"grids.{kind}": page for kind, page in pages.items()})


if __name__ == "__main__":
    main()
