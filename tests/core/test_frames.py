"""Data frames and nullable columns as input of estimators."""

import re

import numpy as np
import pandas as pd
import pytest

from pliant import (
    KNPLClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LearnedKernelClassifier,
    SketchedKernelRidgeClassifier,
    TableFeatures,
)

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
DAYS = pd.date_range("2020-01-01", periods=12, unit="ns")
CLASSIFIERS = [
    KNPLClassifier(),
    LABRBFClassifier(3, n_members=1, max_iter=1),
    LearnedKernelClassifier(),
    SketchedKernelRidgeClassifier(n_centers=4),
]
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
MISSING = pd.Series([DAYS[0], pd.NaT] * 6)


@pytest.mark.parametrize("others", [[], ["size"]])
@pytest.mark.parametrize("days", [MISSING, MISSING.dt.tz_localize("UTC")])
def test_dates_are_refused_with_advice(days, others):
    """Without other columns, NumPy converts them to numbers."""
    frame = pd.DataFrame({"day": days, "size": 1.0})[["day", *others]]
    message = f"got {days.dtype} in column 'day': pliant.TableFeatures encodes text, dates"
    with pytest.raises(ValueError, match=re.escape(message)):
        KNPLClassifier().fit(frame, Y)


@pytest.mark.parametrize("others", [[], ["size"]])
def test_durations_are_refused_with_advice(others):
    frame = pd.DataFrame({"wait": MISSING - DAYS[0], "size": 1.0})[["wait", *others]]
    with pytest.raises(ValueError, match=r"in column 'wait': convert durations to numbers"):
        KNPLClassifier().fit(frame, Y)
    with pytest.raises(ValueError, match=r"got timedelta64.ns.: convert durations to numbers"):
        KNPLClassifier().fit((DAYS - DAYS[0]).to_numpy()[:, None], Y)


def test_an_array_of_dates_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"got datetime64.ns.: pliant.TableFeatures encodes"):
        KNPLClassifier().fit(DAYS.to_numpy()[:, None], Y)


def test_dates_of_polars_are_refused_with_advice():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"day": DAYS.to_numpy()})
    for column in (polars.col("day"), polars.col("day").cast(polars.Date)):
        with pytest.raises(ValueError, match=r"Date.* in column 'day': pliant.TableFeatures"):
            KNPLClassifier().fit(frame.select(column), Y)


@pytest.mark.parametrize("model", [KNPLClassifier(), TableFeatures()])
def test_a_lazy_frame_is_refused(model):
    class LazyFrame:
        """A stand-in for polars.LazyFrame."""

    with pytest.raises(TypeError, match=r"X in memory, got a LazyFrame: call collect\(\) first"):
        model.fit(LazyFrame(), Y)


def test_equal_column_names_are_refused():
    frame = pd.DataFrame(X, columns=["size", "size"])
    with pytest.raises(ValueError, match="column names, got more than one column 'size'"):
        KNPLClassifier().fit(frame, Y)


@each_classifier
@pytest.mark.parametrize("kind", ["Int64", "UInt8", "boolean"])
def test_nullable_labels_keep_their_type(model, kind):
    plain = pd.array(Y, dtype=kind).to_numpy(dtype=kind.lower().replace("boolean", "bool"))
    for y in (pd.Series(Y).astype(kind), pd.array(Y, dtype=kind)):
        model.fit(X, y)
        assert model.classes_.dtype == plain.dtype
        assert model.classes_.tolist() == np.unique(plain).tolist()
        assert model.score(X, y) == model.score(X, plain)


def given_with_missing():
    return [
        pd.Series([0, 1, pd.NA] * 4, dtype="Int64"),
        pd.Series([0, 1, pd.NA] * 4, dtype=object),
        pd.Series(["a", "b", pd.NA] * 4, dtype="string"),
        ["a", "b", pd.NA] * 4,
    ]


@each_classifier
def test_missing_labels_of_pandas_are_refused_with_their_row(model):
    for y in given_with_missing():
        with pytest.raises(
            ValueError, match="expected y without missing values, got <NA> at row 2"
        ):
            model.fit(X, y)


def test_nullable_targets_of_a_regressor():
    y = pd.Series(np.arange(12), dtype="Int64")
    model = KNPLRegressor().fit(X, y)
    expected = KNPLRegressor().fit(X, np.arange(12)).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    y[3] = pd.NA
    with pytest.raises(ValueError, match="got <NA> at row 3"):
        KNPLRegressor().fit(X, y)
