"""The blend of a comparison: fold scores use weights from the other folds."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import KFold

from pliant.comparison.blend import blend_weights, learn_blend
from pliant.comparison.metrics import METRICS
from pliant.comparison.protocol import Protocol
from pliant.comparison.standings import finished, standings
from tests.comparison.comparison_cases import entry, record

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
    return learn_blend(places, cells, truth, classes, metric)


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
            w = blend_weights(values, y, classes=classes)
            values, y, rows = stacked(repeat, [fold])
            held_out[rows] = np.tensordot(w, values, 1)
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
