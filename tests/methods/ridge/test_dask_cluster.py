"""Sketched ridge on a Dask cluster that loses a worker."""

import os

import numpy as np
import pytest

from pliant import SketchedKernelRidge
from tests.methods.dask_cases import LENGTH, ROWS, table

dask = pytest.importorskip("dask", reason="needs Dask")
pytest.importorskip("distributed", reason="needs Dask's distributed scheduler")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="a process cannot send this signal to itself"),
]


@pytest.mark.usefixtures("on_dask_workers")
def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    """The fit loses a worker in the middle of its iterations."""
    model = SketchedKernelRidge(n_centers=30, random_state=0, solver="cg", tol=1e-8)
    sound = table()
    with dask.config.set(scheduler=dask.get):
        model.fit(sound[:, :3], sound[:, 3].compute())
        expected, passes = model.predict(sound[:, :3]).compute(), model.n_passes_
    n_parts = ROWS // LENGTH
    kill_at = (passes // 2) * n_parts + 3
    rows = table(tmp_path, kill_at)
    there = SketchedKernelRidge(n_centers=30, random_state=0, solver="cg", tol=1e-8)
    there.fit(rows[:, :3], sound[:, 3])
    predicted = there.predict(sound[:, :3]).compute()
    assert len(os.listdir(tmp_path)) > kill_at  # the killed worker's partitions were recomputed
    assert there.n_passes_ == passes
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
