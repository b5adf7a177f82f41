"""Treat docstrings as plain text: a bar is a bar, and ``gap_`` is a name, not a link."""

import re

MARKUP = re.compile(r"(``.*?``|:\w+:`.*?`|`.*?`)")
PLAIN = [
    (re.compile(r"(?<!\\)\|"), r"\|"),
    (re.compile(r"(\w)(?<!\\)_(?=[\s,.;:)]|$)"), r"\1\_"),
]


def plain(line):
    """Escape characters that reStructuredText would interpret as markup, outside of quotes."""
    parts = MARKUP.split(line)
    for pattern, replacement in PLAIN:
        parts[::2] = [pattern.sub(replacement, part) for part in parts[::2]]
    return "".join(parts)


def process(app, what, name, obj, options, lines):
    """Escape a docstring in place, except formulas, examples and literal blocks."""
    depth = None  # indentation of the unchanged literal block
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is None and not line.lstrip().startswith((">>>", "...", "..")):
            lines[number] = plain(line)
        if depth is None and line.rstrip().endswith("::"):
            depth = indent


def setup(app):
    app.connect("autodoc-process-docstring", process, priority=600)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
