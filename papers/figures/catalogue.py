"""All figures, in the order of the papers."""

from papers.figures.boundaries import DankBoundaries, DankEntries, KnplBoundary
from papers.figures.convergence import DankConvergence, KnplConvergence
from papers.figures.dank_parts import DankParts
from papers.figures.figure import PaperFigure
from papers.figures.lab_bandwidths import LabBandwidths
from papers.figures.lab_errors import LabStart, LabSupport
from papers.figures.regression import StepFunction, Surface
from papers.figures.scg_embeddings import ScgDigits, ScgGaussians
from papers.figures.scg_labels import ScgLabels
from papers.figures.tkl_rank import TklRank
from papers.figures.tkl_solvers import TklConvergence, TklCost
from papers.figures.tkl_terrain import TklTerrain

FIGURES: tuple[PaperFigure, ...] = (
    DankBoundaries(), DankEntries(), DankConvergence(), DankParts(), StepFunction(), Surface(),
    KnplBoundary(), KnplConvergence(), TklConvergence(), TklCost(), TklTerrain(), TklRank(),
    LabBandwidths(), LabSupport(), LabStart(), ScgGaussians(), ScgDigits(), ScgLabels(),
)  # fmt: skip
"""Each with the setting of the results that are kept."""
