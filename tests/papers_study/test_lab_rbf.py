"""The studies of LAB-RBF, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from papers import runner, studies
from papers.contestants.fitted import Fitted, HeldOut, parts, scores
from papers.contestants.gaussian_svc import GaussianSVC
from papers.contestants.regressors import (
    Boosting,
    BoostingClassifier,
    ExtraTrees,
    Forest,
    ForestClassifier,
    GaussianProcess,
    GaussianRidge,
    GaussianSVR,
    NystroemRidge,
    TunedBoosting,
    ridge_path,
)
from papers.contestants.xrfm import TunedRecursive
from papers.data import Estimate, paper_sets, printed, read
from papers.results import Results
from papers.runner import Cache, complete, document
from papers.sample import Sample
from papers.studies.bars import LAB, bars, paper_mean
from papers.studies.lab_rbf import notes
from papers.study import Entry, Run, perform
from tests.papers_study import made_up

STUDIES = [study for study in studies.STUDIES.values() if study.group == "lab"]
TABLES, DEFAULTS, CLASSIFICATION = STUDIES
SETS = paper_sets("lab")
PAPER = printed("lab-rbf-tables-1-2")
FEW_SHAPES = ((0.1, 8, 5, 0.0, 1.0), (0.2, 3, 2, 0.0, 0.5))
PEERS = (
    GaussianRidge(powers=(-3, -1, 1), alphas=(1e-3, 1e-1), folds=3),
    NystroemRidge(powers=(-1,), alphas=(1e-3, 1e-1), folds=3, centres=10),
    GaussianSVR(Cs=(1.0, 10.0), powers=(-1, 1)),
    GaussianProcess(),
    Forest(trees=3),
    ExtraTrees(trees=3),
    Boosting(),
    TunedBoosting(shapes=FEW_SHAPES, max_iter=20),
)


@dataclass(frozen=True)
class Quick(Fitted):
    """The nearest neighbours, under the name of a real contestant."""

    name: str = "lab"
    title: str = "Quick"
    k: int = 1
    centres: int = 7
    most_rows: int | None = 20

    def model(self, sample, setting, seed):
        kind = KNeighborsClassifier if sample.task == "classification" else KNeighborsRegressor
        return kind(n_neighbors=self.k)

    def details(self, model):
        return {"support": 5.0 + self.k}

    def words(self):
        return f"the {self.k} nearest"


@dataclass(frozen=True)
class Absent(Quick):
    package: ClassVar[str | None] = "a_package_that_is_not_there"


def quick(study):
    """The study with other contestants under the same names."""
    entries = []
    for place, entry in enumerate(study.entries):
        kind = Absent if entry.contestant.name.endswith("xrfm") else Quick
        contestant = kind(entry.contestant.name, entry.contestant.title, k=3 if place else 1)
        entries.append(Entry(contestant, entry.sets))
    return replace(study, entries=tuple(entries))


def rows(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (n, 3))
    height = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, np.where(height > np.median(height), 1, -1) if classes else height


def sample_of(task="regression", n=60):
    X, y = rows(n, task == "classification")
    return Sample("yacht", task, X[::2], y[::2], X[1::2], y[1::2])


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    tables = {
        chosen.file: rows(40, name in CLASSIFICATION.sets, seed)
        for seed, (name, chosen) in enumerate(SETS.items())
    }
    return made_up.write_sets(tmp_path_factory.mktemp("sets"), tables)


def run(study, folder, out, *more, repeats=3):
    return made_up.run(study, folder, out, *more, repeats=repeats)


def split(name, folder, repeat=0, *, held=HeldOut(), **options):  # noqa: B008 (it is frozen)
    return held.split(name, read(SETS[name], str(folder)), repeat, **options)


def measure(contestant, name, folder):
    run = Run(contestant.name, name, 0)
    return perform(run, contestant, HeldOut(), SETS[name], str(folder))


def test_the_paper_is_transcribed():
    numbers = {
        (method, name): Estimate.printed(text, 50).mean
        for name, quantities in PAPER.items()
        for method, text in quantities["R2"].items()
    }
    counts = {each: sum(method == each for method, _ in numbers) for each, _ in numbers}
    assert {counts[method] for method in ("Falkon", "ResNet", "WNN", LAB)} == {9}
    assert {counts[method] for method in ("RBF KRR", "TL1 KRR", "SVR-MKL")} == {6}
    assert (paper_mean("airfoil"), paper_mean("grid_stability")) == (0.9608, 0.9642)
    assert tuple(counts) == (
        LAB, "RBF KRR", "TL1 KRR", "R-SVR-MKL", "SVR-MKL", "Falkon", "ResNet", "WNN",
    )  # fmt: skip
    assert all(0.8 < mean < 1 for mean in numbers.values())
    points = {name: int(cells["support points"][LAB]) for name, cells in PAPER.items()}
    assert {chosen.printed: chosen.support for chosen in SETS.values() if chosen.printed} == {
        name: count for name, count in points.items() if name != "TomsHardware"
    }


def test_the_studies_hold_what_was_asked_for():
    assert [len(study.sets) for study in STUDIES] == [8, 14, 10]
    assert [study.repeats for study in STUDIES] == [10, 10, 5]
    assert all(set(e.sets) <= set(s.sets) <= set(SETS) for s in STUDIES for e in s.entries)
    assert set(TABLES.sets) == {name for name, chosen in SETS.items() if chosen.support}
    assert all(study.protocol.first_seed == 100 for study in STUDIES)


def test_splits_are_scaled_by_their_training_rows(folder):
    first, again, other = (split("yacht", folder, repeat) for repeat in (0, 0, 1))
    assert (len(first.y), len(first.y_test)) == (32, 8)
    for part in (first.X, first.y[:, None]):
        np.testing.assert_allclose(part.min(axis=0), -1.0, atol=1e-12)
        np.testing.assert_allclose(part.max(axis=0), 1.0, atol=1e-12)
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)


def test_a_contestant_may_get_the_rows_in_their_own_units(folder):
    table = read(SETS["yacht"], str(folder))
    raw, scaled = split("yacht", folder, scaled=False), split("yacht", folder)
    every = np.concatenate([raw.X, raw.X_test])
    np.testing.assert_array_equal(np.sort(every, axis=0), np.sort(table.X, axis=0))
    np.testing.assert_allclose(np.corrcoef(raw.y_test, scaled.y_test)[0, 1], 1.0)
    seen = []

    @dataclass(frozen=True)
    class Own(Quick):
        scaled: ClassVar[bool] = False

        def choose(self, sample, seed):
            seen.append(sample.X.max())
            return {}

    measure(Own(), "yacht", folder)
    assert seen == [raw.X.max()]


def test_classes_keep_their_labels_and_shares(folder):
    sample = split("sonar", folder)
    assert sample.task == "classification"
    assert sorted(sample.y_test) == [-1] * 4 + [1] * 4


def test_some_sets_are_cut_to_random_training_rows(folder):
    whole, cut = (
        split("california_housing", folder, held=HeldOut(most_rows=most))
        for most in ((), (("california_housing", 10),))
    )
    assert (len(whole.y), len(cut.y), len(cut.y_test)) == (32, 10, 8)


def test_parts_are_folds_on_small_sets_and_a_hold_out_beyond():
    folds = parts(50, 0, folds=5, most=(50, 50))
    assert sorted(np.concatenate([judge for _, judge in folds])) == list(range(50))
    ((learn, judge),) = parts(50, 0, folds=5, most=(30, 7), small=20)
    assert (len(learn), len(judge)) == (30, 7)
    assert not set(learn) & set(judge)


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_one_eigendecomposition_gives_every_ridge(alpha):
    sample = sample_of()
    found = list(ridge_path(sample.X, sample.y, sample.X_test, 0.3, [10.0, alpha]))[1]
    expected = KernelRidge(kernel="rbf", gamma=0.3, alpha=alpha).fit(sample.X, sample.y)
    np.testing.assert_allclose(found, expected.predict(sample.X_test), atol=1e-9)


def test_the_best_width_is_refined():
    contestant = GaussianRidge(powers=(-8, 0), alphas=(1e-2,))
    assert contestant.choose(sample_of(), 1)["power"] in (-1, 0, 1)


@pytest.mark.parametrize("contestant", PEERS, ids=lambda c: c.name)
def test_test_rows_are_not_looked_at(contestant):
    sample = sample_of()
    blind = replace(sample, X_test=np.full_like(sample.X_test, np.nan), y_test=sample.y_test * 0)
    assert contestant.choose(sample, 1) == contestant.choose(blind, 1)


@pytest.mark.parametrize("contestant", PEERS, ids=lambda c: c.name)
def test_every_regressor_is_measured(contestant, folder):
    found = measure(contestant, "yacht", folder)
    measured = found["variants"]["measured"]
    assert -1.0 < measured["test"] <= 1.0
    assert measured["fit_seconds"] >= 0 <= measured["tuning_seconds"]
    assert (found["n_train"], found["n_test"], found["task"]) == (32, 8, "regression")
    json.dumps(found)
    assert contestant.words()


def test_boosting_takes_the_best_number_of_rounds():
    contestant = TunedBoosting(shapes=FEW_SHAPES, max_iter=15, folds=2)
    setting = contestant.choose(sample_of(n=200), 0)
    assert 1 <= setting["max_iter"] <= 15
    assert contestant.model(sample_of(), setting, 0).early_stopping is False


def test_a_machine_may_be_fitted_to_fewer_rows():
    few, all_rows = Quick(most_rows=10), Quick(most_rows=None)
    sizes = [c.fit(sample_of(), {}, 0).n_samples_fit_ for c in (few, all_rows)]
    assert sizes == [10, 30]


@pytest.mark.parametrize(
    "contestant",
    [GaussianSVC(Cs=(1.0,), powers=(0, 2)), BoostingClassifier(), ForestClassifier(trees=5)],
    ids=lambda c: c.name,
)
def test_classifiers_have_an_accuracy_and_a_log_loss(contestant, folder):
    found = measure(contestant, "sonar", folder)["variants"]["measured"]
    assert 0 <= found["test"] <= 1
    assert found["log_loss"] > 0


def test_the_plain_machine_decides_and_the_calibrated_one_is_asked_for_probabilities():
    sample = sample_of("classification")
    contestant = GaussianSVC(Cs=(1.0,), powers=(0,))
    fitted = contestant.fit(sample, {"C": 1.0, "gamma": 0.5}, 0)
    np.testing.assert_array_equal(
        fitted.predict(sample.X_test), fitted.plain.predict(sample.X_test)
    )
    np.testing.assert_allclose(fitted.predict_proba(sample.X_test).sum(axis=1), 1.0)


def test_without_probabilities_there_is_no_log_loss():
    machine = SimpleNamespace(predict=lambda X: np.ones(len(X)))
    assert scores(sample_of("classification"), machine)["log_loss"] is None


class FakeRecursive:
    """In place of xRFM: the mean, off by the distance of its settings from the best ones."""

    calls: ClassVar[list] = []

    def __init__(self, rfm_params, **options):
        self.parameters = rfm_params
        self.trees = [{"model": SimpleNamespace(best_iter=3)}]

    def fit(self, X, y, X_val, y_val):
        self.calls.append((len(X), self.parameters))
        model, fit = self.parameters["model"], self.parameters["fit"]
        self.off = abs(np.log(model["bandwidth"] / 5.0)) + abs(np.log(fit["reg"] / 1e-2))
        self.off += model["kernel"] != "l1"
        return self

    def predict(self, X):
        return np.full((len(X), 1), self.off)


def test_xrfm_is_searched_in_turn_and_fitted_to_all_rows(monkeypatch):
    torch = SimpleNamespace(tensor=lambda values, dtype: values, float32=None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "xrfm", SimpleNamespace(xRFM=FakeRecursive))
    monkeypatch.setattr(FakeRecursive, "calls", [])
    contestant, sample = TunedRecursive(), sample_of()
    setting = contestant.choose(sample, 0)
    assert (setting["kernel"], setting["bandwidth"], setting["reg"]) == ("l1", 5.0, 1e-2)
    assert {n for n, _ in FakeRecursive.calls} == {24}
    contestant.fit(sample, setting, 0)
    n, parameters = FakeRecursive.calls[-1]
    assert (n, parameters["fit"]["iters"], parameters["fit"]["early_stop_rfm"]) == (30, 3, False)


def results_of(values, study=TABLES, name="yacht", part="test"):
    """Results of made-up numbers, by contestant and then by repeat."""
    found = made_up.records(
        {who: {name: each} for who, each in values.items()},
        lambda value: {"measured": {part: value}},
        "regression",
    )
    return Results(document(study, [name], 4, found), study.percent)


def test_gains_are_over_common_splits():
    results = results_of({"lab": {0: 0.9, 1: 0.8, 2: 0.7}, "krr": {1: 0.7, 2: 0.5, 3: 0.0}})
    found = results.gain("yacht", "lab", "krr")
    assert found.mean == pytest.approx(0.15)
    assert found.error == pytest.approx(0.05)
    assert found.corrected_error == pytest.approx(found.error * np.sqrt(1 + 2 * 0.25))
    assert found.splits == (2, 0, 0)


def test_a_lower_log_loss_is_better():
    values = {"lab": {0: 0.2, 1: 0.3}, "krr": {0: 0.3, 1: 0.5}}
    found = results_of(values, part="log_loss").gain("yacht", "lab", "krr", "log_loss", -1.0)
    assert found.mean == pytest.approx(0.15)


@pytest.mark.parametrize(("second", "verdict"), [(0.4, 1), (0.5, 0), (0.6, -1)])
def test_equal_differences_need_no_test(second, verdict):
    results = results_of({"lab": {0: 0.5, 1: 0.5}, "krr": {0: second, 1: second}})
    found = results.gain("yacht", "lab", "krr")
    assert (found.verdict, found.p_value, found.error) == (verdict, None, 0.0)
    assert sum(found.splits) == 2


def judged(study, means, repeats=2):
    """The bars of a study whose contestants have given means on every set."""
    values = {
        entry.contestant.name: {
            name: [means(entry.contestant.name, name)] * repeats for name in entry.sets
        }
        for entry in study.entries
    }
    found = made_up.records(
        values, lambda value: {"measured": {"test": value, "log_loss": 1.0 - value}}
    )
    return bars(study, Results(document(study, study.sets, repeats, found), study.percent))


def test_the_bars_of_the_tables():
    paper = {name: paper_mean(name) for name in TABLES.sets}
    assert [bar.met for bar in judged(TABLES, lambda who, name: paper[name] + 0.001)] == [True] * 13
    below = {"airfoil": 0.005, "yacht": 0.0005, "kc_house": 0.01}
    found = judged(TABLES, lambda who, name: paper[name] + 0.001 - below.get(name, 0.0))
    assert [bar.met for bar in found] == [True, True, True, True, False, False] * 2 + [True]
    found = judged(TABLES, lambda who, name: paper[name] - 0.0021)
    assert [bar.met for bar in found] == [False] * 13
    assert "grid_stability -0.0019" in str(found[0])
    assert str(found[1]).startswith(
        "* Missed: LAB-RBF, one member: above the paper on at least 3 of the 6 sets"
    )
    assert "yacht -0.0001" in str(found[2])


def test_the_bars_of_the_defaults():
    found = judged(DEFAULTS, lambda who, name: 0.9 if who == "lab" else 0.8)
    assert [bar.met for bar in found] == [True] * 5
    found = judged(DEFAULTS, lambda who, name: 0.9 if who in ("lab", "krr") else 0.913)
    assert [bar.met for bar in found] == [False] * 5
    assert "0; behind: yacht -0.0130" in str(found[0])
    found = judged(DEFAULTS, lambda who, name: 0.9)
    assert [bar.met for bar in found] == [False, True, False, True, True]


def test_the_bars_of_the_classifier():
    found = judged(CLASSIFICATION, lambda who, name: 0.96 if who == "lab-classifier" else 0.95)
    assert [bar.met for bar in found] == [True] * 3
    found = judged(CLASSIFICATION, lambda who, name: 0.94)
    assert [bar.met for bar in found] == [False, False, True]


def test_one_split_decides_nothing():
    found = results_of({"lab": {0: 0.5, 1: 0.6}, "krr": {1: 0.1}}).gain("yacht", "lab", "krr")
    assert (found.verdict, found.splits) == (0, (1, 0, 0))
    assert found.mean == pytest.approx(0.5)


def test_fewer_splits_are_told():
    results = results_of({"lab": dict.fromkeys(range(4), 0.5), "krr": {0: 0.4, 1: 0.3}})
    assert "* yacht: measured on fewer splits: Kernel ridge on the first 2." in notes(
        TABLES, results
    )


def test_bars_need_all_sets():
    results = results_of({"paper-lab": {0: 0.9}})
    assert bars(TABLES, results) == []


def test_the_tables_show_paper_and_measured(folder, tmp_path):
    study = quick(TABLES)
    text, found = run(study, folder, tmp_path, "--keep", "--results", str(tmp_path / "kept"))
    assert (tmp_path / "kept" / f"{TABLES.name}.md").read_text(encoding="utf-8") == text
    table = text.split("## Tables 1 and 3")[1].split("##")[0]
    assert f"{PAPER['Tecator']['R2'][LAB]} / " in table
    assert f"{PAPER['KC House']['R2']['WNN']} / 0." in table
    assert "/ later" not in table
    assert text.count("* Met:") + text.count("* Missed:") == 13
    points = next(line for line in text.split("## Table 2")[1].splitlines() if "tecator" in line)
    assert [cell.strip() for cell in points.strip("|").split("|")][-7:] == [
        "6", "8", "8", "8", "8", "7", "20"
    ]  # fmt: skip
    seeds = text.split("## parkinsons_total, split by split")[1].split("##")[0]
    assert all(f"| {label} " in seeds for label in ("100", "101", "102", "least", "mean"))
    assert "Tom's Hardware" in text
    assert text.count("LAB-RBF, one member against ") == 1 + 17
    assert all(len(r["variants"]["measured"]["test"]) == 3 for r in found["results"])
    assert str(folder) not in json.dumps(found)


def test_what_is_not_installed_is_said(folder, tmp_path):
    text, found = run(quick(DEFAULTS), folder, tmp_path, repeats=1)
    assert {r["contestant"] for r in found["results"]}.isdisjoint({"xrfm", "tuned-xrfm"})
    row = next(line for line in text.split("## Test R2")[1].splitlines() if "abalone" in line)
    assert row.count("not installed") == 2
    assert "Not installed: not measured" in text
    assert "LAB-RBF against Tuned boosting:" in text


def test_classification_has_a_table_of_the_log_loss(folder, tmp_path):
    text, _ = run(quick(CLASSIFICATION), folder, tmp_path, repeats=1)
    losses = text.split("## Log loss")[1].split("##")[0]
    assert all(name in losses for name in CLASSIFICATION.sets)
    assert "Of the log loss" in text
    assert text.count("* Met:") + text.count("* Missed:") == 3


def test_some_sets_alone_are_measured_without_bars(folder, tmp_path):
    text, _ = run(quick(DEFAULTS), folder, tmp_path, "--sets", "yacht,ccpp", repeats=1)
    assert "What was asked for" not in text
    assert "Not measured in this run: boston_housing, tecator" in text


def test_the_first_split_of_all_sets_comes_first_and_nothing_twice(folder, tmp_path, monkeypatch):
    done = []

    def counted(run, *more):
        done.append((run.repeat, run.set, run.contestant))
        return perform(run, *more)

    monkeypatch.setattr(runner, "perform", counted)
    one = replace(DEFAULTS, entries=(Entry(Quick("lab"), ("yacht", "ccpp")),))
    path = tmp_path / "cache.jsonl"
    first = complete(one, one.sets, 2, Cache(path), str(folder))
    assert [each[:2] for each in done] == [(0, "yacht"), (0, "ccpp"), (1, "yacht"), (1, "ccpp")]
    again = complete(one, one.sets, 2, Cache(path), str(folder))
    assert len(done) == 4
    assert again == first
    other = replace(DEFAULTS, entries=(Entry(Quick("lab", k=2), ("yacht",)),))
    complete(other, other.sets, 1, Cache(path), str(folder))
    assert done[4:] == [(0, "yacht", "lab")]
