"""The benchmark of fits beside a busy process: its workers, and what they are asked for."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from threading import Thread

import pytest
from sklearn.utils.validation import check_is_fitted

import pliant
import pliant.core.threads as limits
from benchmarks import threads
from benchmarks.harness import worker
from benchmarks.harness.measuring import Settings
from benchmarks.harness.spec import Case, Contestant
from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import threads_found_once

HERE = "tests.benchmarks.contestants"
ONE, UNSET = {"threads": 1}, {"threads": threads.UNSET}


@pytest.fixture
def in_threads(monkeypatch):
    """Run workers as threads of this process, and no busy process."""
    started = []

    @contextmanager
    def thread(target, *connections, arguments=(), variables=None):
        started.append((target.__name__, variables))
        if target is threads.serve:
            Thread(target=target, args=(*connections, *arguments), daemon=True).start()
        yield

    monkeypatch.setattr(threads, "_process", thread)
    monkeypatch.setattr(worker, "threadpool_info", threads_found_once)
    monkeypatch.setattr(worker, "reset_peak_memory", lambda: None)  # it collects all garbage
    return started


def measured(*contestants, repeats=2, timeout=60.0, **params):
    case = Case("case", contestants, params)
    return threads.beside_a_busy_process(case, Settings(repeats, timeout=timeout))


def test_contestants_take_turns_in_processes_that_stay(in_threads):
    found = measured(
        Contestant("one", f"{HERE}:calls", ONE), Contestant("unset", f"{HERE}:calls", UNSET),
        repeats=3,
    )  # fmt: skip
    assert [(m["repeat"], m["position"], m["contestant"]) for m in found] == [
        (0, 0, "one"), (0, 1, "unset"), (1, 0, "unset"), (1, 1, "one"), (2, 0, "one"),
        (2, 1, "unset"),
    ]  # fmt: skip
    assert [m["result"]["calls"] for m in found] == [2, 2, 3, 3, 4, 4]  # the first is not measured
    assert all(m["seconds"] >= 0 and m["processor_seconds"] >= 0 for m in found)
    assert in_threads == [("_spin", None), ("serve", {"OMP_NUM_THREADS": "1"}), ("serve", {})]


def test_a_failure_is_a_row_and_the_rest_goes_on(in_threads):
    broken, count = measured(
        Contestant("broken", f"{HERE}:failing", ONE), Contestant("count", f"{HERE}:count", UNSET),
        repeats=1, zero=0, n=4,
    )  # fmt: skip
    assert broken["error"].startswith("ZeroDivisionError: ")
    assert count["result"] == {"total": 6, "n": 4}


def test_a_worker_that_takes_too_long_is_not_asked_again(in_threads):
    late = Contestant("late", f"{HERE}:count", ONE)
    first, second = measured(late, timeout=1e-6, n=10**6)
    assert "error" in first
    assert "the process has ended" in second["error"]


def test_a_process_has_no_variable_of_this_one(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    unset = Contestant("unset", f"{HERE}:threads", UNSET)
    with threads._worker(unset, Case("case", [unset])) as asked:
        found = threads._ask(asked, timeout=60.0)
    assert found["result"]["OMP_NUM_THREADS"] is None
    assert found["result"]["NUMBA_NUM_THREADS"] is None
    assert os.environ["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize("estimator", ["AsymmetricKernelRidge", "DANKClassifier"])
def test_a_default_fit_uses_all_rows(estimator):
    call, describe = threads.default_fit({"estimator": estimator, "rows": 150})
    model = call()
    check_is_fitted(model)
    assert model.get_params() == type(model)().set_params(
        **({"random_state": 0} if "random_state" in model.get_params() else {})
    ).get_params()  # fmt: skip
    assert describe(model)["rows"] == 150


def test_every_exported_estimator_is_a_case():
    exported = {
        name
        for name in pliant.__all__
        if hasattr(getattr(pliant, name), "fit") and name != "KernelLearner"
    }
    benchmark = BENCHMARKS["threads"]
    cases = benchmark.cases(False)
    assert {case.params["estimator"] for case in cases} == exported
    assert benchmark.measure is threads.beside_a_busy_process
    for case in cases:
        one, unset = case.contestants
        assert (unset.baseline, unset.goal) == (one.name, 1.3)


def test_the_control_does_not_hold_blas_to_one_thread(monkeypatch):
    entered = []
    monkeypatch.setattr(limits, "one_blas_thread", lambda: nullcontext(entered.append(1)))
    (case,) = BENCHMARKS["threads-control"].cases(False)
    fast = {"estimator": "AsymmetricKernelRidge", "rows": 120}
    one, control = ({**case.params, **c.params, **fast} for c in case.contestants)
    threads.default_fit(one)[0]()
    assert len(entered) >= 2
    entered.clear()
    threads.default_fit(control)[0]()
    assert entered == []
