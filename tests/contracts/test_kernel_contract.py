"""What every kernel promises. A new kernel is one more line in `CASES`."""

import pickle
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.svm import SVC

from pliant.kernels import (
    TL1,
    Centered,
    Exponential,
    FunctionKernel,
    Gaussian,
    GeneralizedPolynomial,
    HadamardKernel,
    Kernel,
    LandmarkKernel,
    Laplacian,
    Linear,
    LogDetKernel,
    Mapped,
    Matern,
    NeighborGraphKernel,
    Normalized,
    On,
    PartitionedKernel,
    Polynomial,
    Precomputed,
    QuadratureKernel,
    Rescaled,
    Sigmoid,
    SpectralKernel,
    TessellatedKernel,
    Warp,
    WeightedSum,
    resolve_columns,
)
from pliant.methods.hadamard.kernel import EXTENSIONS
from pliant.methods.side_information.neighbor_graph import NeighborGraph

TRAIN = np.random.default_rng(0).uniform(-1, 1, size=(9, 3))
BETA = np.array([2.0, -1.5, 0.0, 1.0, -3.0, 0.0, 0.5, 2.5, -1.5])
ROW_NUMBERS = np.arange(9.0)[:, None]
CORRECTION = -0.5 * np.linalg.inv(np.eye(9) + 0.5 * Gaussian()(TRAIN))
PROJECTION = np.linalg.cholesky(np.eye(9) + Gaussian()(TRAIN))[:, :4]
GRAPH = NeighborGraph(TRAIN, 3)
TWO_PARTS = np.concatenate([TRAIN[:5], TRAIN[:5] + 3.0])
CENTRES = np.array([[-0.5, 0.0, 0.0], [0.6, 0.3, -0.2]])
LABELS = ((TRAIN[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
SMOOTH = GRAPH.smoothest(6, drop_null=False)


def shifted_inner_product(X, Y):
    return X @ Y.T + 1.0


def ramps(nodes, X):
    heights = nodes @ X.T
    return np.stack([heights, np.maximum(heights, 0.0)], axis=2)


@dataclass
class Case:
    """A kernel, and hyper-parameters of it that must be positive numbers."""

    name: str
    kernel: Kernel
    positive: tuple[str, ...] = ()
    by_row_number: bool = False

    def points(self, n, seed=0):
        """Return n points on which the kernel is defined."""
        rng = np.random.default_rng(seed)
        if self.by_row_number:
            return rng.integers(len(TRAIN), size=(n, 1)).astype(float)
        return rng.uniform(-2, 2, size=(n, 3))


CASES = [
    Case("gaussian", Gaussian(0.7), ("gamma",)),
    Case("laplacian", Laplacian(0.7), ("gamma",)),
    Case("matern12", Matern(0.5, 0.7), ("gamma",)),
    Case("matern32", Matern(1.5, 0.7), ("gamma",)),
    Case("matern52", Matern(2.5, 0.7), ("gamma",)),
    Case("tl1", TL1(4.0), ("rho",)),
    Case("linear", Linear()),
    Case("cubic", Polynomial(3, 0.5, 1.0), ("gamma",)),
    Case("homogeneous", Polynomial(2, 0.5, 0.0), ("gamma",)),
    Case("sigmoid", Sigmoid(0.5, -0.2), ("gamma",)),
    Case("function", FunctionKernel(shifted_inner_product)),
    Case("precomputed", Precomputed(Gaussian()(TRAIN)), by_row_number=True),
    Case("sum", Gaussian(0.3) + Linear(), ("left__gamma",)),
    Case("product", Laplacian(0.3) * Polynomial(2), ("left__gamma", "right__gamma")),
    Case("scaled", 3.0 * Gaussian(0.5), ("scale", "kernel__gamma")),
    Case("normalized", Normalized(Polynomial(2)), ("kernel__gamma",)),
    Case("normalized tl1", Normalized(TL1(3.0)), ("kernel__rho",)),
    Case("exponential", Exponential(Gaussian(0.3), 2.0), ("gamma", "kernel__gamma")),
    Case("centered", Centered(Gaussian(0.5), TRAIN), ("kernel__gamma",)),
    Case("gaussian of each", Gaussian([0.7, 0.0, 2.0])),
    Case("laplacian of each", Laplacian(np.array([0.7, 0.1, 2.0]))),
    Case("matern of each", Matern(1.5, (0.7, 0.1, 2.0))),
    Case("on positions", On(Gaussian(0.7), [2, 0]), ("kernel__gamma",)),
    Case("on a slice", On(Polynomial(2), slice(None, None, 2)), ("kernel__gamma",)),
    Case("on a mask", On(Gaussian([0.5, 1.0]), np.array([True, False, True]))),
    Case("on one of each", On(On(Laplacian(0.5), -1), [0, 2]) + On(Linear(), 1)),
    Case("weighted sum", WeightedSum([Gaussian(0.3), On(Linear(), [1]), TL1()], [0.5, 2.0, 0.0])),
    Case("weighted difference", WeightedSum((Gaussian(0.3), Laplacian(0.2)), [1.0, -0.25])),
    Case(
        "weighted, precomputed",
        WeightedSum([Precomputed(Gaussian()(TRAIN)), Precomputed(TRAIN @ TRAIN.T)], [0.2, 0.8]),
        by_row_number=True,
    ),
    Case(
        "nested", Normalized(Gaussian(0.3) * Linear() + 2.0 * Matern()), ("kernel__right__scale",)
    ),
    *(Case(f"tessellated {degree}", TessellatedKernel(-1.0, 1.5, degree)) for degree in (0, 1, 2)),
    Case("learned tessellated", TessellatedKernel(-2.5, 2.5, factor=np.eye(8)[:, :2])),
    Case("rescaled", Rescaled(TessellatedKernel(), TRAIN.min(axis=0), 2.0)),
    Case("mapped", Mapped(Gaussian(0.7), Warp.learn(np.exp(TRAIN), "asinh")), ("kernel__gamma",)),
    Case("generalized polynomial", GeneralizedPolynomial(-1.0, 1.0, 2)),
    Case("quadrature", QuadratureKernel(ramps, np.eye(3), [0.5, 1.0, 0.0])),
    *(
        Case(f"hadamard {rule}", HadamardKernel(Gaussian(0.5), TRAIN, BETA, 2.0, rule, 3))
        for rule in EXTENSIONS
    ),
    Case("hadamard of a sum", HadamardKernel(Laplacian() + Linear(), TRAIN, BETA, 2.0)),
    Case("hadamard, infinite eta", HadamardKernel(Gaussian(), TRAIN, BETA)),
    Case("product of learned", HadamardKernel(Gaussian(), TRAIN, BETA, 2.0) * Matern()),
    *(
        Case(
            f"hadamard {rule}, precomputed",
            HadamardKernel(Precomputed(Gaussian()(TRAIN)), ROW_NUMBERS, BETA, 2.0, rule, 3),
            by_row_number=True,
        )
        for rule in EXTENSIONS
    ),
    *(
        Case(
            f"partitioned, {rule}, {between} between",
            PartitionedKernel(
                Gaussian(0.5), TRAIN, BETA, LABELS, CENTRES, 2.0, rule, 3, between=between
            ),
        )
        for rule in EXTENSIONS
        for between in ("one", "zero")
    ),
    *(
        Case(
            f"partitioned and centred, {rule}",
            PartitionedKernel(
                Gaussian(0.5), TRAIN, BETA, LABELS, CENTRES, 2.0, rule, 3, centred=True
            ),
        )
        for rule in EXTENSIONS
    ),
    Case(
        "partitioned sum", PartitionedKernel(Laplacian() + Linear(), TRAIN, BETA, LABELS, CENTRES)
    ),
    Case("logdet", LogDetKernel(Gaussian(0.5), TRAIN, CORRECTION), ("base__gamma",)),
    Case("logdet of a sum", LogDetKernel(Laplacian(0.5) + Linear(), TRAIN, 0.1 * CORRECTION)),
    Case("logdet, not PSD", LogDetKernel(Gaussian(0.5), TRAIN, 10.0 * CORRECTION)),
    Case("product of logdet", LogDetKernel(Gaussian(), TRAIN, CORRECTION) * Matern()),
    Case(
        "logdet, precomputed",
        LogDetKernel(Precomputed(Gaussian()(TRAIN)), ROW_NUMBERS, CORRECTION),
        by_row_number=True,
    ),
    Case("landmarks", LandmarkKernel(Gaussian(0.5), TRAIN, PROJECTION), ("base__gamma",)),
    Case("landmarks of a sum", LandmarkKernel(Laplacian(0.5) + Linear(), TRAIN, PROJECTION)),
    Case(
        "landmarks, precomputed",
        LandmarkKernel(Precomputed(Gaussian()(TRAIN)), ROW_NUMBERS, PROJECTION),
        by_row_number=True,
    ),
    Case(
        "spectral",
        SpectralKernel(
            TRAIN, SMOOTH.vectors, SMOOTH.values, np.arange(6.0), 3, GRAPH.radii, GRAPH.degrees
        ),
    ),
    Case("neighbour graph", NeighborGraphKernel.from_points(TRAIN, 3)),
    Case("neighbour graph of two parts", NeighborGraphKernel.from_points(TWO_PARTS, 3, 4)),
    Case(
        "logdet of a graph",
        LogDetKernel(NeighborGraphKernel.from_points(TRAIN, 3), TRAIN, CORRECTION),
    ),
]
every_kernel = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
symmetric_kernels = pytest.mark.parametrize(
    "case", [case for case in CASES if case.kernel.symmetric], ids=lambda case: case.name
)
psd_kernels = pytest.mark.parametrize(
    "case", [case for case in CASES if case.kernel.psd], ids=lambda case: case.name
)
kernels_of_coordinates = pytest.mark.parametrize(
    "case", [case for case in CASES if not case.by_row_number], ids=lambda case: case.name
)
every_positive_number = pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case in CASES for name in case.positive],
    ids=lambda item: item if isinstance(item, str) else item.name,
)


def assert_close(actual, expected):
    """Equal up to the rounding of a few operations."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * scale)


def refusal(kind, action, *given):
    """The message of the error that an action must end with."""
    try:
        action(*given)
    except kind as error:
        return str(error)
    pytest.fail(f"expected {kind.__name__} of {action} given {given}")


@every_kernel
def test_the_gram_has_its_shape_and_is_float64(case):
    gram = case.kernel(case.points(6), case.points(4, seed=1))
    assert gram.shape == (6, 4)
    assert gram.dtype == np.float64
    assert np.isfinite(gram).all()


@every_kernel
def test_a_missing_second_argument_is_the_first(case):
    X = case.points(6)
    assert_close(case.kernel(X), case.kernel(X, X.copy()))


@symmetric_kernels
def test_a_symmetric_kernel_takes_its_points_in_any_order(case):
    X, Y = case.points(6), case.points(4, seed=1)
    assert_close(case.kernel(X, Y), case.kernel(Y, X).T)
    assert_close(case.kernel(X), case.kernel(X).T)


@every_kernel
def test_the_diagonal_is_that_of_the_gram(case):
    X = np.concatenate([case.points(6), ROW_NUMBERS if case.by_row_number else TRAIN])
    assert case.kernel.diag(X).shape == (len(X),)
    assert_close(case.kernel.diag(X), np.diagonal(case.kernel(X)))


@every_kernel
def test_an_entry_depends_on_its_two_points_only(case):
    X, Y = case.points(7), case.points(5, seed=1)
    gram = case.kernel(X, Y)
    for i in range(7):
        assert_close(case.kernel(X[[i]], Y)[0], gram[i])
    for j in range(5):
        assert_close(case.kernel(X, Y[[j]])[:, 0], gram[:, j])
    assert_close(case.kernel(X[::-1], Y[[3, 1]]), gram[::-1, [3, 1]])


@every_kernel
def test_no_points_have_an_empty_gram(case):
    X = case.points(4)
    assert case.kernel(X[:0], X).shape == (0, 4)
    assert case.kernel(X, X[:0]).shape == (4, 0)
    assert case.kernel.diag(X[:0]).shape == (0,)


@every_kernel
def test_any_dense_container_of_numbers_will_do(case):
    X = np.round(case.points(6))
    if not case.by_row_number:
        X[0] += 0.5  # a zero row cannot be normalised
    gram = case.kernel(X)
    for same in (X.tolist(), X.astype(np.float32), np.asfortranarray(X), pd.DataFrame(X)):
        assert_close(case.kernel(same), gram)


@every_kernel
def test_the_points_are_left_as_they_are(case):
    X, Y = case.points(6), case.points(4, seed=1)
    case.kernel(X, Y)
    case.kernel(X)
    case.kernel.diag(Y)
    np.testing.assert_array_equal(X, case.points(6))
    np.testing.assert_array_equal(Y, case.points(4, seed=1))


@psd_kernels
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_grams_of_a_psd_kernel_have_no_negative_eigenvalue(case, data):
    n = data.draw(st.integers(1, 8))
    if case.by_row_number:
        X = data.draw(arrays(float, (n, 1), elements=st.integers(0, len(TRAIN) - 1)))
    else:
        free = data.draw(arrays(float, (n, 3), elements=st.floats(-5, 5)))
        X = np.concatenate([free, TRAIN[:3], free[:1]])
        X[X[:, 0] == 0, 0] = 1e-3  # a zero row cannot be normalised
    gram = case.kernel(X)
    assert np.linalg.eigvalsh(0.5 * (gram + gram.T))[0] >= -1e-12 * max(1.0, np.trace(gram))


@every_kernel
def test_get_params_and_set_params_go_round(case):
    copy = clone(case.kernel).set_params(**case.kernel.get_params(deep=False))
    X = case.points(5)
    np.testing.assert_array_equal(copy(X), case.kernel(X))
    for name, value in case.kernel.get_params(deep=False).items():
        assert copy.get_params(deep=False)[name] is value


@every_kernel
def test_a_clone_is_the_same_function_and_shares_nothing(case):
    X = case.points(5)
    case.kernel(X)
    copy = clone(case.kernel)
    np.testing.assert_array_equal(copy(X), case.kernel(X))
    assert copy.get_params().keys() == case.kernel.get_params().keys()
    mine, its = case.kernel.get_params(deep=False), copy.get_params(deep=False)
    assert all(its[name] is not mine[name] for name in mine if isinstance(mine[name], Kernel))


@every_positive_number
def test_a_hyper_parameter_counts_from_the_moment_it_is_set(case, name):
    X, kernel = case.points(5), clone(case.kernel)
    before, value = kernel(X), kernel.get_params()[name]
    assert np.abs(kernel.set_params(**{name: 1.5 * value})(X) - before).max() > 1e-3
    np.testing.assert_array_equal(kernel.set_params(**{name: value})(X), before)


@every_kernel
def test_columns_can_be_resolved_in_every_kernel(case):
    X = case.points(5)
    inner = On(case.kernel, np.arange(X.shape[1]))
    known = resolve_columns(inner, None, X.shape[1])
    np.testing.assert_array_equal(known(X), case.kernel(X))


@every_kernel
def test_a_kernel_survives_pickle_before_and_after_its_use(case):
    X, Y = case.points(5), case.points(3, seed=1)
    fresh = pickle.loads(pickle.dumps(clone(case.kernel)))
    np.testing.assert_array_equal(fresh(X, Y), case.kernel(X, Y))
    used = pickle.loads(pickle.dumps(case.kernel))
    np.testing.assert_array_equal(used(X, Y), case.kernel(X, Y))


@every_kernel
def test_the_name_of_a_kernel_can_be_printed(case):
    assert repr(case.kernel).startswith(type(case.kernel).__name__ + "(")


@psd_kernels
def test_a_psd_kernel_works_in_a_support_vector_machine(case):
    X, X_new = case.points(30), case.points(8, seed=1)
    y = np.where(np.sin(3 * X[:, 0]) > 0, "yes", "no")
    machine = clone(SVC(kernel=case.kernel)).fit(X, y)
    twin = SVC(kernel="precomputed").fit(case.kernel(X), y)
    np.testing.assert_allclose(
        machine.decision_function(X_new),
        twin.decision_function(case.kernel(X_new, X)),
        atol=1e-9,
    )


@every_positive_number
def test_hyper_parameters_must_be_positive_numbers(case, name):
    owner, _, last = name.rpartition("__")
    for bad in (0.0, -1.0, np.inf, np.nan, 10**400, "1", None, True):
        kernel = clone(case.kernel).set_params(**{name: bad})
        inner = kernel.get_params()[owner] if owner else kernel
        said = f"expected {type(inner).__name__}({last}=...) > 0, a finite number, got {bad!r}"
        assert refusal(ValueError, kernel, case.points(3)) == said


@every_kernel
def test_sparse_points_are_refused(case):
    X = case.points(3)
    with pytest.raises(TypeError, match=r"expected X to be a dense array, got a sparse one"):
        case.kernel(scipy.sparse.csr_array(X))
    with pytest.raises(TypeError, match=r"expected Y to be .* use Y\.toarray\(\)"):
        case.kernel(X, scipy.sparse.csr_matrix(X))
    with pytest.raises(TypeError, match="expected X to be a dense array"):
        case.kernel.diag(scipy.sparse.csr_array(X))


@every_kernel
def test_points_that_are_not_finite_are_refused(case):
    for bad in (np.nan, np.inf, -np.inf):
        X, broken = case.points(3), case.points(3)
        broken[2, 0] = bad
        said = f"expected finite numbers, got {bad} in {{}} at row 2, column 0"
        assert said.format("X") in refusal(ValueError, case.kernel, broken)
        assert said.format("Y") in refusal(ValueError, case.kernel, X, broken)
        assert said.format("X") in refusal(ValueError, case.kernel.diag, broken)


@every_kernel
def test_points_far_outside_have_finite_values_or_are_refused(case):
    X = case.points(3)
    for size in (1e-300, 1e100, 1e155, 1e300):
        far = np.where(X < 0.0, -size, size)
        for call in (lambda: case.kernel(far, X), lambda: case.kernel.diag(far)):  # noqa: B023
            try:
                values = call()
            except ValueError as error:
                assert str(error).startswith("expected ")  # noqa: PT017
            else:
                assert np.isfinite(values).all()


@every_kernel
def test_two_single_points_have_one_number(case):
    x, y = case.points(2)
    value = case.kernel(x, y)
    assert type(value) is float
    assert_close(value, case.kernel(x[None], y[None])[0, 0])


@every_kernel
def test_one_single_point_is_refused(case):
    x = case.points(1)[0]
    said = f"expected {{}} of shape (n_samples, n_features), got ({len(x)},)"
    assert refusal(ValueError, case.kernel, x) == said.format("X")
    assert refusal(ValueError, case.kernel.diag, x) == said.format("X")
    assert refusal(ValueError, case.kernel, x, x[None]) == said.format("X")
    assert refusal(ValueError, case.kernel, x[None], x) == said.format("Y")


@every_kernel
def test_text_is_refused(case):
    for text in ([["a", "b", "c"]], [["1", "2", "3"]]):
        assert "expected X to hold numbers" in refusal(ValueError, case.kernel, text), text


@kernels_of_coordinates
def test_both_sets_must_have_the_same_features(case):
    with pytest.raises(ValueError, match="expected Y with 3 features, as X, got 2"):
        case.kernel(case.points(3), np.zeros((3, 2)))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Laplacian(),
        Matern(0.5),
        Matern(1.5),
        Matern(2.5),
        Linear(),
        Polynomial(3),
        TL1(),
        Gaussian([1.0, 2.0, 3.0]),
        On(Gaussian(), [0, 1]),
        Exponential(Gaussian()),
    ],
    ids=str,
)
def test_a_gram_is_made_in_the_memory_of_two(kernel):
    X = np.random.default_rng(0).uniform(size=(700, 3))
    tracemalloc.start()
    gram = kernel(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.3 * gram.nbytes


def test_a_weighted_sum_takes_one_matrix_more_than_its_kernels():
    X = np.random.default_rng(0).uniform(size=(700, 3))
    kernel = WeightedSum([On(Gaussian(), j % 3) for j in range(6)], np.arange(6.0))
    tracemalloc.start()
    gram = kernel(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.3 * gram.nbytes
