"""TKL, Figure 2: the time of one machine against the number of rows, for some orders of P."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from papers.figures.figure import Drawn, canvas, save
from papers.figures.saddle import Rows, learning, read, tessellated
from papers.figures.tkl_convergence import METHODS
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION

__all__ = ["Exponents", "TklCost", "fit_exponents"]

COLORS = (BLUE, VERMILION, PURPLE, GREY)

PRINTED = {
    ("frank-wolfe (Algorithm 2)", "classification"): "m^2.6 n_P^1.8",
    ("frank-wolfe (Algorithm 2)", "regression"): "m^2.4 n_P^1.9",
    ("apd (Algorithm 4)", "classification"): "m^2.7 n_P^1.6",
    ("apd (Algorithm 4)", "regression"): "m^2.4 n_P^1.2",
}
"""The paper's fits."""


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
    found = np.linalg.lstsq(design, np.log(seconds.ravel()), rcond=None)[0]
    return Exponents(float(np.exp(found[0])), float(found[1]), float(found[2]))


@dataclass(frozen=True)
class TklCost:
    """A row for each task, a column for each solver, a line for each n_P.

    Attributes
    ----------
    data_set : str
        For regression; labels say whether its target is at least the median.
    counts : tuple of int
        Rows.
    features : tuple of int
        The first so many; more than there are: copies.
    degree : int
        Of the monomials of x, n_P = 2 C(features + degree, degree).
    machines : int
        Averaged over, after the first one.
    fitted_from : int
        The least number of rows that the fits take in.
    """

    data_set: str = "california_housing"
    counts: tuple[int, ...] = (500, 1000, 2000, 4000)
    features: tuple[int, ...] = (2, 4, 8, 16)
    degree: int = 2
    C: float = 1.0
    epsilon: float = 0.1
    machines: int = 5
    fitted_from: int = 1000

    name: ClassVar[str] = "tkl-figure-2"
    title: ClassVar[str] = "TKL, Figure 2: time of one machine"
    needs_data: ClassVar[bool] = True

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``tkl-figure-2.png``."""
        methods = [method for method in METHODS if not method.startswith("hybrid")]
        figure = canvas(3.7 * len(methods), 6.2)
        axes = figure.subplots(2, len(methods), sharex=True, sharey=True, squeeze=False)
        measured: dict[str, Any] = {}
        self._seconds(self._sample(data, min(self.counts), "regression"), 2, methods[0])  # compiles
        for panels, task in zip(axes, ("classification", "regression"), strict=True):
            samples = [self._sample(data, m, task) for m in self.counts]
            for ax, method in zip(panels, methods, strict=True):
                orders, seconds = self._measure(samples, method)
                found = self._draw(ax, orders, seconds)
                ax.set_title(f"{method}: {_typeset(found)}", fontsize=10)
                measured[f"{task}, {method}"] = self._numbers(orders, seconds, found)
        self._finish(figure, axes)
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _sample(self, data: str | None, m: int, task: str) -> Rows:
        rows = read(self.data_set, data, m)
        if task == "regression":
            return rows
        signs = np.where(rows.y >= np.median(rows.y), 1.0, -1.0)
        return replace(rows, y=signs, is_classification=True)

    def _measure(self, samples: list[Rows], method: str) -> tuple[Array, Array]:
        """Return each n_P, and the seconds of a machine, a row for each n_P."""
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
        found = fit_exponents(*(each[:, large] for each in (*grid, seconds)))
        for order, line, color in zip(orders, seconds, COLORS, strict=False):
            ax.plot(m, line, "o", color=color, markersize=5, label=f"$n_P$ = {order}")
            fitted = found.constant * m**found.rows * float(order) ** found.order
            ax.plot(m[large], fitted[large], color=color, linewidth=0.9)
        return found

    def _numbers(self, orders: Array, seconds: Array, found: Exponents) -> dict[str, Any]:
        lines = {
            f"n_P = {order}": dict(zip(map(str, self.counts), map(float, line), strict=True))
            for order, line in zip(orders, seconds, strict=True)
        }
        return {"seconds": lines, **found._asdict()}

    def _finish(self, figure: Any, axes: Any) -> None:
        """Label axes and name the lines."""
        for ax in axes.flat:
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(self.counts, [str(m) for m in self.counts])
            ax.minorticks_off()
        for ax in axes[-1]:
            ax.set_xlabel("rows m")
        for ax, task in zip(axes[:, 0], ("classification", "regression"), strict=True):
            ax.set_ylabel(f"{task}: seconds of a machine")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)

    def _caption(self, measured: dict[str, Any]) -> str:
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
        return (
            f"Processor time of one thread for one support vector machine with its Gram matrix, "
            f"D and eigenvector: the mean of {self.machines}, after the first. Rows of "
            f"{self.data_set} drawn at random; the first features, copies where there are more; "
            f"degree {self.degree}, basis x, C = {self.C:g}; lines are fits of the form m^a n_P^b "
            f"from {self.fitted_from} rows on. An iteration of the paper's Algorithm 2 is a whole "
            f"line search; one machine is the smaller unit, of which a Frank-Wolfe step takes two "
            f"to four. Fits: {fits}. The formulas used here need no Gram matrix for each entry of "
            f"P, so n_P counts for little, and most of the time is O(m^2). At {self.counts[-1]} "
            f"rows and n_P = {order} a machine of the regression takes {quickest:.2g} s (lowrank) "
            f"or {slowest:.2g} s (apd, whose P has a higher rank)."
        )


def _typeset(found: Exponents) -> str:
    return f"$m^{{{found.rows:.1f}}}\\,n_P^{{{found.order:.1f}}}$"
