"""What a reader should know of a comparison over several tables."""

from __future__ import annotations

from math import floor, log2
from typing import TYPE_CHECKING

from pliant.comparison.sentences import called, listed, p_text

if TYPE_CHECKING:
    from pliant.comparison.across import Across

__all__ = ["overall", "tables_needed"]


def overall(found: Across) -> str:
    """Say whether the methods differ, whether one beats the reference, and who is left out.

    Returns
    -------
    str
        For example "Over 6 tables the 9 methods differ beyond chance (Friedman's test, p = 0.01);
        the best average rank is DANK's, 2.1. No method beats the tuned Gaussian SVM beyond chance,
        and with 6 tables none could be shown to: that takes 9."
    """
    said = [_differ(found), _against(found), _mixed(found), _left_out(found)]
    return " ".join(text[0].upper() + text[1:] + "." for text in said if text)


def tables_needed(n_tests: int, level: float) -> int:
    """Return from how many tables on a method that is better on all of them has p < level.

    Its p-value is then m 2^(1 - N) after Holm's correction over m tests.
    """
    return floor(1 + log2(n_tests / level)) + 1


def _differ(found: Across) -> str:
    n, k = len(found.tables), len(found.methods)
    p = f"Friedman's test, {p_text(found.friedman.p_value)}"
    best = f"{found.methods[0].title}'s, {found.ranks[0]:.1f}"
    rank = f"the best average rank is {best}"
    if found.friedman.rejects(found.level):
        far = f"ranks more than {found.critical_difference:.1f} apart differ beyond chance"
        return f"over {n} tables the {k} methods differ beyond chance ({p}); {rank}, and {far}"
    return f"over {n} tables the {k} methods do not differ beyond chance ({p}); {rank}"


def _against(found: Across) -> str:
    """Say which methods are better and worse than the reference."""
    if found.reference is None:
        return "no baseline finished all tables, so no method is tested against one"
    titles = {entry.name: entry.title for entry in found.methods}
    name = called(found.reference, titles[found.reference])
    beyond = {who: v for who, v in found.versus.items() if v.p_value < found.level}
    better = [titles[who] for who, v in beyond.items() if v.side > 0]
    worse = [titles[who] for who, v in beyond.items() if v.side < 0]
    m = len(found.versus)
    by = f"({found.test}, Holm's correction over {m} methods)" if m > 1 else f"({found.test})"
    needed = tables_needed(m, found.level)
    if len(found.tables) < needed:
        return (
            f"no method is shown to beat {name}, or could be with {len(found.tables)} tables: "
            f"that takes {needed} {by}"
        )
    losers = f"{listed(worse)} {'is' if len(worse) == 1 else 'are'} worse" if worse else ""
    if better:
        claim = f"{listed(better)} {'beats' if len(better) == 1 else 'beat'} {name} beyond chance"
        return f"{claim} {by}" + (f"; {losers}" if worse else "")
    return f"no method beats {name} beyond chance {by}" + (f"; {losers}" if worse else "")


def _mixed(found: Across) -> str:
    titles = list(dict.fromkeys(metric.title for metric in found.metrics))
    if len(titles) < 2:
        return ""
    return f"ranks are taken within each table, so that {listed(titles)} can stand together"


def _left_out(found: Across) -> str:
    if not found.left_out:
        return ""
    return f"left out, not having finished all tables: {listed(list(found.left_out))}"
