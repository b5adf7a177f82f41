"""The supervised complete graph against its dense twin: W, D, S, roots, the null vector."""

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.side_information.information import (
    GRAPHS,
    LabelGraph,
    PairGraph,
    SideInformation,
)
from tests.reference.naive_supervision import (
    known_points,
    laplacian,
    target_of_labels,
    target_of_pairs,
    weights,
)

every_kind = pytest.mark.parametrize("kind", GRAPHS)


@st.composite
def informed(draw, most=12, pairs=True):
    """Side information of up to a dozen points, from labels or pairs, and its dense target."""
    n = draw(st.integers(3, most))
    if not pairs or draw(st.booleans()):
        free = st.lists(st.integers(-1, 4), min_size=n - 2, max_size=n - 2)
        y = draw(st.permutations([0, 1, *draw(free)]))
        return SideInformation.from_labels(y, unlabeled=-1), target_of_labels(y)
    all_pairs = [(i, j) for j in range(n) for i in range(j)]
    known = draw(st.lists(st.sampled_from(all_pairs), min_size=1, unique=True))
    cut = draw(st.integers(0, len(known)))
    information = SideInformation.from_pairs(n, known[:cut], known[cut:])
    return information, target_of_pairs(n, known[:cut], known[cut:])


betas = st.sampled_from([1.0, 0.1, 4.0, 0.5, 12.0])


def members_of(T, kind):
    return np.array(known_points(T)) if kind == "labeled" else np.arange(len(T))


def assert_near(actual, expected, scale=1.0):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * scale)


@every_kind
@given(case=informed(), beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_weights_degrees_and_laplacian_are_those_of_the_dense_twin(kind, case, beta, seed):
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    T = T[np.ix_(members, members)]
    W, S, B = weights(T, beta), laplacian(T, beta), _block(seed, len(members))
    np.testing.assert_array_equal(graph.members, members)
    assert len(graph) == len(members)
    assert_near(graph.degrees, W.sum(axis=1), W.sum(axis=1).max())
    for B_ in (B, B[:, 0]):
        assert_near(graph.weights(B_), W @ B_, 10 * W.sum(axis=1).max())
        assert_near(graph.laplacian(B_), S @ B_, 10)
    assert_near(graph.toarray(), S)
    np.testing.assert_array_equal(graph.toarray(), graph.toarray().T)


@every_kind
@given(case=informed(), beta=betas)
@settings(max_examples=60, deadline=None)
def test_the_laplacian_is_psd_with_one_null_vector(kind, case, beta):
    information, T = case
    graph = information.graph(kind, beta)
    members = members_of(T, kind)
    root_degrees = np.sqrt(weights(T[np.ix_(members, members)], beta).sum(axis=1))
    assert_near(graph.laplacian(np.sqrt(graph.degrees)), 0.0, np.sqrt(graph.degrees).max())
    assert_near(graph.null_vector, root_degrees / np.linalg.norm(root_degrees))
    assert_near(np.linalg.norm(graph.null_vector), 1.0)
    values = np.linalg.eigvalsh(graph.toarray())
    assert values[0] > -1e-13
    assert values[1] > 1e-13  # no other null vector: the graph is connected
    assert values[-1] < 2.0 + 1e-13


@every_kind
@given(case=informed(), beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_a_few_coordinates_hold_all_that_differs_from_the_identity(kind, case, beta, seed):
    """S = I - C'(I - R)C for orthonormal rows C: of the groups for labels, all for pairs."""
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    C, B = graph.coordinates(np.eye(len(members))), _block(seed, len(members))
    eye = np.eye(len(C))
    assert_near(C @ C.T, eye)
    assert_near(graph.coordinates(B), C @ B, 10)
    S = np.eye(len(members)) - C.T @ (eye - graph.reduced) @ C
    assert_near(S, laplacian(T[np.ix_(members, members)], beta))
    assert_near(graph.reduced @ (C @ graph.null_vector), 0.0)
    if isinstance(graph, LabelGraph):
        assert len(C) == len(np.unique(T[members], axis=0)) == len(graph.damping)
        assert_near(graph.expand(C @ B), C.T @ (C @ B), 10)


@every_kind
@given(case=informed(pairs=False), beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_the_root_of_a_graph_of_labels_squares_to_its_laplacian(kind, case, beta, seed):
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    root, B = graph.root(np.eye(len(members))), _block(seed, len(members))
    assert_near(root, root.T)
    assert_near(root @ root, laplacian(T[np.ix_(members, members)], beta))
    assert_near(graph.root(B), root @ B, 10)
    null = graph.root(graph.null_vector[:, None])
    assert np.linalg.norm(null) < 1e-10  # z'Sz < 1e-20


@every_kind
@given(case=informed(), beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_quadratic_forms_and_traces(kind, case, beta, seed):
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    S, F = laplacian(T[np.ix_(members, members)], beta), _block(seed, len(members))
    assert_near(graph.quadratic(F), F.T @ S @ F, 100)
    np.testing.assert_array_equal(graph.quadratic(F), graph.quadratic(F).T)
    assert_near(graph.trace_with(F @ F.T), np.trace(F.T @ S @ F), 100)


@every_kind
@pytest.mark.parametrize("beta", [25.0, 40.0, 60.0, 100.0])
@pytest.mark.parametrize(
    "information",
    [
        SideInformation.from_pairs(4, similar=[(0, 1), (2, 3)]),
        SideInformation.from_pairs(7, [(0, 1), (1, 2), (3, 4)], [(0, 3), (2, 4)]),
        SideInformation.from_labels([0, 0, 1, 1, 2, -1]),
    ],
    ids=["two pairs", "more pairs", "labels"],
)
def test_weights_far_apart_leave_a_laplacian(kind, beta, information):
    """Beyond beta = 36 some groups are joined by less than the rounding of their own weights."""
    graph = information.graph(kind, beta)
    members = graph.members
    S = laplacian(information.target()[np.ix_(members, members)], beta)
    assert_near(graph.toarray(), S)
    assert_near(graph.quadratic(np.eye(len(graph))), S)
    assert np.linalg.eigvalsh(graph.toarray())[0] > -1e-13
    assert_near(graph.laplacian(graph.null_vector), 0.0)


@every_kind
def test_the_two_sources_agree_where_they_say_the_same(kind):
    """Labels differ from the pairs that they imply in T_ii only: 1 for them, 0 for pairs."""
    y = np.array([0, 1, 1, -1, 2, 0, 2])
    labels = SideInformation.from_labels(y)
    alike = labels.signs > 0
    pairs = SideInformation.from_pairs(len(y), labels.pairs[alike], labels.pairs[~alike])
    one, other = labels.graph(kind, 2.0), pairs.graph(kind, 2.0)
    assert isinstance(one, LabelGraph)
    assert isinstance(other, PairGraph)
    eye = np.eye(len(one))
    on_labelled = (labels.labels[one.members] >= 0) * np.expm1(2.0)
    assert_near(one.weights(eye) - other.weights(eye), np.diag(on_labelled), 10)


def test_the_complete_graph_of_full_labels_is_the_labelled_one():
    information = SideInformation.from_labels(list("abcab"))
    complete, labeled = information.graph("complete"), information.graph("labeled")
    np.testing.assert_array_equal(complete.members, labeled.members)
    np.testing.assert_array_equal(complete.toarray(), labeled.toarray())


def test_beta_tells_groups_apart():
    information = SideInformation.from_labels([0, 0, 0, 1, 1, 1])
    losses = [information.graph("labeled", beta).damping[1] for beta in (0.01, 1.0, 4.0)]
    # two classes of equal size: 1 - tanh(beta)
    np.testing.assert_allclose(losses, 1 - np.tanh([0.01, 1.0, 4.0]), atol=1e-15)


@every_kind
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(
    ("beta", "said"),
    [
        (0.0, "expected beta > 0, a finite number, got 0.0"),
        (-1.0, "expected beta > 0, a finite number, got -1.0"),
        (np.nan, "expected beta > 0, a finite number, got nan"),
        (np.inf, "expected beta > 0, a finite number, got inf"),
        ("1", "expected beta > 0, a finite number, got '1'"),
        (True, "expected beta > 0, a finite number, got True"),
        (100.5, "expected beta <= 100, as weights are exp(beta), got 100.5"),
    ],
)
def test_beta_must_be_in_its_range(kind, pairs, beta, said):
    if pairs:
        information = SideInformation.from_pairs(3, similar=[(0, 1)])
    else:
        information = SideInformation.from_labels([0, 1, -1])
    with pytest.raises(ValueError, match=re.escape(said)):
        information.graph(kind, beta)


@pytest.mark.parametrize("kind", ["labelled", "full", None, 1])
def test_an_unknown_graph_is_refused(kind):
    with pytest.raises(ValueError, match=r"expected graph in \['complete', 'labeled'\], got"):
        SideInformation.from_labels([0, 1]).graph(kind)


@pytest.mark.parametrize("source", ["labels", "pairs"])
def test_a_hundred_thousand_points_need_no_square_array(source):
    n, rng = 100_000, np.random.default_rng(0)
    if source == "labels":
        information = SideInformation.from_labels(rng.integers(-1, 5, n), unlabeled=-1)
    else:
        pairs = rng.integers(n, size=(200_000, 2))
        pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
        information = SideInformation.from_pairs(n, pairs[::2], pairs[1::2])
    F = rng.standard_normal((n, 3))
    tracemalloc.start()
    graph = information.graph("complete")
    form = graph.quadratic(F)
    image = graph.laplacian(graph.null_vector)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert np.abs(image).max() < 1e-14
    assert np.linalg.eigvalsh(form)[0] > 0
    np.testing.assert_allclose(form, F.T @ F, rtol=0, atol=0.02 * n)  # S is nearly the identity


def _block(seed, n):
    return np.random.default_rng(seed).standard_normal((n, 3))
