"""``pliant methods``: what can be learned."""

from __future__ import annotations

from pliant.cli.report import facts, number
from pliant.comparison.run.baselines import BASELINES, available
from pliant.registry import METHODS, Method, is_gamma


def methods() -> None:
    """List the methods, with their tasks, limits, tuning grids and papers."""
    learned = [facts(_facts(method)) for method in METHODS.values()]
    plain = []
    for name, method in BASELINES.items():
        absent = "" if available(method) else f" (not installed: {method.paper})"
        plain.append((name, f"{method.summary}{absent}"))
    print("\n\n".join([*learned, "For pliant compare alone:", facts(plain)]))


def _facts(method: Method) -> list[tuple[str, str]]:
    """Return what there is to know of one method."""
    grid = [f"{name} in {_values(method, name)}" for name in method.grid]
    return [
        (method.name, method.summary),
        ("  tasks", ", ".join(method.tasks)),
        ("  rows", _rows(method)),
        ("  --tune", "; ".join(grid)),
        ("  paper", method.paper),
    ]


def _rows(method: Method) -> str:
    """Return how many rows a method takes, and how."""
    how = "read in chunks" if method.streams else method.many_rows
    return f"up to {method.max_rows}" + (f", {how}" if how else "")


def _values(method: Method, name: str) -> str:
    """Return the values that tuning tries for a parameter."""
    values = ", ".join(number(value) for value in method.grid[name])
    return f"{{{values}}}" + (" / number of features" if is_gamma(name) else "")
