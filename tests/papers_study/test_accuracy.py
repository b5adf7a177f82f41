"""The accuracy study of TKL's tables, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

import gzip
import json
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from papers import __main__ as command_line
from papers.accuracy import NAME, measuring
from papers.accuracy.contestant import Contestant
from papers.accuracy.ensembles import Boosting, Forest, first_trees
from papers.accuracy.gaussian import GaussianSVM
from papers.accuracy.notes import aim_note
from papers.accuracy.pages import page
from papers.accuracy.printed import LATER_METHODS, PRINTED_AS, printed_cells
from papers.accuracy.protocol import (
    ACCURACY,
    AccuracyProtocol,
    Exceptional,
    measure,
    split,
)
from papers.accuracy.sets import SETS, read
from papers.accuracy.standing import Gain, Standing, gain, standings
from papers.accuracy.study import choose, perform
from papers.accuracy.tessellated import TKL
from papers.document import document
from papers.protocol import Sample
from papers.scores import Scores
from papers.sets import Table
from papers.study import Run

REGRESSION = ("airfoil", "boston", "ccpp", "space_ga")


@dataclass(frozen=True)
class Neighbors(Contestant):
    """A quick contestant that takes TKL's place."""

    ks: tuple[int, ...] = (1, 3)
    rows: int | None = None
    name: str = "tkl"
    title: str = "Neighbors"
    warns: bool = False

    def settings(self):
        return [{"k": float(k)} for k in self.ks]

    def machine(self, task, setting, seed, *, final=True):
        if self.warns:
            warnings.warn("ended early", ConvergenceWarning, stacklevel=2)
        kind = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
        return kind(n_neighbors=int(setting["k"]))

    def details(self, machine):
        return {"rank": 2.0}

    def words(self):
        return "the nearest ones"


FEW = (2, 4)
PEERS = (
    GaussianSVM(Cs=(1.0, 10.0), gammas=(0.5, 2.0)),
    Forest(sizes=FEW),
    Boosting(sizes=FEW),
)
TINY = AccuracyProtocol(contestants=(Neighbors(), *PEERS), exceptions=())


def rows(n, task, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 5, (n, 2))
    height = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
    return X, np.where(height > np.median(height), 1, -1) if task == "classification" else height


def sample_of(task, n=40, seed=0):
    X, y = rows(n, task, seed)
    return Sample(task, X[::2], y[::2], X[1::2], y[1::2])


def fitted(machine, sample, X_new):
    return machine.fit(sample.X, sample.y).predict(X_new)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    for seed, (name, chosen) in enumerate(SETS.items()):
        X, y = rows(40, "regression" if name in REGRESSION else "classification", seed)
        y = 9 + 2 * y if chosen.above is not None else y
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
        with gzip.open(path / f"{chosen.file}.csv.gz", "wt") as target:
            target.write("\n".join(["a,b,target", *lines]) + "\n")
    return path


def run(folder, out, *more, sets="german,boston,heart", protocol=TINY):
    arguments = [NAME, "--data", str(folder), "--out", str(out), "--repeats", "3"]
    arguments += ["--sets", sets, *more]
    assert command_line.main(arguments, splits=protocol) == 0
    text = (out / f"{NAME}.md").read_text(encoding="utf-8")
    return text, json.loads((out / f"{NAME}.json").read_text(encoding="utf-8"))


def test_printed_cells_are_numbers_with_spread():
    cells = printed_cells()
    assert set(cells) < set(SETS)
    assert len(cells) == 10
    assert len(SETS) == 14
    found = [text for row in cells.values() for text in row.values() if text not in ("", "N/A")]
    assert len(found) == 10 * 8 + 6 * 3 - 1
    assert all(float(text.split("±")[0]) > 0 for text in found)
    assert cells["hill_valley"]["AMKL"] == "94.71±1.72"
    assert cells["transfusion"]["PWMK"] == "N/A"
    assert {*PRINTED_AS.values(), *LATER_METHODS} <= set(cells["ccpp"])


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
    machines = [contestant.machine(task, setting, 5) for setting in contestant.settings()]
    assert len(attempts) == len(machines) > 1
    for found, machine in zip(attempts, machines, strict=True):
        expected = fitted(machine, sample, sample.X_test)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["heart", "boston"])
def test_tkl_is_certified(name, folder):
    contestant = TKL(Cs=(1.0, 10.0), deltas=(0.5,))
    found = perform(Run("tkl", name, 0), str(folder), TINY, contestant)
    tuned = found["variants"]["tuned"]
    assert tuned["setting"] in contestant.settings()
    assert 0 <= tuned["gap"] <= 1e-3
    assert tuned["rank"] >= 1
    assert found["unconverged"] == 0


def test_tkl_is_solved_roughly_while_choosing():
    contestant = TKL()
    setting = {"C": 10.0, "delta": 0.1}
    rough, final = (
        contestant.machine("regression", setting, 3, final=final) for final in (False, True)
    )
    assert (rough.tol, final.tol, final.C, final.delta) == (1e-2, 1e-3, 10.0, 0.1)
    assert rough.max_iter < final.max_iter
    assert final.random_state == 3
    assert contestant.machine("classification", setting, 3).degree == 1


def test_support_vector_regression_follows_the_units_of_the_target():
    sample = sample_of("regression")
    machine = PEERS[0].machine("regression", {"C": 1.0, "gamma": 1.0}, 0)
    plain = fitted(machine, sample, sample.X_test)
    moved = Sample("regression", sample.X, 100 * sample.y - 7, sample.X_test, sample.y_test)
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
    table = read("heart", str(folder))
    first, again, other = (split(table, TINY, seed) for seed in (0, 0, 1))
    assert (len(first.y), len(first.y_test)) == (32, 8)
    assert sorted(first.y_test) == [-1] * 4 + [1] * 4
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    every = np.concatenate([first.X, first.X_test])
    np.testing.assert_array_equal(np.sort(every, axis=0), np.sort(table.X, axis=0))


def test_abalone_is_made_of_two_classes(folder):
    table = read("abalone", str(folder))
    assert table.task == "classification"
    assert sorted(set(table.y)) == [-1, 1]
    assert read("boston", str(folder)).task == "regression"


def test_scores_are_accuracies_and_squared_errors():
    y = np.array([1.0, 2.0, 4.0])
    assert measure("classification", y, np.array([1.0, 2.0, 2.0])) == pytest.approx(2 / 3)
    assert measure("regression", y, np.array([1.0, 2.0, 1.0])) == 3.0


def records(values, task="classification", name="heart"):
    """A record for each contestant and repeat."""
    return [
        {"contestant": contestant, "set": name, "repeat": k, "task": task, "d": 2}
        | {"n_train": 80, "n_test": 20, "seconds": 1.0, "unconverged": 0}
        | {"variants": {"tuned": {"test": test, "train": 1.0}}}
        for contestant, tests in values.items()
        for k, test in enumerate(tests)
    ]


def compared(first, second, task="classification"):
    found = records({"tkl": first, "forest": second}, task)
    return gain(Scores(document(NAME, ["heart"], 4, TINY, found)), "heart", "tkl", "forest")


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
    only_forest = replace(TINY, contestants=(Neighbors(), PEERS[1]))
    assert "The aim" not in run(folder, tmp_path, protocol=only_forest)[0]
    assert "The aim" in run(folder, tmp_path, sets=",".join(SETS), protocol=only_forest)[0]


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
    cells = printed_cells()["german"]
    assert all(f"{cells[PRINTED_AS[each]]} / " in table for each in PRINTED_AS)
    assert all(f"{cells[method]} / later" in table for method in LATER_METHODS)
    assert "| heart  | – / " in table
    assert f"{printed_cells()['boston']['SMKL']} / later" in text.split("## Table 3")[1]
    assert text.count("TKL against ") == 4
    assert "over 3 sets" in text
    assert "Not measured in this run: liver, pima" in text
    assert {r["contestant"] for r in study["results"]} == {"tkl", "svm", "forest", "boosting"}
    assert all(len(r["variants"]["tuned"]["test"]) == 3 for r in study["results"])
    assert str(folder) not in json.dumps(study)


def test_wins_ties_and_losses_add_up(folder, tmp_path):
    text, _ = run(folder, tmp_path)
    counted = [line for line in text.split("## Table")[0].splitlines() if line.startswith("| R")]
    (cells,) = [line.strip("|").split("|")[1:] for line in counted]
    assert [sum(map(int, cell.split("–"))) for cell in cells] == [3, 3, 3]


def test_a_second_run_measures_only_what_changed(folder, tmp_path, monkeypatch):
    first, _ = run(folder, tmp_path, sets="german")
    measured = []

    def counted(run, *more):
        measured.append(run.contestant)
        return perform(run, *more)

    monkeypatch.setattr(measuring, "perform", counted)
    second, _ = run(folder, tmp_path, sets="german")
    assert measured == []
    assert first.split("minutes")[0] == second.split("minutes")[0]
    other = replace(TINY, contestants=(Neighbors(), PEERS[0], Forest(sizes=(2, 3)), PEERS[2]))
    run(folder, tmp_path, sets="german", protocol=other)
    assert measured == ["forest"] * 3


def test_a_contestant_may_differ_on_one_set(folder, tmp_path):
    protocol = replace(TINY, exceptions=(Exceptional("german", "svm", (("rows", 10),)),))
    assert [each.rows for each in protocol.on("german")] == [None, 10, None, None]
    assert protocol.on("heart") == TINY.contestants
    text, _ = run(folder, tmp_path, sets="german,heart", protocol=protocol)
    assert text.count("Gaussian SVM with rows = 10 here") == 1


def test_early_ends_are_counted_and_told(folder):
    contestant = Neighbors(warns=True)
    found = perform(Run("tkl", "heart", 0), str(folder), TINY, contestant)
    assert found["unconverged"] == 2 * 2 + 1
    assert found["variants"]["tuned"]["early"] == 1
    protocol = replace(TINY, contestants=(contestant, PEERS[1]))
    forest = perform(Run("forest", "heart", 0), str(folder), protocol, PEERS[1])
    text = page(document(NAME, ["heart"], 1, protocol, [found, forest]), protocol)
    assert "* heart: solves that ended before their tolerance: 5 (Neighbors)." in text
    assert "1 of 1" in text
    assert text.count("n/a") == 2


def test_unknown_sets_are_named(folder, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(folder, tmp_path, sets="german,gremlin")
    assert "'gremlin'" in capsys.readouterr().err


def test_the_study_holds_what_the_paper_held():
    tkl, svm, forest, boosting = ACCURACY.contestants
    assert len(tkl.settings()) == 18
    assert tkl.settings()[0] == {"C": 1.0, "delta": 0.1}
    assert svm.rows == tkl.rows == 1000
    assert forest.sizes == boosting.sizes == tuple(range(50, 651, 50))
    assert Table(np.zeros((4, 1)), np.ones(4), "regression", None).own_training is None
