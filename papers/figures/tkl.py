"""TKL, Figures 3 and 4: a terrain with sharp edges, and the rank of P."""

from __future__ import annotations

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
from pliant.datasets import make_terrain
from pliant.datasets.generators import terrain_elevation
from pliant.methods.svm import smo
from pliant.methods.tkl.problem import SaddleProblem
from pliant.methods.tkl.solvers import low_rank

GAUSSIAN, TESSELLATED = "Gaussian SVR", "TKL, degree 2"

CLIFF = 0.02
"""Width of a cliff; points within this distance count as near."""

STEEP = 150.0
"""Minimum change of the elevation in metres within CLIFF of a point near a cliff."""


def _learning(rows: shared.Rows, C: float, epsilon: float) -> SaddleProblem:
    """State the saddle point on some rows."""
    return tkl_solvers.learning(rows.X, rows.y, C, None if rows.is_classification else epsilon)


def near_cliffs(X: Array, angle: float) -> Mask:
    """Return True for each point within CLIFF of a cliff."""
    around = [(0.0, 0.0), (CLIFF, 0.0), (-CLIFF, 0.0), (0.0, CLIFF), (0.0, -CLIFF)]
    heights = np.array([terrain_elevation(X + np.array(step), angle) for step in around])
    return np.asarray(np.abs(heights - heights[0]).max(axis=0) > STEEP)


def terrain(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw a row for each angle of the canyon: the terrain, and the predictions of both models."""
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
    """Return both models with their grids for cross-validation."""
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
    """Draw a shaded relief."""
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
    """Draw a panel for each set: mean steps with a 95 % interval, their line, and the learned P."""
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


def _steps_by_rank(s: SimpleNamespace, problem: SaddleProblem) -> Numbers:
    """Return the steps for each rank of a random P, and for the learned P."""
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
