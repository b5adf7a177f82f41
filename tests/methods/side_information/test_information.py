"""What is known of pairs: from labels or said outright; what is refused, and in which words."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.pairs import _pairs_of_ranks
from tests.reference.naive_supervision import known_points, target_of_labels, target_of_pairs

HIDDEN = -1


@st.composite
def partial_labels(draw, most=12):
    """Labels 0, 1, 2, ... of at least two classes, -1 for some points."""
    y = draw(st.lists(st.integers(-1, 3), min_size=0, max_size=most - 2))
    pair = draw(st.sampled_from([(0, 1), (2, 0), (1, 3)]))
    return np.array(draw(st.permutations([*y, *pair])))


@st.composite
def given_pairs(draw, most=10):
    """A number of points, similar and dissimilar pairs in any order, some of them twice."""
    n = draw(st.integers(2, most))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    known = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    cut = draw(st.integers(0, len(known)))
    turned = [pair[::-1] if draw(st.booleans()) else pair for pair in known]
    similar, dissimilar = turned[:cut], turned[cut:]
    return n, similar + known[:cut][:2], dissimilar


def refused(said, make, *args, **options):
    with pytest.raises(ValueError, match=re.escape(said)):
        make(*args, **options)


def check_pairs_and_target(information, T):
    """The pairs are the entries of T above the diagonal, once each, with their signs."""
    i, j = information.pairs.T
    assert (i < j).all()
    np.testing.assert_array_equal(information.signs, T[i, j])
    assert len(i) == np.count_nonzero(np.triu(T, 1))
    assert len({(a, b) for a, b in information.pairs.tolist()}) == len(i)


# labels


@given(y=partial_labels())
@settings(max_examples=60, deadline=None)
def test_labels_say_the_sign_of_every_labelled_pair(y):
    information, T = SideInformation.from_labels(y, unlabeled=HIDDEN), target_of_labels(y)
    np.testing.assert_array_equal(information.target(), T)
    np.testing.assert_array_equal(information.target(), information.target().T)
    np.testing.assert_array_equal(information.known, known_points(T))
    np.testing.assert_array_equal(information.classes[information.labels[y >= 0]], y[y >= 0])
    assert information.n_samples == len(y)
    assert (information.labels[y < 0] == -1).all()
    check_pairs_and_target(information, T)


@given(y=partial_labels(), names=st.permutations(["delta", "", "beta", "-2"]))
@settings(max_examples=40, deadline=None)
def test_the_names_of_classes_do_not_matter(y, names):
    text = np.array(["?" if code == HIDDEN else names[code] for code in y])
    renamed = SideInformation.from_labels(text, unlabeled="?")
    plain = SideInformation.from_labels(y, unlabeled=HIDDEN)
    np.testing.assert_array_equal(renamed.target(), plain.target())
    np.testing.assert_array_equal(renamed.pairs, plain.pairs)
    np.testing.assert_array_equal(renamed.signs, plain.signs)
    np.testing.assert_array_equal(np.sort(renamed.classes), renamed.classes)


@given(y=partial_labels(), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_carries_over(y, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    T = SideInformation.from_labels(y, unlabeled=HIDDEN).target()
    shuffled = SideInformation.from_labels(y[order], unlabeled=HIDDEN)
    np.testing.assert_array_equal(shuffled.target(), T[np.ix_(order, order)])


@pytest.mark.parametrize(
    ("y", "unlabeled"),
    [
        ([3, 3, 7, -1], None),
        ([3.0, 3.0, 7.0, -1.0], None),
        (np.array([3, 3, 7, -1], dtype=np.int8), None),
        (np.array([3, 3, 7, -1], dtype=object), None),
        (pd.Series([3, 3, 7, -1]), None),
        ((3, 3, 7, -1), -1),
        ([-1, -1, 1, 0], 0),
        ([1, 1, -1, 0], 0),
        ([1, 1, 0, -1], None),
        (np.array([3, 3, 7, 255], dtype=np.uint8), 255),
        (["a", "a", "b", "?"], "?"),
        (["a", "a", "b", ""], ""),
        (np.array(["a", "a", "b", "?"], dtype=object), "?"),
        (np.array([b"a", b"a", b"b", b"?"]), b"?"),
        (pd.Series(["a", "a", "b", "?"], dtype="category"), "?"),
    ],
)
def test_labels_come_in_many_types(y, unlabeled):
    information = SideInformation.from_labels(y, unlabeled=unlabeled)
    expected = target_of_labels(["a", "a", "b", "?"], unlabeled="?")
    np.testing.assert_array_equal(information.target(), expected)


def test_bool_labels_are_two_classes():
    information = SideInformation.from_labels([True, False, True])
    np.testing.assert_array_equal(information.target(), target_of_labels([1, 0, 1]))


@pytest.mark.parametrize(
    ("y", "unlabeled"),
    [([-1, 1, 1], 0), (["a", "b", "b"], None), (["a", "b", "b"], "?"), ([-1, 2, 2], "?")],
)
def test_all_points_are_labelled_where_the_mark_does_not_occur(y, unlabeled):
    information = SideInformation.from_labels(y, unlabeled=unlabeled)
    np.testing.assert_array_equal(information.known, [0, 1, 2])
    np.testing.assert_array_equal(information.target(), target_of_labels([0, 1, 1]))


@pytest.mark.parametrize("y", [[-1, 1], [1, -1, -1], [-1.0, 1.0], np.array([-1, 1], dtype=object)])
def test_minus_one_and_one_alone_must_be_explained(y):
    refused(
        "expected `unlabeled` to be given, since y holds -1 and +1", SideInformation.from_labels, y
    )
    assert len(SideInformation.from_labels(y, unlabeled=0).known) == len(y)
    refused("only one class: 1", SideInformation.from_labels, y, unlabeled=-1)


@pytest.mark.parametrize("unlabeled", [[0, 1, 1], (0,), np.array([0])])
def test_one_value_marks_the_unknown(unlabeled):
    refused(
        "expected unlabeled to be one value, got", SideInformation.from_labels, [0, 1, 1], unlabeled
    )


def test_whole_numbers_of_any_size_stay_apart():
    big = SideInformation.from_labels(np.array([2**60, 2**60 + 1, 2**60], dtype=object))
    np.testing.assert_array_equal(big.labels, [0, 1, 0])


@pytest.mark.parametrize(
    ("y", "options", "said"),
    [
        ([-1, -1], {}, "expected some labelled points, got -1 for all"),
        (["?", "?"], {"unlabeled": "?"}, "expected some labelled points, got '?' for all"),
        ([2, 2, 2], {}, "got only one class: 2 for all 3 labelled points"),
        ([-1, 2, -1], {}, "got only one class: 2 for all 1 labelled points"),
        (["a", "a"], {}, "got only one class: 'a' for all 2 labelled points"),
        ([True, True], {}, "got only one class: True"),
        ([0.0, 1.0, 0.5], {}, "expected class labels, got the real number 0.5 in y at 2"),
        ([0.0, np.nan, 1.0], {}, "expected finite labels, got nan in y at 1"),
        ([0.0, np.inf], {}, "expected finite labels, got inf in y at 1"),
        (["a", "b", -1], {}, "expected labels of one type, got text and -1"),
        (["a", "b", -1], {"unlabeled": -1}, "expected labels of one type, got text and -1"),
        (np.array(["a", "b", -1], dtype=object), {}, "got text and -1"),
        (np.array(["a", None], dtype=object), {}, "expected labels of one type, got text and None"),
        (np.array([0, None, 1], dtype=object), {}, "expected y to hold class labels, got None"),
        (np.array([0, [1], 2], dtype=object), {}, "expected y to hold class labels, got [1]"),
        (np.array([{}, 1], dtype=object), {}, "expected y to hold class labels"),
        ([], {}, "expected y of shape (n_samples,), n_samples >= 1, got (0,)"),
        ([[0], [1]], {}, "expected y of shape (n_samples,), n_samples >= 1, got (2, 1)"),
        (3, {}, "expected y of shape (n_samples,), n_samples >= 1, got ()"),
        (None, {}, "expected y of shape (n_samples,)"),
    ],
)
def test_labels_that_say_nothing_are_refused(y, options, said):
    refused(said, SideInformation.from_labels, y, **options)


# pairs


@given(case=given_pairs())
@settings(max_examples=60, deadline=None)
def test_pairs_say_what_was_said(case):
    n, similar, dissimilar = case
    information = SideInformation.from_pairs(n, similar, dissimilar)
    T = target_of_pairs(n, similar, dissimilar)
    np.testing.assert_array_equal(information.target(), T)
    np.testing.assert_array_equal(information.known, known_points(T))
    assert not information.target().diagonal().any()
    assert (information.n_samples, information.labels, information.classes) == (n, None, None)
    check_pairs_and_target(information, T)


@pytest.mark.parametrize("nothing", [None, [], np.empty((0, 2)), np.empty((0, 2), dtype=int)])
def test_one_kind_of_pairs_may_be_missing(nothing):
    alike = SideInformation.from_pairs(3, similar=[(0, 2)], dissimilar=nothing)
    unlike = SideInformation.from_pairs(3, similar=nothing, dissimilar=[(2, 0)])
    np.testing.assert_array_equal(alike.target(), -unlike.target())
    np.testing.assert_array_equal(alike.signs, [1.0])


@pytest.mark.parametrize("pairs", [((0, 1), (2, 1)), np.array([[0, 1], [2, 1]], dtype=np.uint8)])
def test_pairs_come_in_any_whole_type(pairs):
    np.testing.assert_array_equal(SideInformation.from_pairs(4, pairs).pairs, [[0, 1], [1, 2]])


BAD_PAIRS = [
    ([(0, 4)], "expected row indices from 0 to 3, as there are 4 points, got {}[0] = (0, 4)"),
    ([(0, 1), (2, -1)], "expected row indices from 0 to 3, as there are 4 points, got {}[1] = (2"),
    (np.array([[0, 2**64 - 1]], dtype=np.uint64), "expected row indices from 0 to 3"),
    ([(0, 1), (2, 2)], "expected two points in a pair, got {}[1] = (2, 2)"),
    ([0, 1], "expected {} of shape (n_pairs, 2), got (2,)"),
    ([(0, 1, 2)], "expected {} of shape (n_pairs, 2), got (1, 3)"),
    ([[(0, 1)]], "expected {} of shape (n_pairs, 2), got (1, 1, 2)"),
    (7, "expected {} of shape (n_pairs, 2), got ()"),
    ([(0.0, 1.0)], "expected {} to hold integer row indices, got an array of float64"),
    ([(0, np.nan)], "expected {} to hold integer row indices, got an array of float64"),
    ([(True, False)], "expected {} to hold integer row indices, got an array of bool"),
    ([("0", "1")], "expected {} to hold integer row indices, got an array of <U1"),
    (np.array([(0, None)]), "expected {} to hold integer row indices, got an array of object"),
]


@pytest.mark.parametrize("name", ["similar", "dissimilar"])
@pytest.mark.parametrize(("pairs", "said"), BAD_PAIRS, ids=[said for _, said in BAD_PAIRS])
def test_bad_pairs_are_refused(name, pairs, said):
    refused(said.format(name), SideInformation.from_pairs, 4, **{name: pairs})


def test_row_indices_out_of_range_explain_cross_validation():
    refused(
        "become invalid when rows are sliced, as in cross-validation; partial labels do not",
        SideInformation.from_pairs, 4, similar=[(0, 4)],
    )  # fmt: skip


@pytest.mark.parametrize("similar", [[(1, 2)], [(0, 3), (2, 1)]])
def test_a_pair_cannot_be_similar_and_dissimilar(similar):
    said = "expected a pair to be similar or dissimilar, got (1, 2) as both"
    refused(said, SideInformation.from_pairs, 4, similar, [(0, 1), (2, 1)])


@pytest.mark.parametrize("nothing", [(), (None, None), ([], None), ([], [])])
def test_no_pairs_at_all_are_refused(nothing):
    refused("expected some similar or dissimilar", SideInformation.from_pairs, 4, *nothing)


@pytest.mark.parametrize("n", [1, 0, -3, 4.0, "4", None, True])
def test_the_number_of_points_must_be_a_whole_number(n):
    said = f"expected n_samples >= 2, an integer, got {n!r}"
    refused(said, SideInformation.from_pairs, n, [(0, 1)])


# drawing and hiding

SOURCES = {
    "labels": SideInformation.from_labels([0, -1, 1, 1, 2, 0, -1, 2, 1, 0]),
    "pairs": SideInformation.from_pairs(
        9, [(0, 1), (1, 2), (3, 8), (8, 0), (4, 5)], [(0, 3), (2, 8), (5, 6), (6, 1)]
    ),
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


@every_source
@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_drawn_pairs_are_known_pairs_once_each(source, most):
    T = source.target()
    for seed in range(20):
        pairs, signs = source.sample_pairs(most, np.random.RandomState(seed))
        assert len(pairs) == most
        assert len(np.unique(pairs, axis=0)) == len(pairs) == len(signs)
        assert (pairs[:, 0] < pairs[:, 1]).all()
        np.testing.assert_array_equal(signs, T[pairs[:, 0], pairs[:, 1]])


@every_source
@pytest.mark.parametrize("most", [28, 29, 10**6])
def test_all_pairs_are_drawn_where_there_are_no_more(source, most):
    pairs, signs = source.sample_pairs(most, np.random.RandomState(0))
    assert {*map(tuple, pairs.tolist())} == {*map(tuple, source.pairs.tolist())}
    np.testing.assert_array_equal(signs, source.target()[tuple(pairs.T)])


@pytest.mark.parametrize(("labelled", "most"), [(12, 30), (12, 10), (40, 20)])
def test_labelled_pairs_are_drawn_alike_often(labelled, most):
    """Counts over many draws against the uniform law: chi-squared within 5 deviations."""
    source = SideInformation.from_labels(np.arange(labelled) % 3)
    counts, rng, draws = np.zeros((labelled, labelled)), np.random.RandomState(0), 1500
    for _ in range(draws):
        pairs, _ = source.sample_pairs(most, rng)
        assert len(pairs) == most
        counts[tuple(pairs.T)] += 1
    counts = counts[np.triu_indices(labelled, 1)]
    expected = draws * most / len(counts)
    variance = expected * (1 - most / len(counts))
    squares = ((counts - expected) ** 2).sum() / variance
    assert abs(squares - len(counts)) < 5 * np.sqrt(2 * len(counts))


@every_source
@pytest.mark.parametrize("most", [0, -1, 2.0, None, True])
def test_a_whole_number_of_pairs_is_drawn(source, most):
    said = f"expected max_pairs >= 1, an integer, got {most!r}"
    refused(said, source.sample_pairs, most, np.random.RandomState(0))


def test_the_same_seed_draws_the_same_pairs():
    source = SideInformation.from_labels(np.arange(300) % 4)
    first, second, other = (
        source.sample_pairs(50, np.random.RandomState(seed))[0] for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("last", [2, 3, 10, 2**16, 94_906_265, 94_906_267, 2**30 - 1, 2**30])
def test_numbers_of_pairs_are_read_where_square_roots_are_rounded(last):
    """Pair (i, j) has the number j (j - 1)/2 + i; beyond 2^52 its root may be off by one."""
    first = last * (last - 1) // 2
    numbers = np.array([first - 1, first, first + last - 1, first + last])
    expected = [[last - 2, last - 1], [0, last], [last - 1, last], [0, last + 1]]
    np.testing.assert_array_equal(_pairs_of_ranks(numbers), expected)


def test_a_few_pairs_of_very_many_are_drawn_without_listing_them():
    source = SideInformation.from_labels(np.arange(200_000) % 5)
    pairs, signs = source.sample_pairs(2000, np.random.RandomState(0))
    assert len(np.unique(pairs, axis=0)) == 2000
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert pairs.min() >= 0
    assert pairs.max() < 200_000
    np.testing.assert_array_equal(signs > 0, (pairs[:, 0] - pairs[:, 1]) % 5 == 0)
    assert abs(np.mean(pairs) / 100_000 - 1) < 0.05  # the mean of uniform ranks


@given(y=partial_labels(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_hidden_labels_are_unknown(y, data):
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    source = SideInformation.from_labels(y, unlabeled=HIDDEN)
    left = np.where(hidden, HIDDEN, y)
    if len(np.unique(left[left >= 0])) < 2:
        refused("expected", source.hide, hidden)
        return
    for rows in (hidden, np.flatnonzero(hidden)):
        np.testing.assert_array_equal(source.hide(rows).target(), target_of_labels(left))
    kept = source.hide(hidden)
    np.testing.assert_array_equal(kept.classes[kept.labels[left >= 0]], left[left >= 0])
    np.testing.assert_array_equal(source.target(), target_of_labels(y))


def test_the_names_of_classes_outlast_hiding():
    left = SideInformation.from_labels(["a", "b", "c", "c"]).hide([1])
    np.testing.assert_array_equal(left.classes, ["a", "c"])


@given(case=given_pairs(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_pairs_with_a_hidden_point_are_unknown(case, data):
    n, similar, dissimilar = case
    hidden = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    source = SideInformation.from_pairs(n, similar, dissimilar)
    T = target_of_pairs(n, similar, dissimilar)
    T[hidden] = T[:, hidden] = 0.0
    if not T.any():
        refused("expected some pairs without a hidden", source.hide, np.array(hidden, dtype=int))
        return
    left = source.hide(np.array(hidden, dtype=int))
    np.testing.assert_array_equal(left.target(), T)
    assert left.n_samples == n
