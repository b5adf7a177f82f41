"""The benchmark of the search: both ways find the same."""

import pytest

from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import computed


@pytest.mark.parametrize("method", ["osk", "scg-ldk"])
def test_both_searches_find_the_same(method):
    name = f"{method}, generated, 300 rows"
    case = next(case for case in BENCHMARKS["search-sharing"].cases(False) if case.name == name)
    alone, shared = (computed(each, case.warm_up) for each in case.contestants)
    assert alone == shared
    assert 0.5 < alone["score"] <= 1.0
    assert 15 <= alone["candidates"] <= 32


def test_sets_are_used_where_they_are():
    cases = BENCHMARKS["search-sharing"].cases(True)
    assert len(cases) == 12
    assert {case.params["problem"] for case in cases} == {
        "sonar", "breast_cancer_wdbc", "german_numeric",
    }  # fmt: skip
