"""A Dask cluster of two processes, started once: parts, collections, killed workers."""

import os

import joblib
import numpy as np
import pytest

from pliant import DANKClassifier, LABRBFRegressor, SketchedKernelRidge
from pliant.core.dask import DaskRows, reduce_tree
from pliant.datasets import make_clowns
from pliant.methods.lab_rbf import collection
from pliant.methods.svm.parts import run_parts
from tests.methods.dask_cases import LENGTH, ROWS, table
from tests.methods.svm.parts_cases import SIZES, arguments, assert_solved, fails, solve

dask = pytest.importorskip("dask", reason="needs Dask")
da = pytest.importorskip("dask.array", reason="needs Dask")
distributed = pytest.importorskip("distributed", reason="needs Dask's distributed scheduler")

posix_only = pytest.mark.skipif(
    os.name == "nt", reason="a process cannot send this signal to itself"
)

PLACE = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": ":0"}


@pytest.fixture(scope="module")
def dask_workers():
    with (
        # a cluster forgets a killed worker that is not back after this time, 15 s by default
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(**PLACE, memory_limit="1GiB") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def on_dask_workers(dask_workers):
    """Compute Dask collections and joblib's tasks on the cluster during a test."""
    dask_workers.wait_for_workers(2, timeout=90)  # one that another test killed starts again
    with dask_workers.as_current(), dask.config.set(scheduler="dask.distributed"):
        yield dask_workers


# Parts


@pytest.fixture(params=["threads", pytest.param("processes", marks=pytest.mark.slow)])
def client(request):
    if request.param == "processes":
        yield request.getfixturevalue("on_dask_workers")
        return
    with (
        distributed.LocalCluster(**PLACE, processes=False, protocol="tcp://") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_results_of_parts_are_in_order_and_a_run_can_be_stopped(client):
    with joblib.parallel_config(backend="dask"):
        results = run_parts(solve, arguments, sizes=SIZES)
        some = run_parts(solve, arguments, sizes=SIZES, report=lambda done, _: done == 2)
        again = run_parts(solve, arguments, sizes=SIZES)
    workers = set(map(float, client.run(os.getpid).values()))
    assert {result.gap for result in results} <= workers
    assert sum(result is not None for result in some) == 2
    for solved in (results, some, again):
        assert_solved(solved)
    assert None not in again
    with joblib.parallel_config(backend="dask"), pytest.raises(LookupError) as caught:
        run_parts(fails, arguments, sizes=SIZES)
    assert "in part 4 of 6 (17 rows)" in caught.value.__notes__


@pytest.mark.processes
@pytest.mark.usefixtures("client")
def test_parts_on_two_workers_agree_with_one_thread():
    X, y = make_clowns(500, random_state=0)
    machine = DANKClassifier(partition={"n_parts": 8})
    here = machine.fit(X, y)
    expected, objective = here.decision_function(X), here.objective_
    with joblib.parallel_config(backend="dask"):
        there = machine.fit(X, y)
    assert there.objective_ == pytest.approx(objective, rel=1e-12)
    np.testing.assert_allclose(there.decision_function(X), expected, rtol=0, atol=1e-10)


# Collections


def weighted_total(block):
    return float(block.y @ block.weights)


@pytest.mark.slow
@pytest.mark.usefixtures("on_dask_workers")
def test_targets_and_weights_stay_on_the_workers():
    """Dask warns of more than 10 MB in a graph, and warnings are errors."""
    n = 1_500_000  # targets and weights have 12 MB each
    X = da.ones((n, 1), chunks=(300_000, 1))
    rows = DaskRows.from_collection(X, X[:, 0], 2 * X[:, 0], labelled=False)
    rows.take(np.arange(5), len)
    assert reduce_tree(rows.map_blocks(weighted_total), sum) == 2.0 * n


# A worker that is killed


@posix_only
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.usefixtures("on_dask_workers")
def test_a_killed_worker_does_not_change_lab_rbf(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "SAMPLE_ROWS", 500)
    quick = {"n_support": 12, "n_members": 2, "max_iter": 4, "dense": False, "random_state": 0}
    sound, rows, kill_at = table(), table(tmp_path, 3), 3
    with dask.config.set(scheduler=dask.get):
        here = LABRBFRegressor(**quick).fit(sound[:, :3], sound[:, 3])
    there = LABRBFRegressor(**quick).fit(rows[:, :3], rows[:, 3])
    assert len(os.listdir(tmp_path)) > kill_at  # the killed worker's results were recomputed
    np.testing.assert_array_equal(there.bandwidths_, here.bandwidths_)
    np.testing.assert_allclose(there.dual_coef_, here.dual_coef_, rtol=1e-7, atol=1e-9)


@posix_only
@pytest.mark.slow
@pytest.mark.usefixtures("on_dask_workers")
def test_a_killed_worker_does_not_change_sketched_ridge(tmp_path):
    """The fit loses a worker in the middle of its iterations, which reduce a tree of sums."""
    quick = {"n_centers": 10, "random_state": 0, "solver": "cg", "tol": 1e-4}
    model = SketchedKernelRidge(**quick)
    sound = table()
    with dask.config.set(scheduler=dask.get):
        model.fit(sound[:, :3], sound[:, 3].compute())
        expected, passes = model.predict(sound[:, :3]).compute(), model.n_passes_
    n_parts = ROWS // LENGTH
    kill_at = (passes // 2) * n_parts + 3
    rows = table(tmp_path, kill_at)
    there = SketchedKernelRidge(**quick).fit(rows[:, :3], sound[:, 3])
    predicted = there.predict(sound[:, :3]).compute()
    assert len(os.listdir(tmp_path)) > kill_at  # the killed worker's partitions were recomputed
    assert there.n_passes_ == passes
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
