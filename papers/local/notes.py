"""What the pages say in words: how it was measured, what a mark means, what to know of a set."""

from __future__ import annotations

from collections.abc import Sequence

from papers.local.protocol import LocalProtocol
from papers.local.results import Results
from papers.local.sets import SETS
from papers.local.studies import CLASSIFICATION, LocalStudy

__all__ = ["MARKS", "PAIRED", "SEEDS", "TIMES", "TOMS_HARDWARE", "bars_note", "protocol_note"]
__all__ += ["DRAWS", "set_notes"]

MARKS = (
    "Mean ± standard deviation over the splits. Marked • are numbers better, ∘ worse than those "
    "of {first} by more than one standard error of the paired differences. –: not measured on "
    "this set."
)

PAIRED = (
    "Mean difference over the splits, positive where {first} is better; its standard error, plain "
    "and corrected for training rows that the splits share (Nadeau and Bengio); the p-values of "
    "both t tests; the splits on which {first} is better, equal, worse; the verdict: a tie lies "
    "within one plain standard error.\n"
)

DRAWS = (
    "*LAB-RBF, one draw* is the setting that was frozen before these seeds were looked at. Three "
    "draws of the support points, the one of the least held-out error taken, were tried because "
    "one draw had missed its bars on these very splits; nothing else is different. So the numbers "
    "of one draw are the ones that owe nothing to the seeds.\n"
)

TIMES = (
    "Mean process seconds of the fit; in brackets those of the choice of the parameters, where "
    "something is chosen. One thread, on a machine with other work. A contestant that tunes itself "
    "inside its fit has no brackets.\n"
)

SEEDS = (
    "One member ends in a worse optimum on some draws of the support points; beside it the mean of "
    "the members of the default setting, on the same splits.\n"
)

TOMS_HARDWARE = (
    "* Tom's Hardware, the third set of the paper's Table 3, is not at hand: it is not measured.\n"
)


def protocol_note(study: LocalStudy, protocol: LocalProtocol, repeats: int) -> str:
    """Say how all contestants were measured."""
    held_out = round(100 * protocol.test_size)
    classes = study.name == CLASSIFICATION.name
    target = "" if classes else " and the target"
    score = "accuracy and log loss" if classes else "R2"
    last = protocol.first_seed + repeats - 1
    common = (
        f"{repeats} random splits with the seeds {protocol.first_seed} to {last}, {100 - held_out} "
        f"% of the rows for training and {held_out} % for testing"
        f"{', stratified' if classes else ''}. Features{target} are scaled to [-1, 1] by the "
        f"training rows, where nothing else is said. Each contestant is judged by {score} on the "
        "test rows, which are used for nothing else. The defaults of LAB-RBF were frozen before "
        "these seeds were looked at.\n"
    )
    lines = [f"* {each.title}: {each.words()}." for each in study.contestants]
    return "\n".join([common, *lines, ""])


def bars_note(lines: Sequence[object]) -> list[str]:
    """List the bars, if there are any."""
    return ["## What was asked for\n", "\n".join(map(str, lines)) + "\n"] if lines else []


def set_notes(results: Results) -> str:
    """Say what is particular to a set, as a list."""
    lines = [
        f"* {name}: {'; '.join(remarks)}."
        for name in results.sets
        if (remarks := _remarks(results, name))
    ]
    return "".join(f"{line}\n" for line in lines)


def _remarks(results: Results, name: str) -> list[str]:
    early = {
        title: sum(results.group(name, who)["unconverged"])
        for who, title in results.titles.items()
        if results.has(name, who)
    }
    counted = ", ".join(f"{count} ({title})" for title, count in early.items() if count)
    remarks = [SETS[name].note] if SETS[name].note else []
    remarks += _fewer(results, name)
    return remarks + ([f"solves that ended before their tolerance: {counted}"] if counted else [])


def _fewer(results: Results, name: str) -> list[str]:
    """Name the contestants that were measured on some of the splits only."""
    counts = {
        title: len(results.group(name, who)["repeat"])
        for who, title in results.titles.items()
        if results.has(name, who)
    }
    few = [f"{title} on the first {k}" for title, k in counts.items() if k < results.repeats]
    return [f"measured on fewer splits: {', '.join(few)}"] if few else []
