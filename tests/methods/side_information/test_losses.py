"""How well a kernel matrix agrees with side information: the graph's loss, and alignment."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant
from pliant.methods.side_information.information import GRAPHS, SideInformation
from pliant.methods.side_information.losses import scg_loss
from pliant.metrics import kernel_alignment
from tests.reference import naive_supervision as naive

LABELS = [0, 2, 2, -1, 1, 0, 1, -1]
SIMILAR, DISSIMILAR = [(0, 1), (3, 4), (1, 6)], [(0, 3), (5, 1)]
SOURCES = {
    "labels": (SideInformation.from_labels(LABELS), naive.target_of_labels(LABELS)),
    "pairs": (
        SideInformation.from_pairs(8, SIMILAR, DISSIMILAR),
        naive.target_of_pairs(8, SIMILAR, DISSIMILAR),
    ),
}
every_source = pytest.mark.parametrize(("information", "T"), SOURCES.values(), ids=SOURCES.keys())
every_graph = pytest.mark.parametrize("graph", GRAPHS)
seeds = st.integers(0, 10**6)


def psd(seed, n=8, rank=5):
    factor = np.random.default_rng(seed).standard_normal((n, rank))
    return factor @ factor.T


def symmetric(seed, n=8):
    matrix = np.random.default_rng(seed).standard_normal((n, n))
    return matrix + matrix.T


def part(K, T, graph):
    """The block of K and T on the members of the graph."""
    rows = naive.known_points(T) if graph == "labeled" else range(len(T))
    block = np.ix_(rows, rows)
    return K[block], T[block]


def test_the_functions_are_public():
    assert pliant.scg_loss is scg_loss
    assert pliant.kernel_alignment is kernel_alignment


# the loss


@every_source
@every_graph
@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_the_loss_is_half_the_sum_over_edges(information, T, graph, beta):
    """Eq. 10 with the factor that it lacks."""
    K = psd(0)
    loss = scg_loss(K, information, beta=beta, graph=graph)
    assert loss == pytest.approx(naive.loss_over_edges(*part(K, T, graph), beta), rel=1e-12)


@every_source
def test_equation_10_as_printed_is_twice_the_loss(information, T):
    K, W = psd(1), naive.weights(T)
    printed = 0.0
    factor = np.linalg.cholesky(K + 1e-12 * np.eye(8)) / np.sqrt(W.sum(axis=1))[:, None]
    for i in range(8):
        for j in range(8):
            printed += W[i, j] * np.sum((factor[i] - factor[j]) ** 2)
    assert printed == pytest.approx(2 * scg_loss(K, information), rel=1e-9)


@every_source
@every_graph
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_loss_is_the_inner_product_with_the_laplacian(information, T, graph, seed):
    K = symmetric(seed)
    block, target = part(K, T, graph)
    expected = np.sum(block * naive.laplacian(target))
    assert scg_loss(K, information, graph=graph) == pytest.approx(expected, abs=1e-12)


@every_source
@given(seed=seeds, a=st.floats(-5, 5), b=st.floats(-5, 5))
@settings(max_examples=25, deadline=None)
def test_the_loss_is_linear(information, T, seed, a, b):
    K, M = symmetric(seed), symmetric(seed + 1)
    expected = a * scg_loss(K, information) + b * scg_loss(M, information)
    assert scg_loss(a * K + b * M, information) == pytest.approx(expected, abs=1e-11)


@every_source
@every_graph
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_no_psd_matrix_has_a_negative_loss(information, T, graph, seed):
    loss = scg_loss(psd(seed, rank=1), information, graph=graph)
    assert loss >= -1e-12
    assert loss <= 2 * np.trace(psd(seed, rank=1)) + 1e-12


@every_source
def test_the_null_vector_alone_costs_nothing(information, T):
    z = np.sqrt(naive.weights(T).sum(axis=1))
    assert scg_loss(np.outer(z, z), information) == pytest.approx(0.0, abs=1e-11)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(seed):
    order = np.random.default_rng(seed).permutation(8)
    K, y = psd(seed), np.array(LABELS)
    moved = SideInformation.from_labels(y[order])
    names = np.array(["x", "?", "b", "a"])[[*range(1, 4), 0]]
    renamed = SideInformation.from_labels(names[y], unlabeled=names[-1])
    for graph in GRAPHS:
        loss = scg_loss(K, SideInformation.from_labels(y), graph=graph)
        assert scg_loss(K[np.ix_(order, order)], moved, graph=graph) == pytest.approx(loss)
        assert scg_loss(K, renamed, graph=graph) == pytest.approx(loss)
    aligned = kernel_alignment(K, SideInformation.from_labels(y))
    assert kernel_alignment(K[np.ix_(order, order)], moved) == pytest.approx(aligned)
    assert kernel_alignment(K, renamed) == pytest.approx(aligned)


def test_a_kernel_that_follows_the_labels_loses_less():
    information = SideInformation.from_labels([0, 0, 0, 1, 1, 1])
    same = (information.target() > 0).astype(float)
    assert scg_loss(same, information) < scg_loss(np.eye(6), information)


# alignment


@given(seed=seeds)
@settings(max_examples=50, deadline=None)
def test_alignment_is_the_cosine_between_two_matrices(seed):
    K, Y = symmetric(seed), symmetric(seed + 1)
    assert kernel_alignment(K, Y) == pytest.approx(naive.alignment(K, Y), abs=1e-14)
    assert kernel_alignment(K, Y) == pytest.approx(kernel_alignment(Y, K), abs=1e-14)


@given(seed=seeds, power=st.integers(-250, 250), other=st.integers(-250, 250))
@settings(max_examples=50, deadline=None)
def test_alignment_does_not_depend_on_scales(seed, power, other):
    K, Y = symmetric(seed), symmetric(seed + 1)
    scaled = kernel_alignment(10.0**power * K, -(10.0**other) * Y)
    assert scaled == pytest.approx(-kernel_alignment(K, Y), abs=1e-14)


@given(seed=seeds, size=st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_alignment_stays_between_minus_one_and_one(seed, size):
    K = symmetric(seed, size)
    assert kernel_alignment(K, K) == pytest.approx(1.0, abs=1e-14)
    assert -1.0 <= kernel_alignment(K, -3.0 * K) <= kernel_alignment(K, 7.0 * K) <= 1.0


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_two_psd_matrices_are_never_opposed(seed):
    assert kernel_alignment(psd(seed, rank=2), psd(seed + 1, rank=2)) >= 0.0


@every_source
def test_alignment_with_side_information_looks_at_known_points_only(information, T):
    K, rows = psd(3), naive.known_points(T)
    block = np.ix_(rows, rows)
    expected = naive.alignment(K[block], T[block])
    assert kernel_alignment(K, information) == pytest.approx(expected, abs=1e-14)
    changed = K.copy()
    for row in set(range(8)) - set(rows):
        changed[row] = changed[:, row] = 77.0
    assert kernel_alignment(changed, information) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("K", "y", "expected"),
    [
        (np.eye(4), [0, 0, 1, 1], 0.5),
        (np.ones((4, 4)), [0, 0, 1, 1], 0.0),
        (np.eye(9), [0] * 4 + [1] * 5, 1 / 3),
        (np.ones((3, 3)), [0, 1, 2], -1 / 3),
        (np.kron(np.eye(2), np.ones((2, 2))), [0, 0, 1, 1], np.sqrt(0.5)),
        (np.outer([1, 1, -1, -1], [1, 1, -1, -1]), [0, 0, 1, 1], 1.0),
        (-np.outer([1, 1, -1, -1], [1, 1, -1, -1]), [0, 0, 1, 1], -1.0),
    ],
)
def test_alignments_that_are_known(K, y, expected):
    information = SideInformation.from_labels(y)
    assert kernel_alignment(K, information) == pytest.approx(expected, abs=1e-15)
    assert kernel_alignment(K, information.target()) == pytest.approx(expected, abs=1e-15)


# what is refused

BAD_GRAMS = [
    (np.eye(7), "expected kernel values of 8 points, as the side information has, got 7"),
    (np.ones((8, 3)), "expected a square Gram matrix of shape (n, n), got (8, 3)"),
    (np.ones(8), "expected gram of shape (n_samples, n_features), got (8,)"),
    (np.triu(np.ones((8, 8))), "expected a symmetric Gram matrix"),
    (np.full((8, 8), np.nan), "expected finite numbers, got nan in gram"),
    ([["a"] * 8] * 8, "expected gram to hold numbers"),
]


@every_source
@pytest.mark.parametrize("function", [scg_loss, kernel_alignment])
@pytest.mark.parametrize(("gram", "said"), BAD_GRAMS, ids=[said for _, said in BAD_GRAMS])
def test_bad_kernel_matrices_are_refused(information, T, function, gram, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        function(gram, information)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"beta": 0.0}, "expected beta > 0, a finite number, got 0.0"),
        ({"beta": 101}, "expected beta <= 100"),
        ({"graph": "all"}, "expected graph in ['complete', 'labeled'], got 'all'"),
    ],
)
def test_bad_graphs_are_refused(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        scg_loss(np.eye(8), SOURCES["labels"][0], **options)


@pytest.mark.parametrize(
    ("gram", "target", "said"),
    [
        (np.eye(3), np.eye(4), "expected a target of shape (3, 3), as gram, got (4, 4)"),
        (np.zeros((3, 3)), np.eye(3), "expected gram with some value other than 0"),
        (np.eye(3), np.zeros((3, 3)), "expected target with some value other than 0"),
        (np.eye(3), np.full((3, 3), np.inf), "expected finite numbers, got inf in target"),
        (np.ones((2, 3)), np.ones((2, 3)), "expected a square Gram matrix"),
    ],
)
def test_bad_targets_are_refused(gram, target, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        kernel_alignment(gram, target)


def test_a_kernel_that_is_zero_on_the_known_points_has_no_alignment():
    K = np.diag([0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="expected gram with some value other than 0"):
        kernel_alignment(K, SideInformation.from_labels([0, 1, -1], unlabeled=-1))
