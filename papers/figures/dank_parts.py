"""DANK, Figure 5: what is lost between parts, its bounds, and the screening of Theorem 7."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from papers.figures import parts_panels
from papers.figures.figure import Drawn, canvas, save
from papers.figures.parts import BoxProblem, Screened, sample

__all__ = ["DankParts", "PartedSet"]


class PartedSet(NamedTuple):
    """A set, and gamma of its Gaussian kernel exp(-gamma |x - x'|^2)."""

    name: str
    gamma: float


@dataclass(frozen=True)
class DankParts:
    """Six panels: Q(pi) for few and for many parts, losses, bounds, gradients, safe screening.

    Attributes
    ----------
    sets : tuple of PartedSet
        Two; bounds and gradients are of the first.
    count : int
        Rows of each, drawn at random, as in the paper.
    few, many : tuple of int
        Numbers of parts.
    draws : int
        Starts of k-means; Q(pi) for few parts is averaged over them, all else is of the first.
    parts : int
        Of the bounds and gradients, as in the paper.
    C : float
    etas : tuple of float
        For which bounds are drawn.
    tolerances : tuple of float
        Relative gaps at which the safe rule is tried.
    """

    sets: tuple[PartedSet, ...] = (PartedSet("ijcnn1_val", 2.0), PartedSet("eeg_eye_state", 100.0))
    count: int = 2000
    few: tuple[int, ...] = tuple(range(1, 11))
    many: tuple[int, ...] = (20, 50, 100, 200, 400, 1000)
    draws: int = 20
    parts: int = 10
    C: float = 32.0
    etas: tuple[float, ...] = tuple(10.0**k for k in range(11))
    tolerances: tuple[float, ...] = tuple(10.0 ** (-k / 2) for k in range(19))
    seed: int = 0

    name: ClassVar[str] = "dank-figure-5"
    title: ClassVar[str] = "DANK, Figure 5: parts, bounds and screening"
    needs_data: ClassVar[bool] = True

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``dank-figure-5.png``."""
        with threadpool_limits(1):
            problems = [
                sample(each.name, data, self.count, each.gamma, self.C, self.seed)
                for each in self.sets
            ]
            first, labels = problems[0], problems[0].labels(self.parts, self.seed)
            screened = first.theorem_7(labels)
            measured = {
                each.name: self._set(problem)
                for each, problem in zip(self.sets, problems, strict=True)
            }
            measured["bounds"] = {
                f"{eta:g}": first.with_eta(eta).losses(labels) for eta in self.etas
            }
            measured["Theorem 7"] = screened.numbers()
        self._draw(folder, measured, screened)
        return Drawn(self._caption(measured), measured)

    def _set(self, problem: BoxProblem) -> dict[str, Any]:
        """Return Q(pi) for each number of parts, the losses for each, and the safe screening."""
        labels = {v: problem.labels(v, self.seed) for v in (*self.few, *self.many)}
        few = {
            v: [problem.between(problem.labels(v, self.seed + k)).total for k in range(self.draws)]
            for v in self.few
        }
        means = np.array([np.mean(each) for v, each in few.items() if v > 1])
        return {
            "eta": problem.eta,
            "Q(K)": float(np.abs(problem.K).sum()),
            "Q": {f"{v}": problem.between(each).total for v, each in labels.items()},
            "Q of few parts": {f"{v}": _spread(each) for v, each in few.items()},
            "R2 of a line": float(np.corrcoef([v for v in few if v > 1], means)[0, 1] ** 2),
            "losses": {f"{v}": problem.losses(each) for v, each in labels.items() if v > 1},
            "zeros": int((problem.optimum == 0).sum()),
            "safe": list(problem.screening(self.tolerances)),
        }

    def _draw(self, folder: Path, measured: dict[str, Any], screened: Screened) -> None:
        figure = canvas(13.5, 7.6)
        panels = figure.subplots(2, 3)
        for each, look in zip(self.sets, parts_panels.LOOKS, strict=False):
            found = measured[each.name]
            parts_panels.draw_few(panels[0, 0], found, each.name, look)
            parts_panels.draw_many(panels[0, 1], found, each.name, look)
            parts_panels.draw_loss(panels[0, 2], found, each.name, look)
            parts_panels.draw_safe(panels[1, 2], found, each.name, look)
        panels[0, 0].set_ylim(bottom=0.0)
        parts_panels.draw_bounds(
            panels[1, 0], measured["bounds"], measured[self.sets[0].name]["eta"]
        )
        parts_panels.draw_gradients(panels[1, 1], screened)
        titles = (
            "Q(π), few parts", "Q(π), up to many parts", "what the parts lose",
            f"{self.sets[0].name}: loss and bounds, {self.parts} parts",
            f"{self.sets[0].name}: gradients and Theorem 7", "the safe rule",
        )  # fmt: skip
        for ax, part, title in zip(panels.flat, "abcdef", titles, strict=True):
            ax.set_title(f"({part}) {title}", fontsize=10)
        save(figure, folder, self.name)

    def _caption(self, measured: dict[str, Any]) -> str:
        names = [each.name for each in self.sets]
        return (
            f"{self.count} random rows of {' and '.join(names)} (the paper has ijcnn1 and covtype, "
            f"which is not at hand), C = {self.C:g}, η = |α|² of the SVM unless it is varied, "
            f"problem (18) without an intercept, parts by k-means. "
            f"{self._about_sums(measured)} {self._about_bounds(measured)} "
            f"{self._about_theorem_7(measured)} {self._about_the_safe_rule(measured)}"
        )

    def _about_sums(self, measured: dict[str, Any]) -> str:
        last = f"{self.few[-1]}"
        lines = "; ".join(
            f"{each.name}: {few['2']['mean'] / found['Q(K)']:.3f} to "
            f"{few[last]['mean'] / found['Q(K)']:.3f} of the limit from 2 to {last} parts, R² of "
            f"the line through the means {found['R2 of a line']:.2f}"
            for each in self.sets
            for found in [measured[each.name]]
            for few in [found["Q of few parts"]]
        )
        return (
            f"(a), (b) Q(π) over its limit Q(K); (a) mean and range of {self.draws} starts of "
            f"k-means, dotted the line through the means from 2 parts on. The paper: almost linear "
            f"in v up to 10, then slowly to the limit. Measured: {lines}. Starts of k-means "
            f"differ by a factor of up to {self._largest_ratio(measured):.1f}."
        )

    def _largest_ratio(self, measured: dict[str, Any]) -> float:
        few = [each for name, _ in self.sets for each in measured[name]["Q of few parts"].values()]
        return max(
            (each["largest"] / each["least"] for each in few if each["least"] > 0), default=1
        )

    def _about_bounds(self, measured: dict[str, Any]) -> str:
        at, most = (measured[self.sets[0].name]["losses"][f"{v}"] for v in (self.parts, self._most))
        bounds = measured["bounds"]
        false = [eta for eta, each in bounds.items() if each["printed bound"] < each["loss"]]
        end = bounds[f"{self.etas[-1]:g}"]
        return (
            f"(c) h(α*) − h(parts) as a share of h(α*), and the certified gap of the whole problem "
            f"at the parts. With {self._most} parts {self.sets[0].name} loses "
            f"{most['loss'] / most['optimum']:.3g} times the optimum. (d) At η = |α|² and "
            f"{self.parts} parts the loss is {at['loss']:.3g} of {at['optimum']:.4g}, the gap "
            f"{at['certified gap']:.3g}, the corrected bound of Theorem 6 {at['bound']:.2g}: "
            f"true, but of no use. The bound as printed, {at['printed bound']:.2g}, is below "
            f"the loss {f'from η = {false[0]} on' if false else 'nowhere here'}: at "
            f"{self.etas[-1]:g} it is {end['printed bound']:.2g} for a loss of {end['loss']:.3g}."
        )

    @property
    def _most(self) -> int:
        return (*self.few, *self.many)[-1]

    def _about_theorem_7(self, measured: dict[str, Any]) -> str:
        rule = measured["Theorem 7"]
        zeros = self.count - rule["support vectors of the parts"]
        return (
            f"(e) The gradients of problem (20), sorted, and the right side of condition (21) in "
            f"two readings of its norm. The paper: 723 of 1786 non-support vectors are screened "
            f"by a threshold of +442.3. Measured: {rule['screened, its part']} and "
            f"{rule['screened, all points']} of {zeros}; the gradients are "
            f"{rule['least gradient']:.1f} to {rule['largest gradient']:.1f}, the thresholds at "
            f"most {rule['largest threshold, its part']:.0f} and "
            f"{rule['largest threshold, all points']:.0f}. No data meet condition (21). With a "
            f"plus sign all {zeros} would be screened, "
            f"{rule['zero in its part, not in the whole']} support vectors of the whole among them."
        )

    def _about_the_safe_rule(self, measured: dict[str, Any]) -> str:
        found = "; ".join(f"{each.name}: {_known(measured[each.name])}" for each in self.sets)
        wrong = sum(step["wrong"] for each in self.sets for step in measured[each.name]["safe"])
        return (
            f"(f) What is certainly zero at the optimum, by the gap G of a feasible point: "
            f"y u − √(G k(x, x)) > 1 (dotted: with 2 G, which needs less proof). Known zeros: "
            f"{found}. Support vectors among them: {wrong}. The gap at the parts themselves is too "
            f"large to tell any."
        )


def _spread(values: list[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "least": min(values), "largest": max(values)}


def _known(found: dict[str, Any]) -> str:
    """Return how many zeros are known at relative gaps of at most 1e-3 and 1e-5."""
    best = next(iter(found["losses"].values()))["optimum"]
    told = []
    for level in (1e-3, 1e-5):
        near = next((each for each in found["safe"] if each["gap"] <= level * best), None)
        if near is not None:
            told.append(f"{near['zeros']} at a relative gap of {near['gap'] / best:.0e}")
    return f"{' and '.join(told) or 'none'} of {found['zeros']}"
