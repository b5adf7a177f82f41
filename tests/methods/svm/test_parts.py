"""Partition by k-means, and one task per part on any joblib backend."""

import os
import threading
import time

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from pliant.core.distances import nearest_rows
from pliant.methods.svm import parts as module
from pliant.methods.svm.parts import kmeans_partition, run_parts
from tests.memory import peak_memory
from tests.methods.svm.parts_cases import SIZES, arguments, assert_solved, fails, solve

tables = st.tuples(st.integers(1, 40), st.integers(1, 3)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(-3, 3).map(float))
)


def clusters(n, seed=0):
    """Return rows in five clusters; a narrow one contains most rows."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-20, 20, size=(5, 3))
    of = rng.choice(5, size=n, p=[0.8, 0.05, 0.05, 0.05, 0.05])
    return centres[of] + rng.normal(size=(n, 3)) * np.where(of == 0, 0.3, 2.0)[:, None]


def misplaced(partition, X):
    """Return each row's squared distance to its own centre, less that to the nearest centre."""
    squares = cdist(X, partition.centres, "sqeuclidean")
    return squares[np.arange(len(X)), partition.labels] - squares.min(axis=1)


@given(X=tables, n_parts=st.integers(1, 40) | st.just("auto"), size=st.integers(1, 20))
@settings(max_examples=50, deadline=None)
def test_parts_are_as_many_and_as_small_as_asked_for(X, n_parts, size):
    n_parts = n_parts if n_parts == "auto" else min(n_parts, len(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AUTO_SIZE", size)
        parts = kmeans_partition(X, n_parts, random_state=0)
    assert parts.labels.shape == (len(X),)
    assert parts.centres.shape == (len(parts), X.shape[1])
    assert parts.sizes.min() >= 1
    np.testing.assert_array_equal(nearest_rows(X, parts.centres), parts.labels)
    assert (misplaced(parts, X) <= 1e-9).all()
    equal = [np.ptp(X[parts.members(part)], axis=0).max() == 0 for part in range(len(parts))]
    assert (equal | (parts.sizes <= (2 * size if n_parts == "auto" else len(X)))).all()
    assert n_parts == "auto" or len(parts) <= n_parts
    groups = [parts.members(part) for part in range(len(parts))]
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(X)))
    assert all((parts.labels[group] == part).all() for part, group in enumerate(groups))


def test_the_same_seed_gives_the_same_parts_whatever_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(module, "AUTO_SIZE", 2500)
    X = clusters(30_000)
    found = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            found.append(kmeans_partition(X, random_state=5))
    for parts in found[1:]:
        assert parts.labels.tobytes() == found[0].labels.tobytes()
        assert parts.centres.tobytes() == found[0].centres.tobytes()
    other = kmeans_partition(X, random_state=6)
    assert other.labels.tobytes() != found[0].labels.tobytes()


def test_a_sample_decides_and_all_rows_are_placed(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 100)
    monkeypatch.setattr(module, "SAMPLE_PER_PART", 20)
    monkeypatch.setattr(module, "AUTO_SIZE", 450)
    X = clusters(5000)
    parts = kmeans_partition(X, random_state=0)
    assert parts.sizes.max() <= 900
    np.testing.assert_array_equal(nearest_rows(X, parts.centres), parts.labels)


def test_memory_does_not_grow_with_rows_times_parts():
    X = np.random.default_rng(0).normal(size=(100_000, 4))
    with peak_memory() as used:
        parts = kmeans_partition(X, 200, random_state=0)
    assert len(parts) == 200
    assert used.peak < 80e6 < len(X) * len(parts) * 8  # all distances at once would take 160 MB


def test_more_parts_than_rows_are_refused():
    with pytest.raises(ValueError, match="n_parts <= 10, the number of rows, got 11"):
        kmeans_partition(np.zeros((10, 2)), 11)


ORDER = [1, 4, 3, 5, 2, 0]
BACKENDS = ["sequential", "threading"]


def assert_run_in_order(backend):
    """Assert that results are those of a loop; return the processes that solved the parts."""
    seen = []
    with joblib.parallel_config(backend, n_jobs=2):
        results = run_parts(
            solve, arguments, sizes=SIZES, report=lambda *counts: seen.append(counts)
        )
    assert None not in results
    assert_solved(results)
    assert seen == [(done, 6) for done in range(1, 7)]
    assert all(result.seconds >= 0.0 for result in results)
    return {result.gap for result in results}


def assert_named(backend):
    """Assert that an error names its part, wherever it was run."""
    with joblib.parallel_config(backend, n_jobs=2), pytest.raises(LookupError) as caught:
        run_parts(fails, arguments, sizes=SIZES)
    assert str(caught.value) == "no luck"
    assert "in part 4 of 6 (17 rows)" in caught.value.__notes__


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_those_of_a_loop_in_the_order_of_the_parts(backend):
    assert assert_run_in_order(backend) == {float(os.getpid())}
    with joblib.parallel_config(backend, n_jobs=2):
        some = run_parts(solve, arguments, sizes=SIZES, report=lambda done, _: done == 2)
    assert sum(result is not None for result in some) == 2
    assert_solved(some)
    assert_named(backend)


def test_parts_are_run_in_other_processes():
    assert float(os.getpid()) not in assert_run_in_order("loky")
    assert_named("loky")  # joblib stops the processes after an error


def test_the_largest_parts_start_first_and_few_are_made_ahead():
    asked, done, ahead, lock = [], [], [], threading.Lock()

    def made(part):
        asked.append(part)
        return arguments(part)

    def work(rows):
        with lock:
            ahead.append(len(asked) - len(done))
        time.sleep(0.02)
        with lock:
            done.append(len(rows))
        return solve(rows)

    run_parts(work, made, sizes=SIZES, n_jobs=2)
    assert asked == ORDER
    assert max(ahead) < 4
