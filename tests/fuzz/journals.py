"""A small comparison with a journal, for the kills."""

import json
from unittest.mock import patch

import numpy as np

from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import Protocol
from pliant.comparison.sample import Sample
from tests.comparison.comparison_cases import perform_here, without_costs

METHODS = ("dummy", "linear")
PROTOCOL = Protocol(folds=3, repeats=1, inner_folds=2, candidates=2, seed=3)


def sample(number):
    """A table; 1 is of the same shape and different values, 2 a regression."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((45, 3))
    y = X[:, 0] + X[:, 1] ** 2
    if number == 2:
        return Sample(X, y, "regression")
    return Sample(X, (y > 0.5).astype(int), "classification")


def compared(number, path, resume):
    """Compare methods on a table in this process."""
    with patch("pliant.comparison.race.perform_apart", perform_here):
        return compare_sample(
            sample(number), METHODS, PROTOCOL, budget=None, n_jobs=1, cache=path, resume=resume
        )


def facts(result):
    """What a comparison has measured, without costs."""
    return without_costs(json.loads(json.dumps(result.records)))
