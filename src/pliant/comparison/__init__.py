"""Race methods on a table: cross-validation of all, a blend of the best, a report.

`compare` runs contenders fold by fold on one table (`comparing`, `race`, `cells`), learns the
weights of a blend (`blend`, `blending`), and returns a `ComparisonResult`, which fits models and
writes a page (`result`, `page`).

A name is imported when it is first used: commands that compare nothing start sooner.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.comparison.across import Across, across
    from pliant.comparison.blend import BlendClassifier, BlendRegressor
    from pliant.comparison.comparing import compare, compare_sample, fit
    from pliant.comparison.contenders import BASELINES
    from pliant.comparison.protocol import Cell, Protocol
    from pliant.comparison.reading import TableEncoder, TablePipeline, read_sample
    from pliant.comparison.record import Entry
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
    from pliant.comparison.text_tables import Column, Score, text_table

_WHERE = {
    "BASELINES": "contenders",
    "Across": "across",
    "BlendClassifier": "blend",
    "BlendRegressor": "blend",
    "Cell": "protocol",
    "Column": "text_tables",
    "ComparisonResult": "result",
    "Entry": "record",
    "FriedmanTest": "statistics",
    "PairedTest": "statistics",
    "Protocol": "protocol",
    "Sample": "sample",
    "Score": "text_tables",
    "Standing": "standings",
    "TableEncoder": "reading",
    "TablePipeline": "reading",
    "across": "across",
    "average_ranks": "statistics",
    "compare": "comparing",
    "compare_sample": "comparing",
    "fit": "comparing",
    "corrected_t_test": "statistics",
    "friedman_test": "statistics",
    "nemenyi_critical_difference": "statistics",
    "read_sample": "reading",
    "text_table": "text_tables",
    "wilcoxon_test": "statistics",
}
"""The module of each name."""

__all__ = [
    "BASELINES",
    "Across",
    "BlendClassifier",
    "BlendRegressor",
    "Cell",
    "Column",
    "ComparisonResult",
    "Entry",
    "FriedmanTest",
    "PairedTest",
    "Protocol",
    "Sample",
    "Score",
    "Standing",
    "TableEncoder",
    "TablePipeline",
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


def __getattr__(name: str) -> Any:
    """Import a name that is used for the first time."""
    if name not in _WHERE:
        raise AttributeError(f"module 'pliant.comparison' has no attribute {name!r}")
    value = getattr(import_module(f"pliant.comparison.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of the module, those not imported yet among them."""
    return sorted({*globals(), *__all__})
