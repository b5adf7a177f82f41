"""Compare linear algebra with NumPy's, and nearest centres with the truth."""

import numpy as np
import pytest

from pliant.core.distances import nearest_rows
from pliant.core.linalg import spd_inverse


@pytest.mark.parametrize("n", [1, 2, 30, 255, 256, 257, 600])
def test_the_inverse_of_a_definite_matrix_and_its_determinant(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix = root @ root.T / n + np.eye(n)
    inverse, log_det = spd_inverse(matrix.copy())
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse @ matrix, np.eye(n), atol=1e-11)
    assert log_det == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-12)


def test_what_is_not_definite_has_no_inverse():
    with pytest.raises(np.linalg.LinAlgError, match="leading minor of order 3 is not"):
        spd_inverse(np.diag([1.0, 2.0, -1.0, 1.0]))


def test_the_nearest_of_centres_is_found_for_near_and_far_points():
    centres = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    for size in (1.0, 1e6):
        points = np.array([[size, 0.0], [-size, 0.1], [0.0, size], [-size, -size]])
        np.testing.assert_array_equal(nearest_rows(points, centres), [0, 1, 2, 1])
