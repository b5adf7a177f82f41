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


def test_no_module_reads_the_system_clock():
    files = sorted(Path(pliant.__file__).parent.rglob("*.py"))
    assert len(files) > 100
    assert [path.name for path in files if "time.time(" in path.read_text("utf-8")] == []
