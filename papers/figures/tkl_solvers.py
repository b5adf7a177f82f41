"""TKL, Figures 1 and 2: the certified gap of its solvers, and the time of one fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from papers.figures.figure import PaperFigure, canvas, legend_of
from papers.figures.saddle import Rows, learning, read, tessellated
from pliant.core.progress import Result
from pliant.core.typing import Array
from pliant.methods.tessellated.solvers import frank_wolfe, hybrid, low_rank, primal_dual
from pliant.methods.tessellated.solvers.search import Saddle
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

METHODS: dict[str, tuple[Callable[..., Result[Saddle]], str, str]] = {
    "lowrank": (low_rank.solve, BLUE, "-"),
    "frank-wolfe (Algorithm 2)": (frank_wolfe.solve, VERMILION, "-"),
    "apd (Algorithm 4)": (primal_dual.solve, PURPLE, "-"),
    "hybrid (Algorithm 6)": (hybrid.solve, GREY, "--"),
}
"""How each is called in the figures, and its looks."""

LABELS = {"breast_cancer_original_complete": "cancer", "pima_diabetes": "pima",
          "boston_housing": "boston"}  # fmt: skip

COLORS = (BLUE, VERMILION, PURPLE, GREY)

PRINTED = {
    ("frank-wolfe (Algorithm 2)", "classification"): "m^2.6 n_P^1.8",
    ("frank-wolfe (Algorithm 2)", "regression"): "m^2.4 n_P^1.9",
    ("apd (Algorithm 4)", "classification"): "m^2.7 n_P^1.6",
    ("apd (Algorithm 4)", "regression"): "m^2.4 n_P^1.2",
}
"""The paper's fits of the time."""


class TklConvergence(PaperFigure):
    """A column for each set: above, the gap against fits, below, against time."""

    name = "tkl-figure-1"
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        figure, axes = canvas(4.1 * len(self.panels), 6.6, 2, len(self.panels), sharey=True)
        measured: dict[str, Any] = {}
        for (name, drawn), (above, below) in zip(self.panels, axes.T, strict=True):
            rows = read(name, data)
            label = LABELS.get(name, name)
            measured[label] = {"rows": len(rows.y), "C drawn": drawn}
            for C in sorted({*self.Cs, drawn}):
                runs = {method: self._run(rows, C, method) for method in METHODS}
                measured[label][f"C = {C:g}"] = {m: self._numbers(*r) for m, r in runs.items()}
                if drawn == C:
                    _draw_gaps(above, below, runs)
            above.set_title(f"{label}: {len(rows.y)} rows, C = {drawn:g}", fontsize=10)
        self._finish(axes)
        return figure, measured

    def _run(self, rows: Rows, C: float, method: str) -> tuple[Array, Array]:
        """Return relative gap and processor seconds after each support vector machine."""
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
            self._to_goal("machines"): None if first is None else first + 1,
            self._to_goal("seconds"): None if first is None else float(seconds[first]),
            "machines": len(gaps),
            "seconds": float(seconds[-1]),
            "gap": float(gaps[-1]),
        }

    def _to_goal(self, unit: str) -> str:
        return f"{unit} to {self.goal:g}"

    def _finish(self, axes: Any) -> None:
        """Label axes, name the lines, mark the goal and the paper's rates."""
        k = np.array([2.0, self.machines])
        for ax in axes[0]:
            for power, name, place in ((1, "1/k", 150.0), (2, "1/k²", 30.0)):
                ax.plot(k, 0.3 * k**-power, color="black", linewidth=0.7, linestyle=":")
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
        legend_of(axes[0, 0])

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        parts = "; ".join(
            f"{label} at {C} " + ", ".join(self._count(runs[m]) for m in METHODS)
            for label, by_C in measured.items()
            for C, runs in by_C.items()
            if C.startswith("C =")
        )
        return {"parts": parts}

    def _count(self, run: dict[str, Any]) -> str:
        machines = run[self._to_goal("machines")]
        return f"— (gap {run['gap']:.1g})" if machines is None else f"{machines}"


class Exponents(NamedTuple):
    """seconds = constant m^rows n_P^order."""

    constant: float
    rows: float
    order: float

    def __str__(self) -> str:
        return f"m^{self.rows:.1f} n_P^{self.order:.1f}"


def fit_exponents(m: Array, order: Array, seconds: Array) -> Exponents:
    """Return the least-squares fit of the logarithms; arrays of one shape."""
    design = np.column_stack([np.ones(m.size), np.log(m.ravel()), np.log(order.ravel())])
    coefficients = np.linalg.lstsq(design, np.log(seconds.ravel()), rcond=None)[0]
    return Exponents(float(np.exp(coefficients[0])), float(coefficients[1]), float(coefficients[2]))


class TklCost(PaperFigure):
    """A row for each task, a column for each solver, a line for each n_P."""

    name = "tkl-figure-2"
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        methods = [method for method in METHODS if not method.startswith("hybrid")]
        figure, axes = canvas(3.7 * len(methods), 6.2, 2, len(methods), sharex=True, sharey=True)
        measured: dict[str, Any] = {}
        self._seconds(self._sample(data, min(self.counts), "regression"), 2, methods[0])  # compiles
        for panels, task in zip(axes, ("classification", "regression"), strict=True):
            samples = [self._sample(data, m, task) for m in self.counts]
            panels[0].set_ylabel(f"{task}: seconds of a fit")
            for ax, method in zip(panels, methods, strict=True):
                orders, seconds = self._measure(samples, method)
                fitted = self._draw(ax, orders, seconds)
                exponents = f"$m^{{{fitted.rows:.1f}}}\\,n_P^{{{fitted.order:.1f}}}$"
                ax.set_title(f"{method}: {exponents}", fontsize=10)
                measured[f"{task}, {method}"] = self._numbers(orders, seconds, fitted)
        for ax in axes.flat:
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(self.counts, [str(m) for m in self.counts])
            ax.minorticks_off()
        for ax in axes[-1]:
            ax.set_xlabel("rows m")
        legend_of(axes[0, 0])
        return figure, measured

    def _sample(self, data: str | None, m: int, task: str) -> Rows:
        rows = read(self.data_set, data, m)
        if task == "regression":
            return rows
        signs = np.where(rows.y >= np.median(rows.y), 1.0, -1.0)
        return replace(rows, y=signs, is_classification=True)

    def _measure(self, samples: list[Rows], method: str) -> tuple[Array, Array]:
        """Return each n_P, and the seconds of a fit, a row for each n_P."""
        kernel = tessellated(self.degree)
        seconds = [[self._seconds(rows, n, method) for rows in samples] for n in self.features]
        return np.array([kernel.shape_size(n) for n in self.features]), np.array(seconds)

    def _seconds(self, rows: Rows, n_features: int, method: str) -> float:
        copies = -(-n_features // rows.X.shape[1])
        wide = replace(rows, X=np.tile(rows.X, copies)[:, :n_features])
        problem = learning(wide, self.C, self.epsilon, tessellated(self.degree))
        with threadpool_limits(1):
            problem.start_clock()
            METHODS[method][0](problem, tol=1e-12, max_iter=1 + self.machines)
        return (problem.ticks[-1] - problem.ticks[0]) / (len(problem.ticks) - 1)

    def _draw(self, ax: Any, orders: Array, seconds: Array) -> Exponents:
        """Draw times and their fit; return it."""
        m = np.array(self.counts, dtype=np.float64)
        grid = np.broadcast_arrays(m, orders[:, None].astype(float))
        large = m >= self.fitted_from
        exponents = fit_exponents(*(each[:, large] for each in (*grid, seconds)))
        for order, line, color in zip(orders, seconds, COLORS, strict=False):
            ax.plot(m, line, "o", color=color, markersize=5, label=f"$n_P$ = {order}")
            fitted = exponents.constant * m**exponents.rows * float(order) ** exponents.order
            ax.plot(m[large], fitted[large], color=color, linewidth=0.9)
        return exponents

    def _numbers(self, orders: Array, seconds: Array, exponents: Exponents) -> dict[str, Any]:
        lines = {
            f"n_P = {order}": dict(zip(map(str, self.counts), map(float, line), strict=True))
            for order, line in zip(orders, seconds, strict=True)
        }
        return {"seconds": lines, **exponents._asdict()}

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        order = tessellated(self.degree).shape_size(self.features[-1])
        quickest, slowest = (
            measured[f"regression, {method}"]["seconds"][f"n_P = {order}"][str(self.counts[-1])]
            for method in ("lowrank", "apd (Algorithm 4)")
        )
        fits = "; ".join(
            f"{key} {fit}" + (f" (the paper: {printed})" if printed else "")
            for key, each in measured.items()
            for fit in [Exponents(*(each[name] for name in Exponents._fields))]
            for printed in [PRINTED.get(tuple(key.split(", ")[::-1]))]
        )
        ends = {"rows": self.counts[-1], "order": order}
        return {**ends, "quickest": quickest, "slowest": slowest, "fits": fits}


def _draw_gaps(above: Any, below: Any, runs: dict[str, tuple[Array, Array]]) -> None:
    """Draw the gaps of all solvers in the two panels of a set."""
    for method, (gaps, seconds) in runs.items():
        _, color, dash = METHODS[method]
        look = {"color": color, "linestyle": dash, "label": method, "linewidth": 1.4}
        above.plot(np.arange(1, len(gaps) + 1), gaps, **look)
        below.plot(seconds, gaps, **look)
