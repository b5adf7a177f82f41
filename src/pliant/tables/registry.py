"""Registry of the methods of pliant.

The command line, the comparison and the documentation look up methods here by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from pliant.methods import (
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LABRBFRegressor,
    LearnedKernelClassifier,
    LogDetLearner,
    MKLClassifier,
    MKLRegressor,
    OrderSpectralLearner,
    SCGLogDetLearner,
    TKLClassifier,
    TKLRegressor,
)

Maker: TypeAlias = Callable[..., Any]
"""A class or function that makes an estimator from keyword parameters."""


@dataclass(frozen=True)
class Method:
    """A method: its learners, default parameters and tuning grid.

    Parameters
    ----------
    name, title : str
        The name on the command line, and the title in result tables.
    source : str
        The publication, or the package.
    classifier, regressor : callable or None
        The learners: classes, or functions that make an estimator with nested parameters
        (``learner__strength``); None for an unsupported task.
    grid : mapping of str to tuple
        The values tried by a search, on standardised features unless `any_scale` is True. Values
        of ``gamma``, including nested ones, are multiples of 1/d for d features.
    max_rows : int
        Maximum number of training rows for reasonable time and memory.
    summary : str
        A short description of the learned kernel.
    any_scale : bool, default=False
        True if the learners accept features on any scale.
    package : str, default=""
        The package to install, if it is not one that pliant depends on.
    many : tuple of int and mapping, optional
        Number of rows, and the parameters that ``pliant fit`` and comparisons set from it on.
    rough : mapping of str to value, optional
        Parameters for fits in a search; faster but less accurate than the defaults.
    given : mapping of str to value, optional
        Parameters of every fit; they take precedence over `many` and `rough`.
    per_row : tuple of str, default=()
        Penalties that `rescale` multiplies by the ratio of final training rows to search rows.
    """

    name: str
    title: str
    source: str
    classifier: Maker | None
    regressor: Maker | None
    grid: Mapping[str, tuple[float | str, ...]]
    max_rows: int
    summary: str
    any_scale: bool = False
    package: str = ""
    many: tuple[int, Mapping[str, Any]] | None = None
    rough: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    per_row: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The supported tasks."""
        return tuple(self._learners)

    @property
    def many_rows(self) -> str:
        """The parameters `many`, as shown by ``pliant methods``."""
        number, settings = self.many or (0, {})
        shown = ", ".join(f"{name}={value}" for name, value in settings.items())
        return shown and f"with {shown} for {number} or more"

    @property
    def _learners(self) -> dict[str, Maker]:
        learners = {"classification": self.classifier, "regression": self.regressor}
        return {task: learner for task, learner in learners.items() if learner is not None}

    def learner(self, task: str) -> Maker:
        """Return the learner for "classification" or "regression"."""
        if task not in self._learners:
            raise ValueError(f"{self.name} supports {' and '.join(self.tasks)}, not {task!r}")
        return self._learners[task]

    def matches(self, estimator: object) -> bool:
        """Return True if this method makes estimators of this kind."""
        return any(_kind(make()) == _kind(estimator) for make in self._learners.values())

    def make_estimator(self, task: str, *, seed: int, n_rows: int, rough: bool = False) -> Any:
        """Make an estimator for n_rows training rows, with parameters for a search if `rough`."""
        made = self.learner(task)()
        known = made.get_params()
        seeds = {name: seed for name in known if name.rpartition("__")[2] == "random_state"}
        fewest, settings = self.many or (0, {})
        many = settings if n_rows >= fewest else {}
        searched = self.rough if rough else {}
        return made.set_params(**{**seeds, **many, **searched, **self.given})

    def param_grid(self, n_features: float, task: str | None = None) -> dict[str, list[Any]]:
        """Return the grid for n_features; a `task` restricts it to parameters of its learner."""
        grid: dict[str, list[Any]] = {name: list(values) for name, values in self.grid.items()}
        if task is not None:
            known = self.learner(task)().get_params()
            grid = {name: values for name, values in grid.items() if name in known}
        for name in grid:
            if is_gamma(name):
                grid[name] = [1.0 / n_features * value for value in grid[name]]
        return grid

    def rescale(self, settings: Mapping[str, Any], ratio: float) -> dict[str, Any]:
        """Convert parameters selected on a subset of rows to `ratio` times as many rows.

        The C of TKL multiplies a sum of losses over the rows. On ten tables, C was selected on a
        seventh of the rows. In fits to all rows, ten times this C reduced the error on six tables,
        by 3 to 52 %, and increased it on three, by 1, 2 and 16 %.
        """
        return {
            name: value * ratio
            if name.removeprefix("regressor__").removeprefix("machine__") in self.per_row
            else value
            for name, value in settings.items()
        }


def is_gamma(name: str) -> bool:
    """Return True if a parameter, possibly of a nested estimator, is named gamma."""
    return name.rpartition("__")[2] == "gamma"


def _kind(estimator: object) -> tuple[object, ...]:
    """Return the types and parameters that distinguish estimators of different methods."""
    learner = getattr(estimator, "learner", None)
    uniform = getattr(estimator, "weights", None) == "uniform"
    name = getattr(estimator, "origin", type(estimator).__name__)  # of a record: the original's
    return name, type(learner), getattr(learner, "loss", None), uniform


def _on_learned_kernel(
    learner: Maker, settings: Mapping[str, Any], **parameters: Any
) -> LearnedKernelClassifier:
    """Make an SVM that uses a learned kernel."""
    machine = DANKClassifier("precomputed", eta=math.inf, extension="none")
    return LearnedKernelClassifier(learner(**settings), machine).set_params(**parameters)


SVM_GRID: dict[str, tuple[float, ...]] = {
    "C": tuple(2.0**power for power in range(-3, 12, 2)),
    "gamma": (1 / 16, 1 / 4, 1.0, 4.0),
}
"""Grid for estimators with the parameters of an SVM."""

PENALTIES = {"machine__C": tuple(2.0**power for power in range(-3, 10, 3))}
"""Grid for the SVM that uses a learned kernel."""

SUM_PENALTIES = tuple(2.0**power for power in range(-4, 11, 2))
"""Grid of C for sums of normalised kernels. On eight tables, the best C was between 0.1 and
100, and larger with equal weights. Values above 100 have almost no effect."""

SCG = (
    "Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss "
    "function, Information Sciences (2016)"
)

METHODS: dict[str, Method] = {
    "dank": Method(
        name="dank",
        title="DANK",
        source="Liu, Huang, Gong, Yang, Li: Learning Data-adaptive Non-parametric Kernels, "
        "JMLR 21 (2020)",
        classifier=DANKClassifier,
        regressor=DANKRegressor,
        grid=SVM_GRID,
        max_rows=500_000,
        summary="a base kernel times a matrix that adapts each entry",
        many=(20_000, {"partition": "kmeans"}),
        rough={"tau": 0.0, "tol": 1e-3},
    ),
    "knpl": Method(
        name="knpl",
        title="KNPL",
        source="Liu, Huang, Gong, Yang, Li: Nonlinear Pairwise Layer and Its Training for Kernel "
        "Learning, AAAI (2018)",
        classifier=KNPLClassifier,
        regressor=KNPLRegressor,
        grid=SVM_GRID,
        max_rows=100_000,
        summary="a base kernel times a matrix that adapts each entry and preserves the row sums",
        many=(20_000, {"partition": "kmeans"}),
        rough={"tol": 1e-3},
    ),
    "tkl": Method(
        name="tkl",
        title="TKL",
        source="Talitckii, Colbert, Peet: Efficient Convex Algorithms for Universal Kernel "
        "Learning, arXiv:2304.07472 (2024)",
        classifier=TKLClassifier,
        regressor=TKLRegressor,
        grid={"C": tuple(10.0**power for power in range(6)), "delta": (0.1, 0.5, 1.0)},
        max_rows=100_000,
        summary="a piecewise polynomial kernel on a tessellation defined by the points",
        many=(40_000, {"partition": "kmeans"}),
        rough={"tol": 1e-2, "max_iter": 20},
        per_row=("C",),
    ),
    "lab-rbf": Method(
        name="lab-rbf",
        title="LAB-RBF",
        source="He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric "
        "Locally-Adaptive Kernels",
        classifier=LABRBFClassifier,
        regressor=LABRBFRegressor,
        grid={},
        max_rows=1_000_000,
        summary="a radial kernel with separate bandwidths at each support point",
        any_scale=True,
    ),
    "mkl": Method(
        name="mkl",
        title="MKL",
        source="Rakotomamonjy, Bach, Canu, Grandvalet: SimpleMKL, JMLR 9 (2008)",
        classifier=MKLClassifier,
        regressor=MKLRegressor,
        grid={"C": SUM_PENALTIES},
        max_rows=4_000,
        summary="a weighted sum of Gaussians and polynomials of all or single features",
        rough={"tol": 1e-2},
    ),
    "mkl-uniform": Method(
        name="mkl-uniform",
        title="MKL, equal weights",
        source="Rakotomamonjy, Bach, Canu, Grandvalet: SimpleMKL, JMLR 9 (2008)",
        classifier=partial(MKLClassifier, weights="uniform"),
        regressor=partial(MKLRegressor, weights="uniform"),
        grid={"C": SUM_PENALTIES},
        max_rows=8_000,
        summary="the sum of the MKL kernels with equal weights, a baseline",
        rough={"tol": 1e-2},
    ),
    "scg-ldk": Method(
        name="scg-ldk",
        title="SCG-LDK",
        source=SCG,
        classifier=partial(_on_learned_kernel, SCGLogDetLearner, {}),
        regressor=None,
        grid={
            "learner__gamma": SVM_GRID["gamma"],
            "learner__strength": (1.0, 100.0, 10_000.0),
            **PENALTIES,
        },
        max_rows=8_000,
        summary="a kernel close to a given one and smooth over the label graph; then an SVM",
    ),
    "scg-osk": Method(
        name="scg-osk",
        title="SCG-OSK",
        source=SCG,
        classifier=partial(_on_learned_kernel, OrderSpectralLearner, {"loss": "scg"}),
        regressor=None,
        grid={"learner__n_neighbors": (3, 5, 10), **PENALTIES},
        max_rows=10_000,
        summary="leading eigenvectors of a neighbour graph, selected by the labels; then an SVM",
    ),
    "osk": Method(
        name="osk",
        title="OSK",
        source="Zhu, Kandola, Ghahramani, Lafferty: Nonparametric Transforms of Graph Kernels for "
        "Semi-supervised Learning, NIPS (2004)",
        classifier=partial(_on_learned_kernel, OrderSpectralLearner, {"loss": "alignment"}),
        regressor=None,
        grid={"learner__n_neighbors": (3, 5, 10), **PENALTIES},
        max_rows=10_000,
        summary="eigenvectors of a neighbour graph, weighted for alignment with the labels; then "
        "an SVM",
    ),
    "ldk": Method(
        name="ldk",
        title="LDK",
        source="Jain, Kulis, Davis, Dhillon: Metric and Kernel Learning Using a Linear "
        "Transformation, JMLR 13 (2012)",
        classifier=partial(_on_learned_kernel, LogDetLearner, {}),
        regressor=None,
        grid={"learner__gamma": SVM_GRID["gamma"], **PENALTIES},
        max_rows=8_000,
        summary="the kernel closest to a given one under bounds on pairwise distances; then an SVM",
    ),
}
"""All methods, by name."""
