"""The benchmarks themselves, on problems of toy size."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from benchmarks.harness.spec import Contestant
from benchmarks.problems import SPEED, gaussian_gram, two_classes
from benchmarks.registry import BENCHMARKS
from tests.benchmarks.computed import computed

TOY = {"problem": SPEED, "rows": 80, "seed": 0, "gamma": 3.0, "C": 8.0, "violation": 1e-3}


def results(benchmark):
    case = BENCHMARKS[benchmark].cases(False)[0]
    return {c.name: computed(c, TOY) for c in case.contestants}


def test_every_contestant_of_speed_solves_its_problem():
    found = results("speed")
    assert len(found) == 4
    assert found["pliant SVM"]["objective"] == pytest.approx(
        found["scikit-learn SVC"]["objective"], rel=1e-5
    )
    assert found['DANK, eta="auto"']["objective"] == pytest.approx(
        found["DANK, eta given"]["objective"], rel=1e-4
    )
    assert found["DANK, eta given"]["objective"] < found["pliant SVM"]["objective"]
    for result in found.values():
        assert 0 <= result["gap"] < 1e-2 * result["objective"]
        assert 0 < result["support"] <= 80


def test_every_contestant_fits_a_given_matrix():
    found = results("precomputed")
    assert len(found) == 5
    for name in ("plain SVM, ", "DANK, tau=0"):
        proved, assumed = (result for key, result in found.items() if key.startswith(name))
        assert proved == assumed


def test_warm_paths_end_where_cold_ones_do():
    found = results("paths")
    for label in ("C path", "gamma path"):
        cold, warm = found[f"{label}, cold"], found[f"{label}, warm"]
        assert warm["sum of objectives"] == pytest.approx(cold["sum of objectives"], rel=1e-4)
        assert warm["steps"] < cold["steps"]


def test_paths_use_the_data_folder_when_there_is_one():
    assert [case.name for case in BENCHMARKS["paths"].cases(False)] == [SPEED]
    names = [case.name for case in BENCHMARKS["paths"].cases(True)]
    assert names == [SPEED, "german_numeric", "pima_diabetes", "spambase"]
    assert len(BENCHMARKS["speed"].cases(True)) == len(BENCHMARKS["speed"].cases(False)) == 2


def test_every_benchmark_is_registered_under_its_name():
    assert list(BENCHMARKS) == [
        "speed",
        "precomputed",
        "paths",
        "adapted",
        "tessellated",
        "tessellated-large-c",
        "tessellated-gaps",
        "tessellated-gram",
        "tessellated-large",
        "tessellated-sdp",
        "local-gradient",
        "local-fit",
        "local-large",
        "local-costs",
        "parts",
        "sketched",
        "sketched-large",
        "log-det",
        "spectral-order",
        "supervised-closed",
        "supervised-large",
        "supervised-growth",
        "scale",
        "scale-growth",
        "mkl-growth",
        "search-sharing",
        "threads",
        "threads-control",
        "first-minutes",
        "collections",
        "collections-large",
        "file-predictions",
    ]
    assert all(name == benchmark.name for name, benchmark in BENCHMARKS.items())


def test_predictions_of_files_are_those_in_memory():
    toy = {"rows": 900, "features": 3, "learned": 200, "options": {"n_support": 10, "max_iter": 2}}
    found = computed(Contestant("files", "benchmarks.file_predictions:predicted"), toy)
    assert found["largest difference"] <= 1e-12
    assert found["peak of the process (MB)"] > 50


def test_two_classes_takes_a_seeded_share_of_a_set(tmp_path, monkeypatch):
    rows = "".join(f"{k},{10 * k},{1 if k % 2 else -1}\n" for k in range(20))
    (tmp_path / "tiny.csv.gz").write_bytes(gzip.compress(f"a,b,target\n{rows}".encode()))
    monkeypatch.setenv("PLIANT_DATA", str(tmp_path))
    params = {"problem": "tiny", "rows": 8, "seed": 1}
    (X, y), (again, _), (other, _) = (two_classes({**params, "seed": seed}) for seed in (1, 1, 2))
    assert X.shape == (8, 2)
    assert (X.min(), X.max()) == (0, 1)
    assert set(y) <= {-1.0, 1.0}
    assert np.array_equal(X, again)
    assert not np.array_equal(X, other)


def test_the_gram_matrix_is_exactly_symmetric():
    X, _ = two_classes({"problem": SPEED, "rows": 30, "seed": 0})
    gram = gaussian_gram(X, 3.0)
    assert np.array_equal(gram, gram.T)
    expected = np.exp(-3.0 * np.sum((X[3] - X[17]) ** 2))
    assert gram[3, 17] == pytest.approx(expected, rel=1e-12)


def test_a_cluster_learns_what_the_same_rows_in_memory_give():
    pytest.importorskip("distributed")
    from benchmarks.collections import extrapolated

    toy = {"rows": 2000, "features": 8, "workers": 2, "processes": False, "test_rows": 1000}
    toy["options"] = {"n_support": 20, "n_members": 2, "max_iter": 2}
    found = {
        name: computed(Contestant(name, f"benchmarks.collections:{name}"), toy)
        for name in ("in_memory", "on_a_cluster")
    }
    here, there = found["in_memory"], found["on_a_cluster"]
    assert there["test R2"] == pytest.approx(here["test R2"], abs=1e-6)
    assert there["partitions"] == 4
    assert there["sample (MB)"] == 2000 * 9 * 8 / 1e6
    assert there["fit (s)"] > there["learning (s)"] > 0
    facts = {"learning": 10.0, "workers": 90.0}
    facts = {f"processor, {name} (s)": seconds for name, seconds in facts.items()}
    facts["equations of a partition (MB)"] = 0.0
    seconds = [extrapolated(facts, 10**6, 10, workers) for workers in (1, 2, 100, 1000)]
    assert seconds[0] > seconds[1] > seconds[2] == seconds[3]  # there are 100 partitions
    assert seconds[2] == pytest.approx(10.0 + 9.0 + 0.6, abs=0.01)
