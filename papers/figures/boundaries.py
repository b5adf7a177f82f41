"""DANK, Figures 1 and 2, and KNPL, Figure 2: boundaries in the plane, and the adaptive matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from papers.figures.figure import (
    LEARNED_LINE,
    SVM_LINE,
    PaperFigure,
    canvas,
    diverging,
    eta_text,
    places,
)
from papers.figures.samples import (
    Chosen,
    Grid,
    Sample,
    accuracies,
    adaptation_numbers,
    clowns,
    tuned_svm,
)
from pliant import DANKClassifier, KNPLClassifier
from pliant.core.typing import Array
from pliant.datasets import make_sandwich
from pliant.plots._common import BLUE, GREY, VERMILION

RIM = 0.08
"""Empty share on each side of the points."""

LINES = ((BLUE, SVM_LINE), (VERMILION, LEARNED_LINE))
"""Colour and dash of the plain and of the learned boundary."""


class DankBoundaries(PaperFigure):
    """A column for each width of the kernel, a row for each eta; SVM and DANK have the same C."""

    name = "dank-figure-1"
    more: ClassVar = {"sigmas": (1.0, None, 16.0), "grid": Grid()}
    """For the sigma None, cross-validation of the SVM chooses one; it always chooses C."""

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        sample = clowns(self.n_per_class, self.n_test_per_class, self.seed)
        shape = len(self.eta_scales), len(self.sigmas)
        size = 3.6 * shape[1], 3.4 * shape[0] + 0.4
        figure, panels = canvas(*size, *shape, sharex=True, sharey=True)
        measured = []
        for column, sigma in zip(panels.T, self.sigmas, strict=True):
            grid = self.grid if sigma is None else replace(self.grid, sigmas=(sigma,))
            chosen, plain = tuned_svm(sample, grid)
            numbers = {"sigma": chosen.sigma, "C": chosen.C, "SVM": accuracies(plain, sample)}
            for ax, scale in zip(column, self.eta_scales, strict=True):
                learned = _learned(DANKClassifier(tau=self.tau), chosen, scale, sample)
                _draw_boundaries(ax, plain, learned, sample, self.resolution)
                numbers[_key("DANK", scale)] = shares = _dank_numbers(learned, sample)
                heading = f"SVM {_percent(numbers['SVM'])}, DANK {_percent(shares)}"
                above = f"σ = {chosen.sigma:g}, C = {chosen.C:g}\n" if ax is column[0] else ""
                ax.set_title(above + heading, fontsize=9)
            measured.append(numbers)
        for row, scale in zip(panels, self.eta_scales, strict=True):
            row[0].set_ylabel(f"{eta_text(scale)}\nx₂ (standard deviations)")
        for ax in panels[-1]:
            ax.set_xlabel("x₁ (standard deviations)")
        _legend(figure, "SVM", "DANK")
        return figure, {"columns": measured}

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        models = measured["columns"]
        columns = "; ".join(
            f"σ = {m['sigma']:g}, C = {m['C']:g}: SVM {_percent(m['SVM'])}"
            + "".join(
                f", DANK with {eta_text(scale)} {_percent(m[_key('DANK', scale)])}"
                for scale in self.eta_scales
            )
            for m in models
        )
        learned = [m[_key("DANK", scale)] for m in models for scale in self.eta_scales]
        return {
            "points": 2 * self.n_per_class,
            "fresh": 2 * self.n_test_per_class,
            "columns": columns,
            "best_svm": max(100 * m["SVM"]["test accuracy"] for m in models),
            "best_dank": max(100 * m["test accuracy"] for m in learned),
        }


class DankEntries(PaperFigure):
    """F on all pairs of the training points of Figure 1, for the paper's eta and a smaller one."""

    name = "dank-figure-2"
    more: ClassVar = {"grid": Grid()}

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        sample = clowns(self.n_per_class, self.n_test_per_class, self.seed)
        chosen, _ = tuned_svm(sample, replace(self.grid, sigmas=(self.sigma,)))
        figure, ((*panels,),) = canvas(4.6 * len(self.eta_scales), 4.2, 1, len(self.eta_scales))
        measured: dict[str, Any] = {"C": chosen.C}
        for ax, scale in zip(panels, self.eta_scales, strict=True):
            model = _learned(DANKClassifier(tau=self.tau), chosen, scale, sample)
            F = model.adaptation_.toarray()
            numbers = _entry_numbers(model, sample)
            _draw_entries(ax, F, "F")
            ax.set_title(
                f"{eta_text(scale)}: rank {numbers['rank of F']} of "
                f"{len(F)},\nentries {F.min():.3f} to {F.max():.3f}"
            )
            measured[f"eta_scale {scale:g}"] = numbers
        return figure, measured

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        parts = [
            {"eta": eta_text(scale), "m": measured[f"eta_scale {scale:g}"]}
            for scale in self.eta_scales
        ]
        return {"points": 2 * self.n_per_class, "parts": parts}


class KnplBoundary(PaperFigure):
    """A row for each eta: boundaries on the left, G on the right; SVM and KNPL share C."""

    name = "knpl-figure-2"
    more: ClassVar = {"grid": Grid()}

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        sample = self._sample(self.seed)
        chosen, plain = tuned_svm(sample, self.grid)
        measured = {**chosen._asdict(), "SVM-CV": accuracies(plain, sample)}
        figure, panels = canvas(10.0, 4.0 * len(self.eta_scales) + 0.4, len(self.eta_scales), 2)
        for (left, right), scale in zip(panels, self.eta_scales, strict=True):
            learned = _learned(KNPLClassifier(), chosen, scale, sample)
            G = learned.adaptation_.toarray()
            _draw_boundaries(left, plain, learned, sample, self.resolution)
            _draw_entries(right, G, "G")
            entries = {"eta": learned.eta_, **adaptation_numbers(learned, "G")}
            numbers = measured[_key("KNPL", scale)] = {**accuracies(learned, sample), **entries}
            left.set(xlabel="x₁ (no unit)", ylabel="x₂ (no unit)")
            left.set_title(
                f"{eta_text(scale)}; training / test accuracy:\n"
                f"SVM-CV {_percent(measured['SVM-CV'], 2)}, KNPL {_percent(numbers, 2)}",
                fontsize=10,
            )
            right.set_title(f"G from {G.min():.3f} to {G.max():.3f}", fontsize=10)
        measured[f"means of {self.draws} draws"] = self._means()
        _legend(figure, "SVM-CV", "KNPL")
        return figure, measured

    def _sample(self, seed: int) -> Sample:
        test = make_sandwich(self.n_test_per_class, self.test_seed)
        return Sample(*make_sandwich(self.n_per_class, seed), *test)

    def _means(self) -> dict[str, dict[str, float]]:
        """Return the mean accuracies over several draws of the training points."""
        by_model: dict[str, list[dict[str, float]]] = {}
        for seed in range(self.seed, self.seed + self.draws):
            sample = self._sample(seed)
            chosen, plain = tuned_svm(sample, self.grid)
            by_model.setdefault("SVM-CV", []).append(accuracies(plain, sample))
            for scale in self.eta_scales:
                learned = _learned(KNPLClassifier(), chosen, scale, sample)
                by_model.setdefault(_key("KNPL", scale), []).append(accuracies(learned, sample))
        return {
            name: {part: float(np.mean([each[part] for each in all_])) for part in all_[0]}
            for name, all_ in by_model.items()
        }

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        knpl = {_key("KNPL", scale): eta_text(scale) for scale in self.eta_scales}
        means = measured[f"means of {self.draws} draws"]
        learned = (f"KNPL with {eta} {_percent(means[key], 2)}" for key, eta in knpl.items())
        return {
            "points": 2 * self.n_per_class,
            "fresh": 2 * self.n_test_per_class,
            "svm": _percent(measured["SVM-CV"], 2),
            "parts": [
                {"eta": eta, "accuracy": _percent(measured[key], 2), "m": measured[key]}
                for key, eta in knpl.items()
            ],
            "means": ", ".join([f"SVM-CV {_percent(means['SVM-CV'], 2)}", *learned]),
        }


def _dank_numbers(learned: DANKClassifier, sample: Sample) -> dict[str, Any]:
    return {
        **accuracies(learned, sample),
        "eta": learned.eta_,
        **adaptation_numbers(learned),
        "relative gap": learned.dual_gap_ / (1 + abs(learned.objective_)),
    }


def _entry_numbers(model: DANKClassifier, sample: Sample) -> dict[str, Any]:
    parameters = {**model.get_params(), "eta": model.eta_, "eta_scale": 1.0, "tau": 0.0}
    without = DANKClassifier(**parameters).fit(sample.X, sample.y)
    return {
        "eta": model.eta_,
        "support points": len(model.support_),
        **adaptation_numbers(model),
        "rank of F for tau = 0": without.adaptation_.rank,
    }


def _learned(model: Any, chosen: Chosen, eta_scale: float, sample: Sample) -> Any:
    """Return the model, fitted with the gamma and the C of the SVM."""
    model.set_params(gamma=chosen.gamma, C=chosen.C, eta_scale=eta_scale)
    return model.fit(sample.X, sample.y)


def _key(method: str, eta_scale: float) -> str:
    return f"{method}, eta_scale {eta_scale:g}"


def _percent(m: dict[str, float], digits: int = 1) -> str:
    """Return the accuracies on training and on test points."""
    train, test = (100 * m[f"{part} accuracy"] for part in ("training", "test"))
    return f"{train:.{digits}f} / {test:.{digits}f} %"


def _draw_boundaries(ax: Any, plain: Any, learned: Any, sample: Sample, resolution: int) -> None:
    """Draw the training points and the decision boundaries of two models."""
    for label, marker, color in ((1.0, "o", GREY), (-1.0, "x", "#8C8C8C")):
        points = sample.X[sample.y == label]
        face = {"facecolors": "none"} if marker == "o" else {}
        ax.scatter(*points.T, 14, marker=marker, linewidths=0.8, color=color, **face)
    low, high = sample.X.min(axis=0), sample.X.max(axis=0)
    rim = RIM * (high - low)
    u, v = np.linspace(low - rim, high + rim, resolution).T
    for model, (color, dash) in zip((plain, learned), LINES, strict=True):
        decision = model.decision_function(places(u, v)).reshape(resolution, resolution)
        if decision.min() < 0.0 < decision.max():
            ax.contour(u, v, decision, [0.0], colors=color, linestyles=dash, linewidths=1.6)


def _draw_entries(ax: Any, matrix: Array, name: str) -> None:
    """Draw the entries of an adaptive matrix, in colours that diverge from white at 1.

    The scale ends where 0.5 % of the entries lie beyond it.
    """
    limit = float(np.percentile(np.abs(matrix - 1.0), 99.5)) or 1.0
    image = ax.imshow(
        matrix, cmap=diverging(), vmin=1 - limit, vmax=1 + limit, interpolation="nearest"
    )
    label = f"entries of {name} (no unit)"
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.85, extend="both")
    ax.set(xlabel="training point", ylabel="training point")


def _legend(figure: Any, plain: str, learned: str) -> None:
    """Name lines and points above all panels."""
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=color, linestyle=dash, label=name)
        for name, (color, dash) in zip((plain, learned), LINES, strict=True)
    ]
    looks = {"linestyle": "none", "color": GREY, "markersize": 5}
    points = [
        Line2D([], [], marker="o", markerfacecolor="none", label="class +1", **looks),
        Line2D([], [], marker="x", label="class −1", **looks),
    ]
    figure.legend(handles=lines + points, loc="outside upper center", ncols=4, frameon=False)
