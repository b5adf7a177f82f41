"""The benchmarks of learning from side information, on made-up problems of toy size."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import supervised_closed, supervised_large
from benchmarks.registry import BENCHMARKS
from benchmarks.supervised_sets import UNKNOWN, adult, generated, random_pairs, some_known
from pliant import SCGLogDetLearner
from pliant.comparison.run.memory import reset_peak_memory
from tests.benchmarks.computed import computed
from tests.reference.naive_supervision import by_inverses, laplacian, target_of_labels


def cases_of(name):
    return {case.name: case for case in BENCHMARKS[name].cases(False)}


def test_the_peer_of_the_closed_form_is_the_paper_s():
    K0, known = supervised_closed.given({"rows": 30, "labels": 12, "seed": 0, "data": False})
    y = known.labels
    K, Q = by_inverses(K0, laplacian(target_of_labels(y)), 1.0)
    for again in (True, False):
        found = supervised_closed.by_inverses(K0, known, again=again)
        np.testing.assert_allclose(found.gram, K, atol=1e-9)
        np.testing.assert_allclose(found.matrix, Q, rtol=1e-5, atol=1e-5)


def test_contestants_of_the_closed_form_learn_one_kernel():
    case = cases_of("supervised-closed")["1605 points, 200 labels, generated"]
    params = {**case.params, "rows": 60, "labels": 20, "times": 1}
    found = {c.name: computed(c, params) for c in case.contestants}
    losses = [each["loss <K, S>"] for each in found.values() if "loss <K, S>" in each]
    assert losses == pytest.approx([losses[0]] * 4, rel=1e-6)
    assert float(found["pliant"]["K0 + K0 Q K0 off K by"]) < 1e-12
    assert (
        found["pliant, whole fit"]["objective"] > found["pliant, fit by default"]["objective"] > 0
    )
    goals = {c.name: c.goal for c in case.contestants if c.goal}
    assert goals == {"pliant": 3.0}


def test_sizes_and_labels_of_the_closed_form_grow_one_at_a_time():
    sizes = [(c.params["rows"], c.params["labels"]) for c in cases_of("supervised-closed").values()]
    assert len(set(sizes)) == len(sizes) == 8
    assert [rows for rows, _ in sizes[:4]] == [400, 800, 1605, 2265]
    assert sizes[2] == (1605, 200)
    assert sizes[4:] == [(1605, labels) for labels in (80, 400, 800, 1605)]


def test_large_fits_tell_time_memory_and_what_is_missed():
    reset_peak_memory()  # what other tests held is not theirs
    case = cases_of("supervised-large")["100000 points, 256 landmarks"]
    assert case.params["rows"] == 100_000
    assert case.params["pairs"] == 200_000
    params = {**case.params, "rows": 400, "landmarks": 30, "pairs": 500}
    found = {c.name: computed(c, params) for c in case.contestants}
    assert len(found) == 5
    for each in found.values():
        assert 0.05 < each["whole process (GiB)"] < 4
        assert 0 < each["share of tr K0 missed"] < 1
    assert found["10% labelled"]["strength"] == found["all labelled"]["strength"] == 100


@pytest.mark.parametrize("case", BENCHMARKS["supervised-growth"].cases(False), ids=lambda c: c.name)
def test_growth_is_the_exponent_of_all_sizes(case):
    params = {**case.params, "sizes": (130, 260), "new": 10}
    unit = "s" if case.name == "fit" else "us"
    names = [f"{size} points ({unit})" for size in (130, 260)]
    for contestant in case.contestants:
        found = computed(contestant, params)
        assert list(found) == ["exponent", *names]
        few, many = (found[name] for name in names)
        assert found["exponent"] == pytest.approx(np.log2(many / few))


def test_the_exponent_is_that_of_a_power_law():
    sizes = (10, 100, 1000)
    found = supervised_large.grown(sizes, [3.0 * size**1.7 for size in sizes], "s")
    assert found["exponent"] == pytest.approx(1.7)
    assert found["100 points (s)"] == pytest.approx(3.0 * 100**1.7)


def test_all_points_as_landmarks_miss_nothing():
    case = cases_of("supervised-large")["3000 points, strength 100"]
    contestant = replace(case.contestants[1], params={})
    params = {**case.params, "rows": 60}
    every, some = (computed(contestant, {**params, "landmarks": m}) for m in (60, 20))
    assert every["error of K"] < 1e-8
    assert 1e-3 < some["error of K0"] < 1
    assert some["amplified by"] == pytest.approx(some["error of K"] / some["error of K0"])


def test_landmarks_give_nystroem_s_matrix_before_learning():
    X, y = generated(50, seed=0)
    fitted = SCGLogDetLearner(strength=1.0, n_landmarks=50, random_state=0).fit(X, y)
    found = supervised_large.nystroem(fitted, X)
    np.testing.assert_allclose(found, fitted.kernel_.base(X), atol=1e-10)


def test_generated_adult_has_one_feature_of_each_group():
    X, y = adult({"rows": 400, "data": False, "seed": 3})
    assert X.shape == (400, 123)
    assert set(np.unique(X)) == {0.0, 1.0}
    assert np.all(X.sum(axis=1) == 14)
    assert y.mean() == pytest.approx(0.25, abs=0.01)


def test_adult_is_read_from_the_data_folder(tmp_path, monkeypatch):
    rows = "".join(f"{k % 2},1,{1 if k % 3 else -1}\n" for k in range(30))
    (tmp_path / "adult_a1a.csv.gz").write_bytes(gzip.compress(f"a,b,target\n{rows}".encode()))
    monkeypatch.setenv("PLIANT_DATA", str(tmp_path))
    X, y = adult({"rows": 20, "data": True, "seed": 0})
    assert X.shape == (20, 2)
    assert set(y) == {0, 1}


def test_pairs_are_of_different_points_and_tell_their_classes():
    y = generated(200, seed=1).y
    similar, dissimilar = random_pairs(y, 500, seed=2)
    assert 400 < len(similar) + len(dissimilar) <= 500
    assert np.all(similar[:, 0] < similar[:, 1])
    assert np.all(y[similar[:, 0]] == y[similar[:, 1]])
    assert np.all(y[dissimilar[:, 0]] != y[dissimilar[:, 1]])


def test_so_many_labels_are_known():
    y = generated(50, seed=1).y
    known = some_known(y, 17, seed=0)
    assert np.sum(known.labels == UNKNOWN) == 33
    assert np.array_equal(known.classes[known.labels[known.known]], y[known.known])
