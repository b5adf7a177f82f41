"""SCGLogDetLearner: the learned kernel, strength="auto", and invalid input."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from pliant import SCGLogDetLearner, SideInformation
from pliant.exceptions import NonPSDWarning
from pliant.kernels import TL1, Gaussian, Linear
from pliant.methods.supervised.scg_choice import DEFAULT_STRENGTH, STRENGTHS

SETTINGS = {
    "default": {},
    "the paper's graph": {"graph": "complete"},
    "the paper's strength": {"scale_strength": False, "graph": "complete"},
    "beta": {"beta": 4.0},
    "linear": {"kernel": "linear", "gamma": "scale"},
    "polynomial": {"kernel": "polynomial"},
    "neighbour graph": {"kernel": "graph"},
    "sum": {"kernel": Gaussian(0.5) + 0.1 * Linear()},
    "function": {"kernel": lambda A, B: (A @ B.T + 1.0) ** 2},
    "precomputed": {"kernel": "precomputed"},
    "precomputed, complete": {"kernel": "precomputed", "graph": "complete"},
}

every_setting = pytest.mark.parametrize("setting", SETTINGS)

INFORMATION = ("labels", "partial labels", "pairs")

every_information = pytest.mark.parametrize("how", INFORMATION)

labels_and_pairs = pytest.mark.parametrize("how", ["partial labels", "pairs"])

seeds = st.integers(0, 2**32 - 1)


def data(n=40, d=3, seed=0):
    """Return points, two of which are equal, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[7] = X[3]
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int) + (X[:, 1] > 0.7)
    y[:3] = [0, 1, 2]
    return X, y


def known_of(y, how, seed=0):
    """Return the side information as arguments of `fit`."""
    if how == "labels":
        return {"y": y}
    if how == "partial labels":
        hidden = np.random.default_rng(seed).random(len(y)) < 0.5
        hidden[:3] = False
        return {"y": np.where(hidden, -1, y)}
    rng = np.random.RandomState(seed)
    pairs, signs = SideInformation.from_labels(y).sample_pairs(len(y), rng)
    return {"similar": pairs[signs > 0], "dissimilar": pairs[signs < 0]}


def information_of(known, n=40):
    if "y" in known:
        return SideInformation.from_labels(known["y"])
    return SideInformation.from_pairs(n, **known)


def learner_of(setting, strength=100.0, **parameters):
    return SCGLogDetLearner(strength=strength, random_state=0).set_params(
        **SETTINGS[setting], **parameters
    )


def given_points(learner, X):
    """Return the points, or their kernel matrix for a precomputed kernel."""
    return Gaussian(0.3)(X) if learner.kernel == "precomputed" else X


def assert_close(actual, expected, tol=1e-10):
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * scale)


@every_setting
@every_information
@pytest.mark.parametrize("strength", [1.0, 1e4])
def test_kernel_at_the_fit_points(setting, how, strength):
    X, y = data()
    learner, known = learner_of(setting, strength), known_of(y, how)
    points = given_points(learner, X)
    gram = learner.fit_gram(points, **known)
    assert gram.shape == (40, 40)
    base = learner.kernel_.base
    size = np.abs(base(learner.support_vectors_)).max()
    assert_close(learner.kernel_(learner.support_vectors_) / size, gram / size)
    assert_close(learner.kernel_(points, learner.support_vectors_) / size, gram / size)
    assert_close(learner.kernel_.diag(learner.support_vectors_) / size, gram.diagonal() / size)
    assert np.linalg.eigvalsh(gram / size)[0] >= -1e-10


def test_scaled_strength():
    X, y = data()
    y[::3] = -1
    a = int((y >= 0).sum())
    for graph, size in (("labeled", a), ("complete", 40)):
        scaled = SCGLogDetLearner(strength=100.0, graph=graph).fit(X, y)
        raw = SCGLogDetLearner(strength=100.0 / size, scale_strength=False, graph=graph).fit(X, y)
        np.testing.assert_array_equal(raw.transform(X), scaled.transform(X))
        assert (scaled.strength_, raw.strength_) == (100.0, 100.0 / size)


@labels_and_pairs
@pytest.mark.parametrize("parameters", [{}, {"graph": "complete"}])
def test_auto_strength_is_reproducible(how, parameters):
    X, y = data(60)
    known = known_of(y, how)
    one, two = (SCGLogDetLearner(random_state=5, **parameters).fit(X, **known) for _ in range(2))
    assert one.strength_ == two.strength_
    assert one.strength_ in STRENGTHS
    assert one.transform(X).tobytes() == two.transform(X).tobytes()
    fixed = SCGLogDetLearner(strength=one.strength_, **parameters).fit(X, **known)
    assert fixed.transform(X).tobytes() == one.transform(X).tobytes()


@pytest.mark.parametrize(
    "known",
    [
        {"y": [0, 1] + 38 * [-1]},  # two labels cannot be held out
        {"similar": [(0, 1), (2, 3), (4, 5)]},  # no dissimilar pairs
        {"dissimilar": [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]},
        {"similar": [(0, 1)]},
        {"similar": [(0, 1)], "dissimilar": [(1, 2)]},
    ],
)
@pytest.mark.parametrize("parameters", [{}, {"graph": "complete"}])
def test_default_strength_without_folds(known, parameters):
    X, _ = data()
    learner = SCGLogDetLearner(random_state=0, **parameters).fit(X, **known)
    assert learner.strength_ == DEFAULT_STRENGTH
    assert np.isfinite(learner.transform(X)).all()


@given(seed=seeds, how=st.sampled_from(INFORMATION), graph=st.sampled_from(["labeled", "complete"]))
@settings(max_examples=30, deadline=None)
def test_learned_matrix_is_bounded_by_the_base(seed, how, graph):
    """S is PSD, so 0 <= K = (K0^-1 + gamma S)^-1 <= K0."""
    rng = np.random.default_rng(seed)
    X, y = data(12, seed=seed)
    learner = SCGLogDetLearner(
        rng.choice(["gaussian", "linear"]),
        strength=10.0 ** rng.uniform(-3, 4),
        graph=graph,
        beta=rng.uniform(0.1, 5),
    )
    gram = learner.fit_gram(X, **known_of(y, how, seed % 1000))
    K0 = learner.kernel_.base(X)
    tol = 1e-10 * np.trace(K0)
    assert np.linalg.eigvalsh(gram)[0] >= -tol
    assert np.linalg.eigvalsh(K0 - gram)[0] >= -tol
    assert learner.objective_ >= -1e-10


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "gaussian"])
@pytest.mark.parametrize("units", [1.0, 100.0])
@pytest.mark.parametrize("strength", [1e2, 1e6])
def test_new_points_for_kernels_of_any_scale(kernel, units, strength):
    """Digits have features from 0 to 16, so that k0(x, x) is about 4000."""
    X = units * load_digits().data[:300]
    y = load_digits().target[:300]
    learner = SCGLogDetLearner(kernel, strength=strength)
    K = learner.fit_gram(X, y)
    assert_relative(learner.transform(X), K, 1e-2)


def assert_relative(actual, expected, tol):
    assert np.linalg.norm(actual - expected) <= tol * np.linalg.norm(expected)


X, Y = data()

INVALID = {
    "not PSD": ({"kernel": TL1(2.0)}, {"y": Y}, "positive semi-definite"),
    "gamma with a graph": ({"kernel": "graph", "gamma": 2.0}, {"y": Y}, "expected gamma='scale'"),
    "not square": ({"kernel": "precomputed"}, {"y": Y}, "square Gram matrix"),
    "no side information": ({}, {}, "pass y, or pairs"),
    "both kinds": ({}, {"y": Y, "similar": [(0, 1)]}, "got both"),
    "too few labels": ({}, {"y": Y[:20]}, "y of shape (40,), since X has 40 rows, got (20,)"),
    "signs": ({}, {"y": np.where(Y > 0, 1, -1)}, "expected `unlabeled` to be given"),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_settings_and_side_information_raise(case):
    parameters, known, message = INVALID[case]
    learner = SCGLogDetLearner(strength=1.0).fit(X, Y).set_params(**parameters)
    with pytest.raises(ValueError, match=re.escape(message)):
        learner.fit(X, **known)


@every_information
@pytest.mark.parametrize("graph", ["labeled", "complete"])
def test_indefinite_matrix_warns(how, graph):
    K = Gaussian(0.3)(X)
    K -= 0.3 * np.eye(40)
    learner = SCGLogDetLearner("precomputed", strength=1e4, graph=graph)
    with pytest.warns(NonPSDWarning, match="eigenvalue -0.[23]") as caught:
        gram = learner.fit_gram(K, **known_of(Y, how))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isfinite(gram).all()
    assert np.isfinite(learner.transform(K)).all()


@pytest.mark.filterwarnings("ignore::pliant.exceptions.NonPSDWarning")
@pytest.mark.parametrize("shift", [1e-3, 0.1])
@pytest.mark.parametrize("strength", [1.0, 1e4, 1e6])
def test_kernel_of_an_indefinite_matrix(shift, strength):
    """The kernel at new points extends the learned matrix of the fit points."""
    K = Gaussian(0.3)(X) - shift * np.eye(40)
    learner = SCGLogDetLearner("precomputed", strength=strength)
    gram = learner.fit_gram(K, Y)
    assert_relative(learner.transform(K), gram, 1e-6)
