"""What a reason is, and how those begin that have something in common."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["MACHINE", "OPEN", "Reason"]

OPEN = "Not explained: "
"""How a text begins where no reason was found."""

MACHINE = (
    "Seconds are of another machine and another program; a factor of three counts as agreement. "
)
"""How a text on times begins."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A text, and the cells that it speaks of.

    Each field but `text` is a pattern as of `fnmatch`, or several with ``|`` between them, for the
    field or property of an `Agreement` with the same name.
    """

    text: str
    study: str = "*"
    paper: str = "*"
    place: str = "*"
    set: str = "*"
    quantity: str = "*"
    method: str = "*"
    verdict: str = "better|worse|differs"

    @classmethod
    def patterns(cls) -> tuple[str, ...]:
        """Return the names of the patterns."""
        return tuple(each.name for each in fields(cls) if each.name != "text")
