"""How the members of a LAB-RBF model are trained: scales of the features, splits, threads."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState

from pliant.core.device import Device
from pliant.core.progress import Deadline
from pliant.core.threads import blas_limited, in_processes, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_random_state
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.kernel import WARPS, Warp
from pliant.methods.lab_rbf.members import TINY, WORTH_THREADS, LABRBFMember, limits_of
from pliant.methods.lab_rbf.trainer import Layer, Learned, Recipe, Trainer

# Maximum number of rows that bandwidths are learned from. Coefficients are fitted to all.
BANDWIDTH_ROWS = 3000
SLOPE_ROWS = 1000  # Rows that slopes are averaged over.
MOST_HELD_OUT = 10_000  # Maximum number of rows that a member holds out.
# Number of small expansions that a scale is tried on, and their rows and support points.
PROBES, PROBE_ROWS, PROBE_SUPPORT = 3, 1000, 100
# Maximum number of steps of each stage of these expansions, and their shrinkage penalty.
PROBE_STEPS, PROBE_SHRINKAGES = 15, (3e-2,)
# Scales of features whose loss is within this factor of the lowest one are all used.
COMPARABLE = 1.1
LARGEST_SEED = np.iinfo(np.int32).max

Loss = Callable[[Table, Indices], Callable[[Array], float]]
"""(table, rows) -> the loss of scaled predictions of these rows."""


class Watch(Deadline):
    """A deadline that several threads may ask; the copy in another process has its time alone."""

    def __init__(self, callback: Callable[..., object], seconds: float | None) -> None:
        super().__init__(callback, seconds)
        self._lock = threading.Lock()

    @property
    def listened(self) -> bool:
        """Whether somebody may ask to stop before the time is up."""
        return bool(getattr(self._callback, "listened", True))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a worker makes its copy, without the callbacks."""
        return Watch, (_nobody, None), {"ends": self.ends, "stopped": self.stopped}

    def __call__(self, step: object = None) -> bool:
        """Return whether to stop; once True, always True."""
        with self._lock:
            return super().__call__(step)


def _nobody(step: object) -> bool:
    """Never ask to stop."""
    return False


class Split(NamedTuple):
    """Rows to learn from, validation rows (None if none are held out), rows of the last stage."""

    train: Indices
    held_out: Indices | None
    everything: Indices

    def with_support(self, support: Indices) -> Split:
        """Return the split with the support points that the user names first in `train`."""
        train = np.concatenate([support, np.setdiff1d(self.train, support, assume_unique=True)])
        if self.held_out is None:
            return self._replace(train=train)
        held_out = np.setdiff1d(self.held_out, support)
        if not len(held_out):
            raise ValueError(
                f"expected some rows that are no support points, to hold out, got {len(support)} "
                "support points that leave none; name fewer, or set validation_fraction=0"
            )
        return self._replace(train=train, held_out=held_out)


class Run(NamedTuple):
    """A member, how it was learned, and the rows that it was learned and validated on."""

    member: LABRBFMember
    learned: Learned
    split: Split


@dataclass(frozen=True, eq=False)
class EnsembleTrainer:
    """Trains the members of one model."""

    parameters: Mapping[str, Any]  # of the model
    device: Device
    watch: Watch
    loss: Loss
    layer: Layer | None

    def learn(
        self,
        table: Table,
        support: str | Indices,
        begun: Mapping[str, Any],
        choose_target: Callable[[Table, Callable[[Table], float]], Table],
    ) -> tuple[Table, list[Run]]:
        """Choose the scales of features and target, then learn the members of a model.

        `support` is how support points are chosen, or their places, and `begun` is the state of an
        earlier fit. Coefficients are still to come, but for those of the interpolation objective.
        There are fewer members than asked for if learning is to stop.
        """
        p, scales, members = self.parameters, ["raw"], begun.get("members_", [])
        rng, n_members = check_random_state(p["random_state"]), p["n_members"]
        seeds = rng.randint(LARGEST_SEED, size=n_members + PROBES).astype(np.intp)
        if members:
            if begun.get("target_transform_") == "log":
                table = table.with_logarithms()
        elif p["transforms"] is not None and p["validation_fraction"] > 0:
            recipe = Recipe.of(p, 0, "kmeans++", table)
            probe = cache(partial(self.probe, recipe, seeds[n_members:]))
            scales = comparable_scales(table, probe)
            table = choose_target(table, lambda changed: probe(changed, scales[0]))
        recipes = [Recipe.of(p, k, support, table) for k in range(n_members)]
        return table, self._train(table, recipes, scales, seeds, members)

    def _train(
        self,
        table: Table,
        recipes: list[Recipe],
        scales: list[str],
        seeds: Indices,
        begun: Sequence[LABRBFMember],
    ) -> list[Run]:
        """Learn a member by each recipe, with a seed of its own; the first go on from `begun`.

        Members take turns with the scales: member k gets scale k + k // len(scales), so that it
        does not always meet the same objective.
        """
        limits, table = limits_of(table), replace(table, whole=None)
        warps = list({member.warp_.key(): member.warp_ for member in begun}.values())
        warps = warps or [Warp.learn(table.X, scale) for scale in scales]
        # Members by evidence take longest: begun first, they leave no core waiting at the end.
        order = sorted(range(len(recipes)), key=lambda k: recipes[k].objective != "evidence")
        members = [*begun, *[None] * (len(recipes) - len(begun))]
        runs = self._parallel(table, recipes[0])(
            delayed(self._train_member)(
                table,
                recipes[k],
                warps[(k + k // len(warps)) % len(warps)],
                int(seeds[k]),
                limits,
                members[k],
                needed=k == order[0],
            )
            for k in order
        )
        in_turn = sorted(zip(order, runs, strict=True), key=lambda pair: pair[0])
        return [run for _, run in in_turn if run is not None]

    def _parallel(self, table: Table, recipe: Recipe) -> Parallel:
        """Return what runs tasks: threads, or the processes or cluster that joblib is set to.

        In small tasks, threads would wait for each other. Only threads can ask callbacks.
        """
        n_jobs = self.parameters["n_jobs"]
        if in_processes() and not self.watch.listened:
            return Parallel(n_jobs=n_jobs)
        worth_it = min(len(table), BANDWIDTH_ROWS) * recipe.n_support >= WORTH_THREADS
        return Parallel(n_jobs=threads_for(n_jobs, worth_it=worth_it), require="sharedmem")

    @blas_limited
    def _train_member(
        self,
        table: Table,
        recipe: Recipe,
        warp: Warp,
        seed: int,
        limits: Array,
        begun: LABRBFMember | None,
        *,
        needed: bool,
    ) -> Run | None:
        """Learn a member; None if learning was to stop before, unless one is needed.

        One that is `begun` keeps its support points, their numbers, its objective and its scale.
        """
        if self.watch.stopped and not needed and begun is None:
            return None
        rng = RandomState(seed)
        split = self._split(len(table), rng)
        if begun is not None:
            kept = {"objective": begun.objective_, "linear": begun.linear_}
            recipe, warp = replace(recipe, profile=begun.kernel_.profile, **kept), begun.warp_
        elif not isinstance(recipe.support, str):
            split = split.with_support(recipe.support)
            recipe = replace(recipe, support=np.arange(len(recipe.support)))
        learned = self._learn(table, recipe, warp, split, rng, begun=begun)
        if begun is not None:
            numbers, points = begun.support_, begun.kernel_.centres
        else:
            support = split.train[learned.rows]
            numbers, points = table.numbers[support], table.points(support)
        member = LABRBFMember.of(learned, recipe, warp, numbers, points, limits)
        if learned.coefficients is not None:  # they belong to targets on [-1, 1]
            intercept = table.middle + table.spread * learned.mean
            member.set_coefficients(learned.coefficients * table.spread, intercept)
        return Run(member, learned, split)

    def _split(self, n: int, rng: RandomState) -> Split:
        """Split n rows at random."""
        order, share = rng.permutation(n), self.parameters["validation_fraction"]
        everything = order[:BANDWIDTH_ROWS].copy()  # not a view, which would keep all n
        if share == 0:
            return Split(everything, None, everything)
        held_out = min(max(1, int(share * n)), MOST_HELD_OUT, n - 1)
        train = order[held_out:][:BANDWIDTH_ROWS].copy()
        return Split(train, order[:held_out].copy(), everything)

    def _learn(
        self,
        table: Table,
        recipe: Recipe,
        warp: Warp,
        split: Split,
        rng: RandomState,
        *,
        begun: LABRBFMember | None = None,
        last_stage: bool = True,
    ) -> Learned:
        """Learn the bandwidths of one expansion."""
        held_out, loss, everything = None, None, None
        if split.held_out is not None:
            held_out, loss = table.sample(split.held_out, warp), self.loss(table, split.held_out)
            everything = table.sample(split.everything, warp) if last_stage else None
        train, layer = table.sample(split.train, warp), self.layer if last_stage else None
        start = None if begun is None else begun.begun()
        trainer = Trainer(recipe, train, held_out, loss, self.device, rng, self.watch, layer, start)
        # A product in float32 may flag an invalid operation although its result is finite; the
        # solver takes a step only if the objective there is finite.
        with np.errstate(invalid="ignore"):
            return trainer.train(everything)

    def probe(self, recipe: Recipe, seeds: Indices, table: Table, scale: str) -> float:
        """Return the held-out loss of small expansions on few rows, their geometric mean."""
        recipe = replace(
            recipe,
            objective="ridge",
            n_support=min(recipe.n_support, PROBE_SUPPORT),
            linear=True,
            max_iter=min(recipe.max_iter, PROBE_STEPS),
            shrinkages=PROBE_SHRINKAGES,
        )
        warp, table = Warp.learn(table.X, scale), replace(table, whole=None)
        losses = self._parallel(table, recipe)(
            delayed(self._probed)(recipe, int(seed), table, warp) for seed in seeds
        )
        return float(np.exp(np.mean(np.log(losses))))

    @blas_limited
    def _probed(self, recipe: Recipe, seed: int, table: Table, warp: Warp) -> float:
        """Return the held-out loss of one small expansion."""
        if self.watch.stopped:
            return math.inf
        rng = RandomState(seed)
        split = self._split(len(table), rng)
        split = split._replace(train=split.train[:PROBE_ROWS])
        learned = self._learn(table, recipe, warp, split, rng, last_stage=False)
        return max(learned.stage.loss, TINY)


def comparable_scales(table: Table, probe: Callable[[Table, str], float]) -> list[str]:
    """Return the scales of features that do about equally well, the best one first.

    `probe` returns the held-out loss of a small expansion with the features on a scale.
    """
    others = [scale for scale in WARPS[1:] if not Warp.learn(table.X, scale).affine]
    if not others:
        return ["raw"]
    losses = {scale: probe(table, scale) for scale in ("raw", *others)}
    limit = COMPARABLE * min(losses.values())
    return sorted((s for s in losses if losses[s] <= limit), key=lambda s: losses[s])
