"""Numbers outside the domain are refused at validation, with a sentence that says what to do."""

import inspect

import numpy as np
import pandas as pd
import pytest

import pliant
from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    GeneralizedPolynomial,
    GKLRegressor,
    KNPLClassifier,
    KNPLRegressor,
    MKLRegressor,
    SketchedKernelRidge,
)
from pliant.exceptions import SampleWeightWarning
from pliant.kernels import Linear
from tests.contracts.discovery import ESTIMATORS, constraints_of

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


def takes_weights(kind):
    return "sample_weight" in inspect.signature(kind.fit).parameters


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_features_targets_and_weights_beyond_1e100_are_refused(kind):
    large, y = X.copy(), Y if kind in CLASSIFIERS else TARGET
    large[3, 1] = -1e160
    with pytest.raises(ValueError, match=r"features of at most 1e100 .* -1e\+160 in X at row 3"):
        kind().fit(large, y)
    if kind in REGRESSORS:
        with pytest.raises(ValueError, match=r"targets of at most 1e100 .* in y at row \d+"):
            kind().fit(X, 1e200 * y)
    if takes_weights(kind):
        with pytest.raises(ValueError, match="weights of at most 1e100"):
            kind().fit(X, y, sample_weight=np.full(12, 1e150))


WEIGHING = {"C", "alpha", "gamma", "eta", "eta_scale", "strength", "slack"}
"""Parameters that weigh one term against another, or one feature against the distance of 1."""


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("value", [1e-20, 1e20])
def test_parameters_that_weigh_terms_are_from_1e_12_to_1e12(kind, value):
    chosen = WEIGHING & set(kind._get_param_names())
    assert chosen - {"gamma"} <= set(constraints_of(kind))
    for name in chosen:
        message = rf"expected {name} .*from 1e-12 to 1e12(, or inf)?, got 1e.20$"
        with pytest.raises(ValueError, match=message):
            kind(**{name: value}).fit(X, TARGET if kind in REGRESSORS else Y)


@pytest.mark.parametrize(
    "kind", [each for each in [*CLASSIFIERS, *REGRESSORS] if takes_weights(each)]
)
def test_weights_below_1e_9_of_the_largest_count_as_zero(kind):
    names = kind._get_param_names()
    few = {"n_members": 2, "max_iter": 5} if "n_support" in names else {}  # LAB-RBF
    options = {name: value for name, value in {"random_state": 0, **few}.items() if name in names}
    y = Y if kind in CLASSIFIERS else TARGET
    light, zero = np.ones(12), np.ones(12)
    light[[2, 5]], zero[[2, 5]] = (0.9e-9, 1e-300), 0.0
    with pytest.warns(SampleWeightWarning, match="^2 positive sample weights are below") as seen:
        model = kind(**options).fit(X, y, sample_weight=light)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    other = kind(**options).fit(X, y, sample_weight=zero)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize(
    "estimator",
    [
        AsymmetricKernelRidge("linear"),
        KNPLRegressor("linear"),
        KNPLRegressor("linear", cache_mb=1e-4),
        MKLRegressor(["linear", "gaussian"], normalize=False),
        SketchedKernelRidge("linear"),
        SketchedKernelRidge(1e80 * Linear()),
        GKLRegressor(GeneralizedPolynomial(0.0, 1e75)),
        AsymmetricKernelRidge("precomputed"),
        KNPLRegressor("precomputed"),
    ],
    ids=repr,
)
def test_kernel_values_beyond_1e75_are_refused(estimator):
    points = 1e80 * np.eye(3) if "precomputed" in repr(estimator) else 1e40 * X[:3]
    message = "expected kernel values of at most 1e75 in absolute value, got .*, or the kernel$"
    with pytest.raises(ValueError, match=message):
        estimator.fit(points, [0.0, 1.0, 2.0])


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
