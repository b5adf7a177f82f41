"""Fixtures: a working folder, small tables, saved models, and a function that runs commands."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pliant.tables.cli import main
from tests.comparison import comparison_cases

NOTE = "Note: pliant is compiling its loops (a few seconds, once per computer)\n"


@dataclass
class Done:
    """Exit code, stdout and stderr of a command; stderr without the note on compilation."""

    code: int
    out: str
    err: str

    def __post_init__(self):
        self.err = self.err.replace(NOTE, "")


@pytest.fixture
def pliant(capsys):
    """Return a function that runs a command in this process."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def refused(pliant):
    """Return a function that runs a failing command and returns its error line."""

    def run(*words, code=2):
        before = sorted(Path().iterdir())
        done = pliant(*words)
        assert done.code == code, done
        assert done.out == ""
        *notes, error = done.err.splitlines(keepends=True)
        assert all(note.startswith("Learning from ") for note in notes)
        assert error.startswith("Error: ")
        assert error[:-1].isprintable()
        assert sorted(Path().iterdir()) == before, "something was left behind"
        return error[len("Error: ") : -1]

    return run


def patients(n=60, seed=0):
    """Return CSV lines with two relevant features, one text column and three targets."""
    r = np.random.default_rng(seed)
    lines = ["age,dose,colour,sick,grade,amount"]
    for i in range(n):
        sick = i % 2
        age, dose = r.normal(40 + 20 * sick, 8), r.normal(sick, 0.7)
        colour = "red" if r.uniform() < 0.5 else "blue"
        grade = ("low", "mid", "high")[i % 3]
        lines.append(
            f"{age:.2f},{dose + i % 3:.3f},{colour},{'yes' if sick else 'no'},{grade},{age / 7:.4f}"
        )
    return lines


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Use a temporary working folder that contains ``patients.csv`` only."""
    monkeypatch.chdir(tmp_path)
    write("patients.csv", *patients())
    return tmp_path


def write(name, *lines, encoding="utf-8"):
    Path(name).write_text("\n".join([*lines, ""]), encoding=encoding)
    return name


TARGETS = ("sick", "grade", "amount")


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Return a model file for each target: two classes, three classes, a number."""
    place = tmp_path_factory.mktemp("models")
    table = place / "patients.csv"
    table.write_text("\n".join([*patients(), ""]), encoding="utf-8")
    found = {}
    for target in TARGETS:
        found[target] = place / f"{target}.pliant"
        others = [word for name in TARGETS if name != target for word in ("--drop", name)]
        words = ["fit", table, "--target", target, "--out", found[target], "--cv", 3, *others]
        words += ["--method", "dank"]
        assert captured(*words).code == 0
    return found


def captured(*words):
    """Run a command as the fixture `pliant` does, for fixtures of a larger scope."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def here(monkeypatch):
    """Run comparisons in this process and draw no pictures, which is faster."""
    run_here(monkeypatch)
    monkeypatch.setattr("pliant.tables.comparison.pictures.can_draw", lambda: False)


def run_here(patch):
    """Patch comparisons to fit in this process, and commands to wait for no others."""
    comparison_cases.run_here(patch)
    patch.setattr("pliant.tables.cli.compare.warm_up", lambda n: None)
