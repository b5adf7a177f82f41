"""The structure, accessibility and content of the page of a comparison."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import pytest

from pliant.tables import ComparisonResult
from pliant.tables.comparison.metrics import METRICS
from pliant.tables.comparison.page import report_html
from pliant.tables.comparison.protocol import Entry
from pliant.tables.comparison.text import MISSING, fixed
from tests.comparison.report.report_cases import METHODS, result
from tests.comparison.report.report_page import Page


def only(*names):
    return [each for each in METHODS if each.name in names]


RARE = {"counts": [20, 240, 240]}
PLAIN = result(interrupted=True)
CASES = {
    "classes": lambda: [result()],
    "numbers": lambda: [result("regression")],
    "rare": lambda: [replace(PLAIN, sample={**PLAIN.sample, **RARE})],
    "several": lambda: [result(name="one"), result("regression", name="two", seed=1)],
    "single": lambda: [result(methods=only("svm", "dummy"))],
    "apart": lambda: [result(methods=only(name, "dummy"), name=name) for name in ("svm", "forest")],
    "nothing": lambda: [result(methods=(Entry("gp", "GP", "baseline", "", "cut", "too slow"),))],
    "read": lambda: [ComparisonResult.from_dict(json.loads(json.dumps(PLAIN.to_dict())))],
}
DRAWN = ("classes", "numbers", "single", "several")
PAGES = {}


def page_of(name):
    """Return a page, with pictures if a test needs them."""
    if name not in PAGES:
        with pytest.MonkeyPatch.context() as patch:
            if name not in DRAWN:
                patch.setattr("pliant.tables.comparison.page.pictures_of", lambda result: {})
            PAGES[name] = Page(report_html(CASES[name]()))
    return PAGES[name]


def board(page):
    (table,) = page.all("table", class_="leaderboard")
    return [[cell["text"] for cell in row] for row in table["rows"]]


@pytest.mark.parametrize("name", CASES)
def test_structure(name):
    """Check unique ids, link targets, heading levels, and lengths of table rows."""
    page = page_of(name)
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    assert {name for text in page.values("aria-labelledby") for name in text.split()} <= set(ids)
    assert all(link[0] == "#" and link[1:] in ids for link in page.values("href"))
    levels = [int(e["name"][1]) for e in page.elements if re.fullmatch("h[1-6]", e["name"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for table in page.all("table"):
        assert len({len(row) for row in table["rows"]}) == 1, table["text"]
        for row in table["rows"][1:]:
            assert [cell["attributes"].get("scope") for cell in row].count("row") == 1
    assert all(image["attributes"]["alt"] for image in page.all("img"))


@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_leaderboard(name):
    (case,) = CASES[name]()
    page = page_of(name)
    heads, blend, *rows = board(page)
    assert heads[:4] == ["method", case.metric.title, "90 % interval", "weight"]
    assert blend[:2] == ["Blend", fixed(case.expected.mean, 3)]
    assert len(rows) == sum(standing.rank is not None for standing in case.standings())
    shown = {row[0]: row[3] for row in rows}
    for method, weight in case.blend.weights.items():
        title = next(each.title for each in case.methods if each.name == method)
        assert shown[title] == f"{weight:.2f}"
    others = {each.title for each in METRICS.values() if each.task == case.task}
    assert others <= set(heads)
    (verdict,) = page.all("p", class_="verdict")
    assert case.sentence().startswith(verdict["text"])


def test_missing_methods_are_listed():
    (lines,) = page_of("classes").all("ul", class_="missing")
    assert "SCG-LDK: failed, ValueError: no" in lines["text"]
    assert "Gaussian process: not tried, takes at most 100 training rows" in lines["text"]
    assert "TKL: cut short, 3 of 10 folds: the budget ran out" in lines["text"]


def test_warnings_are_listed():
    (notice,) = page_of("rare").all("ul", class_="notice")
    assert re.search(r"Class 'eggs' has 4.0% of the rows.*log loss", notice["text"])
    assert "interrupted" in notice["text"]
    assert page_of("classes").all("ul", class_="notice") == []


PICTURES = {
    "classes": "Mean Weights: Calibration Confusion Expected",
    "numbers": "Mean Weights: True Expected",
    "single": "Mean Calibration Confusion",
    "several": ("Average Mean Weights: Calibration Confusion Expected Mean Weights: True Expected"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name):
    alts = [image["attributes"]["alt"] for image in page_of(name).all("img")]
    assert " ".join(alt.split()[0] for alt in alts) == PICTURES[name]


def test_what_the_budget_bought():
    page = page_of("numbers")
    tables = [[[cell["text"] for cell in row] for row in t["rows"]] for t in page.all("table")]
    rows = next(rows for rows in tables if rows[0][:2] == ["after", "finished"])
    assert rows[0][2:] == ["best model", "R2"]
    assert len(rows) > 2
    assert rows[-1][2] == "Blend"
    assert "larger budget would" in page.text
    assert "What the budget bought" not in page_of("nothing").text


def test_single_method_with_all_the_weight():
    page = page_of("single")
    assert "Gaussian SVM has all the weight" in page.text
    assert [row[0] for row in board(page)[1:]] == ["Gaussian SVM", "Dummy"]


def test_only_certified_methods_have_a_gap():
    for methods, certified in ((("svm", "linear"), True), (("forest", "linear"), False)):
        shown = result(methods=only(*methods))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pliant.tables.comparison.page.pictures_of", lambda result: {})
            page = Page(report_html([shown]))
        assert ("The gap is certified by the solver" in page.text) is certified
        (table,) = page.all("table", class_="costs")
        assert ("largest gap" in table["text"]) is certified


def test_a_budget_may_change_the_finished_folds():
    limited = {"budget": 60.0, "command": "pliant compare t.csv"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pliant.tables.comparison.page.pictures_of", lambda result: {})
        for changes, certain in ((limited, False), ({**limited, "budget": None}, True)):
            text = Page(report_html([replace(PLAIN, **changes)])).text
            assert ("the same command on the same table gives the same scores." in text) is certain
            assert ("the time decides which folds are finished" in text) is not certain


def test_no_finished_fold():
    page = page_of("nothing")
    assert page.all("table") == []
    assert "GP: cut short, too slow" in page.text


def test_several_tables():
    page = page_of("several")
    assert [each["text"] for each in page.all("h2")] == ["Over all tables", "one", "two"]
    (table,) = [t for t in page.all("table") if "average rank" in t["text"]]
    assert [cell["text"] for cell in table["rows"][0][2:]] == ["one (accuracy)", "two (R2)"]
    assert table["rows"][1][0]["text"] == "Blend"
    assert "GP" not in table["text"]


def test_several_tables_without_a_common_method():
    page = page_of("apart")
    assert (
        "The methods cannot be ranked over all tables: expected at least 2 methods with a rank on "
        "all tables, got 0 (svm: forest: not compared; forest: svm: not compared)."
    ) in page.text
    (table,) = [t for t in page.all("table") if "average rank" in t["text"]]
    rows = {title["text"]: [each["text"] for each in cells] for title, *cells in table["rows"][1:]}
    assert list(rows) == ["Gaussian SVM", "Dummy", "Random forest"]
    assert [each == MISSING for each in rows["Gaussian SVM"]] == [True, False, True]
    assert [each == MISSING for each in rows["Dummy"]] == [True, False, False]
    assert [each == MISSING for each in rows["Random forest"]] == [True, True, False]


def test_page_is_deterministic():
    assert Page(report_html(CASES["numbers"]())).elements == page_of("numbers").elements


def test_page_without_matplotlib(monkeypatch):
    monkeypatch.setattr("pliant.tables.comparison.pictures.find_spec", lambda name: None)
    page = Page(report_html(CASES["several"]()))
    assert page.all("img") == []
    assert "pip install 'pliant[plots]'" in page.text
