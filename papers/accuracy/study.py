"""One measurement: a contestant chooses its parameters, is fitted, and judged by the test rows."""

from __future__ import annotations

import time
from dataclasses import asdict

import numpy as np
from threadpoolctl import threadpool_limits

from papers.accuracy.contestant import Contestant, Setting
from papers.accuracy.protocol import AccuracyProtocol, measure, split
from papers.accuracy.sets import read
from papers.protocol import Sample, folds, losses, to_tune_on
from papers.study import Record, Run, unconverged
from pliant.core.typing import Array

__all__ = ["TUNED", "choose", "perform"]

TUNED = "tuned"
"""The one way in which a contestant of this study chooses."""


def perform(run: Run, folder: str, protocol: AccuracyProtocol, contestant: Contestant) -> Record:
    """Measure a contestant on one repeat of a set, in one thread.

    Returns
    -------
    dict
        The run; the rows on both sides; ``seconds``; ``unconverged``, the number of solves that
        ended before their tolerance was reached, in cross-validation and at last; and under
        ``variants`` what was chosen, its loss in cross-validation, ``train`` and ``test``
        (accuracies, or mean squared errors), the seconds of both parts, and ``early``, whether the
        last solve ended so.
    """
    sample = split(read(run.set, folder), protocol, run.repeat)
    start = time.perf_counter()
    with threadpool_limits(1), unconverged() as in_tuning:
        setting, loss = choose(contestant, sample, protocol.folds, run.repeat)
    chosen = time.perf_counter()
    with threadpool_limits(1), unconverged() as at_last:
        machine = contestant.machine(sample.task, setting, run.repeat).fit(sample.X, sample.y)
        fitted = time.perf_counter()
        train = measure(sample.task, sample.y, machine.predict(sample.X))
        test = measure(sample.task, sample.y_test, machine.predict(sample.X_test))
    variant = {
        "setting": setting,
        "loss": loss,
        "train": train,
        "test": test,
        "tuning_seconds": chosen - start,
        "fit_seconds": fitted - chosen,
        "early": len(at_last),
        **contestant.details(machine),
    }
    return {
        **asdict(run),
        "variants": {TUNED: variant},
        "task": sample.task,
        "n_train": len(sample.y),
        "n_test": len(sample.y_test),
        "d": sample.X.shape[1],
        "seconds": round(time.perf_counter() - start, 2),
        "unconverged": len(in_tuning) + len(at_last),
    }


def choose(
    contestant: Contestant, sample: Sample, n_folds: int, repeat: int
) -> tuple[Setting, float]:
    """Return the setting with the least loss a row in cross-validation, and that loss."""
    if contestant.rows is not None:
        sample = to_tune_on(sample, contestant.rows, repeat)
    settings = contestant.settings()
    total: Array = np.zeros(len(settings))
    for train, valid in folds(sample, n_folds, repeat):
        part = Sample(sample.task, sample.X[train], sample.y[train], sample.X, sample.y)
        attempts = contestant.attempts(part, sample.X[valid], repeat)
        total += [losses(sample.task, sample.y[valid], each).sum() for each in attempts]
    best = int(total.argmin())
    return settings[best], float(total[best] / len(sample.y))
