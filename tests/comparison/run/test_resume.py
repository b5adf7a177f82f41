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
from pathlib import Path

import numpy as np
import pytest

from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import DEFAULT, SEARCHED, Cell, Protocol
from pliant.comparison.run import cells as cell_module
from pliant.comparison.run import journal, running
from pliant.comparison.run.baselines import named
from pliant.comparison.run.cells import perform
from pliant.comparison.run.journal import Journal, key_of, method_key
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
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


def test_a_budget_that_ends_marks_what_is_missing(whole, here):
    ended = run(budget=1e-3)
    assert [entry.status for entry in ended.methods] == ["cut"] * 3
    assert all("0 of 3 folds: the budget ended" in entry.reason for entry in ended.methods)
    assert ended.records == ()
    assert ended.sentence().startswith("No method can be ranked.")


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


def test_without_resume_a_new_file_begins_and_the_old_one_is_kept(here, tmp_path):
    cache = tmp_path / "cells.jsonl"
    run(("dummy",), cache=cache)
    before = cache.read_text()
    run(("dummy",), cache=cache)
    assert len(here) == 6
    assert (tmp_path / "cells.jsonl.old").read_text() == before


def test_a_method_that_was_changed_is_run_again(here, tmp_path):
    cache = tmp_path / "cells.jsonl"
    run(("dummy", "linear"), cache=cache)
    changed = replace(named("linear"), grid={"C": (1.0, 2.0)})
    found = run(("dummy", changed), cache=cache, resume=True)
    assert {cell.method for cell in here[6:]} == {"linear"}
    assert all(each["candidates"] == 2 for each in found.records if each["method"] == "linear")


def test_a_failed_cell_is_kept_and_named(here, tmp_path):
    broken = replace(named("linear"), name="broken", grid={"C": (-1.0,)})
    found = run((broken, "dummy"), cache=tmp_path / "cells.jsonl")
    assert [entry.status for entry in found.methods] == ["error", "done"]
    assert "'C' parameter" in found.methods[0].reason
    assert found.sentence().endswith("Linear failed.")
    run((broken, "dummy"), cache=tmp_path / "cells.jsonl", resume=True)
    assert len(here) == 6


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
    from tests.comparison.run.test_resume import METHODS, PROTOCOL, made

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


def written(path):
    """A file of three cells."""
    with Journal(path, KEY, resume=False) as journal:
        for each in CELLS:
            journal.add("m", each)
    return path.read_bytes()


def test_a_file_cut_off_anywhere_goes_on_to_the_same_bytes(tmp_path):
    path = tmp_path / "cells.jsonl"
    content = written(path)
    header = content.index(b"\n") + 1
    for length in range(header, len(content) + 1, 7):
        path.write_bytes(content[:length])
        with Journal(path, KEY, resume=True) as journal:
            cells = enumerate(CELLS)
            left = [each for k, each in cells if not journal.find("m", Cell("dummy", 0, k))]
            assert len(left) == 3 - content[header:length].count(b"\n")
            for each in left:
                journal.add("m", each)
        assert path.read_bytes() == content


def test_every_float_comes_back(tmp_path):
    scores = {"r2": 0.1 + 0.2, "rmse": 5e-324, "mae": 1.7976931348623157e308}
    Journal(tmp_path / "c", KEY, resume=False).add("m", record("svm", 0, 0, scores))
    found = Journal(tmp_path / "c", KEY, resume=True).find("m", Cell("svm", 0, 0))
    assert found["scores"] == scores


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
    ],
)
def test_a_stale_file_is_refused(other, tmp_path):
    before = written(tmp_path / "cells.jsonl")
    with pytest.raises(TableError, match="another table, other options or other versions"):
        Journal(tmp_path / "cells.jsonl", other, resume=True)
    assert (tmp_path / "cells.jsonl").read_bytes() == before


def test_a_file_of_another_version_is_refused(tmp_path, monkeypatch):
    written(tmp_path / "cells.jsonl")
    monkeypatch.setattr("pliant.comparison.run.journal.__version__", "0.0.0")
    with pytest.raises(TableError, match="other versions"):
        Journal(tmp_path / "cells.jsonl", key_of(made(), PROTOCOL), resume=True)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,2\n",
        b"\x00\xff\xfe\n",
        b"[]\n",
        b'{"format": "something else"}\n',
        b"[" * 100_000 + b"\n",
        b'{"format": "pliant comparison 1", "key": "',
    ],
    ids=["csv", "binary", "list", "format", "deep", "header cut off"],
)
def test_a_foreign_file_is_refused_and_left_alone(content, resume, tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"cells\.jsonl"):
        Journal(path, KEY, resume=resume)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["cells.jsonl"]


def sealed(record, key=KEY):
    """The line of a record as somebody forges it who knows how the hash is made."""
    content = {"method_key": "m", "record": record}
    return json.dumps({"hash": journal._hash_of(key, content), **content})


def spoiled(**changes):
    return sealed({**CELLS[0], **changes})


def without(name):
    return sealed({k: v for k, v in CELLS[0].items() if k != name})


PICTURE = {"title": "a", "alt": "b", "png": "iVBO"}

HOSTILE = {
    "no JSON": "{",
    "no text": "\udcff",
    "list": "[1, 2]",
    "no record": '{"method_key": "m"}',
    "no key": json.dumps({"record": CELLS[0]}),
    "no hash": json.dumps({"method_key": "m", "record": CELLS[0]}),
    "a record of something else": sealed([1]),
    "changed": sealed(CELLS[0]).replace("2.0", "2.5"),
    "of another journal": sealed(CELLS[0], "another key"),
    "there twice": spoiled(scores={"accuracy": 0.9}),
    "status": spoiled(status="fine"),
    "status of a list": spoiled(status=[]),
    "fold": spoiled(fold="0"),
    "repeat": spoiled(repeat=True),
    "negative": spoiled(fold=-1),
    "huge": spoiled(fold=2**60),
    "stage": spoiled(stage="half"),
    "method": spoiled(method=["dummy"]),
    "scores": spoiled(scores=[1]),
    "no scores": spoiled(scores={}),
    "score of text": spoiled(scores={"accuracy": "<script>alert(1)</script>"}),
    "score of truth": spoiled(scores={"accuracy": True}),
    "nan": spoiled(scores={"accuracy": float("nan")}),
    "infinite": spoiled(scores={"accuracy": float("inf")}),
    "overflow": spoiled(scores={"accuracy": 0.5}).replace("0.5", "1e999"),
    "no rows": without("rows"),
    "rows": spoiled(rows={"train": 0, "test": 1}),
    "rows of text": spoiled(rows={"train": "80", "test": "20"}),
    "no error": without("error"),
    "no times": spoiled(seconds=None),
    "times": spoiled(seconds={"fit": "long"}),
    "unknown": spoiled(surprise=1),
    "settings": spoiled(chosen={"C": [1]}),
    "curve": spoiled(curve=[[10, None]]),
    "predictions": spoiled(predictions={"rows": [0, 1], "values": [0]}),
    "falling rows": spoiled(predictions={"rows": [1, 0], "values": [0, 0]}),
    "picture": spoiled(pictures=[{**PICTURE, "png": '"><script>'}]),
    "warnings": spoiled(warnings=[1]),
    "memory": spoiled(memory_mb=-1.0),
    "deep": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "rather deep": '{"hash": 1, "method_key": "m", "record":' + "[" * 900 + "]" * 900 + "}",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_damaged_line_is_refused_by_its_number(line, tmp_path):
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


MISFITS = {
    "metric": {"scores": {"accuracy": 0.5, "r2": 0.5}},
    "range": {"scores": {"accuracy": 1.5}},
    "rows": {"rows": {"train": 40, "test": 6}},
    "row": {"predictions": {"rows": [45], "values": [0]}},
    "class": {"predictions": {"rows": [3], "values": [2]}},
    "list": {"predictions": {"rows": [3], "values": [None]}},
}


@pytest.mark.parametrize("changes", MISFITS.values(), ids=MISFITS.keys())
def test_a_cell_that_cannot_be_of_this_table_is_refused(changes, tmp_path):
    cache = tmp_path / "cells.jsonl"
    with Journal(cache, KEY, resume=False) as kept:
        fitting = {**CELLS[0], "rows": {"train": 30, "test": 15}, **changes}
        kept.add(method_key(named("dummy"), "classification"), {**fitting, "stage": DEFAULT})
    with pytest.raises(TableError, match=r"cells\.jsonl', 'dummy', repeat 0, fold 0: "):
        run(("dummy",), cache=cache, resume=True)


def test_two_comparisons_do_not_share_a_journal(here, tmp_path):
    cache = tmp_path / "cells.jsonl"
    who = rf"process {os.getpid()} on .*, since 2.* UTC\): wait until it ends, or choose"
    with Journal(cache, KEY, resume=False):
        for resume in (True, False):
            with pytest.raises(TableError, match=f"cells.jsonl' is in use by another .*{who}"):
                run(cache=cache, resume=resume)
    assert [each.name for each in tmp_path.iterdir()] == ["cells.jsonl"]
    run(("dummy",), cache=cache, resume=True)
    assert [each.name for each in tmp_path.iterdir()] == ["cells.jsonl"]


HOLDER = """
import sys, time
from pliant.comparison.run.journal import Journal

journal = Journal(sys.argv[1], "key", resume=True)
print("held", flush=True)
time.sleep(60)
"""


def test_a_process_that_is_killed_releases_its_journal(tmp_path):
    cache = tmp_path / "cells.jsonl"
    command = [sys.executable, "-c", HOLDER, str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(TableError, match=f"process {process.pid} on "):
            Journal(cache, "key", resume=True)
        process.kill()
    assert (tmp_path / "cells.jsonl.lock").exists()
    Journal(cache, "key", resume=True).close()
    assert [each.name for each in tmp_path.iterdir()] == ["cells.jsonl"]


def test_a_line_that_a_full_disk_cuts_off_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    before = written(path)

    class Full:
        """A file on a disk that takes 10 more bytes."""

        def __init__(self, file):
            self.file, self.left = file, 10

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            if not self.left:
                raise OSError(28, "No space left on device")
            taken, self.left = data[: self.left], 0
            return self.file.write(taken)

        def __getattr__(self, name):
            return getattr(self.file, name)

    opened = Path.open
    with Journal(path, KEY, resume=True) as kept:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", lambda *a, **k: Full(opened(*a, **k)))
            with pytest.warns(UserWarning, match="any more: No space left on device"):
                kept.add("other", CELLS[0])
        kept.add("other", CELLS[1])
        assert kept.find("other", Cell("dummy", 0, 0))
    assert path.read_bytes() == before


def test_a_file_of_an_earlier_version_is_refused_and_kept_as_the_old_one(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text('{"format": "pliant comparison 1", "key": "k"}\n')
    before = path.read_text()
    with pytest.raises(TableError, match=r"earlier version of pliant .* leave --resume out"):
        Journal(path, KEY, resume=True)
    assert path.read_text() == before
    Journal(path, KEY, resume=False)
    assert (tmp_path / "cells.jsonl.old").read_text() == before


def test_stages_of_a_cell_are_kept_apart(tmp_path):
    path = tmp_path / "cells.jsonl"
    with Journal(path, KEY, resume=False) as journal:
        for stage, score in ((DEFAULT, 0.5), (SEARCHED, 0.7)):
            journal.add("m", record("svm", 0, 0, {"accuracy": score}, stage=stage))
    again = Journal(path, KEY, resume=True)
    for stage, score in ((DEFAULT, 0.5), (SEARCHED, 0.7)):
        assert again.find("m", Cell("svm", 0, 0, stage))["scores"] == {"accuracy": score}


def test_a_folder_is_refused(tmp_path):
    for resume in (True, False):
        with pytest.raises(TableError):
            Journal(tmp_path, KEY, resume=resume)


def test_control_characters_of_a_name_are_not_printed(tmp_path):
    path = tmp_path / "cells\x1b[31m.jsonl"
    path.write_text("no\n")
    with pytest.raises(TableError) as caught:
        Journal(path, KEY, resume=True)
    assert "\x1b" not in str(caught.value)


def test_methods_have_keys_of_their_own():
    keys = {
        method_key(named(name), "classification") for name in ("dummy", "linear", "svm", "dank")
    }
    assert len(keys) == 4
    other = replace(named("svm"), grid={"C": (1.0,)})
    assert method_key(other, "classification") != method_key(named("svm"), "classification")
    assert method_key(named("svm"), "regression") != method_key(named("svm"), "classification")
