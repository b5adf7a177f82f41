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
