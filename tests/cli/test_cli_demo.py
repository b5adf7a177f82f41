"""``pliant demo``, on fewer rows and with smaller grids than users get."""

import dataclasses
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, r2_score

from pliant.cli.demo import study
from pliant.cli.demo.command import FILES
from pliant.cli.report import program
from pliant.comparison.run.baselines import BASELINES
from pliant.persistence import load_model
from pliant.registry import METHODS
from pliant.tables import TableSchema, read_table
from tests.cli.conftest import captured
from tests.comparison.report.report_page import Page

TITLES = ("LAB-RBF", "Gaussian SVM", "Gradient boosting", "Random forest")
SMALL = {
    "svm": {"grid": {"C": (1.0, 8.0)}},
    "boosting": {"grid": {}, "given": {"max_iter": 20}},
    "forest": {"grid": {}, "given": {"n_estimators": 10}},
}
"""What is left of the baselines: one of them is still searched."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder to work in, with methods and tables that take no time, in this process."""
    third = load_breast_cancer(as_frame=True)
    third.data, third.target = third.data[::3], third.target[::3]
    quick = {"n_members": 2, "n_support": 30}
    with pytest.MonkeyPatch.context() as patch:
        for name, changes in SMALL.items():
            patch.setitem(BASELINES, name, dataclasses.replace(BASELINES[name], **changes))
        patch.setitem(METHODS, "lab-rbf", dataclasses.replace(METHODS["lab-rbf"], given=quick))
        patch.setattr(study, "ROWS", 120)
        patch.setattr(study, "load_breast_cancer", lambda **_: third)
        patch.setattr(study, "cpu_count", lambda: 1)
        patch.chdir(tmp_path_factory.mktemp("demo"))
        yield Path.cwd()


@pytest.fixture(scope="module")
def demo(place):
    done = captured("demo", "--cv", 3, "--out", "a")
    assert done.code == 0, done.err
    return done


def printed(demo, title, task):
    """The numbers that the demo prints for a method, in the table of a task."""
    text = demo.out.partition(f"{task}: ")[2]
    line = next(line for line in text.splitlines() if line.startswith(f"{title} "))
    return [float(number) for number in re.findall(r"\d+\.\d+", line)]


def test_the_demo_writes_its_files_and_prints_a_page_of_text(demo, place):
    assert sorted(path.name for path in (place / "a").iterdir()) == sorted(FILES)
    assert demo.err == (
        "Learning from 120 rows: 31 fits\n"  # 3 * (2 * 3 + 1) + 3 * 3 + 1
        "Learning from 190 rows: 31 fits\n"
    )
    assert len(demo.out.splitlines()) <= 32
    body = demo.out.partition("Next:")[0]
    assert max(map(len, body.splitlines())) < 80
    assert f"Open {Path('a/demo.html')} in a browser" in demo.out


def test_every_row_is_predicted_by_a_model_that_did_not_learn_from_it(demo):
    for name, task, score in (
        ("friedman1", "Regression", r2_score),
        ("breast_cancer", "Classification", accuracy_score),
    ):
        frame = pd.read_csv(f"a/{name}_predictions.csv")
        assert frame.row.tolist() == list(range(1, len(frame) + 1))
        for title in TITLES:
            shown = printed(demo, title, task)[0]
            assert score(frame.actual, frame[title]) == pytest.approx(shown, abs=0.02)
    assert set(frame.actual) == {"benign", "malignant"}


def test_the_sentence_compares_lab_rbf_with_the_best_of_the_others(demo):
    text = " ".join(demo.out.partition("Classification")[0].split())
    scores = {title: printed(demo, title, "Regression")[0] for title in TITLES}
    assert max(scores, key=scores.get) == "LAB-RBF"
    best = max(TITLES[1:], key=scores.get)
    assert re.search(rf"\(R2 {scores['LAB-RBF']:.3f}\).*\({best}.*{scores[best]:.3f}\)", text)


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (
            [0.75, 0.76, 0.77],
            "LAB-RBF is significantly better than the next best method (Gaussian SVM, tuned): "
            "R2 0.920 against 0.760, better on 3 of 3 folds.",
        ),
        (
            [0.90, 0.91, 0.98],
            "No significant difference between LAB-RBF (R2 0.920) and the best of the others "
            "(Gaussian SVM, tuned: 0.930).",
        ),
        (
            [0.95, 0.96, 0.97],
            "The best of the others (Gaussian SVM, tuned) is significantly better than LAB-RBF: "
            "R2 0.960 against 0.920.",
        ),
    ],
)
def test_the_sentence_names_the_significantly_better_one(scores, sentence):
    methods = METHODS["lab-rbf"], BASELINES["svm"]
    tested = [
        study.Tested(method, [None] * 3, {"r2": np.array(each)}, 1.0)
        for method, each in zip(methods, ([0.91, 0.92, 0.93], scores), strict=True)
    ]
    data = SimpleNamespace(y=np.zeros(30))
    assert study.Study(study.TABLES[0], data, tested, None).verdict() == sentence


def test_the_intervals_hold_what_is_printed(demo):
    frame = pd.read_csv("a/friedman1_predictions.csv")
    held = frame.actual.between(frame.low, frame.high)
    assert f"Its 90% intervals hold {held.mean():.0%} of the targets" in " ".join(demo.out.split())
    assert held.mean() > 0.75
    assert np.all(frame.low < frame["LAB-RBF"])
    assert np.all(frame["LAB-RBF"] < frame.high)


def test_the_page_has_the_numbers_the_drawings_and_the_commands(demo):
    page = Page(Path("a/demo.html").read_text("utf-8"))
    assert len(page.all("svg", class_="plot")) == 4 + 4 + 1
    assert len(page.all("circle", class_="cloud")) == 4 * 120
    tables = page.all("table")
    for task, table in zip(("Regression", "Classification"), tables, strict=True):
        rows = {row[0]["text"]: [cell["text"] for cell in row[1:-1]] for row in table["rows"]}
        for title in TITLES:
            numbers = [float(text) for text in rows[title] if text != "–"]
            assert numbers == printed(demo, title, task)[:-1]
    commands = demo.out.partition("Next:\n")[2]
    (shown,) = page.all("pre")
    assert [line.strip() for line in commands.splitlines()] == shown["text"].splitlines()
    assert not page.values("src")
    assert not page.values("href")


def test_the_tables_and_models_can_be_used(demo, pliant):
    frame = read_table("a/friedman1.csv")
    loaded = load_model("a/friedman1.pliant")
    schema = TableSchema.from_dict(loaded.schema)
    assert frame.shape == (120, 11)
    assert loaded.model.score(schema.features(frame), schema.target_values(frame)) > 0.9
    assert pliant("info", "a/friedman1.pliant").code == 0
    words = "predict", "a/friedman1.pliant", "a/friedman1.csv", "--interval", 0.9
    assert pliant(*words).out.count("\n") == 121
    words = "predict", "a/breast_cancer.pliant", "a/breast_cancer.csv"
    assert pliant(*words).out.count("\n") == 191


def test_a_seed_gives_the_same_numbers(demo):
    table, path = study.TABLES[0], Path("a/friedman1.csv")
    frame = pd.read_csv("a/friedman1_predictions.csv")
    same, other = (study.measure(table, path, 3, seed).predictions() for seed in (0, 1))
    assert np.allclose(same[list(TITLES)], frame[list(TITLES)], rtol=1e-12, atol=0)
    assert not np.allclose(other["LAB-RBF"], frame["LAB-RBF"], rtol=1e-3)


def test_what_to_type_next_names_a_program_that_can_be_found(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["env/bin/pliant"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert program() == str(Path("env/bin/pliant"))
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/pliant")
    assert program() == "pliant"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert program() == "pliant"
