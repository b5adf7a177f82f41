"""Blend weights against a conic solver; blends as estimators, in files and in comparisons."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_friedman1
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from pliant.exceptions import ModelFileError
from pliant.persistence import load, save
from pliant.tables.comparison import blend
from pliant.tables.comparison.blend import (
    BEST,
    LEAST,
    POWER,
    SHRINKAGE,
    SMALLEST,
    TRUST,
    BlendClassifier,
    BlendRegressor,
    blend_weights,
    extended_range,
)
from pliant.tables.comparison.blending import held_out_of, learn_blend
from pliant.tables.comparison.metrics import METRICS, metrics_of
from pliant.tables.comparison.protocol import Protocol
from pliant.tables.comparison.standings import finished, standings
from tests.comparison.comparison_cases import entry, record

TREE = DecisionTreeRegressor(max_depth=3, random_state=0)
REGRESSORS = [("linear", Ridge()), ("tree", TREE), ("mean", DummyRegressor())]
CLASSIFIERS = [
    ("linear", LogisticRegression()),
    ("lda", LinearDiscriminantAnalysis()),
    ("d", DummyClassifier()),
]


def held_out(seed, task, n=60, k=5, n_classes=3):
    """Return predictions of k models of different accuracy, and the targets."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(k, n)) * rng.uniform(0.3, 2.0, (k, 1))
    if task == "regression":
        y = 50 + 20 * rng.normal(size=n)
        return list(y + 20 * errors + 5 * rng.normal(size=n)), y, None
    y = rng.integers(0, n_classes, n)
    heights = (np.arange(n_classes) == y[:, None]) + rng.normal(size=(k, n, n_classes))
    odds = np.exp(heights * rng.uniform(0.5, 2.0, (k, 1, 1)))
    labels = np.array(["a", "b", "c"])[:n_classes]
    return list(odds / odds.sum(axis=2, keepdims=True)), labels[y], labels


def by_cvxpy(predictions, y, classes, shrinkage, trusted=None):
    """Return the weights by their documented definition, before truncation of small weights."""
    P, n = np.stack(predictions), len(y)
    if classes is not None:
        codes = np.searchsorted(classes, y)
        P = np.clip(P, SMALLEST, 1.0)[:, np.arange(n), codes]
        alone = -np.log(P).mean(axis=1)
    else:
        alone = ((P - y) ** 2).mean(axis=1)
    u = np.where(np.argsort(np.argsort(alone)) < BEST, (alone.min() / alone) ** POWER, 0.0)
    u /= u.sum()
    if trusted is not None:
        u = (1 - TRUST) * u + TRUST * np.eye(len(P))[trusted]
    w = cp.Variable(len(P), nonneg=True)
    mixed = P.T @ w
    loss = cp.sum_squares(mixed - y) / n if classes is None else -cp.sum(cp.log(mixed)) / n
    pull = shrinkage / n * cp.sum_squares(w - u)
    problem = cp.Problem(cp.Minimize(loss / alone.min() + pull), [cp.sum(w) == 1])
    with warnings.catch_warnings():
        # The last digits of its tolerance, 1e-8, depend on rounding; the tests compare at 1e-4.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL)
    return w.value


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize(("shrinkage", "trusted"), [(0.0, None), (SHRINKAGE, None), (SHRINKAGE, 1)])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_weights_match_conic_solver(task, shrinkage, trusted, seed, monkeypatch):
    monkeypatch.setattr(blend, "SHRINKAGE", shrinkage)
    monkeypatch.setattr(blend, "LEAST", 0.0)
    predictions, y, classes = held_out(seed, task, k=2 + seed)
    found = blend_weights(predictions, y, classes=classes, trusted=trusted)
    expected = by_cvxpy(predictions, y, classes, shrinkage, trusted)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_small_weights_become_zero(task, monkeypatch):
    some = 0
    for seed in range(6):
        predictions, y, classes = held_out(seed, task)
        w = by_cvxpy(predictions, y, classes, SHRINKAGE)
        left = np.where(w < LEAST, 0.0, w)
        found = blend_weights(predictions, y, classes=classes)
        np.testing.assert_allclose(found, left / left.sum(), atol=2e-4)
        some += (found == 0.0).sum()
    assert some > 0


def test_the_largest_of_many_small_weights_remains():
    """Errors of twelve models that are orthogonal have equal weights below the smallest one."""
    n = 12 * 200
    errors = np.zeros((12, n))
    for k in range(12):
        errors[k, k::12] = np.where(np.arange(200) % 2, 1.0, -1.0)
    y = np.random.default_rng(0).normal(size=n)
    found = blend_weights(list(y + errors), y)
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1.0)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["regression", "classification"]),
    st.integers(1, 7),
    st.integers(4, 40),
    st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_weights_are_on_the_simplex_and_permute(seed, task, k, n, unit):
    predictions, y, classes = held_out(seed, task, n, k)
    if task == "regression":
        predictions, y = [unit * p for p in predictions], unit * y
    w = blend_weights(predictions, y, classes=classes)
    assert w.shape == (k,)
    assert ((w == 0.0) | (w >= LEAST)).all()
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    order = np.random.default_rng(seed).permutation(k)
    turned = blend_weights([predictions[j] for j in order], y, classes=classes)
    np.testing.assert_allclose(turned, w[order], atol=2e-3)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_dominating_model_gets_all_weight(task):
    predictions, y, classes = held_out(3, task, n=4000)
    perfect = y if classes is None else (classes == y[:, None]).astype(float)
    close = 0.999 * perfect + 0.001 * predictions[0]
    w = blend_weights([*predictions, close], y, classes=classes)
    np.testing.assert_array_equal(w, [0, 0, 0, 0, 0, 1])


def test_weights_are_finite_in_degenerate_cases():
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    w = blend_weights([sure, sure[::-1], np.full((3, 2), 0.5)], ["a", "b", "b"], classes=["a", "b"])
    assert w.sum() == pytest.approx(1.0)
    y = np.arange(4.0)
    assert blend_weights([y, y + 1.0], y)[0] > 0.9
    np.testing.assert_allclose(blend_weights([y, y], y), [0.5, 0.5])


def regression(n=200, seed=0):
    return make_friedman1(n, 5, noise=1.0, random_state=seed)


def classification(n=200, seed=0):
    X, y = make_classification(n, 6, n_informative=4, n_classes=3, random_state=seed)
    return X, np.array(["low", "mid", "top"])[y]


CASES = {"regression": (BlendRegressor, REGRESSORS, regression, KFold, "predict")}
CASES["classification"] = (
    *(BlendClassifier, CLASSIFIERS, classification, StratifiedKFold, "predict_proba"),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_blend_is_weighted_mean_of_refitted_members(case):
    kind, members, data, folds, method = case
    X, y = data()
    model = kind(members).fit(X, y)
    learned = [cross_val_predict(m, X, y, cv=folds(5), method=method) for _, m in members]
    classes = None if kind is BlendRegressor else np.unique(y)
    weights = blend_weights(learned, y, classes=classes)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-12)
    fitted = [getattr(m.fit(X, y), method)(X) for _, m in members]
    expected = np.tensordot(model.weights_, np.stack(fitted), 1)
    np.testing.assert_allclose(getattr(model, method)(X), expected, rtol=1e-12)
    if classes is not None:
        np.testing.assert_array_equal(model.predict(X), classes[expected.argmax(axis=1)])
    else:
        errors = np.sort(y - np.tensordot(weights, np.stack(learned), 1))
        np.testing.assert_allclose(model.errors_, errors, atol=1e-12)


@pytest.mark.parametrize("n_features", [7, 2500])
def test_importances_are_shares_of_the_losses_of_permuted_groups(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_features))
    y = 3 * X[:, 0] + X[:, 5] + 0.1 * rng.normal(size=60)
    model = BlendRegressor([("linear", Ridge())]).fit(X, y)
    rows = min(60, max(20, 20_000 // n_features))
    chosen = np.linspace(0, 59, rows).astype(int)
    points, target = X[chosen], y[chosen]
    order = np.random.default_rng(0).permutation(rows)
    base = np.mean((model.predict(points) - target) ** 2)
    expected = np.zeros(n_features)
    for group in np.array_split(np.arange(n_features), min(n_features, 1000)):
        other = points.copy()
        other[:, group] = points[order][:, group]
        lost = np.mean((model.predict(other) - target) ** 2) - base
        expected[group] = max(lost, 0.0) / len(group)
    found = model.feature_importances_
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-6, atol=1e-12)
    assert found[0] > 10 * np.median(found)


def test_coverage_of_intervals():
    """Mean coverage of 2000 new targets, over 10 samples of size 200."""
    members = [("linear", Ridge()), ("trees", ExtraTreesRegressor(20, random_state=0))]
    held = {0.5: [], 0.9: []}
    for seed in range(10):
        model = BlendRegressor(members).fit(*regression(200, seed))
        X, y = regression(2000, 1000 + seed)
        for coverage, found in held.items():
            low, high = model.predict_interval(X, coverage).T
            found.append(np.mean((low <= y) & (y <= high)))
    for coverage, found in held.items():
        assert coverage - 0.02 < np.mean(found) < coverage + 0.06


def test_interval_quantiles():
    X, y = regression(19)
    model = BlendRegressor([("mean", DummyRegressor())], cv=19).fit(X, y)
    low, high = (model.predict_interval(X, 0.9) - model.predict(X)[:, None]).T
    np.testing.assert_allclose(low, model.errors_[0])  # the extreme errors: 5 % of 20 ranks
    np.testing.assert_allclose(high, model.errors_[-1])
    assert np.isinf(model.predict_interval(X, 0.95)).all()
    low, high = (model.predict_interval(X[:1], 0.5) - model.predict(X[:1])[:, None]).T
    assert (low, high) == pytest.approx((model.errors_[4], model.errors_[14]))
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 1.0)


def test_invalid_input_is_refused():
    X, y = regression(30)
    with pytest.raises(ValueError, match=r"at least one pair \('name', estimator\), got none"):
        BlendRegressor([]).fit(X, y)
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        BlendClassifier(CLASSIFIERS).fit(X, y)


def test_missing_values_depend_on_members():
    X, y = regression()
    X[::5, 1] = np.nan
    trees = [(f"{k}", DecisionTreeRegressor(max_depth=k, random_state=0)) for k in (1, 3)]
    assert np.isfinite(BlendRegressor(trees).fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="NaN"):
        BlendRegressor(REGRESSORS).fit(X, y)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_blend_round_trip_through_model_file(case, tmp_path):
    kind, members, data, _, method = case
    X, y = data()
    model = kind(members).fit(X, y)
    save(model, tmp_path / "blend.pliant")
    loaded = load(tmp_path / "blend.pliant")
    expected = getattr(model, method)(X)
    tolerance = {"rtol": 1e-13, "atol": 1e-13 * np.abs(expected).max()}
    np.testing.assert_allclose(getattr(loaded, method)(X), expected, **tolerance)
    assert [name for name, _ in loaded.members_] == [name for name, _ in members]
    if kind is BlendRegressor:
        np.testing.assert_allclose(
            loaded.predict_interval(X), model.predict_interval(X), **tolerance
        )
    with pytest.raises(TypeError, match="was loaded from a file: it predicts"):
        loaded.fit(X, y)
    save(loaded, tmp_path / "again.pliant")
    np.testing.assert_array_equal(
        getattr(load(tmp_path / "again.pliant"), method)(X), getattr(loaded, method)(X)
    )


@pytest.mark.parametrize(
    "weights", [[0.5, 0.5], [0.5, 0.6, 0.1], [1.5, -0.5, 0.0], [np.nan, 0.5, 0.5], [[1.0, 0, 0]]]
)
def test_invalid_weights_in_model_file_are_refused(weights, tmp_path, monkeypatch):
    model = BlendRegressor(REGRESSORS).fit(*regression())
    model.weights_ = np.array(weights)
    with monkeypatch.context() as patch:
        patch.setattr("pliant.persistence._objects.check_loaded", lambda record: None)
        save(model, tmp_path / "blend.pliant")
    with pytest.raises(ModelFileError, match=r"expected (3 weights >= 0|weights_)"):
        load(tmp_path / "blend.pliant")


NAMES = ("linear", "dank", "tkl", "svm")
CLASSES = ["no", "yes"]
ROWS = 60


def made(task, *, folds=3, repeats=2, seed=0, names=NAMES):
    """Return records with predictions of different accuracy, and the target of each row."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=ROWS) if task == "regression" else rng.integers(0, 2, ROWS)
    records = []
    for repeat in range(repeats):
        splits = KFold(folds, shuffle=True, random_state=repeat).split(y)
        for fold, (_, test) in enumerate(splits):
            for k, name in enumerate(names):
                noise = rng.normal(size=len(test)) * (0.5 + 0.3 * k)
                if task == "regression":
                    scores = {"r2": r2_score(y[test], y[test] + noise)}
                    values = (y[test] + noise).tolist()
                else:
                    p = 1 / (1 + np.exp(-2 * (2 * y[test] - 1 + noise)))
                    scores = {"accuracy": float(np.mean((p > 0.5) == y[test]))}
                    values = np.column_stack([1 - p, p]).tolist()
                kept = {"rows": test.tolist(), "values": values}
                records.append(record(name, repeat, fold, scores, kept=kept))
    truth = {k: value if task == "regression" else CLASSES[value] for k, value in enumerate(y)}
    return records, truth


def blend_of(records, truth, task, *, entries=None, folds=3, repeats=2):
    entries = entries or [entry(name) for name in NAMES]
    metric = METRICS["r2" if task == "regression" else "accuracy"]
    cells = finished(entries, records)
    places = standings(entries, records, metric, Protocol(folds=folds, repeats=repeats))
    classes = None if task == "regression" else CLASSES
    metrics = {each.name: each for each in (*metrics_of(task), metric)}
    held_out = held_out_of(places, cells, truth, classes, metric)
    return learn_blend(held_out, [*metrics.values()])


def without(records, name, fold=None, **changed):
    """Return records with changed values for a method, in one fold or in all folds."""
    return [
        each | changed if each["method"] == name and fold in (None, each["fold"]) else each
        for each in records
    ]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_fold_scores_use_weights_from_other_folds(task):
    records, truth = made(task)
    found = blend_of(records, truth, task)
    classes = None if task == "regression" else np.array(CLASSES)
    by_place = {(r["method"], r["repeat"], r["fold"]): r["kept"] for r in records}

    def stacked(repeat, folds):
        kept = [[by_place[name, repeat, fold] for fold in folds] for name in NAMES]
        rows = np.concatenate([each["rows"] for each in kept[0]])
        values = [np.concatenate([each["values"] for each in some]) for some in kept]
        return values, np.array([truth[row] for row in rows]), rows

    sums = 0.0
    for repeat in range(2):
        held_out = np.zeros((ROWS, *np.shape(records[0]["kept"]["values"])[1:]))
        for fold in range(3):
            values, y, _ = stacked(repeat, [other for other in range(3) if other != fold])
            limits = extended_range(y) if classes is None else (0.0, 1.0)
            w = blend_weights(np.clip(values, *limits), y, classes=classes)
            values, y, rows = stacked(repeat, [fold])
            held_out[rows] = np.tensordot(w, np.clip(values, *limits), 1)
            scores = found.scores[repeat, fold]
            if task == "regression":
                assert scores["r2"] == pytest.approx(r2_score(y, held_out[rows]), rel=1e-3)
                continue
            labels = classes[held_out[rows].argmax(axis=1)]
            assert scores["accuracy"] == pytest.approx(accuracy_score(y, labels), abs=1e-12)
            loss = log_loss(y, held_out[rows], labels=CLASSES)
            assert scores["log_loss"] == pytest.approx(loss, rel=1e-3)
        sums = sums + held_out
    np.testing.assert_allclose(found.values, sums / 2, atol=2e-3)
    np.testing.assert_array_equal(found.rows, np.arange(ROWS))
    assert found.y.tolist() == list(truth.values())
    both = [stacked(repeat, range(3)) for repeat in range(2)]
    values = [np.concatenate(parts) for parts in zip(*(each[0] for each in both), strict=True)]
    y = np.concatenate([each[1] for each in both])
    values = np.clip(values, *extended_range(y)) if classes is None else values
    final = dict(zip(NAMES, blend_weights(values, y, classes=classes), strict=True))
    assert found.weights == {name: pytest.approx(w, abs=2e-3) for name, w in final.items() if w > 0}
    assert list(found.weights.values()) == sorted(found.weights.values(), reverse=True)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_target_of_a_row_does_not_affect_its_prediction(task):
    records, truth = made(task)
    before = blend_of(records, truth, task)
    for row in (0, 17):
        other = truth | {
            row: 9.0 if task == "regression" else {"no": "yes", "yes": "no"}[truth[row]]
        }
        after = blend_of(records, other, task)
        np.testing.assert_array_equal(after.values[row], before.values[row])
        assert not np.array_equal(after.values, before.values)


def test_methods_without_weight():
    """The dummy, unsavable estimators, and methods without stored predictions, though accurate."""
    records, truth = made("regression", names=("dummy", "a", "b", "linear", "dank"))
    kept = without(records, "b", fold=1, kept=None)
    entries = [entry("dummy"), entry("a", blends=False), entry("b"), entry("linear"), entry("dank")]
    found = blend_of(kept, truth, "regression", entries=entries)
    assert set(found.weights) == {"linear", "dank"}
    only = [entry("dummy"), entry("a", blends=False)]
    assert blend_of(records, truth, "regression", entries=only) is None
    assert blend_of([], truth, "regression") is None


def test_failed_folds_are_excluded_for_all_methods():
    """The second of three folds is not a common fold."""
    records, truth = made("regression", repeats=1)
    broken = without(records, "dank", fold=1, status="error", scores={})
    found = blend_of(broken, truth, "regression", repeats=1)
    assert set(found.scores) == {(0, 0), (0, 2)}
    assert "dank" in found.weights
    left = [each for each in records if each["fold"] != 1]
    assert blend_of(left, truth, "regression", repeats=1).weights == found.weights


def test_single_fold_has_weights_but_no_score():
    records, truth = made("regression", repeats=1)
    found = blend_of([each for each in records if each["fold"] == 0], truth, "regression")
    assert found.scores == {}
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert len(found.rows) == len(found.values) == ROWS // 3


@pytest.mark.parametrize("names", [("linear", "lab-rbf", "svm"), NAMES])
def test_in_the_first_fold_in_time_the_blend_is_lab_rbf_or_the_mean(names):
    records, truth = made("regression", repeats=1, names=names)
    entries, metric = [entry(name) for name in names], METRICS["r2"]
    cells = finished(entries, records)
    places = standings(entries, records, metric, Protocol(folds=3, repeats=1))
    held_out = held_out_of(places, cells, truth, None, metric)
    found = learn_blend(held_out, [metric], ordered=True)
    assert set(found.scores) == {(0, fold) for fold in range(3)}
    first = {r["method"]: r["kept"] for r in records if r["fold"] == 0}
    y = np.array([truth[row] for row in first["linear"]["rows"]])
    values = {n: np.clip(kept["values"], *extended_range(y)) for n, kept in first.items()}
    expected = values.get("lab-rbf", np.mean([*values.values()], axis=0))
    assert found.scores[0, 0]["r2"] == pytest.approx(r2_score(y, expected))
    later = {place: held_out.rows[place] for place in [(0, 0), (0, 1)]}
    learned = dict(zip(held_out.names, held_out.weights_from(later), strict=True))
    limits = extended_range(np.concatenate([held_out.y[place] for place in later]))
    last = {r["method"]: r["kept"] for r in records if r["fold"] == 2}
    mean = sum(learned[name] * np.clip(last[name]["values"], *limits) for name in names)
    y = np.array([truth[row] for row in last["linear"]["rows"]])
    assert found.scores[0, 2]["r2"] == pytest.approx(r2_score(y, mean), abs=1e-9)


def test_a_member_far_outside_the_target_range_is_clipped():
    X, y = np.linspace(-1, 1, 40)[:, None], 1000.0 * np.linspace(-1, 1, 40)
    members = [("linear", Ridge(1e-9)), ("mean", DummyRegressor())]
    model = BlendRegressor(members).fit(X, y)
    assert model.weights_[0] > 0.5
    np.testing.assert_allclose(model.target_range_, [-1250.0, 1250.0])
    expected = model.weights_ @ [1250.0, 0.0]
    np.testing.assert_allclose(model.predict([[1e9]]), expected, atol=1e-6)
