"""Results as short text for a terminal of 80 columns."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pliant.comparison import Score, TextColumn, text_table
from pliant.comparison.text import share_text
from pliant.core.text import listed, printable, quoted

WIDTH = 79
LARGEST = 5
"""Shares listed at most."""

LEAST = 0.01
"""Correlated features are listed if one of them has at least this share."""

OWN_FACTS = {
    "eta": "eta",
    "rank of P": "rank",
    "parts": "parts",
    "members": "members",
    "held-out score": "held_out_score",
}
"""Further facts of a function: how they are printed, and their keys."""

KERNEL_FACTS = {
    "strength": "strength",
    "alignment": "alignment",
    "eigenvectors": "eigenvectors",
    "parts of the graph": "graph_parts",
    "pairs": "pairs",
    "kernel objective": "objective",
}
"""Facts of a learned kernel: how they are printed, and their keys."""

Fact: TypeAlias = tuple[str, str]
"""The name of a fact, and the fact."""


def fit_report(result: Mapping[str, Any]) -> str:
    """Return the result of `pliant.cli.fit.train` as text."""
    blocks = [_headline(result), _score_table(result), _model_facts(result), _ending(result)]
    return "\n\n".join(block for block in blocks if block)


def _headline(result: Mapping[str, Any]) -> str:
    """Return the method, the task and the size of the table."""
    data = result["data"]
    classes = "" if data["classes"] is None else f", {len(data['classes'])} classes"
    size = f"{data['rows']} rows, {data['features']} features{classes}"
    return f"{result['method']}: {data['task']} of {quoted(data['target'], 30)}, {size}"


def _score_table(result: Mapping[str, Any]) -> str:
    """Return the cross-validated scores, one below the other."""
    cv = result["cross_validation"]
    if cv is None:
        return ""
    title = f"{cv['folds']} folds" + (", tuned in each" if result["tuned"] else "")
    rows = [{"name": n, "score": Score(s["mean"], s["std"])} for n, s in cv["scores"].items()]
    return text_table(
        rows, (TextColumn("name", title), TextColumn("score", "mean ± spread", 4))
    ).rstrip()


def _model_facts(result: Mapping[str, Any]) -> str:
    """Return the facts of the fit on all rows."""
    fit = result["fit"]
    chosen = [
        (name, f"{number(value)} (chosen)") for name, value in (result["tuned"] or {}).items()
    ]
    learned = [*kernel_facts(fit["kernel"]), *function_facts(fit["n_support"], fit["functions"])]
    return facts([*chosen, *learned, ("time", f"{fit['seconds']:.3g} s for this fit")])


def _ending(result: Mapping[str, Any]) -> str:
    """Return the model file and the next step."""
    if result["model_file"] is None:
        return "The model was not kept: add --out MODEL to save it."
    path = word(result["model_file"])
    return f"Saved {path}\nNext: {program()} predict {path} TABLE --out predictions.csv"


def kernel_facts(kernel: Mapping[str, Any]) -> list[Fact]:
    """Return the facts of a learned kernel: from labels, or a sum; none for other estimators."""
    if not kernel:
        return []
    if "weights" in kernel:
        return _weight_facts(kernel)
    known = [(name, number(kernel[key])) for name, key in KERNEL_FACTS.items() if key in kernel]
    rows, labels = kernel["rows"], kernel["labelled"]
    some = "" if labels == rows else f", {labels} of them labelled"
    printed = [("kernel from", f"{rows} rows{some}"), *known]
    if "bounds" in kernel:
        similar, dissimilar = map(number, kernel["bounds"])
        bounds = f"<= {similar} for the same class, >= {dissimilar} for different ones"
        printed.append(("distances", f"squared: {bounds}"))
        printed.append(("kernel gap", gap_text(kernel["kernel_gap"])))
    return printed


def _weight_facts(kernel: Mapping[str, Any]) -> list[Fact]:
    """Return how many kernels have weight, and the largest weights."""
    weights, sets = kernel["weights"], kernel["sets"]
    mean = f"; mean over {sets} pairs of classes" if sets > 1 else ""
    printed = [("kernels", f"{len(weights)} of {kernel['kernels']} have weight{mean}")]
    if len(set(weights.values())) == 1 and len(weights) > 1:
        return [*printed, ("each weight", number(next(iter(weights.values()))))]
    largest = sorted(weights.items(), key=lambda pair: -abs(pair[1]))
    shown = [f"{quoted(name, 60)} {weight:.2g}" for name, weight in largest]
    return [*printed, ("weights", listed(shown, LARGEST))]


def function_facts(n_support: int | None, functions: Sequence[Mapping[str, Any]]) -> list[Fact]:
    """Return the facts of a fitted estimator, from those of its functions."""
    rows = f"{n_support} training rows"
    support = [] if n_support is None else [("support points", rows)]
    if len(functions) > 1:
        gap = max((part["relative_gap"] for part in functions), key=_uncertain)
        pairs = ("functions", f"{len(functions)}, one for each pair of classes")
        shared = all("mean_objective" in part for part in functions)
        where = "of their mean objective" if shared else "in each"
        gaps = f"relative, {where}: {gap_text(gap)}" + _of_parts(functions)
        return [*support, pairs, ("certified gap", gaps)]
    (part,) = functions
    own = [(name, number(part[key])) for name, key in OWN_FACTS.items() if key in part]
    return [*support, *_certificate(part), *own, *_relevance(part)]


def _certificate(part: Mapping[str, Any]) -> list[Fact]:
    """Return the objective with its certified gap; nothing where none is certified."""
    if "gap" not in part:
        return []
    gap = f"{gap_text(part['gap'])} (relative: {gap_text(part['relative_gap'])})"
    gap += _of_parts([part])
    return [("objective", number(part["objective"], 7)), ("certified gap", gap)]


def _of_parts(functions: Sequence[Mapping[str, Any]]) -> str:
    """Return a note where the gap is the sum over parts and not that of the whole problem."""
    return ", of the parts by themselves" if any("parts" in each for each in functions) else ""


def _relevance(part: Mapping[str, Any]) -> list[Fact]:
    """Return the most relevant features, and which of them are correlated with which."""
    if "relevance" not in part:
        return []
    largest = sorted(part["relevance"].items(), key=lambda pair: -pair[1])[:LARGEST]
    spreads = part["relevance_spread"]
    shares = [f"{quoted(name, 40)} {share_text(share, spreads[name])}" for name, share in largest]
    top = {name for name, share in largest if share >= LEAST}
    pairs = [f"{quoted(a, 40)} with {quoted(b, 40)}" for a, b in part["correlated"] if top & {a, b}]
    note = f"{listed(pairs, LARGEST)}: either may have the relevance of both"
    correlated = [("correlated", note)] if pairs else []
    return [("most relevant", ", ".join(shares)), *correlated]


def _uncertain(gap: float) -> float:
    """Order gaps; one that is not known comes last."""
    return math.inf if math.isnan(gap) else gap


def gap_text(gap: float) -> str:
    """Return a gap as a bound, or say that there is none."""
    return "not known" if math.isnan(gap) else f"<= {gap:.2g}"


def score_text(mean: float, std: float) -> str:
    """Return a score with its spread."""
    return f"{mean:.4f} ± {std:.4f}"


def number(value: object, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, and anything else as text."""
    return f"{value:.{digits}g}" if isinstance(value, float) else printable(value)


def paragraph(text: str) -> str:
    """Return a text broken into lines."""
    return "\n".join(_wrapped(text, WIDTH))


def facts(pairs: Iterable[Fact]) -> str:
    """Return facts as lines: what each is called, then what it is, wrapped beside it."""
    known = list(pairs)
    indent = 2 + max(len(name) for name, _ in known)
    lines = []
    for name, value in known:
        first, *others = _wrapped(value, WIDTH - indent) or [""]
        lines.append(f"{name:<{indent}}{first}".rstrip())
        lines.extend(" " * indent + other for other in others)
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines that break between words."""
    return textwrap.wrap(text, max(width, 20), break_on_hyphens=False)


def program() -> str:
    """Return what to type for ``pliant`` here: it may lie in an environment off the path."""
    script = Path(sys.argv[0])
    off_path = script.stem == "pliant" and not shutil.which("pliant")
    return word(script) if off_path else "pliant"


def word(path: object) -> str:
    """Return a file name as it can be typed in a command."""
    text = printable(path, 200)
    return f'"{text}"' if " " in text else text
