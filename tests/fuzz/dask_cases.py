"""Fits to Dask collections with irregular partitions, killed workers, and a lost scheduler.

Of twenty seeds, two kill a worker of a cluster of two processes during a fit: the model is the same
as without the kill. One kills the scheduler: the fit ends with an error, and the estimator is not
fitted. The others divide rows at random and damage half of the collections: a fit raises an error
of one sentence, or gives the model of the rows in one partition.
"""

import logging
import multiprocessing
import os
import time
from functools import cache
from unittest.mock import patch

import dask
import dask.array as da
import distributed
import numpy as np
from sklearn.base import clone, is_classifier

import pliant
from pliant.methods.lab_rbf import collection
from tests.fuzz.estimators import Wrong, call
from tests.methods.dask_cases import LENGTH, ROWS, table

QUICK = {"n_support": 8, "n_members": 1, "max_iter": 3, "random_state": 0}
MODELS = (
    pliant.LABRBFRegressor(**QUICK),
    pliant.SketchedKernelRidge(n_centers=8, random_state=0),
    pliant.LABRBFClassifier(**QUICK),
    pliant.SketchedKernelRidgeClassifier(n_centers=8, random_state=0),
)

DAMAGE = {
    "ragged": lambda x: [row[: 1 + k % 2] for k, row in enumerate(x.tolist())],
    "none": lambda x: None,
    "text": lambda x: np.full(x.shape, "a"),
    "narrow": lambda x: x[:, :-1],
    "long": lambda x: np.concatenate([x, x, np.zeros((1, x.shape[1]))]),
    "nan": lambda x: np.full(x.shape, np.nan),
    "huge": lambda x: np.full(x.shape, 1e200),
    "complex": lambda x: x * 1j,
}
"""Defects of a partition."""

LONGEST = 90.0
"""Maximum time in seconds of a fit that loses its scheduler."""


def case(seed, folder):
    """Fit one estimator; return the finding or None."""
    rng = np.random.default_rng(seed)
    logging.disable(logging.CRITICAL)  # Dask logs each lost process
    dask.config.set(
        {
            "distributed.worker.multiprocessing-method": "forkserver",
            "distributed.deploy.lost-worker-timeout": "1 hour",
            "distributed.comm.timeouts.connect": "3s",
        }
    )
    try:
        if seed % 20 in (4, 14):
            killed_worker(rng, folder)
        elif seed % 20 == 19:
            lost_scheduler(rng, folder)
        else:
            with dask.config.set(scheduler="synchronous"):
                irregular(rng)
    except Wrong as wrong:
        return str(wrong)
    return None


def drawn_chunks(rng, n):
    cuts = np.sort(rng.integers(0, n + 1, int(rng.integers(0, 6))))
    return tuple(np.diff([0, *cuts, n]).tolist())


def damaged(block, place, how, block_info=None):
    """Return a block, with a defect if it is at `place`."""
    here = block_info[None]["chunk-location"][0] == place
    return DAMAGE[how](block) if here and how else block


def irregular(rng):
    """Fit rows in random partitions, and compare the model with that of one partition."""
    model = MODELS[rng.integers(4)]
    n, d = int(rng.integers(2, 80)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), rng.integers(3, size=n)
    weights = rng.integers(0, 3, n).astype(float) if rng.random() < 0.3 else None
    chunks, how = drawn_chunks(rng, n), rng.choice(list(DAMAGE)) if rng.random() < 0.5 else None
    dtype = rng.choice([float, np.float32, int]) if how else float
    place = int(rng.choice(np.flatnonzero(chunks)))
    rows = da.from_array(X, chunks=(chunks, (d,)))
    if rng.random() < 0.3:  # partitions of unknown length
        rows = rows[da.ones(n, chunks=(chunks,)) > 0]
    rows = rows.map_blocks(damaged, place, how, dtype=dtype, meta=np.empty((0, 0), dtype))
    labels = da.from_array(y, chunks=(drawn_chunks(rng, n),)) if rng.random() < 0.5 else y
    there, whole = clone(model), clone(model)
    fitted = call(f"fit ({how})", there.fit, rows, labels, sample_weight=weights)
    one = call("fit", whole.fit, da.from_array(X, chunks=(n, d)), y, sample_weight=weights)
    if (fitted.refused is None) != (how is None and one.refused is None):
        raise Wrong(f"{how} gave {fitted.refused!r}, one partition {one.refused!r}")
    if fitted.refused is not None:
        check_unfitted(there)
        return
    method = "decision_function" if is_classifier(model) else "predict"
    expected = getattr(whole, method)(X)
    got = call("predict", lambda: getattr(there, method)(rows).compute()).value
    if not np.allclose(got, expected, rtol=1e-5, atol=1e-5 * (1 + np.abs(expected).max())):
        raise Wrong(f"another model: {model} with {chunks}")


def check_unfitted(model):
    if any(name.endswith("_") for name in vars(model)):
        raise Wrong(f"fitted after an error: {model}")


def fit(model, rows):
    """Fit, and return predictions."""
    with patch.object(collection, "SAMPLE_ROWS", 500):
        model.fit(rows[:, :3], rows[:, 3])
    return model.predict(np.random.default_rng(0).uniform(-1, 1, (20, 3)))


@cache
def cluster():
    """Start two workers, each in a process."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([__name__])
    place = {"host": "127.0.0.1", "dashboard_address": None, "memory_limit": "1GiB"}
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, **place)


def killed_worker(rng, folder):
    """Kill a worker at a random partition."""
    model, kill_at = MODELS[rng.integers(2)], int(rng.integers(1, ROWS // LENGTH + 4))
    with dask.config.set(scheduler="synchronous"):
        expected = fit(clone(model), table())
    with distributed.Client(cluster()) as client:
        client.wait_for_workers(2, timeout=90)
        got = fit(clone(model), table(folder, kill_at))
    if len(os.listdir(folder)) <= kill_at or not np.allclose(got, expected, rtol=0, atol=1e-9):
        raise Wrong(f"another model, or no kill: {model} at partition {kill_at}")


def serve(end):
    """Run a cluster in this process, and send its address."""
    end.send(cluster().scheduler_address)
    time.sleep(1000)


def lost_scheduler(rng, folder):
    """Kill the scheduler's process at a random partition."""
    model, kill_at = clone(MODELS[rng.integers(2)]), int(rng.integers(1, ROWS // LENGTH + 4))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    address, end = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(end,))
    process.start()
    try:
        with distributed.Client(address.recv()):
            began = time.monotonic()
            fit(model, table(folder, kill_at, slow=0.1, victim=process.pid))
    except Exception as error:
        check_unfitted(model)
        if time.monotonic() - began > LONGEST or not str(error):
            raise Wrong(f"lost scheduler: {time.monotonic() - began:.0f} s, {error!r}") from None
    else:
        raise Wrong("lost scheduler: the fit ended as if it were there")
    finally:
        process.kill()
        process.join()
