"""SCG-LDK as an estimator: what it learns, what comes out, what it refuses."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import ModelFileError, NonPSDWarning, SCGLogDetLearner, SideInformation, scg_loss
from pliant.kernels import (
    TL1,
    Gaussian,
    LandmarkKernel,
    Linear,
    LogDetKernel,
    Polynomial,
    as_kernel,
)
from pliant.methods.side_information.scg import LARGEST_GRAPH
from pliant.methods.side_information.scg_problem import SCGLogDet
from pliant.methods.side_information.selection import FALLBACK, STRENGTHS
from pliant.persistence import load_model, save_model
from tests.reference import naive_supervision as naive

SETTINGS = {
    "as it comes": {},
    "eigh": {"solver": "eigh"},
    "the paper's graph": {"graph": "complete"},
    "the paper's graph, eigh": {"graph": "complete", "solver": "eigh"},
    "the paper's strength": {"scale_strength": False, "graph": "complete"},
    "beta": {"beta": 4.0},
    "linear": {"kernel": "linear", "gamma": "scale"},
    "polynomial": {"kernel": "polynomial"},
    "of a neighbour graph": {"kernel": "graph"},
    "a sum": {"kernel": Gaussian(0.5) + 0.1 * Linear()},
    "a function": {"kernel": lambda A, B: (A @ B.T + 1.0) ** 2},
    "precomputed": {"kernel": "precomputed"},
    "precomputed, complete": {"kernel": "precomputed", "graph": "complete"},
    "features": {"n_landmarks": 12},
    "features, complete": {"n_landmarks": 12, "graph": "complete"},
    "features, precomputed": {"n_landmarks": 12, "kernel": "precomputed"},
}
every_setting = pytest.mark.parametrize("setting", SETTINGS)
INFORMATION = ("labels", "partial labels", "pairs")
every_information = pytest.mark.parametrize("how", INFORMATION)
labels_and_pairs = pytest.mark.parametrize("how", ["partial labels", "pairs"])
seeds = st.integers(0, 2**32 - 1)

REFERENCE_X = np.random.default_rng(12345).normal(size=(12, 3))
REFERENCE_Y = np.array([0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1])


def data(n=40, d=3, seed=0):
    """Points, two of them equal, with classes that follow from them in part."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[7] = X[3]
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int) + (X[:, 1] > 0.7)
    y[:3] = [0, 1, 2]
    return X, y


def known_of(y, how, seed=0):
    """Return the side information as arguments of `fit`."""
    if how == "labels":
        return {"y": y}
    if how == "partial labels":
        hidden = np.random.default_rng(seed).random(len(y)) < 0.5
        hidden[:3] = False
        return {"y": np.where(hidden, -1, y)}
    rng = np.random.RandomState(seed)
    pairs, signs = SideInformation.from_labels(y).sample_pairs(len(y), rng)
    return {"similar": pairs[signs > 0], "dissimilar": pairs[signs < 0]}


def learner_of(setting, strength=100.0, **parameters):
    return SCGLogDetLearner(strength=strength, random_state=0).set_params(
        **SETTINGS[setting], **parameters
    )


def given_points(learner, X):
    """Return what the learner is fitted on: points, or their kernel values."""
    return Gaussian(0.3)(X) if learner.kernel == "precomputed" else X


def assert_close(actual, expected, tol=1e-10):
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * scale)


def test_reference_values():
    learner = SCGLogDetLearner(
        Gaussian(1 / 4.5), strength=1.0, scale_strength=False, graph="complete"
    )
    K = learner.fit_gram(REFERENCE_X, REFERENCE_Y)
    values = {
        7.53514276989: np.trace(K),
        -20.60836985785: np.linalg.slogdet(K)[1],
        4.198144318291: learner.objective_,
        0.646254493927: K[0, 0],
        0.312659675682: K[0, 3],
        -0.586533974030: learner.kernel_.matrix[0, 0],
        0.765534207786: learner.kernel_(np.zeros((1, 3)))[0, 0],
    }
    for expected, actual in values.items():
        assert actual == pytest.approx(expected, abs=1e-9)
    np.testing.assert_array_equal(learner.classes_, [0, 1, 2])


@every_setting
@every_information
@pytest.mark.parametrize("strength", [1.0, 1e4])
def test_the_kernel_at_the_fit_points_is_the_learned_matrix(setting, how, strength):
    X, y = data()
    learner, known = learner_of(setting, strength), known_of(y, how)
    points = given_points(learner, X)
    gram = learner.fit_gram(points, **known)
    assert gram.shape == (40, 40)
    base = learner.kernel_.base
    size = np.abs(base(learner.support_vectors_)).max()
    assert_close(learner.kernel_(learner.support_vectors_) / size, gram / size)
    assert_close(learner.kernel_(points, learner.support_vectors_) / size, gram / size)
    assert_close(learner.kernel_.diag(learner.support_vectors_) / size, gram.diagonal() / size)
    assert np.linalg.eigvalsh(gram / size)[0] >= -1e-10


@every_setting
@labels_and_pairs
def test_what_comes_out_agrees(setting, how):
    X, y = data()
    learner, known = learner_of(setting), known_of(y, how)
    points = given_points(learner, X)
    rows = learner.fit_transform(points, **known)
    assert_close(learner.transform(points), rows)
    assert clone(learner).fit(points, **known).transform(points).tobytes() == (
        learner.transform(points).tobytes()
    )
    gram = clone(learner).fit_gram(points, **known)
    assert_close(rows @ rows.T if isinstance(learner.kernel_, LandmarkKernel) else rows, gram)
    assert rows.shape[1] == len(learner.get_feature_names_out())
    assert learner.n_features_in_ == points.shape[1]


@every_setting
@pytest.mark.parametrize(("how", "n_components"), [("partial labels", 2), ("pairs", None)])
def test_an_answer_does_not_depend_on_its_batch(setting, how, n_components):
    X, y = data()
    learner = learner_of(setting, n_components=n_components)
    learner.fit(given_points(learner, X), **known_of(y, how))
    new = np.random.default_rng(1).standard_normal((9, 3))
    new[2] = X[5]
    size = np.abs(learner.kernel_.base(learner.support_vectors_)).max()
    if learner.kernel == "precomputed":
        new = Gaussian(0.3)(new, X)
    whole = learner.transform(new)
    for i in (0, 2, 8):
        assert_close(learner.transform(new[[i]])[0] / size, whole[i] / size, 1e-12)
    assert_close(learner.transform(new[::-1]) / size, whole[::-1] / size, 1e-12)


@pytest.mark.parametrize("setting", [name for name in SETTINGS if "features" not in name])
@labels_and_pairs
def test_the_order_of_the_rows_does_not_matter(setting, how):
    X, y = data()
    learner, known = learner_of(setting), known_of(y, how)
    points = given_points(learner, X)
    gram = learner.fit_gram(points, **known)
    order = np.random.default_rng(2).permutation(40)
    place = np.argsort(order)
    turned = {name: y[order] if name == "y" else place[y] for name, y in known.items()}
    points = points[np.ix_(order, order)] if learner.kernel == "precomputed" else points[order]
    other = clone(learner)
    assert_close(other.fit_gram(points, **turned)[np.ix_(place, place)], gram, 1e-9)
    assert other.objective_ == pytest.approx(learner.objective_, abs=1e-9)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigh"])
@pytest.mark.parametrize("graph", ["labeled", "complete"])
@every_information
def test_it_is_the_paper_s_kernel(solver, graph, how):
    X, y = data(20)
    X[7] = 0.0  # the twin inverts K0
    known = known_of(y, how)
    learner = SCGLogDetLearner(
        "laplacian", 0.8, strength=3.0, scale_strength=False, graph=graph, beta=1.5, solver=solver
    )
    gram = learner.fit_gram(X, **known)
    information = (
        SideInformation.from_labels(y=known["y"])
        if "y" in known
        else SideInformation.from_pairs(20, **known)
    )
    edges = information.graph(graph, 1.5)
    S = np.zeros((20, 20))
    S[np.ix_(edges.members, edges.members)] = edges.toarray()
    K0 = learner.kernel_.base(X)
    assert_close(gram, np.linalg.inv(np.linalg.inv(K0) + 3.0 * S))
    sign, value = np.linalg.slogdet(np.eye(20) + 3.0 * S @ K0)
    assert sign == 1
    assert learner.objective_ == pytest.approx(value, abs=1e-9)


def test_strength_is_divided_by_the_points_of_the_graph():
    X, y = data()
    y[::3] = -1
    a = int((y >= 0).sum())
    for graph, size in (("labeled", a), ("complete", 40)):
        scaled = SCGLogDetLearner(strength=100.0, graph=graph).fit(X, y)
        raw = SCGLogDetLearner(strength=100.0 / size, scale_strength=False, graph=graph).fit(X, y)
        np.testing.assert_array_equal(raw.transform(X), scaled.transform(X))
        assert (scaled.strength_, raw.strength_) == (100.0, 100.0 / size)


def test_more_strength_means_less_loss():
    X, y = data()
    known = SideInformation.from_labels(y)
    grams = [SCGLogDetLearner(strength=s).fit_gram(X, y) for s in 10.0 ** np.arange(-2, 6)]
    assert (np.diff([scg_loss(gram, known) for gram in grams]) < 0).all()


@every_information
@pytest.mark.parametrize("graph", ["labeled", "complete"])
@pytest.mark.parametrize("strength", [1.0, 1e4])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "linear"])
def test_all_points_as_landmarks_give_the_exact_kernel(how, graph, strength, kernel):
    X, y = data()
    known = known_of(y, how)
    exact = SCGLogDetLearner(kernel, strength=strength, graph=graph)
    features = clone(exact).set_params(n_landmarks=40, random_state=0)
    K = exact.fit_gram(X, **known)
    # eigenvalues below 1e-12 of the largest are left out: K changes by about them, and by about
    # their roots between fit points and new ones
    assert_close(features.fit_gram(X, **known), K, 1e-9)
    assert features.objective_ == pytest.approx(exact.objective_, abs=1e-8)
    assert features.approximation_error_ == pytest.approx(0.0, abs=1e-12)
    new = np.random.default_rng(1).standard_normal((20, 3))
    assert_close(features.kernel_(new, X), exact.kernel_(new, X), 1e-6)


def test_more_landmarks_come_nearer():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    K = SCGLogDetLearner(strength=100.0).fit_gram(X, y)
    errors, missing = [], []
    for m in (5, 20, 80):
        learner = SCGLogDetLearner(strength=100.0, n_landmarks=m, random_state=0)
        gram = learner.fit_gram(X, y)
        assert learner.transform(X).shape[1] <= m
        errors.append(np.linalg.norm(gram - K) / np.linalg.norm(K))
        missing.append(learner.approximation_error_)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
    assert missing[0] > missing[1] > missing[2] > 0


def test_landmarks_are_at_most_the_points_and_follow_the_seed():
    X, y = data()
    many = SCGLogDetLearner(strength=1.0, n_landmarks=1000, random_state=3).fit(X, y)
    assert len(many.kernel_.landmarks) == 40
    one, two, other = (
        SCGLogDetLearner(strength=1.0, n_landmarks=9, random_state=seed).fit_transform(X, y)
        for seed in (0, 0, 1)
    )
    assert one.tobytes() == two.tobytes()
    assert one.tobytes() != other.tobytes()


@every_setting
def test_components_are_centred_and_uncorrelated(setting):
    X, y = data()
    learner = learner_of(setting, n_components=3)
    points = given_points(learner, X)
    rows = learner.fit_transform(points, y)
    assert rows.shape == (40, 3)
    np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-8)
    variances = learner.components_.variances
    np.testing.assert_allclose(rows.T @ rows, np.diag(variances), atol=1e-8 * variances[0])
    assert (np.diff(variances) <= 0).all()
    assert_close(learner.transform(points), rows, 1e-9)
    # squared distances in all components are those in the feature space
    gram = clone(learner).fit_gram(points, y)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    assert variances.sum() <= np.trace(centred) * (1 + 1e-9)
    top = np.linalg.eigvalsh(centred)[::-1][:3]
    np.testing.assert_allclose(variances, top, atol=1e-8 * top[0])


def test_names_tables_and_samples():
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(40) + 100)
    learner = SCGLogDetLearner(strength=1.0, n_components=2).set_output(transform="pandas")
    rows = learner.fit_transform(table, y)
    names = ["scglogdetlearner0", "scglogdetlearner1"]
    assert list(rows.columns) == names == list(learner.get_feature_names_out())
    assert list(rows.index) == list(table.index)
    pd.testing.assert_frame_equal(learner.transform(table), rows, rtol=0, atol=1e-10)
    assert list(learner.feature_names_in_) == ["a", "b", "c"]
    assert isinstance(learner.fit_gram(table, y), np.ndarray)
    with config_context(transform_output="pandas"):
        gram = SCGLogDetLearner(strength=1.0).fit_transform(table, y)
    assert gram.shape == (40, 40)
    assert gram.columns[39] == "scglogdetlearner39"
    features = SCGLogDetLearner(strength=1.0, n_landmarks=6).set_output(transform="pandas")
    assert features.fit_transform(table, y).shape[1] == len(features.get_feature_names_out()) <= 6


def test_names_before_a_fit_and_after_a_changed_parameter():
    X, y = data()
    learner = SCGLogDetLearner(strength=1.0, n_components=2)
    for ask in (learner.get_feature_names_out, lambda: learner.transform(X)):
        with pytest.raises(NotFittedError):
            ask()
    rows = learner.fit_transform(X, y)
    learner.set_params(n_components=None)  # no fit has seen this
    assert learner.transform(X).shape == rows.shape
    assert len(learner.get_feature_names_out()) == 2


def test_a_second_fit_forgets_the_first():
    X, y = data()
    learner = SCGLogDetLearner(strength=1.0, n_components=2, n_landmarks=9).fit(X, y)
    assert learner.components_ is not None
    assert hasattr(learner, "approximation_error_")
    learner.set_params(n_components=None, n_landmarks=None).fit(X, **known_of(y, "pairs"))
    assert not hasattr(learner, "approximation_error_")
    assert learner.components_ is None
    assert learner.classes_ is None
    assert isinstance(learner.kernel_, LogDetKernel)


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, MemoryError, ValueError])
def test_a_fit_that_is_broken_off_leaves_nothing_half_done(monkeypatch, trouble):
    X, y = data()
    learner = SCGLogDetLearner(strength=1.0).fit(X, y)

    def broken(self, solver="cholesky"):
        raise trouble("stopped")

    monkeypatch.setattr(SCGLogDet, "solve", broken)
    with pytest.raises(trouble):
        learner.fit(2.0 * X[:20], y[:20])
    assert not [name for name in vars(learner) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        learner.transform(X)


def test_what_it_is_given_stays_as_it_is():
    X, y = data()
    before = X.copy(), y.copy()
    learner = SCGLogDetLearner(strength=1.0)
    expected = learner.fit(X, y).transform(X)
    K = Gaussian(0.3)(X)
    kept = K.copy()
    SCGLogDetLearner("precomputed", strength=1.0).fit_gram(K, y)
    np.testing.assert_array_equal(K, kept)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    X += 1.0
    np.testing.assert_array_equal(learner.transform(before[0]), expected)
    kernel = Gaussian(0.3)
    held = SCGLogDetLearner(kernel, strength=1.0).fit(before[0], y)
    expected = held.transform(before[0])
    kernel.gamma = 77.0
    np.testing.assert_array_equal(held.transform(before[0]), expected)


@every_setting
def test_copies_work(setting):
    X, y = data()
    learner = learner_of(setting)
    points = given_points(learner, X)
    learner.fit(points, y)
    if setting != "a function":  # a lambda
        copy = pickle.loads(pickle.dumps(learner))
        assert copy.transform(points).tobytes() == learner.transform(points).tobytes()
    assert repr(clone(learner).get_params()) == repr(learner.get_params())


@pytest.mark.parametrize(
    ("setting", "n_components"),
    [*((name, None) for name in SETTINGS), ("as it comes", 2), ("features", 2)],
)
def test_it_survives_a_model_file(tmp_path, setting, n_components):
    X, y = data()
    learner = learner_of(setting, n_components=n_components)
    points = given_points(learner, X)
    learner.fit(points, y)
    path = tmp_path / "learner.skops"
    if setting == "a function":
        with pytest.raises(ModelFileError, match="function"):
            save_model(learner, path)
        assert not path.exists()
        return
    save_model(learner, path)
    loaded = load_model(path).model
    assert loaded.transform(points).tobytes() == learner.transform(points).tobytes()
    assert list(loaded.get_feature_names_out()) == list(learner.get_feature_names_out())
    assert vars(loaded).keys() == vars(learner).keys()
    np.testing.assert_array_equal(loaded.classes_, learner.classes_)


FORGERIES = {
    "kernel": lambda m: setattr(m, "kernel_", 3.0),
    "Q, rows": lambda m: setattr(m.kernel_, "matrix", m.kernel_.matrix[:-1]),
    "Q, not symmetric": lambda m: m.kernel_.matrix.__setitem__((0, 1), 9.0),
    "Q, nan": lambda m: m.kernel_.matrix.fill(np.nan),
    "points": lambda m: setattr(m.kernel_, "points", m.kernel_.points[:3]),
    "base": lambda m: setattr(m.kernel_, "base", "gaussian"),
    "support": lambda m: setattr(m, "support_vectors_", np.full((2, 2), np.inf)),
    "components": lambda m: setattr(m, "components_", 3.0),
    "fewer coefficients": lambda m: object.__setattr__(
        m.components_, "coefficients", m.components_.coefficients[:-1]
    ),
    "fewer variances": lambda m: object.__setattr__(m.components_, "variances", np.ones(1)),
    "centre": lambda m: object.__setattr__(m.components_, "centre", np.full(40, np.nan)),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, forge):
    X, y = data()
    model = SCGLogDetLearner(strength=1.0, n_components=2).fit(X, y)
    FORGERIES[forge](model)
    with pytest.raises(ModelFileError):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


CLASS_NAMES = {
    "text": (["red", "green", "blue"], "?"),
    "text, none unknown": (["red", "green", "blue"], None),
    "objects": (np.array(["red", "green", "blue"], dtype=object), "?"),
    "numbers": ([7, -3, 100], -1),
    "numbers, -1 is a class": ([7, -1, 100], 0),
    "real numbers": ([1.0, 2.0, 5.0], -1.0),
}


@pytest.mark.parametrize("names", CLASS_NAMES)
def test_classes_may_have_any_names(names):
    X, y = data()
    kinds, unknown = CLASS_NAMES[names]
    kinds = np.asarray(kinds)
    codes = y.copy()
    labels = kinds[y]
    if unknown is not None:
        codes[::4] = -1
        labels = labels.astype(object)
        labels[::4] = unknown
        labels = np.array(labels.tolist(), dtype=kinds.dtype)
    learner = SCGLogDetLearner(strength=10.0, unlabeled=unknown).fit(X, labels)
    expected = SCGLogDetLearner(strength=10.0, unlabeled=-1).fit(X, codes)
    assert_close(learner.transform(X), expected.transform(X), 1e-12)
    assert list(learner.classes_) == sorted(kinds[np.unique(y[codes >= 0])].tolist())
    if names == "objects":
        table = pd.Series(labels, index=np.arange(40) + 5)
        assert_close(clone(learner).fit(X, table).transform(X), learner.transform(X), 0)


def test_minus_one_and_plus_one():
    X, y = data()
    signs = np.where(y > 0, 1, -1)
    for labels in (signs, signs.astype(float)):
        with pytest.raises(ValueError, match="unlabeled"):
            SCGLogDetLearner(strength=1.0).fit(X, labels)
    both = SCGLogDetLearner(strength=1.0, unlabeled=0).fit(X, signs)
    np.testing.assert_array_equal(both.classes_, [-1, 1])
    with pytest.raises(ValueError, match="two classes"):
        SCGLogDetLearner(strength=1.0, unlabeled=-1).fit(X, signs)


# -- strength="auto" --------------------------------------------------------------------------


@labels_and_pairs
@pytest.mark.parametrize("parameters", [{}, {"graph": "complete"}, {"n_components": 2}])
def test_auto_follows_the_random_state(how, parameters):
    X, y = data(60)
    known = known_of(y, how)
    one, two = (SCGLogDetLearner(random_state=5, **parameters).fit(X, **known) for _ in range(2))
    assert one.strength_ == two.strength_
    assert one.strength_ in STRENGTHS
    assert one.transform(X).tobytes() == two.transform(X).tobytes()
    fixed = SCGLogDetLearner(strength=one.strength_, **parameters).fit(X, **known)
    assert fixed.transform(X).tobytes() == one.transform(X).tobytes()


def test_auto_finds_a_strength_that_is_of_use():
    """Where a single feature of ten matters, labels should count."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    y = (X[:, 0] > 0).astype(int)
    auto = SCGLogDetLearner(n_components=1, random_state=0).fit(X, y)
    assert auto.strength_ > 1.0


@pytest.mark.parametrize(
    "known",
    [
        {"y": [0, 1] + 38 * [-1]},  # two labels: nothing can be held out
        {"similar": [(0, 1), (2, 3), (4, 5)]},  # nothing to tell them from
        {"dissimilar": [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]},
        {"similar": [(0, 1)]},
        {"similar": [(0, 1)], "dissimilar": [(1, 2)]},
    ],
)
@pytest.mark.parametrize("parameters", [{}, {"graph": "complete"}])
def test_auto_falls_back_where_nothing_can_be_hidden(known, parameters):
    X, _ = data()
    learner = SCGLogDetLearner(random_state=0, **parameters).fit(X, **known)
    assert learner.strength_ == FALLBACK
    assert np.isfinite(learner.transform(X)).all()


def test_auto_with_a_class_of_one():
    X, y = data()
    y = np.where(y == 2, 1, y)
    y[3] = 2
    learner = SCGLogDetLearner(random_state=0).fit(X, y)
    assert learner.strength_ in STRENGTHS


def test_auto_with_each_point_a_class_is_silent():
    X, _ = data()
    learner = SCGLogDetLearner(random_state=0).fit(X, np.arange(40))
    assert np.isfinite(learner.strength_)


def test_auto_with_more_components_than_a_fold_can_show_falls_back():
    X, _ = data()
    y = np.full(40, -1)
    y[:6] = [0, 1, 0, 1, 0, 1]
    learner = SCGLogDetLearner(n_components=5, random_state=0).fit(X, y)
    assert learner.strength_ == FALLBACK
    with pytest.raises(ValueError, match=r"n_components <= 5.*6 points.*got 6"):
        SCGLogDetLearner(n_components=6, random_state=0).fit(X, y)


@pytest.mark.parametrize("seed", range(2))
def test_auto_with_a_rare_class_among_many_points(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1500, 2))
    y = np.zeros(1500, dtype=int)
    y[:2] = 1
    learner = SCGLogDetLearner(n_landmarks=30, random_state=seed).fit(X, y)
    assert np.isfinite(learner.strength_)


def test_auto_on_many_points_looks_at_a_part_of_them(monkeypatch):
    seen = []
    original = Gaussian._gram
    monkeypatch.setattr(
        Gaussian, "_gram", lambda self, X, Y: seen.append((len(X), len(Y))) or original(self, X, Y)
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2))
    y = np.full(4000, -1)
    y[:1200] = (X[:1200, 0] > 0).astype(int)
    SCGLogDetLearner(Gaussian(1.0), n_landmarks=50, random_state=0).fit(X, y)
    assert max(n * m for n, m in seen) <= 4000 * 50 + 500 * 500
    assert sum(n * m for n, m in seen) <= 2 * (4000 * 50 + 500 * 500)


def test_auto_does_not_hang_on_equal_points():
    X = np.full((21, 2), 0.1)
    y = np.arange(21) % 2
    for kernel in ("linear", "gaussian", "polynomial"):
        learner = SCGLogDetLearner(kernel, random_state=0).fit(X, y)
        assert np.isfinite(learner.transform(X)).all()


# -- odd data ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_the_scale_of_the_points_does_not_matter(scale):
    X, y = data()
    gram = SCGLogDetLearner(strength=100.0).fit_gram(X, y)
    assert_close(SCGLogDetLearner(strength=100.0).fit_gram(scale * X, y), gram, 1e-9)


@pytest.mark.parametrize("factor", [1e-100, 1e-12, 1e12, 1e100])
@every_information
def test_a_kernel_times_a_number(factor, how):
    """c K0 with strength gamma / c gives c K."""
    X, y = data()
    known, K0 = known_of(y, how), Gaussian(0.3)(X)
    raw = {"kernel": "precomputed", "scale_strength": False}
    gram = SCGLogDetLearner(strength=100.0, **raw).fit_gram(K0, **known)
    other = SCGLogDetLearner(strength=100.0 / factor, **raw)
    assert_close(other.fit_gram(factor * K0, **known) / factor, gram, 1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polynomial"])
@every_information
def test_equal_points_and_constant_features(kernel, how):
    X, y = data()
    known = known_of(y, how)
    twice = np.repeat(X[:20], 2, axis=0)
    for points in (twice, np.hstack([X, np.ones((40, 2))]), np.zeros((40, 3)), np.ones((40, 1))):
        learner = SCGLogDetLearner(kernel, strength=100.0)
        gram = learner.fit_gram(points, **known)
        assert np.isfinite(gram).all()
        assert np.isfinite(learner.transform(points + 0.5)).all()
    gram = SCGLogDetLearner(kernel, strength=100.0).fit_gram(twice, **known)
    assert_close(gram[::2, ::2], gram[1::2, 1::2], 1e-9)


@pytest.mark.parametrize("known", [{"y": [0, 1]}, {"similar": [(0, 1)]}, {"dissimilar": [(1, 0)]}])
def test_two_points(known):
    for graph in ("labeled", "complete"):
        learner = SCGLogDetLearner(graph=graph, random_state=0)
        gram = learner.fit_gram([[0.0], [1.0]], **known)
        assert np.linalg.eigvalsh(gram)[0] >= 0
        assert learner.fit_transform([[0.0], [1.0]], **known).shape == (2, 2)


@given(seed=seeds, how=st.sampled_from(INFORMATION), graph=st.sampled_from(["labeled", "complete"]))
@settings(max_examples=30, deadline=None)
def test_the_learned_matrix_is_between_zero_and_the_base(seed, how, graph):
    """S is PSD, so K = (K0^-1 + gamma S)^-1 is below K0 and above zero."""
    rng = np.random.default_rng(seed)
    X, y = data(12, seed=seed)
    learner = SCGLogDetLearner(
        rng.choice(["gaussian", "linear"]),
        strength=10.0 ** rng.uniform(-3, 4),
        graph=graph,
        beta=rng.uniform(0.1, 5),
    )
    gram = learner.fit_gram(X, **known_of(y, how, seed % 1000))
    K0 = learner.kernel_.base(X)
    tol = 1e-10 * np.trace(K0)
    assert np.linalg.eigvalsh(gram)[0] >= -tol
    assert np.linalg.eigvalsh(K0 - gram)[0] >= -tol
    assert learner.objective_ >= -1e-10


# -- pipelines, cross-validation --------------------------------------------------------------


def test_in_a_pipeline_with_a_machine_on_kernel_values():
    X, y = load_iris(return_X_y=True)
    for learner in (SCGLogDetLearner(strength=1.0), SCGLogDetLearner(random_state=0)):
        machine = make_pipeline(StandardScaler(), learner, SVC(kernel="precomputed", C=10))
        assert cross_val_score(machine, X, y, cv=3).mean() > 0.93


def test_row_indices_become_invalid_in_cross_validation_and_the_error_explains_it():
    X, y = data(60)
    machine = make_pipeline(SCGLogDetLearner(strength=1.0), SVC(kernel="precomputed"))
    params = {"scglogdetlearner__similar": [(0, 59)]}
    # the fit of a pipeline hands y to the learner as well
    with pytest.raises(ValueError, match="got both"):
        cross_validate(machine, X, y, params=params, error_score="raise")
    learner = SCGLogDetLearner(strength=1.0)
    with pytest.raises(ValueError, match="cross-validation; partial labels do not"):
        learner.fit(X[:40], similar=[(0, 59)])


def test_a_precomputed_matrix_is_sliced_on_both_sides():
    X, y = load_iris(return_X_y=True)
    machine = make_pipeline(
        SCGLogDetLearner("precomputed", strength=1.0), SVC(kernel="precomputed", C=10)
    )
    by_points = make_pipeline(
        SCGLogDetLearner(Gaussian(0.2), strength=1.0), SVC(kernel="precomputed", C=10)
    )
    scores = cross_val_score(machine, Gaussian(0.2)(X), y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(by_points, X, y, cv=3))


# -- bad input --------------------------------------------------------------------------------

X, Y = data()
BAD = {
    "no side information": ({}, {}, "expected y, or pairs"),
    "both kinds": ({}, {"y": Y, "similar": [(0, 1)]}, "got both"),
    "out of range": ({}, {"similar": [(0, 40)]}, r"from 0 to 39.*similar[0] = (0, 40)"),
    "negative row": ({}, {"dissimilar": [(0, 1), (-1, 2)]}, "dissimilar[1] = (-1, 2)"),
    "i = j": ({}, {"similar": [(3, 3)]}, "two points in a pair, got similar[0] = (3, 3)"),
    "in both": ({}, {"similar": [(0, 1)], "dissimilar": [(1, 0)]}, "(0, 1) as both"),
    "empty pairs": ({}, {"similar": [], "dissimilar": None}, "some similar or dissimilar"),
    "real rows": ({}, {"similar": [(0.0, 1.0)]}, "integer row indices"),
    "triples": ({}, {"similar": [(0, 1, 2)]}, "shape (n_pairs, 2), got (1, 3)"),
    "no labels": ({}, {"y": np.full(40, -1)}, "expected some labelled points"),
    "one class": ({}, {"y": np.where(Y == 1, 1, -1), "unlabeled": -1}, "at least two classes"),
    "too few labels": ({}, {"y": Y[:20]}, "y of shape (40,), as X has 40 rows, got (20,)"),
    "signs": ({}, {"y": np.where(Y > 0, 1, -1)}, "expected `unlabeled` to be given"),
    "targets": ({}, {"y": X[:, 0]}, "class labels, got the real number"),
    "nan labels": ({}, {"y": np.where(Y > 0, np.nan, 1.0)}, "finite labels, got nan"),
    "mixed labels": ({}, {"y": [*["a"] * 20, *[1] * 20]}, "one type, got text and 1"),
    "matrix of labels": ({}, {"y": np.eye(40)}, "y of shape"),
    "components": ({"n_components": 40}, {"y": Y}, "expected n_components <= "),
    "many components": ({"n_components": 4, "kernel": "linear"}, {"y": Y}, "n_components <= 3"),
    "components of features": ({"n_components": 9, "n_landmarks": 5}, {"y": Y}, "n_components <= "),
    "zero components": ({"n_components": 0}, {"y": Y}, "n_components >= 1"),
    "real components": ({"n_components": 1.5}, {"y": Y}, "integer, got 1.5"),
    "negative strength": ({"strength": -1.0}, {"y": Y}, "expected strength > 0"),
    "zero strength": ({"strength": 0}, {"y": Y}, "expected strength > 0"),
    "infinite strength": ({"strength": np.inf}, {"y": Y}, "expected strength > 0"),
    "nan strength": ({"strength": np.nan}, {"y": Y}, "expected strength > 0"),
    "strength in words": ({"strength": "strong"}, {"y": Y}, "got 'strong'"),
    "strength, true": ({"strength": True}, {"y": Y}, "got True"),
    "beta": ({"beta": 0.0}, {"y": Y}, "expected beta > 0"),
    "large beta": ({"beta": 101}, {"y": Y}, "expected beta <= 100"),
    "graph": ({"graph": "labelled"}, {"y": Y}, "did you mean 'labeled'"),
    "solver": ({"solver": "cholesy"}, {"y": Y}, "did you mean 'cholesky'"),
    "landmarks": ({"n_landmarks": 0}, {"y": Y}, "n_landmarks >= 1"),
    "landmarks unused": ({"n_landmarks": 5, "solver": "cholesky"}, {"y": Y}, "n_landmarks=None"),
    "scale_strength": ({"scale_strength": "no"}, {"y": Y}, "got 'no'"),
    "kernel name": ({"kernel": "gausian"}, {"y": Y}, "did you mean 'gaussian'"),
    "not PSD": ({"kernel": TL1(2.0)}, {"y": Y}, "positive semi-definite"),
    "gamma with a kernel": (
        {"kernel": Gaussian(), "gamma": 2.0},
        {"y": Y},
        "expected gamma='scale'",
    ),
    "gamma with a graph": ({"kernel": "graph", "gamma": 2.0}, {"y": Y}, "expected gamma='scale'"),
    "gamma with linear": ({"kernel": "linear", "gamma": 2.0}, {"y": Y}, "expected gamma='scale'"),
    "negative gamma": ({"gamma": -1.0}, {"y": Y}, "gamma > 0"),
    "random state": ({"random_state": "dice"}, {"y": Y}, "dice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    parameters, known, message = BAD[case]
    known = dict(known)
    learner = SCGLogDetLearner(strength=1.0, unlabeled=known.pop("unlabeled", None))
    learner.set_params(**parameters)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(ValueError, match=pattern):
        learner.fit(X, **known)
    with pytest.raises(NotFittedError):
        learner.transform(X)


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (np.where(X > 2.0, np.nan, X), ValueError, "NaN"),
        (np.where(X > 2.0, np.inf, X), ValueError, "infinity"),
        (scipy.sparse.csr_array(X), TypeError, "dense"),
        (X[:, 0], ValueError, "2D"),
        (X[:1], ValueError, "minimum of 2"),
        (X.astype(str), ValueError, "n_samples|shape|convert|numeric|dtype"),
    ],
)
def test_bad_points(points, error, message):
    points = points if message != "n_samples|shape|convert|numeric|dtype" else np.full((40, 3), "a")
    with pytest.raises(error, match=message):
        SCGLogDetLearner(strength=1.0).fit(points, Y[: np.shape(points)[0]])


def test_bad_new_points():
    learner = SCGLogDetLearner(strength=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="3 features"):
        learner.transform(X[:, :2])
    with pytest.raises(TypeError, match="dense"):
        learner.transform(scipy.sparse.csr_array(X))
    with pytest.raises(ValueError, match="NaN"):
        learner.transform(np.full((2, 3), np.nan))


def test_bad_matrices():
    K = Gaussian(0.3)(X)
    learner = SCGLogDetLearner("precomputed", strength=1.0)
    with pytest.raises(ValueError, match="square Gram matrix"):
        learner.fit(K[:30], Y[:30])
    skew = K.copy()
    skew[0, 1] += 1e-3
    with pytest.raises(ValueError, match=r"symmetric Gram matrix.*\(0, 1\)"):
        learner.fit(skew, Y)
    learner.fit(K, Y)
    with pytest.raises(ValueError, match="40 features"):
        learner.transform(K[:3, :30])


@every_information
@pytest.mark.parametrize("graph", ["labeled", "complete"])
@pytest.mark.parametrize("parameters", [{}, {"n_landmarks": 30}, {"solver": "eigh"}])
def test_an_indefinite_matrix_is_told_and_does_no_harm(how, graph, parameters):
    K = Gaussian(0.3)(X)
    K -= 0.3 * np.eye(40)
    learner = SCGLogDetLearner("precomputed", strength=1e4, graph=graph, **parameters)
    with pytest.warns(NonPSDWarning, match="eigenvalue -0.[23]") as told:
        gram = learner.fit_gram(K, **known_of(Y, how))
    assert len(told) == 1
    assert told[0].filename == __file__
    assert np.isfinite(gram).all()
    assert np.isfinite(learner.transform(K)).all()


@pytest.mark.filterwarnings("ignore::pliant.NonPSDWarning")
@pytest.mark.parametrize("shift", [1e-3, 0.1])
@pytest.mark.parametrize("strength", [1.0, 1e4, 1e6])
def test_an_indefinite_matrix_gives_one_kernel(shift, strength):
    """New points have the kernel that the matrix of the fit points has."""
    K = Gaussian(0.3)(X) - shift * np.eye(40)
    learner = SCGLogDetLearner("precomputed", strength=strength)
    gram = learner.fit_gram(K, Y)
    assert_relative(learner.transform(K), gram, 1e-6)


def test_an_indefinite_matrix_with_auto_is_told_once():
    K = Gaussian(0.3)(X) - 0.3 * np.eye(40)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SCGLogDetLearner("precomputed", random_state=0).fit(K, Y)
    assert {warning.category for warning in told} == {NonPSDWarning}
    assert len(told) == 1


@pytest.mark.filterwarnings("ignore::pliant.NonPSDWarning")
def test_a_negative_definite_matrix_is_refused_in_true_words():
    K = -Gaussian(0.3)(X)
    for seed in range(60):  # with some, rounding leaves a tiny positive eigenvalue
        learner = SCGLogDetLearner("precomputed", strength=1.0, n_landmarks=10, random_state=seed)
        with pytest.raises(ValueError, match="positive"):
            learner.fit(K, Y)


def test_a_function_that_is_not_symmetric_is_refused():
    M = np.triu(np.ones((3, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        SCGLogDetLearner(lambda A, B: A @ M @ B.T, strength=1.0).fit(X, Y)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_kernel_values_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite kernel values"):
        SCGLogDetLearner(Polynomial(9), strength=1.0).fit(1e60 * X, Y)


def test_features_take_over_for_many_points():
    learner = SCGLogDetLearner()
    assert not learner._uses_features(LARGEST_GRAPH)
    assert learner._uses_features(LARGEST_GRAPH + 1)
    assert not learner.set_params(solver="cholesky")._uses_features(10 * LARGEST_GRAPH)


def test_unlabelled_points_cost_little():
    """With few labels among many points only the labels' part is decomposed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 2))
    y = np.full(20_000, -1)
    y[:40] = (X[:40, 0] > 0).astype(int)
    learner = SCGLogDetLearner(random_state=0).fit(X, y)
    assert learner.kernel_.matrix.shape == (40, 40)
    assert learner.transform(X[:5]).shape == (5, 20_000)


def test_the_naive_twin_has_the_same_laplacian():
    y = REFERENCE_Y
    T = SideInformation.from_labels(y).target()
    S = SideInformation.from_labels(y).graph("complete").toarray()
    np.testing.assert_allclose(naive.laplacian(T), S, atol=1e-14)


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "gaussian"])
@pytest.mark.parametrize("units", [1.0, 100.0])
@pytest.mark.parametrize("strength", [1e2, 1e6])
def test_new_points_are_right_for_kernels_of_any_size(kernel, units, strength):
    """Digits come in units of 0 to 16: k0(x, x) is about 4000, with any strength offered."""
    X = units * load_digits().data[:300]
    y = load_digits().target[:300]
    learner = SCGLogDetLearner(kernel, strength=strength)
    K = learner.fit_gram(X, y)
    assert_relative(learner.transform(X), K, 1e-2)


def assert_relative(actual, expected, tol):
    assert np.linalg.norm(actual - expected) <= tol * np.linalg.norm(expected)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_strength_does_not_depend_on_the_units_of_the_kernel(kernel):
    X, y = data()
    grams = [
        SCGLogDetLearner(k, strength=100.0).fit_gram(X, y)
        for k in (1.0 * as_kernel(kernel, X), 1e4 * as_kernel(kernel, X))
    ]
    np.testing.assert_allclose(grams[1] / 1e4, grams[0], atol=1e-9 * np.abs(grams[0]).max())
