"""A damaged or hostile file in a checkpoint counts as missing and costs no more than a good one."""

import io
import json
import os
import re
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.methods.svm.parts import Store, kmeans_partition
from tests.methods.svm.parts.store_cases import MADE, RESULT, X, part_file, unchanged


def npz(**contents):
    buffer = io.BytesIO()
    np.savez(buffer, **contents)
    return buffer.getvalue()


class Sealing(Store):
    """Knows how the hash is made, but not the folder."""

    def __init__(self):
        self._run = json.dumps(MADE, sort_keys=True)


def like(result, **changes):
    """The file as NumPy writes it, with some arrays changed; None leaves one out."""
    content = result._asdict() | {"status": np.asarray(result.status, "<U32")} | changes
    whole = {name: np.asarray(values) for name, values in content.items() if values is not None}
    plain = {name: values for name, values in whole.items() if not values.dtype.hasobject}
    return npz(**whole, seal=np.asarray(Sealing()._seal(Path("plain-00001.npz"), plain), "<U64"))


def expect_missing(store, message):
    with pytest.warns(UserWarning, match="cannot be used and is written again") as caught:
        assert store.load("plain", 0, 30) is None
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.isprintable()
    assert len(text) < 600
    assert re.search(message, text)
    assert caught[0].filename == __file__


def sealed_elsewhere():
    """The file of the same part in a run with other data."""
    other = Sealing()
    other._run = "{}"
    content = {name: np.asarray(values) for name, values in RESULT._asdict().items()}
    content["status"] = np.asarray(RESULT.status, "<U32")
    seal = other._seal(Path("plain-00001.npz"), content)
    return npz(**content, seal=np.asarray(seal, "<U64"))


BAD = np.array([np.nan] * 30)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def packed(contents, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in contents:
            archive.writestr(name, content)
    return buffer.getvalue()


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def with_header(text):
    """The file with another header of beta."""
    header = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
    return packed(
        [
            (name, header + content[128:] if name == "beta.npy" else content)
            for name, content in members(like(RESULT))
        ]
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "whole npz file"),
        (b"PK\x03\x04", "whole npz file"),
        (b"not a zip archive", "whole npz file"),
        (like(RESULT)[:-30], "whole npz file"),
        (like(RESULT)[:200], "whole npz file"),
        (like(RESULT, beta=None), "expected the arrays beta"),
        (like(RESULT, extra=1.0), "expected the arrays beta"),
        (like(RESULT, beta=X[:-1, 0]), "array beta"),
        (like(RESULT, beta=X[:, :1]), "array beta of type"),
        (like(RESULT, beta=X[:, 0].astype(np.float32)), "array beta"),
        (like(RESULT, beta=X[:, 0].astype(complex)), "array beta|expected at most"),
        (like(RESULT, beta=np.arange(30)), "array beta of type"),
        (like(RESULT, beta=BAD), "finite numbers in beta"),
        (like(RESULT, beta=np.array([Bomb()] * 30)), "array beta|expected at most"),
        (like(RESULT, value=np.inf), "finite numbers in value"),
        (like(RESULT, gap=np.inf), "finite numbers in gap"),
        (like(RESULT, seconds=np.nan), "finite numbers in seconds"),
        (like(RESULT, n_iter=1.5), "array n_iter of type"),
        (like(RESULT, n_iter=-1), "n_iter >= 0, got -1"),
        (like(RESULT, seconds=-1.0), "seconds >= 0, got -1"),
        (like(RESULT, beta=np.full(30, 1e300)), r"coefficients up to 10, got 1e\+300"),
        (like(RESULT, status=np.asarray("STOPPED", "<U32")), "name of a status"),
        (like(RESULT, status=np.asarray("WHATEVER", "<U32")), "name of a status"),
        (sealed_elsewhere(), "changed or renamed, or comes from another run"),
        (like(RESULT, status="CONVERGED"), "array status"),
        (like(RESULT, status=np.asarray("\x1b[31m", "<U32")), "name of a status"),
        (like(RESULT, status=np.asarray("", "<U32")), "name of a status"),
        (like(RESULT, beta=np.zeros(10_000)), "expected at most"),
        (packed(members(like(RESULT)), zipfile.ZIP_DEFLATED), "uncompressed"),
        (packed(members(like(RESULT)) * 2), "expected the arrays|expected at most"),
        (
            with_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
            "b",
        ),
        (with_header(b"(" * 118), "beta"),
        (with_header(b"__import__('os').abort()".ljust(118)), "beta"),
    ],
)
def test_a_file_of_something_else_counts_as_missing(store, data, message):
    part_file(store.folder).write_bytes(data)
    expect_missing(store, message)


def test_a_file_as_numpy_writes_it_is_read(store):
    part_file(store.folder).write_bytes(like(RESULT))
    assert unchanged(store.load("plain", 0, 30))


def test_letters_that_do_not_exist_are_no_status(store):
    text = np.full(32, 0x7FFFFFFF, "<i4").view("<U32")[0:1].reshape(())
    part_file(store.folder).write_bytes(like(RESULT, status=text))
    expect_missing(store, "name of a status")


def test_an_archive_that_would_unpack_to_much_more_is_not_unpacked(store, monkeypatch):
    zeros = [(name, b"\0" * 10_000_000) for name, _ in members(like(RESULT))]
    part_file(store.folder).write_bytes(packed(zeros, zipfile.ZIP_DEFLATED))
    monkeypatch.setattr(
        "pliant.methods.svm.parts.npz.OVERHEAD", 1 << 20
    )  # as if the file were small enough
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
    expect_missing(store, "uncompressed")


def test_a_file_is_not_read_when_it_is_too_large(store):
    with part_file(store.folder).open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    expect_missing(store, "expected at most [0-9]{4} bytes, got 1099511627776")


def test_links_are_not_followed(store, tmp_path_factory):
    victim = tmp_path_factory.mktemp("elsewhere") / "victim"
    victim.write_bytes(like(RESULT))
    part_file(store.folder).symlink_to(victim)
    expect_missing(store, "links")
    with pytest.raises(OSError, match="a symbolic link stands there"):
        store.save("plain", 0, RESULT)
    assert victim.read_bytes() == like(RESULT)
    part_file(store.folder).unlink()
    part_file(store.folder).symlink_to(tmp_path_factory.mktemp("nothing") / "there")
    with pytest.raises(OSError, match="a symbolic link stands there"):
        store.save("plain", 0, RESULT)


def test_a_manifest_that_is_a_link_is_not_read(tmp_path):
    Store(tmp_path / "true", MADE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").symlink_to(tmp_path / "true" / "manifest.json")
    with pytest.raises(ValueError, match="cannot be read"):
        Store(tmp_path / "other", MADE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_or_a_folder_in_the_place_of_a_file_counts_as_missing(store):
    os.mkfifo(part_file(store.folder))
    expect_missing(store, "not a regular file")
    part_file(store.folder).unlink()
    part_file(store.folder).mkdir()
    expect_missing(store, "a directory|not a regular file|denied")
    with pytest.raises(OSError, match="cannot write"):
        store.save("plain", 0, RESULT)


def test_a_file_that_was_renamed_counts_as_missing(store):
    store.save("plain", 1, RESULT)
    (store.folder / "plain-00002.npz").rename(part_file(store.folder))
    expect_missing(store, "changed or renamed, or comes from another run")


def test_a_partition_of_other_data_counts_as_missing(store, tmp_path):
    other = Store(tmp_path / "other", MADE | {"X": "sha256:0"})
    other.save_partition(kmeans_partition(X, 3, random_state=0))
    (other.folder / "partition.npz").rename(store.folder / "partition.npz")
    with pytest.warns(UserWarning, match="comes from another run"):
        assert store.load_partition(X) is None


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_file_gives_the_same_result_or_none(tmp_path_factory, data):
    store = Store(tmp_path_factory.getbasetemp() / "damaged", MADE)
    store.save("plain", 0, RESULT)
    content = bytearray(part_file(store.folder).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    part_file(store.folder).write_bytes(content[:cut])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = store.load("plain", 0, 30)
    assert unchanged(result) != (len(caught) == 1)
    assert result is None or unchanged(result)
