"""A memory for learned kernels: the same machines, and each kernel learned once."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

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
from tests.methods.side_information.test_scg import data

LEARNERS = {
    "scg": SCGLogDetLearner(strength=10.0),
    "scg, strength from the data": SCGLogDetLearner(),
    "scg, complete": SCGLogDetLearner(strength=10.0, graph="complete"),
    "scg, landmarks": SCGLogDetLearner(strength=10.0, n_landmarks=20),
    "scg, components": SCGLogDetLearner(strength=10.0, n_components=2),
    "scg, precomputed": SCGLogDetLearner("precomputed", strength=10.0),
    "osk": OrderSpectralLearner(n_components=20),
    "osk, scg": OrderSpectralLearner("scg", n_components=20),
    "ldk": LogDetLearner(max_pairs=50, tol=0.1),
    "a machine with a kernel": TKLClassifier(C=10.0, tol=0.1),
}


def sample(learner, n=40):
    X, y = data(n)
    y = y % 2 if isinstance(learner, TKLClassifier) else y
    return (Gaussian(0.3)(X) if getattr(learner, "kernel", None) == "precomputed" else X), y


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


@pytest.fixture(params=["folder", "joblib", "in memory"])
def memory(request, tmp_path):
    return memories(tmp_path)[request.param]


@pytest.mark.parametrize("name", LEARNERS)
def test_machines_are_the_same_with_and_without(name, tmp_path):
    learner = LEARNERS[name]
    X, y = sample(learner)
    places = memories(tmp_path)
    for known in (y, np.where(np.arange(len(y)) % 3, y, -1)):
        for C in (3.0, 0.1):
            plain = machine_on(learner, C=C).fit(X, known)
            for place, memory in places.items():
                other = machine_on(learner, memory, C).fit(X, known)
                assert answers(other, X) == answers(plain, X), place
                assert vars(other.learner_).keys() == vars(plain.learner_).keys(), place


@pytest.mark.parametrize("learner", [SCGLogDetLearner(), TKLRegressor(C=10.0, tol=0.1)])
def test_regressions_are_the_same_with_and_without(learner, tmp_path):
    X, _ = data()
    y = np.sin(X[:, 0])
    plain = LearnedKernelRegressor(learner, random_state=0).fit(X, y)
    for place, memory in memories(tmp_path).items():
        for _ in range(2):
            other = LearnedKernelRegressor(learner, random_state=0, memory=memory).fit(X, y)
            assert other.predict(X).tobytes() == plain.predict(X).tobytes(), place


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
    assert learns(unit_variance=False) == 0
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


def test_another_version_learns_again(learned, monkeypatch, tmp_path):
    X, y = data()
    machine_on(LEARNERS["scg"], str(tmp_path)).fit(X, y)
    machine_on(LEARNERS["scg"], str(tmp_path)).fit(X, y)
    assert len(learned) == 1
    monkeypatch.setattr(learned_kernel, "__version__", "0.0.1")
    machine_on(LEARNERS["scg"], str(tmp_path)).fit(X, y)
    assert len(learned) == 2


def test_a_search_learns_one_kernel_for_each_fold_and_learner(memory, learned):
    X, y = data(60)
    grid = {"learner__strength": [1.0, 100.0], "machine__C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(machine_on(SCGLogDetLearner(), memory), grid, cv=StratifiedKFold(2))
    search.fit(X, y)
    assert len(learned) == 2 * 2 + 1
    plain = GridSearchCV(machine_on(SCGLogDetLearner()), grid, cv=StratifiedKFold(2)).fit(X, y)
    assert len(learned) == 2 * 2 + 1 + 2 * 2 * 3 + 1
    assert search.best_params_ == plain.best_params_
    for name in ("split0_test_score", "split1_test_score"):
        assert search.cv_results_[name].tolist() == plain.cv_results_[name].tolist()
    assert answers(search.best_estimator_, X) == answers(plain.best_estimator_, X)


def test_machines_do_not_share_what_one_of_them_changes():
    X, y = data()
    one, two = (machine_on(LEARNERS["scg"], RecentResults()) for _ in range(2))
    two.memory = one.memory
    one.fit(X, y)
    expected = answers(one, X)
    two.fit(X, y).learner_.kernel_.matrix[:] = 0.0
    assert answers(one, X) == expected
    assert answers(clone(one).fit(X, y), X) == expected


def test_learning_that_fails_is_not_kept(learned):
    X, y = data()
    model = machine_on(SCGLogDetLearner(strength=-1.0), RecentResults())
    for _ in range(2):
        with pytest.raises(ValueError, match=r"expected strength > 0, a finite number, got -1\.0"):
            model.fit(X, y)
    assert len(learned) == 2
    model.set_params(learner__strength=1.0).fit(X, y)
    with pytest.raises(ValueError, match="'memory' should be None, a string or"):
        clone(model).set_params(memory=3).fit(X, y)


def test_it_is_a_parameter_like_any_other(tmp_path):
    for kind in (LearnedKernelClassifier, LearnedKernelRegressor):
        model = kind(memory=str(tmp_path))
        assert kind().get_params()["memory"] is None
        assert model.get_params()["memory"] == str(tmp_path)
        assert clone(model).memory == str(tmp_path)
        assert f"memory={str(tmp_path)!r}" in repr(model).replace("\n", "")
    learner = SCGLogDetLearner(strength=10.0)
    check_estimator(LearnedKernelClassifier(learner, memory=RecentResults(1.0)), on_skip=None)


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


def test_a_warning_points_at_the_fit(memory):
    X, y = data()
    with pytest.warns(match="stopped after 1 sweeps") as caught:
        machine_on(LogDetLearner(max_iter=1, slack=1.0), memory).fit(X, y)
    assert {each.filename for each in caught} == {__file__}
