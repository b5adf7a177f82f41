"""The benchmarks of TKL, on made-up problems of toy size."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from benchmarks import tessellated, tessellated_sdp
from benchmarks.algorithm2 import (
    GRIDS,
    Algorithm2,
    classifier,
    regressor,
    tessellated_blocks,
)
from benchmarks.harness.measuring import PEER_LIMIT, Settings
from benchmarks.harness.report import run, to_markdown
from benchmarks.harness.spec import Benchmark, Case, Contestant
from benchmarks.registry import BENCHMARKS
from benchmarks.tessellated_sets import SHAPES, learner, points_and_target, scaled
from pliant.kernels import TessellatedKernel
from tests.benchmarks.computed import computed

TOY = {"problem": "heart_statlog", "data": False, "C": 1.0, "rows": 30, "seed": 0}

BOX = (-0.5, 1.5)


def toy(task, rows=40):
    r = np.random.default_rng(3)
    X = r.random((rows, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
    X, y = scaled(X, np.where(y > np.median(y), 1.0, -1.0) if task == "binary" else y, task)
    return X, y, (regressor if task == "regression" else classifier)(y, 1.0)


def twin(task, **options):
    X, _, machine = toy(task)
    options = {"steps": GRIDS["fine"], **options}
    return Algorithm2(*tessellated_blocks(X, *BOX), machine, **options)


def test_the_peer_has_the_kernel_and_the_oracle_of_the_library():
    X, _, _ = toy("binary")
    peer, r = twin("binary"), np.random.default_rng(0)
    F, w = r.standard_normal((peer.size, 3)), r.standard_normal(len(X))
    kernel = TessellatedKernel(*BOX, factor=F)
    np.testing.assert_allclose(peer.gram(F @ F.T), kernel.gram(X), rtol=1e-11)
    np.testing.assert_allclose(peer.quadratic(w), kernel.quadratic(X, w), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("grid", ["even", "fine"])
def test_the_peer_brackets_the_certified_optimum(task, grid):
    X, y, _ = toy(task)
    model = learner(task, C=1.0, tol=1e-6, max_iter=2000).fit(X, y)
    peer = twin(task, steps=GRIDS[grid]).run()
    assert peer.lower <= model.objective_
    assert peer.upper >= model.lower_bound_
    assert peer.stopped in {"gap", "iterations"}
    assert peer.n_machines == 1 + 10 * peer.n_iter
    assert np.trace(peer.P) == pytest.approx(peer.size)
    if grid == "fine":
        assert peer.stopped == "gap"
        assert peer.gap <= 1e-3


@pytest.mark.parametrize(
    ("limits", "reason", "iterations"),
    [({"max_iter": 2}, "iterations", 2), ({"seconds": 0.0}, "time", 0)],
)
def test_the_peer_keeps_its_limits(limits, reason, iterations):
    peer = twin("regression", tol=1e-9, **limits).run()
    assert (peer.stopped, peer.n_iter) == (reason, iterations)


@pytest.fixture
def few_iterations(monkeypatch):
    """Let the peer of a benchmark stop after 20 iterations, so 200 support vector machines."""
    monkeypatch.setattr(tessellated, "Algorithm2", partial(Algorithm2, max_iter=20))


@pytest.mark.parametrize("problem", ["pima_diabetes", "airfoil"])
def test_contestants_of_the_speed_benchmark_solve_one_problem(problem, few_iterations):
    (case,) = (c for c in BENCHMARKS["tessellated"].cases(False) if c.params["problem"] == problem)
    found = [computed(c, {**TOY, "problem": problem}) for c in case.contestants]
    assert len(found) == 4
    assert all(float(f["relative gap"]) <= 1e-3 or f["stopped by"] != "gap" for f in found)
    lower = [f["objective"] * (1 - 1.1 * float(f["relative gap"])) for f in found]
    assert max(lower) <= min(f["objective"] for f in found)
    assert found[1]["objective"] == found[3]["objective"]
    assert found[0]["machines"] == 1 + 10 * found[0]["iterations"]


def test_a_peer_is_told_when_to_give_up(monkeypatch):
    contestant = BENCHMARKS["tessellated"].cases(False)[0].contestants[0]
    monkeypatch.setenv(PEER_LIMIT, "0")
    found = computed(contestant, TOY)
    assert (found["stopped by"], found["iterations"]) == ("time", 0)


def test_problems_tell_whether_they_are_made_up():
    for benchmark in (BENCHMARKS["tessellated"], BENCHMARKS["tessellated-gaps"]):
        assert all("made up" in case.name for case in benchmark.cases(False))
        assert not any("made up" in case.name for case in benchmark.cases(True))
        assert "made up" in benchmark.notes
    assert len(BENCHMARKS["tessellated"].cases(True)) == 6
    assert len(BENCHMARKS["tessellated-gaps"].cases(True)) == 22
    assert {c.params["C"] for c in BENCHMARKS["tessellated-large-c"].cases(True)} == {100.0}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_made_up_sets_have_the_shapes_of_the_real_ones(name):
    X, y, task = points_and_target({"problem": name, "data": False})
    assert (*X.shape, task) == SHAPES[name]
    assert (set(y) == {-1.0, 1.0}) is (task == "binary")
    some, _, _ = points_and_target({"problem": name, "data": False, "rows": 9, "seed": 0})
    assert some.shape == (9, X.shape[1])


def test_the_numpy_expressions_are_those_of_the_kernel():
    params = {"features": 3, "dtype": "float64", "rows": 25, "seed": 0}
    gram, _, single, _, quadratic, _ = BENCHMARKS["tessellated-gram"].cases(False)
    found = [computed(c, params) for c in (*gram.contestants, *quadratic.contestants)]
    assert all(float(f["relative error"]) < 1e-14 for f in found)
    found = [computed(c, {**params, "dtype": "float32"}) for c in single.contestants]
    assert [float(f["relative error"]) < 1e-6 for f in found] == [True] * 3


def test_the_gap_table_says_whether_the_gap_was_reached():
    (contestant,) = BENCHMARKS["tessellated-gaps"].cases(False)[0].contestants
    reached = computed(contestant, {**TOY, "asked": 1e-3})
    assert (reached["reached"], reached["rows"], reached["features"]) == ("yes", 30, 13)
    assert float(reached["relative gap"]) <= 1e-3
    assert computed(contestant, {**TOY, "asked": 1e-9})["reached"] == "no"


def test_large_fits_are_judged_on_rows_they_have_not_seen():
    case = BENCHMARKS["tessellated-large"].cases(False)[0]
    params = {**case.params, "training": 60, "options": {"C": 10.0}}
    machine, forest = (computed(c, params) for c in case.contestants)
    assert 0.5 < machine["R^2"] < 1
    assert 0.5 < forest["R^2"] < 1
    assert float(machine["test MSE"]) < 1
    assert machine["printed MSE"] == "10.57"
    (training, _), (test, _), _ = tessellated.split(case.params)
    assert (len(training), len(test)) == (8000, 1568)


def test_the_semidefinite_program_has_the_same_optimum(few_iterations):
    program, peer, pliant = BENCHMARKS["tessellated-sdp"].cases(False)[0].contestants
    params = {**TOY, "problem": "liver_disorders", "rows": 10}
    best = computed(program, params)["objective"]
    reached = computed(pliant, params)["objective"]
    assert (1 - 1e-3) * reached <= best <= reached * (1 + 1e-7)
    assert best <= computed(peer, params)["objective"] * (1 + 1e-7)


def test_the_tensor_adds_up_to_the_gram_matrix():
    X, _, _ = toy("binary", rows=8)
    Z, blocks = tessellated_blocks(X, *BOX)
    F = np.random.default_rng(0).standard_normal((2 * Z.shape[1], 2))
    gram = np.einsum("ijkl,ij->kl", tessellated_sdp.tensor(Z, blocks), F @ F.T)
    np.testing.assert_allclose(gram, TessellatedKernel(*BOX, factor=F).gram(X), rtol=1e-11)


def test_a_goal_may_be_held_against_the_geometric_mean(in_process):
    here = "tests.benchmarks.contestants"
    contestants = (
        Contestant("slow", f"{here}:count"),
        Contestant("fast", f"{here}:count", baseline="slow", goal=1e-6),
    )
    cases = [Case(name, contestants, {"n": 5}) for name in ("one", "two")]
    benchmark = Benchmark(
        "tiny", "Means", "", lambda has_data: cases, "speed-up", "geometric mean of cases"
    )
    report = run(benchmark, Settings(repeats=1, timeout=120))
    one, two = (case["summary"][1]["median_ratio"] for case in report["cases"])
    (row,) = report["overall"]
    assert row["geometric_mean_ratio"] == pytest.approx(np.sqrt(one * two))
    assert row["median_ratio"] == pytest.approx((one + two) / 2)
    assert row["met"] is True
    assert "geometric mean speed-up" in to_markdown(report)


def test_the_limit_reaches_the_process(in_process):
    case = Case("environment", [Contestant("a", "tests.benchmarks.contestants:limit")])
    benchmark = Benchmark("tiny", "Limits", "", lambda has_data: [case])
    report = run(benchmark, Settings(repeats=1, timeout=120, peer_limit=7.0))
    assert report["cases"][0]["summary"][0]["result"] == {"limit": "7.0"}
    with pytest.raises(ValueError, match="expected peer_limit > 0, got 0"):
        Settings(peer_limit=0.0)
