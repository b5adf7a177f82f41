"""``pliant info`` and ``pliant methods``."""

import pytest

from pliant._version import __version__
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
