"""One decomposition for all strengths: equal to separate fits, whatever is left out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import (
    KernelEmbedding,
    LogDetLearner,
    SCGLogDetLearner,
    SCGLogDetPath,
    SideInformation,
    scg_loss,
)
from pliant.kernels import Gaussian
from pliant.methods.side_information import scg_problem
from tests.methods.side_information.test_scg import assert_close, data, known_of

GRAPHS = ("labeled", "complete")
both_graphs = pytest.mark.parametrize("graph", GRAPHS)
seeds = st.integers(0, 2**32 - 1)


def information_of(known, n=40):
    if "y" in known:
        return SideInformation.from_labels(known["y"])
    return SideInformation.from_pairs(n, **known)


def fitted(K, known, strength, **parameters):
    learner = SCGLogDetLearner("precomputed", strength=strength, **parameters)
    return learner.fit_gram(K, **known)


LABELLINGS = {
    "all": lambda y: {"y": y},
    "most": lambda y: {"y": np.where(np.arange(40) % 5 == 2, -1, y)},
    "few": lambda y: {"y": np.where(np.arange(40) % 5 > 0, -1, y)},
    "two": lambda y: {"y": np.r_[0, 1, np.full(38, -1)]},
    "pairs": lambda y: known_of(y, "pairs"),
    "few pairs": lambda y: {"similar": [(0, 5), (5, 9)], "dissimilar": [(9, 11)]},
    "pairs of all": lambda y: {"similar": np.c_[np.arange(0, 40, 2), np.arange(1, 40, 2)]},
}


@both_graphs
@pytest.mark.parametrize("labelling", LABELLINGS)
@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_it_equals_separate_fits(graph, labelling, beta):
    X, y = data()
    K = Gaussian(0.3)(X)
    path, known = SCGLogDetPath(K), LABELLINGS[labelling](y)
    for strength in 10.0 ** np.arange(-3, 7):
        gram = path.gram(information_of(known), strength, beta=beta, graph=graph)
        expected = fitted(K, known, strength, beta=beta, graph=graph)
        assert_close(gram, expected, 1e-9)
        assert np.abs(gram - gram.T).max() <= 1e-9


@both_graphs
def test_it_has_no_memory_of_what_it_was_asked_before(graph):
    X, y = data()
    K = Gaussian(0.3)(X)
    path, rng = SCGLogDetPath(K), np.random.default_rng(0)
    for _ in range(40):
        known = LABELLINGS[rng.choice(list(LABELLINGS))](y)
        strength, beta = 10.0 ** rng.integers(-2, 5), float(rng.integers(1, 5))
        scaled = bool(rng.integers(2))
        setting = {"beta": beta, "graph": graph, "scale_strength": scaled}
        gram = path.gram(information_of(known), strength, **setting)
        fresh = SCGLogDetPath(K).gram(information_of(known), strength, **setting)
        assert_close(gram, fresh, 1e-11)
        gram[:] = np.nan  # what it hands out is not what it keeps


@both_graphs
@pytest.mark.parametrize("fold", range(5))
def test_folds_that_are_held_out(graph, fold):
    X, y = data()
    K = Gaussian(0.3)(X)
    path = SCGLogDetPath(K)
    out = np.arange(40) % 5 == fold
    train, test = np.flatnonzero(~out), np.flatnonzero(out)
    known = SideInformation.from_labels(y).hide(out)
    learner = SCGLogDetLearner("precomputed", strength=100.0, graph=graph)
    learner.fit(K, np.where(out, -1, y))
    whole = learner.transform(K)
    for rows, columns in ((train, train), (test, train), (test, test), (None, None), (out, ~out)):
        part = path.gram(known, 100.0, graph=graph, rows=rows, columns=columns)
        i = np.arange(40) if rows is None else rows
        j = np.arange(40) if columns is None else columns
        assert_close(part, whole[i][:, j], 1e-10)
    if graph == "labeled":  # a held-out point is a new point
        alone = SCGLogDetLearner(Gaussian(0.3), strength=100.0).fit(X[train], y[train])
        cross = path.gram(known, 100.0, rows=test, columns=train)
        assert_close(cross, alone.transform(X[test]), 1e-10)


@given(
    seed=seeds,
    graph=st.sampled_from(GRAPHS),
    strength=st.floats(1e-3, 1e5),
    beta=st.floats(0.1, 6.0),
    scaled=st.booleans(),
    share=st.floats(0.0, 0.95),
    pairs=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_it_equals_separate_fits_everywhere(seed, graph, strength, beta, scaled, share, pairs):
    rng = np.random.default_rng(seed)
    X, y = data(24, seed=seed)
    K = Gaussian(float(rng.choice([0.05, 0.5, 5.0])))(X)
    y = np.where(rng.random(24) < share, -1, y)
    y[:3] = [0, 1, 2]
    known = known_of(y, "pairs", seed % 1000) if pairs else {"y": y}
    gram = SCGLogDetPath(K).gram(
        information_of(known, 24), strength, beta=beta, graph=graph, scale_strength=scaled
    )
    expected = fitted(K, known, strength, beta=beta, graph=graph, scale_strength=scaled)
    assert_close(gram, expected, 1e-9)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("labelling", ["all", "most", "few", "pairs"])
def test_matrices_of_low_rank_and_with_equal_points(labelling, graph):
    X, y = data()
    known = LABELLINGS[labelling](y)
    twice = np.repeat(X[:20], 2, axis=0)
    for K in (X @ X.T, Gaussian(0.3)(twice), np.ones((40, 40)), np.zeros((40, 40)), np.eye(40)):
        path = SCGLogDetPath(K)
        for strength in (0.1, 100.0, 1e5):
            gram = path.gram(information_of(known), strength, graph=graph)
            assert_close(gram, fitted(K, known, strength, graph=graph), 1e-9)


@pytest.mark.parametrize(
    "fit",
    [
        lambda K, y: SCGLogDetLearner("precomputed", solver="cholesky").fit(K, y),
        lambda K, y: SCGLogDetLearner("precomputed", solver="features").fit(K, y),
        lambda K, y: LogDetLearner("precomputed").fit(K, y),
        lambda K, y: KernelEmbedding(SCGLogDetLearner("precomputed")).fit(K, y),
        lambda K, y: SCGLogDetPath(K).gram(SideInformation.from_labels(y), 1.0),
        lambda K, y: SCGLogDetPath(-K).gram(SideInformation.from_labels(y), 1.0),
    ],
)
def test_kernel_values_whose_sums_leave_the_range_of_floats_are_refused(fit):
    _, y = data()
    K = np.diag(np.where(np.arange(40) % 2, 1.7e308, 1e307))
    message = r"whose sums are numbers of double precision, got k0\(x, x\) up to 1\.7e\+308"
    with pytest.raises(ValueError, match=message):
        fit(K, y)


def test_the_matrix_is_decomposed_once(monkeypatch):
    calls = []
    original = scg_problem.Spectrum.of.__func__
    monkeypatch.setattr(
        scg_problem.Spectrum, "of", classmethod(lambda cls, K: calls.append(1) or original(cls, K))
    )
    X, y = data()
    path = SCGLogDetPath(Gaussian(0.3)(X))
    for strength in (1.0, 10.0, 100.0):
        for fold in range(5):
            known = SideInformation.from_labels(y).hide(np.arange(40) % 5 == fold)
            path.gram(known, strength)
    assert len(calls) == 1


def test_the_matrix_that_it_is_given_stays_as_it_is():
    X, y = data()
    K = Gaussian(0.3)(X)
    kept = K.copy()
    known = SideInformation.from_labels(y)
    path = SCGLogDetPath(K)
    path.gram(known, 10.0)
    path.gram(known.hide([0, 1]), 10.0)
    np.testing.assert_array_equal(K, kept)


def test_the_loss_falls_along_the_path():
    X, y = data()
    known = SideInformation.from_labels(y)
    path = SCGLogDetPath(Gaussian(0.3)(X).tolist())
    losses = [scg_loss(path.gram(known, strength), known) for strength in 10.0 ** np.arange(-2, 6)]
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strength": 0.0}, "strength > 0"),
        ({"strength": -1.0}, "strength > 0, a finite number, got -1.0"),
        ({"strength": np.nan}, "strength > 0"),
        ({"strength": "auto"}, "got 'auto'"),
        ({"beta": 0.0}, "beta > 0"),
        ({"beta": 200.0}, "beta <= 100"),
        ({"graph": "all"}, "graph in"),
        ({"scale_strength": "yes"}, "scale_strength.*'yes'"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = data()
    path = SCGLogDetPath(Gaussian(0.3)(X))
    with pytest.raises(ValueError, match=message):
        path.gram(SideInformation.from_labels(y), **{"strength": 1.0, **parameters})


def test_bad_matrices_and_information():
    X, y = data()
    K = Gaussian(0.3)(X)
    with pytest.raises(ValueError, match="square"):
        SCGLogDetPath(K[:30])
    skew = K.copy()
    skew[0, 1] += 1e-3
    with pytest.raises(ValueError, match="symmetric"):
        SCGLogDetPath(skew)
    with pytest.raises(ValueError, match="finite numbers"):
        SCGLogDetPath(np.where(K > 0.9, np.nan, K))
    path = SCGLogDetPath(K)
    with pytest.raises(ValueError, match=r"on 40 points.*got 20"):
        path.gram(SideInformation.from_labels(y[:20]), 1.0)
    with pytest.raises((TypeError, ValueError), match="SideInformation"):
        path.gram(y, 1.0)


def test_products_beyond_the_range_of_floats_are_named():
    X, y = data()
    path = SCGLogDetPath(1e200 * Gaussian(0.3)(X))
    assert np.isfinite(path.gram(SideInformation.from_labels(y), 1.0)).all()
    some = SideInformation.from_labels(np.where(np.arange(40) < 30, y, -1))
    assert np.isfinite(path.gram(some, 1.0)).all()
    with pytest.raises(ValueError, match=r"strength=1e\+200 for kernel values up to 1e\+200"):
        path.gram(some, 1e200, scale_strength=False)
