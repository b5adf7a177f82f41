"""The papers' tables, on made-up sets of toy size that carry the names of the real ones."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.splits import random_halves
from papers import __main__ as command_line
from papers import runner
from papers.contestants.hadamard import (
    CONTESTANTS,
    RULES,
    AllTaus,
    BatchDANK,
    Fold,
    Setting,
    Tuning,
    by_rules,
    choices,
    cross_validate,
    dank,
    judge,
    set_rule,
)
from papers.data import Estimate, Table, numbers, paper_sets, printed, read
from papers.page import page
from papers.results import Results, Way
from papers.runner import Cache, complete, document
from papers.sample import folds, halves, losses, to_tune_on
from papers.studies import STUDIES
from papers.studies.hadamard import PLAIN, signs
from papers.study import Entry, Run, perform
from pliant import batch_decision_function
from tests.papers_study import made_up

SETS = paper_sets("hadamard")
TABLES = {name: study for name, study in STUDIES.items() if study.group == "hadamard"}
TINY = Tuning(powers=(-2, 3), eta_scales=(1.0, 0.1), folds=2, tuning_rows=12)
PAPERS = [name for name in TABLES if name != "defaults"]
REGRESSION = TABLES["dank-table-6"].sets


def rows(n, n_classes, seed=0):
    """Two features; classes, or for n_classes = 0 a smooth function, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (n, 2))
    height = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    if n_classes == 0:
        return X, height
    codes = np.digitize(height, np.quantile(height, np.arange(1, n_classes) / n_classes))
    return X, 2 * codes - 1 if n_classes == 2 else codes


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    tables = {}
    for seed, (name, chosen) in enumerate(SETS.items()):
        n_classes = 0 if name in REGRESSION else 3 if name in ("glass", "wine") else 2
        for file in filter(None, (chosen.file, chosen.test_file)):
            tables[file] = rows(26, n_classes, seed)
    return made_up.write_sets(tmp_path_factory.mktemp("sets"), tables)


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


def run(name, folder, out, *more, sets="heart", protocol=TINY):
    study = replace(TABLES[name], protocol=protocol)
    return made_up.run(study, folder, out, "--sets", sets, *more, repeats=2)


def sample_of(name, folder, repeat=0):
    return halves(name, read(SETS[name], str(folder)), repeat)


def measured(contestant, name, folder, protocol=TINY):
    return perform(Run(contestant.name, name, 0), contestant, protocol, SETS[name], str(folder))


@pytest.mark.parametrize("name", PAPERS)
def test_every_row_has_printed_numbers_and_a_set(name):
    cells = printed(name)
    assert set(cells) == set(TABLES[name].sets) <= set(SETS)
    for quantities in cells.values():
        score = quantities["1 - R2" if name == "dank-table-6" else "accuracy"]
        assert set(TABLES[name].beside.columns) - {"SVM-CV"} <= set(score)
        assert len({tuple(q["1 - R2" if name == "dank-table-6" else "accuracy"])
                    for q in cells.values()}) == 1  # fmt: skip
        for text in (text for row in quantities.values() for text in row.values()):
            assert float(text.partition("±")[0]) == Estimate.printed(text, 10).mean


def test_printed_numbers_are_read_as_they_stand():
    text = printed("dank-table-1")["heart"]["accuracy"]["DANK"]
    heart = Estimate.printed(text, 10)
    assert (heart.mean, heart.spread, heart.text, text[-1]) == (87.9, 2.9, "87.9±2.9", "•")
    assert numbers(printed("dank-table-5")["diabetic"]["accuracy"]["tau = 0"])[-1] == 340
    assert printed("knpl-table-1")["EEG"]["accuracy"]["SVM-CV"] == "78.34±1.48"
    assert [len(TABLES[name].sets) for name in PAPERS] == [10, 10, 10, 8, 15]
    assert len(TABLES["defaults"].sets) == 26


@pytest.mark.parametrize(
    ("name", "sets", "others"),
    [
        ("dank-table-1", "heart,monks1", 2),
        ("dank-table-2", "heart", 3),
        ("dank-table-6", "pyrim,mpg", 2),
        ("knpl-table-1", "haberman,spect", 3),
    ],
)
def test_commands_show_paper_and_measured(name, sets, others, folder, out):
    text, study = run(name, folder, out, sets=sets)
    table = text.split("## Paper / measured")[1].split("##")[0]
    assert table.count(" / later") == others * len(sets.split(","))
    for quantities in (printed(name)[each] for each in sets.split(",")):
        assert all(f"{cell} / " in table for row in quantities.values() for cell in row.values())
    compared = set(TABLES[name].beside.columns) & {"DANK", "KNPL"}
    assert text.count("eta tuned;") == len(compared)
    assert "tests against SVM-CV" in text
    assert ("by the paper's rule for a batch" in text) == (name != "dank-table-6")
    assert {r["set"] for r in study["results"]} == set(sets.split(","))
    assert study["machine"]["packages"]["numpy"] == np.__version__
    assert str(folder) not in json.dumps(study)


def test_table_5_counts_ranks(folder, out):
    text, study = run("dank-table-5", folder, out)
    assert "78.2" not in text
    assert "84.9±2.2 (109)• / " in text
    ranks = {
        tau: study["results"][0]["variants"][f"{tau}/reciprocal"]["rank"] for tau in ("0", "1")
    }
    assert all(low <= high for low, high in zip(ranks["1"], ranks["0"], strict=True))
    assert "the rule chosen by cross-validation" in text


def test_defaults_compare_tau_and_rules(folder, out):
    text, study = run("defaults", folder, out, sets="heart,pyrim")
    assert text.count("### ") == 4
    assert text.count("Among themselves, without *chosen*: best mean rank over all sets: ") == 4
    ways = [
        line for line in text.split("### ")[1].splitlines() if line.startswith("| DANK, tau = 0.1")
    ]
    assert len(ways) == 5
    assert {r["contestant"] for r in study["results"]} == set(CONTESTANTS)


def test_a_second_run_takes_what_is_kept(folder, tmp_path, monkeypatch):
    first, _ = run("dank-table-1", folder, tmp_path, sets="heart")
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write('\n{"key": {"po')  # cut off while being written

    def refuse(*_):
        raise AssertionError("measured again")

    monkeypatch.setattr(runner, "perform", refuse)
    second, _ = run("dank-table-1", folder, tmp_path, sets="heart")
    assert first.split("minutes")[0] == second.split("minutes")[0]
    with pytest.raises(AssertionError, match="measured again"):
        run("dank-table-1", folder, tmp_path, sets="heart", protocol=Tuning(powers=(0,)))


def plain_study():
    entries = (Entry(CONTESTANTS["svm"], ("heart",)),)
    return replace(TABLES["dank-table-1"], protocol=TINY, entries=entries)


def test_an_interrupted_study_goes_on(folder, tmp_path, monkeypatch):
    done = []

    def interrupted(run, *more):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run)
        return perform(run, *more)

    arguments = (plain_study(), ["heart"], 4)
    path = tmp_path / "runs.jsonl"
    monkeypatch.setattr(runner, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        complete(*arguments, Cache(path), str(folder))
    monkeypatch.setattr(runner, "perform", perform)
    said = []
    records = complete(*arguments, Cache(path), str(folder), log=said.append)
    assert [line.partition(",")[0] for line in said] == ["heart", "heart"]
    assert [record["repeat"] for record in records] == [0, 1, 2, 3]


def test_a_record_cut_off_does_not_spoil_the_next(folder, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": {"po', encoding="utf-8")
    complete(plain_study(), ["heart"], 1, Cache(path), str(folder))
    assert Cache(path).get(CONTESTANTS["svm"], TINY, Run("svm", "heart", 0)) is not None


def test_keep_writes_the_results(folder, tmp_path):
    kept = tmp_path / "kept"
    run("knpl-table-1", folder, tmp_path, "--keep", "--results", str(kept), sets="haberman")
    assert sorted(p.name for p in kept.iterdir()) == ["knpl-table-1.json", "knpl-table-1.md"]


def test_wrong_arguments_are_named(folder, out, capsys):
    for more, said in (
        (["--sets", "heart,nosuch"], "nosuch"),
        (["--repeats", "0"], "expected --repeats >= 1, got 0"),
        (["--data", str(folder / "none")], "expected --data to be an existing folder"),
    ):
        with pytest.raises(SystemExit):
            command_line.main(["run", "dank-table-1", "--data", str(folder), *more])
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("contestant", ["dank-0", "dank-0.01", "knpl"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_shared_predictions_are_those_of_predict(contestant, n_classes):
    X, y = rows(60, n_classes)
    task = "classification" if n_classes else "regression"
    fold = Fold(task, X[:40], y[:40], np.vstack([X[40:], X[:2]]))
    setting = Setting(gamma=0.5, C=4.0, eta_scale=0.1, tol=1e-6, max_iter=100_000)
    machine = CONTESTANTS[contestant].model(task, setting).fit(fold.X, fold.y)
    shared = by_rules(machine, fold, fold.cross_gram(0.5))
    for rule, predicted in zip(RULES, shared, strict=True):
        set_rule(machine, rule)
        np.testing.assert_allclose(predicted, machine.predict(fold.X_new), rtol=0, atol=1e-8)
    if n_classes == 0:
        assert len({tuple(np.round(p, 9)) for p in shared}) > 1


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_batch_rule_predicts_all_rows_together(n_classes):
    X, y = rows(60, n_classes)
    task = "classification" if n_classes else "regression"
    fold = Fold(task, X[:40], y[:40], X[40:])
    setting = Setting(gamma=0.5, C=4.0, eta_scale=0.1, tol=1e-6, max_iter=100_000)
    (predicted,) = BatchDANK().path(fold, [4.0], setting)
    model = BatchDANK().model(task, setting).fit(fold.X, fold.y)
    values = batch_decision_function(model, fold.X_new)
    if n_classes == 0:
        np.testing.assert_allclose(predicted, [values], rtol=0, atol=1e-8)
    elif n_classes == 2:
        np.testing.assert_array_equal(predicted, [model.classes_[1 * (values > 0)]])
    else:
        np.testing.assert_array_equal(predicted, [model.classes_[values.argmax(axis=1)]])


def test_cross_validation_counts_the_losses_of_plain_fits(folder):
    sample = sample_of("pyrim", folder)
    contestant = dank(0.0)
    loss = cross_validate(contestant, sample, TINY, 0)
    assert loss.shape == (2, 2, 2, 4)
    total = 0.0
    for train, valid in folds(sample, 2, 0):
        setting = Setting(1 / (2 * 0.25**2), 8.0, 0.1, 1e-8, -1)
        machine = contestant.model("regression", setting).fit(sample.X[train], sample.y[train])
        set_rule(machine, "nearest")
        total += ((machine.predict(sample.X[valid]) - sample.y[valid]) ** 2).sum()
    assert loss[1, 1, 1, RULES.index("nearest")] == pytest.approx(total / len(sample.y), rel=0.05)


def test_multiples_of_eta_are_tried_near_the_best(folder):
    wide = Tuning(powers=tuple(range(-4, 5)), folds=2)
    sample = sample_of("heart", folder)
    loss = cross_validate(dank(0.0), sample, wide, 0)
    assert np.isfinite(loss[:, :, 0]).all()
    tried = np.isfinite(loss[:, :, 1]).all(axis=-1)
    np.testing.assert_array_equal(tried, np.isfinite(loss[:, :, 2]).all(axis=-1))
    assert 4 <= tried.sum() <= 4 * 9
    for k in range(4):
        s, c = np.unravel_index(loss[:, :, 0, k].argmin(), tried.shape)
        assert tried[max(s - 1, 0) : s + 2, max(c - 1, 0) : c + 2].all()


def test_equal_losses_go_to_the_plainest_choice():
    loss = np.ones((2, 2, 2, 4))
    loss[1, 0, 1, 2] = loss[1, 1, 0, 3] = 0.5
    found = choices(dank(0.0), TINY, loss)
    assert len(found) == 10
    first = found["fixed/none"]
    assert (first.sigma, first.C, first.eta_scale, first.rule) == (8.0, 0.25, 1.0, "none")
    assert found["fixed/chosen"].rule == found["fixed/reciprocal"].rule == "reciprocal"
    assert found["fixed/chosen"].sigma == 0.25
    assert (found["tuned/chosen"].rule, found["tuned/chosen"].eta_scale) == ("nearest", 0.1)
    assert list(choices(CONTESTANTS["svm"], TINY, loss[:, :, :1, :1])) == ["fixed/none"]


def test_splits_are_the_random_halves_scaled_by_training_rows(folder):
    table = read(SETS["heart"], str(folder))
    sample = halves("heart", table, 2)
    train, test = list(random_halves(table.y, 3, stratify=True))[2]
    np.testing.assert_array_equal(sample.y, table.y[train])
    assert sample.X.min() == 0.0
    assert sample.X.max() == pytest.approx(1.0)
    width = np.ptp(table.X[train], axis=0)
    expected = (table.X[test] - table.X[train].min(axis=0)) / width
    np.testing.assert_allclose(sample.X_test, expected)


def test_own_test_files_are_used(folder):
    table = read(SETS["monks1"], str(folder))
    sample = halves("monks1", table, 5)
    np.testing.assert_array_equal(sample.y, table.y[: table.own_training])
    assert len(sample.y_test) == len(table.y) - len(sample.y)


def test_clipping_removes_the_outliers_of_the_training_rows():
    X, y = rows(2000, 2)
    X[::500] = 1e6
    plain = halves("heart", Table(X, y, "classification"), 0)
    clipped = halves("heart", Table(X, y, "classification"), 0, clipped=True)
    assert np.median(plain.X) < 1e-5
    assert clipped.X_test.max() <= 1.0 + 1e-12
    assert clipped.X_test.min() >= -1e-12


def test_large_sets_are_tuned_on_some_rows():
    X, y = rows(100, 2)
    sample = halves("heart", Table(X, y, "classification"), 0)
    part = to_tune_on(sample, 20, 0)
    assert (len(part.y), (part.y == 1).sum()) == (20, 10)
    assert part.X_test is sample.X_test
    assert to_tune_on(sample, 50, 0) is sample
    runs = TABLES["knpl-table-1"].runs(["EEG", "heart"], 10)
    repeats = {name: {run.repeat for _, run in runs if run.set == name} for name in SETS}
    assert (repeats["EEG"], repeats["heart"]) == (set(range(3)), set(range(10)))


def test_scores_are_accuracy_and_one_minus_r2():
    y = np.array([1.0, 2.0, 3.0])
    assert judge("classification", y, np.array([1.0, 2.0, 2.0])) == pytest.approx(2 / 3)
    assert judge("regression", y, np.full(3, 2.0)) == 1.0
    assert losses("regression", y, np.zeros((2, 3))).sum(axis=-1).tolist() == [14.0, 14.0]


def record(contestant, task, repeat, test, variant="fixed/none"):
    scores = {"test": test, "train": 1.0}
    held = {"task": task, "n_train": 10, "n_test": 10, "d": 2, "seconds": 1.0, "unconverged": 0}
    name = "heart" if task == "classification" else "pyrim"
    return held | {
        "contestant": contestant,
        "set": name,
        "repeat": repeat,
        "variants": {variant: scores},
    }


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_marks_point_to_what_is_better(task):
    jitter = [0.0, 0.001, 0.002, 0.001]
    plain = [record("svm", task, k, 0.5) for k in range(4)]
    high = [record("dank-0", task, k, 0.6 + jitter[k]) for k in range(4)]
    same = [record("knpl", task, k, 0.6) for k in range(4)]
    name = plain[0]["set"]
    records = [*plain, *high, *same]
    results = Results(document(TABLES["defaults"], [name], 4, records))
    sign = 1 if task == "classification" else -1
    way = Way("dank-0", "fixed/none")
    gain = results.gain(name, way, PLAIN, sign=signs(results)[name])
    assert (gain.significant, np.sign(gain.mean)) == (sign, sign)
    constant = results.gain(name, Way("knpl", "fixed/none"), PLAIN)
    assert (constant.p_value, constant.significant) == (None, 0)
    ranks = results.ranks([PLAIN, way], [name], signs(results)).ravel()
    assert ranks.tolist() == [1.5 + sign / 2, 1.5 - sign / 2]
    (overall,) = results.overall([way], [name], PLAIN, signs(results))
    assert (overall.better, overall.worse) == ((1, 0) if sign == 1 else (0, 1))
    assert overall.p_value is None


def test_early_ends_are_counted_and_told(folder):
    hurried = Tuning(powers=(-2, 3), folds=2, eta_scales=(1.0, 0.1), max_iter=2)
    found = measured(dank(0.0), "heart", folder, hurried)
    assert found["unconverged"] > 0
    plain = measured(CONTESTANTS["svm"], "heart", folder)
    study = replace(TABLES["dank-table-1"], protocol=hurried)
    renamed = found | {"contestant": "dank-0.01"}
    text = page(study, document(study, ["heart"], 1, [renamed, plain]))
    assert f"{found['unconverged']} solves ended before" in text
    assert "n/a" in text


def test_runs_are_shared_between_tables():
    first = set(TABLES["dank-table-1"].runs(["heart"], 2))
    assert first < set(TABLES["dank-table-2"].runs(["heart"], 2))
    by_batch = {(each, run) for each, run in first if each == BatchDANK()}
    assert len(by_batch) == 2
    assert first - by_batch < set(TABLES["defaults"].runs(["heart"], 2))
    taus = TABLES["dank-table-5"].runs(["heart"], 2)
    assert {each for each, _ in taus} == {AllTaus()}
    assert {(each.needs, replace(run, contestant=each.needs.name)) for each, run in taus} < first
