"""Splits: complete, disjoint, reproducible, and independent of the number of repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.splits import holdout, official, random_halves


def as_lists(splits):
    return [(train.tolist(), test.tolist()) for train, test in splits]


@given(n=st.integers(2, 60), seed=st.integers(0, 2**32), repeats=st.integers(1, 4))
def test_halves_hold_every_row_once(n, seed, repeats):
    splits = list(random_halves(n, repeats, random_state=seed))
    assert len(splits) == repeats
    for train, test in splits:
        assert len(test) == n // 2
        assert sorted([*train, *test]) == list(range(n))
        assert np.all(np.diff(train) > 0)
        assert np.all(np.diff(test) > 0)


@given(
    labels=st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=60),
    seed=st.integers(0, 1000),
)
def test_stratified_halves_are_proportional_to_one_row(labels, seed):
    ((train, test),) = random_halves(labels, 1, stratify=True, random_state=seed)
    y = np.array(labels)
    assert sorted([*train, *test]) == list(range(len(y)))
    assert len(test) == len(y) // 2
    for label in set(labels):
        share = np.sum(y == label) * len(test) / len(y)
        assert abs(np.sum(y[test] == label) - share) < 1


def test_a_repeat_does_not_depend_on_the_number_of_repeats():
    few, many = random_halves(31, 3, random_state=5), random_halves(31, 50, random_state=5)
    assert as_lists(few) == as_lists(many)[:3]


def test_a_known_draw_stays_the_same():
    assert as_lists(random_halves(8, 1, random_state=0)) == as_lists(
        holdout(8, 1, test_size=0.5, random_state=0)
    )
    rng = np.random.default_rng([0, 0])
    order = rng.permutation(8)
    start = rng.integers(8)
    test = sorted(order[p] for p in range(8) if ((p + 1) * 4 + start) // 8 > (p * 4 + start) // 8)
    assert as_lists(random_halves(8, 1, random_state=0))[0][1] == test


@pytest.mark.parametrize(("test_size", "rows"), [(0.2, 6), (0.33, 10), (7, 7), (np.int64(1), 1)])
def test_holdout_takes_a_share_or_a_number(test_size, rows):
    for train, test in holdout(30, 2, test_size=test_size):
        assert (len(train), len(test)) == (30 - rows, rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random_halves(1), "at least 2 rows to split, got 1"),
        (lambda: random_halves(10, 0), "repeats to be an integer >= 1, got 0"),
        (lambda: random_halves(10, random_state=-1), "random_state .* >= 0, got -1"),
        (lambda: random_halves(10, stratify=True), "labels to stratify by, got the number 10"),
        (lambda: random_halves(np.zeros((4, 2)), stratify=True), r"shape \(n,\), got .*\(4, 2\)"),
        (lambda: holdout(10, test_size=1.0), "both sides of 10 rows, got 1.0"),
        (lambda: official(0, 3), "at least 1 row in train, got 0"),
    ],
)
def test_bad_input_is_refused_at_the_call(call, message):
    with pytest.raises(ValueError, match=message):
        call()
