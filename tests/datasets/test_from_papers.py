"""The synthetic problems of the papers: values, distributions, seeds, errors."""

from math import exp, floor, pi, sin, tanh

import numpy as np
import pytest
from sklearn.svm import SVC

from pliant.datasets import (
    cherkassky_function,
    make_bimodal,
    make_cherkassky,
    make_clowns,
    make_sandwich,
    make_speed_problem,
    make_terrain,
    step_function,
)


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
    X, y = make_cherkassky(500, function=function, random_state=0)
    assert X.shape == (500, n_features)
    assert 0.98 * limit < np.abs(X).max() <= limit
    np.testing.assert_allclose(y[:20], [printed(function, x) for x in X[:20]])
    np.testing.assert_array_equal(cherkassky_function(X, function), y)
    same, noisy = make_cherkassky(500, function=function, noise=0.1, random_state=0)
    np.testing.assert_array_equal(same, X)
    assert np.var(noisy - y) / np.var(y) == pytest.approx(0.1, rel=0.2)


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


def test_the_sandwich_has_class_minus_one_inside():
    X, y = make_sandwich(4000, random_state=0)
    assert np.abs(X[y < 0, 1]).mean() < 0.5 < 1.1 < np.abs(X[y > 0, 1]).mean()
    assert X[y > 0].mean(axis=0) == pytest.approx([0, 0], abs=0.1)
    assert X[y > 0].std(axis=0) == pytest.approx(np.hypot([0.7, 0.5], [8**0.5 / 3**0.5, 1.2]), 0.03)


def test_the_best_rule_for_the_sandwich_is_as_good_as_stated():
    X, y = make_sandwich(40_000, random_state=1)

    def normal(t, mean, deviation):
        return np.exp(-0.5 * ((t - mean) / deviation) ** 2) / deviation / np.sqrt(2 * np.pi)

    along = sum(normal(X[:, 0], centre, 0.7) for centre in (-2, 0, 2)) / 3
    across = sum(normal(X[:, 1], centre, 0.5) for centre in (-1.2, 1.2)) / 2
    bread = along * across
    filling = (np.abs(X[:, 0]) <= 3) / 6 * normal(X[:, 1], 0, 0.5)
    assert np.mean((bread > filling) == (y > 0)) == pytest.approx(0.847, abs=0.004)


def test_halves_of_a_class_are_at_opposite_corners():
    X, y = make_bimodal(2000, random_state=0)
    side = np.arange(len(y)) % 2
    groups = [X[(y == c) & (side == s)] for c, s in np.ndindex(2, 2)]
    means = [group.mean(axis=0) for group in groups]
    np.testing.assert_allclose(means, [[1, 1], [-1, -1], [1, -1], [-1, 1]], atol=0.06)
    np.testing.assert_allclose([group.std(axis=0) for group in groups], 0.4, rtol=0.06)
    few, labels = make_bimodal(100, random_state=0)
    assert SVC(kernel="linear").fit(few, labels).score(few, labels) < 0.8


@pytest.mark.parametrize(
    "make",
    [make_cherkassky, make_bimodal, make_sandwich, make_speed_problem, make_clowns, make_terrain],
)
def test_seeds_make_problems(make):
    first, again, other = (make(30, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_cherkassky(0), "expected n_samples >= 1, an integer, got 0"),
        (lambda: make_cherkassky(function="f4"), r"expected function in \['f1', .* got 'f4'"),
        (lambda: make_cherkassky(noise=-1), "expected noise >= 0, a finite number, got -1"),
        (lambda: cherkassky_function(np.ones((3, 2)), "f2"), "6"),
        (lambda: step_function(1.0, period=0), "expected period > 0, a finite number, got 0"),
        (lambda: make_bimodal(deviation=-0.1), "expected deviation >= 0, a finite number"),
        (lambda: make_speed_problem(1), "n >= 2, an integer, got 1"),
        (lambda: make_terrain(noise=np.nan), "noise >= 0, a finite number, got"),
    ],
)
def test_parameters_out_of_range(call, message):
    with pytest.raises(ValueError, match=message):
        call()
