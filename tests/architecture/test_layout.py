"""Layout: few files in a fit, few classes in an estimator, no import cycle."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pliant
from pliant import methods
from pliant.cli.app import COMMANDS

PACKAGE = Path(pliant.__file__).parent

FILES_OF_A_FIT, FUNCTIONS_OF_A_FIT = 13, 140
"""Maximum numbers of own files and functions entered by a default fit."""

OWN_CLASSES, OWN_FILES = 4, 3
"""Maximum numbers of own classes in an estimator's method resolution order, and their files."""

LONGEST_FILE = 700

TRACE = """
import json, sys, threading, warnings
from pathlib import Path

import numpy as np
from sklearn.base import is_regressor

import pliant
from pliant.datasets import make_clowns

warnings.simplefilter("ignore")
root = str(Path(pliant.__file__).parent)
X, y = make_clowns(60, random_state=0)
y = (y == y.max()).astype(int)
entered = {{}}

def profile(frame, event, _):
    path = frame.f_code.co_filename
    if event == "call" and path.startswith(root):
        files.add(path.removeprefix(root))
        functions.add((path.removeprefix(root), frame.f_code.co_qualname))

for name in {names!r}:
    estimator = getattr(pliant, name)()
    target = np.sin(3 * X[:, 0]) + X[:, 1] if is_regressor(estimator) else y
    estimator.fit(X, target)  # compile loops and import lazily before tracing
    files, functions = set(), set()
    threading.setprofile(profile)
    sys.setprofile(profile)
    estimator.fit(X, target)
    sys.setprofile(None)
    threading.setprofile(None)
    entered[name] = sorted(files), sorted(functions)
print(json.dumps(entered))
"""

ESTIMATORS = [
    getattr(methods, name)
    for name in methods.__all__
    if isinstance(getattr(methods, name), type) and hasattr(getattr(methods, name), "fit")
]

NAMES = [
    e.__name__ for e in ESTIMATORS if e.__module__ == "pliant" and e is not pliant.SCGLogDetPath
]


@pytest.fixture(scope="module")
def code_entered():
    code = TRACE.format(names=NAMES)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_a_default_fit_enters_few_files_and_functions(name, code_entered):
    files, functions = code_entered[name]
    assert len(files) > 3  # the trace is not empty
    assert len(files) <= FILES_OF_A_FIT, files
    assert len(functions) <= FUNCTIONS_OF_A_FIT, functions


def file_of(cls):
    """Return the file that defines a class; exported classes have a public ``__module__``."""
    # scikit-learn wraps fit: use the file of the inner function
    functions = [inspect.unwrap(f) for f in vars(cls).values() if inspect.isfunction(f)]
    return functions[0].__code__.co_filename if functions else None


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_an_estimator_has_few_own_classes(estimator):
    own = [c for c in estimator.__mro__ if c.__module__.partition(".")[0] == "pliant"]
    assert len(own) <= OWN_CLASSES, own
    assert len({file_of(c) for c in own} - {None}) <= OWN_FILES, own


def modules():
    """Return the modules of the package by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports_of(path, known):
    """Return the modules that a file imports, including lazy and type-checking imports."""
    targets = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import in {path}"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                targets.add(inner if inner in known else node.module)
    return targets & known


def graph():
    known = modules()
    return {name: imports_of(path, known.keys()) - {name} for name, path in known.items()}


def circles(edges):
    """Return the modules on or between import cycles, by removing leaves repeatedly."""
    left = {name: set(targets) for name, targets in edges.items()}
    while True:
        imported = set().union(*left.values()) if left else set()
        ends = [n for n, targets in left.items() if not targets & left.keys() or n not in imported]
        if not ends:
            return set(left)
        for name in ends:
            del left[name]


def test_no_import_circle():
    assert circles(graph()) == set()


def test_every_module_is_used_or_exported():
    edges = graph()
    used = set().union(*edges.values())
    packages = {name.rpartition(".")[0] for name in edges}  # a folder is used if its modules are
    entry_points = {"pliant", "pliant.__main__", "pliant.datasets", "pliant.metrics"}
    entry_points |= {f"pliant.cli.{name}" for name in COMMANDS}  # imported by name
    assert sorted(edges.keys() - used - packages - entry_points) == []


def test_no_file_is_long():
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text("utf-8").splitlines())
        for path in modules().values()
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}
