"""The page of the study of embeddings: accuracies in few dimensions, and what is gained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from papers import page as md
from papers.contestants.embeddings import DIMENSIONS, variant
from papers.data import text
from papers.results import Results, Way
from papers.study import Study
from pliant.comparison import Column, Score, average_ranks

GROUP = "scg"

OURS = "scg-ldk"

REFERENCE = "features"
"""The contestant that is no embedding, and has no rank."""


def embedding(study: Study, results: Results) -> Iterator[str]:
    """Return accuracies in few dimensions, and what is gained."""
    ranked = [who for who in results.titles if who != REFERENCE]
    leaders = []
    for k, name in enumerate(results.sets):
        for d in DIMENSIONS:
            means = results.means(_in(ranked, d))[k]
            order = np.argsort(-means, kind="stable")[:2]
            first, second = (f"{results.titles[ranked[i]]} {means[i]:.1f} %" for i in order)
            leaders.append(f"{name}, {variant(d)}: {first} before {second}")
    yield f"First and second by the mean: {'; '.join(leaders)}."
    yield "## Accuracy of the nearest neighbours"
    yield "Of held-out points, mean ± standard deviation in per cent."
    yield _embeddings(results, ranked)
    if OURS in results.titles:
        first = results.titles[OURS]
        others = [who for who in results.titles if who != OURS]
        yield from (f"## {first} against the others", text(GROUP, "gains", first=first))
        yield _gains(results, others)
        lines = []
        for name in results.sets:
            for d in DIMENSIONS:
                counts = Counter(results.entries(name, Way(OURS, variant(d)), "kernel"))
                kernels = ", ".join(f"{kernel} {count}" for kernel, count in counts.most_common())
                lines.append(f"{name}, {variant(d)}: {kernels}")
        chosen = "The base kernel that it chose, and in how many divisions"
        yield f"{chosen}: {'; '.join(lines)}."


def _in(contestants: Sequence[str], dimension: int) -> list[Way]:
    return [Way(who, variant(dimension)) for who in contestants]


def _embeddings(results: Results, ranked: Sequence[str]) -> str:
    """Return the accuracies in few dimensions, and the mean rank of each way to embed."""
    ranks: dict[str, Any] = {}
    if len(ranked) > 1:
        means = np.concatenate([results.means(_in(ranked, d)) for d in DIMENSIONS])
        ranks = dict(zip(ranked, average_ranks(means).tolist(), strict=True))
    keys = {f"{name}, {variant(d)}": (name, d) for name in results.sets for d in DIMENSIONS}
    rows: list[md.Row] = []
    for who, title in results.titles.items():
        row: md.Row = {"embedding": title, "mean rank": ranks.get(who)}
        for key, (name, d) in keys.items():
            row[key] = Score.of(results.values(name, Way(who, variant(d))))
        rows.append(row)
    heads = [Column(key, digits=1) for key in keys]
    return md.table(rows, [Column("embedding"), *heads, Column("mean rank", digits=2)])


def _gains(results: Results, others: Sequence[str]) -> str:
    """Return the mean gain of our embedding over others, split by split."""
    rows: list[md.Row] = []
    for other in others:
        row: md.Row = {"against": results.titles[other]}
        for name in results.sets:
            for d in DIMENSIONS:
                a, b = results.shared(name, _in([OURS, other], d))
                gains, n = a - b, len(a)
                error = gains.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
                won = int(np.sum(gains > 1e-9))
                row[f"{name}, {variant(d)}"] = f"{gains.mean():+.1f}±{error:.1f} ({won} of {n})"
        rows.append(row)
    return md.table(rows)
