"""DANK with tau > 0: reference optima and rank; and what it shares with KNPL."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from pliant import (
    C_path,
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    NonPSDWarning,
)
from pliant.core.progress import HAS_CALLBACKS
from pliant.datasets import make_speed_problem
from pliant.kernels import EXTENSIONS, TL1, Gaussian
from pliant.methods.hadamard.problem import Spectrum
from tests.methods.hadamard.test_dank import classification, regression
from tests.reference import naive_hadamard
from tests.reference.sdp import dank_by_sdp, knpl_by_sdp

RULES = {
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
    """The dense problem that a fitted machine has solved, in units of its own target."""
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


def asked(model):
    """The gap that was asked for."""
    tau = getattr(model, "tau", 0.0)
    n = len(model.kernel_.points)
    constant = model.eta_ * (tau * n - tau**2 / 4) if tau else 0.0
    return model.tol * (1 + abs(model.objective_ - constant))


@pytest.mark.parametrize(
    ("s", "C", "eta", "tau", "optimum"),
    [
        (0.5, 4, 20, 0.01, 18.82078802),
        (0.5, 4, 2, 0.1, 13.83269699),
        (0.25, 16, 50, 0.05, 72.92221085),
    ],
)
def test_classification_reaches_the_reference_optimum(s, C, eta, tau, optimum):
    X, y = classification()
    model = DANKClassifier(gamma=1 / (2 * s**2), C=C, eta=eta, tau=tau, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, abs=3e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + abs(model.objective_))


def test_regression_reaches_the_reference_optimum():
    X, y = regression()
    model = DANKRegressor(
        gamma=1 / 0.18, C=4, epsilon=0.05, eta=5, tau=0.05, scale_target=False, tol=1e-9
    ).fit(X, y)
    assert model.objective_ == pytest.approx(9.29309818, abs=2e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + model.objective_)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("eta", [0.5, 10.0])
@every_rule
@both_kinds
def test_the_optimum_is_that_of_the_semidefinite_program(kind, rule, eta, seed):
    X, y = data(kind, n=14, seed=seed)
    options = {"gamma": 2.0, "C": 3.0, "eta": eta, "tol": 1e-9}
    epsilon = None
    if kind == "regressor":
        y, epsilon = y - y.mean(), 0.05
        options |= {"scale_target": False, "epsilon": epsilon}
    model = machine(rule, kind, **options).fit(X, y)
    K = Gaussian(2.0)(X)
    if "tau" in rule[2]:
        optimum, F = dank_by_sdp(K, y, 3.0, eta, rule[2]["tau"], epsilon)
    else:
        optimum, F = knpl_by_sdp(K, y, 3.0, eta, epsilon)
    digits = 1e-6 * (1 + abs(optimum)) + 1e-8 * eta * 14**2  # the solver sees terms of that size
    assert model.objective_ == pytest.approx(optimum, abs=digits)
    np.testing.assert_allclose(model.adaptation_.toarray(), F, atol=5e-3)


@every_rule
@both_kinds
@given(
    seed=st.integers(0, 10**6),
    C=st.floats(0.05, 30),
    eta=st.sampled_from([0.01, 0.3, 5.0, 200.0]),
    weighted=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_objective_gap_and_kernel_are_those_of_the_dense_definition(
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
    assert 0 <= model.dual_gap_ <= asked(model) * (1 + 1e-9)


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal"])
@every_rule
@both_kinds
def test_training_points_get_the_certified_decision(kind, rule, extension):
    X, y = data(kind, n=60)
    X[7] = X[8]  # equal points
    y[7] = y[8]
    model = machine(rule, kind, C=5.0, eta_scale=0.1, extension=extension, tol=1e-9)
    if kind == "regressor":
        model.set_params(scale_target=False)
    model.fit(X, y)
    assert len(model.support_) < 60
    F, K = model.adaptation_.toarray(), model.kernel_.base(X)
    distinct = np.arange(60) != 8  # of equal points the first stands for both, or their mean
    certified = (F * K) @ model.kernel_.beta + model.intercept_
    if model.kernel_.beta[7] == model.kernel_.beta[8]:
        distinct[8] = True
    np.testing.assert_allclose(decision(model, X)[distinct], certified[distinct], atol=1e-8)


@every_rule
@both_kinds
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_predictions_depend_on_one_point_only(kind, rule, extension, monkeypatch):
    X, y = data(kind, n=40)
    model = machine(rule, kind, C=3.0, eta_scale=0.05, extension=extension).fit(X, y)
    new = np.concatenate([np.random.default_rng(1).uniform(size=(9, X.shape[1])), X[:3]])
    together = decision(model, new)
    alone = np.concatenate([decision(model, x[None]) for x in new])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-11)
    support = model.support_vectors_
    by_hand = model.kernel_(new, support) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(together, by_hand, rtol=0, atol=1e-11)
    monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 2 * len(support))
    np.testing.assert_allclose(decision(model, new), together, rtol=0, atol=1e-11)


@every_rule
@both_kinds
def test_row_order_does_not_matter(kind, rule):
    X, y = data(kind, n=40)
    order = np.random.default_rng(0).permutation(40)
    one, other = (
        machine(rule, kind, C=3.0, eta=1.0, tol=1e-8).fit(A, b)
        for A, b in ((X, y), (X[order], y[order]))
    )
    assert one.objective_ == pytest.approx(other.objective_, abs=2 * asked(one))
    np.testing.assert_allclose(decision(one, X), decision(other, X), atol=1e-3)


@pytest.mark.parametrize("eta", [1e-100, 1e-10, 1e-3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e3])
@every_rule
@both_kinds
def test_extreme_parameters_end_with_a_certificate(kind, rule, C, eta):
    X, y = data(kind)
    model = machine(rule, kind, gamma=2.0, C=C, eta=eta).fit(X, y)
    assert 0 <= model.dual_gap_ <= asked(model) * (1 + 1e-6) + 1e-12 * abs(model.objective_)
    new = np.random.default_rng(1).uniform(size=(5, X.shape[1]))
    assert np.isfinite(decision(model, new)).all()
    assert np.isfinite(model.adaptation_.radius)


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e6, 1e20, 1e200])
@every_rule
@both_kinds
def test_extreme_multiples_of_the_automatic_eta(kind, rule, scale):
    X, y = data(kind)
    model = machine(rule, kind, gamma=2.0, eta_scale=scale).fit(X, y)
    plain = machine(rule, kind, gamma=2.0, tol=1e-6).fit(X, y)
    assert model.eta_ == pytest.approx(scale * plain.eta_, rel=1e-2)
    assert np.isfinite(decision(model, X)).all()
    if scale > 1 and "tau" not in rule[2]:
        np.testing.assert_allclose(model.adaptation_.toarray(), 1.0, rtol=1e-5)


@pytest.mark.parametrize("eta", [1e-300, 1e-250])
@every_rule
def test_an_eta_beyond_all_measure_gives_no_nan(rule, eta):
    X, y = classification()
    model = machine(rule, gamma=2.0, eta=eta)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # honest, and allowed
        model.fit(X, y)
    assert np.isfinite([model.objective_, model.dual_gap_, model.intercept_]).all()
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("tau", [1e-300, 1e-12, 10.0, 40.0, 48 - 1e-6])
@both_kinds
def test_every_tau_below_2n(kind, tau):
    X, y = data(kind)
    make = DANKClassifier if kind == "classifier" else DANKRegressor
    model = make(gamma=2.0, eta=3.0, tau=tau, tol=1e-7).fit(X, y)
    assert 0 <= model.dual_gap_ <= asked(model) * (1 + 1e-9) + 1e-12 * model.objective_
    if tau < 1e-10:
        plain = make(gamma=2.0, eta=3.0, tau=0, tol=1e-7).fit(X, y)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
        np.testing.assert_allclose(decision(model, X), decision(plain, X), atol=1e-2)
    if tau > 30:
        assert model.adaptation_.rank == 1
    for bad in (48, 48.0, 1e9):
        with pytest.raises(ValueError, match=rf"expected tau < 2n = 48 .* got {float(bad)!r}"):
            make(tau=bad).fit(X, y)


def test_the_rank_falls_with_tau_and_obeys_the_bound():
    X, y = classification(n=80)
    ranks = []
    for tau in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        model = DANKClassifier(C=5.0, tau=tau).fit(X, y)
        beta = model.kernel_.beta
        learned = (beta**2).sum() / (4 * model.eta_)  # the trace of 11' + cA is n + this
        assert model.adaptation_.rank <= 1 + learned / (tau / 2)
        largest = np.linalg.eigvalsh(model.adaptation_.toarray())[-1]
        top = 5.0**2 * np.linalg.eigvalsh(model.kernel_.base(X))[-1] / (4 * model.eta_)
        assert 80 - tau / 2 <= largest <= 80 + top - tau / 2
        ranks.append(model.adaptation_.rank)
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > 5
    assert ranks[-1] == 1


@pytest.mark.parametrize("n", [350])
def test_a_fit_with_lanczos_has_the_certified_decision(n):
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
def test_the_automatic_eta_is_that_of_the_plain_svm(rule):
    X, y = classification(n=80)
    model = machine(rule, gamma=2.0, C=2.0, eta_scale=3.0, tol=1e-7).fit(X, y)
    svm = SVC(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    assert model.eta_ == pytest.approx(3.0 * (svm.dual_coef_**2).sum(), rel=1e-3)


@every_rule
@both_kinds
def test_a_path_equals_single_fits(kind, rule):
    X, y = data(kind, n=50)
    Cs = [3.0, 0.1, 30.0, 3.0]
    for eta in ("auto", 2.0):
        model = machine(rule, kind, eta=eta, tol=1e-7)
        for C, found in zip(Cs, C_path(model, X, y, Cs), strict=True):
            single = clone(model).set_params(C=C).fit(X, y)
            assert found.C == C
            assert found.eta_ == pytest.approx(single.eta_, rel=1e-2)
            if eta != "auto":
                both = asked(single) + asked(found)
                assert found.objective_ == pytest.approx(single.objective_, abs=both)
            np.testing.assert_allclose(decision(found, X), decision(single, X), atol=1e-2)
            assert 0 <= found.dual_gap_ <= asked(found) * (1 + 1e-9)


@every_rule
def test_class_weights_multiply_C(rule):
    X, y = classification(n=60)
    options = {"gamma": 2.0, "C": 2.0, "eta": 5.0, "tol": 1e-8}
    by_class = machine(rule, **options, class_weight={1: 3.0, -1: 0.5}).fit(X, y)
    by_row = machine(rule, **options).fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    assert by_class.objective_ == pytest.approx(by_row.objective_, rel=1e-9)
    assert (np.abs(by_class.kernel_.beta) <= 2.0 * np.where(y == 1, 3.0, 0.5) + 1e-12).all()
    assert np.abs(by_class.kernel_.beta).max() > 2.0


@every_rule
@both_kinds
def test_rows_of_weight_zero_are_left_out(kind, rule):
    X, y = data(kind, n=50)
    w = np.random.default_rng(0).integers(0, 3, size=50).astype(float)
    kept = w > 0
    weighted, left = (
        machine(rule, kind, C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(A, b, v)
        for A, b, v in ((X, y, w), (X[kept], y[kept], w[kept]))
    )
    assert weighted.objective_ == pytest.approx(left.objective_, rel=1e-9)
    assert weighted.adaptation_.shape == (kept.sum(), kept.sum())
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(kept)[left.support_])


@pytest.mark.parametrize("extension", EXTENSIONS)
@every_rule
def test_a_precomputed_gram_gives_the_same_machine(rule, extension):
    X, y = classification(n=60)
    kernel, train, test = Gaussian(2.0), np.arange(40), np.arange(40, 60)
    options = {"extension": extension, "eta_scale": 0.2, "tol": 1e-6}
    direct = machine(rule, kernel=kernel, **options).fit(X[train], y[train])
    given = machine(rule, kernel="precomputed", **options).fit(kernel(X[train]), y[train])
    np.testing.assert_array_equal(given.support_, direct.support_)
    assert given.objective_ == pytest.approx(direct.objective_, rel=1e-12)
    close = 0.1 if extension == "smooth" else 1e-8  # its weights are of kernel distances
    np.testing.assert_allclose(
        given.decision_function(kernel(X[test], X[train])),
        direct.decision_function(X[test]),
        atol=close,
    )
    np.testing.assert_allclose(
        given.decision_function(kernel(X[train])), direct.decision_function(X[train]), atol=1e-8
    )


@every_rule
def test_more_than_two_classes(rule):
    X, y = load_iris(return_X_y=True)
    model = machine(rule, C=10).fit(X, y)
    assert model.score(X, y) > 0.95
    assert [len(pair.kernel_.points) for pair in model.estimators_] == [100, 100, 100]
    assert all(type(pair) is type(model) for pair in model.estimators_)
    assert model.n_iter_.shape == (3,)
    both = np.flatnonzero(y > 0)
    gamma = model.estimators_[2].kernel_.base.gamma
    alone = machine(rule, C=10, gamma=gamma).fit(X[both], y[both])
    np.testing.assert_allclose(
        model.estimators_[2].decision_function(X), alone.decision_function(X), atol=1e-2
    )
    for name in ("kernel_", "adaptation_", "eta_", "dual_gap_", "objective_constant_"):
        with pytest.raises(AttributeError, match=rf"use estimators_\[k\]\.{name}"):
            getattr(model, name)


@every_rule
def test_constant_features_and_opposite_duplicates(rule):
    X, y = classification(n=40)
    padded = np.column_stack([X, np.full(40, 7.0)])
    one, other = machine(rule, gamma=2.0).fit(X, y), machine(rule, gamma=2.0).fit(padded, y)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)
    model = machine(rule, C=2.0).fit(np.zeros((20, 2)), np.tile([0, 1], 10))
    assert np.isfinite(model.decision_function(np.zeros((3, 2)))).all()
    doubled = np.repeat(X[:20], 2, axis=0)
    for extension in EXTENSIONS:
        model = machine(rule, C=2.0, extension=extension).fit(doubled, np.tile([0, 1], 20))
        assert 0 <= model.dual_gap_ <= asked(model) * (1 + 1e-9)
        first, second = model.decision_function(doubled).reshape(20, 2).T
        np.testing.assert_allclose(first, second, atol=1e-12)


@every_rule
def test_a_tube_that_covers_all_gives_a_constant(rule):
    X, y = regression(n=40)
    for eta in ("auto", 1.0):
        model = machine(rule, "regressor", epsilon=10.0, eta=eta).fit(X, y)
        assert (model.eta_, model.dual_gap_, len(model.support_)) == (np.inf, 0.0, 0)
        assert np.isfinite(model.objective_)
        assert np.ptp(model.predict(X)) == 0.0
        np.testing.assert_array_equal(model.adaptation_.toarray(), np.ones((40, 40)))


@every_rule
@both_kinds
def test_a_scaled_target_makes_units_irrelevant(kind, rule):
    X, y = regression(n=50)
    model, other = (
        machine(rule, "regressor", C=3.0, tol=1e-8).fit(X, t) for t in (y, 1e6 * y - 5e6)
    )
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-5)
    np.testing.assert_allclose(other.predict(X), 1e6 * model.predict(X) - 5e6, rtol=1e-3)


@every_rule
@both_kinds
def test_a_gram_that_is_not_psd_warns_and_has_no_certificate(kind, rule):
    X, y = data(kind, n=60)
    model = machine(rule, kind, kernel="precomputed", extension="none", max_iter=10**5)
    with pytest.warns(NonPSDWarning, match=r"smallest eigenvalue is -\d"):
        model.fit(TL1(rho=0.8)(X), y)
    assert np.isnan(model.dual_gap_)
    assert np.isfinite([model.objective_, model.intercept_]).all()


@pytest.mark.parametrize("eta", [1e-3, 1.0])
@pytest.mark.parametrize("tau", [0.1, 5.0])
@both_kinds
def test_a_negative_gram_comes_to_an_end(kind, tau, eta):
    _, y = data(kind)
    make = DANKClassifier if kind == "classifier" else DANKRegressor
    model = make("precomputed", extension="none", eta=eta, tau=tau, max_iter=10**4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPSDWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(-np.eye(24), y)
    assert np.isnan(model.dual_gap_)
    assert np.isfinite([model.objective_, model.intercept_, *model.dual_coef_]).all()


@every_rule
def test_histories_belong_together(rule):
    X, y = classification(n=60)
    for eta in ("auto", 0.5):
        model = machine(rule, C=10.0, eta=eta, tol=1e-7).fit(X, y)
        last = model.objective_history_[-1] + model.objective_constant_
        assert last == pytest.approx(model.objective_, rel=1e-12)
        assert model.gap_history_[-1] == model.dual_gap_
        steps = model.step_history_
        assert len(model.objective_history_) == len(model.gap_history_) == len(steps)
        assert (np.diff(steps) >= 0).all()
        assert steps[-1] <= model.n_iter_
        assert (np.diff(model.objective_history_) >= -1e-9).all()
        assert (model.gap_history_ >= 0).all()
        lower, upper = model.objective_history_, model.objective_history_ + model.gap_history_
        assert lower.max() <= upper.min() + 1e-9


@every_rule
def test_the_constant_of_the_objective_is_published(rule):
    X, y = classification()
    model = machine(rule, eta=2.0).fit(X, y)
    tau = getattr(model, "tau", 0.0)
    assert model.objective_constant_ == pytest.approx(2.0 * (tau * 24 - tau**2 / 4), abs=1e-15)
    assert model.objective_ > model.objective_constant_


@every_rule
@both_kinds
def test_an_unfinished_fit_warns_with_gap_and_advice(kind, rule):
    X, y = data(kind, n=100)
    with pytest.warns(ConvergenceWarning, match=r"after 3 steps with a gap of .* raise max_iter"):
        model = machine(rule, kind, C=100, eta=1.0, max_iter=3).fit(X, y)
    assert model.dual_gap_ > asked(model)
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning):
        model = machine(rule, kind, C=100, max_iter=3).fit(X, y)
    assert model.n_iter_ <= 6


@every_rule
def test_an_interrupted_fit_leaves_an_unfitted_model(rule, monkeypatch):
    X, y = classification(n=60)
    model = machine(rule).fit(X, y)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.methods.hadamard.whole.sequential.solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
@every_rule
def test_a_callback_can_stop(rule):
    class Stopper:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            return True

    X, y = classification(n=300)
    options = {"C": 100.0, "eta": 1.0, "tol": 1e-8}
    whole = machine(rule, **options).fit(X, y)
    stopped = machine(rule, **options).set_callbacks(Stopper()).fit(X, y)
    assert stopped.n_iter_ < whole.n_iter_
    assert stopped.dual_gap_ > whole.dual_gap_


@every_rule
def test_copies_and_repeats_give_the_same_bytes(rule):
    X, y = classification(n=60)
    model, again = (machine(rule, C=3.0).fit(X, y) for _ in range(2))
    new = np.random.default_rng(5).uniform(size=(10, 3))
    copy = pickle.loads(pickle.dumps(model))
    assert copy.decision_function(new).tobytes() == model.decision_function(new).tobytes()
    assert again.dual_coef_.tobytes() == model.dual_coef_.tobytes()
    assert clone(model).get_params() == model.get_params()
    model.decision_function(new)
    assert model.set_params(C=4.0).fit(X, y).decision_function(new).shape == (10,)


def test_tau_scale_and_extension_are_chosen_together():
    X, y = classification(n=90)
    search = GridSearchCV(
        DANKClassifier(gamma=2.0),
        {"tau": [0.0, 0.1], "extension": ["smooth", "none"], "eta_scale": [0.1, 1.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_estimator_.get_params()["tau"] in (0.0, 0.1)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": -1e-300}, "expected tau >= 0, a finite number, got -1e-300"),
        ({"tau": np.nan}, "expected tau >= 0, a finite number, got nan"),
        ({"tau": -np.inf}, "expected tau >= 0, a finite number, got -inf"),
        ({"tau": True}, "expected tau >= 0, a finite number, got True"),
        ({"tau": None}, "expected tau >= 0, a finite number, got None"),
        ({"tau": [0.1]}, r"expected tau >= 0, a finite number, got \[0\.1\]"),
        ({"tau": "0.1"}, r"expected tau in \['auto'\], got '0.1'"),
        ({"tau": 10**400}, "expected tau >= 0, a finite number, got 1000"),
        ({"tau": 0.1, "eta": -1}, "expected eta > 0, a number, got -1"),
        ({"tau": 0.1, "eta": 1e-301}, r"eta \(times eta_scale\) >= 1e-300, a number, got 1e-301"),
        ({"tau": 0.1, "eta_scale": np.nan}, "expected eta_scale > 0, a finite number, got nan"),
        ({"tau": 48.0}, r"expected tau < 2n = 48 for 24 training points .* got 48\.0"),
    ],
    ids=str,
)
def test_bad_parameters_get_one_clear_error(make, parameters, message):
    X, y = classification() if make is DANKClassifier else regression()
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, y)


def test_tau_is_checked_against_each_pair_of_classes():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:50, 50:60, 100:103]
    with pytest.raises(ValueError, match=r"expected tau < 2n = 26 for 13 training points"):
        DANKClassifier(tau=30.0).fit(X[keep], y[keep])


@pytest.mark.parametrize("C", [1.0, 8.0, 32.0])
def test_with_the_defaults_a_few_duals_suffice(C):
    X, y = make_speed_problem(300)
    for model in (DANKClassifier(C=C, tol=1e-6), KNPLClassifier(C=C, tol=1e-6)):
        assert len(model.fit(X, y).gap_history_) <= 11  # the start, and ten duals
    target = X[:, 0] ** 2 + np.sin(9 * X[:, 1])
    assert len(DANKRegressor(C=C, tol=1e-6).fit(X, target).gap_history_) <= 11


@both_kinds
def test_eigenpairs_of_the_fit_are_those_of_predictions(kind, monkeypatch):
    X, y = data(kind, n=60)
    new = X[:5] + 0.01
    model = machine(RULES["tau .01"], kind, C=3.0).fit(X, y)
    fresh = clone(model.kernel_)
    np.testing.assert_allclose(fresh(new, X), model.kernel_(new, X), rtol=1e-10)
    assert fresh.form.rank == model.kernel_.form.rank > 1
    monkeypatch.setattr(Spectrum, "of", None)  # neither a prediction nor a copy computes them
    model.predict(new)
    pickle.loads(pickle.dumps(model)).predict(new)
    model.set_params(extension="none", tau=0.0).fit(X, y)
    assert "eigenpairs" not in vars(model.kernel_)


def test_many_eigenpairs_are_not_kept_with_a_model():
    X, y = classification(n=300)
    model = DANKClassifier(tau=1e-9, C=3.0).fit(X, y)
    model.predict(X[:5])
    assert model.kernel_.form.rank > 64
    assert "eigenpairs" not in vars(model.kernel_)
