"""Plots of fitted models, with the interface of scikit-learn's displays.

Displays are built by ``from_estimator``, or from computed data by the constructor; ``plot`` draws
them and stores the artists. matplotlib is imported when the first plot is drawn.
"""

from pliant.plots.critical_difference import CriticalDifferenceDisplay
from pliant.plots.fits import ConvergenceDisplay, EmbeddingDisplay, WeightsDisplay
from pliant.plots.kernels import AdaptationDisplay, GramDisplay, TessellationDisplay
from pliant.plots.lab_rbf import BandwidthDisplay, IntervalDisplay, RelevanceDisplay

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
