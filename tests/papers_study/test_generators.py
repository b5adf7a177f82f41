"""The test functions of the papers: values and errors."""

from math import exp, floor, pi, sin, tanh

import numpy as np
import pytest

from papers.generators import cherkassky_function, step_function


def printed(function, x):
    """Return one value by the formula in the papers."""
    if function == "f1":
        return (1 + sin(2 * x[0] + 3 * x[1])) / (3.5 + sin(x[0] - x[1]))
    if function == "f2":
        return 10 * sin(pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 5 * x[3] + 10 * x[4] + 0 * x[5]
    if function == "f3":
        return exp(2 * pi * x[0] * sin(x[3]) + sin(x[1] * x[2]))
    u, v = x
    g1 = (u - 0.5) ** 4 - 10 * (u - 0.5) ** 2 * (v - 0.5) ** 2 + 5 * (v - 0.5) ** 4
    return 42.659 * (0.1 + (u - 0.5) * (g1 + 0.05))


@pytest.mark.parametrize(
    ("function", "limit", "n_features"),
    [("f1", 2.0, 2), ("f2", 1.0, 6), ("f3", 0.25, 4), ("surface", 0.5, 2)],
)
def test_functions_of_cherkassky_are_those_printed(function, limit, n_features):
    X = np.random.default_rng(0).uniform(-limit, limit, (20, n_features))
    expected = [printed(function, x) for x in X]
    np.testing.assert_allclose(cherkassky_function(X, function), expected)


def test_the_step_function_is_that_printed():
    x = np.linspace(-5, 5, 41)
    expected = [
        (tanh(7 * t / 2.5 - 7 * floor(t / 2.5) - 7 / 2) / (2 * tanh(7 / 2)) + 0.5 + floor(t / 2.5))
        * 4
        for t in x
    ]
    np.testing.assert_allclose(step_function(x, height=4, period=2.5, sharpness=7), expected)
    assert np.abs(step_function(x) - 1.5 * x).max() < 2e-4  # the paper's sharpness: almost a line
    assert step_function(3.5, sharpness=200.0) == pytest.approx(6)
    assert step_function([[0.5, -0.5]], sharpness=200).shape == (1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cherkassky_function([[0.0, 0.0]], "f4"),
            r"expected function in \['f1', .* got 'f4'",
        ),
        (lambda: cherkassky_function(np.ones((3, 2)), "f2"), "6"),
        (lambda: step_function(1.0, period=0), "expected period > 0, a finite number, got 0"),
    ],
)
def test_parameters_out_of_range(call, message):
    with pytest.raises(ValueError, match=message):
        call()
