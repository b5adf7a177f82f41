"""Large strengths on singular matrices: the digits of the learned kernel, against 60-digit numbers.

With a large strength the learned kernel is smaller than K0 by as many digits as the strength has,
so that a difference from K0 has none left.
"""

import mpmath
import numpy as np
import pytest

from pliant import SCGLogDetLearner, SCGLogDetPath, SideInformation
from pliant.kernels import Gaussian
from pliant.methods.side_information import scg_problem


def exact(K, information, strength, graph, beta):
    """K0 - gamma K0_:A S (I + gamma K0_AA S)^{-1} K0_A:, in numbers of 60 digits."""
    with mpmath.workdps(60):
        edges = information.graph(graph, beta)
        members, a = edges.members, len(edges.members)
        gamma = mpmath.mpf(strength) / mpmath.mpf(float(np.trace(K[np.ix_(members, members)])))
        W = mpmath.matrix(edges.weights(np.eye(a)).tolist())
        degrees = [mpmath.fsum(W[i, :]) for i in range(a)]
        S = mpmath.eye(a)
        for i in range(a):
            for j in range(a):
                S[i, j] -= W[i, j] / mpmath.sqrt(degrees[i] * degrees[j])
        within = mpmath.matrix(K[np.ix_(members, members)].tolist())
        across = mpmath.matrix(K[:, members].tolist())
        inverse = mpmath.inverse(mpmath.eye(a) + gamma * S * within)
        learned = mpmath.matrix(K.tolist()) - gamma * across * inverse * S * across.T
        return np.array(learned.tolist(), dtype=np.float64)


def points(n=14, features=3):
    """Multiples of 1/64: their products, and so a linear K0, are exact."""
    return np.round(64 * np.random.default_rng(0).standard_normal((n, features))) / 64


def twice(K):
    """The exactly symmetric K of points that each occur twice."""
    K = 0.5 * (K + K.T)
    return np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)


MATRICES = {
    "linear": lambda X: X @ X.T,
    "equal points": lambda X: twice(Gaussian(0.5)(X[::2])),
    "regular": lambda X: Gaussian(3.0)(X),
}
INFORMATION = {
    "all": lambda y: SideInformation.from_labels(y),
    "few new": lambda y: SideInformation.from_labels(np.where(np.arange(14) > 10, -1, y)),
    "many new": lambda y: SideInformation.from_labels(np.where(np.arange(14) > 5, -1, y)),
    "pairs": lambda _: SideInformation.from_pairs(14, [(0, 3), (3, 6), (1, 4)], [(0, 1), (4, 5)]),
}


@pytest.mark.parametrize("graph", ["labeled", "complete"])
@pytest.mark.parametrize("information", INFORMATION)
@pytest.mark.parametrize("matrix", MATRICES)
def test_ten_digits_at_every_strength(matrix, information, graph):
    K, known = MATRICES[matrix](points()), INFORMATION[information](np.arange(14) % 3)
    path = SCGLogDetPath(K)
    for strength in (1e6, 1e9, 1e12):
        gram = path.gram(known, strength, graph=graph)
        expected = exact(K, known, strength, graph, 1.0)
        assert np.abs(gram - expected).max() <= 1e-10 * np.abs(expected).max()
        part = path.gram(known, strength, graph=graph, rows=[13, 2], columns=[0, 12, 13])
        assert np.abs(part - gram[np.ix_([13, 2], [0, 12, 13])]).max() <= 1e-14 * np.abs(gram).max()


@pytest.mark.parametrize("information", INFORMATION)
def test_both_forms_agree_where_they_meet(information, monkeypatch):
    K, known = MATRICES["linear"](points()), INFORMATION[information](np.arange(14) % 3)
    product = SCGLogDetPath(K).gram(known, 1e6, beta=2.0)
    monkeypatch.setattr(scg_problem, "STRONG", np.inf)
    difference = SCGLogDetPath(K).gram(known, 1e6, beta=2.0)
    assert np.abs(product - difference).max() <= 1e-6 * np.abs(product).max()


@pytest.mark.parametrize("information", INFORMATION)
def test_the_square_root_of_the_laplacian(information):
    edges = INFORMATION[information](np.arange(14) % 3).graph("labeled", 1.0)
    half = edges.root(np.eye(len(edges)))
    assert np.allclose(half @ half, edges.toarray(), atol=1e-14)
    assert np.abs(edges.root(edges.null_vector[:, None])).max() <= 1e-15


@pytest.mark.parametrize("labelled", [6, 11])
def test_the_kernel_of_the_learner_has_digits_on_new_points_at_every_strength(labelled):
    """The difference from k0 is rounded to 1e-16 of k0; the form without a range had none left."""
    X, y = points(), np.arange(14) % 3
    known = SideInformation.from_labels(np.where(np.arange(14) < labelled, y, -1))
    for strength, accuracy in ((1e6, 1e-9), (1e9, 1e-6), (1e12, 1e-3)):
        learner = SCGLogDetLearner(kernel="linear", strength=strength)
        learned = learner.fit(X[:labelled], y[:labelled]).kernel_(X)
        expected = exact(X @ X.T, known, strength, "labeled", 1.0)
        assert np.abs(learned - expected).max() <= accuracy * np.abs(expected).max()
