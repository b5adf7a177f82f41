"""Full disks and limited memory give a one-sentence error and leave old files intact."""

import gc
import multiprocessing
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from pliant.tables.cli import main
from pliant.tables.registry import METHODS

resource = pytest.importorskip("resource")

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux has them"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

OLD = "what was there before"

MEGABYTE = 10**6


def _told(kind, limit, words):
    """Run a command under a limit; return its code, stdout and stderr."""
    resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def _limited(kind, limit, words, report):
    report.send(_told(kind, limit, words))


def limited(kind, limit, *words):
    """Run a command in another process under a limit; return its code, stdout and stderr."""
    return _report_of("fork", _limited, kind, limit, words)


def _report_of(method, target, *arguments):
    """Run a function in a new process, and return the object that it sends."""
    context = multiprocessing.get_context(method)
    ends, report = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, report), daemon=True)
    process.start()
    report.close()
    try:
        return ends.recv()
    finally:
        process.join()


FIT = ("fit", "patients.csv", "--target", "sick", "--method", "dank")
COMPARE = ("compare", "patients.csv", "--target", "sick", "--methods", "dummy")
PLAIN = ("--folds", 2, "--repeats", 1, "--budget", "none", "--jobs", 1)

WRITERS = {
    "model": ((*FIT, "--cv", 0, "--out", "m.pliant"), "m.pliant"),
    "json": ((*FIT, "--cv", 2, "--json", "r.json"), "r.json"),
    "report": ((*COMPARE, *PLAIN, "--report", "r.html"), "r.html"),
}


@pytest.mark.parametrize(("words", "name"), WRITERS.values(), ids=WRITERS.keys())
def test_a_full_disk_leaves_old_files_whole(words, name, folder):
    target = Path(name)
    target.write_text(OLD)
    code, _, err = limited(resource.RLIMIT_FSIZE, 300, *words)
    assert code == 1
    assert re.search(f"\nError: cannot write '[^']*{name}[^']*': File too large\n$", "\n" + err)
    assert target.read_text() == OLD
    left = {path.name for path in folder.rglob("*")}
    assert left <= {"patients.csv", target.name, "patients.compare.jsonl"}


def test_a_full_disk_leaves_old_predictions_whole(folder, models):
    Path("p.csv").write_text(OLD)
    words = ("predict", models["sick"], "patients.csv", "--out", "p.csv")
    code, out, err = limited(resource.RLIMIT_FSIZE, 100, *words)
    assert (code, out) == (1, "")
    assert err.endswith("Error: cannot write 'p.csv': File too large\n")
    assert sorted(os.listdir()) == ["p.csv", "patients.csv"]
    assert Path("p.csv").read_text() == OLD


def test_a_journal_that_a_full_disk_stops_can_be_resumed(folder):
    code, out, err = limited(resource.RLIMIT_FSIZE, 1500, *COMPARE, *PLAIN)
    assert (code, err.count("Warning: can no longer write")) == (0, 1)
    assert "patients.compare.jsonl': File too large" in err
    assert "accuracy" in out
    code, _, err = limited(resource.RLIMIT_FSIZE, 10**6, *COMPARE, *PLAIN, "--resume")
    assert (code, err.count("Warning: can no longer write")) == (0, 0)
    assert Path("patients.compare.jsonl").read_text().count("\n") == 3


def test_a_stdout_that_cannot_be_written_is_named(monkeypatch, capsys):
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(["methods"]) == 1
    assert capsys.readouterr().err == "Error: 'stdout': No space left on device\n"


def address_space():
    """Return the size of the address space of this process in bytes."""
    gc.collect()
    return int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024


def _lacking_memory(folder, commands, report):
    os.chdir(folder)
    METHODS["dank"] = replace(METHODS["dank"], grid={})  # the first fit needs the most
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        for command in ((*FIT, "--cv", 0), (*COMPARE, *PLAIN)):  # imports, which also need memory
            assert main([str(word) for word in command]) == 0
    Path("patients.compare.jsonl").unlink()
    told = []
    for more, words in commands:
        told.append((*_told(resource.RLIMIT_AS, address_space() + more, words), os.listdir()))
    report.send(told)


def lacking_memory(*commands):
    """Run commands, each with limited free memory; return codes, stdout, stderr and files.

    They run in a new process, so that memory used by earlier tests does not matter.
    """
    return _report_of("spawn", _lacking_memory, os.getcwd(), commands)


@pytest.fixture
def long_table(folder):
    """Write a table with a Gram matrix of 288 MB."""
    X = np.random.default_rng(0).normal(size=(6000, 2)).round(3)
    lines = (f"{a},{b},{'yes' if a + b * b > 0.5 else 'no'}" for a, b in X)
    Path("long.csv").write_text("\n".join(["a,b,y", *lines, ""]))


SHORT = (
    r"not enough memory: Unable to allocate .* for an array with shape \(6000, 6000\) .*; "
    "use fewer rows, .* more memory, or lab-rbf.*"
)


def test_a_fit_and_a_cell_that_lack_memory_say_how_much(long_table):
    words = ("long.csv", "--target", "y")
    fit = ("fit", *words, "--method", "dank", "--cv", 0, "--out", "m.pliant")
    compare = ("compare", *words, "--methods", "dummy,dank", *PLAIN, "--json", "r.json")
    fitted, compared = lacking_memory((150 * MEGABYTE, fit), (60 * MEGABYTE, compare))
    code, out, err, files = fitted
    assert (code, out) == (1, "")
    assert re.search(rf"\nError: {SHORT}\n$", "\n" + err)
    assert sorted(files) == ["long.csv", "patients.csv"]
    code, out, _, _ = compared
    assert code == 0
    assert "not enough memory: " in Path("r.json").read_text()
    assert "DANK: failed" in " ".join(out.split())
