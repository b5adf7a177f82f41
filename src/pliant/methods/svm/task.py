"""One real-valued function to learn, and the solution to start from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices


@dataclass(frozen=True, eq=False)
class Task:
    """One real-valued function to learn.

    It is learned from the `points` of positive weight, in the user's units, shape (n_samples,
    n_features), whose row numbers in the training data are `members`, and from their `weights`. The
    `target` holds -1.0 and +1.0, or real numbers: centre + scale * target in the user's units.

    `kernel` is the base kernel, and `psd` is whether its Gram matrix is positive semi-definite.
    `all_rows` is the Gram matrix of all training points, or what stands for it where a family
    learns from several; None where it is not kept whole, or the kernel has yet to be learned.
    """

    kernel: Kernel
    points: Array
    members: Indices
    target: Array
    weights: Array
    all_rows: Any
    psd: bool
    centre: float = 0.0
    scale: float = 1.0

    def subset(self, chosen: Indices) -> Task:
        """Return the task on some of its points, given by their positions in `points`."""
        return replace(
            self, points=self.points[chosen], members=self.members[chosen],
            target=self.target[chosen], weights=self.weights[chosen],
        )  # fmt: skip


class WarmStart(NamedTuple):
    """The solution of the same problem for another C, and how much larger C is now."""

    beta: Array
    growth: float = 1.0
