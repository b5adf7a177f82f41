"""What is known of pairs of points, and the supervised complete graph that it makes."""

from pliant.methods.side_information.information.graph import LabelGraph, PairGraph, SupervisedGraph
from pliant.methods.side_information.information.information import GRAPHS, SideInformation
from pliant.methods.side_information.information.losses import kernel_alignment, scg_loss

__all__ = [
    "GRAPHS",
    "LabelGraph",
    "PairGraph",
    "SideInformation",
    "SupervisedGraph",
    "kernel_alignment",
    "scg_loss",
]
