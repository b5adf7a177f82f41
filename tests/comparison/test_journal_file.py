"""Journal files: truncated files are completed; stale, foreign and damaged files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import fbeta_score, make_scorer

from pliant.comparison.contenders import named
from pliant.comparison.journal import Journal, key_of, method_key
from pliant.comparison.protocol import Cell
from pliant.core.exceptions import TableError
from tests.comparison.comparison_cases import record
from tests.comparison.test_resume import PROTOCOL, made

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


def test_keys_of_scorers_and_methods_are_distinct():
    scorers = [None, "auc", *(make_scorer(fbeta_score, beta=beta) for beta in (1.0, 2.0, 2.0))]
    keys = [key_of(made(), replace(PROTOCOL, metric=scorer)) for scorer in scorers]
    assert len(set(keys)) == 4
    assert keys[-1] == keys[-2]
    methods = [*map(named, ("linear", "svm", "dank")), replace(named("svm"), grid={"C": (1.0,)})]
    tasks = ("classification", "regression")
    assert len({method_key(method, task) for method in methods for task in tasks}) == 8
