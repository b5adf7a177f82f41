"""The first paragraph of each page: what was found, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from papers.side_information.peer import DIMENSIONS, variant
from papers.side_information.printed import Cells, printed_mean
from papers.side_information.results import Results
from pliant.comparison import wilcoxon_test
from pliant.core.typing import Array

__all__ = ["LEVEL", "compared", "embedded", "kernels", "verdict"]

LEVEL = 0.05

OURS, PLAIN = "scg-ldk", "gaussian"

DEGENERATE = (
    "As published, SCG-OSK gives all weight to an eigenvector that is constant on a component of "
    "the graph, since its loss hardly sees it: the machine falls to the largest class, "
    "{published:.1f} % on average; without these eigenvectors it has {dropped:.1f} %."
)


def verdict(first: Sequence[float] | Array, second: Sequence[float] | Array) -> str:
    """Say whether the means over the sets differ, by Wilcoxon's test."""
    test = wilcoxon_test(first, second)
    found = "a difference" if test.p_value < LEVEL else "no difference"
    return f"{found} beyond chance over the sets (Wilcoxon's p = {test.p_value:.3g})"


def compared(results: Results, cells: Cells) -> str:
    """Compare SCG-LDK with the plain machine, here and in the paper."""
    if not {OURS, PLAIN} <= set(results.titles) or len(results.sets) < 2:
        return ""
    ours, plain = results.means([OURS, PLAIN]).T
    paper = [np.mean([printed_mean(cells[name][m]) for name in results.sets])
             for m in ("SCG-LDK", "Gaussian")]  # fmt: skip
    said = (
        f"Over the {len(ours)} sets, on the divisions that both were measured on, SCG-LDK has "
        f"{ours.mean():.2f} % and the plain Gaussian kernel {plain.mean():.2f} %: "
        f"{verdict(ours, plain)}. The paper has {paper[0]:.2f} and {paper[1]:.2f} % on the same "
        "sets."
    )
    return f"{said} {_degenerate(results)}".strip() + "\n"


def _degenerate(results: Results) -> str:
    if not {"scg-osk", "scg-osk-published"} <= set(results.titles):
        return ""
    dropped, published = results.means(["scg-osk", "scg-osk-published"]).mean(axis=0)
    return DEGENERATE.format(dropped=dropped, published=published)


def kernels(results: Results) -> str:
    """Say which base kernel KernelEmbedding chose, how often."""
    found = []
    for name in results.sets:
        for d in DIMENSIONS:
            names = Counter(results.chosen(name, OURS, "kernel", variant(d)))
            counts = ", ".join(f"{kernel} {count}" for kernel, count in names.most_common())
            found.append(f"{name}, {variant(d)}: {counts}")
    return f"The base kernel that it chose, and in how many divisions: {'; '.join(found)}.\n"


def embedded(results: Results, reference: str) -> str:
    """Say which embedding leads, in each set and number of dimensions."""
    contestants = [who for who in results.titles if who != reference]
    leaders = []
    for k, name in enumerate(results.sets):
        for d in DIMENSIONS:
            means = results.means(contestants, variant(d))[k]
            first, second = np.argsort(-means, kind="stable")[:2]
            leaders.append(
                f"{name}, {variant(d)}: {results.titles[contestants[first]]} {means[first]:.1f} % "
                f"before {results.titles[contestants[second]]} {means[second]:.1f} %"
            )
    return f"First and second by the mean: {'; '.join(leaders)}.\n"
