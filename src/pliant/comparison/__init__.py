"""Comparing methods: which rows to train on, what counts as a difference, how to show it.

`splits` draws train and test rows, `paired` tests scores measured on the same splits, `ranks`
compares many methods over many data sets, and `rendering` writes tables of results.
"""

from pliant.comparison.paired import (
    PairedTest,
    corrected_t_test,
    paired_t_test,
    verdict,
    wilcoxon_test,
)
from pliant.comparison.ranks import (
    FriedmanTest,
    average_ranks,
    friedman_test,
    nemenyi_critical_difference,
)
from pliant.comparison.rendering import LATER, Column, Score, markdown_table, text_table
from pliant.comparison.splits import holdout, official, random_halves

__all__ = [
    "LATER",
    "Column",
    "FriedmanTest",
    "PairedTest",
    "Score",
    "average_ranks",
    "corrected_t_test",
    "friedman_test",
    "holdout",
    "markdown_table",
    "nemenyi_critical_difference",
    "official",
    "paired_t_test",
    "random_halves",
    "text_table",
    "verdict",
    "wilcoxon_test",
]
