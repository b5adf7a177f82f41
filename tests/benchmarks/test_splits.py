"""Splits: complete, disjoint, reproducible, and independent of the number of repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.splits import holdout, random_halves


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


@pytest.mark.parametrize(("test_size", "rows"), [(0.2, 6), (0.33, 10), (7, 7), (np.int64(1), 1)])
def test_holdout_takes_a_share_or_a_number(test_size, rows):
    for train, test in holdout(30, 2, test_size=test_size):
        assert (len(train), len(test)) == (30 - rows, rows)
