"""Estimators on learned kernels: the kernel is learned with the estimator, in every fold."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pliant import (
    DANKClassifier,
    LearnedKernelClassifier,
    LearnedKernelRegressor,
    LogDetLearner,
    ModelFileError,
    OrderSpectralLearner,
    SCGLogDetLearner,
    TKLClassifier,
    TKLRegressor,
)
from pliant.comparison.run.sharing import RecentResults
from pliant.kernels import Gaussian
from pliant.methods.side_information import learned_kernel
from pliant.persistence import load_model, save_model
from tests.methods.side_information.test_scg import assert_close, data

LEARNERS = {
    "scg": SCGLogDetLearner(strength=10.0),
    "scg, complete": SCGLogDetLearner(strength=10.0, graph="complete"),
    "scg, graph": SCGLogDetLearner("graph", strength=10.0),
    "scg, landmarks": SCGLogDetLearner(strength=10.0, n_landmarks=20, random_state=0),
    "scg, components": SCGLogDetLearner(strength=10.0, n_components=2),
    "scg, precomputed": SCGLogDetLearner("precomputed", strength=10.0),
    "osk": OrderSpectralLearner(n_components=20),
    "ldk": LogDetLearner(max_pairs=50, tol=0.1, random_state=0),
}


every_learner = pytest.mark.parametrize("name", LEARNERS)


def given_points(learner, X):
    return Gaussian(0.3)(X) if getattr(learner, "kernel", None) == "precomputed" else X


def partial(y, seed=0):
    hidden = np.random.default_rng(seed).random(len(y)) < 0.4
    hidden[:3] = False
    return np.where(hidden, -1, y)


class Spy(SCGLogDetLearner):
    """Remembers what it was fitted on."""

    seen: list = []  # noqa: RUF012  shared by clones

    def _learn(self, points, information):
        self.seen.append((points.copy(), information.labels.copy(), self.strength))
        return super()._learn(points, information)


@every_learner
@pytest.mark.parametrize("labels", ["all", "some"])
def test_the_machine_sees_the_learned_kernel_of_the_labelled_points(name, labels):
    X, y = data()
    y = y if labels == "all" else partial(y)
    learner = LEARNERS[name]
    points = given_points(learner, X)
    model = LearnedKernelClassifier(learner, SVC(kernel="precomputed", C=3.0), unlabeled=-1)
    model.fit(points, y)
    rows = np.flatnonzero(y >= 0)
    gram = clone(learner).set_params(unlabeled=-1).fit_gram(points, y)[np.ix_(rows, rows)]
    variance = gram.diagonal().mean() - gram.mean()
    assert model.scale_ == pytest.approx(1.0 / variance, rel=1e-9)
    machine = SVC(kernel="precomputed", C=3.0).fit(gram / variance, y[rows])
    assert len(model.support_vectors_) == len(rows)
    assert_close(model.kernel_(model.support_vectors_), gram / variance)
    cross = model.kernel_(points, model.support_vectors_)
    assert_close(model.decision_function(points), machine.decision_function(cross), 1e-6)
    np.testing.assert_array_equal(model.predict(points), model.machine_.predict(cross))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


@pytest.mark.timeout(30, method="thread")  # nothing else ends a loop in C
@pytest.mark.parametrize("fill", [0.0, 0.1, 1.0, 1e8])
@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_equal_points_have_a_scale_all_the_same(kernel, fill):
    """They have no variance; a machine on huge kernel values that are all equal may never end."""
    X, y = np.full((21, 2), fill), np.arange(21) % 2
    model = LearnedKernelClassifier(SCGLogDetLearner(kernel, strength=1.0)).fit(X, y)
    size = model.kernel_.diag(model.support_vectors_).mean()
    assert size == pytest.approx(1.0 if fill or kernel == "gaussian" else 0.0, abs=1e-9)
    assert set(model.predict(X)) <= {0, 1}


def test_held_out_labels_do_not_reach_the_kernel():
    """Labels that mean nothing score by chance, however strongly the kernel is bent to them."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 2, 120)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1e5), SVC(kernel="precomputed", C=10))
    assert model.fit(X, y).score(X, y) > 0.85
    assert cross_val_score(model, X, y, cv=4).mean() < 0.65


# -- other machines and learners --------------------------------------------------------------


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
def test_any_machine_on_kernel_values_will_do(machine):
    X, y = load_iris(return_X_y=True)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), machine).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


@pytest.mark.parametrize("learner", [TKLClassifier(tol=0.1), DANKClassifier(Gaussian(0.5))])
def test_any_estimator_with_a_kernel_is_a_learner(learner):
    X, y = data()
    y = (y > 0).astype(int)
    labels = partial(y)
    model = LearnedKernelClassifier(learner, unlabeled=-1).fit(X, labels)
    rows = np.flatnonzero(labels >= 0)
    expected = clone(learner).fit(X[rows], y[rows]).kernel_(X)
    assert_close(model.kernel_(X) / model.scale_, expected, 1e-12)
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("learner", "machine", "error", "message"),
    [
        (None, SVC(), TypeError, r'kernel="precomputed", got SVC\(\)'),
        (None, KNeighborsClassifier(metric="precomputed"), TypeError, "kernel values"),
        (None, StandardScaler(), TypeError, "kernel values"),
        (None, KernelRidge(kernel="precomputed"), TypeError, "to be a classifier, got KernelRidge"),
        (StandardScaler(), None, TypeError, "to learn one kernel, as `kernel_`, got none"),
        (SVC(kernel="linear"), None, TypeError, "to learn one kernel"),
        (TKLClassifier(tol=0.9), None, TypeError, "one kernel for each pair of classes"),
        (SCGLogDetLearner(strength=-1.0), None, ValueError, "strength > 0"),
        (SCGLogDetLearner(strength=1.0, kernel="gaussian", gamma=0), None, ValueError, "gamma > 0"),
    ],
)
def test_parts_that_do_not_fit_are_refused(learner, machine, error, message):
    X, y = data()
    model = LearnedKernelClassifier(learner, machine)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- regression -------------------------------------------------------------------------------


def targets(X, seed=0):
    rng = np.random.default_rng(seed)
    return np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "osk"])
def test_a_regression_on_a_learned_kernel(name):
    X, _ = data(80)
    y = targets(X)
    learner = LEARNERS[name]
    points = given_points(learner, X)
    model = LearnedKernelRegressor(learner, KernelRidge(kernel="precomputed", alpha=0.01))
    model.fit(points, y)
    edges = np.quantile(y, [0.2, 0.4, 0.6, 0.8])
    codes = np.searchsorted(edges, y, side="left")
    gram = clone(learner).fit_gram(points, codes)
    variance = gram.diagonal().mean() - gram.mean()
    machine = KernelRidge(kernel="precomputed", alpha=0.01).fit(gram / variance, y)
    expected = machine.predict(model.kernel_(points, model.support_vectors_))
    assert_close(model.predict(points), expected, 1e-5)
    assert model.score(points, y) > 0.5


def test_a_regressor_that_learns_a_kernel_gets_the_targets_themselves():
    X, _ = data()
    y = targets(X)
    learner = TKLRegressor(tol=0.1)
    model = LearnedKernelRegressor(learner, SVR(kernel="precomputed")).fit(X, y)
    assert_close(model.kernel_(X) / model.scale_, clone(learner).fit(X, y).kernel_(X), 1e-12)


def test_cross_validation_of_a_regression_learns_again():
    X, _ = data(60)
    y = targets(X)
    Spy.seen.clear()
    model = LearnedKernelRegressor(Spy(strength=1.0), n_bins=3)
    cross_val_score(model, X, y, cv=KFold(3))
    for (points, codes, _), (train, _) in zip(Spy.seen, KFold(3).split(X), strict=True):
        np.testing.assert_array_equal(points, X[train])
        assert set(codes) == {0, 1, 2}
        assert np.bincount(codes).max() - np.bincount(codes).min() <= 2


def machine_on(learner, memory=None, C=3.0):
    return LearnedKernelClassifier(
        learner, SVC(kernel="precomputed", C=C), unlabeled=-1, random_state=0, memory=memory
    )


def answers(model, X):
    parts = (model.decision_function(X), model.scale_, model.kernel_(X, model.support_vectors_))
    return [np.asarray(part).tobytes() for part in parts]


@pytest.fixture
def learned(monkeypatch):
    """The learners that learned something, in a list."""
    seen = []
    original = learned_kernel.fit_learner

    def spy(learner, *rest):
        seen.append(learner)
        return original(learner, *rest)

    spy.__module__, spy.__qualname__ = original.__module__, original.__qualname__
    monkeypatch.setattr(learned_kernel, "fit_learner", spy)
    return seen


def memories(path):
    """Memories of each kind, of which none knows what another one holds."""
    return {
        "folder": str(path / "folder"),
        "joblib": joblib.Memory(path / "joblib", verbose=0),
        "in memory": RecentResults(),
    }


@pytest.mark.parametrize("name", LEARNERS)
def test_machines_are_the_same_with_and_without(name, tmp_path):
    learner = LEARNERS[name]
    X, y = data()
    X = given_points(learner, X)
    places = memories(tmp_path)
    for known in (y, np.where(np.arange(len(y)) % 3, y, -1)):
        for C in (3.0, 0.1):
            plain = machine_on(learner, C=C).fit(X, known)
            for place, memory in places.items():
                other = machine_on(learner, memory, C).fit(X, known)
                assert answers(other, X) == answers(plain, X), place
                assert vars(other.learner_).keys() == vars(plain.learner_).keys(), place


def test_only_what_the_kernel_depends_on_makes_it_learned_again(learned):
    X, y = data()
    model = machine_on(LEARNERS["scg"], RecentResults()).fit(X, y)

    def learns(X=X, y=y, **settings):
        before = len(learned)
        clone(model).set_params(**settings).fit(X, y)
        return len(learned) - before

    assert len(learned) == 1
    assert learns() == 0
    assert learns(machine__C=0.5) == 0
    assert learns(machine=DANKClassifier("precomputed", extension="none")) == 0
    assert learns(X=X.tolist(), y=y.tolist()) == 0
    assert learns(y=np.array(["a", "b", "c"])[y]) == 0
    assert learns(learner__strength=11.0) == 1
    assert learns(random_state=1) == 1
    assert learns(learner__kernel=Gaussian(0.1)) == 1
    assert learns(X=X[:-1], y=y[:-1]) == 1
    assert learns(X=X[::-1], y=y[::-1]) == 1
    assert learns(X=np.nextafter(X, 9.0)) == 1
    assert learns(y=np.where(np.arange(len(y)) == 3, -1, y)) == 1
    assert learns(learner=OrderSpectralLearner()) == 1
    assert learns(learner__strength=11.0) == 0


def test_a_fitted_machine_travels_without_its_memory(tmp_path):
    X, y = data()
    model = machine_on(LEARNERS["scg"], str(tmp_path / "kernels"))
    assert pickle.loads(pickle.dumps(model)).memory == str(tmp_path / "kernels")
    model.set_params(machine=DANKClassifier("precomputed", extension="none")).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    save_model(model, tmp_path / "m.skops")
    assert str(tmp_path).encode() not in (tmp_path / "m.skops").read_bytes()
    for other in (copy, load_model(tmp_path / "m.skops").model):
        assert other.memory is None
        assert answers(other, X) == answers(model, X)
    assert model.memory == str(tmp_path / "kernels")
    assert clone(model).memory == str(tmp_path / "kernels")


def test_a_file_with_a_memory_is_refused(tmp_path, monkeypatch):
    """A pickle would be read from the folder that a stranger names."""
    X, y = data()
    machine = DANKClassifier("precomputed", extension="none")
    model = LearnedKernelClassifier(LEARNERS["scg"], machine, memory=str(tmp_path)).fit(X, y)
    monkeypatch.setattr(learned_kernel.BaseLearnedKernel, "__getstate__", lambda m: vars(m))
    with pytest.raises(ModelFileError, match="expected memory=None, which a file does not keep"):
        save_model(model, tmp_path / "m.skops")


def test_unsuitable_targets_and_attributes_are_refused():
    X, y = data()
    for parameters, labels, message in [
        ({}, np.zeros(40, dtype=int), "two classes"),
        ({"unlabeled": -1}, np.full(40, -1), "two classes"),
        ({}, np.linspace(0, 1, 40), "Unknown label type"),
        ({"memory": 3}, y, "'memory' should be None, a string or"),
        ({"random_state": "abc"}, y, "expected random_state"),
    ]:
        with pytest.raises(ValueError, match=message):
            LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), **parameters).fit(X, labels)
    model = LearnedKernelRegressor(SCGLogDetLearner(strength=1.0))
    with pytest.raises(ValueError, match=r"targets that vary.*got 1 for all"):
        model.fit(X, np.ones(40))
    with pytest.raises(TypeError, match="to be a regressor, got SVC"):
        clone(model).set_params(machine=SVC(kernel="precomputed")).fit(X, targets(X))
    for name, value in [("scale_", -1.0), ("learner_", 3.0), ("machine_", None)]:
        model.fit(X, targets(X))
        setattr(model, name, value)
        with pytest.raises((ValueError, TypeError)):
            model._check_loaded()
