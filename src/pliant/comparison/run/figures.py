"""Figures of a fitted model, for the report of a comparison."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.pipeline import Pipeline

from pliant.comparison.record import Picture
from pliant.comparison.run.model_view import ModelView
from pliant.comparison.text import decimals, fixed, share_text
from pliant.core.summary import Summary
from pliant.core.text import listed
from pliant.core.typing import Array
from pliant.plots import (
    AdaptationDisplay,
    BandwidthDisplay,
    ConvergenceDisplay,
    GramDisplay,
    IntervalDisplay,
    RelevanceDisplay,
    TessellationDisplay,
    WeightsDisplay,
)
from pliant.plots._common import BLUE, VERMILION, class_label, text
from pliant.plots.intervals import MOST_INTERVALS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 110

COLOURS, SHADES = 96, 25
"""The colours of a figure, and of a heat map in it, so that its file stays small."""

KERNEL_VALUES = 6_000_000
"""Kernel values that a decision boundary may cost, about."""

PRODUCTS = 100
"""Products of numbers that take as long as a kernel value, about."""

FINEST, COARSEST = 64, 32
"""Places along each side of the grid of a boundary, at most and at least."""

MOST_FEATURES = 12
"""The most features on an axis."""

MOST_KERNELS = 10
"""The most kernels whose weights are drawn."""


def figures(
    model: Any,
    X: Array,
    y: npt.NDArray[Any],
    feature_names: Sequence[str],
    X_test: Array | None = None,
    y_test: npt.NDArray[Any] | None = None,
) -> list[Picture]:
    """Return pictures of a fitted model; none where matplotlib is missing.

    A picture that cannot be made, whatever the reason, is left out, with a warning.

    Parameters
    ----------
    model : fitted pipeline, or TransformedTargetRegressor around one
        Its last step is an estimator that learns a kernel, or any other.
    X, y : arrays of shape (n, d) and (n,)
        What it was fitted on.
    feature_names : sequence of d str
    X_test, y_test : arrays of shape (n_test, d) and (n_test,), optional
        Rows that it was not fitted on, for its prediction intervals.

    Returns
    -------
    list of Picture
    """
    if find_spec("matplotlib") is None:
        return []
    pictures = []
    try:
        plans = planned(ModelView.of(model, X, y, feature_names, X_test, y_test))
    except Exception as error:
        _left_out(error)
        return []
    for plan in plans:
        try:
            pictures.append(plan())
        except Exception as error:
            _left_out(error)
    return pictures


def _left_out(error: Exception) -> None:
    text = f"a picture is left out: {type(error).__name__}: {error}"
    warnings.warn(text, UserWarning, stacklevel=3)


def planned(view: ModelView) -> list[Callable[[], Picture]]:
    """Return functions that draw the pictures that a model has; they may raise."""
    drawings, seen = view.summary.drawings, view.points.shape[1]
    has = {
        _gram: "gram" in drawings,
        _adaptation: "adaptation" in drawings,
        _tessellation: "tessellation" in drawings,
        _bandwidths: "bandwidths" in drawings,
        _relevance: "relevance" in drawings,
        _weights: "weights" in drawings,
        _intervals: "intervals" in drawings
        and view.X_test is not None
        and isinstance(view.model, Pipeline),  # else they are not in the units of the target
        _boundary: view.two_classes and (_own_plane(view) or (bool(drawings) and seen == 2)),
        _convergence: "convergence" in drawings,
    }
    return [partial(draw, view, each) for each, present in has.items() if present]


def draw(view: ModelView, drawer: Callable[[ModelView, Any], tuple[str, str]]) -> Picture:
    """Return the picture that a function draws on axes; it returns the title and the alt text."""
    from matplotlib.figure import Figure

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that the font lacks, a picture that is flat
        figure = Figure(layout="constrained")
        figure.set_size_inches(5.2, 3.6)
        title, alt = drawer(view, figure.subplots())
        return {"title": view.titled(title), "alt": view.titled(alt), "png": png(figure)}


def _gram(view: ModelView, ax: Any) -> tuple[str, str]:
    display = GramDisplay.from_estimator(
        view.estimator, view.points, view.y, n_points=view.n, ax=ax, interpolation="nearest"
    )
    _simplify(*display.images_)
    ways = "of one class" if display.by == "class" else "with targets in the same quarter"
    similar = [f"{own:.2g} {ways}, {other:.2g} otherwise" for own, other in display.similarities]
    if len(similar) > 1:
        ax.figure.set_size_inches(7.2, 3.5)
    before = f" (base kernel: {similar[0]})" if len(similar) > 1 else ""
    alt = (
        f"Centred Gram matrix of {len(view.y)} of {view.n} training points, ordered by "
        f"{display.by}: mean similarity {similar[-1]}{before}"
    )
    title = "Gram matrix" + (" before and after learning" if before else "")
    return title + (": the kernel is hardly adapted" if display.hardly_adapted else ""), alt


def _adaptation(view: ModelView, ax: Any) -> tuple[str, str]:
    estimator = view.estimator
    display = AdaptationDisplay.from_support(estimator, view.all_y[estimator.support_]).plot(ax)
    _simplify(display.image_)
    change = display.change
    alt = (
        f"Heat map of F - 1, by which the learned kernel differs from its base kernel, between "
        f"{len(change)} of {display.n_support} support points: from {change.min():.2g} to "
        f"{change.max():.2g}"
    )
    hardly = ": hardly adapted, there is nothing to see" if display.hardly_adapted else ""
    return f"Adaptive matrix{hardly}", alt


def _tessellation(view: ModelView, ax: Any) -> tuple[str, str]:
    display = TessellationDisplay.from_estimator(
        view.estimator, view.points, feature_names=view.names, grid_resolution=100, ax=ax
    )
    values, names = display.values, listed(display.names)
    where = "" if display.point is None else " around the median point z"
    alt = (
        f"The learned kernel k(x, z) over {names}{where}, with the edges of its tessellation: from "
        f"{values.min():.3g} to {values.max():.3g}"
    )
    return "Tessellated kernel", alt


def _bandwidths(view: ModelView, ax: Any) -> tuple[str, str]:
    display = BandwidthDisplay.from_estimator(
        view.estimator, feature_names=view.names, most_features=MOST_FEATURES, ax=ax
    )
    medians = np.median(display.bandwidths, axis=0)
    shown = [f"{display.feature_names[j]} {medians[j]:.2g}" for j in display.order[:3]]
    alt = (
        f"Heat map of the bandwidths of {len(display.bandwidths)} support points along "
        f"{len(medians)} features, on [-1, 1]; medians of the most relevant: {', '.join(shown)}"
    )
    return "Bandwidths", alt


def _relevance(view: ModelView, ax: Any) -> tuple[str, str]:
    display = RelevanceDisplay.from_estimator(
        view.estimator, feature_names=view.names, most_features=MOST_FEATURES, ax=ax
    )
    shown = [
        f"{display.feature_names[j]} {share_text(display.relevance[j], display.spread[j])}"
        for j in display.order[:3]
    ]
    return "Relevance of features", f"Shares of the squared change: {', '.join(shown)}"


def _weights(view: ModelView, ax: Any) -> tuple[str, str]:
    display = WeightsDisplay.from_estimator(
        view.estimator, feature_names=view.names, most_kernels=MOST_KERNELS, ax=ax
    )
    mean = display.weights.mean(axis=0)
    shown = [f"{display.kernel_names[m]} {mean[m]:.2g}" for m in display.order[:3] if mean[m]]
    alt = (
        f"Weights of kernels, the largest first: {', '.join(shown)}; "
        f"{np.count_nonzero(mean)} of {len(mean)} kernels have weight"
    )
    return "Weights of kernels", alt


def _intervals(view: ModelView, ax: Any) -> tuple[str, str]:
    assert view.y_test is not None
    display = IntervalDisplay.from_estimator(view.model, view.X_test, view.y_test, ax=ax)
    inside, width = display.inside, display.mean_width
    facts = (
        f"they hold {inside.sum()} of {len(inside)} measured targets ({inside.mean():.0%}), mean "
        f"width {fixed(width, decimals([width], []))} in the units of the target"
    )
    ax.set_title("")  # the caption has it
    title = (
        f"Prediction intervals of {100 * display.coverage:g} % for the test rows of the second "
        f"fold, which the model did not learn from: {facts}"
    )
    drawn = min(len(inside), MOST_INTERVALS)
    alt = (
        f"Predictions against measured targets, with intervals as upright lines, of {drawn} of "
        f"{len(inside)} test rows: {facts}"
    )
    return title, alt


def _own_plane(view: ModelView) -> bool:
    """Return whether the table itself has two columns of numbers."""
    return view.X.shape[1] == 2 and bool(np.isfinite(view.X).all()) and not view.note


def _boundary(view: ModelView, ax: Any) -> tuple[str, str]:
    model, points, names = view.estimator, view.points, view.names
    if _own_plane(view):
        model, points, names = view.model, view.X, view.own_names
    looks: dict[str, Any] = {"levels": [-0.5, 0.5, 1.5], "colors": [VERMILION, BLUE], "alpha": 0.15}
    display = DecisionBoundaryDisplay.from_estimator(
        model, points, response_method="predict", grid_resolution=_resolution(view.summary),
        ax=ax, **looks,
    )  # fmt: skip
    for label, color, marker in zip(view.estimator.classes_, (VERMILION, BLUE), "o^", strict=True):
        own = points[view.y == label]
        name = class_label(label)
        ax.scatter(own[:, 0], own[:, 1], 16, color, marker=marker, label=name, linewidths=0)
    ax.set(xlabel=text(names[0]), ylabel=text(names[1]))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)
    alt = (
        f"Decision boundary over {names[0]} and {names[1]}, with {len(view.y)} of {view.n} "
        f"training points; {np.mean(display.response == 1):.0%} of the area belong to class "
        f"{view.estimator.classes_[1]}"
    )
    return "Decision boundary", alt


def _resolution(summary: Summary) -> int:
    """Return how fine a grid may be: a learned kernel multiplies matrices for each point."""
    support = float(summary.learner.get("rows") or summary.n_support or 1)
    values = support * (1.0 + support / PRODUCTS) if summary.learner else support
    return int(np.clip(np.sqrt(KERNEL_VALUES / values), COARSEST, FINEST))


def _convergence(view: ModelView, ax: Any) -> tuple[str, str]:
    display = ConvergenceDisplay.from_estimator(view.solved, ax=ax)
    alt = (
        f"Certified relative gap at {len(display.gaps)} checks of the solver: from "
        f"{display.gaps[0]:.2g} down to {display.gaps[-1]:.2g}, where {display.tol:.2g} was "
        f"asked for"
    )
    itself = view.solved is view.estimator or view.summary.weights is not None
    of = "" if itself else " of the estimator on the learned kernel"
    return f"Convergence{of}", alt


def _simplify(*images: Any) -> None:
    """Give noisy images few colours."""
    for image in images:
        image.set_cmap(image.get_cmap().resampled(SHADES))


def png(figure: Figure) -> str:
    """Return the picture with few colours, as text."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_dpi(DOTS_PER_INCH)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    file = io.BytesIO()
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")
