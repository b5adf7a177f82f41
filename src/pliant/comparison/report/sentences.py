"""A comparison in some sentences: what to use first, then what the tests cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from pliant.comparison.metrics import Metric
from pliant.comparison.protocol import SAMPLED, SEARCHED
from pliant.comparison.record import DUMMY, REFERENCE, called
from pliant.comparison.stats.recommendation import LEVEL, Recommendation, recommend
from pliant.comparison.stats.standings import Standing
from pliant.comparison.text import p_equals
from pliant.core.text import count, listed


def sentence(standings: Sequence[Standing], metric: Metric, *, level: float = LEVEL) -> str:
    """Return which method to use, what the tests say of it, and warnings.

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
        For example "Use LAB-RBF: R2 0.965, better than the tuned Gaussian SVM (0.886) on all 5
        folds. The difference of 0.079 ± 0.010 is significant (p < 0.001 after Holm's correction
        over 12 methods). The runner-up, Gradient boosting (0.947), is 0.018 ± 0.004 behind, which
        is significant too (p = 0.01)."

    Raises
    ------
    ValueError
        If the level is not in (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"expected 0 < level < 1, got {level}")
    ranked = [standing for standing in standings if standing.rank is not None]
    reference = next((standing for standing in ranked if standing.is_reference), None)
    advice = recommend(standings, level)
    texts = [
        _advice(advice, ranked, reference, metric),
        _sample(ranked),
        *_tests(advice, ranked, reference, metric, level),
        _warnings(ranked, reference, level),
        _unfinished(standings),
    ]
    return " ".join(text[0].upper() + text[1:] + "." for text in texts if text)


def _advice(
    advice: Recommendation | None,
    ranked: Sequence[Standing],
    reference: Standing | None,
    metric: Metric,
) -> str:
    """Return which method to use, or why none can be recommended."""
    if not ranked:
        return "no method can be ranked"
    if advice is None:
        return _no_advice(ranked, reference, metric)
    used = advice.standing
    use = f"use {name_of(used)}: {_score(used, metric, _digits(used, reference or used))}"
    if advice.reason == "better" and reference is not None:
        rival = f"{name_of(reference)} ({_mean(reference, _digits(used, reference))})"
        return f"{use}, better than {rival} on {_won(used)}"
    if advice.reason == "best" or reference is None:
        return f"{use}, the best of {count(len(ranked), 'method')}" if len(ranked) > 1 else use
    if advice.reason == "reference":
        return f"{use}; no method is clearly better" if len(ranked) > 1 else use
    rival = f"{name_of(reference)} ({_mean(reference, _digits(used, reference))})"
    return f"{use}; no method is clearly better than {rival}, and none near the best is cheaper"


def _no_advice(ranked: Sequence[Standing], reference: Standing | None, metric: Metric) -> str:
    best = ranked[0]
    digits = _digits(best, reference or best)
    if best.folds < 2:
        rest = ""
        if reference is not None and best is not reference:
            rest = f", and {name_of(reference)} {_mean(reference, digits)}"
        lead = f"{name_of(best)} has {_score(best, metric, digits)}{rest}"
        return f"one fold is too early to recommend a method; so far {lead}"
    score = _score(best, metric, digits)
    return f"no method predicts better than the dummy, which has {score}"


def _won(standing: Standing) -> str:
    folds = standing.folds
    every = "both" if folds == 2 else f"all {folds}"
    return f"{every if standing.wins == folds else f'{standing.wins} of {folds}'} folds"


def _sample(ranked: Sequence[Standing]) -> str:
    if not ranked or ranked[0].stage != SAMPLED:
        return ""
    return "all methods were learned from a sample of the rows only"


def _tests(
    advice: Recommendation | None,
    ranked: Sequence[Standing],
    reference: Standing | None,
    metric: Metric,
    level: float,
) -> list[str]:
    """Return what the tests say of the method to use, and of those near it."""
    if advice is None:
        return []
    tested = sum(each.p_value is not None for each in ranked)
    over = f" after Holm's correction over {tested} methods" if tested > 1 else ""
    used, best = advice.standing, ranked[0]
    texts = []
    if used.difference is not None and used.p_value is not None:
        margin = f"the difference of {_margin(used, used.difference, used.difference_error)}"
        texts.append(f"{margin} is {_word(used, level)} ({p_equals(used.p_value)}{over})")
    if best is not used and best.difference is not None and best.p_value is not None:
        margin = _margin(best, best.difference, best.difference_error)
        rival = "it" if used is reference or reference is None else name_of(reference)
        whose = f"the best mean, {_owned(best, metric)}, is {margin} better than {rival}"
        word = f"which is {_word(best, level)}"
        texts.append(f"{whose}, {word} ({p_equals(best.p_value)}{over})")
    named = reference is not None and best.lead and best.lead.method is reference.method
    if best is used and best.lead and not (named and used is not reference):
        texts.append(_runner_up(best, level))
    return texts


def _word(standing: Standing, level: float) -> str:
    return "significant" if _side(standing, level) else "not significant"


def _runner_up(best: Standing, level: float) -> str:
    """Return how far the second is behind the first."""
    lead = best.lead
    assert lead is not None
    margin = _margin(best, lead.difference, lead.error)
    word = "significant" if lead.p_value < level and lead.difference > 0 else "not significant"
    name = f"the runner-up, {lead.method.title} ({lead.mean:.{_digits(best)}f})"
    return f"{name}, is {margin} behind, which is {word} ({p_equals(lead.p_value)})"


def _margin(standing: Standing, difference: float | None, error: float | None) -> str:
    digits = _digits(standing)
    return f"{abs(difference or 0.0):.{digits}f} ± {error or 0.0:.{digits}f}"


def _warnings(ranked: Sequence[Standing], reference: Standing | None, level: float) -> str:
    """Return which methods are worse than the reference, and which are no better than the dummy."""
    if reference is None:
        return ""
    dummy = next((each for each in ranked if each.method.name == DUMMY), None)
    worse = [each for each in ranked if _side(each, level) < 0 and each is not dummy]
    texts = []
    if worse:
        names = [each.method.title for each in worse]
        texts.append(f"{listed(names)} {_be(names)} significantly worse than {name_of(reference)}")
    texts.append(_about_dummy(ranked, reference, dummy, level))
    return "; ".join(text for text in texts if text)


def _about_dummy(
    ranked: Sequence[Standing], reference: Standing, dummy: Standing | None, level: float
) -> str:
    if dummy is None or dummy.rank is None or ranked[0] is dummy:
        return ""
    others = [standing for standing in ranked if standing is not dummy]
    below = [name_of(s) for s in others if s.rank is not None and s.rank >= dummy.rank]
    if below:
        verb = "has" if len(below) == 1 else "have"
        return f"{listed(below)} {verb} no better mean than the dummy"
    if dummy.p_value is not None and _side(dummy, level) >= 0:
        return f"{name_of(reference)} itself is not significantly better than the dummy"
    return ""


def _unfinished(standings: Sequence[Standing]) -> str:
    """Return which methods are below the line, which have no score, and which failed."""
    below = [each for each in standings if each.below]
    none = [s.method.title for s in standings if s.method.status == "cut" and not s.folds]
    failed = [each.method.title for each in standings if each.method.status == "error"]
    texts = []
    if below:
        names = [each.method.title for each in below]
        why = f": it {below[0].below}" if len(below) == 1 else ""
        texts.append(f"{listed(names)} {_be(names)} below the line, without a rank{why}")
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


def name_of(standing: Standing) -> str:
    """Return the name of a method in a sentence; the reference is tuned if it was searched."""
    entry = standing.method
    if not standing.is_reference and entry.name not in (REFERENCE, DUMMY):
        return entry.title
    if entry.name == REFERENCE and standing.stage != SEARCHED:
        return f"the {entry.title} with default settings"
    return called(entry.name, entry.title)


def _owned(standing: Standing, metric: Metric) -> str:
    return f"{name_of(standing)}'s {_score(standing, metric, _digits(standing))}"


def _score(standing: Standing, metric: Metric, digits: int) -> str:
    return f"{metric.title} {_mean(standing, digits)}"


def _mean(standing: Standing, digits: int) -> str:
    return f"{standing.mean or 0.0:.{digits}f}"


def _digits(*standings: Standing) -> int:
    """Return the decimals of scores: three up to 1, beyond it what makes four digits."""
    largest = max(abs(each.mean or 0.0) for each in standings)
    if 0.1 <= largest <= 1 or largest == 0:
        return 3
    return min(max((3 if largest > 1 else 2) - floor(log10(largest)), 0), 12)


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
