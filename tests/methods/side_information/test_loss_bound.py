"""SCG-LDK with a bound on tr(K S), Eq. 30: against a cone solver, and in closed form."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import KernelEmbedding, SCGLogDetLearner, SideInformation, scg_loss
from pliant.kernels import Gaussian, Precomputed
from pliant.methods.side_information.loss_bound import factor, loss_multiplier
from pliant.methods.side_information.scg_problem import SCGLogDet
from pliant.persistence import load_model, save_model
from tests.methods.side_information.test_scg import data, known_of
from tests.reference import naive_supervision as naive

LABELS = [0, 0, 1, 1, 2, -1]
SIMILAR, DISSIMILAR = [(0, 1), (2, 3)], [(0, 2), (4, 5)]
SOURCES = {
    "labels": (SideInformation.from_labels(LABELS), naive.target_of_labels(LABELS)),
    "pairs": (
        SideInformation.from_pairs(6, SIMILAR, DISSIMILAR),
        naive.target_of_pairs(6, SIMILAR, DISSIMILAR),
    ),
}
every_source = pytest.mark.parametrize("source", SOURCES)


def psd(seed, n=6):
    root = np.random.default_rng(seed).standard_normal((n, n))
    return root @ root.T / n + 0.3 * np.eye(n)


@every_source
@pytest.mark.parametrize("share", [0.9, 0.2])
def test_it_is_the_optimum_of_a_cone_solver(source, share):
    information, T = SOURCES[source]
    S, K0 = naive.laplacian(T), psd(0)
    tau = share * np.trace(K0 @ S)
    graph = information.graph("complete")
    multiplier = loss_multiplier(factor(K0), graph, tau)
    K = SCGLogDet(K0, graph, multiplier.gamma).solve().gram
    np.testing.assert_allclose(K, naive.by_cone(K0, S, bound=tau), rtol=0, atol=1e-4)
    assert np.trace(K @ S) == pytest.approx(tau, rel=1e-12)
    assert multiplier.loss == pytest.approx(tau, rel=1e-12)
    assert multiplier.divergence == pytest.approx(naive.divergence(K, K0), abs=1e-12)


@every_source
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), power=st.floats(-4, 4))
def test_theorem_2_the_multiplier_is_the_strength_of_the_penalty_form(source, seed, power):
    graph, K0, gamma = SOURCES[source][0].graph("complete"), psd(seed), 10.0**power
    tau = graph.trace_with(SCGLogDet(K0, graph, gamma).solve().gram)
    assert loss_multiplier(factor(K0), graph, tau).gamma == pytest.approx(gamma, rel=1e-7)


def test_one_pair_has_a_closed_form():
    """K0 = c I and one similar pair: S has the eigenvalues 0 and 2 e/(1 + e)."""
    c, tau = 3.0, 0.4
    graph = SideInformation.from_pairs(2, similar=[(0, 1)]).graph()
    eigenvalue = c * 2.0 * np.e / (1.0 + np.e)
    multiplier = loss_multiplier(np.sqrt(c) * np.eye(2), graph, tau)
    assert multiplier.gamma == pytest.approx(1.0 / tau - 1.0 / eigenvalue, rel=1e-12)


def test_a_bound_that_k0_satisfies_changes_nothing():
    information, T = SOURCES["labels"]
    K0, graph = psd(1), information.graph("complete")
    start = np.trace(K0 @ naive.laplacian(T))
    assert loss_multiplier(factor(K0), graph, 1.01 * start).gamma == 0.0
    assert loss_multiplier(factor(K0), graph, 0.99 * start).gamma > 0.0
    z = np.sqrt(naive.weights(T).sum(axis=1))
    null = loss_multiplier(z[:, None], graph, 1e-3)  # K0 = z z' has no loss
    assert null.gamma == 0.0


@pytest.mark.parametrize("how", ["partial labels", "pairs"])
@pytest.mark.parametrize(
    "options", [{}, {"graph": "complete"}, {"n_landmarks": 40, "random_state": 0}], ids=str
)
def test_the_learned_kernel_has_the_bound_as_its_loss(how, options):
    X, y = data()
    known = known_of(y, how)
    learner = SCGLogDetLearner(bound=0.1, **options)
    K = learner.fit_gram(X, **known)
    information = (
        SideInformation.from_labels(known["y"])
        if "y" in known
        else SideInformation.from_pairs(40, **known)
    )
    size = len(learner.members_)  # the trace of a Gaussian kernel's matrix
    loss = scg_loss(K, information, graph=learner.graph)
    assert loss == pytest.approx(0.1 * size, rel=1e-9)
    assert learner.loss_ == pytest.approx(loss, rel=1e-9)
    same = SCGLogDetLearner(strength=learner.strength_, **options)
    np.testing.assert_allclose(same.fit_gram(X, **known), K, rtol=0, atol=1e-10)
    raw = SCGLogDetLearner(bound=0.1 * size, scale_strength=False, **options)
    np.testing.assert_allclose(raw.fit_gram(X, **known), K, rtol=0, atol=1e-9)
    assert raw.strength_ == pytest.approx(learner.strength_ / size, rel=1e-9)


def test_the_objective_is_the_divergence():
    X, y = data(20)
    X[7] = 0.0  # the twin inverts K0
    learner = SCGLogDetLearner("laplacian", 0.8, bound=0.2)
    K = learner.fit_gram(X, y)
    expected = naive.divergence(K, learner.kernel_.base(X))
    assert learner.objective_ == pytest.approx(expected, abs=1e-9)


def test_a_loose_bound_leaves_the_kernel_as_it_is():
    X, y = data()
    learner = SCGLogDetLearner(bound=5.0).fit(X, y)
    assert (learner.strength_, learner.objective_) == (0.0, 0.0)
    assert learner.loss_ < 5.0 * 40
    np.testing.assert_array_equal(learner.kernel_(X), learner.kernel_.base(X))
    learner.set_params(bound=None, strength=1.0).fit(X, y)
    assert not hasattr(learner, "loss_")


def test_an_embedding_of_a_bounded_kernel(tmp_path):
    X, y = data()
    embedding = KernelEmbedding(SCGLogDetLearner(bound=0.1, beta=2.0)).fit(X, y)
    assert embedding.choice_scores_ == {}
    assert embedding.strength_ == embedding.learner_.strength_
    assert embedding.beta_ == 2.0
    save_model(embedding, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    np.testing.assert_array_equal(loaded.transform(X), embedding.transform(X))
    message = "expected strengths=None, as SCGLogDetLearner has bound=0.1, got [1.0]"
    with pytest.raises(ValueError, match=re.escape(message)):
        embedding.set_params(strengths=[1.0]).fit(X, y)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_units_of_the_kernel_do_not_matter(scale):
    X, y = data()
    base = Gaussian(0.5)(X)
    K, scaled = (
        SCGLogDetLearner(Precomputed(unit * base), bound=0.1).fit_gram(np.arange(40.0)[:, None], y)
        for unit in (1.0, scale)
    )
    np.testing.assert_allclose(scaled / scale, K, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bound": 0.0}, "expected bound > 0, a finite number, got 0.0"),
        ({"bound": np.inf}, "expected bound > 0, a finite number, got inf"),
        ({"bound": "auto"}, "expected bound > 0, a finite number, got 'auto'"),
        (
            {"bound": 0.1, "strength": 2.0},
            "expected strength='auto' with bound=0.1, which determines it, got 2.0",
        ),
        ({"bound": 1e-16}, "expected a bound on tr(K S) above"),
    ],
)
def test_bad_bounds_are_refused(parameters, message):
    X, y = data()
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        SCGLogDetLearner(**parameters).fit(X, y)
