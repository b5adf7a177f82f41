"""The certified gap of a fit over the steps of its solver."""

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
    """The certified gap at each check of a solver, relative to the objective.

    The gap bounds the distance to the optimum. The solver stops when the relative gap reaches
    ``tol``: relative to 1 + abs(objective), without its constant part, for a fixed or adapted
    kernel, and to abs(objective) for a kernel learned by a sequence of support vector machines
    (TKL).

    Parameters
    ----------
    steps : array-like of shape (n_checks,)
        Steps done before each check.
    gaps : array-like of shape (n_checks,)
        Relative gaps, finite.
    tol : float, optional
        The relative gap at which the solver stops; drawn as a line.
    unit : str, default="two-coordinate steps"
        The unit of `steps`; the label of the horizontal axis.
    scale : str, default="(1 + |objective|)"
        The unit of `gaps`; for the label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Once plotted.
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
                "expected certified gaps, got nan or inf: a kernel that is not positive "
                "semi-definite has no certificate"
            )

    @classmethod
    def from_estimator(cls, model: BaseEstimator, *, ax: Axes | None = None, **line: Any) -> Self:
        """Draw the convergence of a fitted estimator.

        Parameters
        ----------
        model : fitted estimator
            A classifier of two classes, a regressor or a kernel learner whose solver certifies a
            gap, or a pipeline that ends in one.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **line
            For matplotlib's ``plot``.

        Raises
        ------
        ValueError
            For a model without a certificate, or one of more than two classes.
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
                f"expected an estimator of one function, got {name} with {len(solved)}: draw one "
                f"of its {'machine_.' if on_kernel else ''}estimators_"
            )
        of = solved[0]
        display = cls(of.steps, of.gaps, tol=of.tol, unit=of.unit, scale=of.scale)
        return display.plot(ax, **line)

    def _draw(self, style: dict[str, Any]) -> None:
        """Draw the gaps on a logarithmic axis."""
        ax = self.ax_
        look = {"color": BLUE, "marker": "o", "markersize": 4, "label": "certified gap", **style}
        gaps = np.maximum(self.gaps, np.finfo(np.float64).eps)  # a logarithmic axis has no zero
        (self.line_,) = ax.plot(self.steps, gaps, **look)
        self.tol_line_ = None
        if self.tol is not None:
            label = f"tol = {self.tol:g}"
            self.tol_line_ = ax.axhline(self.tol, color=GREY, linestyle="--", label=label)
        ax.set(yscale="log", xlabel=self.unit, ylabel=f"gap / {self.scale}")
        ax.set_title("Convergence")
        ax.legend()
