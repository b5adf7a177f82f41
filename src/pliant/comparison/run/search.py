"""The search of a cell: which settings of a method's grid do best on inner folds.

It is scikit-learn's ``HalvingRandomSearchCV`` over rows: all candidates start on few rows, the
best third of them goes on with three times as many, and so on. Tables below 450 training rows, and
grids of few settings, have one round with all rows. A method's ``rough`` parameters hold in the
search only. What candidates have in common is computed once, where it pays.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, ParameterGrid

from pliant.comparison.metrics import METRICS, metrics_of
from pliant.comparison.protocol import Protocol
from pliant.comparison.run.folds import inner_count, inner_splits
from pliant.comparison.run.pipeline import pipeline, search_grid
from pliant.comparison.run.sharing import shared
from pliant.comparison.sample import Sample
from pliant.core.typing import Indices
from pliant.registry import Method

__all__ = ["Found", "rounds", "search"]

FACTOR = 3
FEWEST_ROWS = 150
"""Rows in the first round at least; more where a class is rare."""

ROWS_OF_RAREST = 10
"""So many rows of the rarest class are expected in the first round."""


@dataclass(frozen=True)
class Found:
    """What a search chose.

    Parameters
    ----------
    chosen : dict
        Parameters of the pipeline.
    score : float or None
        Their mean score on the inner folds, by scikit-learn's scorer; None if nothing was chosen.
    candidates : int
        Settings that were tried.
    """

    chosen: dict[str, Any]
    score: float | None
    candidates: int


def search(method: Method, sample: Sample, rows: Indices, protocol: Protocol, seed: int) -> Found:
    """Choose the settings of a method by its scores on inner folds of some rows.

    Parameters
    ----------
    rows : array of shape (n,)
        Training rows of an outer fold.
    seed : int
        Decides candidates, folds, and the rows of each round.

    Raises
    ------
    ValueError
        If no candidate could be fitted; the message has that of the last one.
    """
    grid = search_grid(method, sample)
    size = len(ParameterGrid(grid))
    if size == 1:
        return Found({name: values[0] for name, values in grid.items()}, None, 1)
    candidates = min(size, protocol.candidates)
    n_folds = inner_count(sample, rows, protocol)
    scorer = METRICS[protocol.metric or metrics_of(sample.task)[0].name].scorer
    rarest = _rarest(sample, rows) / (n_folds if scorer == "roc_auc" else 1)
    fewest, most = rounds(len(rows), candidates, rarest, protocol)
    judged = pipeline(method, sample, most, seed, rough=True)
    with shared(judged) as lent:
        halving = HalvingRandomSearchCV(
            lent,
            grid,
            n_candidates=candidates,
            factor=FACTOR,
            min_resources=fewest,
            max_resources=most,
            scoring=scorer,
            cv=inner_splits(sample, rows, n_folds, seed),
            refit=False,
            return_train_score=False,
            error_score=np.nan,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            _fit(halving, sample, rows)
    score = float(halving.best_score_)
    if not math.isfinite(score):
        raise ValueError(
            "no setting has a score on every inner fold: too few rows, or a rare class"
        )
    return Found(halving.best_params_, score, candidates)


def _fit(halving: Any, sample: Sample, rows: Indices) -> None:
    """Run a search; if every fit fails, raise what the last one said."""
    try:
        halving.fit(sample.X[rows], sample.y[rows])
    except ValueError as error:
        text = str(error).strip()
        if "fits failed" not in text:
            raise
        raise ValueError(f"every fit of the search failed: {text.splitlines()[-1]}") from None


def rounds(n_rows: int, candidates: int, rarest: float, protocol: Protocol) -> tuple[int, int]:
    """Return the rows of the first and of the last round.

    The last has all rows, at most ``search_rows``. Each one before has a third of them, as long
    as candidates are left to drop and no round has less than 150 rows, or less than ten of the
    rarest class on average.

    Parameters
    ----------
    n_rows, candidates : int
    rarest : float
        The share of the rarest class, for "auc" in one test part of a fold; 1 for regression.
    """
    most = min(n_rows, protocol.search_rows)
    least = max(FEWEST_ROWS, math.ceil(ROWS_OF_RAREST / rarest))
    n_rounds = 1
    while FACTOR**n_rounds <= candidates and most // FACTOR**n_rounds >= least:
        n_rounds += 1
    return most // FACTOR ** (n_rounds - 1), most


def _rarest(sample: Sample, rows: Indices) -> float:
    if sample.task == "regression":
        return 1.0
    counts = np.unique(sample.y[rows], return_counts=True)[1]
    return float(counts.min() / len(rows))
