"""What a comparison tells of itself: its table, its methods, its surroundings, as plain data."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from joblib import cpu_count

from pliant._version import __version__
from pliant.comparison.baselines import is_baseline
from pliant.comparison.cell import Record
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.result import BASELINE, LEARNED, Entry
from pliant.comparison.running import Run
from pliant.comparison.sample import Sample
from pliant.registry import Method

__all__ = ["entry_of", "environment_of", "facts_of", "in_order", "truth_of"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib")


def in_order(run: Run, methods: Sequence[Method], protocol: Protocol) -> list[Record]:
    """Return the finished cells in the order of methods and folds."""
    cells = [Cell(m.name, *place) for m in methods for place in protocol.places()]
    return [run.records[cell] for cell in cells if cell in run.records]


def entry_of(
    method: Method, refused: str, run: Run, records: Sequence[Record], protocol: Protocol
) -> Entry:
    """Return what became of a method that was refused for a reason, or else was run."""
    mine = [record for record in records if record["method"] == method.name]
    failed = [record["error"] for record in mine if record["status"] == "error"]
    done, wanted = len(mine) - len(failed), len(protocol.places())
    if refused:
        status, reason = "skipped", refused
    elif failed and not done:
        status, reason = "error", failed[0]
    elif done + len(failed) < wanted:
        status, reason = "cut", f"{done} of {wanted} folds: {run.reason(method.name)}"
    else:
        status, reason = "done", ""
    if failed and done:
        reason = "; ".join(part for part in (reason, f"{len(failed)} failed: {failed[0]}") if part)
    kind = BASELINE if is_baseline(method.name) else LEARNED
    return Entry(method.name, method.title, kind, method.summary, status, reason)


def facts_of(sample: Sample) -> dict[str, Any]:
    """Return what a table is."""
    return {
        "name": sample.name,
        "target": sample.target,
        "task": sample.task,
        "rows": len(sample.y),
        "features": sample.X.shape[1],
        "feature_names": list(sample.feature_names),
        "classes": sample.classes,
        "categorical": len(sample.categories),
        "missing": int(np.isnan(sample.X).sum()),
        "groups": None if sample.groups is None else len(np.unique(sample.groups)),
        "ordered": sample.ordered,
    }


def truth_of(sample: Sample, records: Sequence[Record]) -> dict[str, Any]:
    """Return the target of the rows that predictions name."""
    kept = [record["predictions"]["rows"] for record in records if record.get("predictions")]
    return {str(row): sample.y[row].item() for row in sorted({r for rows in kept for r in rows})}


def environment_of(key: str) -> dict[str, str]:
    """Return versions, cores, and the key of a comparison."""
    return {
        "pliant": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        "cores": str(cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "key": key,
    }
