"""The protocol in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.comparison.protocol import DEFAULT, SAMPLED
from pliant.comparison.record import called
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.view import View
from pliant.comparison.text import seconds
from pliant.core.text import count, listed


def protocol_in_words(view: View) -> Markup:
    """Describe how rows were split, settings chosen, scores and differences measured."""
    return tag("ul", [tag("li", sentence) for sentence in _sentences(view)], class_="prose")


def _sentences(view: View) -> Iterator[str]:
    yield from _folds(view)
    yield from _common(view)
    yield _search(view)
    yield (
        "Missing values, scaling and the coding of texts were learned from training rows as well, "
        "fold by fold."
    )
    yield from _numbers(view)
    yield from _budget(view)


def _folds(view: View) -> Iterator[str]:
    protocol, sample = view.result.protocol, view.result.sample
    if sample.get("ordered"):
        yield (
            f"Rows are in the order of time. Each of {count(protocol.folds, 'test')} was on rows "
            "later than all rows that its model had learned from."
        )
        return
    times = "twice" if protocol.repeats == 2 else f"{protocol.repeats} times"
    again = "" if protocol.repeats == 1 else f" This was done {times}, with new parts."
    yield (
        f"The rows were split into {count(protocol.folds, 'part')} (folds). Each part was "
        f"predicted by a model that had learned from the others only.{again} All methods had the "
        "same parts."
    )
    if sample.get("groups"):
        yield "Rows of one group were never both learned from and tested on."
    elif not view.regression:
        yield "Each part has nearly the same share of every class."


def _common(view: View) -> Iterator[str]:
    """Say on which folds methods are ranked, and with which settings."""
    ranked = view.ranked
    if not ranked:
        return
    if ranked[0].folds < ranked[0].planned:
        yield (
            f"Ranks and tests rest on the {count(ranked[0].folds, 'fold')} that all ranked methods "
            f"have finished, of {ranked[0].planned}."
        )
    if ranked[0].stage == SAMPLED:
        rows = next(iter(view.ranked_records(ranked[0].method.name)))["rows"]["train"]
        yield (
            f"There was no time to learn from all training rows: all methods learned from the same "
            f"{count(rows, 'row')}, drawn at random."
        )
        return
    default = [each.method.title for each in ranked if each.stage == DEFAULT]
    if default:
        yield (
            f"{listed(default, len(default))}: default settings, because there is nothing to "
            "search, because they were behind after a first searched fold, or for lack of time."
        )


def _search(view: View) -> str:
    protocol = view.result.protocol
    inner = f"{protocol.inner_folds or '5 (from 1000 rows on 3)'} parts of their own"
    return (
        "Searched settings were chosen by "
        f"{view.metric.title} inside the training rows, split into {inner}, among at most "
        f"{count(protocol.candidates, 'candidate')} and on at most "
        f"{count(protocol.search_rows, 'row')}. So the settings do not depend on the test rows: "
        "this is nested cross-validation."
    )


def _numbers(view: View) -> Iterator[str]:
    yield (
        "A score is the mean over test folds. Its ± is the standard error, widened because the "
        "folds share training rows (Nadeau and Bengio)."
    )
    if view.reference is not None:
        entry = view.reference.method
        rival = called(entry.name, entry.title)
        yield (
            f"Each ranked method was compared with {rival} on these folds. p is how often equal "
            "methods would differ this much, corrected for the "
            "number of methods (Holm); below 0.05 a difference is called significant."
        )


def _budget(view: View) -> Iterator[str]:
    budget = view.result.budget
    cut = [entry.title for entry in view.result.methods if entry.status == "cut"]
    if budget is None:
        yield "There was no limit of time."
    else:
        end = f"; {listed(cut)} could not finish all folds" if cut else ""
        yield f"The limit of time was {seconds(budget)}{end}."
