"""From lines of `benchmarks.mkl.speed` to one document, and to its page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.machine import describe_machine, load_average
from benchmarks.harness.report import computer, write_texts
from benchmarks.markdown import markdown_table
from benchmarks.mkl.candidates import SETS
from benchmarks.mkl.speed import GAPS, LIMIT, SVM_TOL, Line, latest
from benchmarks.tables.standings import geometric_mean
from pliant.comparison.report.rendering import Column

NAME = "mkl-speed"

PAIRS = [*((gap, "textbook", "pliant") for gap in GAPS), (SVM_TOL, "MKLpy", "pliant, easy")]
"""Tolerance, the other one, and pliant's."""

GOALS = {"textbook": 5.0, "MKLpy": 3.0}
"""The speed-up to reach, in the geometric mean."""

DIGITS = {"other (s)": 2, "its SVMs": 0, "pliant (s)": 2, "speed-up": 1, "goal": 0}

TEXT = f"""
The kernels of Rakotomamonjy et al. (2008) on five sets: Gaussians of ten bandwidths and polynomials
of degree 1 to 3, on all variables and on each one, scaled to unit trace; C = 100; 70 % of the rows
to learn from. All contestants get the same Gram matrices in float64. *textbook* is Algorithm 1 of
that paper in NumPy, around scikit-learn's SVC with a tolerance of a tenth of the gap
(benchmarks/mkl/simple_mkl.py); *pliant* is `MKLClassifier(weights="simple")`; both stop at the
relative duality gap in the table. *MKLpy* is its EasyMKL with an SVC on the weighted sum, *pliant,
easy* `MKLClassifier(weights="easy")`. Processor seconds of a fit on one thread, Gram matrices not
included, contestants in alternating order; a run is stopped at {LIMIT:.0f} s, counts as that, and
is marked with a star. The speed-up is the geometric mean of ratios paired within a split. The
excess is J at the weights over the largest lower bound of any contestant, less 1, both by an SVM
solved to 1e-8; the largest over the splits. It bounds the distance from the optimum.
"""

PAPER_TEXT = """
The protocol of the paper's Table 1: 20 random splits, relative gap 1e-2. Means and standard
deviations over the splits; gradients are the iterates at which all kernels were looked at. The
numbers that the paper prints are not beside them, because no source in which they can be read was
at hand; its fifth set is taken to be wdbc.
"""


def document(lines: Iterable[Line]) -> dict[str, Any]:
    """Return what JSON holds: the computer, the lines, and their summaries."""
    kept = sorted(latest(lines), key=lambda r: (list(SETS).index(r["table"]), r["tol"], r["seed"]))
    return {
        "format": 1,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "load_average": load_average(),
        "machine": describe_machine(),
        "differing_weights": _differing_weights(kept),
        "lines": [{k: v for k, v in line.items() if k != "weights"} for line in kept],
    }


def write(found: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write JSON and page into a folder; return their paths."""
    head = json.dumps({k: v for k, v in found.items() if k != "lines"}, indent=1)[:-2]
    body = ",\n".join(json.dumps(line, separators=(",", ":")) for line in found["lines"])
    texts = {
        folder / f"{NAME}.json": f'{head},\n "lines": [\n{body}\n ]\n}}\n',
        folder / f"{NAME}.md": to_markdown(found),
    }
    return write_texts(texts)


def pairs(lines: Sequence[Line], tol: float, other: str, ours: str) -> list[tuple[Line, Line]]:
    """Return the lines of two contestants on the same splits."""
    first, second = (
        {(r["table"], r["seed"]): r for r in lines if (r["contestant"], r["tol"]) == (name, tol)}
        for name in (other, ours)
    )
    return [(first[key], second[key]) for key in first if key in second]


def summary(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return a row for each tolerance and set; each set has the same weight in those over all."""
    rows: list[dict[str, Any]] = []
    for tol, other, ours in PAIRS:
        both = pairs(with_excess(lines), tol, other, ours)
        own = [
            _row(f"{tol:g}" if other == "textbook" else "", [p for p in both if p[0]["table"] == n])
            for n in SETS
            if any(n == theirs["table"] for theirs, _ in both)
        ]
        rows += [*own, *_over_all(own)]
        if tol == GAPS[-1]:
            rows += _over_all([row for row in rows if row["set"] != "all"], "both")
    return rows


def with_excess(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with J over the largest lower bound of their split, less 1."""
    lower: dict[tuple[str, int], float] = {}
    for line in lines:
        key = line["table"], line["seed"]
        lower[key] = max(lower.get(key, -np.inf), line["lower_bound"])
    return [
        {**r, "excess": max(0.0, r["objective"] / lower[r["table"], r["seed"]] - 1.0)}
        for r in lines
    ]  # fmt: skip


def _row(gap: str, both: Sequence[tuple[Line, Line]]) -> dict[str, Any]:
    """Return what two contestants need on the splits of a set."""
    theirs = [a for a, _ in both]
    ours = [b for _, b in both]
    stopped = sum(map(_stopped, theirs))
    return {
        "gap": gap,
        "set": theirs[0]["table"],
        "rows": theirs[0]["rows"],
        "kernels": theirs[0]["kernels"],
        "splits": len(both),
        "other": theirs[0]["contestant"],
        "other (s)": _mean(theirs, "seconds"),
        "stopped": f"{stopped}*" if stopped else "",
        "its SVMs": _mean(theirs, "svms"),
        "pliant (s)": _mean(ours, "seconds"),
        "speed-up": geometric_mean([_counted(a) / _counted(b) for a, b in both]),
        "goal": None,
        "its excess": f"{max(a['excess'] for a in theirs):.1e}" if gap else "",
        "pliant's excess": f"{max(b['excess'] for b in ours):.1e}" if gap else "",
    }


def _over_all(rows: Sequence[Mapping[str, Any]], gap: str | None = None) -> list[dict[str, Any]]:
    """Return the row of the geometric mean over sets; none of no rows."""
    if not rows:
        return []
    first, ratios = rows[0], [row["speed-up"] for row in rows]
    shown = {
        "gap": first["gap"] if gap is None else gap,
        "set": "all",
        "splits": sum(row["splits"] for row in rows),
        "other": first["other"],
        "speed-up": geometric_mean(ratios),
        "goal": GOALS[first["other"]],
    }
    return [dict.fromkeys(first) | shown]


def paper_rows(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the columns of the paper's table, for each set and contestant."""
    rows = []
    for name in SETS:
        for contestant in ("textbook", "pliant"):
            key = (name, GAPS[0], contestant)
            own = [r for r in lines if (r["table"], r["tol"], r["contestant"]) == key]
            if own:
                rows.append({
                    "set": name,
                    "rows": own[0]["rows"],
                    "kernels": own[0]["kernels"],
                    "contestant": contestant,
                    "splits": len(own),
                    "kernels selected": _spread([r["selected"] for r in own], 1),
                    "accuracy (%)": _spread([100.0 * r["accuracy"] for r in own], 1),
                    "time (s)": _spread([r["seconds"] for r in own], 2),
                    "gradients": _spread([r["gradients"] for r in own], 1),
                })  # fmt: skip
    return rows


def to_markdown(found: Mapping[str, Any]) -> str:
    """Render a document as a Markdown page."""
    lines = found["lines"]
    parts = ["# The weights of many kernels, beside a textbook SimpleMKL and MKLpy\n"]
    parts.append(" ".join(TEXT.split()) + "\n")
    if rows := summary(lines):
        columns = [Column(key, digits=DIGITS.get(key, 3)) for key in rows[0]]
        parts.append(markdown_table(rows, columns))
    if (difference := found["differing_weights"]) is not None:
        parts.append(
            f"The weights of both versions of EasyMKL differ by {difference:.1e} at most.\n"
        )
    if table := paper_rows(lines):
        parts += ["## The table of the 2008 paper\n", " ".join(PAPER_TEXT.split()) + "\n"]
        parts.append(markdown_table(table))
    return "\n".join([*parts, f"{computer(found)}\n"])


def _counted(line: Line) -> float:
    return LIMIT if _stopped(line) else float(line["seconds"])


def _stopped(line: Line) -> bool:
    return bool(line.get("stopped")) or line["seconds"] > LIMIT


def _mean(lines: Sequence[Line], key: str) -> float | None:
    values = [line[key] for line in lines if key in line]
    return float(np.mean(values)) if values else None


def _spread(values: Sequence[float], digits: int) -> str:
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def _differing_weights(lines: Sequence[Line]) -> float | None:
    both = pairs([r for r in lines if "weights" in r], SVM_TOL, "MKLpy", "pliant, easy")
    differences = [np.abs(np.subtract(a["weights"], b["weights"])).max() for a, b in both]
    return float(max(differences)) if differences else None
