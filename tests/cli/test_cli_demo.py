"""``pliant demo``, with a smaller grid than the one that users get."""

import dataclasses
import sys
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.legend import Legend
from sklearn.datasets import load_breast_cancer

from pliant.cli.demo import FILES
from pliant.cli.picture import draw
from pliant.cli.report import program
from pliant.persistence import load_model
from pliant.registry import METHODS
from pliant.tables import TableSchema, read_table
from tests.cli.conftest import captured


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder to work in, and a grid that takes no time."""
    small = dataclasses.replace(METHODS["dank"], grid={"C": (1.0, 8.0), "gamma": (0.25, 1.0)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "dank", small)
        patch.chdir(tmp_path_factory.mktemp("demo"))
        yield Path.cwd()


@pytest.fixture(scope="module")
def demo(place):
    done = captured("demo", "--cv", 3, "--out", "a")
    assert done.code == 0, done.err
    return done


def test_the_demo_writes_its_files_and_says_where(demo, place):
    assert sorted(path.name for path in (place / "a").iterdir()) == sorted(FILES)
    for name in FILES:
        assert str(Path("a") / name) in demo.out
    assert demo.err == "Learning from 569 rows: 157 fits\n"  # 6 * (4 * 5 + 1) and (4 + 2) * 5 + 1


def test_the_demo_compares_both_methods(demo):
    rows = [line for line in demo.out.splitlines() if line.startswith(("DANK  ", "Gaussian SVM "))]
    assert len(rows) == 2
    assert all(" 0.9" in row for row in rows)
    assert "<= " in rows[0]
    assert rows[1].endswith("–")
    assert "the other (mean" in " ".join(demo.out.split())
    assert "3 folds" in demo.out
    table = demo.out.partition("Next:")[0]
    assert max(map(len, table.splitlines())) < 80


def test_the_table_and_the_model_can_be_used(demo, pliant):
    frame = read_table("a/breast_cancer.csv")
    data = load_breast_cancer()
    assert frame.shape == (569, 31)
    assert (frame.diagnosis == "malignant").sum() == (data.target == 0).sum()
    loaded = load_model("a/dank.pliant")
    schema = TableSchema.from_dict(loaded.schema)
    score = loaded.model.score(schema.features(frame), schema.target_values(frame))
    assert score > 0.95
    assert pliant("info", "a/dank.pliant").code == 0
    assert pliant("predict", "a/dank.pliant", "a/breast_cancer.csv").out.count("\n") == 570


def test_the_predictions_are_of_rows_not_seen(demo):
    frame = pd.read_csv("a/predictions.csv")
    assert frame.row.tolist() == list(range(1, 570))
    for name in ("DANK", "Gaussian SVM"):
        assert set(frame[name]) == {"benign", "malignant"}
        assert ((frame[f"{name} decision"] > 0) == (frame[name] == "malignant")).all()
        shown = next(line for line in demo.out.splitlines() if line.startswith(f"{name}  ")).split()
        accuracy = float(shown[shown.index("±") - 1])
        assert (frame[name] == frame.actual).mean() == pytest.approx(accuracy, abs=2e-3)


def test_the_picture_is_a_picture(demo):
    data = Path("a/picture.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    assert width > 2000
    assert height > 700


def test_the_picture_shows_boundary_adaptation_and_convergence(demo, monkeypatch, tmp_path):
    figures = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda self, *_, **__: figures.append(self)
    )
    frame, loaded = read_table("a/breast_cancer.csv"), load_model("a/dank.pliant")
    schema = TableSchema.from_dict(loaded.schema)
    draw(tmp_path / "p.png", loaded.model, schema.features(frame), schema.target_values(frame))
    boundary, adaptation, convergence = figures[0].axes[:3]
    told = [text.get_text() for legend in figures[0].findobj(Legend) for text in legend.get_texts()]
    assert {"DANKClassifier", "SVC (before)", "certified gap"} <= set(told)
    assert boundary.get_xlabel().startswith("principal direction 1")
    assert adaptation.get_title().startswith("Adaptation")
    assert convergence.get_title() == "Convergence"


def test_a_seed_gives_the_same_numbers(demo, pliant):
    assert pliant("demo", "--cv", 3, "--out", "b").code == 0
    assert pliant("demo", "--cv", 2, "--out", "c", "--seed", 1).code == 0
    first, same, other = (Path(d, "predictions.csv").read_bytes() for d in "abc")
    assert first == same != other
    assert Path("a/picture.png").read_bytes() == Path("b/picture.png").read_bytes()


def test_without_matplotlib_there_is_a_note_and_no_picture(pliant, place, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = pliant("demo", "--cv", 2, "--out", "d")
    assert done.code == 0
    assert "Note: no picture: drawing needs matplotlib: pip install 'pliant[plots]'" in done.err
    assert "picture.png" not in done.out
    assert not Path("d/picture.png").exists()


def test_what_to_type_next_names_a_program_that_can_be_found(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["env/bin/pliant"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert program() == str(Path("env/bin/pliant"))
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/pliant")
    assert program() == "pliant"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert program() == "pliant"
