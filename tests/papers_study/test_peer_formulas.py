"""The formulas of methods of others, against slow twins and other solvers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from papers.contestants.hadamard import CONTESTANTS, Setting, by_batch
from papers.contestants.lab_peers import (
    NystroemRegressor,
    ReweighedSVR,
    TL1Regressor,
    indefinite_path,
    tl1,
)
from papers.contestants.multiple_kernels import (
    BrokenAlignment,
    ClosedFormAlignment,
    WeightedKernels,
    closed_form,
)
from papers.theory.label_kernels import (
    FisherKernel,
    IdealLogDet,
    bumps,
    ideal_neumann,
    laplacian,
    scatters,
    simple_npk,
)
from papers.theory.local_metric import LocalMetric, directions
from pliant.kernels import Gaussian, Laplacian, Linear, Polynomial
from pliant.methods.mkl.alignment import alignf, alignments
from pliant.methods.mkl.grams import Grams
from tests.papers_study.made_up import peer_rows as rows
from tests.papers_study.made_up import peer_sample as sample_of
from tests.reference import naive_peers as naive

RNG = np.random.default_rng(0)


def test_equal_weights_of_the_papers_widths():
    sample = sample_of()
    found = (
        WeightedKernels("uniform", "widths")
        .model("classification", {"C": 2.0}, 0)
        .fit(sample.X, sample.y)
    )
    squared = ((sample.X[:, None] - sample.X) ** 2).sum(axis=2)
    gram = sum(np.exp(-squared / (2.0 * 4.0**p)) for p in range(-5, 6)) / 11.0
    np.testing.assert_allclose(found.kernel_(sample.X), gram, atol=1e-12)


def test_the_closed_form_is_that_of_its_twin_and_alignf_only_without_its_constraint():
    X, labels = rows(25)
    y = 2.0 * labels - 1.0
    for kernels, agree in (
        ([Gaussian(1.0), Gaussian(30.0)], True),
        ([Gaussian(0.5), Gaussian(1.0), Gaussian(2.0), Gaussian(4.0)], False),
    ):
        grams = [kernel(X) for kernel in kernels]
        stack = Grams.of_arrays(grams)
        inner = alignments(stack, y)
        d = closed_form(inner.products, inner.targets)
        np.testing.assert_allclose(d, naive.closed_form_weights(grams, y), rtol=1e-6)
        right = alignf(stack, y).weights
        assert np.allclose(d / d.sum(), right, atol=1e-6) == agree == bool((d > 0).all())


def test_the_broken_machine_predicts_with_its_indefinite_sum():
    X, y = rows(40)
    model = ClosedFormAlignment(1.0).fit(X, y)
    gram = sum(d * k(X) for d, k in zip(model.weights_, model.kernels_, strict=True))
    np.testing.assert_allclose(model.cross(X), gram, atol=1e-8 * np.abs(gram).max())
    assert np.linalg.norm(model.weights_) == pytest.approx(1.0)
    assert model.weights_.min() < 0.0


def test_the_closed_form_fails_where_alignf_does_not():
    """A ring around a disc, as in fourclass: the paper prints .66 for one of two classes."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 2))
    y = (np.linalg.norm(X, axis=1) < 0.7).astype(int)
    broken = BrokenAlignment().model("classification", {"C": 1.0}, 0)
    right = WeightedKernels("alignf").model("classification", {"C": 1.0}, 0)
    scores = [each.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
              if each is right else np.mean(each.fit(X[::2], y[::2]).predict(X[1::2]) == y[1::2])
              for each in (broken, right)]  # fmt: skip
    assert scores[0] < 0.8 < 0.93 < scores[1]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_papers_rule_ranks_among_the_new_points(task):
    sample = sample_of(task, n=24, classes=3)
    setting = Setting(gamma=2.0, C=4.0, eta_scale=1.0, tol=1e-4, max_iter=100_000)
    contestant = CONTESTANTS["batch-dank"]
    model = contestant.model(task, setting).fit(sample.X, sample.y)
    found = by_batch(model, sample.X_test)
    values = []
    for each in getattr(model, "estimators_", [model]):
        inside = np.isin(sample.y, getattr(each, "classes_", sample.y))
        places = naive.batch_reciprocal(sample.X_test, sample.X[inside])
        train = sample.X[inside]
        F = each.kernel_(train, each.support_vectors_) / Gaussian(2.0)(train, each.support_vectors_)
        gram = Gaussian(2.0)(sample.X_test, each.support_vectors_) * F[places]
        values.append(gram @ each.dual_coef_ + each.intercept_)
    if task == "regression":
        np.testing.assert_allclose(found, values[0], atol=1e-8)
        return
    votes = np.zeros((3, len(found)))
    for (low, high), f in zip(((0, 1), (0, 2), (1, 2)), values, strict=True):
        votes[low] += f <= 0
        votes[high] += f > 0
    assert all(votes[label, k] == votes[:, k].max() for k, label in enumerate(found))


def test_fisher_scores_are_ratios_of_scatters_in_the_feature_space():
    X, y = rows(30, 3)
    centres = X[:6]
    q = bumps(X, centres, 2.0) @ RNG.normal(size=7)
    B, W = scatters(Linear()(X), y)
    expected = naive.scatters(q[:, None] * X, y)
    np.testing.assert_allclose((q @ B @ q, q @ W @ q), expected, rtol=1e-9)
    kernel = FisherKernel.learned(Linear(), X, y, centres, 2.0, 1e-9)
    f = kernel.factor(X)
    best = (f @ B @ f) / (f @ W @ f)
    assert best >= expected[0] / expected[1]
    others = f[:, None] + 0.1 * bumps(X, centres, 2.0) @ RNG.normal(size=(7, 50))
    ratios = np.einsum("ik,ij,jk->k", others, B, others) / np.einsum(
        "ik,ij,jk->k", others, W, others
    )
    assert ratios.max() <= best * (1 + 1e-9)
    np.testing.assert_allclose(kernel(X, X[:2]), f[:, None] * Linear()(X, X[:2]) * f[:2])


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_simple_npk_is_the_optimum_of_its_program(C):
    X, y = rows(9, 2)
    classes = np.where(np.arange(9) < 6, y, -1)
    L = laplacian(X, 3)
    F = simple_npk(L, classes, C)
    K = cp.Variable((9, 9), PSD=True)
    objective = cp.trace(L.toarray() @ K) - C * cp.trace(naive.label_matrix(classes) @ K)
    problem = cp.Problem(cp.Minimize(objective), [cp.norm(K, "fro") <= 9.0])
    problem.solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(F @ F.T, K.value, atol=2e-3)
    lanczos = simple_npk(laplacian(np.repeat(X, 2, axis=0) + 1e-3 * RNG.normal(size=(18, 3)), 3),
                         np.repeat(classes, 2), C)  # fmt: skip
    assert np.linalg.matrix_rank(lanczos) <= 2
    assert np.linalg.norm(lanczos @ lanczos.T) == pytest.approx(18.0)


def test_ideal_regularisation_minimises_its_divergences():
    X, y = rows(8, 2)
    classes = np.where(np.arange(8) < 5, y, -1)
    gram, T = Gaussian(2.0)(X) + 0.1 * np.eye(8), naive.label_matrix(classes)
    F = ideal_neumann(gram, classes, 0.2)
    expected = scipy.linalg.expm(scipy.linalg.logm(gram).real + 0.2 * T)
    np.testing.assert_allclose(F @ F.T, 8 * expected / np.trace(expected), atol=1e-8)
    known = np.flatnonzero(classes >= 0)
    kernel = IdealLogDet.learned(Gaussian(2.0), X[known], y[known], 0.5)
    K0 = Gaussian(2.0)(X)
    pole = 1.0 / np.linalg.eigvals(K0 @ T).real.max()
    inverse = np.linalg.inv(np.linalg.inv(K0) - 0.5 * pole * T)
    np.testing.assert_allclose(kernel(X), inverse, rtol=1e-6, atol=1e-8)
    assert np.linalg.eigvalsh(kernel(X)).min() > 0.0


def test_the_local_metric_has_no_leading_bias():
    g, u = RNG.normal(size=(4, 5)), RNG.normal(size=5)
    values, vectors = directions(g, u)
    for k in range(4):
        B = (np.outer(g[k], u) + np.outer(u, g[k])) / 2.0
        np.testing.assert_allclose((vectors[k].T * values[k]) @ vectors[k], B, atol=1e-12)
        inverse = np.linalg.inv(naive.local_metric_matrix(g[k], u, 1e9))
        assert abs(np.trace(inverse @ B)) < 1e-6 * np.trace(inverse) * np.linalg.norm(B)


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_local_means_are_those_of_their_twin(strength):
    sample = sample_of("regression", n=30)
    model = LocalMetric(strength, 1.0).fit(sample.X, sample.y)
    Z = (sample.X_test - model.mean_) / model.scale_
    expected = []
    for z in Z:
        g = -model.precision_ @ z
        metric = naive.local_metric_matrix(g, model.slope_, strength)
        expected.append(naive.weighted_mean(z, model.Z_, sample.y, metric, model.gamma_))
    np.testing.assert_allclose(model.predict(sample.X_test), expected, rtol=1e-9)


@pytest.mark.parametrize("metric", ["cityblock", "euclidean"])
def test_truncated_kernels_are_solved_though_indefinite(metric):
    sample = sample_of("regression", n=40)
    gram, cross = (tl1(each, sample.X, 0.7, metric) for each in (sample.X, sample.X_test))
    i, j = 2, 5
    order = 1 if metric == "cityblock" else 2
    distance = np.linalg.norm(sample.X[i] - sample.X[j], order)
    assert gram[i, j] == pytest.approx(max(0.7 - distance, 0.0))
    centre = sample.y.mean()
    (path,) = indefinite_path(gram, cross, sample.y - centre, [0.3])
    model = TL1Regressor(0.7, 0.3, metric).fit(sample.X, sample.y)
    direct = cross @ np.linalg.inv(gram + 0.3 * np.eye(20)) @ (sample.y - centre) + centre
    np.testing.assert_allclose(model.predict(sample.X_test), direct, atol=1e-9)
    np.testing.assert_allclose(path + centre, direct, atol=1e-9)


def test_sums_are_weighed_by_what_a_first_fit_makes_of_them():
    sample = sample_of("regression")
    kernels = [Gaussian(1.0), Laplacian(1.0), Polynomial(degree=2)]
    model = ReweighedSVR(kernels, 10.0, 0.01, 100_000).fit(sample.X, sample.y)
    grams = [kernel(sample.X) for kernel in kernels]
    grams = [K / np.sqrt(np.outer(np.diag(K), np.diag(K))) for K in grams]
    first = SVR(kernel="precomputed", C=10.0, epsilon=0.01).fit(sum(grams) / 3.0, sample.y)
    w = np.zeros(len(sample.y))
    w[first.support_] = first.dual_coef_[0]
    sizes = np.array([w @ K @ w for K in grams])
    np.testing.assert_allclose(model.weights_, sizes / sizes.sum(), rtol=1e-2)
    last = SVR(kernel="precomputed", C=10.0, epsilon=0.01)
    last.fit(sum(d * K for d, K in zip(model.weights_, grams, strict=True)), sample.y)
    fitted = last.predict(sum(d * K for d, K in zip(model.weights_, grams, strict=True)))
    np.testing.assert_allclose(model.predict(sample.X), fitted, atol=1e-6)


def test_direct_nystroem_is_scikit_learns():
    X = RNG.uniform(size=(50, 2))
    y = np.sin(4 * X[:, 0]) + X[:, 1]
    found = NystroemRegressor(2.0, 1e-2, 50, 0).fit(X, y)
    peer = make_pipeline(
        Nystroem(gamma=2.0, n_components=50), Ridge(alpha=1e-2, fit_intercept=False)
    )
    expected = peer.fit(X, y - y.mean()).predict(X) + y.mean()
    np.testing.assert_allclose(found.predict(X), expected, atol=1e-4)
    few = NystroemRegressor(2.0, 1e-2, 10, 0).fit(X, y)
    assert len(few.dual_coef_) == 10
    assert np.mean((few.predict(X) - y) ** 2) < 1e-2 * y.var()
