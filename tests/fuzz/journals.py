"""A small comparison with a journal, for the kills."""

import json
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np

from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import Protocol
from pliant.comparison import cells, running
from pliant.comparison.cells import perform
from pliant.comparison.sample import Sample

METHODS = ("dummy", "linear")
PROTOCOL = Protocol(folds=3, repeats=1, inner_folds=2, candidates=2, seed=3)


COSTS = ("seconds", "memory_mb", "size_bytes", "pictures", "warnings")
"""Facts that two runs of a cell do not share."""


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
    with ExitStack() as patched:
        here = patch.object(running, "perform_apart", lambda *cell, **_: perform(*cell[:4]))
        for each in (here, patch.object(cells, "figures", lambda *_: [])):
            patched.enter_context(each)
        patched.enter_context(patch.object(cells, "reset_peak_memory", lambda: None))
        return compare_sample(
            sample(number), METHODS, PROTOCOL, budget=None, n_jobs=1, cache=path, resume=resume
        )


def facts(result):
    """What a comparison has measured, without costs."""
    plain = json.loads(json.dumps(result.records))
    return [{k: v for k, v in each.items() if k not in COSTS} for each in plain]
