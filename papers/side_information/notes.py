"""What the pages say in sentences."""

from __future__ import annotations

from papers.side_information.machine import CS, MOST_STEPS
from papers.side_information.peer import NEIGHBOURS, Peer
from papers.side_information.results import Results
from papers.side_information.sets import SETS
from papers.side_information.studies import SideStudy
from pliant.comparison import LATER

__all__ = [
    "BESIDE",
    "GAINS",
    "PAIRED",
    "SECONDS",
    "VARIANTS",
    "contestants_note",
    "protocol_note",
    "set_notes",
]

BESIDE = (
    f"Paper / measured: mean ± standard deviation in per cent. *{LATER}*: a method of the paper "
    "that is not built yet.\n"
)

SECONDS = (
    "Paper / measured: seconds of computing the kernel matrix and learning from all labels, for "
    "one setting; measured is the median over the repeats, of process time in one thread, on "
    "a machine with other work. The paper's are from MATLAB with SeDuMi, on a 3.2 GHz processor.\n"
)

VARIANTS = "What is not in the paper: accuracy in per cent and median seconds, as above.\n"

PAIRED = (
    "Mean gain in percentage points over the sets; sets and repeats on which the first is better, "
    "level, worse; Wilcoxon's signed-rank test over the sets' means, h = 1 where it finds a "
    "difference at the 5 % level.\n"
)

GAINS = (
    "Mean gain of {first} in percentage points ± its standard error, and on how many of the "
    "divisions it is better.\n"
)

SCALES = {
    None: "standardised by the points that are learned from",
    1.0: "0 or 1, as they come",
    16.0: "divided by 16",
    255.0: "divided by 255",
}


def protocol_note(study: SideStudy, results: Results) -> str:
    """Say how the points are divided and judged."""
    first = study.protocol.first_seed
    scales = {SETS[name].unit: name for name in results.sets}
    said = "; ".join(
        f"{SCALES[unit]}" + (f" ({name})" if len(scales) > 1 else "")
        for unit, name in scales.items()
    )
    return (
        f"{results.repeats} random divisions, the seeds {first} to {first + results.repeats - 1}, "
        f"all classes in proportion: {study.divided}. Features are {said}. {_judge(study)}\n"
    )


def _judge(study: SideStudy) -> str:
    if any(isinstance(each, Peer) for each in study.contestants):
        return (
            f"Each embedding is judged by the {NEIGHBOURS} nearest neighbours of held-out points "
            "among the training points, in 2 and in 9 dimensions, and chooses its parameters for "
            "each by cross-validation of that accuracy on the training half, where nothing else "
            "is said."
        )
    values = ", ".join(f"{C:g}" for C in CS)
    return (
        "Each kernel is judged by scikit-learn's SVC, one machine a pair of classes. C is one of "
        f"{values}, chosen with the kernel's own parameters by {study.protocol.folds}-fold "
        "cross-validation over the labelled points, where every fold learns its own kernel and "
        "the labels that are held out are hidden from it; of equal choices the widest kernel, the "
        f"least strength and the least C is taken. A solve ends after {MOST_STEPS} steps at the "
        "latest."
    )


def contestants_note(study: SideStudy, results: Results) -> str:
    """Say how each contestant is tuned."""
    return "".join(
        f"* {each.title}: {each.words()}.\n"
        for each in study.contestants
        if each.name in results.titles
    )


def set_notes(study: SideStudy, results: Results) -> str:
    """Say what differs from set to set, as a list."""
    lines = []
    for name in results.sets:
        remarks = [SETS[name].note] if SETS[name].note else []
        remarks += _fewer(study, results, name)
        early = sum(
            sum(results.group(name, who)["unconverged"])
            for who in results.titles
            if results.has(name, who)
        )
        remarks += [f"{early} solves ended before their tolerance was reached"] if early else []
        lines += [f"* {name}: {'; '.join(remarks)}.\n"] if remarks else []
    return "".join(lines)


def _fewer(study: SideStudy, results: Results, name: str) -> list[str]:
    counts = {
        title: len(results.group(name, who)["repeat"])
        for who, title in results.titles.items()
        if results.has(name, who)
    }
    return [
        f"{title} on the first {count} divisions only"
        for title, count in counts.items()
        if count < results.repeats
    ]
