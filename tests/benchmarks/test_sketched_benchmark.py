"""The benchmark of kernel ridge regression on centres, on a problem of toy size."""

from __future__ import annotations

import pytest

from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import computed


@pytest.mark.parametrize("name", ["sketched", "sketched-large"])
def test_every_contestant_solves_the_same_problem(name):
    case = BENCHMARKS[name].cases(False)[0]
    small = {**case.params, "rows": 400, "centres": 30, "features": 3, "alpha": 0.1}
    found = {each.name: computed(each, small) for each in case.contestants}
    assert len(found) == {"sketched": 5, "sketched-large": 1}[name]
    scores = [result["test R2"] for result in found.values()]
    assert max(scores) - min(scores) < 1e-6
    assert 0.5 < min(scores) <= max(scores) < found[case.contestants[-1].name]["R2 of the function"]
    for contestant in case.contestants:
        if "options" in contestant.params:
            result, tol = found[contestant.name], contestant.params["options"].get("tol", 1e-6)
            assert float(result["certified error"]) <= tol
            assert result["passes"] >= result["iterations"]
