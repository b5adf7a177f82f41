"""The formulas of methods of others, against slow twins and other solvers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from papers.contestants.embeddings import Half, edges_of, linked, smooth_functions, unfold
from papers.contestants.label_kernels import (
    FisherKernel,
    IdealLogDet,
    bumps,
    ideal_neumann,
    laplacian,
    scatters,
    simple_npk,
)
from papers.contestants.large import ByParts
from papers.contestants.multiple_kernels import (
    BEMKL,
    ClosedFormAlignment,
    Performance,
    ReweighedSVR,
)
from papers.contestants.peers import LocalMetric, directions, weights_in_ball
from papers.contestants.regressors import NystroemRegressor, indefinite_path, tl1
from papers.sample import Sample
from papers.study import contestant
from pliant.kernels import Gaussian, Laplacian, Linear, Polynomial
from tests.papers_study import naive_bemkl
from tests.papers_study.made_up import rows
from tests.papers_study.made_up import sample as sample_of
from tests.reference import naive_peers as naive
from tests.reference import unfolding_sdp

RNG = np.random.default_rng(0)


def test_the_closed_form_is_that_of_its_twin_and_has_weights_of_both_signs():
    X, labels = rows(25)
    kernels = [Gaussian(0.5), Gaussian(1.0), Gaussian(2.0), Gaussian(4.0)]
    model = ClosedFormAlignment(kernels, 1.0).fit(X, labels)
    twin = naive.closed_form_weights([kernel(X) for kernel in kernels], 2.0 * labels - 1.0)
    np.testing.assert_allclose(model.weights_, twin, rtol=1e-5)
    gram = sum(d * kernel(X) for d, kernel in zip(model.weights_, kernels, strict=True))
    np.testing.assert_allclose(model.cross(X), gram, atol=1e-8 * np.abs(gram).max())
    assert model.weights_.min() < 0.0


def test_the_closed_form_fails_where_alignf_does_not():
    """A ring around a disc, as in fourclass: the paper prints .66 for one of two classes."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 2))
    y = (np.linalg.norm(X, axis=1) < 0.7).astype(int)
    half = Sample("ring", "classification", X[::2], y[::2], X[1::2], y[1::2])
    scores = [
        np.mean(contestant(f"tkl/{key}").model(half, {"C": 1.0}, 0).fit(half.X, half.y)
                .predict(half.X_test) == half.y_test)
        for key in ("broken-cka", "alignf")
    ]  # fmt: skip
    assert scores[0] < 0.8 < 0.93 < scores[1]


def test_weights_by_performance_are_accuracies_above_chance():
    X, y = rows(60)
    kernels = [Gaussian(20.0), Gaussian(1.0)]
    model = Performance(kernels, 10.0).fit(X, y)
    svc = SVC(C=10.0, kernel="precomputed")
    raw = np.array([cross_val_score(svc, kernel(X), y, cv=5).mean() - 0.5 for kernel in kernels])
    np.testing.assert_allclose(model.weights_, raw / raw.sum())
    assert np.mean(model.predict(X) == y) > 0.9


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_bayesian_updates_are_those_of_their_twin(classes):
    X, y = rows(9, classes)
    model = BEMKL([Gaussian(1.0), Gaussian(9.0)], classes > 0, (0.5, 3.0), max_iter=4).fit(X, y)
    grams = np.stack([kernel(X) for kernel in model.kernels])
    priors = [(1.0, 1.0), (1.0, 1.0), (0.5, 1 / 3.0), *[(1.0, 1.0)] * (2 * (classes == 0))]
    twin = naive_bemkl.NaiveBEMKL(grams, model.target_, priors)
    for _ in range(4):
        twin.sweep()
    np.testing.assert_allclose(model.coef_, twin.a, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.line_, np.concatenate([twin.b, twin.e]), rtol=1e-6, atol=1e-9)
    centred = twin.a @ np.tensordot(twin.e, grams, 1) + twin.b[:, None]
    if classes == 0:
        np.testing.assert_allclose(model.predict(X), y.mean() + y.std() * centred[0], rtol=1e-6)
    else:
        expected = centred.argmax(axis=0) if classes == 3 else 1 * (centred[0] > 0)
        np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("rho", [0.5, 3.0, 50.0])
def test_weights_of_random_features_are_the_optimum_of_their_program(rho):
    scores = RNG.uniform(size=20) ** 3
    q = cp.Variable(20, nonneg=True)
    limits = [cp.sum(q) == 1, 20 * cp.sum_squares(q - 1 / 20) <= rho]
    best = cp.Problem(cp.Maximize(scores @ q), limits).solve(solver=cp.CLARABEL)
    found = weights_in_ball(scores, rho)
    assert found.sum() == pytest.approx(1.0)
    assert 20 * ((found - 1 / 20) ** 2).sum() <= rho + 1e-8
    assert scores @ found == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_papers_rule_ranks_among_the_new_points(task):
    sample = sample_of(task, n=24, classes=3)
    who = contestant("hadamard/batch-dank")
    (model,) = who.path(sample, 0.5, [4.0], tol=1e-4, max_iter=100_000)
    found = who.predict(model, sample.X_test, "batch")
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
    direct = cross @ np.linalg.inv(gram + 0.3 * np.eye(20)) @ (sample.y - centre) + centre
    np.testing.assert_allclose(path + centre, direct, atol=1e-9)
    who = contestant("lab/tl1", metric=metric)
    setting = {"power": 0.3, "alpha": 0.3}
    model = who.model(sample, setting, 0).fit(sample.X, sample.y)
    rho = who._unit(sample, 0) * 2.0**0.3
    (path,) = indefinite_path(
        *(tl1(each, sample.X, rho, metric) for each in (sample.X, sample.X_test)),
        sample.y - centre, [0.3],
    )  # fmt: skip
    np.testing.assert_allclose(model.predict(sample.X_test), path + centre, atol=1e-6)


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
    found = NystroemRegressor(2.0, 1e-2, 50, 0).fit(X, y - y.mean())
    peer = make_pipeline(
        Nystroem(gamma=2.0, n_components=50), Ridge(alpha=1e-2, fit_intercept=False)
    )
    expected = peer.fit(X, y - y.mean()).predict(X)
    np.testing.assert_allclose(found.predict(X), expected, atol=1e-4)
    few = NystroemRegressor(2.0, 1e-2, 10, 0).fit(X, y - y.mean())
    assert len(few.dual_coef_) == 10
    assert np.mean((few.predict(X) - y + y.mean()) ** 2) < 1e-2 * y.var()


def test_parts_predict_their_own_points():
    X, y = rows(120)
    X[60:], y[60:] = X[60:] + 50.0, 1
    model = ByParts(lambda: SVC(gamma=0.5), 2).fit(X, y)
    alone = SVC(gamma=0.5).fit(X[:60], y[:60])
    np.testing.assert_array_equal(model.predict(X[:60]), alone.predict(X[:60]))
    assert (model.predict(X[60:]) == 1).all()


def clouds(n=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, 3)) + 4.0 * np.eye(3)[y], y


@pytest.mark.parametrize(("count", "penalty"), [(5, 1.0), (5, 100.0), (11, 1.0)])
def test_unfolding_solves_its_semidefinite_program(count, penalty):
    X, y = clouds(12)
    distances = euclidean_distances(X)
    graph = linked(distances, 3)
    V, _ = smooth_functions(graph, distances, 3, count)
    V /= np.sqrt((V**2).mean(axis=0))
    edges, squares = edges_of(graph, distances)
    assert squares.mean() == pytest.approx(1.0)
    B = unfold(V, y, edges, squares, penalty)
    K = V @ B @ B.T @ V.T
    other, optimum = unfolding_sdp.unfold(V, y, edges, squares, penalty)
    H, L = np.eye(12) - 1 / 12, np.equal.outer(y, y)
    i, j = edges.T
    errors = K.diagonal()[i] + K.diagonal()[j] - 2 * K[i, j] - squares
    value = np.trace(K @ H @ L @ H) / 12**2 - penalty * np.mean(errors**2)
    assert value == pytest.approx(optimum, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(H @ K @ H, H @ other @ H, atol=0.02 * np.abs(other).max())


def test_unfolded_points_lie_with_their_class_on_a_connected_graph():
    line = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]])
    links = np.argwhere(np.triu(linked(euclidean_distances(line), 1))).tolist()
    assert links == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    (X, y), (new, truth) = clouds(60), clouds(30, seed=1)
    who = contestant("embedding/cmvu", n_functions=5)
    Z, Z_new = who.coordinates(Half(X, y, new), {"neighbours": 5, "penalty": 1.0}, 2)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-9)
    assert KNeighborsClassifier(5).fit(Z, y).score(Z_new, truth) > 0.9
