"""A process without scikit-learn and numba predicts the bits of the loaded estimator.

One process loads a file of every kind of model and predicts; this process does the same with
scikit-learn. Both use NumPy's exponential here, as the compiled one differs in the last bit.
"""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import pliant
from pliant import load, save
from pliant.core import process
from pliant.kernels import Gaussian
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.reading.encoder import ColumnEncoder
from tests.contracts.test_kernel_contract import points_of
from tests.persistence.bare_process import outputs
from tests.persistence.test_round_trips import (
    FITTED,
    LABELS,
    NEW,
    OTHERS,
    SAVED,
    SETTINGS,
    X,
    Y,
)


def small(name):
    """Return a fitted estimator of pliant with few iterations."""
    model = getattr(pliant, name)()
    few = {"max_iter": 5, "n_members": 2, "random_state": 0, "n_centers": 20}
    model.set_params(**{k: v for k, v in few.items() if k in model.get_params(deep=False)})
    return model.fit(X, Y if name.endswith(("Regressor", "Ridge")) else LABELS)


def blends():
    """Return blends with members of every kind of record."""
    scaled = make_pipeline(SimpleImputer(), StandardScaler(), SVR())
    scaled = TransformedTargetRegressor(scaled, transformer=StandardScaler())
    lab = pliant.LABRBFRegressor(8, n_members=1, max_iter=2, random_state=0)
    yield BlendRegressor([("a", scaled), ("b", RandomForestRegressor(5)), ("c", lab)], cv=2).fit(
        X, Y
    )
    svm = CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), cv=2)
    lab = pliant.LABRBFClassifier(8, n_members=1, max_iter=2, random_state=0)
    members = [
        ("a", svm),
        ("b", RandomForestClassifier(5)),
        ("c", lab),
        ("d", LogisticRegression()),
    ]
    yield BlendClassifier(members, cv=2).fit(X, LABELS)


def models():
    """Yield every kind of model that a file can contain, with points."""
    for name in FITTED:
        if name != "TableFeatures":
            yield small(name), NEW
    for model in SETTINGS:
        yield make_pipeline(StandardScaler(), clone(model)).fit(X, LABELS), NEW
    for kind in (pliant.DANKClassifier, pliant.KNPLRegressor, pliant.TKLRegressor):
        targets = LABELS if kind is pliant.DANKClassifier else Y
        yield kind(partition={"n_parts": 2, "random_state": 0}).fit(X, targets), NEW
    for model, y in OTHERS:
        yield clone(model).fit(X, y), NEW
    gram = Gaussian(0.5)(X)
    yield pliant.DANKClassifier("precomputed").fit(gram, LABELS), gram
    for model in blends():
        yield model, NEW
    codes = np.column_stack([np.where(X[:, :1] > 6, np.nan, X[:, :1]), LABELS, np.arange(75) % 40])
    encoder = ColumnEncoder({1: ("a", "b", "c"), 2: 40})
    yield make_pipeline(encoder, Ridge()).fit(codes, Y), codes
    for case in SAVED:
        (kernel,) = case.values
        yield kernel, points_of(kernel, 6)


@pytest.mark.processes
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_process_without_scikit_learn_predicts_the_same_bits(tmp_path, monkeypatch):
    points, expected = {}, {}
    for number, (model, rows) in enumerate(models()):
        name = f"{number} {type(model).__name__}"
        save(model, tmp_path / f"{name}.pliant")
        loaded, points[name] = load(tmp_path / f"{name}.pliant"), rows
        with monkeypatch.context() as patch:
            patch.setattr(process, "BARE", True)
            values = outputs(loaded, rows)
        assert values, name
        expected |= {f"{name} {call}": each for call, each in values.items()}
    np.savez(tmp_path / "points.npz", **points)
    words = [sys.executable, "-m", "tests.persistence.bare_process", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found = np.load(tmp_path / "found.npz")
    assert sorted(found.files) == sorted(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
