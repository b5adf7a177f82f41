"""Dense members of LAB-RBF: fits, search, weight and metrics, compared to independent values."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.methods import Warp
from pliant.methods.lab_rbf import (
    base,
    classifier,
    constants,
    dense,
    gram,
    intervals,
    logistic,
    members,
    regressor,
    trainer,
)
from pliant.methods.lab_rbf.dense import Choice, Search, Trial, best_weight
from pliant.methods.lab_rbf.gram import DenseGram
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.methods.lab_rbf.table import Table
from tests.methods.lab_rbf.building import build
from tests.reference import naive_dense, naive_local

GAIN = 2e-3  # The least relative decrease of the loss for which the search takes a step.
QUICK = {"n_support": 8, "n_members": 2, "max_iter": 4, "transforms": None, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(70, 3)) * [1.0, 5.0, 0.2] + [3.0, 0.0, -1.0]
Y = np.sin(3 * X[:, 0]) + X[:, 1] / 5 + 0.1 * RNG.normal(size=70)
TWO = np.column_stack([Y, X[:, 2] * Y])
CLASSES = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = RNG.uniform(0.2, 2.0, size=70)
NEW = RNG.uniform(-1, 1, size=(20, 3)) * [1.0, 5.0, 0.2] + [3.0, 0.0, -1.0]
CHOICES = [
    Choice(metric, profile, factor, 0.1)
    for (metric, profile), factor in zip(
        itertools.product(dense.METRICS, dense.DENSE_PROFILES),
        itertools.cycle([0.25, 1.0, 4.0]),
        strict=False,
    )
]
each_choice = pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.metric}-{c.profile}")


def regress(**options):
    return build(LABRBFRegressor, **{**QUICK, **options})


def classify(**options):
    return build(LABRBFClassifier, **{**QUICK, **options})


def dense_members(model):
    return [member for member in model.members_ if member.objective_ == "dense"]


@pytest.fixture
def force(monkeypatch):
    """Return a function that sets the hyperparameters and the weight of the next dense members."""

    def set_choices(*choices, weight=0.3):
        monkeypatch.setattr(Search, "best_choices", lambda _: list(choices or CHOICES[:1]))
        monkeypatch.setattr(dense, "best_weight", lambda *_: weight)

    return set_choices


def use_all(monkeypatch):
    """Let all local members contribute, whatever their loss."""
    for module in (base, regressor):
        monkeypatch.setattr(module, "contributing", lambda fits: np.ones(len(fits), dtype=bool))


@cache
def local_fits(kind="regression", weighted=False, two=False, scale="raw"):
    """Return the table and the local fits from which dense members are learned."""
    captured = []
    module, name = (
        (regressor, "learn_dense") if kind == "regression" else (classifier, "learn_dense_classes")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, lambda table, fits, *_: captured.append((table, fits)))
        patch.setattr(trainer.Trainer, "choose_scales", lambda *_: [scale])
        weights = WEIGHTS if weighted else None
        if kind == "regression":
            regress().fit(X, TWO if two else Y, weights)
        else:
            classify().fit(X, CLASSES if two else CLASSES > 1, weights)
    ((table, fits),) = captured
    assert len(fits) == 2
    return table, fits


def metric_of(member):
    """Return the matrix A of a dense member."""
    mixing = member.mixing
    return np.diag(member.mapped_bandwidths()[0]) if mixing is None else mixing


def learned(fit, metric):
    """Return the matrix A of a metric that a local member has learned."""
    A = getattr(fit.metrics, metric)
    return np.diag(A) if A.ndim == 1 else A


def scaled(points):
    """Scale points by the range of X to [-1, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (points - (low + high) / 2) / ((high - low) / 2)


def ridge_predictions(u, y, t, A, profile, alpha, weights=None):
    """Fit kernel ridge regression to rows u and targets y, and predict the rows t."""
    mean = np.average(y, axis=0, weights=weights)
    c = naive_dense.ridge(naive_dense.gram(u, u, A, profile), y - mean, alpha, weights)
    return mean + naive_dense.gram(t, u, A, profile) @ c


# The weight


def naive_weight(weights, errors, steps):
    """Compute the weight by loops over rows and outputs, and the precisions of two estimates."""
    top, bottom = 0.0, 0.0
    for s, e, g in zip(weights, errors, steps, strict=True):
        for a, b in zip(e, g, strict=True):
            top += s * a * b
            bottom += s * b * b
    own = top / bottom
    variance = 0.0  # of the estimate: the sum over the rows of squared gradients, over bottom^2
    for s, e, g in zip(weights, errors, steps, strict=True):
        slope = sum(s * (a - own * b) * b for a, b in zip(e, g, strict=True))
        variance += (slope / bottom) ** 2
    precisions = 1.0 / variance, 1.0 / 0.2**2
    return (precisions[0] * own + precisions[1] * 0.4) / sum(precisions)


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("outputs", [1, 3])
def test_weight_matches_the_naive_twin(n, outputs):
    rng = np.random.default_rng(n + outputs)
    for _ in range(10):
        weights, steps = rng.uniform(0.1, 2.0, n), rng.normal(size=(n, outputs))
        errors = 0.5 * steps + rng.normal(scale=0.3, size=(n, outputs))
        expected = np.clip(naive_weight(weights, errors, steps), 0.0, constants.MAX_DENSE_WEIGHT)
        assert best_weight(weights, errors, steps) == pytest.approx(expected, rel=1e-10)


def test_weight_minimises_the_squared_error_of_many_rows():
    rng = np.random.default_rng(0)
    steps, weights = rng.normal(size=(20_000, 2)), rng.uniform(0.1, 2.0, 20_000)
    errors = 0.7 * steps + rng.normal(scale=0.1, size=(20_000, 2))
    root = np.sqrt(np.repeat(weights, 2))
    (expected,), *_ = np.linalg.lstsq((root * steps.ravel())[:, None], root * errors.ravel())
    assert best_weight(weights, errors, steps) == pytest.approx(expected, abs=1e-4)


def test_limits_of_the_weight():
    rng = np.random.default_rng(0)
    ones, steps = np.ones(30), rng.normal(size=(30, 1))
    assert best_weight(ones, 3.0 * steps, steps) == constants.MAX_DENSE_WEIGHT
    assert best_weight(ones, -steps, steps) == 0.0
    assert best_weight(ones, steps, 0.0 * steps) == 0.0
    noise = 1e6 * rng.normal(size=(30, 1))  # the estimate has no precision: the prior remains
    assert best_weight(ones, noise, steps) == pytest.approx(constants.DENSE_WEIGHT, abs=1e-3)


# Kernel ridge regression


@each_choice
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
def test_a_dense_member_is_kernel_ridge_regression(force, choice, weighted, y):
    force(choice)
    weights = WEIGHTS if weighted else None
    model = regress().fit(X, y, weights)
    assert len(dense_members(model)) == 2
    targets = y.reshape(len(y), -1)
    for member in dense_members(model):
        assert (member.kernel_.profile, member.alpha_) == (choice.profile, choice.alpha)
        assert (member.mixing is None) == (choice.metric == "bandwidths")
        np.testing.assert_array_equal(member.support_, np.arange(70))
        expected = ridge_predictions(
            scaled(X), targets, scaled(NEW), metric_of(member), choice.profile, 0.1, weights
        )
        # The smallest eigenvalue of K + alpha I is at least alpha.
        atol = 1e-10 * np.abs(targets).max()
        np.testing.assert_allclose(member.expand(NEW), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("choice", CHOICES[::3], ids=lambda c: c.metric)
def test_a_dense_member_of_transformed_features(force, monkeypatch, choice):
    force(choice)
    monkeypatch.setattr(trainer.Trainer, "choose_scales", lambda *_: ["log"])
    points = np.exp(2.0 * scaled(X))
    warp = Warp.learn(points, "log")
    assert not warp.affine
    for member in dense_members(regress().fit(points, Y)):
        u, t = warp(points), warp(points[::3] * 1.01)
        expected = ridge_predictions(u, Y[:, None], t, metric_of(member), choice.profile, 0.1)
        found = member.expand(points[::3] * 1.01)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("metric", dense.METRICS)
def test_the_metric_is_that_of_a_local_member(force, metric):
    force(Choice(metric, "matern32", 0.25, 0.1))
    _, fits = local_fits()
    for member, fit in zip(dense_members(regress().fit(X, Y)), fits, strict=True):
        A, expected = metric_of(member), learned(fit, metric)
        np.testing.assert_allclose(A @ A.T, 0.25 * expected @ expected.T, rtol=1e-9, atol=1e-12)


# The solver


def system(n, outputs=2, profile="matern32", alpha=0.1):
    """Return a Gram matrix, its dense values, the noise of each row and right-hand sides."""
    rng = np.random.default_rng(n)
    u, A = rng.uniform(-1, 1, size=(n, 4)), np.diag([1.5, 1.0, 0.5, 0.2])
    K = naive_dense.gram(u, u, A, profile)
    y = np.column_stack([np.sin(3 * u[:, 0]), rng.normal(size=(n, outputs - 1))])
    noise = alpha / rng.uniform(0.2, 2.0, n)
    return DenseGram(u @ A, np.sqrt(0.1 / 4) * u, profile), K, noise, y


@pytest.mark.parametrize("profile", dense.DENSE_PROFILES)
def test_blocks_and_matrix_match_the_twin(profile):
    lazy, K, _, _ = system(50, profile=profile)
    # An error e of the squared distance is an error sqrt(e) of the Laplacian near its cusp.
    np.testing.assert_allclose(
        lazy.matrix(), K, rtol=0, atol=1e-7 if profile == "laplacian" else 1e-12
    )
    rows, columns = np.array([3, 30, 7]), slice(20, 40)
    block = lazy.block(rows, columns, np.float32)
    assert block.dtype == np.float32
    atol = 1e-2 if profile == "laplacian" else 1e-5
    np.testing.assert_allclose(block, K[rows, columns], rtol=0, atol=atol)


@pytest.mark.parametrize("goal", [1e-3, 1e-5])
@pytest.mark.parametrize("n", [130, 300])
def test_conjugate_gradients_solve_the_system(monkeypatch, n, goal):
    monkeypatch.setattr(constants, "DENSE_BLOCK", 64)
    monkeypatch.setattr(constants, "DENSE_RANK", 40)
    monkeypatch.setattr(constants, "DENSE_RESIDUAL", goal)
    lazy, K, noise, y = system(n)
    c, system_matrix = lazy.solve(noise, y, loss=1.0), K + np.diag(noise)
    exact = np.linalg.solve(system_matrix, y)
    residual = np.linalg.norm(system_matrix @ c - y, axis=0)
    eigenvalues = np.linalg.eigvalsh(system_matrix)
    # Rounding errors of the products with K in single precision
    rounding = 4.0 * np.finfo(np.float32).eps * eigenvalues[-1] * np.linalg.norm(exact, axis=0)
    limit = goal * np.linalg.norm(y, axis=0) + rounding
    assert (residual <= limit).all()
    assert (np.linalg.norm(c - exact, axis=0) <= limit / eigenvalues[0]).all()


@pytest.mark.parametrize("loss", [1e-4, 1e-6])
def test_the_residual_adds_at_most_a_tenth_of_the_held_out_loss(monkeypatch, loss):
    monkeypatch.setattr(constants, "DENSE_FACTORED", 0)
    lazy, K, noise, y = system(130)
    residual = (K + np.diag(noise)) @ lazy.solve(noise, y, loss) - y
    squares = (residual**2).sum(axis=0) / (y**2).sum(axis=0)
    assert (squares <= 0.1 * loss).all()


def test_a_factorization_replaces_iterations_that_do_not_converge(monkeypatch):
    monkeypatch.setattr(constants, "DENSE_RANK", 1)
    monkeypatch.setattr(constants, "DENSE_STEPS", 3)
    lazy, K, noise, y = system(130, alpha=1e-4)
    expected = lazy.solve_directly(noise, y)
    np.testing.assert_array_equal(lazy.solve(noise, y, loss=1.0), expected)
    residual = np.linalg.norm((K + np.diag(noise)) @ expected - y, axis=0)
    assert (residual <= 1e-8 * np.linalg.norm(y, axis=0)).all()


def test_the_noise_grows_until_conjugate_gradients_converge(monkeypatch):
    monkeypatch.setattr(constants, "DENSE_FACTORED", 0)
    monkeypatch.setattr(constants, "DENSE_RANK", 1)
    monkeypatch.setattr(constants, "DENSE_STEPS", 3)
    tried, precondition = [], DenseGram._preconditioner

    def precondition_and_record(gram, noise):
        tried.append(noise)
        return precondition(gram, noise)

    monkeypatch.setattr(DenseGram, "_preconditioner", precondition_and_record)
    lazy, K, noise, y = system(130, alpha=1e-4)
    c = lazy.solve(noise, y, loss=1.0)
    assert len(tried) > 1
    for k, each in enumerate(tried):
        np.testing.assert_allclose(each, 10.0**k * noise, rtol=1e-12)
    residual = np.linalg.norm((K + np.diag(tried[-1])) @ c - y, axis=0)
    limit = 1.01 * constants.DENSE_MAX_RESIDUAL  # of products in single precision
    assert (residual <= limit * np.linalg.norm(y, axis=0)).all()


@pytest.mark.parametrize("rows", [10**4, 0])
def test_a_sample_of_small_weight_is_no_reason_to_stop_early(monkeypatch, rows):
    monkeypatch.setattr(constants, "DENSE_FACTORED", rows)
    monkeypatch.setattr(constants, "DENSE_RANK", 1)
    monkeypatch.setattr(constants, "DENSE_STEPS", 3)
    lazy, K, noise, y = system(130, alpha=1e-4)
    noise[7] = 1e4
    c = lazy.solve(noise, y, loss=1.0)
    noise = noise if rows else [noise * 10.0**k for k in range(1, 8)]
    errors = [np.linalg.norm((K + np.diag(each)) @ c - y) for each in np.atleast_2d(noise)]
    assert min(errors) <= 1.01 * constants.DENSE_MAX_RESIDUAL * np.linalg.norm(y)


def test_conjugate_gradients_end_for_a_target_of_zero():
    lazy, _, noise, y = system(40)
    y[:, 0] = 0.0
    c = lazy.solve(noise, y, loss=1.0)
    np.testing.assert_array_equal(c[:, 0], 0.0)
    assert np.isfinite(c).all()


def test_many_rows_have_the_predictions_of_the_direct_solver(force, monkeypatch):
    force(CHOICES[3])
    (direct, *_) = dense_members(regress().fit(X, TWO, WEIGHTS))
    used, solve = [], DenseGram.solve
    monkeypatch.setattr(DenseGram, "solve", lambda *args: used.append(args) or solve(*args))
    monkeypatch.setattr(constants, "DENSE_DIRECT", 60)
    monkeypatch.setattr(constants, "DENSE_BLOCK", 32)
    (iterative, *_) = dense_members(regress().fit(X, TWO, WEIGHTS))
    assert len(used) == 2
    # |K (c - c')| <= |residual|, as K (K + N)^-1 has eigenvalues below 1 in the norm of N.
    spread = np.sqrt(WEIGHTS.max() / WEIGHTS.min())
    difference = np.linalg.norm(iterative.expand(X) - direct.expand(X), axis=0)
    limit = (
        2.0 * constants.DENSE_RESIDUAL * spread * np.linalg.norm(TWO - direct.intercept_, axis=0)
    )
    assert (difference <= limit).all()


def test_a_factorization_replaces_conjugate_gradients_that_diverge(monkeypatch):
    """Rounding errors of a matrix in single precision may multiply the residual in each step."""
    lazy, _, noise, y = system(80)
    expected = lazy.solve_directly(noise, y)
    assert (np.linalg.norm(lazy.solve(noise, y, 1.0) - expected, axis=0) > 0.0).all()
    monkeypatch.setattr(constants, "DENSE_DIVERGED", 0.5)  # at the start, the residual is 1
    c, residual = gram.conjugate_gradients(lambda d: d, lambda r: r, y, 1e-3)
    np.testing.assert_array_equal(c, 0.0)
    assert residual == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(lazy.solve(noise, y, 1.0), expected)


# Trials on held-out rows


@each_choice
@pytest.mark.parametrize("weighted", [False, True])
def test_trials_are_kernel_ridge_regressions_on_training_rows(choice, weighted):
    table, fits = local_fits(weighted=weighted, two=True)
    middle, half = (TWO.max(axis=0) + TWO.min(axis=0)) / 2, np.ptp(TWO, axis=0) / 2
    for n_rows in (30, 1000):
        search = Search(table, fits, n_rows, n_jobs=1)
        for trial, fit in zip(search.predict([choice]), fits, strict=True):
            rows, held_out = fit.split.train[:n_rows], fit.split.held_out
            A = np.sqrt(choice.factor) * learned(fit, choice.metric)
            expected = ridge_predictions(
                scaled(X[rows]),
                (TWO[rows] - middle) / half,
                scaled(X[held_out]),
                A,
                choice.profile,
                choice.alpha,
                WEIGHTS[rows] if weighted else None,
            )
            # Near the cusp of the Laplacian, rounding errors of squared distances have roots.
            atol = 1e-6 if choice.profile == "laplacian" else 1e-10
            np.testing.assert_allclose(trial, expected.clip(-1.0, 1.0), rtol=0, atol=atol)


@each_choice
@pytest.mark.parametrize("weighted", [False, True])
def test_trials_of_many_rows_have_single_precision(monkeypatch, choice, weighted):
    table, fits = local_fits(weighted=weighted, two=True)
    choice = choice._replace(alpha=1e-2)
    exact = Search(table, fits, 1000, n_jobs=1).predict([choice])
    monkeypatch.setattr(constants, "DENSE_DIRECT", 0)
    search = Search(table, fits, 1000, n_jobs=1)
    for trial, before, short in zip(search.trials, exact, search.predict([choice]), strict=True):
        kernels = trial.kernels(choice)
        assert {K.dtype for K in kernels} == {np.dtype(np.float32)}
        # |L| |d(c)| and |d(L)| |c|, with |c| <= |y| / alpha and entries of K of order 1
        eps, n = np.finfo(np.float32).eps, len(trial.rows)
        np.testing.assert_allclose(short, before, rtol=0, atol=4.0 * n * eps / choice.alpha)
        assert (short != before).any()


@pytest.mark.parametrize("weighted", [False, True])
def test_fewer_rows_than_targets_have_the_same_predictions(weighted):
    table, fits = local_fits(weighted=weighted, two=True)
    held_out = fits[0].split.held_out
    every = Trial(table, fits[0], held_out, 1000).predict(CHOICES[0])
    first = Trial(table, fits[0], held_out[:1], 1000).predict(CHOICES[0])
    np.testing.assert_allclose(first, every[:1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_the_weighted_squared_error_of_all_held_out_rows(weighted):
    table, fits = local_fits(weighted=weighted)
    search = Search(table, fits, 1000, n_jobs=1)
    total, constant, targets, weights = 0.0, 0.0, [], []
    for predicted, fit in zip(search.predict(CHOICES[:1]), fits, strict=True):
        rows = fit.split.held_out
        middle, half = (Y.max() + Y.min()) / 2, np.ptp(Y) / 2
        targets.append((Y[rows] - middle) / half)
        weights.append(WEIGHTS[rows] if weighted else np.ones(len(rows)))
        total += weights[-1] @ (predicted[:, 0] - targets[-1]) ** 2
    target, weight = np.concatenate(targets), np.concatenate(weights)
    constant = weight @ (target - np.average(target, weights=weight)) ** 2
    assert search.loss(CHOICES[0]) == pytest.approx(total, rel=1e-10)
    assert search.spread == pytest.approx(constant, rel=1e-10)


# Logistic regression


@pytest.fixture
def converged(monkeypatch):
    """Let logistic regression converge, without a penalty on the intercept."""
    monkeypatch.setattr(logistic, "GRADIENT_TOLERANCE", 1e-13)
    monkeypatch.setattr(logistic, "INTERCEPT_PENALTY", 1e-12)
    monkeypatch.setattr(logistic, "MAX_NEWTON", 1e9)  # L-BFGS-B ends earlier
    monkeypatch.setattr(logistic, "HELD_OUT_RISE", np.inf)


def same_scores(ours, theirs, tolerance):
    """Compare scores; with a column per class, a constant in each row is arbitrary."""
    if ours.shape[1] > 1:
        ours, theirs = (s - s.mean(axis=1, keepdims=True) for s in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("choice", CHOICES[::3], ids=lambda c: c.metric)
@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("converged")
def test_logistic_trials_match_scikit_learn(choice, three, weighted):
    table, fits = local_fits("classification", weighted, three)
    penalties = np.array([3.0, 0.3])
    labels = CLASSES if three else (CLASSES > 1).astype(int)
    for trial, fit in zip(Search(table, fits, 1000, 1).trials, fits, strict=True):
        rows, A = fit.split.train, np.sqrt(choice.factor) * learned(fit, choice.metric)
        u, t = scaled(X[rows]), scaled(X[fit.split.held_out])
        K = naive_dense.gram(u, u, A, choice.profile)
        L = np.linalg.cholesky(K)
        features = np.linalg.solve(L, naive_dense.gram(u, t, A, choice.profile)).T
        for scores, penalty in zip(
            trial.logistic_scores(choice, penalties, Left(None)), penalties, strict=True
        ):
            peer = LogisticRegression(C=1.0 / penalty, tol=1e-10, max_iter=10_000)
            peer.fit(L, labels[rows], sample_weight=WEIGHTS[rows] if weighted else None)
            expected = peer.decision_function(features).reshape(len(t), -1)
            same_scores(scores, expected, 1e-4)


@pytest.mark.parametrize("choice", CHOICES[::3], ids=lambda c: c.metric)
@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("n_centres", [25, 2000])
@pytest.mark.usefixtures("converged")
def test_dense_members_of_a_classifier_minimise_the_penalised_log_loss(
    force, monkeypatch, choice, three, n_centres
):
    force(choice)
    monkeypatch.setattr(constants, "DENSE_CLASS_CENTRES", n_centres)
    monkeypatch.setattr(constants, "DENSE_LOGISTIC", np.array([0.5]))
    labels = CLASSES if three else (CLASSES > 1).astype(int)
    model = classify().fit(X, labels, WEIGHTS)
    alpha = 0.5 * WEIGHTS.mean()
    u, share = scaled(X), 0.1 / 3
    for member in dense_members(model):
        assert len(member.support_) == min(n_centres, 70)
        assert member.alpha_ == pytest.approx(alpha, rel=1e-12)
        A, centres = metric_of(member), scaled(member.kernel_.centres)
        K = naive_dense.gram(u, centres, A, choice.profile) - share * u @ centres.T
        among = naive_dense.gram(centres, centres, A, choice.profile) - share * centres @ centres.T
        c, v = member.dual_coef_, member.linear_coef_
        scores = K @ c + u @ v + member.intercept_
        np.testing.assert_allclose(member.expand(X), scores, rtol=0, atol=1e-9)
        if not three:
            scores, labels_of = np.hstack([np.zeros_like(scores), scores]), slice(1, None)
        else:
            labels_of = slice(None)
        errors = (softmax(scores, axis=1) - np.eye(scores.shape[1])[labels])[:, labels_of]
        errors *= WEIGHTS[:, None]
        # Gradients of sum_i s_i loss_i + alpha / 2 (c'Kc + |v|^2 / share), and their terms
        for penalty, loss in ((alpha * among @ c, K.T @ errors), (alpha * v / share, u.T @ errors)):
            assert np.abs(penalty + loss).max() <= 1e-5 * np.abs(penalty).max()
        assert np.abs(errors.sum(axis=0)).max() <= 1e-5 * WEIGHTS.sum()


def test_all_rows_as_centres_give_kernel_logistic_regression(force, monkeypatch, converged):
    force(CHOICES[3])
    monkeypatch.setattr(constants, "DENSE_LOGISTIC", np.array([0.5]))
    first, second = dense_members(classify().fit(X, CLASSES))
    for member in (first, second):
        u, t, A = scaled(X), scaled(NEW), metric_of(member)
        L = np.linalg.cholesky(naive_dense.gram(u, u, A, "matern32"))
        peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(L, CLASSES)
        features = np.linalg.solve(L, naive_dense.gram(u, t, A, "matern32")).T
        same_scores(member.expand(NEW), peer.decision_function(features), 1e-4)


@pytest.mark.parametrize("limit", [2, 3])
def test_with_many_classes_fewer_members_choose_and_fewer_are_dense(force, monkeypatch, limit):
    force()
    use_all(monkeypatch)
    few = {"CHOOSING_MEMBERS": 1, "DENSE_CENTRES": 70, "GRADIENT_ROWS": 11}
    monkeypatch.setattr(constants, "MANY_CLASSES", limit)
    for name, number in few.items():
        monkeypatch.setattr(constants, f"FEW_{name}", number)
    captured, learn = [], classifier.learn_dense_classes
    monkeypatch.setattr(
        classifier,
        "learn_dense_classes",
        lambda table, fits, *rest: captured.extend(fits) or learn(table, fits, *rest),
    )
    rows, metrics = [], trainer._learn_metrics
    monkeypatch.setattr(
        trainer, "_learn_metrics", lambda *given: rows.append(given[-1]) or metrics(*given)
    )
    model = classify().fit(X, CLASSES)  # three classes
    many = limit < 3
    assert [fit.layer_output is not None for fit in captured] == [True, not many]
    assert len(dense_members(model)) == (1 if many else 2)
    assert set(rows) == {11 if many else constants.GRADIENT_ROWS}
    assert model.score(X, CLASSES) > 0.8


# The metrics


@pytest.mark.parametrize("profile", ["gaussian", "matern52"])
@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_metric_is_the_mean_outer_product_of_differences(
    monkeypatch, profile, y, weighted
):
    learned, learn = [], trainer._learn_metrics

    def learn_and_record(start, stage, *others):
        learned.append((start, stage, learn(start, stage, *others)))
        return learned[-1][-1]

    monkeypatch.setattr(trainer, "_learn_metrics", learn_and_record)
    monkeypatch.setattr(constants, "GRADIENT_ROWS", 20)
    # With an odd number of centres, the median of theta^2 is that of a centre.
    settings = {"n_support": 9, "profile": profile, "alpha": 0.1, "linear": True, "dense": False}
    regress(**settings).fit(X, y, WEIGHTS if weighted else None)
    assert len(learned) == 2
    for start, stage, metrics in learned:
        theta = np.exp(stage.log_squares / 2)
        np.testing.assert_allclose(
            metrics.bandwidths, np.median(theta**2, axis=0) ** 0.5, rtol=1e-12
        )

        def features(u, C=start.centres, theta=theta):
            D = ((theta * (u[:, None] - C)) ** 2).sum(axis=2)
            return np.hstack([naive_dense.PROFILES[profile](D), u])

        u = start.rows.X
        F, w = features(u), np.ones((len(u), 1))
        w = w if start.rows.weights is None else start.rows.weights[:, None]
        right = start.rows.Y - np.average(start.rows.Y, axis=0, weights=w[:, 0])
        a = np.linalg.solve(F.T @ (w * F) + 0.1 * np.eye(F.shape[1]), F.T @ (w * right))
        outer, step = np.zeros((3, 3)), 1e-5
        for row in u[:20]:
            at = row + step * np.vstack([np.eye(3), -np.eye(3)])
            values = features(at) @ a
            slopes = (values[:3] - values[3:]) / (2 * step)  # shape (3, q)
            outer += slopes @ slopes.T
        bandwidths, gradients = (
            np.diag(metrics.bandwidths**2),
            metrics.gradients @ metrics.gradients.T,
        )
        expected = outer * np.trace(bandwidths) / np.trace(outer)
        assert np.trace(gradients) == pytest.approx(np.trace(bandwidths), rel=1e-10)
        atol = 1e-6 * np.trace(expected)
        np.testing.assert_allclose(gradients, expected, rtol=0, atol=atol)


@pytest.mark.parametrize(("rows", "kept"), [(3, True), (2, False)])
def test_with_more_features_than_gradients_there_is_one_metric(monkeypatch, rows, kept):
    monkeypatch.setattr(constants, "GRADIENT_ROWS", rows)
    _, fits = local_fits.__wrapped__()
    for fit in fits:
        assert (fit.metrics.gradients.ndim == 2) == kept
        assert kept or fit.metrics.gradients is fit.metrics.bandwidths


@pytest.mark.parametrize("size", [1, 2000])
def test_relevances_do_not_depend_on_the_blocks(force, monkeypatch, size):
    force()
    expected = [member.changes_ for member in regress().fit(X, TWO).members_]
    monkeypatch.setattr(members, "CHANGES_BLOCK", size)
    for member, changes in zip(regress().fit(X, TWO).members_, expected, strict=True):
        np.testing.assert_allclose(member.changes_, changes, rtol=1e-12)


def test_a_constant_fit_has_the_metric_of_the_bandwidths(monkeypatch):
    solve = trainer._coefficients
    monkeypatch.setattr(trainer, "_coefficients", lambda *args: np.zeros_like(solve(*args)))
    _, fits = local_fits.__wrapped__()  # not the cached fits
    for fit in fits:
        np.testing.assert_array_equal(fit.metrics.gradients, fit.metrics.bandwidths)
        assert (fit.metrics.bandwidths > 0).all()


@each_choice
def test_gradients_of_terms_match_differences(force, choice):
    force(choice)
    member = dense_members(regress().fit(X, TWO))[0]
    assert (member.mixing is not None) == (choice.metric == "gradients")
    terms = member.terms(NEW)
    for k in range(2):
        c, v = member.dual_coef_[:, k], member.linear_coef_[:, k]

        def f(u, k=k):
            point = u / member.warp_.slopes + member.warp_.centres
            return member.expand(point[None])[0, k]

        expected = np.array([naive_local.differences(f, u, 1e-4) for u in scaled(NEW)])
        atol = 1e-6 * np.abs(expected).max()
        np.testing.assert_allclose(terms.gradient(c, v), expected, rtol=0, atol=atol)


def test_relevances_of_a_member_with_a_metric_match_permutations(force):
    force(Choice("gradients", "matern32", 1.0, 0.1))
    order = np.random.RandomState(0).permutation(len(X))
    for member in dense_members(regress().fit(X, TWO)):
        a = np.vstack([member.dual_coef_, member.linear_coef_])
        again = LABRBFMember.build(member, (a, member.intercept_), X)
        expected = naive_local.changes(member.expand, X, order)
        np.testing.assert_allclose(again.changes_, expected, rtol=1e-8)


# The search


@pytest.mark.parametrize("choice", CHOICES[:4], ids=lambda c: f"{c.metric}-{c.profile}")
@pytest.mark.parametrize("weighted", [False, True])
def test_a_descent_ends_where_no_neighbour_is_better(choice, weighted):
    table, fits = local_fits(weighted=weighted)
    search = Search(table, fits, 40, n_jobs=1)
    scale = WEIGHTS.mean() if weighted else 1.0
    start = choice._replace(factor=0.25, alpha=0.01 * scale)
    end = search.descend(start)
    assert search.loss(end) <= search.loss(start)
    for factor, step in ((4.0, 1.0), (0.25, 1.0), (1.0, 10.0), (1.0, 0.1)):
        neighbour = end._replace(factor=end.factor * factor, alpha=end.alpha * step)
        inside = 1 / 16 <= neighbour.factor <= 4 and 0.9e-5 < neighbour.alpha / scale < 1.1e2
        assert not inside or (1.0 - GAIN) * search.loss(end) <= search.loss(neighbour)
    for tried in search.losses:
        assert 1 / 16 <= tried.factor <= 4
        assert 0.9e-5 < tried.alpha / scale < 1.1e2


@pytest.mark.parametrize("weighted", [False, True])
def test_relative_losses_weight_the_squared_errors(weighted):
    table, fits = local_fits(weighted=weighted)
    search = Search(table, fits, 1000, n_jobs=1)
    losses = search.relative_losses([CHOICES[0]])
    for loss, trial, predicted in zip(
        losses, search.trials, search.predict([CHOICES[0]]), strict=True
    ):
        y, w = trial.held_out.Y[:, 0], trial.held_out.weights
        mean = np.average(y, weights=w)
        expected = np.average((predicted[:, 0] - y) ** 2, weights=w)
        assert loss == pytest.approx(expected / np.average((y - mean) ** 2, weights=w), rel=1e-9)


def test_the_best_choice_is_the_best_of_all_that_are_tried():
    search = Search(*local_fits(), 40, n_jobs=1)
    best = search.best_choices()[0]
    assert search.loss(best) == min(search.losses.values())
    assert {choice.metric for choice in search.losses} == set(dense.METRICS)
    assert {choice.profile for choice in search.losses} == set(dense.DENSE_PROFILES)


@pytest.mark.parametrize("near", [0.0, 0.5, 2.0, 100.0])
def test_the_choices_are_the_best_of_the_kernels_with_a_loss_near_the_lowest(monkeypatch, near):
    monkeypatch.setattr(constants, "DENSE_NEAR", near)
    search = Search(*local_fits(), 40, n_jobs=1)
    found = search.best_choices()
    lowest: dict[tuple[str, str], float] = {}
    for choice, loss in search.losses.items():
        kernel = choice.metric, choice.profile
        lowest[kernel] = min(loss, lowest.get(kernel, np.inf))
    n = sum(len(fit.split.held_out) for fit in search.fits)
    limit = (1.0 + near / np.sqrt(n)) * min(lowest.values())
    assert {(c.metric, c.profile): search.loss(c) for c in found} == {
        kernel: loss for kernel, loss in lowest.items() if loss <= limit
    }
    assert [search.loss(c) for c in found] == sorted(search.loss(c) for c in found)
    assert near != 100.0 or len(found) == len(lowest) > 1


@pytest.mark.parametrize("learner", [regress, classify])
def test_dense_members_take_the_choices_in_turn(force, monkeypatch, learner):
    use_all(monkeypatch)
    y = Y if learner is regress else CLASSES > 1
    pair = CHOICES[0], CHOICES[5]._replace(alpha=0.2)
    assert pair[0].metric != pair[1].metric
    alone = []
    for choice in pair:
        force(choice)
        alone.append(dense_members(learner(n_members=3).fit(X, y)))
    force(*pair)
    both = dense_members(learner(n_members=3).fit(X, y))
    assert [m.kernel_.profile for m in both] == [pair[k].profile for k in (0, 1, 0)]
    for k, member in enumerate(both):
        peer = alone[k % 2][k]
        np.testing.assert_array_equal(member.kernel_.bandwidths, peer.kernel_.bandwidths)
        np.testing.assert_array_equal(metric_of(member), metric_of(peer))
        if learner is regress:  # the coefficients do not depend on the other members
            np.testing.assert_array_equal(member.dual_coef_, peer.dual_coef_)
    # also the penalty of a logistic regression is proportional to the ridge penalty
    assert both[1].alpha_ / both[0].alpha_ == pytest.approx(2.0, rel=1e-12)


def test_one_dense_member_takes_the_best_choice(force, monkeypatch):
    monkeypatch.setattr(constants, "DENSE_CENTRES", 1)
    force(CHOICES[1], CHOICES[0])
    (member,) = dense_members(regress().fit(X, Y))
    assert member.kernel_.profile == CHOICES[1].profile


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_with_more_rows_the_best_choice_descends_alone(monkeypatch, order):
    choices = [CHOICES[k] for k in order]
    monkeypatch.setattr(Search, "best_choices", lambda _: choices)
    monkeypatch.setattr(Search, "loss", lambda _, choice: 1.0 / min(choice.alpha, 10.0))
    assert dense.choose(*local_fits(), 56, Left(None), 1) == choices  # all training rows
    (last,) = dense.choose(*local_fits(), 55, Left(None), 1)
    assert last == choices[0]._replace(alpha=pytest.approx(10.0))


@pytest.mark.parametrize(("ratio", "descends"), [(1.9, True), (2.1, False)])
def test_a_metric_with_twice_the_lowest_loss_is_not_descended(monkeypatch, ratio, descends):
    tried = []

    def loss(search, choice):
        tried.append(choice)
        search.losses[choice] = ratio if choice.metric == "gradients" else 1.0
        return search.losses[choice]

    monkeypatch.setattr(Search, "loss", loss)
    best = Search(*local_fits(), 40, n_jobs=1).best_choices()
    assert best[0] == Choice("bandwidths", dense.DENSE_PROFILES[0], 0.25, 0.01)
    steps = {(choice.factor, choice.alpha) for choice in tried if choice.metric == "gradients"}
    assert len(steps) == (5 if descends else 1)


def test_penalties_of_one_kernel_compute_it_once(monkeypatch):
    """A new kernel replaces the last one; predictions do not depend on the order."""
    table, fits = local_fits()
    trial = Trial(table, fits[0], fits[0].split.held_out, 1000)
    first = trial.kernels(CHOICES[0])
    trial.predict(CHOICES[0])
    again = trial.kernels(CHOICES[0]._replace(alpha=3.0))
    assert again is first
    fresh = Trial(table, fits[0], fits[0].split.held_out, 1000)
    for ours, theirs in zip(again, fresh.kernels(CHOICES[0]), strict=True):
        np.testing.assert_array_equal(ours, theirs)  # a prediction leaves it unchanged
    assert trial.kernels(CHOICES[0]._replace(factor=3.0)) is not first
    monkeypatch.setattr(constants, "DENSE_DESCENT_ROWS", 5)
    large = Trial(table, fits[0], fits[0].split.held_out, 1000)
    assert large.kernels(CHOICES[0]) is not large.kernels(CHOICES[0])


@pytest.mark.parametrize(("factor", "limit"), [(1, 1 / 16), (-1, 4.0)])
@pytest.mark.parametrize(("alpha", "bound"), [(1, 1e-5), (-1, 1e2)])
def test_a_descent_ends_at_the_limits_of_the_grid(monkeypatch, factor, limit, alpha, bound):
    monkeypatch.setattr(Search, "loss", lambda _, c: c.factor**factor * c.alpha**alpha)
    end = Search(*local_fits(), 40, n_jobs=1).descend(Choice("bandwidths", "gaussian", 0.25, 0.01))
    assert end.factor == limit
    assert end.alpha == pytest.approx(bound, rel=1e-9)


def test_many_rows_have_a_larger_minimum_penalty(monkeypatch):
    """Rounding errors of single precision exceed a smaller one."""
    monkeypatch.setattr(constants, "DENSE_DIRECT", 69)
    monkeypatch.setattr(Search, "loss", lambda _, c: c.alpha)
    end = Search(*local_fits(), 40, n_jobs=1).descend(Choice("bandwidths", "gaussian", 0.25, 0.01))
    assert end.alpha == pytest.approx(constants.DENSE_LEAST_ALPHA, rel=1e-9)


def test_a_choice_without_a_finite_loss_is_never_better(monkeypatch):
    monkeypatch.setattr(
        dense.Trial, "predict", lambda trial, _: np.full_like(trial.held_out.Y, np.nan)
    )
    search = Search(*local_fits(), 40, n_jobs=1)
    assert search.loss(CHOICES[0]) == np.inf
    assert search.descend(CHOICES[0]) == CHOICES[0]


def test_the_last_descent_uses_all_training_rows(monkeypatch):
    sizes, build = [], dense.Trial.__init__

    def build_and_record(trial, *args):
        build(trial, *args)
        sizes.append(len(trial.rows))

    monkeypatch.setattr(dense.Trial, "__init__", build_and_record)
    monkeypatch.setattr(constants, "DENSE_TRIAL_ROWS", 30)
    regress().fit(X, Y)
    assert sizes == [30, 30, 56, 56, 56]  # both members, then the first, then both


# Weights, and models without dense members


@pytest.mark.parametrize("metric", dense.METRICS)
@pytest.mark.parametrize("learner", [regress, classify])
def test_the_model_is_one_weighted_expansion(force, learner, metric):
    force(Choice(metric, "matern32", 0.25, 0.1), weight=0.3)
    model = learner(n_members=3).fit(X, Y if learner is regress else CLASSES)
    assert model.weights_.shape == (len(model.members_),)
    assert model.weights_.sum() == pytest.approx(1.0, abs=1e-12)
    own = [member.objective_ == "dense" for member in model.members_]
    assert sum(own) == np.sum(model.weights_[:3] > 0)
    assert model.weights_[own].sum() == pytest.approx(0.3, rel=1e-12)
    f = model.kernel_(NEW, model.support_vectors_) @ model.dual_coef_
    f = f + NEW @ model.linear_coef_ + model.intercept_
    pairs = zip(model.weights_, model.members_, strict=True)
    expected = sum(w * member.expand(NEW) for w, member in pairs).reshape(f.shape)
    atol = 1e-12 * np.abs(model.dual_coef_).sum()
    np.testing.assert_allclose(f, expected, rtol=0, atol=atol)
    found = model.predict(NEW) if learner is regress else model.decision_function(NEW)
    clipped = f.clip(Y.min(), Y.max()) if learner is regress else f
    np.testing.assert_allclose(found, clipped, rtol=0, atol=atol)


def test_one_dense_member_if_all_had_too_many_centres(force, monkeypatch):
    force()
    monkeypatch.setattr(constants, "DENSE_CENTRES", 139)
    model = regress().fit(X, Y)
    assert len(dense_members(model)) == 1
    np.testing.assert_allclose(model.weights_, [0.35, 0.35, 0.3], rtol=1e-12)
    monkeypatch.setattr(constants, "DENSE_CENTRES", 140)
    np.testing.assert_allclose(regress().fit(X, Y).weights_, [0.35, 0.35, 0.15, 0.15], rtol=1e-12)


def test_the_best_local_members_have_dense_ones(force, monkeypatch):
    force()
    use_all(monkeypatch)
    monkeypatch.setattr(constants, "DENSE_CENTRES", 2 * len(X))
    monkeypatch.setattr(Search, "relative_losses", lambda *_: [0.2, 0.9, 0.1])
    three = regress(n_members=3)
    few = dense_members(three.fit(X, Y))
    monkeypatch.setattr(constants, "DENSE_CENTRES", 3 * len(X))
    every = dense_members(three.fit(X, Y))
    assert [each.kernel_.bandwidths.tobytes() for each in few] == [
        every[k].kernel_.bandwidths.tobytes() for k in (0, 2)
    ]


def test_one_dense_member_has_the_metric_of_the_best_local_one(force, monkeypatch):
    choice = Choice("gradients", "matern32", 0.25, 0.1)
    force(choice)
    monkeypatch.setattr(constants, "DENSE_CENTRES", 1)
    _, fits = local_fits(two=True)
    losses, half = [], np.ptp(TWO, axis=0) / 2
    for fit in fits:
        rows, held_out = fit.split.train, fit.split.held_out
        u, t, A = scaled(X[rows]), scaled(X[held_out]), 0.5 * fit.metrics.gradients
        scaled_targets = (TWO - (TWO.max(axis=0) + TWO.min(axis=0)) / 2) / half
        y, target = scaled_targets[rows], scaled_targets[held_out]
        predicted = ridge_predictions(u, y, t, A, "matern32", 0.1).clip(-1.0, 1.0)
        losses.append(((predicted - target) ** 2).sum() / target.var(axis=0).sum())
    (member,) = dense_members(regress().fit(X, TWO))
    A, expected = metric_of(member), 0.5 * fits[np.argmin(losses)].metrics.gradients
    np.testing.assert_allclose(A @ A.T, expected @ expected.T, rtol=1e-9, atol=1e-12)


def test_a_weight_of_zero_leaves_the_local_members(force):
    force(weight=0.0)
    alone = regress(dense=False).fit(X, Y)
    model = regress().fit(X, Y)
    assert not dense_members(model)
    np.testing.assert_array_equal(model.predict(NEW), alone.predict(NEW))
    np.testing.assert_array_equal(model.predict_interval(NEW), alone.predict_interval(NEW))


NO_ROWS = {"validation_fraction": 0, "alpha": 0.1, "shrinkage": 0.01}


@pytest.mark.parametrize(
    ("n", "options"),
    [
        (70, {"dense": False}),
        (70, NO_ROWS),
        (70, {"max_seconds": 1e-9}),
        (22, {}),  # 2 x 4 held-out rows
    ],
    ids=["switched off", "none held out", "stopped", "few held out"],
)
@pytest.mark.parametrize("learner", [regress, classify])
def test_models_without_dense_members(force, learner, n, options):
    force()
    y = Y if learner is regress else CLASSES
    model = learner(**options).fit(X[:n], y[:n])
    assert not dense_members(model)
    assert model.weights_.sum() == pytest.approx(1.0)
    with_enough = learner().fit(X[:30], y[:30])
    assert len(dense_members(with_enough)) == 2


@pytest.mark.parametrize("learner", [regress, classify])
def test_constant_features_give_no_dense_members(force, learner):
    force()
    y = Y if learner is regress else CLASSES
    assert not dense_members(learner().fit(np.ones((70, 2)), y))
    # One feature that varies suffices, and the metric ignores the others.
    points = np.column_stack([np.ones(70), X[:, 0]])
    model = learner().fit(points, y)
    assert len(dense_members(model)) == 2
    moved = points + np.array([5.0, 0.0])
    for member in dense_members(model):
        np.testing.assert_allclose(member.expand(moved), member.expand(points), atol=1e-9)


# Refitting the coefficients


@pytest.mark.parametrize("metric", dense.METRICS)
@pytest.mark.parametrize("limit", [1000, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_refit_regressors_have_the_new_rows_as_centres(force, monkeypatch, metric, limit, weighted):
    force(Choice(metric, "matern32", 0.25, 0.1))
    model = regress().fit(X, Y)
    rng = np.random.default_rng(3)
    points = rng.uniform(-1.5, 1.5, size=(50, 3)) * [1.0, 5.0, 0.2] + [3.0, 0.0, -1.0]
    y, weights = np.cos(points[:, :1]), rng.uniform(0.2, 2.0, 50)
    weights[7] = 0.0
    used = np.flatnonzero(weights) if weighted else np.arange(50)
    monkeypatch.setattr(constants, "DENSE_ROWS", limit)
    metrics = [metric_of(member) for member in dense_members(model)]
    weights_ = model.weights_.copy()
    model.refit_coefficients(points, y[:, 0], weights if weighted else None)
    np.testing.assert_array_equal(model.weights_, weights_)
    for member, A in zip(dense_members(model), metrics, strict=True):
        rows = member.support_
        assert len(rows) == len(np.unique(rows)) == min(limit, len(used))
        assert np.isin(rows, used).all()
        np.testing.assert_array_equal(member.kernel_.centres, points[rows])
        np.testing.assert_allclose(metric_of(member), A, rtol=1e-12)
        w = weights[rows] if weighted else None
        expected = ridge_predictions(
            scaled(points[rows]), y[rows], scaled(NEW), A, "matern32", member.alpha_, w
        )
        np.testing.assert_allclose(member.expand(NEW), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weights", [WEIGHTS, np.full(len(X), 3.0)], ids=["unlike", "equal"])
def test_a_refit_to_the_same_rows_changes_nothing(force, weights):
    for learner, y in ((regress, TWO), (classify, CLASSES)):
        force(CHOICES[3])
        model = learner().fit(X, y, weights)
        before = [member.expand(NEW) for member in model.members_]
        model.refit_coefficients(X, y, weights)
        for member, expected in zip(model.members_, before, strict=True):
            atol = 1e-9 * np.abs(expected).max()
            np.testing.assert_allclose(member.expand(NEW), expected, rtol=0, atol=atol)


def test_a_refit_classifier_keeps_its_centres(force):
    force()
    model = classify().fit(X, CLASSES)
    model.refit_coefficients(X[:40] + 0.01, CLASSES[:40])
    for member in dense_members(model):
        np.testing.assert_array_equal(member.kernel_.centres, X)


def test_logistic_regressions_of_many_rows_use_random_ones(monkeypatch):
    monkeypatch.setattr(classifier, "LOGISTIC_ROWS", 50)
    monkeypatch.setattr(classifier, "CLASS_ROWS", 3)
    fitted, fit = [], classifier.logistic_fit

    def fit_and_record(basis, points, *args):
        fitted.append(points)
        return fit(basis, points, *args)

    monkeypatch.setattr(classifier, "logistic_fit", fit_and_record)
    classify().fit(X, CLASSES)
    assert fitted
    for points in fitted:
        np.testing.assert_array_equal(points, fitted[0])
        rows = np.flatnonzero((X[:, None] == points).all(axis=2).any(axis=1))
        assert len(points) == len(rows) == 50
        assert len(np.unique(np.diff(rows))) > 1  # not every k-th row


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regressions_of_many_rows_use_some_of_each_class(weighted, monkeypatch):
    """Random rows lack the rare class, and the weights keep its share."""
    monkeypatch.setattr(classifier, "CLASS_ROWS", 3)
    codes = np.digitize(Y, [0.0])
    random = Table(X, Y, np.arange(70)).random_rows(20)
    rare = np.setdiff1d(np.arange(70), random)[:3]
    codes[rare] = 2
    signs = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    table = Table(X, signs, np.arange(70), WEIGHTS if weighted else None)
    rows = classifier._rows_of_all_classes(table, 20)
    assert len(rows) == 23
    assert np.isin(rare, rows.numbers).all()
    own = WEIGHTS[rows.numbers] if weighted else np.ones(23)
    expected = np.where(codes[rows.numbers] == 2, 3 * (20 / 70) / 3, 1.0) * own
    np.testing.assert_allclose(rows.weights, expected)
    np.testing.assert_array_equal(rows.Y, signs[rows.numbers])
    np.testing.assert_array_equal(classifier._rows_of_all_classes(table, 70).numbers, np.arange(70))


def test_fits_of_many_rows_use_some_of_them(force, monkeypatch):
    force()
    monkeypatch.setattr(constants, "DENSE_ROWS", 30)
    for member in dense_members(regress().fit(X, Y)):
        rows = member.support_
        assert len(rows) == len(np.unique(rows)) == 30
        u, t = scaled(X[rows]), scaled(NEW)
        A, y = metric_of(member), Y[rows, None]
        expected = ridge_predictions(u, y, t, A, member.kernel_.profile, member.alpha_)
        np.testing.assert_allclose(member.expand(NEW), expected, rtol=0, atol=1e-9)


# Prediction intervals


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_held_out_errors_are_those_of_pairs(monkeypatch, weight):
    table, fits = local_fits(two=True)
    rng, recorded, scale = np.random.default_rng(0), [], intervals._scaled_errors
    held_out = dense.held_out_rows(fits)
    values = [rng.uniform(-1, 1, size=(len(rows), 2)) for rows in held_out]
    own = None if weight == 0.0 else dense.DenseFit([], weight, values)
    rows = np.unique(np.concatenate(held_out))
    final = rng.normal(size=(2, len(rows), 2))

    def record(*args):
        recorded.append(args)
        return scale(*args)

    monkeypatch.setattr(intervals, "_scaled_errors", record)
    intervals.fit_error_model(table, fits, own, lambda _: final)
    middle, half = (TWO.max(axis=0) + TWO.min(axis=0)) / 2, np.ptp(TWO, axis=0) / 2
    for j, (target, predicted, after) in enumerate(recorded):
        np.testing.assert_allclose(target, (TWO[rows, j] - middle[j]) / half[j], atol=1e-12)
        np.testing.assert_allclose(after, (final[..., j] - middle[j]) / half[j], atol=1e-12)
        for k, row in np.ndindex(predicted.shape):
            place = np.flatnonzero(held_out[k] == rows[row])
            if not len(place):
                assert np.isnan(predicted[k, row])
                continue
            local = np.clip(fits[k].predicted[place[0], j], -1.0, 1.0)
            expected = (1.0 - weight) * local + weight * values[k][place[0], j]
            assert predicted[k, row] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("most", [3, 2, 1])
def test_the_spread_is_that_of_the_pairs(force, monkeypatch, most):
    """Fewer dense members than local ones are repeated, with the same mean."""
    force(CHOICES[3], weight=0.3)
    monkeypatch.setattr(constants, "DENSE_CENTRES", most * len(X))
    use_all(monkeypatch)
    model = regress(n_members=3).fit(X, TWO)
    used = [member for member, w in zip(model.members_, model.weights_, strict=True) if w > 0]
    local = np.array([m.expand(NEW) for m in used if m.objective_ != "dense"])
    own = np.array([m.expand(NEW) for m in used if m.objective_ == "dense"])
    assert (len(local), len(own)) == (3, most)
    partners = own[[0, 1, 0]] if most == 2 else np.broadcast_to(own, local.shape)
    pairs = 0.7 * local + 0.3 * (partners - partners.mean(axis=0) + own.mean(axis=0))
    errors = model.error_model_
    mean, spread = model._mean_and_spread(NEW, errors.unit)
    np.testing.assert_allclose(mean, pairs.mean(axis=0), rtol=0, atol=1e-10)
    np.testing.assert_allclose(spread, pairs.std(axis=0), rtol=0, atol=1e-10)
    predicted = model.predict(NEW)
    low, high = TWO.min(axis=0), TWO.max(axis=0)
    np.testing.assert_allclose(predicted, mean.clip(low, high), rtol=0, atol=1e-10)


# Threads


@pytest.mark.parametrize(("learner", "y"), [(regress, TWO), (classify, CLASSES)])
def test_threads_do_not_change_the_model(monkeypatch, learner, y):
    monkeypatch.setattr(constants, "MIN_THREADED", 0)
    one, two = (learner(n_jobs=n_jobs).fit(X, y, WEIGHTS) for n_jobs in (1, 2))
    assert dense_members(one)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    for a, b in zip(one.members_, two.members_, strict=True):
        for name in ("dual_coef_", "linear_coef_", "intercept_", "alpha_", "changes_"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        assert a.kernel_.bandwidths.tobytes() == b.kernel_.bandwidths.tobytes()
    assert one._expand(NEW).tobytes() == two._expand(NEW).tobytes()


# Time limits


class Left:
    """Deadline with a number of seconds left; it stops after some calls."""

    def __init__(self, seconds_left, calls=1000):
        self.seconds_left, self.calls, self.stopped = seconds_left, calls, False

    @property
    def is_over(self):
        return self.stopped

    def __call__(self):
        self.calls -= 1
        self.stopped = self.stopped or self.calls < 0
        return self.stopped


@pytest.mark.parametrize(("left", "enough"), [(3.0, False), (3.2, True), (None, True)])
def test_dense_members_need_time_for_the_fit_to_all_rows(left, enough):
    table, fits = local_fits()
    search = Search(table, fits, 1000, 1, Left(left))
    search.predict(CHOICES[:1])
    search.seconds = 2.0 * (len(search.trials[0].rows) / len(table)) ** 2 * 1.55  # 3.1 s for all
    assert search.has_time() == enough
    assert Search(table, fits, 1000, 1).has_time()
    assert not Search(table, fits, 1000, 1, Left(left, calls=0)).has_time()


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_there_are_no_dense_members_without_time(kind):
    learn = dense.learn_dense if kind == "regression" else dense.learn_dense_classes
    table, fits = local_fits(kind)
    assert learn(table, fits, Left(None, calls=0), 1) is None
    assert learn(table, fits, Left(1e-12), 1) is None
    assert learn(table, fits, Left(None), 1) is not None


def test_a_search_that_is_stopped_keeps_the_best_choice_so_far():
    table, fits = local_fits()
    search, whole = Search(table, fits, 40, 1, Left(None, calls=4)), Search(table, fits, 40, 1)
    choices = search.best_choices()
    assert search.loss(choices[0]) == min(search.losses.values())
    assert whole.best_choices()
    assert len(search.losses) <= 4 < len(whole.losses)
