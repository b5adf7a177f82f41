"""Kernel embeddings: kernel PCA, choice of settings, held-out points."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier

from pliant import (
    KernelEmbedding,
    LogDetLearner,
    OrderSpectralLearner,
    SCGLogDetLearner,
    SideInformation,
    TKLClassifier,
)
from pliant.kernels import Gaussian
from pliant.methods.supervised.embedding import BETAS, STRENGTHS
from pliant.methods.supervised.scg_choice import DEFAULT_STRENGTH
from pliant.methods.supervised.scg_folds import FoldSpectrum
from tests.methods.supervised.test_scg import assert_close, data, known_of

LEARNERS = {
    "scg": SCGLogDetLearner(strength=100.0),
    "scg, complete": SCGLogDetLearner(strength=100.0, graph="complete"),
    "scg, graph": SCGLogDetLearner("graph", strength=100.0),
    "scg, precomputed": SCGLogDetLearner("precomputed", strength=100.0),
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
    """Return the points that determine the components."""
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
def test_embedding_is_centred_kernel_pca(name, how):
    X, y = data()
    learner, known = LEARNERS[name], known_of(y, how)
    points = given_points(learner, X)
    embedding = KernelEmbedding(learner, 3)
    Z = embedding.fit_transform(points, **known)
    assert Z.shape == (40, 3)
    assert_close(embedding.transform(points), Z, 1e-9)
    twin = clone(learner)
    K = twin.fit_gram(points, **known)
    rows = members_of(embedding, known)
    values, vectors = np.linalg.eigh(centred(K[np.ix_(rows, rows)]))
    values, vectors = values[:-4:-1], vectors[:, :-4:-1]
    np.testing.assert_allclose(embedding.components_.variances, values, rtol=1e-6)
    cross = K[:, rows] - K[rows][:, rows].mean(axis=0)
    expected = cross @ vectors / np.sqrt(values)
    expected *= np.sign((expected * Z).sum(axis=0))
    assert_close(Z, expected, 1e-7)
    np.testing.assert_allclose(Z[rows].mean(axis=0), 0.0, atol=1e-9)
    assert_close(
        embedding.kernel_(twin.support_vectors_),
        twin.kernel_(twin.support_vectors_),
    )


@every_learner
def test_a_column_of_labels_is_the_vector_of_these_labels(name):
    X, y = data()
    learner = LEARNERS[name]
    points = given_points(learner, X)
    for model in (learner, KernelEmbedding(learner)):
        expected = clone(model).fit_transform(points, y)
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            found = clone(model).fit_transform(points, y[:, None])
        np.testing.assert_array_equal(found, expected)


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def test_automatic_choice_of_settings():
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


@pytest.mark.parametrize("graph", ["labeled", "complete"])
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_chosen_strength_is_scaled_to_the_graph(graph, unit):
    X, y = data()
    y[::3] = -1
    scaled, raw = (
        KernelEmbedding(
            SCGLogDetLearner("linear", scale_strength=scale, graph=graph),
            betas=(1.0,),
            random_state=0,
        ).fit(unit * X, y)
        for scale in (True, False)
    )
    assert scaled.strength_ in STRENGTHS
    assert raw.strength_ == raw.learner_.strength_ == scaled.strength_
    assert raw.learner_.scale_strength
    scores, expected = (list(each.choice_scores_.values()) for each in (raw, scaled))
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(raw.transform(unit * X), scaled.transform(unit * X))
    two_labels = [0, 1] + 38 * [-1]  # which cannot be held out
    default = KernelEmbedding(raw.learner.set_params(graph="labeled"), 1).fit(X, two_labels)
    assert default.strength_ == DEFAULT_STRENGTH


def test_pairs_improve_held_out_accuracy():
    """Pairs identify the single informative feature of six."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * [1, 1, 0.6, 1, 1, 1]
    y = (X[:, 2] > 0).astype(int)
    train, labels, test, truth = halves(X, y)
    pairs, signs = SideInformation.from_labels(labels).sample_pairs(400, np.random.RandomState(0))
    known = {"similar": pairs[signs > 0], "dissimilar": pairs[signs < 0]}
    embedding = KernelEmbedding(SCGLogDetLearner(), betas=(1,))
    Z = embedding.fit(train, **known).transform(train)
    learned = accuracy(Z, labels, embedding.transform(test), truth)
    pca = PCA(2).fit(train)
    principal = accuracy(pca.transform(train), labels, pca.transform(test), truth)
    assert learned > principal + 0.1
    scores = list(embedding.choice_scores_.values())
    assert 0.0 <= min(scores) <= max(scores) <= 1.0
    assert max(scores) > 0.6


def test_folds_do_not_use_held_out_labels(monkeypatch):
    """The graphs of a fold contain no held-out point."""
    seen = []
    original = FoldSpectrum.on_graph

    def spy(self, graph):
        seen.append(graph.members)
        return original(self, graph)

    monkeypatch.setattr(FoldSpectrum, "on_graph", spy)
    X, y = data()
    KernelEmbedding(SCGLogDetLearner(), betas=(1.0,)).fit(X, y)
    hidden = [np.setdiff1d(np.arange(40), members) for members in seen]
    assert [len(rows) for rows in hidden] == [8] * 5
    np.testing.assert_array_equal(np.sort(np.concatenate(hidden)), np.arange(40))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_rounding_directions_are_omitted(offset):
    """A linear kernel of three features, with a large offset, has three directions."""
    X, _ = data()
    y = np.arange(40) % 2  # balanced classes, so that the constant direction is not damped
    learner = SCGLogDetLearner("linear", strength=1.0)
    Z = KernelEmbedding(learner, 3).fit_transform(X + offset, y)
    assert Z.shape == (40, 3)
    for n_components in (4, 5, 30):
        with pytest.raises(ValueError, match="n_components <= 3"):
            KernelEmbedding(learner, n_components).fit(X + offset, y)


UNCENTRED = [
    SCGLogDetLearner(strength=100.0),
    SCGLogDetLearner("graph", strength=100.0),
    OrderSpectralLearner(n_components=20),
]


@pytest.mark.parametrize("learner", UNCENTRED, ids=lambda each: repr(each)[:40])
def test_uncentred_embedding_is_eigenvectors_of_the_kernel(learner):
    X, y = data()
    embedding = KernelEmbedding(learner, 3, center=False).fit(X, y)
    kernel, support = embedding.kernel_, embedding.learner_.support_vectors_
    K = kernel(support)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    values, vectors = values[:-4:-1], vectors[:, :-4:-1]
    new = np.random.default_rng(1).standard_normal((5, 3))
    for points in (X, new):
        expected = kernel(points, support) @ (vectors / np.sqrt(values))
        assert_close(np.abs(embedding.transform(points)), np.abs(expected), 1e-8)
    np.testing.assert_allclose(embedding.components_.variances, values, rtol=1e-9)
    assert not embedding.components_.centre.any()


def test_default_matches_scikit_learn_kernel_pca():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=10.0)).fit(X, y)
    pca = KernelPCA(2, kernel="precomputed").fit(embedding.kernel_(X))
    theirs = pca.transform(embedding.kernel_(X))
    assert_close(np.abs(embedding.transform(X)), np.abs(theirs), 1e-9)


def test_fixed_and_default_strength():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=7.0, beta=2.0)).fit(X, y)
    assert (embedding.strength_, embedding.beta_) == (7.0, 2.0)
    assert np.isnan(list(embedding.choice_scores_.values())).all()
    several = KernelEmbedding(SCGLogDetLearner(strength=7.0), betas=[1.0, 3.0]).fit(X, y)
    assert several.strength_ == 7.0
    assert several.beta_ in (1.0, 3.0)
    two_labels = {"y": [0, 1] + 38 * [-1]}
    for known in (two_labels, {"similar": [(0, 1), (2, 3), (4, 5)]}):
        default = KernelEmbedding(SCGLogDetLearner(), 1).fit(X, **known)
        assert default.strength_ == DEFAULT_STRENGTH
        assert np.isnan(list(default.choice_scores_.values())).all()
        fixed = KernelEmbedding(SCGLogDetLearner(strength=7.0), 1, betas=[2.0, 3.0])
        assert fixed.fit(X, **known).strength_ == 7.0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 40, "learner__strength": 1.0}, ValueError, "n_components <= "),
        ({"betas": []}, ValueError, "betas to be a sequence of numbers"),
        ({"betas": [1, 1000]}, ValueError, "betas <= 100"),
        ({"learner__strength": -2.0}, ValueError, "strength from 1e-12 to 1e12, got -2.0"),
        ({"learner": OrderSpectralLearner(), "betas": [1.0]}, ValueError, "expected betas=None"),
        ({"learner": TKLClassifier()}, TypeError, "expected learner to be an SCGLogDetLearner"),
    ],
)
def test_invalid_settings_raise(parameters, error, message):
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner()).set_params(**parameters)
    with pytest.raises(error, match=message):
        embedding.fit(X, y)
    with pytest.raises(NotFittedError):
        embedding.transform(X)
