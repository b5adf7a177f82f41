"""The benchmark of estimators in parts, on a problem of toy size."""

from __future__ import annotations

import pytest

from benchmarks.harness.worker import measure
from benchmarks.registry import BENCHMARKS


@pytest.mark.parametrize("method", ["KNPL", "TKL"])
def test_parts_are_nearly_as_good_as_all_samples(method):
    cases = BENCHMARKS["parts"].cases(False)
    case = next(each for each in cases if each.params["method"] == method)
    seen = []
    for each in case.contestants:
        params = {**case.params, **each.params, "rows": 400}
        if "n_parts" in params["options"]:
            params["options"] = {**params["options"], "n_parts": 3}
        call = {"function": each.function, "params": params, "warm_up": None}
        seen.append(measure(call)["result"])
    whole, parts = seen
    assert (whole["parts"], parts["parts"]) == (1, 3)
    assert min(whole["support points"], parts["support points"]) > 50
    assert abs(whole["accuracy (%)"] - parts["accuracy (%)"]) < 5.0
    assert min(whole["accuracy (%)"], parts["accuracy (%)"]) > 75.0
