"""The benchmarks by name, as benchmarks.toml declares them."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.harness.spec import Benchmark
from benchmarks.problems import ABSENT

_TABLES = tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))


def _benchmark(name: str, title: str, cases: str, notes: str, **judged: Any) -> Benchmark:
    """Return a benchmark; `cases` is "module:function", `notes` may name the module's constants."""
    module, _, function = cases.partition(":")
    contents = import_module(f"benchmarks.{module}")
    text = " ".join(notes.split()).format(**{"ABSENT": ABSENT, **vars(contents)})
    return Benchmark(name, title, text, getattr(contents, function), **judged)


BENCHMARKS: dict[str, Benchmark] = {
    name: _benchmark(name, **table) for name, table in _TABLES.items()
}
