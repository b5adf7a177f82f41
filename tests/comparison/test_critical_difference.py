"""Labels do not overlap; bars connect the maximal sets of methods that do not differ."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot

from pliant.tables.comparison.critical_difference import CriticalDifferenceDisplay

RANKS = st.lists(st.integers(10, 80), min_size=2, max_size=9).map(
    lambda tenths: np.clip(np.array(tenths) / 10, 1, len(tenths))
)


def named(ranks):
    return [f"m{j}" for j in range(len(ranks))]


def largest_sets(ranks, difference):
    """Return all maximal sets of methods that are pairwise close."""
    k = len(ranks)
    close = [
        set(chosen)
        for size in range(2, k + 1)
        for chosen in combinations(range(k), size)
        if all(abs(ranks[i] - ranks[j]) < difference for i, j in combinations(chosen, 2))
    ]
    return {frozenset(one) for one in close if not any(one < other for other in close)}


@given(ranks=RANKS, difference=st.floats(0, 10))
@settings(deadline=None, max_examples=60)
def test_groups_are_the_largest_sets_that_do_not_differ(ranks, difference):
    groups = CriticalDifferenceDisplay(named(ranks), ranks, difference).groups
    found = [frozenset(int(name[1:]) for name in group) for group in groups]
    assert len(found) == len(set(found))
    assert set(found) == largest_sets(ranks, difference)


def test_what_is_drawn_stands_where_the_ranks_are():
    names, ranks = ["c", "a", "d", "b"], [3.1, 1.2, 3.7, 2.0]
    display = CriticalDifferenceDisplay(names, ranks, 1.0).plot()
    ends = [bar.get_xdata() for bar in display.bars_]
    np.testing.assert_allclose(ends, [[1.2, 2.0], [3.1, 3.7]], atol=0.03)
    np.testing.assert_array_equal(display.scale_.get_xdata(), [1.0, 2.0])
    told = [text.get_text().split() for text in display.texts_]
    assert told == [["3.10", "c"], ["a", "1.20"], ["3.70", "d"], ["b", "2.00"]]
    assert any("1.00" in text.get_text() for text in display.ax_.texts)
    leaders = [line.get_xydata() for line in display.ax_.lines]
    for rank in ranks:
        assert any(len(leader) == 3 and (leader[0] == [rank, 0.0]).all() for leader in leaders)
    assert display.ax_.get_xticks().tolist() == [1, 2, 3, 4]


def boxes(display):
    figure = display.ax_.figure
    figure.canvas.draw()
    return [text.get_window_extent() for text in display.texts_], figure.bbox


@pytest.mark.parametrize("k", [2, 7, 20])
@pytest.mark.parametrize("spread", ["even", "alike"])
def test_labels_never_overlap_and_stay_in_the_picture(k, spread):
    ranks = np.linspace(1, k, k) if spread == "even" else np.full(k, (k + 1) / 2)
    names = [f"method {j} with a name" for j in range(k)]
    _, ax = pyplot.subplots(figsize=(6, 3), layout="constrained")
    for display in (
        CriticalDifferenceDisplay(names, ranks, 2.5).plot(),
        CriticalDifferenceDisplay(names, ranks, 2.5).plot(ax),
    ):
        found, picture = boxes(display)
        assert not any(one.overlaps(other) for one, other in combinations(found, 2))
        assert all(picture.x0 <= box.x0 and box.x1 <= picture.x1 for box in found)
        assert all(picture.y0 <= box.y0 and box.y1 <= picture.y1 for box in found)
        assert min(text.get_fontsize() for text in display.texts_) > 6
