"""The examples of the gallery: grouped, with one readable thumbnail, and a result at the end."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"_build", "auto_examples", "generated", "gen_modules"}
"""Folders that a build of the documentation makes."""

PAGES = [page for page in sorted((ROOT / "docs").rglob("*.rst")) if not MADE & {*page.parts}]
EXAMPLES = sorted((ROOT / "examples").glob("*/plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_a_thumbnail_and_a_printed_result(path):
    source = path.read_text("utf-8")
    module = ast.parse(source)
    title, line, *_ = ast.get_docstring(module).splitlines()
    assert line == "=" * len(title)
    (number,) = re.findall(r"^# sphinx_gallery_thumbnail_number = (\d+)$", source, re.MULTILINE)
    assert 1 <= int(number) <= source.count("plt.show()")
    assert "print(" in source.rpartition("# %%")[2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_into_the_gallery_lead_somewhere(page):
    for folder, name in re.findall(r"auto_examples/(\w+/)?(plot_\w+)", page.read_text("utf-8")):
        assert (ROOT / "examples" / folder / f"{name}.py").exists()
    for folder, name in re.findall(
        r"auto_examples/(\w+/)?images/sphx_glr_(plot_\w+?)_\d+\.png", page.read_text("utf-8")
    ):
        assert (ROOT / "examples" / folder / f"{name}.py").exists()
