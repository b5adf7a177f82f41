"""The kernel learned in parts, against loops over its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.kernels import Gaussian, Laplacian, Linear
from pliant.methods import HadamardKernel, PartitionedKernel
from pliant.methods.dank.kernel import EXTENSIONS

CENTRES = np.array([[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 1.2]])
POINTS = np.random.default_rng(0).uniform(-1.5, 1.5, size=(24, 3))
LABELS = ((POINTS[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
BETA = np.random.default_rng(1).normal(scale=2.0, size=24) * (np.arange(24) % 4 > 0)
BASE = Gaussian(0.5)
ETA = 2.0

every_rule = pytest.mark.parametrize("rule", EXTENSIONS)


def kernel(rule="smooth", *, base=BASE, eta=ETA, **changed):
    given_to = {"points": POINTS, "beta": BETA, "labels": LABELS, "centres": CENTRES} | changed
    return PartitionedKernel(base, **given_to, eta=eta, extension=rule, n_neighbors=3)


def new_points(n=15, seed=2):
    return np.random.default_rng(seed).uniform(-2, 2, size=(n, 3))


def by_loops(X, Y, rule, base=BASE):
    """Compute k(x, y) F(x, y) pair by pair."""
    members = [np.flatnonzero(np.equal(LABELS, p)) for p in range(len(CENTRES))]
    of_parts = [HadamardKernel(base, POINTS[m], BETA[m], ETA, rule, 3) for m in members]
    gram = np.zeros((len(X), len(Y)))
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            p, q = (((z - CENTRES) ** 2).sum(axis=1).argmin() for z in (x, y))
            if p == q:
                gram[i, j] = of_parts[p](x[None], y[None])[0, 0]
    return gram


@every_rule
@pytest.mark.parametrize("base", [BASE, Laplacian(0.4) + Linear()], ids=repr)
def test_values_agree_with_the_definition(rule, base):
    X, Y = new_points(), np.concatenate([new_points(9, seed=3), POINTS[::5]])
    learned = kernel(rule, base=base)
    np.testing.assert_allclose(learned(X, Y), by_loops(X, Y, rule, base), rtol=0, atol=1e-13)
    np.testing.assert_allclose(learned(Y), by_loops(Y, Y, rule, base), rtol=0, atol=1e-13)
    np.testing.assert_allclose(learned.diag(Y), learned(Y).diagonal(), rtol=0, atol=1e-13)


@every_rule
def test_the_kernel_of_a_single_part_is_a_hadamard_kernel(rule):
    one = kernel(rule, labels=np.zeros(24, dtype=int), centres=CENTRES[:1])
    whole = HadamardKernel(BASE, POINTS, BETA, ETA, rule, 3)
    X = np.concatenate([new_points(), POINTS[:4]])
    np.testing.assert_array_equal(one(X, POINTS), whole(X, POINTS))
    np.testing.assert_array_equal(one(X), whole(X))
    np.testing.assert_array_equal(one.diag(X), whole.diag(X))
    np.testing.assert_array_equal(one.adaptation().toarray(), whole.adaptation().toarray())
    assert one.adaptation().radius == whole.adaptation().radius


@every_rule
@given(
    free=arrays(float, st.tuples(st.integers(0, 8), st.just(3)), elements=st.floats(-4, 4)),
    chosen=st.lists(st.integers(0, 23), max_size=8),
    twice=st.booleans(),
    eta=st.sampled_from([1e-3, 1.0, 1e4, np.inf]),
)
@settings(max_examples=40, deadline=None)
def test_gram_matrices_are_symmetric_and_psd(rule, free, chosen, twice, eta):
    X = np.concatenate([free, POINTS[chosen], CENTRES[:1], *([free] if twice else [])])
    gram = kernel(rule, eta=eta)(X)
    scale = max(1.0, np.trace(gram))
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-13 * scale)
    np.testing.assert_allclose(gram, kernel(rule, eta=eta)(X, X.copy()), rtol=0, atol=1e-13 * scale)
    assert np.linalg.eigvalsh(0.5 * (gram + gram.T))[0] >= -1e-12 * scale


@pytest.mark.parametrize("d", [1, 2, 5])
def test_ties_between_centres_do_not_depend_on_the_batch(d):
    """On a grid, many points have the same distance from two means of grid points."""
    for seed in range(30):
        r = np.random.default_rng(seed)
        X = r.integers(0, 4, size=(100, d)).astype(float)
        centres = np.stack([X[r.choice(100, size=r.integers(1, 30))].mean(axis=0) for _ in "12345"])
        learned = kernel(points=X, centres=centres, beta=np.zeros(100), labels=np.zeros(100, int))
        together = learned.place(X)
        alone = [learned.place(x[None])[0] for x in X]
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_array_equal(together[::-1], learned.place(X[::-1]))
        distances = ((X[:, None] - centres) ** 2).sum(axis=2)
        chosen = distances[np.arange(100), together]
        np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-12)
