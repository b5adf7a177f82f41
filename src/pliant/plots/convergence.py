"""How fast a fit came close to its optimum, and how close that is known to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from pliant.plots._common import BLUE, GREY, last_step, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOOR = float(np.finfo(np.float64).eps)
"""Gaps below this are drawn at this: a logarithmic axis has no zero."""


class ConvergenceDisplay:
    """The certified gap at each check of a solver, relative to the objective.

    The optimum is known to within the gap. The solver stops when the relative gap reaches ``tol``:
    relative to 1 + abs(objective) for a fixed kernel or an adapted one, with the objective taken
    without its constant part, and to abs(objective) where a kernel is learned by a sequence of
    support vector machines (TKL).

    Parameters
    ----------
    steps : array-like of shape (n_checks,)
        Steps done before each check.
    gaps : array-like of shape (n_checks,)
        Relative gaps, finite.
    tol : float, optional
        The relative gap that was asked for; drawn as a line.
    unit : str, default="two-coordinate steps"
        What `steps` counts; the label of the horizontal axis.
    scale : str, default="(1 + |objective|)"
        What `gaps` are relative to; for the label of the vertical axis.

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
    >>> display = ConvergenceDisplay.from_history([0, 100], [8.0, 0.5], [0.0, 9.0])
    >>> display.gaps.tolist()
    [8.0, 0.05]
    """

    ax_: Axes
    line_: Any
    tol_line_: Any

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
        if self.steps.ndim != 1 or self.steps.shape != self.gaps.shape or not self.steps.size:
            raise ValueError(
                f"expected steps and gaps of one shape (n_checks,), "
                f"got {self.steps.shape} and {self.gaps.shape}"
            )
        if not np.isfinite(self.gaps).all():
            raise ValueError(
                "expected certified gaps, got nan or inf: a kernel that is not positive "
                "semi-definite has no certificate"
            )

    @classmethod
    def from_history(
        cls,
        n_iter: npt.ArrayLike,
        gaps: npt.ArrayLike,
        objectives: npt.ArrayLike,
        *,
        tol: float | None = None,
    ) -> Self:
        """Make a display from what a solver noted at its checks; nothing is drawn yet.

        Parameters
        ----------
        n_iter, gaps, objectives : array-like of shape (n_checks,)
            Steps done, absolute gap and objective, less its constant, at each check.
        tol : float, optional
            The relative gap that was asked for.
        """
        scale = 1.0 + np.abs(np.asarray(objectives, dtype=np.float64))
        return cls(n_iter, np.asarray(gaps, dtype=np.float64) / scale, tol=tol)

    @classmethod
    def from_bounds(
        cls, gaps: npt.ArrayLike, objectives: npt.ArrayLike, *, tol: float | None = None
    ) -> Self:
        """Make a display from the bounds after each support vector machine; nothing is drawn yet.

        Parameters
        ----------
        gaps, objectives : array-like of shape (n_machines,)
            Absolute gap and upper bound; a gap of zero counts as zero at any objective.
        tol : float, optional
            The relative gap that was asked for.
        """
        gaps, scale = np.asarray(gaps, dtype=np.float64), np.abs(np.asarray(objectives, np.float64))
        relative = np.divide(gaps, scale, out=np.zeros_like(gaps), where=gaps != 0)
        machines = np.arange(1, len(gaps) + 1)
        unit = "support vector machines solved"
        return cls(machines, relative, tol=tol, unit=unit, scale="|objective|")

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None, **line: Any) -> Self:
        """Draw the convergence of a fitted kernel machine.

        Parameters
        ----------
        model : fitted estimator
            A classifier of two classes or a regressor, or a pipeline that ends in one.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **line
            For matplotlib's ``plot``.

        Returns
        -------
        ConvergenceDisplay

        Raises
        ------
        ValueError
            For a model that is no kernel machine, one of more than two classes, or one without a
            certificate.
        """
        machine = last_step(model)
        if hasattr(machine, "estimators_"):
            raise ValueError(
                f"expected an estimator of one function, got {type(machine).__name__} with "
                f"{len(machine.estimators_)}: draw one of its estimators_"
            )
        if not hasattr(machine, "gap_history_"):
            raise ValueError(
                f"expected a model with a certified gap, such as DANKClassifier, got "
                f"{type(machine).__name__}"
            )
        history = machine.gap_history_, machine.objective_history_
        if hasattr(machine, "step_history_"):
            display = cls.from_history(machine.step_history_, *history, tol=machine.tol)
        else:
            display = cls.from_bounds(*history, tol=machine.tol)
        return display.plot(ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw the gaps on a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure.
        **line
            For matplotlib's ``plot``.

        Returns
        -------
        self
        """
        self.ax_ = ax = new_axes(ax)
        style = {"color": BLUE, "marker": "o", "markersize": 4, "label": "certified gap", **line}
        (self.line_,) = ax.plot(self.steps, np.maximum(self.gaps, FLOOR), **style)
        self.tol_line_ = None
        if self.tol is not None:
            label = f"tol = {self.tol:g}"
            self.tol_line_ = ax.axhline(self.tol, color=GREY, linestyle="--", label=label)
        ax.set(yscale="log", xlabel=self.unit, ylabel=f"gap / {self.scale}")
        ax.set_title("Convergence")
        ax.legend()
        return self
