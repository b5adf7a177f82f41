"""The study of larger grids: what it searches, its gains, its page."""

import numpy as np
import pytest

pytest.importorskip("benchmarks.grids")

from benchmarks import grids
from benchmarks.grids import Cell
from pliant.comparison import Sample
from pliant.registry import METHODS

CPU = {"cpu": "A", "cores": 2, "system": "B", "python": "C", "packages": {"numpy": "2"}}


def lines(scores, **names):
    """Lines of one seed of ldk: scores by table."""
    return [
        {"table": table, "seed": 0, "method": "ldk", "score": score, "seconds": 2.0, **names}
        for table, score in scores.items()
    ]


def test_each_method_with_further_parameters_is_studied():
    assert set(grids.TABLES) == {name for name, method in METHODS.items() if method.further}
    assert grids.variants("ldk") == [("", 20), ("learner__slack", 32), ("learner__slack", 80)]
    names = "eta_scale+extension+tau"
    assert [each for each in grids.variants("dank") if each[0] == names] == [
        (names, 32),
        (names, 96),
    ]
    every = list(grids.cells(["knpl", "ldk"], range(2)))
    assert len(every) == len(set(every)) == 2 * 7 * (3 + 3)
    assert [cell.candidates for cell in every] == sorted(
        (cell.candidates for cell in every), key=lambda most: most > grids.CANDIDATES
    )


def test_a_search_is_tested_on_the_other_half():
    X = np.random.default_rng(0).normal(size=(60, 2))
    sample = Sample.of(X, np.where(X[:, 0] > 0, 1, -1), task="classification")
    line = grids.run(Cell("made up", 1, "ldk", "learner__slack", 4), sample)
    assert (line["rows"], line["test_rows"]) == (30, 30)
    assert line["score"] > 0.8
    assert line["seconds"] > 0
    assert set(line["chosen"]) == {"C", "gamma", "slack"}
    assert line["chosen"]["slack"] in METHODS["ldk"].further["learner__slack"]


def test_gains_are_means_over_tables_in_points():
    plain = lines({"a": 0.5, "b": 0.7}, also="", candidates=20)
    wide = lines({"a": 0.6, "b": 0.68}, also="learner__slack", candidates=32)
    alone = lines({"c": 0.9}, also="learner__slack", candidates=32)
    (row,) = grids.gains([*plain, *wide, *alone])
    assert (row["method"], row["also"], row["searches"]) == ("LDK", "slack", 2)
    assert row["gain"] == pytest.approx(4.0)
    assert row["error"] == pytest.approx(6.0)
    assert (row["tables"], row["splits"], row["time"]) == ("1 / 1", "1 / 1", 1.0)
    report = grids.document([*plain, *wide, lines({"a": 1.0}, also="x", candidates=1)[0]])
    assert report["lines"] == []  # neither table is one of the study
    page = grids.to_markdown({**report, "lines": [*plain, *wide], "date": "today", "machine": CPU})
    assert "| LDK    | slack " in page
    assert page.startswith("# Whether a larger grid pays\n")
