"""DANK, Figure 4, and KNPL, Figure 3: convergence of the papers' algorithms on heart."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from papers.figures import Drawing, Numbers, shared
from pliant import DANKClassifier, KNPLClassifier
from pliant.core.typing import Array, Mask
from tests.reference import dank_algorithm1, knpl_admm, naive_hadamard

METHODS = {
    "projected gradient": (dank_algorithm1.projected_gradient, shared.BLUE, shared.SVM_LINE),
    "Algorithm 1 (Nesterov)": (dank_algorithm1.nesterov, shared.VERMILION, shared.LEARNED_LINE),
}
"""Line styles as in the paper: dashed and solid."""


def dank(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw both methods of the paper from alpha = 0, and the sequence of SVM duals."""
    X, y = shared.heart_half(data, s.seed)
    chosen = shared.choose(shared.svm, X, y, powers=getattr(s, "powers", shared.POWERS))
    model = DANKClassifier(gamma=chosen.gamma, C=chosen.C, tau=s.tau, tol=s.tol)
    optimum, seconds = _from_zero(model, X, y)
    constant = optimum.eta_ * (s.tau * len(y) - s.tau**2 / 4)
    best = optimum.objective_ - constant
    figure, (panels,) = shared.canvas(13.0, 4.0, 1, 3)
    measured = {
        "rows": len(y), "sigma": chosen.sigma, "C": chosen.C, "eta": optimum.eta_,
        "h(0)": constant, "optimum less h(0)": best, "certified gap": optimum.dual_gap_,
    }  # fmt: skip
    K = optimum.kernel_.base(X)
    for label, (method, color, dash) in METHODS.items():
        run = method(K, y, chosen.C, optimum.eta_, s.tau, max_iter=s.iterations, eps=0.0)
        values, moves = np.array(run.values) - constant, np.array(run.moves)
        t = np.arange(1, len(values))
        for ax, each in zip(panels, (values[1:], moves, best - values[1:]), strict=True):
            ax.plot(t, each, color=color, linestyle=dash, label=label)
        measured[label] = {
            "objective less h(0)": float(values[-1]),
            "distance from the optimum": float(best - values[-1]),
            "iterations to 1 % of the optimum": _first(best - values <= 0.01 * best),
            f"iterations to a move of {s.eps:g}": _first(np.r_[False, moves <= s.eps]),
            "last move": float(moves[-1]),
            "iterations": len(moves),
            "seconds": float(run.seconds[-1]),
        }
    history = optimum.objective_history_
    measured["pliant"] = {
        "objective less h(0)": history.tolist(),
        "gaps": optimum.gap_history_.tolist(),
        "two-coordinate steps": optimum.step_history_.tolist(),
        "seconds": seconds,
    }
    _finish(panels, history, best, s.eps)
    plain, fast = (measured[label] for label in METHODS)
    words = {
        "plain": plain, "fast": fast, "duals": len(optimum.gap_history_) - 1,
        "steps": optimum.step_history_[-1], "milliseconds": 1000 * seconds,
    }  # fmt: skip
    return figure, measured, words


def _finish(panels: Any, history: Array, best: float, eps: float) -> None:
    """Draw pliant and the optimum, label axes and add the legend."""
    objective, moves, distance = panels
    objective.axhline(best, color=shared.GREY, linewidth=0.8, label="certified optimum")
    t = np.arange(1, len(history))
    look = {"color": shared.PURPLE, "markersize": 5, "label": "pliant"}
    objective.plot(t, history[1:], "o", **look)
    distance.plot(t[:-1], best - history[1:-1], "o", **look)
    moves.axhline(eps, color=shared.GREY, linewidth=0.8, linestyle=":")
    moves.annotate("the paper's stopping rule", (1, eps), va="bottom", fontsize=8)
    objective.set(ylabel="objective h(α(t)) − h(0)", xscale="log")
    moves.set(ylabel="‖α(t) − α(t−1)‖₂", xscale="log", yscale="log")
    distance.set(ylabel="optimum − h(α(t))", xscale="log", yscale="log")
    for ax, part in zip(panels, "abc", strict=True):
        ax.set_title(f"({part})", loc="left")
        ax.set_xlabel("iteration t" if ax is moves else "iteration t (pliant: SVM duals)")
        ax.legend(fontsize=8)


def knpl(s: SimpleNamespace, data: str | None) -> Drawing:
    """Draw Algorithm 1 at the alpha of the SVM, and Algorithm 2 for each eta."""
    X, y = shared.heart_half(data, s.seed)
    chosen = shared.choose(shared.svm, X, y, powers=getattr(s, "powers", shared.POWERS))
    width = 1 + len(s.eta_scales)
    figure, ((first, *others),) = shared.canvas(4.4 * width, 4.2, 1, width)
    given = {"gamma": chosen.gamma, "C": chosen.C, "tol": s.tol}
    optima = [_from_zero(KNPLClassifier(**given, eta_scale=e), X, y)[0] for e in s.eta_scales]
    K = optima[0].kernel_.base(X)
    admm = _admm(s, first, K, y, chosen.C, optima[0].eta_)
    measured = {"rows": len(y), "sigma": chosen.sigma, "C": chosen.C, "ADMM": admm}
    cycles = []
    for ax, optimum, scale in zip(others, optima, s.eta_scales, strict=True):
        run = knpl_admm.alternate(K, y, chosen.C, optimum.eta_, rounds=s.rounds)
        _draw_alternation(ax, run, optimum)
        ax.set_title(shared.eta_text(scale), fontsize=10)
        found = measured[f"eta_scale {scale:g}"] = {
            "eta": optimum.eta_,
            "after G": run.after_adaptation,
            "after alpha": run.after_svm,
            "optimum": optimum.objective_,
            "certified gap": optimum.dual_gap_,
            "pliant": optimum.objective_history_.tolist(),
            "two-coordinate steps": optimum.step_history_.tolist(),
        }
        ends = {"G": run.after_adaptation[-1], "alpha": run.after_svm[-1]}
        cycles.append({"eta": shared.eta_text(scale), "m": found, **ends})
    for ax, part in zip((first, *others), "abc", strict=False):
        ax.set_title(f"({part})", loc="left")
    others[0].set_ylabel("objective H(α, G) less η n²")
    shared.legend_of(others[0], "upper right")
    words = {
        "iterations": admm[f"iterations to Diff {s.eps:g}"],
        "distance": admm[f"distance from G after {s.limit}"],
        "cycles": cycles,
    }
    return figure, measured, words


def _admm(s: SimpleNamespace, ax: Any, K: Array, y: Array, C: float, eta: float) -> Numbers:
    """Draw Diff; return its results."""
    Gamma = dank_algorithm1.gamma_matrix(K, y, knpl_admm.svm(K, y, C), eta)
    _, history = knpl_admm.admm(Gamma, max_iter=s.iterations, eps=0.0)
    G, _ = knpl_admm.admm(Gamma, max_iter=s.limit, eps=0.0)
    ax.semilogy(np.arange(1, len(history) + 1), history, "o-", color=shared.BLUE, markersize=3)
    ax.axhline(s.eps, color=shared.GREY, linewidth=0.8, linestyle=":")
    ax.axvline(s.limit, color=shared.GREY, linewidth=0.8, linestyle=":")
    where = {"textcoords": "offset points", "fontsize": 8}
    ax.annotate("the paper stops\nbelow or after", (s.limit, s.eps), (6, 6), **where)
    ax.set(xlabel="iteration of the ADMM", ylabel="Diff (Frobenius norm)")
    exact = 1 + naive_hadamard.centred(Gamma)
    return {
        "Diff": history,
        f"iterations to Diff {s.eps:g}": 1 + (_first(np.array(history) <= s.eps) or 0),
        f"distance from G after {s.limit}": float(np.linalg.norm(G - exact)),
    }


def _from_zero(model: Any, X: Array, y: Array) -> tuple[Any, float]:
    """Return the model with fixed automatic eta, solved from alpha = 0, and the seconds."""
    model.set_params(eta=model.fit(X, y).eta_, eta_scale=1.0)
    started = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - started


def _first(reached: Mask) -> int | None:
    """Return the index of the first true entry, or None."""
    return int(reached.argmax()) if reached.any() else None


def _draw_alternation(ax: Any, run: knpl_admm.Alternation, optimum: KNPLClassifier) -> None:
    rounds = 1 + np.arange(len(run.after_svm))
    halves = np.ravel([rounds, rounds + 0.5], order="F")
    values = np.ravel([run.after_adaptation, run.after_svm], order="F")
    ax.plot(halves, values, color=shared.GREY, linewidth=0.8)
    ax.plot(rounds, run.after_adaptation, "o", color=shared.BLUE, label="Algorithm 2, after G")
    ax.plot(rounds + 0.5, run.after_svm, "^", color=shared.VERMILION, label="Algorithm 2, after α")
    ax.axhline(optimum.objective_, color=shared.PURPLE, linewidth=1.2, label="certified optimum")
    history = optimum.objective_history_[1:]
    ax.plot(
        1 + np.arange(len(history)), history, "s", color=shared.PURPLE, markersize=4, label="pliant"
    )
    ax.set_xlabel("round (pliant: SVM duals solved)")
