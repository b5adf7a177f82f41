"""The report as a page: whole, in order, for every reader, with or without a script."""

from __future__ import annotations

import itertools
import re

import pytest

from pliant.comparison.record import Entry
from pliant.comparison.page import report_html
from tests.comparison.report.report_cases import result
from tests.comparison.report.report_page import Page

CASES = {
    "classification": lambda: [result()],
    "regression": lambda: [result("regression")],
    "several": lambda: [result(name="one"), result("regression", name="two", seed=1)],
    "nothing": lambda: [result(methods=(Entry("gp", "GP", "baseline", "", "skipped", "no"),))],
}


@pytest.fixture(scope="module", params=CASES)
def page(request):
    return Page(report_html(CASES[request.param]()))


@pytest.fixture(scope="module")
def plain():
    return Page(report_html([result()]))


def test_ids_are_unique_and_references_lead_somewhere(page):
    ids = page.values("id")
    assert len(set(ids)) == len(ids)
    assert {name for text in page.values("aria-labelledby") for name in text.split()} <= set(ids)
    links = page.values("href")
    assert links
    assert all(link[0] == "#" and link[1:] in ids for link in links)
    assert set(re.findall(r"#([^)]+)", " ".join(page.values("clip-path")))) <= set(ids)


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(e["name"][1]) for e in page.elements if re.fullmatch("h[1-6]", e["name"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_rows_are_as_long_as_their_heads(page):
    for table in page.all("table"):
        assert len({len(row) for row in table["rows"]}) == 1, table["text"]
        assert all(cell["attributes"].get("scope") == "col" for cell in table["rows"][0])
        for row in table["rows"][1:]:
            assert [cell["name"] for cell in row].count("th") == 1


def test_a_confusion_matrix_adds_up(plain):
    matrix = plain.all("table", class_="matrix")[0]
    rows = [[cell["attributes"].get("data-value") for cell in row[1:]] for row in matrix["rows"]]
    counts = [[float(value) for value in row] for row in rows[1:]]
    assert [len(row) for row in counts] == [3, 3, 3]
    assert [sum(row) for row in counts] == [167, 167, 166]  # eggs, ham, spam
    right = counts[0][0] + counts[1][1] + counts[2][2]
    assert f"{right:.0f} of 500 test rows right" in plain.text
    assert "Confusion matrix of DANK" in matrix["text"]


def test_several_tables_open_with_the_part_over_all():
    page = Page(report_html(CASES["several"]()))
    titles = [each["text"] for each in page.all("h2")]
    assert titles == ["Over all tables", "one", "two"]
    assert "critical difference" in page.all("img")[0]["attributes"]["alt"]
    assert "TKL: " in page.text


def test_the_same_results_give_the_same_page():
    assert report_html([result()]) == report_html([result()])
