"""Journals that somebody altered: a resumed comparison ends with a result, or refuses the file.

Lines are cut off, changed in bytes, given twice, exchanged with those of another table or version;
other things stand in the place of the file. A refused file stays as it is.
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

from pliant.comparison.comparing import compare_sample
from pliant.comparison.protocol import Protocol
from pliant.comparison.run import cells, running
from pliant.comparison.run.cells import perform
from pliant.comparison.sample import Sample
from pliant.core.exceptions import TableError
from tests.fuzz.refusals import content_of, fault_of_refusal

METHODS = ("dummy", "linear")
PROTOCOL = Protocol(folds=3, repeats=1, inner_folds=2, candidates=2, seed=3)

NAME = "cells.jsonl"

COSTS = ("seconds", "memory_mb", "size_bytes", "pictures", "warnings")
"""Facts that two runs of a cell do not share."""

FOREIGN = (
    b"", b"\n", b"a,b\n1,2\n", b"\x00\xff\xfe\n", b"[]\n", b"null\n", b"PK\x03\x04", b"[" * 100_000,
    b'{"a":' * 9_000 + b"1" + b"}" * 9_000 + b"\n", b"1" * 9_000 + b"\n",
    b'{"format": "pliant comparison 1", "key": "k"}\n', b'{"format": ["pliant comparison 4"]}\n',
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
    number = int(rng.choice([0, 2]))
    content, expected = finished(number)
    path = folder / NAME
    path.write_bytes(content)
    alter = (alter_bytes, alter_lines, alter_lines, alter_foreign, alter_place)[rng.integers(5)]
    alter(rng, path)
    before = content_of(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = compared(number, path, resume=bool(rng.integers(4)))
        except TableError as error:
            if content_of(folder) != before:
                return "a refused journal was changed"
            return fault_of_refusal(error, NAME)
    return None if alter is alter_bytes or facts(result) == expected else f"result: {alter}"


def alter_bytes(rng, path):
    """Cut off the end, or change digits of a score, which nobody can notice."""
    content = bytearray(path.read_bytes())
    if rng.integers(2):
        content = content[: int(rng.integers(len(content) + 1))]
    else:
        at = int(rng.integers(len(content)))
        content[at] = int(rng.choice([*b"0123456789"])) if chr(content[at]).isdigit() else 0
    path.write_bytes(bytes(content))


def alter_lines(rng, path):
    lines = path.read_bytes().splitlines(keepends=True)
    one, other = (int(rng.integers(1, len(lines))) for _ in range(2))
    match int(rng.integers(5)):
        case 0:
            del lines[one]
        case 1:
            lines.insert(one, lines[other])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case 3:
            odd = [b"\n", b"{}\n", b"[1]\n", b"null\n", b"\xff\n"]
            lines.insert(one, odd[int(rng.integers(5))])
        case _:
            lines = lines[:one]
    path.write_bytes(b"".join(lines))


def alter_foreign(rng, path):
    """Put the journal of another table, or something else, into the file."""
    foreign = [finished(1)[0], *FOREIGN]
    path.write_bytes(foreign[int(rng.integers(len(foreign)))])


def alter_place(rng, path):
    how, content = rng.integers(5), path.read_bytes()
    path.unlink()
    if how == 0:
        path.mkdir()
    elif how == 1:
        os.mkfifo(path)
    elif how == 2:
        path.symlink_to("/dev/zero")
    elif how == 3:
        path.symlink_to("nowhere")
    else:
        path.with_name("elsewhere").write_bytes(content)
        path.symlink_to("elsewhere")
