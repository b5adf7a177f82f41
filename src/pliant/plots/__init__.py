"""Plots of fitted models, with the interface of scikit-learn's displays.

``from_estimator``, or the constructor with computed data, makes a display; ``plot`` draws it and
stores the artists. matplotlib is imported when the first plot is drawn.
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
