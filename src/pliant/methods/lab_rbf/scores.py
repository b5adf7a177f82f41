"""Scores of classes."""

from __future__ import annotations

import numpy as np

from pliant.core.typing import Array


def class_scores(scores: Array) -> Array:
    """Return one column of scores per class; a single column of log-odds becomes [0, score]."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
