"""Gallery examples are grouped, have one readable thumbnail, and end with a result."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
