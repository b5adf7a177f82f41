"""The page: *paper / measured*, and what was measured besides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.document import Document
from papers.large.measuring import MEASURED
from papers.large.printed import MEASURED_AS, cells
from papers.large.protocol import LargeProtocol
from papers.large.rank import LEAST
from papers.rendering import left_out, provenance
from pliant.comparison import LATER, Column, Score, markdown_table
from pliant.comparison.rendering import Cell

__all__ = ["page"]

TITLE = "DANK, Table 4: large sets"

ABSENT = "not at hand"

NONE = "–"


def page(document: Document, protocol: LargeProtocol, contestants: Sequence[Any]) -> str:
    """Return the page of the study."""
    found = {(r["set"], r["contestant"]): r for r in document["results"]}
    parts = [
        f"# {TITLE}\n",
        _protocol_note(document, contestants),
        left_out(protocol.names, document),
        "## Accuracy in per cent, and the rank of F\n",
        _BESIDE,
        _table("accuracy", found, protocol),
        "## Seconds of training\n",
        _SECONDS,
        _table("seconds", found, protocol),
        "## What was measured besides\n",
        _BESIDES,
        _besides(found, document, contestants),
        "## Notes\n",
        _notes(document, protocol),
        provenance(document),
    ]
    return "\n".join(part for part in parts if part)


_BESIDE = (
    "Paper / measured; measured is mean ± standard deviation over the splits. DANK predicts new "
    "points by reciprocal nearest neighbours, as in the paper but ranked among the training "
    "points; decomposed by the whole expansion, as in the paper. The rank of the exact F is that "
    f"of the threshold rule; decomposed, tau is 0, and the eigenvalues above {LEAST:g} are "
    "counted, which tau = .01 would keep, in the F of each part. The paper does not say how it "
    f"counts. *{LATER}*: a method of the paper that is not built yet; *{ABSENT}*: a set that is "
    "not; ×: out of memory.\n"
)

_SECONDS = (
    "Paper / measured: median over the splits of the process time of one thread, on a machine "
    "with other work. The paper's are from MATLAB on a 2.3 GHz processor.\n"
)

_BESIDES = (
    "Accuracy by the paper's rule, by the smooth rule (the default), and by the expansion of the "
    "point's own part alone with the smooth rule (the default of a decomposed machine); rank as "
    "above; support points; relative gap of the problem that was solved (decomposed: the block "
    "problem); median seconds.\n"
)


def _protocol_note(document: Document, contestants: Sequence[Any]) -> str:
    who = "; ".join(f"*{each.title}*: {each.words()}" for each in contestants)
    return (
        f"{document['repeats']} random halves for training and testing, stratified. C and gamma "
        f"are those of the paper's Table 3. {who}.\n"
    )


def _table(quantity: str, found: dict[Any, Any], protocol: LargeProtocol) -> str:
    rows = []
    for printed, row in cells()[quantity].items():
        for name in [s.name for s in protocol.sets if s.printed == printed] or [""]:
            beside = {
                method: f"{said} / {_measured(quantity, name, method, found)}"
                for method, said in row.items()
            }
            rows.append({"set": name or printed, **beside})
    return markdown_table(rows)


def _measured(quantity: str, name: str, method: str, found: dict[Any, Any]) -> str:
    if method not in MEASURED_AS:
        return LATER
    if not name:
        return ABSENT
    if (name, MEASURED_AS[method]) not in found:
        return NONE
    numbers = found[name, MEASURED_AS[method]]["variants"][MEASURED]
    if quantity == "seconds":
        return f"{np.median(numbers['fit_seconds']):.2g}"
    rank = f" ({np.mean(numbers['rank']):.0f})" if "rank" in numbers else ""
    return _spread(numbers["test"]) + rank


def _spread(values: Sequence[float]) -> str:
    score = Score.of(values)
    return f"{score.mean:.1f}" + ("" if score.std is None else f"±{score.std:.1f}")


def _besides(found: dict[Any, Any], document: Document, contestants: Sequence[Any]) -> str:
    rows = []
    for name in document["sets"]:
        for each in contestants:
            if (name, each.name) in found:
                numbers = found[name, each.name]["variants"][MEASURED]
                rows.append({"set": name, "machine": each.title} | _row(numbers))
    columns = [Column("set"), Column("machine")]
    columns += [Column(key, title, digits) for key, title, digits in _COLUMNS]
    return markdown_table(rows, columns)


_COLUMNS = (
    ("test", "paper's rule", 2),
    ("smooth", "smooth", 2),
    ("by parts", "by parts", 2),
    ("rank", "rank", 0),
    ("support", "support", 0),
    ("gap", "gap", 0),
    ("fit_seconds", "seconds", 2),
)


def _row(numbers: dict[str, list[Any]]) -> dict[str, Cell]:
    row: dict[str, Cell] = {}
    for key in ("test", "smooth", "by parts"):
        if key in numbers:
            row[key] = Score.of(numbers[key])
    for key in ("rank", "support"):
        if None not in numbers.get(key, [None]):
            row[key] = float(np.mean(numbers[key]))
    if "gap" in numbers:
        row["gap"] = f"{max(numbers['gap']):.0e}"
    return row | {"fit_seconds": float(np.median(numbers["fit_seconds"]))}


def _notes(document: Document, protocol: LargeProtocol) -> str:
    lines = []
    for each in protocol.sets:
        groups = [r for r in document["results"] if r["set"] == each.name]
        if not groups:
            continue
        rows = f"{groups[0]['n_train']} rows to learn from and {groups[0]['n_test']} to predict"
        early = sum(sum(r["unconverged"]) for r in groups)
        said = f"; {early} solves ended before their tolerance was reached" if early else ""
        lines.append(f"* {each.name}: {rows}; {each.note}{said}.\n")
    return "".join(lines) + "* covtype: no copy of it is at hand.\n"
