"""Kernels on selected columns: selection by position, mask or name, and errors."""

import numpy as np
import pandas as pd
import pytest

from pliant.kernels import TL1, Gaussian, Linear, Normalized, On, Rescaled, WeightedSum
from pliant.kernels.base import resolve_columns, short_name
from pliant.methods import HadamardKernel
from tests.reference import naive_kernels as naive

X = np.random.default_rng(0).uniform(-1, 1, size=(6, 4))
Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 4))
NAMES = ["age", "height", "weight", "income"]


@pytest.mark.parametrize(
    ("columns", "positions"),
    [
        ([2, 0], [2, 0]),
        ((1,), [1]),
        (3, [3]),
        (np.int64(1), [1]),
        (np.array([0, 3], dtype=np.uint8), [0, 3]),
        ([-1, 1], [3, 1]),
        (slice(1, 3), [1, 2]),
        (slice(None, None, -2), [3, 1]),
        (slice(2, 99), [2, 3]),
        ([True, False, False, True], [0, 3]),
        (pd.Series([False, True, True, False]), [1, 2]),
    ],
    ids=str,
)
def test_columns_may_be_positions_a_slice_or_a_mask(columns, positions):
    kernel = On(Gaussian(0.7), columns)
    twin = naive.on(naive.gaussian(0.7), positions)
    np.testing.assert_allclose(kernel(X, Y), naive.gram_by_loops(twin, X, Y), rtol=1e-13)
    for names in (None, NAMES):
        known = kernel.resolved(names, 4)
        np.testing.assert_array_equal(known.columns, positions)
        np.testing.assert_array_equal(known(X, Y), kernel(X, Y))


@pytest.mark.parametrize(
    "columns", [["income", "age"], np.array(["income", "age"], dtype=object), ("income", "age")]
)
def test_columns_may_be_names_where_these_are_known(columns):
    kernel = On(Linear(), columns)
    for names in (NAMES, np.array(NAMES, dtype=object), pd.Index(NAMES)):
        known = kernel.resolved(names, 4)
        assert known.columns.tolist() == [3, 0]
        np.testing.assert_allclose(known(X, Y), X[:, [3, 0]] @ Y[:, [3, 0]].T, atol=1e-14)
    assert kernel.columns is columns  # the kernel is not modified


def test_one_column_within_others_is_found_by_its_name():
    kernel = On(On(Gaussian(), ["income"]) + On(Linear(), 0), ["height", "income"])
    known = kernel.resolved(NAMES, 4)
    assert known.columns.tolist() == [1, 3]
    assert known.kernel.left.columns.tolist() == [1]
    np.testing.assert_allclose(
        known(X, Y), Gaussian()(X[:, 3:], Y[:, 3:]) + X[:, 1:2] @ Y[:, 1:2].T
    )
    with pytest.raises(ValueError, match=r"got 'age'; available: height, income"):
        On(On(Gaussian(), "age"), ["height", "income"]).resolved(NAMES, 4)


@pytest.mark.parametrize(
    "made",
    [
        lambda k: k + Linear(),
        lambda k: Linear() * k,
        lambda k: Rescaled(k, 0.5, [1.0, 2.0, 3.0, 4.0]),
        lambda k: WeightedSum([Linear(), k], [0.2, 0.8]),
        lambda k: HadamardKernel(k, X, X[:, 0], eta=2.0),
        lambda k: Normalized(2.0 * WeightedSum([Linear() + k, TL1()], 1.0)),
    ],
)
def test_names_are_found_within_kernels_made_of_kernels(made):
    by_name, by_position = (made(On(Gaussian(), columns)) for columns in (["weight"], [2]))
    known = resolve_columns(by_name, NAMES, 4)
    assert type(known) is type(by_name)
    np.testing.assert_array_equal(known(X, Y), by_position(X, Y))
    with pytest.raises(ValueError, match=r"names of the 4 features are unknown, got 'weight'"):
        by_name(X, Y)
    with pytest.raises(ValueError, match=r"got 'ages'; did you mean 'age'\?"):
        resolve_columns(made(On(Gaussian(), ["ages"])), NAMES, 4)
    with pytest.raises(ValueError, match=r"among 4 features, got .*index 4 is out of bounds"):
        resolve_columns(made(On(Gaussian(), [4])), NAMES, 4)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([0, 4], r"expected On\(columns=\.\.\.\) among 4 features, got .0, 4.: index 4 is out"),
        ([0, 2, 0], "without duplicates, got column 0 twice"),
        ([], r"to be positions, a slice of int, a mask or names, got \[\]"),
        (slice(4, None), "to select at least one of 4 features"),
        ([True, False], "among 4 features, got .*: boolean index did not match"),
        (None, "to be positions, a slice of int, a mask or names, got None"),
    ],
    ids=str,
)
def test_columns_that_are_none_are_refused(columns, expected):
    kernel = On(Gaussian(), columns)
    for call in (
        lambda: kernel(X, Y),
        lambda: kernel.resolved(NAMES, 4),
        lambda: resolve_columns(2.0 * kernel, None, 4),
    ):
        with pytest.raises(ValueError, match=expected):
            call()


@pytest.mark.parametrize(
    ("columns", "names", "expected"),
    [
        ("hight", NAMES, r"among the features, got 'hight'; did you mean 'height' or 'weight'\?"),
        (["age", "zzz"], NAMES, "got 'zzz'; available: age, height, weight, income"),
        (
            "a",
            ["a", "b", "a"],
            r"unique names in On\(columns=...\), got 'a', the name of 2 features",
        ),
        ("age", None, r"the names of the 4 features are unknown, got 'age'"),
    ],
    ids=str,
)
def test_names_that_are_none_are_refused(columns, names, expected):
    with pytest.raises(ValueError, match=expected):
        On(Linear(), columns).resolved(names, 4 if names is None else len(names))


def test_a_short_name_has_at_most_sixty_characters():
    name = "K" * 55
    for letters, shown in ((name[:-10], f"{name[:-10]}(gamma=1)"), (name, f"{name}(g...")):
        assert short_name(type(letters, (Gaussian,), {})(1.0)) == shown
