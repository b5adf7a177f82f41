"""Measurements in separate processes: outcomes, order, threads, failures."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from benchmarks.harness.measuring import Settings, measure_case
from benchmarks.harness.spec import Case, Contestant
from benchmarks.harness.worker import measure

HERE = "tests.benchmarks.contestants"
SIZE = 64_000_000


def contestant(function, name=None, **more):
    return Contestant(name or function, f"{HERE}:{function}", **more)


def measured(*contestants, repeats=1, threads=1, data=None, params=None):
    case = Case("case", contestants, params or {})
    return measure_case(case, Settings(repeats, threads, data, timeout=120))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Measurements of a working process, and of one that dies."""
    data = tmp_path_factory.mktemp("data")
    contestants = contestant("witness"), contestant("dying")
    found = measured(*contestants, threads=3, data=str(data), params={"bytes": SIZE})
    return [*found, data]


def test_a_measurement_has_time_memory_result_and_threads(outcomes):
    found, *_ = outcomes
    assert (found["repeat"], found["position"], found["contestant"]) == (0, 0, "witness")
    assert found["seconds"] > 0
    peak = found["peak_bytes"]
    assert (peak is None) == (find_spec("resource") is None)
    if sys.platform == "linux":  # elsewhere, the peak of the rehearsal counts
        assert 0.9 * SIZE < peak < 1.5 * SIZE
    assert isinstance(found["threads"], dict)


def test_threads_and_data_reach_the_process(outcomes):
    found, _, data = outcomes
    assert found["result"]["OMP_NUM_THREADS"] == "3"
    assert found["result"]["NUMBA_NUM_THREADS"] == "3"
    assert found["result"]["PLIANT_DATA"] == str(data.resolve())


def test_a_process_that_dies_is_a_row(outcomes):
    _, dying, _ = outcomes
    assert dying["error"] == "process ended with code 3: going down"


def test_a_process_that_takes_too_long_is_ended():
    case = Case("case", [contestant("count")], {"n": 1})
    (found,) = measure_case(case, Settings(1, timeout=1e-3))
    assert found["error"] == "not finished after 0.001 s"


def test_the_call_is_rehearsed_once_or_on_other_parameters():
    request = {"function": f"{HERE}:calls", "params": {}, "warm_up": None}
    assert measure(request)["result"] == {"calls": 2}
    assert measure({**request, "warm_up": {}})["result"] == {"calls": 1}


def test_order_alternates_and_own_parameters_win(in_process):
    found = measured(
        contestant("count", "a"), contestant("count", "b", params={"n": 3}), repeats=3,
        params={"n": 2},
    )  # fmt: skip
    assert [(m["repeat"], m["position"], m["contestant"]) for m in found] == [
        (0, 0, "a"), (0, 1, "b"), (1, 0, "b"), (1, 1, "a"), (2, 0, "a"), (2, 1, "b"),
    ]  # fmt: skip
    assert {m["contestant"]: m["result"]["total"] for m in found} == {"a": 1, "b": 3}


def test_failures_are_rows_and_the_rest_goes_on(in_process):
    said = []
    names = ["unprepared", "failing", "absent", "count"]
    case = Case("case", [contestant(name) for name in names], {"n": 4, "zero": 0})
    found = measure_case(case, Settings(1, timeout=120), said.append)
    errors = {m["contestant"]: m.get("error") for m in found}
    assert errors["unprepared"] == "ValueError: expected n > 0, got -1"
    assert errors["failing"].startswith("ZeroDivisionError: ")
    assert errors["absent"].startswith("AttributeError: ")
    assert errors["count"] is None
    assert len(said) == len(names)
    assert said[0] == "case | 1/1 | unprepared: ValueError: expected n > 0, got -1"
    assert said[-1].startswith("case | 1/1 | count: ")
