"""``pliant info`` and ``pliant methods``."""

import json
from pathlib import Path

import numpy as np
import pytest

from pliant._version import __version__
from pliant.cli.report import function_facts
from pliant.persistence import load_model, save_model
from pliant.registry import METHODS


def lines(out):
    """The first word or two of each fact, and what stands beside it on that line."""
    return {line[:16].rstrip(): line[16:] for line in out.splitlines() if line[0] != " "}


@pytest.mark.parametrize("target", ["sick", "grade", "amount"])
def test_info(pliant, folder, models, target):
    done = pliant("info", models[target])
    assert done.code == 0
    assert done.err == ""
    assert max(map(len, done.out.splitlines())) < 80
    shown = lines(done.out)
    assert shown["method"].startswith("dank: ")
    assert shown["target"].startswith(f"'{target}', ")
    assert shown["columns"] == "2 numeric, 1 categorical: 'age', 'dose', 'colour'"
    assert shown["training rows"] == "60"
    assert shown["support points"].endswith(" training rows")
    assert "C=1" in shown["parameters"]
    assert "(3 folds)" in " ".join(done.out.split())
    assert shown["versions"].startswith(f"pliant {__version__}, python ")
    assert shown["saved by"] == f"pliant {__version__}"


def test_info_shows_what_the_machine_reached(pliant, folder, models):
    shown = lines(pliant("info", models["sick"]).out)
    machine = load_model(models["sick"]).model[-1]
    assert shown["classes"] == "'no', 'yes'"
    assert shown["support points"] == f"{len(machine.support_)} training rows"
    assert shown["objective"] == f"{machine.objective_:.7g}"
    assert shown["certified gap"].startswith(f"<= {machine.dual_gap_:.2g} (relative: <= ")
    assert shown["eta"] == f"{machine.eta_:.4g}"
    several = lines(pliant("info", models["grade"]).out)
    assert several["functions"] == "3, one for each pair of classes"


def test_a_model_that_python_saved_with_its_schema_alone(pliant, folder, models):
    loaded = load_model(models["amount"])
    save_model(loaded.model, "plain.pliant", schema=loaded.schema)
    shown = lines(pliant("info", "plain.pliant").out)
    assert "training rows" not in shown
    assert shown["target"] == "'amount', regression"


def test_methods(pliant):
    done = pliant("methods")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) < 80
    for method in METHODS.values():
        starts = [line.startswith(f"{method.name} ") for line in done.out.splitlines()]
        assert sum(starts) == 1
        assert " ".join(method.paper.split()) in " ".join(done.out.split())
        assert str(method.max_rows) in done.out
    assert "gamma in {0.0625, 0.25, 1, 4} / number of features" in " ".join(done.out.split())


@pytest.mark.parametrize("members", [1, 3])
def test_relevance_has_its_spread_and_a_note_on_correlated_columns(pliant, folder, members):
    random = np.random.default_rng(0)
    size, noise = random.uniform(1, 2, size=(2, 80))
    rows = zip(size, size**3, noise, 5 * size + 0.01 * noise, strict=True)
    lines_of_csv = ["size,volume,noise,price", *(",".join(map(str, row)) for row in rows)]
    Path("t.csv").write_text("\n".join(lines_of_csv), encoding="utf-8")
    words = f"fit t.csv --target price --method lab-rbf --cv 0 --param n_members={members}".split()
    done = pliant(*words, "--out", "m.pliant", "--json", "r.json", "--seed", 0)
    assert done.code == 0, done.err
    (function,) = json.loads(Path("r.json").read_text("utf-8"))["fit"]["functions"]
    assert function["correlated"] == [["size", "volume"]]
    assert list(function["relevance_spread"]) == ["size", "volume", "noise"]
    first = max(function["relevance"], key=function["relevance"].get)
    share, spread = function["relevance"][first], function["relevance_spread"][first]
    printed = f"'{first}' {share:.0%}"
    if members == 1:
        assert spread is None
    else:
        printed += f" ± {spread:.0%}"
    for text in (done.out, pliant("info", "m.pliant").out):
        shown = " ".join(text.split())
        assert f"most relevant {printed}, " in shown
        note = "correlated 'size' with 'volume': either may have the relevance of both"
        assert note in shown
        assert max(map(len, text.splitlines())) < 80


def test_correlated_columns_that_do_not_matter_are_not_listed():
    shares = {"a": 0.992, "b": 0.006, "c": 0.002}
    part = {
        "relevance": shares,
        "relevance_spread": dict.fromkeys(shares, 0.001),
        "correlated": [["b", "c"]],
    }
    assert function_facts(None, [part]) == [
        ("most relevant", "'a' 99% ± 0%, 'b' 1% ± 0%, 'c' 0% ± 0%")
    ]
    part["correlated"] = [["a", "b"], ["b", "c"], *(["a", f"d{k}"] for k in range(6))]
    ((_, note),) = function_facts(None, [part])[1:]
    assert note.startswith("'a' with 'b', 'a' with 'd0', ")
    assert note.endswith(" and 2 more: either may have the relevance of both")
