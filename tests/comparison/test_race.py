"""The order of cells, unfinished methods, and cells that are stopped, fail or crash.

Most tests use a simulated clock.
"""

import os
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from multiprocessing import Pipe
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

import pliant as package
from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.records.estimators import last_step
from pliant.tables.comparison import cells, comparing
from pliant.tables.comparison.baselines import BASELINES
from pliant.tables.comparison.cells import (
    FittedMethod,
    ThisProcess,
    await_processes,
    close_all,
    failed,
    fit_whole,
    perform,
    perform_apart,
    warm_up,
)
from pliant.tables.comparison.comparing import compare_sample, fit_within
from pliant.tables.comparison.contenders import contenders_for
from pliant.tables.comparison.journal import Journal
from pliant.tables.comparison.options import Runner, RunOptions
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.race import FIRST_SHARE, Race
from pliant.tables.comparison.sample import Sample
from pliant.tables.registry import METHODS, Method
from tests.comparison.comparison_cases import record, without_costs

PROTOCOL = Protocol(folds=2, repeats=1, seed=3)
NUMBERS = Sample(np.zeros((50, 1)), np.arange(50.0), "regression")


def method(name, maker=DummyClassifier, **grid):
    return Method(name, name, "", maker, DummyRegressor, grid, 10_000, "for tests")


class Clock:
    """A clock set by the tests."""

    def __init__(self):
        self.now = 1e9


class AtOnce:
    """Executor that runs tasks synchronously."""

    def __init__(self, n):
        self.n = n

    def submit(self, task, *arguments):
        future = Future()
        try:
            future.set_result(task(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self):
        pass


class Simulated:
    """A simulated race, by the times of the methods' cells and their prediction errors."""

    def __init__(
        self, times, errors=None, *, budget=None, places=(5, 2), journal=None, stop=None, **options
    ):
        self.began, self.cut, self.clock = [], set(), Clock()
        protocol = Protocol(folds=places[0], repeats=places[1])
        journal = journal or Journal(None, "key", resume=False)

        def fake(sample, protocol, learner, cell, ends, executor):
            self.began.append(cell)
            took = times[cell.method]
            took = took[min(cell.fold, 1)] if isinstance(took, tuple) else took
            if stop == len(self.began):
                raise KeyboardInterrupt
            if ends is not None and self.clock.now + took > ends:
                self.clock.now = ends
                self.cut.add(cell.method)
                return failed(cell, "late", "cut")
            self.clock.now += took
            rows = np.arange(cell.fold, 50, 5)
            values = NUMBERS.y[rows] + (errors or {}).get(cell.method, 1.0) * (-1.0) ** rows
            kept = {"rows": rows.tolist(), "values": values.tolist()}
            return record(cell.method, *cell.place, {"r2": 0.5}, kept=kept, seconds={"total": took})

        def fit_all(sample, protocol, learner, ends, executor):
            """Take as long as a fold."""
            self.whole.append(learner.name)
            took = times[learner.name]
            took = took[1] if isinstance(took, tuple) else took
            late = ends is not None and self.clock.now + took > ends
            self.clock.now = ends if late else self.clock.now + took
            return None if late else learner.name

        self.whole = []
        methods = [method(name) for name in times]
        runner = Runner(fake, fit_all, lambda: None, AtOnce, lambda: self.clock.now)
        own = {name: options.pop(name) for name in ("n_jobs", "executor") if name in options}
        run = RunOptions(budget, runner=runner, **{"n_jobs": 1} | own)
        members = options.pop("members", None)
        weighted = options.pop("members_of", None if members is None else lambda _: members)
        options["members"] = weighted
        self.race = Race(NUMBERS, protocol, methods, journal, run, **options)
        self.race.run()
        self.reasons = {n: self.race.reason(n) for n in times if self.race.is_unfinished(n)}
        self.unfinished, self.seconds = set(self.reasons), self.clock.now - 1e9

    def folds(self, name):
        return len([cell for cell in self.race.records if cell.method == name])


TIMES = {"a": 1.0, "dummy": 0.1, "b": 2.0, "svm": 1.0, "lab-rbf": 3.0, "linear": 0.5}


def test_order_of_cells():
    """Method by method, then the second repeat fold by fold."""
    run = Simulated(TIMES)
    order = ["lab-rbf", "dummy", "linear", "svm", "a", "b"]
    assert run.began == [
        *(Cell(name, 0, fold) for name in order for fold in range(5)),
        *(Cell(name, 1, fold) for fold in range(5) for name in order),
    ]
    assert all(map(run.race.is_done, TIMES))
    assert not run.race.interrupted
    assert not run.unfinished


@pytest.mark.parametrize(("jobs", "rounds"), [(1, 4), (3, 2), (4, 1), (16, 1)])
def test_folds_are_expected_in_rounds_of_the_jobs(jobs, rounds):
    """After one of five folds of 10 s."""
    race = Simulated({"a": 10.0}, stop=2).race
    assert race._missing("a") == 4
    race._at_a_time = jobs
    assert race._folds_take("a") == pytest.approx(10.0 * rounds)


def test_repeats_use_all_jobs():
    places = [(cell.repeat, cell.fold) for cell in Simulated({"a": 1.0}, n_jobs=2).began]
    assert places == [*product((0, 1), range(5))]
    race = Simulated({"a": 1.0, "b": 2.0}, budget=None, places=(2, 2)).race
    race.records = {cell: r for cell, r in race.records.items() if cell.repeat == 0}
    race._running = {Cell("a", 1, 0): None}
    assert race._next_cell() == Cell("b", 1, 0)


names = st.sampled_from(["svm", "lab-rbf", "dummy", "linear", "gp", "a", "b", "c"])
seconds = st.floats(0.01, 40.0)


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(names, st.tuples(seconds, seconds), min_size=1),
    st.integers(1, 3),
    st.none() | st.floats(1.0, 3000.0),
)
def test_methods_finish_one_after_the_other(made, n_jobs, budget):
    """Cells start once each and none after the end, and few methods have some folds only."""
    times, errors = ({n: pair[k] for n, pair in made.items()} for k in (0, 1))
    run = Simulated(times, errors, budget=budget, n_jobs=n_jobs)
    assert len(set(run.began)) == len(run.began)
    assert budget is None or run.seconds <= budget + 1e-6
    if budget is None:
        assert len(run.began) == 10 * len(times)
    started = {cell.method for cell in run.began if cell.place != (0, 0)}
    assert len([name for name in started if run.folds(name) < 5]) <= n_jobs
    counts = {run.folds(name) for name in times if run.folds(name) > 5}
    assert not counts or max(counts) - min(counts) <= 1


def test_methods_whose_folds_do_not_fit_stay_unfinished():
    times = {"a": 1.0, "b": 10.0, "c": 6.0, "d": 4.0}
    # a takes 6 s with its fit to all rows, d 24 s; the first folds of b and c take 16 s.
    budget = 6.0 + 16.0 + 4.0 + 4.0 * 5.25
    run = Simulated(times, budget=budget, members="abcd")
    assert run.reasons == {
        "b": "a fold takes 10.0 s; its other folds need about 40.0 s more",
        "c": "a fold takes 6.0 s; its other folds need about 24.0 s more",
    }
    assert {name: run.folds(name) for name in times} == {"a": 5, "b": 1, "c": 1, "d": 5}
    assert run.whole == ["a", "d"]
    assert run.race.fitted == {"a": "a", "d": "d"}
    assert Simulated(times, budget=budget - 0.1, members="abcd").unfinished == {"b", "c", "d"}
    # A method that is fitted to all rows already needs no other fit.
    known = Simulated(times, budget=budget - 4.9, members="abcd", fitted={"d": "model"})
    assert known.unfinished == {"b", "c"}
    assert known.race.fitted == {"a": "a", "d": "model"}
    assert known.whole == ["a"]


def test_a_fit_to_all_rows_follows_the_folds():
    run = Simulated({"a": 1.0, "b": (1.0, 3.0)}, budget=6.0 + 1.0 + 12.0 + 2.5, members="ab")
    assert run.whole == ["a", "b"]
    assert run.race.fitted == {"a": "a"}  # the budget ran out
    assert run.folds("b") == 5
    assert Simulated({"a": 1.0}, budget=9.0).whole == []


def test_methods_without_weight_are_not_fitted_to_all_rows():
    run = Simulated({"a": 1.0, "b": 1.0}, budget=40.0, members="b")
    assert run.whole == ["b"]
    seen = []

    def members(records):
        """All methods have weight at first; later, the first loses it."""
        names = list(dict.fromkeys(record["method"] for record in records))
        seen.append((names, len(records)))
        return names[-1:]

    journal = Journal(None, "key", resume=False)
    first = Simulated({"a": 1.0, "b": 1.0, "dummy": 0.1}, journal=journal, members_of=members)
    assert seen == [(["a"], 5), (["a", "b"], 10), (["a", "b"], 20)]  # the last with both repeats
    assert first.whole == ["a", "b"]
    # With all folds in the journal, nothing but the last blend is fitted.
    again = Simulated({"a": 1.0, "b": 1.0, "dummy": 0.1}, journal=journal, members_of=members)
    assert (again.began, again.whole) == ([], ["b"])


def test_in_this_process_a_method_starts_only_if_it_is_expected_to_end_in_time():
    """50 rows: typical folds of the forest take .14 s, of the SVM .6 s."""
    times = {"forest": 0.1, "svm": 0.1, "dummy": 0.1, "a": 0.1}
    run = Simulated(times, budget=4.1, places=(5, 1), executor=ThisProcess(), n_jobs=4)
    assert {name: run.folds(name) for name in times} == {
        "forest": 5, "svm": 5, "dummy": 5, "a": 5,
    }  # fmt: skip
    run = Simulated(times, budget=3.9, places=(5, 1), executor=ThisProcess())
    assert (run.folds("forest"), run.folds("svm"), run.folds("a")) == (5, 0, 5)
    assert run.reasons == {"svm": "its folds take about 3.0 s"}
    assert Simulated(times, budget=3.9, places=(5, 1)).folds("svm") == 5


def test_in_this_process_the_folds_of_lab_rbf_are_expected_to_take_as_long_as_its_fit():
    """Typical folds of 50 rows take .2 s, so five of them do not fit."""
    first = FittedMethod(None, seconds={"fit": 0.05})
    here = {"executor": ThisProcess(), "places": (5, 1), "fitted": {"lab-rbf": first}}
    run = Simulated({"lab-rbf": 0.05, "a": 0.05}, budget=0.7, members=["lab-rbf"], **here)
    assert (run.folds("lab-rbf"), run.folds("a")) == (5, 5)


@pytest.mark.parametrize(("executor", "folds"), [(None, 10), (ThisProcess(), 8)])
def test_in_this_process_a_fold_of_a_further_repeat_starts_only_if_it_should_end_in_time(
    executor, folds
):
    """First folds take 9 s and others 1 s; after three folds of the repeat, 2.5 s are left."""
    run = Simulated({"a": (9.0, 1.0)}, budget=26.5, executor=executor)
    assert run.folds("a") == folds


@pytest.mark.parametrize(("executor", "folds"), [(None, 0), (AtOnce(1), 1)])
def test_an_executor_may_let_the_first_fold_wait(executor, folds):
    run = Simulated({"a": 1.0, "b": 150.0, "c": 2.0}, budget=300.0, executor=executor)
    assert run.folds("b") == folds


@pytest.mark.parametrize("executor", [ThisProcess(), AtOnce(1)])
def test_a_second_ctrl_c_loses_no_result(executor):
    def close():
        raise KeyboardInterrupt

    ran = []

    def perform_some(sample, protocol, learner, cell, ends, executor):
        if ran:
            raise KeyboardInterrupt
        ran.append(threading.current_thread())
        return record(cell.method, *cell.place, {"r2": 0.5}, seconds={"total": 1.0})

    runner = Runner(perform_some, None, close, AtOnce)
    options = RunOptions(None, 1, executor, runner=runner)
    race = Race(NUMBERS, PROTOCOL, [method("a")], Journal(None, "key", resume=False), options)
    race.run()
    assert race.interrupted
    assert len(race.records) == 1
    assert ran == [threading.main_thread()]


def test_in_this_process_a_fit_to_all_rows_starts_only_if_it_is_expected_to_end_in_time():
    """After slow folds, one second is left."""
    times, end = {"a": (1.0, 4.0), "dummy": 0.1}, {"places": (5, 1), "members": "a"}
    for executor, whole in ((None, ["a"]), (ThisProcess(), [])):
        assert Simulated(times, budget=18.5, executor=executor, **end).whole == whole


def test_methods_that_do_not_fit_run_one_fold():
    run = Simulated({"dummy": 1.0, "a": 2.0}, {"a": 0.1}, budget=12.5)
    assert (run.folds("dummy"), run.folds("a")) == (5, 3)  # one method: as many as possible
    run = Simulated({"a": 9.0, "b": 8.0}, {"b": 0.1}, budget=40.0)
    assert {name: run.folds(name) for name in "ab"} == {"a": 1, "b": 1}
    assert not run.unfinished  # no method has all folds


@pytest.mark.parametrize(("spare", "folds"), [(0.01, 10), (-0.01, 5)])
def test_repeat_starts_if_it_fits_the_budget(spare, folds):
    times = {"a": 2.0, "b": 3.0}
    run = Simulated(times, budget=25.0 + 5.0 + 25.0 + spare, members="ab")
    assert {run.folds(name) for name in times} == {folds}
    assert run.race.is_done("a")
    assert run.race.is_done("b")


def test_slow_first_fold_is_stopped():
    run = Simulated({"a": 1.0, "b": 1e6, "c": 2.0}, budget=300.0)
    assert (run.folds("a"), run.folds("b"), run.folds("c")) == (10, 0, 10)
    assert run.race.reason("b").startswith("a fold takes more than 1 min 40 s")
    assert run.seconds == pytest.approx(FIRST_SHARE * 300.0 + 30.0)
    assert not run.race.is_done("b")


def test_a_single_method_may_take_all_the_time():
    run = Simulated({"dummy": 0.1, "b": 120.0}, budget=300.0)
    assert run.folds("b") == 2
    run = Simulated({"a": 120.0, "b": 130.0}, budget=300.0)  # a is stopped, b is the only one left
    assert (run.folds("a"), run.folds("b")) == (0, 1)


def test_reason_at_end_of_budget():
    run = Simulated({"b": (15.0, 16.0)}, budget=75.0)
    assert (run.folds("b"), run.race.reason("b")) == (4, "the budget ran out")
    assert not run.race.is_done("b")


def test_a_race_resumes_from_the_journal():
    times = dict.fromkeys("abcdef", 1.0)
    journal = Journal(None, "key", resume=False)
    whole = Simulated(times, budget=1e4, journal=journal)
    for after in (1, 6, 7, 12):
        part = Journal(None, "key", resume=False)
        some = Simulated(times, budget=1e4, journal=part, stop=after)
        assert some.race.interrupted
        assert len(some.race.records) == after - 1
        rest = Simulated(times, budget=1e4, journal=part)
        assert rest.began == whole.began[after - 1 :]
        assert rest.race.records == whole.race.records


def test_default_methods():
    few, many = ({each.name for each in contenders_for("regression", n)} for n in (1000, 1001))
    assert few - many == {"gp"}
    assert many - few == {"kernel-ridge"}
    assert few >= {"lab-rbf", "svm", "linear", "boosting", "dummy"}


class Trouble(ClassifierMixin, BaseEstimator):
    """A classifier that sleeps, exits or raises in fit."""

    def __init__(self, what="sleep"):
        self.what = what

    def fit(self, X, y):
        if self.what == "sleep":
            time.sleep(86_400.0)
        if self.what == "die":
            os._exit(7)
        raise ValueError("expected better rows, got these")

    def predict(self, X):
        raise NotImplementedError


def trouble(what):
    return method(what, lambda: Trouble(what))


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Sample.of(X, (X[:, 0] > 0).astype(int))


@pytest.fixture
def apart():
    """Let cells run in other processes, which take seconds to start; tests share idle ones."""


@pytest.fixture(autouse=True)
def _here(request, monkeypatch):
    if "apart" not in request.fixturenames:
        monkeypatch.setattr(cells, "starts_processes", lambda: False)


@pytest.fixture(autouse=True, scope="module")
def _no_process_is_left():
    yield
    close_all()


def entry(result, name):
    return next(entry for entry in result.methods if entry.name == name)


def test_failing_method_is_reported(sample, monkeypatch):
    methods = [trouble("complain"), method("plain")]
    result = compare_sample(sample, methods, PROTOCOL, RunOptions(None, 1))
    assert entry(result, "plain").status == "done"
    assert entry(result, "complain").status == "error"
    assert entry(result, "complain").reason == "ValueError: expected better rows, got these"
    assert [each["status"] for each in result.records] == ["error", "error", "done", "done"]
    assert result.best == "plain"


def interrupt_at(monkeypatch, place):
    """Raise KeyboardInterrupt at a cell, given by method and fold."""

    def stop(sample, protocol, learner, cell):
        if (cell.method, cell.fold) == place:
            raise KeyboardInterrupt
        return perform(sample, protocol, learner, cell)

    monkeypatch.setattr(cells, "perform", stop)


def test_ctrl_c_returns_finished_cells(sample, monkeypatch):
    interrupt_at(monkeypatch, ("b", 1))
    result = compare_sample(sample, [method("a"), method("b")], PROTOCOL, RunOptions(n_jobs=1))
    assert result.interrupted
    assert [(each["method"], each["fold"]) for each in result.records] == [
        ("a", 0), ("a", 1), ("b", 0),
    ]  # fmt: skip
    assert (entry(result, "a").status, entry(result, "a").reason) == ("done", "")
    assert (entry(result, "b").status, entry(result, "b").reason) == ("unfinished", "interrupted")
    assert "The comparison was interrupted, so some methods are missing." in result.sentence()
    assert len(result.fit_best().predict(sample.X)) == 60


def test_ctrl_c_before_any_fit_has_finished_is_raised(sample, monkeypatch):
    interrupt_at(monkeypatch, ("dummy", 0))
    with pytest.raises(KeyboardInterrupt):
        package.compare(sample.X, sample.y, methods=["dummy"], n_jobs=1)


def interrupted_fit(sample, monkeypatch, names):
    """Call `pliant.fit` with methods of these names; return the interrupt."""
    methods = [method(name) for name in names]
    monkeypatch.setattr("pliant.tables.comparison.comparing.methods_of", lambda *_: methods)
    with pytest.raises(package.exceptions.Interrupted) as caught:
        package.fit(sample.X, sample.y, budget=600.0, n_jobs=1)
    return caught.value


@pytest.mark.parametrize(("place", "finished"), [(("a", 0), 0), (("b", 1), 6)])
def test_ctrl_c_ends_a_fit_and_the_best_model_so_far_remains(sample, monkeypatch, place, finished):
    interrupt_at(monkeypatch, place)
    monkeypatch.setattr(
        "pliant.tables.comparison.outcome.fit_apart", lambda *_: pytest.fail("fitted")
    )
    stop = interrupted_fit(sample, monkeypatch, "ab")
    assert isinstance(stop, KeyboardInterrupt)
    assert len(stop.result.records) == finished
    assert "`model` of this exception is the best model so far" in str(stop)
    assert isinstance(stop.model[-1], LABRBFClassifier)
    assert stop.model.predict(sample.X).shape == (60,)


def test_ctrl_c_before_the_first_fold_leaves_lab_rbf(sample, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.tables.comparison.comparing.compare_sample", stop)
    found = interrupted_fit(sample, monkeypatch, "ab")
    assert found.result is None
    assert isinstance(found.model[-1], LABRBFClassifier)


def test_an_error_of_the_comparison_leaves_lab_rbf(sample, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(comparing, "compare_sample", fail)
    said = "the comparison failed: RuntimeError: can't start new thread"
    with pytest.warns(ConvergenceWarning, match=said):
        model = package.fit(sample.X, sample.y, budget=600.0, n_jobs=1)
    assert isinstance(model[-1], LABRBFClassifier)


def test_without_processes_one_fit_runs_at_a_time(sample, monkeypatch):
    """The time of LAB-RBF's folds is that of one after another."""
    monkeypatch.setattr(comparing, "starts_processes", lambda: False)
    monkeypatch.setattr(comparing, "_work", lambda *_: 1e3)
    jobs = []
    monkeypatch.setattr(
        comparing, "_has_time_for_folds", lambda folds, took, left, jobs_: jobs.append(jobs_)
    )
    monkeypatch.setattr(comparing, "held_out_records", lambda *_, **__: [])
    fit_within(sample, PROTOCOL, RunOptions(600.0, 16))
    assert jobs == [1, 1]


def test_ctrl_c_in_the_first_fit_leaves_no_model(sample, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.tables.comparison.comparing.fit_default", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        package.fit(sample.X, sample.y, budget=600.0)
    assert not isinstance(caught.value, package.exceptions.Interrupted)


@pytest.mark.parametrize("budget", [1e-3, 5.0])
def test_a_short_budget_gives_lab_rbf_and_a_warning(sample, budget, monkeypatch):
    monkeypatch.setattr(comparing, "LATE", 0.0)  # on any computer
    monkeypatch.setattr(comparing, "_has_time_for_folds", lambda *_: False)
    with pytest.warns(ConvergenceWarning, match="no time is left for other methods"):
        model = package.fit(sample.X, sample.y, budget=budget, n_jobs=1)
    assert isinstance(model[-1], LABRBFClassifier)
    assert model[-1].max_seconds == budget
    assert model.predict(sample.X).shape == (60,)


def test_jobs_reach_lab_rbf_without_a_budget_too(sample):
    assert package.fit(sample.X, sample.y, n_jobs=1)[-1].n_jobs == 1
    with pytest.raises(ValueError, match="n_jobs >= 1, an integer, got 0"):
        package.fit(sample.X, sample.y, n_jobs=0)
    for function in (package.fit, package.compare):
        with pytest.raises(ValueError, match="random_state >= 0, an integer, got None"):
            function(sample.X, sample.y, random_state=None)


@pytest.mark.parametrize("options", [{"groups": np.arange(60) % 6}, {"metric": "auc"}])
def test_groups_and_a_metric_require_a_budget(sample, options):
    with pytest.raises(ValueError, match="groups and metric require a budget"):
        package.fit(sample.X, sample.y, **options)


def test_the_arguments_of_a_fit_within_a_budget_arrive(sample, monkeypatch):
    asked, answer = [], comparing.BudgetedFit("the model", "lab-rbf")
    monkeypatch.setattr(comparing, "fit_within", lambda *given: asked.append(given) or answer)
    groups = np.arange(60) // 5
    options = {"task": "regression", "groups": groups, "metric": "mae", "random_state": 7}
    assert package.fit(sample.X, sample.y, budget=60.0, n_jobs=2, **options) == "the model"
    ((found, protocol, chosen),) = asked
    assert protocol == Protocol(metric="mae", seed=7)
    assert chosen == RunOptions(budget=60.0, n_jobs=2)
    assert found.task == "regression"
    np.testing.assert_array_equal(found.groups, groups)
    np.testing.assert_array_equal(found.X, sample.X)


@pytest.mark.parametrize("aside", ["groups", "time"])
def test_the_arguments_of_a_comparison_arrive(sample, monkeypatch, tmp_path, aside):
    asked, answer = [], SimpleNamespace(interrupted=False)
    monkeypatch.setattr(comparing, "compare_sample", lambda *given: asked.append(given) or answer)
    values = np.arange(60)[::-1]
    facts = {"task": "regression", "feature_names": [*"abc"], aside: values}
    shape = {"folds": 3, "repeats": 4, "metric": "mae"}
    options = {"budget": 60.0, "n_jobs": 2, "executor": ThisProcess(), "progress": print}
    options |= {"cache": tmp_path / "cells.jsonl", "resume": True}
    given = {"methods": ["dummy"], "random_state": 7, **facts, **shape, **options}
    assert package.compare(sample.X, sample.y, **given) is answer
    ((found, methods, protocol, chosen),) = asked
    assert methods == ["dummy"]
    assert protocol == Protocol(**shape, seed=7)
    assert chosen == RunOptions(**options)
    assert (found.task, found.feature_names) == ("regression", ("a", "b", "c"))
    assert found.ordered == (aside == "time")
    np.testing.assert_array_equal(found.X, sample.X[values] if found.ordered else sample.X)
    if aside == "groups":
        np.testing.assert_array_equal(found.groups, values)


def test_a_table_too_small_for_folds_gives_lab_rbf():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    with pytest.raises(ValueError, match="at most 3 folds"):
        package.compare(X, y)
    with pytest.warns(ConvergenceWarning, match="not compared .* at most 3 folds"):
        model = package.fit(X, y, budget=600.0)
    assert isinstance(model[-1], LABRBFRegressor)
    with pytest.raises(ValueError, match="at most 2 folds for these groups"):
        package.fit(X, y, budget=600.0, groups=[0, 0, 0, 1, 1, 1])


def test_the_model_within_a_budget_is_the_recommended_one(sample, monkeypatch):
    names = ["dummy", "linear", "lab-rbf"]
    methods = [(METHODS | BASELINES)[name] for name in names]
    monkeypatch.setattr("pliant.tables.comparison.comparing.methods_of", lambda *_: methods)
    found = fit_within(sample, PROTOCOL, RunOptions(600.0, 1))
    assert found.name == found.result.best
    steps = found.result.history
    assert [step.added for step in steps] == ["lab-rbf", "linear"]
    assert steps[0].seconds == found.result.spent < steps[1].seconds
    assert steps[0].best == "lab-rbf"
    assert steps[1].best == found.result.best
    assert steps[1].mean == found.result.expected.mean


def test_without_a_score_of_lab_rbf_the_model_is_lab_rbf(sample, monkeypatch):
    def perform_others(sample, protocol, learner, cell, ends, executor):
        if learner.name == "lab-rbf":
            return failed(cell, "no luck")
        return perform(sample, protocol, learner, cell)

    methods = [(METHODS | BASELINES)[name] for name in ("dummy", "linear", "lab-rbf")]
    monkeypatch.setattr("pliant.tables.comparison.comparing.methods_of", lambda *_: methods)
    found = fit_within(sample, PROTOCOL, RunOptions(600.0, 1, runner=Runner(perform_others)))
    assert found.result.best == "linear"
    assert found.name == "lab-rbf"
    assert isinstance(last_step(found.model), LABRBFClassifier)
    assert "so it is not compared with other methods" in found.note


@pytest.mark.parametrize("single", [False, True])
def test_the_best_single_method_is_fitted_if_it_is_asked_for(sample, monkeypatch, single):
    """The classes differ in one feature, so the linear model is the best."""
    few = replace(METHODS["lab-rbf"], given={"max_iter": 2, "n_members": 1, "dense": False})
    methods = [few, BASELINES["linear"]]
    monkeypatch.setattr(comparing, "methods_of", lambda *_: methods)
    weights = SimpleNamespace(weights=lambda: {"lab-rbf": 1.0})
    monkeypatch.setattr(comparing, "held_out_of", lambda *_: weights)
    ranked = [SimpleNamespace(rank=1, method=SimpleNamespace(name="linear"))]
    monkeypatch.setattr(comparing, "standings", lambda *_: ranked)
    found = fit_within(sample, PROTOCOL, RunOptions(600.0, 1), single=single)
    fitted = found.result.source.fitted
    assert set(fitted) == ({"lab-rbf", "linear"} if single else {"lab-rbf"})


@pytest.mark.parametrize("late", [("linear",), ("linear", "forest")])
def test_members_without_a_model_are_left_out(sample, monkeypatch, late):
    """The blend of the others has their own weights, and the result names it."""

    def fit_some(sample, protocol, learner, ends, executor):
        return None if learner.name in late else fit_whole(sample, protocol, learner)

    names = ["lab-rbf", "linear", "forest"]
    few = {"lab-rbf": {"n_members": 2, "max_iter": 5}, "forest": {"n_estimators": 20}}
    known = {**METHODS, **BASELINES}
    known |= {name: replace(known[name], given=given) for name, given in few.items()}
    monkeypatch.setattr("pliant.tables.comparison.blend.LEAST", 0.0)
    monkeypatch.setattr(
        "pliant.tables.comparison.comparing.methods_of", lambda *_: [known[name] for name in names]
    )
    noise = np.random.default_rng(1).normal(size=60)
    sample = Sample.of(sample.X, (sample.X[:, 0] + noise > 0).astype(int))
    found = fit_within(sample, PROTOCOL, RunOptions(600.0, 1, runner=Runner(fit=fit_some)))
    left = [each for each in names if each not in late]
    assert set(found.result.weights) == set(left)
    assert found.name == found.result.best == ("blend" if len(left) > 1 else "lab-rbf")
    entries = found.result.methods
    told = [entry.name for entry in entries if "not fitted to all rows" in entry.reason]
    assert told == [name for name in names if name in late]
    assert "Linear" in repr(found.result).partition("done in part, not in the blend")[0]
    if len(left) > 1:
        weights = dict(zip(dict(found.model.members_), found.model.weights_, strict=True))
        assert weights == found.result.weights
    else:
        assert isinstance(last_step(found.model), LABRBFClassifier)


@pytest.mark.parametrize(
    ("folds", "jobs", "least"),
    [(5, 1, 80.0), (5, 2, 48.0), (5, 16, 32.0), (2, 1, 20.0), (2, 16, 20.0)],
)
def test_folds_take_at_most_half_of_the_time_left(folds, jobs, least):
    """The first fold runs alone, and the others at the same time; a fit takes 10 s."""
    assert comparing._has_time_for_folds(folds, 10.0, least + 1.0, jobs)
    assert not comparing._has_time_for_folds(folds, 10.0, least - 1.0, jobs)


@pytest.fixture
def short_of_time(monkeypatch):
    """Compare LAB-RBF, linear models and the dummy in this process, without folds of LAB-RBF."""
    ran = []

    def spy(sample, protocol, method, cell):
        ran.append(cell)
        return perform(sample, protocol, method, cell)

    few = replace(METHODS["lab-rbf"], given={"max_iter": 5})
    methods = [BASELINES["dummy"], BASELINES["linear"], few]
    monkeypatch.setattr(comparing, "_has_time_for_folds", lambda *_: False)
    monkeypatch.setattr(comparing, "methods_of", lambda *_: methods)
    monkeypatch.setattr(cells, "perform", spy)
    return ran


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_without_time_for_folds_members_score_the_rows_that_they_held_out(task, short_of_time):
    """LAB-RBF is fitted once, and the blend has its weights from those rows."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2))
    signal = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=150)
    sample = Sample.of(X, (signal > 0).astype(int) if task == "classification" else signal)
    found = fit_within(sample, Protocol(folds=5, repeats=1, seed=3), RunOptions(600.0, 1))
    assert {cell.method for cell in short_of_time} == {"dummy", "linear"}
    assert len(short_of_time) == 6  # three folds
    result = found.result
    own = [each for each in result.records if each["method"] == "lab-rbf"]
    held_out = last_step(result.source.fitted["lab-rbf"].own)._held_out
    rows = np.concatenate([each["kept"]["rows"] for each in own])
    np.testing.assert_array_equal(np.sort(rows), held_out.rows)
    kept = dict(zip(held_out.rows, held_out.values, strict=True))
    for each in own:
        values = [kept[row] for row in each["kept"]["rows"]]
        np.testing.assert_array_equal(np.ravel(each["kept"]["values"]), np.ravel(values))
    metric = "accuracy" if task == "classification" else "r2"
    assert min(each["scores"][metric] for each in own) > 0.5
    assert result.standings(metric)[0].method.name == "lab-rbf"
    assert result.weights["lab-rbf"] > 0.5
    assert result.history[0].added == "lab-rbf"
    assert "its members held out and used to choose settings, so they may be too high" in (
        result.sentence()
    )
    assert np.isin(result.blend.rows, held_out.rows).all()
    assert found.model.predict(X).shape == (150,)


def test_members_do_not_score_rows_of_groups(sample, short_of_time):
    given = replace(sample, groups=np.arange(60) % 12)
    found = fit_within(given, PROTOCOL, RunOptions(600.0, 1))
    assert found.result is None
    assert "no time is left for other methods" in found.note
    assert not short_of_time


def test_with_groups_lab_rbf_runs_three_folds_if_five_take_too_long(
    sample, short_of_time, monkeypatch
):
    monkeypatch.setattr(comparing, "_has_time_for_folds", lambda folds, *_: folds <= 3)
    given = replace(sample, groups=np.arange(60) % 12)
    found = fit_within(given, Protocol(folds=5, repeats=1), RunOptions(600.0, 1))
    assert found.result.protocol.folds == 3
    assert {cell.method for cell in short_of_time} == {"dummy", "linear", "lab-rbf"}


def test_rows_of_a_rare_class_are_left_out_with_a_warning(short_of_time):
    """LAB-RBF is fitted once, also then."""
    X = np.random.default_rng(2).normal(size=(150, 2))
    y = np.where(np.arange(150) < 4, "rare", np.where(X[:, 0] > 0, "high", "low"))
    with pytest.warns(UserWarning, match="4 rows of class 'rare' left out: too few for 5 folds"):
        model = package.fit(X, y, budget=600.0, n_jobs=1)
    assert model.classes_.tolist() == ["high", "low"]
    first = {cell.method for cell in short_of_time if not cell.repeat}
    assert first == {"dummy", "linear"}


def test_unexpected_errors_are_raised(sample):
    def broken(*_):
        raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        compare_sample(sample, [method("a")], PROTOCOL, RunOptions(runner=Runner(broken)))


@pytest.mark.usefixtures("apart")
def test_a_fit_to_all_rows_is_stopped_at_the_end(sample):
    linear = BASELINES["linear"]
    assert fit_whole(sample, PROTOCOL, linear, time.monotonic() - 1.0) is None
    assert not cells._BUSY
    assert fit_whole(sample, PROTOCOL, linear).model.predict(sample.X).shape == (60,)


def test_progress_lines(sample, monkeypatch, capsys):
    compare_sample(sample, ["dummy", "linear"], PROTOCOL, RunOptions(n_jobs=1, progress=True))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "at most 4 fits on 2 folds"
    assert [line.partition(" after ")[0] for line in lines[1:]] == [
        "1 fold of 2 methods", "2 folds of 2 methods",
    ]  # fmt: skip
    assert "left: accuracy Linear 0." in lines[2]


@pytest.mark.usefixtures("apart")
def test_crashed_cell_is_not_in_the_journal(sample, tmp_path):
    cache, dies = tmp_path / "cells.jsonl", trouble("die")
    crashed = perform_apart(sample, PROTOCOL, dies, Cell("die", 0, 0))
    runner = Runner(lambda *given: crashed | {"fold": given[3].fold})
    options = RunOptions(None, executor=ThisProcess(), cache=cache, runner=runner)
    result = compare_sample(sample, [dies], PROTOCOL, options)
    assert entry(result, "die").status == "error"
    assert "the process died" in entry(result, "die").reason
    assert len(cache.read_text().splitlines()) == 1


def test_a_fold_without_memory_is_not_in_the_journal(sample, tmp_path):
    class Large(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            raise MemoryError("too large")

    cache = tmp_path / "cells.jsonl"
    options = RunOptions(None, executor=ThisProcess(), cache=cache, runner=Runner(
        lambda *given: perform(*given[:4])
    ))  # fmt: skip
    result = compare_sample(sample, [method("large", Large)], PROTOCOL, options)
    assert entry(result, "large").status == "error"
    assert len(cache.read_text().splitlines()) == 1


def test_a_worker_ends_when_its_parent_has_closed_the_pipe(monkeypatch):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    reader, writer = Pipe(duplex=False)
    waiting = threading.Thread(target=cells._end_with_parent, args=[reader])
    waiting.start()
    assert not ended
    writer.close()
    waiting.join(60)
    assert ended == [1]
    reader.close()


@pytest.mark.usefixtures("apart")
def test_processes_and_executors_match_serial_run(sample, monkeypatch):
    warm_up(1)
    methods = ["dummy", "linear"]
    there = compare_sample(sample, methods, PROTOCOL, RunOptions(None, 1))
    with ThreadPoolExecutor(2) as threads:
        threaded = compare_sample(sample, methods, PROTOCOL, RunOptions(None, 2, threads))
    monkeypatch.setattr(cells, "starts_processes", lambda: False)
    here = compare_sample(sample, methods, PROTOCOL, RunOptions(None, 2))
    for other in (there, threaded):
        assert without_costs(other.records) == without_costs(here.records)
        assert other.sentence() == here.sentence()


@pytest.mark.usefixtures("apart")
def test_a_class_of_the_script_itself_is_sent_by_value(sample, monkeypatch):
    class Own(DummyClassifier):
        pass

    Own.__qualname__, Own.__module__ = "Own", "__main__"
    monkeypatch.setattr(sys.modules["__main__"], "Own", Own, raising=False)
    found = perform_apart(sample, PROTOCOL, method("own", Own), Cell("own", 0, 0))
    same = perform(sample, PROTOCOL, method("own", Own), Cell("own", 0, 0))
    assert (found["status"], found["scores"]) == ("done", same["scores"])


@pytest.mark.usefixtures("apart")
def test_cell_is_killed_at_deadline(sample):
    """The fit would sleep for a day."""
    ends = time.monotonic() + 1.0
    found = perform_apart(sample, PROTOCOL, trouble("sleep"), Cell("sleep", 0, 0), ends)
    assert found["status"] == "cut"
    assert not cells._FREE
    assert not cells._BUSY


@pytest.mark.usefixtures("apart")
@pytest.mark.filterwarnings("ignore:a budget of::")  # on a slow computer
def test_a_short_budget_starts_no_process(sample, monkeypatch):
    monkeypatch.setattr(cells, "_started", lambda: pytest.fail("started a process"))
    methods = [METHODS["lab-rbf"], BASELINES["dummy"], method("a")]
    monkeypatch.setattr(comparing, "methods_of", lambda *_: methods)
    close_all()
    found = fit_within(sample, PROTOCOL, RunOptions(9.0, 2))
    assert found.model.predict(sample.X).shape == (60,)


@pytest.mark.usefixtures("apart")
def test_a_comparison_of_little_work_starts_no_process(sample, monkeypatch):
    monkeypatch.setattr(cells, "_started", lambda: pytest.fail("started a process"))
    monkeypatch.setattr(comparing, "methods_of", lambda *_: [BASELINES["dummy"], method("a")])
    close_all()
    result = compare_sample(sample, None, PROTOCOL, RunOptions(9.0, 2))
    assert {each["status"] for each in result.records} == {"done"}
    # Their time is not known, and a fit in this process would not end with the budget.
    assert comparing._is_little(sample, PROTOCOL, 9.0)
    assert not comparing._is_little(sample, PROTOCOL, None)
    with pytest.raises(pytest.fail.Exception, match="started a process"):
        compare_sample(sample, ["dummy"], PROTOCOL, RunOptions(9.0, 2))


def test_a_process_that_died_without_work_is_replaced(monkeypatch):
    class Process:
        def __init__(self, is_alive=True):
            self.is_alive = is_alive

        def submit(self, task):
            if not self.is_alive:
                raise TerminatedWorkerError
            future = Future()
            future.set_result(task())
            return future

    dead, alive, new = Process(is_alive=False), Process(), Process()
    monkeypatch.setattr(cells, "_FREE", [dead, alive])
    monkeypatch.setattr(cells, "_BUSY", set())
    monkeypatch.setattr(cells, "_started", lambda: new)
    monkeypatch.setattr(cells, "starts_processes", lambda: True)
    await_processes(2, None)
    assert [alive, new] == cells._FREE


def test_no_process_starts_if_all_fits_are_in_the_cache(sample, tmp_path, monkeypatch):
    cache = tmp_path / "cache.jsonl"
    task = sample, ["dummy", "linear"], PROTOCOL
    first = compare_sample(*task, RunOptions(None, 1, ThisProcess(), cache))
    monkeypatch.setattr(cells, "starts_processes", lambda: True)
    monkeypatch.setattr("pliant.tables.comparison.race.starts_processes", lambda: True)
    monkeypatch.setattr(cells, "_started", lambda: pytest.fail("started a process"))
    close_all()
    again = compare_sample(*task, RunOptions(None, 1, cache=cache, resume=True))
    assert without_costs(again.records) == without_costs(first.records)


@pytest.mark.usefixtures("apart")
def test_without_semaphores_the_fits_run_in_this_process(sample, monkeypatch):
    def absent(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("_multiprocessing.SemLock", absent)
    monkeypatch.setattr(cells, "_started", lambda: pytest.fail("started a process"))
    close_all()
    warm_up(1)
    result = compare_sample(sample, [method("a"), method("b")], PROTOCOL, RunOptions(60.0, 2))
    assert {each["status"] for each in result.records} == {"done"}
    assert len(result.fit_best().predict(sample.X)) == 60


def test_fits_in_this_process_use_one_thread():
    def threads():
        return {each["num_threads"] for each in threadpool_info()}

    with threadpool_limits(2):
        before = threads()
        assert ThisProcess().submit(threads).result() == {1}
        assert threads() == before


def test_failing_and_late_executor(sample):
    class Broken:
        def submit(self, *_):
            return self

        def result(self, timeout):
            raise TimeoutError if timeout is not None else OSError("no worker")

        def cancel(self):
            self.cancelled = True

    executor, cell = Broken(), Cell("a", 0, 0)
    task = sample, PROTOCOL, method("a"), cell
    assert perform_apart(*task, time.monotonic() + 60.0, executor)["status"] == "cut"
    assert executor.cancelled
    found = perform_apart(*task, executor=executor)
    assert (found["status"], found["error"]) == ("error", "OSError: no worker")
    assert found["crashed"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": ["dnk"]}, "unknown method 'dnk'; did you mean 'dank'"),
        ({"protocol": Protocol(folds=40)}, "expected at least 40 rows of each class for 40 folds"),
    ],
)
def test_invalid_parameters_are_refused_before_any_fit(sample, options, said):
    runner = Runner(lambda *_: pytest.fail("ran"))
    with pytest.raises((ValueError, TypeError), match=said):
        compare_sample(sample, **{"options": RunOptions(runner=runner)} | options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_jobs": 0}, "expected n_jobs >= 1, an integer, got 0"),
        ({"n_jobs": "two"}, "'two'"),
        ({"budget": 0.0}, "expected budget > 0"),
    ],
)
def test_invalid_options_are_refused(options, said):
    with pytest.raises((ValueError, TypeError), match=said):
        RunOptions(**options)
