"""TKL in parts: the learned kernel object and scikit-learn's SVM on each part, and the options."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from pliant import GKLClassifier, ModelFileError, TKLClassifier, TKLRegressor
from pliant.methods.svm.parts import kmeans_partition
from pliant.persistence import load_model, save_model

r = np.random.default_rng(0)
X = r.random((160, 2)) * [3.0, 50.0] + [1.0, -20.0]
SCALED = (X - X.min(axis=0)) / np.ptp(X, axis=0)
TARGET = np.sin(6 * SCALED[:, 0]) + SCALED[:, 1] + 0.2 * r.standard_normal(160)
LABELS = np.where(TARGET + 0.8 * r.standard_normal(160) > 0.6, "yes", "no")
NEW = r.random((40, 2)) * [5.0, 80.0] + [0.0, -35.0]  # some outside the box

OPTIONS = {
    "C": 3.0, "subsample": 60, "tol": 1e-6, "partition": "kmeans", "n_parts": 4, "random_state": 0,
}  # fmt: skip
both = pytest.mark.parametrize("make", [TKLClassifier, TKLRegressor])
open_gap = pytest.mark.filterwarnings(
    "ignore:TKL.*P was learned:sklearn.exceptions.ConvergenceWarning"
)
pytestmark = open_gap


def fitted(make, **changed):
    return make(**OPTIONS | changed).fit(X, LABELS if make is TKLClassifier else TARGET)


def values(model, points):
    name = "decision_function" if isinstance(model, TKLClassifier) else "predict"
    return getattr(model, name)(points)


@both
@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"cache_mb": 1e-3}], ids=str)
def test_each_part_is_a_machine_of_scikit_learn_with_the_learned_kernel(make, options):
    model = fitted(make, **options)
    expected, primal = np.empty(40), 0.0
    inside = np.clip((NEW - X.min(axis=0)) / np.ptp(X, axis=0), model.lower_, model.upper_)
    place = ((inside[:, None] - model.part_centres_) ** 2).sum(axis=2).argmin(axis=1)
    parts = kmeans_partition(SCALED, 4, random_state=0)
    np.testing.assert_array_equal(model.part_labels_, parts.labels)
    centre, scale = TARGET.mean(), TARGET.std()
    for part in range(4):
        rows, here = parts.members(part), place == part
        K, cross = model.kernel_(X[rows]), model.kernel_(NEW[here], X[rows])
        if make is TKLClassifier:
            peer = SVC(kernel="precomputed", C=3.0, tol=1e-8).fit(K, LABELS[rows])
            expected[here] = peer.decision_function(cross)
            losses = 1 - np.where(LABELS[rows] == "yes", 1, -1) * peer.decision_function(K)
        else:
            target = (TARGET[rows] - centre) / scale
            peer = SVR(kernel="precomputed", C=3.0, tol=1e-8).fit(K, target)
            expected[here] = centre + scale * peer.predict(cross)
            losses = np.abs(target - peer.predict(K)) - 0.1
        beta, own = peer.dual_coef_[0], K[np.ix_(peer.support_, peer.support_)]
        primal += 0.5 * beta @ own @ beta + 3.0 * np.maximum(0, losses).sum()
    np.testing.assert_allclose(values(model, NEW), expected, atol=5e-3 * np.abs(expected).max())
    assert model.lower_bound_ <= primal * (1 + 1e-9)
    assert model.objective_ == pytest.approx(primal, rel=2e-5)
    assert model.dual_gap_ == pytest.approx(model.part_gaps_.sum(), rel=1e-9)
    assert model.dual_gap_ <= 1e-5 * model.objective_


@both
def test_one_part_is_the_machine_that_a_subsample_gives(make):
    one, whole = fitted(make, n_parts=1), fitted(make, partition=None)
    np.testing.assert_allclose(one.shape_matrix_, whole.shape_matrix_, atol=1e-9)
    np.testing.assert_allclose(values(one, NEW), values(whole, NEW), atol=5e-3)
    assert one.objective_ == pytest.approx(whole.objective_, rel=1e-5)


@both
def test_p_is_learned_on_all_where_they_are_few_and_in_threads_and_processes(make):
    model = fitted(make, subsample=None, tol=1e-3)
    alone = fitted(make, subsample=None, partition=None, tol=1e-3)
    np.testing.assert_allclose(model.shape_matrix_, alone.shape_matrix_, atol=1e-9)
    threads = clone(model).set_params(n_jobs=2)
    threads.fit(X, LABELS if make is TKLClassifier else TARGET)
    with joblib.parallel_config(backend="loky"):
        processes = fitted(make, subsample=None, tol=1e-3, n_jobs=2)
    for other in (threads, processes):
        np.testing.assert_array_equal(values(other, NEW), values(model, NEW))
        np.testing.assert_array_equal(other.intercept_, model.intercept_)


@both
def test_values_do_not_depend_on_the_batch_and_end_at_the_box(make):
    model = fitted(make)
    alone = np.concatenate([values(model, x[None]) for x in NEW])
    np.testing.assert_allclose(values(model, NEW), alone, rtol=1e-9, atol=1e-9)
    far = np.array([[1e300, 0.0], [-1e300, 1e300]])
    edge = X.min(axis=0) + np.ptp(X, axis=0) * [[1.5, 20 / np.ptp(X[:, 1])], [-0.5, 1.5]]
    edge[0, 1] = 0.0
    np.testing.assert_allclose(values(model, far), values(model, edge), rtol=1e-6)


def test_pure_parts_as_many_parts_as_rows_more_classes_and_weights():
    sides = np.where(X[:, 0] < 2.4, "left", "right")
    pure = TKLClassifier(**OPTIONS | {"n_parts": 8, "tol": 1e-2}).fit(X, sides)
    assert any(len(set(sides[pure.part_labels_ == part])) == 1 for part in range(8))
    assert pure.score(X, sides) >= 0.97
    single = TKLRegressor(**OPTIONS | {"n_parts": 20, "subsample": None, "tol": 1e-2})
    single.fit(X[:20], TARGET[:20])
    np.testing.assert_allclose(single.predict(X[:20]), TARGET[:20], atol=1e-12)
    assert single.support_.size == 0
    iris, species = load_iris(return_X_y=True)
    several = TKLClassifier(C=10, partition="kmeans", n_parts=3, random_state=0, tol=1e-2)
    assert several.fit(iris, species).score(iris, species) >= 0.95
    assert [len(each.intercept_) for each in several.estimators_] == [3, 3, 3]
    used = np.arange(160) % 4 > 0
    points = np.where(used[:, None], X, X[1])
    one = TKLRegressor(**OPTIONS).fit(points, TARGET, used.astype(float))
    other = TKLRegressor(**OPTIONS).fit(X[used], TARGET[used])
    np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-9)
    np.testing.assert_array_equal(one.support_, np.flatnonzero(used)[other.support_])


def test_a_callback_that_stops_leaves_valid_bounds(monkeypatch):
    monkeypatch.setattr(TKLRegressor, "_warn_if_open", lambda *_: None)
    whole = fitted(TKLRegressor)
    model = TKLRegressor(**OPTIONS)
    [task] = model._prepare(X, TARGET, None)
    model._learn(task, None, lambda step: step is None)  # after the first part
    assert model.lower_bound_ <= whole.objective_ * (1 + 1e-9)
    assert whole.lower_bound_ <= model.objective_ * (1 + 1e-9)
    assert model.dual_gap_ > 0.1 * whole.objective_
    assert np.isfinite(model.predict(NEW)).all()


@both
def test_a_model_file_and_its_forgeries(tmp_path, make):
    model = fitted(make)
    assert model.summary().functions[0].details["parts"] == 4
    save_model(model, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    np.testing.assert_array_equal(values(loaded, NEW), values(model, NEW))
    for name, forged in (
        ("intercept_", model.intercept_[:-1]),
        ("intercept_", 0.0),
        ("support_parts_", model.support_parts_ + 1),
        ("support_parts_", model.support_parts_[:-1]),
        ("support_parts_", model.support_parts_ + 0.5),
        ("part_centres_", model.part_centres_[:, :1]),
        ("part_centres_", model.part_centres_ * np.nan),
    ):
        forgery = fitted(make)
        setattr(forgery, name, forged)
        with pytest.raises(ModelFileError, match=r"intercept_|support_parts_|part_centres_|finite"):
            save_model(forgery, tmp_path / "forged.pliant")
    model.set_params(partition=None).fit(X, LABELS if make is TKLClassifier else TARGET)
    assert not [name for name in vars(model) if "part" in name and name.endswith("_")]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"partition": "dask"}, r"expected partition in \['kmeans'\], got 'dask'"),
        ({"n_parts": 0}, "expected n_parts >= 1, an integer, got 0"),
        ({"n_parts": 161}, "expected n_parts <= 160, the number of rows, got 161"),
        ({"n_parts": "all"}, r"expected n_parts in \['auto'\], got 'all'"),
        ({"n_jobs": 0}, "expected n_jobs"),
    ],
    ids=str,
)
@both
def test_bad_parameters_get_one_clear_error(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(make, **parameters)
    assert "partition" not in GKLClassifier().get_params()


@pytest.mark.filterwarnings("default:TKL.*P was learned:sklearn.exceptions.ConvergenceWarning")
def test_an_open_gap_on_the_subset_names_the_rows():
    with pytest.warns(ConvergenceWarning, match="P was learned on 60 of 160 rows; .*max_iter"):
        fitted(TKLRegressor, max_iter=2, tol=1e-8)
