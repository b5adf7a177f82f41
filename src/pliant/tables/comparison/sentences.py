"""Results in words: the recommendation, warnings, and the leaderboard as text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pliant.core.text import count, listed, printable, quoted
from pliant.tables.comparison.folds import RARE
from pliant.tables.comparison.metrics import metrics_of
from pliant.tables.comparison.outcome import Expected, Outcome
from pliant.tables.comparison.protocol import BLEND, DUMMY, HELD_OUT_NOTE
from pliant.tables.comparison.standings import FEWEST_FOLDS, Standing
from pliant.tables.comparison.text import (
    TextColumn,
    decimals,
    fixed,
    known,
    p_value,
    seconds,
    signed,
    text_table,
    wrap,
)

LONGEST = 40
"""Maximum length of a name in characters."""


def sentence(result: Outcome) -> str:
    """Return the recommended model, its expected score, and warnings.

    For example "Predict with the blend: R2 0.83 (0.79 to 0.86); best single method LAB-RBF 0.81."
    """
    texts = [_claim(result), *warnings_of(result)]
    return " ".join(text[0].upper() + text[1:] + "." for text in texts if text)


def warnings_of(result: Outcome) -> list[str]:
    """Return the warnings about a result, one sentence each."""
    sample, ranked = result.sample, [s for s in result.standings() if s.rank is not None]
    classes, counts = [str(each) for each in sample.get("classes") or ()], sample.get("counts")
    texts = []
    if counts and min(counts) < RARE * sum(counts):
        name = quoted(classes[counts.index(min(counts))], LONGEST)
        rare, most = (extreme(counts) / sum(counts) for extreme in (min, max))
        texts.append(
            f"class {name} has {rare:.1%} of the rows, and always predicting the most frequent "
            f"class gives an accuracy of {most:.3f}: consider probabilities with a "
            "threshold, log loss and balanced accuracy"
        )
    if len(classes) >= 6 and all(each.lstrip("-").isdigit() for each in classes):
        texts.append(
            f"the {len(classes)} values of {quoted(sample['target'], LONGEST)} are treated as "
            "classes: set the task to regression to predict a number"
        )
    if ranked and ranked[0].folds < FEWEST_FOLDS:
        longer = ranked[0].folds < ranked[0].planned and result.budget is not None
        how = "a larger budget" if longer else "more folds"
        folds = count(ranked[0].folds, "fold")
        texts.append(f"scores on {folds} are uncertain: {how} would help")
    elif sample["rows"] < 200:
        texts.append(f"with only {sample['rows']} rows, scores on new rows may differ a lot")
    if HELD_OUT_NOTE in (sample.get("notes") or ()):
        texts.append(HELD_OUT_NOTE)
    if is_no_better(result):
        constant = "the most frequent class" if classes else "the mean"
        texts.append(f"this is no better than always predicting {constant}")
    if result.interrupted:
        texts.append("the comparison was interrupted, so some methods are missing")
    return texts


def is_no_better(result: Outcome) -> bool:
    """Return True if the recommended model has no better mean score than the dummy."""
    dummy = next((s.mean for s in result.standings() if s.method.name == DUMMY), None)
    mean, sign = result.expected.mean, 1 if result.metric.higher_is_better else -1
    return known(dummy) and known(mean) and sign * (mean - dummy) <= 0


def _claim(result: Outcome) -> str:
    """Return the recommended model with its expected score, and the best single method."""
    best, metric, expected = result.best, result.metric, result.expected
    if best is None:
        advice = "" if result.budget is None else "; a larger budget may help"
        others = {s.method.name for s in result.standings() if s.folds} - {DUMMY}
        problem = "the methods have no fold in common" if others else "no method finished a fold"
        return f"{problem}, so none can be recommended{advice}"
    digits = decimals([expected.mean], [None])
    ends = interval_text(expected, digits)
    around = f" ({ends})" if ends else ""
    score = f"{metric.title} {fixed(expected.mean, digits)}{around} on held-out rows"
    single = result.best_single
    assert single is not None
    assert single.mean is not None
    other = f"best single method {single.method.title} {fixed(single.mean, digits)}"
    if best != BLEND:
        title = next(entry.title for entry in result.methods if entry.name == best)
        text = f"predict with {title}: {score}"
        return text if single.method.name == best else f"{text}; {other}"
    if expected.mean is None:  # weights and scores need different folds
        return f"predict with the blend; its score requires a second fold; {other}"
    ahead = single.mean - expected.mean
    seen = fixed(single.mean, digits) != fixed(expected.mean, digits)
    if seen and ahead * (1 if metric.higher_is_better else -1) > 0:
        n = sum(s.rank is not None and s.method.name != DUMMY for s in result.standings())
        other += f", selected as the best of {n} and therefore likely to be worse on new rows"
    return f"predict with the blend: {score}; {other}"


def missing_of(result: Outcome) -> list[str]:
    """Return one line per reason for missing folds or models, with the affected methods."""
    titles: dict[tuple[str, str], list[str]] = {}
    words = {
        "done": "done in part",
        "skipped": "not tried",
        "error": "failed",
        "cut": "cut short",
        "unfinished": "not finished",
    }
    for entry in result.methods:
        if entry.status != "done" or entry.reason:
            reason = (words[entry.status], printable(entry.reason, 300))
            titles.setdefault(reason, []).append(entry.title)
    return [
        f"{listed(names, len(names))}: {status}{f', {why}' if why else ''}"
        for (status, why), names in titles.items()
    ]


def history_rows(result: Outcome) -> list[dict[str, str]]:
    """Return the recommended model after each method as text; empty without a budget."""
    if result.budget is None:
        return []
    titles = {entry.name: entry.title for entry in result.methods} | {BLEND: "Blend"}
    digits = decimals([step.mean for step in result.history], [None])
    return [
        {
            "after": seconds(step.seconds),
            "finished": titles[step.added],
            "best model": titles[step.best],
            result.metric.title: fixed(step.mean, digits),
        }
        for step in result.history
    ]


def next_steps(result: Outcome) -> str:
    """Return a sentence about a larger budget, or "" without a budget."""
    if result.budget is None or result.interrupted or not result.records:
        return ""
    open_ = [e.title for e in result.methods if e.status in ("unfinished", "cut")]
    if open_:
        return f"A larger budget would run the missing folds of {listed(open_, len(open_))}."
    repeats = {record["repeat"] for record in result.records}
    if len(repeats) < result.protocol.repeats:
        return "All folds have run; a larger budget would repeat them with new folds."
    return "All folds of all repeats have run; a larger budget would add nothing."


def history_text(result: Outcome) -> str:
    """Return the recommended models over time in one paragraph; "" without a budget."""
    rows, score = history_rows(result), result.metric.title
    models = [f"{row['best model']} {row[score]}" for row in rows]
    changes = [k for k in range(len(rows)) if not k or models[k] != models[k - 1]]
    told = "; ".join(f"{models[k]} after {rows[k]['after']}" for k in changes)
    told = f"Best model over time: {told}." if told else ""
    return f"{told} {next_steps(result)}".strip()


def leaderboard_rows(result: Outcome, every_metric: bool = False) -> list[dict[str, str]]:
    """Return the leaderboard's rows as text: the blend, then scored methods, best first."""
    finished = (s for s in result.standings() if s.method.status != "unfinished")
    places = [s for s in finished if s.mean is not None]
    digits, metric, weights = digits_of(places), result.metric, result.weights
    score = f"{metric.title}{'' if metric.higher_is_better else ' (lower is better)'}"
    rows = [
        {
            "method": each.method.title,
            score: fixed(each.mean, digits),
            "90 % interval": interval_text(each, digits),
            "weight": f"{weights[each.method.name]:.2f}" if each.method.name in weights else "",
            "better by": "" if each.difference is None else signed(each.difference, digits),
            "p": "" if each.p_value is None else p_value(each.p_value),
            "one fit": seconds(each.seconds["fit"]),
        }
        for each in places
    ]
    means = [each.means for each in places]
    if result.best == BLEND:
        mean, around = fixed(result.expected.mean, digits), interval_text(result.expected, digits)
        blend = {"method": "Blend", score: mean, "90 % interval": around}
        rows.insert(0, dict.fromkeys(rows[0], "") | blend)
        means.insert(0, result.expected.means)
    for other in metrics_of(result.task) if every_metric else ():
        if other.name != metric.name:
            values = [each.get(other.name) for each in means]
            shown = decimals(values, [each.errors.get(other.name) for each in places])
            for row, value in zip(rows, values, strict=True):
                row[other.title] = fixed(value, shown)
    return rows


def note_on_tests(result: Outcome) -> str:
    """Return a note on the reference method and the test, or ""."""
    places = result.standings()
    note = ""
    if any(s.difference is not None for s in places):
        reference = next(s.method.title for s in places if s.is_reference)
        note = f"better by: compared with {reference} on the same folds"
    tested = any(s.p_value is not None for s in places)
    return note + ("; p: corrected t test (Holm)" if tested else "")


def leaderboard_text(result: Outcome) -> str:
    """Return the leaderboard as plain text, with a note on differences and tests."""
    rows = leaderboard_rows(result)
    if not rows:
        return "No method finished a fold."
    columns = [TextColumn(key, missing="") for key in rows[0] if any(row[key] for row in rows)]
    table = text_table(rows, columns).replace("−", "-").rstrip()  # for ASCII terminals
    return f"{table}\n{note_on_tests(result)}".rstrip()


def as_text(result: Outcome) -> str:
    """Return a headline, the leaderboard, the recommendation, and methods with missing folds."""
    missing = "\n".join(map(wrap, missing_of(result)))
    told = wrap(sentence(result)), missing, wrap(history_text(result))
    blocks = (_headline(result), leaderboard_text(result), *told)
    return "\n\n".join(block for block in blocks if block)


def as_html(result: Outcome) -> str:
    """Return the result in words and the leaderboard as an HTML fragment."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(leaderboard_rows(result)).to_html(index=False, border=0)
    title, *texts = map(escape, (_headline(result), sentence(result), *missing_of(result)))
    paragraphs = "".join(f"<p>{text}</p>" for text in texts)
    return f"<div><p><strong>{title}</strong></p>{paragraphs}{table}</div>"


def digits_of(places: Sequence[Standing]) -> int:
    """Return the number of decimals for the mean scores."""
    return decimals((each.mean for each in places), (each.error for each in places))


def interval_text(standing: Standing | Expected, digits: int) -> str:
    """Return the 90 % interval of a score as text, or ""."""
    low, high = standing.low, standing.high
    return f"{fixed(low, digits)} to {fixed(high, digits)}" if known(low) and known(high) else ""


def _headline(result: Outcome) -> str:
    sample = result.sample
    classes, groups = sample.get("classes"), sample.get("groups")
    size = f"{count(sample['rows'], 'row')}, {count(sample['columns'], 'column')}"
    size += f", {len(classes)} classes" if classes else ""
    name, target = printable(sample["name"], LONGEST), quoted(sample.get("target", "y"), LONGEST)
    kept = f" of {count(groups, 'group')}" if groups else ""
    kept = " of later rows" if sample.get("ordered") else kept
    folds = max((s.folds for s in result.standings() if s.rank is not None), default=0)
    how = f"Scores on {count(folds, 'held-out fold')}{kept}, {seconds(result.seconds)}"
    return f"{name}: {result.task} of {target}, {size}\n{how}"
