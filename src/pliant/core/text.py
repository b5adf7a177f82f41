"""Format names and lists in messages, and make untrusted names safe to print."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Format a number with its noun: "1 fold", "12 345 rows"."""
    written = f"{number:,}".replace(",", " ") if abs(number) > 9999 else str(number)
    return f"{written} {noun if number == 1 else nouns or noun + 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Format names as "A, B and C"; more than `most` names as "A, B, C and 2 more"."""
    shown = [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def printable(text: object, limit: int = 80) -> str:
    """Return ``str(text)`` as one printable line, truncated to ``limit`` characters with "…"."""
    raw = str(text)
    kept = "".join(filter(str.isprintable, raw[: 4 * limit]))
    whole = len(raw) <= 4 * limit and len(kept) <= limit
    return kept if whole else kept[: limit - 1] + "…"


def one_line(value: object, limit: int = 500) -> str:
    """Return the repr of a value as one line of at most `limit` characters."""
    text = " ".join(line.strip() for line in repr(value).splitlines())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def quoted(text: object, limit: int = 80) -> str:
    """Return ``printable(text, limit)`` in single quotes."""
    return f"'{printable(text, limit)}'"


def remove_controls(text: str) -> str:
    """Remove control characters and invisible formatting from text; keep its line breaks."""
    return "".join(c for c in text if c.isprintable() or c in "\n\xa0\u202f")


def close_names(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of ``names`` similar to ``name``, ignoring case, closest first."""
    plain = {known: known[:200].strip().casefold() for known in names}
    start = name[:200].strip().casefold()  # the cost is quadratic in the length
    close = difflib.get_close_matches(start, plain.values(), n=3)
    matches = [known for known, text in plain.items() if text in close]
    return sorted(matches, key=lambda known: close.index(plain[known]))[:3]


def suggest(name: str, names: Iterable[str]) -> str:
    """Return "did you mean 'A' or 'B'?" for an unknown name, or list the known names."""
    known = list(names)
    close = " or ".join(map(quoted, close_names(name, known)))
    if close:
        return f"did you mean {close}?"
    rest = f" and {len(known) - 40} more" if len(known) > 40 else ""
    return f"available: {', '.join(map(printable, known[:40]))}{rest}"
