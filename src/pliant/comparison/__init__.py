"""Compare methods on a table: nested cross-validation, tests of differences, a report.

`compare` runs methods and baselines on one table under one protocol, cell by cell. `run` holds what
runs (folds, the search for settings, cells, the journal of finished ones), `stats` the tests and
ranks, and `report` the page, sentences and tables of text.

A name is imported when it is first used: commands that compare nothing start sooner.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.comparison.comparing import compare, compare_sample
    from pliant.comparison.frames import TableEncoder
    from pliant.comparison.protocol import Cell, Protocol
    from pliant.comparison.reading import read_sample
    from pliant.comparison.record import Entry
    from pliant.comparison.report.rendering import Column, Score, text_table
    from pliant.comparison.result import ComparisonResult
    from pliant.comparison.run.baselines import BASELINES
    from pliant.comparison.sample import Sample
    from pliant.comparison.stats.across import Across, across
    from pliant.comparison.stats.paired import PairedTest, corrected_t_test, verdict, wilcoxon_test
    from pliant.comparison.stats.ranks import (
        FriedmanTest,
        average_ranks,
        friedman_test,
        nemenyi_critical_difference,
    )
    from pliant.comparison.stats.recommendation import Recommendation
    from pliant.comparison.stats.standings import Lead, Standing

__all__ = [
    "BASELINES",
    "Across",
    "Cell",
    "Column",
    "ComparisonResult",
    "Entry",
    "FriedmanTest",
    "Lead",
    "PairedTest",
    "Protocol",
    "Recommendation",
    "Sample",
    "Score",
    "Standing",
    "TableEncoder",
    "across",
    "average_ranks",
    "compare",
    "compare_sample",
    "corrected_t_test",
    "friedman_test",
    "nemenyi_critical_difference",
    "read_sample",
    "text_table",
    "verdict",
    "wilcoxon_test",
]

_WHERE = {
    "BASELINES": "pliant.comparison.run.baselines",
    "Across": "pliant.comparison.stats.across",
    "Cell": "pliant.comparison.protocol",
    "Column": "pliant.comparison.report.rendering",
    "ComparisonResult": "pliant.comparison.result",
    "Entry": "pliant.comparison.record",
    "FriedmanTest": "pliant.comparison.stats.ranks",
    "Lead": "pliant.comparison.stats.standings",
    "PairedTest": "pliant.comparison.stats.paired",
    "Protocol": "pliant.comparison.protocol",
    "Recommendation": "pliant.comparison.stats.recommendation",
    "Sample": "pliant.comparison.sample",
    "Score": "pliant.comparison.report.rendering",
    "Standing": "pliant.comparison.stats.standings",
    "TableEncoder": "pliant.comparison.frames",
    "across": "pliant.comparison.stats.across",
    "average_ranks": "pliant.comparison.stats.ranks",
    "compare": "pliant.comparison.comparing",
    "compare_sample": "pliant.comparison.comparing",
    "corrected_t_test": "pliant.comparison.stats.paired",
    "friedman_test": "pliant.comparison.stats.ranks",
    "nemenyi_critical_difference": "pliant.comparison.stats.ranks",
    "read_sample": "pliant.comparison.reading",
    "text_table": "pliant.comparison.report.rendering",
    "verdict": "pliant.comparison.stats.paired",
    "wilcoxon_test": "pliant.comparison.stats.paired",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    """Import a name that is used for the first time."""
    if name not in _WHERE:
        raise AttributeError(f"module 'pliant.comparison' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of the module, those not imported yet among them."""
    return sorted({*globals(), *__all__})
