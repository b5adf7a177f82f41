"""Centres that are added after the bandwidths are learned, and class weights."""

import numpy as np
import pytest

from pliant import LABRBFAlgorithm, LABRBFClassifier, LABRBFRegressor
from pliant.exceptions import SampleWeightWarning
from pliant.methods.lab_rbf import collection, constants
from pliant.methods.lab_rbf.table import Table

rng = np.random.default_rng(0)
X, WEIGHT = rng.uniform(-1, 1, size=(700, 3)), rng.uniform(0.5, 2, size=200)
y = np.sin(4 * X[:, 0]) * X[:, 1]
LABELS = np.where(y > 0.3, "high", "low")
QUICK = {"n_members": 1, "dense": False, "max_iter": 2, "random_state": 0}


@pytest.fixture
def grows(monkeypatch):
    """Let tables of 600 rows count as large; members learn 200 centres and grow to 500."""
    monkeypatch.setattr(constants, "MANY_ROWS", 600)
    monkeypatch.setattr(constants, "ROWS_PER_CENTRE", 1)
    monkeypatch.setattr(constants, "MAX_CENTRES", 500)


@pytest.mark.parametrize(
    ("n_rows", "learned", "grown", "beside_dense"),
    [
        (300, 100, 100, 100),
        (1000, 120, 120, 120),
        (3999, 120, 120, 120),
        (4000, 200, 800, 200),
        (20_000, 200, 1000, 800),
        (100_000, 200, 707, 707),
        (1_000_000, 200, 500, 500),
    ],
)
def test_number_of_centres_grows_with_the_rows(n_rows, learned, grown, beside_dense):
    table = Table.from_arrays(np.zeros((n_rows, 1)), np.zeros((n_rows, 1)), None)
    for dense, expected in ((False, grown), (True, beside_dense)):
        settings = LABRBFRegressor(dense=dense)._resolve_settings(table, LABRBFAlgorithm(), 0)
        assert (settings.n_support, settings.n_grown) == (learned, expected)
    settings = LABRBFRegressor(70)._resolve_settings(table, LABRBFAlgorithm(), 0)
    assert (settings.n_support, settings.n_grown) == (70, 70)


@pytest.mark.parametrize(("model", "outputs"), [(LABRBFRegressor, 2), (LABRBFClassifier, 1)])
def test_several_outputs_and_classes_have_more_centres(model, outputs):
    table = Table.from_arrays(np.zeros((1000, 1)), np.zeros((1000, outputs)), None)
    settings = model()._resolve_settings(table, LABRBFAlgorithm(), 0)
    assert (settings.n_support, settings.n_grown) == (200, 200)


@pytest.mark.parametrize(("model", "target"), [(LABRBFRegressor, y), (LABRBFClassifier, LABELS)])
def test_new_centres_have_the_bandwidths_of_the_nearest(grows, model, target):
    (member,) = model(**QUICK).fit(X, target).members_
    centres, theta = member.kernel_.centres, member.kernel_.bandwidths
    assert (member.n_learned_, len(centres)) == (200, 500)
    np.testing.assert_array_equal(centres, X[member.support_])
    assert len(np.unique(centres, axis=0)) == len(centres)
    for centre, own in zip(centres[200:], theta[200:], strict=True):
        squares = ((theta[:200] * (centre - centres[:200])) ** 2).sum(axis=1)
        np.testing.assert_array_equal(own, theta[np.argmin(squares)])


def test_all_rows_of_a_collection_limit_the_growth(grows, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(collection, "SAMPLE_ROWS", 650)
    monkeypatch.setattr(constants, "GROWTH_COST", 700 * 450.0**2)
    rows, encode = (da.from_array(X), da.from_array(y)), LABRBFRegressor()._encode_arrays
    table, _ = collection.build_table(*rows, None, encode, seed=None)
    assert len(table) < 700
    model = LABRBFRegressor(dense=False)
    assert model._resolve_settings(table, LABRBFAlgorithm(), 0).n_grown == 450


@pytest.mark.parametrize(
    ("n", "in_classes", "in_regression"), [(4000, 800, 800), (200_000, 1000, 500)]
)
def test_only_regression_limits_the_growth_by_its_cost(n, in_classes, in_regression):
    """Logistic regressions take at most 20 000 rows."""
    table = Table.from_arrays(np.zeros((n, 1)), np.zeros((n, 1)), None)
    for model, count in (
        (LABRBFClassifier(), in_classes),
        (LABRBFRegressor(dense=False), in_regression),
    ):
        assert model._resolve_settings(table, LABRBFAlgorithm(), 0).n_grown == count


def test_ridge_fit_uses_all_centres(grows):
    model = LABRBFRegressor(**QUICK).fit(X, y)
    (member,) = model.members_
    F, target = member.features(X), y - y.mean()
    a = np.linalg.solve(F.T @ F + member.alpha_ * np.eye(F.shape[1]), F.T @ target)
    np.testing.assert_allclose(member.expand(X)[:, 0], F @ a + y.mean(), atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_give_their_coefficients_to_some(grows, monkeypatch, weighted):
    monkeypatch.setattr(constants, "COEFFICIENT_ROWS", 650)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    table = Table.from_arrays(X, y[:, None], weights)
    rows, w = table.random_rows(650), np.ones(len(X)) if weights is None else weights
    assert len(np.unique(rows)) == table.n_rows == 650
    model = LABRBFRegressor(**QUICK).fit(X, y, weights)
    (member,), mean = model.members_, np.average(y, weights=w)
    F = member.features(X[rows])
    A = F.T @ (w[rows, None] * F) + member.alpha_ * np.eye(F.shape[1])
    a = np.linalg.solve(A, F.T @ (w[rows] * (y[rows] - mean)))
    np.testing.assert_allclose(member.expand(X)[:, 0], member.features(X) @ a + mean, atol=1e-6)
    again = model.predict(X)
    np.testing.assert_allclose(model.refit_coefficients(X, y, weights).predict(X), again, atol=1e-9)


@pytest.mark.parametrize("limit", [650, 700])
def test_a_collection_and_arrays_have_the_same_rows_for_the_coefficients(grows, monkeypatch, limit):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(constants, "COEFFICIENT_ROWS", limit)
    model, there = LABRBFRegressor(**QUICK).fit(X, y), LABRBFRegressor(**QUICK)
    there.fit(da.from_array(X, chunks=(300, 3)), da.from_array(y, chunks=300))
    np.testing.assert_allclose(there.predict(X), model.predict(X), rtol=0, atol=1e-8)


def test_warm_start_continues_the_learned_centres(grows):
    model = LABRBFRegressor(**QUICK, warm_start=True).fit(X, y)
    learned = model.members_[0].kernel_.centres[:200]
    model.fit(X, y)
    (member,) = model.members_
    assert (member.n_learned_, len(member.support_)) == (200, 500)
    np.testing.assert_array_equal(member.kernel_.centres[:200], learned)


@pytest.mark.parametrize("class_weight", ["balanced", {"high": 3.0, "low": 0.5}])
def test_class_weight_multiplies_sample_weight(class_weight):
    points, labels, weight = X[:200], LABELS[:200], WEIGHT
    counts = {label: list(labels).count(label) for label in ("high", "low")}
    if class_weight == "balanced":
        factors = {label: 200 / 2 / count for label, count in counts.items()}
    else:
        factors = class_weight
    own, kind = weight * [factors[label] for label in labels], {**QUICK, "dense": True}
    weighted = LABRBFClassifier(20, **kind, class_weight=class_weight).fit(points, labels, weight)
    plain = LABRBFClassifier(20, **kind).fit(points, labels, own)
    assert len(weighted.members_) == len(plain.members_) == 2
    for _ in range(2):
        probabilities = (model.predict_proba(points) for model in (weighted, plain))
        np.testing.assert_allclose(*probabilities, atol=1e-12)
        weighted.refit_coefficients(points, labels, weight)
        plain.refit_coefficients(points, labels, own)


def test_balanced_weights_of_a_refit_need_no_row_of_each_class():
    points, labels = X[:200], np.array([*"abc"])[np.digitize(y[:200], np.quantile(y, [0.3, 0.6]))]
    model = LABRBFClassifier(20, **QUICK, class_weight="balanced").fit(points, labels)
    some = labels != "c"
    probability = model.refit_coefficients(points[some], labels[some]).predict_proba(points)
    assert probability.shape == (200, 3)
    assert np.isfinite(probability).all()


def test_class_weights_that_delete_a_class_are_refused():
    refused = pytest.raises(ValueError, match="rows of class 'low' have less than 1e-9")
    with pytest.warns(SampleWeightWarning, match="below 1e-9 times"), refused:
        LABRBFClassifier(class_weight={"high": 1e4, "low": 1e-6}).fit(X, LABELS)


def test_learned_centres_remain_if_fewer_are_grown(grows):
    model = LABRBFRegressor(**QUICK, n_support=600).fit(X, y)
    learned = model.members_[0].kernel_.centres
    model.set_params(n_support="auto", warm_start=True).fit(X, y)
    np.testing.assert_array_equal(model.members_[0].kernel_.centres, learned)


@pytest.mark.parametrize("class_weight", ["even", {"high": 0.0, "low": 1.0}, 3])
def test_invalid_class_weights(class_weight):
    with pytest.raises(ValueError, match=r"class.weight"):
        LABRBFClassifier(class_weight=class_weight).fit(X, LABELS)
