"""``pliant methods``: list the methods with their limits, grids and references."""

from __future__ import annotations

from pliant.tables.cli.report import Fact, format_facts, format_number
from pliant.tables.comparison.baselines import BASELINES, available
from pliant.tables.registry import METHODS, Method, is_gamma


def methods() -> None:
    """List the methods with their tasks, limits, tuning grids and references."""
    learned = [format_facts(_facts(method)) for method in METHODS.values()]
    plain = [format_facts(_facts(method)) for method in BASELINES.values()]
    print("\n\n".join([*learned, "Baselines for comparison:", *plain]))


def _facts(method: Method) -> list[Fact]:
    how = f", {method.many_rows}" if method.many_rows else ""
    grid = [f"{name} in {_format_values(name, each)}" for name, each in method.grid.items()]
    absent = "" if available(method) else f" (not installed: pip install {method.package})"
    source = "package" if method.name in BASELINES and ":" not in method.source else "paper"
    return [
        (method.name, method.summary),
        ("  tasks", ", ".join(method.tasks)),
        ("  rows", f"up to {method.max_rows}{how}"),
        ("  grid", "; ".join(grid) or "none: fitted with the defaults"),
        (f"  {source}", f"{method.source}{absent}"),
    ]


def _format_values(name: str, values: tuple[float | str, ...]) -> str:
    listed = ", ".join(format_number(value) for value in values)
    return f"{{{listed}}}" + (" / number of features" if is_gamma(name) else "")
