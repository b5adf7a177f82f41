"""LogDetLearner: its optimum on all points, extension, bounds, warnings, and scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import LogDetLearner, NonPSDWarning
from pliant.core.progress import HAS_CALLBACKS
from pliant.kernels import TL1, Gaussian, LogDetKernel
from pliant.methods.side_information import bregman
from pliant.methods.side_information.ldk_problem import DistanceBounds, pair_distances
from tests.reference import naive_logdet as naive


def data(n=60, known=0.5, seed=0, classes=2):
    """Points of classes, -1 for those of unknown class, and the true classes."""
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=classes, class_sep=1.5, random_state=seed
    )
    hidden = np.random.default_rng(seed).random(n) > known
    return StandardScaler().fit_transform(X), np.where(hidden, -1, y), y


X, PARTIAL, Y = data()


def learner(**changes):
    return LogDetLearner(**{"random_state": 0, **changes})


# The optimum


@pytest.mark.parametrize("slack", [1.0, 10.0, None])
def test_the_kernel_is_that_of_a_run_on_all_points(slack):
    few = np.where(np.arange(60) < 7, Y, -1)
    model = learner(slack=slack, tol=1e-6, max_iter=5000, percentiles=(30, 60))
    K = model.fit_gram(X, few)
    gram = Gaussian(gamma=1.0 / (6 * X.var()))(X)
    bounds = np.where(model.signs_ > 0, model.similar_bound_, model.dissimilar_bound_)
    terms = model.pairs_, model.signs_, bounds, np.inf if slack is None else slack
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


def test_a_generic_solver_on_all_points_agrees():
    similar, dissimilar = [(0, 1), (2, 3)], [(0, 2), (1, 4)]
    model = learner(similar_bound=0.2, dissimilar_bound=1.9, slack=2.0, tol=1e-9, max_iter=1000)
    K = model.fit_gram(X[:10], similar=similar, dissimilar=dissimilar)
    gram = model.kernel_.base(X[:10])
    bounds = np.where(model.signs_ > 0, 0.2, 1.9)
    expected, value = naive.by_cvxpy(gram, model.pairs_, model.signs_, bounds, 2.0)
    np.testing.assert_allclose(K, expected, atol=3e-4)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


def test_the_gap_is_certified():
    model = learner().fit(X, PARTIAL)
    assert 0 <= model.dual_gap_ <= 1e-3 * (1 + model.objective_)
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.lower_bound_)
    better = learner(tol=1e-8).fit(X, PARTIAL)
    assert model.lower_bound_ <= better.objective_ <= model.objective_
    assert len(model.objective_history_) == len(model.gap_history_) == model.n_iter_ + 1
    assert model.objective_history_[-1] == model.objective_
    assert model.gap_history_[-1] == model.dual_gap_


def test_hard_bounds_hold():
    similar, dissimilar = [(0, 1), (1, 2), (7, 8)], [(0, 5), (1, 6)]
    model = learner(slack=None, similar_bound=0.5, dissimilar_bound=1.8)
    model.fit(X, similar=similar, dissimilar=dissimilar)
    p = pair_distances(model.kernel_(X), model.pairs_)
    assert p[model.signs_ > 0].max() <= 0.5 + 1e-12
    assert p[model.signs_ < 0].min() >= 1.8 - 1e-12
    assert model.max_violation_ == 0.0
    assert 0 <= model.dual_gap_ <= 1e-3 * (1 + model.objective_)
    same = learner(slack=np.inf, similar_bound=0.5, dissimilar_bound=1.8)
    same.fit(X, similar=similar, dissimilar=dissimilar)
    np.testing.assert_array_equal(same.duals_, model.duals_)


def test_more_slack_is_more_violation():
    found = [learner(slack=nu).fit(X, PARTIAL).max_violation_ for nu in (0.01, 1.0, 100.0)]
    assert found[0] > found[1] > found[2] > 0


def test_another_order_changes_the_objective_within_tol_only():
    models = [learner(random_state=seed, max_pairs=None).fit(X, PARTIAL) for seed in range(3)]
    values = [model.objective_ for model in models]
    assert len(set(values)) == 3
    assert max(values) - min(values) <= 1e-3 * (1 + min(values))
    again = learner(random_state=2, max_pairs=None).fit(X, PARTIAL)
    assert again.duals_.tobytes() == models[2].duals_.tobytes()


def test_the_unit_of_the_points_does_not_matter():
    one = learner(kernel="linear", tol=1e-8).fit(X, PARTIAL)
    two = learner(kernel="linear", tol=1e-8).fit(1000.0 * X, PARTIAL)
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-7)
    assert two.similar_bound_ == pytest.approx(1e6 * one.similar_bound_)
    np.testing.assert_allclose(two.kernel_(1000.0 * X), 1e6 * one.kernel_(X), rtol=1e-4, atol=1e-1)


# The extension


def test_the_kernel_at_the_fit_points_is_their_matrix():
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


def test_a_precomputed_matrix_is_the_same_as_its_kernel():
    new, _, _ = data(5, seed=9)
    base = Gaussian(gamma=0.2)
    one = learner(kernel=base)
    two = learner(kernel="precomputed")
    grams = one.fit_gram(X, PARTIAL), two.fit_gram(base(X), PARTIAL)
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-12)
    np.testing.assert_allclose(two.transform(base(new, X)), one.transform(new), atol=1e-12)
    np.testing.assert_array_equal(two.support_vectors_[:, 0], np.arange(60))


def test_known_pairs_move_as_asked():
    model = learner()
    K = model.fit_gram(X, PARTIAL)
    before = pair_distances(model.kernel_.base(X), model.pairs_)
    after = pair_distances(K, model.pairs_)
    ratio, similar = after / before, model.signs_ > 0
    assert np.median(ratio[similar]) < 0.8
    assert np.median(ratio[similar]) < 0.7 * np.median(ratio[~similar])


def test_new_points_are_told_apart_better():
    points, partial, classes = data(400, known=0.3, seed=3, classes=3)
    known, new = partial[:300], classes[300:]
    labelled = known >= 0

    def accuracy(kernel):
        distances = (
            kernel.diag(points[300:])[:, None]
            + kernel.diag(points[:300])[labelled]
            - 2 * kernel(points[300:], points[:300][labelled])
        )
        neighbors = KNeighborsClassifier(5, metric="precomputed")
        neighbors.fit(np.zeros((labelled.sum(), labelled.sum())), known[labelled])
        return neighbors.score(np.maximum(distances, 0), new)

    model = learner().fit(points[:300], known)
    assert accuracy(model.kernel_) > accuracy(model.kernel_.base)


# Pairs and bounds


def test_pairs_are_drawn_up_to_a_number():
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


def test_bounds_are_percentiles_unless_given():
    model = learner(max_pairs=None).fit(X, PARTIAL)
    p = pair_distances(model.kernel_.base(X), model.pairs_)
    expected = np.percentile(p, [5, 95])
    assert [model.similar_bound_, model.dissimilar_bound_] == pytest.approx(expected)
    mixed = learner(max_pairs=None, similar_bound=0.5, percentiles=(0, 50)).fit(X, PARTIAL)
    assert mixed.similar_bound_ == 0.5
    assert mixed.dissimilar_bound_ == pytest.approx(np.median(p))


def test_bounds_that_overlap_ask_for_little():
    model = learner(similar_bound=2.0, dissimilar_bound=1e-3, max_pairs=None).fit(X, PARTIAL)
    assert model.n_iter_ == 0
    assert model.objective_ == 0.0
    np.testing.assert_array_equal(model.kernel_(X), model.kernel_.base(X))


def test_equal_distances_keep_their_percentiles():
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


def test_only_equal_points_cannot_be_learned_from():
    with pytest.raises(ValueError, match=r"that the kernel separates, got 3 pairs at a squared"):
        learner().fit(np.ones((4, 2)), similar=[(0, 1), (1, 2)], dissimilar=[(2, 3)])


def test_labels_of_text_and_another_mark():
    names = np.where(PARTIAL < 0, "?", np.where(PARTIAL == 1, "yes", "no"))
    one, two = learner(unlabeled="?").fit(X, names), learner().fit(X, PARTIAL)
    np.testing.assert_array_equal(one.duals_, two.duals_)
    np.testing.assert_array_equal(one.classes_, ["no", "yes"])
    assert two.fit(X, similar=[(0, 1)]).classes_ is None


# What is not as asked for


def test_a_gap_left_open_is_said():
    model = learner(max_iter=1, tol=1e-6)
    with pytest.warns(
        ConvergenceWarning,
        match=r"LogDetLearner stopped after 1 sweeps with a gap of .* asked for; "
        r"raise max_iter, or raise tol, or lower slack",
    ):
        model.fit(X, PARTIAL)
    assert model.n_iter_ == 1
    assert model.dual_gap_ > 1e-6 * (1 + model.objective_)
    assert model.lower_bound_ <= learner().fit(X, PARTIAL).objective_


def test_contradictory_hard_bounds_are_said():
    model = learner(slack=None, similar_bound=0.1, dissimilar_bound=1.0, max_iter=30)
    with pytest.warns(ConvergenceWarning, match=r"bounds violated by up to [\d.]+ of their value"):
        model.fit(X, similar=[(0, 1), (1, 2)], dissimilar=[(0, 2)])
    assert np.isnan(model.dual_gap_)
    assert model.max_violation_ > 0.1
    assert model.lower_bound_ > model.objective_


BAD_PARAMETERS = [
    ({"similar_bound": -1.0}, "expected similar_bound > 0, a finite number, got -1.0"),
    ({"similar_bound": 0}, "expected similar_bound > 0"),
    ({"dissimilar_bound": np.inf}, "expected dissimilar_bound > 0, a finite number, got inf"),
    ({"dissimilar_bound": "far"}, "expected dissimilar_bound > 0, a finite number, got 'far'"),
    ({"slack": 0}, "expected slack > 0, a number, got 0"),
    ({"slack": -2.0}, "expected slack > 0, a number, got -2.0"),
    ({"slack": np.nan}, "expected slack > 0, a number, got nan"),
    ({"percentiles": (95, 5)}, r"0 <= low < high <= 100, got \(95, 5\)"),
    ({"percentiles": (5, 5)}, r"0 <= low < high <= 100, got \(5, 5\)"),
    ({"percentiles": (-1, 95)}, r"0 <= low < high <= 100, got \(-1, 95\)"),
    ({"percentiles": (5, 101)}, r"0 <= low < high <= 100, got \(5, 101\)"),
    ({"percentiles": (5,)}, r"0 <= low < high <= 100, got \(5,\)"),
    ({"percentiles": 5}, r"0 <= low < high <= 100, got 5"),
    ({"percentiles": ("a", 5)}, "expected percentiles, a finite number, got 'a'"),
    ({"max_pairs": 0}, "expected max_pairs >= 1, an integer, got 0"),
    ({"max_pairs": 2.5}, "expected max_pairs >= 1, an integer, got 2.5"),
    ({"tol": 0}, "expected tol > 0"),
    ({"max_iter": 0}, "expected max_iter >= 1"),
    ({"gamma": -1}, "expected gamma > 0"),
    ({"kernel": "gausian"}, "did you mean 'gaussian'"),
    ({"kernel": TL1(1.0)}, "expected a kernel that is positive semi-definite"),
    ({"kernel": "precomputed"}, "expected a square Gram matrix"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_refused(changes, message):
    model = learner(**changes)
    with pytest.raises(ValueError, match=message):
        model.fit(X, PARTIAL)
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_what_is_no_gram_matrix_is_refused():
    gram = Gaussian(gamma=0.2)(X)
    skew = gram.copy()
    skew[3, 4] += 0.1
    model = learner(kernel="precomputed", max_pairs=None)
    with pytest.raises(ValueError, match="expected a symmetric Gram matrix"):
        model.fit(skew, PARTIAL)
    indefinite = gram - 0.9 * np.eye(60)
    known = np.flatnonzero(PARTIAL >= 0)
    smallest = np.linalg.eigvalsh(indefinite[np.ix_(known, known)])[0]
    with pytest.warns(NonPSDWarning, match=f"a matrix with the eigenvalue {smallest:.6g}"):
        model.fit(indefinite, PARTIAL)
    assert np.isfinite(model.transform(indefinite)).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "requires y to be passed"),
        ({"y": PARTIAL, "similar": [(0, 1)]}, "got both"),
        ({"y": np.zeros(60, int)}, "got only one class"),
        ({"y": np.full(60, -1)}, "expected some labelled points"),
        ({"y": np.where(Y, 1, -1)}, "expected `unlabeled` to be given"),
        ({"similar": [(0, 60)]}, "expected row indices from 0 to 59"),
        ({"similar": [(1, 1)]}, "expected two points in a pair"),
        ({"similar": [(0, 1)], "dissimilar": [(1, 0)]}, r"got \(0, 1\) as both"),
    ],
)
def test_bad_side_information_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        learner().fit(X, **given)


# At home in scikit-learn


def test_names_and_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=np.arange(60) + 7)
    model = learner().set_output(transform="pandas").fit(frame, PARTIAL)
    names = [f"logdetlearner{k}" for k in range(60)]
    assert list(model.get_feature_names_out()) == names
    found = model.transform(frame[:4])
    assert list(found.columns) == names
    assert list(found.index) == [7, 8, 9, 10]
    assert list(model.feature_names_in_) == list("abcdef")


def test_pickled_and_cloned():
    model = learner(slack=3.0).fit(X, PARTIAL)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "kernel_")


def test_in_a_pipeline_and_in_cross_validation():
    pipeline = make_pipeline(StandardScaler(), learner(), SVC(kernel="precomputed", C=10.0))
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.8


class Recorder:
    def __init__(self, stop=False):
        self.stop, self.seen = stop, []

    def setup(self, estimator, context):
        self.seen.append("setup")

    def teardown(self, estimator, context):
        self.seen.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.seen.append("begin")

    def on_fit_task_end(self, estimator, context):
        self.seen.append("end")
        return self.stop


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
@pytest.mark.parametrize("method", ["fit", "fit_gram", "fit_transform"])
def test_callbacks_see_progress_and_can_stop(method):
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


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
def test_callbacks_are_torn_down_after_an_error():
    recorder = Recorder()
    with pytest.raises(ValueError, match="slack"):
        learner(slack=0).set_callbacks(recorder).fit(X, PARTIAL)
    assert recorder.seen[-1] == "teardown"


def test_an_interruption_leaves_nothing_half_learned(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    model = learner()
    monkeypatch.setattr("pliant.methods.side_information.log_det.bregman.solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, PARTIAL)
    assert not hasattr(model, "kernel_")
    assert not hasattr(model, "_progress")
