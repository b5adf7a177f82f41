"""The page in its two forms, the advice beside it, and what the documentation makes of them."""

import base64
import hashlib
import importlib.util
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from papers.overview.advice import Evidence, decisions, decisions_page
from papers.overview.hypertext import MOST_BYTES, embedded, hypertext
from papers.overview.markdown import markdown
from papers.overview.overview import (
    PAPERS,
    Figure,
    Overview,
    gather,
    kept_documents,
    kept_figures,
)
from papers.studies import STUDIES

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "papers" / "results"

SPEED = ROOT / "benchmarks" / "results"

REFRESH = "python -m papers pages writes it again"


@pytest.fixture(scope="module")
def overview():
    return Overview(
        gather(kept_documents(RESULTS, SPEED), {}, "kept"), kept_figures(RESULTS / "figures")
    )


@pytest.fixture(scope="module")
def page(overview):
    return hypertext(overview, {})


def test_the_kept_page_is_that_of_the_kept_results(overview):
    assert (RESULTS / "overview.md").read_text("utf-8") == markdown(overview), REFRESH
    data = json.loads((RESULTS / "overview.json").read_text("utf-8"))
    assert data == json.loads(json.dumps(overview.to_dict())), REFRESH


def test_the_kept_advice_is_that_of_the_kept_results():
    evidence = Evidence(RESULTS, SPEED)
    assert (RESULTS / "decisions.md").read_text("utf-8") == decisions_page(evidence), REFRESH


def test_every_row_of_advice_has_a_number_and_says_when_not():
    evidence = Evidence(RESULTS, SPEED)
    rows = [row for _, group in decisions(evidence) for row in group]
    assert len(rows) >= 12
    for row in rows:
        assert re.search(r"\d", row["measured"])
        assert all(row.values())
        assert "|" not in "".join(row.values())


def test_advice_is_repeated_by_what_exists():
    from benchmarks.registry import BENCHMARKS
    from papers.figures.catalogue import FIGURES

    known = {
        "study": set(STUDIES), "benchmark": set(BENCHMARKS), "figure": {f.name for f in FIGURES},
    }  # fmt: skip
    evidence = Evidence(RESULTS, SPEED)
    for _, group in decisions(evidence):
        for part in "; ".join(row["repeat"] for row in group).split("; "):
            kind, _, names = part.partition(" ")
            assert kind == "the" or set(re.findall(r"`([^`]+)`", names)) <= known[kind]


def test_the_policy_allows_its_own_style_and_nothing_else(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


class Seen(HTMLParser):
    """Collects tags, and addresses that they name."""

    def __init__(self):
        super().__init__()
        self.tags, self.addresses, self.ids, self.open = set(), [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        named = dict(attributes)
        self.addresses += [named[k] for k in ("href", "src") if k in named]
        self.ids += [named["id"]] if "id" in named else []
        assert "style" not in named
        assert not [name for name in named if name.startswith("on")]
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(page):
    seen = Seen()
    seen.feed(page)
    assert not seen.open
    return seen


def test_the_page_stands_alone(page):
    seen = read(page)
    assert "script" not in seen.tags
    assert len(set(seen.ids)) == len(seen.ids)
    assert all(address[0] == "#" and address[1:] in seen.ids for address in seen.addresses)
    assert set(PAPERS) <= set(seen.ids)


def test_every_word_of_agreement_stands_in_a_cell_of_its_colour(page):
    for verdict in ("agrees", "better", "worse", "differs", "not rerun", "ours"):
        name = verdict.replace(" ", "-")
        assert re.search(rf'<td class="{name}">[^<]* <b>{verdict}</b>', page)
        assert f".{name} {{" in page


def test_hostile_texts_stay_texts(overview):
    evil = "<script>alert(1)</script>\"'&|`*"
    cell = next(each for each in overview.cells if each.verdict == "worse")
    cells = [replace(cell, set=evil, method=evil, explanation=evil, baseline_name=evil)]
    figure = Figure("f", f"DANK, {evil}", evil, Path("f.png"))
    shown = Overview(cells, [figure], "quick", [evil])
    text = hypertext(shown, {"f": "data:image/png;base64,AAAA"})
    assert "script" not in read(text).tags
    assert "\\<script\\>" in markdown(shown)
    assert not re.search(r"(?<!\\)<script", markdown(shown))


def test_a_quick_page_says_which_cells_are_quick(overview):
    cells = [cell for cell in overview.cells if cell.measured]
    fresh = [replace(cells[0], source="quick"), *cells[1:]]
    shown = replace(overview, cells=fresh, profile="quick")
    assert hypertext(shown, {}).count("<small>quick</small>") == 1
    text = markdown(shown)
    assert text.count("*quick*") == 2  # the sentence at the top, and the cell
    assert "Profile quick: 1 of" in text


def test_figures_are_embedded_within_a_limit(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (1500, 900), "red").save(tmp_path / "a.png")
    figures = [Figure("a", "DANK, Figure 1", "red", tmp_path / "a.png")]
    pictures = embedded(figures)
    assert pictures["a"].startswith("data:image/png;base64,")
    assert len(pictures["a"]) < MOST_BYTES
    page = hypertext(Overview([], figures), pictures)
    assert 'alt="DANK, Figure 1"' in page


def test_the_kept_figures_are_captioned(overview, page):
    assert len(overview.figures) >= 18
    assert all(each.path.exists() for each in overview.figures)
    assert page.count("<figcaption>") == len(overview.figures)


def test_the_documentation_colours_verdicts():
    path = ROOT / "docs" / "_ext" / "markdown_page.py"
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("markdown_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "| set | M |\n| --- | --- |\n| a | 1 / 2 **worse** (3) |\n| b | 1 / – **not rerun** |\n"
    classes = [e["classes"] for e in module.table(text.strip()).findall(module.nodes.entry)]
    assert classes[2:] == [[], ["verdict-worse"], [], ["verdict-not-rerun"]]
    css = (ROOT / "docs" / "_static" / "pliant.css").read_text("utf-8")
    assert all(f"td.verdict-{name}" in css for name in ("agrees", "worse", "not-rerun"))
