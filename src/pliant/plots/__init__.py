"""Pictures of fitted models, in the manner of scikit-learn's displays.

A display is made by ``from_estimator`` (or, with its data, by its constructor), draws with
``plot`` and keeps what it drew. matplotlib is imported when something is drawn.
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
