"""The reasons that are known, the particular ones first; one file a method.

They say what docs/methods, the notes of the studies and the papers themselves say. Where none is
known the text begins with `OPEN`, and tells what was tried.
"""

from papers.overview.known.dank import DANK
from papers.overview.known.lab_rbf import LAB
from papers.overview.known.not_rerun import NOT_RERUN
from papers.overview.known.scg import SCG
from papers.overview.known.tkl import TKL
from papers.overview.reason import Reason

__all__ = ["REASONS"]

REASONS: tuple[Reason, ...] = (*NOT_RERUN, *DANK, *TKL, *LAB, *SCG)
"""The first one that fits is taken."""
