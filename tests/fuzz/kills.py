"""Processes killed at random times by ``kill -9`` leave intact files and can be repeated.

    python -m tests.fuzz.kills --times 50 --seed 0 [fit predict]

``pliant fit --out`` and ``pliant predict --out`` run in a forked process. Half of the kills are at
a random time, the others just before a random file operation. A kill is survived if the file is
the old or the new one, only hidden temporary files are left behind, and running the command again
gives the result of an uninterrupted run.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from pliant.persistence import load_file
from pliant.tables.cli import main as pliant

LIMIT = 120.0
"""Time limit in seconds of commands that are not killed."""

TABLE, NEW, MODEL, OUT = "table.csv", "new.csv", "model.pliant", "out.csv"

OPERATIONS = ("open", "os.rename", "os.remove", "os.chmod", "os.truncate", "os.mkdir")
"""Audit events of Python for file operations."""


def write_table(path, n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 3))
    y = np.where(np.sin(6 * X[:, 0]) + X[:, 1] > 0.6, "high", "low")
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{label}" for (a, b, c), label in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,b,c,y", *lines, ""]), encoding="utf-8")


def command(*words):
    """Run a command; raise an error if it fails."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = pliant([str(word) for word in words])
    if code:
        raise RuntimeError(f"{words} ended with code {code}")


class Fit:
    """``pliant fit --out``, after which the model file is the old or the new one."""

    def prepare(self, folder):
        write_table(folder / TABLE, 120, 0)
        words = ("--target", "y", "--method", "linear", "--cv", 0, "--out", folder / MODEL)
        command("fit", folder / TABLE, *words)
        self.old = (folder / MODEL).read_bytes()

    def work(self, folder):
        words = ("--target", "y", "--method", "knpl", "--cv", 0, "--out", folder / MODEL)
        command("fit", folder / TABLE, *words)

    def state(self, folder):
        """Return "old" for the old file, or the predictions and metadata of the new model."""
        content = (folder / MODEL).read_bytes()
        if content == self.old:
            return "old"
        model = load_file(folder / MODEL)
        X = np.random.default_rng(1).uniform(size=(50, 3))
        values = np.asarray(model.model[1:].decision_function(X)).tolist()
        fit = {k: v for k, v in model.metadata["fit"].items() if "seconds" not in k}
        return json.dumps(
            [values, model.model[0].schema_.to_dict(), fit, model.metadata["cross_validation"]]
        )


class Predict:
    """``pliant predict --out``, after which the predictions are the old or the new ones."""

    def prepare(self, folder):
        write_table(folder / TABLE, 60, 0)
        write_table(folder / NEW, 12_000, 1)
        command(
            *("fit", folder / TABLE, "--target", "y", "--method", "knpl", "--cv", 0),
            *("--out", folder / MODEL),
        )
        (folder / OUT).write_bytes(b"old")

    def work(self, folder):
        command("predict", folder / MODEL, folder / NEW, "--decision", "--out", folder / OUT)

    def state(self, folder):
        content = (folder / OUT).read_text(encoding="utf-8")
        return content if content == "old" else f"{len(content)} {hash(content)}"


WORK = {"fit": Fit, "predict": Predict}


def _work(kind, folder, kill_before, report):
    """Run a command in a forked process; kill it before file operation `kill_before`."""
    counted = 0

    def count(event, arguments):
        nonlocal counted
        if event in OPERATIONS and any(str(folder) in str(each) for each in arguments):
            counted += 1
            if counted == kill_before:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    try:
        WORK[kind]().work(folder)
    except BaseException:
        report.send((traceback.format_exc(), 0))
    else:
        report.send(("", counted))


def _started(kind, folder, kill_before=0):
    context = multiprocessing.get_context("fork")
    ends, report = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(kind, folder, kill_before, report), daemon=True)
    process.start()
    report.close()
    return process, ends


def finish(kind, folder):
    """Run a command to its end; return the number of file operations."""
    process, ends = _started(kind, folder)
    try:
        error, counted = ends.recv() if ends.poll(LIMIT) else ("it takes too long", 0)
    except EOFError:
        error, counted = "it died", 0
    process.kill()
    process.join()
    if error:
        raise RuntimeError(f"{kind}: {error}")
    return counted


class Kills:
    """A command that is killed repeatedly."""

    def __init__(self, kind, root):
        self.kind, self.root = kind, root
        self.begun = root / f"{kind}-begun"
        self.begun.mkdir()
        self.work = WORK[kind]()
        self.work.prepare(self.begun)
        self.work.work(self._copy("whole"))  # imports and compiles before forking
        whole = self._copy("whole")
        start = time.monotonic()
        self.operations = finish(kind, whole)
        self.seconds = time.monotonic() - start
        self.expected = self.work.state(whole)
        self.names = visible(whole)

    def _copy(self, name):
        folder = self.root / f"{self.kind}-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.begun, folder)
        return folder

    def kill(self, number, seed):
        """Kill the command once, and run it again; return the failure or None."""
        rng = np.random.default_rng([seed, number])
        folder = self._copy("killed")
        before = 1 + int(rng.integers(self.operations)) if number % 2 else 0
        process, _ = _started(self.kind, folder, before)
        process.join(LIMIT if before else float(rng.uniform(0, self.seconds)))
        process.kill()
        process.join()
        when = f"{'operation' if before else 'time'} {number}"
        try:
            state = self.work.state(folder)
        except Exception as error:
            return f"{when}: neither the old nor the new file: {error!r}"
        if state not in ("old", self.expected):
            return f"{when}: neither the old nor the new file"
        if odd := visible(folder) - self.names:
            return f"{when}: left behind: {sorted(odd)}"
        try:
            finish(self.kind, folder)
        except RuntimeError as error:
            return f"{when}: cannot go on: {error}"
        if self.work.state(folder) != self.expected:
            return f"{when}: another result than without the kill"
        return None if visible(folder) == self.names else f"{when}: other files than without it"


def visible(folder):
    """Return the files in a folder that are not hidden."""
    below = (path.relative_to(folder) for path in folder.rglob("*"))
    return {str(path) for path in below if not path.name.startswith(".")}


def survived(kind, times, seed, root):
    """Kill a command several times; return one line for each failure."""
    kills = Kills(kind, root)
    wrong = (kills.kill(number, seed) for number in range(times))
    return [each for each in wrong if each is not None]


def main(arguments=None):
    """Run the command line; return 1 if a kill was not survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kills", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="*", default=[*WORK], metavar="KIND", help=", ".join(WORK))
    parser.add_argument("--times", type=int, default=50, help="kills of each kind (default 50)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    failed = 0
    for kind in given.kinds:
        with tempfile.TemporaryDirectory(prefix="kills") as root:
            start = time.monotonic()
            wrong = survived(kind, given.times, given.seed, Path(root))
        for line in wrong:
            print(f"{kind}: {line}")
        failed += len(wrong)
        took = time.monotonic() - start
        print(f"{kind}: survived {given.times - len(wrong)} of {given.times} ({took:.0f} s)")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
