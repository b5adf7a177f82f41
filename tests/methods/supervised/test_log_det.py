"""LDK: the optimum, its extension to all points, bounds, warnings and callbacks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from pliant import LogDetLearner
from pliant.core.progress import HAS_CALLBACKS
from pliant.kernels import Gaussian
from pliant.methods import LogDetKernel
from pliant.methods.supervised import bregman
from pliant.methods.supervised.bregman import DistanceBounds, squared_distances
from tests.methods.dank.test_dank import Recorder
from tests.reference import naive_logdet as naive


def data(n=60, known=0.5, seed=0, classes=2):
    """Return points, labels with -1 for unknown classes, and the true classes."""
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=classes, class_sep=1.5, random_state=seed
    )
    hidden = np.random.default_rng(seed).random(n) > known
    return StandardScaler().fit_transform(X), np.where(hidden, -1, y), y


X, PARTIAL, Y = data()


def learner(**changes):
    return LogDetLearner(**{"random_state": 0, **changes})


# The optimum


@pytest.mark.parametrize("slack", [1.0, 10.0, np.inf])
def test_kernel_matches_a_solution_on_all_points(slack):
    few = np.where(np.arange(60) < 7, Y, -1)
    model = learner(slack=slack, tol=1e-6, max_iter=5000)
    K = model.fit_gram(X, few)
    gram = Gaussian(gamma=1.0 / (6 * X.var()))(X)
    bounds = np.where(model.signs_ > 0, model.similar_bound_, model.dissimilar_bound_)
    terms = model.pairs_, model.signs_, bounds, slack
    full = DistanceBounds(gram, *terms)
    whole = bregman.solve(full, rng=np.random.RandomState(0), tol=1e-6, max_iter=5000)
    assert whole.n_iter == model.n_iter_
    np.testing.assert_allclose(K, whole.certificate.gram, atol=1e-10)
    assert model.objective_ == pytest.approx(whole.value, rel=1e-10)
    assert model.objective_ == pytest.approx(naive.divergence(K, gram) + _slack(K, *terms))


def _slack(K, pairs, signs, bounds, slack):
    p = naive.distances(K, pairs)
    ratio = np.where(signs > 0, np.maximum(p, bounds), np.minimum(p, bounds)) / bounds
    cost = np.sum(ratio - np.log(ratio) - 1)
    return 0.0 if np.isinf(slack) else slack * cost


def test_a_distance_of_zero_has_a_finite_penalty():
    problem = DistanceBounds(np.ones((2, 2)), np.array([[0, 1]]), np.array([-1.0]), [1e30], 2.0)
    certificate = problem.certificate(np.zeros(1), np.ones((2, 2)), 0.0)
    ratio = np.log(np.finfo(float).tiny) - np.log(1e30)  # of the distance, at least tiny, to 1e30
    assert certificate.value == pytest.approx(2.0 * (-1.0 - ratio))


def test_certified_gap():
    model = learner().fit(X, PARTIAL)
    assert 0 <= model.dual_gap_ <= 1e-3 * (1 + model.objective_)
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.lower_bound_)
    better = learner(tol=1e-8).fit(X, PARTIAL)
    assert model.lower_bound_ <= better.objective_ <= model.objective_
    assert len(model.objective_history_) == len(model.gap_history_) == model.n_iter_ + 1
    assert model.objective_history_[-1] == model.objective_
    assert model.gap_history_[-1] == model.dual_gap_


def test_order_of_pairs_changes_objective_within_tol():
    models = [learner(random_state=seed, max_pairs=None).fit(X, PARTIAL) for seed in range(3)]
    values = [model.objective_ for model in models]
    assert len(set(values)) == 3
    assert max(values) - min(values) <= 1e-3 * (1 + min(values))
    again = learner(random_state=2, max_pairs=None).fit(X, PARTIAL)
    assert again.duals_.tobytes() == models[2].duals_.tobytes()


# The extension


def test_kernel_at_the_fit_points():
    model = learner()
    K = model.fit_gram(X, PARTIAL)
    active = np.unique(model.pairs_)
    assert isinstance(model.kernel_, LogDetKernel)
    assert model.kernel_.psd
    assert len(active) < len(X)
    bounds = np.where(model.signs_ > 0, model.similar_bound_, model.dissimilar_bound_)
    block = DistanceBounds(
        model.kernel_.base(X[active]),
        np.searchsorted(active, model.pairs_),
        model.signs_,
        bounds,
        1.0,
    )
    inner, _ = block.learned(model.duals_)
    np.testing.assert_allclose(K[np.ix_(active, active)], inner, atol=1e-10)
    np.testing.assert_allclose(model.kernel_(X, model.support_vectors_), K, atol=1e-10)
    np.testing.assert_allclose(model.transform(X), K, atol=1e-10)
    np.testing.assert_allclose(clone(model).fit_transform(X, PARTIAL), K, atol=1e-10)
    assert model.transform(X[:3] + 0.1).shape == (3, 60)


# Pairs and bounds


def test_number_of_drawn_pairs():
    everything = learner(max_pairs=None).fit(X, PARTIAL)
    known = int((PARTIAL >= 0).sum())
    assert len(everything.pairs_) == known * (known - 1) // 2
    some = learner(max_pairs=100).fit(X, PARTIAL)
    assert some.pairs_.shape == (100, 2)
    assert some.signs_.shape == some.duals_.shape == (100,)
    truth = np.where(Y[some.pairs_[:, 0]] == Y[some.pairs_[:, 1]], 1.0, -1.0)
    np.testing.assert_array_equal(some.signs_, truth)
    other = learner(max_pairs=100, random_state=1).fit(X, PARTIAL)
    assert not np.array_equal(some.pairs_, other.pairs_)


def test_bounds_are_percentiles():
    model = learner(max_pairs=None).fit(X, PARTIAL)
    p = squared_distances(model.kernel_.base(X), model.pairs_)
    expected = np.percentile(p, [5, 95])
    assert [model.similar_bound_, model.dissimilar_bound_] == pytest.approx(expected)


def test_equal_distances_leave_the_kernel_unchanged():
    model = learner(kernel="precomputed")
    K = model.fit_gram(np.eye(6), [0, 0, 0, 1, 1, 1])
    assert model.similar_bound_ == model.dissimilar_bound_ == 2.0
    assert (model.objective_, model.dual_gap_, model.n_iter_) == (0.0, 0.0, 0)
    np.testing.assert_array_equal(K, np.eye(6))


def test_equal_points_are_skipped():
    points = np.concatenate([X, X[:3], X[:1] + 1e-9])
    labels = np.concatenate([Y, 1 - Y[:3], Y[:1]])
    model = learner(max_pairs=None)
    K = model.fit_gram(points, labels)
    assert model.n_skipped_ == 5
    assert len(model.pairs_) == 64 * 63 // 2 - 5
    assert model.dual_gap_ <= 1e-3 * (1 + model.objective_)
    np.testing.assert_allclose(K[60:63], K[:3], atol=1e-11)


# Warnings and callbacks


def test_open_gap_warns():
    model = learner(max_iter=1, tol=1e-6)
    with pytest.warns(
        ConvergenceWarning,
        match=r"LogDetLearner stopped after 1 sweeps with a gap of .*; raise max_iter",
    ):
        model.fit(X, PARTIAL)
    assert model.n_iter_ == 1
    assert model.dual_gap_ > 1e-6 * (1 + model.objective_)
    assert model.lower_bound_ <= learner().fit(X, PARTIAL).objective_


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("method", ["fit", "fit_gram", "fit_transform"])
def test_callbacks_report_progress_and_can_stop(method):
    recorder = Recorder()
    full = learner(tol=1e-8).set_callbacks(recorder)
    getattr(full, method)(X, PARTIAL)
    assert recorder.seen[0] == "setup"
    assert recorder.seen[-1] == "teardown"
    assert recorder.seen.count("begin") == recorder.seen.count("end") == full.n_iter_ + 1
    stopped = learner(tol=1e-8).set_callbacks(Recorder(stop=True))
    getattr(stopped, method)(X, PARTIAL)
    assert stopped.n_iter_ == 1
    assert stopped.dual_gap_ > full.dual_gap_
