"""One cell of a paper beside what was measured for it: whether they agree, and why they don't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from math import hypot

from papers.data import FOLDER, Estimate, toml

AGREES, BETTER, WORSE, DIFFERS = "agrees", "better", "worse", "differs"
NOT_RERUN, OURS = "not rerun", "ours"

VERDICTS = {
    AGREES: "within two standard errors of the difference, or within the tolerance",
    BETTER: "measured better than printed, by more than that",
    WORSE: "measured worse than printed, by more than that",
    DIFFERS: "another number, where neither is the better one: the rank of F",
    NOT_RERUN: "printed, and not measured",
    OURS: "measured, and not in the paper",
}
"""The meaning of each verdict."""

STANDARD_ERRORS = 2.0

FAR = 20.0
"""Tolerances beyond which numbers never agree, however wide the spread: .2 of R2, for example."""


@dataclass(frozen=True)
class Quantity:
    """What the number in a cell is."""

    name: str
    sign: int
    """1 where more is better, -1 where less is, 0 where neither is."""
    form: str
    """How a measured number is written."""
    tolerance: float
    """What counts as no difference: absolute, or as a share of the printed number."""
    relative: bool = False
    """Whether it is a share."""
    factor: bool = False
    """Whether the tolerance is a factor, up or down."""
    kind: str = "new rows"
    """What is counted together: scores on new rows, on training rows, ranks, times."""

    def allows(self, printed: float, measured: float, times: float = 1.0) -> bool:
        """Return whether the tolerance, or some times of it, covers the difference."""
        if self.factor:
            low, high = sorted((printed, measured))
            return high <= self.tolerance * low
        most = times * self.tolerance * (printed if self.relative else 1.0)
        return abs(measured - printed) <= most


QUANTITIES = {
    each.name: each
    for each in (
        Quantity("accuracy", 1, ".1f", 1.0),
        Quantity("training accuracy", 1, ".1f", 1.0, kind="training rows"),
        Quantity("R2", 1, ".4f", 0.01),
        Quantity("1 - R2", -1, ".3f", 0.01),
        Quantity("training 1 - R2", -1, ".3f", 0.01, kind="training rows"),
        Quantity("mean squared error", -1, ".3g", 0.05, relative=True),
        Quantity("rank of F", 0, ".0f", 0.2, relative=True, kind="rank of F"),
        Quantity("seconds", -1, ".2g", 3.0, factor=True, kind="seconds"),
    )
}
"""The quantities by name. Accuracies are in per cent."""


@dataclass(frozen=True)
class Agreement:
    """A cell."""

    study: str
    """The name of the document that it was measured for."""
    paper: str
    place: str
    """Such as ``"DANK"`` and ``"Table 1"``."""
    set: str
    quantity: str
    method: str
    """Row, quantity, and the paper's name of the method."""
    printed: Estimate | None
    measured: Estimate | None
    baseline: Estimate | None = None
    """The paper's number, ours, and that of the tuned baseline on the same splits."""
    baseline_name: str = ""
    """Empty where there is none, or where the method is the baseline itself."""
    source: str = "kept"
    """The profile that measured it: ``"quick"``, ``"full"`` or ``"kept"``."""
    explanation: str = ""
    """Why the numbers differ, or why there is none."""

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the cell, whoever measured it."""
        return self.study, self.place, self.set, self.quantity, self.method

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        return verdict(self.printed, self.measured, QUANTITIES[self.quantity])


def verdict(printed: Estimate | None, measured: Estimate | None, quantity: Quantity) -> str:
    """Judge by the numbers alone.

    They agree if the tolerance covers their difference, or if it is at most two standard errors,
    those of both means over their splits, combined, and at most `FAR` tolerances. Both are means
    over random splits of the same table, so the plain standard error is the right one. A printed
    number without a spread counts as exact; one split of ours has the paper's spread.
    """
    if printed is None or measured is None:
        return OURS if printed is None else NOT_RERUN
    gain = measured.mean - printed.mean
    error = hypot(printed.error(), measured.error(printed.spread or 0.0))
    near = not quantity.factor and abs(gain) <= STANDARD_ERRORS * error
    near &= quantity.allows(printed.mean, measured.mean, FAR)
    if near or quantity.allows(printed.mean, measured.mean):
        return AGREES
    if quantity.sign == 0:
        return DIFFERS
    return BETTER if gain * quantity.sign > 0 else WORSE


OPEN = "Not explained: "
"""How a text begins where no reason is known."""

TIMES = (
    "Seconds are of another computer and another program; a factor of three counts as agreement. "
)
"""How a text on times begins."""

UNKNOWN = OPEN + "nobody has looked into it; a number of the quick profile is of few splits."
"""For a cell that no reason fits; no kept result is one."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A text, and the cells that it is about.

    Each pattern is one as of `fnmatch`, or several with ``|`` between them, for the field or
    property of an `Agreement` with the same name.
    """

    text: str
    patterns: dict[str, str] = field(default_factory=dict)
    open: bool = False
    times: bool = False
    """Whether no reason is known; whether it is about seconds."""

    @property
    def whole(self) -> str:
        """The text with its beginning."""
        return OPEN * self.open + TIMES * self.times + self.text


@cache
def reasons() -> tuple[Reason, ...]:
    """Return the reasons in the files of `papers/reasons`, in their order."""
    files = sorted((FOLDER / "reasons").glob("*.toml"))
    entries = [entry for path in files for entry in toml(f"reasons/{path.stem}")["reason"]]
    return tuple(
        Reason(
            text=" ".join(entry.pop("text").split()),
            open=entry.pop("open", False),
            times=entry.pop("times", False),
            patterns={"verdict": "better|worse|differs", **entry},
        )
        for entry in entries
    )


def explained(cells: Sequence[Agreement]) -> list[Agreement]:
    """Give each cell the first reason that fits it; a cell of our own needs none."""
    return [replace(cell, explanation=_reason(cell)) for cell in cells]


def _reason(cell: Agreement) -> str:
    if cell.verdict == OURS:
        return ""
    known = next((reason.whole for reason in reasons() if fits(reason, cell)), "")
    return known if known or cell.verdict == AGREES else UNKNOWN


def fits(reason: Reason, cell: Agreement) -> bool:
    """Return whether all patterns of a reason match."""
    return all(
        any(fnmatchcase(getattr(cell, name), one) for one in patterns.split("|"))
        for name, patterns in reason.patterns.items()
    )
