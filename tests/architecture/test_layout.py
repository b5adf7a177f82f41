"""Layout: no import cycle, no module that nothing uses."""

import ast
import re
from pathlib import Path

import pliant
from pliant.tables.cli.app import COMMANDS

PACKAGE = Path(pliant.__file__).parent


def modules():
    """Return the modules of the package by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports_of(path, known):
    """Return the modules that a file imports, also lazily, for types, or by a text."""
    targets = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import in {path}"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                targets.add(inner if inner in known else node.module)
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            targets |= {each.value for each in node.args if isinstance(each, ast.Constant)}
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
    entry_points = {"pliant", "pliant.__main__"}
    entry_points |= {f"pliant.{name}" for name in ("datasets", "exceptions", "metrics")}
    entry_points |= {f"pliant.tables.cli.{name}" for name in COMMANDS}  # imported by name
    assert sorted(edges.keys() - used - packages - entry_points) == []


def test_only_the_command_line_names_options():
    """Messages of the library name parameters, which the command line replaces by options."""
    for name, path in modules().items():
        if not name.startswith("pliant.tables.cli"):
            assert not re.search(r"(?<![\w-])--[a-z]+", path.read_text("utf-8")), name
