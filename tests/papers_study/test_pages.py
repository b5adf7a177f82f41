"""Stored pages match the stored results; numbers, tests and verdicts of the pages."""

import json
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from papers import figures
from papers.__main__ import RESULTS, pages, with_kept
from papers.data import Estimate, printed, toml
from papers.overview import (
    QUANTITIES,
    Agreement,
    counted,
    gather,
    kept_documents,
    mismatched,
    printed_again,
    reasons,
    verdict,
)
from papers.page import page
from papers.results import Results, gain_of
from papers.study import studies

FIRST = np.array([0.81, 0.84, 0.79, 0.88, 0.86, 0.83, 0.85])
SECOND = np.array([0.80, 0.80, 0.81, 0.83, 0.86, 0.80, 0.79])


@pytest.fixture(scope="module")
def kept():
    return kept_documents(RESULTS)


def test_kept_pages_are_those_of_the_kept_results():
    texts = pages(RESULTS)
    assert {path.name for path in texts} == {path.name for path in RESULTS.glob("*.md")}
    for path, text in texts.items():
        assert path.read_text("utf-8") == text, path.name


def test_kept_captions_are_those_of_the_kept_figures():
    folder = RESULTS / "figures"
    entries = json.loads((folder / "numbers.json").read_text("utf-8"))["figures"]
    assert (folder / "captions.md").read_text("utf-8") == figures.captions(entries)
    assert list(entries) == [each.name for each in figures.FIGURES]
    assert {each["title"] for each in entries.values()} == {e.title for e in figures.FIGURES}
    assert {f"{name}.png" for name in entries} == {path.name for path in folder.glob("*.png")}


def test_kept_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.rglob("*.*")) < 2_000_000


def test_a_page_changes_with_its_results(kept):
    document, study = kept["dank-table-1"], studies()["dank-table-1"]
    changed = json.loads(json.dumps(document))
    changed["results"][0]["variants"]["fixed/batch"]["test"][0] += 0.1
    assert page(study, changed) != page(study, document)
    part = {**changed, "sets": ["heart"], "results": [
        each for each in document["results"] if each["set"] == "heart"
    ]}  # fmt: skip
    assert "Not measured in this run: diabetic, monks1" in page(study, part)


@pytest.mark.parametrize("name", ["scg-table-3", "lab-rbf-tables-1-2", "dank-table-4"])
def test_a_new_run_carries_over_what_is_measured_no_more(kept, name):
    document, study = kept[name], studies()[name]
    old = {who.name for who in study.contestants if who.kept}
    run = [each for each in document["results"] if each["contestant"] not in old]
    found = with_kept(study, {**document, "results": run}, document)
    assert found["results"] == document["results"]
    assert set(found["earlier"][-1]["contestants"]) == old
    assert with_kept(study, {**document, "results": run}, {})["results"] == run


def test_tests_on_paired_differences_are_scipys():
    found = gain_of(FIRST, SECOND, 80, 20)
    expected = stats.ttest_rel(FIRST, SECOND)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert found.error == pytest.approx(stats.sem(FIRST - SECOND), rel=1e-10)
    ratio = np.sqrt(1 + 7 * 20 / 80)
    assert found.corrected_error == pytest.approx(ratio * found.error, rel=1e-10)
    assert found.splits == (5, 1, 1)
    level = gain_of(FIRST, FIRST - 0.5, 80, 20)
    assert (level.p_value, level.error, level.splits) == (None, 0.0, (7, 0, 0))
    assert gain_of(FIRST[:1], SECOND[:1], 80, 20).verdict == 0


def test_gains_and_ranks_have_the_sign_of_the_score(kept):
    results = Results(studies()["dank-table-6"], kept["dank-table-6"])
    ways = ["svm:fixed/none", "batch-dank:fixed/batch"]
    means = results.shared("mpg", ways).mean(axis=1)
    gain = results.gain("mpg", *ways)
    assert gain.mean == pytest.approx(means[1] - means[0])  # 1 - R2: lower is better
    both = [results.mean("mpg", who) for who in ways]
    assert results.ranks(ways, ["mpg"])[:, 0].tolist() == stats.rankdata(both).tolist()
    (overall,) = results.overall(ways[1:], results.sets, ways[0])
    differences = [results.gain(name, ways[1], ways[0]).mean for name in results.sets]
    assert overall.gain == pytest.approx(np.mean(differences))


def estimate(mean, spread=0.0, repeats=10):
    return Estimate(mean, spread, repeats, f"{mean}")


@pytest.mark.parametrize(
    ("quantity", "paper", "ours", "expected"),
    [
        ("accuracy", estimate(80.0), estimate(82.0), "agrees"),
        ("accuracy", estimate(80.0), estimate(82.1), "better"),
        ("accuracy", estimate(99.9), estimate(99.6), "worse"),
        ("accuracy", estimate(99.9), estimate(99.75), "agrees"),
        ("accuracy", estimate(80.0, 4.0), estimate(77.3, 4.0), "agrees"),
        ("accuracy", estimate(90.0, 4.0), estimate(89.9, 4.0), "inconclusive"),
        ("accuracy", estimate(90.0, 4.0), estimate(86.0, 4.0), "worse"),
        ("accuracy", estimate(80.0, None), estimate(50.0), "inconclusive"),
        ("accuracy", estimate(80.0), estimate(50.0, None), "inconclusive"),
        ("1 - R2", estimate(0.3), estimate(0.2), "better"),
        ("R2", estimate(0.95), estimate(0.956), "better"),
        ("mean squared error", estimate(100.0), estimate(111.0), "worse"),
        ("seconds", estimate(1.0), estimate(0.01), "no verdict"),
        ("rank of F", estimate(100.0), estimate(50.0), "no verdict"),
        ("R2", estimate(0.9), None, "not rerun"),
    ],
)
def test_verdicts_follow_the_rule(quantity, paper, ours, expected):
    assert verdict(paper, ours, QUANTITIES[quantity]) == expected


def cell(method, paper, ours, column, why="", printed_in="paper"):
    about = ("study", "paper", "place", "set", "accuracy", method)
    number = (printed_in, "set", "accuracy", column)
    return Agreement(*about, paper, ours, number=number, explanation=why)


def test_each_printed_score_counts_once_and_is_compared_with_other_methods():
    cells = [
        cell("a, not measured", estimate(80.0), None, "a"),
        cell("a", estimate(80.0), estimate(81.0), "a"),
        cell("a, other rule", estimate(80.0), estimate(60.0), "a"),
        cell("b", estimate(90.0), estimate(90.0), "b"),
        cell("b, again", estimate(90.07), estimate(90.0), "b", printed_in="another paper"),
        cell("b, another number", estimate(90.1), None, "b", printed_in="a third paper"),
        cell("c", estimate(70.0), estimate(70.0), "c", "Not comparable, other data: x"),
    ]
    once = counted(cells)
    assert [each.method for each in once] == ["a", "b", "c", "b, another number"]
    assert printed_again(cells) == (5, 1)
    assert mismatched(once[:3], once[:3]) == {"better": 1, "worse": 1}


def test_the_numbers_that_two_papers_or_two_tables_print_are_known(kept):
    """DANK's default is printed again as tau = .01, and most of KNPL's scores by DANK's paper."""
    cells = gather(kept)
    assert printed_again(cells) == (595, 37)
    own = {paper: [c for c in cells if c.paper == paper] for paper in ("DANK", "KNPL")}
    assert {paper: printed_again(part)[1] for paper, part in own.items()} == {"DANK": 10, "KNPL": 0}
    first, second = ({each.score for each in counted(part)} for part in own.values())
    quantities = Counter(quantity for _, quantity, *_ in first & second)
    assert quantities == {"accuracy": 20, "training accuracy": 7}


def test_every_cell_that_differs_has_a_reason(kept):
    known = {text for text, _ in reasons()}
    for each in gather(kept):
        unknown = each.explanation not in known
        assert not (unknown and each.verdict in ("better", "worse", "not rerun")), each


def test_every_printed_number_is_a_cell_or_has_no_number(kept):
    cells = gather(kept)
    shown = {(cell.study, cell.quantity, cell.printed.text) for cell in cells if cell.printed}
    for name, study in studies().items():
        for row in printed(name).values() if study.comparison.printed else ():
            for quantity in set(row) & set(QUANTITIES):
                for text in row[quantity].values():
                    one = Estimate.printed(text, 1)
                    assert one is None or (name, quantity, one.text) in shown


@pytest.mark.parametrize(
    ("paper", "chosen", "as_printed"),
    [
        ("DANK", "dank-leaky:fixed/batch", "dank-printed:fixed/batch"),
        ("KNPL", "knpl-leaky:tuned/nearest", "knpl-printed:tuned/nearest"),
    ],
)
def test_the_findings_have_the_means_of_the_kept_results(kept, paper, chosen, as_printed):
    name, plain = f"{paper.lower()}-table-1", "svm:fixed/none"
    results, words = Results(studies()[name], kept[name]), toml("findings")[paper]["findings"]
    for ways, left_out in (
        ([plain, "svm-leaky:fixed/none", chosen], "spect"),
        ([plain, as_printed], ""),
    ):
        sets = [n for n in results.sets if results.has(n, ways[1]) and n != left_out]
        for mean in np.mean([results.shared(n, ways).mean(axis=1) for n in sets], axis=0):
            assert f"{mean:.1f} %" in words
