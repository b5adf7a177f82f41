"""The benchmarks of LAB-RBF, on made-up problems of toy size."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.linalg

pytest.importorskip("torch")

import torch

from benchmarks import local_gradient
from benchmarks.algorithm1 import (
    Algorithm1,
    interpolant,
    interpolation_loss,
    local_gram,
    ridge_loss,
)
from benchmarks.harness.measuring import Settings
from benchmarks.harness.report import has_failures, run, to_markdown
from benchmarks.harness.spec import Benchmark
from benchmarks.local_sets import generated, in_unit_box, parkinsons, r_squared
from benchmarks.registry import BENCHMARKS
from pliant.comparison.run.memory import reset_peak_memory
from tests.benchmarks.computed import computed

SMALL = {"rows": 60, "support": 7, "features": 3}


def toy(rows=50, support=6, features=3):
    random = np.random.default_rng(4)
    X, y = generated(rows, features, seed=5)
    theta = 0.5 + random.random((support, features))
    return X, y, X[:support], y[:support], theta


def twin_gram(X, support, theta):
    return np.array([[np.exp(-np.sum((t * (x - c)) ** 2)) for c, t in zip(support, theta,
                      strict=True)] for x in X])  # fmt: skip


def central_differences(function, theta, h=1e-6):
    slopes = np.empty_like(theta)
    for place in np.ndindex(*theta.shape):
        step = np.zeros_like(theta)
        step[place] = h
        slopes[place] = (function(theta + step) - function(theta - step)) / (2 * h)
    return slopes


def test_the_peer_s_kernel_is_equation_1():
    X, _, support, _, theta = toy()
    found = local_gram(*map(torch.as_tensor, (X, support, theta)))
    np.testing.assert_allclose(found.numpy(), twin_gram(X, support, theta), rtol=1e-12)


def test_the_peer_s_coefficients_are_those_of_equation_8():
    _, _, support, y_support, theta = toy()
    found = interpolant(*map(torch.as_tensor, (support, y_support, theta)), 0.01)
    matrix = twin_gram(support, support, theta) + 0.01 * np.eye(len(support))
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(matrix, y_support), rtol=1e-10)


def test_the_peer_s_gradient_of_equation_9_is_that_of_central_differences():
    X, y, support, y_support, theta = toy()

    def loss(theta):
        matrix = twin_gram(support, support, theta) + 0.01 * np.eye(len(support))
        f = twin_gram(X, support, theta) @ np.linalg.solve(matrix, y_support)
        return np.mean((f - y) ** 2)

    bandwidths = torch.tensor(theta, requires_grad=True)
    given = map(torch.as_tensor, (X, y, support, y_support))
    found = interpolation_loss(*given, bandwidths, 0.01)
    found.backward()
    assert found.item() == pytest.approx(loss(theta), rel=1e-12)
    np.testing.assert_allclose(bandwidths.grad, central_differences(loss, theta), atol=1e-8)


def test_the_peer_s_gradient_of_the_ridge_objective_is_that_of_central_differences():
    X, y, support, _, theta = toy()

    def loss(theta):
        K = np.vstack([twin_gram(X, support, theta), np.sqrt(0.1) * np.eye(len(support))])
        _, squares, *_ = scipy.linalg.lstsq(K, np.append(y, np.zeros(len(support))))
        return squares / len(y)

    bandwidths = torch.tensor(theta, requires_grad=True)
    found = ridge_loss(*map(torch.as_tensor, (X, y, support)), bandwidths, 0.1)
    found.backward()
    assert found.item() == pytest.approx(loss(theta), rel=1e-10)
    np.testing.assert_allclose(bandwidths.grad, central_differences(loss, theta), atol=1e-8)


def test_algorithm_1_learns_and_grows_by_the_largest_residual():
    X, y = generated(200, 2, seed=0)
    peer = Algorithm1(X, y, n_support=30, sigma=4.0, rate=0.05, steps=200, first=10, added=10)
    peer.learn(100)
    before = peer.chosen
    peer.grow()
    residuals = np.abs(peer.y - twin_prediction(peer, before, X))
    others = np.setdiff1d(np.arange(200), before)
    worst = others[np.argsort(-residuals[others])[:10]]
    assert set(peer.chosen) == {*before, *worst}
    assert len(peer.bandwidths) == 20


def test_algorithm_1_learns():
    given = generated(200, 2, seed=0)
    start, end = (
        Algorithm1(*given, n_support=30, sigma=4.0, rate=0.05, steps=steps, first=30).run()
        for steps in (0, 200)
    )
    assert 1 - r_squared(end, given) < 0.7 * (1 - r_squared(start, given))
    grown = Algorithm1(*given, n_support=25, sigma=4.0, steps=20, first=10, added=10).run()
    assert (grown.n_steps, len(set(grown.chosen)), grown.support.shape) == (20, 25, (25, 2))


def twin_prediction(peer, chosen, X):
    support, theta = X[chosen], peer.bandwidths.numpy().astype(float)[: len(chosen)]
    matrix = twin_gram(support, support, theta) + peer.ridge * np.eye(len(chosen))
    return twin_gram(X, support, theta) @ np.linalg.solve(matrix, peer.y[chosen])


def test_batches_leave_out_the_support_points():
    X, y = generated(40, 2, seed=0)
    peer = Algorithm1(X, y, n_support=8, batch=30, steps=5, first=8)
    batches = list(peer._batches(5))
    assert {len(set(rows)) for rows in batches} == {30}
    assert not set(np.concatenate(batches)) & set(peer.chosen)


def test_algorithm_1_repeats_itself():
    X, y = generated(60, 2, seed=0)
    runs = [Algorithm1(X, y, n_support=12, steps=20, first=6, added=3).run() for _ in range(2)]
    assert np.array_equal(runs[0].predict(X), runs[1].predict(X))
    assert np.array_equal(runs[0].chosen, runs[1].chosen)


@pytest.mark.parametrize(
    "case", BENCHMARKS["local-gradient"].cases(False), ids=lambda case: case.name
)
def test_contestants_of_the_gradient_benchmark_compute_one_thing(case):
    found = [computed(c, {**case.params, **SMALL, "evaluations": 1}) for c in case.contestants]
    assert len(found) == 3
    values = [f["value"] for f in found]
    assert values == pytest.approx([values[0]] * 3, rel=1e-4)
    assert all(float(f["gradient error"]) < 1e-4 for f in found)


def test_a_wrong_gradient_is_not_timed():
    case = BENCHMARKS["local-gradient"].cases(False)[1]
    params = {**case.params, **SMALL}
    problem = local_gradient.given(params)
    value, gradient = local_gradient.autograd_objective(problem, "interpolation", "float64")()
    with pytest.raises(ValueError, match=r"expected a gradient within 1e-09, got an error of 2"):
        local_gradient.describe((value, -gradient), problem, params)


def test_a_report_tells_speed_up_goal_and_memory(in_process):
    cases = [
        type(c)(c.name, c.contestants, {**c.params, **SMALL}, {**c.warm_up, **SMALL})
        for c in BENCHMARKS["local-gradient"].cases(False)[:1]
    ]
    benchmark = Benchmark(
        "tiny", "Gradients", "", lambda has_data: cases, BENCHMARKS["local-gradient"].quantity
    )
    report = run(benchmark, Settings(repeats=1, timeout=120))
    assert not has_failures(report)
    peer, pliant, _ = report["cases"][0]["summary"]
    assert (pliant["goal"], pliant["baseline"]) == (20.0, peer["contestant"])
    assert pliant["median_ratio"] == pytest.approx(peer["seconds"] / pliant["seconds"])
    text = to_markdown(report)
    assert all(head in text for head in ("goal", "peak memory (MB)", "gradient error"))


def test_a_whole_fit_is_judged_on_rows_it_has_not_seen():
    (case,) = BENCHMARKS["local-fit"].cases(False)
    params = {**case.params, "rows": 150, "steps": 30}
    found = {c.name: computed(c, params) for c in case.contestants}
    peer, one = found["Algorithm 1"], found["pliant"]
    assert peer["Adam steps"] == 30
    assert peer["support"] == one["support"] == 110
    assert found["pliant, defaults"]["support"] > one["support"]
    assert all(each["test R2"] < 1 for each in found.values())
    assert one["test R2"] > peer["test R2"]
    assert one == found["pliant, once more"]
    goals = {c.name: c.goal for c in case.contestants if c.goal}
    assert goals == {"pliant": 5.0, "pliant, float32": 5.0, "pliant, once more": 5.0}
    assert "made up" in case.name
    assert "made up" not in BENCHMARKS["local-fit"].cases(True)[0].name


def test_the_real_set_is_split_and_scaled_by_its_training_rows(tmp_path, monkeypatch):
    rows = "".join(f"{k},{2 * k % 7},1,{3 * k}\n" for k in range(50))
    content = gzip.compress(f"a,b,c,target\n{rows}".encode())
    (tmp_path / "parkinsons_total.csv.gz").write_bytes(content)
    monkeypatch.setenv("PLIANT_DATA", str(tmp_path))
    training, test = parkinsons({"data": True, "seed": 100})
    assert (len(training.y), len(test.y)) == (40, 10)
    assert (training.y.min(), training.y.max()) == (-1, 1)
    assert training.X.min(axis=0).tolist() == [-1, -1, 0]
    assert np.abs(test.X[:, 0] - test.y).max() < 1e-12
    some, rest = parkinsons({"data": True, "seed": 100, "rows": 15})
    assert (len(some.y), some.y.min(), some.y.max(), len(rest.y)) == (15, -1, 1, 10)


def test_a_constant_column_becomes_zero():
    values = np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 6.0]])
    scaled = in_unit_box(values, values[:2])
    assert scaled.tolist() == [[-1, 0], [1, 0], [0, 0]]


def test_generated_rows_do_not_depend_on_where_they_go():
    out = np.zeros((300, 9), dtype=np.float32)
    X, y = generated(300, 9, seed=3)
    there = generated(300, 9, seed=3, out=out)
    assert there.X is out
    np.testing.assert_allclose(out, X, atol=1e-7)
    assert np.array_equal(there.y, y)
    assert np.var(generated(5000, 20, seed=0).y) == pytest.approx(0.81, abs=0.03)


def test_large_fits_tell_time_memory_and_the_best_there_can_be():
    reset_peak_memory()  # what other tests held is not theirs
    (case,) = BENCHMARKS["local-large"].cases(False)
    params = {**case.params, "rows": 400, "features": 8}
    array, on_disk, boosting = (computed(c, params) for c in case.contestants)
    for found in (array, on_disk, boosting):
        assert 0.1 < found["whole process (GiB)"] < 4
        assert 0.3 < found["test R2"] < found["R2 of the function"] < 1
    assert on_disk["test R2"] == pytest.approx(array["test R2"], abs=0.02)
    assert case.params == {"rows": 1_000_000, "features": 20}


def test_costs_grow_one_size_at_a_time():
    cases = BENCHMARKS["local-costs"].cases(False)
    assert len({case.name for case in cases}) == 13
    for params in (case.params for case in cases):
        changed = [params["rows"] != 4000, params["support"] != 100, params["features"] != 20]
        assert sum(changed) <= 1
    case = cases[0]
    assert case.name == "250 rows, 100 support points, 20 features"
    params = {**case.params, "rows": 120, "support": 10, "features": 3}
    *evaluations, fit = (computed(c, params) for c in case.contestants)
    assert evaluations == [{}, {}]
    assert 0 < fit["test R2"] < 1
