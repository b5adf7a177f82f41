"""Every estimator that may learn for long prints its progress if it is asked to."""

import re

import numpy as np
import pytest

from pliant import (
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
    learner.set_params(verbose=True).fit(X, Y)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) > 1
    assert all(re.fullmatch(rf"{name}: \d+\.\d s, (step \d+.*|running|done)", s) for s in lines)
    assert lines[-1].endswith(", done")
    learner.set_params(verbose=False).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ValueError, match="expected verbose True or False, got 2"):
        learner.set_params(verbose=2).fit(X, Y)
    learner.set_params(verbose=False)


def test_lines_come_at_most_every_two_seconds(monkeypatch, capsys):
    seconds = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: seconds[0])
    report = progress.FitProgress(DANKClassifier(verbose=True), X, Y)
    for seconds[0] in (1.0, 1.9, 2.1, 3.0, 4.0, 4.2):
        report(progress.Progress(7, 0.25, np.nan))
    report.end()
    assert capsys.readouterr().err.splitlines() == [
        "DANKClassifier: 2.1 s, step 7, objective 0.25",
        "DANKClassifier: 4.2 s, step 7, objective 0.25",
        "DANKClassifier: 4.2 s, done",
    ]
