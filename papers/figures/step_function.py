"""DANK, Figure 6(a): a step function on a line, by SVR-CV and DANK."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from papers.figures.figure import LEARNED_LINE, SVM_LINE, Drawn, canvas, save
from papers.figures.regression import Comparison, Rivals, better, tell
from papers.figures.samples import Sample
from pliant.core.typing import Array
from pliant.plots._common import BLUE, GREY, VERMILION

__all__ = ["StepFunction", "steps"]


def steps(x: Array, s: float, w: float, a: float) -> Array:
    """Return the paper's g(s, w, a, x): steps of height s and period w; the larger a, the sharper.

    (tanh(a x/w - a floor(x/w) - a/2) / (2 tanh(a/2)) + 1/2 + floor(x/w)) s, as printed. With
    a = 0.05 the argument of tanh stays within 0.025, where tanh is a line, and g(x) = s x/w.
    """
    number = np.floor(x / w)
    within = np.tanh(a * (x / w - number) - a / 2) / (2 * np.tanh(a / 2))
    return np.asarray((within + 0.5 + number) * s)


@dataclass(frozen=True)
class StepFunction:
    """A column for each a: the printed one, and its inverse, which gives steps.

    Attributes
    ----------
    n, n_test : int
        Evenly spaced training and test points on [-5, 5]; the paper does not tell its own.
    """

    s: float = 3.0
    w: float = 2.0
    sharpness: tuple[float, ...] = (0.05, 20.0)
    n: int = 100
    n_test: int = 1001
    rivals: Rivals = field(default_factory=Rivals)

    name: ClassVar[str] = "dank-figure-6a"
    title: ClassVar[str] = "DANK, Figure 6(a): a step function"
    needs_data: ClassVar[bool] = False

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Draw ``dank-figure-6a.png``."""
        figure = canvas(5.2 * len(self.sharpness), 5.6)
        panels = figure.subplots(
            2, len(self.sharpness), sharex=True, height_ratios=(2.2, 1), squeeze=False
        )
        measured = {}
        for column, a in zip(panels.T, self.sharpness, strict=True):
            sample = self._sample(a)
            found = self.rivals.compare(sample)
            _draw_column(column, sample, found)
            plain, learned = found.errors()
            column[0].set_title(f"a = {a:g}; 1 − R²: SVR-CV {plain:.2g}, DANK {learned:.2g}")
            straight = self.s / self.w * sample.X_test[:, 0]
            bend = float(np.abs(sample.y_test - straight).max())
            measured[f"a = {a:g}"] = {"distance from the line s x/w": bend, **found.measured}
        panels[0, 0].legend(fontsize=8)
        save(figure, folder, self.name)
        return Drawn(self._caption(measured), measured)

    def _sample(self, a: float) -> Sample:
        x, x_test = (np.linspace(-5.0, 5.0, m) for m in (self.n, self.n_test))
        y, y_test = (steps(each, self.s, self.w, a) for each in (x, x_test))
        return Sample(x[:, None], y, x_test[:, None], y_test)

    def _caption(self, measured: dict[str, Any]) -> str:
        parts = ". ".join(f"{label}: {tell(m)}" for label, m in measured.items())
        bend = measured[f"a = {self.sharpness[0]:g}"]["distance from the line s x/w"]
        return (
            f"The step function with s = {self.s:g} and w = {self.w:g}, learned from {self.n} "
            f"evenly spaced values without noise (the paper does not tell its sample), and what "
            f"each machine misses. With a = {self.sharpness[0]:g}, as printed, tanh is a line and "
            f"so is the function, to {bend:.1g}, where the paper calls it a step function; the "
            f"second column takes a = {self.sharpness[-1]:g}, the inverse, which has steps. Width, "
            f"C and DANK's eta_scale by cross-validation for each machine, epsilon "
            f"{self.rivals.epsilon:g} standard deviations, τ {self.rivals.tau:g}. 1 - R2, which "
            f"the paper calls RMSE, is 0.013 for SVR-CV and 0.004 for DANK in the paper. Measured "
            f"on {self.n_test} points, {parts}. {better(measured)}"
        )


def _draw_column(column: Any, sample: Sample, found: Comparison) -> None:
    upper, lower = column
    x = sample.X_test[:, 0]
    upper.plot(x, sample.y_test, color=GREY, linewidth=4, alpha=0.35, label="g")
    lower.axhline(0, color=GREY, linewidth=4, alpha=0.35)
    for machine, label, color, dash in (
        (found.plain, "SVR-CV", BLUE, SVM_LINE),
        (found.learned, "DANK", VERMILION, LEARNED_LINE),
    ):
        predicted = machine.predict(sample.X_test)
        upper.plot(x, predicted, color=color, linestyle=dash, linewidth=1.2, label=label)
        lower.plot(x, predicted - sample.y_test, color=color, linestyle=dash, linewidth=1.2)
    upper.set_ylabel("g(x)")
    lower.set(xlabel="x", ylabel="prediction − g(x)")
