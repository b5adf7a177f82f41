"""What the page says in sentences, in Markdown and in HTML alike."""

from __future__ import annotations

from collections.abc import Sequence

from papers.overview.agreement import QUANTITIES, STANDARD_ERRORS, Agreement
from papers.overview.missing import MISSING
from papers.overview.overview import ALL, Overview, counts

__all__ = ["READ", "RULE", "TITLE", "counted", "made_from", "missing"]

TITLE = "The papers, cell by cell"

READ = (
    "A cell has the paper's number, the measured one, and that of a tuned baseline on the same "
    "splits, with standard deviations over the splits. Accuracies are in per cent; 1 - R2 is what "
    "DANK's paper calls RMSE. Word and colour say whether paper and "
    "measurement agree; a number in brackets leads to what is known of the reason."
)


def _rule() -> str:
    said = {
        "accuracy": "1 point of accuracy",
        "R2": ".01 of R2",
        "mean squared error": "5 % of a mean squared error",
        "rank of F": "20 % of a rank",
        "seconds": "a factor of 3 of a time, on another machine",
    }
    assert set(said) <= set(QUANTITIES)
    return (
        f"*agrees*: the difference is at most {STANDARD_ERRORS:g} standard errors of both means "
        f"together, over their splits, or at most {', '.join(said.values())}. A paper's number "
        "without a spread counts as exact. *better* and *worse* are said of the measured number, "
        "beyond that. A cell that stands in several tables is counted in each."
    )


RULE = _rule()
"""When numbers agree."""


def made_from(overview: Overview) -> str:
    """Say which profile made the page."""
    if overview.profile == "kept":
        return (
            "Made from the results that are kept in benchmarks/results; nothing was measured "
            "for this page."
        )
    fresh = sum(cell.source == overview.profile for cell in overview.cells)
    total = sum(cell.measured is not None for cell in overview.cells)
    return (
        f"Profile {overview.profile}: {fresh} of {total} measured cells were measured in this "
        f"run and are marked *{overview.profile}*; the others are the kept results of the full "
        "study."
    )


def counted(cells: Sequence[Agreement]) -> str:
    """Say how many cells have each verdict, in a line."""
    found = {verdict: row[ALL] for verdict, row in counts(cells).items()}
    return ", ".join(f"{count} {verdict}" for verdict, count in found.items() if count)


def missing(paper: str) -> list[str]:
    """Say which tables and figures of a paper have no cells."""
    return [f"{each.place}: {each.reason}." for each in MISSING if each.paper == paper]
