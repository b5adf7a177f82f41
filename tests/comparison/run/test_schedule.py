"""The order of cells, with a clock and methods that are made up."""

from __future__ import annotations

import heapq
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED, Cell
from pliant.comparison.schedule import FIRST_FOLDS, Lane, Schedule

PLACES = list(product(range(2), range(5)))
TENTH = 30.0
BUDGET = 300.0


class Simulated:
    """A run of made-up methods: seconds of a cell by method and stage, and scores by method."""

    def __init__(self, times, scores=None, *, budget=BUDGET, n_jobs=2, large=False, places=PLACES):
        self.lanes = [Lane(name, SEARCHED in stages) for name, stages in times.items()]
        self.schedule = Schedule(self.lanes, places, budget=budget, large=large)
        self.began, self.ended, self.answered = [], [], None
        now, running = 0.0, []
        while True:
            while len(running) < n_jobs and (cell := self.schedule.take(now, budget)):
                self.began.append(cell)
                took = times[cell.method][cell.stage]
                limit = self.schedule.limit(cell)
                most = took if limit is None else min(took, limit, budget - now)
                heapq.heappush(running, (now + most, cell, took <= most))
            if not running:
                break
            now, cell, whole = heapq.heappop(running)
            if whole:
                score = (scores or {}).get(cell.method, 0.5)
                self.schedule.finish(cell, times[cell.method][cell.stage], score)
                self.ended.append(cell)
            else:
                self.schedule.stop(cell, "cut")
            if self.answered is None and self.schedule.answered:
                self.answered = now
        self.seconds = now

    def count(self, method, stage=None):
        return len({c.place for c in self.ended if c.method == method and stage in (None, c.stage)})


def quick(default=0.5, searched=2.0):
    return {SAMPLED: 0.1, DEFAULT: default, SEARCHED: searched}


def fixed(default=0.5):
    return {SAMPLED: 0.1, DEFAULT: default}


TABLE = {"dummy": fixed(0.1), "linear": quick(), "svm": quick(), "lab-rbf": fixed(3.0)}
TABLE |= {"dank": quick(), "tkl": quick(1.0, 9.0), "mkl": quick(5.0, 20.0), "gp": fixed(4.0)}
SCORES = {name: k for k, name in enumerate(TABLE)}


def test_every_method_is_answered_first_the_reference_before_all():
    run = Simulated(TABLE)
    first = run.began[: len(TABLE)]
    assert first[0] == Cell("svm", 0, 0, DEFAULT)
    assert {cell.method for cell in first} == set(TABLE)
    assert {(cell.place, cell.stage) for cell in first} == {((0, 0), DEFAULT)}
    assert first[1].method == "lab-rbf"
    assert first[-1].method == "mkl"


def test_three_folds_of_all_come_before_any_search_and_no_search_without_a_grid():
    run = Simulated(TABLE, SCORES)
    searched = [cell for cell in run.began if cell.stage == SEARCHED]
    before = run.began[: run.began.index(searched[0])]
    assert len(before) == FIRST_FOLDS * len(TABLE)
    assert [cell.method for cell in searched[:3]] == ["svm"] * 3
    assert not {cell.method for cell in searched} & {"dummy", "lab-rbf", "gp"}


def test_the_better_half_is_searched_further_and_the_others_go_on_with_defaults():
    run = Simulated(TABLE, SCORES, budget=10_000.0)
    assert {name: run.count(name, SEARCHED) for name in TABLE} == {
        "dummy": 0, "linear": 1, "svm": 10, "lab-rbf": 0, "dank": 10, "tkl": 10, "mkl": 10, "gp": 0,
    }  # fmt: skip
    assert run.count("linear", DEFAULT) == run.count("lab-rbf", DEFAULT) == 10
    assert run.count("mkl", DEFAULT) == FIRST_FOLDS
    assert run.seconds < 10_000.0  # it ends when nothing can change the order any more


def test_without_a_budget_all_folds_are_run_at_the_last_stage():
    for large in (False, True):
        run = Simulated(TABLE, budget=None, large=large)
        assert run.began == run.ended or {*run.began} == {*run.ended}
        assert len(run.began) == len(TABLE) * len(PLACES)
        stages = {(cell.method, cell.stage) for cell in run.began}
        assert stages == {(n, SEARCHED if SEARCHED in t else DEFAULT) for n, t in TABLE.items()}


def test_a_method_that_takes_too_long_is_stopped_and_holds_nobody_up():
    times = {**TABLE, "tkl": {DEFAULT: 1e9, SEARCHED: 1e9}}
    run = Simulated(times, SCORES)
    assert run.count("tkl") == 0
    assert [cell for cell in run.began if cell.method == "tkl"] == [Cell("tkl", 0, 0, DEFAULT)]
    assert min(run.count(name) for name in times if name != "tkl") == 10


def test_the_end_of_the_budget_leaves_no_method_behind():
    """Methods that would still have time for a fold wait for those that have not."""
    slow = {"svm": quick(0.5, 4.0), "linear": fixed(), "lab-rbf": fixed(11.0), "mkl": fixed(70.0)}
    run = Simulated(slow, SCORES, n_jobs=1)
    assert run.count("mkl") == FIRST_FOLDS
    assert {run.count(name) for name in ("svm", "linear", "lab-rbf")} == {4}


names = st.sampled_from(["svm", "lab-rbf", "dummy", "linear", "dank", "tkl", "gp", "mkl", "a", "b"])
time = st.floats(0.01, 40.0)
methods = st.dictionaries(
    names,
    st.one_of(
        st.builds(fixed, time),
        st.builds(quick, time, time),
    ),
    min_size=1,
)
some = settings(max_examples=60, deadline=None)


@some
@given(methods, st.integers(1, 3), st.booleans(), st.integers(0, 9))
def test_breadth_first(times, n_jobs, large, seed):
    """At no time is a method two folds ahead of another one that has not been stopped.

    Those that run beside it may be one fold behind; searches and defaults both count.
    """
    run = Simulated(
        times, {n: (seed * sum(map(ord, n))) % 7 for n in times}, n_jobs=n_jobs, large=large
    )
    seen = {name: set() for name in times}
    for cell in run.began:
        seen[cell.method].add(cell.place)
        open_ones = [n for n in times if not run.schedule.lanes[n].stopped]
        fewest = min((len(seen[n]) for n in open_ones), default=len(PLACES))
        assert len(seen[cell.method]) <= max(FIRST_FOLDS, fewest + 1)


@some
@given(methods, st.integers(1, 3))
def test_the_first_answers_come_in_a_tenth_of_the_budget_where_they_can(times, n_jobs):
    """Nothing else is run before: they take no longer than what they need of all processes."""
    run = Simulated(times, n_jobs=n_jobs)
    needed = [each[DEFAULT] for each in times.values()]
    if run.answered is not None:
        assert run.answered <= sum(needed) / n_jobs + max(needed) + 1e-9
    if sum(needed) / n_jobs + max(needed) <= TENTH:
        assert run.answered is not None
        assert run.answered <= TENTH


@pytest.mark.parametrize("budget", [20.0, 100.0, 1000.0])
def test_cells_are_run_once(budget):
    run = Simulated(TABLE, SCORES, budget=budget)
    assert len(set(run.began)) == len(run.began)
    assert run.seconds <= budget
