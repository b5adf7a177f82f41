"""The picture of ``pliant demo``: boundary, adaptation and convergence of a fitted model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.typing import Array
from pliant.plots import AdaptationDisplay, BoundaryDisplay, ConvergenceDisplay

STOPS = 60
"""Points on the curve of convergence."""


def draw(path: Path, model: Any, X: Array, y: npt.NDArray[Any]) -> None:
    """Draw a fitted model on its training points and write the picture as PNG.

    The model is a pipeline that ends in a `DANKClassifier` of two classes with the Gaussian kernel.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'pliant[plots]'") from None
    figure = Figure(figsize=(16, 5.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    figure.suptitle(_title(model[-1], X))
    BoundaryDisplay.from_estimator(model, X, y, before=_plain(model).fit(X, y), ax=left)
    AdaptationDisplay.from_estimator(model, X, y, ax=middle)
    _convergence(model[-1], model[:-1].transform(X), y).plot(right, markersize=3)
    with replacing(path, TableError) as draft:
        figure.savefig(draft, dpi=150, format="png")


def _title(dank: Any, X: Array) -> str:
    """Return what was learned with which settings."""
    settings = f"C = {dank.C:.4g}, gamma = {dank.gamma:.4g}, eta = {dank.eta_:.4g}"
    return f"DANK on breast cancer, {len(X)} rows, {X.shape[1]} features: {settings}"


def _plain(model: Any) -> Any:
    """Return an SVM with the kernel and C of a pipeline's last step, and no adaptation."""
    plain = clone(model)
    plain.steps[-1] = ("svm", SVC(C=model[-1].C, gamma=model[-1].gamma))
    return plain


def _convergence(dank: Any, X: Array, y: npt.NDArray[Any]) -> ConvergenceDisplay:
    """Follow the solver from a cold start: it takes the same steps whenever it is stopped."""
    fresh = clone(dank).set_params(eta=dank.eta_, eta_scale=1.0)
    last = fresh.fit(X, y).n_iter_
    stops = np.unique(np.linspace(1, last, STOPS).astype(int)).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped = [clone(fresh).set_params(max_iter=stop).fit(X, y) for stop in stops]
    gaps = [each.dual_gap_ for each in stopped]
    objectives = [each.objective_history_[-1] for each in stopped]
    return ConvergenceDisplay.from_history(stops, gaps, objectives, tol=dank.tol)
