"""Every class that a model file may contain declares the form of what it stores."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from pliant import TableFeatures
from pliant.core.form import form_of
from pliant.core.sparse import is_sparse
from pliant.persistence import trusted_types
from pliant.persistence._codec import _stored_state
from pliant.persistence._objects import iter_objects
from pliant.records import to_record
from pliant.tables import TableSchema
from tests.persistence.test_bare_process import models
from tests.persistence.test_forged_models import MODELS, made
from tests.persistence.test_round_trips import TABLE, Y


def class_named(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


KINDS = [class_named(name) for name in sorted(trusted_types())]

TABLES = ("_form", "_form_of_pairs")

KINDS.remove(TableSchema)  # its state is a text


def declared(kind):
    """Return the names in all tables of a class."""
    return {name for table in TABLES for name in form_of(kind, table)}


def parameters(kind):
    """Return the parameters of a class with ``fit``, which its ``_constraints`` declare."""
    return set(kind._get_param_names()) if hasattr(kind, "fit") else set()


def is_array(value):
    return isinstance(value, np.ndarray) or is_sparse(value)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_stored_array_has_a_declared_form():
    """Also, each declared name is stored by some model: a slip in it would check nothing."""
    seen, stored, missing = set(), set(), set()
    fitted = [model for model, _ in models()] + [made(name) for name in MODELS]
    fitted += [TableFeatures().fit(TABLE, Y), made("dank").adaptation_]
    for value in iter_objects(fitted):
        kind = type(value)
        if kind in KINDS:
            seen.add(kind)
            stored |= {name for name in declared(kind) if hasattr(value, name)}
            arrays = {name for name, each in _stored_state(value).items() if is_array(each)}
            missing |= {(kind, name) for name in arrays - declared(kind) - parameters(kind)}
    assert missing == set()
    assert set(KINDS) - seen == set()
    assert set().union(*map(declared, seen)) - stored == set()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_attribute_that_is_annotated_as_an_array_has_a_declared_form(kind):
    """Also those that no test stores."""
    annotated = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("pliant"):
            annotated |= inspect.get_annotations(each)
    words = ("Array", "Indices", "Numbers", "NDArray", "npt.ArrayLike")
    arrays = {
        name
        for name, hint in annotated.items()
        if str(hint).startswith(words) and not isinstance(getattr(kind, name, None), property)
    }
    assert arrays - declared(kind) - parameters(kind) == set()


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
