"""The parameters of LAB-RBF machines."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pliant.core.typing import Indices
from pliant.core.validation import check_choice, check_integer, check_real
from pliant.methods.lab_rbf.profiles import PROFILES
from pliant.methods.lab_rbf.recipe import Recipe
from pliant.methods.lab_rbf.support import STRATEGIES

__all__ = ["LocalParameters"]

OBJECTIVES = ("ridge", "evidence", "interpolation", "mixed")
SOLVERS = ("lbfgs", "adam")

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""The ridges that held-out rows choose from."""

SHRINKAGES = (1e-1, 1e-2, 1e-3, 1e-4)
"""How firmly bandwidths are held together, stage by stage."""

FEW = 150
"""Fewer support points than this need less ridge and shrinkage while bandwidths are learned."""

RIGID = 1e6
"""A shrinkage as large as this leaves one bandwidth for each feature."""

LARGE = 4000
"""Rows from which on more support points are taken by default."""


class LocalParameters(BaseEstimator):
    """The parameters of a LAB-RBF machine, and what follows from them for one member."""

    def __init__(
        self,
        n_support: int | str = "auto",
        *,
        profile: str = "gaussian",
        n_members: int = 4,
        n_draws: int = 1,
        objective: str = "mixed",
        linear: bool | str = "auto",
        transforms: str | None = "auto",
        alpha: float | str = "auto",
        shrinkage: float | str = "auto",
        support: Any = "kmeans++",
        initial_bandwidth: float | str = "auto",
        validation_fraction: float = 0.2,
        solver: str = "lbfgs",
        max_iter: int = 60,
        learning_rate: float = 0.01,
        max_seconds: float | None = None,
        batch_rows: int = 8192,
        max_bandwidth_rows: int = 3000,
        scale: bool = True,
        dtype: str = "float64",
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_support = n_support
        self.profile = profile
        self.n_members = n_members
        self.n_draws = n_draws
        self.objective = objective
        self.linear = linear
        self.transforms = transforms
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.support = support
        self.initial_bandwidth = initial_bandwidth
        self.validation_fraction = validation_fraction
        self.solver = solver
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_seconds = max_seconds
        self.batch_rows = batch_rows
        self.max_bandwidth_rows = max_bandwidth_rows
        self.scale = scale
        self.dtype = dtype
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not _automatic(self.n_support):
            check_integer("n_support = 'auto' or", self.n_support, least=1)
        check_choice("profile", self.profile, PROFILES)
        check_integer("n_members", self.n_members, least=1)
        check_integer("n_draws", self.n_draws, least=1)
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("solver", self.solver, SOLVERS)
        check_integer("max_iter", self.max_iter, least=1)
        if check_real("learning_rate", self.learning_rate, above=0) > 1:
            raise ValueError(f"expected learning_rate <= 1, got {self.learning_rate!r}")
        check_integer("batch_rows", self.batch_rows, least=1)
        check_integer("max_bandwidth_rows", self.max_bandwidth_rows, least=2)
        check_choice("dtype", self.dtype, ("float32", "float64"))
        self._check_automatic()
        self._check_support()

    def _check_automatic(self) -> None:
        """Check what may be a word or a number."""
        for name in ("alpha", "initial_bandwidth"):
            if not _automatic(getattr(self, name)):
                check_real(f"{name} = 'auto' or", getattr(self, name), above=0)
        if not _automatic(self.shrinkage):
            check_real("shrinkage = 'auto' or", self.shrinkage, least=0, infinite=True)
        if self.max_seconds is not None:
            check_real("max_seconds", self.max_seconds, above=0)
        if self.transforms is not None and not _automatic(self.transforms):
            raise ValueError(f"expected transforms 'auto' or None, got {self.transforms!r}")
        if not isinstance(self.linear, bool | np.bool_) and not _automatic(self.linear):
            raise ValueError(f"expected linear True, False or 'auto', got {self.linear!r}")
        if not isinstance(self.scale, bool | np.bool_):
            raise ValueError(f"expected scale True or False, got {self.scale!r}")
        fraction = check_real("validation_fraction", self.validation_fraction, least=0)
        if fraction >= 1:
            raise ValueError(f"expected validation_fraction < 1, got {fraction:g}")
        if fraction == 0 and (_automatic(self.alpha) or _automatic(self.shrinkage)):
            raise ValueError(
                "expected validation_fraction > 0, or numbers for alpha and shrinkage, which "
                f"the held-out rows choose, got {fraction:g}"
            )
        if fraction == 0 and self.n_draws > 1:
            raise ValueError(
                "expected n_draws=1 with validation_fraction=0: held-out rows choose among draws, "
                f"got {self.n_draws}"
            )
        if self.objective == "interpolation" and not _automatic(self.linear) and self.linear:
            raise ValueError("expected linear=False with objective='interpolation', got True")

    def _check_support(self) -> None:
        if isinstance(self.support, str):
            check_choice("support", self.support, STRATEGIES)
            return
        rows = np.asarray(self.support)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(np.unique(rows)) != len(rows):
            raise ValueError(
                f"expected support in {sorted(STRATEGIES)}, or different row numbers, "
                f"got {self.support!r:.200}"
            )

    def _named_support(self, rows: Indices, n_rows: int) -> Indices:
        """Return the places among `rows`, those with weight, of the support points named."""
        named = np.asarray(self.support, dtype=np.intp)
        if not len(named) or named.min() < 0 or named.max() >= n_rows:
            raise ValueError(
                f"expected row numbers from 0 to {n_rows - 1} as support, got {self.support!r:.200}"
            )
        places = np.searchsorted(rows, named)
        absent = ~np.isin(named, rows)
        if absent.any():
            raise ValueError(f"expected a support point of weight > 0, got row {named[absent][0]}")
        return places

    def _recipe(self, k: int, n: int, support: str | Indices, weight: float) -> Recipe:
        """Return how the k-th member is learned.

        Parameters
        ----------
        k : int
            0, 1, ...
        n : int
            Rows.
        support : str or array of int
            How support points are chosen, or which they are.
        weight : float
            The mean weight of a row; ridges that are chosen grow with it.
        """
        objective = self._objective_of(k, n)
        linear = objective != "interpolation" and k % 4 != 1
        count = _default_support(n) if _automatic(self.n_support) else int(self.n_support)
        few = count < FEW
        recipe = Recipe(
            n_support=count,
            n_draws=self.n_draws if isinstance(support, str) else 1,
            objective=objective,
            linear=linear if _automatic(self.linear) else bool(self.linear),
            alpha=1e-3 if objective == "interpolation" else (0.01 if few else 0.1) * weight,
            shrinkages=(*SHRINKAGES, 1e-5, 0.0) if few else SHRINKAGES,
            alphas=tuple(weight * alpha for alpha in ALPHAS),
            profile=self.profile,
            support=support,
            solver=self.solver,
            max_iter=self.max_iter,
            batch_rows=self.batch_rows,
            learning_rate=self.learning_rate,
            initial_bandwidth=None,
        )
        if not _automatic(self.alpha):
            recipe = replace(recipe, alpha=float(self.alpha), alphas=(float(self.alpha),))
        if not _automatic(self.shrinkage):
            shrinkage = float(self.shrinkage)
            recipe = replace(recipe, shrinkages=(shrinkage if shrinkage < RIGID else math.inf,))
        if not _automatic(self.initial_bandwidth):
            recipe = replace(recipe, initial_bandwidth=float(self.initial_bandwidth))
        return recipe

    def _objective_of(self, k: int, n: int) -> str:
        """Return what the bandwidths of the k-th member minimise, with n rows."""
        if self.objective != "mixed":
            return self.objective
        return "evidence" if k % 2 and n < LARGE else "ridge"


def _automatic(value: object) -> bool:
    """Whether a parameter is left to the fit."""
    return isinstance(value, str) and value == "auto"


def _default_support(n: int) -> int:
    """Return how many support points a member has by default."""
    return 400 if n >= LARGE else max(1, min(200, n // 3))
