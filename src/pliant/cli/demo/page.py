"""The page of the demo: one HTML file with the numbers, the drawings and the next commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pliant._version import __version__
from pliant.cli.demo.drawings import errors, intervals, slices
from pliant.cli.demo.study import COVERAGE, Study
from pliant.comparison.metrics import METRICS
from pliant.comparison.report.markup import Markup, joined, tag
from pliant.comparison.report.page import document
from pliant.comparison.report.tables import Column, head, number, table
from pliant.comparison.report.view import heading
from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import fixed, seconds

TITLE = "A first look at pliant"


def write_page(path: Path, regression: Study, classification: Study, commands: str) -> None:
    """Write the page; it appears whole or not at all."""
    body = joined(
        tag(
            "header",
            tag("p", "pliant demo", class_="kicker"),
            heading(1, TITLE),
            tag("p", regression.verdict(), class_="verdict"),
        ),
        tag(
            "main",
            _regression(regression),
            _classification(classification),
            _section("next", "What to do next", tag("pre", _lines(commands), class_="command")),
        ),
        tag("footer", tag("p", f"Made by pliant {__version__}. This file needs no network.")),
    )
    with replacing(path, TableError) as draft:
        draft.write_bytes(document(TITLE, body).encode())


def _regression(study: Study) -> Markup:
    """Write the section of the regression table."""
    held = study.held()
    return _section(
        "regression",
        f"Regression: {study.table.name}",
        _origin(study),
        _scores(study),
        heading(3, "Errors on rows that were not learned from"),
        _hint(
            f"Each of the {len(study.data.y)} dots is a row, predicted by a model that did not "
            f"learn from it. The band holds {COVERAGE:.0%} of the rows: the narrower the better."
        ),
        errors(study),
        heading(3, "The learned function along one feature"),
        _hint(
            "The target of this table is made by a known function, the dashed curve: here x3 "
            "changes and all other features are 0.5. The models have seen noisy targets only."
        ),
        slices(study),
        heading(3, f"{COVERAGE:.0%} prediction intervals of LAB-RBF"),
        _hint(
            f"They hold {held.sum()} of the {len(held)} targets that were not learned from, "
            f"{held.mean():.0%}."
        ),
        intervals(study),
    )


def _classification(study: Study) -> Markup:
    """Write the section of the classification table."""
    return _section(
        "classification",
        f"Classification: {study.table.name}",
        _origin(study),
        _scores(study),
        tag("p", study.verdict()),
    )


def _origin(study: Study) -> Markup:
    """Write where the table is from and how it was used."""
    n, d = study.data.X.shape
    return _hint(
        f"{n} rows, {d} features ({study.table.origin}); {study.n_folds} folds, the same for all "
        "methods. LAB-RBF has its default settings; the settings of the others are searched in "
        "each fold, on inner folds."
    )


def _scores(study: Study) -> Markup:
    """Write the mean scores of all methods."""
    columns = [Column("Method", numeric=False)]
    columns += [Column(METRICS[name].title) for name in study.table.metrics]
    columns += [Column("Time of a fold", "search and fit")]
    rows = [
        [
            head(each.title, value=each.title),
            *(number(fixed(each.mean(m), 3), each.mean(m)) for m in study.table.metrics),
            number(seconds(each.seconds), each.seconds),
        ]
        for each in study.tested
    ]
    return table(f"Means over {study.n_folds} folds", columns, rows, look="small")


def _section(key: str, title: str, *content: Markup) -> Markup:
    return tag("section", heading(2, title, id=key), content, aria_labelledby=key)


def _hint(text: str) -> Markup:
    return tag("p", text, class_="hint")


def _lines(commands: str) -> Markup:
    """Return commands that stay one below the other; other text would be put on one line."""
    lines: Sequence[Markup] = [joined(line.strip()) for line in commands.splitlines()]
    return Markup("\n".join(lines))
