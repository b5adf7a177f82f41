"""The documentation lists every public name and renders the repository's Markdown files."""

import importlib
import importlib.metadata
import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

LISTED = [
    "pliant",
    *("pliant.datasets", "pliant.exceptions", "pliant.kernels", "pliant.metrics", "pliant.plots"),
    "pliant.tables",
]
"""The modules with public names."""


@pytest.mark.parametrize("name", LISTED)
def test_the_reference_lists_every_public_name(name):
    page = (DOCS / "api" / "index.rst").read_text("utf-8")
    sections = re.split(r"\.\. currentmodule:: (\S+)", page)[1:]
    listed = {
        entry
        for module, text in zip(sections[::2], sections[1::2], strict=True)
        if module == name
        for entry in re.findall(r"^   (\w+)$", text, re.MULTILINE)
    }
    module = importlib.import_module(name)
    assert listed == {each for each in module.__all__ if callable(getattr(module, each))}


def extension(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
