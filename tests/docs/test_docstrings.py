"""The examples in docstrings give what they say, and every public name has a docstring."""

import doctest
import importlib
import pkgutil

import pytest

import pliant

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(pliant.__path__, "pliant.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("name", ["pliant", *(m for m in MODULES if "._" not in m)])
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        item = getattr(module, public)
        if callable(item) and getattr(item, "__module__", "").startswith("pliant"):
            assert item.__doc__, f"{name}.{public} has no docstring"


def test_the_estimators_show_an_example():
    found = doctest.DocTestFinder(exclude_empty=True).find(
        importlib.import_module("pliant.estimators.dank")
    )
    shown = {test.name.rpartition(".")[2] for test in found if test.examples}
    assert {"DANKClassifier", "DANKRegressor"} <= shown
