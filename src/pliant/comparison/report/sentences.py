"""The result of a comparison in one to three sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from pliant.comparison.metrics import Metric
from pliant.comparison.record import DUMMY, called
from pliant.comparison.stats.standings import Standing
from pliant.core.text import listed, p_equals


def sentence(standings: Sequence[Standing], metric: Metric, *, level: float = 0.05) -> str:
    """Return whether a method is significantly better than the reference, with warnings.

    Parameters
    ----------
    standings : sequence of Standing
        As `pliant.comparison.stats.standings.standings` returns them, the best first.
    metric : Metric
        What they were ranked by.
    level : float
        Differences with smaller p-values are called significant.

    Returns
    -------
    str
        For example "No method is significantly better than the tuned Gaussian SVM here: the best
        mean, DANK's accuracy 0.912, is 0.004 ± 0.006 above its 0.908. Linear is significantly worse
        than the tuned Gaussian SVM."

    Raises
    ------
    ValueError
        If the level is not in (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"expected 0 < level < 1, got {level}")
    ranked = [standing for standing in standings if standing.rank is not None]
    reference = next((standing for standing in ranked if standing.is_reference), None)
    texts = [
        _claim(ranked, reference, metric, level),
        _warnings(ranked, reference, level),
        _unfinished(standings),
    ]
    return " ".join(text[0].upper() + text[1:] + "." for text in texts if text)


def _claim(
    ranked: Sequence[Standing], reference: Standing | None, metric: Metric, level: float
) -> str:
    """Return whether a method is significantly better than the reference."""
    if not ranked:
        return "no method has a score"
    best = ranked[0]
    if reference is None:
        lead = _owned(best, metric, _digits(best))
        return f"no baseline has a score to test against; the best mean is {lead}"
    digits = _digits(best, reference)
    if len(ranked) == 1:
        return f"only {_name(reference)} has a score: {_score(reference, metric, digits)}"
    if not any(standing.p_value is not None for standing in ranked):
        return _too_early(best, reference, metric, digits)
    winners = [each for each in ranked if _side(each, level) > 0]
    if not winners:
        return _no_winner(best, reference, metric, digits)
    return _won(ranked, winners, reference, metric, digits)


def _too_early(best: Standing, reference: Standing, metric: Metric, digits: int) -> str:
    rest = "" if best.is_reference else f"; {_name(reference)} has {reference.mean:.{digits}f}"
    return (
        "too few folds are finished to test differences; the best mean so far is "
        f"{_owned(best, metric, digits)}{rest}"
    )


def _no_winner(best: Standing, reference: Standing, metric: Metric, digits: int) -> str:
    claim = f"no method is significantly better than {_name(reference)} here"
    if reference.rank == 1:
        return f"{claim}, and no mean is better than its {_score(reference, metric, digits)}"
    return (
        f"{claim}: the best mean, {_owned(best, metric, digits)}, "
        f"{_margin(best, reference, metric, digits)}"
    )


def _margin(best: Standing, reference: Standing, metric: Metric, digits: int) -> str:
    """Return how far a mean is from the reference's, on the folds of both."""
    if best.difference is None:
        return "has too few folds in common with it to be tested"
    raw = best.difference if metric.higher_is_better else -best.difference
    there = f"its {reference.mean:.{digits}f}" if _same_folds(best, reference) else "it"
    if f"{abs(raw):.{digits}f}" == f"{0:.{digits}f}":
        return f"is level with {there}{_where(best, reference)}"
    side = "above" if raw > 0 else "below"
    amount = f"{abs(raw):.{digits}f} ± {best.difference_error:.{digits}f}"
    return f"is {amount} {side} {there}{_where(best, reference)}"


def _won(
    ranked: Sequence[Standing],
    winners: Sequence[Standing],
    reference: Standing,
    metric: Metric,
    digits: int,
) -> str:
    """Name the winners, and the difference of the first of them."""
    first = winners[0]
    owner = "" if len(winners) == 1 else f"{first.method.title} "
    names = [each.method.title for each in winners]
    tested = sum(each.p_value is not None for each in ranked)
    p = p_equals(first.p_value or 0.0)
    over = f" after Holm's correction over {tested} methods" if tested > 1 else ""
    higher = "higher" if metric.higher_is_better else "lower"
    change = f"{abs(first.difference or 0.0):.{digits}f} ± {first.difference_error:.{digits}f}"
    gain = f"{metric.title} {change} {higher}{_where(first, reference)} ({p}{over})"
    if _same_folds(first, reference):
        against = f"{first.mean:.{digits}f} against {reference.mean:.{digits}f}"
        gain = f"{metric.title} {against} (difference {change}, {p}{over})"
    rest = ""
    if first.rank != 1 and not ranked[0].is_reference:
        untested = ranked[0].p_value is None
        end = "has too few folds to be tested" if untested else "is not"
        rest = f"; the best mean, {_owned(ranked[0], metric, digits)}, {end}"
    claim = f"{listed(names)} {_be(names)} significantly better than {_name(reference)}"
    return f"{claim}, {owner}with {gain}{rest}"


def _warnings(ranked: Sequence[Standing], reference: Standing | None, level: float) -> str:
    """Return what is significantly worse than the reference, and no better than the dummy."""
    if reference is None:
        return ""
    losers = [s.method.title for s in ranked if _side(s, level) < 0 and s.method.name != DUMMY]
    worse = f"{listed(losers)} {_be(losers)} significantly worse than {_name(reference)}"
    dummy = next((each for each in ranked if each.method.name == DUMMY), None)
    texts = [worse] if losers else []
    if not (losers and reference is dummy):
        texts.append(_about_dummy(ranked, reference, dummy, level))
    return "; ".join(text for text in texts if text)


def _about_dummy(
    ranked: Sequence[Standing], reference: Standing, dummy: Standing | None, level: float
) -> str:
    if dummy is None or dummy.rank is None:
        return ""
    others = [standing for standing in ranked if standing is not dummy]
    below = [s.method.title for s in others if s.rank is not None and s.rank >= dummy.rank]
    if below:
        verb = "has" if len(below) == 1 else "have"
        return f"{listed(below)} {verb} no better mean than the dummy"
    if dummy.p_value is not None and _side(dummy, level) >= 0:
        return f"{_name(reference)} itself is not significantly better than the dummy"
    return ""


def _unfinished(standings: Sequence[Standing]) -> str:
    """Return whose rank rests on fewer folds, who has none, and what failed."""
    cut = [each for each in standings if 0 < each.folds < each.planned]
    none = [s.method.title for s in standings if s.method.status == "cut" and not s.folds]
    failed = [each.method.title for each in standings if each.method.status == "error"]
    texts = []
    if cut:
        count, whose = ("1 method", "its") if len(cut) == 1 else (f"{len(cut)} methods", "their")
        names = listed([each.method.title for each in cut])
        texts.append(
            f"{count} ({names}) did not finish all {cut[0].planned} folds and may be better or "
            f"worse than {whose} rank shows"
        )
    if none:
        texts.append(f"{listed(none)} finished no fold")
    if failed:
        texts.append(f"{listed(failed)} failed")
    return "; ".join(texts)


def _side(standing: Standing, level: float) -> int:
    """Return 1 if significantly better than the reference, -1 if worse, else 0."""
    if standing.p_value is None or standing.difference is None or standing.p_value >= level:
        return 0
    return 1 if standing.difference > 0 else -1


def _same_folds(standing: Standing, reference: Standing) -> bool:
    common = standing.wins + standing.ties + standing.losses
    return standing.folds == reference.folds == common


def _where(standing: Standing, reference: Standing) -> str:
    common = standing.wins + standing.ties + standing.losses
    same = _same_folds(standing, reference)
    return "" if same else f" on the {common} folds that have scores of both"


def _name(reference: Standing) -> str:
    return called(reference.method.name, reference.method.title)


def _owned(standing: Standing, metric: Metric, digits: int) -> str:
    name = _name(standing) if standing.is_reference else standing.method.title
    return f"{name}'s {_score(standing, metric, digits)}"


def _score(standing: Standing, metric: Metric, digits: int) -> str:
    return f"{metric.title} {standing.mean:.{digits}f}"


def _digits(*standings: Standing) -> int:
    """Return the decimals of scores: three up to 1, beyond it what makes four digits."""
    largest = max(abs(each.mean or 0.0) for each in standings)
    if 0.1 <= largest <= 1 or largest == 0:
        return 3
    return min(max((3 if largest > 1 else 2) - floor(log10(largest)), 0), 12)


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
