"""DANK, Figure 6: a step function and a function of two variables, by SVR-CV and by DANK."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from papers.figures import Drawing, Numbers, shared
from papers.generators import cherkassky_function, step_function
from pliant import C_path, DANKRegressor
from pliant.core.typing import Array

SVR_CV, DANK = "SVR-CV", "DANK"
SAME, BEST = "DANK with the parameters of SVR-CV", "SVR, best of the grid on the test points"
MISSED = "test 1 - R2"


def _compare(
    s: SimpleNamespace, points: shared.Points
) -> tuple[dict[str, Any], dict[str, Numbers]]:
    """Return SVR-CV and DANK, tuned and fitted on the training points, and their results."""

    def svrs(gamma: float, _: float, Cs: Sequence[float], X: Array, y: Array) -> list[Any]:
        models = [SVR(gamma=gamma, C=C, epsilon=s.epsilon) for C in Cs]
        scaled = [TransformedTargetRegressor(m, transformer=StandardScaler()) for m in models]
        return [model.fit(X, y) for model in scaled]

    def dank(gamma: float, eta_scale: float, **more: float) -> DANKRegressor:
        given = {"epsilon": s.epsilon, "tau": s.tau, "tol": 1e-3, **more}
        return DANKRegressor(gamma=gamma, eta_scale=eta_scale, **given)

    def danks(gamma: float, eta_scale: float, Cs: Sequence[float], X: Array, y: Array) -> Any:
        return C_path(dank(gamma, eta_scale), X, y, Cs)

    X, y, powers = points.X, points.y, getattr(s, "powers", shared.POWERS)
    plain = shared.choose(svrs, X, y, powers=powers)
    learned = shared.choose(danks, X, y, eta_scales=s.eta_scales, powers=powers)
    (svr,) = svrs(plain.gamma, 1.0, [plain.C], X, y)
    model, same = (
        dank(c.gamma, c.eta_scale, C=c.C).set_params(tol=1e-4).fit(X, y) for c in (learned, plain)
    )
    Cs = [2.0**p for p in powers]
    reached = [
        {"sigma": 2.0**p, "C": C, MISSED: 1.0 - each.score(points.X_test, points.y_test)}
        for p in powers
        for C, each in zip(Cs, svrs(shared.gamma_of(2.0**p), 1.0, Cs, X, y), strict=True)
    ]
    measured = {
        SVR_CV: _numbers(svr, len(svr.regressor_.support_), plain, points),
        DANK: _dank_numbers(model, learned, points),
        SAME: _dank_numbers(same, plain, points),
        BEST: min(reached, key=lambda each: each[MISSED]),
    }
    return {SVR_CV: svr, DANK: model}, measured


def _numbers(model: Any, n_support: int, chosen: shared.Chosen, points: shared.Points) -> Numbers:
    return {
        **chosen._asdict(),
        "support points": n_support,
        "training 1 - R2": 1.0 - model.score(points.X, points.y),
        MISSED: 1.0 - model.score(points.X_test, points.y_test),
    }


def _dank_numbers(model: DANKRegressor, chosen: shared.Chosen, points: shared.Points) -> Numbers:
    return {
        **_numbers(model, len(model.support_), chosen, points),
        **shared.adaptation_numbers(model),
    }


def steps(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw a column for each a: the printed value, and its inverse, which gives steps."""
    count = len(s.sharpness)
    figure, panels = shared.canvas(5.2 * count, 5.6, 2, count, sharex=True, height_ratios=(2.2, 1))
    measured = {}
    for (upper, lower), a in zip(panels.T, s.sharpness, strict=True):
        x, x_test = (np.linspace(-5.0, 5.0, m) for m in (s.n, s.n_test))
        y, y_test = (
            step_function(each, height=s.s, period=s.w, sharpness=a) for each in (x, x_test)
        )
        points = shared.Points(x[:, None], y, x_test[:, None], y_test)
        models, numbers = _compare(s, points)
        upper.plot(x_test, y_test, color=shared.GREY, linewidth=4, alpha=0.35, label="g")
        lower.axhline(0, color=shared.GREY, linewidth=4, alpha=0.35)
        for label, color, dash in (
            (SVR_CV, shared.BLUE, shared.SVM_LINE),
            (DANK, shared.VERMILION, shared.LEARNED_LINE),
        ):
            look = {"color": color, "linestyle": dash, "linewidth": 1.2}
            predicted = models[label].predict(points.X_test)
            upper.plot(x_test, predicted, label=label, **look)
            lower.plot(x_test, predicted - y_test, **look)
        upper.set_ylabel("g(x)")
        lower.set(xlabel="x", ylabel="prediction − g(x)")
        plain, learned = (numbers[name][MISSED] for name in (SVR_CV, DANK))
        upper.set_title(f"a = {a:g}; 1 − R²: SVR-CV {plain:.2g}, DANK {learned:.2g}")
        bend = float(np.abs(y_test - s.s / s.w * x_test).max())
        measured[f"a = {a:g}"] = {"distance from the line s x/w": bend, **numbers}
    panels[0, 0].legend(fontsize=8)
    bend = measured[f"a = {s.sharpness[0]:g}"]["distance from the line s x/w"]
    words = {"bend": bend, "last": s.sharpness[-1], "outcome": _outcome(measured)}
    return figure, measured, words


def surface(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw a row for each square: the function, and the errors of SVR-CV and DANK."""
    figure, rows = shared.canvas(12.5, 3.9 * len(s.squares), len(s.squares), 3)
    measured = {}
    for (low, high), row in zip(s.squares, rows, strict=True):
        X = np.random.default_rng(s.seed).uniform(low, high, (s.n, 2))
        ends = np.linspace(low, high, s.resolution)
        grid = shared.places(ends, ends)
        y, fresh = (cherkassky_function(each, "surface") for each in (X, grid))
        points = shared.Points(X, y, grid, fresh)
        models, numbers = _compare(s, points)
        _draw_row(row, points, models, numbers, s.resolution)
        measured[f"square [{low:g}, {high:g}]^2"] = numbers
    return figure, measured, {"outcome": _outcome(measured)}


def _draw_row(
    row: Any, points: shared.Points, models: dict[str, Any], numbers: Numbers, resolution: int
) -> None:
    """Draw the surface, and both errors on one colour scale without the largest 1 %."""
    u, v, g = (
        values.reshape(resolution, resolution) for values in (*points.X_test.T, points.y_test)
    )
    figure = row[0].figure
    row[0].remove()
    above = figure.add_subplot(row[0].get_subplotspec(), projection="3d")
    above.plot_surface(u, v, g, cmap="viridis", linewidth=0)
    above.set(xlabel="u", ylabel="v", title="g(u, v)")
    above.set_box_aspect(None, zoom=0.85)
    errors = {
        label: (model.predict(points.X_test) - points.y_test).reshape(u.shape)
        for label, model in models.items()
    }
    limit = max(np.percentile(np.abs(each), 99) for each in errors.values())
    for ax, (label, error) in zip(row[1:], errors.items(), strict=True):
        image = ax.pcolormesh(u, v, error, cmap=shared.diverging(), vmin=-limit, vmax=limit)
        ax.scatter(*points.X.T, 2, color="black", linewidths=0)
        ax.set(xlabel="u", ylabel="v", aspect="equal")
        ax.set_title(f"{label}: 1 − R² = {numbers[label][MISSED]:.2g}")
        figure.colorbar(image, ax=ax, label="prediction − g(u, v)", shrink=0.85, extend="both")


def _outcome(measured: dict[str, Numbers]) -> str:
    """Describe the comparisons, and the better model of each."""
    parts = ". ".join(f"{label}: {_in_words(m)}" for label, m in measured.items())
    better = " ".join(
        f"For {label} {DANK if m[DANK][MISSED] < m[SVR_CV][MISSED] else SVR_CV} is the better one."
        for label, m in measured.items()
    )
    return f"{parts}. {better}"


def _in_words(measured: Numbers) -> str:
    svr, dank, same, best = (measured[name] for name in (SVR_CV, DANK, SAME, BEST))
    return (
        f"SVR-CV {svr[MISSED]:.2g} (σ = {svr['sigma']:g}, C = {svr['C']:g}), DANK "
        f"{dank[MISSED]:.2g} (σ = {dank['sigma']:g}, C = {dank['C']:g}, eta_scale "
        f"{dank['eta_scale']:g}), DANK with the SVR's σ and C {same[MISSED]:.2g}; the best "
        f"SVR of the grid, had the choice been made on these points, {best[MISSED]:.2g} "
        f"(σ = {best['sigma']:g}, C = {best['C']:g})"
    )
