"""The command line as a separate process: script, pipes, signals, missing packages."""

import io
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, LABRBFRegressor, TableFeatures, save
from pliant._version import __version__
from pliant.kernels import Gaussian
from pliant.tables import cli
from pliant.tables.cli import main
from pliant.tables.cli.quick import MOST_BYTES, is_quick
from pliant.tables.comparison.blend import BlendRegressor
from tests.cli.conftest import NOTE, patients, write

PLIANT = [sys.executable, "-m", "pliant"]

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and pipes of POSIX")

RUN = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from pliant.tables.cli import main
for words in {tasks!r}:
    code = main(words)
    sys.stderr.write(f"{{words[0]}} {{code}}\\n")
"""
"""Run commands without some packages, and print their exit codes to stderr."""


def finished(command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=600, **options
    )


def test_the_version(pliant):
    done = pliant("--version")
    assert (done.code, done.out, done.err) == (0, f"pliant {__version__}\n", "")


def test_the_help_waits_for_no_large_package():
    large = ("numba", "pandas", "pliant.methods", "scipy", "sklearn")
    done = finished(
        [
            sys.executable,
            "-c",
            "import sys; from pliant.tables.cli import main; code = main(['--help']); "
            f"print(code, [name for name in {large} if name in sys.modules])",
        ]
    )
    assert done.stdout.splitlines()[-1] == "0 []"


PREDICT = """
import sys
from pliant.tables.cli import main
for model in ("lab-rbf", "dank", "blend"):
    sys.argv = ["pliant", "predict", f"{model}.pliant", "patients.csv"]
    assert main() == 0
print([name for name in %r if name in sys.modules])
"""


@pytest.mark.processes
def test_predictions_of_a_small_table_wait_for_no_large_package(folder, pliant):
    """They agree with those of this process, whose exponential differs in the last bit."""
    frame = pd.read_csv("patients.csv")
    X, labels, y = frame[["age", "dose", "colour"]], frame["grade"], frame["amount"]
    lab = LABRBFRegressor(10, n_members=2, max_iter=2, random_state=0)
    ridge = make_pipeline(StandardScaler(), Ridge())
    blend = BlendRegressor([("lab-rbf", lab), ("forest", RandomForestRegressor(5)), ("r", ridge)])
    for name, last, target in (
        ("lab-rbf", lab, y), ("dank", DANKClassifier(C=10), labels), ("blend", blend, y),
    ):  # fmt: skip
        save(make_pipeline(TableFeatures(), last).fit(X, target), f"{name}.pliant")
    large = ("matplotlib", "numba", "scipy.stats", "sklearn")
    done = finished([sys.executable, "-c", PREDICT % (large,)])
    assert done.stderr == ""
    *lines, imported = done.stdout.splitlines()
    assert imported == "[]"
    names = ("lab-rbf", "dank", "blend")
    expected = [pliant("predict", f"{name}.pliant", "patients.csv").out for name in names]
    frames = [pd.read_csv(io.StringIO(text)) for text in expected]
    size = len(frame) + 1
    for number, right in enumerate(frames):
        left = pd.read_csv(io.StringIO("\n".join(lines[number * size : (number + 1) * size])))
        pd.testing.assert_frame_equal(left, right, rtol=1e-12)


FIT = """
import sys
from pliant.tables.cli import main
for method in ("dank", "lab-rbf"):
    sys.argv = ["pliant", "fit", "patients.csv", "--target", "grade", "--method", method]
    sys.argv += ["--cv", "2", "--out", "model.pliant"]
    assert main() == 0
    print([name for name in %r if name in sys.modules])
"""


def test_a_fit_waits_for_no_package_that_it_does_not_use(folder):
    later = ("matplotlib", "scipy.stats.distributions", "torch", "sklearn.ensemble")
    done = finished([sys.executable, "-c", FIT % (later,)])
    imported = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert imported == ["[]", "['sklearn.ensemble']"]  # LAB-RBF starts from trees


@pytest.mark.parametrize(
    ("words", "quick"),
    [
        (["predict", "m.pliant", "small.csv"], True),
        (["predict", "--proba", "m.pliant", "small.csv", "--out", "new.csv"], True),
        (["predict", "m.pliant", "large.csv"], False),
        (["predict", "m.pliant", "packed.parquet"], False),
        (["predict", "m.pliant", "folder"], False),
        (["predict", "m.pliant"], False),
        (["predict", "small.csv", "small.csv"], False),
        (["info", "m.pliant"], False),
        ([], False),
    ],
)
def test_only_predictions_of_a_small_table_are_quick(tmp_path, monkeypatch, words, quick):
    monkeypatch.chdir(tmp_path)
    save(Gaussian(), "m.pliant")
    Path("small.csv").write_text("a\n1\n")
    Path("large.csv").write_text("a\n" + "1\n" * MOST_BYTES)
    Path("packed.parquet").write_bytes(bytes(MOST_BYTES // 5))
    Path("folder").mkdir()
    assert is_quick(words) is quick


def test_a_missing_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["methods"]) == 1
    expected = "the command line needs typer: pip install 'pliant[cli]'"
    assert capsys.readouterr().err == f"Error: {expected}\n"


def test_a_closed_stdout_is_no_error_and_a_missing_package_is_named(folder):
    tasks = [["methods"], ["fit", "patients.csv", "--target", "sick"]]
    script = RUN.format(missing=["pandas"], tasks=tasks)
    closing = [] if os.name == "nt" else ["sh", "-c", 'exec "$@" >&-', "sh"]
    done = finished([*closing, sys.executable, "-c", script])
    first, line, last = done.stderr.splitlines()
    assert (done.returncode, first, last) == (0, "methods 0", "fit 1")
    assert line.startswith("Error: ")
    assert " pandas: pip install 'pliant[cli]'" in line


@posix_only
def test_a_closed_pipe_is_no_error(folder, models):
    lines = patients()
    write("long.csv", lines[0], *lines[1:] * 100)  # predictions that exceed the buffer of a pipe
    command = [*PLIANT, "predict", str(models["sick"]), "long.csv", "--decision"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"prediction,decision\n"
        process.stdout.close()
        assert process.stderr.read().decode().replace(NOTE, "") == ""
    assert process.returncode == 141


def forked(*words):
    """Fork this process, which has imported everything; return the number and stderr of a command.

    The command has the handlers of signals of a process of its own.
    """
    ends, said = os.pipe()
    if (process := os.fork()) == 0:
        os.dup2(said, 2)
        sys.argv, sys.stdout, sys.stderr = ["pliant", *words], io.StringIO(), os.fdopen(2, "w")
        try:
            runpy.run_module("pliant", run_name="__main__")
        except SystemExit as done:
            sys.stderr.flush()
            os._exit(done.code)
        finally:
            os._exit(99)
    os.close(said)
    return process, os.fdopen(ends)


@posix_only
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("number", "code", "last"),
    [("SIGINT", 130, "interrupted\n"), ("SIGTERM", 143, "terminated\n")],
)
def test_a_fit_that_is_asked_to_end_leaves_nothing(number, code, last, folder):
    write("t.csv", "a,b,y", *(f"{k * 37 % 101},{k * 53 % 97},{k % 7 % 2}" for k in range(3000)))
    words = ["--target", "y", "--cv", "100", "--out", "m.pliant", "--method", "dank"]
    process, errors = forked("fit", "t.csv", *words)
    with errors:
        assert errors.readline().startswith(("Learning from", "Note:"))
        time.sleep(0.3)
        os.kill(process, getattr(signal, number))
        said = errors.read()
        assert said.endswith(last)
        assert "Traceback" not in said
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == code
    assert [path.name for path in folder.iterdir() if path.suffix != ".csv"] == []


IN_TEXT = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
IN_CALLBACK = """
import ctypes, os, signal, time
ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.{number}))()
time.sleep(60)
"""


@posix_only
@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (IN_TEXT, 130, "interrupted\n"),
        (IN_CALLBACK.format(number="SIGINT"), 130, "interrupted\n"),
        (IN_CALLBACK.format(number="SIGTERM"), 143, "terminated\n"),
    ],
    ids=["text", "callback", "callback-sigterm"],
)
def test_a_signal_in_a_text_or_a_callback_is_not_lost(text, code, said, folder):
    """Python itself executes texts, such as the methods of a dataclass; numba has callbacks."""
    write(
        "patched.py",
        "import runpy, pliant.tables.cli.app",
        f"pliant.tables.cli.app.run = lambda words: exec({text!r}, {{}})",
        "runpy.run_module('pliant', run_name='__main__')",
    )
    paths = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-m", "patched", "--version"]
    done = finished(command, env={**os.environ, "PYTHONPATH": paths})
    assert (done.returncode, done.stderr) == (code, said)


@posix_only
def test_ctrl_c_while_packages_are_imported():
    """Send the signal when Python reports that NumPy has been imported."""
    command = [sys.executable, "-X", "importtime", *PLIANT[1:], "methods"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if line.endswith((" numpy\n", " numpy.version\n")):
                process.send_signal(signal.SIGINT)
                break
        rest = [line for line in process.stderr if not line.startswith("import time:")]
        assert rest == ["interrupted\n"]
        assert process.stdout.read() == ""
    assert process.returncode == 130


def test_an_ascii_terminal_gets_replacements_but_predictions_are_utf8(folder, monkeypatch):
    write("t.csv", *(line.replace(",yes,", ",später,") for line in patients()))
    fit = ["fit", "t.csv", "--target", "sick", "--method", "linear", "--out", "m.pliant"]
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        assert main(fit) == 0
        assert main(["predict", "m.pliant", "t.csv"]) == 0
    terminal.flush()
    report, _, predictions = terminal.buffer.getvalue().decode("utf-8").partition("prediction\n")
    assert re.search(r"accuracy +\d\.\d+ \? \d", report)
    assert report.isascii()
    assert "später" in predictions


def test_nothing_is_written_beside_the_table(folder, pliant):
    assert pliant("fit", "patients.csv", "--target", "sick", "--method", "linear").code == 0
    assert [path.name for path in Path().iterdir()] == ["patients.csv"]


@posix_only
def test_a_second_sigterm_does_not_disturb_the_cleanup():
    usual = signal.signal(signal.SIGTERM, cli._terminate)
    try:
        with pytest.raises(cli._Terminated):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, usual)
