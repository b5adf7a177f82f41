"""Docstrings: examples run as shown, and every public name has one."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

import pliant

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(pliant.__path__, "pliant.")
    if not name.endswith("__main__")
]


PUBLIC = ("pliant", "pliant.kernels", "pliant.methods", "pliant.tables")
"""Modules that classes have as ``__module__``, instead of the one that defines them."""

TEXTS = {name: Path(find_spec(name).origin).read_text("utf-8") for name in MODULES}


def docstrings_with_examples():
    """Return the docstrings with examples by their full name."""
    finder = doctest.DocTestFinder()
    found = []
    for name in (name for name, text in TEXTS.items() if ">>>" in text):
        found += finder.find(importlib.import_module(name))
    for module in map(importlib.import_module, PUBLIC):
        for kind in (getattr(module, name) for name in module.__all__):
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                path = f"{kind.__module__}.{kind.__name__}"
                found += finder.find(kind, path, module=False, globs={})
    return {each.name: each for each in found if each.examples}


EXAMPLES = docstrings_with_examples()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(EXAMPLES[name])
    assert runner.summarize(verbose=False).failed == 0


def test_every_example_is_in_a_docstring_that_is_found():
    written = Counter(re.findall(r"^ *>>> (.*)$", "\n".join(TEXTS.values()), re.MULTILINE))
    examples = [example for each in EXAMPLES.values() for example in each.examples]
    assert written - Counter(example.source.split("\n")[0] for example in examples) == Counter()
    assert len(examples) > 100


def test_public_names_exist_and_are_documented():
    for name in ["pliant", *(m for m in MODULES if "._" not in m)]:
        module = importlib.import_module(name)
        listed = getattr(module, "__all__", [])
        assert len(set(listed)) == len(listed), name
        for public in listed:
            item = getattr(module, public)
            if callable(item) and getattr(item, "__module__", "").startswith("pliant"):
                assert item.__doc__, f"{name}.{public} has no docstring"


HEADER = re.compile(r"^([\w, ]+)(?: :.*)?$", re.MULTILINE)
"""A line of a docstring that names parameters: ``C, gamma : float``."""


@pytest.mark.parametrize("name", ["pliant", "pliant.kernels"])
def test_every_parameter_of_a_public_class_is_described(name):
    module = importlib.import_module(name)
    public = [getattr(module, each) for each in module.__all__]
    classes = [item for item in public if isinstance(item, type) and "__init__" in vars(item)]
    assert len(classes) > 10
    missing = {
        (item.__name__, parameter)
        for item in classes
        for parameter in inspect.signature(item).parameters
        if not parameter.startswith("_")
        and parameter not in re.split(r"[,\s]+", " ".join(HEADER.findall(inspect.getdoc(item))))
    }
    assert missing == set()


TYPED = re.compile(r"^([\w, ]+) : (.*)$", re.MULTILINE)
"""A line of a docstring with names and types of parameters: ``tol : float, default=1e-3``."""


@pytest.mark.parametrize("name", ["pliant", "pliant.kernels"])
def test_docstrings_tell_the_defaults(name):
    module = importlib.import_module(name)
    public = [getattr(module, each) for each in module.__all__]
    told, kept = [], []
    for item in (each for each in public if isinstance(each, type)):
        doc = inspect.getdoc(item) or ""
        types = {each: kind for names, kind in TYPED.findall(doc) for each in names.split(", ")}
        for parameter in inspect.signature(item).parameters.values():
            if parameter.name in types and "\nParameters\n" in doc and has_default(parameter):
                _, _, text = types[parameter.name].partition("default=")
                optional = types[parameter.name].endswith("optional")
                value = None if optional else ast.literal_eval(text or "'nothing'")
                told.append((item.__name__, parameter.name, value))
                kept.append((item.__name__, parameter.name, parameter.default))
    assert len(kept) > 10
    assert told == kept


def has_default(parameter):
    return parameter.default is not parameter.empty and not parameter.name.startswith("_")
