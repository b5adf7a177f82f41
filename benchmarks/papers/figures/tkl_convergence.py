"""TKL, Figure 1: the certified gap of four solvers, against machines solved and against time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.papers.figures.figure import Drawn, canvas, save
from benchmarks.papers.figures.saddle import Rows, learning, read, tessellated
from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers import frank_wolfe, hybrid, low_rank, primal_dual
from pliant.methods.tessellated.solvers.saddle import Saddle
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

__all__ = ["METHODS", "TklConvergence"]

METHODS: dict[str, tuple[Callable[..., Result[Saddle]], str, str]] = {
    "lowrank": (low_rank.solve, BLUE, "-"),
    "frank-wolfe (Algorithm 2)": (frank_wolfe.solve, VERMILION, "-"),
    "apd (Algorithm 4)": (primal_dual.solve, PURPLE, "-"),
    "hybrid (Algorithm 6)": (hybrid.solve, GREY, "--"),
}
"""How each is called in the figure, and its looks."""

LABELS = {"breast_cancer_original_complete": "cancer", "pima_diabetes": "pima",
          "boston_housing": "boston"}  # fmt: skip


@dataclass(frozen=True)
class TklConvergence:
    """A column for each set: above, the gap against machines, below, against time.

    Attributes
    ----------
    panels : tuple of (str, float)
        Sets, and the C that is drawn.
    Cs : tuple of float
        For which machines and seconds to a gap of `goal` are counted.
    machines : int
        Support vector machines solved at most.
    tol : float
        The relative gap at which a solver stops.
    """

    panels: tuple[tuple[str, float], ...] = (
        ("breast_cancer_original_complete", 1.0),
        ("pima_diabetes", 1.0),
        ("boston_housing", 10.0),
    )
    Cs: tuple[float, ...] = (1.0, 10.0, 100.0)
    epsilon: float = 0.1
    delta: float = 0.5
    machines: int = 300
    tol: float = 1e-5
    goal: float = 1e-3

    name: ClassVar[str] = "tkl-figure-1"
    title: ClassVar[str] = "TKL, Figure 1: convergence of four solvers"
    needs_data: ClassVar[bool] = True

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``tkl-figure-1.png``."""
        figure = canvas(4.1 * len(self.panels), 6.6)
        axes = figure.subplots(2, len(self.panels), sharey=True, squeeze=False)
        measured: dict[str, Any] = {}
        for (name, drawn), (above, below) in zip(self.panels, axes.T, strict=True):
            rows = read(name, data)
            label = LABELS.get(name, name)
            measured[label] = {"rows": len(rows.y), "C drawn": drawn}
            for C in sorted({*self.Cs, drawn}):
                runs = {method: self._run(rows, C, method) for method in METHODS}
                measured[label][f"C = {C:g}"] = {m: self._numbers(*r) for m, r in runs.items()}
                if drawn == C:
                    _draw(above, below, runs)
            above.set_title(f"{label}: {len(rows.y)} rows, C = {drawn:g}", fontsize=10)
        self._finish(figure, axes)
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _run(self, rows: Rows, C: float, method: str) -> tuple[Array, Array]:
        """Return relative gap and processor seconds after each machine."""
        problem = learning(rows, C, self.epsilon, tessellated(delta=self.delta))
        solve, *_ = METHODS[method]
        with threadpool_limits(1):
            solve(problem, tol=self.tol, max_iter=2)  # compiles the loops
            problem.start_clock()
            result = solve(problem, tol=self.tol, max_iter=self.machines)
        return result.gaps / np.abs(result.objectives), np.array(problem.ticks)

    def _numbers(self, gaps: Array, seconds: Array) -> dict[str, Any]:
        reached = np.flatnonzero(gaps <= self.goal)
        first = int(reached[0]) if reached.size else None
        return {
            f"machines to {self.goal:g}": None if first is None else first + 1,
            f"seconds to {self.goal:g}": None if first is None else float(seconds[first]),
            "machines": len(gaps),
            "seconds": float(seconds[-1]),
            "gap": float(gaps[-1]),
        }

    def _finish(self, figure: Any, axes: Any) -> None:
        """Label axes, name the lines, mark the goal and the paper's rates."""
        k = np.array([2.0, self.machines])
        for ax in axes[0]:
            for power in (1, 2):
                ax.plot(k, 0.3 * k**-power, color="black", linewidth=0.7, linestyle=":")
                name = "1/k" if power == 1 else "1/k²"
                place = 150.0 if power == 1 else 30.0
                ax.annotate(name, (place, 0.3 * place**-power), (4, 2),
                            textcoords="offset points", fontsize=8)  # fmt: skip
            ax.set_xlabel("support vector machines solved")
        for ax in axes[1]:
            ax.set_xlabel("processor time (s)")
        for ax in axes.flat:
            ax.axhline(self.goal, color=GREY, linewidth=0.8, linestyle=":")
            ax.set(xscale="log", yscale="log", ylim=(0.5 * self.tol, 3.0))
        for ax in axes[:, 0]:
            ax.set_ylabel("gap / objective")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)

    def _caption(self, measured: dict[str, Any]) -> str:
        parts = "; ".join(
            f"{label} at {C} " + ", ".join(_count(runs[m], self.goal) for m in METHODS)
            for label, found in measured.items()
            for C, runs in found.items()
            if C.startswith("C =")
        )
        return (
            f"The certified gap, upper less lower bound, relative to the objective, after each "
            f"support vector machine (above; a Frank-Wolfe step takes two to four, for its line "
            f"search) and against processor time of one thread (below); degree 1, basis x, "
            f"delta {self.delta:g}, C as written. The paper shows the gap of Algorithms 2 and 4 on "
            f"cancer and pima over 1000 iterations, without numbers, faster than 1/k at first "
            f"and then along it. Machines to a gap of {self.goal:g} (of at most {self.machines}), "
            f"for lowrank / frank-wolfe / apd / hybrid: {parts}. Where the best P has rank one, "
            f"Frank-Wolfe steps straight to it; where it has more, it zig-zags, and lowrank does "
            f"not."
        )


def _count(run: dict[str, Any], goal: float) -> str:
    machines = run[f"machines to {goal:g}"]
    return f"— (gap {run['gap']:.1g})" if machines is None else f"{machines}"


def _draw(above: Any, below: Any, runs: dict[str, tuple[Array, Array]]) -> None:
    """Draw the gaps of all solvers in the two panels of a set."""
    for method, (gaps, seconds) in runs.items():
        _, color, dash = METHODS[method]
        look = {"color": color, "linestyle": dash, "label": method, "linewidth": 1.4}
        above.plot(np.arange(1, len(gaps) + 1), gaps, **look)
        below.plot(seconds, gaps, **look)
