"""Compiled loops: cached on disk, recovered from damaged caches, reported once."""

import multiprocessing
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np
import pytest

from pliant.core import jit
from pliant.methods.svm.smo.block import one_sided_slopes

SESSION = """
import logging, sys
import numpy as np
from pliant.core.exponential import exponentials

logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(name)s: %(message)s")
print(exponentials(np.zeros(3, np.float32)).tolist())
"""


def run_session(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", SESSION], env=environment, capture_output=True, text=True, check=True
    )


def test_the_first_compilation_on_a_machine_is_announced_once(tmp_path):
    first, second = run_session(tmp_path), run_session(tmp_path)
    said = "WARNING pliant: pliant is compiling its loops (a few seconds, once per computer)"
    results = "[1.0, 1.0, 1.0]"
    assert first.stdout.splitlines() == [said, results]
    assert second.stdout.splitlines() == [results]
    assert first.stderr == second.stderr == ""
    assert list(tmp_path.rglob("*.nbi"))


def doubled(x):
    return 2 * x


@pytest.mark.parametrize(
    ("kept", "often"),
    [(True, "once per computer"), (False, "in each process, as no folder .* NUMBA_CACHE_DIR to")],
)
def test_the_report_says_how_often_loops_are_compiled(kept, often, caplog):
    loop = numba.njit(doubled)
    if kept:
        loop._cache = jit._Cache.__new__(jit._Cache)
    report = jit._ReportOnce()
    report.on_start(SimpleNamespace(data={"dispatcher": loop}))
    assert not caplog.messages  # somebody else's loop
    with mock.patch.object(doubled, "__module__", "pliant.somewhere"):
        for _ in range(2):
            report.on_start(SimpleNamespace(data={"dispatcher": loop}))
    (said,) = caplog.messages
    assert re.search(rf"compiling its loops \(a few seconds, {often}", said)


def test_where_no_cache_can_be_written_the_loop_lives_in_memory(monkeypatch):
    def nowhere(*_):
        raise RuntimeError("cannot cache function 'doubled': no locator available for file")

    monkeypatch.setattr(jit._Cache, "__init__", nowhere)
    compiled = jit.compiled(doubled)
    assert compiled(21) == 42
    assert compiled.py_func is doubled
    assert compiled._cache.cache_path is None


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError])
def test_what_a_signal_handler_raises_leaves_a_loop_as_it_is(raised):
    """A handler may run in a Python function of numba that converts the loop's results."""

    def handler(frame, event, _):
        if event == "call" and "numba" in frame.f_code.co_filename:
            raise raised

    point = np.zeros(3)
    expected = one_sided_slopes(point, point, point + 1.0, point)
    before = sys.getprofile()
    sys.setprofile(handler)
    try:
        with pytest.raises(raised):
            one_sided_slopes(point, point, point + 1.0, point)
    finally:
        sys.setprofile(before)
    again = one_sided_slopes(point, point, point + 1.0, point)
    np.testing.assert_array_equal(again, expected)


def test_an_error_of_python_within_a_loop_is_raised_as_it_is(monkeypatch):
    def broken(*_):
        raise SystemError("bad argument to internal function")

    monkeypatch.setattr(jit.CPUDispatcher, "__call__", broken)
    with pytest.raises(SystemError, match="bad argument"):
        one_sided_slopes(np.zeros(3))


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Return a function that compiles the loop with its cache in a temporary folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    jit._report_unwritable.cache_clear()
    return lambda: jit.compiled(doubled)


def hits(loop):
    return sum(loop.stats.cache_hits.values())


def files(folder, suffix):
    return sorted(folder.rglob(f"*.{suffix}"))


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80", b"no pickle", None])
def test_a_damaged_file_of_the_cache_is_written_again(suffix, content, cached, tmp_path):
    assert cached()(21) == 42
    (file,) = files(tmp_path, suffix)
    file.write_bytes(file.read_bytes()[:-9] if content is None else content)
    assert cached()(21) == 42
    again = cached()
    assert again(21) == 42
    assert hits(again) == 1


def test_code_of_other_types_counts_as_missing(cached, tmp_path):
    """Two processes that write numba's cache at the same time can leave such files."""
    loop = cached()
    assert (loop(21), loop(0.25)) == (42, 0.5)
    first, second = files(tmp_path, "nbc")
    first.write_bytes(second.read_bytes())
    again = cached()
    assert repr((again(21), again(0.25))) == "(42, 0.5)"  # not 42.0


def _compile(number, folder, start, report):
    numba.config.CACHE_DIR = folder
    loop = jit.compiled(doubled)
    start.wait()
    values = [21, 0.25]
    shown = [loop(value) for value in values[number:] + values[:number]]
    report.put((number, shown))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_that_compile_at_once_leave_a_sound_cache(cached, tmp_path):
    cached()  # writes the shared cache
    context = multiprocessing.get_context("fork")
    start, report = context.Barrier(2), context.Queue()
    processes = [
        context.Process(target=_compile, args=(number, str(tmp_path), start, report))
        for number in range(2)
    ]
    for process in processes:
        process.start()
    expected = [42, 0.5]
    for number, shown in (report.get(timeout=120) for _ in processes):
        assert shown == expected[number:] + expected[:number]
    for process in processes:
        process.join()
    again = cached()
    assert [again(21), again(0.25)] == expected


def test_a_cache_that_cannot_be_written_is_reported_once_and_stops_nothing(
    cached, tmp_path, monkeypatch, caplog
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jit._Cache, "_save_overload", full)
    loop = cached()
    assert (loop(21), loop(0.25)) == (42, 0.5)
    (report,) = [text for text in caplog.messages if "cached" in text]
    assert str(tmp_path) in report
    assert "(No space left on device)" in report
    assert not files(tmp_path, "nb?")
