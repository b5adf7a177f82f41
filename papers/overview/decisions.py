"""Which method when: rows of advice whose numbers come from the kept results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from papers.overview.advice import Decision
from papers.overview.advice_accuracy import ACCURACY
from papers.overview.advice_costs import COSTS
from papers.overview.advice_kernels import KERNELS
from papers.overview.evidence import Evidence

__all__ = ["DECISIONS", "decisions_page"]

DECISIONS: Sequence[tuple[str, Sequence[Callable[[Evidence], Decision]]]] = (
    ("Accuracy", ACCURACY),
    ("A kernel to look at, to trust, or to hand on", KERNELS),
    ("Time and many rows", COSTS),
)
"""Headings, and the rows below them."""

HEAD = ("your situation", "take", "what was measured", "not when", "repeat it")


def decisions_page(evidence: Evidence) -> str:
    """Return the tables as Markdown."""
    parts = ["# Which method when\n"]
    for title, rows in DECISIONS:
        lines = [HEAD, ["---"] * len(HEAD), *(row(evidence).cells() for row in rows)]
        parts += [f"## {title}\n", "".join(f"| {' | '.join(line)} |\n" for line in lines)]
    return "\n".join(parts)
