"""Killed, interrupted and resumed runs give the same scores; files that do not fit are refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from pliant.comparison import cells as cell_module
from pliant.comparison import running
from pliant.comparison.cells import perform
from pliant.comparison.comparing import compare_sample
from pliant.comparison.contenders import named
from pliant.comparison.journal import key_of
from pliant.comparison.protocol import DEFAULT, SEARCHED, Protocol
from pliant.comparison.sample import Sample
from tests.comparison.comparison_cases import record

METHODS = ("dummy", "linear", "svm")
PROTOCOL = Protocol(folds=3, repeats=1, inner_folds=2, candidates=3, seed=3)


def made(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((45, 3))
    return Sample(X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int), "classification")


def only_scores(patch):
    """Leave out what takes time and changes no score: pictures, and collecting garbage."""
    patch.setattr(cell_module, "figures", lambda *model: [])
    patch.setattr(cell_module, "reset_peak_memory", lambda: None)


@pytest.fixture
def here(monkeypatch):
    """Run cells in this process, which is quicker; return a list of those that were run."""
    done = []

    def perform_here(sample, protocol, method, cell, key, ends=None):
        done.append(cell)
        return perform(sample, protocol, method, cell)

    monkeypatch.setattr(running, "perform_apart", perform_here)
    only_scores(monkeypatch)
    return done


def run(methods=METHODS, **options):
    chosen = {"budget": None, "n_jobs": 1} | options
    return compare_sample(chosen.pop("sample", made()), methods, PROTOCOL, **chosen)


def lines(result):
    """The score table as a set of lines."""
    return set(result.score_text().splitlines())


def without_costs(records):
    """Records as JSON has them, without what is measured by the clock and in bytes."""
    costs = {"seconds", "memory_mb", "size_bytes", "pictures"}
    kept = [{k: v for k, v in each.items() if k not in costs} for each in records]
    return json.loads(json.dumps(kept))


@pytest.fixture(scope="module")
def whole():
    """An uninterrupted run, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "perform_apart", lambda *cell, **_: perform(*cell[:4]))
        only_scores(patch)
        return run()


def test_methods_beside_it_change_no_score(whole, here):
    backwards = run(METHODS[::-1], budget=500.0)
    default = {line for line in lines(backwards) if ",default," in line and "dummy" not in line}
    assert lines(backwards) - default == lines(whole)
    assert len(default) == 2 * 3 * 4  # of linear and svm, before their searches
    assert [entry.name for entry in backwards.methods] == list(METHODS[::-1])
    assert lines(run(("svm",))) < lines(whole)


def test_what_a_budget_cuts_leaves_the_others_as_they_are(whole, monkeypatch):
    def slow_search(sample, protocol, method, cell, key, ends=None):
        if method.name == "svm" and cell.stage == SEARCHED and cell.fold > 0:
            return cell_module.cut(cell)
        return perform(sample, protocol, method, cell)

    monkeypatch.setattr(running, "perform_apart", slow_search)
    only_scores(monkeypatch)
    some = run(budget=500.0)
    assert [entry.status for entry in some.methods] == ["done"] * 3
    reason = "default settings: a search takes more than its share of the budget, 4 min 10 s"
    assert some.methods[2].reason == reason
    assert {each.method.name: each.stage for each in some.standings()} == {
        "dummy": DEFAULT, "linear": SEARCHED, "svm": DEFAULT,
    }  # fmt: skip
    searched = {line for line in lines(some) if ",searched," in line}
    assert searched < lines(whole)
    assert len({line for line in lines(whole) if ",searched," in line} - searched) == 2 * 4


def test_a_resumed_run_is_the_uninterrupted_one(whole, here, tmp_path):
    cache = tmp_path / "cells.jsonl"
    run(("linear",), cache=cache)
    assert len(here) == 3
    resumed = run(cache=cache, resume=True)
    assert len(here) == 9
    assert resumed.score_text() == whole.score_text()
    assert without_costs(resumed.records) == without_costs(whole.records)
    again = run(cache=cache, resume=True)
    assert len(here) == 9
    assert again.score_text() == whole.score_text()
    assert again.truth == whole.truth
    assert again.sentence() == whole.sentence()


def test_a_method_that_was_changed_is_run_again(here, tmp_path):
    cache = tmp_path / "cells.jsonl"
    run(("dummy", "linear"), cache=cache)
    changed = replace(named("linear"), grid={"C": (1.0, 2.0)})
    found = run(("dummy", changed), cache=cache, resume=True)
    assert {cell.method for cell in here[6:]} == {"linear"}
    assert all(each["candidates"] == 2 for each in found.records if each["method"] == "linear")


def test_a_file_that_cannot_be_written_any_more_loses_no_run(whole, here, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()

    def remove(record, done, total):
        if done == 2:
            shutil.rmtree(folder)

    with pytest.warns(UserWarning, match=r"cells\.jsonl") as told:
        found = run(cache=folder / "cells.jsonl", progress=remove)
    assert len(told) == 1
    assert found.score_text() == whole.score_text()


SCRIPT = """
    import os, signal, sys
    from pliant.comparison.comparing import compare_sample
    from tests.comparison.test_resume import METHODS, PROTOCOL, made

    def run(name, after, resume, n_jobs):
        def tell(record, done, total):
            if done == after:
                os.kill(os.getpid(), getattr(signal, name))

        return compare_sample(
            made(), METHODS, PROTOCOL, budget=None, n_jobs=n_jobs, cache=sys.argv[1],
            resume=resume, progress=tell,
        )

    if __name__ == "__main__":
        found = run("SIGINT", 3, False, 1)
        print(found.interrupted, len(found.records), found.score_text(), flush=True)
        run("SIGKILL", 6, True, 2)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a process cannot send these signals to itself")
def test_interrupted_then_killed_then_resumed(whole, here, tmp_path):
    """Ctrl-C after 3 of 9 cells, kill -9 after 6: the scores are those of one run, to the last bit.

    Other processes ran the first cells, one and then two at a time, and this one the others.
    """
    script, cache = tmp_path / "run.py", tmp_path / "cells.jsonl"
    script.write_text(textwrap.dedent(SCRIPT))
    told, errors = tmp_path / "out", tmp_path / "errors"
    with told.open("w") as out, errors.open("w") as err:  # a pipe would wait for orphans
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
    interrupted, count, table = told.read_text().split(" ", 2)
    assert interrupted == "True"
    assert 3 <= int(count) < 9
    assert set(table.split()) <= lines(whole)
    with cache.open("a") as file:
        file.write('{"method_key": "cut off whi')
    resumed = run(cache=cache, resume=True)
    assert 6 <= 9 - len(here) < 9
    assert resumed.score_text() == whole.score_text()
    assert without_costs(resumed.records) == without_costs(whole.records)


KEY = key_of(made(), PROTOCOL)
CELLS = [record("dummy", 0, k, {"accuracy": 0.1 * k, "auc": None}) for k in range(3)]
