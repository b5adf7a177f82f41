"""Numbers in words, axes and intervals of the report."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from pliant.comparison.report.drawing import Axis, Plot, axis_of, draw_interval, nice_ticks
from pliant.comparison.report.view import View
from pliant.core.text import (
    bytes_of,
    count,
    decimals,
    fixed,
    gap,
    p_value,
    seconds,
    setting,
    signed,
)
from tests.comparison.report.report_cases import METHODS, result


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (fixed(0.9, 3), "0.900"),
        (fixed(-12.345, 1), "−12.3"),
        (fixed(math.nan, 3), "–"),
        (fixed(0.0, 2), "0.00"),
        (fixed(1e9, 2), "1.0e9"),
        (signed(0.0123, 3), "+0.012"),
        (signed(-0.5, 1), "−0.5"),
        (signed(-0.0001, 2), "0.00"),
        (signed(None, 2), "–"),
        (p_value(0.0004), "< 0.001"),
        (p_value(0.0496), "0.0496"),
        (p_value(0.5), "0.50"),
        (seconds(0.0002), "< 1 ms"),
        (seconds(0.25), "250 ms"),
        (seconds(59.94), "59.9 s"),
        (seconds(600.0), "10 min"),
        (seconds(None), "–"),
        (bytes_of(999), "999 B"),
        (bytes_of(1500), "1.5 kB"),
        (bytes_of(2.5e9), "2.5 GB"),
        (gap(0.0), "0"),
        (gap(3.14e-7), "3.1e−7"),
        (count(1, "class", "classes"), "1 class"),
        (count(20640, "row"), "20 640 rows"),
        (setting(1 / 3), "0.3333"),
        (setting("gaussian"), "gaussian"),
    ],
)
def test_numbers_in_words(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("means", "errors", "expected"),
    [
        ([0.95, 0.9], [0.006, 0.02], 3),
        ([0.95, 0.9], [0.0004, None], 4),
        ([0.44, 0.42, -0.01], [0.02, 0.01, 0.0004], 3),
        ([1234.0], [20.0], 0),
        ([2.28], [0.3], 2),
        ([None], [None], 3),
        ([0.0], [0.0], 3),
    ],
)
def test_decimals_tell_scores_apart(means, errors, expected):
    assert decimals(means, errors) == expected


@pytest.mark.parametrize(("low", "high"), [(0.71, 0.98), (-3.0, 1200.0), (1e-7, 3e-7), (10, 11)])
def test_ticks_are_even_few_and_inside(low, high):
    ticks = nice_ticks(low, high)
    steps = {round((b - a) / (high - low), 9) for a, b in itertools.pairwise(ticks)}
    assert 2 <= len(ticks) <= 7
    assert len(steps) == 1
    assert low <= ticks[0] < ticks[-1] <= high


def test_tick_labels_differ():
    for low, high in ((0.9901, 0.9907), (0, 5e5), (-2, 2), (1e-8, 5e-8)):
        axis = Axis(low, high, nice_ticks(low, high))
        labels = [axis.label(value) for value in axis.ticks]
        assert len(set(labels)) == len(labels)
        assert max(map(len, labels)) <= 7


def test_axes_reach_from_end_to_end():
    plot = Plot(Axis(10, 1000, (), "", logarithmic=True), Axis(-1, 1, ()))
    left, middle, right = (plot.at(x, 0)[0] for x in (10, 100, 1000))
    assert middle == pytest.approx((left + right) / 2)
    assert plot.at(10, -1)[1] > plot.at(10, 1)[1]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_scale_leaves_out_what_is_far_worse(sign):
    means = [0.95, 0.94, 0.93, 0.92, 0.4]
    axis = axis_of([(sign * mean, 0.01) for mean in means], sign > 0)
    assert 0 < axis.share(sign * 0.92) < 1
    outside = axis.share(sign * 0.4)
    assert outside < 0 if sign > 0 else outside > 1


def test_equal_scores_have_no_scale():
    assert axis_of([], True) is None
    assert axis_of([(1.0, 0.0), (1.0, 0.0)], True) is None


def test_an_interval_lies_around_its_dot():
    axis = Axis(0.0, 1.0, ())
    drawn = draw_interval(0.5, 0.1, axis, reference=0.6)
    left, right = map(
        float, re.search(r'points="(\S+),\S+ (\S+),\S+" class="whisker"', drawn).groups()
    )
    dot = float(re.search(r'cx="(\S+)"', drawn).group(1))
    assert dot == pytest.approx((left + right) / 2, abs=0.1)
    assert 'class="level"' in drawn
    assert 'class="beyond"' in draw_interval(-5.0, 0.1, axis)
    assert 'class="dot"' not in draw_interval(-5.0, 0.1, axis)


def test_the_view_features_the_best_the_best_learned_kernel_and_the_reference():
    view = View(result())
    names = [each.method.name for each in view.featured]
    kinds = {entry.name: entry.kind for entry in METHODS}
    assert names[0] == view.ranked[0].method.name
    assert "svm" in names
    assert any(kinds[name] == "learned kernel" for name in names)
    assert len(set(names)) == len(names)


def test_the_reference_has_a_look_of_its_own():
    view = View(result())
    assert view.look("svm") == "reference"
    assert [view.look(each.method.name) for each in view.shown] == [
        f"series-{n}" for n in range(1, 6)
    ]
    assert view.look("dummy") == "others"
