"""Parts solved by the two workers of a Dask cluster on this machine."""

import os

import joblib
import numpy as np
import pytest

from pliant import DANKClassifier
from pliant.datasets import make_clowns
from pliant.methods.svm.parts import PartResult, Store, fingerprint, halted, run_parts
from tests.methods.hadamard.parts.test_dank_parts import (
    assert_same_bytes,
    by_backend,
    classification,
    classifier,
)

distributed = pytest.importorskip("distributed")

SIZES = [3, 50, 2000, 40, 5]


def row_sums(rows, factor):
    """One worker writes where it is into the gap."""
    return PartResult(factor * rows.sum(axis=1), 1.0, float(os.getpid()), len(rows), "CONVERGED")


def fails_on_forty(rows, factor):
    if len(rows) == 40:
        raise ArithmeticError("no luck")
    return row_sums(rows, factor)


def arguments():
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(size, 4)), 2.0) for size in SIZES]


@pytest.fixture(
    scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def client(request):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    place = {"host": "127.0.0.1", "protocol": "tcp://"}
    inside = request.param == "threads"
    with (
        distributed.LocalCluster(processes=not inside, **options, **place) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_results_come_in_order_and_are_reported_and_kept_one_by_one(client, tmp_path):
    store = Store(tmp_path, fingerprint(np.zeros(1), np.zeros(1), None, {}))
    seen, stored = [], []

    def report(done, total):
        seen.append((done, total))
        stored.append(len(list(tmp_path.glob("plain-*.npz"))))

    with joblib.parallel_config(backend="dask"):
        results = run_parts(row_sums, arguments(), sizes=SIZES, store=store, report=report)
    for result, (rows, _) in zip(results, arguments(), strict=True):
        np.testing.assert_array_equal(result.beta, 2.0 * rows.sum(axis=1))
    assert seen == [(done, 5) for done in range(1, 6)]
    assert stored == [1, 2, 3, 4, 5]
    workers = set(client.run(os.getpid).values())
    assert {result.gap for result in results} <= workers


def test_a_failing_part_names_itself(client):
    with (
        joblib.parallel_config(backend="dask"),
        pytest.raises(ArithmeticError, match=r"^part 4 of 5 \(40 rows\): no luck$") as caught,
    ):
        run_parts(fails_on_forty, arguments(), sizes=SIZES)
    assert isinstance(caught.value.__cause__, ArithmeticError)


def test_a_run_can_be_stopped_and_the_cluster_used_again(client):
    with joblib.parallel_config(backend="dask"):
        results = run_parts(row_sums, arguments(), sizes=SIZES, report=lambda done, _: done == 2)
        assert sum(result is not None for result in results) == 2
        again = run_parts(row_sums, arguments(), sizes=SIZES)
    assert None not in again
    assert not halted()


@pytest.mark.usefixtures("client")
def test_a_machine_in_parts_has_the_same_bytes():
    X, y = classification()
    model = classifier(eta="auto").fit(X, y)
    assert_same_bytes(model, by_backend("dask", 2, model, X, y))


@pytest.mark.usefixtures("client")
def test_large_parts_on_two_workers_are_those_of_one_thread():
    X, y = make_clowns(2000, random_state=0)
    machine = DANKClassifier(partition="kmeans", n_parts=8, random_state=0)
    here = machine.fit(X, y)
    expected, objective = here.decision_function(X), here.objective_
    with joblib.parallel_config(backend="dask"):
        there = machine.fit(X, y)
    assert there.objective_ == pytest.approx(objective, rel=1e-12)
    np.testing.assert_allclose(there.decision_function(X), expected, rtol=0, atol=1e-10)
    assert (there.part_seconds_ > 0).all()
