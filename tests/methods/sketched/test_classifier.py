"""SketchedKernelRidgeClassifier beside scikit-learn's RidgeClassifier on features of centres."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier

from pliant import ModelFileError, SketchedKernelRidgeClassifier
from pliant.kernels import Gaussian
from pliant.persistence import load_model, save_model
from tests.methods.sketched.sketched_cases import NEW, WEIGHTS, X, Y

TWO = np.where(Y > 0.3, "up", "down")
THREE = np.digitize(Y, [-0.5, 0.7])


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("solver", ["cg", "direct"])
def test_decisions_are_those_of_a_ridge_classifier_on_features(labels, class_weight, solver):
    features = Nystroem(gamma=1.5, n_components=50, random_state=0).fit(X)
    peer = RidgeClassifier(0.2, class_weight=class_weight)
    peer.fit(features.transform(X), labels, sample_weight=WEIGHTS)
    model = SketchedKernelRidgeClassifier(
        Gaussian(1.5),
        0.2,
        centers=features.components_,
        class_weight=class_weight,
        solver=solver,
        tol=1e-8,
    ).fit(X, labels, WEIGHTS)
    expected = peer.decision_function(features.transform(NEW))
    np.testing.assert_allclose(model.decision_function(NEW), expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.predict(NEW), peer.predict(features.transform(NEW)))
    np.testing.assert_array_equal(model.classes_, peer.classes_)
    assert not hasattr(model, "predict_proba")


def test_weights_of_classes_by_name():
    weighted = SketchedKernelRidgeClassifier(class_weight={"up": 3.0, "down": 1.0}).fit(X, TWO)
    by_rows = SketchedKernelRidgeClassifier().fit(X, TWO, np.where(TWO == "up", 3.0, 1.0))
    np.testing.assert_allclose(weighted.decision_function(NEW), by_rows.decision_function(NEW))


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "expected class_weight None, 'balanced' or a dict of the classes, got 'even'"),
        ({"up": -1.0, "down": 1.0}, "expected finite class weights > 0, got {'up': -1.0"),
        ({"up": np.inf, "down": 1.0}, "expected finite class weights > 0, got {'up': inf"),
    ],
)
def test_weights_of_classes_that_cannot_be_used(class_weight, message):
    with pytest.raises(ValueError, match=message):
        SketchedKernelRidgeClassifier(class_weight=class_weight).fit(X, TWO)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * 400, "expected at least two classes, got one class: 'a'"),
        (Y, "Unknown label type: continuous"),
        (TWO[:-1], "inconsistent numbers of samples"),
    ],
)
def test_labels_that_cannot_be_learned(y, message):
    with pytest.raises(ValueError, match=message):
        SketchedKernelRidgeClassifier().fit(X, y)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_a_model_survives_a_file_and_a_forged_one_is_refused(tmp_path, labels):
    model = SketchedKernelRidgeClassifier(n_centers=20, random_state=0).fit(X, labels)
    save_model(model, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    model.classes_ = np.array([*model.classes_, model.classes_[-1] + model.classes_[-1]])
    with pytest.raises(ModelFileError, match="expected coefficients for"):
        save_model(model, tmp_path / "forged.pliant")
