"""``pliant demo`` with fewer rows and simpler methods."""

from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from pliant.tables.cli import demo as module
from tests.cli.conftest import captured, run_here
from tests.comparison.report.report_page import Page


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Use a temporary working folder, fast methods and small tables."""
    third = load_breast_cancer(as_frame=True)
    third.data, third.target = third.data[::3], third.target[::3]
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch)
        patch.setattr("pliant.tables.comparison.options.cpu_count", lambda: 1)
        patch.setattr("pliant.tables.comparison.pictures.can_draw", lambda: False)
        patch.setattr(module, "METHODS", ("linear", "dummy"))
        patch.setattr(module, "ROWS", 120)
        patch.setattr(module, "load_breast_cancer", lambda **_: third)
        patch.chdir(tmp_path_factory.mktemp("demo"))
        yield Path.cwd()


@pytest.fixture(scope="module")
def demo(place):
    done = captured("demo", "--budget", "none", "--out", "a")
    assert done.code == 0, done.err
    return done


def test_the_demo_compares_on_two_tables_and_writes_a_report(demo, place):
    assert {path.name for path in (place / "a").iterdir()} == {
        "friedman1.csv", "breast_cancer.csv", "report.html",
        "friedman1.compare.jsonl", "breast_cancer.compare.jsonl",
    }  # fmt: skip
    assert "friedman1: regression of 'target', 120 rows" in demo.out
    assert "breast_cancer: classification of 'target', 190 rows" in demo.out
    assert f"Open {Path('a/report.html')} in a browser" in demo.out
    page = Page((place / "a/report.html").read_text(encoding="utf-8"))
    assert page.all("table")
    assert set(pd.read_csv(place / "a/breast_cancer.csv")["target"]) == {"benign", "malignant"}


def test_the_commands_that_it_prints_run(demo, place):
    fit, predict, _ = demo.out.partition("Next:\n")[2].splitlines()
    for line in (fit, predict):
        words = line.split("pliant ", 1)[1].split()
        options = ["--param", "n_members=2", "--cv", "0"] if words[0] == "fit" else []
        done = captured(*words, *options)
        assert done.code == 0, done.err
    assert "low,high" in done.out


def test_a_demo_without_a_finished_fold_fails(place):
    done = captured("demo", "--budget", "0.001s", "--out", "b")
    assert (done.code, done.err.splitlines()[-1]) == (
        2,
        "Error: no method finished a fold: raise --budget",
    )
