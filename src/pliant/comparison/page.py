"""The page of a comparison: one HTML file, its sections in order, and what it may load."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import TypeAlias

from pliant._version import __version__
from pliant.comparison.across import across
from pliant.comparison.markup import Content, Markup, clean, joined, tag
from pliant.comparison.page_tables import View, costs, leaderboard, over_tables
from pliant.comparison.pictures import Picture, can_draw, pictures_of, ranks_picture
from pliant.comparison.result import ComparisonResult
from pliant.comparison.sentences import missing_of, sentence, warnings_of
from pliant.comparison.text import known, seconds
from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import count, listed, printable

CLASSES_NAMED = 6
"""Classes that are named at most; others are counted."""

MOST_TEXTS = 12
"""Different warnings or errors of a method at most."""

ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
"""Characters that could end a script element, and their escapes."""

NO_MATPLOTLIB = "There are no pictures without matplotlib: pip install 'pliant[plots]'."

Pictures: TypeAlias = dict[str, list[Picture]]


def report_html(results: Sequence[ComparisonResult]) -> str:
    """Return the page of one comparison, or of several on different tables, as HTML.

    It loads nothing, is readable without JavaScript, and its policy lets no text from the results
    run or load anything. A result that was read from plain data has no pictures that need a fit.
    """
    if not results:
        raise ValueError("expected at least one result to report, got none")
    views = [View(results[0])]
    if len(results) > 1:
        views = [View(result, f"table-{n}-", 3) for n, result in enumerate(results, 1)]
    written = [_written_parts(view) for view in views]
    if len(views) == 1:
        title = f"{results[0].sample['name']}: methods compared"
        links = _links(views[0], written[0])
        return _document(title, _opening(views[0]), links, [part[2] for part in written[0]])
    names = [(view.ident("top"), view.result.sample["name"]) for view in views]
    links = tag("ul", [_link(*each) for each in [("all-tables", "Over all tables"), *names]])
    sections = [_table_section(view, parts) for view, parts in zip(views, written, strict=True)]
    title = f"Methods compared on {count(len(results), 'table')}"
    return _document(title, None, links, [_over_all_tables(views), *sections])


def write_report(results: Sequence[ComparisonResult], path: str | os.PathLike[str]) -> None:
    """Write the report of one comparison, or of several, to a file.

    Parameters
    ----------
    results : sequence of ComparisonResult
        As for `report_html`.
    path : path-like
        The file to make or to replace; it appears whole or not at all.

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
    result = view.result
    beware = [text[0].upper() + text[1:] + "." for text in warnings_of(result)]
    claim = sentence(result).removesuffix(" ".join(beware)).strip()
    warned = tag("ul", [tag("li", text) for text in beware], class_="notice") if beware else None
    return joined(
        _pairs(_facts(result), "facts"),
        tag("p", claim, class_="verdict"),
        warned,
    )


def _pairs(pairs: Iterable[tuple[str, str]], look: str) -> Markup:
    items = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", items, class_=look)


def _facts(result: ComparisonResult) -> Iterator[tuple[str, str]]:
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


def _leaderboard(view: View, pictures: Pictures) -> Content:
    missing = [tag("li", text) for text in missing_of(view.result)]
    return leaderboard(view), tag("ul", missing, class_="prose missing") if missing else None


def _weights(view: View, pictures: Pictures) -> Content:
    if not view.weights:
        return None
    if view.members:
        return _gallery(pictures.get("weights"))
    (title,) = (s.method.title for s in view.ranked if s.method.name == view.result.best)
    return tag("p", f"{title} has all the weight, so it is used alone.")


def _gallery(pictures: Sequence[Picture] | None) -> Markup | None:
    shown = [_picture(each) for each in pictures or ()]
    return tag("div", shown, class_="gallery") if shown else None


def _picture(picture: Picture) -> Markup:
    source = Markup(f"data:image/png;base64,{picture.png}")
    size = {"width": picture.width, "height": picture.height}
    image = tag("img", src=source, alt=picture.alt, **size)
    return tag("figure", image, tag("figcaption", picture.title), class_="card picture")


def _messages(view: View, pictures: Pictures) -> Content:
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


def _protocol(view: View, pictures: Pictures) -> Content:
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


def _environment(view: View, pictures: Pictures) -> Content:
    versions = view.result.environment.items()
    return _pairs(versions, "facts small") if versions else None


def _again(view: View, pictures: Pictures) -> Content:
    """Write the command, and the scores of all folds as JSON inside the page."""
    command = view.result.command
    if command:
        spaced = printable(command, 20_000)  # with its spaces, and longer than other texts may be
        shown = tag("pre", tag("code", spaced), class_="command", tabindex=0)
    else:
        shown = tag("p", "This comparison was made in Python, by pliant.compare.")
    rows = [
        {
            **{name: record[name] for name in ("method", "repeat", "fold")},
            **{name: v if known(v) else None for name, v in record["scores"].items()},
        }
        for record in view.result.records
    ]
    data = {"table": clean(view.result.sample["name"]), "scores": rows}
    return shown, json_block(data, view.ident("scores"))


def json_block(data: object, ident: str) -> Markup:
    """Write data as a script element that holds JSON and that no text inside can leave."""
    written = json.dumps(data, allow_nan=False).translate(ESCAPES)
    return tag("script", Markup(written), type="application/json", id=ident, class_="scores")


PARTS: tuple[tuple[str, str, str, Callable[[View, Pictures], Content]], ...] = (
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
        lambda view, pictures: _gallery(pictures.get("predictions")),
    ),
    (
        "importance",
        "What matters",
        "Of the model to use, learned from the training rows of the first fold.",
        lambda view, pictures: _gallery(pictures.get("importance")),
    ),
    (
        "costs",
        "Costs and settings",
        "A certified gap is proved by the solver: no solution of the training problem is better by "
        "more than this share of its objective.",
        lambda view, pictures: costs(view),
    ),
    ("messages", "Warnings and errors", "Each text once, with its number of folds.", _messages),
    ("protocol", "How it was measured", "", _protocol),
    ("environment", "Environment", "", _environment),
    ("again", "Repeat it", "The same command on the same table gives the same scores.", _again),
)
"""The sections of a result in order: key, title, hint, and the function that writes it."""

Written: TypeAlias = list[tuple[str, str, Markup]]
"""The sections of a result that are not empty: key, title, section."""


def _written_parts(view: View) -> Written:
    """Write the sections of a result; those that have nothing to show are left out."""
    pictures = pictures_of(view.result)
    written = []
    for key, title, hint, write in PARTS:
        content = write(view, pictures)
        if content is not None:
            ident = view.ident(key)
            heading = tag(f"h{view.level}", title, id=ident)
            said = tag("p", hint, class_="hint") if hint else None
            written.append(
                (key, title, tag("section", heading, said, content, aria_labelledby=ident))
            )
    return written


def _links(view: View, parts: Written) -> Markup:
    return tag("ul", [_link(view.ident(key), title) for key, title, _ in parts])


def _link(ident: str, title: str) -> Markup:
    return tag("li", tag("a", title, href=f"#{ident}"))


def _table_section(view: View, parts: Written) -> Markup:
    """Write all of one result among several."""
    ident, name = view.ident("top"), view.result.sample["name"]
    links = tag("nav", _links(view, parts), class_="contents", aria_label=f"Parts of {name}")
    title = tag("h2", tag("bdi", name), id=ident)
    inside = (title, _opening(view), links, [part[2] for part in parts])
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
    content = (*opening, over_tables(views, ranking))
    title = tag("h2", "Over all tables", id="all-tables")
    return tag("section", title, content, aria_labelledby="all-tables")


def _document(title: str, opening: Content, links: Markup, content: Content) -> str:
    """Return a document that can load and run nothing but its own style and script."""
    style, script = _resource("style.css"), _resource("script.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
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


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _resource(name: str) -> str:
    return files("pliant.comparison").joinpath(name).read_text(encoding="utf-8")
