"""The closed forms of F, and the kernels that they make: with a trace penalty, or centred."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.svm import SVC

from pliant.kernels import Gaussian, HadamardKernel, Laplacian, Linear, Precomputed
from pliant.methods.hadamard import problem as source
from pliant.methods.hadamard.problem import Spectrum
from tests.reference import naive_hadamard, naive_kernels

FORMS = {
    "tau .02": {"tau": 0.02},
    "tau 1": {"tau": 1.0},
    "tau 30": {"tau": 30.0},
    "centred": {"centred": True},
}
ADAPTED = ["nearest", "reciprocal", "smooth"]
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
adapted_rules = pytest.mark.parametrize("rule", ADAPTED)


def problem(seed=0, n=20, d=3, m=7):
    rng = np.random.default_rng(seed)
    beta = 3 * rng.standard_normal(n)
    beta[rng.uniform(size=n) < 0.4] = 0.0
    return rng.uniform(size=(n, d)), beta, rng.uniform(size=(m, d))


def dense(K, beta, eta, tau=0.0, centred=False):
    """F from its definition."""
    p = np.zeros(len(K))
    rule = "knpl" if centred else "dank"
    return naive_hadamard.NaiveHadamard(K, p, p, p, 1.0, eta, tau, rule=rule).adaptation(beta)


def smooth_values(new, points, beta, k=5):
    return np.array([naive_kernels.smooth(x, points, beta, k) for x in new])


def expected_change(rule, base, points, beta, eta, new, form, k=5):
    """F between the rows of `new`, by the formulas of the papers and of the smooth rule."""
    K = base(points)
    if rule != "smooth":
        choose = {"nearest": naive_kernels.nearest, "reciprocal": naive_kernels.reciprocal}[rule]
        place = [choose(x, points) for x in new]
        return naive_hadamard.copied(dense(K, beta, eta, **form), place, place)
    b, cross = smooth_values(new, points, beta, k), base(new, points)
    if "tau" in form:
        return naive_hadamard.smooth_dank(K, cross, cross, b, b, beta, eta, form["tau"])
    return naive_hadamard.smooth_knpl(K, cross, cross, base(new), b, b, beta, eta)


@adapted_rules
@every_form
@pytest.mark.parametrize("seed", range(2))
def test_on_the_training_points_it_is_f_times_the_gram(rule, form, seed):
    points, beta, _ = problem(seed)
    K = Gaussian(2.0)(points)
    F = dense(K, beta, 0.7, **form)
    kernel = HadamardKernel(Gaussian(2.0), points, beta, 0.7, rule, **form)
    np.testing.assert_allclose(kernel(points, points), F * K, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel(points[:4], points.copy()), (F * K)[:4], atol=1e-12)
    np.testing.assert_allclose(kernel.diag(points), np.diag(F * K), atol=1e-12)
    np.testing.assert_allclose(kernel.adaptation().toarray(), F, rtol=0, atol=1e-12)
    on_support = points[beta != 0]
    np.testing.assert_allclose(kernel(points, on_support), (F * K)[:, beta != 0], atol=1e-12)
    np.testing.assert_allclose(
        kernel(on_support), (F * K)[np.ix_(beta != 0, beta != 0)], atol=1e-12
    )


@adapted_rules
@every_form
@pytest.mark.parametrize("n_neighbors", [1, 3, 100])
def test_new_points_agree_with_the_formulas(rule, form, n_neighbors):
    points, beta, new = problem()
    base = Laplacian(0.8)
    kernel = HadamardKernel(base, points, beta, 0.7, rule, n_neighbors, **form)
    mixed = np.concatenate([new, points[:3]])
    F = expected_change(rule, base, points, beta, 0.7, mixed, form, n_neighbors)
    np.testing.assert_allclose(kernel(mixed), F * base(mixed), rtol=0, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(mixed), np.diag(F * base(mixed)), atol=1e-12)
    support = points[beta != 0]
    every = np.concatenate([new, support])
    F = expected_change(rule, base, points, beta, 0.7, every, form, n_neighbors)
    np.testing.assert_allclose(
        kernel(new, support), (F * base(every))[: len(new), len(new) :], atol=1e-12
    )


@adapted_rules
@every_form
@given(
    points=arrays(float, (6, 2), elements=st.integers(0, 3).map(float)),
    new=arrays(float, (4, 2), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5])),
    beta=arrays(float, 6, elements=st.floats(-8, 8).map(lambda b: round(b, 2))),
    eta=st.sampled_from([0.01, 1.0, 100.0, np.inf]),
    linear=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_it_is_psd_and_takes_one_point_at_a_time(rule, form, points, new, beta, eta, linear):
    tau = min(form.get("tau", 0.0), 11.0)
    form = {"tau": tau} if tau else form
    base = Linear() if linear else Gaussian(0.3)
    kernel = HadamardKernel(base, points, beta, eta, rule, 3, **form)
    joint = np.concatenate([points, new])
    gram = kernel(joint)
    scale = 1e-12 * (1 + np.abs(gram).max())
    assert np.linalg.eigvalsh(gram)[0] >= -10 * scale
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=scale)
    np.testing.assert_allclose(kernel.diag(joint), np.diag(gram), rtol=0, atol=scale)
    alone = np.concatenate([kernel(x[None], joint) for x in joint])
    np.testing.assert_allclose(alone, gram, rtol=0, atol=scale)


@every_form
def test_rule_none_is_the_base_kernel(form):
    points, beta, new = problem()
    kernel = HadamardKernel(Gaussian(0.5), points, beta, 0.1, "none", **form)
    np.testing.assert_array_equal(kernel(new, points), Gaussian(0.5)(new, points))
    np.testing.assert_array_equal(kernel.diag(new), np.ones(len(new)))


@adapted_rules
@every_form
def test_without_beta_or_with_infinite_eta_nothing_is_adapted(rule, form):
    points, beta, new = problem()
    for kernel in (
        HadamardKernel(Gaussian(0.5), points, beta, np.inf, rule, **form),
        HadamardKernel(Gaussian(0.5), points, 0.0 * beta, 1.0, rule, **form),
    ):
        np.testing.assert_array_equal(kernel(new, points), Gaussian(0.5)(new, points))
        matrix = kernel.adaptation()
        np.testing.assert_array_equal(matrix.toarray(), np.ones((20, 20)))
        assert (matrix.rank, matrix.radius) == (1, 0.0)


@every_form
def test_equal_points_are_one_point_to_the_smooth_rule(form):
    points, beta, new = problem()
    doubled = np.repeat(points, 2, axis=0)
    kernel = HadamardKernel(Gaussian(), doubled, np.repeat(beta, 2), 0.5, **form)
    gram = kernel(np.concatenate([doubled, new]))
    np.testing.assert_allclose(gram[0:40:2], gram[1:40:2], rtol=0, atol=1e-12)
    F = dense(Gaussian()(doubled), np.repeat(beta, 2), 0.5, **form)
    np.testing.assert_allclose(gram[:40, :40], F * Gaussian()(doubled), rtol=0, atol=1e-12)


@every_form
def test_equal_points_of_opposite_coefficients_cancel_in_the_smooth_rule(form):
    points = np.array([[0.0], [0.0], [1.0], [3.0]])
    beta = np.array([2.0, -2.0, 1.0, 0.0])
    kernel = HadamardKernel(Gaussian(), points, beta, 0.25, "smooth", **{**form, **_below(form)})
    gram = kernel(points)
    np.testing.assert_allclose(gram[0], gram[1], rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(gram)[0] > -1e-14


def _below(form):
    return {"tau": min(form["tau"], 7.0)} if "tau" in form else {}


@every_form
class TestPrecomputed:
    points, beta, new = problem()
    base = Gaussian(0.7)
    numbers = np.arange(20.0)[:, None]
    rows = base(new, points)

    @pytest.mark.parametrize("rule", ["none", "nearest", "reciprocal"])
    def test_it_is_the_kernel_of_the_coordinates(self, rule, form):
        by_points = HadamardKernel(self.base, self.points, self.beta, 0.5, rule, **form)
        base = Precomputed(self.base(self.points))
        by_rows = HadamardKernel(base, self.numbers, self.beta, 0.5, rule, **form)
        np.testing.assert_allclose(
            by_rows(self.rows, self.numbers), by_points(self.new, self.points), atol=1e-12
        )

    @adapted_rules
    def test_it_is_exact_at_the_training_points(self, rule, form):
        gram = self.base(self.points)
        kernel = HadamardKernel(Precomputed(gram), self.numbers, self.beta, 0.5, rule, **form)
        F = dense(gram, self.beta, 0.5, **form)
        np.testing.assert_allclose(kernel(self.numbers), F * gram, rtol=0, atol=1e-12)
        np.testing.assert_allclose(kernel(gram, self.numbers), F * gram, rtol=0, atol=1e-12)


@every_form
class TestAdaptiveMatrix:
    points, beta, _ = problem()
    K = Gaussian(2.0)(points)

    def both(self, form):
        kernel = HadamardKernel(Gaussian(2.0), self.points, self.beta, 0.7, **form)
        return kernel.adaptation(), dense(self.K, self.beta, 0.7, **form)

    @pytest.mark.parametrize("which", [3, -1, slice(2, 9, 3), [4, 4, 1], np.arange(20) % 3 == 0])
    def test_columns_are_chosen_as_in_numpy(self, which, form):
        adaptive, F = self.both(form)
        np.testing.assert_allclose(adaptive.columns(which), np.atleast_2d(F.T[which]).T, atol=1e-12)

    def test_radius_and_rank_are_those_of_the_dense_matrix(self, form, monkeypatch):
        adaptive, F = self.both(form)
        assert adaptive.shape == F.shape
        assert len(adaptive) == 20
        assert adaptive.radius == pytest.approx(np.linalg.norm(F - 1), rel=1e-12)
        values = np.linalg.eigvalsh(F)
        assert adaptive.rank == (values > 1e-12 * values[-1]).sum()
        monkeypatch.setattr(source, "BLOCK_ENTRIES", 30)  # by few rows at a time
        again, _ = self.both(form)
        assert again.radius == pytest.approx(adaptive.radius, rel=1e-12)

    @pytest.mark.parametrize("n_support", [1, 2, 19, 20])
    def test_any_number_of_support_points_will_do(self, form, n_support):
        beta = np.where(np.arange(20) < n_support, self.beta + 0.1, 0.0)
        F = dense(self.K, beta, 0.7, **form)
        kernel = HadamardKernel(Gaussian(2.0), self.points, beta, 0.7, **form)
        np.testing.assert_allclose(kernel.adaptation().toarray(), F, rtol=0, atol=1e-12)
        np.testing.assert_allclose(kernel(self.points), F * self.K, rtol=0, atol=1e-12)


def test_the_rows_of_a_centred_f_sum_to_n():
    points, beta, _ = problem()
    F = HadamardKernel(Gaussian(2.0), points, beta, 0.1, centred=True).adaptation().toarray()
    np.testing.assert_allclose(F.sum(axis=1), 20.0, rtol=1e-12)
    assert np.linalg.eigvalsh(F)[0] > -1e-10


def test_the_rank_falls_with_tau():
    points, beta, _ = problem()
    ranks = [
        HadamardKernel(Gaussian(2.0), points, beta, 0.1, tau=tau).adaptation().rank
        for tau in (1e-9, 1e-3, 0.1, 1.0, 10.0, 39.9)
    ]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > ranks[2] > ranks[-1]


def test_a_vanishing_tau_is_the_quartic_form():
    points, beta, new = problem()
    plain = HadamardKernel(Gaussian(2.0), points, beta, 0.7)
    kernel = HadamardKernel(Gaussian(2.0), points, beta, 0.7, tau=1e-13)
    joint = np.concatenate([points, new])
    np.testing.assert_allclose(kernel(points), plain(points), rtol=0, atol=1e-10)
    # new points: what lies outside the span of the training points is lost, so no more than PSD
    assert np.linalg.eigvalsh(plain(joint) - kernel(joint))[0] > -1e-10


@adapted_rules
@pytest.mark.parametrize(
    "changes", [{"tau": 2.0}, {"tau": 0.0}, {"tau": 0.0, "centred": True}, {"eta": 9.0}]
)
def test_what_is_set_after_a_call_counts(rule, changes):
    points, beta, new = problem()
    kernel = HadamardKernel(Gaussian(), points, beta, 0.5, rule, tau=0.3)
    before = kernel(new)
    kernel.adaptation().toarray()
    fresh = clone(kernel).set_params(**changes)
    np.testing.assert_array_equal(kernel.set_params(**changes)(new), fresh(new))
    assert np.abs(fresh(new) - before).max() > 1e-6
    np.testing.assert_array_equal(kernel.adaptation().toarray(), fresh.adaptation().toarray())


@every_form
def test_parameters_and_pickles_are_whole(form):
    points, beta, new = problem()
    kernel = HadamardKernel(Gaussian(), points, beta, 0.5, **form)
    kernel.prepare()
    size, value = len(pickle.dumps(kernel)), kernel(new)
    assert {key: kernel.get_params()[key] for key in form} == form
    assert len(pickle.dumps(kernel)) == size
    for copy in (pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert copy(new).tobytes() == value.tobytes()


@every_form
def test_it_serves_a_machine_of_scikit_learn(form):
    points, beta, new = problem(n=40)
    kernel = HadamardKernel(Gaussian(), points, beta, 5.0, **form)
    y = np.where(points[:, 0] > 0.5, 1, -1)
    by_function = SVC(kernel=kernel, tol=1e-8).fit(points, y)
    by_matrix = SVC(kernel="precomputed", tol=1e-8).fit(kernel(points), y)
    np.testing.assert_allclose(
        by_function.decision_function(new),
        by_matrix.decision_function(kernel(new, points)),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("tau", "said"),
    [
        (-0.5, r"expected tau >= 0, a finite number, got -0\.5"),
        (np.nan, "expected tau >= 0, a finite number, got nan"),
        (np.inf, "expected tau >= 0, a finite number, got inf"),
        ("big", "expected tau >= 0, a finite number, got 'big'"),
        (True, "expected tau >= 0, a finite number, got True"),
        (None, "expected tau >= 0, a finite number, got None"),
    ],
)
@adapted_rules
def test_a_bad_tau_is_refused(rule, tau, said):
    points, beta, new = problem()
    kernel = HadamardKernel(Gaussian(), points, beta, 1.0, rule, tau=tau)
    for call in (kernel, kernel.diag, lambda _: kernel.adaptation().toarray()):
        with pytest.raises(ValueError, match=said):
            call(new)


def spectrum_of(K, beta, c, tau, **options):
    support = np.flatnonzero(beta)
    return Spectrum.of(
        lambda rows, columns: K[np.ix_(rows, columns)],
        np.arange(len(K))[support],
        beta[support],
        c,
        tau,
        len(K),
        **options,
    )


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 15),
    share=st.sampled_from([0.1, 0.5, 1.0]),
    c=st.sampled_from([1e-6, 0.01, 1.0, 1e4]),
    tau=st.sampled_from([1e-12, 1e-3, 0.1, 1.0, 3.9]),
)
@settings(max_examples=80, deadline=None)
def test_the_spectrum_is_that_of_the_whole_matrix(seed, n, share, c, tau):
    r = np.random.default_rng(seed)
    K = Gaussian(1.0)(r.uniform(size=(n, 2)))
    beta = np.where(r.uniform(size=n) < share, r.standard_normal(n), 0.0)
    beta[0] = 1.0
    found = spectrum_of(K, beta, c, tau)
    S = 1 + c * np.outer(beta, beta) * K
    values = np.linalg.eigvalsh(S)
    clear = values[np.abs(values - tau / 2) > 1e-12 * values[-1]]
    expected = clear[clear > tau / 2][::-1]
    assert len(found.values) >= len(expected)
    np.testing.assert_allclose(
        found.values[: len(expected)], expected, rtol=0, atol=1e-13 * values[-1]
    )
    U = np.tile(found.others, (n, 1))
    U[beta != 0] = found.support
    np.testing.assert_allclose(found.sums, U.sum(axis=0), atol=1e-12 * n)
    residual = S @ U - U * found.values
    assert np.abs(residual).max() <= 1e-12 * values[-1]
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-10)


def test_an_eigenvalue_that_lanczos_lost_is_found_again(monkeypatch):
    points, beta, _ = problem(n=400, seed=3)
    K, honest, calls = Gaussian(2.0)(points), source.eigenpairs_above, []

    def forgetful(matrix, level, guess=8):
        found = honest(matrix, level, guess)
        calls.append(guess)
        if guess >= 100:
            return found
        kept = np.delete(np.arange(len(found.values)), 1)
        return found._replace(
            values=found.values[kept], vectors=found.vectors[:, kept], complete=False
        )

    whole = spectrum_of(K, beta, 0.05, 0.5)
    monkeypatch.setattr(source, "eigenpairs_above", forgetful)
    certain = spectrum_of(K, beta, 0.05, 0.5)
    np.testing.assert_allclose(certain.values, whole.values, rtol=1e-12)
    assert len(calls) == 2
    hasty = spectrum_of(K, beta, 0.05, 0.5, certain=False)
    assert len(hasty.values) == len(whole.values) - 1
    assert len(calls) == 3


def test_a_large_kernel_takes_lanczos_and_agrees_with_the_definition():
    points, beta, new = problem(n=540, seed=4, m=2)
    base = Gaussian(3.0)
    K = base(points)
    assert np.count_nonzero(beta) > 300
    kernel = HadamardKernel(base, points, beta, 20.0, tau=0.4)
    F = dense(K, beta, 20.0, tau=0.4)
    assert kernel.adaptation().rank == (np.linalg.eigvalsh(F) > 1e-9).sum() > 5
    np.testing.assert_allclose(kernel.adaptation().toarray(), F, rtol=0, atol=1e-11)
    b, cross = smooth_values(new, points, beta), base(new, points)
    expected = naive_hadamard.smooth_dank(K, cross, cross, b, b, beta, 20.0, 0.4)
    np.testing.assert_allclose(kernel(new), expected * base(new), rtol=0, atol=1e-11)


def test_coefficients_without_a_finite_spectrum_are_refused():
    beta = np.array([1e200, -1e200, 0.0])
    with pytest.raises(ValueError, match=r"over 4 eta are finite, got up to 1e\+200; lower C"):
        spectrum_of(np.eye(3), beta, 1.0, 0.5)
