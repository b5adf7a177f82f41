"""Made-up tables of toy size, in files that carry the names of the real sets."""

from __future__ import annotations

import gzip
import json
from contextlib import contextmanager, nullcontext
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

import papers.study
from papers.__main__ import main
from papers.sample import Sample


def write_sets(folder, tables):
    """Write each (X, y) as NAME.csv.gz."""
    for name, (X, y) in tables.items():
        header = ",".join([*"abcdefghijk"[: X.shape[1]], "target"])
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
        with gzip.open(folder / f"{name}.csv.gz", "wt") as target:
            target.write("\n".join([header, *lines]) + "\n")
    return folder


@contextmanager
def one_thread():
    """Hold libraries to one thread at once, not for each of a hundred runs that take no time."""
    with threadpool_limits(1), mock.patch.object(papers.study, "threadpool_limits", nullcontext):
        yield


def run(study, folder, out, *more, repeats=3):
    """Run the command line for a study; return its page and its document."""
    arguments = ["run", study.name, "--data", str(folder), "--out", str(out)]
    with one_thread():
        assert main([*arguments, "--repeats", str(repeats), *more], {study.name: study}) == 0
    text = (out / f"{study.name}.md").read_text(encoding="utf-8")
    return text, json.loads((out / f"{study.name}.json").read_text(encoding="utf-8"))


def records(values, variants, task="classification", **more):
    """A record for each contestant, set and repeat; `variants` makes a variant of a value."""
    sizes = {"n_train": 80, "n_test": 20, "d": 2, "seconds": 1.0, "unconverged": 0, "task": task}
    return [
        {"contestant": who, "set": name, "repeat": repeat, **sizes, **more}
        | {"variants": variants(value)}
        for who, sets in values.items()
        for name, found in sets.items()
        for repeat, value in (found.items() if isinstance(found, dict) else enumerate(found))
    ]


def peer_rows(n=60, classes=2, seed=0):
    """Three features in [0, 1], and classes of equal size by the height of a smooth function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 3))
    height = np.sin(5 * X[:, 0]) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=n)
    return X, np.digitize(height, np.quantile(height, np.arange(1, classes) / classes))


def peer_sample(task="classification", n=60, classes=2):
    """Halves of such rows; in regression the target is smooth and has no noise."""
    X, y = peer_rows(n, classes)
    if task == "regression":
        y = np.sin(5 * X[:, 0]) + X[:, 1]
    return Sample("heart", task, X[::2], y[::2], X[1::2], y[1::2])
