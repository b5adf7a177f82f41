"""Compare methods on a table: cross-validation, a blend of the best methods, a report.

`compare` evaluates methods fold by fold on one table (`comparing`, `race`, `cells`) and learns the
weights of a blend (`blend`). It returns a `ComparisonResult`, which fits models and writes a report
(`result`, `page`).

Submodules are imported on first use, so that other commands start fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.comparison.blend import BlendClassifier, BlendRegressor
    from pliant.comparison.comparing import compare, compare_sample, fit
    from pliant.comparison.contenders import BASELINES
    from pliant.comparison.outcome import Across, across
    from pliant.comparison.protocol import Cell, Entry, Protocol
    from pliant.comparison.reading import read_sample
    from pliant.comparison.result import ComparisonResult
    from pliant.comparison.sample import Sample
    from pliant.comparison.standings import Standing
    from pliant.comparison.statistics import (
        FriedmanTest,
        PairedTest,
        average_ranks,
        corrected_t_test,
        friedman_test,
        nemenyi_critical_difference,
        wilcoxon_test,
    )
    from pliant.comparison.text import Score, TextColumn, text_table

__all__ = [
    "BASELINES",
    "Across",
    "BlendClassifier",
    "BlendRegressor",
    "Cell",
    "ComparisonResult",
    "Entry",
    "FriedmanTest",
    "PairedTest",
    "Protocol",
    "Sample",
    "Score",
    "Standing",
    "TextColumn",
    "across",
    "average_ranks",
    "compare",
    "compare_sample",
    "corrected_t_test",
    "fit",
    "friedman_test",
    "nemenyi_critical_difference",
    "read_sample",
    "text_table",
    "wilcoxon_test",
]

_MODULES = "text statistics protocol sample standings contenders reading blend outcome comparing"
"""Modules that define the public names, lightest imports first."""


def __getattr__(name: str) -> Any:
    """Import a public name on first access."""
    if name not in __all__:
        raise AttributeError(f"module 'pliant.comparison' has no attribute {name!r}")
    modules = (import_module(f"pliant.comparison.{module}") for module in _MODULES.split())
    value = next(vars(module)[name] for module in modules if name in vars(module))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
