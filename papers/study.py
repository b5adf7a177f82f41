"""One measurement: a contestant on one repeat of a set, with all its ways to choose."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from papers.contestants import CONTESTANTS, Contestant, dank, predictions
from papers.protocol import Protocol, Sample, measure, split, to_tune_on
from papers.sets import SETS, read
from papers.tuning import (
    CHOSEN,
    FIXED,
    Choice,
    choices,
    cross_validate,
    setting,
    variant,
)

__all__ = ["TAUS", "Record", "Run", "perform", "unconverged"]

Record = dict[str, Any]

TAUS = (0.0, 0.001, 0.01, 0.1, 1.0)
"""The tau of the table on the rank of F."""

AT_TAUS = "dank-taus"
"""In place of a contestant: DANK at all `TAUS`, with the sigma and C chosen at tau = .01."""

CHOSEN_AT = "dank-0.01"


@dataclass(frozen=True)
class Run:
    """A contestant on one repeat of a set."""

    contestant: str
    set: str
    repeat: int

    @property
    def needs(self) -> Run | None:
        """The run whose choices this one takes over."""
        if self.contestant != AT_TAUS:
            return None
        return Run(CHOSEN_AT, self.set, self.repeat)


def perform(run: Run, folder: str, protocol: Protocol, needed: Record | None = None) -> Record:
    """Measure, in one thread.

    Returns
    -------
    dict
        The run; ``variants``, which holds for each way to choose what was chosen, its loss, and
        ``train`` and ``test``: accuracies, or 1 - R2; the rows on both sides; ``seconds``; and
        ``unconverged``, the number of solves that ended before their tolerance was reached.
    """
    start = time.perf_counter()
    sample = split(read(run.set, folder), run.repeat, clipped=SETS[run.set].clipped)
    with threadpool_limits(1), unconverged() as early:
        if needed is not None:
            variants = _at_taus(sample, protocol, needed["variants"])
        else:
            variants = _tuned(CONTESTANTS[run.contestant], sample, protocol, run.repeat)
    return {
        **asdict(run),
        "variants": variants,
        "task": sample.task,
        "n_train": len(sample.y),
        "n_test": len(sample.y_test),
        "d": sample.X.shape[1],
        "seconds": round(time.perf_counter() - start, 2),
        "unconverged": len(early),
    }


def _tuned(
    contestant: Contestant, sample: Sample, protocol: Protocol, repeat: int
) -> dict[str, Record]:
    """Let every variant choose; fit what was chosen, each combination once."""
    tune_on = to_tune_on(sample, protocol.tuning_rows, repeat)
    loss = cross_validate(contestant, tune_on, protocol, repeat)
    chosen = choices(contestant, protocol, loss)
    variants: dict[str, Record] = {}
    for sigma, C, scale in dict.fromkeys((c.sigma, c.C, c.eta_scale) for c in chosen.values()):
        alike = {
            name: c
            for name, c in chosen.items()
            if (c.sigma, c.C, c.eta_scale) == (sigma, C, scale)
        }
        rules = list(dict.fromkeys(c.rule for c in alike.values()))
        given = setting(protocol, sigma, C, scale, protocol.final_tol)
        found = contestant.final(sample, rules, given)
        variants |= {name: _score(sample, c, *found[c.rule]) for name, c in alike.items()}
    return {name: variants[name] for name in chosen}


def _score(sample: Sample, choice: Choice, train: Any, test: Any) -> Record:
    return {
        **asdict(choice),
        "train": measure(sample.task, sample.y, train),
        "test": measure(sample.task, sample.y_test, test),
    }


def _at_taus(sample: Sample, protocol: Protocol, chosen: Mapping[str, Record]) -> dict[str, Record]:
    """Score DANK and count the rank of F at each tau; eta is the papers', by either rule."""
    variants = {}
    for rule in ("reciprocal", CHOSEN):
        at = chosen[variant(FIXED, rule)]
        choice = Choice(at["sigma"], at["C"], at["eta_scale"], at["rule"], at["loss"])
        given = setting(protocol, choice.sigma, choice.C, choice.eta_scale, protocol.final_tol)
        for tau in TAUS:
            machine = dank(tau).fit(sample, given)
            found = predictions(machine, sample, [choice.rule])
            score = _score(sample, choice, *found[choice.rule])
            variants[f"{tau:g}/{rule}"] = {**score, "rank": _rank(machine)}
    return variants


def _rank(machine: Any) -> float:
    """Return the rank of F; with more than two classes, the mean over the pairs."""
    machines = getattr(machine, "estimators_", [machine])
    return sum(m.adaptation_.rank for m in machines) / len(machines)


@contextmanager
def unconverged() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of solves that ended early; show the other warnings."""
    early: list[warnings.WarningMessage] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ConvergenceWarning)
        yield early
    early += [w for w in seen if issubclass(w.category, ConvergenceWarning)]
    for other in seen:
        if not issubclass(other.category, ConvergenceWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
