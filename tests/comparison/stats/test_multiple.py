"""Holm's adjustment against hand-worked numbers and its defining procedure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.comparison.paired import holm

p_values = st.lists(st.floats(0, 1), max_size=12)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.4, 0.9]) == [0.8, 0.9]
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@given(p_values)
def test_adjusted_values_are_no_smaller_and_in_the_same_order(raw):
    adjusted = holm(raw)
    assert all(p <= q <= 1 for p, q in zip(raw, adjusted, strict=True))
    pairs = sorted(zip(raw, adjusted, strict=True))
    assert [q for _, q in pairs] == sorted(adjusted)


@given(p_values, st.sampled_from([0.01, 0.05, 0.2]))
def test_what_is_below_a_level_is_what_the_step_down_procedure_rejects(raw, level):
    left, rejected = sorted(raw), []
    while left and left[0] * len(left) < level:
        rejected.append(left.pop(0))
    assert sum(q < level for q in holm(raw)) == len(rejected)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan")])
def test_no_probability(wrong):
    with pytest.raises(ValueError, match=rf"p-values in \[0, 1\], got {wrong}"):
        holm([0.5, wrong])
