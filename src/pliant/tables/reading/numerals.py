"""The grammar of numbers in tables: which words are numbers, and the value of each.

A number has a sign or brackets, digits in one of several notations, and marks: a currency, a
percent sign or a unit, and a limit of detection. Some notations stand for codes and lists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DECIMALS = (".", ",")
THOUSANDS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")
"""Thousands separators; the last three are a space, a no-break and a narrow no-break space."""

GROUP, SPACES = r"[-+]?[1-9]\d{0,2}", "'’ \u00a0\u202f"
EXPONENT = r"(?:[eE][-+]?\d+|[dD][-+]\d+)"
NOTATIONS = {
    # integers with a plus sign, a leading zero or more than 15 digits
    "code": r"\+\d+|-?0\d+|-?\d{16,}",
    "phone": rf"(?:\+|-?0)\d*(?:[{SPACES}]\d+)+",
    # dates, times, ratios
    "ratio": r"\d+[-/:]\d.*",
    # an IP address that may be a number; others are lists
    "address": r"(?!0)(?:(?:25[0-5]|2[0-4]\d|[01]?\d?\d)(?:\.(?=\d{3})|$)){4}",
    "integer": r"-?\d+",
    "infinite": r"[-+]?(?i:inf(?:inity)?)",
    "power": rf"[-+]?\d+{EXPONENT}",
    # the next two are ambiguous
    "either_point": GROUP + r"\.\d{3}",
    "either_comma": GROUP + r",\d{3}",
    "point": rf"[-+]?(?:\d+\.\d*|\.\d+){EXPONENT}?",
    "comma": rf"[-+]?(?:\d+,\d*|,\d+){EXPONENT}?",
    "grouped_point": rf"{GROUP}(?P<a>[,{SPACES}])\d{{3}}(?:(?P=a)\d{{3}})*\.\d+",
    "grouped_comma": rf"{GROUP}(?P<b>[.{SPACES}])\d{{3}}(?:(?P=b)\d{{3}})*,\d+",
    # the groups of India end with three digits, as in 5,36,396
    "commas": rf"{GROUP}(?:,\d{{3}}){{2,}}|[-+]?[1-9]\d?(?:,\d\d)+,\d{{3}}(?:\.\d+)?",
    "points": GROUP + r"(?:\.\d{3}){2,}",
    "spaced": rf"{GROUP}(?P<c>[{SPACES}])\d{{3}}(?:(?P=c)\d{{3}})*",
    "list": r"\d+(?:\.\d+){2,}|\d+(?:,\d+){2,}",
}
"""Pattern of each notation, in matching order."""

TEXT_NOTATIONS = ("phone", "ratio", "list")
"""Notations that are no numbers."""

NOTATION = re.compile("|".join(f"(?P<{name}>{part})" for name, part in NOTATIONS.items()), re.ASCII)

CURRENCY = (
    r"(?:(?:US|[RACS]|HK|NZ)?\$|[€£¥₹₽₺₩₪₫₴฿¢]|kr\.?|zł|Kč|Ft|Fr\.|Rs\.?|USD|EUR|GBP|CHF|JPY|CNY|INR"
    r"|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|RUB|TRY|BRL|MXN|ZAR|SGD|HKD|KRW|ILS)"
)
WORD = r"(?:[^\W\d_]*(?:m|ft)[23]|[^\W\d_]+(?:[²³]|\^-?[1-9])?)"
UNIT = rf"(?:[%‰°\"″′]|(?:°?{WORD}|{CURRENCY})(?: ?[/·*] ?{WORD})*|/ ?{WORD})"
DIGITS = rf"(?:[0-9](?:[0-9.,{SPACES}]*[0-9.,])?|[.,][0-9]+)(?:[eE][-+]?[0-9]+|[dD][-+][0-9]+)?"
MARKED = re.compile(
    rf"(?P<limit>(?:[<>]=?|[≤≥])?)\s*(?P<open>\(?)(?P<sign>[-+]?)\s*(?P<before>{CURRENCY}?)\s*"
    rf"(?P<inner>[-+(]?)(?P<digits>{DIGITS})(?P<minus>-?)(?P<shut>\)?)(?P<after>\s*{UNIT})?(?P<close>\)?)"
)
"""A number with marks; `limit`, `sign` and so on are empty if absent."""

LETTERS = "gmlLshdtVWNJKkM"
"""Units of one letter that may follow a digit without a space; others, as in 12a, mark a code."""

FACTORS = ("%", "‰", "k", "K", "M")
"""Marks that may multiply the number: 22 % may be .22, and 1.2k is 1200."""

LIKE_NUMBER = re.compile(rf"\W*{CURRENCY}?\W*\d")
"""Start of a text that looks like a number."""

LIKE_DECIMAL = re.compile(LIKE_NUMBER.pattern + r"*[.,]\d")
"""Start of a text that looks like a number with decimals."""

PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"),
        "\u00b5": "\u03bc",
        "\u2009": "\u202f",
    }
)
"""Dashes for a minus sign, invisible characters, and characters that look alike."""


@dataclass(frozen=True)
class Numeral:
    """A word that is a number, or a code or list of digits.

    Parameters
    ----------
    digits : str
        The sign and the digits, such as ``-1.250,5e3``.
    notation : str
        A key of `NOTATIONS`.
    mark : str, default=""
        The currency, percent sign or unit.
    limit : {"", "<", ">"}, default=""
        Whether the number is an upper or lower limit of the value.
    bookish : bool, default=False
        True if brackets or a minus sign at the end make the number negative.
    """

    digits: str
    notation: str
    mark: str = ""
    limit: str = ""
    bookish: bool = False

    def value(self, decimal: str) -> float:
        """Return the number for a decimal mark; half the limit for values below a limit."""
        groups = {ord(mark): None for mark in THOUSANDS if mark != decimal}
        text = self.digits.translate(groups).replace(decimal, ".")
        number = float(text.lower().replace("d", "e"))  # the exponents of Fortran
        return number / 2 if self.limit == "<" else number


def clean(text: str) -> str:
    """Return a text without spaces around it and invisible characters, with plain minus signs."""
    return text.strip() if text.isascii() else text.translate(PLAIN).strip()


def read_numeral(text: str) -> Numeral | None:
    """Return the number that a text holds, or None."""
    word = clean(text)
    if plain := NOTATION.fullmatch(word):
        return Numeral(word, str(plain.lastgroup))
    match = MARKED.fullmatch(word)
    if match is None:
        return None
    signs = [sign for sign in match.group("open", "sign", "inner", "minus") if sign]
    after = match["after"] or ""
    mark = "".join(after.split()) or match["before"]
    glued = len(after) == 1 and after.isascii() and after.isalpha() and after not in LETTERS
    bracketed, closed = "(" in signs, match["shut"] + match["close"]
    if len(signs) > 1 or closed != ")" * bracketed or glued or (after and match["before"]):
        return None
    bookish = bracketed or bool(match["minus"])
    sign = "-" if bookish else "".join(signs)
    plain = NOTATION.fullmatch(sign + match["digits"])
    if plain is None or plain.lastgroup in (*TEXT_NOTATIONS, "address"):
        return None
    limit = {"≤": "<", "≥": ">"}.get(match["limit"], match["limit"][:1])
    if limit and sign == "-":  # half of it is no smaller value
        return None
    return Numeral(plain[0], str(plain.lastgroup), mark, limit, bookish)
