"""Files are written atomically; quoted names stay on one line."""

import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.core.files import replacing
from pliant.core.text import close_names, printable


def test_the_new_content_takes_the_name_at_the_end(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with replacing(path) as draft:
        assert draft.parent == tmp_path
        assert draft.suffix == ".csv"
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_permissions_stay(tmp_path, mode):
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as draft:
        draft.write_text("new")
    assert path.stat().st_mode & 0o777 == mode


def test_close_names_come_closest_first_whatever_the_case():
    assert close_names("age", ["Wage", "AGE ", "dose"]) == ["AGE ", "Wage"]
    assert close_names("c", ["C", "gamma"]) == ["C"]
    assert close_names("zz", ["C", "gamma"]) == []


def write_half(path, trouble, **options):
    with replacing(path, **options) as draft:
        draft.write_text("half")
        raise trouble


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_when_writing_stops(tmp_path, trouble):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(trouble):
        write_half(path, trouble)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_line_of_the_given_error(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(KeyError, match=r"cannot write .*out\.csv'.*: No space left"):
        write_half(tmp_path / "out.csv", full, error=KeyError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".", "not a regular file"),
        ("none/out.csv", "missing folder"),
        ("file/out.csv", "missing folder"),
        ("a\0b", "NUL"),
        ("x" * 5000, "cannot write"),
    ],
)
def test_a_place_where_no_file_can_stand(tmp_path, name, reason):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=reason), replacing(f"{tmp_path}/{name}", ValueError):
        pytest.fail("the block ran")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_write_protected_file_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    path.write_text("old")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(OSError, match="write-protected"), replacing(path):
        pytest.fail("the block ran")
    assert path.read_text() == "old"


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("no links here")
    with replacing(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@settings(deadline=None)
@given(st.text(st.characters(), max_size=300), st.integers(1, 100))
def test_printable_is_one_short_encodable_line(text, limit):
    result = printable(text, limit)
    assert len(result) <= limit
    assert result.isprintable()
    result.encode("utf-8")
