"""Text from tables, methods and errors cannot inject HTML or control characters."""

from __future__ import annotations

import base64
import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.exceptions import TableError
from pliant.tables.comparison.page import report_html, write_report
from pliant.tables.comparison.text import TextColumn, text_table
from tests.comparison.report.report_cases import HOSTILE, hostile, result
from tests.comparison.report.report_page import Page


@pytest.fixture
def plain(monkeypatch):
    """Disable the pictures, which take most of the time."""
    monkeypatch.setattr("pliant.tables.comparison.page.pictures_of", lambda result: {})


@pytest.fixture(scope="module")
def clean():
    return Page(report_html([result()]))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_escaped(text, plain):
    compare_with_clean(text, Page(report_html([result("regression")])), "regression")


def test_hostile_text_in_captions_and_classes(clean):
    compare_with_clean(HOSTILE[1], clean, "classification")


def compare_with_clean(text, clean, task):
    attacked = Page(report_html([hostile(text, task)]))
    for name in ("script", "style", "meta", "img", "a", "h1", "h2", "td", "th"):
        assert len(attacked.all(name)) == len(clean.all(name)), name
    keys = {key for each in attacked.elements for key in each["attributes"]}
    assert keys <= {key for each in clean.elements for key in each["attributes"]}
    assert not any(key.startswith("on") or key == "style" for key in keys)
    shown = "".join(c for c in text if c.isprintable())
    assert attacked.text.count(shown) > 20
    assert attacked.all("h1")[0]["text"] == f"{shown}: methods compared"


def test_no_control_characters_on_page(plain):
    written = report_html([hostile(HOSTILE[3], "regression")])
    assert {c for c in written if unicodedata.category(c)[0] == "C" and c != "\n"} == set()
    assert "safeevil[31m" in written


def test_content_security_policy(clean):
    (policy,) = [
        e["attributes"]["content"] for e in clean.all("meta", http_equiv="Content-Security-Policy")
    ]
    (style,) = clean.all("style")
    digest = base64.b64encode(hashlib.sha256(style["text"].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert clean.all("script") == []
    for rule in ("default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy.split("; ")
    assert "unsafe" not in policy
    assert all(source.startswith("data:image/png;base64,") for source in clean.values("src"))
    assert "url(" not in style["text"]
    assert "@import" not in style["text"]


def test_failure_keeps_old_file(tmp_path, plain):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="at least one result"):
        write_report([], path)
    with pytest.raises(TableError, match="cannot write"):
        write_report([result()], tmp_path / "absent" / "report.html")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


COLUMNS = ["data", TextColumn("paper", digits=1), TextColumn("measured", digits=2)]
COLUMNS.append(TextColumn("baseline", missing="later"))


def test_control_characters_are_removed():
    lines = text_table([{"a\nb\x1b[2J": "one\r\ntwo\x00\u202ethree\u2028four\tfive"}]).splitlines()
    assert lines[0] == "a b[2J"
    assert lines[2] == "one twothree four five"


@given(st.lists(st.one_of(st.integers(-999, 999), st.floats(-99, 99)), min_size=1))
def test_numbers_are_right_aligned(cells):
    lines = text_table([{"x": cell} for cell in cells]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert [line[-1].isdigit() for line in lines[2:]] == [True] * len(cells)
