"""Examples in the README and the documentation run as shown."""

import doctest
import re
from pathlib import Path

import pytest

from pliant.methods.lab_rbf import constants

ROOT = Path(__file__).parents[2]
INSTALL = ROOT / "docs" / "install.rst"
FENCE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [
    page for page in sorted((ROOT / "docs").rglob("*.rst")) if ">>>" in page.read_text("utf-8")
]
PAGES = [page for page in PAGES if not {"_build", "generated", "auto_examples"} & {*page.parts}]
FEW_MEMBERS = ("cluster.rst", "intervals.rst", "large_data.rst")
"""Pages whose output does not depend on the number of members of LAB-RBF."""


def failures(text, name):
    """Run the examples of a text in one namespace; return (failed, attempted)."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    return doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)


@pytest.fixture(autouse=True)
def _comparisons_in_this_process(monkeypatch):
    """Start no process for the fits of a comparison, which takes seconds."""
    monkeypatch.setattr("pliant.tables.comparison.cells.starts_processes", lambda: False)


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = FENCE.findall((ROOT / "README.md").read_text("utf-8"))
    failed, attempted = failures("\n".join(blocks), "README.md")
    assert failed == 0
    assert attempted >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.name in FEW_MEMBERS:
        monkeypatch.setattr(constants, "SMALL_MEMBERS", 3)
        monkeypatch.setattr(constants, "MANY_MEMBERS", 3)
        monkeypatch.setattr(constants, "FEW_MEMBERS", 2)
    text = page.read_text("utf-8")
    for name in ("onnx", "onnxruntime") if "import onnxruntime" in text else ():
        pytest.importorskip(name)
    if ">>> import dask" in text:
        pytest.importorskip("dask")
    failed, attempted = failures(text, page.name)
    assert failed == 0
    assert attempted > 0


def test_the_commands_of_the_readme_exist():
    from typer.main import get_command

    from pliant.tables.cli.app import application

    text = (ROOT / "README.md").read_text("utf-8")
    shown = set(re.findall(r"^\$ pliant (\w+)", text, re.MULTILINE))
    assert (
        {"compare", "fit", "predict", "info"} <= shown <= set(get_command(application()).commands)
    )
    reference = (ROOT / "docs" / "command_line.rst").read_text("utf-8")
    assert set(COMMAND_OPTIONS.findall(reference)) | {"methods"} == set(
        get_command(application()).commands
    )


COMMAND_OPTIONS = re.compile(r"^\.\. command-options:: (\w+)$", re.MULTILINE)

COMMAND = re.compile(r"^   \$ pliant (\w+)(.*(?:\\\n.*)*)", re.MULTILINE)


def test_the_options_that_pages_show_exist():
    from typer.main import get_command

    from pliant.tables.cli.app import application

    commands = get_command(application()).commands
    shown = [
        (name, option)
        for page in (ROOT / "docs").rglob("*.rst")
        for name, rest in COMMAND.findall(page.read_text("utf-8"))
        for option in re.findall(r"(?<= )--[a-z-]+", rest)
    ]
    known = {(n, o) for n, command in commands.items() for p in command.params for o in p.opts}
    assert len(shown) > 20
    assert set(shown) - known == set()


def test_the_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"`make (\w+)`", (ROOT / "README.md").read_text("utf-8")))
    targets |= set(re.findall(r"^   \$ make (\w+)", INSTALL.read_text("utf-8"), re.MULTILINE))
    assert {"demo", "test", "docs", "bench"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
