"""TKL, Figures 1 to 4: its solvers, the time of one fit, a terrain, and the rank of P."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from papers.figures import Drawing, Numbers, shared
from papers.theory import tkl_solvers
from pliant import TKLRegressor
from pliant.core.typing import Array, Mask
from pliant.datasets import make_terrain, terrain_elevation
from pliant.methods.svm import smo
from pliant.methods.svm.dual import svc_dual, svr_dual
from pliant.methods.tessellated.problem import KernelLearning, Oracle
from pliant.methods.tessellated.solvers import low_rank

METHODS = {
    "lowrank": ("low_rank", shared.BLUE, "-"),
    "frank-wolfe (Algorithm 2)": ("frank_wolfe", shared.VERMILION, "-"),
    "apd (Algorithm 4)": ("primal_dual", shared.PURPLE, "-"),
    "hybrid (Algorithm 6)": ("hybrid", shared.GREY, "--"),
}
"""How each is called in the figures, and its looks."""

COLORS = (shared.BLUE, shared.VERMILION, shared.PURPLE, shared.GREY)

LABELS = {"breast_cancer_original_complete": "cancer", "pima_diabetes": "pima",
          "boston_housing": "boston"}  # fmt: skip

PRINTED = {
    "classification, frank-wolfe (Algorithm 2)": "m^2.6 n_P^1.8",
    "regression, frank-wolfe (Algorithm 2)": "m^2.4 n_P^1.9",
    "classification, apd (Algorithm 4)": "m^2.7 n_P^1.6",
    "regression, apd (Algorithm 4)": "m^2.4 n_P^1.2",
}
"""The paper's fits of the time."""

GAUSSIAN, TESSELLATED = "Gaussian SVR", "TKL, degree 2"

CLIFF = 0.02
"""The width of a cliff; points nearer than that to one count as near."""

STEEP = 150.0
"""Metres by which the ground rises or falls within CLIFF of a point near a cliff."""


@dataclass(frozen=True, eq=False)
class ClockedLearning(KernelLearning):
    """A saddle point that records, in `ticks`, the processor seconds after each inner fit."""

    started: list[float] = field(default_factory=lambda: [time.process_time()])
    ticks: list[float] = field(default_factory=list)

    def start_clock(self) -> None:
        """Count from now; by default, from when it was made."""
        self.started[:], self.ticks[:] = [time.process_time()], []

    def oracle(self, w: Array, gain: float, count: int = 1) -> Oracle:
        """Return the best P for w: the last step of each inner fit."""
        best = super().oracle(w, gain, count)
        self.ticks.append(time.process_time() - self.started[0])
        return best


def _learning(rows: shared.Rows, C: float, epsilon: float, **family: Any) -> ClockedLearning:
    """State the saddle point on some rows."""
    margin: Any = (
        partial(svc_dual, signs=rows.y, C=C)
        if rows.is_classification
        else partial(svr_dual, target=rows.y, C=C, epsilon=epsilon)
    )
    return tkl_solvers.learning(rows.X, margin, ClockedLearning, **family)


def convergence(s: SimpleNamespace, data: str | None) -> Drawing:
    """A column for each set: above, the gap against fits, below, against time."""
    figure, axes = shared.canvas(4.1 * len(s.panels), 6.6, 2, len(s.panels), sharey=True)
    measured: Numbers = {}
    for (name, drawn), (above, below) in zip(s.panels, axes.T, strict=True):
        rows, label = shared.read_rows(name, data), LABELS.get(name, name)
        measured[label] = {"rows": len(rows.y), "C drawn": drawn}
        for C in sorted({*s.Cs, drawn}):
            found = measured[label][f"C = {C:g}"] = {}
            for method, (_, color, dash) in METHODS.items():
                gaps, seconds = _gaps(s, rows, C, method)
                reached = np.flatnonzero(gaps <= s.goal)
                first = int(reached[0]) if reached.size else None
                found[method] = {
                    f"machines to {s.goal:g}": None if first is None else first + 1,
                    f"seconds to {s.goal:g}": None if first is None else float(seconds[first]),
                    "machines": len(gaps), "seconds": float(seconds[-1]), "gap": float(gaps[-1]),
                }  # fmt: skip
                if drawn == C:
                    look = {"color": color, "linestyle": dash, "label": method, "linewidth": 1.4}
                    above.plot(np.arange(1, len(gaps) + 1), gaps, **look)
                    below.plot(seconds, gaps, **look)
        above.set_title(f"{label}: {len(rows.y)} rows, C = {drawn:g}", fontsize=10)
    k = np.array([2.0, s.machines])
    for ax in axes[0]:
        for power, name, place in ((1, "1/k", 150.0), (2, "1/k²", 30.0)):
            ax.plot(k, 0.3 * k**-power, color="black", linewidth=0.7, linestyle=":")
            at = (place, 0.3 * place**-power)
            ax.annotate(name, at, (4, 2), textcoords="offset points", fontsize=8)
        ax.set_xlabel("support vector machines solved")
    for ax in axes[1]:
        ax.set_xlabel("processor time (s)")
    for ax in axes.flat:
        ax.axhline(s.goal, color=shared.GREY, linewidth=0.8, linestyle=":")
        ax.set(xscale="log", yscale="log", ylim=(0.5 * s.tol, 3.0))
    for ax in axes[:, 0]:
        ax.set_ylabel("gap / objective")
    shared.legend_of(axes[0, 0])

    def count(run: Numbers) -> str:
        machines = run[f"machines to {s.goal:g}"]
        return f"— (gap {run['gap']:.1g})" if machines is None else f"{machines}"

    parts = "; ".join(
        f"{label} at {C} {', '.join(count(runs[method]) for method in METHODS)}"
        for label, by_C in measured.items()
        for C, runs in by_C.items()
        if C.startswith("C =")
    )
    return figure, measured, {"parts": parts}


def _gaps(s: SimpleNamespace, rows: shared.Rows, C: float, method: str) -> tuple[Array, Array]:
    """Return relative gap and processor seconds after each support vector machine."""
    problem = _learning(rows, C, s.epsilon, delta=s.delta)
    solve = tkl_solvers.SOLVERS[METHODS[method][0]]
    with threadpool_limits(1):
        solve(problem, tol=s.tol, max_iter=2)  # compiles the loops
        problem.start_clock()
        result = solve(problem, tol=s.tol, max_iter=s.machines)
    return result.gaps / np.abs(result.objectives), np.array(problem.ticks)


def fit_exponents(m: Array, order: Array, seconds: Array) -> tuple[float, float, float]:
    """Return c, a, b of the least-squares fit of log seconds = log(c m^a n_P^b)."""
    design = np.column_stack([np.ones(m.size), np.log(m.ravel()), np.log(order.ravel())])
    constant, rows, power = np.linalg.lstsq(design, np.log(seconds.ravel()), rcond=None)[0]
    return float(np.exp(constant)), float(rows), float(power)


def cost(s: SimpleNamespace, data: str | None) -> Drawing:
    """A row for each task, a column for each solver, a line for each n_P."""
    methods = [method for method in METHODS if not method.startswith("hybrid")]
    figure, axes = shared.canvas(3.7 * len(methods), 6.2, 2, len(methods), sharex=True, sharey=True)
    measured: Numbers = {}
    m, fits = np.array(s.counts, dtype=np.float64), []
    _machine_seconds(
        s, shared.read_rows(s.data_set, data, min(s.counts)), 2, methods[0]
    )  # compiles
    for panels, task in zip(axes, ("classification", "regression"), strict=True):
        samples = [shared.read_rows(s.data_set, data, count) for count in s.counts]
        if task == "classification":
            samples = [
                shared.Rows(r.X, np.where(r.y >= np.median(r.y), 1.0, -1.0), True) for r in samples
            ]
        panels[0].set_ylabel(f"{task}: seconds of a fit")
        for ax, method in zip(panels, methods, strict=True):
            timed = [[_machine_seconds(s, r, n, method) for r in samples] for n in s.features]
            orders, seconds = np.array([o for (o, _), *_ in timed]), np.array(timed)[..., 1]
            large, grid = m >= s.fitted_from, np.broadcast_arrays(m, orders[:, None] * 1.0)
            c, a, b = fit_exponents(*(each[:, large] for each in (*grid, seconds)))
            for k, (n_P, line) in enumerate(zip(orders, seconds, strict=True)):
                color = COLORS[k % 4]
                ax.plot(m, line, "o", color=color, markersize=5, label=f"$n_P$ = {n_P:.0f}")
                ax.plot(m[large], c * m[large] ** a * n_P**b, color=color, linewidth=0.9)
            ax.set_title(f"{method}: $m^{{{a:.1f}}}\\,n_P^{{{b:.1f}}}$", fontsize=10)
            key = f"{task}, {method}"
            lines = {
                f"n_P = {n_P:.0f}": dict(zip(map(str, s.counts), line.tolist(), strict=True))
                for n_P, line in zip(orders, seconds, strict=True)
            }
            measured[key] = {"seconds": lines, "constant": c, "rows": a, "order": b}
            printed = f" (the paper: {PRINTED[key]})" if key in PRINTED else ""
            fits.append(f"{key} m^{a:.1f} n_P^{b:.1f}{printed}")
    for ax in axes.flat:
        ax.set(xscale="log", yscale="log")
        ax.set_xticks(s.counts, [str(count) for count in s.counts])
        ax.minorticks_off()
    for ax in axes[-1]:
        ax.set_xlabel("rows m")
    shared.legend_of(axes[0, 0])
    quickest, slowest = (
        measured[f"regression, {method}"]["seconds"][f"n_P = {orders[-1]:.0f}"][f"{s.counts[-1]}"]
        for method in ("lowrank", "apd (Algorithm 4)")
    )
    words = {"rows": s.counts[-1], "order": int(orders[-1]), "fits": "; ".join(fits)}
    return figure, measured, {**words, "quickest": quickest, "slowest": slowest}


def _machine_seconds(
    s: SimpleNamespace, rows: shared.Rows, n_features: int, method: str
) -> tuple[int, float]:
    """Return n_P, and the mean seconds of a support vector machine after the first."""
    copies = -(-n_features // rows.X.shape[1])
    wide = rows._replace(X=np.tile(rows.X, copies)[:, :n_features])
    problem = _learning(wide, s.C, s.epsilon, degree=s.degree)
    with threadpool_limits(1):
        problem.start_clock()
        tkl_solvers.SOLVERS[METHODS[method][0]](problem, tol=1e-12, max_iter=1 + s.machines)
    spent = problem.ticks[-1] - problem.ticks[0]
    return problem.size, spent / (len(problem.ticks) - 1)


def near_cliffs(X: Array, angle: float) -> Mask:
    """Return whether a cliff stands within its own width of each point."""
    around = [(0.0, 0.0), (CLIFF, 0.0), (-CLIFF, 0.0), (0.0, CLIFF), (0.0, -CLIFF)]
    heights = np.array([terrain_elevation(X + np.array(step), angle) for step in around])
    return np.asarray(np.abs(heights - heights[0]).max(axis=0) > STEEP)


def terrain(s: SimpleNamespace, data: str | None) -> Drawing:
    """A row for each angle of the canyon: the terrain, and what both models make of it."""
    figure, axes = shared.canvas(
        11.6, 3.9 * len(s.angles), len(s.angles), 3, sharex=True, sharey=True
    )
    measured: Numbers = {}
    ends = (np.arange(s.resolution) + 0.5) / s.resolution
    grid = shared.places(ends, ends)
    for panels, angle in zip(axes, s.angles, strict=True):
        X, y = make_terrain(s.n, angle=angle, random_state=s.seed)
        heights, near = terrain_elevation(grid, angle), near_cliffs(grid, angle)
        _show(panels[0], heights, f"terrain, turned by {angle:g}°", s.resolution)
        panels[0].plot(*X.T, ".", color="black", markersize=1.5)
        numbers = measured[f"turned by {angle:g} degrees"] = {}
        for ax, (label, model) in zip(panels[1:], _searches(s).items(), strict=True):
            predicted = model.fit(X, y).predict(grid)
            parts = {"RMSE": slice(None), "RMSE near cliffs": near, "RMSE elsewhere": ~near}
            squares = (predicted - heights) ** 2
            chosen = {k.rpartition("__")[2]: float(v) for k, v in model.best_params_.items()}
            numbers[label] = {
                **chosen, "RMSE in cross-validation": float(-model.best_score_),
                **{key: float(np.sqrt(np.mean(squares[part]))) for key, part in parts.items()},
                "share near cliffs": float(near.mean()),
            }  # fmt: skip
            _show(ax, predicted, f"{label}: {numbers[label]['RMSE']:.0f} m", s.resolution)
    parts = [
        {"place": place, "gaussian": numbers[GAUSSIAN], "tkl": numbers[TESSELLATED]}
        for place, numbers in measured.items()
    ]
    return figure, measured, {"parts": parts}


def _searches(s: SimpleNamespace) -> dict[str, GridSearchCV]:
    """Return both models, with what is tried in cross-validation."""
    svr = TransformedTargetRegressor(SVR(epsilon=s.epsilon), transformer=StandardScaler())
    tkl = TKLRegressor(degree=2, epsilon=s.epsilon)
    folds = KFold(s.folds, shuffle=True, random_state=s.seed)
    options = {"cv": folds, "scoring": "neg_root_mean_squared_error"}
    grid = {"regressor__gamma": s.gammas, "regressor__C": s.Cs}
    return {
        GAUSSIAN: GridSearchCV(svr, grid, **options),
        TESSELLATED: GridSearchCV(tkl, {"delta": s.deltas, "C": s.Cs}, **options),
    }


def _show(ax: Any, heights: Array, title: str, resolution: int) -> None:
    """Draw a shaded relief, as on a map."""
    from matplotlib import colormaps
    from matplotlib.colors import LightSource

    relief, step = heights.reshape(resolution, resolution), 10_000.0 / resolution
    look = {"cmap": colormaps["gist_earth"], "vmin": 0.0, "vmax": 2900.0, "blend_mode": "soft"}
    shaded = LightSource(azdeg=315, altdeg=45).shade(relief, **look, dx=step, dy=step)
    ax.imshow(shaded, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest")
    ax.set_title(title, fontsize=10)
    ax.set_xticks([0, 0.5, 1])
    ax.set_yticks([0, 0.5, 1])


def random_factor(size: int, rank: int, rng: np.random.Generator) -> Array:
    """Return a factor of the paper's P: the sum of v v'/|v|, with `rank` normal vectors v."""
    v = rng.standard_normal((size, rank))
    return np.asarray(v / np.sqrt(np.linalg.norm(v, axis=0)))


def ranks(s: SimpleNamespace, data: str | None) -> Drawing:
    """A panel for each set: mean steps with a 95 % interval, their line, and the learned P."""
    figure, (panels,) = shared.canvas(5.6 * len(s.sets), 4.0, 1, len(s.sets))
    measured: Numbers = {}
    compared = []
    for ax, name in zip(panels, s.sets, strict=True):
        measured[name] = {}
        for C in sorted({*s.Cs, s.C}):
            problem = _learning(shared.read_rows(name, data, s.count, s.seed), C, s.epsilon)
            numbers = measured[name][f"C = {C:g}"] = _steps_by_rank(s, problem)
            if s.C == C:
                _draw_ranks(ax, numbers)
            means = [each["mean"] for each in numbers["random P"].values()]
            ends = {"least": min(means), "largest": max(means)}
            compared.append({"name": name, "C": f"C = {C:g}", "m": numbers, **ends})
    shared.lettered(panels, [f"{name}: {s.count} rows, C = {s.C:g}" for name in s.sets])
    panels[0].set_ylabel("two-coordinate steps")
    panels[0].legend(frameon=False)
    return figure, measured, {"compared": compared}


def _steps_by_rank(s: SimpleNamespace, problem: KernelLearning) -> Numbers:
    """Return the steps for each rank of a random P, and for the learned one."""
    rng, size = np.random.default_rng(s.seed), problem.size

    def steps(factor: Array) -> int:
        dual = problem.dual(problem.gram(problem.scaled(factor)))
        return smo.solve(dual, violation=s.violation).n_iter

    with threadpool_limits(1):
        learned = low_rank.solve(problem, tol=s.tol).x
        random = {}
        for rank in (*(r for r in s.ranks if r < size), size):
            counts = [steps(random_factor(size, rank, rng)) for _ in range(s.draws)]
            half = student.ppf(0.975, s.draws - 1) * np.std(counts, ddof=1) / np.sqrt(s.draws)
            random[f"{rank}"] = {"mean": float(np.mean(counts)), "half width": float(half)}
        return {
            "n_P": size, "random P": random, "learned P": steps(learned),
            "rank of the learned P": int(np.linalg.matrix_rank(learned, tol=1e-3)),
        }  # fmt: skip


def _draw_ranks(ax: Any, numbers: Numbers) -> None:
    x = np.array([int(rank) for rank in numbers["random P"]])
    mean, half = (
        np.array([each[key] for each in numbers["random P"].values()])
        for key in ("mean", "half width")
    )
    ax.errorbar(x, mean, half, fmt="o", color=shared.BLUE, capsize=3, label="random P")
    slope, start = np.polyfit(x, mean, 1)
    ax.plot(x, start + slope * x, color=shared.GREY, linewidth=0.9, label="line through the means")
    place = numbers["rank of the learned P"], numbers["learned P"]
    ax.plot(*place, "*", color=shared.VERMILION, markersize=13, label="learned P")
    ax.set_xticks(x)
    ax.set(xlabel="rank of P", ylim=(0.0, 1.1 * max(place[1], float((mean + half).max()))))
