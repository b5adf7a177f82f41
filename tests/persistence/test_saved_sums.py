"""Sums of kernels, and the estimators that learn their weights, survive a model file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import MKLClassifier, MKLRegressor, ModelFileError
from pliant.kernels import (
    Gaussian,
    Linear,
    Normalized,
    On,
    Polynomial,
    Precomputed,
    Rescaled,
    WeightedSum,
)
from pliant.persistence import load_model, save_model

r = np.random.default_rng(0)
X, NEW = r.normal(size=(40, 3)), r.normal(size=(15, 3))
F = X[:, 0] + np.sin(2 * X[:, 1])
Y = np.where(F > 0, "high", "low")
THIRDS = np.digitize(F, [-0.5, 0.5])
GIVEN = [Gaussian(0.5), On(Polynomial(2), [0, 2]), Rescaled(Gaussian(), [1.0, 2.0, 3.0], 2.0)]


def round_trip(model, path):
    save_model(model, path)
    return load_model(path).model


@pytest.mark.parametrize(
    "kernel",
    [
        WeightedSum(GIVEN, [0.5, 0.25, 0.25]),
        WeightedSum([Normalized(On(Linear(), slice(1, None))), 2.0 * Gaussian()], [0.1, -0.2]),
        WeightedSum((WeightedSum(GIVEN, 1.0), On(Gaussian([1.0, 2.0]), [True, False, True])), 0.5),
    ],
    ids=range(3),
)
def test_a_weighted_sum_survives_on_its_own(tmp_path, kernel):
    loaded = round_trip(kernel, tmp_path / "k.pliant")
    assert type(loaded) is WeightedSum
    np.testing.assert_array_equal(loaded(NEW, X), kernel(NEW, X))
    assert (loaded.psd, loaded.symmetric) == (kernel.psd, kernel.symmetric)


MODELS = [
    (MKLClassifier(C=10.0), Y),
    (MKLClassifier(GIVEN, C=5.0, norm=2.0), Y),
    (MKLClassifier(["gaussian", "linear"], weights="uniform"), Y),
    (MKLClassifier([Gaussian(), *GIVEN], normalize=False), THIRDS),
    (MKLRegressor(C=10.0), F),
    (MKLRegressor(GIVEN, weights="uniform", epsilon=10.0), F),
]


@pytest.mark.parametrize(("model", "y"), MODELS, ids=range(len(MODELS)))
def test_every_model_survives(tmp_path, model, y):
    model = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    loaded = round_trip(model, tmp_path / "m.pliant")
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    before, after = model[-1], loaded[-1]
    assert set(vars(after)) == set(vars(before))
    assert after.kernel_names_ == before.kernel_names_
    assert repr(after.kernels_) == repr(before.kernels_)
    assert repr(after.get_params()) == repr(before.get_params())
    for ours, theirs in zip(
        getattr(after, "estimators_", [after]),
        getattr(before, "estimators_", [before]),
        strict=True,
    ):
        assert ours.weights_.tobytes() == theirs.weights_.tobytes()
        assert ours.kernel_(NEW, X).tobytes() == theirs.kernel_(NEW, X).tobytes()
        assert (ours.objective_, ours.dual_gap_) == (theirs.objective_, theirs.dual_gap_)
    weights = (each.summary().weights.weights for each in (after, before))
    np.testing.assert_array_equal(*weights)


def test_columns_by_name_and_gram_matrices_survive(tmp_path):
    frame = pd.DataFrame(X, columns=["age", "dose", "day"])
    named = MKLClassifier([On(Gaussian(), ["age"]), On(Linear(), ["dose", "day"])]).fit(frame, Y)
    loaded = round_trip(named, tmp_path / "named.pliant")
    np.testing.assert_array_equal(loaded.predict(frame), named.predict(frame))
    numbers = np.arange(40.0)[:, None]
    grams = [Precomputed(kernel(X)) for kernel in (Gaussian(), Linear())]
    model = MKLClassifier(grams).fit(numbers[:30], Y[:30])
    loaded = round_trip(model, tmp_path / "grams.pliant")
    decisions = (each.decision_function(numbers[30:]) for each in (loaded, model))
    np.testing.assert_array_equal(*decisions)


def test_a_function_as_a_kernel_is_refused_in_one_sentence(tmp_path):
    def product(A, B):
        return A @ B.T

    model = MKLClassifier([product, "gaussian"]).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"function' is the function '.*product'") as caught:
        save_model(model, tmp_path / "m.pliant")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


FORGERIES = {
    "weights, too few": lambda m: setattr(m, "weights_", m.weights_[:-1]),
    "weights, a number": lambda m: setattr(m, "weights_", 1.0),
    "weights, none": lambda m: setattr(m, "weights_", None),
    "weights, nan": lambda m: setattr(m, "weights_", np.nan * m.weights_),
    "weights, others": lambda m: setattr(m, "weights_", m.weights_ + 0.1),
    "kernels, none": lambda m: setattr(m, "kernels_", None),
    "kernels, too few": lambda m: setattr(m, "kernels_", m.kernels_[:-1]),
    "kernels, a text": lambda m: setattr(m, "kernels_", ["gaussian", *m.kernels_[1:]]),
    "names": lambda m: setattr(m, "kernel_names_", m.kernel_names_[:-1]),
    "names, numbers": lambda m: setattr(m, "kernel_names_", [1, 2, 3]),
    "sum, another kernel": lambda m: setattr(m, "kernel_", Gaussian()),
    "sum, too few weights": lambda m: setattr(m.kernel_, "weights", m.kernel_.weights[:-1]),
    "sum, nan": lambda m: setattr(m.kernel_, "weights", np.nan * m.kernel_.weights),
    "sum, no kernel": lambda m: m.kernel_.kernels.__setitem__(0, 3.0),
    "sum, no kernels": lambda m: setattr(m.kernel_, "kernels", []),
    "columns": lambda m: setattr(m.kernel_, "kernels", [On(Linear(), [7])] * 3),
    "columns, a dict": lambda m: setattr(m.kernel_.kernels[1].kernel, "columns", {"a": 1}),
    "part": lambda m: setattr(m.kernel_.kernels[1], "kernel", "gaussian"),
    "coefficients": lambda m: setattr(m, "dual_coef_", m.dual_coef_[:-1]),
    "bound": lambda m: setattr(m, "lower_bound_", np.nan),
    "history": lambda m: setattr(m, "gap_history_", np.array([np.inf])),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, forge):
    model = MKLClassifier(GIVEN, norm=2.0).fit(X, Y)
    assert (model.weights_ > 0).all()
    FORGERIES[forge](model)
    with pytest.raises(ModelFileError, match="expected"):
        round_trip(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []


def test_the_weights_of_a_pair_of_classes_are_checked_too(tmp_path):
    iris = load_iris(return_X_y=True)
    model = MKLClassifier(["gaussian", "linear"]).fit(*iris)
    model.estimators_[1].weights_ = np.ones(3)
    with pytest.raises(ModelFileError, match="a weight for each of 2 kernels"):
        round_trip(model, tmp_path / "m.pliant")
    model.fit(*iris).estimators_[2].kernel_names_ = ["b", "a"]
    with pytest.raises(ModelFileError, match="a weight for each of 2 kernels"):
        round_trip(model, tmp_path / "m.pliant")
