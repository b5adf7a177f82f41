"""One measurement: a contestant chooses its parameters, is fitted, and judged by the test rows."""

from __future__ import annotations

import time
from dataclasses import asdict

from threadpoolctl import threadpool_limits

from papers.local.contestant import Contestant
from papers.local.protocol import LocalProtocol, scores, split
from papers.local.sets import read
from papers.study import Record, Run, unconverged

__all__ = ["MEASURED", "perform"]

MEASURED = "measured"
"""The one variant of a record."""


def perform(run: Run, folder: str, protocol: LocalProtocol, contestant: Contestant) -> Record:
    """Measure a contestant on one repeat of a set, in one thread.

    Returns
    -------
    dict
        The run; the rows on both sides; ``seconds`` of the whole; ``unconverged``, the number of
        solves that ended before their tolerance was reached; and under ``variants`` what was
        chosen, the scores (see `scores`), and the process seconds of the choice and of the fit.
    """
    start = time.perf_counter()
    seed = protocol.first_seed + run.repeat
    table = read(run.set, folder)
    sample = split(run.set, table, protocol, run.repeat, scaled=contestant.scaled)
    with threadpool_limits(1), unconverged() as early:
        began = time.process_time()
        setting = contestant.choose(sample, seed)
        chosen = time.process_time()
        machine = contestant.fit(sample, setting, seed)
        fitted = time.process_time()
        found = scores(sample, machine)
    variant = {
        "setting": setting,
        **found,
        "tuning_seconds": chosen - began,
        "fit_seconds": fitted - chosen,
        **contestant.details(machine),
    }
    return {
        **asdict(run),
        "variants": {MEASURED: variant},
        "task": sample.task,
        "n_train": len(sample.y),
        "n_test": len(sample.y_test),
        "d": sample.X.shape[1],
        "seconds": round(time.perf_counter() - start, 2),
        "unconverged": len(early),
    }
