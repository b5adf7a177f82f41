"""The accuracy study of TKL's tables, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from papers import runner
from papers.contestants.tkl import (
    TKL,
    Boosting,
    Forest,
    GaussianSVM,
    HoldOut,
    RescaledTKL,
    Tuned,
    choose,
    first_trees,
    judge,
)
from papers.data import paper_sets, printed, read
from papers.page import page
from papers.results import Gain, Results, Standing, standings
from papers.runner import document
from papers.sample import Sample
from papers.studies import STUDIES
from papers.studies.hadamard import signs
from papers.studies.tkl import NAME, PRINTED_AS, aim_note
from papers.study import Entry, Run, perform
from tests.papers_study import made_up

STUDY = STUDIES[NAME]
SETS = paper_sets("tkl")
REGRESSION = ("airfoil", "boston", "ccpp", "space_ga", "gas_turbine", "california")


@dataclass(frozen=True)
class Neighbors(Tuned):
    """A quick contestant that takes TKL's place."""

    ks: tuple[int, ...] = (1, 3)
    rows: int | None = None
    name: str = "tkl"
    title: str = "Neighbors"
    warns: bool = False

    def settings(self):
        return [{"k": float(k)} for k in self.ks]

    def model(self, task, setting, seed, *, final=True):
        if self.warns:
            warnings.warn("ended early", ConvergenceWarning, stacklevel=2)
        kind = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
        return kind(n_neighbors=int(setting["k"]))

    def details(self, model):
        return {"rank": 2.0}

    def words(self):
        return "the nearest ones"


FEW = (2, 4)
PEERS = (
    GaussianSVM(Cs=(1.0, 10.0), gammas=(0.5, 2.0)),
    Forest(sizes=FEW),
    Boosting(sizes=FEW),
)


def study_of(*contestants):
    return replace(STUDY, entries=tuple(Entry(each, tuple(SETS)) for each in contestants))


TINY = study_of(Neighbors(), *PEERS)


def rows(n, task, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (n, 2))
    height = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, np.where(height > np.median(height), 1, -1) if task == "classification" else height


def sample_of(task, n=40, seed=0):
    X, y = rows(n, task, seed)
    return Sample("heart", task, X[::2], y[::2], X[1::2], y[1::2])


def fitted(machine, sample, X_new):
    return machine.fit(sample.X, sample.y).predict(X_new)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    tables = {}
    for seed, (name, chosen) in enumerate(SETS.items()):
        X, y = rows(40, "regression" if name in REGRESSION else "classification", seed)
        tables[chosen.file] = (X, 9 + 2 * y if chosen.above is not None else y)
    return made_up.write_sets(tmp_path_factory.mktemp("sets"), tables)


def run(folder, out, *more, sets="german,boston,heart", study=TINY):
    return made_up.run(study, folder, out, "--sets", sets, *more)


def measured(contestant, name, folder):
    run = Run(contestant.name, name, 0)
    return perform(run, contestant, HoldOut(), SETS[name], str(folder))


def test_printed_cells_are_numbers_with_spread():
    cells = printed(NAME)
    assert set(cells) < set(SETS)
    assert len(cells) == 10
    assert len(STUDY.sets) == 14
    large = printed("tkl-table-3-large")
    assert set(large) | set(STUDY.sets) == set(SETS)
    assert large["california"]["mean squared error"]["XGBoost"] == "0.0092±0.0002"
    rows = [row for quantities in cells.values() for row in quantities.values()]
    found = [text for row in rows for text in row.values() if text != "N/A"]
    assert len(found) == 10 * 8 + 6 * 3 - 1
    assert all(float(text.split("±")[0]) > 0 for text in found)
    assert cells["hill_valley"]["accuracy"]["AMKL"] == "94.71±1.72"
    assert cells["transfusion"]["accuracy"]["PWMK"] == "N/A"
    assert set(PRINTED_AS.values()) == set(cells["german"]["accuracy"])


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_first_trees_are_the_smaller_forest(task):
    sample = sample_of(task)
    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    many = kind(9, random_state=3).fit(sample.X, sample.y)
    for size, found in zip((1, 4, 9), first_trees(many, sample.X_test, (1, 4, 9)), strict=True):
        few = kind(size, random_state=3).fit(sample.X, sample.y)
        np.testing.assert_allclose(found, few.predict(sample.X_test), rtol=1e-12)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("contestant", [*PEERS, Neighbors()], ids=lambda c: c.name)
def test_attempts_are_the_predictions_of_the_machines(contestant, task):
    sample = sample_of(task)
    attempts = list(contestant.attempts(sample, sample.X_test, 5))
    machines = [contestant.model(task, setting, 5) for setting in contestant.settings()]
    assert len(attempts) == len(machines) > 1
    for found, machine in zip(attempts, machines, strict=True):
        expected = fitted(machine, sample, sample.X_test)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["heart", "boston"])
def test_tkl_is_certified(name, folder):
    contestant = TKL(Cs=(1.0, 10.0), deltas=(0.5,))
    found = measured(contestant, name, folder)
    tuned = found["variants"]["measured"]
    assert tuned["setting"] in contestant.settings()
    assert 0 <= tuned["gap"] <= 1e-3
    assert tuned["rank"] >= 1
    assert found["unconverged"] == 0


def test_tkl_is_solved_roughly_while_choosing():
    contestant = TKL()
    setting = {"C": 10.0, "delta": 0.1}
    rough, final = (
        contestant.model("regression", setting, 3, final=final) for final in (False, True)
    )
    assert (rough.tol, final.tol, final.C, final.delta) == (1e-2, 1e-3, 10.0, 0.1)
    assert rough.max_iter < final.max_iter
    assert final.random_state == 3
    assert contestant.model("classification", setting, 3).degree == 1


def test_support_vector_regression_follows_the_units_of_the_target():
    sample = sample_of("regression")
    machine = PEERS[0].model("regression", {"C": 1.0, "gamma": 1.0}, 0)
    plain = fitted(machine, sample, sample.X_test)
    moved = replace(sample, y=100 * sample.y - 7)
    np.testing.assert_allclose(fitted(machine, moved, sample.X_test), 100 * plain - 7)


def test_the_least_loss_is_chosen():
    sample = sample_of("classification", n=80)
    ks = (1, 3, 19)
    each = [choose(Neighbors(ks=(k,)), sample, 2, 0)[1] for k in ks]
    assert len(set(each)) > 1
    assert choose(Neighbors(ks=ks), sample, 2, 0) == ({"k": ks[np.argmin(each)]}, min(each))


def test_of_equal_losses_the_first_is_chosen():
    class Twins(Neighbors):
        def settings(self):
            return [{"k": 3.0, "place": float(place)} for place in range(3)]

    setting, _ = choose(Twins(), sample_of("regression"), 2, 0)
    assert setting["place"] == 0.0


def test_test_rows_are_not_looked_at():
    sample = sample_of("regression")
    blind = replace(sample, X_test=np.full_like(sample.X_test, np.nan), y_test=sample.y_test * 0)
    for contestant in (*PEERS, Neighbors()):
        assert choose(contestant, sample, 2, 1) == choose(contestant, blind, 2, 1)


def test_many_rows_are_tuned_on_some(monkeypatch):
    seen = []

    class Counting(Neighbors):
        def attempts(self, sample, X_new, seed):
            seen.append((len(sample.y), len(X_new)))
            return super().attempts(sample, X_new, seed)

    sample = sample_of("regression")
    choose(Counting(rows=12), sample, 2, 0)
    choose(Counting(rows=None), sample, 2, 0)
    assert seen == [(6, 6), (6, 6), (10, 10), (10, 10)]


def test_splits_hold_out_a_fifth_by_seed(folder):
    table = read(SETS["heart"], str(folder))
    first, again, other = (HoldOut().split("heart", table, seed) for seed in (0, 0, 1))
    assert (len(first.y), len(first.y_test)) == (32, 8)
    assert sorted(first.y_test) == [-1] * 4 + [1] * 4
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    every = np.concatenate([first.X, first.X_test])
    np.testing.assert_array_equal(np.sort(every, axis=0), np.sort(table.X, axis=0))


def test_abalone_is_made_of_two_classes(folder):
    table = read(SETS["abalone"], str(folder))
    assert table.task == "classification"
    assert sorted(set(table.y)) == [-1, 1]
    assert read(SETS["boston"], str(folder)).task == "regression"


def test_scores_are_accuracies_and_squared_errors():
    y = np.array([1.0, 2.0, 4.0])
    assert judge("classification", y, np.array([1.0, 2.0, 2.0])) == pytest.approx(2 / 3)
    assert judge("regression", y, np.array([1.0, 2.0, 1.0])) == 3.0


def compared(first, second, task="classification"):
    values = {"tkl": {"heart": first}, "forest": {"heart": second}}
    found = made_up.records(values, lambda test: {"measured": {"test": test, "train": 1.0}}, task)
    results = Results(document(TINY, ["heart"], 4, found))
    return results.gain("heart", "tkl", "forest", sign=signs(results)["heart"])


def test_a_win_is_further_than_one_standard_error():
    found = compared([0.80, 0.84, 0.82, 0.86], [0.80, 0.82, 0.80, 0.82])
    differences = np.array([0.0, 2.0, 2.0, 4.0])
    assert found.mean == pytest.approx(2.0)
    assert found.error == pytest.approx(differences.std(ddof=1) / 2)
    assert found.corrected_error == pytest.approx(found.error * np.sqrt(1 + 4 * 0.25))
    assert (found.verdict, found.splits) == (1, (3, 1, 0))
    assert found.corrected_p > found.p_value
    assert compared([3.0, 5.0], [1.0, 2.0], "regression").verdict == -1


@pytest.mark.parametrize(
    ("mean", "verdict", "corrected", "by_mean"), [(0.9, 0, 0, 1), (-1.2, -1, 0, -1), (0, 0, 0, 0)]
)
def test_a_tie_lies_within_the_error(mean, verdict, corrected, by_mean):
    found = Gain(mean, 1.0, 1.5, 0.4, 0.5, (2, 1, 2))
    counts = standings([found])
    sides = {key: count.wins - count.losses for key, count in counts.items()}
    assert found.verdict == verdict
    assert sides == {"rule": verdict, "corrected": corrected, "mean": by_mean}
    assert all(count.wins + count.ties + count.losses == 1 for count in counts.values())


@pytest.mark.parametrize(
    ("count", "verdict"),
    [
        ((8, 4, 2), "reached"),
        ((7, 5, 2), "missed"),
        ((11, 0, 3), "missed"),
        ((14, 0, 0), "reached"),
    ],
)
def test_the_aim_is_reached_or_missed(count, verdict):
    assert f"It is {verdict}: {count[0]} wins, {count[1]} ties, {count[2]} losses." in aim_note(
        Standing(*count)
    )


def test_the_aim_is_judged_over_all_sets(folder, tmp_path):
    only_forest = study_of(Neighbors(), PEERS[1])
    assert "The aim" not in run(folder, tmp_path, study=only_forest)[0]
    assert "The aim" in run(folder, tmp_path, sets=",".join(SETS), study=only_forest)[0]


def test_equal_differences_need_no_test():
    better = compared([0.5, 0.6, 0.7], [0.4, 0.5, 0.6])
    assert (better.verdict, better.p_value, better.splits) == (1, None, (3, 0, 0))
    assert better.mean == pytest.approx(10.0)
    same = compared([0.5, 0.6], [0.5, 0.6])
    assert (same.verdict, same.splits) == (0, (0, 2, 0))
    assert str(Standing.of([1, 1, 0, -1])) == "2–1–1"


def test_the_command_shows_paper_and_measured(folder, tmp_path):
    text, study = run(folder, tmp_path, "--keep", "--results", str(tmp_path / "kept"))
    assert (tmp_path / "kept" / f"{NAME}.md").read_text(encoding="utf-8") == text
    table = text.split("## Table 4")[1].split("##")[0]
    cells = printed(NAME)["german"]["accuracy"]
    measured = {PRINTED_AS[each] for each in ("tkl", "forest", "boosting")}
    later = [method for method in cells if method not in measured]
    assert later == ["SMKL", "NNet", "AMKL", "PWMK", "CKA"]
    assert all(f"{cells[each]} / " in table for each in measured)
    assert all(f"{cells[method]} / later" in table for method in later)
    assert "| heart  | – / " in table
    smkl = printed(NAME)["boston"]["mean squared error"]["SMKL"]
    assert f"{smkl} / later" in text.split("## Table 3")[1]
    assert text.count("Neighbors against ") == 4
    assert "over 3 sets" in text
    assert "Not measured in this run: liver, pima" in text
    assert {r["contestant"] for r in study["results"]} == {"tkl", "svm", "forest", "boosting"}
    assert all(len(r["variants"]["measured"]["test"]) == 3 for r in study["results"])
    assert str(folder) not in json.dumps(study)


def test_wins_ties_and_losses_add_up(folder, tmp_path):
    text, _ = run(folder, tmp_path)
    counted = [line for line in text.split("## Table")[0].splitlines() if line.startswith("| R")]
    (cells,) = [line.strip("|").split("|")[1:] for line in counted]
    assert [sum(map(int, cell.split("–"))) for cell in cells] == [3, 3, 3]


def test_a_second_run_measures_only_what_changed(folder, tmp_path, monkeypatch):
    first, _ = run(folder, tmp_path, sets="german")
    done = []

    def counted(run, *more):
        done.append(run.contestant)
        return perform(run, *more)

    monkeypatch.setattr(runner, "perform", counted)
    second, _ = run(folder, tmp_path, sets="german")
    assert done == []
    assert first.split("minutes")[0] == second.split("minutes")[0]
    other = study_of(Neighbors(), PEERS[0], Forest(sizes=(2, 3)), PEERS[2])
    run(folder, tmp_path, sets="german", study=other)
    assert done == ["forest"] * 3


def test_a_contestant_may_differ_on_one_set(folder, tmp_path):
    exceptions = (("german", (("rows", 10),)),)
    tkl, svm, *others = TINY.entries
    study = replace(STUDY, entries=(tkl, replace(svm, exceptions=exceptions), *others))
    assert [each.on("german").rows for each in study.entries] == [None, 10, None, None]
    assert tuple(each.on("heart") for each in study.entries) == TINY.contestants
    text, _ = run(folder, tmp_path, sets="german,heart", study=study)
    assert text.count("Gaussian SVM with rows = 10 here") == 1


def test_early_ends_are_counted_and_told(folder):
    contestant = Neighbors(warns=True)
    found = measured(contestant, "heart", folder)
    assert found["unconverged"] == 2 * 2 + 1
    assert found["variants"]["measured"]["early"] == 1
    study = study_of(contestant, PEERS[1])
    forest = measured(PEERS[1], "heart", folder)
    text = page(study, document(study, ["heart"], 1, [found, forest]))
    assert "* heart: solves that ended before their tolerance: 5 (Neighbors)." in text
    assert "1 of 1" in text
    assert text.count("n/a") == 2


def test_unknown_sets_are_named(folder, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(folder, tmp_path, sets="german,gremlin")
    assert "'gremlin'" in capsys.readouterr().err


def test_the_study_holds_what_the_paper_held():
    tkl, rescaled, svm, forest, boosting, *peers = STUDY.contestants
    assert rescaled.needs == tkl
    named = {each.name: each for each in peers}
    assert {*named, "tkl", "tkl-rescaled", "forest", "boosting"} == {*PRINTED_AS, "alignf"}
    assert named["mlp"].hidden == (50, 50, 50)
    smkl = named["smkl"].model("regression", {"C": 1.0}, 0, final=False)
    assert (smkl.kernels, smkl.weights, smkl.epsilon) == ("auto", "simple", 0.1)
    assert len(tkl.settings()) == 18
    assert tkl.settings()[0] == {"C": 1.0, "delta": 0.1}
    assert svm.rows == tkl.rows == 1000
    assert forest.sizes == boosting.sizes == tuple(range(50, 651, 50))
    assert [each.on("german").rows for each in STUDY.entries[:4]] == [500, 1000, 500, None]


def test_rescaled_C_grows_with_the_rows():
    """The box is the one that was chosen, and nothing is chosen again."""
    sample = sample_of("regression", n=80)
    tkl = TKL(Cs=(1.0, 10.0), deltas=(0.5,), rows=20, tuning_tol=0.1, tol=0.1)
    rescaled = RescaledTKL(Cs=(1.0, 10.0), deltas=(0.5,), rows=20, tuning_tol=0.1, tol=0.1)
    needed = {"variants": tkl.measure(sample, HoldOut(), 0, None)}
    found = rescaled.measure(sample, HoldOut(), 0, needed)["measured"]
    chosen = needed["variants"]["measured"]["setting"]
    assert found["setting"] == {"C": 2 * chosen["C"], "delta": 0.5}
    model = rescaled.model("regression", found["setting"], 0).fit(sample.X, sample.y)
    assert found["test"] == np.mean((model.predict(sample.X_test) - sample.y_test) ** 2)


def test_errors_of_california_are_shares_of_the_range(folder):
    table = read(SETS["california"], str(folder))
    plain = read(replace(SETS["california"], target_unit=1.0), str(folder))
    np.testing.assert_allclose(table.y * 485002.0, plain.y, rtol=1e-14)
