"""The HTML report of a comparison: one file without scripts or external resources.

`tag` sanitises all text on the page, and ElementTree escapes it.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeAlias, Union
from xml.etree.ElementTree import Element, tostring

from pliant._version import __version__
from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import count, listed, printable
from pliant.tables.comparison import sentences
from pliant.tables.comparison.outcome import Outcome, across
from pliant.tables.comparison.pictures import Picture, can_draw, pictures_of, ranks_picture
from pliant.tables.comparison.protocol import BLEND, Record
from pliant.tables.comparison.text import MISSING, bytes_of, fixed, gap, known, seconds

MOST_TEXTS = 12
"""Maximum number of distinct warnings, and of distinct errors, listed per method."""

SECTIONS = {
    "leaderboard": (
        "Leaderboard",
        "Mean scores on held-out rows, over the folds that all of these methods finished.",
    ),
    "weights": ("Weights of the blend", ""),
    "predictions": (
        "Predictions against truth",
        "Out-of-fold predictions of the recommended model.",
    ),
    "importance": (
        "What matters",
        "For the recommended model, fitted on the training rows of the first fold.",
    ),
    "history": (
        "What the budget bought",
        "The recommended model each time a method has finished its folds, scored on these folds.",
    ),
    "costs": ("Costs and settings", ""),
    "messages": ("Warnings and errors", "Each message is listed once, with the number of folds."),
    "protocol": ("How it was measured", ""),
    "environment": ("Environment", ""),
    "again": ("Repeat it", ""),
}
"""Title and hint of each section, in order."""

CERTIFIED = (
    "The gap is certified by the solver: no solution of the training problem improves the "
    "objective by more than this fraction."
)

Content: TypeAlias = Union[Element, str, float, "Iterable[Content]", None]
"""Content of an element; None is omitted."""


def clean(value: object) -> str:
    """Return text on one line, without control characters or bidirectional marks."""
    return printable(" ".join(str(value).split()), 2000)


def tag(name: str, /, *children: Content, **attributes: object) -> Element:
    """Return an HTML element.

    In attribute names, underscores become hyphens and a trailing underscore is dropped. Attributes
    with value None are omitted.
    """
    given = {key: clean(value) for key, value in attributes.items() if value is not None}
    element = Element(name, {k.rstrip("_").replace("_", "-"): v for k, v in given.items()})
    _append(element, children)
    return element


def _append(element: Element, content: Content) -> None:
    if isinstance(content, Element):
        element.append(content)
    elif isinstance(content, Iterable) and not isinstance(content, str):
        for child in content:
            _append(element, child)
    elif content is not None:
        text = str(content)  # keep a space at either end, which separates adjacent texts
        first, last = (" " if end.isspace() else "" for end in (text[:1], text[-1:]))
        text = f"{first}{clean(text)}{last}" if text.strip() else first
        if len(element):
            element[-1].tail = (element[-1].tail or "") + text
        else:
            element.text = (element.text or "") + text


def write_report(results: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write the report on one or several comparisons to a file, atomically."""
    written = report_html(results).encode()
    with replacing(path, TableError) as draft:
        draft.write_bytes(written)


def report_html(results: Sequence[Outcome]) -> str:
    """Return the HTML report on one or several comparisons."""
    if not results:
        raise ValueError("expected at least one result to report, got none")
    if len(results) == 1:
        (result,) = results
        sections = _sections(result, "", 2)
        links = _links((ident, title) for ident, title, _ in sections)
        title = f"{result.sample['name']}: methods compared"
        return _document(title, _opening(result), links, [section for _, _, section in sections])
    parts = [_table_part(result, f"table-{n}-") for n, result in enumerate(results, 1)]
    names = [(f"table-{n}-top", str(r.sample["name"])) for n, r in enumerate(results, 1)]
    links = _links([("all-tables", "Over all tables"), *names])
    title = f"Methods compared on {count(len(results), 'table')}"
    return _document(title, None, links, [_over_all_tables(results), *parts])


def _document(title: str, opening: Content, links: Element, content: Content) -> str:
    """Return an HTML document with a policy that forbids scripts and external resources."""
    style = files("pliant.tables.comparison").joinpath("style.css").read_text("utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        sheet := tag("style"),
    )
    sheet.text = style
    no_pictures = "The plots require matplotlib: pip install 'pliant[plots]'."
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#results", class_="skip"),
        tag(
            "header",
            tag("p", "pliant compare", class_="kicker"),
            tag("h1", tag("bdi", title)),
            opening,
            None if can_draw() else tag("p", no_pictures, class_="notice"),
        ),
        tag("nav", links, class_="contents", aria_label="Contents"),
        tag("main", content, id="results", tabindex=-1),
        tag("footer", tag("p", f"Made by pliant {__version__}. This file works offline.")),
    )
    page = tostring(tag("html", head, body, lang="en"), encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{page}\n"


def _links(parts: Iterable[tuple[str, str]]) -> Element:
    return tag("ul", [tag("li", tag("a", title, href=f"#{ident}")) for ident, title in parts])


def _opening(result: Outcome) -> Content:
    warned = [text[0].upper() + text[1:] + "." for text in sentences.warnings_of(result)]
    claim = sentences.sentence(result).removesuffix(" ".join(warned)).strip()
    notice = tag("ul", [tag("li", text) for text in warned], class_="notice") if warned else None
    return _pairs(_facts(result), "facts"), tag("p", claim, class_="verdict"), notice


def _pairs(pairs: Iterable[tuple[str, str]], look: str) -> Element:
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", items, class_=look)


def _facts(result: Outcome) -> Iterator[tuple[str, str]]:
    sample, classes = result.sample, result.sample.get("classes")
    yield "Rows", str(sample["rows"])
    coded = sample.get("categorical")
    yield "Columns", f"{sample['columns']}{f', {coded} of them categorical' if coded else ''}"
    kind = "a number"
    if classes:
        named = listed([str(each) for each in classes], 6)
        kind = f"{count(len(classes), 'class', 'classes')}: {named}"
    yield "Target", f"{sample['target']} ({kind})"
    yield "Missing values", _missing(sample)
    if sample.get("groups"):
        yield "Groups", str(sample["groups"])
    if sample.get("ordered"):
        yield "Order", "rows are ordered in time"
    better = "higher" if result.metric.higher_is_better else "lower"
    yield "Metric", f"{result.metric.title}, {better} is better"
    budget = "no limit" if result.budget is None else f"budget {seconds(result.budget)}"
    yield "Time", f"{seconds(result.seconds)} ({budget})"


def _missing(sample: Mapping[str, Any]) -> str:
    missing = sample["missing"]
    if not missing["cells"]:
        return "none"
    share = missing["cells"] / (sample["rows"] * sample["columns"])
    places = count(missing["columns"], "column")
    return f"{missing['cells']} ({share:.1%}), in {places}, at most {missing['largest']:.1%} of one"


def _sections(result: Outcome, prefix: str, level: int) -> list[tuple[str, str, Element]]:
    """Return the id, title and content of each non-empty section."""
    drawn = {name: _gallery(pictures) for name, pictures in pictures_of(result).items()}
    contents: dict[str, Content] = {
        "leaderboard": [_leaderboard(result), drawn.get("scores")],
        "weights": drawn.get("weights", _only_member(result)),
        "predictions": drawn.get("predictions"),
        "importance": drawn.get("importance"),
        "history": _history(result, drawn.get("history")),
        "costs": _costs(result),
        "messages": _messages(result),
        "protocol": _protocol(result),
        "environment": _pairs(result.environment.items(), "facts small"),
        "again": _command(result),
    }
    written = []
    for key, (title, hint) in SECTIONS.items():
        if (content := contents[key]) is not None:
            heading = tag(f"h{level}", title, id=f"{prefix}{key}")
            told = tag("p", hint, class_="hint") if hint else None
            section = tag("section", heading, told, content, aria_labelledby=f"{prefix}{key}")
            written.append((f"{prefix}{key}", title, section))
    return written


def _table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Content]], look: str = ""
) -> Element:
    """Return a scrollable table; the first cell of each row is a header."""
    heads = tag("thead", tag("tr", [tag("th", title, scope="col") for title in headings]))
    lines = [
        tag("tr", tag("th", first, scope="row"), [tag("td", cell) for cell in others])
        for first, *others in rows
    ]
    whole = tag("table", tag("caption", caption), heads, tag("tbody", lines), class_=look or None)
    return tag("div", whole, class_="scroll", role="group", aria_label=caption, tabindex=0)


def _gallery(pictures: Iterable[Picture]) -> Element:
    shown = []
    for each in pictures:
        image = tag("img", alt=each.title, width=each.width, height=each.height)
        image.set("src", f"data:image/png;base64,{each.png}")
        caption = tag("figcaption", each.title)
        shown.append(tag("figure", image, caption, class_="card picture"))
    return tag("div", shown, class_="gallery")


def _leaderboard(result: Outcome) -> Content:
    rows = sentences.leaderboard_rows(result, every_metric=True)
    missing = [tag("li", text) for text in sentences.missing_of(result)]
    lines = tag("ul", missing, class_="prose missing") if missing else None
    if not rows:
        return tag("p", "No method finished a fold."), lines
    headings = [key for key in rows[0] if any(row[key] for row in rows)]
    cells = [[row[key] for key in headings] for row in rows]
    caption = f"Scores on held-out rows, best {result.metric.title} first"
    note = tag("p", sentences.note_on_tests(result), class_="hint")
    return _table(caption, headings, cells, "leaderboard"), note, lines


def _only_member(result: Outcome) -> Element | None:
    """Return a note if a single method has all the weight, else None."""
    if len(result.weights) != 1:
        return None
    (title,) = (entry.title for entry in result.methods if entry.name == result.best)
    return tag("p", f"{title} has all the weight, so it is used alone.")


def _history(result: Outcome, curve: Element | None) -> Content:
    rows = sentences.history_rows(result)
    if not rows:
        return None
    cells = [list(row.values()) for row in rows]
    table = _table("Best model over time", list(rows[0]), cells, "history")
    return table, tag("p", sentences.next_steps(result)), curve


def _costs(result: Outcome) -> Content:
    shown = [each for each in result.standings() if each.folds]
    if not shown:
        return None
    times = ("search", "fit", "predict")
    columns: dict[str, list[Content]] = {
        "method": [each.method.title for each in shown],
        **{name: [seconds(each.seconds.get(name)) for each in shown] for name in times},
        "model size": [bytes_of(each.size_bytes) for each in shown],
    }
    if any(known(each.support) for each in shown):
        supports = (each.support for each in shown)
        columns["support points"] = [f"{n:g}" if known(n) else MISSING for n in supports]
    certified = any(known(each.gap) for each in shown)
    if certified:
        columns["largest gap"] = [gap(each.gap) for each in shown]
    columns["settings"] = [
        _settings([r for r in result.records if r["method"] == each.method.name]) for each in shown
    ]
    caption = "Medians over the folds, and the settings chosen most often"
    table = _table(caption, list(columns), list(zip(*columns.values(), strict=True)), "costs")
    return (tag("p", CERTIFIED, class_="hint") if certified else None), table


def _settings(records: Sequence[Record]) -> Content:
    chosen = Counter(
        ", ".join(f"{n} = {f'{v:.4g}' if isinstance(v, float) else v}" for n, v in settings.items())
        for record in records
        if (settings := record.get("chosen"))
    )
    if not chosen:
        return MISSING
    ((most, times),) = chosen.most_common(1)
    often = tag("span", f"{times} of {count(chosen.total(), 'fold')}", class_="note")
    return tag("code", most), often


def _messages(result: Outcome) -> Content:
    """List notes on the table, then errors and warnings by method; return None if empty."""
    told = sentences.warnings_of(result)
    notes = [tag("dd", note) for note in result.sample.get("notes") or () if note not in told]
    items = [tag("div", tag("dt", "The table"), notes)] if notes else []
    for entry in result.methods:
        mine = [record for record in result.records if record["method"] == entry.name]
        errors = Counter(error for record in mine if (error := record.get("error")))
        warned = Counter(text for record in mine for text in set(record.get("warnings") or ()))
        lines = [*_lines("Error", errors), *_lines("Warning", warned)]
        if lines:
            items.append(tag("div", tag("dt", entry.title), lines))
    return tag("dl", items, class_="messages") if items else None


def _lines(word: str, texts: Counter[str]) -> Iterator[Element]:
    for text, times in texts.most_common(MOST_TEXTS):
        often = tag("span", f"in {count(times, 'fold')}", class_="note")
        yield tag("dd", tag("strong", word, class_=word.lower()), " ", text, " ", often)
    if len(texts) > MOST_TEXTS:
        yield tag("dd", f"and {len(texts) - MOST_TEXTS} more", class_="note")


def _protocol(result: Outcome) -> Content:
    protocol, sample = result.protocol, result.sample
    again = f", up to {protocol.repeats} times" if protocol.repeats > 1 else ""
    folds = (
        f"The rows are split at random into {count(protocol.folds, 'fold')}{again} (seed "
        f"{protocol.seed}). Models are fitted on all folds except one, and predict that fold."
    )
    if sample.get("ordered"):
        folds = (
            f"Rows are ordered in time. In each of {count(protocol.folds, 'fold')}, no test row "
            "is earlier than a training row."
        )
    elif sample.get("groups"):
        folds += " Rows of the same group are in the same fold."
    texts = [
        f"{folds} All methods share the folds. Imputation, encoding, scaling and the search for "
        "settings (on inner folds) use training rows only, so test rows never influence a model.",
        "A 90 % interval is for the score on as many new rows as the table has, and accounts for "
        "training rows shared by folds (Nadeau and Bengio). p is the p-value of the corrected t "
        "test for equal mean scores, with Holm's adjustment for the number of methods.",
    ]
    if result.blend is not None:
        loss = "squared error" if result.blend.classes is None else "log loss"
        texts.append(
            "The blend is a weighted mean of predictions. Its weights are non-negative, sum to "
            f"one, and minimise the {loss} of held-out predictions. Its score on a fold uses "
            "weights learned from the other folds."
        )
    return [tag("p", text, class_="prose") for text in texts]


def _command(result: Outcome) -> Content:
    same = "gives the same scores"
    if result.budget is not None:
        same = "gives the same scores on the same folds; the time decides which folds are finished"
    if not result.command:
        return tag("p", f"This comparison was run in Python by pliant.compare; a repeat {same}.")
    code = tag("code")
    code.text = printable(result.command, 20_000)  # keep its spaces
    hint = f"Running the same command on the same table {same}."
    return tag("p", hint, class_="hint"), tag("pre", code, class_="command", tabindex=0)


def _table_part(result: Outcome, prefix: str) -> Element:
    ident, name, sections = f"{prefix}top", result.sample["name"], _sections(result, prefix, 3)
    links = _links((ident, title) for ident, title, _ in sections)
    contents = tag("nav", links, class_="contents", aria_label=f"Parts of {name}")
    title = tag("h2", tag("bdi", name), id=ident)
    inside = (title, _opening(result), contents, [section for _, _, section in sections])
    return tag("section", inside, aria_labelledby=ident, class_="table-part")


def _over_all_tables(results: Sequence[Outcome]) -> Element:
    titles = {entry.name: entry.title for result in results for entry in result.methods}
    ranks: dict[str, float] = {}
    try:
        ranking = across(results)
    except ValueError as reason:
        text = f"The methods cannot be ranked over all tables: {reason}."
        opening: list[Content] = [tag("p", text, class_="notice")]
    else:
        hint = (
            "Average rank over the tables; 1 is best. Methods whose bars do not overlap differ "
            "significantly."
        )
        opening = [tag("p", ranking.sentence(), class_="verdict"), tag("p", hint, class_="hint")]
        opening += [_gallery([picture]) if (picture := ranks_picture(ranking)) else None]
        lines = [f"{name} is not ranked: {reason}" for name, reason in ranking.left_out.items()]
        opening += [tag("p", line, class_="missing") for line in lines]
        names = [entry.name for entry in ranking.methods]
        ranks = dict(zip(names, ranking.ranks.tolist(), strict=True))
        titles = {name: titles[name] for name in (*names, *titles)}
    if any(result.best == BLEND for result in results):
        titles = {BLEND: "Blend", **titles}
    columns = []
    for result in results:
        places = [s for s in result.standings() if s.rank is not None]
        means = {s.method.name: s.mean for s in places} | {BLEND: result.expected.mean}
        columns.append([fixed(means.get(name), sentences.digits_of(places)) for name in titles])
    headings = [f"{result.sample['name']} ({result.metric.title})" for result in results]
    average = [fixed(ranks.get(name), 2) for name in titles]
    rows = zip(titles.values(), average, *columns, strict=True)
    scores = _table("Mean scores on held-out rows", ["method", "average rank", *headings], rows)
    title = tag("h2", "Over all tables", id="all-tables")
    return tag("section", title, opening, scores, aria_labelledby="all-tables")
