"""Machines on learned kernels: the kernel is learned where the machine is fitted, only there."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pliant import (
    DANKClassifier,
    DANKRegressor,
    LearnedKernelClassifier,
    LearnedKernelRegressor,
    LogDetLearner,
    ModelFileError,
    OrderSpectralLearner,
    SCGLogDetLearner,
    TKLClassifier,
    TKLRegressor,
)
from pliant.kernels import Gaussian
from pliant.methods.side_information.information import SideInformation
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


def test_the_variance_in_feature_space_is_one():
    X, y = data()
    for strength in (1e-2, 1e6):
        model = LearnedKernelClassifier(SCGLogDetLearner(strength=strength)).fit(X, y)
        gram = model.kernel_(model.support_vectors_)
        assert gram.diagonal().mean() - gram.mean() == pytest.approx(1.0, abs=1e-6)
        bare = LearnedKernelClassifier(SCGLogDetLearner(strength=strength), unit_variance=False)
        assert bare.fit(X, y).scale_ == 1.0
        assert_close(bare.kernel_(X), bare.learner_.kernel_(X), 0)


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


@every_learner
def test_an_answer_does_not_depend_on_its_batch(name):
    X, y = data()
    learner = LEARNERS[name]
    model = LearnedKernelClassifier(learner, unlabeled=-1).fit(given_points(learner, X), partial(y))
    new = np.random.default_rng(1).standard_normal((8, 3))
    if "precomputed" in name:
        new = Gaussian(0.3)(new, X)
    whole = model.decision_function(new)
    assert_close(np.concatenate([model.decision_function(x[None]) for x in new]), whole, 1e-9)
    assert_close(model.decision_function(new[::-1]), whole[::-1], 1e-9)


def test_many_new_points_go_by_blocks(monkeypatch):
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(X, y)
    new = np.random.default_rng(1).standard_normal((50, 3))
    whole = model.decision_function(new)
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 300)
    assert_close(model.decision_function(new), whole, 1e-12)
    np.testing.assert_array_equal(model.predict(new), model.predict(new.tolist()))


def test_the_order_of_the_rows_does_not_matter():
    X, y = data()
    order = np.random.default_rng(3).permutation(40)
    one = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(X, y)
    two = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(X[order], y[order])
    assert_close(two.kernel_(X), one.kernel_(X), 1e-9)
    assert two.scale_ == pytest.approx(one.scale_, rel=1e-9)


# -- cross-validation -------------------------------------------------------------------------


def test_cross_validation_learns_the_kernel_again_in_every_fold():
    X, y = load_iris(return_X_y=True)
    Spy.seen.clear()
    folds = StratifiedKFold(3)
    cross_val_score(LearnedKernelClassifier(Spy(strength=1.0)), X, y, cv=folds)
    assert len(Spy.seen) == 3
    for (points, labels, _), (train, _) in zip(Spy.seen, folds.split(X, y), strict=True):
        np.testing.assert_array_equal(points, X[train])
        np.testing.assert_array_equal(labels, y[train])


def test_a_search_over_strengths_learns_for_each_of_them():
    X, y = load_iris(return_X_y=True)
    Spy.seen.clear()
    grid = {"learner__strength": [1.0, 100.0], "machine__C": [1.0, 10.0]}
    model = LearnedKernelClassifier(Spy(), SVC(kernel="precomputed"))
    search = GridSearchCV(model, grid, cv=StratifiedKFold(2)).fit(X, y)
    fits = [(len(points), strength) for points, _, strength in Spy.seen]
    assert len(fits) == 2 * 2 * 2 + 1
    assert {strength for _, strength in fits[:-1]} == {1.0, 100.0}
    assert {n for n, _ in fits[:-1]} == {75}
    assert fits[-1] == (150, search.best_params_["learner__strength"])
    assert search.best_score_ > 0.93
    assert search.predict(X[:3]).tolist() == [0, 0, 0]


def test_held_out_labels_do_not_reach_the_kernel():
    """Labels that mean nothing score by chance, however strongly the kernel is bent to them."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 2, 120)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1e5), SVC(kernel="precomputed", C=10))
    assert model.fit(X, y).score(X, y) > 0.85
    assert cross_val_score(model, X, y, cv=4).mean() < 0.65


def test_one_kernel_is_learned_for_one_fit(monkeypatch):
    """Neither the base kernel's matrix nor the learned one is made over and over."""
    seen = []
    original = Gaussian._gram
    monkeypatch.setattr(
        Gaussian, "_gram", lambda self, X, Y: seen.append(len(X) * len(Y)) or original(self, X, Y)
    )
    X, y = data(200)
    LearnedKernelClassifier(SCGLogDetLearner(Gaussian(0.5), strength=1.0)).fit(X, y)
    assert sum(seen) <= 200 * 200
    seen.clear()
    y[50:] = -1
    y[:3] = [0, 1, 2]
    LearnedKernelClassifier(SCGLogDetLearner(Gaussian(0.5), strength=1.0), unlabeled=-1).fit(X, y)
    assert sum(seen) <= 50 * 50


def test_unlabelled_points_cost_no_memory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 2))
    y = np.full(6000, -1)
    y[:60] = (X[:60, 0] > 0).astype(int)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), unlabeled=-1)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # the matrix of all points would take 288e6


def test_the_learned_matrix_is_not_copied_more_often_than_needed():
    n = 1500
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    y = (X[:, 0] > 0).astype(int)
    model = LearnedKernelClassifier(
        SCGLogDetLearner(strength=1.0), SVC(kernel="precomputed", C=1.0)
    )
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8.5 * 8 * n * n


def test_a_precomputed_matrix_is_sliced_on_both_sides():
    X, y = load_iris(return_X_y=True)
    by_matrix = LearnedKernelClassifier(SCGLogDetLearner("precomputed", strength=1.0))
    by_points = LearnedKernelClassifier(SCGLogDetLearner(Gaussian(0.2), strength=1.0))
    scores = cross_val_score(by_matrix, Gaussian(0.2)(X), y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(by_points, X, y, cv=3))


# -- labels -----------------------------------------------------------------------------------


CLASS_NAMES = {
    "text": (np.array(["b", "a", "c"]), "?"),
    "objects": (np.array(["b", "a", "c"], dtype=object), "?"),
    "numbers": (np.array([7, -3, 100]), -1),
    "-1 is a class": (np.array([7, -1, 100]), 0),
    "real numbers": (np.array([1.0, 5.0, 2.0]), -1.0),
    "all known": (np.array([-1, 0, 1]), None),
}


@pytest.mark.parametrize("names", CLASS_NAMES)
@pytest.mark.parametrize("container", ["array", "list", "series"])
def test_classes_may_have_any_names(names, container):
    X, y = data()
    kinds, unknown = CLASS_NAMES[names]
    known = np.arange(40) % 4 > 0 if unknown is not None else np.ones(40, dtype=bool)
    labels = kinds[y].astype(object)
    labels[~known] = unknown
    labels = np.array(labels.tolist(), dtype=kinds.dtype)
    codes = np.where(known, y, -1)
    taken = {"array": labels, "list": labels.tolist(), "series": pd.Series(labels)}[container]
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), unlabeled=unknown).fit(X, taken)
    assert sorted(model.classes_.tolist()) == model.classes_.tolist() == sorted(kinds.tolist())
    twin = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), unlabeled=-1).fit(X, codes)
    assert_close(model.kernel_(X), twin.kernel_(X), 1e-12)
    np.testing.assert_array_equal(model.predict(X), kinds[twin.predict(X)])


def test_minus_one_and_plus_one_are_classes_unless_told_otherwise():
    X, y = data()
    signs = np.where(y > 0, 1, -1)
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(X, signs)
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    with pytest.raises(ValueError, match="two classes"):
        LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), unlabeled=-1).fit(X, signs)


def test_what_is_unknown_is_said_in_one_place():
    X, y = data()
    with pytest.raises(ValueError, match=r"unlabeled.*LearnedKernelClassifier.*unlabeled=-1"):
        LearnedKernelClassifier(SCGLogDetLearner(strength=1.0, unlabeled=-1)).fit(X, partial(y))


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


def test_probabilities_are_there_if_the_machine_has_them():
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0))
    for each in (model, clone(model).fit(X, y)):
        assert not hasattr(each, "predict_proba")
        assert hasattr(each, "decision_function")


class Proba(SVC):
    """A machine with probabilities and without decision values."""

    @property
    def decision_function(self):
        raise AttributeError("this machine has none")

    @property
    def predict_proba(self):
        return lambda K: np.full((len(K), 3), 1 / 3)


def test_methods_are_those_of_the_machine():
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), Proba(kernel="precomputed"))
    assert not hasattr(model, "decision_function")
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), np.full((40, 3), 1 / 3))


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


@pytest.mark.parametrize("seed", [-1, np.array([1.0, 2.0]), "abc"])
@pytest.mark.parametrize("kind", [LearnedKernelClassifier, LearnedKernelRegressor])
@pytest.mark.parametrize("learner", [None, SVC(), OrderSpectralLearner()])
def test_a_bad_random_state_is_refused_whatever_takes_it(kind, learner, seed):
    X, y = data()
    with pytest.raises(ValueError, match="expected random_state None, a RandomState, or an int"):
        kind(learner, random_state=seed).fit(X, y)


def test_an_error_of_an_estimator_from_elsewhere_names_it_and_the_values():
    X, y = data()
    message = r"learner that can be fitted .*, got SVC\(\), which raised ValueError: The "
    with pytest.raises(ValueError, match=message):
        LearnedKernelClassifier(SVC()).fit(X * 1e200, y)
    learner, machine = SCGLogDetLearner("precomputed", strength=1.0), SVC(kernel="precomputed")
    model = LearnedKernelClassifier(learner, machine, unit_variance=False)
    message = r"to take kernel values up to \d.*e\+30\d, got SVC\(kernel=.*, which raised"
    with pytest.raises(ValueError, match=message):
        model.fit(1e304 * Gaussian(0.3)(X), y)


def test_a_learner_that_is_a_machine_on_a_matrix_is_refused_in_plain_words():
    X, y = data()
    y = (y > 0).astype(int)
    model = LearnedKernelClassifier(DANKClassifier("precomputed", extension="none"))
    with pytest.raises((TypeError, ValueError), match=r"precomputed|square"):
        model.fit(Gaussian(0.3)(X), y)


@pytest.mark.parametrize(
    ("parameters", "labels", "message"),
    [
        ({}, np.zeros(40, dtype=int), "two classes"),
        ({"unlabeled": -1}, np.full(40, -1), "two classes|some labelled"),
        ({}, np.linspace(0, 1, 40), "Unknown label type"),
        ({}, np.arange(39), "inconsistent numbers"),
        ({"unit_variance": "no"}, np.arange(40) % 2, "unit_variance.*'no'"),
        ({"unlabeled": "?"}, np.array(["a", 1] * 20, dtype=object), "one type, got text and 1"),
        ({}, np.where(np.arange(40) % 2, np.nan, 1.0), "NaN"),
        ({}, np.array([None, "a"] * 20, dtype=object), "None"),
    ],
)
def test_bad_labels(parameters, labels, message):
    X, _ = data()
    with pytest.raises(ValueError, match=message):
        LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), **parameters).fit(X, labels)


def test_bad_points():
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0))
    for points, error, message in (
        (scipy.sparse.csr_array(X), TypeError, "dense"),
        (np.where(X > 2.0, np.nan, X), ValueError, "NaN"),
        (X[:, 0], ValueError, "2D"),
    ):
        with pytest.raises(error, match=message):
            model.fit(points, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2])
    with pytest.raises(TypeError, match="dense"):
        model.predict(scipy.sparse.csr_array(X))


@pytest.mark.parametrize("where", ["learner", "machine"])
def test_a_fit_that_is_broken_off_leaves_nothing_half_done(monkeypatch, where):
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(X, y)

    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr({"learner": SCGLogDetLearner, "machine": SVC}[where], "fit", broken)
    monkeypatch.setattr(SideInformation, "graph", broken if where == "learner" else None)
    if where == "machine":
        monkeypatch.undo()
        monkeypatch.setattr(SVC, "fit", broken)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:20], y[:20])
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_parts_stay_as_they_are():
    X, y = data()
    learner, machine = SCGLogDetLearner(), SVC(kernel="precomputed")
    model = LearnedKernelClassifier(learner, machine, unlabeled=-1, random_state=0).fit(X, y)
    assert (model.learner, model.machine) == (learner, machine)
    assert not [name for part in (learner, machine) for name in vars(part) if name.endswith("_")]
    assert learner.get_params() == SCGLogDetLearner().get_params()
    K = Gaussian(0.3)(X)
    kept = K.copy()
    LearnedKernelClassifier(SCGLogDetLearner("precomputed", strength=1.0)).fit(K, y)
    np.testing.assert_array_equal(K, kept)


def test_the_random_state_reaches_the_learner():
    X, y = data()
    learner = SCGLogDetLearner(strength=1.0, n_landmarks=8)
    one, two, other = (
        LearnedKernelClassifier(learner, random_state=seed).fit(X, y).decision_function(X)
        for seed in (0, 0, 1)
    )
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()
    LearnedKernelClassifier(OrderSpectralLearner(), random_state=0).fit(X, y)  # which takes none


def test_tables_pipelines_and_copies():
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)))
    scores = model.fit(table, y).decision_function(table)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    bare = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(table, y)
    assert list(bare.feature_names_in_) == ["a", "b", "c"]
    copy = pickle.loads(pickle.dumps(model))
    assert copy.decision_function(table).tobytes() == scores.tobytes()
    assert repr(clone(model)) == repr(model)


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


@pytest.mark.parametrize(
    "machine",
    [KernelRidge(kernel="precomputed"), SVR(kernel="precomputed"), DANKRegressor("precomputed")],
)
def test_any_regressor_on_kernel_values_will_do(machine):
    X, _ = data()
    if isinstance(machine, DANKRegressor):
        machine.set_params(extension="none")
    model = LearnedKernelRegressor(SCGLogDetLearner(strength=1.0), machine).fit(X, targets(X))
    assert model.predict(X[:7]).shape == (7,)
    assert not hasattr(model, "decision_function")


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


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"n_bins": 1}, np.arange(40.0), "n_bins >= 2"),
        ({"n_bins": 2.5}, np.arange(40.0), "integer, got 2.5"),
        ({}, np.ones(40), "targets that vary.*got 1 for all"),
        ({}, np.full(40, -3.0), "got -3 for all"),
        ({"unit_variance": 1.5}, np.arange(40.0), "unit_variance"),
    ],
)
def test_bad_regressions(parameters, y, message):
    X, _ = data()
    with pytest.raises(ValueError, match=message):
        LearnedKernelRegressor(SCGLogDetLearner(strength=1.0), **parameters).fit(X, y)


def test_a_regression_wants_a_regressor():
    X, _ = data()
    model = LearnedKernelRegressor(SCGLogDetLearner(strength=1.0), SVC(kernel="precomputed"))
    with pytest.raises(TypeError, match="to be a regressor, got SVC"):
        model.fit(X, targets(X))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("others", [1, 10])
def test_many_equal_targets_are_one_class(sign, others):
    X, _ = data()
    y = sign * np.r_[np.arange(1.0, others + 1.0), np.zeros(40 - others)]
    model = LearnedKernelRegressor(SCGLogDetLearner(strength=1.0)).fit(X, y)
    codes = model.learner_.classes_
    assert len(codes) >= 2
    assert np.isfinite(model.predict(X)).all()


# -- files ------------------------------------------------------------------------------------


SAVED = {
    "pliant's machine": LearnedKernelClassifier(
        SCGLogDetLearner(strength=1.0), DANKClassifier("precomputed", extension="none")
    ),
    "a search for the strength": LearnedKernelClassifier(
        SCGLogDetLearner(), DANKClassifier("precomputed", extension="none"), random_state=0
    ),
    "landmarks": LearnedKernelClassifier(
        SCGLogDetLearner(strength=1.0, n_landmarks=9),
        DANKClassifier("precomputed", extension="none"),
    ),
    "osk": LearnedKernelClassifier(
        OrderSpectralLearner(), DANKClassifier("precomputed", extension="none")
    ),
    "ridge": LearnedKernelRegressor(SCGLogDetLearner(strength=1.0)),
    "ridge on a matrix": LearnedKernelRegressor(SCGLogDetLearner("precomputed", strength=1.0)),
    "ldk": LearnedKernelRegressor(LogDetLearner(max_pairs=50, tol=0.1)),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_model_file_keeps_the_answers(tmp_path, name):
    X, y = data()
    model = clone(SAVED[name])
    points = given_points(model.learner, X)
    model.fit(points, y if isinstance(model, LearnedKernelClassifier) else targets(X))
    path = tmp_path / "m.skops"
    save_model(model, path)
    loaded = load_model(path).model
    assert loaded.predict(points).tobytes() == model.predict(points).tobytes()
    assert vars(loaded).keys() == vars(model).keys()
    assert loaded.kernel_(model.support_vectors_).tobytes() == (
        model.kernel_(model.support_vectors_).tobytes()
    )


def test_a_machine_that_a_file_cannot_hold_says_so_when_it_is_saved(tmp_path):
    X, y = data()
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0)).fit(X, y)
    with pytest.raises(ModelFileError, match=r"expected kernel in .*, got 'precomputed'"):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


FORGERIES = {
    "scale": lambda m: setattr(m, "scale_", -1.0),
    "scale, text": lambda m: setattr(m, "scale_", "1"),
    "support": lambda m: setattr(m, "support_vectors_", m.support_vectors_[:-1]),
    "support, nan": lambda m: setattr(m, "support_vectors_", np.nan * m.support_vectors_),
    "learner": lambda m: setattr(m, "learner_", 3.0),
    "kernel": lambda m: setattr(m.learner_, "kernel_", None),
    "Q": lambda m: setattr(m.learner_.kernel_, "matrix", m.learner_.kernel_.matrix[:2]),
    "machine": lambda m: setattr(m, "machine_", None),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, forge):
    X, _ = data()
    model = LearnedKernelRegressor(SCGLogDetLearner(strength=1.0)).fit(X, targets(X))
    FORGERIES[forge](model)
    with pytest.raises(ModelFileError):
        save_model(model, tmp_path / "m.skops")
