"""Weighted sums of kernels: values, properties and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.kernels import TL1, Gaussian, Kernel, Laplacian, Polynomial, WeightedSum
from tests.reference import naive_kernels as naive

X = np.random.default_rng(0).uniform(-1, 1, size=(6, 3))
Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 3))
KERNELS = [Gaussian(0.5), Laplacian(0.2), Polynomial(2)]
TWINS = [naive.gaussian(0.5), naive.laplacian(0.2), naive.polynomial(2, 1.0, 1.0)]


class NotEvaluated(Kernel):
    def _gram(self, X, Y):
        raise AssertionError("a kernel of weight zero was evaluated")

    _diagonal = None


@given(weights=st.lists(st.floats(-5, 5), min_size=3, max_size=3))
@settings(max_examples=40, deadline=None)
def test_values_are_those_of_the_formula(weights):
    kernel, twin = WeightedSum(KERNELS, weights), naive.weighted_sum(TWINS, weights)
    np.testing.assert_allclose(
        kernel(X, Y), naive.gram_by_loops(twin, X, Y), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(kernel.diag(X), [twin(x, x) for x in X], rtol=1e-12, atol=1e-12)


def test_kernels_of_weight_zero_are_not_evaluated():
    kernel = WeightedSum([NotEvaluated(), Gaussian(), NotEvaluated()], [0, 2, -0.0])
    np.testing.assert_allclose(kernel(X, Y), 2.0 * Gaussian()(X, Y), rtol=1e-14)
    np.testing.assert_array_equal(kernel.diag(X), np.full(6, 2.0))
    nothing = WeightedSum([NotEvaluated()], [0.0])
    np.testing.assert_array_equal(nothing(X, Y), np.zeros((6, 5)))
    np.testing.assert_array_equal(nothing.diag(X), np.zeros(6))


def test_it_is_psd_if_all_kernels_are_and_no_weight_is_negative():
    class OneSided(Gaussian):
        symmetric = False

    assert WeightedSum(KERNELS, [1.0, 0.0, 2.0]).psd
    assert WeightedSum(KERNELS, 1.0).symmetric
    assert not WeightedSum(KERNELS, [1.0, -1e-9, 2.0]).psd
    assert not WeightedSum([Gaussian(), TL1()], 1.0).psd
    assert WeightedSum([Gaussian(), TL1()], 1.0).symmetric
    assert not WeightedSum([Gaussian(), OneSided()], 1.0).symmetric


@pytest.mark.parametrize(
    ("kernels", "weights", "expected"),
    [
        (
            [],
            [],
            r"expected WeightedSum\(kernels=\.\.\.\) to be a list of at least one kernel, got \[\]",
        ),
        ([Gaussian(), "linear"], [1.0, 1.0], r"to contain kernels, got 'linear' as kernels\[1\]"),
        (KERNELS, [1.0, 2.0], r"WeightedSum\(weights=\.\.\.\) of shape \(3,\), got \(2,\)"),
        (KERNELS, [1.0, np.nan, 1.0], "finite numbers in .*, got nan at index 1"),
    ],
    ids=lambda item: repr(item)[:20],
)
def test_what_cannot_be_a_weighted_sum_is_refused(kernels, weights, expected):
    kernel = WeightedSum(kernels, weights)
    for call in (lambda: kernel(X, Y), lambda: kernel.diag(X), lambda: kernel.psd):
        with pytest.raises(ValueError, match=expected):
            call()
