"""No text from a table, a method or a picture can do anything on the page but be read."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata

import pytest

from pliant import TableError
from pliant.comparison.page import report_html, write_report
from pliant.comparison.report.facts import json_block
from pliant.comparison.report.pictures import picture
from tests.comparison.report.report_cases import HOSTILE, hostile, png, result
from tests.comparison.report.report_page import Page


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_hostile_texts_are_only_text(text, task):
    clean, attacked = Page(report_html([result(task)])), Page(report_html([hostile(text, task)]))
    for name in ("script", "style", "meta", "img", "a", "h1", "h2", "td", "th"):
        assert len(attacked.all(name)) == len(clean.all(name)), name
    keys = {key for each in attacked.elements for key in each["attributes"]}
    assert keys <= {key for each in clean.elements for key in each["attributes"]}
    assert not any(key.startswith("on") or key == "style" for key in keys)
    shown = "".join(c for c in text if c.isprintable())
    assert attacked.text.count(shown) > 20
    assert attacked.all("h1")[0]["text"] == f"{shown}: methods compared"


def test_no_control_or_direction_mark_reaches_the_page():
    written = report_html([hostile(HOSTILE[3])])
    bad = {c for c in written if unicodedata.category(c)[0] == "C" and c != "\n"}
    assert bad == set()
    assert "safeevil[31m" in written


def test_the_policy_names_the_one_style_and_the_one_script():
    page = Page(report_html([result()]))
    (policy,) = [
        e["attributes"]["content"] for e in page.all("meta", http_equiv="Content-Security-Policy")
    ]
    scripts = [e for e in page.all("script") if "type" not in e["attributes"]]
    assert len(scripts) == len(page.all("style")) == 1
    for kind, element in (("style", page.all("style")[0]), ("script", scripts[0])):
        digest = base64.b64encode(hashlib.sha256(element["text"].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    for rule in ("default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"):
        assert rule in policy.split("; ")
    assert "unsafe" not in policy


def test_the_page_asks_for_nothing_outside():
    page = Page(report_html([result(), result("regression", name="b")]))
    assert all(source.startswith("data:image/png;base64,") for source in page.values("src"))
    assert all(link.startswith("#") for link in page.values("href"))
    style = page.all("style")[0]["text"]
    assert "url(" not in style
    assert "@import" not in style


def test_json_cannot_end_its_element_and_reads_back():
    data = {"text": "</script><!--&\u2028\u2029", "number": 0.1}
    block = json_block(data, "x")
    inside = block[block.index(">") + 1 : -len("</script>")]
    assert not set("<>&\u2028\u2029") & set(inside)
    assert json.loads(inside) == data


@pytest.mark.parametrize(
    "broken",
    [
        "",
        None,
        "not base64!",
        png()[:-8],
        png() + "\n",
        png() + '" onerror="alert(1)',
        base64.b64encode(b"<svg onload=alert(1)>").decode(),
        base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(),
        png(1, 1).replace(png(1, 1)[20:28], "////////"),
    ],
)
def test_a_broken_picture_is_refused(broken):
    page = Page(picture("Gram", "Blocks", broken))
    assert page.all("img") == []
    assert "damaged" in page.all("p", class_="refused")[0]["text"]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="at least one result"):
        write_report([], path)
    with pytest.raises(TableError, match="cannot write"):
        write_report([result()], tmp_path / "absent" / "report.html")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
