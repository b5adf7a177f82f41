"""Kernels of pliant go to a file and come back as the same functions; callables do not."""

import numpy as np
import pytest

from pliant import ModelFileError
from pliant.kernels import (
    TL1,
    Centered,
    FunctionKernel,
    Gaussian,
    HadamardKernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
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
        Centered(Gaussian(np.float64(1.5)), X),
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
    assert set(vars(loaded)) == set(loaded.get_params(deep=False))
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
