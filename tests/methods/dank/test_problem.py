"""The adapted duals against their definition: values, gradients, models and certificates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.kernels import Gaussian
from pliant.methods.dank.problem import hadamard_dual
from pliant.methods.svm.dual import MarginDual, project_box_hyperplane, svc_dual, svr_dual
from pliant.methods.svm.rows import DenseRows
from tests.reference import naive_hadamard

N = 14
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
GRAM = Gaussian(1.5)(X)
SIGNS = np.where(X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(N) > 0, 1.0, -1.0)
TARGET = np.sin(3 * X[:, 0]) + X[:, 1]
PRICES = np.random.default_rng(2).uniform(0.5, 5, size=N)

PLAIN = {
    "svc": svc_dual(DenseRows(GRAM), SIGNS, 3.0),
    "svc, a price each": svc_dual(DenseRows(GRAM), SIGNS, PRICES),
    "svr": svr_dual(DenseRows(GRAM), TARGET, 3.0, 0.2),
    "svr, a price each, no tube": svr_dual(DenseRows(GRAM), TARGET, PRICES, 0.0),
}
RULES = {"tau": {"tau": 0.3}, "large tau": {"tau": 20.0}, "centred": {"centred": True}}
every_plain = pytest.mark.parametrize("plain", PLAIN.values(), ids=PLAIN)
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def points(plain, seed):
    """Return a feasible point: interior, at many bounds, sparse, or tiny."""
    r = np.random.default_rng(seed)
    wild = r.choice([0.01, 0.3, 3.0, 30.0]) * r.standard_normal(len(plain.linear))
    wild[r.uniform(size=len(wild)) < r.choice([0.0, 0.5])] = 0.0
    return project_box_hyperplane(wild, plain.lower, plain.upper)


def twin(plain, eta, tau=0.0, centred=False):
    rule = "knpl" if centred else "dank"
    arguments = plain.rows.gram, plain.linear, plain.lower, plain.upper, 1.0, eta, tau
    return naive_hadamard.NaiveHadamard(*arguments, plain.epsilon, rule)


def noise(eta, beta, n=N):
    """Bound the rounding error of a sum of terms of order eta n^2."""
    return 1e-13 * (eta * n**2 + 1 + np.abs(beta).sum() + (beta**2).sum() ** 2 / eta)


@every_plain
@every_rule
@pytest.mark.parametrize("eta", [1e-3, 0.5, 50.0])
@pytest.mark.parametrize("seed", range(4))
def test_value_and_f_agree_with_the_dense_definition(plain, rule, eta, seed):
    problem, naive, beta = hadamard_dual(plain, eta, **rule), twin(plain, eta, **rule), None
    beta = points(plain, seed)
    point = problem.at(beta)
    expected = naive.value(beta) - naive.value(np.zeros(N))
    assert point.value == pytest.approx(expected, rel=1e-11, abs=noise(eta, beta))
    assert problem.constant == pytest.approx(naive.value(np.zeros(N)), rel=1e-12, abs=1e-12)
    scale = 1 + np.abs(naive.fields(beta)).max()
    np.testing.assert_allclose(point.f, naive.fields(beta), rtol=0, atol=1e-11 * scale)
    np.testing.assert_array_equal(point.beta, beta)
    sure = problem.at(beta, point, verify=True)
    assert sure.value == pytest.approx(point.value, rel=1e-12)


@pytest.mark.parametrize("eta", [1e-10, 1e-3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("tau", [1e-12, 1e-3, 1.0, 2 * N - 1e-3])
def test_the_value_does_not_lose_digits_to_the_constant(eta, tau):
    """The value equals the integral of its gradient from zero, without noise of order eta n^2."""
    problem = hadamard_dual(PLAIN["svc"], eta, tau=tau)
    beta = points(PLAIN["svc"], 3)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    slopes = [(SIGNS - problem.at(0.5 * (1 + t) * beta).f) @ beta for t in nodes]
    integral = 0.5 * np.dot(weights, slopes)
    value = problem.at(beta).value
    assert value == pytest.approx(integral, rel=1e-4 if eta <= 1 else 1e-8)


@every_rule
@given(
    name=st.sampled_from(sorted(PLAIN)),
    eta=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e4]),
    seed=st.integers(0, 10**6),
    other=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_the_certificate_bounds_all_other_points(rule, name, eta, seed, other):
    plain = PLAIN[name]
    problem = hadamard_dual(plain, eta, **rule)
    here, there = (problem.at(points(plain, s)) for s in (seed, other))
    certificate = problem.certificate(here)
    slack = 1e-10 * (1 + abs(here.value) + abs(there.value))
    assert certificate.value == here.value
    assert certificate.gap >= 0
    assert there.value <= here.value + certificate.gap + slack
    residual = plain.linear - certificate.decision
    np.testing.assert_allclose(certificate.decision, here.f + certificate.intercept)
    loss = plain.upper * np.maximum(0, residual - plain.epsilon)
    loss -= plain.lower * np.maximum(0, -residual - plain.epsilon)
    gap = loss.sum() + here.beta @ here.f - plain.gain(here.beta)
    assert certificate.gap == pytest.approx(gap, rel=1e-9, abs=1e-9 * (1 + loss.sum()))


@every_plain
@every_rule
@pytest.mark.parametrize("share", [-0.99, -0.4, 0.0, 0.3, 1.0])
def test_a_model_has_the_gradient_of_h(plain, rule, share):
    problem = hadamard_dual(plain, 0.5, **rule)
    for seed in range(4):
        point = problem.at(points(plain, seed))
        model = problem.model(point, share)
        assert isinstance(model, MarginDual)
        flat = min(1.0, 1.0 + share)
        scale = 1 + np.abs(point.f).max()
        u, v = model.fields(point.beta)
        gradient = model.linear - u - model.quartic * point.beta * v
        np.testing.assert_allclose(
            flat * gradient, plain.linear - point.f, rtol=0, atol=1e-12 * scale
        )
        np.testing.assert_array_equal(model.lower, plain.lower)
        np.testing.assert_array_equal(model.upper, plain.upper)
        assert flat * model.epsilon == pytest.approx(plain.epsilon)
        assert model.quartic == pytest.approx(max(share, 0.0) * 0.5)


@given(
    name=st.sampled_from(sorted(PLAIN)),
    eta=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    tau=st.sampled_from([1e-9, 0.01, 0.3, 5.0, 27.0]),
    seed=st.integers(0, 10**6),
    other=st.integers(0, 10**6),
)
@settings(max_examples=150, deadline=None)
def test_the_conservative_model_of_the_threshold_rule_lies_below_h(name, eta, tau, seed, other):
    plain = PLAIN[name]
    problem = hadamard_dual(plain, eta, tau=tau)
    here, there = (problem.at(points(plain, s)) for s in (seed, other))
    model = problem.model(here, 1.0)
    gain = model.value(there.beta) - model.value(here.beta)
    slack = 1e-11 * (1 + abs(here.value) + abs(there.value))
    assert gain <= there.value - here.value + slack
