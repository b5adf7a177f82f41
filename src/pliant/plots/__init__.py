"""Pictures of fitted models, in the manner of scikit-learn's displays.

``from_estimator`` (or, with its data, the constructor) makes a display; ``plot`` draws it and keeps
the drawn artists. matplotlib is imported by the first drawing.
"""

from pliant.plots.convergence import ConvergenceDisplay
from pliant.plots.critical_difference import CriticalDifferenceDisplay
from pliant.plots.embedding import EmbeddingDisplay
from pliant.plots.features import BandwidthDisplay, RelevanceDisplay
from pliant.plots.gram import AdaptationDisplay, GramDisplay
from pliant.plots.intervals import IntervalDisplay
from pliant.plots.tessellation import TessellationDisplay
from pliant.plots.weights import WeightsDisplay

__all__ = [
    "AdaptationDisplay",
    "BandwidthDisplay",
    "ConvergenceDisplay",
    "CriticalDifferenceDisplay",
    "EmbeddingDisplay",
    "GramDisplay",
    "IntervalDisplay",
    "RelevanceDisplay",
    "TessellationDisplay",
    "WeightsDisplay",
]
