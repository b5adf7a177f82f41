"""A run of parts that is stopped, interrupted or killed: what is finished is found again."""

import _thread
import gc
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

from pliant.methods.svm.parts import PartResult, halted, run_parts
from tests.methods.svm.parts.run_cases import (
    BACKENDS,
    SIZES,
    Lazy,
    Recorder,
    arguments,
    new_store,
    numbers,
    same,
    solve,
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_report_can_end_the_run(backend):
    store = Recorder()
    with joblib.parallel_config(backend, n_jobs=2):
        results = run_parts(
            solve, arguments(), sizes=SIZES, store=store, report=lambda done, _: done == 2
        )
    assert len(store.saved) == 2
    assert [part for part in range(6) if results[part] is not None] == sorted(store.saved)


def wait_until(condition):
    """Wait for what must happen soon; a minute later it counts as not happening."""
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_threads_learn_that_their_run_has_ended():
    heard, started = threading.Event(), threading.Event()

    def work(size):
        if size == 1:
            assert started.wait(60)
            return solve(numbers(size))
        started.set()
        run_parts(solve, [(numbers(3),)], sizes=[3])  # a run of its own changes nothing
        assert not halted()
        wait_until(halted)
        heard.set()
        return solve(numbers(size))

    results = run_parts(work, [(2,), (1,)], sizes=[2, 1], n_jobs=2, report=lambda *_: True)
    assert results[0] is None
    assert results[1] is not None
    assert heard.wait(60)
    assert not halted()


def test_a_run_within_a_run_leaves_the_outer_one_alone():
    def outer(size):
        inner = run_parts(solve, [(numbers(size),)], sizes=[size])
        assert not halted()
        return inner[0]

    results = run_parts(outer, [(3,), (4,)], sizes=[3, 4], n_jobs=2)
    assert same(results[1], solve(numbers(4)))


def interrupting(rows, folder):
    """Let the main thread be interrupted once it has stored the results of two larger parts."""
    if len(rows) == 8:
        wait_until(lambda: len(list(folder.glob("plain-*.npz"))) >= 2)
        _thread.interrupt_main()
        wait_until(halted)
    return solve(rows)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_an_interrupt_leaves_the_finished_parts_and_nothing_half_written(tmp_path):
    given = [(numbers(size), tmp_path) for size in SIZES]
    with pytest.raises(KeyboardInterrupt):
        run_parts(interrupting, given, sizes=SIZES, n_jobs=2, store=new_store(tmp_path))
    gc.collect()  # a file that was just opened when the signal came is closed here
    assert all(re.fullmatch(r"manifest\.json|plain-\d+\.npz", f.name) for f in tmp_path.iterdir())
    store, asked = new_store(tmp_path), Lazy()
    kept = [part for part in range(6) if store.load("plain", part, SIZES[part]) is not None]
    assert len(kept) >= 2
    results = run_parts(solve, asked, sizes=SIZES, store=store)
    assert sorted(asked.asked + kept) == list(range(6))
    assert all(same(result, solve(rows)) for result, (rows, _) in zip(results, given, strict=True))


KILLED = """
import sys, time
import numpy as np
from pliant.methods.svm.parts import PartResult, Store, fingerprint, run_parts

def work(size):
    if size == 5:
        print("now", flush=True)
        time.sleep(600)
    return PartResult(np.full(size, 2.0), 1.0, 0.0, 1, "CONVERGED")

store = Store(sys.argv[1], fingerprint(np.zeros(2), np.zeros(2), None, {"C": 1.0}))
run_parts(work, [(9,), (5,), (7,)], sizes=[9, 5, 7], store=store)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    run = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(run, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout.readline() == b"now\n"
        process.send_signal(signal.SIGKILL)
    asked = []

    def work(size):
        asked.append(size)
        return PartResult(np.full(size, 2.0), 1.0, 0.0, 1, "CONVERGED")

    results = run_parts(work, [(9,), (5,), (7,)], sizes=[9, 5, 7], store=new_store(tmp_path))
    assert asked == [5]
    assert [result.beta.tolist() for result in results] == [[2.0] * 9, [2.0] * 5, [2.0] * 7]
