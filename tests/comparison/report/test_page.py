"""The report as a page: whole, in order, for every reader, with or without a script."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files

import pytest

from pliant.comparison.record import Entry
from pliant.comparison.report import report_html
from tests.comparison.report.report_cases import METHODS, result
from tests.comparison.report.report_page import Page

SECTIONS = [
    "Leaderboard",
    "Time, memory and settings",
    "Learning curves",
    "Predicted against true",
    "Learned kernels",
    "Convergence and certificates",
    "Warnings and errors",
    "How it was measured",
    "Environment",
    "Repeat it",
]

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


def test_landmarks_language_and_names(page):
    assert page.all("html")[0]["attributes"]["lang"] == "en"
    for landmark in ("header", "main", "footer"):
        assert len(page.all(landmark)) == 1
    assert page.all("title")[0]["text"]
    for drawing in page.all("svg"):
        marks = drawing["attributes"]
        assert marks.get("aria-hidden") == "true" or marks.get("role") == "img"
    assert len(page.all("table")) == len(page.all("caption"))
    assert len(page.all("button")) == 0  # they come with the script


def test_rows_are_as_long_as_their_heads(page):
    for table in page.all("table"):
        assert len({len(row) for row in table["rows"]}) == 1, table["text"]
        assert all(cell["attributes"].get("scope") == "col" for cell in table["rows"][0])
        for row in table["rows"][1:]:
            assert [cell["name"] for cell in row].count("th") == 1


def test_sections_come_in_order(plain):
    assert [each["text"] for each in plain.all("h2")] == SECTIONS
    assert [each["text"] for each in plain.all("a")][1:] == SECTIONS


def test_every_method_is_in_the_leaderboard_with_its_status_in_words(plain):
    board = plain.all("table", class_="leaderboard")[0]["text"]
    for entry in METHODS:
        assert f"{entry.title}{entry.kind} · {entry.name}" in board
        assert entry.reason in board
    badges = [each["text"] for each in plain.all("span", class_="badge")]
    assert sorted(badges) == ["complete"] * 7 + ["failed", "skipped", "unfinished"]


def test_the_sentence_opens_the_page(plain):
    said = [each["text"] for part in ("verdict", "beware") for each in plain.all("p", class_=part)]
    assert " ".join(said) == result().sentence()
    assert len(said) == 2


def test_scores_stand_with_their_errors_and_a_drawing(plain):
    place = result().standings()[0]
    board = plain.all("table", class_="leaderboard")[0]["text"]
    assert f"{place.mean:.3f} ± {place.error:.3f}" in board
    assert len(plain.all("svg", class_="interval")) == 8
    assert repr(place.mean) in plain.values("data-value")


def test_missing_cells_have_no_value_to_sort_by(plain):
    values = plain.values("data-value")
    assert values
    assert not {"nan", "None", "inf", ""} & set(values)


def test_the_curves_have_a_table_a_legend_and_a_name(plain):
    drawing = plain.all("svg", class_="plot")[0]
    assert drawing["text"].startswith("Learning curves: accuracy against training rows")
    legend = plain.all("ul", class_="legend")[0]["text"]
    assert "Gaussian SVM" in legend
    assert "2 other methods" in legend
    assert "Mean accuracy by training rows" in plain.text
    assert "400 rows" in plain.text


def test_a_confusion_matrix_adds_up(plain):
    matrix = plain.all("table", class_="matrix")[0]
    rows = [[cell["attributes"].get("data-value") for cell in row[1:]] for row in matrix["rows"]]
    counts = [[float(value) for value in row] for row in rows[1:]]
    assert [len(row) for row in counts] == [3, 3, 3]
    assert [sum(row) for row in counts] == [167, 167, 166]  # eggs, ham, spam
    right = counts[0][0] + counts[1][1] + counts[2][2]
    assert f"{right:.0f} of 500 test rows right" in plain.text
    assert "Confusion matrix of DANK" in matrix["text"]


def test_regression_has_scatters_and_the_largest_errors():
    page = Page(report_html([result("regression")]))
    plots = [e for e in page.all("svg", class_="plot") if "Predicted against" in e["text"]]
    assert len(plots) == 2
    assert len(page.all("circle", class_="cloud")) == 1000
    assert "Largest errors of LAB-RBF" in page.text


def test_one_wild_prediction_does_not_hide_the_others():
    case = result("regression")
    said = {**case.records[10]["predictions"]}
    said["values"] = [1e308, *said["values"][1:]]
    wild = [*case.records[:10], {**case.records[10], "predictions": said}, *case.records[11:]]
    page = Page(report_html([result("regression", records=tuple(wild))]))
    assert case.records[10]["method"] == "lab-rbf"
    assert "499 of 500 test rows drawn, 1 far outside" in page.text
    assert len(page.all("circle", class_="cloud")) == 999


def test_many_classes_become_a_list_of_mistakes():
    case = result()
    names = [*case.sample["classes"], *(f"class {n}" for n in range(30))]
    page = Page(report_html([result(sample={**case.sample, "classes": names})]))
    assert page.all("table", class_="matrix") == []
    assert "Most frequent mistakes of DANK" in page.text
    assert "and 27 more" in page.text


def test_several_tables_open_with_the_part_over_all():
    page = Page(report_html(CASES["several"]()))
    titles = [each["text"] for each in page.all("h2")]
    assert titles == ["Over all tables", "one", "two"]
    assert "critical difference" in page.all("img")[0]["attributes"]["alt"]
    assert "TKL: " in page.text


def test_tables_without_a_common_method_are_still_reported():
    none = (Entry("gp", "GP", "baseline", "", "skipped", "too large"),)
    page = Page(report_html([result(methods=none), result(methods=none, name="other")]))
    assert "cannot be ranked over all tables" in page.text
    assert page.text.count("too large") >= 2


def test_an_interrupted_run_says_so():
    assert "was interrupted" not in report_html([result()])
    assert "was interrupted" in report_html([result(interrupted=True)])


def test_a_run_from_python_has_no_command():
    page = Page(report_html([result(command=None)]))
    assert page.all("pre") == []
    assert "pliant.compare" in page.text


def test_no_result_is_an_error():
    with pytest.raises(ValueError, match="expected at least one result"):
        report_html([])


def test_the_same_results_give_the_same_page():
    assert report_html([result()]) == report_html([result()])


def _luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first, second):
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(theme):
    style = files("pliant.comparison.report").joinpath("style.css").read_text("utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    found = dict(re.findall(r"--([\w-]+): (#\w{6})", light if theme == "light" else dark))
    on = [found[name] for name in ("page", "card")]
    for name in ("text", "muted", "accent", "good", "bad", "warn"):
        assert min(_contrast(found[name], back) for back in on) >= 4.5, name
    for text, back in (("good", "good-soft"), ("bad", "bad-soft"), ("warn", "warn-soft")):
        assert _contrast(found[text], found[back]) >= 4.5, back
    for back in ("soft", "good-soft", "bad-soft"):
        assert _contrast(found["muted"], found[back]) >= 4.5, back
    for number in range(1, 6):
        assert _contrast(found[f"series-{number}"], found["card"]) >= 3, number
