"""Each study on generated tables: measurement, cache, page, and fixed settings."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.splits import random_halves
from papers import study as measuring
from papers.__main__ import main
from papers.contestants.hadamard import RULES, choices
from papers.contestants.tuned import Tuned
from papers.data import Table, paper_sets, read, toml
from papers.page import page
from papers.sample import folds, to_tune_on
from papers.study import Cache, Run, contestant, document, measure, perform, studies
from tests.papers_study import made_up

PRINTED_TASK = {"dank-table-6": 0, "tkl-table-3-large": 0}
ONE_SET = {"tkl-tables-3-4": ["heart"], "scg-embedding": ["usps"]}
LARGE = {"scg-table-3": 3, "scg-table-4": 3, "scg-embedding": 10}
KEYS = {name: declared["contestants"] for name, declared in toml("studies").items()}


def tiny(name, candidates=2):
    """Return a study with small contestants, on its first set."""
    study = studies()[name]
    powers, eta_scales = (2, -1)[:candidates][::-1], (0.1, 1.0)[:candidates][::-1]
    held = replace(study.protocol, folds=2, powers=powers, eta_scales=eta_scales)
    own = tuple(made_up.small(key, candidates) for key in KEYS[name])
    return replace(study, protocol=held, contestants=own, exceptions={}, only={})


def classes_of(study):
    regression = {"lab-rbf-tables-1-2", "lab-rbf-defaults", *PRINTED_TASK}
    return 0 if study.name in regression else LARGE.get(study.name, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sets")


@pytest.mark.parametrize("name", list(KEYS))
def test_each_study_runs_on_a_tiny_table(name, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.methods.supervised.embedding.STRENGTHS", (10.0, 1e3))
    study = tiny(name, candidates=1)
    sets = ONE_SET.get(name, study.sets[:1])
    for each in sets:
        chosen = study.chosen(each)
        X, y = made_up.rows(240 if chosen.per_class else 80, classes_of(study), seed=1)
        if study.comparison.by_variant:
            X = np.hstack([X, np.random.default_rng(0).normal(size=(len(y), 12)) + y[:, None]])
        for file in filter(None, (chosen.file, chosen.test_file)):
            made_up.write_set(folder, file, X, 2 * y - 1 if classes_of(study) == 2 else y)
    if any(study.chosen(each).labels for each in sets):
        few = {each: replace(paper_sets("scg")[each], labels=40) for each in sets}
        paper_sets("scg").update(few)
    arguments = ["run", name, "--data", str(folder), "--out", str(tmp_path), "--repeats", "1"]
    assert main([*arguments, "--sets", ",".join(sets)], {name: study}) == 0
    found = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
    measured = {who.name for who in study.contestants if not who.kept}
    assert {each["contestant"] for each in found["results"]} == measured
    text = (tmp_path / f"{name}.md").read_text("utf-8")
    assert text.startswith(f"# {study.title}\n")
    assert all(who.title in text for who in study.contestants if not who.kept)
    assert str(folder) not in json.dumps(found)
    paper_sets.cache_clear()


def test_a_second_run_takes_what_is_kept_and_an_interrupted_one_goes_on(
    folder, tmp_path, monkeypatch
):
    made_up.write_set(folder, "heart_statlog", *made_up.rows(40))
    study = tiny("dank-table-1")
    study = replace(study, contestants=study.contestants[:1])
    done = []

    def interrupted(who, run, *more):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(run)
        return perform(who, run, *more)

    monkeypatch.setattr(measuring, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure(study, ["heart"], 3, folder, tmp_path)
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write('\n["cut off while')
    monkeypatch.setattr(measuring, "perform", perform)
    first = measure(study, ["heart"], 3, folder, tmp_path)
    assert len(first["results"][0]["variants"]["fixed/none"]["test"]) == 3
    monkeypatch.setattr(measuring, "perform", None)
    second = measure(study, ["heart"], 3, folder, tmp_path)
    assert first["results"] == second["results"]
    changed = contestant("hadamard/svm", rules=("other",))
    run = Run("svm", "heart", 0)
    assert Cache(tmp_path / "runs.jsonl").get(changed, study.protocol, run) is None


def test_a_contestant_takes_over_what_another_chose():
    sample, held = made_up.sample(n=40), tiny("dank-table-5").protocol
    first = made_up.small("hadamard/dank-0.01").measure(sample, held, 0, None)
    found = contestant("hadamard/dank-taus").measure(sample, held, 0, {"variants": first})
    assert found["0.01/reciprocal"]["test"] == first["fixed/reciprocal"]["test"]
    chosen = made_up.small("tkl/tkl").measure(made_up.sample(n=40), held, 0, None)
    rescaled = contestant("tkl/tkl-rescaled", rows=5)
    scaled = rescaled.measure(made_up.sample(n=40), held, 0, {"variants": chosen})
    settings = [each["measured"]["setting"] for each in (chosen, scaled)]
    assert settings[1] == {**settings[0], "C": 4.0 * settings[0]["C"]}


SEARCHED = [
    key
    for key in toml("contestants")
    if isinstance(contestant(key), Tuned) and contestant(key).grid
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("key", SEARCHED)
def test_choices_do_not_depend_on_the_test_rows(key):
    who = made_up.small(key)
    regression = key.startswith("lab") and "svc" not in key
    task = "regression" if regression or "local" in key else "classification"
    sample, held = made_up.sample(task, n=50), tiny("tkl-tables-3-4").protocol
    blind = replace(sample, X_test=sample.X_test * np.nan, y_test=sample.y_test * 0)
    assert who.choose(sample, held, 0) == who.choose(blind, held, 0)
    assert who.words()


def test_cross_validation_counts_the_losses_of_plain_fits():
    sample, held = made_up.sample("regression", 40), tiny("dank-table-6").protocol
    who = contestant("hadamard/dank-0")
    loss = who.loss(sample, held, 0)
    assert loss.shape == (2, 2, 2, len(RULES))
    total = 0.0
    for learn, judge in folds(sample, 2, 0):
        given = {"eta_scale": 0.1, "tol": 1e-8, "max_iter": -1}
        (model,) = who.path(sample.some(learn), 0.5, [4.0], **given)
        total += ((who.predict(model, sample.X[judge], "nearest") - sample.y[judge]) ** 2).sum()
    found = loss[1, 1, 1, RULES.index("nearest")]
    assert found == pytest.approx(total / len(sample.y), rel=0.05)


def test_equal_losses_go_to_the_plainest_choice():
    loss, held = np.ones((2, 2, 2, 4)), tiny("dank-table-1").protocol
    loss[1, 0, 1, 2] = loss[1, 1, 0, 3] = 0.5
    found = choices(contestant("hadamard/dank-0"), held, loss)
    assert len(found) == 10
    assert [found["fixed/none"][key] for key in ("sigma", "C", "rule")] == [4.0, 0.5, "none"]
    assert found["fixed/chosen"]["rule"] == found["fixed/reciprocal"]["rule"] == "reciprocal"
    assert (found["tuned/chosen"]["rule"], found["tuned/chosen"]["eta_scale"]) == ("nearest", 0.1)


def test_halves_are_scaled_by_the_training_rows_and_own_test_files_used(folder):
    X, y = made_up.rows(2000)
    X[::500] = 1e6
    held, chosen = tiny("dank-table-1").protocol, paper_sets("hadamard")["heart"]
    table = Table(X, y, "classification")
    sample = held.sample("heart", chosen, table, 2, None)
    train, _ = list(random_halves(y, 3, stratify=True))[2]
    np.testing.assert_array_equal(sample.y, y[train])
    assert sample.X.min() == 0.0
    assert np.median(sample.X) < 1e-5
    clipped = held.sample("heart", replace(chosen, clipped=True), table, 2, None)
    assert clipped.X_test.max() <= 1.0 + 1e-12
    for part in ("train", "test"):
        made_up.write_set(folder, f"monks1_{part}", X[:20], y[:20])
    table = read(paper_sets("hadamard")["monks1"], str(folder))
    own = held.sample("monks1", paper_sets("hadamard")["monks1"], table, 5, None)
    np.testing.assert_array_equal(own.y, y[:20])
    assert len(to_tune_on(sample, 20, 0).y) == 20


def test_labelled_points_are_divided_in_proportion():
    X, y = made_up.rows(120, 3)
    held = studies()["scg-table-4"].protocol
    chosen = paper_sets("scg")["Wine"]
    sample = held.sample("Wine", chosen, Table(X, y, "classification"), 0, None)
    assert (len(sample.known), len(sample.unlabelled), len(sample.y_test)) == (48, 36, 36)
    assert np.bincount(sample.y[sample.known]).tolist() == [16, 16, 16]
    assert set(sample.partial(sample.known[:2])) <= {-1, 0, 1, 2}
    for known, judged in sample.labelled_folds(3, 0):
        assert sorted([*known, *judged]) == sample.known.tolist()


def test_solves_that_end_early_are_counted_and_shown(folder):
    made_up.write_set(folder, "heart_statlog", *made_up.rows(60))
    study = tiny("dank-table-1")
    hurried = replace(study.protocol, max_iter=3)
    study = replace(study, protocol=hurried)
    records = [
        perform(who, Run(who.name, "heart", 0), hurried, study.chosen("heart"), str(folder))
        for who in study.contestants[:2]
    ]
    assert records[0]["unconverged"] > 0
    text = page(study, document(study, ["heart"], 1, records))
    assert f"ended before their tolerance: {records[0]['unconverged']} (SVM-CV)" in text
