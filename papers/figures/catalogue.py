"""All figures, in the order of the papers."""

from papers.figures.dank_boundaries import DankBoundaries
from papers.figures.dank_convergence import DankConvergence
from papers.figures.dank_entries import DankEntries
from papers.figures.dank_parts import DankParts
from papers.figures.figure import PaperFigure
from papers.figures.knpl_boundary import KnplBoundary
from papers.figures.knpl_convergence import KnplConvergence
from papers.figures.lab_bandwidths import LabBandwidths
from papers.figures.lab_start import LabStart
from papers.figures.lab_support import LabSupport
from papers.figures.scg_digits import ScgDigits
from papers.figures.scg_gaussians import ScgGaussians
from papers.figures.scg_labels import ScgLabels
from papers.figures.step_function import StepFunction
from papers.figures.surface import Surface
from papers.figures.tkl_convergence import TklConvergence
from papers.figures.tkl_cost import TklCost
from papers.figures.tkl_rank import TklRank
from papers.figures.tkl_terrain import TklTerrain

__all__ = ["FIGURES"]

FIGURES: tuple[PaperFigure, ...] = (
    DankBoundaries(),
    DankEntries(),
    DankConvergence(),
    DankParts(),
    StepFunction(),
    Surface(),
    KnplBoundary(),
    KnplConvergence(),
    TklConvergence(),
    TklCost(),
    TklTerrain(),
    TklRank(),
    LabBandwidths(),
    LabSupport(),
    LabStart(),
    ScgGaussians(),
    ScgDigits(),
    ScgLabels(),
)
"""Each with the setting of the results that are kept."""
