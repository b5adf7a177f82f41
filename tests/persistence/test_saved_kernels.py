"""Kernels of pliant go to a file and come back as the same functions; callables do not."""

import numpy as np
import pytest
from sklearn.base import clone

from pliant import DANKClassifier, ModelFileError, SCGLogDetLearner
from pliant.kernels import (
    TL1,
    Exponential,
    FunctionKernel,
    Gaussian,
    HadamardKernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Polynomial,
    Precomputed,
    WeightedSum,
)
from pliant.persistence import load_model, save_model

X, Y = np.random.default_rng(0).uniform(size=(2, 7, 3))


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.5),
        Polynomial(),
        2.0 * Laplacian(0.3) + Matern(1.5, 0.7) * Linear(),
        Normalized(TL1(2.0)),
        Normalized(Gaussian(np.float64(1.5)) + Linear()),
        Exponential(Gaussian(0.5) + Linear(), np.float64(2.0)),
        Gaussian([0.5, 0.0, 2.0]),
        Laplacian((0.5, 0.1, 2.0)),
        Matern(1.5, np.array([0.5, 0.0, 2.0])),
        On(Gaussian(0.5), [2, 0]),
        On(Gaussian(0.5), np.array([2, 0])),
        On(Gaussian(0.5), slice(None, -1, 2)),
        On(Gaussian(0.5), np.array([True, False, True])),
        On(Linear(), -1) + On(Laplacian([1.0, 2.0]), (True, True, False)),
        WeightedSum([Gaussian(0.5), On(Linear(), 1), TL1()], [0.5, 0.25, 0.0]),
        WeightedSum((Gaussian(0.5), Normalized(Polynomial())), np.array([0.5, 0.25])),
        HadamardKernel(Gaussian(2.0), X, np.linspace(-1.0, 1.0, len(X)), eta=0.5),
        HadamardKernel(Gaussian(2.0), X, np.linspace(-1.0, 1.0, len(X)), extension="nearest"),
        HadamardKernel(Gaussian(2.0), X, np.linspace(-1.0, 1.0, len(X)), eta=0.5, tau=0.2),
        HadamardKernel(Gaussian(2.0), X, np.linspace(-1.0, 1.0, len(X)), eta=0.5, centred=True),
        HadamardKernel(
            Gaussian(2.0), X, np.linspace(-1.0, 1.0, len(X)), 0.5, "reciprocal", centred=True
        ),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_loaded_kernel_is_the_same_function(tmp_path, kernel):
    save_model(kernel, tmp_path / "kernel.pliant")
    loaded = load_model(tmp_path / "kernel.pliant").model
    assert type(loaded) is type(kernel)
    np.testing.assert_array_equal(loaded(X, Y), kernel(X, Y))


def test_an_adaptive_matrix_survives(tmp_path):
    matrix = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5).adaptation()
    save_model(matrix, tmp_path / "matrix.pliant")
    loaded = load_model(tmp_path / "matrix.pliant").model
    np.testing.assert_array_equal(loaded.toarray(), matrix.toarray())


def test_a_kernel_that_stands_twice_is_saved_once(tmp_path):
    inner = Gaussian(2.0)
    save_model(inner + inner, tmp_path / "kernel.pliant")
    loaded = load_model(tmp_path / "kernel.pliant").model
    assert loaded.left is loaded.right


def test_a_function_as_a_kernel_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"'model\.left\.function' is the function"):
        save_model(FunctionKernel(lambda a, b: a @ b.T) + Gaussian(), tmp_path / "kernel.pliant")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", [{"tau": 0.2}, {"centred": True}], ids=str)
def test_what_a_kernel_made_of_itself_is_made_again(tmp_path, form):
    kernel = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5, **form)
    expected = kernel(X, Y)
    matrix = kernel.adaptation()
    rank, radius = matrix.rank, matrix.radius
    save_model(kernel, tmp_path / "kernel.pliant")
    save_model(matrix, tmp_path / "matrix.pliant")
    loaded = load_model(tmp_path / "kernel.pliant").model
    kept = {"support_sums", "eigenpairs"} & vars(kernel).keys()
    assert set(vars(loaded)) - kept == set(loaded.get_params(deep=False))
    assert loaded(X, Y).tobytes() == expected.tobytes()
    loaded = load_model(tmp_path / "matrix.pliant").model
    assert (loaded.rank, loaded.radius) == (rank, radius)
    np.testing.assert_array_equal(loaded.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("tau", -0.1, r"expected tau >= 0, a finite number, got -0\.1"),
        ("tau", np.nan, "expected tau >= 0, a finite number, got nan"),
        ("tau", np.inf, "expected tau >= 0, a finite number, got inf"),
        ("tau", "0.1", "expected tau >= 0, a finite number, got '0.1'"),
        ("tau", None, "expected tau >= 0, a finite number, got None"),
        ("tau", True, "expected tau >= 0, a finite number, got True"),
        ("tau", 14.0, r"expected tau < 2n = 14.* got 14\.0"),
        ("centred", "yes", "expected centred True or False, got 'yes'"),
        ("centred", 1, "expected centred True or False, got 1"),
        ("centred", None, "expected centred True or False, got None"),
        ("eta", 0.0, r"expected eta >= 1e-300, a number, got 0\.0"),
        ("eta", np.nan, "expected eta >= 1e-300, a number, got nan"),
        ("eta", "auto", "expected eta >= 1e-300, a number, got 'auto'"),
    ],
)
def test_a_forged_kernel_is_refused(tmp_path, name, value, said):
    kernel = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5)
    setattr(kernel, name, value)
    with pytest.raises(ModelFileError, match=said):
        save_model(kernel, tmp_path / "kernel.pliant")
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_has_one_rule_only(tmp_path):
    kernel = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5, tau=0.1, centred=True)
    with pytest.raises(ModelFileError, match=r"expected tau = 0 for a centred kernel, got 0\.1"):
        save_model(kernel, tmp_path / "kernel.pliant")


@pytest.mark.parametrize("name", ["tau", "centred", "eta", "beta", "points", "base", "extension"])
def test_a_kernel_without_an_attribute_is_refused(tmp_path, name):
    kernel = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5, tau=0.1)
    delattr(kernel, name)
    with pytest.raises(ModelFileError, match=name):
        save_model(kernel, tmp_path / "kernel.pliant")


def test_an_adaptive_matrix_of_no_kernel_is_refused(tmp_path):
    matrix = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5).adaptation()
    matrix.kernel = 3.0
    with pytest.raises(ModelFileError, match=r"expected a HadamardKernel, got float|kernel"):
        save_model(matrix, tmp_path / "matrix.pliant")


def test_what_a_file_says_of_a_spectrum_is_not_believed(tmp_path):
    """Results that the kernel keeps are dropped on loading, whatever a file holds."""
    kernel = HadamardKernel(Gaussian(2.0), X, X[:, 0], eta=0.5, tau=0.1)
    expected = kernel(X, Y)

    class Forged(HadamardKernel):
        def __getstate__(self):
            return {**super().__getstate__(), "form": 3.0, "support": np.array([10**9])}

    forged = Forged(**kernel.get_params(deep=False))
    Forged.__module__, Forged.__qualname__ = HadamardKernel.__module__, "HadamardKernel"
    Forged.__name__ = "HadamardKernel"
    save_model(forged, tmp_path / "kernel.pliant")
    loaded = load_model(tmp_path / "kernel.pliant").model
    assert type(loaded) is HadamardKernel
    np.testing.assert_array_equal(loaded(X, Y), expected)


def test_names_of_columns_survive(tmp_path):
    for columns in (["b", "a"], ("b", "a"), np.array(["b", "a"]), np.array(["b", "a"], object)):
        save_model(On(Linear(), columns), tmp_path / "kernel.pliant")
        loaded = load_model(tmp_path / "kernel.pliant").model
        assert loaded.resolved(["a", "b", "c"], 3).columns.tolist() == [1, 0]


def test_matrices_that_are_shared_are_saved_once(tmp_path):
    gram = np.eye(200)
    kernel = WeightedSum([Precomputed(gram), clone(Precomputed(gram))], [0.5, 0.5])
    save_model(kernel, tmp_path / "kernel.pliant")
    assert (tmp_path / "kernel.pliant").stat().st_size < 1.5 * gram.nbytes
    loaded = load_model(tmp_path / "kernel.pliant").model
    assert loaded.kernels[0].gram is loaded.kernels[1].gram


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("columns", [], "with at least one column, got none"),
        ("columns", [0.5], r"to be positions, a slice of int, a mask or names, got \[0\.5\]"),
        ("columns", [0, "a"], r"a mask or names, got \[0, 'a'\]"),
        (
            "columns",
            np.zeros((2, 2), dtype=int),
            "to be positions, a slice of int, a mask or names",
        ),
        ("columns", None, "a mask or names, got None"),
        ("columns", slice(None, None, 0), r"a mask or names, got slice\(None, None, 0\)"),
        ("columns", slice("a", "b"), "cannot save the model"),
        ("columns", Gaussian(), "to be positions, a slice of int, a mask or names"),
        ("kernel", 3.0, "expected kernel to be a kernel, got float"),
        ("kernel", [Gaussian()], "expected kernel to be a kernel, got list"),
    ],
    ids=str,
)
def test_a_forged_kernel_of_columns_is_refused(tmp_path, name, value, expected):
    kernel = On(Gaussian(), [0, 1])
    setattr(kernel, name, value)
    with pytest.raises(ModelFileError, match=expected):
        save_model(2.0 * kernel, tmp_path / "kernel.pliant")
    delattr(kernel, name)
    with pytest.raises(ModelFileError, match=name):
        save_model(kernel, tmp_path / "kernel.pliant")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("kernels", [], "to be a list of kernels, at least one"),
        ("kernels", Gaussian(), "to be a list of kernels, at least one"),
        ("kernels", {"a": Gaussian(), "b": TL1()}, "to be a list of kernels, at least one"),
        ("kernels", [Gaussian(), 2.0], r"to hold kernels, got 2\.0 at 1"),
        ("kernels", [Gaussian(), On(Linear(), [])], "with at least one column, got none"),
        ("kernels", [Gaussian()] * 3, r"of shape \(3,\), got \(2,\)"),
        ("weights", [1.0], r"of shape \(2,\), got \(1,\)"),
        ("weights", [1.0, np.nan], "got nan at 1"),
        ("weights", np.array([np.inf, 1.0]), "got inf at 0"),
        ("weights", ["1", "2"], "to hold numbers"),
        ("weights", np.ones((2, 1)), r"of shape \(2,\), got \(2, 1\)"),
    ],
    ids=str,
)
def test_a_forged_weighted_sum_is_refused(tmp_path, name, value, expected):
    kernel = WeightedSum([Gaussian(), TL1()], [1.0, 2.0])
    setattr(kernel, name, value)
    with pytest.raises(ModelFileError, match=expected):
        save_model(kernel, tmp_path / "kernel.pliant")
    delattr(kernel, name)
    with pytest.raises(ModelFileError, match=name):
        save_model(kernel, tmp_path / "kernel.pliant")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern])
@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (-1.0, "> 0, a finite number, got -1.0"),
        (None, "> 0, a finite number, got None"),
        ("1", "> 0, a finite number, got '1'"),
        ([], "> 0 for at least one feature, got only zeros"),
        ([1.0, -1.0], r">= 0 for each feature, got -1\.0 at 1"),
        ([0.0, 0.0], "> 0 for at least one feature, got only zeros"),
        ([1.0, np.nan], "got nan at 1"),
        (np.ones((2, 2)), r"got \(2, 2\)"),
        ({"a": 1.0}, "to hold numbers"),
        (["a"], "to hold numbers"),
    ],
    ids=str,
)
def test_a_forged_gamma_is_refused(tmp_path, kind, gamma, expected):
    with pytest.raises(ModelFileError, match=expected):
        save_model(kind(gamma=gamma), tmp_path / "kernel.pliant")
    assert list(tmp_path.iterdir()) == []


def test_a_forged_matrix_is_refused(tmp_path):
    for gram, expected in (
        (np.ones((2, 3)), "expected a square Gram matrix"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), "expected a symmetric Gram matrix"),
        (np.full((2, 2), np.nan), "expected finite numbers"),
    ):
        with pytest.raises(ModelFileError, match=expected):
            save_model(WeightedSum([Precomputed(gram)], [1.0]), tmp_path / "kernel.pliant")


@pytest.mark.parametrize(
    "made",
    [
        lambda kernel: DANKClassifier(kernel),
        lambda kernel: SCGLogDetLearner(kernel),
        lambda kernel: SCGLogDetLearner(kernel, n_components=2),
    ],
)
def test_columns_that_a_fitted_model_does_not_have_are_refused(tmp_path, made):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(40, 3))
    model = made(WeightedSum([On(Gaussian(), [0, 2]), Linear()], [0.5, 0.5]))
    model.fit(points, (points[:, 0] > 0).astype(int))
    save_model(model, tmp_path / "model.pliant")
    loaded = load_model(tmp_path / "model.pliant").model
    assert loaded.kernel_(points, points[:3]).tobytes() == (
        model.kernel_(points, points[:3]).tobytes()
    )
    model.kernel_.base.kernels[0].columns = np.array([0, 3])
    with pytest.raises(ModelFileError, match=r"from -3 to 2, as there are 3 features, got 3"):
        save_model(model, tmp_path / "forged.pliant")
