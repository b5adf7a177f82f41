"""The winner on all rows, the result at a glance, and scikit-learn's names of metrics."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import compare
from pliant.comparison import cells as cell_module
from pliant.comparison.cells import perform
from pliant.comparison.comparing import compare_sample
from pliant.comparison.frames import sample_of
from pliant.comparison.given import methods_of
from pliant.comparison.protocol import Protocol
from pliant.comparison.record import Entry
from pliant.comparison.result import ComparisonResult
from pliant.comparison.sample import Sample
from pliant.comparison.search import search
from pliant.persistence import load_model, save_model
from tests.comparison.comparison_cases import result_of
from tests.comparison.report.report_cases import HOSTILE
from tests.comparison.test_frames import frame

OPTIONS = {"folds": 2, "repeats": 1, "budget": None, "n_jobs": 1}


@pytest.fixture(autouse=True)
def _here(monkeypatch):
    """Cells run in this process, without what takes time and changes no score."""
    monkeypatch.setattr(cell_module, "figures", lambda *model: [])
    monkeypatch.setattr(cell_module, "reset_peak_memory", lambda: None)
    monkeypatch.setattr(
        "pliant.comparison.race.perform_apart",
        lambda sample, protocol, method, cell, *_: perform(sample, protocol, method, cell),
    )


def test_the_winner_takes_the_frames_that_it_was_compared_on():
    X, y = frame()
    result = compare(X, y, methods=["dummy", "linear"], **OPTIONS)
    assert result.best == "linear"
    model = result.best_estimator_
    assert result.best_estimator_ is model
    np.testing.assert_array_equal(model.predict(X.iloc[:, ::-1]), model.predict(X))
    assert (model.predict(X) == y).mean() > 0.7
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="the table lacks the column 'ok'"):
        model.predict(X.drop(columns="ok"))


def test_the_search_is_made_once_more_on_all_rows(tmp_path):
    """The settings are those of the same search on all rows, not those of any fold."""
    r = np.random.default_rng(0)
    X = r.normal(size=(60, 2))
    y = 1e3 * (X[:, 0] - 0.3 * X[:, 1] + 0.5 * r.normal(size=60))
    result = compare(X, y, methods=["dummy", "linear"], **OPTIONS)
    (linear,) = methods_of(["linear"], "regression")
    sample = Sample.of(X, y)
    chosen = search(linear, sample, np.arange(60), result.protocol, result.protocol.seed).chosen
    (alpha,) = chosen.values()
    expected = make_pipeline(StandardScaler(), Ridge(alpha)).fit(X, (y - y.mean()) / y.std())
    model = result.fit_best()
    np.testing.assert_allclose(model.predict(X), expected.predict(X) * y.std() + y.mean())
    save_model(model, tmp_path / "model.pliant")
    loaded = load_model(tmp_path / "model.pliant").model
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    plain = result.fit_best("dummy").predict(X)
    np.testing.assert_allclose(plain, y.mean())


def test_what_was_given_is_fitted_as_it_was_given():
    X, y = frame()
    numbers = np.column_stack([X["age"].fillna(0.0), X["ok"]])
    forest = RandomForestClassifier(5, random_state=1)
    result = compare(numbers, y.to_numpy(), methods=[forest], **OPTIONS)
    expected = RandomForestClassifier(5, random_state=1).fit(numbers, y)
    found = result.fit_best().predict_proba(numbers)
    np.testing.assert_array_equal(found, expected.predict_proba(numbers))


def test_what_cannot_be_fitted_is_refused():
    X, y = frame()
    result = compare(X, y, methods=["dummy"], **OPTIONS)
    with pytest.raises(ValueError, match=r"unknown method 'dumy' .* did you mean 'dummy'"):
        result.fit_best("dumy")
    with pytest.raises(ValueError, match="read from plain data, without its table"):
        ComparisonResult.from_dict(result.to_dict()).fit_best()
    with pytest.raises(ValueError, match="no fold was finished"):
        replace(result, records=()).fit_best()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_the_table_of_a_notebook_escapes_names(hostile):
    result = result_of({"svm": [0.8, 0.9], "dank": [0.9, 1.0]})
    entries = (
        replace(result.methods[0], title=hostile),
        Entry("dank", hostile, hostile, "", "done"),
    )
    html = replace(result, methods=entries)._repr_html_()
    assert html.count("<tr>") == 3
    assert not {"<script", "<img", "onerror=alert(1)>", "\u202e", "\x1b"} & set(html.split())
    assert "<script" not in html
    assert "<img" not in html
    assert "http" not in html
    assert "\u202e" not in html


def test_the_log_loss_ranks_methods_with_and_without_probabilities():
    sample, _ = sample_of(*frame())
    protocol = Protocol(3, 1, "neg_log_loss", inner_folds=2, candidates=2)
    methods = ["dummy", "svm", "linear"]
    result = compare_sample(sample, methods, protocol, budget=None, n_jobs=1)
    assert result.metric.name == "log_loss"
    means = [each.mean for each in result.standings()]
    assert means == sorted(means)
    assert result.best in ("svm", "linear")
