"""Resumed runs give the same scores as uninterrupted ones; invalid journal files are refused."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import fbeta_score, make_scorer

from pliant import compare
from pliant.core.exceptions import TableError
from pliant.tables.comparison import cells
from pliant.tables.comparison.cells import fit_whole, perform
from pliant.tables.comparison.comparing import compare_sample
from pliant.tables.comparison.contenders import named
from pliant.tables.comparison.journal import Journal, key_of
from pliant.tables.comparison.options import Runner, RunOptions
from pliant.tables.comparison.protocol import Cell, Protocol
from pliant.tables.comparison.sample import Sample
from tests.comparison.comparison_cases import record, without_costs

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

    def spy(sample, protocol, method, cell):
        done.append(cell)
        return perform(sample, protocol, method, cell)

    monkeypatch.setattr(cells, "starts_processes", lambda: False)
    monkeypatch.setattr(cells, "perform", spy)
    return done


def run(methods=METHODS, **options):
    chosen = RunOptions(**{"budget": None, "n_jobs": 1} | options)
    return compare_sample(made(), methods, PROTOCOL, chosen)


def scores(result):
    """Return the scores of each cell."""
    return {(r["method"], r["repeat"], r["fold"]): r["scores"] for r in result.records}


@pytest.fixture(scope="module")
def whole():
    """An uninterrupted run, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "starts_processes", lambda: False)
        return run()


@pytest.mark.usefixtures("here")
def test_scores_do_not_depend_on_other_methods_or_budget(whole):
    backwards = run(METHODS[::-1], budget=500.0)
    assert scores(backwards) == scores(whole)
    assert [entry.name for entry in backwards.methods] == list(METHODS[::-1])
    assert scores(run(("svm",))).items() <= scores(whole).items()


def test_a_comparison_without_a_file_cannot_be_resumed():
    with pytest.raises(ValueError, match=r"expected cache=\.\.\. with resume=True, got None"):
        compare([[0.0]] * 9, [0.0, 1.0, 2.0] * 3, resume=True)


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


@pytest.mark.usefixtures("here")
def test_a_resumed_run_fits_only_the_members_of_the_blend_to_all_rows(tmp_path):
    cache, fitted = tmp_path / "cells.jsonl", []

    def fit(sample, protocol, method, *_):
        fitted.append(method.name)
        return fit_whole(sample, protocol, method)

    run(("dummy", "linear", "svm", "forest"), cache=cache)
    runner = Runner(fit=fit)
    result = run(
        ("dummy", "linear", "svm", "forest"), cache=cache, resume=True, budget=1e4, runner=runner
    )
    assert sorted(fitted) == sorted(result.weights)
    assert set(result.source.fitted) == set(fitted)


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


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a process cannot send these signals to itself")
def test_interrupted_then_killed_then_resumed(whole, here, tmp_path):
    """Ctrl-C after 3 of 9 cells and kill -9 after 6 do not change any bit of the scores.

    The worker processes end with their parent: until then, they keep its pipes open.
    """
    script, cache = tmp_path / "run.py", tmp_path / "cells.jsonl"
    script.write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    with subprocess.Popen(
        [sys.executable, script, cache],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        process.wait(timeout=200)
        told, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL, errors
    assert "Traceback" not in errors
    assert "cancelled" not in errors
    interrupted, table = told.split(" ", 1)
    assert interrupted == "True"
    some = ast.literal_eval(table)
    assert 3 <= len(some) < 9
    assert some.items() <= scores(whole).items()
    with cache.open("a") as file:
        file.write('{"method_key": "cut off whi')
    resumed = run(cache=cache, resume=True)
    assert 6 <= 9 - len(here) < 9
    assert without_costs(resumed.records) == without_costs(whole.records)


KEY = key_of(made(), PROTOCOL)
CELLS = [record("dummy", 0, k, {"accuracy": 0.1 * k, "auc": None}) for k in range(3)]


def written(path):
    """Write a file of three cells and return its content."""
    journal = Journal(path, KEY, resume=False)
    for each in CELLS:
        journal.add("m", each)
    return path.read_bytes()


def test_truncated_file_is_completed(tmp_path):
    path = tmp_path / "cells.jsonl"
    content = written(path)
    header = content.index(b"\n") + 1
    for length in range(header, len(content) + 1, 7):
        path.write_bytes(content[:length])
        journal = Journal(path, KEY, resume=True)
        left = [each for k, each in enumerate(CELLS) if not journal.find("m", Cell("dummy", 0, k))]
        assert len(left) == 3 - content[header:length].count(b"\n")
        for each in left:
            journal.add("m", each)
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    "other",
    [
        key_of(made(1), PROTOCOL),
        key_of(replace(made(), feature_names=("a", "b", "c")), PROTOCOL),
        key_of(replace(made(), groups=np.arange(45) % 9), PROTOCOL),
        key_of(replace(made(), ordered=True), PROTOCOL),
        key_of(made(), replace(PROTOCOL, seed=4)),
        key_of(made(), replace(PROTOCOL, folds=4)),
        key_of(made(), replace(PROTOCOL, metric="auc")),
        key_of(made(), replace(PROTOCOL, metric=make_scorer(fbeta_score, beta=2.0))),
    ],
)
def test_stale_file_is_refused(other, tmp_path):
    before = written(tmp_path / "cells.jsonl")
    with pytest.raises(TableError, match="another table, other options or other versions"):
        Journal(tmp_path / "cells.jsonl", other, resume=True)
    assert (tmp_path / "cells.jsonl").read_bytes() == before


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n",
        b"\x00\xff\xfe\n",
        b'{"format": "something else"}\n',
        b"[" * 100_000 + b"\n",
        b'{"format": "pliant comparison 1", "key": "',
    ],
    ids=["csv", "binary", "format", "deep", "header cut off"],
)
def test_foreign_file_is_refused_and_unchanged(content, resume, tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"cells\.jsonl"):
        Journal(path, KEY, resume=resume)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["cells.jsonl"]


def spoiled(**changes):
    return json.dumps({"method_key": "m", "record": {**CELLS[0], **changes}})


HOSTILE = {
    "no JSON": "{",
    "no text": "\udcff",
    "no key": json.dumps({"record": CELLS[0]}),
    "a record of something else": '{"method_key": "m", "record": [1]}',
    "status": spoiled(status="cut"),
    "scores": spoiled(scores=[1]),
    "deep": '{"a":' * 50_000 + "1" + "}" * 50_000,
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_damaged_line_is_reported(line, tmp_path):
    path = tmp_path / "cells.jsonl"
    written(path)
    first, *rest = path.read_text().splitlines()
    lines = "\n".join([first, rest[0], line, *rest[1:]]) + "\n"
    path.write_text(lines, errors="surrogateescape")
    before = path.read_bytes()
    with pytest.raises(TableError, match="line 3"):
        Journal(path, KEY, resume=True)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["cells.jsonl"]


def test_line_truncated_by_full_disk_is_ignored(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    before = written(path)

    class Full:
        """A file on a disk with 10 free bytes."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            self.file.write(data[:10])
            raise OSError(28, "No space left on device")

    opened = Path.open
    kept = Journal(path, KEY, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *a, **k: Full(opened(*a, **k)))
        with pytest.warns(UserWarning, match="no longer write .*: No space left on device"):
            kept.add("other", CELLS[0])
    kept.add("other", CELLS[1])
    assert kept.find("other", Cell("dummy", 0, 0))
    assert path.read_bytes()[:-10] == before
    assert not Journal(path, KEY, resume=True).find("other", Cell("dummy", 0, 0))
    assert path.read_bytes() == before
