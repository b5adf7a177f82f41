"""The benchmark of OSK and SCG-OSK, on a few eigenvectors."""

import pytest

from benchmarks import spectral_order
from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import computed


def test_the_contestants_agree(monkeypatch):
    monkeypatch.setattr(spectral_order, "TIMES", 2)
    params = {"components": 6, "labels": 40}
    found = {
        c.name: computed(c, params)
        for c in BENCHMARKS["spectral-order"].cases(False)[0].contestants
    }
    assert list(found) == ["QCQP", "least squares", "linear program", "closed form"]
    alignment = found["least squares"]["alignment"]
    assert 0.0 < alignment < 1.0
    assert found["QCQP"]["alignment"] == pytest.approx(alignment, abs=1e-6)
    assert found["closed form"]["loss"] == pytest.approx(found["linear program"]["loss"], abs=1e-9)


def test_its_goal_is_on_least_squares():
    for case in BENCHMARKS["spectral-order"].cases(False):
        goals = {c.name: c.goal for c in case.contestants if c.goal is not None}
        assert goals == {"least squares": 10.0}
