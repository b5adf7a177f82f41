"""Contract of all kernels of `pliant.kernels` and `pliant.methods`, found by introspection."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.svm import SVC

from pliant import kernels as k
from pliant import methods as m
from pliant.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Precomputed
from pliant.kernels.base import resolve_columns
from pliant.methods.dank.kernel import EXTENSIONS
from pliant.methods.supervised.neighbor_graph import NeighborGraph
from tests.memory import peak_memory

TRAIN = np.random.default_rng(0).uniform(-1, 1, size=(9, 3))
BETA = np.array([2.0, -1.5, 0.0, 1.0, -3.0, 0.0, 0.5, 2.5, -1.5])
NUMBERS = np.arange(9.0)[:, None]
CORRECTION = -0.5 * np.linalg.inv(np.eye(9) + 0.5 * Gaussian()(TRAIN))
CENTRES = np.array([[-0.5, 0.0, 0.0], [0.6, 0.3, -0.2]])
LABELS = ((TRAIN[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
MATRIX = Precomputed(Gaussian()(TRAIN))


def ramps(nodes, X):
    heights = nodes @ X.T
    return np.stack([heights, np.maximum(heights, 0.0)], axis=2)


def partitioned(base, *args, **options):
    return m.PartitionedKernel(base, TRAIN, BETA, LABELS, CENTRES, *args, **options)


def spectral():
    graph = NeighborGraph(TRAIN, 3)
    modes = graph.smoothest(6, drop_null=False)
    parts = modes.vectors, modes.values, np.arange(6.0), 3, graph.radii, graph.degrees
    return [m.SpectralKernel(TRAIN, *parts)]


MADE = {
    "Gaussian": lambda: [Gaussian(0.7), Gaussian([0.7, 0.0, 2.0])],
    "Laplacian": lambda: [Laplacian(0.7), Laplacian(np.array([0.7, 0.1, 2.0]))],
    "Matern": lambda: [Matern(0.5, 0.7), Matern(1.5, (0.7, 0.1, 2.0)), Matern(2.5, 0.7)],
    "TL1": lambda: [k.TL1(4.0)],
    "Polynomial": lambda: [k.Polynomial(3, 0.5, 1.0), k.Polynomial(2, 0.5, 0.0)],
    "Sigmoid": lambda: [k.Sigmoid(0.5, -0.2)],
    "FunctionKernel": lambda: [k.FunctionKernel(lambda X, Y: X @ Y.T + 1.0)],
    "Precomputed": lambda: [MATRIX],
    "Sum": lambda: [Gaussian(0.3) + Linear()],
    "Product": lambda: [Laplacian(0.3) * k.Polynomial(2)],
    "Scaled": lambda: [3.0 * Gaussian(0.5)],
    "Normalized": lambda: [
        k.Normalized(k.TL1(3.0)), k.Normalized(Gaussian(0.3) * Linear() + 2.0 * Matern()),
    ],
    "Rescaled": lambda: [k.Rescaled(m.TessellatedKernel(), TRAIN.min(axis=0), 2.0)],
    "On": lambda: [
        k.On(Gaussian(0.7), [2, 0]),
        k.On(Gaussian([0.5, 1.0]), np.array([True, False, True])),
        k.On(k.On(Laplacian(0.5), -1), [0, 2]) + k.On(Linear(), 1),
    ],
    "WeightedSum": lambda: [
        k.WeightedSum([Gaussian(0.3), k.On(Linear(), [1]), k.TL1()], [0.5, 2.0, 0.0]),
        k.WeightedSum((Gaussian(0.3), Laplacian(0.2)), [1.0, -0.25]),
        k.WeightedSum([MATRIX, Precomputed(TRAIN @ TRAIN.T)], [0.2, 0.8]),
    ],
    "TessellatedKernel": lambda: [
        *(m.TessellatedKernel(-1.0, 1.5, n) for n in (0, 1, 2)),
        m.TessellatedKernel(-2.5, 2.5, factor=np.eye(8)[:, :2]),
    ],
    "GeneralizedKernel": list,  # abstract
    "GeneralizedPolynomial": lambda: [m.GeneralizedPolynomial(-1.0, 1.0, 2)],
    "QuadratureKernel": lambda: [m.QuadratureKernel(ramps, np.eye(3), [0.5, 1.0, 0.0])],
    "LocalRBFKernel": list,  # asymmetric
    "Mapped": lambda: [m.Mapped(Gaussian(0.7), m.Warp.learn(np.exp(TRAIN), "asinh"))],
    "HadamardKernel": lambda: [
        *(m.HadamardKernel(Gaussian(0.5), TRAIN, BETA, 2.0, rule, 3) for rule in EXTENSIONS),
        *(m.HadamardKernel(MATRIX, NUMBERS, BETA, 2.0, rule, 3) for rule in EXTENSIONS),
        m.HadamardKernel(Laplacian() + Linear(), TRAIN, BETA, 2.0) * Matern(),
        m.HadamardKernel(Gaussian(), TRAIN, BETA),
    ],
    "PartitionedKernel": lambda: [
        *(partitioned(Gaussian(0.5), 2.0, rule, 3) for rule in EXTENSIONS),
        *(partitioned(Gaussian(0.5), 2.0, rule, 3, centred=True) for rule in EXTENSIONS),
        partitioned(Laplacian() + Linear(), 2.0),
    ],
    "LogDetKernel": lambda: [
        m.LogDetKernel(Gaussian(0.5), TRAIN, CORRECTION),
        m.LogDetKernel(Laplacian(0.5) + Linear(), TRAIN, 0.1 * CORRECTION) * Matern(),
        m.LogDetKernel(Gaussian(0.5), TRAIN, 10.0 * CORRECTION),  # not PSD
        m.LogDetKernel(MATRIX, NUMBERS, CORRECTION),
        m.LogDetKernel(m.NeighborGraphKernel.from_points(TRAIN, 3), TRAIN, CORRECTION),
    ],
    "SpectralKernel": spectral,
    "NeighborGraphKernel": lambda: [
        m.NeighborGraphKernel.from_points(TRAIN, 3),
        m.NeighborGraphKernel.from_points(np.concatenate([TRAIN[:5], TRAIN[:5] + 3.0]), 3, 4),
    ],
}  # fmt: skip
"""Examples of kernels that need arguments or have several forms."""

CLASSES = {
    name: kind
    for place in (k, m)
    for name in place.__all__
    if inspect.isclass(kind := getattr(place, name)) and issubclass(kind, Kernel)
}
CASES = [
    pytest.param(kernel, id=f"{name} {number}")
    for name in CLASSES
    if name != "Kernel"
    for number, kernel in enumerate(MADE[name]() if name in MADE else [CLASSES[name]()])
]
every_kernel = pytest.mark.parametrize("kernel", CASES)
psd_kernels = pytest.mark.parametrize("kernel", [c for c in CASES if c.values[0].psd])


def points_of(kernel, n, seed=0):
    """Return n points on which a kernel is defined."""
    rng = np.random.default_rng(seed)
    if any(isinstance(part, Precomputed) for part in parts_of(kernel)):
        return rng.integers(len(TRAIN), size=(n, 1)).astype(float)
    return rng.uniform(-2, 2, size=(n, 3))


def parts_of(kernel):
    """Yield a kernel and all its component kernels."""
    yield kernel
    for value in kernel.get_params(deep=False).values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, Kernel):
                yield from parts_of(part)


def assert_close(actual, expected):
    """Assert equality up to the rounding of a few operations."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * scale)


@every_kernel
def test_a_gram_has_the_values_of_its_pairs(kernel):
    X, Y = points_of(kernel, 7), points_of(kernel, 5, seed=1)
    gram = kernel(X, Y)
    assert (gram.shape, gram.dtype) == ((7, 5), np.float64)
    assert np.isfinite(gram).all()
    for i in range(7):
        assert_close(kernel(X[[i]], Y)[0], gram[i])
    for j in range(5):
        assert_close(kernel(X, Y[[j]])[:, 0], gram[:, j])
    assert_close(kernel(X[::-1], Y[[3, 1]]), gram[::-1, [3, 1]])
    assert_close(kernel(X), kernel(X, X.copy()))
    assert_close(kernel(X, Y), kernel(Y, X).T)
    known = np.concatenate([X, NUMBERS if X.shape[1] == 1 else TRAIN])
    assert_close(kernel.diag(known), np.diagonal(kernel(known)))
    value = kernel(X[0], Y[0])
    assert type(value) is float
    assert_close(value, gram[0, 0])
    assert kernel(X[:0], Y).shape == (0, 5)
    assert kernel(X, Y[:0]).shape == (7, 0)
    assert kernel.diag(X[:0]).shape == (0,)
    np.testing.assert_array_equal(X, points_of(kernel, 7))  # unchanged


@every_kernel
def test_any_dense_container_of_numbers_will_do(kernel):
    X = np.round(points_of(kernel, 6))
    if X.shape[1] > 1:
        X[0] += 0.5  # a zero row cannot be normalised
    gram = kernel(X)
    for same in (X.tolist(), X.astype(np.float32), np.asfortranarray(X), pd.DataFrame(X)):
        assert_close(kernel(same), gram)


@psd_kernels
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_grams_of_a_psd_kernel_have_no_negative_eigenvalue(kernel, data):
    n = data.draw(st.integers(1, 8))
    if points_of(kernel, 1).shape[1] == 1:
        X = data.draw(arrays(float, (n, 1), elements=st.integers(0, len(TRAIN) - 1)))
    else:
        free = data.draw(arrays(float, (n, 3), elements=st.floats(-5, 5)))
        X = np.concatenate([free, TRAIN[:3], free[:1]])
        X[X[:, 0] == 0, 0] = 1e-3  # a zero row cannot be normalised
    gram = kernel(X)
    assert np.linalg.eigvalsh(0.5 * (gram + gram.T))[0] >= -1e-12 * max(1.0, np.trace(gram))


@psd_kernels
def test_a_psd_kernel_works_in_a_support_vector_machine(kernel):
    X, X_new = points_of(kernel, 30), points_of(kernel, 8, seed=1)
    y = np.where(np.sin(3 * X[:, 0]) > 0, "yes", "no")
    machine = clone(SVC(kernel=kernel)).fit(X, y)
    twin = SVC(kernel="precomputed").fit(kernel(X), y)
    expected = twin.decision_function(kernel(X_new, X))
    np.testing.assert_allclose(machine.decision_function(X_new), expected, atol=1e-9)


@every_kernel
def test_copies_are_the_same_function(kernel):
    X, parameters = points_of(kernel, 5), kernel.get_params(deep=False)
    expected, copy = kernel(X), clone(kernel)
    assert all(
        copy.get_params()[name] is not value
        for name, value in parameters.items()
        if isinstance(value, Kernel)
    )
    columns = resolve_columns(k.On(kernel, np.arange(X.shape[1])), None, X.shape[1])
    same = [copy, copy.set_params(**parameters), columns]
    if not any(isinstance(part, k.FunctionKernel) for part in parts_of(kernel)):
        same += [pickle.loads(pickle.dumps(each)) for each in (kernel, clone(kernel))]
    for each in same:
        np.testing.assert_allclose(each(X), expected, rtol=1e-13, atol=1e-15)
    assert repr(kernel).startswith(type(kernel).__name__ + "(")


@every_kernel
def test_positive_hyper_parameters_are_read_and_checked_at_each_call(kernel):
    X, kernel = points_of(kernel, 5), clone(kernel)
    before = kernel(X)
    for name, value in kernel.get_params().items():
        owner, _, last = name.rpartition("__")
        inner = kernel.get_params()[owner] if owner else kernel
        if last not in ("gamma", "rho", "scale") or not isinstance(value, float):
            continue
        if np.array_equal(kernel.set_params(**{name: 1.5 * value})(X), before):
            continue  # the learned kernel stores values of its base
        np.testing.assert_array_equal(kernel.set_params(**{name: value})(X), before)
        for bad in (0.0, -1.0, np.inf, np.nan, 10**400, "1", None, True):
            with pytest.raises(ValueError, match="> 0, a finite number, got ") as caught:
                kernel.set_params(**{name: bad})(X)
            assert f"{type(inner).__name__}({last}=...)" in str(caught.value)
        kernel.set_params(**{name: value})


@every_kernel
def test_points_that_are_none_are_refused(kernel):
    X = points_of(kernel, 3)
    for bad in (np.nan, -np.inf, 1e160):
        broken = X.copy()
        broken[2, 0] = bad
        for call in (lambda: kernel(X, broken), lambda: kernel.diag(broken)):  # noqa: B023
            with pytest.raises(ValueError, match=r"got .* in [XY] at row 2, column 0$"):
                call()
        if kernel.takes_sparse:
            with pytest.raises(ValueError, match=r"got .* in X at row 2, column 0$"):
                kernel(scipy.sparse.csc_matrix(broken))
    with pytest.raises(ValueError, match=r"expected X of shape \(n_samples, n_features\), got"):
        kernel(X[0])
    with pytest.raises(ValueError, match="expected X to hold numbers"):
        kernel([["a", "b", "c"]])
    if X.shape[1] > 1:
        with pytest.raises(ValueError, match="expected Y with 3 features, as in X, got 2"):
            kernel(X, np.zeros((3, 2)))


@every_kernel
def test_sparse_points_have_the_values_of_dense_ones_or_are_refused(kernel):
    """Duplicate and unsorted entries, stored zeros, wide indices, empty and equal rows."""
    X = points_of(kernel, 8)
    if not kernel.takes_sparse:
        remedy = r"expected X to be a dense array .* use X\.toarray\(\), or .*TruncatedSVD"
        with pytest.raises(TypeError, match=remedy):
            kernel(scipy.sparse.csr_array(X))
        return
    X[2], X[5], X[X < -1.0] = 0.0, X[4] * (1.0 + 1e-9), 0.0
    rows, columns = np.indices(X.shape).reshape(2, -1)[:, ::-1]
    values = np.repeat(0.5 * X[rows, columns], 2)  # each entry is the sum of two
    starts = np.array([*range(0, 48, 6), 48], dtype=np.int64)
    parts = values, np.repeat(columns, 2).astype(np.int64), starts
    messy = scipy.sparse.csr_array(parts, shape=X.shape)
    dense, given = messy.toarray(), [part.copy() for part in parts]
    for form in (messy, scipy.sparse.coo_array(dense), scipy.sparse.csc_matrix(dense)):
        for Y in (form, dense, scipy.sparse.csr_matrix(dense[:3])):
            expected = kernel(dense, Y.toarray() if scipy.sparse.issparse(Y) else Y)
            np.testing.assert_allclose(kernel(form, Y), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel.diag(form), kernel.diag(dense), rtol=1e-12)
    single = dense.astype(np.float32)
    np.testing.assert_allclose(
        kernel(scipy.sparse.csr_array(single)), kernel(single), rtol=1e-12, atol=1e-12
    )
    for part, before in zip((messy.data, messy.indices, messy.indptr), given, strict=True):
        np.testing.assert_array_equal(part, before)  # the user's matrix is not changed


@every_kernel
@pytest.mark.parametrize("size", [1e-12, 1e100])
def test_points_far_outside_have_finite_values_or_are_refused(kernel, size):
    X = points_of(kernel, 3)
    far = np.where(X < 0.0, -size, size)
    for call in (lambda: kernel(far, X), lambda: kernel.diag(far)):
        try:
            values = call()
        except ValueError as error:
            assert str(error).startswith("expected ")  # noqa: PT017
        else:
            assert np.isfinite(values).all()


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(), Laplacian(), Matern(1.5), Matern(2.5), Linear(), k.Polynomial(3), k.TL1(),
        Gaussian([1.0, 2.0, 3.0]), k.On(Gaussian(), [0, 1]),
        k.WeightedSum([k.On(Gaussian(), j % 3) for j in range(6)], np.arange(6.0)),
    ],
    ids=str,
)  # fmt: skip
def test_a_gram_is_made_in_the_memory_of_two(kernel):
    X = np.random.default_rng(0).uniform(size=(700, 3))
    with peak_memory() as used:
        gram = kernel(X)
    assert used.peak < 2.3 * gram.nbytes
