"""Classifiers on learned kernels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import DANKClassifier, LearnedKernelClassifier, SCGLogDetLearner
from pliant.core.form import check_loaded
from tests.methods.supervised.test_embedding import LEARNERS, every_learner, given_points
from tests.methods.supervised.test_scg import assert_close, data


def partial(y, seed=0):
    hidden = np.random.default_rng(seed).random(len(y)) < 0.4
    hidden[:3] = False
    return np.where(hidden, -1, y)


@every_learner
@pytest.mark.parametrize("labels", ["all", "some"])
def test_machine_is_fitted_on_the_scaled_kernel_of_labelled_points(name, labels):
    X, y = data()
    y = y if labels == "all" else partial(y)
    learner = LEARNERS[name]
    points = given_points(learner, X)
    model = LearnedKernelClassifier(learner, SVC(kernel="precomputed", C=3.0), unlabeled=-1)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if labels == "some" else None
    model.fit(points, y, sample_weight=weights)
    rows = np.flatnonzero(y >= 0)
    gram = clone(learner).set_params(unlabeled=-1).fit_gram(points, y)[np.ix_(rows, rows)]
    variance = gram.diagonal().mean() - gram.mean()
    assert model.scale_ == pytest.approx(1.0 / variance, rel=1e-9)
    weights = None if weights is None else weights[rows]
    machine = SVC(kernel="precomputed", C=3.0).fit(gram / variance, y[rows], weights)
    assert len(model.support_vectors_) == len(rows)
    assert_close(model.kernel_(model.support_vectors_), gram / variance)
    cross = model.kernel_(points, model.support_vectors_)
    assert_close(model.decision_function(points), machine.decision_function(cross), 1e-6)
    np.testing.assert_array_equal(model.predict(points), model.machine_.predict(cross))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


@pytest.mark.parametrize("labels", ["all", "some"])
def test_the_kernel_depends_on_the_samples_but_not_on_their_weights(labels):
    """Samples of weight zero are removed: SVC would keep the row numbers of those after them."""
    X, y = data()
    y = y if labels == "all" else partial(y)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    weights[::3] = 0.0
    machine = SVC(kernel="precomputed", C=3.0)
    model = LearnedKernelClassifier(machine=machine, unlabeled=-1, random_state=0)
    model.fit(X, y, sample_weight=weights)
    rows = np.flatnonzero((weights > 0) & (y >= 0))
    plain = clone(model).fit(X[weights > 0], y[weights > 0])
    assert model.scale_ == plain.scale_
    np.testing.assert_array_equal(model.support_vectors_, X[rows])
    kernel = plain.kernel_
    machine.fit(kernel(X[rows], X[rows]), y[rows], weights[rows])
    cross = kernel(X, X[rows])
    assert_close(model.decision_function(X), machine.decision_function(cross), 1e-5)
    np.testing.assert_array_equal(model.predict(X), model.machine_.predict(cross))
    assert model.summary().learner["labelled"] == len(rows)


def test_a_single_class_with_weight_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match=r"at least two classes, got one class: \[1\]$"):
        LearnedKernelClassifier().fit(X, y, sample_weight=y == 1)
    hidden = np.where(y == 2, -1, y)
    LearnedKernelClassifier(unlabeled=-1).fit(X, hidden, sample_weight=hidden >= 0)


@pytest.mark.parametrize("kind", [int, float])
def test_a_class_of_minus_one_beside_others_warns_once(kind):
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0))
    with pytest.warns(UserWarning, match=r"-1 in y counts as a class.*pass unlabeled=-1") as seen:
        model.fit(X, (y - 1).astype(kind))
    assert len(seen) == 1
    np.testing.assert_array_equal(model.classes_, [-1, 0, 1])


@pytest.mark.filterwarnings("error")
def test_signs_texts_and_a_given_mark_do_not_warn():
    X, y = data()
    learner, some = SCGLogDetLearner(strength=1.0), y - 1
    model = LearnedKernelClassifier(learner).fit(X, np.where(y > 0, 1, -1))
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    model.fit(X, some.astype(str))
    np.testing.assert_array_equal(model.classes_, ["-1", "0", "1"])
    model.fit(X, some, sample_weight=some >= 0)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    for mark, classes in ((-1, [0, 1]), (7, [-1, 0, 1])):
        model = LearnedKernelClassifier(learner, unlabeled=mark).fit(X, some)
        np.testing.assert_array_equal(model.classes_, classes)


@pytest.mark.timeout(method="thread")  # interrupts a loop in C
@pytest.mark.parametrize("fill", [0.0, 0.1, 1.0, 1e8])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_equal_points_have_a_scale(kernel, fill):
    """Equal points have no variance; an SVM may not terminate for huge equal values."""
    X, y = np.full((21, 2), fill), np.arange(21) % 2
    model = LearnedKernelClassifier(SCGLogDetLearner(kernel, strength=1.0)).fit(X, y)
    size = model.kernel_.diag(model.support_vectors_).mean()
    assert size == pytest.approx(1.0 if fill or kernel == "gaussian" else 0.0, abs=1e-9)
    assert set(model.predict(X)) <= {0, 1}


def test_kernel_does_not_depend_on_held_out_labels():
    """Random labels have scores near chance for a strong learner."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 2, 120)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1e5), SVC(kernel="precomputed", C=10))
    assert model.fit(X, y).score(X, y) > 0.85
    assert cross_val_score(model, X, y, cv=4).mean() < 0.65


@pytest.mark.parametrize(
    "machine",
    [
        SVC(kernel="precomputed", C=10.0),
        DANKClassifier("precomputed", extension="none"),
        make_pipeline(SVC(kernel="precomputed")),
        GridSearchCV(SVC(kernel="precomputed"), {"C": [1.0, 10.0]}, cv=2),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_machines_on_kernel_values(machine):
    X, y = load_iris(return_X_y=True)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), machine).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


@pytest.mark.parametrize(
    ("learner", "machine", "error", "message"),
    [
        (None, SVC(), TypeError, r'kernel="precomputed", got SVC\(\)'),
        (None, KNeighborsClassifier(metric="precomputed"), TypeError, "kernel values"),
        (None, StandardScaler(), TypeError, "kernel values"),
        (None, KernelRidge(kernel="precomputed"), TypeError, "to be a classifier, got KernelRidge"),
        (StandardScaler(), None, TypeError, "expected learner to be an SCGLogDetLearner"),
        (SCGLogDetLearner(strength=-1.0), None, ValueError, "strength from 1e-12"),
        (SCGLogDetLearner(unlabeled=-1), None, ValueError, "expected unlabeled as a parameter of"),
        (
            SCGLogDetLearner(strength=1.0, kernel="gaussian", gamma=0),
            None,
            ValueError,
            "gamma from 1e-12",
        ),
    ],
)
def test_invalid_learners_and_machines_raise(learner, machine, error, message):
    X, y = data()
    model = LearnedKernelClassifier(learner, machine)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_invalid_targets_and_attributes_raise():
    X, y = data()
    for parameters, labels, message in [
        ({}, np.zeros(40, dtype=int), "two classes"),
        ({"unlabeled": -1}, np.full(40, -1), "two classes"),
        ({}, np.linspace(0, 1, 40), "Unknown label type"),
        ({"random_state": "abc"}, y, "expected random_state"),
    ]:
        with pytest.raises(ValueError, match=message):
            LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), **parameters).fit(X, labels)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0))
    for name, value in [("scale_", -1.0), ("learner_", 3.0), ("machine_", None)]:
        model.fit(X, y)
        setattr(model, name, value)
        with pytest.raises((ValueError, TypeError)):
            check_loaded(model)
