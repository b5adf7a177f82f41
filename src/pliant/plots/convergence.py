"""Plot of the certified gap of a fit over the steps of its solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from pliant.methods.summary import summarize
from pliant.plots._common import BLUE, GREY, Display, last_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class ConvergenceDisplay(Display):
    """Certified gap at each check of a solver, relative to the objective.

    The gap bounds the distance from the optimum. The solver stops when the relative gap reaches
    ``tol``. For a fixed or adapted kernel, the gap is relative to 1 + abs(objective), without the
    constant part of the objective. For a kernel learned by a sequence of support vector machines
    (TKL), it is relative to abs(objective).

    Parameters
    ----------
    steps : array-like of shape (n_checks,)
        Number of steps before each check.
    gaps : array-like of shape (n_checks,)
        Relative gaps, finite.
    tol : float, optional
        The relative gap at which the solver stops; drawn as a line.
    unit : str, default="two-coordinate steps"
        The unit of `steps`, used as the label of the horizontal axis.
    scale : str, default="(1 + |objective|)"
        The unit of `gaps`, for the label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, set by ``plot``.
    line_ : matplotlib Line2D
        The gaps.
    tol_line_ : matplotlib Line2D or None
        The tolerance.

    Examples
    --------
    >>> from pliant.plots import ConvergenceDisplay
    >>> ConvergenceDisplay([0, 100], [8.0, 0.05], tol=0.1).gaps.tolist()
    [8.0, 0.05]
    """

    line_: Line2D
    tol_line_: Line2D | None

    def __init__(
        self,
        steps: npt.ArrayLike,
        gaps: npt.ArrayLike,
        *,
        tol: float | None = None,
        unit: str = "two-coordinate steps",
        scale: str = "(1 + |objective|)",
    ) -> None:
        self.steps = np.asarray(steps)
        self.gaps = np.asarray(gaps, dtype=np.float64)
        self.tol = tol
        self.unit = unit
        self.scale = scale
        if not np.isfinite(self.gaps).all():
            raise ValueError(
                "expected certified gaps, got nan or inf: there is no certificate for a kernel "
                "that is not positive semi-definite"
            )

    @classmethod
    def from_estimator(cls, model: BaseEstimator, *, ax: Axes | None = None, **line: Any) -> Self:
        """Plot the convergence of a fitted estimator.

        Parameters
        ----------
        model : fitted estimator
            A binary classifier, a regressor or a kernel learner with a certified gap, or a pipeline
            ending in one.
        ax : matplotlib Axes, optional
            The axes to draw on; by default those of a new figure.
        **line
            Keyword arguments for matplotlib's ``plot``.

        Raises
        ------
        ValueError
            If the model has no certificate, or more than two classes.
        """
        machine = last_step(model)
        summary, name = summarize(machine), type(machine).__name__
        solved = [function.convergence for function in summary.functions] or [summary.convergence]
        if solved[0] is None:
            raise ValueError(
                f"expected a model with a certified gap, such as DANKClassifier, got {name}"
            )
        if len(solved) > 1:
            on_kernel = hasattr(machine, "machine_") and not hasattr(machine, "estimators_")
            raise ValueError(
                f"expected an estimator with one function, got {name} with {len(solved)}: plot one "
                f"of its {'machine_.' if on_kernel else ''}estimators_"
            )
        of = solved[0]
        display = cls(of.steps, of.gaps, tol=of.tol, unit=of.unit, scale=of.scale)
        return display.plot(ax, **line)

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw the gaps on a logarithmic axis."""
        ax = self.ax_
        look = {"color": BLUE, "marker": "o", "markersize": 4, "label": "certified gap", **style}
        gaps = np.maximum(self.gaps, np.finfo(np.float64).eps)  # log(0) cannot be drawn
        (self.line_,) = ax.plot(self.steps, gaps, **look)
        self.tol_line_ = None
        if self.tol is not None:
            label = f"tol = {self.tol:g}"
            self.tol_line_ = ax.axhline(self.tol, color=GREY, linestyle="--", label=label)
        ax.set(yscale="log", xlabel=self.unit, ylabel=f"gap / {self.scale}")
        ax.set_title("Convergence")
        ax.legend()
