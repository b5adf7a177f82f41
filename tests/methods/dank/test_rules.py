"""DANK and KNPL against reference optima and dense twins."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from benchmarks.problems import make_speed_problem
from pliant import DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor
from pliant.exceptions import NonPSDWarning
from pliant.kernels import TL1
from pliant.methods.dank.problem import Spectrum
from tests.methods.dank.test_dank import classification, regression
from tests.reference import naive_hadamard

RULES = {
    "tau 0": (DANKClassifier, DANKRegressor, {"tau": 0.0}),
    "tau .01": (DANKClassifier, DANKRegressor, {"tau": 0.01}),
    "tau 1": (DANKClassifier, DANKRegressor, {"tau": 1.0}),
    "knpl": (KNPLClassifier, KNPLRegressor, {}),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
both_kinds = pytest.mark.parametrize("kind", ["classifier", "regressor"])


def machine(rule, kind="classifier", **parameters):
    classifier, regressor, of_rule = rule
    return (classifier if kind == "classifier" else regressor)(**of_rule, **parameters)


def data(kind, n=24, seed=0):
    return classification(n, seed) if kind == "classifier" else regression(n, seed)


def decision(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def twin(model, kind, X, y, lower, upper):
    """Return the dense problem of a fitted estimator, in units of its target."""
    K, tau = model.kernel_.base(X), getattr(model, "tau", 0.0)
    rule = "dank" if hasattr(model, "tau") else "knpl"
    epsilon = 0.0 if kind == "classifier" else model.epsilon
    return naive_hadamard.NaiveHadamard(
        K, y, lower, upper, model.C, model.eta_, tau, epsilon, rule, kind == "regressor"
    )


def bounds(kind, y, prices):
    if kind == "classifier":
        return np.minimum(0, prices * y), np.maximum(0, prices * y)
    return -prices, prices


def gap_limit(model):
    """Return the largest gap that `tol` allows."""
    tau = getattr(model, "tau", 0.0)
    n = len(model.kernel_.points)
    constant = model.eta_ * (tau * n - tau**2 / 4) if tau else 0.0
    return model.tol * (1 + abs(model.objective_ - constant))


@pytest.mark.parametrize(
    ("model", "optimum"),
    [
        (DANKClassifier(gamma=2.0, C=4, eta=20, tau=0), 13.90887944),
        (DANKClassifier(gamma=2.0, C=4, eta=20, tau=0.01), 18.82078802),
        (DANKClassifier(gamma=2.0, C=4, eta=2, tau=0.1), 13.83269699),
        (DANKClassifier(gamma=8.0, C=16, eta=50, tau=0.05), 72.92221085),
        (KNPLClassifier(gamma=2.0, C=4, eta=20), 13.91264525),
        (KNPLClassifier(gamma=2.0, C=4, eta=2), 8.75808456),
        (KNPLClassifier(gamma=8.0, C=16, eta=50), 12.49875788),
        (DANKRegressor(gamma=1 / 0.18, C=4, epsilon=0.05, eta=20, tau=0), 3.67543398),
        (DANKRegressor(gamma=1 / 0.18, C=4, epsilon=0.05, eta=5, tau=0.05), 9.29309818),
    ],
    ids=repr,
)
def test_fits_reach_the_reference_optimum(model, optimum):
    X, y = classification() if hasattr(model, "class_weight") else regression()
    options = {} if hasattr(model, "class_weight") else {"scale_target": False}
    model.set_params(tol=1e-9, **options).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, abs=3e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + abs(model.objective_))


@every_rule
@both_kinds
@given(
    seed=st.integers(0, 10**6),
    C=st.floats(0.05, 30),
    eta=st.sampled_from([0.01, 0.3, 5.0, 200.0]),
    weighted=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_objective_gap_and_kernel_agree_with_the_dense_definition(
    kind, rule, seed, C, eta, weighted
):
    X, y = data(kind, seed=seed)
    if kind == "classifier":
        y[:2] = 1, -1
    else:
        y -= y.mean()
    w = np.random.default_rng(seed).uniform(0.5, 2.0, size=24) if weighted else np.ones(24)
    model = machine(rule, kind, gamma=2.0, C=C, eta=eta, tol=1e-6, extension="smooth")
    if kind == "regressor":
        model.set_params(scale_target=False)
    model.fit(X, y, sample_weight=w if weighted else None)
    naive = twin(model, kind, X, y, *bounds(kind, y, C * w))
    beta = model.kernel_.beta
    assert ((naive.lower <= beta) & (beta <= naive.upper)).all()
    assert abs(beta.sum()) <= 1e-10 * (1 + np.abs(beta).sum())
    if len(model.support_):
        value = naive.value(beta)
        noise = 1e-12 * (eta * 24**2 + 1)
        assert model.objective_ == pytest.approx(value, rel=1e-9, abs=noise)
        f = naive.fields(beta)
        np.testing.assert_allclose(decision(model, X), f + model.intercept_, atol=1e-8)
        np.testing.assert_allclose(model.kernel_(X), naive.adaptation(beta) * naive.K, atol=1e-11)
    residual = y - decision(model, X)
    loss = np.maximum(0, y * residual if kind == "classifier" else abs(residual) - model.epsilon)
    gap = C * w @ loss - naive.p @ beta + beta @ (decision(model, X) - model.intercept_)
    gap += naive.epsilon * np.abs(beta).sum()
    assert model.dual_gap_ == pytest.approx(gap, abs=1e-8 * (1 + C))
    assert 0 <= model.dual_gap_ <= gap_limit(model) * (1 + 1e-9)


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal"])
@every_rule
@both_kinds
def test_decisions_at_training_points_are_certified(kind, rule, extension):
    X, y = data(kind, n=60)
    X[7] = X[8]  # equal points
    y[7] = y[8]
    model = machine(rule, kind, C=5.0, eta_scale=0.1, extension=extension, tol=1e-9)
    if kind == "regressor":
        model.set_params(scale_target=False)
    model.fit(X, y)
    assert len(model.support_) < 60
    F, K = model.adaptation_.toarray(), model.kernel_.base(X)
    distinct = np.arange(60) != 8  # equal points share the value of the first, or the mean
    certified = (F * K) @ model.kernel_.beta + model.intercept_
    if model.kernel_.beta[7] == model.kernel_.beta[8]:
        distinct[8] = True
    np.testing.assert_allclose(decision(model, X)[distinct], certified[distinct], atol=1e-8)


@pytest.mark.parametrize("tau", [1e-12, 10.0, 40.0, 48 - 1e-6])
@both_kinds
def test_every_tau_below_2n(kind, tau):
    X, y = data(kind)
    make = DANKClassifier if kind == "classifier" else DANKRegressor
    model = make(gamma=2.0, eta=3.0, tau=tau, tol=1e-7).fit(X, y)
    assert 0 <= model.dual_gap_ <= gap_limit(model) * (1 + 1e-9) + 1e-12 * model.objective_
    if tau < 1e-10:
        plain = make(gamma=2.0, eta=3.0, tau=0, tol=1e-7).fit(X, y)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
        np.testing.assert_allclose(decision(model, X), decision(plain, X), atol=1e-2)
    if tau > 30:
        assert model.adaptation_.rank == 1
    for bad in (48, 48.0, 1e9):
        with pytest.raises(ValueError, match=rf"expected tau < 2n = 48 .* got {float(bad)!r}"):
            make(tau=bad).fit(X, y)


def bound_on_rank(model):
    """Return 1 + tr(cA)/(tau/2), for a kernel with a unit diagonal."""
    learned = (model.kernel_.beta**2).sum() / (4 * model.eta_)
    return 1 + learned / (model.tau / 2)


def bound_on_eigenvalue(model, K):
    return len(K) - model.tau / 2 + model.C**2 * np.linalg.eigvalsh(K)[-1] / (4 * model.eta_)


def test_the_rank_decreases_with_tau_and_satisfies_the_bound():
    X, y = classification(n=80)
    ranks = []
    for tau in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        model = DANKClassifier(C=5.0, tau=tau).fit(X, y)
        assert model.adaptation_.rank <= bound_on_rank(model)
        largest = np.linalg.eigvalsh(model.adaptation_.toarray())[-1]
        assert 80 - tau / 2 <= largest <= bound_on_eigenvalue(model, model.kernel_.base(X))
        ranks.append(model.adaptation_.rank)
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > 5
    assert ranks[-1] == 1


def test_no_smaller_bounds_on_rank_and_eigenvalue_hold_for_all_kernels():
    """For K = I and all coefficients at C, S - 11' is C^2/(4 eta) I; tau/2 is a little less."""
    n, C, eta = 40, 0.5, 3.0
    tau = 2 * 0.999 * C**2 / (4 * eta)
    model = DANKClassifier(kernel="precomputed", C=C, eta=eta, tau=tau)
    model.fit(np.eye(n), np.arange(n) % 2)
    np.testing.assert_allclose(np.abs(model.kernel_.beta), C)
    assert model.adaptation_.rank == n
    assert bound_on_rank(model) == pytest.approx(n + 1, rel=1e-3)
    largest = np.linalg.eigvalsh(model.adaptation_.toarray())[-1]
    assert largest == pytest.approx(bound_on_eigenvalue(model, np.eye(n)), rel=1e-12)


def test_decisions_of_a_fit_with_lanczos_are_certified():
    n = 350
    X, y = classification(n=n)
    y = np.where(np.random.default_rng(0).uniform(size=n) < 0.4, -y, y)  # all support points
    model = DANKClassifier(C=5.0, eta_scale=0.02, tau=0.05, tol=1e-6).fit(X, y)
    assert len(model.support_) > 300
    naive = twin(model, "classifier", X, y, *bounds("classifier", y, 5.0 * np.ones(n)))
    beta = model.kernel_.beta
    assert model.objective_ == pytest.approx(naive.value(beta), rel=1e-9)
    np.testing.assert_allclose(
        model.decision_function(X), naive.fields(beta) + model.intercept_, atol=1e-8
    )
    assert model.adaptation_.rank == (np.linalg.eigvalsh(naive.adaptation(beta)) > 1e-9).sum()


@every_rule
@both_kinds
def test_an_indefinite_gram_matrix_warns_and_has_no_certificate(kind, rule):
    X, y = data(kind, n=60)
    model = machine(rule, kind, kernel="precomputed", extension="none", max_iter=10**5)
    with pytest.warns(NonPSDWarning, match=r"smallest eigenvalue is -\d"):
        model.fit(TL1(rho=0.8)(X), y)
    assert np.isnan(model.dual_gap_)
    assert np.isfinite([model.objective_, model.intercept_]).all()


@pytest.mark.parametrize("C", [1.0, 8.0, 32.0])
def test_few_duals_suffice_with_the_defaults(C):
    X, y = make_speed_problem(300)
    for model in (DANKClassifier(C=C, tol=1e-6), KNPLClassifier(C=C, tol=1e-6)):
        assert len(model.fit(X, y).gap_history_) <= 11  # the start and ten duals
    target = X[:, 0] ** 2 + np.sin(9 * X[:, 1])
    assert len(DANKRegressor(C=C, tol=1e-6).fit(X, target).gap_history_) <= 11


@both_kinds
def test_predictions_reuse_the_eigenpairs_of_the_fit(kind, monkeypatch):
    X, y = data(kind, n=60)
    new = X[:5] + 0.01
    model = machine(RULES["tau .01"], kind, C=3.0).fit(X, y)
    fresh = clone(model.kernel_)
    np.testing.assert_allclose(fresh(new, X), model.kernel_(new, X), rtol=1e-10)
    assert fresh.form.rank == model.kernel_.form.rank > 1
    monkeypatch.setattr(Spectrum, "of", None)  # predictions must not recompute them
    model.predict(new)
    pickle.loads(pickle.dumps(model)).predict(new)
    model.set_params(extension="none", tau=0.0).fit(X, y)
    assert "eigenpairs" not in vars(model.kernel_)
