"""The kernel that DANK learns: exact on training pairs, PSD everywhere, one point at a time."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from pliant.kernels import (
    FunctionKernel,
    Gaussian,
    HadamardKernel,
    Laplacian,
    Linear,
    Precomputed,
)
from pliant.methods.hadamard.kernel import EXTENSIONS
from tests.reference import naive_kernels as naive

ADAPTED = [rule for rule in EXTENSIONS if rule != "none"]
every_rule = pytest.mark.parametrize("rule", EXTENSIONS)
adapted_rules = pytest.mark.parametrize("rule", ADAPTED)


def problem(seed=0, n=20, d=3, m=7):
    rng = np.random.default_rng(seed)
    beta = 3 * rng.standard_normal(n)
    beta[rng.uniform(size=n) < 0.4] = 0.0
    return rng.uniform(size=(n, d)), beta, rng.uniform(size=(m, d))


@adapted_rules
@pytest.mark.parametrize("seed", range(3))
def test_on_the_training_points_it_is_the_adaptive_matrix_times_the_gram(rule, seed):
    points, beta, _ = problem(seed)
    eta = 0.7
    F = naive.adaptive_matrix(naive.gaussian(2.0), points, beta, eta)
    expected = F * naive.gram_by_loops(naive.gaussian(2.0), points, points)
    kernel = HadamardKernel(Gaussian(2.0), points, beta, eta, rule)
    np.testing.assert_allclose(kernel(points), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(points[:4], points.copy()), expected[:4], atol=1e-12)
    np.testing.assert_allclose(kernel.adaptation().toarray(), F, rtol=1e-12, atol=1e-12)


@every_rule
@pytest.mark.parametrize("n_neighbors", [1, 3, 100])
def test_new_points_agree_with_loops(rule, n_neighbors):
    points, beta, new = problem()
    kernel = HadamardKernel(Laplacian(0.8), points, beta, 0.7, rule, n_neighbors)
    twin = naive.hadamard(naive.laplacian(0.8), points, beta, 0.7, rule, n_neighbors)
    mixed = np.concatenate([new, points[:3]])
    expected = naive.gram_by_loops(twin, new, mixed)
    np.testing.assert_allclose(kernel(new, mixed), expected, rtol=1e-11)
    np.testing.assert_allclose(kernel.diag(mixed), [twin(x, x) for x in mixed], rtol=1e-11)


@every_rule
def test_the_joint_gram_of_old_and_new_points_is_psd(rule):
    points, beta, new = problem(n=30, m=20)
    for base in (Gaussian(1.0), Linear()):
        gram = HadamardKernel(base, points, beta, 0.1, rule)(np.concatenate([points, new]))
        assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * np.trace(gram)


@every_rule
@given(
    points=arrays(float, (6, 2), elements=st.integers(0, 3).map(float)),
    new=arrays(float, (4, 2), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5])),
    beta=arrays(float, 6, elements=st.floats(-8, 8).map(lambda b: round(b, 2))),
    eta=st.sampled_from([0.01, 1.0, 100.0, np.inf]),
)
@settings(max_examples=40, deadline=None)
def test_ties_duplicates_and_constants_do_no_harm(rule, points, new, beta, eta):
    kernel = HadamardKernel(Gaussian(0.3), points, beta, eta, rule, 3)
    joint = np.concatenate([points, new])
    gram = kernel(joint)
    twin = naive.hadamard(naive.gaussian(0.3), points, beta, eta, rule, 3)
    expected = naive.gram_by_loops(twin, joint, joint)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-12 * scale)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * np.trace(gram)
    alone = np.concatenate([kernel(new[[i]], joint) for i in range(len(new))])
    np.testing.assert_allclose(alone, gram[len(points) :], rtol=0, atol=1e-12 * scale)


def test_features_that_are_constant_do_not_matter():
    points, beta, new = problem()
    flat = np.full((len(points), 1), 7.0)
    for rule in EXTENSIONS:
        plain = HadamardKernel(Gaussian(), points, beta, 1.0, rule)
        padded = HadamardKernel(Gaussian(), np.hstack([points, flat]), beta, 1.0, rule)
        np.testing.assert_allclose(
            padded(np.hstack([new, flat[: len(new)]])), plain(new), rtol=1e-12
        )


def test_points_that_are_all_equal_share_the_mean():
    kernel = HadamardKernel(Gaussian(), np.ones((4, 2)), np.array([1.0, 2.0, 3.0, -4.0]), 0.25)
    np.testing.assert_allclose(kernel(np.ones((1, 2))), [[1 + 0.5**2]])
    far = kernel([[1.0, 3.0]], [[1.0, 1.0]])
    np.testing.assert_allclose(far, [[np.exp(-4) * (1 + 0.5**2 * np.exp(-4))]])


def test_equal_points_of_opposite_labels_are_one_point():
    points = np.array([[0.0], [0.0], [1.0]])
    kernel = HadamardKernel(Gaussian(), points, np.array([2.0, -2.0, 1.0]), 0.25, "smooth")
    np.testing.assert_allclose(kernel(points)[:2, :2], 1.0)
    first = HadamardKernel(Gaussian(), points, np.array([2.0, -2.0, 1.0]), 0.25, "nearest")
    np.testing.assert_allclose(first(points)[:2, :2], 1 + 2.0**2)


def test_rule_none_is_the_base_kernel():
    points, beta, new = problem()
    kernel = HadamardKernel(Gaussian(0.5), points, beta, 0.1, "none")
    np.testing.assert_array_equal(kernel(new, points), Gaussian(0.5)(new, points))
    np.testing.assert_array_equal(kernel.diag(new), np.ones(len(new)))


@adapted_rules
def test_without_beta_or_with_infinite_eta_nothing_is_adapted(rule):
    points, beta, new = problem()
    base = Gaussian(0.5)(new, points)
    for kernel in (
        HadamardKernel(Gaussian(0.5), points, beta, np.inf, rule),
        HadamardKernel(Gaussian(0.5), points, np.zeros(len(points)), 1.0, rule),
    ):
        np.testing.assert_array_equal(kernel(new, points), base)
        np.testing.assert_array_equal(kernel.diag(new), np.ones(len(new)))


@adapted_rules
def test_a_smaller_eta_adapts_in_proportion(rule):
    points, beta, new = problem()
    base = Gaussian()(new, points)
    one, ten = (
        HadamardKernel(Gaussian(), points, beta, eta, rule)(new, points) - base
        for eta in (1.0, 0.1)
    )
    assert np.abs(one).max() > 0.01
    np.testing.assert_allclose(ten, 10 * one, rtol=1e-10, atol=1e-14)


@adapted_rules
@pytest.mark.parametrize("name", ["points and beta", "eta", "extension"])
def test_what_is_set_after_a_call_counts(rule, name):
    points, beta, new = problem()
    other_points, other_beta, _ = problem(seed=5, n=12)
    changes = {
        "points and beta": {"points": other_points, "beta": other_beta},
        "eta": {"eta": 5.0},
        "extension": {"extension": "none"},
    }[name]
    kernel = HadamardKernel(Gaussian(), points, beta, 0.5, rule)
    before = kernel(new)
    fresh = clone(kernel).set_params(**changes)(new)
    np.testing.assert_array_equal(kernel.set_params(**changes)(new), fresh)
    assert np.abs(fresh - before).max() > 1e-6


def test_a_pickle_holds_no_search_structure():
    points, beta, new = problem()
    kernel = HadamardKernel(Gaussian(), points, beta, 0.5)
    size = len(pickle.dumps(kernel))
    kernel(new)
    assert len(pickle.dumps(kernel)) == size


@adapted_rules
def test_points_of_other_dimensions_are_refused(rule):
    points, beta, _ = problem()
    kernel = HadamardKernel(Gaussian(), points, beta, 1.0, rule)
    for call in (lambda: kernel(np.zeros((2, 4))), lambda: kernel.diag(np.zeros((2, 4)))):
        with pytest.raises(ValueError, match="expected X with 3 features, got 4"):
            call()


@pytest.mark.parametrize("call", [HadamardKernel.__call__, HadamardKernel.diag])
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"eta": 0.0}, r"eta.* >= 1e-300, a number, got 0\.0"),
        ({"eta": -1}, r"eta.* >= 1e-300, a number, got -1"),
        ({"eta": np.nan}, r"eta.* >= 1e-300, a number, got nan"),
        ({"extension": "smoth"}, r"expected extension in .*, got 'smoth' .did you mean 'smooth'"),
        ({"extension": None}, "expected extension in .*, got None"),
        ({"n_neighbors": 0}, "expected n_neighbors >= 1, an integer, got 0"),
        ({"n_neighbors": 2.0}, r"expected n_neighbors >= 1, an integer, got 2\.0"),
    ],
)
def test_bad_hyper_parameters_are_refused(call, params, said):
    points, beta, new = problem()
    with pytest.raises(ValueError, match=said):
        call(HadamardKernel(Gaussian(), points, beta, 1.0).set_params(**params), new)


def test_a_kernel_is_psd_if_its_base_is():
    points, beta, _ = problem()
    assert HadamardKernel(Gaussian(), points, beta, 1.0).psd

    class Indefinite(FunctionKernel):
        psd = False

    assert not HadamardKernel(Indefinite(np.dot), points, beta, 1.0).psd


class TestPrecomputed:
    """A base kernel that is known as a matrix: the same values, without coordinates."""

    points, beta, new = problem()
    base = Gaussian(0.7)
    numbers = np.arange(20.0)[:, None]
    rows = base(new, points)

    @pytest.mark.parametrize("rule", ["none", "nearest", "reciprocal"])
    def test_it_is_the_kernel_of_the_coordinates(self, rule):
        by_points = HadamardKernel(self.base, self.points, self.beta, 0.5, rule)
        base = Precomputed(self.base(self.points))
        by_rows = HadamardKernel(base, self.numbers, self.beta, 0.5, rule)
        np.testing.assert_allclose(
            by_rows(self.rows, self.numbers), by_points(self.new, self.points), rtol=1e-12
        )
        np.testing.assert_allclose(by_rows(self.numbers), by_points(self.points), rtol=1e-12)

    @adapted_rules
    def test_it_is_exact_at_the_training_points(self, rule):
        gram = self.base(self.points)
        kernel = HadamardKernel(Precomputed(gram), self.numbers, self.beta, 0.5, rule)
        F = 1 + np.outer(self.beta, self.beta) * gram / 2
        np.testing.assert_allclose(kernel(self.numbers), F * gram, rtol=1e-12, atol=1e-13)
        # a new point whose kernel values are those of a training point is that point
        np.testing.assert_allclose(kernel(gram, self.numbers), F * gram, rtol=1e-12, atol=1e-13)

    def test_unequal_diagonals_leave_only_the_rule_none(self):
        gram = Linear()(self.points)
        made = {
            rule: HadamardKernel(Precomputed(gram), self.numbers, self.beta, 0.5, rule)
            for rule in EXTENSIONS
        }
        np.testing.assert_array_equal(made["none"](self.numbers), gram)
        for rule in ADAPTED:
            with pytest.raises(ValueError, match="use extension='none', or normalise the Gram"):
                made[rule](self.numbers)


class TestAdaptiveMatrix:
    """F on the training points, without forming it."""

    points, beta, _ = problem()
    F = naive.adaptive_matrix(naive.gaussian(2.0), points, beta, 0.7)
    adaptive = HadamardKernel(Gaussian(2.0), points, beta, 0.7).adaptation()

    def test_it_agrees_with_the_dense_matrix(self):
        assert len(self.adaptive) == 20
        assert self.adaptive.shape == (20, 20)
        np.testing.assert_allclose(self.adaptive.toarray(), self.F, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("which", [3, -1, slice(2, 9, 3), [4, 4, 1], np.arange(20) % 3 == 0])
    def test_columns_are_chosen_as_in_numpy(self, which):
        expected = np.atleast_2d(self.F.T[which]).T
        np.testing.assert_allclose(self.adaptive.columns(which), expected, rtol=1e-12, atol=1e-12)

    def test_a_column_that_is_not_there_is_an_index_error(self):
        with pytest.raises(IndexError, match="20 is out of bounds"):
            self.adaptive.columns(20)

    def test_the_radius_is_the_distance_from_ones(self):
        assert self.adaptive.radius == pytest.approx(np.linalg.norm(self.F - 1), rel=1e-12)

    @pytest.mark.parametrize("width", [0.01, 2.0, 50.0])
    @pytest.mark.parametrize("n_support", [0, 1, 7, 20])
    def test_the_rank_is_that_of_the_dense_matrix(self, width, n_support):
        beta = np.where(np.arange(20) < n_support, 1.0 + np.arange(20), 0.0)
        adaptive = HadamardKernel(Gaussian(width), self.points, beta, 0.8).adaptation()
        values = np.linalg.eigvalsh(adaptive.toarray())
        assert adaptive.rank == (values > 1e-12 * values[-1]).sum()

    def test_nothing_adapted_is_the_matrix_of_ones(self):
        for adaptive in (
            HadamardKernel(Gaussian(), self.points, np.zeros(20), 0.8).adaptation(),
            HadamardKernel(Gaussian(), self.points, self.beta, np.inf).adaptation(),
        ):
            assert adaptive.rank == 1
            assert adaptive.radius == 0.0
            np.testing.assert_array_equal(adaptive.toarray(), np.ones((20, 20)))
