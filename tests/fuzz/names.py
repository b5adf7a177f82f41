"""Untrusted names of columns, classes, categories, files and methods, in all outputs.

A case makes names from control characters, terminal escapes, bidirectional marks, markup,
formulas and similar text, and passes them to one output. Findings are control characters or
markup on a terminal or page, HTML elements or attributes created by a name, CSV cells that a
spreadsheet would evaluate, names that are not shortened, and errors other than one-sentence
errors of pliant.
"""

import contextlib
import csv
import io
import json
import logging
import os
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pliant.tables import ComparisonResult
from pliant.tables.cli import main
from pliant.tables.cli.app import format_error
from pliant.tables.cli.compare import results_as_text
from pliant.tables.cli.outputs import _Notes, diagnostics, print_result
from pliant.tables.comparison.page import report_html
from pliant.tables.reading.write import FORMULA_MARKS, write_csv
from tests.comparison.report.report_cases import hostile, result
from tests.comparison.report.report_page import Page

Rng = np.random.Generator

PIECES = (
    *("\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x9b1m", "\x00", "\x07", "\b", "\r", "\n", "\t"),
    *("\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u00ad", "\u2028", "\u2029", "\x85"),
    *(
        "\ud800",
        "\udfff",
        "\U000e0041",
        "\ue000",
        "\uffff",
        "\u0301" * 20,
        "\U0001f600",
        "אב",
        "字",
    ),
    *("<script>alert(1)</script>", "</script>", "<!--", "-->", "]]>", "<img src=x onerror=x>"),
    *('"', "'", "`", "&lt;", "&", "{{7*7}}", "${7*7}", "%s", "%n", "{0}", "{}", "%(x)s"),
    *("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "=cmd|'/c calc'!A0", "；", "＝1+1", ";", ",", "|"),
    *("$", "$$", "$x^2$", "\\frac{", "\\", "^", "_", "_x", "{", "}", "#", "~", "$\\badcommand$"),
    *("[bold]", "[/]", "[link=http://x]x[/link]", "[red", "javascript:alert(1)", "http://x/y"),
    *("name", "a b", " ", "", "0", "nan", "None", "../x", "C:\\x", "x" * 300, "x" * 10_000),
)
"""Pieces of names."""

LINE = 1200
"""Maximum length of a line on a terminal; an error message has up to 600 characters."""

DRAWN = "data:image/png;base64,"
"""Start of an embedded picture in a page."""

TEXT = 2100
"""Maximum length of a text on a page."""


def case(seed: int, folder: Path) -> str | None:
    """Show names in one output; return the finding or None."""
    rng = np.random.default_rng(seed)
    names = [name_of(rng) for _ in range(4)]
    places = list(PLACES)
    weights = np.array([PLACES[place][1] for place in places])
    place = str(rng.choice(places, p=weights / weights.sum()))
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what = PLACES[place][0](names, rng)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        what = f"raised: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}: "
        what += str(error)[:200]
    return None if what is None else f"{what} [{place}] {names[0][:40]!r}"


def name_of(rng: Rng) -> str:
    """Return a name of one to four pieces."""
    return "".join(rng.choice(np.array(PIECES, dtype=object), int(rng.integers(1, 5))))


INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories of control and formatting characters and of separators."""


def unsafe_on_terminal(text: str) -> str | None:
    """Return the first control character, or the length of a line that is too long."""
    for character in text:
        if unicodedata.category(character) in INVISIBLE and character != "\n":
            return f"terminal: {character!r}"
    longest = max(map(len, text.split("\n")))
    return f"long: a line of {longest} characters" if longest > LINE else None


def unsafe_page(text: str, like: str) -> str | None:
    """Return the first difference in structure from a page with plain names."""
    for character in text:
        if unicodedata.category(character)[0] == "C" and character != "\n":
            return f"page: {character!r}"
    page, plain = Page(text), Page(like)
    if {e["name"] for e in page.elements} - {e["name"] for e in plain.elements}:
        return "page: an element of a name"
    if any(len(page.all(name)) != len(plain.all(name)) for name in ("script", "img")):
        return "page: a script or a picture of a name"
    if not all(e["attributes"]["src"].startswith(DRAWN) for e in page.all("img")):
        return "page: a picture from elsewhere"
    keys = {key for e in page.elements for key in e["attributes"]}
    if keys - {key for e in plain.elements for key in e["attributes"]}:
        return "page: an attribute of a name"
    long = [e for e in page.elements if e["name"] in ("td", "th", "dd", "h1", "h2", "p", "option")]
    if any(len(e["text"]) > TEXT for e in long):
        return "long: a text of the page"
    return None


def unsafe_csv(text: str) -> str | None:
    """Return a cell of a CSV that a spreadsheet would evaluate."""
    if "\r" in text:
        return "csv: a carriage return"
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            if cell.startswith((*FORMULA_MARKS, "＝", "＋", "－", "＠")) and not _is_number(cell):
                return f"csv: {cell[:20]!r}"
    return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Outputs


@cache
def _plain_page(task: str) -> str:
    return report_html([result(task)])


def _hostile(names: Sequence[str], rng: Rng) -> Any:
    task = str(rng.choice(["classification", "regression"]))
    return hostile(names[0], task), task


def _report(names: Sequence[str], rng: Rng) -> str | None:
    case, task = _hostile(names, rng)
    text = report_html([case])
    text.encode()
    return unsafe_page(text, _plain_page(task))


def _console(names: Sequence[str], rng: Rng) -> str | None:
    case, _ = _hostile(names, rng)
    again = ComparisonResult.from_dict(json.loads(json.dumps(case.to_dict())))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_result(results_as_text([again]))
    return unsafe_on_terminal(out.getvalue())


def _frame(names: Sequence[str], rng: Rng) -> str | None:
    cells = pd.Series([names[0], names[1]], dtype=object)
    names = [_whole(name) for name in names]
    frame = pd.DataFrame({names[2]: cells, f"{names[3]} ": [1.0, -2.0]})
    if rng.random() < 0.5:
        frame[names[2]] = pd.Categorical([_whole(cell) for cell in cells])
    file = io.StringIO()
    write_csv(file, [frame])
    file.getvalue().encode()
    return unsafe_csv(file.getvalue())


def _whole(name: str) -> str:
    """Return a name without surrogates, which a table cannot contain."""
    return name.encode("utf-8", "replace").decode()


def _logs(names: Sequence[str], rng: Rng) -> str | None:
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        record = logging.LogRecord("pliant", 30, "x", 1, "%s: %s", (names[0], names[1]), None)
        _Notes().emit(record)
        with diagnostics():
            warnings.warn(names[0], UserWarning, stacklevel=1)
            logger = logging.getLogger("pliant")
            logger.propagate = False  # pytest captures log records, and may fail to encode them
            logger.warning("%s", names[1])
            logger.propagate = True
    shown = [format_error(kind(names[0])) for kind in (ValueError, OSError, KeyError, RuntimeError)]
    shown.append(format_error(FileNotFoundError(2, names[0], names[1])))
    return unsafe_on_terminal("\n".join([error.getvalue(), *shown]))


def _command(names: Sequence[str], rng: Rng) -> str | None:
    """Run commands on a table with these names for columns, categories, classes and file."""
    names = [_whole(name) for name in names]
    path = Path(_file_name(names[3]))
    values = rng.normal(size=(24, 2)).round(3)
    labels = [names[0] if v > 0 else names[1] for v in values[:, 0]]
    frame = pd.DataFrame({names[0]: values[:, 0], names[1]: values[:, 1], names[2]: labels})
    frame[f"{names[3]}y"] = [names[2] if v > 0 else f"{names[3]}0" for v in values[:, 1]]
    frame.to_csv(path, index=False)
    target = str(rng.choice(frame.columns))
    command: list[str] = [str(rng.choice(["fit", "fit", "compare"])), f"./{path}"]
    command += ["--target", target]
    if command[0] == "fit":
        command += ["--method", "linear", "--out", "m.pliant", "--json", "out.json"]
    else:
        command += ["--methods", "linear,dummy", "--report", "r.html", "--json", "out.json"]
        command += ["--budget", "none", "--folds", "2", "--jobs", "1"]
    shown = _run(command)
    if Path("m.pliant").exists():
        shown += _run(["info", "m.pliant"])
        _run(["predict", "m.pliant", f"./{path}", "--out", "p.csv"])
        written = Path("p.csv").read_bytes() if Path("p.csv").exists() else b""
        if wrong := unsafe_csv(written.decode()):
            return wrong
    if Path("out.json").exists():
        json.loads(Path("out.json").read_text(encoding="ascii"))
    if Path("r.html").exists():
        page = Path("r.html").read_text(encoding="utf-8")
        if wrong := _bad_page(page):
            return wrong
    if "unexpected" in shown and "PLIANT_TRACEBACK" in shown:
        return f"error: {shown[-300:]}"
    return unsafe_on_terminal(shown)


def _bad_page(page: str) -> str | None:
    bad = [c for c in page if unicodedata.category(c)[0] == "C" and c != "\n"]
    scripts = len(Page(page).all("script"))
    return f"page: {bad[:3]!r} and {scripts} scripts" if bad or scripts > 3 else None


def _file_name(name: str) -> str:
    """Return a valid file name."""
    kept = (
        name.replace("/", "")
        .replace("\0", "")
        .encode(
            "utf-8",
            "surrogateescape",
        )[:200]
    )
    return f"t{os.fsdecode(kept)}.csv"


def _run(words: list[str]) -> str:
    """Run a command, and return its output."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        main(words)
    out.flush()
    return out.buffer.getvalue().decode()  # type: ignore[attr-defined]


PLACES: dict[str, tuple[Callable[[Sequence[str], Rng], str | None], float]] = {
    "report": (_report, 1.0),
    "console": (_console, 1.0),
    "csv": (_frame, 1.5),
    "logs": (_logs, 1.0),
    "command": (_command, 0.5),
}
"""Outputs of names, and the weight of each in the draw."""
