"""Compare methods on a table: nested cross-validation, tests of differences, a report.

`compare` runs methods and baselines on one table under one protocol, cell by cell. `run` holds what
runs (folds, the search for settings, cells, the journal of finished ones), `stats` the tests and
ranks, and `report` the page, sentences and tables of text.
"""

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
