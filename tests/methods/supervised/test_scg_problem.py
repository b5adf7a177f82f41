"""Closed forms of SCG-LDK compared with 60- and 120-digit arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import SCGLogDetLearner, SCGLogDetPath, SideInformation
from pliant.kernels import Gaussian
from pliant.methods import LogDetKernel
from pliant.methods.supervised.information import GRAPHS
from pliant.methods.supervised.scg_problem import SCGLogDet
from tests.methods.supervised.test_scg import assert_close, data, information_of, known_of
from tests.reference import naive_supervision as naive

STRENGTHS = (1e-6, 1e4)

every_graph = pytest.mark.parametrize("graph", GRAPHS)

Y = np.array([0, 1, 2, 0, 1, 2, 0, 1, -1, -1, -1, -1])

SIMILAR = [(0, 1), (2, 3), (4, 5), (1, 7)]

DISSIMILAR = [(0, 2), (5, 6), (3, 10), (1, 8)]

SOURCES = {
    "labels": (SideInformation.from_labels(Y), naive.target_of_labels(Y)),
    "pairs": (
        SideInformation.from_pairs(len(Y), SIMILAR, DISSIMILAR),
        naive.target_of_pairs(len(Y), SIMILAR, DISSIMILAR),
    ),
}

every_source = pytest.mark.parametrize("source", SOURCES)


def gaussian_gram(X, gamma):
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-gamma * squared)


def draw_points(duplicates=False):
    X = np.random.default_rng(7).normal(size=(len(Y), 2))
    if duplicates:
        X[7:10] = X[:3]
    return X


GRAMS = {
    "mild": gaussian_gram(draw_points(), 2.0),
    "condition 1e16": gaussian_gram(draw_points(), 0.0003),
    "duplicates": gaussian_gram(draw_points(True), 0.5),
    "duplicates, condition 1e16": gaussian_gram(draw_points(True), 0.0003),
    "rank 2": draw_points() @ draw_points().T,
}

every_gram = pytest.mark.parametrize("gram", GRAMS)


def state_problem(source, graph, gram, strength, beta=1.0):
    """State the problem on the members of a graph; return it with their K0 and T."""
    information, T = SOURCES[source]
    edges = information.graph(graph, beta)
    block = np.ix_(edges.members, edges.members)
    return SCGLogDet(gram[block], edges, strength), gram[block], T[block]


def error(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


def reference_problem():
    X = np.random.default_rng(12345).normal(size=(12, 3))
    y = [0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1]
    kernel = Gaussian(1 / (2 * 1.5**2))
    edges = SideInformation.from_labels(y).graph("complete")
    return X, kernel, SCGLogDet(kernel(X), edges, 1.0)


def test_reference_values():
    X, kernel, problem = reference_problem()
    found = problem.solve()
    learned = LogDetKernel(kernel, X, found.matrix)
    values = [
        np.trace(found.gram),
        np.linalg.slogdet(found.gram)[1],
        naive.objective(found.gram, problem.gram, problem.graph.toarray(), 1.0),
        found.value,
        found.gram[0, 0],
        found.gram[0, 3],
        found.matrix[0, 0],
        learned(np.zeros((1, 3)))[0, 0],
    ]
    expected = [
        7.53514276989, -20.60836985785, 4.198144318291, 4.198144318291,
        0.646254493927, 0.312659675682, -0.586533974030, 0.765534207786,
    ]  # fmt: skip
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)


@every_gram
@every_source
@every_graph
@pytest.mark.parametrize("strength", STRENGTHS)
def test_kernel_and_extension_in_120_digits(gram, source, graph, strength):
    problem, K0, T = state_problem(source, graph, GRAMS[gram], strength)
    K, Q = naive.exactly(K0, T, strength)
    found = problem.solve()
    assert error(found.gram, K) < 1e-10
    assert error(found.matrix, Q) < 1e-10


@every_source
@every_graph
@pytest.mark.parametrize("beta", [0.1, 40.0])
def test_other_exponents_in_120_digits(source, graph, beta):
    limit = 2e-11 * max(1.0, beta)  # the relative error of a power grows with its exponent
    for gram, strength in (("mild", 1e-2), ("duplicates", 1e4)):
        problem, K0, T = state_problem(source, graph, GRAMS[gram], strength, beta)
        K, Q = naive.exactly(K0, T, strength, beta)
        found = problem.solve()
        assert error(found.gram, K) < limit
        assert error(found.matrix, Q) < limit


@every_source
@every_graph
@pytest.mark.parametrize("strength", [1.0, 1e4])
def test_kernel_values_of_different_magnitudes(source, graph, strength):
    """An eigendecomposition loses the small values of points scaled from 1e-6 to 1e6."""
    sizes = 10.0 ** np.linspace(-6, 6, len(Y))
    problem, K0, T = state_problem(source, graph, np.outer(sizes, sizes) * GRAMS["mild"], strength)
    K, Q = naive.exactly(K0, T, strength)
    found = problem.solve()
    assert error(found.gram, K) < 1e-14
    assert error(found.matrix, Q) < 1e-14


@every_gram
@every_source
@every_graph
def test_optimal_value_of_singular_grams(gram, source, graph):
    """Compare with log det(I + gamma S K0)."""
    for strength in (1e-3, 1.0, 1e3):
        problem, K0, T = state_problem(source, graph, GRAMS[gram], strength)
        S = naive.laplacian(T)
        expected = np.linalg.slogdet(np.eye(len(K0)) + strength * S @ K0)[1]
        assert problem.solve().value == pytest.approx(expected, rel=1e-9, abs=1e-12)


def in_sixty_digits(K, information, strength, graph, beta):
    """Compute K0 - gamma K0_:A S (I + gamma K0_AA S)^{-1} K0_A: in 60-digit arithmetic."""
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


def draw_exact_points(n=14, features=3):
    """Draw multiples of 1/64, for which a linear K0 is exact."""
    return np.round(64 * np.random.default_rng(0).standard_normal((n, features))) / 64


def duplicate(K):
    """Return the symmetric Gram matrix of points that each occur twice."""
    K = 0.5 * (K + K.T)
    return np.repeat(np.repeat(K, 2, axis=0), 2, axis=1)


MATRICES = {
    "linear": lambda X: X @ X.T,
    "equal points": lambda X: duplicate(Gaussian(0.5)(X[::2])),
    "regular": lambda X: Gaussian(3.0)(X),
}

CASES = {
    "all": lambda y: SideInformation.from_labels(y),
    "few new": lambda y: SideInformation.from_labels(np.where(np.arange(14) > 10, -1, y)),
    "many new": lambda y: SideInformation.from_labels(np.where(np.arange(14) > 5, -1, y)),
    "pairs": lambda _: SideInformation.from_pairs(14, [(0, 3), (3, 6), (1, 4)], [(0, 1), (4, 5)]),
}


@pytest.mark.parametrize("graph", ["labeled", "complete"])
@pytest.mark.parametrize("information", CASES)
@pytest.mark.parametrize("matrix", MATRICES)
def test_path_in_60_digits(matrix, information, graph):
    K, known = MATRICES[matrix](draw_exact_points()), CASES[information](np.arange(14) % 3)
    path = SCGLogDetPath(K)
    for strength in (1e6, 1e12):
        gram = path.gram(known, strength, graph=graph)
        expected = in_sixty_digits(K, known, strength, graph, 1.0)
        assert np.abs(gram - expected).max() <= 1e-10 * np.abs(expected).max()
        part = path.gram(known, strength, graph=graph, columns=[0, 12, 13])
        assert np.abs(part - gram[:, [0, 12, 13]]).max() <= 1e-14 * np.abs(gram).max()


@pytest.mark.parametrize("labelled", [6, 11])
def test_new_points_in_60_digits(labelled):
    """The difference from k0 has a rounding error of 1e-16 k0."""
    X, y = draw_exact_points(), np.arange(14) % 3
    known = SideInformation.from_labels(np.where(np.arange(14) < labelled, y, -1))
    for strength, accuracy in ((1e6, 1e-9), (1e9, 1e-6), (1e12, 1e-3)):
        learner = SCGLogDetLearner(kernel="linear", strength=strength)
        learned = learner.fit(X[:labelled], y[:labelled]).kernel_(X)
        expected = in_sixty_digits(X @ X.T, known, strength, "labeled", 1.0)
        assert np.abs(learned - expected).max() <= accuracy * np.abs(expected).max()


seeds = st.integers(0, 2**32 - 1)


def fitted(K, known, strength, **parameters):
    learner = SCGLogDetLearner("precomputed", strength=strength, **parameters)
    return learner.fit_gram(K, **known)


LABELLINGS = {
    "all": lambda y: {"y": y},
    "most": lambda y: {"y": np.where(np.arange(40) % 5 == 2, -1, y)},
    "few": lambda y: {"y": np.where(np.arange(40) % 5 > 0, -1, y)},
    "pairs": lambda y: known_of(y, "pairs"),
}


@given(
    seed=seeds,
    graph=st.sampled_from(GRAPHS),
    strength=st.floats(1e-3, 1e5),
    beta=st.floats(0.1, 6.0),
    scaled=st.booleans(),
    share=st.floats(0.0, 0.95),
    pairs=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_path_matches_separate_fits(seed, graph, strength, beta, scaled, share, pairs):
    rng = np.random.default_rng(seed)
    X, y = data(24, seed=seed)
    K = Gaussian(float(rng.choice([0.05, 0.5, 5.0])))(X)
    y = np.where(rng.random(24) < share, -1, y)
    y[:3] = [0, 1, 2]
    known = known_of(y, "pairs", seed % 1000) if pairs else {"y": y}
    gram = SCGLogDetPath(K).gram(
        information_of(known, 24), strength, beta=beta, graph=graph, scale_strength=scaled
    )
    expected = fitted(K, known, strength, beta=beta, graph=graph, scale_strength=scaled)
    assert_close(gram, expected, 1e-9)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("labelling", LABELLINGS)
def test_path_of_singular_matrices(labelling, graph):
    X, y = data()
    known = LABELLINGS[labelling](y)
    twice = np.repeat(X[:20], 2, axis=0)
    for K in (X @ X.T, Gaussian(0.3)(twice), np.ones((40, 40)), np.zeros((40, 40)), np.eye(40)):
        path = SCGLogDetPath(K)
        for strength in (0.1, 100.0, 1e5):
            gram = path.gram(information_of(known), strength, graph=graph)
            assert_close(gram, fitted(K, known, strength, graph=graph), 1e-9)


def test_invalid_matrices_and_information_raise():
    X, y = data()
    K, known = Gaussian(0.3)(X), SideInformation.from_labels(y)
    with pytest.raises(ValueError, match="square"):
        SCGLogDetPath(K[:30])
    path = SCGLogDetPath(K)
    with pytest.raises(ValueError, match="strength > 0"):
        path.gram(known, 0.0)
    with pytest.raises(ValueError, match="graph in"):
        path.gram(known, 1.0, graph="all")
    with pytest.raises(ValueError, match=r"on 40 points.*got 20"):
        path.gram(SideInformation.from_labels(y[:20]), 1.0)
    with pytest.raises(TypeError, match="SideInformation"):
        path.gram(y, 1.0)
