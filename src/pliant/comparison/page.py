"""The page of a comparison: one HTML file, its sections in order, and what it may load.

Tables read well as they are, and the page's script can sort them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from statistics import median

from pliant._version import __version__
from pliant.comparison.across import Across, across
from pliant.comparison.markup import Content, Markup, clean, joined, tag
from pliant.comparison.metrics import Metric, metrics_of
from pliant.comparison.outcome import BLEND, Outcome
from pliant.comparison.pictures import Picture, can_draw, pictures_of, ranks_picture
from pliant.comparison.record import Entry
from pliant.comparison.sentences import missing_of, sentence, warnings_of
from pliant.comparison.standings import Standing
from pliant.comparison.text import (
    MISSING,
    bytes_of,
    decimals,
    fixed,
    gap,
    known,
    p_value,
    seconds,
    signed,
)
from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import count, listed, printable

CLASSES_NAMED, MOST_TEXTS = 6, 12
"""Classes that are named, and different warnings or errors of a method, at most."""

LEVEL = 0.05
"""Probability of a false alarm below which a difference is called better or worse."""

REACH = 3.0
"""Reach of the scale of intervals, in distances from the best to the middle method."""

WIDTH, HEIGHT, EDGE = 120, 17, 7
"""Size of a drawn interval and of its margins, in SVG units."""

ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""Characters that could end a script element, and their escapes."""

NO_MATPLOTLIB = "There are no pictures without matplotlib: pip install 'pliant[plots]'."


@dataclass(frozen=True, eq=False)
class View:
    """A result on the page: `prefix` begins its ids, `level` is that of its headings."""

    result: Outcome
    prefix: str = ""
    level: int = 2

    @cached_property
    def ranked(self) -> list[Standing]:
        """The methods with a rank, the best first."""
        return [standing for standing in self.result.standings() if standing.rank is not None]

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weights of the blend by the name of the method; empty without one."""
        return {} if self.result.blend is None else self.result.blend.weights

    @cached_property
    def members(self) -> list[Standing]:
        """The members of the blend; none if a single method is to be used."""
        blended = self.result.best == BLEND
        return [s for s in self.ranked if blended and s.method.name in self.weights]

    @cached_property
    def pictures(self) -> dict[str, list[Picture]]:
        """The pictures by section."""
        return pictures_of(self.result)

    @cached_property
    def scale(self) -> tuple[float, float] | None:
        """The ends of the drawn intervals, without methods that are far behind."""
        around = [(s.mean, s.low, s.high) for s in self.ranked]
        ends = [(m, a, b) for m, a, b in around if known(m) and known(a) and known(b)]
        if not ends:
            return None
        means, lows, highs = zip(*ends, strict=True)
        widest = median(b - a for a, b in zip(lows, highs, strict=True))
        far = REACH * (abs(means[0] - median(means)) + widest / 2)
        low, high = max(min(lows), means[0] - far), min(max(highs), means[0] + far)
        return (low, high) if high > low else None

    @cached_property
    def sections(self) -> list[tuple[str, str, Markup]]:
        """The id, the title and the content of each section that has something to show."""
        written = []
        for key, title, hint, write in SECTIONS:
            content, ident = write(self), f"{self.prefix}{key}"
            if content is not None:
                heading = tag(f"h{self.level}", title, id=ident)
                said = tag("p", hint, class_="hint") if hint else None
                section = tag("section", heading, said, content, aria_labelledby=ident)
                written.append((ident, title, section))
        return written

    def digits(self, metric: Metric) -> int:
        """Return the decimals of a metric."""
        errors = [standing.errors.get(metric.name) for standing in self.ranked]
        return decimals([standing.means.get(metric.name) for standing in self.ranked], errors)


def report_html(results: Sequence[Outcome]) -> str:
    """Return the page of one comparison, or of several on different tables, as HTML.

    It loads nothing, is readable without JavaScript, and its policy lets no text from the results
    run or load anything. A result that was read from plain data has no pictures that need a fit.
    """
    if not results:
        raise ValueError("expected at least one result to report, got none")
    if len(results) == 1:
        view = View(results[0])
        sections = view.sections
        links = _links((ident, title) for ident, title, _ in sections)
        title = f"{results[0].sample['name']}: methods compared"
        return _document(title, _opening(view), links, [section for _, _, section in sections])
    views = [View(result, f"table-{n}-", 3) for n, result in enumerate(results, 1)]
    parts = [_table_section(view) for view in views]
    names = [(f"{view.prefix}top", str(view.result.sample["name"])) for view in views]
    links = _links([("all-tables", "Over all tables"), *names])
    title = f"Methods compared on {count(len(results), 'table')}"
    return _document(title, None, links, [_over_all_tables(views), *parts])


def write_report(results: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write the page of one comparison, or of several, to a file, whole or not at all.

    Raises
    ------
    ValueError
        If there is no result.
    TableError
        If the file cannot be written.
    """
    written = report_html(results).encode()
    with replacing(path, TableError) as draft:
        draft.write_bytes(written)


def _opening(view: View) -> Markup:
    """Write the facts, the model to use, and what to beware of."""
    beware = [text[0].upper() + text[1:] + "." for text in warnings_of(view.result)]
    claim = sentence(view.result).removesuffix(" ".join(beware)).strip()
    warned = tag("ul", [tag("li", text) for text in beware], class_="notice") if beware else None
    facts = _pairs(_facts(view.result), "facts")
    return joined(facts, tag("p", claim, class_="verdict"), warned)


def _pairs(pairs: Iterable[tuple[str, str]], look: str) -> Markup:
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", items, class_=look)


def _facts(result: Outcome) -> Iterator[tuple[str, str]]:
    sample, classes = result.sample, result.sample.get("classes")
    yield "Rows", str(sample["rows"])
    coded = sample.get("categorical") or 0
    yield "Features", str(sample["features"]) + (f", {coded} of them categories" if coded else "")
    kind = "a number"
    if classes:
        named = listed([str(each) for each in classes], CLASSES_NAMED)
        kind = f"{count(len(classes), 'class', 'classes')}: {named}"
    yield "Target", f"{sample['target']} ({kind})"
    missing = sample.get("missing") or 0
    share = f" ({missing / (sample['rows'] * sample['features']):.1%})" if missing else ""
    yield "Missing values", f"{missing or 'none'}{share}"
    if sample.get("groups"):
        yield "Groups", str(sample["groups"])
    if sample.get("ordered"):
        yield "Order", "rows are in the order of time"
    better = "higher" if result.metric.higher_is_better else "lower"
    yield "Metric", f"{result.metric.title}, {better} is better"
    budget = "no limit" if result.budget is None else f"budget {seconds(result.budget)}"
    yield "Time", f"{seconds(result.seconds)} ({budget})"


def _table(
    caption: str, headings: Sequence[Markup], rows: Iterable[Iterable[Markup]], look: str = ""
) -> Markup:
    """Write a table, sorted by the buttons of its columns, in a box that scrolls by itself."""
    heads = tag("thead", tag("tr", headings))
    body = tag("tbody", [tag("tr", row) for row in rows])
    whole = tag("table", tag("caption", caption), heads, body, class_=f"sortable {look}".rstrip())
    return tag("div", whole, class_="scroll", role="group", aria_label=caption, tabindex=0)


def _heading(
    title: str, note: Content = None, *, kind: str = "number", first: str = "ascending"
) -> Markup:
    """Write the head of a column; its button sorts in the order `first` when first pressed.

    The `kind` is "number", "text", or "rank" for the numbers that rows are in order of.
    """
    return tag(
        "th",
        tag("span", title, class_="title"),
        note and tag("span", note, class_="note"),
        scope="col",
        class_=None if kind == "text" else "number",
        data_sort="text" if kind == "text" else "number",
        data_first=first,
        aria_sort="ascending" if kind == "rank" else None,
    )


def _metric_heading(metric: Metric, title: str | None = None, note: Content = None) -> Markup:
    first = "descending" if metric.higher_is_better else "ascending"
    return _heading(title or metric.title[:1].upper() + metric.title[1:], note, first=first)


def _number(written: Content, value: float | None) -> Markup:
    """Write a cell that is sorted by a number; None comes last."""
    exact = repr(float(value)) if known(value) else None
    return tag("td", written, class_="number", data_value=exact)


def _head(entry: Entry, look: str | None = None) -> Markup:
    """Write the head of a method's row."""
    note = tag("span", tag("code", entry.name), class_="note")
    title = tag("span", entry.title, class_="title")
    return tag("th", title, note, scope="row", data_value=entry.title, class_=look)


def _leaderboard(view: View) -> Content:
    """Write the blend and every ranked method, and lines for those without all folds."""
    missing = [tag("li", text) for text in missing_of(view.result)]
    lines = tag("ul", missing, class_="prose missing") if missing else None
    if not view.ranked:
        return tag("p", "No method finished a fold."), lines
    first, others = view.result.metric, _other_metrics(view)
    titles = [s.method.title for s in view.ranked if s.is_reference]
    against = f"to {titles[0]}; p" if titles else "no reference"
    headings = [
        _heading("Rank", kind="rank"),
        _heading("Method", kind="text"),
        _metric_heading(first, note="mean, 90 % interval"),
        _heading("Weight", "in the blend", first="descending"),
        _heading("Difference", against, first="descending"),
        _heading("One fit", "with its search"),
        _heading("Folds", first="descending"),
        *map(_metric_heading, others),
    ]
    rows = [_row(view, standing) for standing in [*_blend_standing(view), *view.ranked]]
    caption = f"Scores on held-out rows, best {first.title} first"
    return _table(caption, headings, rows, "leaderboard"), lines


def _other_metrics(view: View) -> list[Metric]:
    """Return the metrics of the task beside that of the ranks."""
    return [m for m in metrics_of(view.result.task) if m.name != view.result.metric.name]


def _blend_standing(view: View) -> list[Standing]:
    """Return the blend as a method with the rank 0, if it is to be used."""
    if not view.members:
        return []
    expected, first = view.result.expected, view.members[0]
    blend = Standing(
        method=Entry(BLEND, "Blend", "", "", "done"),
        mean=expected.mean,
        low=expected.low,
        high=expected.high,
        folds=first.folds,
        planned=first.planned,
        rank=0,
        means=expected.means,
        errors={},
        seconds={"fit": _sum(map(_fit_time, view.members))},
    )
    return [blend]


def _row(view: View, standing: Standing) -> list[Markup]:
    """Write the scores, the weight, the difference and the time of a method."""
    name, time, means = standing.method.name, _fit_time(standing), standing.means
    weight = 1.0 if name == BLEND else view.weights.get(name)
    others = _other_metrics(view)
    return [
        _number(standing.rank or "", standing.rank),
        _head(standing.method, look="used" if name == view.result.best else None),
        _primary(view, standing),
        _number(f"{weight:.2f}" if weight else MISSING, weight),
        _difference(view, standing),
        _number(seconds(time), time),
        _number(f"{standing.folds} of {standing.planned}", standing.folds),
        *(_number(fixed(means.get(m.name), view.digits(m)), means.get(m.name)) for m in others),
    ]


def _primary(view: View, standing: Standing) -> Markup:
    """Write a mean with its interval, drawn and as numbers."""
    mean, low, high = standing.mean, standing.low, standing.high
    digits = view.digits(view.result.metric)
    written = tag("span", fixed(mean, digits), class_="mean")
    if not (known(mean) and known(low) and known(high)):
        return _number(written, mean)
    drawing = view.scale and _interval(mean, low, high, view.scale)
    ends = tag("span", f"{fixed(low, digits)} to {fixed(high, digits)}", class_="note")
    return _number(tag("span", drawing, tag("span", written, ends), class_="primary"), mean)


def _interval(mean: float, low: float, high: float, scale: tuple[float, float]) -> Markup:
    """Draw a dot on a bar from low to high; an arrow for a mean beyond the scale."""

    def across(value: float) -> float:
        share = min(max((value - scale[0]) / (scale[1] - scale[0]), -0.04), 1.04)
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)

    middle = HEIGHT / 2
    level = {"y1": middle, "y2": middle}
    pieces = [tag("line", x1=EDGE, x2=WIDTH - EDGE, **level, class_="rail")]
    if scale[0] <= mean <= scale[1]:
        pieces.append(tag("line", x1=across(low), x2=across(high), **level, class_="whisker"))
        pieces.append(tag("circle", cx=across(mean), cy=middle, r=4, class_="dot"))
    else:
        tip, back = (1, 8) if mean < scale[0] else (WIDTH - 1, WIDTH - 8)
        corners = f"{back},{middle - 4.5} {tip},{middle} {back},{middle + 4.5}"
        pieces.append(tag("polyline", points=corners, class_="beyond"))
    box = Markup(f"0 0 {WIDTH} {HEIGHT}")
    return tag("svg", pieces, viewBox=box, class_="interval", aria_hidden="true")


def _difference(view: View, standing: Standing) -> Markup:
    difference, p = standing.difference, standing.p_value
    if standing.is_reference:
        return _number(tag("span", "the reference", class_="note"), None)
    written = signed(difference, view.digits(view.result.metric))
    if not (known(difference) and known(p)):
        return _number(written, difference)
    side = "" if p >= LEVEL else "better" if difference > 0 else "worse"
    note = f"{side}, p {p_value(p)}" if side else f"p {p_value(p)}"
    return _number([written, tag("span", note, class_=f"note {side}".rstrip())], difference)


def _fit_time(standing: Standing) -> float | None:
    return _sum([standing.seconds.get("search"), standing.seconds.get("fit")])


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that are known; None if none is."""
    numbers = [value for value in values if known(value)]
    return sum(numbers) if numbers else None


def _costs(view: View) -> Content:
    """Write the time, size, certificate and settings of each method."""
    ran = [standing for standing in view.result.standings() if standing.folds]
    headings = (
        _heading("Method", kind="text"),
        *(_heading(name, "median") for name in ("Search", "Fit", "Predict", "Model size")),
        _heading("Support points", "median"),
        _heading("Certified gap", "largest"),
        _heading("Settings", "chosen most often", kind="text"),
    )
    rows = [
        [
            _head(each.method),
            *(_number(seconds(t), t) for t in map(each.seconds.get, ("search", "fit", "predict"))),
            _number(bytes_of(each.size_bytes), each.size_bytes),
            _number(f"{each.support:g}" if known(each.support) else MISSING, each.support),
            _number(gap(each.gap), each.gap),
            _settings(view, each.method.name),
        ]
        for each in ran
    ]
    return _table("Costs and settings of one fold", headings, rows) if ran else None


def _settings(view: View, method: str) -> Markup:
    """Write the settings that the search chose most often, and how often."""
    mine = [record for record in view.result.records if record["method"] == method]
    chosen = [json.dumps(c, sort_keys=True, default=str) for r in mine if (c := r.get("chosen"))]
    if not chosen:
        return tag("td", MISSING)
    ((most, times),) = Counter(chosen).most_common(1)
    pairs = ", ".join(
        f"{name} = {f'{value:.4g}' if isinstance(value, float) else value}"
        for name, value in json.loads(most).items()
    )
    often = tag("span", f"{times} of {count(len(chosen), 'fold')}", class_="note")
    return tag("td", tag("code", pairs), often, class_="settings", data_value=pairs)


def _weights(view: View) -> Content:
    if not view.weights:
        return None
    if view.members:
        return _gallery(view.pictures.get("weights"))
    (title,) = (s.method.title for s in view.ranked if s.method.name == view.result.best)
    return tag("p", f"{title} has all the weight, so it is used alone.")


def _gallery(pictures: Iterable[Picture] | None) -> Markup | None:
    shown = []
    for each in pictures or ():
        source = Markup(f"data:image/png;base64,{each.png}")
        image = tag("img", src=source, alt=each.alt, width=each.width, height=each.height)
        caption = tag("figcaption", each.title)
        shown.append(tag("figure", image, caption, class_="card picture"))
    return tag("div", shown, class_="gallery") if shown else None


def _messages(view: View) -> Content:
    """List what went wrong, method by method; nothing if all went well."""
    items = []
    notes = [tag("dd", note) for note in view.result.sample.get("notes") or ()]
    if notes:
        items.append(tag("div", tag("dt", "The table"), notes))
    for entry in view.result.methods:
        mine = [record for record in view.result.records if record["method"] == entry.name]
        errors = Counter(error for record in mine if (error := record.get("error")))
        warned = Counter(text for record in mine for text in set(record.get("warnings") or ()))
        lines = [*_lines("Error", errors), *_lines("Warning", warned)]
        if lines:
            items.append(tag("div", tag("dt", entry.title), lines))
    return tag("dl", items, class_="messages") if items else None


def _lines(word: str, texts: Counter[str]) -> Iterator[Markup]:
    for text, times in texts.most_common(MOST_TEXTS):
        often = tag("span", f"in {count(times, 'fold')}", class_="note")
        yield tag("dd", tag("strong", word, class_=word.lower()), " ", text, " ", often)
    if len(texts) > MOST_TEXTS:
        yield tag("dd", f"and {len(texts) - MOST_TEXTS} other texts", class_="note")


def _protocol(view: View) -> Content:
    """Describe the folds, the weights, the intervals and the tests."""
    result, protocol, sample = view.result, view.result.protocol, view.result.sample
    again = f", up to {protocol.repeats} times" if protocol.repeats > 1 else ""
    folds = (
        f"The rows are split at random into {count(protocol.folds, 'fold')}{again} (seed "
        f"{protocol.seed}). Models learn from all folds but one and predict that one."
    )
    if sample.get("ordered"):
        folds = (
            f"Rows are in the order of time. Each of {count(protocol.folds, 'test')} is on rows "
            "later than all rows that its model learned from."
        )
    elif sample.get("groups"):
        folds += " Rows of one group stay in one fold."
    texts = [
        f"{folds} All methods have the same folds. Imputation, encoding, scaling and the search "
        "for settings, on inner folds, see training rows only, so every score is of rows that "
        "nothing was learned from.",
        "An interval is the 90 % interval of a mean, widened because folds share training rows "
        "(Nadeau and Bengio). p, where a difference is tested, is the probability of such a "
        "difference between equal methods, by the corrected t test, adjusted for the number of "
        "methods (Holm).",
    ]
    if result.blend is not None:
        loss = "squared error" if result.blend.classes is None else "log loss"
        texts.append(
            f"The blend is a weighted mean of predictions. Its weights, non-negative and of sum "
            f"one, minimise the {loss} of held-out predictions. Its score on a fold has weights "
            "from the other folds, so it is as honest as that of a method."
        )
    return [tag("p", text, class_="prose") for text in texts]


def _again(view: View) -> Content:
    """Write the command, and the scores of all folds as JSON inside the page."""
    shown = tag("p", "This comparison was made in Python, by pliant.compare.")
    if view.result.command:  # with its spaces, and longer than other texts may be
        code = tag("code", printable(view.result.command, 20_000))
        shown = tag("pre", code, class_="command", tabindex=0)
    rows = [
        {
            **{name: record[name] for name in ("method", "repeat", "fold")},
            **{name: v if known(v) else None for name, v in record["scores"].items()},
        }
        for record in view.result.records
    ]
    data = {"table": clean(view.result.sample["name"]), "scores": rows}
    return shown, json_block(data, f"{view.prefix}scores")


def json_block(data: object, ident: str) -> Markup:
    """Write data as a script element that holds JSON and that no text inside can leave."""
    written = json.dumps(data, allow_nan=False).translate(ESCAPES)
    return tag("script", Markup(written), type="application/json", id=ident, class_="scores")


SECTIONS: tuple[tuple[str, str, str, Callable[[View], Content]], ...] = (
    (
        "leaderboard",
        "Leaderboard",
        "Scores are means over held-out rows, on the folds that all these methods have. The bar is "
        "the 90 % interval; an arrow is a mean far outside.",
        _leaderboard,
    ),
    ("weights", "Weights of the blend", "", _weights),
    (
        "predictions",
        "Predictions against truth",
        "The model to use on rows that it did not learn from.",
        lambda view: _gallery(view.pictures.get("predictions")),
    ),
    (
        "importance",
        "What matters",
        "Of the model to use, learned from the training rows of the first fold.",
        lambda view: _gallery(view.pictures.get("importance")),
    ),
    (
        "costs",
        "Costs and settings",
        "A certified gap is proved by the solver: no solution of the training problem is better by "
        "more than this share of its objective.",
        _costs,
    ),
    ("messages", "Warnings and errors", "Each text once, with its number of folds.", _messages),
    ("protocol", "How it was measured", "", _protocol),
    (
        "environment",
        "Environment",
        "",
        lambda view: _pairs(view.result.environment.items(), "facts small"),
    ),
    ("again", "Repeat it", "The same command on the same table gives the same scores.", _again),
)
"""The sections of a result in order: key, title, hint, and the function that writes it."""


def _links(parts: Iterable[tuple[str, str]]) -> Markup:
    return tag("ul", [tag("li", tag("a", title, href=f"#{ident}")) for ident, title in parts])


def _table_section(view: View) -> Markup:
    """Write all of one result among several."""
    ident, name, sections = f"{view.prefix}top", view.result.sample["name"], view.sections
    links = _links((ident, title) for ident, title, _ in sections)
    contents = tag("nav", links, class_="contents", aria_label=f"Parts of {name}")
    title = tag("h2", tag("bdi", name), id=ident)
    inside = (title, _opening(view), contents, [section for _, _, section in sections])
    return tag("section", inside, aria_labelledby=ident, class_="table-part")


def _over_all_tables(views: Sequence[View]) -> Markup:
    """Write ranks and tests over all tables, and the scores of each method on each."""
    ranking, opening = None, list[Content]()
    try:
        ranking = across([view.result for view in views])
    except ValueError as reason:
        text = f"The methods cannot be ranked over all tables: {reason}."
        opening = [tag("p", text, class_="notice")]
    else:
        hint = "Ranks on a table, 1 the best, are averaged. Those under one bar do not differ."
        opening = [tag("p", ranking.sentence(), class_="verdict"), tag("p", hint, class_="hint")]
        opening += [_gallery([picture]) if (picture := ranks_picture(ranking)) else None]
        lines = [f"{name}: not ranked, {reason}" for name, reason in ranking.left_out.items()]
        opening += [tag("p", line, class_="missing") for line in lines]
    title = tag("h2", "Over all tables", id="all-tables")
    content = (*opening, _over_tables(views, ranking))
    return tag("section", title, content, aria_labelledby="all-tables")


def _over_tables(views: Sequence[View], ranking: Across | None) -> Markup:
    """Write the scores of the blend and of each method on each table, and average ranks."""
    headings = [_heading("Method", kind="text")]
    titles = {entry.name: entry.title for view in views for entry in view.result.methods}
    ranks: dict[str, float] = {}
    if ranking is not None:
        headings.append(_heading("Average rank", kind="rank"))
        names = [entry.name for entry in ranking.methods]
        ranks = dict(zip(names, ranking.ranks.tolist(), strict=True))
        titles = {name: titles[name] for name in (*names, *titles)}
    if any(view.members for view in views):
        titles = {BLEND: "Blend", **titles}
    for view in views:
        metric = view.result.metric
        headings.append(_metric_heading(metric, view.result.sample["name"], metric.title))
    rows = []
    for name, title in titles.items():
        row = [tag("th", title, scope="row", data_value=title)]
        if ranking is not None:
            row.append(_number(fixed(ranks.get(name), 2), ranks.get(name)))
        for view in views:
            means = {s.method.name: s.mean for s in view.ranked}
            mean = view.result.expected.mean if name == BLEND else means.get(name)
            row.append(_number(fixed(mean, view.digits(view.result.metric)), mean))
        rows.append(row)
    return _table("Mean scores on held-out rows", headings, rows)


def _document(title: str, opening: Content, links: Markup, content: Content) -> str:
    """Return a document that can load and run nothing but its own style and script."""
    folder = files("pliant.comparison")
    style, script = (folder.joinpath(n).read_text("utf-8") for n in ("style.css", "script.js"))
    allowed = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{allowed[0]}'; "
        f"script-src 'sha256-{allowed[1]}'; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Markup(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    kicker = tag("p", "pliant compare", class_="kicker")
    no_pictures = None if can_draw() else tag("p", NO_MATPLOTLIB, class_="notice")
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#results", class_="skip"),
        tag("header", kicker, tag("h1", tag("bdi", title)), opening, no_pictures),
        tag("nav", links, class_="contents", aria_label="Contents"),
        tag("main", content, id="results", tabindex=-1),
        tag("footer", tag("p", f"Made by pliant {__version__}. This file needs no network.")),
        tag("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"
