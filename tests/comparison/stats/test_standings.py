"""Places, standard errors and tests from their formulas, and the sentences made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import Protocol
from pliant.comparison.report.sentences import sentence
from pliant.comparison.stats.standings import standings
from tests.comparison.comparison_cases import entry, ranked, record

SVM = [0.90, 0.88, 0.91, 0.87, 0.92, 0.89, 0.90, 0.88, 0.93, 0.90]
BETTER = [0.96, 0.95, 0.97, 0.94, 0.96, 0.95, 0.97, 0.93, 0.98, 0.96]
ALIKE = [0.91, 0.87, 0.92, 0.88, 0.91, 0.90, 0.89, 0.89, 0.92, 0.91]
WORSE = [0.80, 0.79, 0.83, 0.78, 0.80, 0.79, 0.82, 0.80, 0.81, 0.79]
DUMMY = [0.50, 0.52, 0.49, 0.51, 0.50, 0.50, 0.53, 0.48, 0.50, 0.51]


def place(found, name):
    return next(standing for standing in found if standing.method.name == name)


def said(scores, metric="accuracy", **options):
    return sentence(ranked(scores, metric, **options), METRICS[metric])


def corrected(first, second, share=0.25):
    d = np.subtract(first, second)
    error = np.sqrt((1 / len(d) + share) * d.var(ddof=1))
    return error, 2 * stats.t.sf(abs(d.mean() / error), len(d) - 1)


def test_the_best_mean_comes_first_and_no_score_last():
    found = ranked({"tkl": [None] * 10, "linear": WORSE, "svm": SVM, "dank": BETTER})
    assert [each.method.name for each in found] == ["dank", "svm", "linear", "tkl"]
    assert [each.rank for each in found] == [1, 2, 3, None]
    assert [each.folds for each in found] == [10, 10, 10, 0]
    assert {each.planned for each in found} == {10}
    last = found[-1]
    assert (last.mean, last.error, last.difference, last.p_value, last.wilcoxon) == (None,) * 5


def test_equal_means_share_a_rank_in_the_order_of_names():
    found = ranked({"tkl": [0.8, 0.9], "dank": [0.85, 0.85], "svm": [0.8, 0.8]}, folds=2, repeats=1)
    assert [(each.method.name, each.rank) for each in found] == [
        ("dank", 1),
        ("tkl", 1),
        ("svm", 3),
    ]


def test_the_standard_error_is_nadeau_and_bengios():
    found = place(ranked({"svm": SVM}), "svm")
    assert found.mean == pytest.approx(np.mean(SVM), rel=1e-14)
    assert found.error == pytest.approx(
        np.sqrt((1 / 10 + 20 / 80) * np.var(SVM, ddof=1)), rel=1e-12
    )
    assert place(ranked({"svm": SVM[:1]}), "svm").error is None


def test_rows_of_each_fold_count():
    """As in the order of time: n_test / n_train is the mean of 1, 1/2 and 1/4."""
    rows = [(20, 20), (40, 20), (80, 20)]
    cells = [
        record(name, 0, k, {"accuracy": score}, train=train, test=test)
        for name, scores in (("svm", SVM), ("dank", ALIKE))
        for k, ((train, test), score) in enumerate(zip(rows, scores, strict=False))
    ]
    protocol = Protocol(folds=3, repeats=1)
    found = standings([entry("svm"), entry("dank")], cells, METRICS["accuracy"], protocol)
    error, p_value = corrected(ALIKE[:3], SVM[:3], share=1.75 / 3)
    assert place(found, "dank").difference_error == pytest.approx(error, rel=1e-12)
    assert place(found, "dank").p_value == pytest.approx(p_value, rel=1e-10)
    spread = np.sqrt((1 / 3 + 1.75 / 3) * np.var(SVM[:3], ddof=1))
    assert place(found, "svm").error == pytest.approx(spread, rel=1e-12)


def test_tests_against_the_reference_are_adjusted_over_the_methods():
    found = ranked({"dummy": DUMMY, "svm": SVM, "dank": ALIKE, "tkl": BETTER})
    raw = {name: corrected(x, SVM)[1] for name, x in (("dank", ALIKE), ("tkl", BETTER))}
    assert place(found, "dank").p_value == pytest.approx(raw["dank"], rel=1e-10)
    assert place(found, "tkl").p_value == pytest.approx(2 * raw["tkl"], rel=1e-10)
    assert place(found, "dummy").p_value == pytest.approx(3 * corrected(DUMMY, SVM)[1], rel=1e-9)
    tkl = place(found, "tkl")
    assert tkl.difference == pytest.approx(np.mean(BETTER) - np.mean(SVM), rel=1e-12)
    assert tkl.wilcoxon == pytest.approx(stats.wilcoxon(np.subtract(BETTER, SVM).round(9)).pvalue)
    assert (tkl.wins, tkl.ties, tkl.losses) == (10, 0, 0)
    svm = place(found, "svm")
    assert svm.is_reference
    assert (svm.difference, svm.p_value, svm.wilcoxon) == (None, None, None)


def test_only_common_cells_are_compared():
    """Two methods on the first four of ten folds, on which the reference does better than later."""
    svm = [0.95, 0.96, 0.97, 0.95, 0.7, 0.7]
    found = ranked({"svm": svm, "dank": [0.90, 0.92, 0.91, 0.90, *[None] * 6]})
    assert [each.method.name for each in found] == ["svm", "dank"]
    assert place(found, "svm").mean == pytest.approx(0.9575)
    assert place(found, "dank").difference == pytest.approx(-0.05)
    assert (place(found, "dank").wins, place(found, "dank").losses) == (0, 4)
    assert {each.folds for each in found} == {4}


def test_one_common_cell_is_no_test():
    found = place(ranked({"svm": [0.9, None, 0.8], "dank": [0.95, 0.9, None]}), "dank")
    assert (found.difference, found.p_value, found.wilcoxon) == (None, None, None)


def test_equal_differences_on_few_folds_are_not_certain():
    """The t test has no variance to go by; a sign test of 2 or 5 wins is not below 0.05."""
    for n in (2, 5):
        found = ranked({"svm": [0.8] * n, "dank": [0.9] * n}, folds=n, repeats=1)
        assert place(found, "dank").p_value == 2.0 ** (1 - n)
    alike = place(ranked({"svm": SVM, "dank": SVM}), "dank")
    assert (alike.p_value, alike.wilcoxon, alike.ties, alike.difference) == (1.0, 1.0, 10, 0.0)


def test_without_the_reference_the_best_baseline_takes_its_place():
    found = ranked({"dummy": DUMMY, "linear": WORSE, "dank": SVM})
    assert [each.method.name for each in found if each.is_reference] == ["linear"]
    found = ranked({"svm": [None] * 10, "dummy": DUMMY, "forest": ALIKE, "dank": SVM})
    assert [each.method.name for each in found if each.is_reference] == ["forest"]
    found = ranked({"dank": SVM, "tkl": BETTER})
    assert not any(each.is_reference for each in found)
    assert all(each.p_value is None for each in found)


def test_the_smaller_error_is_better():
    found = ranked({"svm": [3.0, 3.5], "dank": [2.0, 2.4]}, "rmse", folds=2, repeats=1)
    assert [each.method.name for each in found] == ["dank", "svm"]
    assert place(found, "dank").difference == pytest.approx(1.05)
    assert place(found, "dank").wins == 2


def test_a_metric_that_some_cells_have_not():
    scores = [{"accuracy": 0.9, "log_loss": loss} for loss in (0.3, None, 0.5)]
    cells = [record("svm", 0, k, each) for k, each in enumerate(scores)]
    cells += [record("dank", 0, k, {"accuracy": 0.8, "log_loss": None}) for k in range(3)]
    methods, protocol = [entry("svm"), entry("dank")], Protocol(folds=3, repeats=1)
    svm, dank = standings(methods, cells, METRICS["accuracy"], protocol)
    assert svm.means["log_loss"] == pytest.approx(0.4)
    assert svm.errors["log_loss"] == pytest.approx(np.sqrt((1 / 2 + 1 / 4) * 0.02))
    assert (dank.means["log_loss"], dank.errors["log_loss"], dank.means["auc"]) == (None,) * 3
    by_loss = standings(methods, cells, METRICS["log_loss"], protocol)
    assert [each.rank for each in by_loss] == [1, None]
    assert by_loss[1].folds == 3


def test_costs_are_medians_and_the_gap_is_the_largest():
    facts = [
        {"support": 30, "gap": 1e-6, "memory_mb": 5.0, "size_bytes": 10},
        {"support": 50, "gap": 1e-3, "memory_mb": None, "size_bytes": 30},
        {"support": 40, "gap": None, "memory_mb": 7.0, "size_bytes": 90},
    ]
    times = [{"search": 1.0, "fit": t, "predict": 0.1, "total": 9.0} for t in (5.0, 1.0, 2.0)]
    cells = [
        record("dank", 0, k, {"accuracy": 0.9}, **fact, seconds=time)
        for k, (fact, time) in enumerate(zip(facts, times, strict=True))
    ]
    (dank,) = standings([entry("dank")], cells, METRICS["accuracy"], Protocol(folds=3, repeats=1))
    assert (dank.support, dank.gap, dank.memory_mb, dank.size_bytes) == (40, 1e-3, 6.0, 30)
    assert dank.seconds == {"search": 1.0, "fit": 2.0, "predict": 0.1, "total": 9.0}


def test_scores_beyond_all_bounds_break_nothing():
    found = ranked({"svm": SVM, "dank": [-1e300, float("-inf"), *SVM[2:]]}, "r2")
    dank = place(found, "dank")
    assert dank.folds == 9  # minus infinity is no score
    assert dank.rank == 2
    assert 0 < dank.p_value <= 1
    text = said({"svm": SVM, "dank": [-1e300, *SVM[1:]]}, "r2")
    assert text.startswith("Use the tuned Gaussian SVM: R2 0.898; no method is clearly better.")


def test_sentence_of_a_winner():
    scores = {"dummy": DUMMY, "svm": SVM, "dank": ALIKE, "tkl": BETTER}
    assert said(scores) == (
        "Use TKL: accuracy 0.957, better than the tuned Gaussian SVM (0.898) on all 10 folds. The "
        "difference of 0.059 ± 0.006 is significant (p < 0.001 after Holm's correction over 3 "
        "methods). The runner-up, DANK (0.900), is 0.057 ± 0.008 behind, which is significant "
        "(p < 0.001)."
    )
    assert said({"svm": SVM, "tkl": BETTER}).endswith("0.059 ± 0.006 is significant (p < 0.001).")
    some = [0.92, 0.91, 0.90, 0.90, 0.95, 0.92, 0.94, 0.90, 0.95, 0.93]
    assert "(0.898) on 9 of 10 folds. The difference of 0.024" in said({"svm": SVM, "tkl": some})


def test_sentence_of_no_winner():
    scores = {"dummy": DUMMY, "linear": WORSE, "svm": SVM, "dank": ALIKE}
    assert said(scores) == (
        "Use DANK: accuracy 0.900, the best of 4 methods. The difference of 0.002 ± 0.006 is not "
        "significant (p = 0.751 after Holm's correction over 3 methods). Linear is significantly "
        "worse than the tuned Gaussian SVM."
    )
    assert said({"svm": SVM, "linear": WORSE}) == (
        "Use the tuned Gaussian SVM: accuracy 0.898; no method is clearly better. The runner-up, "
        "Linear (0.801), is 0.097 ± 0.009 behind, which is significant (p < 0.001). Linear is "
        "significantly worse than the tuned Gaussian SVM."
    )
    names = ("a", "b", "c", "d", "e")
    many = {name: [score - k / 100 for score in WORSE] for k, name in enumerate(names)}
    assert "A, B, C and 2 more are significantly worse than" in said({"svm": SVM, **many})


def test_sentence_of_errors():
    scores = {"svm": [3.0, 3.5, 3.3], "dank": [2.9, 3.55, 3.2]}
    assert said(scores, "rmse", folds=3, repeats=1).startswith(
        "Use DANK: RMSE 3.217, the best of 2 methods. The difference of 0.050"
    )


def test_sentence_about_the_dummy():
    poor = [score - 0.1 for score in DUMMY]
    assert said({"dummy": DUMMY, "svm": SVM, "ldk": poor}).endswith(
        "Ldk is significantly worse than the tuned Gaussian SVM; Ldk has no better mean than the "
        "dummy."
    )
    barely = [0.51, 0.50, 0.52, 0.49, 0.51, 0.52, 0.50, 0.53, 0.49, 0.51]
    assert said({"dummy": DUMMY, "svm": barely}).endswith(
        "The tuned Gaussian SVM itself is not significantly better than the dummy."
    )
    assert said({"dummy": DUMMY, "ldk": poor}) == (
        "No method predicts better than the dummy, which has accuracy 0.504. Ldk is significantly "
        "worse than the dummy."
    )
    assert said({"dummy": DUMMY, "dank": BETTER}).startswith(
        "Use DANK: accuracy 0.957, the best of 2 methods. The difference of 0.453"
    )


@pytest.mark.parametrize("folds", [0, 1])
def test_sentence_of_too_few_folds(folds):
    scores = {"svm": SVM[:folds], "dank": BETTER[:folds]}
    expected = {
        0: "No method can be ranked.",
        1: "One fold is too early to recommend a method; so far DANK has accuracy 0.960, and the "
        "tuned Gaussian SVM 0.900.",
    }
    assert said(scores) == expected[folds]


def test_sentence_without_a_reference():
    assert said({"dank": SVM, "tkl": BETTER}).startswith(
        "Use TKL: accuracy 0.957, the best of 2 methods. The runner-up, DANK (0.898), is"
    )
    assert said({"svm": SVM}) == "Use the tuned Gaussian SVM: accuracy 0.898."
    assert "better than the baseline Random forest (0.898) on all" in said(
        {"forest": SVM, "tkl": BETTER}
    )


def test_sentence_of_methods_that_did_not_finish():
    """Without DANK, which has one fold, there are four instead of one."""
    cut = [*BETTER[:4], *[None] * 6]
    none = [None] * 10
    scores = {"svm": SVM, "tkl": cut, "dank": [*BETTER[:1], *none[1:]], "osk": none, "ldk": none}
    text = said(scores, status={"tkl": "cut", "dank": "cut", "osk": "error", "ldk": "cut"})
    assert text == (
        "Use TKL: accuracy 0.955, better than the tuned Gaussian SVM (0.890) on all 4 folds. The "
        "difference of 0.065 ± 0.004 is significant (p < 0.001). DANK is below the line, without "
        "a rank: it has 1 of 4 common folds; Ldk finished no fold; Osk failed."
    )


def test_sentence_asks_for_a_level_between_0_and_1():
    found = ranked({"svm": SVM})
    with pytest.raises(ValueError, match=r"0 < level < 1, got 5"):
        sentence(found, METRICS["accuracy"], level=5)


def test_a_level_decides_what_is_beyond_chance():
    found = ranked({"svm": SVM, "tkl": BETTER})
    p_value = place(found, "tkl").p_value
    assert "is not significant" in sentence(found, METRICS["accuracy"], level=p_value)
    larger = [replace(each, p_value=each.p_value and 0.04) for each in found]
    assert "is significant (p = 0.04)" in sentence(larger, METRICS["accuracy"])
