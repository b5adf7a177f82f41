"""The records of a study as one document that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from benchmarks.harness.machine import describe_machine, load_average
from papers.study import Record

__all__ = ["Document", "document"]

FORMAT = 1
"""The version of the document's layout."""

DIGITS = 6

Document = dict[str, Any]


def document(
    table: str, sets: Sequence[str], repeats: int, protocol: Any, records: Sequence[Record]
) -> Document:
    """Return a study as a document.

    `protocol` is the dataclass that was held fixed. ``results`` holds an object for each set and
    contestant; each list in it has an entry a repeat, in order. The folder of the data isn't
    named.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda r: r["repeat"]):
        groups.setdefault((record["set"], record["contestant"]), []).append(record)
    return {
        "format": FORMAT,
        "table": table,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load_average": load_average(),
        "machine": describe_machine(),
        "protocol": asdict(protocol),
        "repeats": repeats,
        "sets": list(sets),
        "results": [_group(groups[key]) for key in sorted(groups, key=_order(sets))],
    }


def _order(sets: Sequence[str]) -> Any:
    return lambda key: (sets.index(key[0]), key[1])


def _group(records: list[Record]) -> dict[str, Any]:
    first = records[0]
    fixed = {key: first[key] for key in ("set", "contestant", "task", "n_train", "n_test", "d")}
    varying = {key: [r[key] for r in records] for key in ("repeat", "seconds", "unconverged")}
    variants = {
        name: _columns([r["variants"][name] for r in records]) for name in first["variants"]
    }
    return {**fixed, **varying, "variants": variants}


def _columns(rows: list[Record]) -> dict[str, list[Any]]:
    return {key: [_short(row[key]) for row in rows] for key in rows[0]}


def _short(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value
