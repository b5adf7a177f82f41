"""Every record declares the form of its arrays, and checks it."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from pliant import records
from pliant.records import to_record
from pliant.records.form import Part, check_form

KINDS = [kind for name in records.__all__ if isinstance(kind := getattr(records, name), type)]
ARRAYS = [kind for kind in KINDS if dataclasses.is_dataclass(kind)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_record_checks_itself_when_it_is_loaded(kind):
    assert "_check_loaded" in vars(kind)
    assert kind.__module__ == "pliant.records"


@pytest.mark.parametrize("kind", ARRAYS, ids=lambda kind: kind.__name__)
def test_every_array_of_a_record_has_a_declared_form(kind):
    """Except the centres of an expansion, which are points or numbers of columns."""
    declared = set(getattr(kind, "_form", {}))
    arrays = {
        field.name
        for field in dataclasses.fields(kind)
        if any(word in str(field.type) for word in ("Array", "Numbers"))
    }
    assert arrays - declared <= {"points"}
    assert declared <= {field.name for field in dataclasses.fields(kind)}


FORM = {
    "a": Part("f8", ("rows", 2)),
    "b": Part("i4", ("rows",), low=0, high=5),
    "c": Part("f8", ("others",), infinite=True, optional=True),
    "d": Part("b1", ("rows",)),
}


def record(**changed):
    given = {"a": np.zeros((3, 2)), "b": np.arange(3, dtype="i4"), "c": None, "d": np.ones(3, bool)}
    return SimpleNamespace(**{**given, **changed})


def test_sizes_are_found_by_name():
    assert check_form(record(), FORM) == {"rows": 3}
    assert check_form(record(c=np.full(4, np.inf)), FORM) == {"rows": 3, "others": 4}
    empty = record(a=np.zeros((0, 2)), b=np.zeros(0, "i4"), d=np.zeros(0, bool))
    assert check_form(empty, FORM) == {"rows": 0}


@pytest.mark.parametrize(
    "changed",
    [
        {"a": np.zeros((3, 3))}, {"a": np.zeros(3)}, {"a": np.zeros((3, 2), "f4")}, {"a": None},
        {"a": np.zeros((2, 3)).T}, {"a": np.full((3, 2), np.nan)}, {"a": np.full((3, 2), 1e101)},
        {"a": [[0.0, 0.0]] * 3}, {"b": np.arange(4, dtype="i4")}, {"b": np.arange(3)},
        {"b": np.arange(3, dtype="i4") - 1}, {"b": np.full(3, 6, "i4")}, {"d": np.ones(3, "u1")},
        {"c": np.array([1.0, np.nan])}, {"c": "none"}, {"d": np.ones(3, bool)[:, None]},
    ],
)  # fmt: skip
def test_other_forms_are_refused(changed):
    (name,) = changed
    with pytest.raises(ValueError, match=f"expected {name} "):
        check_form(record(**changed), FORM)


@pytest.mark.parametrize("n_rows", [3, 60_000])
def test_trees_refuse_rows_of_another_width(n_rows):
    """So a compiled walk stays within its arrays, whatever calls it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    forest = RandomForestRegressor(10, random_state=0).fit(X, X[:, 4])
    trees = to_record(forest).function
    with pytest.raises(ValueError, match="expected rows of 5 features, got 4"):
        trees(np.zeros((n_rows, 4)))
    assert trees(np.zeros((n_rows, 5))).shape == (n_rows, 1)
