"""The folder of a checkpoint: of the same run, new, or refused with the difference."""

import json
import os
import re

import numpy as np
import pytest

from pliant._version import __version__
from pliant.methods.svm.parts import Store, fingerprint
from tests.methods.svm.parts.store_cases import MADE, X, Y, unchanged


def test_the_same_run_may_open_the_folder_again(store, saved):
    assert unchanged(Store(store.folder, MADE).load("plain", 0, 30))
    again = fingerprint(X, Y, None, {"C": 1, "kernel": "Gaussian(1.0)", "eta": np.float64(np.inf)})
    assert unchanged(Store(str(store.folder), again).load("plain", 0, 30))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"C": 2.0}, "was made with C = 1.0, now C = 2.0; choose another folder or delete it"),
        ({"C": None}, "made with C = 1.0, now C = null"),
        ({"C": "1.0"}, 'made with C = 1.0, now C = "1.0"'),
        ({"kernel": ["a", 1]}, r'made with kernel = "Gaussian\(1.0\)", now kernel = \["a", 1\]'),
        ({"eta": 5}, "made with eta = Infinity, now eta = 5"),
        ({"tau": 1.0}, "made with tau = not given, now tau = 1.0"),
    ],
)
def test_a_run_with_other_parameters_is_refused(store, other, message):
    parameters = {"C": 1.0, "kernel": "Gaussian(1.0)", "eta": float("inf")} | other
    with pytest.raises(ValueError, match=message):
        Store(store.folder, fingerprint(X, Y, None, parameters))


def test_a_parameter_that_is_gone_is_another_run(store):
    parameters = {"C": 1.0, "kernel": "Gaussian(1.0)"}
    with pytest.raises(ValueError, match="made with eta = Infinity, now eta = not given"):
        Store(store.folder, fingerprint(X, Y, None, parameters))


def changed(values):
    values = values.copy()
    values.flat[-1] = np.nextafter(values.flat[-1], 9)
    return values


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ((changed(X), Y, None), "X"),
        ((X[:-1], Y, None), "X"),
        ((X.astype(np.float32), Y, None), "X"),
        ((X.reshape(3, 30), Y, None), "X"),
        ((X[::-1], Y, None), "X"),
        ((X, changed(Y), None), "target"),
        ((X, Y, np.ones(30)), "weights"),
    ],
)
def test_a_run_with_other_data_is_refused(store, data, name):
    parameters = {"C": 1.0, "kernel": "Gaussian(1.0)", "eta": float("inf")}
    with pytest.raises(ValueError, match=f"made with another {name}; choose another folder"):
        Store(store.folder, fingerprint(*data, parameters))


def test_another_version_of_pliant_is_another_run(store):
    with pytest.raises(ValueError, match=f'made with pliant = "{re.escape(__version__)}", now'):
        Store(store.folder, {**MADE, "pliant": "0.0.0"})


def test_the_layout_in_memory_does_not_matter(monkeypatch):
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist()):
        assert fingerprint(same, Y, None, {})["X"] == MADE["X"]
    monkeypatch.setattr("pliant.methods.svm.parts.folder.BLOCK_BYTES", 100)
    assert fingerprint(X, Y, None, {})["X"] == MADE["X"]


def test_parameters_may_hold_what_numpy_gives():
    given = {"n": np.int64(3), "b": np.bool_(True), "signs": np.ones(2), "list": (1, 2.5)}
    made = fingerprint(X, np.array(["a", "b"]), np.ones(30), given)
    assert made["n"] == 3
    assert made["b"] is True
    assert made["list"] == [1, 2.5]
    assert json.loads(json.dumps(made)) == made
    assert made != fingerprint(
        X, np.array(["a", "b"]), np.ones(30), {**given, "signs": np.zeros(2)}
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fingerprint(X, Y, None, {"kernel": object()}), "that JSON can hold, got"),
        (lambda: fingerprint(np.array([1, "a"], dtype=object), Y, None, {}), "one of object"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_a_new_folder_is_made_with_its_parents(tmp_path):
    Store(tmp_path / "a" / "b", MADE)
    assert json.loads((tmp_path / "a" / "b" / "manifest.json").read_text())["made_with"] == MADE


def test_hidden_files_such_as_drafts_of_a_killed_run_do_not_count(tmp_path):
    (tmp_path / ".0123456789abcdef.npz").write_bytes(b"half")
    Store(tmp_path, MADE)
    assert (tmp_path / ".0123456789abcdef.npz").read_bytes() == b"half"


@pytest.mark.parametrize("name", ["thesis.txt", "plain-00001.npz", "folder/"])
def test_a_folder_of_something_else_is_refused(tmp_path, name):
    path = tmp_path / name
    path.mkdir() if name.endswith("/") else path.write_text("mine")
    with pytest.raises(ValueError, match="a new or empty folder, or one of an earlier run, got"):
        Store(tmp_path, MADE)
    assert os.listdir(tmp_path) == [name.rstrip("/")]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="a folder, got the file"):
        Store(tmp_path / "file", MADE)
    with pytest.raises(ValueError, match=r"a folder, got the file '.*file'"):
        Store(tmp_path / "file" / "below", MADE)
    with pytest.raises(OSError, match="cannot make the folder"):
        Store(f"{tmp_path}/a\0b", MADE)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot write in the folder"):
        Store(tmp_path, MADE)


def test_a_folder_that_the_system_write_protects_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OSError, match=r"cannot write in the folder .*: permission denied"):
        Store(tmp_path, MADE)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"format": 1, "made_with": {}}',
        b'{"format": "pliant checkpoint 1", "made_with": {}}',
        b'{"format": "pliant checkpoint 2"}',
        b'{"format": "pliant checkpoint 2", "made_with": [1]}',
        b'{"format": "pliant checkpoint 2", "made_with": "C"}',
        b"[" * 100_000,
        b" " * (1 << 20) + b"{}",
        b"1" * 10_000,
    ],
)
def test_a_manifest_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"manifest of checkpoint .* cannot be read \(") as caught:
        Store(tmp_path, MADE)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert (tmp_path / "manifest.json").read_bytes() == content


@pytest.mark.parametrize("value", [None, [], {}, "x" * 5000, 10**400, "\x1b[31m", {"a": [{}]}])
def test_a_manifest_with_values_of_other_types_is_another_run(tmp_path, value):
    made = {"format": "pliant checkpoint 2", "made_with": {**MADE, "C": value}}
    (tmp_path / "manifest.json").write_text(json.dumps(made))
    with pytest.raises(ValueError, match="made with C = ") as caught:
        Store(tmp_path, MADE)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600
