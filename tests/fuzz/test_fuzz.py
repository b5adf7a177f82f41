"""A few cases of each fuzzer; ``make fuzz N=10000`` runs many more."""

import multiprocessing
import os
import time
from types import SimpleNamespace

import pytest

from tests.fuzz import campaign
from tests.fuzz.campaign import KINDS, outcome

CASES: dict[str, int] = {
    "estimators": 60,
    "journals": 60,
    "tables": 40,
    "model_files": 30,
    "names": 25,
}
"""Cases in the suite; all together take less than a minute on two cores."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in CASES])
def test_a_few_cases(kind):
    wrong = {seed: outcome(kind, seed) for seed in range(CASES[kind])}
    assert {seed: ascii(what) for seed, what in wrong.items() if what is not None} == {}


def test_a_hang_is_counted_in_seconds_of_the_processor(monkeypatch):
    clock, used, killed = [100.0], [7.0], []
    monkeypatch.setattr(campaign, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(campaign, "processor_seconds", lambda pid: used[0])

    def started(limit):
        worker = campaign._Worker()
        worker._process = SimpleNamespace(pid=1, kill=lambda: killed.append(1), join=lambda: None)
        worker.ends, worker.other = multiprocessing.Pipe()
        worker.start(("names", 5), limit)
        return worker

    worker = started(2.0)
    clock[0], used[0] = 103.0, 8.5  # half a second is left, of which a busy computer makes more
    assert worker.look() is None
    assert worker.deadline == 103.5
    clock[0], used[0] = 104.0, 9.0
    assert worker.look() == [
        campaign.Finding("names", 5, "hang: the case ran longer than its limit")
    ]
    waiting = started(2.0)
    clock[0] += 19.0
    assert waiting.look() is None
    clock[0] += 2.0  # it has used no processor for ten times its limit
    assert [each.seed for each in waiting.look()] == [5]
    assert len(killed) == 2


def test_the_seconds_of_a_process_are_those_of_the_processor():
    before, began = campaign.processor_seconds(os.getpid()), time.process_time()
    while time.process_time() - began < 0.05:
        pass
    assert campaign.processor_seconds(os.getpid()) - before >= 0.03
