"""``pliant embed``: coordinates and a picture from classes, from pairs, or by a saved embedding."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from pliant import KernelEmbedding
from pliant.persistence import load_model
from pliant.tables import TableSchema, read_table
from tests.cli.conftest import captured, write

pytest.importorskip("matplotlib")

FAST = ("--param", "strengths=[100.0]", "--param", "betas=[1.0]")
"""Nothing to choose but the kernel."""

ODD = ("=cmd|' /C calc'!A0", "_<b>$x$", "tab\there")
"""Names of classes that a spreadsheet, a legend, a browser or TeX could take for something else."""


def flowers(n=60, seed=0):
    """Three groups; each row with an id, two numbers, a colour and its kind, often known."""
    r = np.random.default_rng(seed)
    lines = ["name,length,width,colour,kind"]
    for i in range(n):
        x, y = r.normal([(0, 0), (3, 0), (0, 3)][i % 3], 0.5)
        kind = f'"{ODD[i % 3]}"' if i % 9 < 6 else ""
        lines.append(f"row-{i},{x:.3f},{y:.3f},{('red', 'blue')[i % 2]},{kind}")
    return lines


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("t.csv", *flowers())
    lines = [f"{i},{i + 3},similar" for i in range(1, 40)]
    lines += [f"{i},{i + 1},different" for i in range(1, 40)]
    write("p.csv", "first,second,relation", *lines)
    return tmp_path


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A folder with an embedding by classes, its picture and its model; and what was printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("embed"))
        write("t.csv", *flowers())
        words = ("--target", "kind", "--picture", "t.svg", "--model", "m.pliant", *FAST)
        done = captured("embed", "t.csv", *words)
        assert done.code == 0, done.err
        yield Path.cwd(), done


def test_coordinates_and_categories_of_every_row(learned):
    folder, done = learned
    frame = pd.read_csv(folder / "t.embedding.csv")
    assert list(frame) == ["name", "kind", "component 1", "component 2"]
    assert frame.name.tolist() == [f"row-{i}" for i in range(60)]
    assert frame.kind.isna().sum() == 18
    places, truth = frame.iloc[:, 2:].to_numpy(), np.arange(60) % 3
    known = frame.kind.notna()
    near = KNeighborsClassifier(5).fit(places[known], truth[known])
    assert near.score(places[~known], truth[~known]) > 0.9
    assert "classes" in done.out
    assert "3 of 'kind', known for 42 of 60 rows" in done.out
    assert re.search(r"^picture +t\.svg$", done.out, re.MULTILINE)
    assert max(map(len, done.out.splitlines())) < 80


def test_names_from_outside_do_no_harm(learned):
    folder, _ = learned
    kinds = set(pd.read_csv(folder / "t.embedding.csv").kind.dropna())
    assert kinds == {f"'{ODD[0]}", *ODD[1:]}  # a quote before the formula
    drawn = (folder / "t.svg").read_text("utf-8")
    assert "<b>" not in drawn
    assert "<!-- _&lt;b&gt;$x$ -->" in drawn  # in the legend, and no mathematics


def test_the_saved_embedding_is_that_of_python(learned):
    folder, _ = learned
    loaded = load_model(folder / "m.pliant")
    schema, frame = TableSchema.from_dict(loaded.schema), read_table(folder / "t.csv")
    written = pd.read_csv(folder / "t.embedding.csv").iloc[:, 2:]
    places = loaded.model.transform(schema.features(frame))
    np.testing.assert_allclose(places, written, rtol=1e-12, atol=1e-14)
    X = loaded.model[:-1].transform(schema.features(frame))
    cells = frame["kind"]
    codes = pd.Categorical(cells).codes.astype(int)  # -1 where none is known
    again = KernelEmbedding(strengths=[100.0], betas=[1.0], random_state=0).fit(X, codes)
    np.testing.assert_allclose(again.transform(X), places, rtol=1e-8, atol=1e-10)


def test_a_saved_embedding_maps_new_rows(learned, pliant, monkeypatch):
    folder, _ = learned
    monkeypatch.chdir(folder)
    write("new.csv", *flowers(12, seed=1))
    words = ("--from", "m.pliant", "--color", "colour", "--out", "-", "--picture", "none")
    done = pliant("embed", "new.csv", *words)
    assert done.code == 0, done.err
    frame = pd.read_csv(io.StringIO(done.out))
    assert list(frame) == ["name", "colour", "component 1", "component 2"]
    old = pd.read_csv("t.embedding.csv")
    near = KNeighborsClassifier(5).fit(old.iloc[:, 2:].to_numpy(), np.arange(60) % 3)
    assert near.score(frame.iloc[:, 2:].to_numpy(), np.arange(12) % 3) > 0.9
    assert "12 rows by 'm.pliant'" in done.err


def test_predict_and_info_say_where_an_embedding_belongs(learned, refused, monkeypatch):
    folder, _ = learned
    monkeypatch.chdir(folder)
    for words in (("predict", "m.pliant", "t.csv"), ("info", "m.pliant")):
        assert "holds an embedding: see pliant embed --from" in refused(*words)


def test_pairs_are_enough(pliant, place):
    words = ("--pairs", "p.csv", "--drop", "kind", "--drop", "colour", "--picture", "p.png")
    done = pliant("embed", "t.csv", *words, *FAST, "--out", "c.csv")
    assert done.code == 0, done.err
    assert "39 similar, 39 dissimilar" in done.out
    places = pd.read_csv("c.csv")[["component 1", "component 2"]].to_numpy()
    truth = np.arange(60) % 3
    assert KNeighborsClassifier(5).fit(places[:40], truth[:40]).score(places, truth) > 0.9
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    again = pliant("embed", "t.csv", *words, *FAST, "--out", "d.csv")
    assert again.code == 0
    assert Path("c.csv").read_bytes() == Path("d.csv").read_bytes()


def test_pairs_may_name_rows(pliant, place):
    write("names.csv", "a,b,r", "row-0,row-3,1", "row-1,row-4,1", "row-0,row-1,-1")
    words = ("--pairs", "names.csv", "--id", "name", "--color", "kind", "--drop", "colour")
    done = pliant("embed", "t.csv", *words, *FAST, "--picture", "none", "--out", "-")
    assert done.code == 0, done.err
    assert list(pd.read_csv(io.StringIO(done.out)))[:2] == ["name", "kind"]
    assert "2 similar, 1 dissimilar" in done.err


def test_other_learners_parameters_and_an_unknown_class(pliant, place):
    write("u.csv", *[line if line[-1] != "," else f"{line}none" for line in flowers()])
    words = ("--target", "kind", "--unlabeled", "none", "--method", "osk", "--picture", "none")
    done = pliant("embed", "u.csv", *words, "--param", "n_components=3", "--out", "u.csv.gz")
    assert done.code == 0, done.err
    assert "known for 42 of 60 rows" in done.out
    assert "component 3" in pd.read_csv("u.csv.gz")
    assert "OrderSpectralLearner" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected one of --target, --pairs and --from, got none of them"),
        (("--target", "kind", "--pairs", "p.csv"), "got --target and --pairs"),
        (("--target", "kind", "--id", "name"), "--id belongs to --pairs, got --target"),
        (("--pairs", "p.csv", "--unlabeled", "x"), "--unlabeled belongs to --target"),
        (("--from", "m.pliant", "--model", "n.pliant"), "--model is for an embedding that is le"),
        (("--target", "kinds"), "the table lacks the column 'kinds'; did you mean 'kind'?"),
        (("--target", "name"), "column 'name'"),
        (("--target", "length"), "column 'length'"),
        (("--target", "colour", "--unlabeled", "?"), "column 'colour' holds '?' nowhere"),
        (("--target", "kind", "--color", "length"), "different values: expected at most 40"),
        (("--target", "kind", "--method", "svm"), "expected --method in ['ldk', 'osk', 'scg-ldk'"),
        (("--target", "kind", "--param", "C=1"), "has no parameter 'C'"),
        (("--target", "kind", "--param", "n_components=1"), "with K >= 2, got 1"),
        (("--target", "kind", "--param", "center=3"), "expected center"),
        (("--target", "kind", "--picture", "p.gif"), "with .png or .svg or .pdf, got 'p.gif'"),
        (("--target", "kind", "--out", "c.txt"), "expected --out FILE.csv or FILE.csv.gz"),
        (("--target", "kind", "--out", "t.csv"), "'t.csv' is in use by this command"),
        (("--pairs", "t.csv"), "'t.csv': expected three columns, two rows and similar or dissim"),
        (("--pairs", "p.csv", "--id", "colour"), "names row 1 and row 3 'red': expected differ"),
        (("--pairs", "p.csv", "--id", "name"), "'p.csv', row 1: the table has no row '1'; its row"),
    ],
)
def test_what_is_refused(refused, place, words, message):
    assert message in refused("embed", "t.csv", *words)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,61,similar", "row 79: the table has no row '61'; its rows are '1' to '60'"),
        ("7,7,similar", "row 79: expected two different rows, got '7' twice"),
        ("7,9,alike", "row 79: expected similar or dissimilar, got 'alike'"),
        ("4,1,different", "row 79: expected a pair to be similar or dissimilar, got it as both"),
        ("7,,similar", "has a missing value in row 79: every pair of 'p.csv' needs two rows"),
    ],
)
def test_bad_pairs_are_refused(refused, place, line, message):
    with Path("p.csv").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    assert message in refused("embed", "t.csv", "--pairs", "p.csv")


def test_a_model_of_another_kind_holds_no_embedding(refused, place, models):
    error = refused("embed", "t.csv", "--from", models["sick"])
    assert "holds no embedding: expected one of pliant embed --model" in error
    write("j.json", json.dumps({}))
    assert "j.json" in refused("embed", "t.csv", "--from", "j.json")
