"""LAB-RBF on a Dask cluster of one computer: rows that are generated when a worker needs them."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable, Mapping
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

MODELLED = ((1, 1), (1, 2), (1, 100), (10, 2), (10, 100))
"""How many times the rows, and how many workers, the model computes the time of a fit for."""

PER_TASK, PER_MESSAGE, BANDWIDTH = 1e-3, 1e-3, 1.25e9
"""Assumptions of the model: seconds of the scheduler for a task, seconds until a message arrives,
and bytes a second between workers (10 Gbit/s)."""

BRANCHES = 8
"""Results that a task of the reduction adds up (`pliant.core.dask.BRANCHES`)."""


class Timed(LABRBFRegressor):
    """The regressor with the seconds of its phases: the sample, its learning, the reduction."""

    def _prepared(self, X: Any, y: Any, sample_weight: Any) -> Any:
        began = perf_counter()
        prepared = super()._prepared(X, y, sample_weight)
        self.phases_ = {"sample": perf_counter() - began}
        self.began_ = perf_counter(), process_time()
        return prepared

    def _set_coefficients(self, table: Any, runs: Any) -> None:
        began = perf_counter()
        self.phases_["learning"] = began - self.began_[0]
        self.busy_ = process_time() - self.began_[1]
        super()._set_coefficients(table, runs)
        self.phases_["reduction"] = perf_counter() - began
        self.sampled_ = len(table)


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
            model = Timed(random_state=0, n_jobs=1, **params.get("options", {})).fit(X, y)
            seconds, busy = perf_counter() - began, total(client, process_time) - busy
            facts = {
                "fit (s)": seconds,
                **{f"{name} (s)": value for name, value in model.phases_.items()},
                "processor, learning (s)": model.busy_,
                "processor, workers (s)": busy,
                "peak of a worker (GiB)": max(client.run(_peak).values()),
                **volume(model, X.numblocks[0], total(client, _sent) - before),
            }
            facts |= modelled(facts, params["rows"])
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


def volume(model: Any, partitions: int, sent: float) -> dict[str, float]:
    """Return megabytes of the sample and of the equations of a partition, and what was moved."""
    equations = equations_size(model)
    sample = 8 * model.sampled_ * (model.n_features_in_ + 1)
    return {
        "partitions": partitions,
        "sample (MB)": sample / 1e6,
        "equations of a partition (MB)": equations / 1e6,
        "moved (MB)": sent / 1e6,
    }


def equations_size(model: Any) -> int:
    """Return the bytes of F'F, its upper triangle alone, and F'y of all members, of one target."""
    sizes = (len(m.dual_coef_) + (len(m.coef_) if m.linear_ else 0) for m in model.members_)
    return sum(4 * p * (p + 1) + 8 * p for p in sizes)


def modelled(facts: Mapping[str, float], rows: int) -> dict[str, float]:
    """Return the seconds by the model, of these rows and of more, on some numbers of workers."""
    return {
        f"model: {times} x rows, {workers} workers (s)": extrapolated(facts, rows, times, workers)
        for times, workers in MODELLED
    }


def extrapolated(facts: Mapping[str, float], rows: int, times: int, workers: int) -> float:
    """Return the seconds of a fit to `times` as many rows, each worker with a core of its own.

    The processor time of the workers grows with the rows and is divided among as many of them as
    have partitions; that of the learning is the same. The scheduler takes `PER_TASK` for each task,
    three for a partition and pass. In each level of the tree, a worker receives the equations of
    `BRANCHES` partial sums.
    """
    partitions = max(LEAST_PARTITIONS, times * rows // PARTITION)
    busy = times * facts["processor, workers (s)"] / min(workers, partitions)
    message = BRANCHES * 1e6 * facts["equations of a partition (MB)"] / BANDWIDTH
    tree = math.ceil(math.log(partitions, BRANCHES)) * (PER_MESSAGE + message)
    return facts["processor, learning (s)"] + busy + 6 * PER_TASK * partitions + tree


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
