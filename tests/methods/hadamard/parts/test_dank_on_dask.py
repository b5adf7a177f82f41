"""Parts on a cluster: a Dask cluster of two processes on this machine."""

import joblib
import numpy as np
import pytest

from pliant import DANKClassifier
from pliant.datasets import make_clowns

pytestmark = pytest.mark.slow


def test_parts_on_two_workers_are_those_of_one_thread():
    distributed = pytest.importorskip("dask.distributed")
    X, y = make_clowns(2000, random_state=0)
    machine = DANKClassifier(partition="kmeans", n_parts=8, random_state=0)
    here = machine.fit(X, y)
    expected, objective = here.decision_function(X), here.objective_
    options = {"dashboard_address": None, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        there = machine.fit(X, y)
    assert there.objective_ == pytest.approx(objective, rel=1e-12)
    np.testing.assert_allclose(there.decision_function(X), expected, rtol=0, atol=1e-10)
    assert (there.part_seconds_ > 0).all()
