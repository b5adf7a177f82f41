"""Embeddings by a learned kernel: held-out points come to lie with their class."""

import pickle
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from pliant import (
    KernelEmbedding,
    LogDetLearner,
    ModelFileError,
    OrderSpectralLearner,
    SCGLogDetLearner,
    SideInformation,
    TKLClassifier,
)
from pliant.kernels import Gaussian, Linear
from pliant.methods.side_information.components import Components
from pliant.methods.side_information.embedding import BETAS, STRENGTHS
from pliant.methods.side_information.selection import FALLBACK
from pliant.persistence import load_model, save_model
from tests.methods.side_information.test_scg import assert_close, data, known_of

LEARNERS = {
    "scg": SCGLogDetLearner(strength=100.0),
    "scg, complete": SCGLogDetLearner(strength=100.0, graph="complete"),
    "scg, graph": SCGLogDetLearner("graph", strength=100.0),
    "scg, landmarks": SCGLogDetLearner(strength=100.0, n_landmarks=20, random_state=0),
    "scg, precomputed": SCGLogDetLearner("precomputed", strength=100.0),
    "scg, components": SCGLogDetLearner(strength=100.0, n_components=7),
    "osk": OrderSpectralLearner(n_components=20),
    "ldk": LogDetLearner(max_pairs=50, tol=0.1, random_state=0),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def given_points(learner, X):
    return Gaussian(0.3)(X) if getattr(learner, "kernel", None) == "precomputed" else X


def halves(X, y, seed=0):
    order = np.random.default_rng(seed).permutation(len(X))
    one, two = order[::2], order[1::2]
    return X[one], y[one], X[two], y[two]


def accuracy(Z, y, new, truth):
    return KNeighborsClassifier(5).fit(Z, y).score(new, truth)


def members_of(embedding, known):
    """Return the points of the graph, or of the pairs drawn, which the components are of."""
    learner = embedding.learner_
    if isinstance(learner, LogDetLearner):
        return np.unique(learner.pairs_)
    if isinstance(learner, OrderSpectralLearner) or learner.graph == "complete":
        return np.arange(40)
    if "y" in known:
        return np.flatnonzero(known["y"] >= 0)
    return np.unique(np.concatenate(list(known.values())))


@every_learner
@pytest.mark.parametrize("how", ["labels", "partial labels", "pairs"])
def test_it_is_the_centred_kernel_pca_of_the_learned_kernel(name, how):
    X, y = data()
    learner, known = LEARNERS[name], known_of(y, how)
    points = given_points(learner, X)
    embedding = KernelEmbedding(learner, 3)
    Z = embedding.fit_transform(points, **known)
    assert Z.shape == (40, 3)
    assert_close(embedding.transform(points), Z, 1e-9)
    plain = clone(learner)
    if isinstance(plain, SCGLogDetLearner):
        plain.set_params(n_components=None)
    K = plain.fit_gram(points, **known)
    rows = members_of(embedding, known)
    values, vectors = np.linalg.eigh(centred(K[np.ix_(rows, rows)]))
    values, vectors = values[:-4:-1], vectors[:, :-4:-1]
    np.testing.assert_allclose(embedding.components_.variances, values, rtol=1e-6)
    cross = K[:, rows] - K[rows][:, rows].mean(axis=0)
    expected = cross @ vectors / np.sqrt(values)
    expected *= np.sign((expected * Z).sum(axis=0))
    assert_close(Z, expected, 1e-7)
    np.testing.assert_allclose(Z[rows].mean(axis=0), 0.0, atol=1e-9)
    assert_close(embedding.kernel_(plain.support_vectors_), plain.kernel_(plain.support_vectors_))


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


@every_learner
def test_an_answer_does_not_depend_on_its_batch(name):
    X, y = data()
    learner = LEARNERS[name]
    embedding = KernelEmbedding(learner).fit(given_points(learner, X), y)
    new = np.random.default_rng(1).standard_normal((8, 3))
    if "precomputed" in name:
        new = Gaussian(0.3)(new, X)
    whole = embedding.transform(new)
    assert_close(np.concatenate([embedding.transform(x[None]) for x in new]), whole, 1e-10)
    assert_close(embedding.transform(new[::-1]), whole[::-1], 1e-10)


@pytest.mark.parametrize("name", ["scg", "scg, complete", "scg, precomputed"])
def test_the_order_of_the_rows_does_not_matter(name):
    X, y = data()
    learner = LEARNERS[name]
    order = np.random.default_rng(3).permutation(40)
    points = given_points(learner, X)
    turned = points[np.ix_(order, order)] if "precomputed" in name else points[order]
    one = KernelEmbedding(learner).fit_transform(points, y)
    two = KernelEmbedding(learner).fit_transform(turned, y[order])
    assert_close(np.abs(two), np.abs(one[order]), 1e-7)


def test_held_out_points_lie_with_their_class():
    """Digits, 300 points: two coordinates are far better than two principal ones."""
    X, y = load_digits(return_X_y=True)
    train, labels, test, truth = halves(X[:600], y[:600])
    embedding = KernelEmbedding(
        SCGLogDetLearner(gamma=0.0007), strengths=(1e3, 1e5), betas=(1, 4), random_state=0
    )
    Z = embedding.fit_transform(train, labels)
    learned = accuracy(Z, labels, embedding.transform(test), truth)
    pca = PCA(2).fit(train)
    principal = accuracy(pca.transform(train), labels, pca.transform(test), truth)
    assert learned > principal + 0.1
    assert learned > 0.75


def test_the_choice_by_itself_is_of_use():
    X, y = load_iris(return_X_y=True)
    train, labels, test, truth = halves(X, y)
    embedding = KernelEmbedding(random_state=0)
    Z = embedding.fit_transform(train, labels)
    assert accuracy(Z, labels, embedding.transform(test), truth) > 0.9
    names = [f"{kernel}, strength={s:g}, beta={b:g}" for kernel in ("graph", "gaussian")
             for s in STRENGTHS for b in BETAS]  # fmt: skip
    assert list(embedding.choice_scores_) == names
    best = max(embedding.choice_scores_.values())
    kernel = embedding.learner_.kernel
    chosen = f"{kernel}, strength={embedding.strength_:g}, beta={embedding.beta_:g}"
    assert embedding.choice_scores_[chosen] == best > 0.9
    first = next(name for name, score in embedding.choice_scores_.items() if score == best)
    assert chosen == first
    assert embedding.learner_.strength == embedding.strength_
    assert embedding.learner_.beta == embedding.beta_


def test_pairs_bring_held_out_points_together():
    """One feature of six counts; pairs say which."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * [1, 1, 0.6, 1, 1, 1]
    y = (X[:, 2] > 0).astype(int)
    train, labels, test, truth = halves(X, y)
    pairs, signs = SideInformation.from_labels(labels).sample_pairs(400, np.random.RandomState(0))
    known = {"similar": pairs[signs > 0], "dissimilar": pairs[signs < 0]}
    embedding = KernelEmbedding(SCGLogDetLearner(), strengths=(1e2, 1e4), betas=(1,))
    Z = embedding.fit(train, **known).transform(train)
    learned = accuracy(Z, labels, embedding.transform(test), truth)
    pca = PCA(2).fit(train)
    principal = accuracy(pca.transform(train), labels, pca.transform(test), truth)
    assert learned > principal + 0.1
    assert embedding.strength_ in (1e2, 1e4)
    scores = list(embedding.choice_scores_.values())
    assert 0.0 <= min(scores) <= max(scores) <= 1.0  # area under the curve of hidden pairs
    assert max(scores) > 0.6


@pytest.mark.parametrize("name", ["osk", "ldk"])
def test_held_out_points_with_other_learners(name):
    X, y = load_iris(return_X_y=True)
    train, labels, test, truth = halves(X, y)
    embedding = KernelEmbedding(LEARNERS[name])
    Z = embedding.fit_transform(train, labels)
    assert accuracy(Z, labels, embedding.transform(test), truth) > 0.85
    assert not hasattr(embedding, "strength_")
    assert not hasattr(embedding, "choice_scores_")


def test_landmarks_come_near_the_exact_embedding():
    X, y = data(200)
    exact = KernelEmbedding(SCGLogDetLearner(strength=100.0)).fit(X, y)
    few = KernelEmbedding(SCGLogDetLearner(strength=100.0, n_landmarks=150, random_state=0))
    Z = few.fit_transform(X, y)
    expected = exact.transform(X)
    error = np.linalg.norm(np.abs(Z) - np.abs(expected)) / np.linalg.norm(expected)
    assert error < 0.05


# -- the choice -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["labels", "pairs"])
def test_the_choice_follows_the_random_state(how):
    X, y = data(60)
    known = known_of(y, how)
    embedding = KernelEmbedding(
        SCGLogDetLearner(), strengths=(1.0, 1e3), betas=(1, 3), random_state=5
    )
    one, two = (clone(embedding).fit(X, **known) for _ in range(2))
    assert one.choice_scores_ == two.choice_scores_
    assert one.transform(X).tobytes() == two.transform(X).tobytes()


def test_a_fixed_strength_is_taken_as_it_is():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=7.0, beta=2.0)).fit(X, y)
    assert (embedding.strength_, embedding.beta_) == (7.0, 2.0)
    assert np.isnan(list(embedding.choice_scores_.values())).all()
    several = KernelEmbedding(
        SCGLogDetLearner(strength=7.0, beta=2.0), strengths=[1.0, 10.0], random_state=0
    ).fit(X, y)
    assert several.strength_ in (1.0, 10.0)
    assert several.beta_ == 2.0
    assert len(several.choice_scores_) == 2


@pytest.mark.parametrize(
    "known",
    [
        {"y": [0, 1] + 38 * [-1]},
        {"similar": [(0, 1), (2, 3), (4, 5)]},
        {"dissimilar": [(0, 1), (2, 3), (4, 5)]},
    ],
)
def test_where_nothing_can_be_hidden_there_is_a_fallback(known):
    X, _ = data()
    embedding = KernelEmbedding(SCGLogDetLearner(), 1).fit(X, **known)
    assert embedding.strength_ == FALLBACK
    assert np.isnan(list(embedding.choice_scores_.values())).all()
    given = KernelEmbedding(SCGLogDetLearner(), 1, strengths=(3.0, 30.0)).fit(X, **known)
    assert given.strength_ in (3.0, 30.0)


def test_a_class_of_one_and_more_components_than_a_fold_has():
    X, y = data()
    y = np.where(y == 2, 1, y)
    y[3] = 2
    embedding = KernelEmbedding(SCGLogDetLearner(), strengths=(1.0, 1e3), random_state=0)
    assert embedding.fit(X, y).strength_ in (1.0, 1e3)
    few = np.full(40, -1)
    few[:6] = [0, 1, 0, 1, 0, 1]
    wide = KernelEmbedding(SCGLogDetLearner(), n_components=5, random_state=0).fit(X, few)
    assert wide.strength_ == FALLBACK
    assert wide.transform(X).shape == (40, 5)


def test_held_out_labels_have_no_say(monkeypatch):
    """What is hidden in a fold is not in the graph that its kernel is learned from."""
    from pliant.methods.side_information import selection

    seen = []
    original = selection.SCGLogDetPath.gram

    def spy(self, information, *args, **kwargs):
        seen.append(information.known)
        return original(self, information, *args, **kwargs)

    monkeypatch.setattr(selection.SCGLogDetPath, "gram", spy)
    X, y = data()
    KernelEmbedding(SCGLogDetLearner(), strengths=(1.0, 10.0), betas=(1.0,)).fit(X, y)
    assert len(seen) == 10
    hidden = [np.setdiff1d(np.arange(40), known) for known in seen]
    assert all(len(rows) == 8 for rows in hidden)
    np.testing.assert_array_equal(np.sort(np.concatenate(hidden)), np.repeat(np.arange(40), 2))


def test_the_default_is_not_slow():
    """It takes not much longer than one decomposition a candidate and fold, on any machine."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    gram = rbf_kernel(X)
    KernelEmbedding(strengths=(1.0,), betas=(1.0,), random_state=0).fit(X, y)  # compiles
    with threadpool_limits(1):
        start = time.process_time()
        embedding = KernelEmbedding(random_state=0).fit(X, y)
        middle = time.process_time()
        for _ in range(5 * len(embedding.choice_scores_)):
            np.linalg.eigh(gram)
        end = time.process_time()
    assert middle - start < 8.0 * (end - middle)


# -- as a transformer -------------------------------------------------------------------------


def test_names_and_tables():
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(40) + 100)
    embedding = KernelEmbedding(SCGLogDetLearner(strength=10.0)).set_output(transform="pandas")
    Z = embedding.fit_transform(table, y)
    assert list(Z.columns) == ["kernelembedding0", "kernelembedding1"]
    assert list(Z.columns) == list(embedding.get_feature_names_out())
    assert list(Z.index) == list(table.index)
    assert list(embedding.feature_names_in_) == ["a", "b", "c"]
    pd.testing.assert_frame_equal(embedding.transform(table), Z, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        embedding.transform(table[["c", "a", "b"]])
    with config_context(transform_output="pandas"):
        for name in ("scg", "scg, landmarks", "osk"):
            embedding = KernelEmbedding(LEARNERS[name])
            assert isinstance(embedding.fit_transform(table, y), pd.DataFrame)
            assert isinstance(embedding.transform(table), pd.DataFrame)


def test_before_a_fit():
    embedding = KernelEmbedding(SCGLogDetLearner(strength=1.0))
    X, _ = data()
    for ask in (
        embedding.get_feature_names_out,
        lambda: embedding.transform(X),
        lambda: embedding.kernel_,
    ):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(embedding, "kernel_")


def test_parameters_changed_after_a_fit_change_nothing():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=1.0)).fit(X, y)
    Z = embedding.transform(X)
    embedding.set_params(n_components=3, learner__strength=9.0)
    np.testing.assert_array_equal(embedding.transform(X), Z)
    assert len(embedding.get_feature_names_out()) == 2


def test_pipelines_searches_and_copies():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(
        StandardScaler(), KernelEmbedding(SCGLogDetLearner(strength=100.0)), KNeighborsClassifier()
    )
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    grid = {"kernelembedding__n_components": [1, 2], "kernelembedding__learner__strength": [1, 100]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    fitted = search.best_estimator_[:-1]
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.transform(X).tobytes() == fitted.transform(X).tobytes()
    assert repr(clone(fitted)) == repr(fitted)


def test_a_learner_is_left_as_it_is():
    X, y = data()
    learner = SCGLogDetLearner(n_components=5)
    KernelEmbedding(learner, strengths=(1.0, 10.0), random_state=0).fit(X, y)
    assert learner.get_params() == SCGLogDetLearner(n_components=5).get_params()
    assert not [name for name in vars(learner) if name.endswith("_")]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_is_broken_off_leaves_nothing_half_done(monkeypatch, trouble):
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=1.0)).fit(X, y)

    def broken(*args, **options):
        raise trouble

    monkeypatch.setattr(Components, "of_gram", broken)
    with pytest.raises(trouble):
        embedding.fit(X[:20], y[:20])
    assert not [name for name in vars(embedding) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        embedding.transform(X)


def test_a_second_fit_forgets_the_first():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=1.0)).fit(X, y)
    assert hasattr(embedding, "strength_")
    embedding.set_params(learner=OrderSpectralLearner()).fit(X, y)
    assert not hasattr(embedding, "strength_")
    assert not hasattr(embedding, "choice_scores_")


# -- odd and bad input ------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 6])
def test_few_points(n):
    X, _ = data()
    y = np.arange(n) % 2
    embedding = KernelEmbedding(n_components=1, random_state=0)
    assert embedding.fit_transform(X[:n], y).shape == (n, 1)


@pytest.mark.parametrize("scale", [1e-100, 1e-5, 1e5, 1e100])
def test_the_scale_of_the_points_does_not_matter(scale):
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=100.0))
    Z = embedding.fit_transform(X, y)
    assert_close(np.abs(clone(embedding).fit_transform(scale * X, y)), np.abs(Z), 1e-7)


def test_equal_points_lie_on_each_other():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=100.0))
    Z = embedding.fit_transform(np.repeat(X[:20], 2, axis=0), y)
    assert_close(Z[::2], Z[1::2], 1e-10)


def test_points_that_are_all_equal_have_no_directions():
    for fill in (0.0, 0.1, 1e8):
        for kernel in ("gaussian", "linear"):
            embedding = KernelEmbedding(SCGLogDetLearner(kernel, strength=1.0))
            with pytest.raises(ValueError, match="n_components <= 0"):
                embedding.fit(np.full((20, 2), fill), np.arange(20) % 2)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_directions_that_are_rounding_do_not_count(offset):
    """A linear kernel of three features, far from zero, has three directions and not five."""
    X, _ = data()
    y = np.arange(40) % 2  # as many of each: the constant direction is not shrunk
    learner = SCGLogDetLearner("linear", strength=1.0)
    Z = KernelEmbedding(learner, 3).fit_transform(X + offset, y)
    assert Z.shape == (40, 3)
    for n_components in (4, 5, 30):
        with pytest.raises(ValueError, match="n_components <= 3"):
            KernelEmbedding(learner, n_components).fit(X + offset, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components >= 1"),
        ({"n_components": 2.0}, "integer, got 2.0"),
        ({"n_components": 40}, "n_components <= "),
        ({"n_components": 400}, "n_components <= "),
        ({"n_neighbors": 0}, "n_neighbors >= 1"),
        ({"strengths": [1.0, -1.0]}, "strengths > 0.*got -1.0"),
        ({"strengths": []}, "strengths to be a sequence of numbers"),
        ({"strengths": 5.0}, "strengths.*5.0"),
        ({"betas": [0.0]}, "betas > 0"),
        ({"betas": [1, 1000]}, "betas <= 100"),
        ({"learner__strength": -2.0}, "strength.* > 0.*got -2.0"),
        ({"learner__strength": "strong"}, "'strong'"),
        ({"learner__strength": None}, "strength.*got None"),
        ({"learner__graph": "whole"}, "graph"),
        ({"learner": OrderSpectralLearner(), "strengths": [1.0]}, "expected strengths=None"),
        ({"learner": OrderSpectralLearner(), "betas": [1.0]}, "expected betas=None"),
        ({"random_state": "dice"}, "dice"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = data()
    parameters = dict(parameters)
    embedding = KernelEmbedding(parameters.pop("learner", SCGLogDetLearner()))
    embedding.set_params(**parameters)
    if "n_components" in parameters:
        embedding.set_params(learner__strength=1.0)
    with pytest.raises(ValueError, match=message):
        embedding.fit(X, y)
    with pytest.raises(NotFittedError):
        embedding.transform(X)


@pytest.mark.parametrize("learner", [TKLClassifier(), StandardScaler(), Linear(), "scg", 3])
def test_only_learners_of_kernels(learner):
    X, y = data()
    with pytest.raises(TypeError, match="expected learner to be an SCGLogDetLearner"):
        KernelEmbedding(learner).fit(X, y)


def test_bad_side_information():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=1.0))
    for known, message in (
        ({}, "expected y, or pairs"),
        ({"y": y, "similar": [(0, 1)]}, "got both"),
        ({"y": y[:9]}, "40 rows"),
        ({"y": np.zeros(40, dtype=int)}, "two classes"),
        ({"similar": [(0, 99)]}, "from 0 to 39"),
        ({"similar": [(1, 1)]}, "two points"),
    ):
        with pytest.raises(ValueError, match=message):
            embedding.fit(X, **known)
    with pytest.raises(TypeError, match="dense"):
        embedding.fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="NaN"):
        embedding.fit(np.where(X > 2.0, np.nan, X), y)
    embedding.fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        embedding.transform(X[:, :2])


# -- files ------------------------------------------------------------------------------------


@every_learner
def test_a_model_file_keeps_the_coordinates(tmp_path, name):
    X, y = data()
    learner = LEARNERS[name]
    points = given_points(learner, X)
    embedding = KernelEmbedding(learner).fit(points, y)
    path = tmp_path / "e.skops"
    save_model(embedding, path)
    loaded = load_model(path).model
    assert loaded.transform(points).tobytes() == embedding.transform(points).tobytes()
    assert vars(loaded).keys() == vars(embedding).keys()
    assert list(loaded.get_feature_names_out()) == list(embedding.get_feature_names_out())


def test_a_model_file_keeps_the_choice(tmp_path):
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(), strengths=(1.0, 10.0), random_state=0)
    save_model(embedding.fit(X, y), tmp_path / "e.skops")
    loaded = load_model(tmp_path / "e.skops").model
    assert loaded.choice_scores_ == embedding.choice_scores_
    assert (loaded.strength_, loaded.beta_) == (embedding.strength_, embedding.beta_)
    assert loaded.strengths == (1.0, 10.0)


FORGERIES = {
    "learner": lambda m: setattr(m, "learner_", Linear()),
    "kernel": lambda m: setattr(m.learner_, "kernel_", None),
    "components": lambda m: setattr(m, "components_", 3.0),
    "no components": lambda m: delattr(m, "components_"),
    "coefficients": lambda m: object.__setattr__(m.components_, "coefficients", np.ones((3, 2))),
    "variances": lambda m: object.__setattr__(m.components_, "variances", np.ones(9)),
    "centre": lambda m: object.__setattr__(m.components_, "centre", np.full(40, np.inf)),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, forge):
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=1.0)).fit(X, y)
    FORGERIES[forge](embedding)
    with pytest.raises(ModelFileError):
        save_model(embedding, tmp_path / "e.skops")
