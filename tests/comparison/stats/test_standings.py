"""Places, standard errors and tests from their formulas, and the sentences made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import Protocol
from pliant.comparison.standings import standings
from tests.comparison.comparison_cases import entry, ranked, record

SVM = [0.90, 0.88, 0.91, 0.87, 0.92, 0.89, 0.90, 0.88, 0.93, 0.90]
BETTER = [0.96, 0.95, 0.97, 0.94, 0.96, 0.95, 0.97, 0.93, 0.98, 0.96]
ALIKE = [0.91, 0.87, 0.92, 0.88, 0.91, 0.90, 0.89, 0.89, 0.92, 0.91]
WORSE = [0.80, 0.79, 0.83, 0.78, 0.80, 0.79, 0.82, 0.80, 0.81, 0.79]
DUMMY = [0.50, 0.52, 0.49, 0.51, 0.50, 0.50, 0.53, 0.48, 0.50, 0.51]


def place(found, name):
    return next(standing for standing in found if standing.method.name == name)


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
