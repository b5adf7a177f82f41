"""A package that is imported when something of it is used."""

import importlib
import inspect
import sys

import pytest

from pliant.tables.cli.postponed import postpone

SOURCES = {
    "__init__": "from .parts import Part, rank\nfrom . import parts\n__all__ = ['Part', 'rank']\n",
    "parts": "class Part:\n    size = 3\ndef rank(x):\n    return x + 1\n",
    "other": "from . import rank\nfrom .parts import Part\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the name of a postponed package, which is not left imported."""
    (tmp_path / "largepackage").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / "largepackage" / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    postpone("largepackage", ["rank", "Part"])
    yield "largepackage"
    for name in [name for name in sys.modules if name.startswith("largepackage")]:
        del sys.modules[name]


def is_loaded():
    return "largepackage.parts" in sys.modules


def test_what_is_imported_at_once_waits_for_its_use(package):
    names = {}
    exec("import largepackage\nfrom largepackage import Part, rank", names)
    assert inspect.getmodule(len)  # asks all modules for their files
    assert not hasattr(names["largepackage"], "__file__")
    assert not is_loaded()
    assert names["rank"](2) == 3
    assert names["Part"].size == 3
    module = importlib.import_module("largepackage")
    assert module is sys.modules["largepackage"]
    assert module.rank is names["largepackage"].rank is module.parts.rank
    assert names["largepackage"].__file__ == module.__file__


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("from largepackage import *", "Part"),
        ("from largepackage import parts", "parts"),
        ("from largepackage.parts import Part", "Part"),
        ("import largepackage.parts as parts", "parts"),
        ("from largepackage.other import Part", "Part"),
        ("import largepackage.other; from largepackage import Part", "Part"),
    ],
)
def test_other_imports_import_the_package_once(statement, name, package):
    names = {}
    exec(f"import largepackage\n{statement}", names)
    assert is_loaded()
    parts = sys.modules["largepackage.parts"]
    assert names[name] is (parts if name == "parts" else parts.Part)
    assert importlib.import_module("largepackage").parts is parts
    assert parts.__spec__.origin == parts.__file__


def test_what_a_package_lacks_is_an_error_as_before(package):
    with pytest.raises(ModuleNotFoundError, match=r"largepackage\.nothing"):
        importlib.import_module("largepackage.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        importlib.import_module("largepackage").nothing  # noqa: B018


def test_an_imported_package_stays_as_it_is(package):
    importlib.import_module("largepackage").parts  # noqa: B018
    finders = [*sys.meta_path]
    postpone("largepackage", ["rank"])
    assert sys.meta_path == finders
