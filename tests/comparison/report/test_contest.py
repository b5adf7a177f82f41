"""The method to use, drawn against its rivals, and the line below which methods have no rank."""

from __future__ import annotations

from pliant.comparison.record import Entry
from pliant.comparison.report import report_html
from tests.comparison.report.report_cases import METHODS, result
from tests.comparison.report.report_page import Page


def duels(made):
    page = Page(report_html([made]))
    return page, page.all("svg", class_="duel")


def test_a_point_for_each_common_fold_and_the_test_in_words():
    made = result()
    standings = made.standings()
    page, drawn = duels(made)
    best, lead = standings[0], standings[0].lead
    svm = next(each for each in standings if each.is_reference)
    titles = [each["text"] for each in drawn]
    assert len(titles) == 2
    assert titles[0].startswith(f"{best.method.title} against {lead.method.title}: better on ")
    assert (
        f"of 7 folds, +{lead.difference:.3f} ± {lead.error:.3f}, not significant (p = " in titles[0]
    )
    assert titles[1].startswith(f"{best.method.title} against the tuned Gaussian SVM: better on ")
    assert f"better on {best.wins} of 7 folds, +{best.difference:.3f}" in titles[1]
    assert best.mean > svm.mean
    assert len(page.all("circle", class_="fold")) == 2 * 7


def test_without_a_rival_or_a_second_fold_there_is_none():
    alone = [each for each in METHODS if each.name == "svm"]
    assert duels(result(methods=alone))[1] == []
    nothing = [Entry("gp", "GP", "baseline", "", "skipped", "no")]
    assert duels(result(methods=nothing))[1] == []


def test_methods_without_a_rank_stand_below_the_line_with_the_reason():
    made = result()
    few = [r for r in made.records if r["method"] != "tkl" or r["fold"] + 5 * r["repeat"] < 2]
    page = Page(report_html([result(records=tuple(few))]))
    (board,) = page.all("table", class_="leaderboard")
    heads = [row[0]["attributes"].get("class") for row in board["rows"][1:]]
    names = [row[1]["attributes"].get("class") for row in board["rows"][1:]]
    assert heads == ["number"] * len(heads)
    assert names == [None] * 7 + ["below"] * 3
    assert "below the line: has 2 of 10 common folds" in board["text"]
    assert "searched settings" in board["text"]
    assert "Ranks and tests rest on" not in page.all("main")[0]["text"]
    seven = Page(report_html([made])).all("main")[0]["text"]
    assert "Ranks and tests rest on the 7 folds that all ranked methods have finished" in seven
