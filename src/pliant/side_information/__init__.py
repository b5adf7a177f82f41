"""What is known of pairs of points, and the supervised complete graph that it makes."""

from pliant.side_information.graph import LabelGraph, PairGraph, SupervisedGraph
from pliant.side_information.information import GRAPHS, SideInformation
from pliant.side_information.losses import kernel_alignment, scg_loss

__all__ = [
    "GRAPHS",
    "LabelGraph",
    "PairGraph",
    "SideInformation",
    "SupervisedGraph",
    "kernel_alignment",
    "scg_loss",
]
