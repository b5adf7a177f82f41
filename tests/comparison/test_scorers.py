"""Metrics against scikit-learn: metric names, scorer names, scorers, callables."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import fbeta_score, get_scorer, log_loss, make_scorer, mean_squared_error
from sklearn.svm import SVC

from pliant.tables.comparison.cells import perform
from pliant.tables.comparison.contenders import methods_of, named
from pliant.tables.comparison.folds import outer_split
from pliant.tables.comparison.metrics import METRICS, SCORERS, Predictions, metric_of
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.sample import Sample


def record_of(estimator, task, metric, n_classes=2):
    """Return the record of a cell, the estimator fitted on its training rows, and its test rows."""
    if task == "classification":
        X, y = make_classification(
            120, 6, n_informative=4, n_classes=n_classes, flip_y=0.3, random_state=0
        )
        y = np.array(["a", "b", "c"])[y]
    else:
        X, y = make_regression(60, 4, noise=40.0, random_state=0)
    sample, protocol = Sample(X, y, task), Protocol(folds=3, repeats=1, metric=metric)
    (method,) = methods_of([("m", estimator)], task, 40)
    record = perform(sample, protocol, method, Cell("m", 0, 1))
    assert record["error"] is None
    train, test = outer_split(sample, protocol, 0, 1)
    return record, estimator.fit(X[train], y[train]), X[test], y[test]


def beta(model, X, y):
    """F-beta score with the signature of a scorer."""
    return fbeta_score(y, model.predict(X), beta=2.0, average="macro")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "metric",
    [
        *("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro"),
        *("matthews_corrcoef", "roc_auc_ovo_weighted"),
        beta,
        make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"),
    ],
    ids=lambda metric: metric if isinstance(metric, str) else type(metric).__name__,
)
def test_classifier_scores_match_scikit_learn(metric, n_classes):
    forest = RandomForestClassifier(20, random_state=3)
    found, model, X, y = record_of(forest, "classification", metric, n_classes)
    known = metric_of(metric, "classification")
    scorer = metric if callable(metric) else get_scorer(metric)
    sign = 1 if known.higher_is_better else -1
    assert sign * found["scores"][known.name] == pytest.approx(scorer(model, X, y), rel=1e-12)


@pytest.mark.parametrize("metric", ["r2", "neg_mean_absolute_error", "neg_median_absolute_error"])
def test_regressor_scores_match_scikit_learn(metric):
    found, model, X, y = record_of(LinearRegression(), "regression", metric)
    known = metric_of(metric, "regression")
    sign = 1 if known.higher_is_better else -1
    expected = get_scorer(metric)(model, X, y)
    assert sign * found["scores"][known.name] == pytest.approx(expected, rel=1e-12)
    assert found["scores"]["rmse"] == pytest.approx(mean_squared_error(y, model.predict(X)) ** 0.5)


def test_scorer_uses_decision_values():
    """The AUC of a support vector machine uses decision values."""
    found, model, X, y = record_of(SVC(gamma=0.1), "classification", "average_precision")
    assert found["scores"]["average_precision"] is None  # string labels have no positive class
    assert found["scores"]["auc"] == pytest.approx(get_scorer("roc_auc")(model, X, y), rel=1e-12)


def test_names_and_directions():
    assert metric_of(None, "classification") is METRICS["accuracy"]
    assert metric_of(None, "regression") is METRICS["r2"]
    for scorer, name in SCORERS.items():
        assert metric_of(scorer) is metric_of(name) is METRICS[name]
    assert [name for name, each in METRICS.items() if not each.higher_is_better] == [
        "log_loss", "rmse", "mae",
    ]  # fmt: skip
    assert metric_of(beta).name == "beta"
    assert metric_of(make_scorer(fbeta_score, beta=2.0)).name == "fbeta_score"

    def mae(model, X, y):
        """A scorer, so higher is better despite its name."""
        return -np.mean(np.abs(model.predict(X) - y))

    for scorer in (mae, make_scorer(log_loss), get_scorer("neg_log_loss")):
        metric = metric_of(scorer)
        assert metric.higher_is_better
        assert metric.name not in METRICS | SCORERS


@pytest.mark.parametrize(
    ("given", "task", "said"),
    [
        ("acuracy", None, "unknown metric 'acuracy'; did you mean 'accuracy'"),
        ("r2", "classification", "expected one of accuracy, .* as the metric, got 'r2'"),
        ("auc", "regression", "expected one of r2, rmse, mae as the metric, got 'auc'"),
        (3, None, "unknown metric 3"),
    ],
)
def test_invalid_metrics(given, task, said):
    with pytest.raises(ValueError, match=said):
        metric_of(given, task)


def test_undefined_scores_are_none():
    y = np.array(["a", "a", "a"])
    p = np.array([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])
    found = Predictions(y, None, p, np.array(["a", "b"]))
    assert METRICS["auc"].finite(y, found) is None  # single class
    assert METRICS["log_loss"].finite(np.array(["a", "c", "b"]), found) is None  # unknown class
    assert METRICS["log_loss"].finite(y, Predictions(y)) is None
    assert metric_of("roc_auc_ovr").finite(y, Predictions(y, None, None, y[:1])) is None


def test_search_by_scorer():
    sample = Sample(*make_regression(60, 4, noise=40.0, random_state=0), "regression")
    chosen = {}
    for metric in ("neg_max_error", "neg_median_absolute_error"):
        protocol = Protocol(folds=2, repeats=1, metric=metric, inner_folds=2)
        record = perform(sample, protocol, named("linear"), Cell("linear", 0, 0))
        assert record["error"] is None
        assert record["scores"][metric] < 0
        chosen[metric] = record["chosen"]["alpha"]
    assert len(set(chosen.values())) == 2
