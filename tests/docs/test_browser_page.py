"""The programs of the page on models in a browser or a service."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pliant import load
from pliant.datasets import write_rentals
from pliant.tables.cli import main

PROGRAMS = Path(__file__).parents[2] / "docs" / "browser"


def test_a_service_predicts_from_the_cells_of_a_table(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    write_rentals("rentals.csv", random_state=0)
    words = ["fit", "rentals.csv", "--target", "revenue", "--out", "rentals.pliant", "--cv", "0"]
    few = ["n_members=2", "n_support=20", "max_iter=2", "dense=false"]
    assert main([*words, *(word for each in few for word in ("--param", each))]) == 0
    capsys.readouterr()
    runpy.run_path(str(PROGRAMS / "convert.py"))
    names = capsys.readouterr().out.split()
    service = runpy.run_path(str(PROGRAMS / "service.py"))
    text, row = capsys.readouterr().out, service["row"]
    assert list(row) == names
    frame = pd.DataFrame([{**row, "date": "2024-07-06", "humidity": np.nan}])
    model = load("rentals.pliant")
    predicted, ends = model.predict(frame)[0], model.predict_interval(frame, 0.8)[0]
    assert text == f"{predicted:.2f} EUR, from {ends[0]:.2f} to {ends[1]:.2f}\n"


@pytest.mark.parametrize("name", ["predict.mjs", "index.html"])
def test_programs_of_javascript_send_the_same_row(name):
    text = (PROGRAMS / name).read_text(encoding="utf-8")
    for each in ('station: "Park"', "area_code: 20103", 'weather: "clear"', "humidity: null"):
        assert each in text
