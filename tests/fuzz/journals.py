"""Journals that somebody altered: a resumed comparison has the same scores, or refuses the file.

Lines are cut off, changed in bytes and as JSON, given twice, exchanged with those of another table
or version; other things stand in the place of the file. Where the hash of a line is made again
after the change, as somebody could who reads the source, scores may differ, but the result can be
printed, and written as JSON and as a report.
"""

import json
import os
import tempfile
import warnings
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

from pliant.cli.compare.text import all_as_data, all_as_text
from pliant.cli.outputs import write_json
from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import Protocol
from pliant.comparison.report import write_report
from pliant.comparison.run import cells, running
from pliant.comparison.run.cells import perform
from pliant.comparison.run.journal import _hash_of, key_of
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from tests.fuzz.refusals import content_of, fault_of_refusal

KINDS = ("bytes", "lines", "fields", "fields", "sealed", "sealed", "header", "foreign", "place")

METHODS = ("dummy", "linear")
PROTOCOL = Protocol(folds=3, repeats=1, inner_folds=2, candidates=2, seed=3)

NAME = "cells.jsonl"

COSTS = ("seconds", "memory_mb", "size_bytes", "pictures", "warnings")
"""Facts that two runs of a cell do not share."""

JUNK = (
    None, True, False, 0, -1, 7, 2**60, 10**400, 0.5, -0.0, 1e300, -1e300, 5e-324, float("nan"),
    float("inf"), "", "x", "done", "<script>alert(1)</script>", "\x1b[31m", "‮", "\ud800",
    "x" * 10_000, [], {}, [[]], [1, 2], ["x"], [[1.0, 2.0]], {"a": 1}, {"a": {"b": [1]}},
)  # fmt: skip


def sample(number):
    """A table; 1 is of the same shape and different values, 2 a regression."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((45, 3))
    y = X[:, 0] + X[:, 1] ** 2
    if number == 2:
        return Sample(X, y, "regression")
    return Sample(X, (y > 0.5).astype(int), "classification")


def compared(number, path, resume):
    """Compare methods on a table in this process."""
    with ExitStack() as patched:
        here = patch.object(running, "perform_apart", lambda *cell, **_: perform(*cell[:4]))
        for each in (here, patch.object(cells, "figures", lambda *_: [])):
            patched.enter_context(each)
        patched.enter_context(patch.object(cells, "reset_peak_memory", lambda: None))
        return compare_sample(
            sample(number), METHODS, PROTOCOL, budget=None, n_jobs=1, cache=path, resume=resume
        )


@cache
def finished(number):
    """The journal of a finished comparison, and its facts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        result = compared(number, path, resume=False)
        return path.read_bytes(), facts(result)


def facts(result):
    """What a comparison has measured, without costs."""
    plain = json.loads(json.dumps(result.records))
    return [{k: v for k, v in each.items() if k not in COSTS} for each in plain]


def case(seed, folder):
    """Alter a journal and go on with it; return what was wrong, or None."""
    rng = np.random.default_rng(seed)
    number, kind = int(rng.choice([0, 0, 2])), str(rng.choice(KINDS))
    content, expected = finished(number)
    path = folder / NAME
    path.write_bytes(content)
    key = key_of(sample(number), PROTOCOL)
    for _ in range(int(rng.integers(1, 4))):
        if path.is_file() and not path.is_symlink():
            ALTER[kind](rng, path, key)
    before = content_of(folder)
    resume = bool(rng.integers(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = compared(number, path, resume)
        except TableError as error:
            after = content_of(folder)
            lock = f"{NAME}.lock"
            if lock not in after:
                before.pop(lock, None)  # of a process that died: it may be taken away
            if after != before:
                return f"{kind}: a refused journal was changed"
            return fault_of_refusal(error, NAME)
    if kind != "sealed" and facts(result) != expected:
        return f"wrong result: {kind}"
    if left := set(content_of(folder)) - {NAME, f"{NAME}.old", "nowhere", *before}:
        return f"left behind: {sorted(left)}"
    if kind == "sealed" and resume:
        return shown(result, folder)
    again = facts(compared(number, path, resume=True))
    return None if again == facts(result) else f"not kept: {kind}"


def shown(result, folder):
    """Print a result and write it; return what was wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = all_as_text([result])
        write_json(folder / "result.json", all_as_data([result]))
        write_report([result], folder / "report.html")
    if not all(line.isprintable() for line in text.splitlines()):
        return "unprintable: the text of a result"
    page = (folder / "report.html").read_text(encoding="utf-8")
    return "script: in the report" if "<script>alert" in page else None


def alter_bytes(rng, path, key):
    content = bytearray(path.read_bytes())
    how = rng.integers(4)
    if how == 0 or not content:
        content = content[: int(rng.integers(len(content) + 1))]
    elif how == 1:
        content += rng.bytes(int(rng.integers(1, 500)))
    elif how == 2:
        at = int(rng.integers(len(content)))
        content[at : at + int(rng.integers(1, 60))] = rng.bytes(int(rng.integers(60)))
    else:
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(32, 127))
    path.write_bytes(bytes(content))


def alter_lines(rng, path, key):
    lines = path.read_bytes().splitlines(keepends=True)
    if len(lines) < 2:
        return
    one, other = (int(rng.integers(1, len(lines))) for _ in range(2))
    how = rng.integers(5)
    if how == 0:
        del lines[one]
    elif how == 1:
        lines.insert(one, lines[other])
    elif how == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 3:
        lines.insert(one, [b"\n", b"{}\n", b"[1]\n", b"null\n", b"\xff\n"][int(rng.integers(5))])
    else:
        lines = lines[:one]
    path.write_bytes(b"".join(lines))


def _spoil(rng, value, depth=0):
    """Exchange something inside of plain data for something else."""
    junk = JUNK[int(rng.integers(len(JUNK)))]
    if isinstance(value, dict) and value and (depth == 0 or rng.integers(3)):
        name = str(rng.choice(sorted(map(str, value))))
        how = rng.integers(8)
        if how == 0:
            del value[name]
        elif how == 1:
            value[str(rng.choice(["extra", "crashed", "stage", "\x1b"]))] = junk
        else:
            value[name] = _spoil(rng, value[name], depth + 1)
        return value
    if isinstance(value, list) and value and rng.integers(2):
        value[int(rng.integers(len(value)))] = junk
        return value
    if type(value) in (int, float) and abs(value) < 1e300 and rng.integers(2):
        return value + [1, -1, 0.25, 1e6, -1e6, 1e308][int(rng.integers(6))]
    return junk


def _alter_fields(rng, path, key):
    lines = path.read_bytes().splitlines(keepends=True)
    if len(lines) < 2:
        return
    at = int(rng.integers(1, len(lines)))
    try:
        entry = json.loads(lines[at])
        entry = _spoil(rng, entry)
        if key is not None:
            content = {name: entry[name] for name in ("method_key", "record")}
            entry = {"hash": _hash_of(key, content), **content}
        lines[at] = json.dumps(entry).encode() + b"\n"
    except (ValueError, KeyError, TypeError):
        return
    path.write_bytes(b"".join(lines))


def alter_fields(rng, path, key):
    _alter_fields(rng, path, None)


def alter_sealed(rng, path, key):
    _alter_fields(rng, path, key)


def alter_header(rng, path, key):
    first, _, rest = path.read_bytes().partition(b"\n")
    try:
        header = _spoil(rng, json.loads(first))
        if rng.integers(3) == 0:
            header["format"] = f"pliant comparison {rng.integers(6)}"
        path.write_bytes(json.dumps(header).encode() + b"\n" + rest)
    except (ValueError, TypeError):
        return


FOREIGN = (
    b"", b"\n", b"a,b\n1,2\n", b"\x00\xff\xfe\n", b"[]\n", b"null\n", b"PK\x03\x04",
    b"\xef\xbb\xbf{}\n",
    b"[" * 100_000 + b"\n", b'{"a":' * 9_000 + b"1" + b"}" * 9_000 + b"\n", b"1" * 9_000 + b"\n",
    b'{"format": "pliant comparison 1", "key": "k"}\n', b'{"format": "pliant comparison 3"}\n',
    b'{"format": ["pliant comparison 3"]}\n', b'{"format": NaN}\n',
)  # fmt: skip


def alter_foreign(rng, path, key):
    """Put the journal of another table, some of its lines, or something else into the file."""
    mine, theirs = path.read_bytes(), finished(1)[0]
    how = rng.integers(4)
    if how == 0:
        path.write_bytes(theirs)
    elif how == 1:
        path.write_bytes(mine + theirs.split(b"\n", 1)[1])
    elif how == 2:
        path.write_bytes(mine.split(b"\n", 1)[0] + b"\n" + theirs.split(b"\n", 1)[1])
    else:
        path.write_bytes(FOREIGN[int(rng.integers(len(FOREIGN)))])


def alter_place(rng, path, key):
    how, content = rng.integers(6), path.read_bytes()
    path.unlink()
    if how == 0:
        path.mkdir()
    elif how == 1:
        os.mkfifo(path)
    elif how == 2:
        path.symlink_to("/dev/zero")
    elif how == 3:
        path.symlink_to("nowhere")
    elif how == 4:
        path.with_name("elsewhere").write_bytes(content)
        path.symlink_to("elsewhere")
    else:
        path.with_name(f"{NAME}.lock").write_bytes(b"\x1b[31m left by a process that died")
        path.write_bytes(content)


ALTER = {
    "bytes": alter_bytes,
    "lines": alter_lines,
    "fields": alter_fields,
    "sealed": alter_sealed,
    "header": alter_header,
    "foreign": alter_foreign,
    "place": alter_place,
}
