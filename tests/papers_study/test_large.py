"""Table 4 of the DANK paper, on made-up sets of toy size that carry the real names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.scale_sets import SETS
from papers import runner
from papers.contestants.large import (
    LEAST,
    Exact,
    LargeHalves,
    Libsvm,
    Scalable,
    counted_rank,
)
from papers.data import paper_sets, printed
from papers.page import LATER
from papers.studies import STUDIES
from papers.studies.large import MEASURED_AS
from papers.study import Entry
from pliant import DANKClassifier
from tests.papers_study import made_up

STUDY = STUDIES["dank-table-4"]
NAMES = tuple(paper_sets("large"))
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


TINY = replace(
    STUDY,
    protocol=LargeHalves(n_parts=3),
    entries=tuple(Entry(each, NAMES) for each in CONTESTANTS),
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    tables = {chosen.file: points(seed=k) for k, chosen in enumerate(paper_sets("large").values())}
    return made_up.write_sets(tmp_path_factory.mktemp("sets"), tables)


@pytest.fixture(scope="session")
def ran(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    return *made_up.run(TINY, folder, out, repeats=2), out


def test_the_paper_is_transcribed():
    cells = printed("dank-table-4")
    assert list(cells) == ["EEG", "ijcnn1", "covtype"]
    assert all(list(quantities) == ["accuracy", "seconds"] for quantities in cells.values())
    assert cells["EEG"]["accuracy"]["DANK scalable"] == "96.3 (142)"
    assert cells["ijcnn1"]["seconds"]["BMKL exact"] == "109967"
    assert len(cells["EEG"]["accuracy"]) == 8
    assert set(MEASURED_AS) <= set(cells["EEG"]["accuracy"])
    assert set(MEASURED_AS.values()) <= {each.name for each in STUDY.contestants}


def test_sets_have_the_parameters_of_the_papers_table_3():
    for name, chosen in paper_sets("large").items():
        C, gamma = {"EEG": (32.0, 100.0), "ijcnn1": (32.0, 2.0)}[chosen.printed]
        assert (SETS[name].C, SETS[name].gamma) == (C, gamma)
        assert SETS[name].file == chosen.file
        assert chosen.printed in printed("dank-table-4")


def test_every_contestant_is_measured_on_every_set(ran):
    _, found, _ = ran
    assert found["sets"] == list(NAMES)
    assert len(found["results"]) == len(CONTESTANTS) * len(NAMES)
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
    _, found, _ = ran
    by = {(r["set"], r["contestant"]): r["variants"]["measured"] for r in found["results"]}
    for name in NAMES:
        np.testing.assert_allclose(
            by[name, "refined"]["smooth"], by[name, "exact-0"]["smooth"], atol=2.0
        )


def test_the_page_shows_the_paper_beside_what_was_measured(ran):
    text, _, _ = ran
    assert "95.9 / " in text
    assert "96.3 (142) / " in text
    assert f"109967 / {LATER}" in text
    assert "97.1 / not at hand" in text
    assert all(f"| {name} " in text.replace("\\_", "_") for name in NAMES)
    assert "Not measured in this run" not in text


def test_what_was_measured_is_not_measured_again(ran, folder, monkeypatch):
    text, _, out = ran
    monkeypatch.setattr(runner, "perform", None)
    assert made_up.run(TINY, folder, out, repeats=2)[0][:2000] == text[:2000]


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
