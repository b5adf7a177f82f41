"""How LAB-RBF machines learn: their parameters, and one member after the other."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pliant.core.progress import CallbackSupport, FitProgress, with_callbacks
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_weights, forget
from pliant.methods.lab_rbf.data import Table, Watch
from pliant.methods.lab_rbf.device import get_device
from pliant.methods.lab_rbf.member import LABRBFMember, fit_coefficients
from pliant.methods.lab_rbf.parameters import LocalParameters
from pliant.methods.lab_rbf.recipe import Recipe
from pliant.methods.lab_rbf.session import Session
from pliant.methods.lab_rbf.view import LocalView
from pliant.methods.lab_rbf.warp import WARPS, Warp

__all__ = ["LocalMachine", "Probe", "Run"]

SLOPE_ROWS = 1000
"""Rows that slopes are averaged over."""

LARGEST_SEED = np.iinfo(np.int32).max

PROBES, PROBE_ROWS, PROBE_SUPPORT = 3, 1500, 150
"""How often, and on what, a scale is tried."""

TINY = float(np.finfo(np.float64).tiny)

AVERAGED = 2.0
"""Members whose held-out loss is more than this times the median are left out."""


COMPARABLE = 1.1
"""Scales of features whose loss is within this factor of the least one are all used."""

Probe = Callable[[Table, str], float]
"""The held-out loss of a small expansion, features on a scale."""


class Run(NamedTuple):
    """A member, the rows that judged it, and its scaled predictions of them."""

    member: LABRBFMember
    judges: Indices | None
    predicted: Array | None


class LocalMachine(CallbackSupport, LocalView, LocalParameters):
    """The mean of several LAB-RBF expansions."""

    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn support points, bandwidths and coefficients.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The training points; dense, finite; may be a memory map.
        y : array-like of shape (n,) or (n, q)
            The targets.
        sample_weight : array-like of shape (n,), optional
            Each >= 0; multiplies the squared errors. Rows of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        ImportError
            If `device` needs PyTorch and it is not installed.
        """
        forget(self)
        self._check_parameters()
        device = get_device(self.device, self.dtype)
        table, rows = self._prepare(X, y, sample_weight)
        support = self.support
        if not isinstance(support, str):
            count = len(rows if sample_weight is None else sample_weight)
            support = self._named_support(rows, count)
        progress = FitProgress(self, X, y)
        watch = Watch(progress, self.max_seconds)
        session = Session(
            device, watch, self.validation_fraction, self.max_bandwidth_rows, self._loss
        )
        self._keep(self._learn(session, table, support), rows)
        progress.end()
        return self

    @abstractmethod
    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Indices]:
        """Check the data; return them with the row numbers of those that have weight."""

    @abstractmethod
    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return what judges scaled predictions of held-out rows; about 1 for a constant."""

    @abstractmethod
    def _checked_again(self, X: Any, y: Any, sample_weight: Any) -> Table:
        """Check data for coefficients to be learned again, by a fitted machine."""

    def _scales(self, table: Table, probe: Probe) -> tuple[Table, list[str]]:
        """Return the table with its target on the scale to learn, and scales of the features.

        The scales are those whose held-out loss on a small expansion is near the least.
        """
        if not self._tries:
            return table, ["raw"]
        bends = [scale for scale in WARPS[1:] if not Warp.learn(table.X, scale).affine]
        if not bends:
            return table, ["raw"]
        losses = {scale: probe(table, scale) for scale in ("raw", *bends)}
        near = COMPARABLE * min(losses.values())
        return table, sorted((s for s in losses if losses[s] <= near), key=lambda s: losses[s])

    @property
    def _tries(self) -> bool:
        """Whether other scales are tried."""
        return self.transforms is not None and self.validation_fraction > 0

    def _weighted(self, X: Array, Y: Array, sample_weight: Any) -> tuple[Table, Indices]:
        """Leave out rows without weight."""
        if sample_weight is None:
            return Table(X, Y), np.arange(len(X))
        weights = check_weights(sample_weight, X)
        rows = np.flatnonzero(weights)
        if len(rows) == len(X):
            return Table(X, Y, weights), rows
        return Table(X[rows], Y[rows], weights[rows]), rows

    def _learn(self, session: Session, table: Table, support: str | Indices) -> list[LABRBFMember]:
        """Learn the members, each with a seed of its own."""
        rng = check_random_state(self.random_state)
        seeds = rng.randint(LARGEST_SEED, size=self.n_members + PROBES).astype(np.intp)
        probe = cache(partial(self._probe, session, seeds[self.n_members :]))
        table, scales = self._scales(table, probe)
        warps = [Warp.learn(table.X, scale, scale=self.scale) for scale in scales]
        found = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._member)(
                session,
                table,
                self._recipe(k, len(table), support, table.weight),
                warps[(k + k // len(warps)) % len(warps)],
                int(seeds[k]),
                needed=k == 0,
            )
            for k in range(self.n_members)
        )
        runs = [run for run in found if run is not None]
        self._conclude(table, runs)
        return [run.member for run in runs]

    def _conclude(self, table: Table, runs: list[Run]) -> None:
        """Learn what takes all members."""

    def _keep(self, members: list[LABRBFMember], rows: Indices) -> None:
        """Store the members, with row numbers of the user's data, and say which predict."""
        for member in members:
            member.support_ = rows[member.support_]
        losses = np.array([1.0 - member.validation_score_ for member in members])
        self.averaged_ = ~(losses > AVERAGED * np.median(losses))
        self.n_iter_ = max(1, sum(len(member.objective_history_) for member in members))
        self.members_ = members

    def _member(
        self,
        session: Session,
        table: Table,
        recipe: Recipe,
        warp: Warp,
        seed: int,
        *,
        needed: bool,
    ) -> Run | None:
        """Learn a member; None if learning was to stop before, unless one is needed."""
        if session.watch.stopped and not needed:
            return None
        rng = RandomState(seed)
        rows = session.divide(len(table), rng)
        if not isinstance(recipe.support, str):
            rows = rows.with_support(recipe.support)
            recipe = replace(recipe, support=np.arange(len(recipe.support)))
        learned = session.learn(recipe, table, rows, warp, rng)
        support = rows.train[learned.rows]
        member = LABRBFMember.of(learned, recipe, warp, support, table.points(support))
        if learned.coefficients is None:
            fit_coefficients([member], table, self.n_jobs)
        else:
            member.set_coefficients(*table.unscaled(learned.coefficients, learned.mean))
        member.measure_slopes(table.points(rows.everything[:SLOPE_ROWS]))
        return Run(member, rows.judges, learned.predicted)

    def _probe(self, session: Session, seeds: Indices, table: Table, scale: str) -> float:
        """Return the held-out loss of small expansions on few rows, their geometric mean."""
        recipe = self._recipe(0, len(table), "kmeans++", table.weight)
        count = min(recipe.n_support, PROBE_SUPPORT)
        recipe = replace(recipe, objective="ridge", n_support=count, n_draws=1, linear=True)
        warp = Warp.learn(table.X, scale, scale=self.scale)
        losses = []
        for seed in seeds:
            if session.watch.stopped:
                return math.inf
            rng = RandomState(seed)
            rows = session.divide(len(table), rng).first(PROBE_ROWS)
            found = session.learn(recipe, table, rows, warp, rng, last_stage=False)
            losses.append(max(found.loss, TINY))
        return float(np.exp(np.mean(np.log(losses))))

    def refit_coefficients(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None
    ) -> Self:
        """Learn the coefficients again from new rows; support points and bandwidths stay.

        Every member's coefficients become the ridge fit with its ``alpha_``, whatever its
        objective was. One pass over the rows, in blocks.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        check_is_fitted(self)
        table = self._checked_again(X, y, sample_weight)
        some = table.points(np.arange(len(table))[:: max(1, len(table) // SLOPE_ROWS)])
        fit_coefficients(self.members_, table, self.n_jobs)
        for member in self.members_:
            member.measure_slopes(some)
        return self
