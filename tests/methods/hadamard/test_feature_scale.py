"""DANK and KNPL warn of features whose scales are so unlike that the kernel misses some."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import (
    DANKClassifier,
    DANKRegressor,
    FeatureScaleWarning,
    KNPLClassifier,
    KNPLRegressor,
)
from pliant.kernels import Gaussian, Rescaled

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
UNLIKE = X * [1.0, 5000.0, 2.0]


@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor])
def test_it_names_both_columns_the_ratio_and_the_remedy_once(make):
    with pytest.warns(FeatureScaleWarning) as caught:
        make().fit(UNLIKE, Y)
    assert len(caught) == 1
    ratio = UNLIKE[:, 1].std() / UNLIKE[:, 0].std()
    assert str(caught[0].message) == (
        f"{make.__name__} got features of very unlike scale: the standard deviation of column 1 is "
        f"{ratio:.2g} times that of column 0, which the kernel hardly sees; scale the features, as "
        f"in make_pipeline(StandardScaler(), {make.__name__}())"
    )
    assert caught[0].filename == __file__
    frame = pd.DataFrame(UNLIKE, columns=["age", "income", "size"])
    with pytest.warns(FeatureScaleWarning, match=r"of 'income' is .* that of 'age', which"):
        make().fit(frame, Y)


def columns(*extra):
    return np.column_stack([X, *extra])


RARE = np.zeros(40)
RARE[7] = 1.0


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (KNPLClassifier(), X * [1.0, 900.0, 1.0]),
        (make_pipeline(StandardScaler(), KNPLClassifier()), UNLIKE),
        (KNPLClassifier(), columns(np.full(40, 7e9), np.zeros(40), 0.1 + 1e-17 * X[:, 0])),
        (KNPLClassifier(), columns(RARE, 1.0 - RARE)),
        (KNPLClassifier(), columns(np.tile(5.0, 40) + 1e-15 * X[:, 0])),
        (KNPLClassifier("precomputed", extension="none"), Gaussian(1e-7)(UNLIKE)),
        (KNPLClassifier(Gaussian([1.0, 1e-7, 0.5])), UNLIKE),
        (KNPLClassifier(Rescaled(Gaussian(), 0.0, UNLIKE.std(axis=0))), UNLIKE),
        (KNPLClassifier(lambda A, B: Gaussian(1e-7)(A, B)), UNLIKE),
    ],
    ids=[
        "below the threshold", "scaled before", "constants", "rare indicator", "rounding",
        "precomputed", "a gamma each", "rescaled", "function",
    ],
)  # fmt: skip
def test_it_is_silent(model, data):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FeatureScaleWarning)
        assert model.fit(data, Y).score(data, Y) > 0.4
