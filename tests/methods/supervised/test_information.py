"""Side information, the supervised graph and its loss, compared with dense definitions."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from pliant.methods.supervised.information import (
    GRAPHS,
    LabelGraph,
    SideInformation,
    _pairs_of_ranks,
)
from pliant.metrics import kernel_alignment, scg_loss
from tests.memory import peak_memory
from tests.reference import naive_supervision as naive
from tests.reference.naive_supervision import (
    known_points,
    laplacian,
    target_of_labels,
    target_of_pairs,
    weights,
)

HIDDEN = -1

SOURCES = [
    SideInformation.from_labels([0, -1, 1, 1, 2, 0, -1, 2, 1, 0]),
    SideInformation.from_pairs(
        9, [(0, 1), (1, 2), (3, 8), (8, 0), (4, 5)], [(0, 3), (2, 8), (5, 6), (6, 1)]
    ),
]


def null_vector(graph):
    root = np.sqrt(graph.degrees)
    return root / np.linalg.norm(root)


@st.composite
def draw_labels(draw, max_size=12):
    """Draw labels of at least two classes, with -1 for some points."""
    y = draw(st.lists(st.integers(-1, 3), min_size=0, max_size=max_size - 2))
    pair = draw(st.sampled_from([(0, 1), (2, 0), (1, 3)]))
    return np.array(draw(st.permutations([*y, *pair])))


@st.composite
def draw_pairs(draw, max_size=10):
    """Draw a number of points, and similar and dissimilar pairs with repetitions."""
    n = draw(st.integers(2, max_size))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    known = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    cut = draw(st.integers(0, len(known)))
    swapped = [pair[::-1] if draw(st.booleans()) else pair for pair in known]
    similar, dissimilar = swapped[:cut], swapped[cut:]
    return n, similar + known[:cut][:2], dissimilar


def raises(message, make, *args, **options):
    with pytest.raises(ValueError, match=re.escape(message)):
        make(*args, **options)


def check_pairs_and_target(information, T):
    """Assert that the pairs are the non-zero entries of T above the diagonal."""
    i, j = information.pairs.T
    assert (i < j).all()
    np.testing.assert_array_equal(information.signs, T[i, j])
    assert len(i) == np.count_nonzero(np.triu(T, 1))
    assert len({(a, b) for a, b in information.pairs.tolist()}) == len(i)


# labels


@given(y=draw_labels())
@settings(max_examples=60, deadline=None)
def test_labels_give_signs_of_all_labelled_pairs(y):
    information, T = SideInformation.from_labels(y, unlabeled=HIDDEN), target_of_labels(y)
    np.testing.assert_array_equal(information.target(), T)
    np.testing.assert_array_equal(information.target(), information.target().T)
    np.testing.assert_array_equal(information.known, known_points(T))
    np.testing.assert_array_equal(information.classes[information.labels[y >= 0]], y[y >= 0])
    assert information.n_samples == len(y)
    assert (information.labels[y < 0] == -1).all()
    check_pairs_and_target(information, T)


@pytest.mark.parametrize("y", [[-1, 1], [1, -1, -1], [-1.0, 1.0], np.array([-1, 1], dtype=object)])
def test_labels_of_only_minus_one_and_one_are_ambiguous(y):
    raises("`unlabeled` to be given, since y contains only", SideInformation.from_labels, y)
    assert len(SideInformation.from_labels(y, unlabeled=0).known) == len(y)
    raises("only one class: 1", SideInformation.from_labels, y, unlabeled=-1)


@pytest.mark.parametrize("y", [[[0], [1], [-1], [1]], [["b"], ["a"], ["?"], ["a"]]])
def test_a_column_of_labels_becomes_a_vector_with_a_warning(y):
    unlabeled = y[2][0]
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        information = SideInformation.from_labels(y, unlabeled=unlabeled)
    expected = SideInformation.from_labels([label for (label,) in y], unlabeled=unlabeled)
    np.testing.assert_array_equal(information.labels, expected.labels)
    np.testing.assert_array_equal(information.classes, expected.classes)
    mixed = [["a"], [1]]
    with pytest.warns(DataConversionWarning):
        raises("expected labels of one type, got text and 1", SideInformation.from_labels, mixed)


# pairs


@given(case=draw_pairs())
@settings(max_examples=60, deadline=None)
def test_pairs_match_their_target(case):
    n, similar, dissimilar = case
    information = SideInformation.from_pairs(n, similar, dissimilar)
    T = target_of_pairs(n, similar, dissimilar)
    np.testing.assert_array_equal(information.target(), T)
    np.testing.assert_array_equal(information.known, known_points(T))
    assert not information.target().diagonal().any()
    assert (information.n_samples, information.labels, information.classes) == (n, None, None)
    check_pairs_and_target(information, T)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("max_size", [1, 2, 3, 5, 8])
def test_drawn_pairs_are_distinct_known_pairs(source, max_size):
    T = source.target()
    for seed in range(20):
        pairs, signs = source.sample_pairs(max_size, np.random.RandomState(seed))
        assert len(pairs) == max_size
        assert len(np.unique(pairs, axis=0)) == len(pairs) == len(signs)
        assert (pairs[:, 0] < pairs[:, 1]).all()
        np.testing.assert_array_equal(signs, T[pairs[:, 0], pairs[:, 1]])


@pytest.mark.parametrize("source", SOURCES)
def test_every_known_pair_can_be_drawn(source):
    draws = [source.sample_pairs(3, np.random.RandomState(seed))[0] for seed in range(100)]
    drawn = {tuple(pair) for pairs in draws for pair in pairs}
    assert drawn == {tuple(pair) for pair in source.pairs}


@pytest.mark.parametrize("last", [2, 3, 10, 2**16, 94_906_265, 94_906_267, 2**30 - 1, 2**30])
def test_ranks_of_pairs_with_rounded_square_roots(last):
    """Beyond 2^52 the rounded square root may be off by one."""
    first = last * (last - 1) // 2
    numbers = np.array([first - 1, first, first + last - 1, first + last])
    expected = [[last - 2, last - 1], [0, last], [last - 1, last], [0, last + 1]]
    np.testing.assert_array_equal(_pairs_of_ranks(numbers), expected)


def dense(y):
    return SideInformation.from_labels(y, unlabeled=HIDDEN), target_of_labels(y)


information_and_targets = st.one_of(
    draw_labels().map(dense),
    draw_pairs().map(lambda case: (SideInformation.from_pairs(*case), target_of_pairs(*case))),
)

every_kind = pytest.mark.parametrize("kind", GRAPHS)

betas = st.sampled_from([1.0, 0.1, 4.0, 0.5, 12.0])


def members_of(T, kind):
    return np.array(known_points(T)) if kind == "labeled" else np.arange(len(T))


def assert_near(actual, expected, scale=1.0):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * scale)


@every_kind
@given(case=information_and_targets, beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_weights_degrees_and_laplacian_match_dense_arrays(kind, case, beta, seed):
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    T = T[np.ix_(members, members)]
    W, S, B = weights(T, beta), laplacian(T, beta), draw_block(seed, len(members))
    np.testing.assert_array_equal(graph.members, members)
    assert len(graph) == len(members)
    assert_near(graph.degrees, W.sum(axis=1), W.sum(axis=1).max())
    for B_ in (B, B[:, 0]):
        assert_near(graph.weights(B_), W @ B_, 10 * W.sum(axis=1).max())
        assert_near(graph.laplacian(B_), S @ B_, 10)
    assert_near(graph.toarray(), S)
    np.testing.assert_array_equal(graph.toarray(), graph.toarray().T)


@every_kind
@given(case=information_and_targets, beta=betas)
@settings(max_examples=60, deadline=None)
def test_laplacian_is_psd_with_one_null_vector(kind, case, beta):
    information, T = case
    graph = information.graph(kind, beta)
    members = members_of(T, kind)
    root_degrees = np.sqrt(weights(T[np.ix_(members, members)], beta).sum(axis=1))
    assert_near(graph.laplacian(np.sqrt(graph.degrees)), 0.0, np.sqrt(graph.degrees).max())
    assert_near(null_vector(graph), root_degrees / np.linalg.norm(root_degrees))
    assert_near(np.linalg.norm(null_vector(graph)), 1.0)
    values = np.linalg.eigvalsh(graph.toarray())
    assert values[0] > -1e-13
    assert values[1] > 1e-13  # no other null vector: the graph is connected
    assert values[-1] < 2.0 + 1e-13


@every_kind
@given(case=information_and_targets, beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_laplacian_is_the_identity_outside_of_the_coordinates(kind, case, beta, seed):
    """S = I - C'(I - R)C, with orthonormal rows C for the groups (labels) or points (pairs)."""
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    C, B = graph.coordinates(np.eye(len(members))), draw_block(seed, len(members))
    eye = np.eye(len(C))
    assert_near(C @ C.T, eye)
    assert_near(graph.coordinates(B), C @ B, 10)
    S = np.eye(len(members)) - C.T @ (eye - graph.reduced) @ C
    assert_near(S, laplacian(T[np.ix_(members, members)], beta))
    assert_near(graph.reduced @ (C @ null_vector(graph)), 0.0)
    if isinstance(graph, LabelGraph):
        assert len(C) == len(np.unique(T[members], axis=0)) == len(graph.damping)


@every_kind
@given(case=information_and_targets, beta=betas, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_squared_root_is_the_laplacian(kind, case, beta, seed):
    information, T = case
    graph, members = information.graph(kind, beta), members_of(T, kind)
    root, B = graph.root(np.eye(len(members))), draw_block(seed, len(members))
    assert_near(root, root.T)
    assert_near(root @ root, laplacian(T[np.ix_(members, members)], beta))
    assert_near(graph.root(B), root @ B, 10)
    null = graph.root(null_vector(graph)[:, None])
    assert np.linalg.norm(null) < 1e-10  # z'Sz < 1e-20


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
def test_laplacian_of_extreme_weights(kind, beta, information):
    """For beta > 36 weights between groups are below the rounding of weights within groups."""
    graph = information.graph(kind, beta)
    members = graph.members
    S = laplacian(information.target()[np.ix_(members, members)], beta)
    assert_near(graph.toarray(), S)
    assert np.linalg.eigvalsh(graph.toarray())[0] > -1e-13
    assert_near(graph.laplacian(null_vector(graph)), 0.0)


@pytest.mark.parametrize("source", ["labels", "pairs"])
def test_memory_is_linear_in_the_points(source):
    n, rng = 100_000, np.random.default_rng(0)
    if source == "labels":
        information = SideInformation.from_labels(rng.integers(-1, 5, n), unlabeled=-1)
    else:
        pairs = rng.integers(n, size=(200_000, 2))
        pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
        information = SideInformation.from_pairs(n, pairs[::2], pairs[1::2])
    F = rng.standard_normal((n, 3))
    with peak_memory() as used:
        graph = information.graph("complete")
        form = F.T @ graph.laplacian(F)
        image = graph.laplacian(null_vector(graph))
    assert used.peak < 100e6
    assert np.abs(image).max() < 1e-14
    assert np.linalg.eigvalsh(form)[0] > 0
    np.testing.assert_allclose(form, F.T @ F, rtol=0, atol=0.02 * n)  # S is nearly the identity


def draw_block(seed, n):
    return np.random.default_rng(seed).standard_normal((n, 3))


LABELS = [0, 2, 2, -1, 1, 0, 1, -1]

SIMILAR, DISSIMILAR = [(0, 1), (3, 4), (1, 6)], [(0, 3), (5, 1)]

KNOWN = {
    "labels": (SideInformation.from_labels(LABELS), naive.target_of_labels(LABELS)),
    "pairs": (
        SideInformation.from_pairs(8, SIMILAR, DISSIMILAR),
        naive.target_of_pairs(8, SIMILAR, DISSIMILAR),
    ),
}

every_known = pytest.mark.parametrize(("information", "T"), KNOWN.values(), ids=KNOWN.keys())

seeds = st.integers(0, 10**6)


def symmetric(seed, n=8):
    matrix = np.random.default_rng(seed).standard_normal((n, n))
    return matrix + matrix.T


def part(K, T, graph):
    """Return the blocks of K and T on the members of the graph."""
    rows = naive.known_points(T) if graph == "labeled" else range(len(T))
    block = np.ix_(rows, rows)
    return K[block], T[block]


# the loss


@every_known
@every_kind
@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_loss_is_half_the_sum_over_edges(information, T, kind, beta):
    """Compare with Eq. 10, multiplied by the omitted factor 1/2."""
    K = symmetric(0)
    loss = scg_loss(K, information, beta=beta, graph=kind)
    assert loss == pytest.approx(naive.loss_over_edges(*part(K, T, kind), beta), rel=1e-12)


@every_known
def test_loss_is_over_the_known_points_unless_told_otherwise(information, T):
    K = np.eye(8)
    expected = naive.loss_over_edges(*part(K, T, "labeled"), 1.0)
    assert scg_loss(K, information) == pytest.approx(expected, rel=1e-12)
    assert scg_loss(K, information, graph="complete") != pytest.approx(expected, rel=1e-3)


@every_known
def test_alignment_uses_known_points_only(information, T):
    K, rows = symmetric(3), naive.known_points(T)
    block = np.ix_(rows, rows)
    expected = naive.alignment(K[block], T[block])
    assert kernel_alignment(K, information) == pytest.approx(expected, abs=1e-14)
    changed = K.copy()
    for row in set(range(8)) - set(rows):
        changed[row] = changed[:, row] = 77.0
    assert kernel_alignment(changed, information) == pytest.approx(expected, abs=1e-14)


# refusals


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([-1, -1], {}, "expected labelled points, got -1 for all points"),
        ([2, 2, 2], {}, "got only one class: 2 for all 3 labelled points"),
        ([0.0, 1.0, 0.5], {}, "expected class labels, got 0.5 in y at row 2"),
        (["a", "b", -1], {}, "expected labels of one type, got text and -1"),
        ([[0, 1]], {}, "expected y of shape (n_samples,), n_samples >= 1, got (1, 2)"),
        ([0, 1, 1], {"unlabeled": (0,)}, "expected unlabeled to be a single value, got"),
    ],
)
def test_invalid_labels_raise(y, options, message):
    raises(message, SideInformation.from_labels, y, **options)


@pytest.mark.parametrize(
    ("n", "pairs", "message"),
    [
        (4, {"similar": [(0, 1), (0, 4)]}, "different row indices from 0 to 3"),
        (4, {"similar": [(0, 1), (2, -1)]}, "got similar[1] = (2, -1)"),
        (4, {"dissimilar": [(0, 1), (2, 2)]}, "got dissimilar[1] = (2, 2)"),
        (4, {"similar": [(0, 1, 2)]}, "expected similar of shape (n_pairs, 2), got (1, 3)"),
        (4, {"similar": [(0.0, 1.0)]}, "expected similar to hold integer row indices"),
        (4, {"similar": [(0, 3), (2, 1)], "dissimilar": [(1, 2)]}, "got (1, 2) as both"),
        (4, {"similar": [], "dissimilar": None}, "expected similar or dissimilar pairs, got none"),
        (1, {"similar": [(0, 1)]}, "expected n_samples >= 2, an integer, got 1"),
    ],
)
def test_invalid_pairs_raise(n, pairs, message):
    raises(message, SideInformation.from_pairs, n, **pairs)


@pytest.mark.parametrize("information", [known for known, _ in KNOWN.values()], ids=KNOWN)
def test_invalid_graphs_and_matrices_raise(information):
    raises("expected beta > 0, a finite number, got 0.0", information.graph, "labeled", 0.0)
    raises("expected beta <= 100, as weights are exp(beta)", information.graph, "labeled", 101)
    raises("expected graph in ['complete', 'labeled'], got 'all'", information.graph, "all")
    for function in (scg_loss, kernel_alignment):
        raises("expected side information on 7 points", function, np.eye(7), information)
        raises("expected a symmetric", function, np.triu(np.ones((8, 8))), information)
    raises("expected gram to have a nonzero", kernel_alignment, np.zeros((8, 8)), information)
    raises("target to have the shape of gram, (3, 3)", kernel_alignment, np.eye(3), np.eye(4))
