"""Deadlines do not depend on the system clock, which may jump."""

from itertools import count
from pathlib import Path

import pliant
from pliant.core.progress import Deadline


def test_deadlines_ignore_jumps_of_the_system_clock(monkeypatch):
    back, now = count(0, -3600), [100.0]
    monkeypatch.setattr("time.time", lambda: next(back))
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    deadline = Deadline(lambda _: None, 5.0)
    expired = []
    for now[0] in (104.5, 105.0):
        expired.append((deadline(), deadline.seconds_left))
    assert expired == [(False, 0.5), (True, 0.0)]


def test_the_first_part_of_a_deadline_can_stop_the_whole(monkeypatch):
    now, steps = [100.0], []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    whole = Deadline(lambda step: steps.append(step) or len(steps) > 2, 10.0)
    first = whole.first(0.6)
    assert (first.seconds_left, whole.seconds_left) == (6.0, 10.0)
    assert not first(1)
    now[0] = 106.0
    assert first(2)
    assert not whole.stopped
    assert steps == [1]
    assert not whole(3)
    other = whole.first(0.5)
    assert other(4)  # the callback stops both
    assert whole.stopped
    assert Deadline(lambda _: None, None).first(0.5).seconds_left is None


def test_no_module_reads_the_system_clock():
    files = sorted(Path(pliant.__file__).parent.rglob("*.py"))
    assert len(files) > 100
    assert [path.name for path in files if "time.time(" in path.read_text("utf-8")] == []
