"""Parameters refuse values outside the constraints of their estimator; data refuse masks."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest

import pliant
from pliant.core.parameters import check_integer, check_real
from tests.contracts.discovery import ESTIMATORS, constraints_of

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2

ELSEWHERE = {"kernel", "kernels", "learner", "machine", "centers", "unlabeled", "random_state"}
"""Parameters for kernels, estimators, points, labels or seeds, with separate error tests."""

PARAMETERS = [
    (kind, name) for kind in ESTIMATORS for name in sorted({*kind().get_params(False)} - ELSEWHERE)
]


def label(value):
    return value.__name__ if isinstance(value, type) else str(value)


def wrong_values(constraint):
    """Yield values that no parameter accepts, and values beyond the bounds of a constraint."""
    yield complex(1, 2)
    if isinstance(constraint, partial) and constraint.func in (check_real, check_integer):
        yield np.nan
        bounds = constraint.keywords
        if bounds.get("above") is not None:
            yield bounds["above"]
        if bounds.get("least") is not None:
            yield bounds["least"] - 1


@pytest.mark.parametrize(("kind", "name"), PARAMETERS, ids=label)
def test_values_out_of_range_are_quoted(kind, name):
    for value in wrong_values(constraints_of(kind).get(name)):
        estimator = kind().set_params(**{name: value})
        with pytest.raises((TypeError, ValueError), match=rf"(?s)\b{name}\b") as caught:
            estimator.fit(X, Y)
        said = str(caught.value)
        assert any(form in said for form in (repr(value), f"{value}", f"{value:g}"))
        assert not [each for each in vars(estimator) if each.endswith("_")]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=label)
def test_masked_entries_are_refused(kind):
    """NumPy converts a masked entry to the value behind the mask."""
    given = {"X": X, "y": Y, "sample_weight": np.ones(len(Y))}
    names = [name for name in given if name in inspect.signature(kind.fit).parameters]
    for name in names:
        values = np.ma.MaskedArray(given[name], mask=False)
        values[3:5] = np.ma.masked
        place = "row 3, column 0" if name == "X" else "row 3"
        message = (
            rf"expected {name} without .* (2|4) of {values.size} masked, the first at {place}:"
        )
        with pytest.raises(ValueError, match=message):
            kind().fit(**{**{each: given[each] for each in names}, name: values})


@pytest.mark.parametrize("kind", [kind for kind in ESTIMATORS if "n_jobs" in kind().get_params()])
def test_too_many_threads_are_refused(kind):
    message = (
        r"^expected n_jobs to be None or a nonzero integer from -1024 to 1024, got 1000000000000$"
    )
    with pytest.raises(ValueError, match=message):
        kind(n_jobs=10**12).fit(X, Y)


MASKED_POINTS = np.ma.masked_greater(X, 1.0)
MASKED_TARGETS = np.ma.masked_equal(Y, 1)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("X", lambda: pliant.fit(MASKED_POINTS, Y)),
        ("y", lambda: pliant.fit(X, MASKED_TARGETS)),
        ("y", lambda: pliant.fit(pd.DataFrame(X), MASKED_TARGETS)),
        ("X", lambda: pliant.kernels.Gaussian()(MASKED_POINTS)),
        ("X", lambda: pliant.LABRBFRegressor(2, max_iter=1).fit(X, Y).predict(MASKED_POINTS)),
    ],
    ids=["fit X", "fit y", "fit frame", "kernel", "predict"],
)
def test_masked_entries_are_refused_outside_of_fits(name, call):
    with pytest.raises(ValueError, match=f"^expected {name} without masked entries"):
        call()


def test_too_many_processes_are_refused():
    with pytest.raises(ValueError, match=r"n_jobs .* from -1024 to 1024"):
        pliant.compare(np.tile(X, (5, 1)), np.tile(Y, 5), methods=["dummy"], n_jobs=10**12)
