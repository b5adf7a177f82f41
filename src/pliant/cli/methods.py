"""``pliant methods``: what can be learned."""

from __future__ import annotations

from collections.abc import Mapping

from pliant.cli.report import facts, number
from pliant.comparison.contenders import BASELINES, available
from pliant.registry import METHODS, Method, is_gamma


def methods() -> None:
    """List the methods, with their tasks, limits, tuning grids and papers."""
    learned = [facts(_facts(method)) for method in METHODS.values()]
    plain = [facts(_facts(method)) for method in BASELINES.values()]
    print("\n\n".join([*learned, "Plain methods, to compare with:", *plain]))


def _facts(method: Method) -> list[tuple[str, str]]:
    """Return what there is to know of one method."""
    known = [
        (method.name, method.summary),
        ("  tasks", ", ".join(method.tasks)),
        ("  rows", _rows(method)),
        ("  --tune", _grid(method.grid) or "nothing to choose"),
    ]
    if method.name not in BASELINES:
        return [*known, ("  paper", method.paper)]
    absent = "" if available(method) else f" (not installed: pip install {method.paper})"
    return [*known, ("  package", f"{method.paper}{absent}")]


def _rows(method: Method) -> str:
    """Return how many rows a method takes, and how."""
    how = f", {method.many_rows}" if method.many_rows else ""
    return f"up to {method.max_rows}{how}"


def _grid(grid: Mapping[str, tuple[float | str, ...]]) -> str:
    """Return the values that tuning tries for each parameter."""
    return "; ".join(f"{name} in {_values(name, values)}" for name, values in grid.items())


def _values(name: str, values: tuple[float | str, ...]) -> str:
    listed = ", ".join(number(value) for value in values)
    return f"{{{listed}}}" + (" / number of features" if is_gamma(name) else "")
