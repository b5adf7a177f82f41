"""The methods side by side: how good, how sure, at what cost, how far from the optimum."""

from __future__ import annotations

import json
from collections import Counter

from pliant.comparison.metrics import Metric
from pliant.comparison.protocol import DEFAULT, SAMPLED, SEARCHED
from pliant.comparison.report.contest import contest
from pliant.comparison.report.drawing import draw_interval
from pliant.comparison.report.markup import Content, Markup, joined, tag
from pliant.comparison.report.tables import Column, head, number, table, text
from pliant.comparison.report.view import STATUS, View
from pliant.comparison.stats.recommendation import LEVEL
from pliant.comparison.stats.standings import Standing
from pliant.comparison.text import (
    MISSING,
    bytes_of,
    fixed,
    gap,
    known,
    p_value,
    seconds,
    setting,
    signed,
)
from pliant.core.text import count

MEGABYTE = 1024**2

SETTINGS = {
    SEARCHED: "searched settings",
    DEFAULT: "default settings",
    SAMPLED: "default settings, learned from a sample of the rows",
}
"""The stage that a method is ranked by, in words."""

CERTIFIED = (
    "A certified gap is proved by the solver, not estimated: no solution of the method's "
    "training problem is better than its own by more than this share of its objective. "
    "A small gap shows that training ended well, not that predictions are good."
)


def leaderboard(view: View) -> Markup:
    """Write how good each method is: the metric, the difference to the reference, the rest.

    Before it, the method to use is drawn against the runner-up and the reference.
    """
    board = table(
        f"Scores, best {view.metric.title} first",
        _score_columns(view),
        [_score_row(view, standing) for standing in view.standings],
        sortable=True,
        look="leaderboard",
    )
    return joined(contest(view), board)


def costs(view: View) -> Markup:
    """Write what each method takes and leaves: time, memory, size, settings."""
    columns = (
        Column("Method", numeric=False),
        Column("Fit", "median"),
        Column("Predict", "median"),
        Column("With search", "median"),
        Column("Peak memory", "median"),
        Column("Model size", "median"),
        Column("Support points", "median"),
        Column("Certified gap", "largest"),
        Column("Chosen settings", "most frequent", numeric=False),
    )
    rows = [_cost_row(view, standing) for standing in view.standings if standing.folds]
    if not rows:
        return tag("p", "No method finished a fold.")
    return table("Time, memory and settings of one fold", columns, rows, sortable=True)


def certificates(view: View) -> Markup:
    """Write the largest certified gap of each method that has been run."""
    ran = [standing for standing in view.standings if standing.folds]
    if not ran:
        return tag("p", "No method was run.")
    certified = [standing for standing in ran if known(standing.gap)]
    without = [each.method.title for each in ran if each not in certified]
    columns = (
        Column("Method", numeric=False),
        Column("Largest certified gap", "relative"),
        Column("Folds with a certificate"),
        Column("In words", numeric=False),
    )
    rows = [_gap_row(view, standing) for standing in certified]
    gaps = table("Certified gaps", columns, rows, sortable=True, look="small")
    return joined(
        tag("p", CERTIFIED),
        gaps if certified else None,
        tag("p", f"Without a certificate: {', '.join(without)}.") if without else None,
    )


def _method_head(standing: Standing) -> Markup:
    """Write the head of a method's row."""
    entry = standing.method
    kind = tag("span", f"{entry.kind} · ", tag("code", entry.name), class_="note")
    below = "below" if standing.rank is None else None
    title = tag("span", entry.title, class_="title")
    return head(title, kind, value=entry.title, look=below)


def _score_columns(view: View) -> list[Column]:
    primary, rival, scale = view.metric, view.reference, view.scale
    ends = scale and f"{fixed(scale.low, view.digits)} to {fixed(scale.high, view.digits)}"
    against = f"against {rival.method.title}" if rival else "no reference was measured"
    return [
        Column("Rank", sorted=True),
        Column("Method", numeric=False),
        Column(_title(primary), ends or "mean ± error", best_first=_best(primary)),
        Column("Difference", against, best_first="descending"),
        Column("p", "corrected t test; Wilcoxon"),
        Column("Folds", "won, tied, lost", best_first="descending"),
        Column("Status", numeric=False),
        *(Column(_title(each), best_first=_best(each)) for each in view.others),
    ]


def _score_row(view: View, standing: Standing) -> list[Markup]:
    return [
        number(standing.rank or MISSING, standing.rank),
        _method_head(standing),
        _primary(view, standing),
        _difference(view, standing),
        _p_values(standing),
        _record(standing),
        _status(standing),
        *(_score(view, standing, each) for each in view.others),
    ]


def _status(standing: Standing) -> Markup:
    entry = standing.method
    word = _word(standing)
    below = f"below the line: {standing.below}" if standing.below else None
    notes = [entry.reason or None, below, standing.stage and SETTINGS[standing.stage]]
    shown = [tag("span", note, class_="note") for note in notes if note]
    badge = tag("span", word, class_=f"badge {entry.status}")
    return text(badge, shown, value=word, look="status")


def _word(standing: Standing) -> str:
    return STATUS[standing.method.status]


def _primary(view: View, standing: Standing) -> Markup:
    if not known(standing.mean):
        return number(tag("span", _word(standing), class_="note"), None)
    rival = view.reference.mean if view.reference else None
    scale = view.scale
    drawing = draw_interval(standing.mean, standing.error, scale, rival) if scale else None
    mean, spread = fixed(standing.mean, view.digits), fixed(standing.error, view.digits)
    error = tag("span", f" ± {spread}", class_="error") if known(standing.error) else None
    return number(tag("span", drawing, tag("span", mean, error), class_="primary"), standing.mean)


def _difference(view: View, standing: Standing) -> Markup:
    if standing is view.reference:
        return number(tag("span", "the reference", class_="note"), None)
    written = signed(standing.difference, view.digits)
    return number(joined(written, _verdict(standing)), standing.difference)


def _verdict(standing: Standing) -> Content:
    """Return whether the difference is significant, if it was tested."""
    if not (known(standing.difference) and known(standing.p_value)):
        return None
    if standing.p_value >= LEVEL:
        return tag("span", "not significant", class_="note")
    word = "better" if standing.difference > 0 else "worse"
    return tag("span", word, class_=f"note {word}")


def _p_values(standing: Standing) -> Markup:
    """Write the p-value of the t test, and Wilcoxon's below."""
    second = p_value(standing.wilcoxon) if known(standing.wilcoxon) else None
    below = second and tag("span", second, class_="note")
    return number([p_value(standing.p_value), below], standing.p_value)


def _record(standing: Standing) -> Markup:
    if not known(standing.difference):
        return number(MISSING, None)
    written = f"{standing.wins} – {standing.ties} – {standing.losses}"
    return number(written, standing.wins - standing.losses)


def _score(view: View, standing: Standing, metric: Metric) -> Markup:
    mean, error = (each.get(metric.name) for each in (standing.means, standing.errors))
    digits = view.digits_of(metric.name)
    spread = tag("span", f"± {fixed(error, digits)}", class_="note") if known(error) else None
    return number([fixed(mean, digits), spread], mean)


def _cost_row(view: View, standing: Standing) -> list[Markup]:
    times = [standing.seconds.get(name) for name in ("fit", "predict", "total")]
    memory, support = standing.memory_mb, standing.support
    return [
        _method_head(standing),
        *(number(seconds(time), time) for time in times),
        number(bytes_of(memory * MEGABYTE if known(memory) else None), memory),
        number(bytes_of(standing.size_bytes), standing.size_bytes),
        number(f"{support:g}" if known(support) else MISSING, support),
        number(gap(standing.gap), standing.gap),
        _settings(view, standing),
    ]


def _settings(view: View, standing: Standing) -> Markup:
    """Write the settings that the search chose most often, and how often."""
    chosen = [record.get("chosen") for record in view.ranked_records(standing.method.name)]
    written = [json.dumps(each, sort_keys=True, default=str) for each in chosen if each]
    if not written:
        return text(MISSING)
    ((most, times),) = Counter(written).most_common(1)
    pairs = ", ".join(f"{name} = {setting(v)}" for name, v in json.loads(most).items())
    often = f"{times} of {count(len(written), 'fold')}"
    return text(tag("code", pairs), tag("span", often, class_="note"), value=pairs, look="settings")


def _gap_row(view: View, standing: Standing) -> list[Markup]:
    records = view.ranked_records(standing.method.name)
    done = [record for record in records if record["status"] == "done"]
    proved = sum(known(record.get("gap")) for record in done)
    return [
        _method_head(standing),
        number(gap(standing.gap), standing.gap),
        number(f"{proved} of {count(len(done), 'fold')}", proved),
        text(_in_words(standing.gap)),
    ]


def _in_words(size: float | None) -> str:
    """Return a gap as a percentage of the objective."""
    if not known(size):
        return ""
    if size < 1e-8:
        return "solved to the last digits"
    return f"at most {100 * size:.2g} % from the optimum" if size < 1 else "far from proved"


def _title(metric: Metric) -> str:
    return metric.title[:1].upper() + metric.title[1:]


def _best(metric: Metric) -> str:
    return "descending" if metric.higher_is_better else "ascending"
