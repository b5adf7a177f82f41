"""Numbers in tables and sentences: few digits, units, a sign where it matters."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, isfinite, log10
from statistics import median
from typing import TypeGuard

MISSING = "–"
MINUS = "−"


def known(value: float | None) -> TypeGuard[float]:
    """Return whether there is a number, and a finite one."""
    return value is not None and isfinite(value)


def decimals(values: Iterable[float | None], errors: Iterable[float | None]) -> int:
    """Return the number of decimals that distinguish the values, at most four.

    They show three digits of the largest value and one of the median standard error.
    """
    largest = max((abs(value) for value in values if known(value)), default=0.0)
    spread = median([error for error in errors if known(error) and error > 0] or [1.0])
    wanted = 2 - floor(log10(largest)) if largest > 0 else 3
    return min(max(wanted, -floor(log10(spread)), 0), 4)


def fixed(value: float | None, digits: int) -> str:
    """Write a number with `digits` decimals; powers of ten where they would not fit.

    Examples
    --------
    >>> fixed(0.5, 3), fixed(-2e-9, 3), fixed(None, 3)
    ('0.500', '−2.0e−9', '–')
    """
    if not known(value):
        return MISSING
    awkward = value != 0 and not 0.5 * 10.0**-digits <= abs(value) < 1e7
    return _power(value) if awkward else f"{value:.{digits}f}".replace("-", MINUS)


def signed(value: float | None, digits: int) -> str:
    """Write a difference with its sign; zero after rounding has none."""
    if not known(value):
        return MISSING
    text = f"{value:+.{digits}f}"
    return text.replace("-", MINUS) if any(digit in text for digit in "123456789") else text[1:]


def p_value(value: float | None) -> str:
    """Write a probability: on which side of 0.05 it lies can be seen."""
    if not known(value):
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def seconds(value: float | None) -> str:
    """Write a time, with one unit or two.

    Examples
    --------
    >>> seconds(0.0123), seconds(4.2), seconds(125.0), seconds(7200.0)
    ('12 ms', '4.2 s', '2 min 5 s', '2 h')
    """
    if not known(value):
        return MISSING
    if value < 1:
        return "< 1 ms" if value < 0.001 else f"{1000 * value:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    larger, smaller = ("min", "s") if value < 3600 else ("h", "min")
    whole, rest = divmod(round(value if value < 3600 else value / 60), 60)
    return f"{whole} {larger}" + (f" {rest} {smaller}" if rest else "")


def bytes_of(value: float | None) -> str:
    """Write a number of bytes with a unit: "512 B", "20 kB", "3.2 MB"."""
    if not known(value):
        return MISSING
    units = ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.{1 if value < 10 and units[0] != 'B' else 0}f} {units[0]}"


def gap(value: float | None) -> str:
    """Write a relative gap with two digits and a power of ten."""
    if not known(value):
        return MISSING
    return "0" if value == 0 else _power(value)


def _power(value: float) -> str:
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}e{int(power)}".replace("-", MINUS)


def share_text(value: float, spread: float) -> str:
    """Write a share with its standard deviation, if that is known: "40% ± 3%"."""
    return f"{value:.0%} ± {spread:.0%}" if isfinite(spread) else f"{value:.0%}"
