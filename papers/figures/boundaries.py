"""DANK, Figures 1 and 2, and KNPL, Figure 2: boundaries in the plane, and the adaptive matrix."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from papers.figures import Drawing, Numbers, shared
from pliant import DANKClassifier, KNPLClassifier
from pliant.core.typing import Array
from pliant.datasets import make_sandwich

LINES = ((shared.BLUE, shared.SVM_LINE), (shared.VERMILION, shared.LEARNED_LINE))
"""Colour and line style of the plain and the learned boundary."""


def _tuned_svm(
    s: SimpleNamespace, points: shared.Points, *sigmas: float
) -> tuple[shared.Chosen, Any]:
    powers = getattr(s, "powers", shared.POWERS)
    chosen = shared.choose(shared.svm, points.X, points.y, sigmas, powers=powers)
    return chosen, shared.svm(chosen.gamma, 1.0, [chosen.C], points.X, points.y)[0]


def dank(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw a column for each width (0: by cross-validation of the SVM) and a row for each eta."""
    points = shared.clowns(s)
    shape = len(s.eta_scales), len(s.sigmas)
    figure, panels = shared.canvas(
        3.6 * shape[1], 3.4 * shape[0] + 0.4, *shape, sharex=True, sharey=True
    )
    measured = []
    for column, sigma in zip(panels.T, s.sigmas, strict=True):
        chosen, plain = _tuned_svm(s, points, *([sigma] if sigma else []))
        numbers = {"sigma": chosen.sigma, "C": chosen.C, "SVM": _accuracies(plain, points)}
        for ax, scale in zip(column, s.eta_scales, strict=True):
            model = _learned(DANKClassifier(tau=s.tau), chosen, scale, points)
            _draw_boundaries(ax, plain, model, points, s.resolution)
            found = numbers[_key("DANK", scale)] = {
                **_accuracies(model, points), "eta": model.eta_, **shared.adaptation_numbers(model),
                "relative gap": model.dual_gap_ / (1 + abs(model.objective_)),
            }  # fmt: skip
            heading = f"SVM {_percent(numbers['SVM'])}, DANK {_percent(found)}"
            above = f"σ = {chosen.sigma:g}, C = {chosen.C:g}\n" if ax is column[0] else ""
            ax.set_title(above + heading, fontsize=9)
        measured.append(numbers)
    for row, scale in zip(panels, s.eta_scales, strict=True):
        row[0].set_ylabel(f"{shared.eta_text(scale)}\nx₂ (standard deviations)")
    for ax in panels[-1]:
        ax.set_xlabel("x₁ (standard deviations)")
    _legend(figure, "SVM", "DANK")
    columns = "; ".join(
        f"σ = {m['sigma']:g}, C = {m['C']:g}: SVM {_percent(m['SVM'])}"
        + "".join(
            f", DANK with {shared.eta_text(scale)} {_percent(m[_key('DANK', scale)])}"
            for scale in s.eta_scales
        )
        for m in measured
    )
    found = [m[_key("DANK", scale)] for m in measured for scale in s.eta_scales]
    words = {
        "points": 2 * s.n_per_class, "fresh": 2 * s.n_test_per_class, "columns": columns,
        "best_svm": max(100 * m["SVM"]["test accuracy"] for m in measured),
        "best_dank": max(100 * m["test accuracy"] for m in found),
    }  # fmt: skip
    return figure, {"columns": measured}, words


def entries(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw F on all pairs of training points, for the paper's eta and a smaller one."""
    points = shared.clowns(s)
    chosen, _ = _tuned_svm(s, points, s.sigma)
    figure, ((*panels,),) = shared.canvas(4.6 * len(s.eta_scales), 4.2, 1, len(s.eta_scales))
    measured: Numbers = {"C": chosen.C}
    for ax, scale in zip(panels, s.eta_scales, strict=True):
        model = _learned(DANKClassifier(tau=s.tau), chosen, scale, points)
        given = {**model.get_params(), "eta": model.eta_, "eta_scale": 1.0, "tau": 0.0}
        without = DANKClassifier(**given).fit(points.X, points.y)
        numbers = measured[f"eta_scale {scale:g}"] = {
            "eta": model.eta_, "support points": len(model.support_),
            **shared.adaptation_numbers(model),
            "rank of F for tau = 0": without.adaptation_.rank,
        }  # fmt: skip
        F = model.adaptation_.toarray()
        _draw_entries(ax, F, "F")
        ax.set_title(
            f"{shared.eta_text(scale)}: rank {numbers['rank of F']} of {len(F)},\n"
            f"entries {F.min():.3f} to {F.max():.3f}"
        )
    parts = [{"eta": shared.eta_text(e), "m": measured[f"eta_scale {e:g}"]} for e in s.eta_scales]
    return figure, measured, {"points": 2 * s.n_per_class, "parts": parts}


def knpl(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw a row for each eta: boundaries on the left, G on the right; C is shared."""
    points = _sandwich(s, s.seed)
    chosen, plain = _tuned_svm(s, points)
    measured = {**chosen._asdict(), "SVM-CV": _accuracies(plain, points)}
    figure, panels = shared.canvas(10.0, 4.0 * len(s.eta_scales) + 0.4, len(s.eta_scales), 2)
    for (left, right), scale in zip(panels, s.eta_scales, strict=True):
        model = _learned(KNPLClassifier(), chosen, scale, points)
        G = model.adaptation_.toarray()
        _draw_boundaries(left, plain, model, points, s.resolution)
        _draw_entries(right, G, "G")
        found = {"eta": model.eta_, **shared.adaptation_numbers(model, "G")}
        numbers = measured[_key("KNPL", scale)] = {**_accuracies(model, points), **found}
        left.set(xlabel="x₁ (no unit)", ylabel="x₂ (no unit)")
        left.set_title(
            f"{shared.eta_text(scale)}; training / test accuracy:\n"
            f"SVM-CV {_percent(measured['SVM-CV'], 2)}, KNPL {_percent(numbers, 2)}",
            fontsize=10,
        )
        right.set_title(f"G from {G.min():.3f} to {G.max():.3f}", fontsize=10)
    means = measured[f"means of {s.draws} draws"] = _means(s)
    _legend(figure, "SVM-CV", "KNPL")
    etas = {_key("KNPL", scale): shared.eta_text(scale) for scale in s.eta_scales}
    learned = (f"KNPL with {eta} {_percent(means[key], 2)}" for key, eta in etas.items())
    words = {
        "points": 2 * s.n_per_class,
        "fresh": 2 * s.n_test_per_class,
        "svm": _percent(measured["SVM-CV"], 2),
        "parts": [
            {"eta": eta, "accuracy": _percent(measured[key], 2), "m": measured[key]}
            for key, eta in etas.items()
        ],
        "means": ", ".join([f"SVM-CV {_percent(means['SVM-CV'], 2)}", *learned]),
    }
    return figure, measured, words


def _sandwich(s: SimpleNamespace, seed: int) -> shared.Points:
    test = make_sandwich(s.n_test_per_class, s.test_seed)
    return shared.Points(*make_sandwich(s.n_per_class, seed), *test)


def _means(s: SimpleNamespace) -> dict[str, dict[str, float]]:
    """Return the mean accuracies over several draws of the training points."""
    by_model: dict[str, list[dict[str, float]]] = {}
    for seed in range(s.seed, s.seed + s.draws):
        points = _sandwich(s, seed)
        chosen, plain = _tuned_svm(s, points)
        by_model.setdefault("SVM-CV", []).append(_accuracies(plain, points))
        for scale in s.eta_scales:
            model = _learned(KNPLClassifier(), chosen, scale, points)
            by_model.setdefault(_key("KNPL", scale), []).append(_accuracies(model, points))
    return {
        name: {part: float(np.mean([each[part] for each in all_])) for part in all_[0]}
        for name, all_ in by_model.items()
    }


def _accuracies(model: Any, points: shared.Points) -> dict[str, float]:
    return {
        "training accuracy": model.score(points.X, points.y),
        "test accuracy": model.score(points.X_test, points.y_test),
    }


def _learned(model: Any, chosen: shared.Chosen, eta_scale: float, points: shared.Points) -> Any:
    """Return the model fitted with gamma and C of the SVM."""
    model.set_params(gamma=chosen.gamma, C=chosen.C, eta_scale=eta_scale)
    return model.fit(points.X, points.y)


def _key(method: str, eta_scale: float) -> str:
    return f"{method}, eta_scale {eta_scale:g}"


def _percent(m: Numbers, digits: int = 1) -> str:
    """Return the accuracies on training and test points as text."""
    train, test = (100 * m[f"{part} accuracy"] for part in ("training", "test"))
    return f"{train:.{digits}f} / {test:.{digits}f} %"


def _draw_boundaries(
    ax: Any, plain: Any, learned: Any, points: shared.Points, resolution: int
) -> None:
    """Draw the training points and the decision boundaries of two models."""
    for label, marker, color in ((1.0, "o", shared.GREY), (-1.0, "x", "#8C8C8C")):
        face = {"facecolors": "none"} if marker == "o" else {}
        shown = points.X[points.y == label].T
        ax.scatter(*shown, 14, marker=marker, linewidths=0.8, color=color, **face)
    low, high = points.X.min(axis=0), points.X.max(axis=0)
    rim = 0.08 * (high - low)
    u, v = np.linspace(low - rim, high + rim, resolution).T
    for model, (color, dash) in zip((plain, learned), LINES, strict=True):
        decision = model.decision_function(shared.places(u, v)).reshape(resolution, resolution)
        if decision.min() < 0.0 < decision.max():
            ax.contour(u, v, decision, [0.0], colors=color, linestyles=dash, linewidths=1.6)


def _draw_entries(ax: Any, matrix: Array, name: str) -> None:
    """Draw an adaptive matrix, white at 1; clip .5 % of the entries at the ends of the scale."""
    limit = float(np.percentile(np.abs(matrix - 1.0), 99.5)) or 1.0
    look = {"vmin": 1 - limit, "vmax": 1 + limit, "interpolation": "nearest"}
    image = ax.imshow(matrix, cmap=shared.diverging(), **look)
    label = f"entries of {name} (no unit)"
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.85, extend="both")
    ax.set(xlabel="training point", ylabel="training point")


def _legend(figure: Any, plain: str, learned: str) -> None:
    """Add a legend of lines and points above all panels."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=color, linestyle=dash, label=name)
        for name, (color, dash) in zip((plain, learned), LINES, strict=True)
    ]
    looks = {"linestyle": "none", "color": shared.GREY, "markersize": 5}
    lines.append(Line2D([], [], marker="o", markerfacecolor="none", label="class +1", **looks))
    lines.append(Line2D([], [], marker="x", label="class −1", **looks))
    figure.legend(handles=lines, loc="outside upper center", ncols=4, frameon=False)
