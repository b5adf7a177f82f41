"""The logistic last layer against scikit-learn's logistic regression."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as sklearn_log_loss

from pliant import LABRBFClassifier
from pliant.methods.lab_rbf import logistic

RNG = np.random.default_rng(0)
F = RNG.normal(size=(150, 6)) * [1.0, 1.0, 0.1, 3.0, 1.0, 1.0]


def labels(classes):
    noisy = F[:, 0] + F[:, 3] / 3 + RNG.normal(size=150)
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, classes) / classes))


def shares(y):
    return np.eye(y.max() + 1)[y]


@pytest.mark.parametrize("small", [0, logistic.SMALL])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_it_is_the_minimiser_that_scikit_learn_finds(monkeypatch, classes, weighted, small):
    monkeypatch.setattr(logistic, "SMALL", small)  # quasi-Newton steps, or Newton's
    monkeypatch.setattr(logistic, "GRADIENT", 1e-9)
    monkeypatch.setattr(logistic, "FREE", 1e-12)
    y = labels(classes)
    weights = RNG.uniform(0.1, 3, size=150) if weighted else None
    path = logistic.logistic_path(F, shares(y), weights, np.array([10.0, 0.3]))
    for fitted, penalty in zip(path, [10.0, 0.3], strict=True):
        # scikit-learn's two classes have one column too; with more, their mean is not penalised.
        model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
        model.fit(F, y, sample_weight=weights)
        W, b = model.coef_.T, model.intercept_
        ours = fitted.intercept - (fitted.intercept.mean() if classes > 2 else 0.0)
        np.testing.assert_allclose(fitted.W, W, atol=1e-4 * np.abs(W).max())
        np.testing.assert_allclose(ours, b - (b.mean() if classes > 2 else 0.0), atol=1e-4)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gradient_and_the_hessian(classes):
    y = labels(classes)
    q = 1 if classes == 2 else classes
    A = np.hstack([F, np.ones((150, 1))])
    R = np.linalg.cholesky(A.T @ A + np.eye(7))
    weight = RNG.uniform(0.1, 3, size=150)
    penalised = logistic._Penalised(A, shares(y), weight, np.full((7, 1), 0.3))
    problem = logistic._Problem(penalised, R)
    z = RNG.normal(size=7 * q)
    slope = np.linalg.norm(problem.at(z)[1])
    assert check_grad(lambda z: problem.at(z)[0], lambda z: problem.at(z)[1], z) < 1e-5 * slope
    # The Hessian, along a direction.
    W, V = RNG.normal(size=(2, 7, q))
    up, down = (penalised.at(W + h * V).gradient for h in (1e-5, -1e-5))
    hessian = penalised.hessian(penalised.at(W).probabilities)
    product = (hessian @ V.T.ravel()).reshape(q, 7).T + penalised.ridge * V
    np.testing.assert_allclose(product, (up - down) / 2e-5, atol=1e-6 * np.abs(product).max())


def test_a_class_without_rows_has_small_probabilities():
    y = labels(2)
    (fitted,) = logistic.logistic_path(F, np.eye(3)[y], None, np.array([1.0]))
    scores = fitted.scores(F)
    assert np.isfinite(scores).all()
    assert (np.exp(logistic.log_softmax(scores))[:, 2] < 1e-2).all()


def test_the_log_loss_is_that_of_scikit_learn():
    y, scores = labels(3), RNG.normal(size=(150, 3))
    weights = RNG.uniform(size=150)
    probabilities = np.exp(logistic.log_softmax(scores))
    expected = sklearn_log_loss(y, probabilities, sample_weight=weights)
    assert logistic.log_loss(scores, shares(y), weights) == pytest.approx(expected, rel=1e-12)


def table(n=200, classes=2):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(n, 2))
    level = np.sin(3 * X[:, 0]) + X[:, 1]
    return X, np.digitize(level, [0.0] if classes == 2 else [-0.5, 0.5])


@pytest.mark.parametrize("classes", [2, 3])
def test_each_member_is_a_logistic_regression_on_its_features(classes):
    X, y = table(classes=classes)
    model = LABRBFClassifier(20, n_members=2, max_iter=5, alpha=0.5, random_state=0).fit(X, y)
    for member in model.members_:
        assert member.alpha_ == 0.5
        peer = LogisticRegression(C=2.0, tol=1e-8, max_iter=10_000).fit(member.features(X), y)
        expected = peer.decision_function(member.features(X)).reshape(len(X), -1)
        ours = member.expand(X)
        if classes > 2:
            ours, expected = (s - s.mean(axis=1, keepdims=True) for s in (ours, expected))
        np.testing.assert_allclose(ours, expected, atol=0.02 * np.abs(expected).max())
    assert model.sharpness_ == 1.0


def test_two_classes_score_log_odds():
    X, y = table()
    model = LABRBFClassifier(20, n_members=2, max_iter=5, random_state=0).fit(X, y)
    odds = model.predict_proba(X)
    np.testing.assert_allclose(model.decision_function(X), np.log(odds[:, 1] / odds[:, 0]))


def test_the_penalty_is_the_best_of_all_held_out_rows():
    X, y = table()
    flipped = np.where(np.random.default_rng(2).uniform(size=len(y)) < 0.3, 1 - y, y)
    settings = {"n_members": 2, "max_iter": 5, "random_state": 0}
    clean, noisy = (LABRBFClassifier(20, **settings).fit(X, t) for t in (y, flipped))
    assert set(clean.alpha_) <= set(logistic.PENALTIES)
    assert len(set(clean.alpha_)) == len(set(noisy.alpha_)) == 1
    assert clean.alpha_[0] < noisy.alpha_[0]


def test_the_squared_loss_has_scores_of_about_one():
    X, y = table()
    model = LABRBFClassifier(20, n_members=2, loss="squared", random_state=0).fit(X, y)
    scores = model.decision_function(X)
    assert np.median(np.abs(scores)) == pytest.approx(1.0, abs=0.2)
    assert model.sharpness_ > 1.0
    assert model.score(X, y) > 0.95


def test_refitted_coefficients_are_logistic():
    X, y = table()
    model = LABRBFClassifier(20, n_members=2, max_iter=5, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_allclose(model.refit_coefficients(X, y).predict_proba(X), before, atol=1e-9)
    model.refit_coefficients(X, 1 - y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], before[:, 1], atol=0.02)


def test_an_unknown_loss():
    with pytest.raises(ValueError, match=r"expected loss .*, got 'hinge'"):
        LABRBFClassifier(loss="hinge").fit(*table())
