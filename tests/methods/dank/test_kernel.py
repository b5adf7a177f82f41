"""The learned kernel: closed forms of F against definitions, PSD, batch independence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pliant.kernels import Gaussian, Laplacian, Linear, Precomputed
from pliant.methods import HadamardKernel
from pliant.methods.dank import kernel as kernel_module
from pliant.methods.dank import problem as source
from pliant.methods.dank.kernel import EXTENSIONS
from pliant.methods.dank.problem import Spectrum
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
every_rule = pytest.mark.parametrize("rule", EXTENSIONS)


def problem(seed=0, n=20, d=3, m=7):
    rng = np.random.default_rng(seed)
    beta = 3 * rng.standard_normal(n)
    beta[rng.uniform(size=n) < 0.4] = 0.0
    return rng.uniform(size=(n, d)), beta, rng.uniform(size=(m, d))


def dense(K, beta, eta, tau=0.0, centred=False):
    """Return F from its definition."""
    p = np.zeros(len(K))
    rule = "knpl" if centred else "dank"
    return naive_hadamard.NaiveHadamard(K, p, p, p, 1.0, eta, tau, rule=rule).adaptation(beta)


def smooth_values(new, points, beta, k=5):
    return np.array([naive_kernels.smooth(x, points, beta, k) for x in new])


def expected_change(rule, base, points, beta, eta, new, form, k=5):
    """Return F between the rows of `new` from the formulas of the papers and the smooth rule."""
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
def test_the_kernel_at_training_points_is_f_times_the_gram_matrix(rule, form, seed):
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
def test_the_kernel_is_psd_and_independent_of_the_batch(rule, form, points, new, beta, eta, linear):
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
class TestAdaptiveMatrix:
    points, beta, _ = problem()
    K = Gaussian(2.0)(points)

    def both(self, form):
        kernel = HadamardKernel(Gaussian(2.0), self.points, self.beta, 0.7, **form)
        return kernel.adaptation(), dense(self.K, self.beta, 0.7, **form)

    @pytest.mark.parametrize("which", [3, -1, slice(2, 9, 3), [4, 4, 1], np.arange(20) % 3 == 0])
    def test_columns_are_indexed_as_in_numpy(self, which, form):
        adaptive, F = self.both(form)
        np.testing.assert_allclose(adaptive.columns(which), np.atleast_2d(F.T[which]).T, atol=1e-12)

    def test_radius_and_rank_agree_with_the_dense_matrix(self, form, monkeypatch):
        adaptive, F = self.both(form)
        assert adaptive.shape == F.shape
        assert len(adaptive) == 20
        assert adaptive.radius == pytest.approx(np.linalg.norm(F - 1), rel=1e-12)
        values = np.linalg.eigvalsh(F)
        assert adaptive.rank == (values > 1e-12 * values[-1]).sum()
        monkeypatch.setattr(kernel_module, "BLOCK_ENTRIES", 30)  # several blocks of rows
        again, _ = self.both(form)
        assert again.radius == pytest.approx(adaptive.radius, rel=1e-12)


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
def test_the_spectrum_agrees_with_the_full_matrix(seed, n, share, c, tau):
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


def test_an_eigenvalue_missed_by_lanczos_is_recovered(monkeypatch):
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
    verified = spectrum_of(K, beta, 0.05, 0.5)
    np.testing.assert_allclose(verified.values, whole.values, rtol=1e-12)
    assert len(calls) == 2
    hasty = spectrum_of(K, beta, 0.05, 0.5, verify=False)
    assert len(hasty.values) == len(whole.values) - 1
    assert len(calls) == 3


@every_rule
@given(
    points=arrays(float, (6, 2), elements=st.integers(0, 3).map(float)),
    new=arrays(float, (4, 2), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5])),
    beta=arrays(float, 6, elements=st.floats(-8, 8).map(lambda b: round(b, 2))),
    eta=st.sampled_from([0.01, 1.0, 100.0, np.inf]),
)
@settings(max_examples=40, deadline=None)
def test_ties_duplicates_and_constants_agree_with_loops(rule, points, new, beta, eta):
    kernel = HadamardKernel(Gaussian(0.3), points, beta, eta, rule, 3)
    joint = np.concatenate([points, new])
    gram = kernel(joint)
    twin = naive_kernels.hadamard(naive_kernels.gaussian(0.3), points, beta, eta, rule, 3)
    expected = naive_kernels.gram_by_loops(twin, joint, joint)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-12 * scale)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * np.trace(gram)
    alone = np.concatenate([kernel(new[[i]], joint) for i in range(len(new))])
    np.testing.assert_allclose(alone, gram[len(points) :], rtol=0, atol=1e-12 * scale)


class TestPrecomputed:
    """A base kernel given as a matrix has the same values without coordinates."""

    points, beta, new = problem()
    base = Gaussian(0.7)
    numbers = np.arange(20.0)[:, None]
    rows = base(new, points)

    @pytest.mark.parametrize("rule", ["none", "nearest", "reciprocal"])
    def test_values_agree_with_the_kernel_of_the_coordinates(self, rule):
        by_points = HadamardKernel(self.base, self.points, self.beta, 0.5, rule)
        base = Precomputed(self.base(self.points))
        by_rows = HadamardKernel(base, self.numbers, self.beta, 0.5, rule)
        np.testing.assert_allclose(
            by_rows(self.rows, self.numbers), by_points(self.new, self.points), rtol=1e-12
        )
        np.testing.assert_allclose(by_rows(self.numbers), by_points(self.points), rtol=1e-12)

    def test_unequal_diagonals_require_extension_none(self):
        gram = Linear()(self.points)
        made = {
            rule: HadamardKernel(Precomputed(gram), self.numbers, self.beta, 0.5, rule)
            for rule in EXTENSIONS
        }
        np.testing.assert_array_equal(made["none"](self.numbers), gram)
        for rule in ADAPTED:
            with pytest.raises(ValueError, match="use extension='none', or normalise the Gram"):
                made[rule](self.numbers)
