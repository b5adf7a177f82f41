"""What a benchmark is: problems, and contestants that are measured on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Params: TypeAlias = Mapping[str, Any]
"""What JSON can hold: contestants live in other processes."""

Prepared: TypeAlias = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]
"""The measured call, and a function that describes what it returned.

The second one runs outside the measurement and returns numbers and short texts: objective,
iterations, accuracy.
"""

Prepare: TypeAlias = Callable[[Params], Prepared]
"""What a contestant names: a function that gets the data ready and returns both."""

Quantity: TypeAlias = Literal["time ratio", "speed-up"]
"""How a contestant is compared: its time over its baseline's, or the other way round."""


MANNER = (
    "each in its own process with {threads} thread(s), contestants in alternating order; a ratio "
    "is paired within its repeat"
)
"""How `measure_case` measures."""


@dataclass(frozen=True)
class Contestant:
    """Someone who is measured: a function by name, and how the result is judged."""

    name: str
    function: str | Prepare
    """As "package.module:function", or the function, of which the name is kept."""
    params: Params = field(default_factory=dict)
    """What this contestant gets on top of the case's params."""
    baseline: str | None = None
    """The contestant of the same case that this one is compared with."""
    goal: float | None = None
    """The time ratio to stay below, or the speed-up to reach."""
    paper: float | None = None
    """The seconds that a paper states."""

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
    """Given to every contestant; seeds belong here."""
    warm_up: Params | None = None
    """What differs from `params` in a first call that is not measured: it compiles and fills
    caches. None: the first call is the same as the measured one, which compiles all it needs."""

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
    """Cases, and how they are judged together."""

    name: str
    title: str
    notes: str
    cases: Callable[[bool], Sequence[Case]]
    """Gives the cases; the argument says whether a folder of data sets is at hand."""
    quantity: Quantity = "time ratio"
    goals_over: Literal["each case", "median of cases", "geometric mean of cases"] = "each case"
    """What a contestant's goal is compared with."""
    clock: Literal["wall", "processor"] = "wall"
    """Which time is compared: that of the processor is disturbed less by other programs, and is
    the same where every contestant has one thread."""
    manner: str = MANNER
    """How the measurements were made, as the page writes it."""
