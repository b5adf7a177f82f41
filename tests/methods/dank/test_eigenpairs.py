"""The eigenvalues above a level agree with the full spectrum for each eigensolver."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.dank import problem
from pliant.methods.dank.problem import eigenpairs_above, none_above

LARGE = 400  # larger than LAPACK_ORDER, so Lanczos is tried first


def matrix_of(spectrum, seed=0):
    r = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(r.standard_normal((len(spectrum), len(spectrum))))
    matrix = (Q * np.asarray(spectrum)) @ Q.T
    return 0.5 * (matrix + matrix.T)


def check(matrix, level, guess=8):
    """Compare the eigenpairs with the full spectrum; return the eigenvalues."""
    every = np.linalg.eigvalsh(matrix)[::-1]
    found = eigenpairs_above(matrix.copy(), level, guess)
    values, vectors = found[0], found[1]
    scale = np.abs(every).max()
    np.testing.assert_allclose(values, every[every > level], rtol=0, atol=1e-12 * scale)
    assert vectors.shape == (len(matrix), len(values))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-10 * scale)
    return values


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    level=st.sampled_from([-20.0, -1.0, 0.0, 0.7, 5.0, 20.0]),
    guess=st.integers(1, 40),
)
@settings(max_examples=60, deadline=None)
def test_small_matrices(seed, n, level, guess):
    matrix = np.random.default_rng(seed).standard_normal((n, n))
    check(matrix + matrix.T, level, guess)


def test_lanczos_is_used_for_few_eigenvalues(monkeypatch):
    called = []
    monkeypatch.setattr(problem, "LANCZOS_SHARE", 0.15)
    counted = lambda *a, **k: called.append(a[1]) or eigsh(*a, **k)  # noqa: E731
    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", counted)
    spectrum = np.concatenate([np.linspace(3, 2, 20), np.zeros(LARGE - 20)])
    check(matrix_of(spectrum), 1.5, guess=4)
    assert called == [8, 16, 32]
    called.clear()
    check(matrix_of(spectrum), 1.5, guess=LARGE)
    assert called == []


eigsh = scipy.sparse.linalg.eigsh


@pytest.mark.parametrize("n", [30, LARGE])
def test_multiple_eigenvalues_above_the_level(n):
    spectrum = np.concatenate([[5.0] * 6, np.linspace(1, 0, n - 6)])
    every = check(matrix_of(spectrum), 4.0, guess=6) if n == 30 else None
    values, vectors = eigenpairs_above(matrix_of(spectrum), 4.0, guess=6)[:2]
    assert every is None or len(every) == 6
    if len(values) < 6:  # Lanczos can miss copies, which none_above must detect
        assert not none_above(matrix_of(spectrum), 4.0, values, vectors)
    else:
        assert none_above(matrix_of(spectrum), 4.0, values, vectors)


def test_a_start_in_an_invariant_subspace_is_detected():
    """Ones are an eigenvector of each circulant matrix, so Lanczos started there stops at once."""
    distance = np.minimum(np.arange(LARGE), LARGE - np.arange(LARGE))
    matrix = scipy.linalg.circulant(np.exp(-(distance**2) / 800.0))
    every = np.linalg.eigvalsh(matrix)[::-1]
    found = [eigenpairs_above(matrix.copy(), 1.0) for _ in range(3)]
    assert len({pairs[1].tobytes() for pairs in found}) == 1
    values, vectors = found[0][:2]
    if none_above(matrix.copy(), 1.0, values, vectors):
        np.testing.assert_allclose(values, every[every > 1.0], rtol=1e-10)
    else:
        assert len(values) < (every > 1.0).sum()
