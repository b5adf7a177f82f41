"""LABRBFClassifier: labels of any kind, probabilities that add up, one expansion per class."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from pliant import LABRBFClassifier, ModelFileError
from pliant.kernels import Gaussian
from pliant.persistence import load_model, save_model

QUICK = {"n_support": 10, "n_members": 2, "max_iter": 10, "random_state": 0}


def table(n=120, classes=2, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    score = X[:, 0] ** 2 + X[:, 1] + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def quick(**options):
    return LABRBFClassifier(**{**QUICK, **options})


X, Y = table()
X3, Y3 = table(classes=3)
NEW = np.random.default_rng(9).uniform(-1.2, 1.2, size=(25, 4))


def line(model, points):
    """The scores as the class docstring writes them."""
    moved = points if model.kernel_.warp is None else model.kernel_.warp(points)
    f = model.kernel_(points, model.support_vectors_) @ model.dual_coef_
    return f + moved @ model.coef_ + model.intercept_


@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence", "interpolation"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_are_one_line(objective, classes):
    points, y = table(classes=classes)
    model = quick(objective=objective).fit(points, y)
    scores = model.decision_function(NEW)
    assert scores.shape == ((25,) if classes == 2 else (25, classes))
    np.testing.assert_allclose(scores, line(model, NEW), rtol=0, atol=1e-10)
    assert model.score(points, y) > 1.2 / classes


def test_scores_are_one_line_on_other_scales():
    points = np.exp(3 * X)
    model = quick(n_members=1).fit(points, Y)
    np.testing.assert_allclose(
        model.decision_function(points), line(model, points), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_the_class_has_the_highest_score_and_probability(classes):
    points, y = table(classes=classes)
    model = quick().fit(points, y)
    probabilities = model.predict_proba(NEW)
    assert probabilities.shape == (25, classes)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(NEW)), probabilities, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), probabilities.argmax(axis=1))
    scores = model.decision_function(NEW)
    expected = scores > 0 if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(NEW), expected)


LABELS = {
    "text": ["no", "yes", "perhaps"],
    "object": np.array(["no", "yes", "perhaps"], dtype=object),
    "negative": [-1, 1, 7],
    "floats": [0.0, 1.0, 2.0],
    "strings": pd.Series(["a", "b", "c"], dtype="string"),
}


@cache
def fitted_to_codes(classes):
    return quick().fit(*table(classes=classes))


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_may_be_of_any_kind(kind, classes):
    points, codes = table(classes=classes)
    names = np.sort(np.asarray(LABELS[kind][:classes]))
    model = quick().fit(points, names[codes])
    np.testing.assert_array_equal(model.classes_, names)
    plain = fitted_to_codes(classes)
    np.testing.assert_array_equal(model.predict(NEW), names[plain.predict(NEW)])
    assert model.predict_proba(NEW).tobytes() == plain.predict_proba(NEW).tobytes()
    assert model.score(points, names[codes]) == plain.score(points, codes)


def test_booleans_and_frames():
    model = quick().fit(pd.DataFrame(X, columns=list("abcd")), pd.Series(Y == 1))
    assert model.predict(pd.DataFrame(X, columns=list("abcd"))).dtype == bool
    assert list(model.feature_names_in_) == list("abcd")


def test_two_classes_may_be_renamed_into_each_other():
    model, other = quick(transforms=None).fit(X, Y), quick(transforms=None).fit(X, 1 - Y)
    np.testing.assert_allclose(
        other.decision_function(NEW), -model.decision_function(NEW), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        other.predict_proba(NEW)[:, ::-1], model.predict_proba(NEW), rtol=0, atol=1e-5
    )


def test_it_learns():
    points, y = table(300, 3)
    model = quick(n_support=30, max_iter=30).fit(points[:200], y[:200])
    assert model.score(points[200:], y[200:]) > 0.9
    assert model.feature_relevance_[:2].sum() > 0.9
    points, y = load_iris(return_X_y=True)
    scores = cross_val_score(quick(), points, y, cv=3)
    assert scores.mean() > 0.93


def test_probabilities_are_honest():
    points, y = table(900, noise=0.4)
    model = quick(max_iter=20).fit(points[:300], y[:300])
    probabilities = model.predict_proba(points[300:])
    loss = log_loss(y[300:], probabilities)
    shares = np.bincount(y[:300]) / 300
    assert loss < 0.9 * log_loss(y[300:], np.tile(shares, (600, 1)))
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == y[300:]
    assert abs(sure.mean() - right.mean()) < 0.06
    for factor in (0.3, 3.0):
        other = pickle.loads(pickle.dumps(model))
        other.sharpness_ *= factor
        assert log_loss(y[300:], other.predict_proba(points[300:])) > loss


def test_probabilities_far_away_are_finite():
    far = np.array([[1e3], [1e9], [1e155], [1e300]]) * np.array([1.0, -1.0, 1.0, 1.0])
    for model in (quick().fit(X, Y), quick().fit(X3, Y3)):
        assert np.isfinite(model.predict_proba(far)).all()
        assert (model.distance_to_support(far) > 1).all()


def test_perfect_separation_stays_finite():
    points = np.linspace(-1, 1, 40)[:, None]
    for y in (points[:, 0] > 0, np.digitize(points[:, 0], [-0.3, 0.3])):
        model = quick().fit(points, y)
        assert np.isfinite(model.sharpness_)
        assert np.isfinite(model.predict_log_proba(points)).all()
        assert model.score(points, y) > 0.95


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 6), n=st.integers(6, 20))
def test_any_small_table_gives_probabilities(seed, classes, n):
    rng = np.random.default_rng(seed)
    points, y = rng.normal(size=(n, 2)), rng.integers(classes, size=n)
    y[:2] = 0, 1
    model = quick(n_support=4, max_iter=3).fit(points, y)
    probabilities = model.predict_proba(3 * points)
    assert np.isfinite(probabilities).all()
    assert set(model.predict(points)) <= set(y)
    assert probabilities.shape == (n, len(np.unique(y)))


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("objective", ["mixed", "ridge", "evidence", "interpolation"])
@pytest.mark.parametrize("classes", [2, 3])
def test_few_rows(n, objective, classes):
    y = np.arange(n) % classes
    model = quick(objective=objective).fit(X[:n], y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert len(model.classes_) == min(n, classes)


def test_rare_classes():
    y = np.where(np.arange(120) == 5, 2, Y)
    model = quick().fit(X, y)
    assert model.predict_proba(X).shape == (120, 3)
    assert model.score(X, y) > 0.8
    alone = np.zeros(120, dtype=int)
    alone[7] = 1
    assert np.isfinite(quick().fit(X, alone).predict_proba(X)).all()


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_jobs():
    models = [quick(n_jobs=jobs).fit(X3, Y3) for jobs in (None, 1, 2)]
    assert len({model.predict_proba(NEW).tobytes() for model in models}) == 1


def test_rows_of_weight_zero_are_left_out():
    kept = np.arange(120) % 4 > 0
    weights = np.where(kept, 1.0 + np.arange(120) / 120, 0.0)
    y = np.where(kept, Y, 1 - Y)
    model = quick().fit(X, y, weights)
    left = quick().fit(X[kept], Y[kept], weights[kept])
    assert model.predict_proba(NEW).tobytes() == left.predict_proba(NEW).tobytes()


def test_a_class_without_weight_is_never_predicted():
    weights = np.where(Y3 == 1, 0.0, 1.0)
    model = quick().fit(X3, Y3, weights)
    assert set(model.predict(X3)) <= {0, 2}
    assert np.isfinite(model.predict_proba(X3)).all()
    with pytest.raises(ValueError, match="expected at least two classes, got one class: 1"):
        quick().fit(X, Y, np.where(Y == 1, 1.0, 0.0))


def test_heavy_rows_are_right():
    rng = np.random.default_rng(0)
    y = rng.permutation(Y)
    heavy = np.zeros(120, dtype=bool)
    heavy[:8] = True
    model = quick(support=np.arange(10), alpha=0.1).fit(X, y, np.where(heavy, 100.0, 0.01))
    assert model.score(X[heavy], y[heavy]) == 1.0


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_again(classes):
    points, y = table(classes=classes)
    names = np.array(["a", "b", "c"])[y]
    model = quick().fit(points, names)
    before = model.decision_function(NEW)
    np.testing.assert_array_equal(
        model.refit_coefficients(points, names).decision_function(NEW), before
    )
    more, codes = table(400, classes, seed=3)
    model.refit_coefficients(more, np.array(["a", "b", "c"])[codes])
    assert np.abs(model.decision_function(NEW) - before).max() > 1e-6
    with pytest.raises(ValueError, match="'d'"):
        model.refit_coefficients(points[:2], ["a", "d"])
    with pytest.raises(NotFittedError):
        LABRBFClassifier().refit_coefficients(points, names)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(120), "one class"),
        (np.linspace(0, 1, 120), "continuous|Unknown label type"),
        (np.where(Y, np.nan, 0.0), "NaN"),
        (np.column_stack([Y, Y]), "1d array|shape"),
        (Y[:9], "inconsistent"),
        (None, "y"),
    ],
    ids=["one", "real", "nan", "2-D", "short", "none"],
)
def test_labels_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(X, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_every_device_gives_the_same_scores(device, dtype):
    if device == "torch":
        pytest.importorskip("torch")
    options = {"transforms": None, "max_iter": 3, "n_support": 8, "alpha": 0.1}
    points, y = table(300, 3, noise=0.2)
    expected = quick(**options).fit(points, y)
    model = quick(**options, device=device, dtype=dtype).fit(points, y)
    np.testing.assert_allclose(
        model.decision_function(NEW), expected.decision_function(NEW), rtol=0, atol=0.01
    )


def test_the_learned_kernel_in_another_machine():
    model = quick(n_members=1).fit(X, Y)
    F = model.kernel_(X, model.support_vectors_)
    machine = SVC(kernel="linear").fit(F, Y)
    assert machine.score(F, Y) > 0.8


def round_trip(model, path):
    save_model(model, path)
    return load_model(path).model


@pytest.mark.parametrize("names", [[0, 1, 2], ["no", "perhaps", "yes"], [-1.0, 0.0, 2.0]])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_machine_survives_a_model_file(tmp_path, names, classes):
    points, codes = table(classes=classes)
    model = quick().fit(np.exp(3 * points), np.asarray(names)[codes])
    loaded = round_trip(model, tmp_path / "m.pliant")
    assert loaded.predict_proba(NEW).tobytes() == model.predict_proba(NEW).tobytes()
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    assert set(vars(loaded)) == set(vars(model))
    assert clone(loaded).get_params() == model.get_params()


def first(model):
    return model.members_[0]


FORGERIES = {
    "classes, fewer": lambda m: setattr(m, "classes_", m.classes_[:2]),
    "classes, more": lambda m: setattr(m, "classes_", np.arange(5)),
    "classes, one": lambda m: setattr(m, "classes_", m.classes_[:1]),
    "classes, 2-D": lambda m: setattr(m, "classes_", m.classes_[None]),
    "classes, text": lambda m: setattr(m, "classes_", "abc"),
    "sharpness, nan": lambda m: setattr(m, "sharpness_", np.nan),
    "sharpness, negative": lambda m: setattr(m, "sharpness_", -1.0),
    "sharpness, text": lambda m: setattr(m, "sharpness_", "sharp"),
    "no sharpness": lambda m: delattr(m, "sharpness_"),
    "no classes": lambda m: delattr(m, "classes_"),
    "members": lambda m: setattr(m, "members_", [Gaussian(1.0)]),
    "coefficients": lambda m: setattr(first(m), "dual_coef_", first(m).dual_coef_[:, :1]),
    "features": lambda m: setattr(m, "n_features_in_", 11),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, name):
    model = quick(max_iter=1).fit(X3, Y3)
    FORGERIES[name](model)
    with pytest.raises(ModelFileError, match=r"expected|lacks"):
        round_trip(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []
