"""The posterior of Bayesian multiple kernel learning: its updates, its bound, its twin."""

from dataclasses import replace

import numpy as np
import pytest

from pliant.kernels import Gaussian, Linear, Polynomial
from pliant.methods.mkl.bemkl import Model, Priors
from pliant.methods.mkl.bemkl_ascent import ascend
from pliant.methods.mkl.bemkl_factors import Gamma, Truncated
from pliant.methods.mkl.grams import Grams
from tests.reference.naive_bemkl import NaiveBEMKL

SPARSE, VAGUE = Gamma(1e-10, 1e-10), Gamma(1e-10, 1e10)
"""With shape and rate; the scales are 1e10 and 1e-10."""


def problem(seed, n=12, kernels=3, outputs=1, signs=True, prior=None, **options):
    """A model of random points, with a prior for each precision drawn unless it is given."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    family = [Gaussian(1.0), Gaussian(0.1), Linear(), Polynomial(2), Gaussian(10.0)]
    grams = Grams.of_arrays(
        [family[m % 5](X) / family[m % 5].diag(X).mean() for m in range(kernels)]
    )
    target = np.array([np.sin(2 * X[:, 0] + k) + 0.3 * rng.normal(size=n) for k in range(outputs)])
    if signs:
        target = np.where(target > 0, 1.0, -1.0)
    count = 3 if signs else 5
    given = [prior or Gamma(*rng.uniform(0.5, 2.0, size=2)) for _ in range(count)]
    return Model(grams, target, Priors(*given), **options)


CASES = {
    "two classes": {"signs": True},
    "three outputs": {"signs": True, "outputs": 3, "margin": 0.5, "sigma_g": 0.3},
    "regression": {"signs": False},
    "two targets": {"signs": False, "outputs": 2},
    "one kernel": {"signs": True, "kernels": 1},
}


def each_case(function):
    return pytest.mark.parametrize("case", CASES.values(), ids=CASES)(function)


@each_case
def test_the_updates_are_those_of_the_slow_twin(case):
    model = problem(1, n=7, **case, joint_steps=0)
    priors = [prior for prior in model.priors if prior is not None]
    naive = NaiveBEMKL(
        [model.grams[m] for m in range(len(model.grams))],
        model.target,
        priors,
        sigma_g=model.latent_precision**-0.5,
        margin=model.margin,
    )
    q = model.start()
    for _ in range(4):
        model.sweep(q)
        naive.sweep()
    pairs = {
        "a": (q.coef, naive.a),
        "cov a": (q.coef_cov, naive.a_cov),
        "G": (q.latent, naive.G),
        "cov G": (q.latent_cov, naive.G_cov),
        "b, e": (q.line, [*naive.b, *naive.e]),
        "cov b, e": (q.line_cov, naive.be_cov),
        "lambda": (q.coef_precision.mean, [[s / r for s, r in row] for row in naive.lam]),
        "gamma": (q.bias_precision.mean, [s / r for s, r in naive.gam]),
        "omega": (q.weight_precision.mean, [s / r for s, r in naive.om]),
        "upsilon": (q.latent_noise.mean, naive.ups[0] / naive.ups[1]),
        "epsilon": (q.noise.mean, naive.eps[0] / naive.eps[1]),
        "f": (model.outputs(q)[0], naive.f()[0]),
    }
    for name, (fast, slow) in pairs.items():
        np.testing.assert_allclose(fast, slow, rtol=1e-8, atol=1e-10, err_msg=name)
    assert model.bound(q) == pytest.approx(naive.bound(), rel=1e-8)


@pytest.mark.parametrize("seed", range(24))
def test_the_bound_never_falls(seed):
    rng = np.random.default_rng(seed)
    prior = [None, None, SPARSE, VAGUE, Gamma(1.0, 1e-3)][seed % 5]
    model = problem(
        seed,
        n=int(rng.integers(2, 30)),
        kernels=int(rng.integers(1, 8)),
        outputs=int(rng.integers(1, 4)),
        signs=seed % 2 == 0,
        prior=prior,
        margin=float(rng.choice([0.0, 1.0, 3.0])),
        sigma_g=float(rng.choice([0.01, 0.1, 1.0])),
        joint_steps=int(rng.integers(0, 4)),
    )
    bounds = np.array(ascend(model, 60, 0.0).bounds)
    assert np.all(np.diff(bounds) >= -1e-10 * (1 + np.abs(bounds[1:])))
    assert len(bounds) < 60 or bounds[-1] > bounds[0]


def spread(covariance, rng):
    """A covariance a little away from another."""
    n = covariance.shape[-1]
    factor = np.eye(n) + 0.01 * rng.normal(size=covariance.shape)
    return factor @ covariance @ np.swapaxes(factor, -1, -2)


def coef_moved(model, q, rng):
    coef = q.coef + 0.01 * rng.normal(size=q.coef.shape)
    cov = spread(q.coef_cov, rng)
    return {
        "means": replace(q, coef=coef, images=model._images(coef)),
        "covariances": replace(q, coef_cov=cov, coef_log_det=np.linalg.slogdet(cov)[1]),
    }


def latent_moved(model, q, rng):
    return {
        "means": replace(q, latent=q.latent + 0.01 * rng.normal(size=q.latent.shape)),
        "covariance": replace(q, latent_cov=spread(q.latent_cov, rng)),
    }


def line_moved(model, q, rng):
    return {
        "means": replace(q, line=q.line + 0.01 * rng.normal(size=q.line.shape)),
        "covariance": replace(q, line_cov=spread(q.line_cov, rng)),
    }


def outputs_moved(model, q, rng):
    moved = q.centre + 0.01 * rng.normal(size=q.centre.shape)
    return {"centres": replace(q, centre=moved)} if model.signs else {}


def precisions_moved(model, q, rng):
    names = ["coef_precision", "bias_precision", "weight_precision"]
    names += [] if model.signs else ["latent_noise", "noise"]
    moved = {}
    for name in names:
        factor = getattr(q, name)
        rate = factor.rate * np.exp(0.05 * rng.normal(size=np.shape(factor.rate)))
        moved[name + " rate"] = replace(q, **{name: Gamma(factor.shape, rate)})
        shape = factor.shape * np.exp(0.05 * rng.normal())
        moved[name + " shape"] = replace(q, **{name: Gamma(shape, factor.rate)})
    return moved


FACTORS = {
    "update_coef": coef_moved,
    "update_latent": latent_moved,
    "update_line": line_moved,
    "update_outputs": outputs_moved,
    "update_precisions": precisions_moved,
}


@each_case
@pytest.mark.parametrize("update", FACTORS)
def test_each_update_maximises_the_bound(case, update):
    rng = np.random.default_rng(0)
    model = problem(2, **case)
    q = model.start()
    for _ in range(3):
        model.sweep(q)
    getattr(model, update)(q)
    best = model.bound(q)
    for _ in range(5):
        for name, other in FACTORS[update](model, q, rng).items():
            assert model.bound(other) < best, name


@each_case
def test_enough_joint_steps_maximise_over_both_means(case):
    rng = np.random.default_rng(0)
    model = problem(3, **case, joint_steps=60)
    q = model.start()
    for _ in range(3):
        model.sweep(q)
    model.update_latent(q)
    before = model.bound(q)
    model.update_means(q)
    best = model.bound(q)
    assert best >= before - 1e-10 * abs(before)
    for size in (1e-3, 1e-2, 1e-1):
        coef = q.coef + size * rng.normal(size=q.coef.shape)
        images = model._images(coef)
        follower = replace(q, coef=coef, images=images)
        model.update_latent(follower)  # the best latent means for these coefficients
        assert model.bound(follower) < best


@each_case
def test_no_joint_step_lowers_the_bound(case):
    model = problem(4, **case, joint_steps=1)
    q = model.start()
    for _ in range(10):
        model.update_coef(q)
        model.update_latent(q)
        before = model.bound(q)
        model.update_means(q)
        assert model.bound(q) >= before - 1e-11 * abs(before)
        model.sweep(q)


@pytest.mark.parametrize("seed", range(4))
def test_the_scale_is_the_best_one(seed):
    model = problem(seed, signs=False, outputs=1 + seed % 2)
    q = model.start()
    for _ in range(2):
        model.sweep(q)
    far = replace(q, coef=3.0 * q.coef, images=3.0 * q.images, latent=3.0 * q.latent)
    model.update_precisions(far)
    before = model.bound(far)
    model.update_scale(far, model.priors.latent_noise)
    best = model.bound(far)
    assert best > before + 1e-3
    once_more = replace(far)
    model.update_scale(once_more, model.priors.latent_noise)
    assert model.bound(once_more) == pytest.approx(best, abs=1e-6 * abs(best))
    assert once_more.coef == pytest.approx(far.coef, rel=1e-3)


@each_case
def test_the_end_is_a_stationary_point_of_the_single_updates(case):
    fit = ascend(problem(5, **case), 5000, 1e-14)
    assert fit.converged
    plain = problem(5, **case, joint_steps=0)
    q = replace(fit.posterior)
    plain.sweep(q)
    assert 0 <= plain.bound(q) - fit.bounds[-1] + 1e-10 < 1e-8
    assert q.fitted == pytest.approx(fit.posterior.fitted, abs=1e-4)
    assert np.abs(q.weights) == pytest.approx(np.abs(fit.posterior.weights), abs=1e-3)


def test_it_stops_when_a_callback_asks_to():
    model = problem(6)
    fit = ascend(model, 50, 0.0, lambda bound: True)
    assert fit.stopped
    assert len(fit.bounds) == 1
    assert not fit.converged


def test_far_tails_of_truncated_normals_are_finite_and_right():
    centre = np.array([[-60.0, -8.0, 0.0, 8.0, 60.0]])
    f = Truncated.of(centre, np.ones_like(centre), 1.0)
    assert np.isfinite(f.mean).all()
    assert np.isfinite(f.log_mass).all()
    assert (f.mean > 1.0).all()
    assert (f.variance >= 0).all()
    short = 61.0  # Mills' ratio: the excess over the margin is about 1/short
    assert f.mean[0, 0] - 1.0 == pytest.approx(1 / short, rel=1e-3)
    assert f.mean[0, 4] == pytest.approx(60.0)
    assert f.variance[0, 4] == pytest.approx(1.0)


@pytest.mark.parametrize("signs", [True, False])
def test_numbers_out_of_range_end_in_one_error(signs):
    model = problem(7, signs=signs, margin=1e200)
    model.target = model.target * (1.0 if signs else 1e200)
    with pytest.raises(ValueError, match=r"expected a finite lower bound, got (nan|-inf) after 1"):
        ascend(model, 5, 1e-5)
