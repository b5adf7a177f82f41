"""DANK: eta, pairs of classes, precomputed kernels, weights, units and callbacks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from pliant import DANKClassifier, DANKRegressor
from pliant.core.progress import HAS_CALLBACKS
from pliant.kernels import Gaussian
from pliant.methods.dank.kernel import EXTENSIONS
from tests.papers.hadamard_cases import classification_data as classification
from tests.papers.hadamard_cases import regression_data as regression


def test_automatic_eta_is_the_squared_norm_of_the_svm_solution():
    X, y = classification(n=80)
    model = DANKClassifier(gamma=2.0, C=2.0, eta_scale=3.0, tau=0, tol=1e-8).fit(X, y)
    svm = SVC(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    assert model.eta_ == pytest.approx(3.0 * (svm.dual_coef_**2).sum(), rel=1e-4)
    learned = model.adaptation_
    assert np.trace(learned.toarray() - 1) == pytest.approx(
        (model.dual_coef_**2).sum() / (4 * model.eta_)
    )
    assert 0 < learned.radius < 1
    assert learned.rank <= len(model.support_) + 1
    np.testing.assert_allclose(learned.columns([3, 5]), learned.toarray()[:, [3, 5]])


def test_multiclass_learns_one_classifier_per_pair():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DANKClassifier(C=10, tol=1e-8).fit(X, names)
    assert len(model.estimators_) == 3
    assert model.score(X, names) > 0.95
    assert model.decision_function(X).shape == (150, 3)
    pair = model.estimators_[2]
    both = np.flatnonzero(y > 0)
    alone = clone(model).set_params(gamma=pair.kernel_.base.gamma).fit(X[both], names[both])
    assert list(pair.classes_) == ["versicolor", "virginica"]
    np.testing.assert_allclose(pair.decision_function(X), alone.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(pair.support_, both[alone.support_])
    with pytest.raises(AttributeError, match=r"use estimators_\[k\]\.kernel_"):
        _ = model.kernel_
    with pytest.raises(AttributeError, match=r"use estimators_\[k\]\.adaptation_"):
        _ = model.adaptation_
    model.estimators_ = {"members": 3}  # another type, as while a file is written
    assert not hasattr(model, "__missing__")
    model.fit(X[both], names[both])
    assert not hasattr(model, "estimators_")
    assert model.kernel_.points.shape == (100, 4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_precomputed_gram_gives_the_same_decisions(extension, n_classes):
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    X, y = X[y < n_classes] + rng.uniform(0, 0.01, size=(50 * n_classes, 4)), y[y < n_classes]
    test = rng.permutation(len(y))[:25]
    train = np.setdiff1d(np.arange(len(y)), test)
    kernel = Gaussian(0.3)
    options = {"extension": extension, "eta_scale": 0.2, "tol": 1e-9}
    direct = DANKClassifier(kernel=kernel, **options).fit(X[train], y[train])
    given = DANKClassifier(kernel="precomputed", **options).fit(kernel(X[train]), y[train])
    cross = kernel(X[test], X[train])
    # objectives of about 10 agree to 1e-8, decisions to the square root of twice that; the smooth
    # rule measures distances in the feature space
    tol = 2e-2 if extension == "smooth" else 2e-4
    np.testing.assert_allclose(
        given.decision_function(cross), direct.decision_function(X[test]), atol=tol
    )
    tol = tol if n_classes == 3 else 2e-4  # pairs of classes do not use the third class
    np.testing.assert_allclose(
        given.decision_function(kernel(X[train])), direct.decision_function(X[train]), atol=tol
    )


def test_zero_weights_drop_rows_and_weights_scale_C():
    X, y = classification(n=60)
    w = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    weighted = DANKClassifier(C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X, y, sample_weight=w)
    kept = w > 0
    left = DANKClassifier(C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X[kept], y[kept], w[kept])
    assert weighted.objective_ == pytest.approx(left.objective_, rel=1e-9)
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(kept)[left.support_])
    assert (np.abs(weighted.dual_coef_) <= 2.0 * w[weighted.support_] + 1e-12).all()
    doubled = DANKClassifier(C=4.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X, y)
    by_weight = DANKClassifier(C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X, y, np.full(60, 2.0))
    assert doubled.objective_ == pytest.approx(by_weight.objective_, rel=1e-9)


def test_predictions_are_equivariant_to_the_unit_of_the_target():
    X, y = regression(n=80)
    model = DANKRegressor(C=3.0, tol=1e-8).fit(X, y)
    other = DANKRegressor(C=3.0, tol=1e-8).fit(X, 1e6 * y - 5e6)
    np.testing.assert_allclose(other.predict(X), 1e6 * model.predict(X) - 5e6, rtol=1e-5)
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
    by_hand = model.kernel_(X, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), by_hand)


def test_a_wide_tube_gives_a_constant_and_an_infinite_eta():
    X, y = regression(n=40)
    model = DANKRegressor(epsilon=10.0).fit(X, y)
    assert model.eta_ == np.inf
    assert model.dual_gap_ == 0.0
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.adaptation_.toarray(), np.ones((40, 40)))
    assert np.ptp(model.predict(X)) == 0.0


def test_an_unfinished_fit_warns_with_gap_and_advice():
    X, y = classification(n=100)
    with pytest.warns(ConvergenceWarning, match=r"after 3 steps with a gap of .* raise max_iter"):
        model = DANKClassifier(C=100, eta=1.0, max_iter=3).fit(X, y)
    assert model.dual_gap_ > 0
    assert model.n_iter_ == 3


class Recorder:
    """A callback that records its calls, and may stop the fit."""

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
def test_callbacks_receive_progress_and_can_stop_the_fit():
    X, y = classification(n=600)
    recorder = Recorder(stop=False)
    full = DANKClassifier(C=1000, eta=1e6).set_callbacks(recorder).fit(X, y)
    assert recorder.seen[0] == "setup"
    assert recorder.seen[-1] == "teardown"
    assert recorder.seen.count("begin") == recorder.seen.count("end") >= 3
    stopped = DANKClassifier(C=1000, eta=1e6).set_callbacks(Recorder(stop=True)).fit(X, y)
    assert stopped.n_iter_ < full.n_iter_
    assert stopped.dual_gap_ > full.dual_gap_
