"""What the page says in words: how it was measured, what counts as a win, what to know of a set."""

from __future__ import annotations

from papers.accuracy.protocol import AccuracyProtocol
from papers.accuracy.sets import SETS
from papers.accuracy.standing import Standing
from papers.document import Document
from papers.scores import Scores

__all__ = ["PAIRED", "RULE", "aim_note", "protocol_note", "set_notes"]

RULE = (
    "The rule, set before TKL was measured: TKL wins on a set if its mean paired difference over "
    "the splits is better by more than one standard error of that mean, loses if it is worse "
    "by more than one, and ties otherwise. The standard error is the plain one of paired "
    "differences. Beside it: the count with the standard error corrected for overlapping training "
    "rows (Nadeau and Bengio), and the count by the mean alone.\n"
)

LEAST_WINS, MOST_LOSSES = 8, 2
"""The aim against the random forest."""

LIMITS = (
    "The limits on solves, and what differs on one set (see the notes), were set for the time they "
    "save while the study was under way, when some of TKL's results had been seen. Forest and "
    "boosting choose on all training rows, the kernel machines on 1000 at most."
)

PAIRED = (
    "Mean difference over the splits, positive where TKL is better: in per cent of the test rows, "
    "or in mean squared error; its standard error, plain and corrected; the p-values of both t "
    "tests; the splits on which TKL is better, equal, worse; the verdict by the rule.\n"
)


def protocol_note(study: Document, protocol: AccuracyProtocol) -> str:
    """Say how all contestants were measured."""
    held_out = round(100 * protocol.test_size)
    common = (
        f"{study['repeats']} random splits, {100 - held_out} % of the rows for training and "
        f"{held_out} % for testing (the seeds count from 0), stratified for classes. Each "
        f"contestant chooses its parameters by {protocol.folds}-fold cross-validation on the "
        "training rows, by the fewest errors or the least squared error; of equal choices the "
        "first in the order given here is taken. It is then fitted to all training rows, and "
        "judged by the test rows, which are used for nothing else. Regression leaves errors of "
        f"0.1 standard deviations of the training target free. {LIMITS}\n"
    )
    return "\n".join([common, *(f"* {c.title}: {c.words()}." for c in protocol.contestants), ""])


def aim_note(count: Standing) -> str:
    """Say whether the aim against the random forest is reached, over all sets and by the rule."""
    reached = count.wins >= LEAST_WINS and count.losses <= MOST_LOSSES
    return (
        f"The aim against the random forest, set beforehand too, was at least {LEAST_WINS} wins "
        f"and at most {MOST_LOSSES} losses by the rule. It is "
        f"{'reached' if reached else 'missed'}: {count.wins} wins, {count.ties} ties, "
        f"{count.losses} losses.\n"
    )


def set_notes(study: Document, scores: Scores) -> str:
    """Say what is particular to a set, as a list."""
    lines = [
        f"* {name}: {'; '.join(remarks)}."
        for name in scores.sets()
        if (remarks := _remarks(study, name))
    ]
    return "".join(f"{line}\n" for line in lines)


def _remarks(study: Document, name: str) -> list[str]:
    results = [r for r in study["results"] if r["set"] == name]
    titles = {each["name"]: each["title"] for each in study["protocol"]["contestants"]}
    early = {titles[r["contestant"]]: sum(r["unconverged"]) for r in results}
    counted = ", ".join(f"{count} ({title})" for title, count in early.items() if count)
    remarks = [SETS[name].note] if SETS[name].note else []
    for each in study["protocol"]["exceptions"]:
        if each["set"] == name and each["contestant"] in titles:
            fields = ", ".join(f"{key} = {value}" for key, value in each["fields"])
            remarks.append(f"{titles[each['contestant']]} with {fields} here")
    return remarks + ([f"solves that ended before their tolerance: {counted}"] if counted else [])
