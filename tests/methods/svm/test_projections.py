"""Projection onto a box and a hyperplane, checked by its definition.

x is the projection of v onto a convex set if and only if it lies in the set and
(v - x)'(z - x) <= 0 for every z in the set.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.methods.svm.dual import project_box_hyperplane

often = settings(max_examples=100, deadline=None)
real = st.floats(-100, 100)


def vector(n, elements=real):
    return arrays(float, n, elements=elements)


@st.composite
def boxes(draw):
    """Draw a point, a box that meets the hyperplane 1'x = 0, and a feasible point z."""
    n = draw(st.integers(1, 9))
    lower = draw(vector(n, st.integers(-5, 5).map(float)))
    upper = lower + draw(vector(n, st.sampled_from([0.0, 0.5, 1.0, 30.0])))
    z = lower + draw(vector(n, st.floats(0, 1))) * (upper - lower)
    return draw(vector(n)), lower - z.mean(), upper - z.mean(), z - z.mean()


class TestBoxAndHyperplane:
    @given(case=boxes())
    @often
    def test_the_result_is_feasible_and_no_feasible_point_is_nearer(self, case):
        v, lower, upper, z = case
        x = project_box_hyperplane(v, lower, upper)
        assert (lower <= x).all()
        assert (x <= upper).all()
        assert x.sum() == pytest.approx(0.0, abs=1e-10)
        assert (v - x) @ (z - x) <= 1e-9 * (1 + np.abs(v).max())

    @given(case=boxes())
    @often
    def test_a_feasible_point_stays_where_it_is(self, case):
        _, *set_, z = case
        x = project_box_hyperplane(z, *set_)
        np.testing.assert_array_equal(x, z)
        assert x is not z

    def test_rounding_in_the_sum_does_not_move_a_point_off_its_bounds(self):
        upper = np.array([0.1, 0.2, 0.4, 0.0])
        x = np.array([0.1, 0.2, 0.0, -0.3])  # 0.1 + 0.2 - 0.3 is 2.8e-17
        assert x.sum() != 0
        projected = project_box_hyperplane(x, np.array([0, 0, 0, -1.0]), upper)
        np.testing.assert_array_equal(projected, x)
