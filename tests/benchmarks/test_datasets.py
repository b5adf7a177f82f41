"""Data sets from a folder: reading, checks against the manifest, and errors."""

from __future__ import annotations

import gzip
import hashlib
import json

import numpy as np
import pytest

from benchmarks.datasets import list_local, load_local
from pliant.core.exceptions import TableError

BINARY = "a,b,target\n1,0.5,-1\n2,,1\n3,1e-3,1\n"


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def put(folder, name, text):
    content = gzip.compress(text.encode())
    (folder / f"{name}.csv.gz").write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def describe(folder, *entries):
    (folder / "MANIFEST.json").write_text(json.dumps(entries), encoding="utf-8")


def test_a_set_without_manifest(folder):
    put(folder, "tiny", BINARY)
    data = load_local("tiny", folder)
    np.testing.assert_array_equal(data.X, [[1, 0.5], [2, np.nan], [3, 1e-3]])
    assert data.y.tolist() == [-1, 1, 1]
    assert data.y.dtype == np.int64
    assert (data.name, data.task) == ("tiny", "binary")


@pytest.mark.parametrize(
    ("targets", "task", "kind"),
    [
        ("1 2 3 3", "multiclass", "i"),
        ("1.5 2 3 4", "regression", "f"),
        (" ".join(map(str, range(21))), "regression", "f"),
    ],
)
def test_the_task_is_guessed_from_the_targets(folder, targets, task, kind):
    put(folder, "t", "a,target\n" + "".join(f"0,{t}\n" for t in targets.split()))
    data = load_local("t", folder)
    assert (data.task, data.y.dtype.kind) == (task, kind)


def test_the_manifest_states_the_task(folder):
    digest = put(folder, "t", BINARY)
    describe(folder, {"name": "t", "task": "regression", "sha256": digest})
    data = load_local("t", folder)
    assert (data.task, data.y.dtype.kind) == ("regression", "f")


def test_the_folder_may_come_from_the_environment(folder, monkeypatch):
    put(folder, "t", BINARY)
    put(folder, "s", BINARY)
    monkeypatch.setenv("PLIANT_DATA", str(folder))
    assert list_local() == ["s", "t"]
    assert load_local("t").X.shape == (3, 2)


def test_an_unknown_name_gets_close_matches(folder):
    put(folder, "german_numeric", BINARY)
    with pytest.raises(TableError, match=r"got 'german'; did you mean 'german_numeric'"):
        load_local("german", folder)
    with pytest.raises(TableError, match=r"got '\.\./x'; available: german_numeric"):
        load_local("../x", folder)


def test_a_changed_file_is_refused(folder):
    digest = put(folder, "t", BINARY)
    describe(folder, {"name": "t", "sha256": digest})
    found = put(folder, "t", BINARY + "4,4,1\n")
    with pytest.raises(TableError, match=f"expected sha256 {digest}, got {found}"):
        load_local("t", folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table of numbers: No columns"),
        ("a,b\n1,2\n", r"last column 'target', got \['b'\]"),
        ("a,target\n", "a number as each target, got nan, inf or no row"),
        ("a,target\n1,2\n1,2,3\n", "table of numbers: .*Expected 2 fields"),
        ("a,target\nred,2\n", "table of numbers: .*red"),
    ],
)
def test_broken_tables_are_refused(folder, text, message):
    put(folder, "t", text)
    with pytest.raises(TableError, match=message):
        load_local("t", folder)
