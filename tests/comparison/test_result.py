"""The result of a comparison: text, data frames, and the final model."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import compare
from pliant.exceptions import Interrupted
from pliant.persistence import load, save
from pliant.tables.comparison import cells
from pliant.tables.comparison.blending import BlendOutcome
from pliant.tables.comparison.contenders import methods_of
from pliant.tables.comparison.outcome import Expected
from pliant.tables.comparison.protocol import Entry
from pliant.tables.comparison.result import ComparisonResult
from pliant.tables.comparison.sample import Sample
from pliant.tables.comparison.search import search
from pliant.tables.comparison.sentences import missing_of
from tests.comparison.comparison_cases import entry, result_of, run_here
from tests.comparison.report.report_cases import HOSTILE
from tests.comparison.test_blend import CLASSES, NAMES, made
from tests.comparison.test_reading import frame

OPTIONS = {"folds": 2, "repeats": 1, "budget": None, "n_jobs": 1}


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    run_here(monkeypatch)


def with_predictions(task="regression", repeats=2):
    """Return a result of three folds with stored predictions, and therefore a blend."""
    records, truth = made(task, repeats=repeats)
    metric = "r2" if task == "regression" else "accuracy"
    facts = {"target": "y", "classes": None if task == "regression" else CLASSES}
    plain = result_of({name: [] for name in NAMES}, "t", metric, folds=3, repeats=repeats, **facts)
    known = {str(row): value for row, value in truth.items()}
    return replace(plain, records=tuple(records), truth=known)


def test_a_pickle_holds_the_result_and_no_functions():
    """So a process can raise `Interrupted` in another one, and return a comparison."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    result = compare(X, X[:, 0] + 0.1 * X[:, 1] ** 2, methods=["linear"], **OPTIONS)
    best = result.best
    stop = pickle.loads(pickle.dumps(Interrupted(result, lambda: None)))
    for again in (pickle.loads(pickle.dumps(result)), stop.result):
        assert (again.best, again.to_dict()) == (best, result.to_dict())
        with pytest.raises(ValueError, match="without its table"):
            again.fit_best("linear")
    with pytest.raises(ValueError, match="another has the result alone"):
        _ = stop.model
    assert result.source is not None
    assert copy.copy(result).source is result.source


def test_blend_is_recommended():
    result = with_predictions()
    scores = [each["r2"] for each in result.blend.scores.values()]
    error = np.sqrt((1 / 6 + 1000 / 4000 + 1000 / 5000) * np.var(scores, ddof=1))
    low, high = stats.t.interval(0.9, 5, np.mean(scores), error)
    expected = result.expected
    assert (expected.mean, expected.low, expected.high) == pytest.approx(
        (np.mean(scores), low, high), rel=1e-12
    )
    assert result.best == "blend"
    single = result.best_single
    assert single.mean == max(each.mean for each in result.standings())
    assert result.sentence() == (
        f"Predict with the blend: R2 {expected.mean:.3f} ({low:.3f} to {high:.3f}) on held-out "
        f"rows; best single method Linear {single.mean:.3f}."
    )
    assert set(expected.means) == {"r2", "rmse", "mae"}
    lines = repr(result).splitlines()
    assert lines[0].endswith(": regression of 'y', 500 rows, 3 columns")
    assert result.sentence() in " ".join(lines)
    first = [line.split()[0] for line in lines[5:10]]
    assert first == ["Blend", "Linear", "DANK", "TKL", "Gaussian"]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_plain_data_and_data_frames(task):
    result = with_predictions(task)
    plain = json.loads(json.dumps(result.to_dict()))
    again = ComparisonResult.from_dict(plain)
    assert again.sentence() == result.sentence() == plain["sentence"]
    assert again.standings() == result.standings()
    assert again.blend.weights == result.blend.weights == plain["weights"]
    assert plain["expected"]["mean"] == result.expected.mean
    board, scores = result.leaderboard, result.scores
    assert board["name"].tolist() == [each.method.name for each in result.standings()]
    assert board["weight"].sum() == pytest.approx(1.0)
    assert board.set_index("name")["mean"].to_dict() == pytest.approx(
        scores.groupby("method")["value"].mean().to_dict()
    )
    assert len(scores) == 6 * len(NAMES)


TEN = [0.9, 0.8, 0.85, 0.9, 0.8] * 2


def said(scores=None, **facts):
    chosen = {"folds": 5, "repeats": 2} | facts
    return result_of(scores or {"svm": TEN}, **chosen).sentence()


def test_sentences():
    assert said() == "Predict with Gaussian SVM: accuracy 0.850 (0.786 to 0.914) on held-out rows."
    assert said({"svm": []}) == said({"dummy": TEN}) != said()
    apart = {"svm": [0.9, None], "linear": [None, 0.9]}
    assert said(apart).startswith("The methods have no fold in common, so none can be recommended")
    assert said({"svm": []}) == "No method finished a fold, so none can be recommended."
    rare = said(classes=["no", "yes"], counts=[480, 20])
    assert "Class 'yes' has 4.0% of the rows" in rare
    assert "most frequent class gives an accuracy of 0.960" in rare
    assert said(classes=["no", "yes"], counts=[450, 50]) == said()
    whole = said(classes=[3, 4, 5, 6, 7, 8], target="quality")
    assert "The 6 values of 'quality' are treated as classes: set the task to regression" in whole
    assert said(classes=[3, 4, 5, 6, 7]) == said(classes=[*"abcdefgh"]) == said()
    assert "4 folds" in said({"svm": TEN[:4]})
    assert "1 fold " in said({"svm": TEN[:1]})
    assert said(rows=150).endswith("With only 150 rows, scores on new rows may differ a lot.")


def test_a_better_method_outside_the_blend_is_told():
    scores = {"svm": [0.7] * 10, "mine": [0.9] * 10}
    result = result_of(scores, folds=5, repeats=2)
    entries = tuple(replace(each, blends=each.name != "mine") for each in result.methods)
    result = replace(result, methods=entries)
    vars(result)["blend"] = BlendOutcome({"svm": 1.0}, {}, np.arange(0), np.arange(0), None, None)
    assert result.best == "svm"
    assert "accuracy 0.700" in result.sentence()
    assert result.sentence().endswith("; best single method Mine 0.900.")


@pytest.mark.parametrize(("ahead", "told"), [(0.01, True), (1e-6, False), (-0.01, False)])
def test_caution_if_single_method_beats_blend(ahead, told):
    result = with_predictions()
    vars(result)["expected"] = Expected(result.best_single.mean - ahead, None, None, {})
    assert ("selected as the best of 4" in result.sentence()) == told


def test_single_job_starts_no_process(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=60)
    methods = [("a", Ridge()), ("b", RandomForestRegressor(5, random_state=0))]
    result = compare(X, y, methods=methods, **OPTIONS)
    monkeypatch.setattr(cells, "_FREE", [])
    monkeypatch.setattr(cells, "_started", lambda: pytest.fail("started"))
    assert result.best == "blend"
    assert result.fit_best().predict(X).shape == (60,)


def test_blend_of_one_fold_has_no_score():
    result = with_predictions()
    one = replace(result, records=tuple(r for r in result.records if r["fold"] + r["repeat"] == 0))
    assert one.best == "blend"
    assert (one.expected.mean, one.expected.low, one.expected.high) == (None, None, None)
    assert one.sentence().startswith("Predict with the blend")
    single = one.best_single
    assert f"best single method {single.method.title} {single.mean:.3f}" in one.sentence()


def test_missing_methods_by_reason():
    methods = (
        *(entry("svm"), entry("a", "unfinished", "far"), entry("b", "skipped", "is not installed")),
        *(
            entry("c", "unfinished", "far"),
            entry("d", "error", "ValueError: no"),
            entry("e", "cut"),
        ),
    )
    assert missing_of(replace(result_of({"svm": TEN}), methods=methods)) == [
        "A and C: not finished, far",
        "B: not tried, is not installed",
        "D: failed, ValueError: no",
        "E: cut short",
    ]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_notebook_html_is_escaped(hostile):
    result = result_of({"svm": [0.8, 0.9], "dank": [0.9, 1.0]})
    entries = (
        replace(result.methods[0], title=hostile),
        Entry("dank", hostile, hostile, "", "done"),
    )
    html = replace(result, methods=entries)._repr_html_()
    assert html.count("<tr") == 3
    assert not any(mark in html for mark in ("<script", "<img", "http", "\u202e", "\x1b"))


def noisy(n=90):
    r = np.random.default_rng(0)
    X = r.normal(size=(n, 2))
    return X, 1e3 * (np.sin(1.3 * X[:, 0]) - 0.5 * X[:, 1] + 0.3 * r.normal(size=n))


@pytest.fixture(scope="module")
def blended():
    """A comparison in which two methods have weight."""
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch)
        return compare(*noisy(), methods=["dummy", "linear", "svm"], **OPTIONS | {"folds": 3})


def test_blend_is_fitted_on_all_rows_and_saved(blended, tmp_path):
    assert blended.best == "blend"
    X, y = noisy()
    model = blended.fit_best()
    assert set(blended.blend.weights) == {"linear", "svm"}
    alone = {name: blended.fit_best(name).predict(X) for name in blended.blend.weights}
    mixed = sum(w * alone[name] for name, w in blended.blend.weights.items())
    np.testing.assert_allclose(model.predict(X), mixed, rtol=1e-12)
    errors = y[blended.blend.rows] - blended.blend.values
    np.testing.assert_array_equal(model.errors_, np.sort(errors))
    save(model, tmp_path / "model.pliant")
    loaded = load(tmp_path / "model.pliant")
    np.testing.assert_allclose(
        loaded.predict_interval(X), model.predict_interval(X), atol=1e-12 * np.abs(y).max()
    )


@pytest.mark.parametrize(("svm", "told"), [(0.7, True), (0.6, True), (0.75, False)])
def test_a_model_no_better_than_the_dummy_is_called_that(svm, told):
    result = result_of({"svm": [svm, svm], "dummy": [0.7, 0.7]}, classes=["a", "b"])
    said = "This is no better than always predicting the most frequent class."
    assert (said in result.sentence()) == told
    assert (said in repr(result).replace("\n", " ")) == told


@pytest.mark.parametrize(
    ("status", "repeats", "told"),
    [
        ("unfinished", 1, "A larger budget would run the missing folds of Random forest."),
        ("done", 2, "All folds have run; a larger budget would repeat them"),
        ("done", 1, "All folds of all repeats have run; a larger budget would add nothing"),
    ],
)
def test_a_result_says_what_a_larger_budget_would_add(status, repeats, told):
    result = result_of({"svm": [0.7, 0.8], "forest": [0.6, 0.7]}, repeats=repeats)
    entries = [replace(each, status=status) for each in result.methods if each.name == "forest"]
    found = replace(result, budget=60.0, methods=(result.methods[0], *entries))
    assert told in repr(found).replace("\n", " ")
    for other in (result, replace(found, interrupted=True)):
        assert told not in repr(other).replace("\n", " ")


def test_blend_accepts_data_frames(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.tables.comparison.blend.LEAST", 0.0)
    X, _ = frame(120)
    y = X["age"].fillna(0.0) + np.sin(3.0 * X["age"].fillna(0.0)) + X["ok"]
    result = compare(X, y, methods=["linear", "extra-trees"], **OPTIONS)
    assert result.best == "blend"
    model = result.best_estimator_
    assert result.best_estimator_ is model
    np.testing.assert_array_equal(model.predict(X.iloc[:, ::-1]), model.predict(X))
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="the table lacks the column 'ok'"):
        model.predict(X.drop(columns="ok"))
    save(model, tmp_path / "model.pliant")
    loaded = load(tmp_path / "model.pliant")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_calibrated_probabilities_in_blend():
    X, y = noisy(80)
    labels = np.where(y > 0, "up", "down")
    result = compare(X, labels, methods=["linear", "svm"], **OPTIONS)
    model = result.fit_best("blend")
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    alone = result.fit_best("svm")
    assert hasattr(alone, "decision_function")
    assert not hasattr(alone, "predict_proba")


def test_final_fit_repeats_search_on_all_rows(blended):
    """The settings come from a new search on all rows."""
    X, y = noisy()
    (linear,) = methods_of(["linear"], "regression", 60)
    protocol = blended.protocol
    chosen = search(linear, Sample.of(X, y), np.arange(90), protocol, protocol.seed)
    (alpha,) = chosen.values()
    expected = make_pipeline(StandardScaler(), Ridge(alpha)).fit(X, (y - y.mean()) / y.std())
    found = blended.fit_best("linear").predict(X)
    np.testing.assert_allclose(found, expected.predict(X) * y.std() + y.mean())
    np.testing.assert_allclose(blended.fit_best("dummy").predict(X), y.mean())


def test_unsavable_estimators_are_not_blended():
    X, y = frame(120)
    strange = type("Strange", (RandomForestClassifier,), {"__module__": __name__})
    globals()["Strange"] = strange  # so that it can be pickled
    numbers = np.column_stack([X["age"].fillna(0.0), X["ok"]])
    result = compare(numbers, y.to_numpy(), methods=["linear", strange(9)], **OPTIONS)
    assert [each.blends for each in result.methods] == [True, False]
    assert list(result.blend.weights) == ["linear"]
    assert result.best == "linear"


def test_invalid_fits_are_refused():
    X, y = frame()
    result = compare(X, y, methods=["dummy"], **OPTIONS)
    with pytest.raises(ValueError, match=r"unknown method 'dumy' .* did you mean 'dummy'"):
        result.fit_best("dumy")
    with pytest.raises(ValueError, match="loaded from plain data or a pickle, without its table"):
        ComparisonResult.from_dict(result.to_dict()).fit_best()
    with pytest.raises(ValueError, match="no fold was finished"):
        replace(result, records=()).fit_best()


def test_class_too_rare_for_folds_is_dropped():
    X, y = frame(120)
    y = pd.Series(np.where(np.arange(120) < 3, "perhaps", y), name="sick")
    result = compare(X, y, methods=["dummy", "linear"], **OPTIONS | {"folds": 4})
    assert "3 rows of class 'perhaps' left out: too few for 4 folds" in (result.sample["notes"])
    assert (result.sample["rows"], result.sample["classes"]) == (117, ["no", "yes"])
    assert set(result.fit_best("linear").predict(X)) == {"no", "yes"}


def test_rare_class_selects_log_loss():
    """Both probabilistic and calibrated methods are ranked."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    for rare, metric in ((9, "log_loss"), (10, "accuracy")):
        y = (X[:, 0].argsort().argsort() < rare).astype(int)
        methods = ["dummy", "svm", "linear"] if rare == 9 else ["dummy"]
        result = compare(X, y, methods=methods, **OPTIONS)
        assert result.metric.name == metric
        assert all(each.means["log_loss"] is not None for each in result.standings())
        if metric == "log_loss":
            means = [each.mean for each in result.standings()]
            assert means == sorted(means)
