"""What a benchmark is: problems, and contestants that are measured on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["Benchmark", "Case", "Contestant", "Params", "Prepare", "Prepared", "Quantity"]

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


@dataclass(frozen=True)
class Contestant:
    """One way to do a case's work.

    Attributes
    ----------
    name : str
    function : str
        ``"package.module:function"``, a `Prepare`.
    params : mapping
        Added to the case's parameters.
    baseline : str or None
        The contestant of the same case that this one is compared with.
    goal : float or None
        The time ratio to stay below, or the speed-up to reach.
    paper : float or None
        The seconds that a paper states.
    """

    name: str
    function: str
    params: Params = field(default_factory=dict)
    baseline: str | None = None
    goal: float | None = None
    paper: float | None = None


@dataclass(frozen=True)
class Case:
    """One problem with its contestants.

    Attributes
    ----------
    name : str
    contestants : sequence of Contestant
    params : mapping
        Given to every contestant; seeds belong here.
    warm_up : mapping or None
        What replaces `params` in a first call that is not measured (it compiles, it fills caches).
        None: the first call is the same as the measured one, which is sure to compile all it needs.
    """

    name: str
    contestants: Sequence[Contestant]
    params: Params = field(default_factory=dict)
    warm_up: Params | None = None

    def __post_init__(self) -> None:
        names = [c.name for c in self.contestants]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"expected contestants with different names, got {names}")
        for contestant in self.contestants:
            if contestant.baseline is not None and contestant.baseline not in names:
                raise ValueError(f"expected a baseline among {names}, got {contestant.baseline!r}")


@dataclass(frozen=True)
class Benchmark:
    """Cases, and how they are judged together.

    Attributes
    ----------
    name, title, notes : str
    cases : callable
        Gives the cases; its argument says whether a folder of data sets is at hand.
    quantity : {"time ratio", "speed-up"}
    goals_over : {"each case", "median of cases", "geometric mean of cases"}
        What a contestant's goal is held against.
    clock : {"wall", "processor"}
        Which time is compared: that of the processor is disturbed less by others on the machine,
        and says the same where every contestant has one thread.
    """

    name: str
    title: str
    notes: str
    cases: Callable[[bool], Sequence[Case]]
    quantity: Quantity = "time ratio"
    goals_over: Literal["each case", "median of cases", "geometric mean of cases"] = "each case"
    clock: Literal["wall", "processor"] = "wall"
