"""The test of positive semi-definiteness says what the spectrum says; LU tells its condition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgWarning

from pliant.core.linalg import (
    eigenvalue,
    last_eigenpairs,
    lu_factors,
    nearest_rows,
    negative_eigenvalue,
    spd_inverse,
    top_eigenpairs,
)
from pliant.kernels import Gaussian


@given(seed=st.integers(0, 10**6), smallest=st.sampled_from([-2.0, -1e-3, -1e-6, 1e-6, 1.0]))
def test_a_clearly_negative_eigenvalue_is_found(seed, smallest):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    spectrum = np.concatenate([[smallest], rng.uniform(1.0, 5.0, size=11)])
    matrix = (Q * spectrum) @ Q.T
    found = negative_eigenvalue(0.5 * (matrix + matrix.T))
    assert found == (pytest.approx(smallest, rel=1e-6) if smallest < 0 else None)


def test_rounding_and_duplicates_do_not_count():
    X = np.random.default_rng(0).uniform(size=(150, 2))
    K = Gaussian(0.01)(np.repeat(X, 2, axis=0))
    assert np.linalg.eigvalsh(K)[0] < 1e-12
    assert negative_eigenvalue(K) is None
    assert negative_eigenvalue(np.zeros((3, 3))) is None


def test_the_matrix_is_left_as_it_was():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    before = K.copy()
    assert negative_eigenvalue(K) == pytest.approx(-1.0)
    np.testing.assert_array_equal(K, before)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), n_outputs=st.integers(0, 3))
def test_one_factorisation_solves_for_a_matrix_and_its_transpose(seed, n, n_outputs):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(n, n)) + 2.0 * n * np.eye(n), rng.normal(size=(n, n_outputs or 1))
    b = b if n_outputs else b[:, 0]
    factors = lu_factors(np.array(A, order="F"))
    assert factors.solve(b).shape == b.shape
    np.testing.assert_allclose(A @ factors.solve(b), b, atol=1e-12)
    np.testing.assert_allclose(A.T @ factors.solve(b, transposed=True), b, atol=1e-12)
    exact = np.linalg.norm(A, 1) * np.linalg.norm(np.linalg.inv(A), 1)
    assert exact / 10 <= factors.condition <= exact * (1 + 1e-9)


def test_a_matrix_in_rows_is_left_as_it_was():
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    before = A.copy()
    b = np.array([1.0, 1.0])
    np.testing.assert_allclose(lu_factors(A).solve(b), [-1.0, 1.0])
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(b, [1.0, 1.0])


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.ones((3, 3)), np.diag([1.0, 1e-15])])
def test_a_singular_matrix_is_refused_with_its_condition(matrix):
    expected = r"expected K to be invertible, got a condition number of (inf|\d.*e\+\d+), .*; help"
    with pytest.raises(np.linalg.LinAlgError, match=expected):
        lu_factors(matrix, "K", "help")


def test_a_nearly_singular_matrix_brings_a_warning_with_its_condition():
    with pytest.warns(LinAlgWarning, match=r"K has a condition number of 1.0e\+13, .* are right$"):
        factors = lu_factors(np.diag([1.0, 1e-13]), "K")
    assert factors.condition == pytest.approx(1e13)
    np.testing.assert_allclose(factors.solve(np.ones(2)), [1.0, 1e13])


@given(seed=st.integers(0, 10**6), n=st.integers(2, 6))
def test_a_shift_by_an_eigenvalue_is_always_told(seed, n):
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 10, size=n)
    basis = np.eye(n, dtype=int) + np.tril(rng.integers(-2, 3, size=(n, n)), -1)
    inverse = np.rint(np.linalg.inv(basis)).astype(int)  # of determinant 1: whole numbers
    A = basis @ np.diag(values) @ inverse - values[0] * np.eye(n, dtype=int)
    with pytest.raises(np.linalg.LinAlgError, match="invertible"):
        lu_factors(A.astype(float))


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
    with pytest.raises(np.linalg.LinAlgError, match="leading block of order 3 that is not"):
        spd_inverse(np.diag([1.0, 2.0, -1.0, 1.0]))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (40, 3), (301, 5), (400, 2), (400, 200)])
def test_the_largest_eigenpairs_by_lapack_or_lanczos(n, k):
    rng = np.random.default_rng(n + k)
    root = rng.normal(size=(n, n))
    matrix = root + root.T
    before = matrix.copy()
    values, vectors = top_eigenpairs(matrix, k)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:k], atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)


def test_the_nearest_of_centres_is_found_for_points_of_any_size():
    centres = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    for size in (1.0, 1e100, 1e160, 1.7e308):
        points = np.array([[size, 0.0], [-size, 0.1], [0.0, size], [-size, -size]])
        np.testing.assert_array_equal(nearest_rows(points, centres), [0, 1, 2, 1])


@pytest.mark.parametrize("seed", [535, 2355, 3794, 6488, 12492])
def test_eigenpairs_of_equal_eigenvalues_are_complete(seed):
    """LAPACK's bisection returns fewer pairs than asked for of some of these matrices."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(2, 5)
    labels = rng.integers(0, groups, int(rng.integers(5, 40)))
    blocks = rng.standard_normal((groups, groups))
    matrix = (blocks @ blocks.T)[np.ix_(labels, labels)] + np.diag(rng.random(groups)[labels])
    matrix -= matrix.mean(axis=0) + matrix.mean(axis=1)[:, None] - matrix.mean()
    matrix = 0.5 * (matrix + matrix.T)
    expected = np.linalg.eigvalsh(matrix)
    for k in (1, 2, 3):
        values, vectors = last_eigenpairs(matrix, k)
        np.testing.assert_allclose(values, expected[-k:], atol=1e-12 * expected[-1])
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-11 * expected[-1])
        assert eigenvalue(matrix, len(matrix) - k) == pytest.approx(expected[-k], abs=1e-11)
