"""Order spectral kernels: weights compared with a QCQP and a linear program, and the learner."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from pliant import OrderSpectralLearner, SideInformation
from pliant.methods.supervised.order_spectral import (
    ORDERS,
    OrderCone,
    SpectralAlignment,
    best_vertex,
    graph_losses,
)
from pliant.metrics import kernel_alignment, scg_loss
from tests.methods.supervised.test_scg import known_of
from tests.reference import naive_spectral as naive
from tests.reference import naive_supervision

every_order = pytest.mark.parametrize("order", ORDERS)

seeds = st.integers(0, 2**32 - 1)

REFERENCE_X = np.random.default_rng(12345).normal(size=(12, 3))

REFERENCE_Y = [0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1]


def orthonormal(n, r, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, r)))[0]


def draw_labels(n, seed):
    y = np.random.default_rng(seed).integers(-1, 3, size=n)
    y[:3] = [0, 1, 2]
    return SideInformation.from_labels(y)


def draw_pairs(n, seed):
    rng = np.random.default_rng(seed)
    pairs = np.stack([rng.permutation(n)[:2] for _ in range(n)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    half = len(pairs) // 2
    return SideInformation.from_pairs(n, pairs[:half], pairs[half:])


def draw_weights(cone, rng):
    """Draw a mu in the cone with sum 1, a combination of few or many rays."""
    t = rng.exponential(size=cone.size) * (rng.random(cone.size) < rng.choice([0.2, 1.0]))
    t[rng.integers(cone.size)] += 0.1
    mu = cone.rays @ t
    return mu / mu.sum()


def check_weights(mu, cone):
    differences = naive.order_differences(cone.size, cone.order, cone.n_null)
    assert mu.shape == (cone.size,)
    assert mu.min() >= 0.0
    assert (differences @ mu >= 0.0).all()
    assert mu.sum() == pytest.approx(1.0, abs=1e-14)


@every_order
@pytest.mark.parametrize("n_null", [0, 1, 3, 6])
def test_rays_span_the_cone(order, n_null):
    cone = OrderCone(6, order, n_null)
    rays = cone.rays
    differences = naive.order_differences(6, order, n_null)
    assert np.linalg.matrix_rank(rays) == 6
    assert (rays >= 0).all()
    assert (differences @ rays >= 0).all()
    inside = np.random.default_rng(0).standard_normal((6, 400))
    inside = inside[:, (inside >= 0).all(axis=0) & (differences @ inside >= 0).all(axis=0)]
    assert (np.linalg.solve(rays, inside) >= -1e-12).all()


@pytest.mark.parametrize("draw", [draw_labels, draw_pairs])
@pytest.mark.parametrize("seed", range(3))
def test_alignment_matches_its_definition(draw, seed):
    V, information = orthonormal(15, 7, seed), draw(15, seed)
    T = information.target()
    problem, rng = SpectralAlignment.of(V, information), np.random.default_rng(seed)
    for _ in range(5):
        mu = draw_weights(OrderCone(7), rng)
        twin = naive.alignment(mu, V, T, information.known)
        assert problem.alignment(mu) == pytest.approx(twin, abs=1e-13)


@every_order
@pytest.mark.parametrize("draw", [draw_labels, draw_pairs])
@pytest.mark.parametrize("seed", range(6))
def test_best_alignment_matches_quadratic_program(order, draw, seed):
    rng = np.random.default_rng(seed)
    n, r, n_null = int(rng.integers(8, 25)), int(rng.integers(2, 8)), int(rng.integers(0, 3))
    V, information = orthonormal(n, r, seed), draw(n, seed)
    problem, cone = SpectralAlignment.of(V, information), OrderCone(r, order, n_null)
    mu = problem.best(cone)
    check_weights(mu, cone)
    twin = naive.best_alignment(V, information.target(), information.known, order, n_null)
    assert max(problem.alignment(mu), 0.0) == pytest.approx(twin, abs=1e-6)


@every_order
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_optimality_conditions_of_the_alignment(order, seed):
    """t >= 0, the gradient H t - c >= 0, and their product is zero, for t scaled to fit T."""
    V, information = orthonormal(20, 8, seed), draw_labels(20, seed)
    problem, cone = SpectralAlignment.of(V, information), OrderCone(8, order, 2)
    mu = problem.best(cone)
    G, b, rays = problem.products, problem.agreement, cone.rays
    mu = mu * max(b @ mu, 0.0) / (mu @ G @ mu)
    if mu.any():
        gradient, t = rays.T @ (G @ mu - b), np.linalg.solve(rays, mu)
        assert gradient.min() >= -1e-9
        assert t.min() >= -1e-9
        assert abs(gradient @ t) <= 1e-8


@every_order
@pytest.mark.parametrize("seed", range(20))
def test_extreme_ray_without_positive_alignment(order, seed):
    """For dissimilar pairs and vectors of one sign, all alignments are negative."""
    rng = np.random.default_rng(seed)
    V = np.abs(orthonormal(10, 4, seed))
    pairs = np.column_stack(np.triu_indices(10, 1))[rng.permutation(45)[:9]]
    problem = SpectralAlignment.of(V, SideInformation.from_pairs(10, dissimilar=pairs))
    cone = OrderCone(4, order, 1)
    mu = problem.best(cone)
    check_weights(mu, cone)
    best = problem.alignment(mu)
    assert best < 0.0
    rays = [problem.alignment(ray) for ray in cone.rays.T]
    assert best == pytest.approx(max(rays), abs=1e-14)
    others = np.random.default_rng(seed).dirichlet(np.ones(4), size=3000) @ cone.rays.T
    assert max(problem.alignment(each) for each in others) <= best + 1e-12


@every_order
def test_vectors_that_vanish_on_the_known_points(order):
    """Such vectors get no weight unless the order requires it."""
    information = SideInformation.from_labels([0, 1, -1, -1, -1])
    V = np.zeros((5, 3))
    V[4, 0] = V[3, 1] = 1.0
    problem = SpectralAlignment.of(V[:, :2], information)
    mu = problem.best(OrderCone(2, order))
    np.testing.assert_array_equal(mu, [1.0, 0.0])
    assert problem.alignment(mu) == 0.0
    V[:2, 2] = [np.sqrt(0.5), -np.sqrt(0.5)]
    problem = SpectralAlignment.of(V, information)
    mu = problem.best(OrderCone(3, order, 1))
    check_weights(mu, OrderCone(3, order, 1))
    assert problem.alignment(mu) == pytest.approx(1.0, abs=1e-12)


@every_order
def test_least_loss_matches_linear_program(order):
    rng = np.random.default_rng(0)
    for _ in range(200):
        r, n_null = int(rng.integers(1, 40)), int(rng.integers(0, 4))
        losses = rng.random(r) ** rng.choice([0.2, 1.0, 5.0])
        cone = OrderCone(r, order, min(n_null, r))
        mu = best_vertex(losses, cone)
        check_weights(mu, cone)
        twin = naive.least_loss(losses, order, cone.n_null)
        assert losses @ mu == pytest.approx(twin, abs=1e-9)


@pytest.mark.parametrize("kind", ["complete", "labeled"])
@pytest.mark.parametrize("draw", [draw_labels, draw_pairs])
def test_losses_match_dense_laplacian(kind, draw):
    information, V = draw(14, 3), orthonormal(14, 5, 3)
    rows = np.arange(14) if kind == "complete" else information.known
    S = naive_supervision.laplacian(information.target()[np.ix_(rows, rows)], beta=1.7)
    expected = np.diagonal(V[rows].T @ S @ V[rows])
    found = graph_losses(V, information.graph(kind, 1.7))
    np.testing.assert_allclose(found, expected, atol=1e-13)


LOSSES = ("alignment", "scg")

every_loss = pytest.mark.parametrize("loss", LOSSES)


def data(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(rng.random(n) < 0.6, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5), -1)
    y[:3] = [0, 1, 2]
    return X, y


@pytest.mark.parametrize(
    ("order", "value"), [("strict", 0.382100511318), ("improved", 0.543110420845)]
)
def test_reference_values(order, value):
    learner = OrderSpectralLearner(
        order=order, n_neighbors=3, n_components=12, drop_null=False
    ).fit(REFERENCE_X, REFERENCE_Y)
    assert learner.alignment_ == pytest.approx(value, abs=1e-9)
    assert learner.objective_ == learner.alignment_
    gram = learner.transform(REFERENCE_X)
    known = SideInformation.from_labels(REFERENCE_Y)
    assert kernel_alignment(gram, known) == pytest.approx(value, abs=1e-9)


@every_order
@every_loss
@pytest.mark.parametrize("drop_null", [False, True])
def test_learner_matches_slow_twin(loss, order, drop_null):
    X, y = data(30)
    learner = OrderSpectralLearner(loss, order, 4, 8, drop_null).fit(X, y)
    L = naive.laplacian(naive.adjacency(X, 4))
    values, vectors = np.linalg.eigh(L)
    V = vectors[:, int(drop_null) :][:, :8]
    np.testing.assert_allclose(learner.eigenvalues_, values[int(drop_null) :][:8], atol=1e-12)
    known, n_null = SideInformation.from_labels(y), int(not drop_null)
    T = known.target()
    if loss == "alignment":
        twin = naive.best_alignment(V, T, known.known, order, n_null)
        assert learner.objective_ == pytest.approx(twin, abs=1e-6)
    else:
        losses = [scg_loss(np.outer(v, v), known, graph="complete") for v in V.T]
        twin = naive.least_loss(losses, order, n_null)
        assert learner.objective_ == pytest.approx(twin, abs=1e-9)
    K = 30 * (V * learner.spectrum_) @ V.T
    np.testing.assert_allclose(learner.transform(X), K, atol=1e-10)
    assert learner.alignment_ == pytest.approx(kernel_alignment(K, known), abs=1e-12)


@pytest.mark.parametrize("how", ["labels", "pairs"])
@every_loss
def test_fitted_attributes(loss, how):
    X, y = data(60)
    learner, known_arguments = OrderSpectralLearner(loss), known_of(y, how)
    gram = learner.fit_gram(X, **known_arguments)
    assert np.trace(gram) == pytest.approx(60.0, abs=1e-10)
    assert learner.spectrum_.sum() == pytest.approx(1.0, abs=1e-12)
    assert learner.n_kept_ == np.count_nonzero(learner.spectrum_)
    assert learner.eigenvectors_.shape == (60, 59)
    np.testing.assert_allclose(learner.kernel_(X), gram, rtol=0, atol=1e-10)
    np.testing.assert_allclose(learner.transform(X), gram, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(clone(learner).fit_transform(X, **known_arguments), gram)
    if how == "labels":
        information = SideInformation.from_labels(y)
        np.testing.assert_array_equal(learner.classes_, [0, 1, 2])
    else:
        information = SideInformation.from_pairs(60, **known_arguments)
        assert learner.classes_ is None
    assert learner.alignment_ == pytest.approx(kernel_alignment(gram, information), abs=1e-12)
    if loss == "scg":
        expected = scg_loss(gram / 60, information, graph="complete")
        assert learner.objective_ == pytest.approx(expected, abs=1e-10)


def test_scg_loss_with_null_vector_has_trivial_minimum():
    """All weight is on the constant vector, and an SVM predicts the majority class."""
    X, y = data(150)
    published = OrderSpectralLearner("scg", drop_null=False).fit(X, y)
    assert published.n_kept_ == 1
    assert published.eigenvalues_[0] == 0.0
    gram, known = published.transform(X), y >= 0
    machine = SVC(kernel="precomputed").fit(gram[np.ix_(known, known)], y[known])
    assert len(set(machine.predict(gram[:, known]))) == 1
    dropped = OrderSpectralLearner("scg").fit(X, y)
    assert dropped.eigenvalues_[0] > 0.0
    assert dropped.objective_ > published.objective_


@every_loss
@pytest.mark.parametrize("n_components", [1, 2, 3, 5, 500])
@pytest.mark.parametrize("drop_null", [False, True])
def test_null_vectors_of_separate_components(loss, n_components, drop_null):
    X, y = data(48)
    X[16:32] += 100.0
    X[32:] -= 100.0
    learner = OrderSpectralLearner(loss, n_components=n_components, drop_null=drop_null).fit(X, y)
    assert learner.n_connected_components_ == 3
    available = 45 if drop_null else 48
    assert learner.spectrum_.shape == (min(n_components, available),)
    null = np.count_nonzero(learner.eigenvalues_ == 0.0)
    assert null == (0 if drop_null else min(3, n_components))
    for v in learner.eigenvectors_[:, :null].T:
        assert {np.count_nonzero(v[low : low + 16]) for low in (0, 16, 32)} == {0, 16}


@every_loss
def test_equal_points_are_merged(loss):
    X, y = data(30)
    again = np.concatenate([X, X[:10], X[:5], -0.0 * X[:1]])
    labels = np.concatenate([y, y[:15], [-1]])
    learner = OrderSpectralLearner(loss, n_components=8)
    gram = learner.fit_gram(again, labels)
    assert gram.shape == (46, 46)
    assert np.trace(gram) == pytest.approx(46.0, abs=1e-10)
    np.testing.assert_array_equal(gram[30:40, :30], gram[:10, :30])
    np.testing.assert_allclose(learner.transform(again), gram, atol=1e-10)
    np.testing.assert_allclose((learner.eigenvectors_**2).sum(axis=0), 1.0, atol=1e-13)
    assert len(learner.kernel_.points) == 31


def test_accuracy_on_new_and_unlabelled_points():
    X, classes = load_digits(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:900]
    X, classes = X[chosen], classes[chosen]
    y = np.where(np.arange(600) % 3 == 0, classes[:600], -1)
    learner = OrderSpectralLearner().fit(X[:600], y)
    known = np.flatnonzero(y >= 0)
    gram = learner.transform(X)[:, known]
    machine = SVC(kernel="precomputed", C=10.0).fit(gram[known], y[known])
    unlabelled = np.flatnonzero(y < 0)
    transductive = machine.score(gram[unlabelled], classes[unlabelled])
    inductive = machine.score(gram[600:], classes[600:])
    assert transductive > 0.93
    assert inductive > transductive - 0.03
