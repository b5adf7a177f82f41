"""Support vector machines, kernel weights and ridge regression refuse data of other kinds."""

import numpy as np
import pandas as pd
import pytest

from pliant import (
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    MKLClassifier,
    MKLRegressor,
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
)

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
CLASSIFIERS = [
    DANKClassifier,
    KNPLClassifier,
    MKLClassifier,
    SketchedKernelRidgeClassifier,
]
REGRESSORS = [DANKRegressor, KNPLRegressor, MKLRegressor, SketchedKernelRidge]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_of_any_size_are_classes(kind):
    model = kind().fit(X, Y * -7e18)
    assert set(model.predict(X)) <= {0.0, -7e18}
    with pytest.raises(ValueError, match="Unknown label type: continuous"):  # scikit-learn's rule
        kind().fit(X, Y * 1e300)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_that_cannot_be_sorted_are_refused(kind):
    with pytest.raises(ValueError, match="expected labels of one type in y: '<' not supported"):
        kind().fit(X, np.array(["b", 1] * 6, dtype=object))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_text_is_no_target(kind):
    with pytest.raises(ValueError, match="expected y to hold numbers: got an array of <U1"):
        kind().fit(X, np.array(["a", "b"] * 6))


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize(
    ("odd", "error", "words"),
    [
        (10**400, ValueError, "expected numbers in the range of floats: int too large"),
        (pd.NA, TypeError, r"expected X and y to hold numbers: float\(\) argument must be"),
    ],
)
def test_objects_that_are_no_floats_are_refused(kind, odd, error, words):
    table = X.astype(object)
    table[3, 1] = odd
    with pytest.raises(error, match=words):
        kind().fit(pd.DataFrame(table) if odd is pd.NA else table, Y)


@pytest.mark.parametrize("seed", [-1, 2**40, "abc"])
@pytest.mark.parametrize(
    "model",
    [
        DANKClassifier(partition="kmeans", n_parts=2),
        KNPLClassifier(partition="kmeans", n_parts=2),
        SketchedKernelRidge(),
    ],
)
def test_seeds_out_of_range_are_quoted(model, seed):
    with pytest.raises(ValueError, match=rf"integer from 0 to 2\*\*32 - 1, got {seed!r}"):
        model.set_params(random_state=seed).fit(X, Y)
