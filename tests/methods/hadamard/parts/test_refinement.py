"""From the parts to the exact problem: the same optimum, its certificate, limits and interrupts."""

import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pliant import C_path, DANKClassifier, DANKRegressor
from pliant.core.progress import HAS_CALLBACKS, Deadline
from pliant.kernels import Gaussian, HadamardKernel
from pliant.methods.hadamard.parts import run
from pliant.methods.svm import smo
from tests.reference.naive_box import block_problem, box_classification
from tests.reference.sdp import dank_by_sdp


def classification(n=80, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 3))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(n)
    return X, np.where(score > 0.3, 1, -1)


def regression(n=80, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)


def machine_for(kind, **parameters):
    """A machine to refine, and data."""
    common = {"gamma": 2.0, "C": 4.0, "tau": 0, "tol": 1e-8, "random_state": 0} | parameters
    if kind == "classification":
        return DANKClassifier(**common), *classification()
    return DANKRegressor(**common, epsilon=0.05), *regression()


def refined(machine, n_parts=4, **parameters):
    changed = {"partition": "kmeans", "n_parts": n_parts, "refine": True} | parameters
    return clone(machine).set_params(**changed)


both_kinds = pytest.mark.parametrize("kind", ["classification", "regression"])


@both_kinds
@pytest.mark.parametrize("eta", ["auto", 5.0, 0.05, np.inf])
@pytest.mark.parametrize("n_parts", [1, 4, 40])
def test_it_ends_where_the_exact_problem_does(kind, eta, n_parts):
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


def test_its_certificate_is_that_of_the_decision_function():
    machine, X, y = machine_for("classification", eta=3.0, tol=1e-4)
    found = refined(machine).fit(X, y)
    f = found.decision_function(X)
    quadratic = found.kernel_.beta @ (f - found.intercept_)
    gap = quadratic + 4.0 * np.maximum(0, 1 - y * f).sum() - np.abs(found.kernel_.beta).sum()
    assert found.dual_gap_ == pytest.approx(gap, abs=1e-9)
    assert abs(found.kernel_.beta.sum()) <= 1e-12


def test_it_is_the_semidefinite_program():
    machine, X, y = machine_for("classification", eta=2.0)
    found = refined(machine, 3).fit(X[:16], y[:16])
    optimum, F = dank_by_sdp(Gaussian(2.0)(X[:16]), y[:16], C=4.0, eta=2.0)
    assert found.objective_ == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(found.adaptation_.toarray(), F, atol=2e-3)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_parts=st.integers(1, 30),
    C=st.floats(0.01, 1e3),
    eta=st.sampled_from([1e-2, 1.0, 1e3, np.inf]),
    gamma=st.sampled_from([0.01, 1.0, 50.0]),
)
def test_from_any_parts_the_bounds_hold(seed, n_parts, C, eta, gamma):
    X, y = classification(30, seed)
    y[:2] = 1, -1
    machine = DANKClassifier(gamma=gamma, C=C, eta=eta, tau=0, random_state=seed)
    exact = clone(machine).set_params(tol=1e-8).fit(X, y)
    found = refined(machine, n_parts).fit(X, y)
    slack = 1e-7 * (1 + exact.objective_)
    assert found.objective_ <= exact.objective_ + exact.dual_gap_ + slack
    assert exact.objective_ <= found.objective_ + found.dual_gap_ + slack
    assert found.dual_gap_ <= 1e-4 * (1 + found.objective_)


@pytest.mark.parametrize("eta", ["auto", 5.0])
def test_more_than_two_classes(eta):
    X, y = load_iris(return_X_y=True)
    machine = DANKClassifier(C=10, eta=eta, tau=0, tol=1e-7)
    exact, found = clone(machine).fit(X, y), refined(machine, 5, random_state=0).fit(X, y)
    for one, other in zip(exact.estimators_, found.estimators_, strict=True):
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-4)
    np.testing.assert_array_equal(found.predict(X), exact.predict(X))


def test_sample_and_class_weights():
    machine, X, y = machine_for("classification", eta=3.0, class_weight={1: 3.0})
    weights = np.random.default_rng(0).uniform(0, 2, size=80) * (np.arange(80) % 5 > 0)
    exact = clone(machine).fit(X, y, weights)
    found = refined(machine).fit(X, y, weights)
    assert found.objective_ == pytest.approx(exact.objective_, rel=2e-8)
    assert (weights[found.support_] > 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@both_kinds
def test_rows_on_demand(kind, dtype):
    machine, X, y = machine_for(kind, eta=3.0, tol=1e-6)
    exact = clone(machine).fit(X, y)
    found = refined(machine, cache_mb=1e-3, dtype=dtype).fit(X, y)
    assert found.objective_ == pytest.approx(exact.objective_, rel=3e-6)
    assert found.dual_gap_ <= 1e-6 * (1 + found.objective_)


def test_what_the_parts_were_is_told_too():
    machine, X, y = machine_for("classification", eta=3.0)
    parts = refined(machine).set_params(refine=False).fit(X, y)
    found = refined(machine).fit(X, y)
    for name in ("part_labels_", "part_centres_", "part_gaps_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(parts, name))
    assert (found.part_seconds_ >= 0).all()
    block = block_problem(box_classification(Gaussian(2.0)(X), y, 4.0, 3.0), parts.part_labels_)
    assert block.gap(parts.kernel_.beta) == pytest.approx(parts.dual_gap_, abs=1e-10)


def test_how_new_points_are_predicted_makes_no_difference():
    machine, X, y = machine_for("classification")
    by_part, by_all = (refined(machine, prediction=name).fit(X, y) for name in ("part", "whole"))
    np.testing.assert_array_equal(by_part.decision_function(X), by_all.decision_function(X))


def test_a_path_of_refinements():
    machine, X, y = machine_for("classification", eta=3.0)
    for found, C in zip(C_path(refined(machine), X, y, [4.0, 0.5]), [4.0, 0.5], strict=True):
        exact = clone(machine).set_params(C=C).fit(X, y)
        assert found.objective_ == pytest.approx(exact.objective_, rel=2e-8)


def test_a_tube_that_covers_all_gives_a_constant():
    X, y = regression()
    for eta in ("auto", 3.0):
        exact = DANKRegressor(epsilon=10.0, eta=eta, tau=0)
        machine = refined(exact).fit(X, y)
        np.testing.assert_allclose(machine.predict(X), exact.fit(X, y).predict(X), rtol=1e-12)
        assert np.ptp(machine.predict(X)) == 0.0
        assert machine.dual_gap_ == 0.0
        assert machine.eta_ == np.inf


def test_without_parts_there_is_nothing_to_refine():
    X, y = classification()
    with pytest.raises(ValueError, match=r"expected refine=False without partition='kmeans'"):
        DANKClassifier(refine=True).fit(X, y)


def slow_kernel(seconds):
    def kernel(A, B):
        time.sleep(seconds)
        return Gaussian(2.0)(A, B)

    return kernel


def fit_late(machine, X, y, seconds):
    """Fit with a limit; return the machine and how long it took."""
    machine.set_params(max_seconds=seconds)
    begin = time.monotonic()
    with pytest.warns(ConvergenceWarning, match=rf"gap of .*max_seconds = {seconds} came") as told:
        machine.fit(X, y)
    assert {warning.filename for warning in told} == {__file__}
    return time.monotonic() - begin


@both_kinds
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("eta", ["auto", 3.0])
@pytest.mark.parametrize("seconds", [1e-9, 0.05])
def test_when_time_is_up_the_best_so_far_has_a_valid_certificate(
    kind, refine, eta, seconds, monkeypatch
):
    monkeypatch.setattr("pliant.methods.svm.smo.solver.SLICE_READS", 800)  # ten steps
    machine, X, y = machine_for(kind, eta=eta)
    kernel = slow_kernel(0.01)  # so that .05 s are too few for ten parts
    found = refined(machine, 10, kernel=kernel, gamma="scale", refine=refine)
    fit_late(found, X, y, seconds)
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


@pytest.mark.parametrize("refine", [False, True])
def test_where_no_eta_is_known_when_time_is_up_a_plain_machine_is_left(refine, monkeypatch):
    monkeypatch.setattr("pliant.methods.svm.smo.solver.SLICE_READS", 800)
    machine, X, y = machine_for("classification", eta="auto")
    found = refined(machine, refine=refine, max_seconds=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_seconds") as told:
        found.fit(X, y)
    assert len(told) == 1
    assert found.eta_ == np.inf
    assert found.adaptation_.radius == 0.0


def test_steps_are_those_on_the_whole_problem_and_on_the_support_points(monkeypatch):
    machine, X, y = machine_for("classification", eta="auto")
    steps = []
    solve = smo.solve

    def counting(problem, *args, **kwargs):
        result = solve(problem, *args, **kwargs)
        steps.append((type(problem.rows).__name__, len(problem.linear), result.n_iter))
        return result

    monkeypatch.setattr("pliant.methods.svm.smo.solve", counting)
    found = refined(machine).fit(X, y)
    assert len(steps) == 4 + 3  # the parts; their support points, plain, adapted
    assert found.n_iter_ == sum(taken for _, _, taken in steps[4:])
    assert steps[4][1] < steps[5][1] == steps[6][1] == 80


def test_what_the_parts_found_is_not_thrown_away_when_time_is_up(monkeypatch):
    monkeypatch.setattr("pliant.methods.svm.smo.solver.SLICE_READS", 80)  # one step
    machine, X, y = machine_for("classification", eta=3.0)
    parts = refined(machine, refine=False).fit(X, y)
    beta = parts.kernel_.beta
    begun = threading.Event()
    found = refined(machine)
    [task] = found._prepare(X, y, None)

    solve_whole = run.solve_whole

    def late(*args):
        """Time is up as soon as the parts are done."""
        begun.set()
        return solve_whole(*args)

    monkeypatch.setattr(run, "solve_whole", late)
    found._learn(task, None, Deadline(lambda _: begun.is_set(), None))
    K = Gaussian(2.0)(X)
    along = [
        t * np.abs(beta).sum() - (t * beta) @ K @ (t * beta) / 2
        - ((t * beta) ** 2) @ K**2 @ ((t * beta) ** 2) / 48
        for t in np.linspace(0, 1, 50)
    ]  # fmt: skip
    assert abs(beta.sum()) > 1e-3  # the constraint costs something
    assert found.objective_ >= 0.9 * max(along)


def test_warnings_of_a_late_run_may_be_errors_and_nothing_is_half_fitted(monkeypatch):
    monkeypatch.setattr("pliant.methods.svm.smo.solver.SLICE_READS", 800)
    machine, X, y = machine_for("classification")
    for refine in (False, True):
        found = refined(machine, refine=refine, max_seconds=1e-9)
        with pytest.raises(ConvergenceWarning):
            found.fit(X, y)
        with pytest.raises(NotFittedError):
            found.predict(X)
        assert not [name for name in vars(found) if name.startswith(("part_", "kernel_"))]


def test_time_enough_changes_nothing():
    machine, X, y = machine_for("classification")
    one, other = (refined(machine, max_seconds=s).fit(X, y) for s in (None, 600))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("refine", [False, True])
def test_an_interrupt_leaves_an_unfitted_machine(refine, monkeypatch):
    machine, X, y = machine_for("classification")
    found = refined(machine, refine=refine).fit(X, y)
    calls = []

    def interrupt(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3 + 3 * refine:  # in the third part, or past the four of them
            raise KeyboardInterrupt
        return smo_solve(*args, **kwargs)

    smo_solve = smo.solve
    monkeypatch.setattr("pliant.methods.svm.smo.solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, y)
    assert len(calls) == 3 + 3 * refine
    with pytest.raises(NotFittedError):
        found.predict(X)
    assert not [name for name in vars(found) if name.endswith("_") and name != "classes_"
                and name != "n_features_in_"]  # fmt: skip


def test_control_c_ends_parts_in_threads():
    X, y = classification(200)
    machine = DANKClassifier(
        slow_kernel(0.2), partition="kmeans", n_parts=20, n_jobs=2, random_state=0
    )
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert time.monotonic() - begin < 10
    assert not hasattr(machine, "kernel_")


class Recorder:
    """A scikit-learn callback that asks to stop at one moment, or at none."""

    def __init__(self, stop_at=None):
        self.stop_at, self.ends, self.torn_down = stop_at, 0, False

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ends += 1
        return self.ends == self.stop_at


needs_callbacks = pytest.mark.skipif(
    not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks"
)


@needs_callbacks
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("eta", ["auto", 3.0])
def test_a_callback_hears_of_each_part(refine, eta):
    machine, X, y = machine_for("classification", eta=eta)
    recorder = Recorder()
    heard = refined(machine, 7, refine=refine).set_callbacks(recorder).fit(X, y)
    assert recorder.ends >= 7
    assert recorder.torn_down
    silent = refined(machine, 7, refine=refine).fit(X, y)
    np.testing.assert_array_equal(heard.dual_coef_, silent.dual_coef_)


@needs_callbacks
@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("eta", ["auto", 3.0])
@pytest.mark.parametrize("stop_at", [1, 3, 7, 8, 10])
def test_a_callback_that_asks_once_stops_the_fit_with_a_valid_certificate(refine, eta, stop_at):
    machine, X, y = machine_for("classification", eta=eta)
    recorder = Recorder(stop_at)
    found = refined(machine, 7, refine=refine).set_callbacks(recorder).fit(X, y)
    assert recorder.torn_down
    if recorder.ends < stop_at:
        return
    assert recorder.ends <= stop_at + 2  # the end of the fit is told as well
    full = refined(machine, 7, refine=refine, eta=found.eta_, eta_scale=1.0).fit(X, y)
    slack = 1e-7 * (1 + full.objective_)
    assert found.objective_ <= full.objective_ + slack
    assert full.objective_ <= found.objective_ + found.dual_gap_ + slack
