"""Comparing methods: nested cross-validation, what counts as a difference, how to show it.

`compare` runs methods and baselines on one table under one protocol, cell by cell: `folds` and
`search` say which rows and settings, `cell` what is measured, `isolation`, `running` and `ledger`
how cells are run and kept, `result` and `report` what is shown. `paired` tests scores measured on
the same splits, `ranks` and `across` compare many methods over many data sets, and `rendering`
writes tables of results.
"""

from pliant.comparison.across import Across, across
from pliant.comparison.baselines import BASELINES
from pliant.comparison.comparing import compare, compare_sample
from pliant.comparison.paired import (
    PairedTest,
    corrected_t_test,
    verdict,
    wilcoxon_test,
)
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.ranks import (
    FriedmanTest,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from pliant.comparison.reading import read_sample
from pliant.comparison.rendering import Column, Score, text_table
from pliant.comparison.result import ComparisonResult, Entry
from pliant.comparison.sample import Sample
from pliant.comparison.standings import Standing

__all__ = [
    "BASELINES",
    "Across",
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
