"""Layout: no import cycle, no module that nothing uses."""

import ast
import re
from pathlib import Path
from textwrap import dedent

import pliant

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
    return imports_in(ast.parse(path.read_text("utf-8")), known)


def imports_in(tree, known):
    """Return the modules of `known` that a syntax tree imports.

    Of a text that is computed, such as ``import_module(f"pliant.{homes[name]}")``, any text in the
    file may be the rest.
    """
    targets, starts = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import of {node.module}"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                targets.add(inner if inner in known else node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = node.args[0]
            first = text.values[0] if isinstance(text, ast.JoinedStr) else text
            start = first.value if isinstance(first, ast.Constant) else ""
            (targets if first is text and start else starts).add(start)
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)} if starts else set()
    targets |= {f"{start}{text}" for start in starts for text in texts}
    return targets & known


def graph():
    """Return the imports of each module; an import also runs the packages around its target."""
    known = modules()
    edges = {name: imports_of(path, known.keys()) - {name} for name, path in known.items()}
    return {
        name: targets | {each for target in targets for each in around(target) - around(name)}
        for name, targets in edges.items()
    }


def around(name):
    """Return a module and the packages around it."""
    parts = name.split(".")
    return {".".join(parts[: i + 1]) for i in range(len(parts))}


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


def test_imports_by_a_text_are_seen():
    known = {"a", "b", "b.c", "d"}
    text = """
    def __getattr__(name):
        from a import one
        homes = {"x": "c"}
        other = import_module("d")
        return import_module(f"b.{homes[name]}")
    """
    assert imports_in(ast.parse(dedent(text)), known) == {"a", "b.c", "d"}
    assert imports_in(ast.parse('import_module({"x": "b.c"}[name])'), known) == {"b.c"}


def test_a_circle_is_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert circles(edges) == {"b", "c"}
    upwards = graph()
    upwards["pliant.kernels"].add("pliant.methods")
    assert {"pliant.kernels", "pliant.methods"} < circles(upwards)


def test_every_module_is_used_or_exported():
    edges = graph()
    used = set().union(*edges.values())
    assert edges.keys() - used == {"pliant", "pliant.__main__"}


def test_only_the_command_line_names_options():
    """Messages of the library name parameters, which the command line replaces by options."""
    for name, path in modules().items():
        if not name.startswith("pliant.tables.cli"):
            assert not re.search(r"(?<![\w-])--[a-z]+", path.read_text("utf-8")), name
