"""Numbers at the ends of the float range give finite predictions or a one-sentence error."""

import numpy as np
import pandas as pd
import pytest

import pliant
from pliant import DANKClassifier, KNPLClassifier, SketchedKernelRidge

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
TARGET = np.sin(X[:, 0])
CLASSIFIERS, REGRESSORS = (
    [
        getattr(pliant, name)
        for name in pliant.__all__
        if getattr(getattr(pliant, name), "_estimator_type", kind) == kind and name.endswith(ending)
    ]
    for kind, ending in (("classifier", "Classifier"), ("regressor", ("Regressor", "Ridge")))
)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_features_targets_and_weights_beyond_1e100_are_refused(kind):
    large, y = X.copy(), Y if kind in CLASSIFIERS else TARGET
    large[3, 1] = -1e160
    with pytest.raises(ValueError, match=r"features of at most 1e100 .* -1e\+160 in X at row 3"):
        kind().fit(large, y)
    if kind in REGRESSORS:
        with pytest.raises(ValueError, match=r"targets of at most 1e100 .* in y at row \d+"):
            kind().fit(X, 1e200 * y)
    if "sample_weight" in kind.fit.__code__.co_varnames:
        with pytest.raises(ValueError, match="weights of at most 1e100"):
            kind().fit(X, y, sample_weight=np.full(12, 1e150))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_are_classes_of_one_type(kind):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):  # scikit-learn's rule
        kind().fit(X, Y * 0.5)
    with pytest.raises(ValueError, match="expected labels of one type"):
        kind().fit(X, np.array(["b", 1] * 6, dtype=object))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_text_is_no_target(kind):
    with pytest.raises(ValueError, match="expected y to hold numbers: got an array of <U1"):
        kind().fit(X, np.array(["a", "b"] * 6))


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize(
    ("odd", "error", "words"),
    [
        (10**400, ValueError, "expected numbers that fit in float64: int too large"),
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
    "make",
    [
        lambda seed: DANKClassifier(partition={"random_state": seed}),
        lambda seed: KNPLClassifier(partition={"random_state": seed}),
        lambda seed: SketchedKernelRidge(random_state=seed),
    ],
    ids=["DANK", "KNPL", "sketched"],
)
def test_seeds_out_of_range_are_quoted(make, seed):
    with pytest.raises(ValueError, match=rf"integer from 0 to 2\*\*32 - 1, got {seed!r}"):
        make(seed).fit(X, Y)
