"""A result in words: the model to use, its expected score, leaderboards as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.comparison.folds import RARE
from pliant.comparison.markup import Markup, tag
from pliant.comparison.record import DUMMY
from pliant.comparison.standings import FEWEST_FOLDS, Standing
from pliant.comparison.text import decimals, fixed, p_value, seconds
from pliant.core.text import count, listed, printable, quoted

if TYPE_CHECKING:
    from pliant.comparison.outcome import Expected, Outcome

MOST, LONGEST = 10, 40
"""Methods in the short text, and characters of a name."""

FEW_ROWS, MANY_VALUES = 200, 6
"""Number of rows below which a reader is warned; integers that may be meant as numbers if there are
so many."""

STATUS = {"skipped": "not tried", "error": "failed", "cut": "cut short", "left": "left early"}


def sentence(result: Outcome) -> str:
    """Return the model to use, its expected score, and what to beware of.

    For example "Predict with the blend: R2 0.83 (0.79 to 0.86); best single method LAB-RBF 0.81."
    """
    texts = [_claim(result), *warnings_of(result)]
    return " ".join(text[0].upper() + text[1:] + "." for text in texts if text)


def warnings_of(result: Outcome) -> list[str]:
    """Return the warnings about a result, a sentence each."""
    sample, ranked = result.sample, [s for s in result.standings() if s.rank is not None]
    classes, counts = [str(each) for each in sample.get("classes") or ()], sample.get("counts")
    texts = []
    if counts and min(counts) < RARE * sum(counts):
        name = quoted(classes[counts.index(min(counts))], LONGEST)
        rare, most = (extreme(counts) / sum(counts) for extreme in (min, max))
        texts.append(
            f"class {name} has {rare:.1%} of the rows: predicting the most frequent class alone "
            f"has accuracy {most:.3f}, so look at probabilities (--proba, --threshold), log loss "
            "and balanced accuracy"
        )
    if len(classes) >= MANY_VALUES and all(each.lstrip("-").isdigit() for each in classes):
        texts.append(
            f"the {len(classes)} values of {quoted(sample['target'], LONGEST)} are taken for "
            "classes: --task regression (task='regression' in Python) predicts a number"
        )
    if ranked and ranked[0].folds < FEWEST_FOLDS:
        longer = ranked[0].folds < ranked[0].planned and result.budget is not None
        how = "a larger budget" if longer else "more folds"
        texts.append(f"scores on {count(ranked[0].folds, 'fold')} are unsure: {how} would help")
    elif sample["rows"] < FEW_ROWS:
        texts.append(f"{sample['rows']} rows are few: scores on new rows may differ a lot")
    if result.interrupted:
        texts.append("the comparison was interrupted, so some methods are missing")
    return texts


def _claim(result: Outcome) -> str:
    """Return the model to use with its expected score, and the best single method."""
    best, metric, expected = result.best, result.metric, result.expected
    if best is None:
        return "no method finished a fold, so none can be recommended"
    digits = decimals([expected.mean], [None])
    ends = interval_text(expected, digits)
    around = f" ({ends})" if ends else ""
    score = f"{metric.title} {fixed(expected.mean, digits)}{around} on held-out rows"
    if best != "blend":
        title = next(s.method.title for s in result.standings() if s.method.name == best)
        return f"predict with {title}: {score}"
    single = result.best_single
    assert single is not None
    assert single.mean is not None
    other = f"best single method {single.method.title} {fixed(single.mean, digits)}"
    if expected.mean is None:  # its weights and its score need different folds
        return f"predict with the blend, whose score needs a second fold; {other}"
    ahead = single.mean - expected.mean
    seen = fixed(single.mean, digits) != fixed(expected.mean, digits)
    if seen and ahead * (1 if metric.higher_is_better else -1) > 0:
        n = sum(s.rank is not None and s.method.name != DUMMY for s in result.standings())
        other += f", the best of {n} on these folds and so likely to be worse on new rows"
    return f"predict with the blend: {score}; {other}"


def missing_of(result: Outcome) -> list[str]:
    """Return one line for each reason of missing folds, with its methods."""
    titles: dict[tuple[str, str], list[str]] = {}
    for entry in result.methods:
        if entry.status != "done":
            reason = (STATUS[entry.status], printable(entry.reason, 300))
            titles.setdefault(reason, []).append(entry.title)
    return [
        f"{listed(names, len(names))}: {status}{f', {why}' if why else ''}"
        for (status, why), names in titles.items()
    ]


def as_text(result: Outcome) -> str:
    """Return the table, the model to use, and a line for each of the best methods."""
    places = result.standings()
    digits = digits_of(places)
    rows = [_cells(s, digits) for s in places[:MOST]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    claim = _claim(result)
    lines = [
        f"{claim[0].upper()}{claim[1:]}.",
        *(
            f"{rank:>{widths[0]}}  {name:<{widths[1]}}  {score:>{widths[2]}}  {folds}".rstrip()
            for rank, name, score, folds in rows
        ),
    ]
    if len(places) > MOST:
        lines.append(f"and {len(places) - MOST} more: see leaderboard")
    return "\n".join([_headline(result), *(f"  {line}" for line in lines)])


def as_html(result: Outcome) -> str:
    """Return the result in words and a table of all methods, as HTML that stands alone."""
    import pandas as pd

    places = result.standings()
    digits = digits_of(places)
    weights = {} if result.blend is None else result.blend.weights
    names = ("", "method", result.metric.title, "90 % interval", "weight", "p", "one fit", "folds")
    rows = []
    for s in places:
        rank, name, _, folds = _cells(s, digits)
        weight = weights.get(s.method.name)
        shares = f"{weight:.2f}" if weight else ""
        p = "" if s.p_value is None else p_value(s.p_value)
        score, around = fixed(s.mean, digits), interval_text(s, digits)
        rows.append((rank, name, score, around, shares, p, seconds(s.seconds["fit"]), folds))
    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(rows, columns=names).to_html(index=False, border=0)
    title, claim = tag("p", tag("strong", _headline(result))), tag("p", sentence(result))
    return str(tag("div", title, claim, Markup(table), class_="pliant-comparison"))


def digits_of(places: Sequence[Standing]) -> int:
    """Return the decimals of scores."""
    return decimals((each.mean for each in places), (each.error for each in places))


def interval_text(standing: Standing | Expected, digits: int) -> str:
    """Return the 90 % interval of a mean, "" where there is none."""
    if standing.low is None or standing.high is None:
        return ""
    return f"{fixed(standing.low, digits)} to {fixed(standing.high, digits)}"


def _headline(result: Outcome) -> str:
    """Return the metric, the target and the size of the table."""
    sample = result.sample
    size = f"{count(sample['rows'], 'row')}, {count(sample['features'], 'feature')}"
    target = quoted(sample.get("target", "y"), LONGEST)
    better = "" if result.metric.higher_is_better else ", lower is better"
    time = seconds(result.seconds)
    return f"Comparison: {result.metric.title} of {target}, {size}; {time}{better}"


def _cells(standing: Standing, digits: int) -> tuple[str, str, str, str]:
    """Return the rank and the title of a method, its score with the error, and its folds."""
    method, score = standing.method, ""
    if standing.mean is not None:
        error = "" if standing.error is None else f" ± {fixed(standing.error, digits)}"
        score = f"{fixed(standing.mean, digits)}{error}"
    folds = f"{standing.folds} of {count(standing.planned, 'fold')}"
    if standing.mean is None or method.status not in ("done", "cut"):
        reason = printable(method.reason, 2 * LONGEST)
        folds = f"{STATUS.get(method.status, '')}: {reason}".rstrip(": ")
    rank = "" if standing.rank is None else str(standing.rank)
    return rank, printable(method.title, LONGEST), score, folds
