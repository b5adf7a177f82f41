"""Cells of the papers: how they are read, judged and explained."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from papers.agreement import (
    AGREES,
    BETTER,
    DIFFERS,
    NOT_RERUN,
    OPEN,
    OURS,
    QUANTITIES,
    UNKNOWN,
    WORSE,
    Agreement,
    Reason,
    explained,
    fits,
    reasons,
)
from papers.data import Estimate, toml
from papers.overview.overview import PAPERS, cells, counts, gather, kept_documents
from papers.overview.profiles import LEFT_OUT, full, quick
from papers.overview.tables import averages, gaps, grids, numbered
from papers.studies import STUDIES

SPEED = Path(__file__).parents[2] / "benchmarks" / "results"
RESULTS = Path(__file__).parents[2] / "papers" / "results"


@pytest.fixture(scope="module")
def kept():
    return kept_documents(RESULTS, SPEED)


@pytest.fixture(scope="module")
def found(kept):
    return gather(kept, {}, "kept")


def cell(printed, measured, quantity="accuracy", repeats=10, **fields):
    """Return a cell of made-up numbers; a pair is a mean and its spread."""

    def estimate(pair):
        mean, spread = pair
        return Estimate(mean, spread, repeats, f"{mean}±{spread}")

    both = [None if pair is None else estimate(pair) for pair in (printed, measured)]
    return Agreement("s", "P", "Table 1", "a", quantity, "M", *both, **fields)


@pytest.mark.parametrize(
    ("text", "mean", "spread", "shown"),
    [
        ("81.2±1.4•", 81.2, 1.4, "81.2±1.4"),
        (".9990±.00005", 0.999, 0.00005, ".9990±.00005"),
        ("96.7 (36)", 96.7, None, "96.7"),
        ("85.5±0.8 (68)•", 85.5, 0.8, "85.5±0.8"),
        ("0.01", 0.01, None, "0.01"),
    ],
)
def test_printed_cells_are_read(text, mean, spread, shown):
    read = Estimate.printed(text, 10)
    assert (read.mean, read.spread, read.text, read.repeats) == (mean, spread, shown, 10)


@pytest.mark.parametrize("text", ["N/A", "", "×", "–"])
def test_a_cell_without_a_number_is_none(text):
    assert Estimate.printed(text, 10) is None


@pytest.mark.parametrize(
    ("printed", "measured", "quantity", "verdict"),
    [
        ((80.0, 1.0), (80.9, 1.0), "accuracy", AGREES),  # within a point
        ((80.0, 1.0), (81.1, 1.0), "accuracy", BETTER),  # 2.5 standard errors of .45
        ((80.0, 3.0), (82.0, 3.0), "accuracy", AGREES),  # 1.5 of 1.34
        ((80.0, 1.0), (77.0, 1.0), "accuracy", WORSE),
        ((80.0, 1.0), (65.0, 40.0), "accuracy", AGREES),  # 15 points, with any spread
        ((80.0, 1.0), (59.0, 40.0), "accuracy", WORSE),
        ((0.90, 0.01), (0.65, 0.90), "R2", WORSE),
        ((0.30, 0.01), (0.35, 0.01), "1 - R2", WORSE),
        ((0.30, 0.01), (0.25, 0.01), "1 - R2", BETTER),
        ((0.950, 0.001), (0.959, 0.001), "R2", AGREES),
        ((10.0, 0.01), (10.4, 0.01), "mean squared error", AGREES),
        ((10.0, 0.01), (10.6, 0.01), "mean squared error", WORSE),
        ((5.0, None), (9.0, 0.5), "rank of F", DIFFERS),
        ((5.0, None), (6.0, 0.1), "rank of F", AGREES),
        ((30.0, 100.0), (11.0, 1.0), "seconds", AGREES),
        ((30.0, 100.0), (9.0, 1.0), "seconds", BETTER),
        ((1.0, 100.0), (4.0, 1.0), "seconds", WORSE),
        (None, (80.0, 1.0), "accuracy", OURS),
        ((80.0, 1.0), None, "accuracy", NOT_RERUN),
    ],
)
def test_the_verdict_follows_the_numbers(printed, measured, quantity, verdict):
    assert cell(printed, measured, quantity).verdict == verdict


def test_one_split_of_ours_has_the_papers_spread():
    assert cell((80.0, 3.0), (85.0, None), repeats=1).verdict == AGREES
    assert cell((80.0, None), (85.0, None), repeats=1).verdict == BETTER


def test_every_study_has_kept_results(kept):
    assert set(STUDIES) <= set(kept)


@pytest.mark.parametrize("name", [*STUDIES, "tessellated-sdp"])
def test_the_kept_documents_become_cells(kept, name):
    own = list(cells(kept[name], kept))
    assert own
    assert len({each.key for each in own}) == len(own)
    assert {each.study for each in own} == {name}
    assert {each.paper for each in own} <= set(PAPERS)
    assert any(each.measured for each in own)


def test_some_cells_are_those_of_the_pages(found):
    wanted = {
        ("dank-table-1", "Table 1", "diabetic", "accuracy", "DANK, ranked among training points"):
            ("81.2±1.4", "67.9±2.4", "71.8", WORSE),
        ("dank-table-5", "Table 5", "wine", "rank of F", "tau = 0, ranked among training points"):
            ("5", "42±11", "", DIFFERS),
        ("tkl-tables-3-4", "Table 4", "german", "accuracy", "RF"):
            ("74.90±1.35", "73.9±2.1", "74.6", AGREES),
        ("scg-table-3", "Table 3", "Wine", "accuracy", "Gaussian"):
            ("95.7±2.0", "97.5±1.9", "", BETTER),
        ("dank-table-4", "Table 4", "covtype", "accuracy", "DANK scalable"):
            ("97.1", "", "", NOT_RERUN),
        ("lab-rbf-defaults", "our study of the defaults", "ccpp", "R2", "LAB-RBF, defaults"):
            ("", "0.9620±0.0036", "0.9682", OURS),
    }  # fmt: skip
    by_key = {each.key: each for each in found}
    for key, expected in wanted.items():
        one = by_key[key]
        texts = (one.printed, one.measured)
        shown = [each.text if each else "" for each in texts]
        assert (*shown, one.baseline.short if one.baseline else "", one.verdict) == expected


def test_every_disagreement_of_the_kept_results_is_explained(found):
    for each in found:
        if each.verdict not in (AGREES, OURS):
            assert each.explanation, each.key
            assert each.explanation != UNKNOWN, each.key


def test_every_reason_fits_some_kept_cell_or_a_measurable_one(found):
    used = {each.explanation for each in found}
    unused = [reason.whole for reason in reasons() if reason.whole not in used]
    assert len(unused) <= 5, unused


def test_an_unexplained_reason_says_so():
    assert any(reason.whole.startswith(OPEN) for reason in reasons())
    assert all(reason.whole.endswith(".") for reason in reasons())


def test_a_new_disagreement_is_called_unknown():
    (one,) = explained([cell((80.0, 1.0), (60.0, 1.0))])
    assert one.explanation == UNKNOWN
    (agreeing,) = explained([cell((80.0, 1.0), (80.0, 1.0))])
    assert agreeing.explanation == ""


def test_patterns_of_a_reason_may_be_several():
    one = cell((80.0, 1.0), (60.0, 1.0))
    assert fits(Reason(text="x.", patterns={"set": "b|a", "method": "M*"}), one)
    assert not fits(Reason(text="x.", patterns={"set": "b|c"}), one)
    assert not fits(Reason(text="x.", patterns={"verdict": "better"}), one)


def test_fresh_cells_take_the_place_of_kept_ones(kept):
    document = json.loads(json.dumps(kept["scg-table-4"]))
    document["results"] = [r for r in document["results"] if r["set"] == "Wine"]
    document["sets"] = ["Wine"]
    both = gather(kept, {"scg-table-4": document}, "quick")
    sources = {each.set: each.source for each in both if each.study == "scg-table-4"}
    assert sources.pop("Wine") == "quick"
    assert set(sources.values()) == {"kept"}
    assert len(both) == len(gather(kept, {}, "kept"))


def test_counts_add_up(found):
    table = counts(found)
    assert sum(row["all"] for row in table.values()) == len(found)
    assert all(row["all"] == sum(v for k, v in row.items() if k != "all") for row in table.values())


def test_grids_hold_every_measured_cell_once(found):
    for paper in PAPERS:
        own = [each for each in found if each.paper == paper]
        shown = [s for g in grids(own, numbered(own)) for _, row in g.rows for s in row]
        assert sum(" / " in each.text for each in shown) >= sum(bool(c.measured) for c in own)


def test_gaps_name_method_or_set_and_the_reason(found):
    said = {
        paper: "\n".join(gaps([each for each in found if each.paper == paper]))
        for paper in ("DANK", "KNPL")
    }
    assert "Table 1: DMKL (15 cells). The formulas of deep multiple" in said["KNPL"]
    assert "Table 4: covtype (10 cells). No copy" in said["DANK"]
    assert "Table 4: ijcnn1_train_12of22 (4 cells). Out of reach" in said["DANK"]


def test_averages_are_means_over_the_sets(found):
    own = [each for each in found if each.study == "dank-table-1"]
    dank = next(each for each in averages(own) if "ranked among" in each.method)
    assert (dank.sets, dank.printed, dank.measured, dank.baseline) == (10, "85.7", "81.9", "82.2")


def test_a_mean_needs_a_number_on_every_set():
    both = [cell((80.0, 1.0), (80.0, 1.0)), replace(cell(None, (90.0, 1.0)), set="b")]
    (mean,) = averages(both)
    assert (mean.sets, mean.printed, mean.measured) == (2, "–", "85.0")


def test_what_is_missing_has_a_paper_and_a_reason():
    entries = toml("missing")["missing"]
    assert all(each["paper"] in PAPERS and each["place"] and each["reason"] for each in entries)
    assert len(entries) == 8


def test_quantities_have_an_order_and_a_form():
    assert all(format(1.5, each.form) for each in QUANTITIES.values())


def test_the_full_profile_is_everything():
    assert {part.study: part.sets for part in full()} == {k: v.sets for k, v in STUDIES.items()}


def test_the_quick_profile_fits_into_its_time_and_has_every_table(kept):
    parts = {part.study: part for part in quick(kept, seconds=500.0, repeats=2)}
    assert set(parts) == set(STUDIES) - set(LEFT_OUT)
    assert all(
        set(part.sets) <= set(STUDIES[name].sets) and part.sets for name, part in parts.items()
    )
    less = {part.study: part for part in quick(kept, seconds=1.0, repeats=2)}
    assert all(len(part.sets) == 1 for part in less.values())
    assert sum(len(part.sets) for part in parts.values()) > len(less)


def test_studies_that_share_measurements_pay_once():
    def document(*contestants):
        return {"results": [
            {"contestant": who, "set": name, "seconds": [seconds]}
            for who in contestants for name, seconds in (("heart", 10.0), ("wine", 20.0))
        ]}  # fmt: skip

    kept = {"dank-table-1": document("svm"), "dank-table-2": document("svm")}
    parts = quick(kept, seconds=31.0, repeats=1)
    assert [(part.study, part.sets) for part in parts] == [
        ("dank-table-1", ("heart", "wine")),
        ("dank-table-2", ("heart", "wine")),
    ]
