"""What the study cost, and what TKL chose."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.accuracy.cells import paper, several, spread, titles_of
from papers.accuracy.printed import SECONDS
from papers.accuracy.study import TUNED
from papers.document import Document
from papers.scores import Scores
from pliant.comparison import Column, markdown_table
from pliant.comparison.rendering import Cell

__all__ = ["chosen", "times"]

TIMES = (
    "Seconds of the last fit, paper / measured, mean ± standard deviation over the splits; in "
    "brackets the mean seconds that the choice of the parameters took. One thread, on a machine "
    "with other work; the paper's are of an Intel i7-5960X.\n"
)

CHOSEN = (
    "For each split in turn, with the rank of P, the largest certified relative gap of the last "
    "fits, and how many of them ended before their tolerance.\n"
)


def times(study: Document, scores: Scores) -> list[str]:
    """The seconds of each contestant."""
    titles = titles_of(study)
    rows: list[dict[str, Cell]] = [
        {"set": name, "shape": _shape(scores, name, next(iter(titles)))}
        | {title: _seconds(scores, name, each) for each, title in titles.items()}
        for name in scores.sets()
    ]
    columns = [Column("set"), Column("shape", "train × d"), *map(Column, titles.values())]
    return ["## Time of training\n", TIMES, markdown_table(rows, columns)]


def _shape(scores: Scores, name: str, contestant: str) -> str:
    result = scores.result(name, contestant)
    return f"{result['n_train']} × {result['d']}"


def _seconds(scores: Scores, name: str, contestant: str) -> str:
    variant = _variant(scores, name, contestant)
    seconds = variant["fit_seconds"]
    measured = spread(seconds, 2 if np.mean(seconds) > 0.1 else 3)
    choice = float(np.mean(variant["tuning_seconds"]))
    return f"{paper(name, contestant, f' {SECONDS}')} / {measured} ({choice:.1f})"


def _variant(scores: Scores, name: str, contestant: str) -> dict[str, Any]:
    found: dict[str, Any] = scores.result(name, contestant)["variants"][TUNED]
    return found


def chosen(study: Document, scores: Scores) -> list[str]:
    """What the first contestant chose on each split, and how far its last fits went."""
    first, title = next(iter(titles_of(study).items()))
    rows = [_choices(name, _variant(scores, name, first)) for name in scores.sets()]
    return [f"## What {title} chose\n", CHOSEN, markdown_table(rows)]


def _choices(name: str, variant: dict[str, Any]) -> dict[str, Cell]:
    settings = variant["setting"]
    row: dict[str, Cell] = {"set": name}
    row |= {key: several([each[key] for each in settings]) for key in settings[0]}
    row |= {"rank": several(variant["rank"])} if "rank" in variant else {}
    row |= {"largest gap": f"{max(variant['gap']):.1e}"} if "gap" in variant else {}
    return row | {"early ends": f"{sum(variant['early'])} of {len(settings)}"}
