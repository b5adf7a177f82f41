"""LAB-RBF on a Dask cluster of two processes, one of which may be killed."""

import os

import numpy as np
import pytest

from pliant import LABRBFRegressor
from pliant.core.dask import DaskRows, reduce_tree
from pliant.methods.lab_rbf import collection
from tests.methods.dask_cases import LENGTH, ROWS, table

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

QUICK = {"n_support": 12, "n_members": 2, "max_iter": 4, "random_state": 0}
NEW = np.random.default_rng(1).uniform(-1, 1, size=(50, 3))


def quick(**options):
    return LABRBFRegressor(**{**QUICK, **options})


@pytest.mark.processes
@pytest.mark.parametrize("phase", ["sample", "reduction", "prediction"])
@pytest.mark.usefixtures("on_dask_workers")
def test_killed_worker_does_not_change_the_result(phase, tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "SAMPLE_ROWS", 500)
    kill_at = {"sample": 3, "reduction": ROWS // LENGTH + 4, "prediction": 3}[phase]
    with dask.config.set(scheduler=dask.get):
        here = quick().fit(table()[:, :3], table()[:, 3])
        expected = here.predict(table()[:, :3]).compute()
    rows = table(tmp_path, kill_at)
    sound = table()
    fitted_to = sound if phase == "prediction" else rows
    model = quick().fit(fitted_to[:, :3], fitted_to[:, 3])
    predicted = model.predict((rows if phase == "prediction" else sound)[:, :3]).compute()
    assert (
        len(os.listdir(tmp_path)) > kill_at
    )  # a worker was killed, and its results were recomputed
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.bandwidths_, here.bandwidths_)


def weighted_total(block):
    return float(block.y @ block.weights)


@pytest.mark.usefixtures("on_dask_workers")
def test_targets_and_weights_stay_on_the_workers():
    """Dask warns of more than 10 MB in a graph, and warnings are errors."""
    n = 1_500_000  # targets and weights have 12 MB each
    X = da.ones((n, 1), chunks=(300_000, 1))
    rows = DaskRows.from_collection(X, X[:, 0], 2 * X[:, 0], labelled=False)
    rows.take(np.arange(5), len)
    assert reduce_tree(rows.map_blocks(weighted_total), sum) == 2.0 * n
