"""The numbers of the README, the documentation and the changelog, with their sources.

``python -m benchmarks.claims`` prints how many numbers of each page are read from a source or
stated, those without either, and phrases that the page should have. ``python -m benchmarks.claims
README.md`` also lists each phrase with its sources, and the date and command of their records.

docs/numbers/claims.toml has the phrases of each page (or of several, separated by ", "):

* ``phrases``: a phrase with fields in braces, and the source of each field. A source is a list: a
  constant of a module or the default of a parameter (``[module, name, form]``), the mean of a
  method on a set, or on those of a task (``["papers", study, method, task, form]``), the group of a
  regular expression (``["text", file, expression, form]``), or a cell of a Markdown or CSV table
  (``[file, row, column, form]``, with the first cells of the row separated by ``|``, and a part of
  the line above the table before ``>`` where rows repeat). ``file`` and ``row`` are those of all
  cells. With ``each``, the phrase occurs once for each of its tables, which replace ``<name>`` in
  all texts. The form is Python's, or one of `FORMS`.
* ``short``: lists of a phrase with one field, ``{}``, and the parts of its source.
* ``stated``: phrases without fields, for a definition, a setting that the code fixes, or data of a
  publication: nothing that was measured.

Code, literals, formulas, examples (which tests run) and references such as "Theorem 4" are no
numbers of a sentence.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from papers.results import Results
from papers.study import studies

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "numbers" / "claims.toml"

WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip

FORMS: dict[str, Callable[[Any], str]] = {
    "word": lambda value: WORDS[int(value)],
    "rows": lambda value: _rows(int(float(str(value).split()[0]))),
    "percent": lambda value: f"{100 * value:.1f}",
    "1": lambda value: re.split(", |–", value)[0],
    "2": lambda value: re.split(", |–", value)[1],
    "3": lambda value: re.split(", |–", value)[2],
    "mean": lambda value: value.partition("±")[0].lstrip("+"),
    "milliseconds": lambda value: f"{1000 * value:.0f}",
    "megabytes": lambda value: f"{value / 1e6:g}",
    "whole percent": lambda value: f"{100 * value:.0f}",
    "minutes": lambda value: WORDS[round(value / 60)],
    "seconds": lambda value: f"{value:#.2g}" if value < 10 else f"{value:.0f}",
    "size": lambda value: f"{abs(value):.1f}",
    "power": lambda value: f"{value:.0e}".replace("+", "").replace("e-0", "e-").replace("e0", "e"),
}
"""Forms besides those of Python: a word, the number at the start of a text, parts, units."""


def _rows(n: int) -> str:
    return "a million" if n == 1_000_000 else f"{n:,}".replace(",", " ") if n >= 10_000 else str(n)


NUMBER = re.compile(
    rf"(?<![\w.])(?:\d[\d ]*(?:\.\d+)?|\.\d+|{'|'.join(WORDS[3:])}|millions?)(?![\w])",
    re.IGNORECASE,
)
"""A number of a sentence; one and two are often articles or part of a definition."""

REFERENCE = (
    r"(?:[Tt]heorem|[Aa]lgorithm|[Ll]emma|[Cc]orollary|[Pp]roposition|[Ff]igure|[Ss]ection|[Ee]quation"
    r"|[Pp]roblem|[Cc]ondition|Table|Eq\.|JMLR|AAAI|NIPS|Python)s?"
)
NO_SENTENCES = re.compile(
    rf"{REFERENCE}\s+\(?\d[\d.]*[a-z]?\)?(?:(?:,| and| to|, and)\s+\(?\d+[a-z]?\)?(?!\w| %))*"
    r"|(?<=[(, ])(?:19|20)\d\d\)|arXiv:[\d.]+|\[\d\]_"
    r"|(?m:^) *\d\. (?=\S)|``[^`]+``|:[\w:]+:`[^`]+`|`[^`]+`_*|https?://\S+|\]\([^)\s]*\)|[\w/-]+\.(?:png|csv|md|rst)\b"
)
"""References, years in parentheses, numbers of steps, literals, links and names of files."""

BLOCKS = re.compile(
    r"^( *)(?:\.\. (?:code-block|math|literalinclude|image|toctree|csv-table|\[\d\]).*|.*::)$"
)
"""The line before an indented block that is no text, or the first one of a reference."""


def sentences(text: str) -> str:
    """Return a page without code, examples, formulas, options of directives and literals."""
    kept, indent, fenced, example = [], -1, False, False
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        fence = line.startswith("```")
        fenced ^= fence
        if indent >= 0 and line.strip() and depth <= indent:
            indent = -1
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not (
            fence or fenced or example or indent >= 0 or re.match(r" *:[\w-]+:(?!`)|\.\. \[", line)
        ):
            kept.append(line)
        if indent < 0 and (block := BLOCKS.match(line)) and "list-table" not in line:
            indent = len(block[1])
    return NO_SENTENCES.sub(" ", "\n".join(kept))


def claims(page: str) -> list[dict[str, Any]]:
    """Return the claims of a page, such as "README.md": those with fields come first."""
    found: list[dict[str, Any]] = []
    for pages, listed in contents().items():
        if page in pages.split(", "):
            found += [each for claim in listed.get("phrases", []) for each in repeated(claim)]
            for text, *source in listed.get("short", []):
                found.append({"text": text.replace("{}", "{value}"), "value": source})
    for pages, listed in contents().items():
        if page in pages.split(", "):
            found += [{"text": text} for text in listed.get("stated", [])]
    return found


@cache
def contents() -> dict[str, dict[str, Any]]:
    """Return claims.toml."""
    return tomllib.loads(FILE.read_text("utf-8"))


def repeated(claim: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a claim for each of its tables, with the file in each source."""
    place = [claim[name] for name in ("file", "row") if name in claim]
    for names in claim.get("each", [{}]):
        one: dict[str, Any] = {"text": filled(claim["text"], names)}
        for field in claim.keys() - {"text", "file", "row", "each"}:
            source = place[: 4 - len(claim[field])] + claim[field]
            one[field] = [filled(part, names) for part in source]
        yield one


def filled(text: str, names: dict[str, str]) -> str:
    """Return a text with ``<name>`` replaced by its value."""
    for name, value in names.items():
        text = text.replace(f"<{name}>", value)
    return text


def phrase(claim: dict[str, Any]) -> str:
    """Return the text of a claim with its fields filled in."""
    fields = {name: value_of(source) for name, source in claim.items() if name != "text"}
    return plain(claim["text"].format(**fields))


def plain(text: str) -> str:
    """Return a text in one line, with " - " between cells and no zero before a decimal point."""
    return re.sub(r"(?<![\d.])0(?=\.\d)", "", " ".join(text.split()).replace(" | ", " - "))


def value_of(source: Sequence[str]) -> str:
    """Return the value of a field as text."""
    *place, form = source
    if place[0] == "text":
        found = re.findall(place[2], (ROOT / place[1]).read_text("utf-8"))
        if len(found) != 1:
            raise KeyError(f"expected {place[2]!r} once in {place[1]}, got {len(found)} times")
        value: Any = number_or_text(found[0])
    elif place[0] == "papers":
        value = mean_of_study(*place[1:])
    elif len(place) == 2:
        value = constant(*place)
    else:
        value = cell(*place)
    if form in FORMS:
        return FORMS[form](value)
    return format(value, form) if isinstance(value, int | float) else str(value)


def constant(module: str, name: str) -> Any:
    """Return a constant of a module or class, or the default of a parameter, such as "f.x"."""
    value: Any = import_module(module)
    for part in name.split("."):
        found = getattr(value, part, None)
        value = signature(value).parameters[part].default if found is None else found
    return value


def cell(file: str, row: str, column: str) -> Any:
    """Return a cell of a table in a stored file, as a number if it is one.

    Raises
    ------
    KeyError
        If not exactly one row matches, or the column is missing.
    """
    section, _, row = (part.strip() for part in row.rpartition(">"))
    start = [part.strip() for part in row.split("|")]
    found = [
        dict(zip(reversed(header), reversed(cells), strict=True))  # the first of equal columns
        for above, header, cells in table_rows(file)
        if section in above and cells[: len(start)] == start
    ]
    if len(found) != 1:
        raise KeyError(f"expected one row {row!r} in {file}, section {section!r}, got {len(found)}")
    return number_or_text(found[0][column])


def number_or_text(text: str) -> Any:
    """Return a number if the text is one."""
    try:
        return float(text)
    except ValueError:
        return text


def mean_of_study(name: str, who: str, task: str) -> float:
    """Return the mean score of a method on a set of a study, those of a task, or all ("")."""
    study = studies()[name]
    found = Results(study, json.loads((ROOT / "papers" / "results" / f"{name}.json").read_text()))
    sets = [task] if task in found.sets else found.sets_of(task) if task else found.sets
    return float(np.mean([found.mean(each, who) for each in sets]))


@cache
def table_rows(file: str) -> list[tuple[str, list[str], list[str]]]:
    """Return the line above, header and cells of each row of the tables of a file."""
    path = ROOT / file
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            header, *rows = csv.reader(lines)
        return [("", header, row) for row in rows]
    return list(_markdown_rows(path.read_text("utf-8")))


def _markdown_rows(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    above, header = "", None
    for line in text.splitlines():
        if not line.startswith("|"):
            above, header = line or above, None
            continue
        cells = [each.strip().replace("\\", "") for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        if header is None:
            header = cells
        elif set("".join(cells)) - set("-: "):
            yield above, header, cells


def without_source(page: str) -> tuple[list[str], int]:
    """Return the numbers of a page that no claim contains, and the number of all."""
    text = plain(sentences((ROOT / page).read_text("utf-8")))
    total = len(NUMBER.findall(text))
    for claim in claims(page):
        words = plain(sentences(phrase(claim)))
        end = r"(?! ?\d)" if words[-1:].isdigit() else ""  # not a part of a longer number
        text = re.sub(rf"(?<![\w.]){re.escape(words)}{end}(?!\w)", "\n", text)
    return [text[max(0, m.start() - 40) : m.end() + 20] for m in NUMBER.finditer(text)], total


def pages() -> list[str]:
    """Return the pages with sentences of the project about itself."""
    folders = [ROOT / "docs", *(ROOT / "docs" / name for name in ("api", "methods", "papers"))]
    docs = [page for folder in folders for page in folder.glob("*.rst")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in docs)
    return ["README.md", "CHANGELOG.md", *names]


def without_phrase(page: str) -> list[str]:
    """Return the phrases that a page should have, and has not."""
    text = plain((ROOT / page).read_text("utf-8"))
    return [each for each in map(phrase, claims(page)) if each not in text]


def record(source: Sequence[str]) -> str:
    """Describe a source, with the date and the command of its record if it has one."""
    kind, *place, _ = source
    if kind == "papers":
        found = ROOT / "papers" / "results" / f"{place[0]}.json"
        head = {"command": f"python -m papers run {place[0]}"} | json.loads(
            found.read_text("utf-8")
        )
        return f"papers/results/{found.name}, {', '.join(filter(None, place[1:]))}; {_when(head)}"
    if kind == "text":
        kind, *place = place
    found = ROOT / kind
    if found.suffix == ".csv":
        records = json.loads(found.with_name("records.json").read_text("utf-8"))
        return f"{kind}, {', '.join(place)}; {_when(records[found.stem])}"
    if found.with_suffix(".json").exists():
        head = json.loads(found.with_suffix(".json").read_text("utf-8"))
        return f"{kind}, {', '.join(place)}; {_when(head)}"
    return f"{kind}, {', '.join(place)}"


def _when(head: dict[str, Any]) -> str:
    return "; ".join(str(head[name]) for name in ("date", "command") if name in head)


def main(chosen: Sequence[str]) -> int:
    """Print the shares of the pages and what they lack; return 1 if they lack something."""
    if unknown := [page for page in chosen if page not in pages()]:
        print(f"expected pages of {', '.join(pages())}, got {unknown[0]!r}", file=sys.stderr)
        return 2
    failed = False
    for page in chosen or pages():
        missing, total = without_source(page)
        stated = sum(
            len(NUMBER.findall(plain(sentences(claim["text"]))))
            for claim in claims(page)
            if len(claim) == 1
        )
        absent = without_phrase(page)
        failed |= bool(missing or absent)
        read = total - len(missing) - stated
        print(f"{page}: of {total} numbers, {read} are read and {stated} stated")
        for text in absent:
            print(f"  expected, not found: {text}")
        for text in missing:
            print(f"  no source: {' '.join(text.split())}")
        for claim in claims(page) if chosen else ():
            print(f"\n  {phrase(claim)}")
            for source in dict.fromkeys(record(claim[name]) for name in claim if name != "text"):
                print(f"    {source}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
