"""A study that takes over what an earlier document has of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from papers import __main__ as command_line
from papers.beside import Beside
from papers.contestants.hadamard import CONTESTANTS, Tuning
from papers.studies import STUDIES
from papers.study import Contestant, Entry
from tests.papers_study import made_up

SEEN: list[str] = []
"""The contestants that were measured, in order."""


@dataclass(frozen=True)
class Constant(Contestant):
    """Predicts the most frequent class, and says that it was asked."""

    name: str
    title: str
    score: float = 0.5
    kind: ClassVar[str] = "Baseline"

    def words(self):
        return "not tuned"

    def measure(self, sample, protocol, repeat, needed):
        SEEN.append(self.name)
        both = {"test": self.score + repeat / 1000, "train": self.score, "C": 1 / 3}
        return {"measured": both}


def study(*contestants, repeats=2):
    entries = tuple(Entry(each, ("heart",)) for each in contestants)
    table = STUDIES["dank-table-1"]
    return replace(
        table, protocol=Tuning(powers=(0,)), entries=entries, repeats=repeats,
        beside=Beside("DANK", "Table 1"), sections=lambda study, results: ["A page."],
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20, 2))
    return made_up.write_sets(tmp_path, {"heart_statlog": (X, np.arange(20) % 2)})


def groups(document):
    return {each["contestant"]: each for each in document["results"]}


def test_only_what_is_missing_is_measured(folder, tmp_path):
    kept = tmp_path / "kept"
    old, new = Constant("old", "The old one"), Constant("new", "The new one", 0.75)
    keep = ("--keep", "--results", str(kept))
    SEEN.clear()
    _, first = made_up.run(study(old), folder, tmp_path / "a", *keep, repeats=3)
    assert SEEN == ["old"] * 3
    assert "earlier" not in first

    SEEN.clear()
    text, second = made_up.run(study(old, new), folder, tmp_path / "b", *keep, "--add", repeats=2)
    assert SEEN == ["new"] * 2
    assert groups(second)["old"] == groups(first)["old"]
    assert groups(second)["new"]["repeat"] == [0, 1]
    assert groups(second)["new"]["variants"]["measured"]["test"] == [0.75, 0.751]
    assert second["repeats"] == 3
    assert [part["contestants"] for part in second["earlier"]] == [["old"]]
    assert second["earlier"][0]["date"] == first["date"]
    assert "Measured before that, wholly or in part: The old one (" in text

    # what was measured before that run keeps its own date
    SEEN.clear()
    third = Constant("third", "The third one")
    _, last = made_up.run(study(old, new, third), folder, tmp_path / "c", *keep, "--add", repeats=1)
    assert SEEN == ["third"]
    assert [part["contestants"] for part in last["earlier"]] == [["old"], ["new"]]

    SEEN.clear()
    _, again = made_up.run(
        study(old, new, third), folder, tmp_path / "d", "--results", str(kept), "--add",
        "--again", "old", repeats=3,
    )  # fmt: skip
    assert sorted(SEEN) == ["new"] + ["old"] * 3 + ["third"] * 2
    assert [part["contestants"] for part in again["earlier"]] == [["new"], ["third"]]


def test_fewer_repeats_leave_out_nothing_that_was_measured_here(folder, tmp_path):
    old, new = Constant("old", "The old one"), Constant("new", "The new one", 0.75)
    keep = ("--keep", "--results", str(tmp_path / "kept"))
    made_up.run(study(old, new), folder, tmp_path / "a", *keep, "--contestant", "old", repeats=3)
    _, second = made_up.run(study(old, new), folder, tmp_path / "a", *keep, "--add", repeats=1)
    assert groups(second)["old"]["repeat"] == [0, 1, 2]
    assert groups(second)["new"]["repeat"] == [0]


def test_one_contestant_is_measured_and_named_rightly(folder, tmp_path, capsys):
    both = study(Constant("old", "The old one"), Constant("new", "The new one"))
    SEEN.clear()
    _, document = made_up.run(both, folder, tmp_path, "--contestant", "new", repeats=2)
    assert SEEN == ["new"] * 2
    assert list(groups(document)) == ["new"]
    for option in ("--contestant", "--again"):
        with pytest.raises(SystemExit):
            made_up.run(both, folder, tmp_path, option, "odd")
        assert "expected a contestant out of old, new, got 'odd'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        made_up.run(both, folder, tmp_path, "--contestant", "new", "--again", "old")
    assert "expected --contestant old with --again old, or neither" in capsys.readouterr().err


def test_a_page_that_needs_another_contestant_says_so(folder, tmp_path, capsys):
    def compared(study, results):
        return [str(results.group("heart", "old")["repeat"])]

    both = study(Constant("old", "Old"), Constant("new", "New"))
    both = replace(both, sections=compared)
    words = ("run", both.name, "--data", str(folder), "--out", str(tmp_path / "o"))
    known = {both.name: both}
    assert command_line.main([*words, "--contestant", "new"], known) == 1
    assert "needs ('heart', 'old') too: --contestant, or --add" in capsys.readouterr().err
    SEEN.clear()
    assert command_line.main([*words], known) == 0
    assert SEEN == ["old", "old"]  # the other is not measured again


def test_without_an_earlier_document_all_is_measured(folder, tmp_path):
    SEEN.clear()
    svm = CONTESTANTS["svm"]
    made_up.run(
        study(Constant("old", "The old one"), svm), folder, tmp_path / "out", "--add",
        "--results", str(tmp_path / "nothing"), repeats=1,
    )  # fmt: skip
    assert SEEN == ["old"]
