"""KNPL, Figure 3: the ADMM for G, and the alternation between G and alpha, on heart."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from papers.figures.dank_convergence import first
from papers.figures.figure import Drawn, canvas, eta_text, save
from papers.figures.samples import heart_half
from papers.figures.tuning import Chosen, Grid, choose, svm
from pliant import KNPLClassifier
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, PURPLE, VERMILION
from tests.reference import dank_algorithm1, knpl_admm, naive_hadamard

__all__ = ["KnplConvergence"]


@dataclass(frozen=True)
class KnplConvergence:
    """Algorithm 1 at the alpha of the SVM, and Algorithm 2 for two values of eta.

    Attributes
    ----------
    iterations, limit : int
        Of the ADMM: drawn, and allowed by the paper.
    eps : float
        The paper's stopping rule for Diff.
    rounds : int
        Of Algorithm 2.
    tol : float
        Relative gap of the certified optimum.
    """

    seed: int = 0
    iterations: int = 40
    limit: int = 15
    eps: float = 1e-4
    rounds: int = 10
    eta_scales: tuple[float, ...] = (1.0, 0.1)
    tol: float = 1e-9
    grid: Grid = field(default_factory=Grid)

    name: ClassVar[str] = "knpl-figure-3"
    title: ClassVar[str] = "KNPL, Figure 3: convergence on heart"
    needs_data: ClassVar[bool] = True

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``knpl-figure-3.png``."""
        X, y = heart_half(data, self.seed)
        chosen = choose(svm, X, y, self.grid)
        figure = canvas(4.4 * (1 + len(self.eta_scales)), 4.2)
        first_panel, *others = figure.subplots(1, 1 + len(self.eta_scales))
        optima = [self._optimum(X, y, chosen, scale) for scale in self.eta_scales]
        K = optima[0].kernel_.base(X)
        measured = {
            "rows": len(y), "sigma": chosen.sigma, "C": chosen.C,
            "ADMM": self._admm(first_panel, K, y, chosen.C, optima[0].eta_),
        }  # fmt: skip
        for ax, optimum, scale in zip(others, optima, self.eta_scales, strict=True):
            run = knpl_admm.alternate(K, y, chosen.C, optimum.eta_, rounds=self.rounds)
            _draw_alternation(ax, run, optimum)
            ax.set_title(eta_text(scale), fontsize=10)
            measured[f"eta_scale {scale:g}"] = _numbers(run, optimum)
        for ax, part in zip((first_panel, *others), "abc", strict=False):
            ax.set_title(f"({part})", loc="left")
        others[0].set_ylabel("objective H(α, G) less η n²")
        handles, labels = others[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=4, frameon=False)
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _optimum(self, X: Array, y: Array, chosen: Chosen, scale: float) -> KNPLClassifier:
        """Return the machine with this multiple of the automatic eta, solved from alpha = 0."""
        model = KNPLClassifier(gamma=chosen.gamma, C=chosen.C, eta_scale=scale, tol=self.tol)
        return model.set_params(eta=model.fit(X, y).eta_, eta_scale=1.0).fit(X, y)

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
            f"iterations to Diff {self.eps:g}": 1 + (first(np.array(history) <= self.eps) or 0),
            f"distance from G after {self.limit}": float(np.linalg.norm(G - exact)),
        }

    def _caption(self, measured: dict[str, Any]) -> str:
        admm = measured["ADMM"]
        cycles = "; ".join(
            f"with {eta_text(scale)} its last rounds swing "
            f"between {m['after G'][-1]:.2f} and {m['after alpha'][-1]:.2f}, where the optimum is "
            f"{m['optimum']:.2f}"
            for scale in self.eta_scales
            for m in [measured[f"eta_scale {scale:g}"]]
        )
        return (
            f"A random half of heart ({measured['rows']} rows), σ = {measured['sigma']:g} and "
            f"C = {measured['C']:g} by cross-validation of the SVM. (a) Diff of the paper's ADMM "
            f"for G at the α of the SVM, with η = |α|²: {self.eps:g} is reached after "
            f"{admm[f'iterations to Diff {self.eps:g}']} iterations (the paper: about 3); after "
            f"{self.limit}, its limit, G is {admm[f'distance from G after {self.limit}']:.1g} from "
            f"the closed form. (b, c) The paper's Algorithm 2, which is said to converge within 10 "
            f"rounds, settles in a cycle: {cycles}. Squares are pliant from α = 0, one for each "
            f"SVM dual of its sequence; the line is the certified optimum."
        )


def _draw_alternation(ax: Any, run: knpl_admm.Alternation, optimum: KNPLClassifier) -> None:
    rounds = 1 + np.arange(len(run.after_svm))
    places = np.ravel([rounds, rounds + 0.5], order="F")
    values = np.ravel([run.after_adaptation, run.after_svm], order="F")
    ax.plot(places, values, color=GREY, linewidth=0.8)
    ax.plot(rounds, run.after_adaptation, "o", color=BLUE, label="Algorithm 2, after G")
    ax.plot(rounds + 0.5, run.after_svm, "^", color=VERMILION, label="Algorithm 2, after α")
    ax.axhline(optimum.objective_, color=PURPLE, linewidth=1.2, label="certified optimum")
    history = optimum.objective_history_[1:]
    ax.plot(1 + np.arange(len(history)), history, "s", color=PURPLE, markersize=4, label="pliant")
    ax.set_xlabel("round (pliant: SVM duals solved)")


def _numbers(run: knpl_admm.Alternation, optimum: KNPLClassifier) -> dict[str, Any]:
    return {
        "eta": optimum.eta_,
        "after G": run.after_adaptation,
        "after alpha": run.after_svm,
        "optimum": optimum.objective_,
        "certified gap": optimum.dual_gap_,
        "pliant": optimum.objective_history_.tolist(),
        "two-coordinate steps": optimum.step_history_.tolist(),
    }
