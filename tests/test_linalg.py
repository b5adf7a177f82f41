"""The test of positive semi-definiteness says what the spectrum says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.kernels import Gaussian
from pliant.linalg import negative_eigenvalue


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
