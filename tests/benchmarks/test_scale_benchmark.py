"""The benchmarks beyond the dense Gram matrix, on problems of toy size."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from benchmarks import scale
from benchmarks.registry import BENCHMARKS
from benchmarks.scale import DECOMPOSED, EXACT, LIBSVM, REFINED, contestants
from benchmarks.scale_sets import GENERATED, N_TEST, SETS, generated, prepared
from tests.benchmarks.computed import computed

TOY = {"set": GENERATED, "rows": 400, "seed": 0, "splits": 1}


@pytest.fixture
def eeg(tmp_path, monkeypatch):
    """A set of 4000 rows under EEG's name, with one wild value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    X[0, 2] = 1e6
    lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    with gzip.open(tmp_path / "eeg_eye_state.csv.gz", "wt") as target:
        target.write("\n".join(["a,b,c,target", *lines]) + "\n")
    monkeypatch.setenv("PLIANT_DATA", str(tmp_path))


def outcome(contestant, **params):
    return computed(contestant, {**TOY, **params})


def test_the_generated_set_is_what_its_description_says():
    X, y = generated(4000, 0)
    assert X.shape == (4000, 12)
    assert set(y) == {-1.0, 1.0}
    again, other = generated(4000, 0), generated(4000, 1)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, other[0])
    linear = LogisticRegression().fit(X, y).score(*other)
    machine = SVC(C=SETS[GENERATED].C, gamma=SETS[GENERATED].gamma).fit(X, y).score(*other)
    assert linear < 0.8 < 0.94 < machine < 1.0


def test_halves_are_disjoint_stratified_and_scaled_by_the_training_rows(eeg):
    first, again, other = (prepared({"set": "EEG", "seed": seed}) for seed in (0, 0, 1))
    assert first.X.shape == first.X_test.shape == (2000, 3)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert abs(int((first.y > 0).sum()) - int((first.y_test > 0).sum())) <= 1
    np.testing.assert_allclose(first.X.min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(first.X.max(axis=0), 1.0, atol=1e-12)


def test_clipping_takes_away_what_a_wild_value_does(eeg):
    for seed in range(20):
        bare = prepared({"set": "EEG unclipped", "seed": seed})
        if bare.X_test[:, 2].max() < 1.0:
            break  # the wild value is in the training half
    assert np.median(bare.X[:, 2]) < 1e-3
    assert 0.3 < np.median(prepared({"set": "EEG", "seed": seed}).X[:, 2]) < 0.7


def test_fewer_training_rows_are_the_first_ones():
    few, all_rows = prepared({**TOY, "most": 50}), prepared(TOY)
    np.testing.assert_array_equal(few.X, all_rows.X[:50])
    assert len(few.y_test) == N_TEST


@pytest.mark.slow
def test_every_machine_solves_the_generated_problem():
    found = {c.name: outcome(c) for c in contestants(2, {})}
    assert list(found) == [LIBSVM, EXACT, DECOMPOSED, REFINED]
    assert all(85.0 < result["accuracy (%)"] <= 100.0 for result in found.values())
    assert all(result["rows"] == 400 and result["±"] is None for result in found.values())
    assert found[REFINED]["accuracy (%)"] == pytest.approx(found[EXACT]["accuracy (%)"], abs=0.2)
    assert found[REFINED]["support (%)"] == pytest.approx(found[EXACT]["support (%)"], abs=1.0)
    assert found[DECOMPOSED]["parts"] == 2
    assert 60.0 < found[DECOMPOSED]["predicted whole (%)"] <= 100.0
    for name in (EXACT, DECOMPOSED, REFINED):
        assert 0.0 <= float(found[name]["relative gap"]) <= 1e-4


def test_the_accuracy_is_the_mean_over_the_splits(eeg):
    libsvm = contestants(2, {})[0]
    one = [outcome(libsvm, set="EEG", seed=seed)["accuracy (%)"] for seed in range(3)]
    together = outcome(libsvm, set="EEG", splits=3)
    assert together["accuracy (%)"] == pytest.approx(np.mean(one))
    assert float(together["±"]) == pytest.approx(np.std(one, ddof=1), abs=0.005)


def test_the_cases_hold_what_was_asked_for():
    names = [case.name for case in BENCHMARKS["scale"].cases(False)]
    assert names == ["generated, 50000 rows", "generated, 200000 rows"]
    cases = BENCHMARKS["scale"].cases(True)
    assert len(cases) == len(SETS) - 1 + 2
    for case in cases:
        assert [c.name for c in case.contestants] == [LIBSVM, EXACT, DECOMPOSED, REFINED]
        assert case.warm_up["most"] < 1000
        goals = {c.name: c.goal for c in case.contestants if c.goal is not None}
        assert goals == (
            {EXACT: 2.0} if case.name.startswith("EEG")
            else {DECOMPOSED: 0.2} if case.name.startswith(GENERATED)
            else {}
        )  # fmt: skip


def test_exponents_are_slopes_between_the_logarithms():
    sizes = (5000, 20_000, 40_000, 80_000)
    found = [
        {"processor_seconds": 1e-8 * n**2, "peak_bytes": 100 * n, "result": {"accuracy (%)": 90.0}}
        for n in sizes
    ]
    grown = scale.grown(sizes, found)
    assert grown["exponent of time"] == pytest.approx(2.0)
    assert grown["exponent of memory"] == pytest.approx(1.0)
    assert grown["80000 rows (s)"] == pytest.approx(64.0)
    assert grown["5000 rows (MB)"] == pytest.approx(0.5)
    found[3] = {"error": "not done after 1800 s"}
    shorter = scale.grown(sizes, found)
    assert shorter["exponent of time"] == pytest.approx(2.0)
    assert "80000 rows (s)" not in shorter


@pytest.mark.slow
def test_growth_is_measured_in_processes_of_their_own(in_process):
    (case,) = BENCHMARKS["scale-growth"].cases(False)
    decomposed = next(c for c in case.contestants if c.name == DECOMPOSED)
    params = {**case.params, **decomposed.params, "sizes": (300, 600)}
    call, describe = scale.fits(params)
    result = describe(call())
    assert len(in_process) == 2
    assert result["300 rows (s)"] > 0.0
    assert 70.0 < result["600 rows (%)"] <= 100.0
    assert np.isfinite(result["exponent of time"])
