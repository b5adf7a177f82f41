"""All figures, in the order of the papers."""

from benchmarks.papers.figures.dank_boundaries import DankBoundaries
from benchmarks.papers.figures.dank_convergence import DankConvergence
from benchmarks.papers.figures.dank_entries import DankEntries
from benchmarks.papers.figures.dank_parts import DankParts
from benchmarks.papers.figures.figure import PaperFigure
from benchmarks.papers.figures.knpl_boundary import KnplBoundary
from benchmarks.papers.figures.knpl_convergence import KnplConvergence
from benchmarks.papers.figures.lab_bandwidths import LabBandwidths
from benchmarks.papers.figures.lab_start import LabStart
from benchmarks.papers.figures.lab_support import LabSupport
from benchmarks.papers.figures.scg_digits import ScgDigits
from benchmarks.papers.figures.scg_gaussians import ScgGaussians
from benchmarks.papers.figures.scg_labels import ScgLabels
from benchmarks.papers.figures.step_function import StepFunction
from benchmarks.papers.figures.surface import Surface
from benchmarks.papers.figures.tkl_convergence import TklConvergence
from benchmarks.papers.figures.tkl_cost import TklCost
from benchmarks.papers.figures.tkl_rank import TklRank
from benchmarks.papers.figures.tkl_terrain import TklTerrain

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
