"""A Dask cluster of two processes for all tests of methods that need one; it starts once."""

import pytest


@pytest.fixture(scope="session")
def dask_workers():
    distributed = pytest.importorskip("distributed", reason="needs Dask's distributed scheduler")
    place = {"host": "127.0.0.1", "dashboard_address": ":0", "memory_limit": "1GiB"}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **place) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def on_dask_workers(dask_workers):
    """Compute Dask collections on the cluster during a test."""
    import dask

    dask_workers.wait_for_workers(2, timeout=120)  # one that another test killed starts again
    with dask_workers.as_current(), dask.config.set(scheduler="dask.distributed"):
        yield dask_workers
