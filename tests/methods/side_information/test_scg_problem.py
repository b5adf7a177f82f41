"""SCG-LDK's closed forms: reference values, 120 digits, optimality, and what does not matter."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import SCGLogDetLearner
from pliant.kernels import Gaussian, LogDetKernel
from pliant.methods.side_information.information import GRAPHS, SideInformation
from pliant.methods.side_information.scg_problem import SCGLogDet, learned_map
from tests.reference import naive_supervision as naive

SOLVERS = ("cholesky", "eigh")
STRENGTHS = (1e-6, 1e-3, 1.0, 1e2, 1e4)
every_solver = pytest.mark.parametrize("solver", SOLVERS)
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


def points(duplicates=False):
    X = np.random.default_rng(7).normal(size=(len(Y), 2))
    if duplicates:
        X[7:10] = X[:3]
    return X


GRAMS = {
    "mild": gaussian_gram(points(), 2.0),
    "condition 1e16": gaussian_gram(points(), 0.0003),
    "duplicates": gaussian_gram(points(True), 0.5),
    "duplicates, condition 1e16": gaussian_gram(points(True), 0.0003),
    "rank 2": points() @ points().T,
}
every_gram = pytest.mark.parametrize("gram", GRAMS)


def posed(source, graph, gram, strength, beta=1.0):
    """The problem on the members of a graph, and K0 and T there."""
    information, T = SOURCES[source]
    edges = information.graph(graph, beta)
    block = np.ix_(edges.members, edges.members)
    return SCGLogDet(gram[block], edges, strength), gram[block], T[block]


def error(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


# the reference problem


def reference_problem():
    X = np.random.default_rng(12345).normal(size=(12, 3))
    y = [0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1]
    kernel = Gaussian(1 / (2 * 1.5**2))
    edges = SideInformation.from_labels(y).graph("complete")
    return X, kernel, SCGLogDet(kernel(X), edges, 1.0)


@every_solver
def test_the_reference_problem_has_its_values(solver):
    X, kernel, problem = reference_problem()
    found = problem.solve(solver)
    learned = LogDetKernel(kernel, X, found.matrix)
    values = [
        np.trace(found.gram),
        np.linalg.slogdet(found.gram)[1],
        problem.objective(found.gram),
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


@every_solver
def test_the_learner_has_the_values_of_the_reference_problem(solver):
    X = np.random.default_rng(12345).normal(size=(12, 3))
    learner = SCGLogDetLearner(
        kernel=Gaussian(1 / (2 * 1.5**2)),
        strength=1.0,
        scale_strength=False,
        graph="complete",
        solver=solver,
    )
    K = learner.fit_transform(X, [0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1])
    values = [
        np.trace(K),
        np.linalg.slogdet(K)[1],
        learner.objective_,
        K[0, 0],
        K[0, 3],
        learner.kernel_.matrix[0, 0],
        learner.kernel_(np.zeros((1, 3)))[0, 0],
    ]
    expected = [
        7.53514276989, -20.60836985785, 4.198144318291,
        0.646254493927, 0.312659675682, -0.586533974030, 0.765534207786,
    ]  # fmt: skip
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(learner.transform(X), K, rtol=0, atol=1e-10)
    np.testing.assert_allclose(learner.kernel_(X), K, rtol=0, atol=1e-10)


# against 120 digits


def test_the_grams_are_as_bad_as_their_names_say():
    assert np.linalg.cond(GRAMS["mild"]) < 1e3
    assert all(np.linalg.cond(GRAMS[name]) > 1e16 for name in GRAMS if name != "mild")


@every_gram
@every_source
@every_graph
@pytest.mark.parametrize("strength", STRENGTHS)
def test_kernel_and_extension_hold_against_120_digits(gram, source, graph, strength):
    problem, K0, T = posed(source, graph, GRAMS[gram], strength)
    K, Q = naive.exactly(K0, T, strength)
    for solver in SOLVERS:
        found = problem.solve(solver)
        assert error(found.gram, K) < 1e-10, solver
        assert error(found.matrix, Q) < 1e-10, solver


@every_gram
@every_source
@every_graph
def test_a_huge_strength_costs_no_more_than_the_rounding_of_the_gram(gram, source, graph):
    """A change of K0 by |K0| 2^-52 changes K and Q by up to gamma |K0| 2^-52: here, 3e-9."""
    problem, K0, T = posed(source, graph, GRAMS[gram], 1e6)
    K, Q = naive.exactly(K0, T, 1e6)
    rounding = 1e6 * np.linalg.norm(K0, 2) * 2.0**-52
    for solver in SOLVERS:
        found = problem.solve(solver)
        assert error(found.gram, K) < rounding, solver
        assert error(found.matrix, Q) < rounding, solver


def test_the_rounding_of_the_gram_alone_changes_what_is_learned_by_more_than_1e_10():
    """Why the test above cannot ask for 1e-10: one ulp of each entry, then 120 digits."""
    _, K0, T = posed("labels", "complete", GRAMS["condition 1e16"], 1e6)
    up = np.random.default_rng(0).random(K0.shape) < 0.5
    up = np.triu(up) | np.triu(up, 1).T
    moved = np.nextafter(K0, np.where(up, 2.0, 0.0))
    assert error(naive.exactly(moved, T, 1e6)[1], naive.exactly(K0, T, 1e6)[1]) > 1e-10


@every_source
@every_graph
@pytest.mark.parametrize("beta", [0.1, 4.0, 40.0])
def test_other_exponents_hold_against_120_digits(source, graph, beta):
    for gram, strength in product(("mild", "duplicates"), (1e-2, 1e4)):
        problem, K0, T = posed(source, graph, GRAMS[gram], strength, beta)
        K, Q = naive.exactly(K0, T, strength, beta)
        for solver in SOLVERS:
            found = problem.solve(solver)
            assert error(found.gram, K) < 1e-10, solver
            assert error(found.matrix, Q) < 1e-10, solver


@every_source
@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_the_scale_of_the_gram_is_that_of_the_strength(source, size):
    for strength in (1e-4 / size, 1.0 / size, 1e3 / size):
        problem, K0, T = posed(source, "labeled", size * GRAMS["duplicates"], strength)
        K, Q = naive.exactly(K0, T, strength)
        for solver in SOLVERS:
            found = problem.solve(solver)
            assert error(found.gram, K) < 1e-10, solver
            assert error(found.matrix, Q) < 1e-10, solver


@every_source
@every_graph
@pytest.mark.parametrize("strength", [1.0, 1e4])
def test_kernel_values_of_very_different_sizes_hold_by_cholesky(source, graph, strength):
    """Points scaled from 1e-6 to 1e6; an eigendecomposition loses the small ones."""
    sizes = 10.0 ** np.linspace(-6, 6, len(Y))
    problem, K0, T = posed(source, graph, np.outer(sizes, sizes) * GRAMS["mild"], strength)
    K, Q = naive.exactly(K0, T, strength)
    found = problem.solve("cholesky")
    assert error(found.gram, K) < 1e-14
    assert error(found.matrix, Q) < 1e-14


def test_the_form_of_the_paper_breaks_where_this_one_holds():
    """Eq. 29 and Q by inverses, at a condition number of 1e16."""
    problem, K0, T = posed("labels", "complete", GRAMS["condition 1e16"], 1.0)
    K, Q = naive.exactly(K0, T, 1.0)
    broken = naive.by_inverses(K0, naive.laplacian(T), 1.0)
    assert error(broken[1], Q) > 1.0
    assert error(problem.solve().gram, K) < 1e-14
    assert error(problem.solve().matrix, Q) < 1e-14


@every_source
@every_graph
@every_solver
def test_a_well_conditioned_gram_agrees_with_the_form_of_the_paper(source, graph, solver):
    problem, K0, T = posed(source, graph, GRAMS["mild"] + np.eye(len(Y)), 1.5)
    found = problem.solve(solver)
    K, Q = naive.by_inverses(K0, naive.laplacian(T), 1.5)
    assert error(found.gram, K) < 1e-13
    assert error(found.matrix, Q) < 1e-12


# optimality


@every_source
@every_graph
@pytest.mark.parametrize("strength", [0.1, 1.0, 20.0])
def test_a_generic_solver_finds_the_same_kernel(source, graph, strength):
    problem, K0, T = posed(source, graph, GRAMS["mild"] + 0.1 * np.eye(len(Y)), strength)
    found = problem.solve()
    S = naive.laplacian(T)
    K = naive.by_cone(K0, S, strength)
    assert error(found.gram, K) < 1e-4
    least = naive.objective(found.gram, K0, S, strength)
    assert least <= naive.objective(K, K0, S, strength) + 1e-9
    assert problem.objective(found.gram) == pytest.approx(least, abs=1e-10)
    assert found.value == pytest.approx(least, abs=1e-10)


@every_source
@given(
    seed=st.integers(0, 10**6),
    strength=st.sampled_from([0.01, 1.0, 50.0]),
    size=st.sampled_from([1e-3, 1e-2, 0.1, 1.0]),
)
@settings(max_examples=40, deadline=None)
def test_every_other_kernel_is_worse(source, seed, strength, size):
    """K -> E'KE with E near the identity stays PSD, and reaches every PD matrix."""
    problem, K0, _ = posed(source, "complete", GRAMS["mild"] + 0.1 * np.eye(len(Y)), strength)
    best = problem.solve().gram
    E = np.eye(len(K0)) + size * np.random.default_rng(seed).standard_normal(K0.shape)
    assert problem.objective(E.T @ best @ E) > problem.objective(best) + 1e-3 * size**2
    assert problem.objective(K0) > problem.objective(best)


@every_gram
@every_source
@every_graph
def test_the_optimal_value_is_known_where_the_gram_is_singular(gram, source, graph):
    """log det(I + gamma S K0), by the eigenvalues of a product in the twin's S."""
    for strength in (1e-3, 1.0, 1e3):
        problem, K0, T = posed(source, graph, GRAMS[gram], strength)
        S = naive.laplacian(T)
        expected = np.linalg.slogdet(np.eye(len(K0)) + strength * S @ K0)[1]
        for solver in SOLVERS:
            assert problem.solve(solver).value == pytest.approx(expected, rel=1e-9, abs=1e-12)


# what K and Q are


@every_gram
@every_source
@every_graph
@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e6])
def test_the_learned_matrix_is_symmetric_psd_and_below_the_first(gram, source, graph, strength):
    problem, K0, _ = posed(source, graph, GRAMS[gram], strength)
    found = problem.solve()
    rounding = 1e-9 * np.trace(K0)
    assert np.linalg.eigvalsh(found.gram)[0] > -rounding
    assert np.linalg.eigvalsh(K0 - found.gram)[0] > -rounding
    assert np.linalg.eigvalsh(found.matrix)[-1] < 1e-9 * strength  # Q is negative semi-definite
    assert error(found.gram.T, found.gram) < 1e-14
    assert error(found.matrix.T, found.matrix) < 1e-14


@pytest.mark.parametrize("gamma", [2.0, 0.01])
@pytest.mark.parametrize("duplicates", [False, True])
@every_source
@every_graph
@every_solver
def test_the_kernel_at_its_own_points_is_the_learned_matrix(
    gamma, duplicates, source, graph, solver
):
    X, kernel = points(duplicates), Gaussian(gamma)
    for strength in (1e-6, 1.0, 1e3):
        problem, _, _ = posed(source, graph, kernel(X), strength)
        found = problem.solve(solver)
        members = X[problem.graph.members]
        extended = LogDetKernel(kernel, members, found.matrix)(members)
        np.testing.assert_allclose(extended, found.gram, rtol=0, atol=1e-10)


@every_source
def test_points_outside_the_graph_follow_from_those_within(source):
    """On the known points only: the minimiser over all n points of the loss that they bear."""
    K0 = GRAMS["mild"]
    problem, _, block = posed(source, "labeled", K0, 2.0)
    members = problem.graph.members
    S = np.zeros_like(K0)
    S[np.ix_(members, members)] = naive.laplacian(block)
    K, _ = naive.by_inverses(K0, S, 2.0)
    cross = K0[:, members]
    extended = K0 + cross @ problem.solve().matrix @ cross.T
    assert error(extended, K) < 1e-11


# what does not matter


@every_source
@every_graph
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_does_not_matter(source, graph, seed):
    information, _ = SOURCES[source]
    order = np.random.default_rng(seed).permutation(len(Y))
    if source == "labels":
        moved = SideInformation.from_labels(Y[order])
    else:
        place = np.argsort(order)
        moved = SideInformation.from_pairs(
            len(Y), [place[[i, j]] for i, j in SIMILAR], [place[[i, j]] for i, j in DISSIMILAR]
        )
    K0 = GRAMS["duplicates"]
    one, two = _on_all(information, K0, graph), _on_all(moved, K0[np.ix_(order, order)], graph)
    np.testing.assert_allclose(two, one[np.ix_(order, order)], rtol=0, atol=1e-12)


@given(names=st.permutations(["d", "c", "b", "a"]))
@settings(max_examples=15, deadline=None)
def test_the_names_of_classes_do_not_matter(names):
    renamed = SideInformation.from_labels([names[code] for code in Y], unlabeled=names[-1])
    for graph in GRAPHS:
        one = _on_all(SideInformation.from_labels(Y), GRAMS["mild"], graph)
        two = _on_all(renamed, GRAMS["mild"], graph)
        np.testing.assert_allclose(two, one, rtol=0, atol=1e-13)


def _on_all(information, K0, graph):
    """The learned matrix over all points."""
    edges = information.graph(graph)
    cross = K0[:, edges.members]
    Q = SCGLogDet(cross[edges.members], edges, 1.0).solve().matrix
    return K0 + cross @ Q @ cross.T


# features


@every_source
@every_graph
@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("columns", [3, 40])
def test_features_learn_the_kernel_of_their_gram(source, graph, strength, columns):
    F = np.random.default_rng(1).standard_normal((len(Y), columns))
    problem, K0, T = posed(source, graph, F @ F.T, strength)
    members = F[problem.graph.members]
    learned_features, value = learned_map(members, problem.graph, strength)
    K, _ = naive.exactly(K0, T, strength)
    mapped = members @ learned_features
    assert error(mapped @ mapped.T, K) < max(1e-14, strength * np.linalg.norm(K0, 2) * 2.0**-52)
    assert value == pytest.approx(problem.solve().value, rel=1e-9, abs=1e-12)
