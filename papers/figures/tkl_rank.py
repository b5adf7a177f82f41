"""TKL, Figure 4: two-coordinate steps of one support vector machine against the rank of P."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from papers.figures.figure import PaperFigure, canvas, lettered
from papers.figures.saddle import learning, read, tessellated
from pliant.core.typing import Array
from pliant.methods.svm import smo
from pliant.methods.tessellated.problem import KernelLearning
from pliant.methods.tessellated.solvers import low_rank
from pliant.plots._common import BLUE, GREY, VERMILION


def random_factor(size: int, rank: int, rng: np.random.Generator) -> Array:
    """Return a factor of the paper's P: the sum of v v'/|v|, with `rank` normal vectors v.

    The trace is not yet n_P.
    """
    v = rng.standard_normal((size, rank))
    return np.asarray(v / np.sqrt(np.linalg.norm(v, axis=0)))


class TklRank(PaperFigure):
    """A panel for each set: mean steps with a 95 % interval, their line, and the learned P."""

    name = "tkl-figure-4"
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        figure, (panels,) = canvas(5.6 * len(self.sets), 4.0, 1, len(self.sets))
        measured: dict[str, Any] = {}
        for ax, name in zip(panels, self.sets, strict=True):
            measured[name] = {}
            for C in sorted({*self.Cs, self.C}):
                problem = self._problem(name, data, C)
                numbers = measured[name][f"C = {C:g}"] = self._measure(problem)
                if self.C == C:
                    _draw(ax, numbers)
        lettered(panels, [f"{name}: {self.count} rows, C = {self.C:g}" for name in self.sets])
        panels[0].set_ylabel("two-coordinate steps")
        panels[0].legend(frameon=False)
        return figure, measured

    def _problem(self, name: str, data: str | None, C: float) -> KernelLearning:
        return learning(read(name, data, self.count, self.seed), C, self.epsilon, tessellated())

    def _measure(self, problem: KernelLearning) -> dict[str, Any]:
        """Return the steps for each rank of a random P, and for the learned one."""
        rng, size = np.random.default_rng(self.seed), problem.size
        with threadpool_limits(1):
            learned = low_rank.solve(problem, tol=self.tol).x
            steps = {
                rank: [self._steps(problem, random_factor(size, rank, rng))
                       for _ in range(self.draws)]
                for rank in (*(r for r in self.ranks if r < size), size)
            }  # fmt: skip
            return {
                "n_P": size,
                "random P": {f"{rank}": _summary(each) for rank, each in steps.items()},
                "learned P": self._steps(problem, learned),
                "rank of the learned P": int(np.linalg.matrix_rank(learned, tol=1e-3)),
            }

    def _steps(self, problem: KernelLearning, factor: Array) -> int:
        dual = problem.dual(problem.gram(problem.scaled(factor)))
        return smo.solve(dual, violation=self.violation).n_iter

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        compared = [
            {"name": name, "C": C, "m": numbers, "least": min(means), "largest": max(means)}
            for name, each in measured.items()
            for C, numbers in each.items()
            for means in [[s["mean"] for s in numbers["random P"].values()]]
        ]
        return {"compared": compared}


def _summary(steps: list[int]) -> dict[str, float]:
    """Return the mean and the half width of its 95 % interval."""
    half = student.ppf(0.975, len(steps) - 1) * np.std(steps, ddof=1) / np.sqrt(len(steps))
    return {"mean": float(np.mean(steps)), "half width": float(half)}


def _draw(ax: Any, numbers: dict[str, Any]) -> None:
    ranks = np.array([int(rank) for rank in numbers["random P"]])
    mean, half = (
        np.array([each[key] for each in numbers["random P"].values()])
        for key in ("mean", "half width")
    )
    ax.errorbar(ranks, mean, half, fmt="o", color=BLUE, capsize=3, label="random P")
    slope, start = np.polyfit(ranks, mean, 1)
    ax.plot(ranks, start + slope * ranks, color=GREY, linewidth=0.9, label="line through the means")
    place = numbers["rank of the learned P"], numbers["learned P"]
    ax.plot(*place, "*", color=VERMILION, markersize=13, label="learned P")
    ax.set_xticks(ranks)
    ax.set(xlabel="rank of P", ylim=(0.0, 1.1 * max(place[1], float((mean + half).max()))))
