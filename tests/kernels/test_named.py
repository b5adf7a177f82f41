"""Conversion of a user's kernel argument by `as_kernel`."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pliant.kernels import (
    FunctionKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from pliant.kernels.standard import as_kernel

X = np.random.default_rng(0).uniform(size=(9, 4))
NAMED = {
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
    "matern12": Matern(nu=0.5),
    "matern32": Matern(nu=1.5),
    "matern52": Matern(nu=2.5),
    "poly": Polynomial(),
    "polynomial": Polynomial(),
    "rbf": Gaussian(),
    "sigmoid": Sigmoid(),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_name_and_a_gamma_make_a_kernel(name):
    """The options of gamma are scikit-learn's."""
    for gamma, value in ((0.3, 0.3), ("scale", 1 / (4 * X.var())), ("auto", 1 / 4)):
        kernel = as_kernel(name, X, gamma)
        assert type(kernel) is type(NAMED[name])
        expected = {**NAMED[name].get_params(), "gamma": pytest.approx(value, rel=1e-15)}
        assert kernel.get_params() == expected


def test_the_rho_of_tl1_is_a_share_of_the_ranges():
    points = np.array([[0.0, 10.0, 5.0], [2.0, 30.0, 5.0], [1.0, 20.0, 5.0]])
    assert as_kernel("tl1", points).rho == pytest.approx(0.7 * 22.0)
    assert as_kernel("tl1", np.ones((3, 4))).rho == pytest.approx(0.7 * 4)


@pytest.mark.parametrize(
    ("name", "hint"), [("gausian", "did you mean 'gaussian'"), ("cosine", "got 'cosine'$")]
)
def test_an_unknown_name_is_refused_with_the_names_there_are(name, hint):
    with pytest.raises(ValueError, match=f"expected kernel in .*'gaussian'.*{hint}"):
        as_kernel(name, X)


@pytest.mark.parametrize("size", [1e-12, 1e99])
def test_the_scale_of_features_far_from_one(size):
    points = np.clip(X / np.abs(X).max(), -1.0, 1.0) * size
    gamma = as_kernel("gaussian", points).gamma
    assert gamma * size * size == pytest.approx(1.0 / (4 * (points / size).var()), rel=1e-12)
    for constant in (size, -size):
        assert as_kernel("gaussian", np.full((5, 4), constant)).gamma == 0.25


def test_precomputed_takes_the_points_as_the_gram():
    gram = Gaussian()(X)
    kernel = as_kernel("precomputed", gram)
    assert type(kernel) is Precomputed
    np.testing.assert_array_equal(kernel([[2.0]], [[5.0]]), gram[[2], [5]][None])
    with pytest.raises(ValueError, match="got 'auto': kernel='precomputed' has no gamma"):
        as_kernel("precomputed", gram, gamma="auto")


@pytest.mark.parametrize("kernel", [Gaussian(2.0), rbf_kernel])
@pytest.mark.parametrize("gamma", [1.0, "auto", None])
def test_a_gamma_beside_a_kernel_that_brings_its_own_is_refused(kernel, gamma):
    said = f"expected gamma='scale' .* got {gamma!r}: gamma applies only to kernels given by name"
    with pytest.raises(ValueError, match=said):
        as_kernel(kernel, X, gamma)


def test_a_function_of_two_matrices_becomes_a_kernel():
    kernel = as_kernel(rbf_kernel, X)
    assert isinstance(kernel, FunctionKernel)
    assert isinstance(kernel, Kernel)
    np.testing.assert_allclose(kernel(X, X[:3]), rbf_kernel(X, X[:3]), rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), 1.0, rtol=1e-14)


def test_a_class_of_kernels_is_not_a_kernel():
    with pytest.raises(TypeError, match=r"got the class Gaussian: write Gaussian\(\)"):
        as_kernel(Gaussian, X)


def of_one_point(x, y):
    return float(x @ y)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda a, b: a @ a.T, r"return shape \(9, 2\), got \(9, 9\)"),
        (
            lambda a, b: np.full((9, 2), np.nan),
            "at most 1e75 in absolute value, got nan from FunctionKernel",
        ),
        (lambda a, b: "kernel", "expected kernel=<lambda> to return an array .* got ValueError"),
        (of_one_point, r"expected kernel=of_one_point to return .* got ValueError: matmul"),
    ],
)
def test_a_function_that_is_no_kernel_is_told_what_it_should_return(function, said):
    with pytest.raises(ValueError, match=said):
        as_kernel(function, X)(X, X[:2])
