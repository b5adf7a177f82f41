"""Refinement of parts: the optimum of all points, its certificate, time limits, interrupts."""

import itertools
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pliant import DANKClassifier, DANKRegressor, KMeansPartition
from pliant.kernels import Gaussian
from pliant.methods import HadamardKernel
from pliant.methods.svm import smo
from tests.methods.dank.test_dank import classification, regression


def machine_for(kind, **parameters):
    """Return an estimator and data."""
    common = {"gamma": 2.0, "C": 4.0, "tau": 0, "tol": 1e-8} | parameters
    if kind == "classification":
        return DANKClassifier(**common), *classification(80)
    return DANKRegressor(**common, epsilon=0.05), *regression(80)


def refined(machine, n_parts=4, refine=True, **parameters):
    return clone(machine).set_params(
        partition=KMeansPartition(n_parts, refine=refine), **parameters
    )


both_kinds = pytest.mark.parametrize("kind", ["classification", "regression"])


@both_kinds
@pytest.mark.parametrize("eta", ["auto", 5.0, 0.05, np.inf])
@pytest.mark.parametrize("n_parts", [1, 4, 40])
def test_refinement_reaches_the_optimum_of_all_points(kind, eta, n_parts):
    machine, X, y = machine_for(kind, eta=eta)
    exact = clone(machine).fit(X, y)
    found = refined(machine, n_parts).fit(X, y)
    assert isinstance(found.kernel_, HadamardKernel)
    assert found.dual_gap_ <= 1e-8 * (1 + found.objective_)
    if eta == "auto":
        assert found.eta_ == pytest.approx(exact.eta_, rel=1e-3)
    spread = 1e-5 if eta == "auto" else 2e-8
    assert found.objective_ == pytest.approx(exact.objective_, rel=spread)
    new = np.random.default_rng(1).uniform(size=(50, X.shape[1]))
    np.testing.assert_array_equal(found.predict(new) > 0, exact.predict(new) > 0)
    if kind == "regression":
        np.testing.assert_allclose(found.predict(new), exact.predict(new), atol=2e-3)
    else:
        np.testing.assert_allclose(
            found.decision_function(new), exact.decision_function(new), atol=5e-3
        )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_parts=st.integers(1, 30),
    C=st.floats(0.01, 1e3),
    eta=st.sampled_from([1e-2, 1.0, 1e3, np.inf]),
    gamma=st.sampled_from([0.01, 1.0, 50.0]),
)
def test_bounds_hold_after_refining_random_partitions(seed, n_parts, C, eta, gamma):
    X, y = classification(30, seed)
    y[:2] = 1, -1
    machine = DANKClassifier(gamma=gamma, C=C, eta=eta, tau=0)
    exact = clone(machine).set_params(tol=1e-8).fit(X, y)
    found = refined(machine, n_parts).fit(X, y)
    slack = 1e-7 * (1 + exact.objective_)
    assert found.objective_ <= exact.objective_ + exact.dual_gap_ + slack
    assert exact.objective_ <= found.objective_ + found.dual_gap_ + slack
    assert found.dual_gap_ <= 1e-4 * (1 + found.objective_)


def slow_kernel(seconds):
    def kernel(A, B):
        time.sleep(seconds)
        return Gaussian(2.0)(A, B)

    return kernel


@both_kinds
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("eta", ["auto", 3.0])
@pytest.mark.parametrize("seconds", [1e-9, 0.05])
def test_a_time_limit_leaves_a_valid_certificate(kind, refine, eta, seconds, monkeypatch):
    monkeypatch.setattr("pliant.methods.svm.smo.solver.SLICE_READS", 800)  # ten steps
    machine, X, y = machine_for(kind, eta=eta)
    kernel = slow_kernel(0.01)  # 0.05 s are not enough for ten parts
    found = refined(machine, 10, kernel=kernel, gamma="scale", refine=refine, max_seconds=seconds)
    with pytest.warns(ConvergenceWarning, match=rf"gap of .*max_seconds = {seconds} was") as told:
        found.fit(X, y)
    assert {warning.filename for warning in told} == {__file__}
    beta = found.kernel_.beta
    assert np.isfinite(found.predict(X)).all()
    assert found.dual_gap_ > 0
    assert found.objective_ >= 0
    if refine:
        assert abs(beta.sum()) <= 1e-9
        exact = clone(machine).set_params(eta=found.eta_).fit(X, y)
        optimum = exact.objective_
    else:
        whole = clone(found).set_params(eta=found.eta_, eta_scale=1.0, max_seconds=None)
        optimum = whole.fit(X, y).objective_
        np.testing.assert_array_equal(whole.part_labels_, found.part_labels_)
        assert found.dual_gap_ == pytest.approx(found.part_gaps_.sum(), rel=1e-12)
    slack = 1e-7 * (1 + optimum)
    assert found.objective_ <= optimum + slack
    assert optimum <= found.objective_ + found.dual_gap_ + slack


def test_n_iter_counts_steps_on_support_points_and_on_all_points(monkeypatch):
    machine, X, y = machine_for("classification", eta="auto")
    steps = []
    solve = smo.solve

    def counting(problem, *args, **kwargs):
        result = solve(problem, *args, **kwargs)
        steps.append((type(problem.rows).__name__, len(problem.linear), result.n_iter))
        return result

    monkeypatch.setattr("pliant.methods.svm.smo.solve", counting)
    found = refined(machine).fit(X, y)
    assert len(steps) == 4 + 3  # four parts, their support points, the plain and adapted SVMs
    assert found.n_iter_ == sum(taken for _, _, taken in steps[4:])
    assert steps[4][1] < steps[5][1] == steps[6][1] == 80


def test_a_keyboard_interrupt_stops_parts_in_threads():
    X, y = classification(200)
    calls, n_parts = itertools.count(), 20

    def kernel(A, B):
        if threading.current_thread() is not threading.main_thread():
            if next(calls) == 4:
                signal.raise_signal(signal.SIGINT)
            time.sleep(0.2)
        return Gaussian(2.0)(A, B)

    machine = DANKClassifier(kernel, partition=KMeansPartition(n_parts, n_jobs=2))
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert 4 < next(calls) < n_parts
    assert not hasattr(machine, "kernel_")
