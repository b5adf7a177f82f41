"""`KernelEmbedding(center=False)`: the eigenvectors of the kernel matrix as it is."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

from pliant import KernelEmbedding, OrderSpectralLearner, SCGLogDetLearner
from tests.methods.side_information.test_scg import assert_close, data

LEARNERS = [
    SCGLogDetLearner(strength=100.0),
    SCGLogDetLearner("graph", strength=100.0),
    SCGLogDetLearner(strength=100.0, n_landmarks=20, random_state=0),
    OrderSpectralLearner(n_components=20),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: repr(each)[:40])
def test_it_is_the_eigenvectors_of_the_learned_kernel(learner):
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


def test_the_first_coordinate_is_nearly_constant_and_centring_removes_it():
    """S damps D^{1/2} 1 least; the second coordinate is about the first of the centred ones."""
    X, y = data()
    learner = SCGLogDetLearner(strength=1e4)
    plain = KernelEmbedding(learner, center=False).fit(X, y).transform(X)
    centred = KernelEmbedding(learner).fit(X, y).transform(X)
    assert np.all(plain[:, 0] > 0) or np.all(plain[:, 0] < 0)
    assert abs(centred.mean()) < 1e-8
    assert plain[:, 0].std() < 0.5 * abs(plain[:, 0].mean())


def test_scikit_learn_centres_and_so_does_the_default():
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(strength=10.0)).fit(X, y)
    pca = KernelPCA(2, kernel="precomputed").fit(embedding.kernel_(X))
    theirs = pca.transform(embedding.kernel_(X))
    assert_close(np.abs(embedding.transform(X)), np.abs(theirs), 1e-9)


def test_settings_are_chosen_by_uncentred_coordinates():
    X, y = data()
    scores = [
        KernelEmbedding(betas=(1.0,), center=center, random_state=0).fit(X, y).choice_scores_
        for center in (True, False)
    ]
    assert scores[0].keys() == scores[1].keys()
    assert scores[0] != scores[1]


@pytest.mark.parametrize("value", [None, 1, "no"])
def test_center_is_a_flag(value):
    X, y = data()
    with pytest.raises((ValueError, TypeError), match="expected center"):
        KernelEmbedding(center=value).fit(X, y)
