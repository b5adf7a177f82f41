"""The report of a comparison: one HTML file that needs nothing else.

`markup` escapes what is shown, `view` asks a result what several sections need, each section is a
module of its own, and `page` puts them together.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from pliant.comparison.outcome import Outcome
from pliant.comparison.report.page import page
from pliant.core.exceptions import TableError
from pliant.core.files import replacing

__all__ = ["report_html", "write_report"]


def report_html(results: Sequence[Outcome]) -> str:
    """Return the report of one comparison, or of several on different tables, as HTML.

    Parameters
    ----------
    results : sequence of Outcome
        With several, the page begins with the part over all tables.

    Returns
    -------
    str
        One page without links to other files, readable without JavaScript. Its policy lets no
        text from the results run or load anything.

    Raises
    ------
    ValueError
        If there is no result.
    """
    return page(results)


def write_report(results: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write the report of one comparison, or of several, to a file.

    Parameters
    ----------
    results : sequence of Outcome
        As for `report_html`.
    path : path-like
        The file to make or to replace; it appears whole or not at all.

    Raises
    ------
    ValueError
        If there is no result.
    TableError
        If the file cannot be written.
    """
    written = report_html(results).encode()
    with replacing(path, TableError) as draft:
        draft.write_bytes(written)
