"""The documentation lists every public name, and shows the repository's Markdown files."""

import importlib
import importlib.metadata
import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

LISTED = [
    "pliant", "pliant.kernels", "pliant.plots", "pliant.datasets", "pliant.persistence",
    "pliant.tables", "pliant.metrics",
]  # fmt: skip
INNER = {"Column", "LeftOut", "Target", "UnknownCategoryWarning"}
"""Parts of a table's schema, which the reference leaves out."""


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
    public = {each for each in module.__all__ if callable(getattr(module, each))}
    assert public - INNER == listed


def extension(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def markdown():
    pytest.importorskip("sphinx")
    return extension("markdown_page")


def test_a_benchmark_page_becomes_sections_and_tables(markdown):
    text = "# Speed\n\nSome *words*.\n\n| a | n |\n| --- | --: |\n| x \\| y | 1.0 |\n\nThe end.\n"
    (section,) = markdown.document(text, "speed")
    assert [child.tagname for child in section] == ["title", "paragraph", "table", "paragraph"]
    assert section[1].astext() == "Some words."
    entries = [entry.astext() for entry in section[2].findall() if entry.tagname == "entry"]
    assert entries == ["a", "n", "x | y", "1.0"]


def test_a_part_of_a_page_is_found_by_its_title(markdown):
    text = "## A\n\n### A, one\n\ntext\n\n## A: two\n\n## AB\n\nother\n"
    sections = markdown.document(text, "page")
    kept = [each.astext() for node in sections for each in markdown.about(node, "A")]
    assert kept == ["A, one\n\ntext", "A: two"]
    assert [markdown.about(node, "C") for node in sections] == [[], [], []]


def test_a_changelog_becomes_nested_sections_and_lists(markdown):
    text = (
        "# Log\nWhat [changed](https://x.org).\n## 1.0\n- one `a_b`\n  and more\n- two\n## 0.9\n- 3"
    )
    (log,) = markdown.document(text, "log")
    assert [child.tagname for child in log] == ["title", "paragraph", "section", "section"]
    assert log[1][1]["refuri"] == "https://x.org"
    assert [item.astext() for item in log[2][1]] == ["one a_b and more", "two"]


def test_docstrings_are_read_as_plain_text():
    pytest.importorskip("sphinx")
    plain = extension("plain_docstrings").plain
    assert plain("|a| <= gap_, see [1]_ and ``x_`` or `y_`") == (
        r"\|a\| <= gap\_, see [1]_ and ``x_`` or `y_`"
    )


def test_formulas_are_drawn_by_a_script_of_the_pages():
    pytest.importorskip("sphinx")
    mathjax = extension("local_mathjax")
    try:
        importlib.metadata.distribution(mathjax.PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{mathjax.PACKAGE} is not installed")
    assert "MathJax" in mathjax.script().read_text("utf-8")


def test_a_command_is_listed_with_its_options():
    pytest.importorskip("sphinx")
    listed = dict(extension("command_options").options("fit"))
    assert listed["--target COLUMN"] == "The column to learn. Required."
    assert listed["--cv K"].endswith("Default: ``5``.")
    assert "TABLE" in listed
    assert not any("--help" in typed for typed in listed)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        (
            "sklearn.svm.SVC",
            "https://scikit-learn.org/stable/modules/generated/sklearn.svm.SVC.html",
        ),
        ("numpy.load", "https://numpy.org/doc/stable/reference/generated/numpy.load.html"),
        ("sklearn.svm.Missing", None),
        ("missing.svm.SVC", None),
        ("svm", None),
    ],
)
def test_names_of_other_libraries_have_an_address(name, url):
    pytest.importorskip("sphinx")
    assert extension("name_links").address(name) == url
