"""The benchmark of LDK, on made-up problems of toy size."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from benchmarks import log_det
from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import computed

TOY = {"set": "heart_statlog", "data": False, "labels": 25, "pairs": 200}


def test_every_contestant_solves_the_same_problem():
    found = [computed(c, TOY) for c in BENCHMARKS["log-det"].cases(False)[0].contestants]
    plain, full, ldk, *closed = found
    assert closed == [{}, {}]
    assert ldk["objective"] == pytest.approx(full["objective"], rel=1e-10)
    assert ldk["sweeps"] == full["sweeps"] <= 20
    assert 0 < ldk["gap"] <= 1e-3 * (1 + ldk["objective"])
    lower = ldk["objective"] - ldk["gap"]
    assert lower <= plain["objective"]
    assert plain["objective"] - plain["gap"] <= ldk["objective"]


def test_cases_grow_in_labels():
    names = [case.name for case in BENCHMARKS["log-det"].cases(True)]
    assert names[:2] == [
        "breast_cancer_wdbc, 569 labels, 8000 pairs",
        "breast_cancer_wdbc, 114 labels, 6441 pairs",
    ]
    assert names[-1] == "heart_statlog, 270 labels, 36315 pairs"
    assert BENCHMARKS["log-det"].cases(False)[-1].name.startswith("heart_statlog (made up), 270")


def test_a_set_is_standardised_and_some_labels_are_hidden(tmp_path, monkeypatch):
    rows = "".join(f"{k},{k * k % 7},{k % 2}\n" for k in range(30))
    (tmp_path / "tiny.csv.gz").write_bytes(gzip.compress(f"a,b,target\n{rows}".encode()))
    (tmp_path / "MANIFEST.json").write_text("{}")
    monkeypatch.setenv("PLIANT_DATA", str(tmp_path))
    X, y, pairs, signs = log_det.given({**TOY, "set": "tiny", "data": True, "labels": 8})
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(X.std(axis=0), 1)
    assert np.bincount(y + 1, minlength=3)[0] == 22
    assert pairs.shape == (28, 2)
    np.testing.assert_array_equal(signs > 0, y[pairs[:, 0]] == y[pairs[:, 1]])
