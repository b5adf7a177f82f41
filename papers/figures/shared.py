"""Shared code of the figures: axes and colours, samples, and tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import minmax_scale, scale
from sklearn.svm import SVC

from benchmarks.datasets import load_local
from benchmarks.splits import random_halves
from papers.contestants.hadamard import gamma_of
from pliant.core.typing import Array
from pliant.datasets import make_clowns

BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#595959"

SVM_LINE, LEARNED_LINE = "--", "-"
"""Line styles as in the papers: the plain model dashed, the learned kernel solid."""

POWERS = tuple(range(-5, 6))
"""Exponents p of sigma = 2**p and C = 2**p, as in the papers."""

Machines: TypeAlias = Callable[[float, float, Sequence[float], Array, Array], Sequence[Any]]
"""(gamma, eta_scale, Cs, X, y) -> one fitted model for each C."""


def canvas(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Any, Any]:
    """Return a figure of this size in inches, without a window, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def legend_of(ax: Any, place: str = "upper center") -> None:
    """Add a legend of one panel's lines outside all panels, on the side `place`."""
    handles, labels = ax.get_legend_handles_labels()
    ax.figure.legend(handles, labels, loc=f"outside {place}", ncols=4, frameon=False)


def lettered(panels: Sequence[Any], titles: Sequence[str]) -> None:
    """Add (a), (b), ... and a title above each panel."""
    for ax, part, title in zip(panels, "abcdef", titles, strict=False):
        ax.set_title(f"({part}) {title}", fontsize=10)


def places(u: Array, v: Array) -> Array:
    """Return the points of the grid u x v, shape (n, 2)."""
    return np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)


def diverging() -> Any:
    """Return a colour map from blue over white to red, with few colours to save space."""
    from matplotlib import colormaps

    return colormaps["RdBu_r"].resampled(21)


def eta_text(multiple: float) -> str:
    """Return the label of eta as a multiple of the automatic one."""
    return "η = |α|²" if multiple == 1 else f"η = {multiple:g} |α|²"


class Points(NamedTuple):
    """Training points, shape (n, d), and test points, shape (m, d)."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def clowns(s: SimpleNamespace) -> Points:
    """Draw training and test points of `make_clowns` together, since they share its scaling."""
    drawn = s.n_per_class + s.n_test_per_class
    X, y = make_clowns(drawn, random_state=s.seed)
    train = np.arange(2 * drawn) % drawn < s.n_per_class
    return Points(X[train], y[train], X[~train], y[~train])


def heart_half(data: str | None, seed: int) -> tuple[Array, Array]:
    """Return a random half of heart, features scaled to [0, 1], labels -1.0 and 1.0."""
    heart = load_local("heart_statlog", data)
    half, _ = next(random_halves(heart.y, 1, stratify=True, random_state=seed))
    return minmax_scale(heart.X[half]), heart.y[half].astype(np.float64)


class Rows(NamedTuple):
    """Rows of a data set, scaled like in TKL: features to [0, 1], target standardised."""

    X: Array
    y: Array
    is_classification: bool


def read_rows(name: str, data: str | None, count: int | None = None, seed: int = 0) -> Rows:
    """Return the rows of a set, or `count` of them drawn at random."""
    table = load_local(name, data)
    m = len(table.y)
    chosen = np.random.default_rng(seed).permutation(m)[:count] if count else np.arange(m)
    X, y = minmax_scale(table.X[chosen]), table.y[chosen].astype(np.float64)
    return Rows(X, y if table.task == "binary" else scale(y), table.task == "binary")


class Chosen(NamedTuple):
    """Parameters, and their loss in cross-validation."""

    sigma: float
    C: float
    eta_scale: float
    loss: float

    @property
    def gamma(self) -> float:
        """1/(2 sigma^2)."""
        return gamma_of(self.sigma)


def choose(
    machines: Machines,
    X: Array,
    y: Array,
    sigmas: Sequence[float] = (),
    eta_scales: Sequence[float] = (1.0,),
    powers: Sequence[int] = POWERS,
) -> Chosen:
    """Return the parameters with the smallest mean loss, 1 - accuracy or 1 - R2, over five folds.

    Ties go to the widest kernel and the smallest C.
    """
    sigmas = sigmas or [2.0**p for p in sorted(powers, reverse=True)]
    Cs = [2.0**p for p in sorted(powers)]
    kind = StratifiedKFold if len(np.unique(y)) == 2 else KFold
    loss = np.zeros((len(sigmas), len(eta_scales), len(Cs)))
    for train, valid in kind(5, shuffle=True, random_state=0).split(X, y):
        for i, sigma in enumerate(sigmas):
            for e, multiple in enumerate(eta_scales):
                fitted = machines(gamma_of(sigma), multiple, Cs, X[train], y[train])
                loss[i, e] += [1.0 - each.score(X[valid], y[valid]) for each in fitted]
    i, e, c = np.unravel_index(loss.argmin(), loss.shape)
    return Chosen(sigmas[i], Cs[c], eta_scales[e], float(loss.min()) / 5)


def svm(gamma: float, _: float, Cs: Sequence[float], X: Array, y: Array) -> list[SVC]:
    """Fit the plain Gaussian SVM for each C."""
    return [SVC(gamma=gamma, C=C).fit(X, y) for C in Cs]


def adaptation_numbers(model: Any, name: str = "F") -> dict[str, Any]:
    """Return rank and range of the adaptive matrix, called `name` in the paper."""
    entries = model.adaptation_.toarray()
    return {
        f"rank of {name}": model.adaptation_.rank,
        f"least entry of {name}": float(entries.min()),
        f"largest entry of {name}": float(entries.max()),
    }
