"""Comparing methods: nested cross-validation, what counts as a difference, how to show it.

`compare` runs methods and baselines on one table under one protocol, cell by cell: `folds` and
`search` say which rows and settings, `cell` what is measured, `isolation`, `running` and `journal`
how cells are run and kept, `result` and `report` what is shown. `splits` draws train and test rows,
`paired` tests scores measured on the same splits, `ranks` and `across` compare many methods over
many data sets, and `rendering` writes tables of results.
"""

from pliant.comparison.comparing import compare, compare_sample
from pliant.comparison.protocol import Cell, Protocol
from pliant.comparison.reading import read_sample
from pliant.comparison.record import Entry
from pliant.comparison.report.rendering import LATER, Column, Score, markdown_table, text_table
from pliant.comparison.result import ComparisonResult
from pliant.comparison.run.baselines import BASELINES
from pliant.comparison.sample import Sample
from pliant.comparison.splits import holdout, official, random_halves
from pliant.comparison.stats.across import Across, across
from pliant.comparison.stats.paired import (
    PairedTest,
    corrected_t_test,
    paired_t_test,
    verdict,
    wilcoxon_test,
)
from pliant.comparison.stats.ranks import (
    FriedmanTest,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from pliant.comparison.stats.standings import Standing

__all__ = [
    "BASELINES",
    "LATER",
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
    "holdout",
    "markdown_table",
    "nemenyi_critical_difference",
    "official",
    "paired_t_test",
    "random_halves",
    "read_sample",
    "text_table",
    "verdict",
    "wilcoxon_test",
]
