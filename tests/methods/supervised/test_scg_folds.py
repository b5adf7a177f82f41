"""Components of the kernels of a fold, compared with kernel PCA of the dense learned matrix."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from pliant import KernelEmbedding, SCGLogDetLearner, SideInformation
from pliant.core import eigen
from pliant.kernels import Gaussian, Linear
from pliant.methods.supervised import scg_choice
from pliant.methods.supervised.information import LabelGraph
from pliant.methods.supervised.scg_choice import neighbor_accuracy
from pliant.methods.supervised.scg_folds import FoldSpectrum
from tests.methods.supervised.test_scg import data
from tests.reference import naive_supervision as naive

KERNELS = {"full rank": Gaussian(0.5), "three directions": Linear()}


def dense_components(K0, train, test, y, gamma, beta, n_components, center):
    """Return kernel PCA of K = K0 (I + gamma S K0_AA)^{-1} on the training points."""
    S = naive.laplacian(naive.target_of_labels(y[train]), beta)
    inverse = np.linalg.inv(np.eye(len(train)) + gamma * S @ K0[np.ix_(train, train)])
    K = K0[:, train] @ inverse
    inner = 0.5 * (K[train] + K[train].T)
    mean = inner.mean(axis=0) if center else np.zeros(len(train))
    values, vectors = np.linalg.eigh(inner - mean - mean[:, None] + mean.mean())
    c = (vectors / np.sqrt(np.maximum(values, 1e-300)))[:, : -n_components - 1 : -1]
    return (K[train] - mean) @ c, (K[test] - mean) @ c


@pytest.mark.parametrize("iterations", [True, False])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 1e3])
def test_components_are_those_of_the_dense_matrix(name, gamma, center, iterations, monkeypatch):
    monkeypatch.setattr(eigen, "ORDER_OF_STRUCTURED", 10 if iterations else 10**6)
    X, y = data(90)
    K0 = KERNELS[name](X)
    train, test = np.flatnonzero(np.arange(90) % 5), np.arange(0, 90, 5)
    kernels = FoldSpectrum.of(K0, train, test).on_graph(LabelGraph(train, y[train], 2.0))
    points, new = kernels.embed(gamma, 2, center=center)
    expected = dense_components(K0, train, test, y, gamma, 2.0, 2, center)
    signs = np.sign((points * expected[0]).sum(axis=0))
    for ours, theirs in zip((points, new), expected, strict=True):
        np.testing.assert_allclose(ours * signs, theirs, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.parametrize("gamma", [1e6, 1e12])
def test_a_large_strength_causes_no_cancellation(gamma):
    """The variances are the eigenvalues of the exact matrix, computed with 120 digits."""
    X, y = data(30)
    y = y % 2
    K0 = Gaussian(0.1)(X) + 1e-3 * np.eye(30)
    kernels = FoldSpectrum.of(K0, np.arange(30), np.arange(3)).on_graph(
        LabelGraph(np.arange(30), y)
    )
    points, new = kernels.embed(gamma, 1, center=False)
    exact, _ = naive.exactly(K0, naive.target_of_labels(y), gamma)
    largest = np.linalg.eigvalsh(exact)[-1]
    np.testing.assert_allclose((points**2).sum(), largest, rtol=1e-9)
    np.testing.assert_allclose(np.abs(new), np.abs(points[:3]), rtol=1e-7)


def test_too_many_components_raise():
    X, y = data()
    kernels = FoldSpectrum.of(Linear()(X), np.arange(40), np.arange(3)).on_graph(
        LabelGraph(np.arange(40), y)
    )
    with pytest.raises(ValueError, match="n_components <= 3, got 4"):
        kernels.embed(1.0, 4, center=True)


@pytest.mark.parametrize("kernel", ["graph", "gaussian"])
def test_scores_are_those_of_the_dense_matrices(kernel):
    """With unknown labels, five folds of the known ones, and the votes of scikit-learn."""
    X, y = data(60)
    y[::7] = -1
    learner = SCGLogDetLearner(kernel)
    embedding = KernelEmbedding(learner, betas=(1.0, 4.0), random_state=3).fit(X, y)
    known = np.flatnonzero(y >= 0)
    K0 = embedding.learner_.kernel_.base(X[known])
    seed = np.random.RandomState(3).randint(2**31 - 1)
    sample = SideInformation.from_labels(y[known])
    folds = scg_choice._assign_folds(sample, np.random.RandomState(seed))
    for (name, score), (strength, beta) in zip(
        embedding.choice_scores_.items(),
        [(10.0**power, beta) for power in range(8) for beta in (1.0, 4.0)],
        strict=True,
    ):
        accuracies = []
        for fold in range(5):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            gamma = strength / K0.diagonal()[train].sum()
            labels = y[known]
            points, new = dense_components(K0, train, test, labels, gamma, beta, 2, True)
            votes = KNeighborsClassifier(5).fit(points, labels[train])
            accuracies.append(votes.score(new, labels[test]))
        assert score == pytest.approx(np.mean(accuracies), abs=0.5 / len(known)), name


def test_votes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    for count, width in ((3, 1), (50, 2), (200, 7)):
        points, new = rng.normal(size=(count, width)), rng.normal(size=(40, width))
        labels, truth = rng.integers(0, 4, count), rng.integers(0, 4, 40)
        model = KNeighborsClassifier(min(5, count)).fit(points, labels)
        assert neighbor_accuracy(points, labels, new, truth) == model.score(new, truth)
    with pytest.raises(ValueError, match="finite"):
        neighbor_accuracy(points, labels, np.full((40, 7), np.nan), truth)
