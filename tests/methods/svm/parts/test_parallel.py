"""Parts run on any backend of joblib: in order, lazily, and with errors that name the part."""

import os
import threading
import time

import joblib
import numpy as np
import pytest

from pliant.methods.svm.parts import parallel, run_parts
from tests.methods.svm.parts.run_cases import (
    BACKENDS,
    SIZES,
    Lazy,
    Recorder,
    arguments,
    numbers,
    same,
    solve,
)

ORDER = [1, 4, 3, 5, 2, 0]
PROCESSES = ["loky", "multiprocessing"]


class TwoWords(Exception):
    """Can neither be made from a message nor be sent to another process."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")

    def __reduce__(self):
        # What pickle does by default, stated because distributed installs a reducer (of tblib) that
        # would rebuild the error without calling __init__.
        return type(self), self.args


class Unlucky(ValueError):
    """Can be made from a message."""


def where(rows):
    return solve(rows)._replace(value=float(os.getpid()))


def fails(rows, error):
    if len(rows) == 17:
        raise error
    return solve(rows)


def fails_with_two_words(rows):
    raise TwoWords("not", "today") if len(rows) == 17 else AssertionError


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_those_of_a_loop_in_the_order_of_the_parts(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        results = run_parts(solve, arguments(), sizes=SIZES)
    assert all(
        same(result, solve(*given)) for result, given in zip(results, arguments(), strict=True)
    )


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_the_number_of_jobs_changes_nothing(n_jobs):
    results = run_parts(solve, arguments(), sizes=SIZES, n_jobs=n_jobs)
    assert all(
        same(result, solve(*given)) for result, given in zip(results, arguments(), strict=True)
    )


def test_the_backend_that_the_user_sets_is_used():
    given = [(numbers(size),) for size in SIZES]
    here = run_parts(where, given, sizes=SIZES, n_jobs=2)
    assert {result.value for result in here} == {float(os.getpid())}
    with joblib.parallel_config("loky", n_jobs=2):
        there = run_parts(where, given, sizes=SIZES)
    assert float(os.getpid()) not in {result.value for result in there}


def test_the_largest_parts_are_started_first_each_when_its_turn_comes():
    lazy, counts = Lazy(), []

    def work(rows):
        counts.append((lazy.asked[-1], len(lazy.asked)))
        return solve(rows)

    run_parts(work, lazy, sizes=SIZES)
    assert counts == [(part, place + 1) for place, part in enumerate(ORDER)]


def test_arguments_are_made_for_less_than_twice_as_many_parts_as_there_are_workers():
    lazy, done, ahead, lock = Lazy(), [], [], threading.Lock()

    def work(rows):
        with lock:
            ahead.append(len(lazy.asked) - len(done))
        time.sleep(0.02)
        with lock:
            done.append(len(rows))
        return solve(rows)

    run_parts(work, lazy, sizes=SIZES, n_jobs=2)
    assert lazy.asked == ORDER
    assert max(ahead) < 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_in_the_store_are_not_run_again(backend):
    store, lazy, seen = Recorder(known=[1, 5]), Lazy(), []
    with joblib.parallel_config(backend, n_jobs=2):
        results = run_parts(
            solve, lazy, sizes=SIZES, store=store, report=lambda *counts: seen.append(counts)
        )
    assert sorted(store.saved) == sorted(lazy.asked) == [0, 2, 3, 4]
    assert seen == [(done, 6) for done in (3, 4, 5, 6)]
    assert all(
        same(result, solve(*given)) for result, given in zip(results, arguments(), strict=True)
    )


def test_each_result_is_stored_before_it_is_reported():
    store, known = Recorder(), []
    run_parts(
        solve,
        arguments(),
        sizes=SIZES,
        n_jobs=2,
        store=store,
        report=lambda *_: known.append(len(store.saved)),
    )
    assert known == [1, 2, 3, 4, 5, 6]


def unfinished(rows, factor):
    return solve(rows, factor)._replace(status="STOPPED" if len(rows) < 9 else "MAX_ITER")


def test_a_result_that_ran_out_of_time_is_given_but_not_stored():
    store = Recorder()
    results = run_parts(unfinished, arguments(), sizes=SIZES, store=store)
    assert store.saved == [1, 4, 3]
    assert [result.status == "STOPPED" for result in results] == [size < 9 for size in SIZES]


def test_nothing_is_run_when_all_is_there():
    assert run_parts(solve, [], sizes=[]) == []
    store = Recorder(known=range(6))
    results = run_parts(lambda *_: pytest.fail("run again"), Lazy(), sizes=SIZES, store=store)
    assert None not in results


ERRORS = [
    (Unlucky("no luck"), Unlucky, "no luck"),
    (MemoryError(), MemoryError, ""),
    (np.linalg.LinAlgError("singular"), np.linalg.LinAlgError, "singular"),
    (KeyError("a"), RuntimeError, "'a'"),  # its message would come out quoted
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), RuntimeError, "'utf-8' codec"),
]


@pytest.mark.parametrize(("error", "kind", "text"), ERRORS)
def test_a_failing_part_names_itself(error, kind, text):
    store = Recorder(known=[0])
    given = [(numbers(size), error) for size in SIZES]
    with pytest.raises(kind) as caught:
        run_parts(fails, given, sizes=SIZES, store=store)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"part 4 of 6 (17 rows): {text}")
    assert caught.value.__cause__ is error
    assert store.saved == [1, 4]  # the larger parts, which were run before


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_failing_part_names_itself_from_wherever_it_was_run(backend):
    store = Recorder(known=[0])
    given = [(numbers(size), Unlucky("no luck")) for size in SIZES]
    with (
        joblib.parallel_config(backend, n_jobs=2),
        pytest.raises(Unlucky, match=r"^part 4 of 6 \(17 rows\): no luck$") as caught,
    ):
        run_parts(fails, given, sizes=SIZES, store=store)
    cause = caught.value.__cause__
    assert type(cause) is Unlucky
    told = getattr(cause, "__notes__", [""])[0]  # where it happened, if that was elsewhere
    assert cause.__traceback__ is not None or "in fails" in told
    assert {1, 4} & set(store.saved)  # the larger parts, of which one at least was done before
    assert 3 not in store.saved
    assert backend != "multiprocessing" or store.saved == [1, 4, 5]  # 3 and 5 ran side by side
    assert all(same(store.results[part], solve(*arguments()[part])) for part in store.saved)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_that_cannot_travel_is_told_all_the_same(backend):
    given = [(numbers(17),)]
    with (
        joblib.parallel_config(backend, n_jobs=2),
        pytest.raises(RuntimeError, match=r"^part 1 of 1 \(17 rows\): .*not today$") as caught,
    ):
        run_parts(fails_with_two_words, given, sizes=[17])
    assert isinstance(caught.value.__cause__, RuntimeError if backend in PROCESSES else TwoWords)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_that_cannot_be_made_name_their_part(backend):
    class Broken(Lazy):
        def __getitem__(self, part):
            if part == 5:
                raise MemoryError("no room")
            return super().__getitem__(part)

    with (
        joblib.parallel_config(backend, n_jobs=2),
        pytest.raises(MemoryError, match=r"^part 6 of 6 \(8 rows\): no room$"),
    ):
        run_parts(solve, Broken(), sizes=SIZES)


def test_work_that_returns_something_else_names_its_part():
    with pytest.raises(AttributeError, match=r"^part 1 of 1 \(4 rows\): "):
        run_parts(lambda: None, [()], sizes=[4])


def test_seconds_are_processor_time(monkeypatch):
    clock = iter([10.0, 12.5])
    monkeypatch.setattr(parallel.time, "thread_time", lambda: next(clock))
    assert run_parts(solve, [(numbers(3),)], sizes=[3])[0].seconds == 2.5


def test_sizes_must_fit():
    with pytest.raises(ValueError, match="expected 6 sizes, one for each part, got 5"):
        run_parts(solve, arguments(), sizes=SIZES[:5])
