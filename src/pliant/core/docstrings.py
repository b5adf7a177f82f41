"""Docstrings of classes that share parameters and attributes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type[Any])


def documented_as(*others: type[Any], without: Sequence[str] = ()) -> Callable[[Kind], Kind]:
    """Complete a class docstring with parameters and attributes described in `others`.

    Attributes named in `without` are omitted.
    """

    def complete(kind: Kind) -> Kind:
        if kind.__doc__:
            doc = inspect.cleandoc(kind.__doc__)
            models = [inspect.cleandoc(each.__doc__) for each in others if each.__doc__]
            for section in ("Parameters", "Attributes"):
                own, known = _entries(doc, section), dict[str, str]()
                for model in models:
                    known |= _entries(model, section)
                known |= own
                names = [name for name in known if name not in without]
                if section == "Parameters":
                    names = list(inspect.signature(kind).parameters)
                doc = doc.replace("\n".join(own.values()), "\n".join(known[n] for n in names))
            kind.__doc__ = doc
        return kind

    return complete


def _entries(doc: str, section: str) -> dict[str, str]:
    """Return the entries of a docstring section by name; none without the section."""
    parts = re.split(rf"^{section}\n-+\n", doc, flags=re.MULTILINE)
    if len(parts) == 1:
        return {}
    body = parts[1].split("\n\n")[0]
    return {entry.split(" : ")[0]: entry for entry in re.split(r"\n(?=\S)", body)}
