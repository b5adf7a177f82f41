"""A result in words: the model to use, its expected score, leaderboards as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.comparison.markup import Markup, joined, tag
from pliant.comparison.record import DUMMY
from pliant.comparison.standings import FEWEST_FOLDS, Standing
from pliant.comparison.text import decimals, fixed, p_value, seconds
from pliant.core.text import count, listed, printable, quoted

if TYPE_CHECKING:
    from pliant.comparison.result import ComparisonResult

MOST = 10
"""Methods in the short text."""

LONGEST = 40
"""Characters of a name."""

RARE = 0.1
"""Share of the rows of a class below which accuracy says little."""

FEW_ROWS = 200
"""Rows below which an interval is wide and a choice uncertain."""

MANY_VALUES = 6
"""Different integers from which on a target may be meant as a number."""

STATUS = {"skipped": "not tried", "error": "failed", "cut": "cut short", "left": "left early"}

CELL = "padding:.25em .8em;border-bottom:1px solid rgba(128,128,128,.35);white-space:nowrap"
"""The look of a cell; colours of the text are those of the page, light or dark."""


def sentence(result: ComparisonResult) -> str:
    """Return the model to use, its expected score, and what to beware of.

    For example "Predict with the blend: R2 0.83 (0.79 to 0.86); best single method LAB-RBF 0.81."
    """
    texts = [_claim(result), *warnings_of(result)]
    return " ".join(text[0].upper() + text[1:] + "." for text in texts if text)


def warnings_of(result: ComparisonResult) -> list[str]:
    """Return what a reader has to beware of, a sentence each."""
    sample, ranked = result.sample, [s for s in result.standings() if s.rank is not None]
    texts = [*_rare(result), *_numbers(result)]
    if ranked and ranked[0].folds < FEWEST_FOLDS:
        longer = ranked[0].folds < ranked[0].planned and result.budget is not None
        how = "a larger budget" if longer else "more folds"
        texts.append(f"scores on {count(ranked[0].folds, 'fold')} are unsure: {how} would help")
    elif sample["rows"] < FEW_ROWS:
        texts.append(f"{sample['rows']} rows are few: scores on new rows may differ a lot")
    if result.interrupted:
        texts.append("the comparison was interrupted, so some methods are missing")
    return texts


def _claim(result: ComparisonResult) -> str:
    """Return the model to use with its expected score, and the best single method."""
    best, metric, expected = result.best, result.metric, result.expected
    if best is None:
        return "no method finished a fold, so none can be recommended"
    digits = decimals([expected.mean], [None])
    around = ""
    if expected.low is not None and expected.high is not None:
        around = f" ({fixed(expected.low, digits)} to {fixed(expected.high, digits)})"
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
    if ahead * (1 if metric.higher_is_better else -1) > 0:
        n = sum(s.rank is not None and s.method.name != DUMMY for s in result.standings())
        other += f", the best of {n} on these folds and so likely to be worse on new rows"
    return f"predict with the blend: {score}; {other}"


def _rare(result: ComparisonResult) -> list[str]:
    """Return a warning if a class has less than a tenth of the rows."""
    counts = result.sample.get("counts")
    if not counts or min(counts) >= RARE * sum(counts):
        return []
    name = quoted(result.sample["classes"][counts.index(min(counts))], LONGEST)
    share = min(counts) / sum(counts)
    most = max(counts) / sum(counts)
    return [
        f"class {name} has {share:.1%} of the rows: predicting the most frequent class alone has "
        f"accuracy {most:.3f}, so look at probabilities (--proba, --threshold), log loss and "
        "balanced accuracy"
    ]


def _numbers(result: ComparisonResult) -> list[str]:
    """Return a hint if the classes are many integers."""
    classes = result.sample.get("classes") or ()
    texts = [str(each) for each in classes]
    if len(texts) < MANY_VALUES or not all(each.lstrip("-").isdigit() for each in texts):
        return []
    return [
        f"the {len(texts)} values of {quoted(result.sample['target'], LONGEST)} are taken for "
        "classes: --task regression (task='regression' in Python) predicts a number"
    ]


def missing_of(result: ComparisonResult) -> list[str]:
    """Return one line for each reason why methods have not all folds."""
    titles: dict[tuple[str, str], list[str]] = {}
    for entry in result.methods:
        if entry.status != "done":
            reason = (STATUS[entry.status], printable(entry.reason, 300))
            titles.setdefault(reason, []).append(entry.title)
    return [
        f"{listed(names, len(names))}: {status}{f', {why}' if why else ''}"
        for (status, why), names in titles.items()
    ]


def as_text(result: ComparisonResult) -> str:
    """Return what was compared, the model to use, and a line for each of the best methods."""
    places = result.standings()
    digits = digits_of(places)
    rows = [
        (_rank(s), printable(s.method.title, LONGEST), _score(s, digits), _folds(s))
        for s in places[:MOST]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{rank:>{widths[0]}}  {name:<{widths[1]}}  {score:>{widths[2]}}  {folds}".rstrip()
        for rank, name, score, folds in rows
    ]
    more = len(places) - MOST
    note = [f"and {more} more: see leaderboard"] if more > 0 else []
    claim = _claim(result)
    return "\n".join(
        [
            _headline(result),
            f"  {claim[0].upper()}{claim[1:]}.",
            *(f"  {x}" for x in [*lines, *note]),
        ]
    )


def as_html(result: ComparisonResult) -> str:
    """Return the result in words and a table of all methods, as HTML that stands alone."""
    places = result.standings()
    digits = digits_of(places)
    names = ("", "method", result.metric.title, "90 % interval", "weight", "p", "one fit", "folds")
    head = [_cell("th", name, number=place != 1) for place, name in enumerate(names)]
    weights = {} if result.blend is None else result.blend.weights
    body = [tag("tr", _row(s, digits, weights.get(s.method.name, 0.0))) for s in places]
    table = tag(
        "table",
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        style="border-collapse:collapse;margin:.6em 0",
    )
    claim = tag("p", sentence(result), style="max-width:48em;margin:.4em 0")
    title = tag("p", tag("strong", _headline(result)), style="margin:.4em 0")
    scrolled = tag("div", table, style="overflow-x:auto")
    return str(tag("div", title, claim, scrolled, class_="pliant-comparison"))


def digits_of(places: Sequence[Standing]) -> int:
    """Return the decimals of scores."""
    return decimals((each.mean for each in places), (each.error for each in places))


def interval_text(standing: Standing, digits: int) -> str:
    """Return the 90 % interval of a mean, "" where there is none."""
    if standing.low is None or standing.high is None:
        return ""
    return f"{fixed(standing.low, digits)} to {fixed(standing.high, digits)}"


def _headline(result: ComparisonResult) -> str:
    """Return what was compared, on how many rows, and by which metric."""
    sample = result.sample
    size = f"{count(sample['rows'], 'row')}, {count(sample['features'], 'feature')}"
    target = quoted(sample.get("target", "y"), LONGEST)
    better = "" if result.metric.higher_is_better else ", lower is better"
    time = seconds(result.seconds)
    return f"Comparison: {result.metric.title} of {target}, {size}; {time}{better}"


def _rank(standing: Standing) -> str:
    return "" if standing.rank is None else str(standing.rank)


def _score(standing: Standing, digits: int) -> str:
    if standing.mean is None:
        return ""
    error = "" if standing.error is None else f" ± {fixed(standing.error, digits)}"
    return f"{fixed(standing.mean, digits)}{error}"


def _folds(standing: Standing) -> str:
    if standing.mean is not None and standing.method.status in ("done", "cut"):
        return f"{standing.folds} of {count(standing.planned, 'fold')}"
    reason = printable(standing.method.reason, 2 * LONGEST)
    return f"{STATUS.get(standing.method.status, '')}: {reason}".rstrip(": ")


def _row(standing: Standing, digits: int, weight: float) -> Markup:
    """Return the cells of a method."""
    name = printable(standing.method.title, LONGEST)
    cells = (
        _rank(standing),
        tag("strong", name) if weight > 0 else name,
        fixed(standing.mean, digits),
        interval_text(standing, digits),
        f"{weight:.2f}" if weight > 0 else "",
        "" if standing.p_value is None else p_value(standing.p_value),
        seconds(standing.seconds["fit"]),
        _folds(standing),
    )
    return joined([_cell("td", each, number=place != 1) for place, each in enumerate(cells)])


def _cell(name: str, content: str, *, number: bool) -> Markup:
    return tag(name, content, style=f"{CELL};text-align:{'right' if number else 'left'}")
