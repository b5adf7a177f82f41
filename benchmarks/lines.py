"""Files of results with a line of JSON for each fit."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.machine import computer, describe_machine, load_average, now
from benchmarks.harness.measuring import ROOT
from pliant.core.files import replacing

Line = dict[str, Any]


def options(study: str, arguments: Sequence[str] | None, /, **defaults: str) -> argparse.Namespace:
    """Read the command line of a study over many tables; `defaults` define its specific options.

    ``run`` measures the missing lines of the file, ``page`` adds its lines to the stored ones.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{study}")
    parser.add_argument("command", choices=("run", "page"))
    parser.add_argument("lines", type=Path, nargs="?", help="file of results, extended by each run")
    parser.add_argument("--data", type=Path, default=os.environ.get("PLIANT_DATA"))
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", default=default)
    given = parser.parse_args(arguments)
    if given.command == "run" and (given.data is None or given.lines is None):
        parser.error("expected a file LINES, and --data DIR or the variable PLIANT_DATA")
    return given


def seeds(text: str) -> range:
    """Return the seeds of "first:end"."""
    first, end = map(int, text.split(":"))
    return range(first, end)


def read(path: Path | None) -> list[Line]:
    """Return the lines of a file of results, or an empty list without a file."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def extend(
    path: Path, keys: Iterable[Mapping[str, Any]], measure: Callable[..., Mapping[str, Any]]
) -> None:
    """Measure the keys (such as method, table, seed) missing from the file; add their lines."""
    lines, wanted = read(path), list(keys)
    missing = [key for key in wanted if not any(line.items() >= key.items() for line in lines)]
    if known := len(wanted) - len(missing):
        print(f"{known} of {len(wanted)} results are in {path}, and are not measured again")
    for number, key in enumerate(missing, start=1):
        told = ", ".join(str(value) for value in key.values())
        try:
            line = {**key, **rounded(dict(measure(**key)))}
        except Exception as error:
            error.add_note(f"in the measurement of {told}")
            raise
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
        print(f"{number} of {len(missing)}: {told}", flush=True)


def rounded(value: Any, digits: int = 6) -> Any:
    """Return the value with numbers rounded to `digits` significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    return [rounded(each, digits) for each in value] if isinstance(value, list | tuple) else value


def provenance() -> Line:
    """Return the computer, its load and the date, for a document of results."""
    return {"date": now(), "load_average": load_average(), "machine": describe_machine()}


def write_json(path: Path, head: Mapping[str, Any], **lists: Iterable[Line]) -> None:
    """Write a JSON document with lists of results, one per line of the file."""
    parts = [json.dumps(head, indent=1, allow_nan=False)[:-2]]
    for name, lines in lists.items():
        body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        parts.append(f' "{name}": [\n{body}\n ]')
    write_text(path, ",\n".join(parts) + "\n}\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; create its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def write_picture(path: Path, figure: Any) -> None:
    """Write a matplotlib figure as a small PNG file of at most 256 colours."""
    from PIL import Image

    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=100)
    picture = Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    with replacing(path) as draft:
        picture.save(draft, format="png", optimize=True)


__all__ = [
    "Line", "computer", "extend", "options", "provenance", "read", "rounded", "seeds",
    "write_json", "write_picture", "write_text",
]  # fmt: skip
