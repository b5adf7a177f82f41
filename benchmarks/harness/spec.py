"""Data classes of a benchmark: problems, and contestants measured on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Params: TypeAlias = Mapping[str, Any]
"""JSON-compatible parameters: contestants run in other processes."""

Prepared: TypeAlias = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]
"""The measured call, and a function that describes its result.

The second function runs outside the measurement and returns numbers and short texts: objective,
iterations, accuracy.
"""

Prepare: TypeAlias = Callable[[Params], Prepared]
"""A contestant's function, which prepares the data and returns both."""

Quantity: TypeAlias = Literal["time ratio", "speed-up"]
"""A contestant's time divided by its baseline's, or the inverse."""


MANNER = (
    "each in its own process with {threads} thread(s), contestants in alternating order; a ratio "
    "is paired within its repeat"
)


@dataclass(frozen=True)
class Contestant:
    """A function to measure, and its baseline and goal."""

    name: str
    function: str | Prepare
    """The name "package.module:function", or the function, stored by name."""
    params: Params = field(default_factory=dict)
    """Parameters in addition to the case's."""
    baseline: str | None = None
    """Contestant of the same case to compare with."""
    goal: float | None = None
    """Upper bound on the time ratio, or lower bound on the speed-up."""
    paper: float | None = None

    def __post_init__(self) -> None:
        if callable(self.function):
            name = f"{self.function.__module__}:{self.function.__qualname__}"
            object.__setattr__(self, "function", name)


@dataclass(frozen=True)
class Case:
    """One problem with its contestants."""

    name: str
    contestants: Sequence[Contestant]
    params: Params = field(default_factory=dict)
    """Parameters of every contestant, including seeds."""
    warm_up: Params | None = None
    """Parameters that differ in a first, unmeasured call, which compiles code and fills
    caches. None: the first call equals the measured one."""

    def __post_init__(self) -> None:
        names = [c.name for c in self.contestants]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"expected contestants with different names, got {names}")
        for contestant in self.contestants:
            if contestant.baseline is not None and contestant.baseline not in names:
                raise ValueError(f"expected a baseline among {names}, got {contestant.baseline!r}")
        if self.warm_up is not None:
            object.__setattr__(self, "warm_up", {**self.params, **self.warm_up})


@dataclass(frozen=True)
class Benchmark:
    """Cases, and the rule to judge them together."""

    name: str
    title: str
    notes: str
    cases: Callable[[bool], Sequence[Case]]
    """Function that returns the cases; its argument is True if a data folder is available."""
    quantity: Quantity = "time ratio"
    goals_over: Literal["each case", "median of cases", "geometric mean of cases"] = "each case"
    """The quantity compared with a contestant's goal."""
    clock: Literal["wall", "processor"] = "wall"
    """The time to compare: processor time depends less on other programs, and equals
    wall time if every contestant has one thread."""
    manner: str = MANNER
    """Description of the measurements on the page."""
