"""LAB-RBF on a Dask cluster of two processes, also where one of them dies."""

import os

import joblib
import numpy as np
import pytest

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.methods.lab_rbf import collection
from pliant.methods.lab_rbf.ensemble import EnsembleTrainer
from tests.methods.dask_cases import LENGTH, ROWS, table

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

QUICK = {"n_support": 12, "n_members": 2, "max_iter": 4, "random_state": 0}
NEW = np.random.default_rng(1).uniform(-1, 1, size=(50, 3))


def quick(**options):
    return LABRBFRegressor(**{**QUICK, **options})


@pytest.mark.parametrize("phase", ["sample", "reduction", "prediction"])
@pytest.mark.usefixtures("on_dask_workers")
def test_a_worker_that_is_killed_changes_nothing(phase, tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "SAMPLED", 500)
    kill_at = {"sample": 3, "reduction": ROWS // LENGTH + 4, "prediction": 3}[phase]
    with dask.config.set(scheduler="synchronous"):
        here = quick().fit(table()[:, :3], table()[:, 3])
        expected = here.predict(table()[:, :3]).compute()
    rows = table(tmp_path, kill_at)
    sound = table()
    fitted_to = sound if phase == "prediction" else rows
    model = quick().fit(fitted_to[:, :3], fitted_to[:, 3])
    predicted = model.predict((rows if phase == "prediction" else sound)[:, :3]).compute()
    assert len(os.listdir(tmp_path)) > kill_at  # one was killed, and what it had was made again
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.bandwidths_, here.bandwidths_)


@pytest.mark.usefixtures("on_dask_workers")
def test_members_are_learned_on_the_workers(monkeypatch):
    X, y = (np.asarray(part.compute()) for part in (table()[:, :3], table()[:, 3]))
    labels = np.where(y > 0, "up", "down")
    here = quick().fit(X, y), LABRBFClassifier(**QUICK).fit(X, labels)

    def not_here(*args, **kwargs):
        raise AssertionError("a member is learned in this process")

    not_here.__name__ = not_here.__qualname__ = "_train_member"
    monkeypatch.setattr(EnsembleTrainer, "_train_member", not_here)
    with joblib.parallel_config(backend="dask"):
        there = (
            quick(max_seconds=600).fit(table()[:, :3], table()[:, 3]),
            LABRBFClassifier(**QUICK).fit(X, labels),
        )
    np.testing.assert_array_equal(there[0].bandwidths_, here[0].bandwidths_)
    np.testing.assert_allclose(there[0].predict(NEW), here[0].predict(NEW), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(there[1].predict_proba(NEW), here[1].predict_proba(NEW))
