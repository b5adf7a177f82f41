"""LAB-RBF on a Dask cluster of one computer: rows that are generated when a worker needs them."""

from __future__ import annotations

import resource
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.harness.calls import whole_process
from benchmarks.harness.machine import load_average
from benchmarks.harness.spec import Params, Prepared
from benchmarks.local_sets import generated
from pliant import LABRBFRegressor
from pliant.core.typing import Array

PARTITION, LEAST_PARTITIONS = 100_000, 4
"""Rows of a partition at most, and partitions of a collection at least."""

N_TEST = 200_000
"""Rows that R2 is computed on, of partitions that no fit has."""


def on_a_cluster(params: Params) -> Prepared:
    """Prepare a default fit on a cluster of worker processes with one thread each."""
    from distributed import Client, LocalCluster

    def call() -> Any:
        place = {"dashboard_address": ":0", "memory_limit": "3GiB"}
        place["processes"] = params.get("processes", True)
        with (
            LocalCluster(n_workers=params["workers"], threads_per_worker=1, **place) as cluster,
            Client(cluster) as client,
        ):
            X, y = collection(params["rows"], params["features"], seed=0)
            client.run(_imported)
            before, busy, began = total(client, _sent), total(client, process_time), perf_counter()
            model = LABRBFRegressor(random_state=0, n_jobs=1, **params.get("options", {})).fit(X, y)
            seconds, busy = perf_counter() - began, total(client, process_time) - busy
            facts = {
                "fit (s)": seconds,
                "processor, workers (s)": busy,
                "peak of a worker (GiB)": max(client.run(_peak).values()),
                "partitions": X.numblocks[0],
                "moved (MB)": 1e-6 * (total(client, _sent) - before),
            }
            facts |= whole_process("GiB") | {"test R2": r_squared(model, params)}
        return facts

    return call, _with_load


def in_memory(params: Params) -> Prepared:
    """Prepare the same fit on arrays in memory, in one thread."""
    X, y = (np.asarray(part.compute(scheduler="sync")) for part in _pair(params))

    def call() -> Any:
        began = perf_counter()
        model = LABRBFRegressor(random_state=0, n_jobs=1, **params.get("options", {})).fit(X, y)
        facts = {"fit (s)": perf_counter() - began, **whole_process("GiB")}
        return facts | {"test R2": r_squared(model, params)}

    return call, _with_load


def _pair(params: Params) -> tuple[Any, Any]:
    return collection(params["rows"], params["features"], seed=0)


def collection(rows: int, features: int, seed: int) -> tuple[Any, Any]:
    """Return points and targets as dask arrays; partitions are made from their number."""
    import dask.array as da

    step = min(PARTITION, -(-rows // LEAST_PARTITIONS))
    lengths = tuple(min(step, rows - low) for low in range(0, rows, step))
    chunks = (lengths, (features + 1,))
    table = da.map_blocks(_partition, chunks=chunks, dtype=float, meta=np.empty((0, 0)), seed=seed)
    return table[:, :features], table[:, features]


def _partition(seed: int, block_info: Any = None) -> Array:
    """Return the points of one partition with their targets as the last column."""
    here = block_info[None]
    (low, high), (_, width) = here["array-location"]
    X, y = generated(high - low, width - 1, seed=int(2**20 * seed + here["chunk-location"][0]))
    return np.column_stack([X, y])


def r_squared(model: Any, params: Params) -> float:
    """Return R2 on generated rows of another seed, predicted partition by partition."""
    X, y = collection(params.get("test_rows", N_TEST), params["features"], seed=1)
    errors = ((model.predict(X) - y) ** 2).mean() / y.var()
    return 1.0 - float(errors.compute())


def total(client: Any, count: Callable[..., float]) -> float:
    """Return the sum of what a function counts on each worker."""
    return float(sum(client.run(count).values()))


def _sent(dask_worker: Any) -> int:
    """Return the bytes that a worker has sent, to others and to the client."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def _peak() -> float:
    """Return the largest memory of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _imported() -> None:
    """Load the library, as a cluster in use has."""
    import pliant.methods.lab_rbf.collection  # noqa: F401


def _with_load(facts: dict[str, Any]) -> dict[str, Any]:
    return {**facts, "load": (load_average() or (None,))[0]}
