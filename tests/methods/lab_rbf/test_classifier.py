"""LABRBFClassifier: labels, probabilities, and the logistic layer compared to scikit-learn."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from pliant import LABRBFClassifier
from pliant.core.progress import Deadline, FitProgress
from pliant.exceptions import ModelFileError
from pliant.methods.lab_rbf import classifier, dense, logistic
from pliant.methods.lab_rbf.collection import build_table
from pliant.methods.lab_rbf.constants import LOGISTIC_ALPHAS
from pliant.persistence import save
from tests.methods.lab_rbf.building import build

QUICK = {"n_support": 10, "n_members": 2, "max_iter": 10, "random_state": 0}


def table(n=120, classes=2, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    score = X[:, 0] ** 2 + X[:, 1] + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def quick(**options):
    return build(LABRBFClassifier, **{**QUICK, **options})


X, Y = table()
X3, Y3 = table(classes=3)
NEW = np.random.default_rng(9).uniform(-1.2, 1.2, size=(25, 4))


def formula(model, points):
    """Compute the scores by the formula of the class docstring."""
    f = model.kernel_(points, model.support_vectors_) @ model.dual_coef_
    return f + points @ model.linear_coef_ + model.intercept_


@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_match_the_formula(monkeypatch, objective, classes):
    monkeypatch.setattr(dense, "best_weight", lambda *_: 0.3)
    points, y = table(classes=classes)
    model = quick(objective=objective).fit(points, y)
    assert any(member.objective_ == "dense" for member in model.members_)
    scores = model.decision_function(NEW)
    assert scores.shape == ((25,) if classes == 2 else (25, classes))
    size = np.abs(model.dual_coef_).sum()  # bounds the terms of the sum
    np.testing.assert_allclose(scores, formula(model, NEW), rtol=0, atol=1e-12 * size)
    assert model.score(points, y) > 1.2 / classes


@pytest.mark.parametrize("classes", [2, 3])
def test_predicted_class_has_the_highest_score_and_probability(classes):
    points, y = table(classes=classes)
    model = quick().fit(points, y)
    probabilities = model.predict_proba(NEW)
    assert probabilities.shape == (25, classes)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(NEW)), probabilities, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), probabilities.argmax(axis=1))
    scores = model.decision_function(NEW)
    expected = scores > 0 if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(NEW), expected)


def test_probabilities_are_calibrated():
    """The penalties depend on few held-out rows, so the claims are about means over data sets."""
    gaps, losses = [], []
    for seed in range(5):
        points, y = table(900, 3, seed, noise=0.4)
        model = quick(max_iter=20).fit(points[:300], y[:300])
        probabilities = model.predict_proba(points[300:])
        scores = model.decision_function(points[300:])
        shares = np.tile(np.bincount(y[:300]) / 300, (600, 1))
        others = [shares, *(softmax(factor * scores, axis=1) for factor in (0.3, 3.0))]
        losses.append([log_loss(y[300:], each) for each in (probabilities, *others)])
        gaps.append(probabilities.max(axis=1) - (probabilities.argmax(axis=1) == y[300:]))
    loss, constant, *scaled = np.mean(losses, axis=0)
    assert loss < 0.9 * constant
    assert loss < min(scaled)
    assert abs(np.mean(gaps)) < 0.06


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence"])
@pytest.mark.parametrize("classes", [2, 3])
def test_few_rows(n, objective, classes):
    y = np.arange(n) % classes
    model = quick(objective=objective).fit(X[:n], y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert len(model.classes_) == min(n, classes)


def test_class_with_zero_weight_is_never_predicted():
    weights = np.where(Y3 == 1, 0.0, 1.0)
    model = quick().fit(X3, Y3, weights)
    assert set(model.predict(X3)) <= {0, 2}
    assert np.isfinite(model.predict_proba(X3)).all()
    with pytest.raises(ValueError, match="expected at least two classes, got one class: 1"):
        quick().fit(X, Y, np.where(Y == 1, 1.0, 0.0))


def test_model_files_refuse_forged_classes(tmp_path):
    model = quick().fit(X, Y)
    for forged in (model.classes_[:1], model.classes_[None], np.arange(5), "abc"):
        model.classes_ = forged
        with pytest.raises(ModelFileError, match="expected"):
            save(model, tmp_path / "m.pliant")


# Logistic layer, compared to scikit-learn


RNG = np.random.default_rng(0)
F = RNG.normal(size=(150, 6)) * [1.0, 1.0, 0.1, 3.0, 1.0, 1.0]
NOISE = RNG.normal(size=150)


def labels(classes):
    noisy = F[:, 0] + F[:, 3] / 3 + NOISE
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes))


def shares(y):
    return np.eye(y.max() + 1)[y]


@pytest.mark.parametrize("small", [0, logistic.MAX_NEWTON])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_minimiser_matches_scikit_learn(monkeypatch, classes, weighted, small):
    monkeypatch.setattr(logistic, "MAX_NEWTON", small)  # quasi-Newton or Newton steps
    monkeypatch.setattr(logistic, "GRADIENT_TOLERANCE", 1e-9)
    monkeypatch.setattr(logistic, "INTERCEPT_PENALTY", 1e-12)
    y = labels(classes)
    weights = np.random.default_rng(1).uniform(0.1, 3, size=150) if weighted else None
    path = logistic.logistic_path(F, shares(y), weights, np.array([10.0, 0.3]))
    for (ours, intercept), penalty in zip(path, [10.0, 0.3], strict=True):
        # With more than two classes, the mean of scikit-learn's intercepts is arbitrary.
        model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
        model.fit(F, y, sample_weight=weights)
        W, b = model.coef_.T, model.intercept_
        shift = (intercept - b).mean() if classes > 2 else 0.0
        np.testing.assert_allclose(ours, W, atol=1e-4 * np.abs(W).max())
        np.testing.assert_allclose(intercept - b, shift, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_minimiser_for_more_features_than_rows(monkeypatch, classes):
    monkeypatch.setattr(logistic, "GRADIENT_TOLERANCE", 1e-9)
    monkeypatch.setattr(logistic, "INTERCEPT_PENALTY", 1e-12)
    rng = np.random.default_rng(4)
    wide, y = rng.normal(size=(30, 80)), np.arange(30) % classes
    weights = rng.uniform(0.1, 3, size=30)
    ((W, intercept),) = logistic.logistic_path(wide, shares(y), weights, np.array([3.0]))
    model = LogisticRegression(C=1 / 3.0, tol=1e-10, max_iter=10_000)
    model.fit(wide, y, sample_weight=weights)
    np.testing.assert_allclose(W, model.coef_.T, atol=1e-4 * np.abs(W).max())
    difference = intercept - model.intercept_
    np.testing.assert_allclose(difference, difference.mean() if classes > 2 else 0.0, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
def test_gradient_and_hessian(classes):
    y, rng = labels(classes), np.random.default_rng(1)
    q = 1 if classes == 2 else classes
    A = np.hstack([F, np.ones((150, 1))])
    weight = rng.uniform(0.1, 3, size=150)
    penalised = logistic.PenalisedLogLoss(A, shares(y), weight, np.full((7, 1), 0.3))
    W, V = rng.normal(size=(2, 7, q))
    at = penalised.evaluate(W)
    error = check_grad(
        lambda w: penalised.evaluate(w.reshape(7, q)).value,
        lambda w: penalised.evaluate(w.reshape(7, q)).gradient.ravel(),
        W.ravel(),
    )
    assert error < 1e-5 * np.linalg.norm(at.gradient)
    # Directional derivative of the gradient
    up, down = (penalised.evaluate(W + h * V).gradient for h in (1e-5, -1e-5))
    hessian = penalised.hessian(at.probabilities)
    product = (hessian @ V.T.ravel()).reshape(q, 7).T + penalised.ridge * V
    np.testing.assert_allclose(product, (up - down) / 2e-5, atol=1e-6 * np.abs(product).max())


def test_a_path_ends_soon_after_the_time_limit(monkeypatch):
    """A first minimisation takes a few steps; smaller penalties get its coefficients."""
    monkeypatch.setattr(logistic, "MAX_NEWTON", 0)
    monkeypatch.setattr(logistic, "LEAST_STEPS", 5)
    penalties, y = np.array([1.0, 0.1, 0.01]), shares(labels(3))
    calls, evaluate = [], logistic.PenalisedLogLoss.evaluate

    def count(loss, W):
        calls.append(W)
        return evaluate(loss, W)

    monkeypatch.setattr(logistic.PenalisedLogLoss, "evaluate", count)
    path = logistic.logistic_path(F, y, None, penalties, lambda: True)
    assert len(calls) < 20
    assert len(path) == 3
    assert path[0] is path[1] is path[2]
    loss = logistic.PenalisedLogLoss(
        np.hstack([F, np.ones((150, 1))]), y, np.ones(150), np.full((7, 1), 1.0)
    )
    start, reached = (evaluate(loss, W).value for W in (np.zeros((7, 3)), np.vstack(path[0])))
    best = np.vstack(logistic.logistic_path(F, y, None, penalties[:1])[0])
    assert start - reached > 0.9 * (start - evaluate(loss, best).value)


def test_without_time_no_penalty_is_tried_on_held_out_rows(monkeypatch):
    class Over(Deadline):
        is_over = True  # the steps for the bandwidths do not ask

    calls, scores = [], classifier.held_out_scores
    monkeypatch.setattr(
        classifier, "held_out_scores", lambda *given: calls.append(given) or scores(*given)
    )
    in_time = quick(dense=False).fit(X, Y)
    assert len(calls) == 2
    monkeypatch.setattr(classifier, "Deadline", Over)
    model = quick(dense=False).fit(X, Y)
    assert len(calls) == 2
    np.testing.assert_array_equal(model.alpha_, classifier.SINGLE_ALPHA)
    np.testing.assert_array_equal(model.support_, in_time.support_)
    assert model.score(X, Y) > 0.8


def test_no_penalty_is_chosen_from_a_path_that_the_time_limit_ends(monkeypatch):
    class Ending(Deadline):
        @property
        def is_over(self):
            return next(answers)

    answers = itertools.chain([False], itertools.repeat(True))  # the first path has one penalty
    monkeypatch.setattr(classifier, "Deadline", Ending)
    model = quick(dense=False).fit(X, Y)
    np.testing.assert_array_equal(model.alpha_, classifier.SINGLE_ALPHA)
    assert model.score(X, Y) > 0.8


def test_two_classes_with_many_coefficients_have_one_column(monkeypatch):
    rng = np.random.default_rng(0)
    F, codes = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    given = F, np.eye(2)[codes], None, np.array([1.0])
    expected = [*logistic.logistic_steps(*given)]
    monkeypatch.setattr(logistic, "MANY_COEFFICIENTS", 1)
    found = [*logistic.logistic_steps(*given)]
    assert found[-1][0].shape == (3, 1)
    np.testing.assert_allclose(found[-1][0], expected[-1][0], atol=1e-6)


def test_class_without_rows_has_small_probabilities():
    y = labels(2)
    ((W, intercept),) = logistic.logistic_path(F, np.eye(3)[y], None, np.array([1.0]))
    scores = F @ W + intercept
    assert np.isfinite(scores).all()
    assert (np.exp(logistic.log_softmax(scores))[:, 2] < 1e-2).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_each_member_is_a_logistic_regression_on_its_features(classes):
    X, y = table(200, classes)
    settings = {"n_members": 2, "max_iter": 5, "alpha": 0.5, "dense": False, "random_state": 0}
    for member in LABRBFClassifier(20, **settings).fit(X, y).members_:
        assert member.alpha_ == 0.5
        peer = LogisticRegression(C=2.0, tol=1e-8, max_iter=10_000).fit(member.features(X), y)
        expected = peer.decision_function(member.features(X)).reshape(len(X), -1)
        ours = member.expand(X)
        if classes > 2:
            ours, expected = (s - s.mean(axis=1, keepdims=True) for s in (ours, expected))
        np.testing.assert_allclose(ours, expected, atol=0.02 * np.abs(expected).max())


def test_penalty_is_chosen_on_all_held_out_rows():
    X, y = table(200)
    flipped = np.where(np.random.default_rng(2).uniform(size=len(y)) < 0.3, 1 - y, y)
    settings = {"n_members": 2, "max_iter": 5, "random_state": 0}
    clean, noisy = (LABRBFClassifier(20, **settings).fit(X, t) for t in (y, flipped))
    for model in (clean, noisy):
        local, dense = model.alpha_[:2], model.alpha_[2:]
        assert local[0] == local[1]
        assert LOGISTIC_ALPHAS.min() <= local[0] <= LOGISTIC_ALPHAS.max()
        assert dense.size
        assert (dense > 0).all()
    assert clean.alpha_[0] < noisy.alpha_[0]
    assert clean.alpha_[2:].max() < noisy.alpha_[2:].min()


def test_refit_is_logistic():
    X, y = table(200)
    model = LABRBFClassifier(20, n_members=2, max_iter=5, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_allclose(model.refit_coefficients(X, y).predict_proba(X), before, atol=1e-9)
    model.refit_coefficients(X, 1 - y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], before[:, 1], atol=0.02)


def test_a_sample_of_each_class_is_not_held_out():
    points, y = table(n=40, classes=2)
    y[:5] = [2, 3, 3, 4, 4]
    model = quick()
    prepared, _ = build_table(points, y, None, model._encode_arrays, seed=0)
    deadline = Deadline(FitProgress(model, points, y), None)
    classes = np.unique(y, return_inverse=True)[1]
    trainer = model._build_trainer(prepared, deadline, classifier._squared_error, classes=classes)
    seeds = np.arange(8)
    for seed in range(40):
        split = trainer._split(40, seed % 8, seeds + seed)
        assert len(split.held_out) == 8
        assert {*y[split.train]} == {*y}
        np.testing.assert_array_equal(np.sort([*split.train, *split.held_out]), np.arange(40))


def test_the_first_rows_are_held_out_unless_a_class_lacks_others():
    model = quick()
    prepared, _ = build_table(X3, Y3, None, model._encode_arrays, seed=0)
    deadline = Deadline(FitProgress(model, X3, Y3), None)
    trainer = model._build_trainer(prepared, deadline, classifier._squared_error, classes=Y3)
    order = np.random.RandomState(5).permutation(120)
    split = trainer._split(120, 0, np.array([5, 6]))
    np.testing.assert_array_equal(split.held_out, order[:24])
    np.testing.assert_array_equal(split.train, order[24:])


@pytest.mark.parametrize(
    ("n_members", "rounds"), [(10, [5, 5]), (6, [5, 1]), (4, [3, 1]), (1, [1])]
)
def test_consecutive_members_hold_out_different_rows(n_members, rounds):
    model = quick(n_members=n_members)
    prepared, _ = build_table(X3, Y3, None, model._encode_arrays, seed=0)
    deadline = Deadline(FitProgress(model, X3, Y3), None)
    trainer = model._build_trainer(prepared, deadline, classifier._squared_error, classes=Y3)
    parts = [trainer._split(120, k).held_out for k in range(sum(rounds))]
    for n_parts in rounds:
        rows = np.concatenate([parts.pop(0) for _ in range(n_parts)])
        assert len(np.unique(rows)) == len(rows) == 24 * n_parts
    assert not parts


def test_rows_are_classified_by_the_members_that_held_them_out():
    points, y = table(n=200, classes=3)
    model = quick(n_members=10).fit(points, y)
    rows, probabilities = model._held_out
    assert len(rows) > 150  # a row of each class is never held out by a member
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    accuracy = np.mean(model.classes_[probabilities.argmax(axis=1)] == y[rows])
    new, labels = table(n=400, classes=3, seed=9)
    assert abs(accuracy - model.score(new, labels)) < 0.12
    assert accuracy < model.score(points, y)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("n", [2, 30])
def test_classes_of_one_sample_are_learned(n):
    points = 3.0 * np.random.default_rng(4).normal(size=(n, 6))
    model = quick(n_support=30, linear=True).fit(points, np.arange(n))
    np.testing.assert_array_equal(model.predict(points), np.arange(n))
    assert np.isnan(model.validation_score_).all()
    np.testing.assert_allclose(model.weights_, 1.0 / len(model.members_), rtol=1e-15)


def test_members_that_hold_out_a_single_class_do_not_exclude_others():
    """Three of 1500 rows are positive, and most members hold out none of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    y = np.zeros(1500, dtype=int)
    y[[7, 500, 1200]] = 1
    model = build(LABRBFClassifier, n_support=20, n_members=4, max_iter=5, dense=False)
    model.set_params(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.weights_, 0.25)
