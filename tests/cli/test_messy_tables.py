"""Messy tables: from file to report to predictions without editing."""

import csv
import datetime
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

N = 150


def rows_of(columns):
    names = list(columns)
    return [names, *zip(*columns.values(), strict=True)]


def put(name, columns, sep=",", encoding="utf-8"):
    """Write text columns as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows(rows_of(columns))
    Path(name).write_bytes(text.getvalue().encode(encoding))


def local(values, decimals):
    """Format numbers with German separators, such as 1.234,5."""
    table = str.maketrans(",.", ".,")
    return [f"{value:,.{decimals}f}".translate(table) for value in values]


def semicolons(rng):
    """Write rents by area and district, with decimal commas and thousands separators."""
    area, district = rng.uniform(20, 150, N), rng.choice(["Nord", "Süd", "West"], N)
    y = 12 * area + 300 * (district == "Süd") + rng.normal(0, 20, N)
    columns = {"Fläche": local(area, 1), "Lage": district, "y": local(y, 2)}
    put("semicolons.csv", columns, sep=";")
    return "regression", ["read with separator ';', decimal comma, thousands '.'"]


def western(rng):
    """Write names and cells in an encoding of Windows."""
    colour, size = rng.choice(["grün", "weiß", "blau"], N), rng.normal(size=N)
    y = np.where((colour == "grün") ^ (size > 0), "schön", "häßlich")
    put("western.csv", {"Größe": size.round(3), "Farbe": colour, "y": y}, encoding="cp1252")
    return "classification", ["read with encoding cp1252"]


def dates(rng):
    """Write dates, an id and a constant; sales grow and are high at weekends."""
    days = [datetime.date(2023, 1, 1) + datetime.timedelta(days=int(k)) for k in range(N)]
    rng.shuffle(days)
    y = [k.timetuple().tm_yday / 50 + 2 * (k.weekday() > 4) + rng.normal(0, 0.3) for k in days]
    columns = {
        "order_id": [f"A-{k:05}" for k in rng.permutation(N)],
        "day": [f"{k:%d.%m.%Y}" for k in days],
        "shop": ["Main St"] * N,
        "y": [f"{value:.3f}" for value in y],
    }
    put("dates.csv", columns)
    return "regression", [
        "left out: 'order_id' (a different value in nearly every row), 'shop' (the same value in",
    ]


def categories(rng):
    """Write 1 000 towns with different effects, and integers that look like codes."""
    effects = rng.normal(size=1_000)
    town = np.concatenate([rng.permutation(1_000), rng.integers(0, 1_000, 1_200)])
    y = effects[town] + rng.normal(0, 0.5, len(town))
    columns = {
        "town": [f"town {k}" for k in town],
        "zip": rng.choice([10115, 20095, 80331], len(town)),
        "y": y.round(3),
    }
    put("categories.csv", columns)
    return "regression", ["integers in 'zip' look like codes"]


def gaps(rng):
    """Write a table with 40 % missing cells, marked by several words."""
    X = rng.normal(size=(N, 4))
    y = np.where(X @ [2, 1, -1, 0] + rng.normal(0, 0.3, N) > 0, "yes", "no")
    kind = np.where(X[:, 3] > 0, "a", "b").astype(object)
    cells = np.column_stack([X.round(3).astype(object), kind])
    words = np.array(["", "NA", "-", "?", "n/a"], dtype=object)
    gone = rng.uniform(size=cells.shape) < 0.4
    cells[gone] = rng.choice(words, gone.sum())
    put("gaps.csv", {**{f"x{j}": cells[:, j] for j in range(5)}, "y": y})
    return "classification", []


TABLES = {each.__name__: each for each in (semicolons, western, dates, categories, gaps)}
"""Functions that write a table, and return its task and the expected notes."""

LEAST = {"semicolons": 0.9, "western": 0.75, "dates": 0.6, "categories": 0.3, "gaps": 0.6}
"""Minimum R2 or accuracy in the cross-validation."""


@pytest.fixture
def messy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return {name: make(np.random.default_rng(7)) for name, make in TABLES.items()}


def method_of(name):
    return "knpl" if name == "categories" else "dank"


@pytest.mark.parametrize("name", TABLES)
def test_from_file_to_report_to_predictions(pliant, messy, name):
    task, notes = messy[name]
    words = ("--method", method_of(name), "--cv", 2, "--out", "m.pliant", "--json", "r.json")
    done = pliant("fit", f"{name}.csv", "--target", "y", *words)
    assert done.code == 0, done.err
    for note in notes:
        assert f"Note: {note}" in done.err
    result = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert result["data"]["task"] == task
    (score, *_) = result["cross_validation"]["scores"].values()
    assert score["mean"] > LEAST[name]
    again = pliant("predict", "m.pliant", f"{name}.csv", "--out", "p.csv")
    assert again.code == 0, again.err
    frame = pd.read_csv("p.csv")
    assert len(frame) == result["data"]["rows"]
    assert list(frame) == (["order_id"] if name == "dates" else []) + ["prediction"]
    assert pliant("info", "m.pliant").code == 0


def test_all_of_them_are_compared(pliant, messy, here):
    tables = [f"{name}.csv" for name in TABLES]
    words = ("--methods", "linear,dummy", "--folds", 2, "--repeats", 1, "--jobs", 1)
    done = pliant(
        "compare", *tables, "--target", "y", *words, "--report", "r.html", "--json", "r.json"
    )
    assert done.code == 0, done.err
    for name, (_, notes) in messy.items():
        for note in notes:
            assert f"Note: {name}: {note}" in done.err
    assert "linear" in done.out.lower()
    assert Path("r.html").stat().st_size > 10_000


def test_predictions_for_a_file_that_is_written_in_another_way(pliant, messy):
    words = ("--target", "y", "--method", "dank", "--cv", 0, "--out", "m.pliant")
    assert pliant("fit", "semicolons.csv", *words).code == 0
    frame = pd.read_csv("semicolons.csv", sep=";", decimal=",", thousands=".")
    frame.to_csv("other.csv", index=False)
    frame.to_parquet("other.parquet")
    outputs = [
        pliant("predict", "m.pliant", *words).out
        for words in (["semicolons.csv"], ["other.csv", "--decimal", "."], ["other.parquet"])
    ]
    assert outputs[0] == outputs[1] == outputs[2] != ""
    late = Path("late.csv")
    late.write_text("Fläche;Lage\n1.250;Süd\n1250;Süd\n", encoding="utf-8")  # as in training
    lines = pliant("predict", "m.pliant", late).out.splitlines()
    assert lines[1] == lines[2]


def test_chosen_columns_and_probabilities_are_written_through(pliant, messy):
    words = ("--target", "y", "--method", "lab-rbf", "--param", "max_iter=2", "--cv", 0)
    assert pliant("fit", "western.csv", *words, "--out", "m.pliant").code == 0
    done = pliant("predict", "m.pliant", "western.csv", "--columns", "Farbe", "--proba")
    frame = pd.read_csv(io.StringIO(done.out))
    assert list(frame) == ["Farbe", "prediction", "probability häßlich", "probability schön"]
    np.testing.assert_allclose(frame.iloc[:, 2:].sum(axis=1), 1)
    chosen = np.where(frame["probability schön"] > 0.5, "schön", "häßlich")
    assert frame["prediction"].tolist() == chosen.tolist()
    assert (
        frame["Farbe"].tolist() == pd.read_csv("western.csv", encoding="cp1252")["Farbe"].tolist()
    )
    refused = pliant("predict", "m.pliant", "western.csv", "--columns", "Farben")
    assert refused.err.endswith("the table lacks the column 'Farben'; did you mean 'Farbe'?\n")
    taken = pd.read_csv("western.csv", encoding="cp1252").assign(prediction=1)
    taken.to_csv("taken.csv", index=False)
    refused = pliant("predict", "m.pliant", "taken.csv", "--columns", "prediction")
    assert "--columns 'prediction' is the name of an output column" in refused.err


def test_a_joined_file_of_a_logger(pliant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        "a,b,quality",
        "m,kg,-",
        *(f"{k}.5,{k % 9}.25,{'good' if k % 3 else 'bad'}" for k in range(16)),
    ]
    Path("t.csv").write_text("\n".join(["# Logger 7", *lines * 12, ""]), encoding="utf-8")
    fit = (
        "fit",
        "t.csv",
        "--target",
        "quality",
        "--method",
        "dank",
        "--cv",
        0,
        "--out",
        "m.pliant",
    )
    refused = pliant(*fit)
    assert (refused.code, "--skip 1 " in refused.err) == (2, True)
    done = pliant(*fit, "--skip", 1)
    assert done.code == 0, done.err
    assert "192 rows, 2 columns, 2 classes" in done.out
    assert done.err.splitlines()[:3] == [
        "Note: read with 1 line skipped",
        "Note: left out: 11 rows equal to the header",
        "Note: left out: 12 rows below the header, with 'm', 'kg' for numbers",
    ]
    assert pliant("predict", "m.pliant", "t.csv").code == 2
    done = pliant("predict", "m.pliant", "t.csv", "--skip", 1)
    assert (done.code, len(done.out.splitlines())) == (0, 193)
