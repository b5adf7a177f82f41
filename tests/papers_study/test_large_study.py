"""Table 4 of the DANK paper, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from papers import __main__ as command_line
from papers import large
from papers.large.contestants import Exact, Libsvm, Scalable
from papers.large.printed import MEASURED_AS, METHODS, cells
from papers.large.rank import LEAST, counted_rank
from pliant import DANKClassifier
from pliant.comparison import LATER

CONTESTANTS = (
    Libsvm(cache_mb=10.0),
    Exact(),
    Exact(0.0, 100.0, "exact-0", "DANK exact, tau = 0"),
    Scalable(),
    Scalable(refine=True, name="refined", title="DANK refined"),
)


def points(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    return X, np.where(np.sin(7 * X[:, 0]) + X[:, 1] > 0.8, 1, -1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    for seed, each in enumerate(large.LARGE.sets):
        X, y = points(seed=seed)
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
        with gzip.open(path / f"{each.machine.file}.csv.gz", "wt") as target:
            target.write("\n".join(["a,b,c,target", *lines]) + "\n")
    return path


@pytest.fixture(scope="session")
def ran(folder, tmp_path_factory):
    sets = tuple(replace(each, n_parts=3) for each in large.LARGE.sets)
    study = (CONTESTANTS, replace(large.LARGE, sets=sets))
    out = tmp_path_factory.mktemp("out")
    arguments = [large.NAME, "--data", str(folder), "--out", str(out), "--repeats", "2"]
    assert command_line.main(arguments, large_study=study) == 0
    text = (out / f"{large.NAME}.md").read_text(encoding="utf-8")
    return text, json.loads((out / f"{large.NAME}.json").read_text(encoding="utf-8")), out, study


def test_the_paper_is_transcribed():
    assert list(cells()) == ["accuracy", "seconds"]
    assert all(list(rows) == ["EEG", "ijcnn1", "covtype"] for rows in cells().values())
    assert cells()["accuracy"]["EEG"]["DANK scalable"] == "96.3 (142)"
    assert cells()["seconds"]["ijcnn1"]["BMKL exact"] == "109967"
    assert len(METHODS) == 8
    assert set(MEASURED_AS) <= set(METHODS)
    assert set(MEASURED_AS.values()) <= {each.name for each in large.CONTESTANTS}


def test_sets_have_the_parameters_of_the_papers_table_3():
    for each in large.LARGE.sets:
        C, gamma = {"EEG": (32.0, 100.0), "ijcnn1": (32.0, 2.0)}[each.printed]
        assert (each.machine.C, each.machine.gamma) == (C, gamma)
        assert each.printed in cells()["accuracy"]


def test_every_contestant_is_measured_on_every_set(ran):
    _, found, _, _ = ran
    assert found["sets"] == list(large.LARGE.names)
    assert len(found["results"]) == len(CONTESTANTS) * len(large.LARGE.sets)
    for result in found["results"]:
        numbers = result["variants"]["measured"]
        assert result["repeat"] == [0, 1]
        assert (result["n_train"], result["n_test"]) == (60, 60)
        key = "smooth" if result["contestant"] == "refined" else "test"
        assert all(50.0 < value <= 100.0 for value in numbers[key])
        assert all(seconds > 0.0 for seconds in numbers["fit_seconds"])
        if result["contestant"] != "libsvm":
            assert all(0.0 <= gap <= 1e-4 for gap in numbers["gap"])


def test_refined_and_exact_are_the_same_machine(ran):
    _, found, _, _ = ran
    by = {(r["set"], r["contestant"]): r["variants"]["measured"] for r in found["results"]}
    for name in large.LARGE.names:
        np.testing.assert_allclose(
            by[name, "refined"]["smooth"], by[name, "exact-0"]["smooth"], atol=2.0
        )


def test_the_page_shows_the_paper_beside_what_was_measured(ran):
    text, _, _, _ = ran
    assert "95.9 / " in text
    assert "96.3 (142) / " in text
    assert f"109967 / {LATER}" in text
    assert "97.1 / not at hand" in text
    assert all(f"| {name} " in text.replace("\\_", "_") for name in large.LARGE.names)
    assert "Not measured in this run" not in text


def test_what_was_measured_is_not_measured_again(ran, folder, monkeypatch):
    text, _, out, study = ran
    monkeypatch.setattr(large.measuring, "perform", None)
    arguments = [large.NAME, "--data", str(folder), "--out", str(out), "--repeats", "2"]
    assert command_line.main(arguments, large_study=study) == 0
    assert (out / f"{large.NAME}.md").read_text(encoding="utf-8")[:2000] == text[:2000]


def test_the_counted_rank_is_that_of_the_dense_matrix():
    X, y = points(70)
    model = DANKClassifier(C=5.0, gamma=3.0, tau=0.0, eta=20.0).fit(X, y)
    assert 0 < len(model.support_) < 70
    dense = np.linalg.eigvalsh(model.adaptation_.toarray())
    assert counted_rank(model.kernel_) == np.sum(dense > LEAST)


def test_the_counted_rank_of_parts_is_the_sum_over_the_blocks():
    X, y = points(90)
    options = {"partition": "kmeans", "n_parts": 3, "random_state": 0}
    model = DANKClassifier(C=5.0, gamma=3.0, tau=0.0, eta=20.0, **options).fit(X, y)
    F, labels = model.adaptation_.toarray(), model.kernel_.labels
    blocks = [F[np.ix_(labels == p, labels == p)] for p in range(3)]
    expected = sum(np.sum(np.linalg.eigvalsh(block) > LEAST) for block in blocks)
    assert counted_rank(model.kernel_) == expected
