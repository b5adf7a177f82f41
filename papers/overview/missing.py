"""What has no cell on the page, and why."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MISSING", "Missing"]


class Missing(NamedTuple):
    """A table, a figure or a part of one that cannot be rerun."""

    paper: str
    place: str
    reason: str


MISSING = (
    Missing(
        "DANK", "Figure 3 (CIFAR-10)",
        "its 4096 features of a VGG16 network trained on CIFAR-10 are not at hand",
    ),
    Missing(
        "DANK", "Table 3", "the statistics and parameters of Table 4's sets; nothing is measured",
    ),
    Missing("KNPL", "Figure 1", "a drawing of the model"),
    Missing(
        "TKL", "Table 3: Gas Turbine and CA",
        "30 000 and 16 500 training rows: choosing C and delta on each of five splits is not part "
        "of the study. How long one fit takes, and what gap it certifies, is measured by the "
        "benchmark tessellated-large",
    ),
    Missing("TKL", "Table 2", "a list of references"),
    Missing(
        "LAB-RBF", "Table 2 and the last column of Table 3: support points",
        "a setting, not a result: LAB-RBF, one member, has the paper's numbers of support points; "
        "what the peers use is on the page of the study",
    ),
    Missing("LAB-RBF", "Tables 4 and 5", "lists of the paper's settings"),
    Missing("LAB-RBF", "Figures 2 and 3", "drawings of the idea and of a network"),
    Missing(
        "SCG", "Figures 1 and 2: coloured maximum variance unfolding",
        "the authors' program is not at hand; the other panels are drawn",
    ),
    Missing("SCG", "Tables 1 and 2", "the notation, and the sizes of the sets"),
)  # fmt: skip
"""In the order of the papers."""
