"""The comparison over many tables: splits, resuming, ranks, the page."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks.tables import page, running, standings
from benchmarks.tables.contestants import CONTESTANTS, ONLY

SEEDS = page.RANKED_SEEDS


def every(task):
    return [name for names in running.TABLES[task].values() for name in names]


def test_the_halves_share_no_table():
    names = [*every("regression"), *every("classification")]
    assert len(names) == len(set(names)) == 22 + 42
    for task in running.TABLES:
        halves = running.TABLES[task]
        assert len(halves["choice"]) == len(halves["report"])
        assert set(running.SMALL[task]) < set(every(task))


def test_a_split_is_the_same_for_all(tmp_path):
    one, other = (running.split("friedman1", 100, tmp_path) for _ in range(2))
    for part, again in zip(one, other, strict=True):
        np.testing.assert_array_equal(part, again)
    assert [len(part) for part in one] == [1400, 1400, 600, 600]
    assert not np.array_equal(running.split("friedman1", 101, tmp_path)[0], one[0])


def test_an_unknown_table():
    with pytest.raises(ValueError, match=r"expected the name of a table .*, got 'boston'"):
        running.task_of("boston")


def test_contestants_are_of_one_task_or_both():
    ranked = {*standings.RANKED["regression"], *standings.RANKED["classification"]}
    assert ranked == set(CONTESTANTS)
    for label, task in ONLY.items():
        assert [t for t, names in standings.RANKED.items() if label in names] == [task]


@pytest.mark.parametrize("contestant", ["lab_rbf", "svm", "forest"])
def test_classes_have_accuracy_and_log_loss(monkeypatch, tmp_path, contestant):
    monkeypatch.setattr(running, "load", lambda name, folder: load_iris(return_X_y=True))
    line = running.run(running.Cell("x", "iris", 100), contestant, tmp_path)
    assert line["score"] > 0.85
    assert 0 < line["log_loss"] < 0.5
    assert {"fit_s", "wall_s", "predict_s"} < line.keys()


def test_fits_that_are_in_the_file_are_not_run_again(monkeypatch, tmp_path):
    ran = []

    def instead(cell, contestant, folder):
        ran.append(cell)
        return cell._asdict()

    monkeypatch.setattr(running, "run", instead)
    cells = [(running.Cell("lab_rbf", "diabetes", seed), "lab_rbf") for seed in (100, 101)]
    path = tmp_path / "results.jsonl"
    running.run_all(iter(cells[:1]), path, tmp_path)
    running.run_all(iter(cells), path, tmp_path)
    assert ran == [cell for cell, _ in cells]
    assert [line["seed"] for line in running.read(path)] == [100, 101]


def results(task="regression", tables=("yacht", "airfoil"), ours=0.9, seconds=1.0):
    """Every contestant a little worse than the one before; LAB-RBF with `ours`."""
    rows = []
    for table in tables:
        for k, label in enumerate([*standings.RANKED[task], standings.OLD]):
            for seed in SEEDS:
                score = ours if label == standings.OURS else 0.8 - 0.01 * k
                row = {"label": label, "table": table, "seed": seed, "score": score + seed / 1e6}
                row |= {"fit_s": seconds if label == standings.OURS else 4.0, "predict_s": 0.1}
                rows.append(row | ({"log_loss": 0.5} if task == "classification" else {}))
    return rows


def test_ranks_are_those_of_mean_scores():
    lines = standings.standings(results(), SEEDS, "regression", ["yacht", "airfoil"])
    assert [line["contestant"] for line in lines] == list(standings.RANKED["regression"])
    assert [line["mean rank"] for line in lines] == list(range(1, 8))
    first, second = lines[:2]
    assert first["relative error"] == pytest.approx(1.0)
    assert second["relative error"] == pytest.approx((1 - 0.7901) / (1 - 0.9001), rel=1e-3)
    old = standings.standings(results(), SEEDS, "regression", ["yacht"], standings.OLD)
    assert old[-1]["contestant"] == standings.OLD
    assert old[-1]["mean rank"] == 7


def test_a_table_without_all_seeds_is_left_out():
    rows = [r for r in results() if (r["label"], r["table"], r["seed"]) != ("xrfm", "yacht", 101)]
    assert standings.complete(rows, SEEDS, "regression", ["yacht", "airfoil"]) == ["airfoil"]


@pytest.mark.parametrize(("ours", "worse"), [(0.74, False), (0.72, True)])
def test_a_loss_counts_beyond_tolerance_and_two_errors(ours, worse):
    rows = results(ours=ours)  # the old revision has .73
    lines = standings.beside_old(rows, SEEDS)
    assert [line["worse"] for line in lines] == [worse, worse]
    assert lines[0]["gain"] == pytest.approx(ours - 0.73)
    assert lines[0]["time ratio"] == pytest.approx(0.25)
    noisy = [
        {**r, "score": r["score"] + 0.1 * (-1) ** r["seed"]} if r["label"] == "lab_rbf" else r
        for r in rows
    ]
    assert not any(line["worse"] for line in standings.beside_old(noisy, SEEDS))


def test_the_page_and_the_picture(tmp_path):
    rows = results() + results("classification", ("iris", "wine"))
    lines = tmp_path / "results.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page.main([str(lines), "--out", str(tmp_path)])
    text = (tmp_path / "tables.md").read_text()
    assert "## Regression, all tables" in text
    assert "## Classification, at most 500 rows" in text
    assert "its geometric mean is 0.250" in text
    assert (tmp_path / "tables.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads((tmp_path / "tables.json").read_text())
    assert len(page.unpacked(document)) == len(rows)
    page.main(["--out", str(tmp_path), "--without", "lab_rbf"])  # what is kept stays
    kept = page.unpacked(json.loads((tmp_path / "tables.json").read_text()))
    assert len(kept) == len(rows) - 4 * len(SEEDS)


def test_seeds_that_somebody_lacks_are_left_out():
    rows = [r for r in results() if (r["label"], r["seed"]) != ("xrfm", 102)]
    assert standings.common_seeds(rows, SEEDS) == [100, 101, 103, 104]
    assert standings.common_seeds(results(), SEEDS) == list(SEEDS)
