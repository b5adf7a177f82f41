"""DANK, Figure 4, and KNPL, Figure 3: the papers' algorithms beside the optimum, on heart."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from papers.figures.figure import LEARNED_LINE, SVM_LINE, PaperFigure, canvas, eta_text, legend_of
from papers.figures.samples import Chosen, Grid, choose, heart_half, svm
from papers.theory import accelerated
from pliant import DANKClassifier, KNPLClassifier
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION
from tests.reference import dank_algorithm1, knpl_admm, naive_hadamard

METHODS = {
    "projected gradient": (accelerated.projected_gradient, BLUE, SVM_LINE),
    "Algorithm 1 (Nesterov)": (accelerated.algorithm_1, VERMILION, LEARNED_LINE),
}
"""As in the paper: dashed and solid."""


class DankConvergence(PaperFigure):
    """Both methods of the paper from alpha = 0, and the sequence of SVM duals beside them."""

    name = "dank-figure-4"
    more: ClassVar = {"grid": Grid()}
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        X, y = heart_half(data, self.seed)
        chosen = choose(svm, X, y, self.grid)
        model = DANKClassifier(gamma=chosen.gamma, C=chosen.C, tau=self.tau, tol=self.tol)
        optimum, seconds = _from_zero(model, X, y)
        figure, (panels,) = canvas(13.0, 4.0, 1, 3)
        measured = {
            "rows": len(y), "sigma": chosen.sigma, "C": chosen.C, "eta": optimum.eta_,
            "h(0)": (constant := optimum.eta_ * (self.tau * len(y) - self.tau**2 / 4)),
            "optimum less h(0)": (best := optimum.objective_ - constant),
            "certified gap": optimum.dual_gap_,
        }  # fmt: skip
        K = optimum.kernel_.base(X)
        for label, (method, color, dash) in METHODS.items():
            run = method(K, y, chosen.C, optimum.eta_, self.tau, max_iter=self.iterations, eps=0.0)
            values, moves = np.array(run.values) - constant, np.array(run.moves)
            t = np.arange(1, len(values))
            for ax, each in zip(panels, (values[1:], moves, best - values[1:]), strict=True):
                ax.plot(t, each, color=color, linestyle=dash, label=label)
            measured[label] = self._numbers(values, moves, run.seconds[-1], best)
        history = optimum.objective_history_
        measured["pliant"] = {
            "objective less h(0)": history.tolist(),
            "gaps": optimum.gap_history_.tolist(),
            "two-coordinate steps": optimum.step_history_.tolist(),
            "seconds": seconds,
        }
        self._finish(panels, history, best)
        return figure, measured

    def _numbers(self, values: Array, moves: Array, seconds: float, best: float) -> dict[str, Any]:
        return {
            "objective less h(0)": float(values[-1]),
            "distance from the optimum": float(best - values[-1]),
            "iterations to 1 % of the optimum": _first(best - values <= 0.01 * best),
            f"iterations to a move of {self.eps:g}": _first(np.r_[False, moves <= self.eps]),
            "last move": float(moves[-1]),
            "iterations": len(moves),
            "seconds": float(seconds),
        }

    def _finish(self, panels: Any, history: Array, best: float) -> None:
        """Draw pliant and the optimum, label axes and name the lines."""
        objective, moves, distance = panels
        objective.axhline(best, color=GREY, linewidth=0.8, label="certified optimum")
        t = np.arange(1, len(history))
        look = {"color": PURPLE, "markersize": 5, "label": "pliant"}
        objective.plot(t, history[1:], "o", **look)
        distance.plot(t[:-1], best - history[1:-1], "o", **look)
        moves.axhline(self.eps, color=GREY, linewidth=0.8, linestyle=":")
        moves.annotate("the paper's stopping rule", (1, self.eps), va="bottom", fontsize=8)
        objective.set(ylabel="objective h(α(t)) − h(0)", xscale="log")
        moves.set(ylabel="‖α(t) − α(t−1)‖₂", xscale="log", yscale="log")
        distance.set(ylabel="optimum − h(α(t))", xscale="log", yscale="log")
        for ax, part in zip(panels, "abc", strict=True):
            ax.set_title(f"({part})", loc="left")
            ax.set_xlabel("iteration t" if ax is moves else "iteration t (pliant: SVM duals)")
            ax.legend(fontsize=8)

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        plain, fast = (measured[label] for label in METHODS)
        pliant = measured["pliant"]
        return {
            "plain": plain,
            "fast": fast,
            "duals": len(pliant["gaps"]) - 1,
            "steps": pliant["two-coordinate steps"][-1],
            "milliseconds": 1000 * pliant["seconds"],
        }


class KnplConvergence(PaperFigure):
    """Algorithm 1 at the alpha of the SVM, and Algorithm 2 for two values of eta."""

    name = "knpl-figure-3"
    more: ClassVar = {"grid": Grid()}
    needs_data = True

    def _plot(self, data: str | None) -> tuple[Any, dict[str, Any]]:
        X, y = heart_half(data, self.seed)
        chosen = choose(svm, X, y, self.grid)
        width = 1 + len(self.eta_scales)
        figure, ((admm, *others),) = canvas(4.4 * width, 4.2, 1, width)
        optima = [self._optimum(X, y, chosen, scale) for scale in self.eta_scales]
        K = optima[0].kernel_.base(X)
        measured = {
            "rows": len(y), "sigma": chosen.sigma, "C": chosen.C,
            "ADMM": self._admm(admm, K, y, chosen.C, optima[0].eta_),
        }  # fmt: skip
        for ax, optimum, scale in zip(others, optima, self.eta_scales, strict=True):
            run = knpl_admm.alternate(K, y, chosen.C, optimum.eta_, rounds=self.rounds)
            _draw_alternation(ax, run, optimum)
            ax.set_title(eta_text(scale), fontsize=10)
            measured[f"eta_scale {scale:g}"] = _alternation_numbers(run, optimum)
        for ax, part in zip((admm, *others), "abc", strict=False):
            ax.set_title(f"({part})", loc="left")
        others[0].set_ylabel("objective H(α, G) less η n²")
        legend_of(others[0], "upper right")
        return figure, measured

    def _optimum(self, X: Array, y: Array, chosen: Chosen, scale: float) -> KNPLClassifier:
        parameters = {"gamma": chosen.gamma, "C": chosen.C, "eta_scale": scale}
        return _from_zero(KNPLClassifier(**parameters, tol=self.tol), X, y)[0]

    def _admm(self, ax: Any, K: Array, y: Array, C: float, eta: float) -> dict[str, Any]:
        """Draw Diff; return what it came to."""
        Gamma = dank_algorithm1.gamma_matrix(K, y, knpl_admm.svm(K, y, C), eta)
        _, history = knpl_admm.admm(Gamma, max_iter=self.iterations, eps=0.0)
        G, _ = knpl_admm.admm(Gamma, max_iter=self.limit, eps=0.0)
        ax.semilogy(np.arange(1, len(history) + 1), history, "o-", color=BLUE, markersize=3)
        ax.axhline(self.eps, color=GREY, linewidth=0.8, linestyle=":")
        ax.axvline(self.limit, color=GREY, linewidth=0.8, linestyle=":")
        ax.annotate(
            "the paper stops\nbelow or after", (self.limit, self.eps), (6, 6),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
        ax.set(xlabel="iteration of the ADMM", ylabel="Diff (Frobenius norm)")
        exact = 1 + naive_hadamard.centred(Gamma)
        return {
            "Diff": history,
            f"iterations to Diff {self.eps:g}": 1 + (_first(np.array(history) <= self.eps) or 0),
            f"distance from G after {self.limit}": float(np.linalg.norm(G - exact)),
        }

    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        admm = measured["ADMM"]
        cycles = [
            {"eta": eta_text(scale), "G": m["after G"][-1], "alpha": m["after alpha"][-1], "m": m}
            for scale in self.eta_scales
            for m in [measured[f"eta_scale {scale:g}"]]
        ]
        return {
            "iterations": admm[f"iterations to Diff {self.eps:g}"],
            "distance": admm[f"distance from G after {self.limit}"],
            "cycles": cycles,
        }


def _from_zero(model: Any, X: Array, y: Array) -> tuple[Any, float]:
    """Return the model with its automatic eta given, solved from alpha = 0, and the seconds."""
    model.set_params(eta=model.fit(X, y).eta_, eta_scale=1.0)
    started = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - started


def _first(reached: npt.NDArray[np.bool_]) -> int | None:
    """Return the number of the first true entry; None if there is none."""
    return int(reached.argmax()) if reached.any() else None


def _draw_alternation(ax: Any, run: knpl_admm.Alternation, optimum: KNPLClassifier) -> None:
    rounds = 1 + np.arange(len(run.after_svm))
    halves = np.ravel([rounds, rounds + 0.5], order="F")
    values = np.ravel([run.after_adaptation, run.after_svm], order="F")
    ax.plot(halves, values, color=GREY, linewidth=0.8)
    ax.plot(rounds, run.after_adaptation, "o", color=BLUE, label="Algorithm 2, after G")
    ax.plot(rounds + 0.5, run.after_svm, "^", color=VERMILION, label="Algorithm 2, after α")
    ax.axhline(optimum.objective_, color=PURPLE, linewidth=1.2, label="certified optimum")
    history = optimum.objective_history_[1:]
    ax.plot(1 + np.arange(len(history)), history, "s", color=PURPLE, markersize=4, label="pliant")
    ax.set_xlabel("round (pliant: SVM duals solved)")


def _alternation_numbers(run: knpl_admm.Alternation, optimum: KNPLClassifier) -> dict[str, Any]:
    return {
        "eta": optimum.eta_,
        "after G": run.after_adaptation,
        "after alpha": run.after_svm,
        "optimum": optimum.objective_,
        "certified gap": optimum.dual_gap_,
        "pliant": optimum.objective_history_.tolist(),
        "two-coordinate steps": optimum.step_history_.tolist(),
    }
