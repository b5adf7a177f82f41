"""Parse ``--param NAME=VALUE`` and integer options."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from typer import BadParameter

from pliant.core.text import close_names, quoted


def parse_parameters(words: Sequence[str]) -> dict[str, Any]:
    """Parse parameters such as ``C=10`` or ``kernel=laplacian``.

    A value that is not a literal (``10``, ``1e-3``, ``true``, ``None``, ``{"a": 2}``) is text.
    """
    parameters: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"expected --param NAME=VALUE, such as C=10, got {quoted(word)}")
        if name.strip() in parameters:
            raise ValueError(f"--param {quoted(name.strip())} is given twice")
        parameters[name.strip()] = _value(value.strip())
    return parameters


def _value(text: str) -> Any:
    """Parse a JSON or Python literal; return other text unchanged."""
    parsers: tuple[Callable[[str], Any], ...] = (json.loads, ast.literal_eval)
    for parse in parsers:
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return parse(text)
    return text


def int_parser(least: float = -math.inf, most: float = math.inf) -> Callable[[str], int]:
    """Return a parser for an option that takes an integer in a range."""
    limits = "" if math.isinf(most) else f" from {least} to {most}"

    def parse(text: str) -> int:
        with suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        raise BadParameter(f"expected an integer{limits}, got {quoted(text)}")

    return parse


def check_names(given: Collection[str], known: Collection[str], method: str) -> None:
    """Raise ValueError if names are not parameters of a method."""
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    names = ", ".join(quoted(name) for name in unknown)
    close = [close_names(name, known) for name in unknown]
    hints = [match[0] for match in close if match]
    meant = f"; did you mean {', '.join(map(repr, hints))}?" if hints else ""
    noun = "parameter" if len(unknown) == 1 else "parameters"
    raise ValueError(f"{method} has no {noun} {names}{meant} (it has {', '.join(sorted(known))})")
