"""The parts that all pages share: cells, marks, what holds for all tables, and where it ran."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.contestants import CONTESTANTS
from papers.document import Document
from papers.printed import Printed
from papers.scores import Scores, Way
from papers.sets import SETS
from pliant.comparison import LATER, Score

__all__ = [
    "beside",
    "digits",
    "left_out",
    "mark",
    "named",
    "p_text",
    "protocol_note",
    "provenance",
    "set_notes",
    "words",
]

BETTER, WORSE = "•", "∘"


def digits(scores: Scores, name: str) -> int:
    """Return the decimals of a set's scores: one for per cent, three for 1 - R2."""
    return 1 if name in scores.sets("classification") else 3


def mark(side: int) -> str:
    """Return the sign of a difference beyond chance."""
    return {1: BETTER, -1: WORSE, 0: ""}[side]


def named(way: Way) -> dict[str, str]:
    """Return a way's method, eta and rule in words."""
    eta, _, rule = way.variant.partition("/")
    return {"method": CONTESTANTS[way.contestant].title, "eta": eta, "rule": rule}


def words(way: Way) -> str:
    """Return a way in words, such as ``KNPL, eta tuned, rule nearest``."""
    return "{method}, eta {eta}, rule {rule}".format_map(named(way))


def p_text(value: float | None) -> str:
    """Return a p-value as text; n/a where there is no test."""
    return "n/a" if value is None else f"{value:.3f}"


def beside(
    printed: Printed, scores: Scores, name: str, measured: tuple[Way, str] | None, reference: Way
) -> str:
    """Return the cell *paper / measured*."""
    if measured is None:
        return f"{printed.text} / {LATER}"
    way, part = measured
    side = scores.side(name, way, reference) if part == "test" and way != reference else 0
    score = scores.score(name, way, part)
    measured_text = _text(score, digits(scores, name)) + _rank(scores, name, way)
    return f"{printed.text} / {measured_text}{mark(side)}"


def _text(score: Score, decimals: int) -> str:
    spread = "" if score.std is None else f"±{score.std:.{decimals}f}"
    return f"{score.mean:.{decimals}f}{spread}"


def _rank(scores: Scores, name: str, way: Way) -> str:
    """Return the mean rank of F in brackets, where it was counted."""
    ranks = scores.result(name, way.contestant)["variants"][way.variant].get("rank")
    return "" if ranks is None else f" ({np.mean(ranks):.0f})"


def protocol_note(study: Document) -> str:
    """Say how all contestants were measured."""
    held = study["protocol"]
    low, high = min(held["powers"]), max(held["powers"])
    scales = ", ".join(f"{scale:g}" for scale in sorted(held["eta_scales"]))
    return (
        f"{study['repeats']} random halves for training and testing, stratified for classes; sets "
        "with a test file of their own use it. Features are scaled to [0, 1] by the training rows. "
        f"Each contestant chooses for itself by {held['folds']}-fold cross-validation on the "
        f"training rows: sigma and C from 2^{low}, ..., 2^{high}, with gamma = 1/(2 sigma^2). "
        "eta is |alpha|^2 of the plain SVM, as in the papers (*fixed*), or that times one of "
        f"{scales}, chosen together with sigma and C within one step of the best for eta as it is "
        "(*tuned*). The rule for new points is one of four, or chosen as "
        "well; *reciprocal* ranks a new point among the training points, where the DANK paper "
        "ranks it among the other new points. Of equal choices the widest kernel is taken, then "
        "the least C, then eta as it is. "
        f"Where there are more than {held['tuning_rows']} training rows, the choice is made on a "
        f"random {held['tuning_rows']} of them, and the machine then fitted to all. SVM-CV is "
        "scikit-learn's SVC or SVR on the Gaussian Gram matrix; regression frees errors of .1 "
        "standard deviations of the training target.\n"
    )


def set_notes(study: Document, scores: Scores) -> str:
    """Say what differs from set to set, as a list."""
    lines = [
        f"* {name}: {'; '.join(remarks)}."
        for name in scores.sets()
        if (remarks := _remarks(study, name))
    ]
    return "".join(f"{line}\n" for line in lines)


def _remarks(study: Document, name: str) -> list[str]:
    results = [r for r in study["results"] if r["set"] == name]
    most = study["protocol"]["tuning_rows"]
    remarks = [SETS[name].note] if SETS[name].note else []
    if (n_train := results[0]["n_train"]) > most:
        remarks.append(f"parameters chosen on {most} of {n_train} training rows")
    if early := sum(sum(r["unconverged"]) for r in results):
        remarks.append(f"{early} solves ended before their tolerance was reached")
    return remarks


def provenance(study: Document) -> str:
    """Say where and how long it ran."""
    machine = study["machine"]
    packages = ", ".join(f"{name} {v}" for name, v in machine["packages"].items() if v)
    minutes = sum(sum(r["seconds"]) for r in study["results"]) / 60
    return (
        f"{minutes:.0f} minutes of one core in all, one thread a measurement. {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, {machine['python']}, {packages}; "
        f"{study['date']}.\n"
    )


def left_out(rows: Sequence[str], study: Document) -> str:
    """Name the rows of the table that were not measured."""
    missing = [name for name in rows if name not in study["sets"]]
    return f"Not measured in this run: {', '.join(missing)}.\n" if missing else ""
