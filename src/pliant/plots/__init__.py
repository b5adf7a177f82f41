"""Plots of fitted models, with the interface of scikit-learn's displays.

Displays are built by ``from_estimator``, or from computed data by the constructor; ``plot`` draws
them and stores the artists. matplotlib is imported when the first plot is drawn.
"""

from pliant.plots.kernels import AdaptationDisplay, TessellationDisplay
from pliant.plots.lab_rbf import BandwidthDisplay, IntervalDisplay, RelevanceDisplay
from pliant.plots.weights import WeightsDisplay

__all__ = [
    "AdaptationDisplay",
    "BandwidthDisplay",
    "IntervalDisplay",
    "RelevanceDisplay",
    "TessellationDisplay",
    "WeightsDisplay",
]
