"""Parts solved by two workers of a local Dask cluster."""

import os

import joblib
import numpy as np
import pytest

from pliant import DANKClassifier
from pliant.datasets import make_clowns
from pliant.methods.svm.parts import run_parts
from tests.methods.svm.test_parts import SIZES, arguments, assert_solved, fails, solve

distributed = pytest.importorskip("distributed")


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


def test_results_are_in_order_and_a_run_can_be_stopped(client):
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


def test_the_error_of_a_part_names_the_part(client):
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
