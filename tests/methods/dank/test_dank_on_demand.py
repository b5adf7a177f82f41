"""DANK and KNPL with rows on demand, against the stored Gram matrix."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pliant import DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor
from pliant.exceptions import NonPSDWarning
from pliant.kernels import TL1, Gaussian
from pliant.methods.dank import gram
from pliant.methods.dank.fit import fit_options
from pliant.methods.svm.rows import CachedRows, DenseRows
from tests.methods.dank.test_dank import classification, regression

SMALL = 0.05
"""Size of a cache, in MB, that does not hold all rows of the data in this module."""


MACHINES = {
    "DANK classifier": DANKClassifier(gamma=2.0, C=5.0, tau=0, tol=1e-6),
    "DANK regressor": DANKRegressor(gamma=2.0, C=5.0, tau=0, tol=1e-6),
    "KNPL classifier": KNPLClassifier(gamma=2.0, C=5.0, tol=1e-6),
    "KNPL regressor": KNPLRegressor(gamma=2.0, C=5.0, tol=1e-6),
}
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def data_for(machine, n=300, seed=0):
    return (classification if hasattr(machine, "class_weight") else regression)(n, seed)


def rows_used(machine, X, y):
    """Return the rows of the Gram matrix in a fit."""
    data, options = machine._training_data(X, y, None), fit_options(machine)
    return gram.problem_rows(data.problems[0], gram.training_gram(data, options), options)


@every_machine
@pytest.mark.parametrize("eta", ["auto", 20.0])
@pytest.mark.parametrize("rounding", [1e-12, 5e-6], ids=["float64", "float32"])
def test_rows_on_demand_give_the_solution_of_the_stored_matrix(machine, eta, rounding, monkeypatch):
    X, y = data_for(machine)
    whole = clone(machine).set_params(eta=eta).fit(X, y)
    found = clone(whole).set_params(cache_mb=SMALL)
    dtype = "float64" if rounding < 1e-9 else "float32"
    monkeypatch.setattr(
        "pliant.methods.dank.gram.CachedRows", lambda *args: CachedRows(*args[:-1], dtype)
    )
    rows = rows_used(found, X, y)
    assert isinstance(rows, CachedRows)
    assert rows.part(np.array([0]), np.array([0])).dtype == dtype
    found.fit(X, y)
    if eta == "auto":
        assert found.eta_ == pytest.approx(whole.eta_, rel=1e-3)
    spread = 2e-6 if eta != "auto" else 1e-4  # eta has the accuracy of the plain solution
    assert found.objective_ == pytest.approx(whole.objective_, rel=spread)
    assert found.dual_gap_ <= 1e-6 * (1 + found.objective_)
    certified = exact_gap(found, X, y)
    assert certified == pytest.approx(
        found.dual_gap_, rel=1e-6, abs=rounding * (1 + found.objective_) + 1e-9
    )
    new = np.random.default_rng(1).uniform(size=(50, X.shape[1]))
    if hasattr(machine, "class_weight"):
        np.testing.assert_allclose(
            found.decision_function(new), whole.decision_function(new), atol=0.02
        )
    else:
        np.testing.assert_allclose(found.predict(new), whole.predict(new), atol=0.02 * np.ptp(y))


def exact_gap(model, X, y):
    """Compute the gap of a solution from f on all training points in double precision."""
    beta = model.kernel_.beta
    F = model.adaptation_.toarray()
    f = (F * Gaussian(2.0)(X)) @ beta
    if hasattr(model, "class_weight"):
        loss = 5.0 * np.maximum(0, 1 - y * (f + model.intercept_)).sum()
        return beta @ f + loss - np.abs(beta).sum()
    scale, centre = y.std(), y.mean()
    target = (y - centre) / scale
    residual = target - f - (model.intercept_ - centre) / scale
    loss = 5.0 * np.maximum(0, np.abs(residual) - model.epsilon).sum()
    return beta @ f + loss - target @ beta + model.epsilon * np.abs(beta).sum()


def test_rows_on_demand_are_float32_unless_tol_is_small():
    X, y = classification(300)
    for mb, tol, dtype in ((SMALL, 1e-4, "f4"), (SMALL, 9e-6, "f8"), (2000.0, 1e-4, "f8")):
        rows = rows_used(DANKClassifier(tol=tol, cache_mb=mb, tau=0), X, y)
        assert rows.part(np.array([0]), np.array([0])).dtype == np.dtype(dtype)


def test_rows_on_demand_are_float64_if_kernel_values_vary():
    X, y = classification(300)
    X[7] *= 3.0
    for kernel in ("linear", "polynomial"):
        rows = rows_used(DANKClassifier(kernel, cache_mb=SMALL), X, y)
        assert rows.part(np.array([0]), np.array([0])).dtype == np.float64


def rule_used(model):
    return model.kernel_.tau


@pytest.mark.parametrize("DANK", [DANKClassifier, DANKRegressor])
def test_automatic_tau_depends_on_a_stored_gram_matrix(DANK):
    X, y = data_for(DANK())
    assert DANK().tau == "auto"
    assert rule_used(DANK().fit(X, y)) == 0.01
    assert rule_used(DANK(cache_mb=SMALL).fit(X, y)) == 0.0
    assert rule_used(DANK(tau=0).fit(X, y)) == 0.0
    refined = DANK(partition={"n_parts": 3, "refine": True})
    assert rule_used(refined.fit(X, y)) == 0.0
    same = DANK(tau=0.01).fit(X, y)
    assert DANK().fit(X, y).objective_ == same.objective_


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [
        ({}, True),
        ({"tau": 0}, False),
        ({"tau": 0.01}, True),
        ({"eta": np.inf}, False),
        ({"tau": 0, "cache_mb": 1e-3}, False),
        ({"cache_mb": 0.6}, False),
    ],
    ids=str,
)
def test_large_gram_matrices_are_stored_only_if_f_couples_all_rows(parameters, kept, monkeypatch):
    monkeypatch.setattr(gram, "DENSE_ROWS", 200)
    X, y = classification(300)
    rows = rows_used(DANKClassifier(**parameters), X, y)
    assert isinstance(rows, DenseRows if kept else CachedRows)
    small = rows_used(DANKClassifier(**parameters), X[:150], y[:150])
    assert isinstance(small, CachedRows if parameters.get("cache_mb") == 1e-3 else DenseRows)
    assert isinstance(rows_used(KNPLClassifier(), X, y), DenseRows)


def test_an_indefinite_function_is_detected_on_a_sample():
    X, y = classification(300)
    with pytest.warns(NonPSDWarning, match=r"smallest eigenvalue is -\d"):
        model = DANKClassifier(
            lambda A, B: np.asarray(TL1(0.8)(A, B)), extension="none", cache_mb=SMALL
        ).fit(X, y)
    assert np.isnan(model.dual_gap_)
    assert model.score(X, y) > 0.6


@every_machine
@pytest.mark.parametrize("mb", [SMALL, 2000.0])
@pytest.mark.parametrize("seconds", [1e-9, 0.002])
def test_a_time_limit_returns_the_best_solution_with_its_gap(machine, mb, seconds):
    X, y = data_for(machine, n=1500)
    machine = clone(machine).set_params(C=1e4, eta=1e3, tol=1e-10, cache_mb=mb)
    model = machine.set_params(max_seconds=seconds)
    with pytest.warns(ConvergenceWarning, match=rf"max_seconds = {seconds} was reached") as told:
        model.fit(X, y)
    assert {warning.filename for warning in told} == {__file__}
    beta = model.kernel_.beta
    assert abs(beta.sum()) <= 1e-9 * (1 + np.abs(beta).sum())
    assert (np.abs(beta) <= 1e4).all()
    assert np.isfinite(model.dual_gap_)
    assert model.dual_gap_ > 0
    assert model.objective_ >= 0
    assert np.isfinite(model.predict(X)).all()
    optimum = clone(machine).set_params(max_seconds=None, tol=1e-3, cache_mb=2000.0).fit(X, y)
    assert optimum.objective_ <= model.objective_ + model.dual_gap_ + 1e-6 * optimum.objective_
    assert model.objective_ <= optimum.objective_ + optimum.dual_gap_ + 1e-6 * optimum.objective_
