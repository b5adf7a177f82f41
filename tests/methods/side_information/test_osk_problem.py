"""Weights of eigenvectors in an order: against a QCQP, a linear program, and random rivals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.neighbor_graph import NeighborGraph
from pliant.methods.side_information.osk_problem import (
    ORDERS,
    OrderCone,
    SpectralAlignment,
    best_vertex,
    graph_losses,
)
from tests.reference import naive_spectral as naive
from tests.reference import naive_supervision

every_order = pytest.mark.parametrize("order", ORDERS)
seeds = st.integers(0, 2**32 - 1)

REFERENCE_X = np.random.default_rng(12345).normal(size=(12, 3))
REFERENCE_Y = [0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1]


def orthonormal(n, r, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, r)))[0]


def some_labels(n, seed):
    y = np.random.default_rng(seed).integers(-1, 3, size=n)
    y[:3] = [0, 1, 2]
    return SideInformation.from_labels(y)


def some_pairs(n, seed):
    rng = np.random.default_rng(seed)
    pairs = np.stack([rng.permutation(n)[:2] for _ in range(n)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    half = len(pairs) // 2
    return SideInformation.from_pairs(n, pairs[:half], pairs[half:])


def random_member(cone, rng):
    """A mu of the cone, of sum 1, with few or many rays in it."""
    t = rng.exponential(size=cone.size) * (rng.random(cone.size) < rng.choice([0.2, 1.0]))
    t[rng.integers(cone.size)] += 0.1
    mu = cone.rays @ t
    return mu / mu.sum()


def belongs(mu, cone):
    differences = naive.order_differences(cone.size, cone.order, cone.n_null)
    assert mu.shape == (cone.size,)
    assert mu.min() >= 0.0
    assert (differences @ mu >= 0.0).all()
    assert mu.sum() == pytest.approx(1.0, abs=1e-14)


@every_order
@pytest.mark.parametrize("n_null", [0, 1, 3, 6])
def test_the_rays_span_what_the_order_says(order, n_null):
    cone = OrderCone(6, order, n_null)
    rays = cone.rays
    differences = naive.order_differences(6, order, n_null)
    assert np.linalg.matrix_rank(rays) == 6
    assert (rays >= 0).all()
    assert (differences @ rays >= 0).all()
    inside = np.random.default_rng(0).standard_normal((6, 400))
    inside = inside[:, (inside >= 0).all(axis=0) & (differences @ inside >= 0).all(axis=0)]
    assert (np.linalg.solve(rays, inside) >= -1e-12).all()


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match=r"expected order in .* got 'strickt' .*'strict'"):
        OrderCone(3, "strickt").rays  # noqa: B018


@pytest.mark.parametrize(
    ("order", "value"), [("strict", 0.382100511318), ("improved", 0.543110420845)]
)
def test_reference_values(order, value):
    graph = NeighborGraph(REFERENCE_X, 3)
    found = graph.smoothest(12, drop_null=False)
    problem = SpectralAlignment.of(found.vectors, SideInformation.from_labels(REFERENCE_Y))
    mu = problem.best(OrderCone(12, order, found.n_null))
    assert problem.alignment(mu) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("make", [some_labels, some_pairs])
@pytest.mark.parametrize("seed", range(3))
def test_the_alignment_is_that_of_the_matrices(make, seed):
    V, information = orthonormal(15, 7, seed), make(15, seed)
    T = information.target()
    problem = SpectralAlignment.of(V, information)
    for _ in range(5):
        mu = random_member(OrderCone(7, "none"), np.random.default_rng(seed))
        twin = naive.alignment(mu, V, T, information.known)
        assert problem.alignment(mu) == pytest.approx(twin, abs=1e-13)


@every_order
@pytest.mark.parametrize("make", [some_labels, some_pairs])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_alignment_is_that_of_the_quadratic_program(order, make, seed):
    rng = np.random.default_rng(seed)
    n, r, n_null = int(rng.integers(8, 25)), int(rng.integers(2, 8)), int(rng.integers(0, 3))
    V, information = orthonormal(n, r, seed), make(n, seed)
    problem, cone = SpectralAlignment.of(V, information), OrderCone(r, order, n_null)
    mu = problem.best(cone)
    belongs(mu, cone)
    twin = naive.best_alignment(V, information.target(), information.known, order, n_null)
    assert max(problem.alignment(mu), 0.0) == pytest.approx(twin, abs=1e-6)


@every_order
@given(seed=seeds, pairs=st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_other_spectrum_has_a_better_alignment(order, seed, pairs):
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(6, 20)), int(rng.integers(1, 6))
    V, information = orthonormal(n, r, seed), (some_pairs if pairs else some_labels)(n, seed)
    problem, cone = SpectralAlignment.of(V, information), OrderCone(r, order, 1)
    mu = problem.best(cone)
    belongs(mu, cone)
    best = problem.alignment(mu)
    assert -1.0 <= best <= 1.0
    assert all(problem.alignment(random_member(cone, rng)) <= best + 1e-10 for _ in range(50))


@every_order
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_least_squares_solution_meets_its_optimality_conditions(order, seed):
    """t >= 0, gradient H t - c >= 0, and their product zero, for t scaled to be nearest to T."""
    V, information = orthonormal(20, 8, seed), some_labels(20, seed)
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
def test_without_a_positive_alignment_the_best_is_an_extreme_ray(order, seed):
    """With dissimilar pairs only, and vectors of one sign, every alignment is negative."""
    rng = np.random.default_rng(seed)
    V = np.abs(orthonormal(10, 4, seed))
    pairs = np.column_stack(np.triu_indices(10, 1))[rng.permutation(45)[:9]]
    problem = SpectralAlignment.of(V, SideInformation.from_pairs(10, dissimilar=pairs))
    cone = OrderCone(4, order, 1)
    mu = problem.best(cone)
    belongs(mu, cone)
    best = problem.alignment(mu)
    assert best < 0.0
    rays = [problem.alignment(ray) for ray in cone.rays.T]
    assert best == pytest.approx(max(rays), abs=1e-14)
    others = np.random.default_rng(seed).dirichlet(np.ones(4), size=3000) @ cone.rays.T
    assert max(problem.alignment(each) for each in others) <= best + 1e-12


def test_the_length_and_sign_of_vectors_do_not_matter_to_the_alignment():
    V, information = orthonormal(20, 6, 0), some_labels(20, 0)
    first = SpectralAlignment.of(V, information)
    second = SpectralAlignment.of(-3.0 * V, information)
    mu = first.best(OrderCone(6))
    np.testing.assert_allclose(second.best(OrderCone(6)), mu, atol=1e-10)
    assert second.alignment(mu) == pytest.approx(first.alignment(mu), abs=1e-14)


@every_order
def test_vectors_that_vanish_on_the_known_points_do_no_harm(order):
    """Then they get no weight, unless the order gives it; with nothing else the first ray is it."""
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
    belongs(mu, OrderCone(3, order, 1))
    assert problem.alignment(mu) == pytest.approx(1.0, abs=1e-12)


@every_order
def test_200_losses_have_the_minimum_of_the_linear_program(order):
    rng = np.random.default_rng(0)
    for _ in range(200):
        r, n_null = int(rng.integers(1, 40)), int(rng.integers(0, 4))
        losses = rng.random(r) ** rng.choice([0.2, 1.0, 5.0])
        cone = OrderCone(r, order, min(n_null, r))
        mu = best_vertex(losses, cone)
        belongs(mu, cone)
        twin = naive.least_loss(losses, order, cone.n_null)
        assert losses @ mu == pytest.approx(twin, abs=1e-9)


@given(losses=st.lists(st.floats(0, 2), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None)
def test_the_vertex_of_the_strict_order_has_the_smallest_running_mean(losses):
    losses = np.array(losses)
    mu = best_vertex(losses, OrderCone(len(losses)))
    k = np.count_nonzero(mu)
    np.testing.assert_allclose(mu, np.where(np.arange(len(mu)) < k, 1.0 / k, 0.0), rtol=1e-15)
    means = [np.mean(losses[:i]) for i in range(1, len(losses) + 1)]
    assert means[k - 1] <= min(means) + 2e-12 * max(losses)
    assert all(mean > means[k - 1] for mean in means[: k - 1])


@pytest.mark.parametrize(
    ("losses", "order", "mu"),
    [
        ([0.1, 0.1, 0.1], "strict", [1, 0, 0]),
        ([0.3, 0.1, 0.15, 0.7], "strict", [1 / 3, 1 / 3, 1 / 3, 0]),
        ([0.3, 0.1, 0.2, 0.2], "strict", [0.5, 0.5, 0, 0]),
        ([0.0, 0.0], "strict", [1, 0]),
        ([0.3, 0.1, 0.2], "none", [0, 1, 0]),
        ([0.3, 0.1, 0.1], "none", [0, 1, 0]),
        ([0.3, 0.2, 0.1], "improved", [0, 0.5, 0.5]),
        ([0.1, 0.2, 0.1], "improved", [1, 0, 0]),
        ([0.5], "improved", [1]),
    ],
)
def test_vertices_by_hand(losses, order, mu):
    cone = OrderCone(len(losses), order, n_null=1)
    np.testing.assert_allclose(best_vertex(np.array(losses), cone), mu, atol=1e-15)


@pytest.mark.parametrize("kind", ["complete", "labeled"])
@pytest.mark.parametrize("make", [some_labels, some_pairs])
def test_the_losses_are_those_of_the_dense_laplacian(kind, make):
    information, V = make(14, 3), orthonormal(14, 5, 3)
    rows = np.arange(14) if kind == "complete" else information.known
    S = naive_supervision.laplacian(information.target()[np.ix_(rows, rows)], beta=1.7)
    expected = np.diagonal(V[rows].T @ S @ V[rows])
    found = graph_losses(V, information.graph(kind, 1.7))
    np.testing.assert_allclose(found, expected, atol=1e-13)
