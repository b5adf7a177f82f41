"""Every slow estimator prints its progress with ``verbose``."""

import re

import numpy as np
import pytest
from sklearn.base import clone

from pliant import (
    C_path,
    DANKClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LogDetLearner,
    MKLClassifier,
    SketchedKernelRidge,
    TKLClassifier,
)
from pliant.core import progress

X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
Y = (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)

LEARNERS = [
    DANKClassifier(),
    KNPLRegressor(),
    LABRBFClassifier(5, n_members=1, max_iter=3, random_state=0),
    LogDetLearner(max_pairs=20, random_state=0),
    MKLClassifier(["gaussian", "laplacian"]),
    SketchedKernelRidge(),
    TKLClassifier(tol=0.1),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_fit_prints_what_it_knows_while_it_runs_if_it_is_asked_to(learner, monkeypatch, capfd):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    name = type(learner).__name__
    learner.set_params(verbose=1).fit(X, Y)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) > 1
    assert all(re.fullmatch(rf"{name}: \d+\.\d s, (step \d+.*|running|done)", s) for s in lines)
    assert lines[-1].endswith(", done")
    learner.set_params(verbose=False).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ValueError, match="expected verbose to be True or False, got 2"):
        learner.set_params(verbose=2).fit(X, Y)
    learner.set_params(verbose=False)


PATHS = [DANKClassifier(), KNPLRegressor(), MKLClassifier(["gaussian", "laplacian"])]
PATHS += [DANKClassifier(partition={"n_parts": 2, "n_jobs": 1}), TKLClassifier(tol=0.1)]


@pytest.mark.parametrize("learner", PATHS, ids=lambda learner: type(learner).__name__)
def test_a_path_prints_the_progress_of_each_fit_if_it_is_asked_to(learner, monkeypatch, capfd):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    name = type(learner).__name__
    C_path(clone(learner).set_params(verbose=True), X, Y, [1.0, 2.0])
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) > 2
    assert all(re.fullmatch(rf"{name}: \d+\.\d s, (step \d+.*|running|done)", s) for s in lines)
    assert [line.endswith(", done") for line in lines].count(True) == 2
    C_path(learner, X, Y, [1.0, 2.0])
    assert capfd.readouterr() == ("", "")
