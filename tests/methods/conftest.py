"""A Dask cluster of two processes for all tests of methods that need one; it starts once."""

import pytest


@pytest.fixture(scope="session")
def dask_workers():
    distributed = pytest.importorskip("distributed", reason="needs Dask's distributed scheduler")
    place = {"host": "127.0.0.1", "dashboard_address": ":0", "memory_limit": "1GiB"}
    import dask

    with (
        # a cluster forgets a killed worker that is not back after this time, 15 s by default
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **place) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def on_dask_workers(dask_workers):
    """Compute Dask collections on the cluster during a test."""
    import dask

    try:
        dask_workers.wait_for_workers(2, timeout=30)  # one that another test killed starts again
    except TimeoutError:  # or a new one has to
        dask_workers.cluster.scale(1)
        dask_workers.cluster.scale(3)
        dask_workers.wait_for_workers(2, timeout=90)
    with dask_workers.as_current(), dask.config.set(scheduler="dask.distributed"):
        yield dask_workers
