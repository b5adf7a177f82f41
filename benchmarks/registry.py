"""Benchmarks by name, as declared in benchmarks.toml and cases.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.problems import ABSENT

_TABLES, _CASES = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    for name in ("benchmarks", "cases")
)


def _benchmark(name: str, title: str, cases: str, notes: str, **judged: Any) -> Benchmark:
    """Return a benchmark; `notes` may name the constants of a module.

    `cases` is "module:function", or the module of the contestants of cases in cases.toml.
    """
    module, _, function = cases.partition(":")
    contents = import_module(f"benchmarks.{module}")
    text = " ".join(notes.split()).format(**{"ABSENT": ABSENT, **vars(contents)})
    made = getattr(contents, function) if function else partial(declared, name)
    return Benchmark(name, title, text, made, **judged)


def declared(name: str, has_data: bool) -> list[Case]:
    """Return the cases of a benchmark in cases.toml, with or without a data folder."""
    absent = "no data" if has_data else "data"
    return [
        case
        for table in _CASES[name]
        if table.get("where") != absent
        for case in _cases(table, has_data)
    ]


def _cases(table: Mapping[str, Any], has_data: bool) -> Iterator[Case]:
    """Yield a case for each combination of a set and values."""
    made_up = "" if has_data else " (made up)"
    given = table["contestants"]
    listed = _CASES["contestants"][given] if isinstance(given, str) else given
    contestants = [
        Contestant(**each | {"function": f"benchmarks.{each['function']}"}) for each in listed
    ]
    known = {"data": has_data} if table.get("made_up") else {}
    each = table.get("each", {})
    for *values, chosen in product(*each.values(), table.get("sets", [{}])):
        params = {**table["params"], **dict(zip(each, values, strict=True)), **chosen, **known}
        title = table["name"].format(**params, made_up=made_up)
        params.pop("label", None)
        yield Case(title, contestants, params, table.get("warm_up"))


BENCHMARKS: dict[str, Benchmark] = {
    name: _benchmark(name, **table) for name, table in _TABLES.items()
}
