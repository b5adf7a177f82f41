"""Docstrings, comments, messages and pages are plain English: words that readers stopped at."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MACHINE = re.compile(
    r"(?<!vector )(?<!kernel )(?<!``)\b(?<!_)machines?\b"
    r"(?!_)(?! learning| precision| epsilon|``| : )"
)
"""An estimator is called an estimator or a model; a machine with a processor, a computer."""

INSTEAD = {
    r"\bso many\b": "n_..., or the number",
    r"\banew\b": "again",
    r"\bbeyond chance\b": "statistically significant",
    r"\bcom(?:es?|ing) to nothing\b": "fails",
    r"\bheld together\b": "regularised",
    r"\blets go\b": "relaxes",
    r"\bledgers?\b": "journal",
    r"\bportraits?\b": "figures",
    r"\bprices? of (?:a unit of )?(?:the )?slack\b": "penalty parameter, regularization parameter",
    r"\bsaid\b": "reported, stated",
    r"\btells?\b": "reports, gives, distinguishes",
    r"\btold\b": "reported, given, distinguished",
    r"\bwhole numbers?\b": "integer",
    r"\bblamed?\b": "upstream gradient",
    MACHINE.pattern: "estimator or model; computer",
}
"""Patterns of the dialect, and what to write."""

NAMES = {"found", "said", "told", "tells", "ledger", "portrait", "portraits", "blame", "so_many"}
"""Names that are verbs, and names of another trade."""

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.rst")),
    *sorted((ROOT / "docs" / "methods").glob("*.rst")),
    *sorted((ROOT / "docs" / "api").glob("*.rst")),
]
CODE = sorted(
    path
    for folder in ("src", "examples", "benchmarks", "papers")
    for path in (ROOT / folder).rglob("*.py")
)


def prose(path):
    """Each text of a Python file that people read, with its line: strings of words, comments."""
    source = path.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def dialect(text):
    """Each word of the dialect in a text, with the start of what to write instead."""
    for pattern, instead in INSTEAD.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            around = " ".join(text[max(0, match.start() - 30) : match.end() + 30].split())
            yield f"{match[0]!r} in {around!r}: write {instead}"


def test_the_dialect_is_detected():
    assert list(dialect("It is told anew, so many times"))
    assert not list(dialect("As many as there are; it is reported again"))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_are_plain(path):
    assert list(dialect(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("folder", ["src", "examples", "benchmarks", "papers"])
def test_docstrings_messages_and_comments_are_plain(folder):
    told = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in CODE
        if path.relative_to(ROOT).parts[0] == folder
        for line, text in prose(path)
        for word in dialect(text)
    ]
    assert told == []


@pytest.mark.parametrize("folder", ["src", "examples", "benchmarks", "papers"])
def test_names_are_nouns(folder):
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path in CODE
        if path.relative_to(ROOT).parts[0] == folder
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (
            [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []
        )
        if name in NAMES
    ]
    assert named == []
