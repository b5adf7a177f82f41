"""Eigenvalues by each solver agree with NumPy's full decompositions."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, eigsh

from pliant.core import eigen
from pliant.core.eigen import (
    DiagonalPlusLowRank,
    eigenpairs_above,
    eigenvalue,
    last_eigenpairs,
    negative_eigenvalue,
    none_above,
    top_eigenpairs,
)
from pliant.kernels import Gaussian

LARGE = 400  # larger than ORDER_ABOVE, so Lanczos is tried first


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


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 5), (40, 3), (301, 5), (400, 2), (400, 200)])
def test_the_largest_eigenpairs_by_lapack_or_lanczos(n, k, monkeypatch):
    monkeypatch.setattr(eigen, "ORDER_OF_FEW", 300)
    rng = np.random.default_rng(n + k)
    root = rng.normal(size=(n, n))
    matrix = root + root.T
    before = matrix.copy()
    values, vectors = top_eigenpairs(matrix, k)
    np.testing.assert_array_equal(matrix, before)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:k], atol=1e-9)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)


def test_lanczos_gives_up_on_clustered_eigenvalues(monkeypatch):
    """A strong binary learner has one large eigenvalue and many that are nearly equal."""
    products = []

    def counted(matrix, k, **options):
        def times(b):
            products.append(len(b))
            return matrix @ b

        return eigsh(LinearOperator(matrix.shape, matvec=times, dtype=float), k, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", counted)
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(400, 400)))
    spectrum = np.concatenate([[5.0], 1.0 - 1e-3 * np.linspace(0.0, 1.0, 399) ** 2])
    matrix = (Q * spectrum) @ Q.T
    matrix = 0.5 * (matrix + matrix.T)
    for limit in (eigen.ORDER_OF_FEW, 300):
        monkeypatch.setattr(eigen, "ORDER_OF_FEW", limit)
        values, vectors = top_eigenpairs(matrix, 2)
        np.testing.assert_allclose(values, spectrum[:2], atol=1e-12)
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
        assert len(products) <= (0 if limit > 400 else 500)


def structured(n, r, seed):
    """Return a diagonal matrix plus one of rank r, with an indefinite and singular middle."""
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(r, r))
    middle += middle.T
    middle[-1] = middle[:, -1] = 0.0
    return DiagonalPlusLowRank(rng.normal(size=n), rng.normal(size=(n, r)), middle)


@pytest.mark.parametrize(("n", "k"), [(20, 3), (200, 1), (200, 4), (200, 100)])
def test_a_diagonal_plus_low_rank_has_the_eigenpairs_of_its_array(n, k):
    matrix = structured(n, 4, seed=n + k)
    unit = np.random.default_rng(0).normal(size=n)
    unit /= np.linalg.norm(unit)
    P = np.eye(n) - np.outer(unit, unit)
    dense = np.diag(matrix.diagonal) + matrix.factor @ matrix.middle @ matrix.factor.T
    for ours, theirs in ((matrix, dense), (matrix.projected(unit), P @ dense @ P)):
        np.testing.assert_allclose(ours.toarray(), theirs, atol=1e-11)
        np.testing.assert_allclose(ours.times(P), theirs @ P, atol=1e-11)
        every = np.linalg.eigvalsh(theirs)
        values, vectors = ours.top_eigenpairs(k)
        np.testing.assert_allclose(values, every[::-1][:k], atol=1e-10)
        np.testing.assert_allclose(theirs @ vectors, vectors * values, atol=1e-9)
        for bound in np.quantile(every, [0.03, 0.41, 0.77, 0.99]) + 1e-6:
            assert ours.count_above(bound) == (every > bound).sum()


def test_lanczos_does_not_miss_an_equal_eigenvalue():
    """From one start vector, exact iterations find one eigenvector of a double eigenvalue."""
    matrix = DiagonalPlusLowRank(np.ones(300), np.eye(300)[:, :2], 4.0 * np.eye(2))
    values, vectors = matrix.top_eigenpairs(3)
    np.testing.assert_allclose(values, [5.0, 5.0, 1.0], rtol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("seed", [535, 2355, 3794, 6488, 12492])
def test_eigenpairs_of_equal_eigenvalues_are_complete(seed):
    """LAPACK's bisection returns too few eigenpairs for some of these matrices."""
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
def test_eigenpairs_above_a_level_of_small_matrices(seed, n, level, guess):
    matrix = np.random.default_rng(seed).standard_normal((n, n))
    check(matrix + matrix.T, level, guess)


def test_lanczos_is_used_for_few_eigenvalues(monkeypatch):
    called = []
    monkeypatch.setattr(eigen, "LANCZOS_SHARE", 0.15)
    counted = lambda *a, **k: called.append(a[1]) or eigsh(*a, **k)  # noqa: E731
    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", counted)
    spectrum = np.concatenate([np.linspace(3, 2, 20), np.zeros(LARGE - 20)])
    check(matrix_of(spectrum), 1.5, guess=4)
    assert called == [8, 16, 32]
    called.clear()
    check(matrix_of(spectrum), 1.5, guess=LARGE)
    assert called == []


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
