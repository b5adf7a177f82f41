"""Killed, interrupted and resumed runs give the same scores as an uninterrupted run."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from pliant.comparison.comparing import compare_sample
from pliant.comparison.contenders import named
from pliant.comparison.protocol import Protocol
from pliant.comparison.sample import Sample
from tests.comparison.comparison_cases import perform_here, without_costs

METHODS = ("dummy", "linear", "svm")
PROTOCOL = Protocol(folds=3, repeats=1, inner_folds=2, candidates=3, seed=3)


def made(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((45, 3))
    return Sample(X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int), "classification")


@pytest.fixture
def here(monkeypatch):
    """Run cells in this process; return the list of cells that ran."""
    done = []

    def perform(sample, protocol, method, cell, *_):
        done.append(cell)
        return perform_here(sample, protocol, method, cell)

    monkeypatch.setattr("pliant.comparison.race.perform_apart", perform)
    return done


def run(methods=METHODS, **options):
    chosen = {"budget": None, "n_jobs": 1} | options
    return compare_sample(made(), methods, PROTOCOL, **chosen)


def scores(result):
    """Return the scores of each cell."""
    return {(r["method"], r["repeat"], r["fold"]): r["scores"] for r in result.records}


@pytest.fixture(scope="module")
def whole():
    """An uninterrupted run, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pliant.comparison.race.perform_apart", perform_here)
        return run()


@pytest.mark.usefixtures("here")
def test_scores_do_not_depend_on_other_methods_or_budget(whole):
    backwards = run(METHODS[::-1], budget=500.0)
    assert scores(backwards) == scores(whole)
    assert [entry.name for entry in backwards.methods] == list(METHODS[::-1])
    assert scores(run(("svm",))).items() <= scores(whole).items()


def test_resumed_run_matches_uninterrupted_run(whole, here, tmp_path):
    cache = tmp_path / "cells.jsonl"
    run(("linear",), cache=cache)
    assert len(here) == 3
    resumed = run(cache=cache, resume=True)
    assert len(here) == 9
    assert without_costs(resumed.records) == without_costs(whole.records)
    again = run(cache=cache, resume=True)
    assert len(here) == 9
    assert (again.truth, again.sentence()) == (whole.truth, whole.sentence())
    assert again.blend.weights == whole.blend.weights


def test_changed_method_is_run_again(here, tmp_path):
    """Without `resume`, all methods run again, and the old file is renamed."""
    cache = tmp_path / "cells.jsonl"
    run(("dummy",), cache=cache)
    before = cache.read_bytes()
    run(("dummy", "linear"), cache=cache)
    assert (tmp_path / "cells.jsonl.old").read_bytes() == before
    changed = replace(named("linear"), grid={"C": (0.3, 0.4)})
    found = run(("dummy", changed), cache=cache, resume=True)
    assert {cell.method for cell in here[9:]} == {"linear"}
    chosen = [each["chosen"]["C"] for each in found.records if each["method"] == "linear"]
    assert set(chosen) <= {0.3, 0.4}
    assert len(chosen) == 3


SCRIPT = """
    import os, signal, sys
    from tests.comparison.test_resume import run, scores

    def until(name, after, **options):
        sent = []

        def stop(state):
            if len(state.records) >= after and not sent:
                sent.append(name)
                os.kill(os.getpid(), getattr(signal, name))

        return run(cache=sys.argv[1], progress=stop, **options)

    if __name__ == "__main__":
        found = until("SIGINT", 3)
        print(found.interrupted, scores(found), flush=True)
        until("SIGKILL", 6, resume=True, n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a process cannot send these signals to itself")
def test_interrupted_then_killed_then_resumed(whole, here, tmp_path):
    """Ctrl-C after 3 of 9 cells and kill -9 after 6 do not change any bit of the scores."""
    script, cache = tmp_path / "run.py", tmp_path / "cells.jsonl"
    script.write_text(textwrap.dedent(SCRIPT))
    told, errors = tmp_path / "out", tmp_path / "errors"
    with told.open("w") as out, errors.open("w") as err:  # a pipe would wait for orphaned workers
        found = subprocess.run(
            [sys.executable, script, cache],
            stdout=out,
            stderr=err,
            timeout=200,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
        )
    assert found.returncode == -signal.SIGKILL, errors.read_text()
    assert "Traceback" not in errors.read_text()
    assert "cancelled" not in errors.read_text()
    interrupted, table = told.read_text().split(" ", 1)
    assert interrupted == "True"
    some = ast.literal_eval(table)
    assert 3 <= len(some) < 9
    assert some.items() <= scores(whole).items()
    with cache.open("a") as file:
        file.write('{"method_key": "cut off whi')
    resumed = run(cache=cache, resume=True)
    assert 6 <= 9 - len(here) < 9
    assert without_costs(resumed.records) == without_costs(whole.records)
