"""Table 4 of DANK: large sets, compared with libsvm."""

from __future__ import annotations

import numpy as np

from papers import page as md
from papers.contestants.large import LEAST
from papers.data import text
from papers.results import Results
from papers.study import Shown, Study

GROUP = "large"

SCORES = {"test": "reciprocal", "smooth": "smooth", "by parts": "by parts"}


def tables(study: Study, results: Results) -> list[str]:
    """Return accuracies, seconds, and additional measurements."""
    who = "; ".join(f"*{each.title}*: {each.words()}" for each in study.contestants)

    def accuracy(name: str, shown: Shown) -> str:
        found = results.found(name, shown.who)
        rank = f" ({np.mean(found['rank']):.0f})" if "rank" in found else ""
        return md.spread(found[shown.part], 1) + rank

    def seconds(name: str, shown: Shown) -> str:
        return f"{np.median(results.numbers(name, shown.who, 'fit_seconds')):.2g}"

    def rows(name: str) -> list[str]:
        group = results.groups(name)[0]
        return [f"{group['n_train']} training rows and {group['n_test']} test rows"]

    return [
        text(GROUP, "protocol", repeats=results.repeats, who=who),
        md.left_out(study, results),
        "## Accuracy in per cent, and the rank of F",
        text(GROUP, "comparison", least=LEAST),
        md.comparison_table(study, results, "accuracy", accuracy),
        "## Seconds of training",
        text(GROUP, "seconds"),
        md.comparison_table(study, results, "seconds", seconds),
        "## Additional measurements",
        text(GROUP, "besides"),
        _besides(results),
        "## Notes",
        md.set_notes(study, results, rows),
    ]


def _besides(results: Results) -> str:
    rows = []
    for name in results.sets:
        for who, title in results.titles.items():
            if not results.has(name, who):
                continue
            found = results.found(name, who)
            row = {heading: md.spread(found[key], 2) if key in found else md.NONE
                   for key, heading in SCORES.items()}  # fmt: skip
            row |= {key: f"{np.mean(found[key]):.0f}" if key in found else md.NONE
                    for key in ("rank", "support")}  # fmt: skip
            row["gap"] = f"{max(found['gap']):.0e}" if "gap" in found else md.NONE
            row["seconds"] = f"{np.median(found['fit_seconds']):.2f}"
            rows.append({"set": name, "method": title, **row})
    return md.table(rows)
