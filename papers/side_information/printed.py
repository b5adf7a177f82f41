"""What the paper's Tables 3, 4 and 5 print, as text."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from pliant.comparison import wilcoxon_test
from pliant.core.typing import Array

__all__ = [
    "EXTENSION",
    "EXTENSION_P_VALUE",
    "LARGE",
    "LARGE_STANDING",
    "SMALL",
    "SMALL_STANDING",
    "Cells",
    "Standing",
    "cell",
    "means",
    "printed_mean",
    "printed_p_value",
]

Cells: TypeAlias = dict[str, dict[str, str]]
"""Cells such as ``75.3±7.0/0.01``, accuracy and seconds, by set and then by method."""

Standing: TypeAlias = dict[str, float]
"""What is said of a table as a whole, by name."""


def _cells(methods: str, text: str) -> Cells:
    """Read a table: on each line a set, then a cell for each method."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {name: dict(zip(methods.split(", "), cells, strict=True)) for name, *cells in rows}


SMALL = _cells(
    "Gaussian, FSK, SimpleNPK, IR-Gaussian, OSK, LDK, SCG-OSK, SCG-LDK",
    """
Protein 70.2±7.1 79.1±6.4/0.32 73.9±9.5/0.06 73.2±6.3/0.06 70.0±6.0/3.09 74.7±6.6/0.55 71.1±7.2/0.61 75.3±7.0/0.01
Wine 95.7±2.0 96.7±1.9/0.53 95.3±2.0/0.12 96.4±2.4/0.6 95.3±1.6/3.55 96.6±1.8/0.78 95.7±2.3/0.49 96.7±1.7/0.01
Iris 95.3±2.6 94.4±3.2/0.38 96.9±2.8/0.06 95.3±2.2/0.06 97.6±2.7/1.37 96.2±2.1/0.69 97.8±1.8/0.27 94.9±4.1/0.01
Sonar 78.1±4.5 86.3±2.6/0.27 81.3±3.8/0.12 85.8±4.7/0.06 80.3±4.7/3.93 85.9±3.4/3.06 85.2±3.6/0.50 86.4±2.8/0.01
Glass 56.0±3.7 58.1±3.2/0.60 52.1±5.4/0.12 57.9±6.0/0.12 56.4±5.9/2.64 59.7±3.7/0.41 55.0±4.5/0.47 61.3±2.6/0.01
Heart 82.3±3.2 76.3±3.5/0.35 85.5±3.9/0.19 85.9±3.1/0.12 66.3±3.5/3.62 76.8±4.2/11.03 65.5±4.1/0.53 85.6±3.5/0.06
Liver 66.8±3.5 64.4±3.5/0.57 67.3±6.2/0.31 71.5±6.6/0.30 66.8±8.3/4.60 67.2±4.5/25.90 66.0±6.8/0.45 69.0±5.6/0.06
Ionosphere 94.8±1.5 93.0±1.7/0.79 87.9±6.4/0.31 95.7±1.5/0.31 89.1±3.6/4.74 95.7±3.0/28.19 87.9±3.5/0.75 97.0±1.3/0.12
Breast 95.2±1.8 95.1±1.4/0.89 92.7±3.0/0.89 96.1±1.0/0.84 94.5±1.7/10.08 96.6±1.6/252.14 94.4±1.7/0.81 97.5±1.1/0.31
Balance 93.5±1.9 94.6±1.4/1.23 95.1±0.9/1.20 92.7±2.0/1.36 91.2±1.4/15.68 91.6±1.5/104.91 90.3±3.1/0.54 96.0±1.5/0.37
""",  # noqa: E501 (the lines of the table)
)
"""Table 3: 70 % labelled, 30 % to be classified."""

SMALL_STANDING: Standing = {"F": 5.17, "critical F": 2.16, "critical difference": 3.32}

EXTENSION = _cells(
    "unlabelled, test",
    """
Protein 68.8±7.4 71.3±5.8
Wine 96.0±3.7 98.0±1.4
Iris 94.7±3.0 95.7±3.0
Sonar 80.2±5.6 79.5±4.6
Glass 61.5±4.9 66.0±6.7
Heart 82.3±4.4 81.7±2.8
Liver 62.5±5.9 64.6±4.3
Ionosphere 96.1±2.2 93.4±1.7
Breast 97.3±1.3 96.7±1.3
Balance 93.5±2.3 90.4±2.8
""",
)
"""Table 4: SCG-LDK on unlabelled points that are learned from, and on points that come later."""

EXTENSION_P_VALUE = 0.6785
"""Of Wilcoxon's test between the columns of Table 4."""

LARGE = _cells(
    "Gaussian, FSK, SimpleNPK, IR-Gaussian, SCG-OSK, SCG-LDK",
    """
Adult-a1a 68.7±1.8 74.0±3.8/10.81 70.5±12.1/8.12 76.6±3.2/15.93 67.9±14.4/6.77 78.3±4.9/2.24
Adult-a2a 70.1±1.8 74.5±2.4/29.81 72.7±7.4/22.11 76.6±2.4/43.96 70.6±5.2/11.45 79.1±2.4/4.70
Adult-a3a 69.9±1.5 75.7±2.3/64.19 70.1±7.3/58.60 77.7±1.4/117.29 69.1±5.8/27.08 81.2±2.1/11.10
Adult-a4a 70.7±1.3 75.8±1.9/119.27 71.1±4.7/181.91 79.4±1.6/372.64 72.0±5.3/77.81 82.4±0.8/33.95
Adult-a5a 71.0±1.1 76.6±1.3/288.02 72.0±6.6/418.29 79.8±1.3/928.34 71.9±7.0/172.41 81.2±2.3/86.73
Adult-a6a 70.9±1.6 76.0±0.8/502.19 73.2±2.1/1994.01 80.7±0.7/4575.80 69.2±5.8/837.26 81.4±1.9/375.67
""",
)
"""Table 5: 200 to 1200 labels, all others unlabelled."""

LARGE_STANDING: Standing = {"F": 87.65, "critical F": 2.60, "critical difference": 3.08}


def printed_p_value() -> float:
    """Return Wilcoxon's p-value of the means that Table 4 prints."""
    first, second = means(EXTENSION).T
    return wilcoxon_test(first, second).p_value


def cell(text: str) -> tuple[str, str]:
    """Return accuracy and seconds of a cell as printed; no seconds are an empty text."""
    accuracy, _, seconds = text.partition("/")
    return accuracy, seconds


def printed_mean(text: str) -> float:
    """Return the mean accuracy of a cell, in per cent."""
    return float(text.split("±")[0])


def means(cells: Cells) -> Array:
    """Return the mean accuracies, a row per set and a column per method."""
    return np.array([[printed_mean(text) for text in row.values()] for row in cells.values()])
