"""Learning in parts: divide rows by k-means, solve, combine, expand.

`kmeans_partition` divides the rows; `solve_parts` solves one problem per part, on any joblib
backend; `PartedSolution` combines the solutions; `expand_parts` predicts with the part of the
nearest centre.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import RandomState

from pliant.core import process
from pliant.core.distances import nearest_rows
from pliant.core.estimators import BaseEstimator, ConvergenceWarning
from pliant.core.parameters import (
    automatic,
    check_choice,
    check_flag,
    check_job_count,
    check_random_state,
    integer,
    plain,
)
from pliant.core.progress import Status
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Callback, Indices
from pliant.kernels.base import Kernel
from pliant.methods.svm.problem import expansion

if not process.BARE:  # what a fit needs
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

AUTO_SIZE = 4000
"""Mean number of rows per part for ``n_parts="auto"``."""

SAMPLE, SAMPLE_PER_PART = 20_000, 200
"""Minimum sample size for k-means, in total and per part."""


@dataclass(repr=False)
class KMeansPartition(BaseEstimator):
    """Settings of a fit in parts, for the parameter ``partition`` of DANK, KNPL and TKL.

    ``partition="kmeans"`` is short for ``KMeansPartition()``; a dict holds its keyword arguments.
    ``set_params(partition__n_parts=4)``, and a grid of such settings, start from any of these.

    Parameters
    ----------
    n_parts : int or "auto", default="auto"
        Number of parts per pair of classes; "auto" makes parts of about 4000 and at most 8000
        samples.
    refine : bool, default=False
        For DANK: solve the exact problem with intercept, starting from the solutions of the parts.
        ``dual_gap_`` then certifies the exact solution, which predictions use. Otherwise they use
        the solution of the part with the nearest centre.
    n_jobs : int, optional
        Number of parts solved in parallel, in threads or on the `joblib.parallel_config` backend.
        Each worker may use ``cache_mb`` of memory. Callbacks are called after each part.
    random_state : int, RandomState or None, default=0
        Seed of the k-means initialisation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import DANKClassifier, KMeansPartition
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DANKClassifier(partition=KMeansPartition(n_parts=3)).fit(X[50:], y[50:])
    >>> len(model.part_centres_)
    3
    """

    n_parts: int | Literal["auto"] = "auto"
    refine: bool = False
    n_jobs: int | None = None
    random_state: int | RandomState | None = 0

    def __post_init__(self) -> None:
        """Raise ValueError if a setting is invalid."""
        automatic(integer(least=1))("n_parts", self.n_parts)
        check_flag("refine", self.refine)
        check_job_count("n_jobs", self.n_jobs)
        check_random_state(self.random_state)

    _check_loaded = __post_init__


def as_partition(name: str, value: Any) -> KMeansPartition:
    """Return the `KMeansPartition` for "kmeans", a dict of settings or a `KMeansPartition`."""
    if isinstance(value, KMeansPartition):
        value._check_loaded()  # `set_params` does not check
        return value
    if isinstance(value, dict):  # from the command line
        try:
            return KMeansPartition(**value)
        except TypeError:
            known = [each.name for each in fields(KMeansPartition)]
            raise ValueError(f"expected {name} with keys in {known}, got {value!r}") from None
    check_choice(name, value, ("kmeans",))
    return KMeansPartition()


def partition_settings(value: Any) -> KMeansPartition:
    """Return a value of the parameter ``partition`` as an object; None gives the defaults."""
    return KMeansPartition() if value is None else as_partition("partition", value)


@dataclass(frozen=True, eq=False)
class Partition:
    """A division of rows into v nonempty parts."""

    labels: Indices
    """The part of each row, from 0 to v - 1."""
    centres: Array
    """The centre of each part, shape (v, d)."""

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def sizes(self) -> Indices:
        """Number of rows in each part, shape (v,)."""
        return np.bincount(self.labels, minlength=len(self)).astype(np.intp)

    def members(self, part: int) -> Indices:
        """Return the sorted row numbers of a part."""
        return np.flatnonzero(self.labels == part)


def kmeans_partition(
    points: Array, n_parts: int | str = "auto", random_state: int | RandomState | None = None
) -> Partition:
    """Divide rows into compact parts by k-means, in bounded memory.

    k-means runs on a sample of the rows; each row is then assigned to its nearest centre. Equal
    rows share a part.

    Parameters
    ----------
    points : array of shape (n, d)
        Finite, n >= 1.
    n_parts : int or "auto"
        Number of parts, from 1 to n, as in the DANK paper. "auto" makes parts of about 4000 rows,
        and splits parts of more than 8000 rows.
    random_state : int, RandomState or None
        Seed of the sample and of the k-means initialisation.
    """
    n, rng = len(points), check_random_state(random_state)
    wanted = math.ceil(n / AUTO_SIZE) if n_parts == "auto" else int(n_parts)
    if wanted > n:
        raise ValueError(f"expected n_parts <= {n}, the number of rows, got {plain(n_parts)!r}")
    # k-means makes uneven parts: split those above twice the mean size by k-means on samples.
    most = 2 * AUTO_SIZE if n_parts == "auto" else n
    centres = _kmeans(_sample(points, max(SAMPLE, SAMPLE_PER_PART * wanted), rng), wanted, rng)
    for _ in range(50):  # a round fails if its samples miss rare rows
        used, labels = np.unique(nearest_rows(points, centres), return_inverse=True)
        centres = centres[used]
        large = [
            part
            for part in np.flatnonzero(np.bincount(labels) > most)
            if np.ptp(points[labels == part], axis=0).any()  # equal rows cannot be split
        ]
        if not large:
            break
        halves = [_kmeans(_sample(points[labels == part], SAMPLE, rng), 2, rng) for part in large]
        centres = np.vstack([np.delete(centres, large, axis=0), *halves])
    # Drop centres without rows.
    used, labels = np.unique(nearest_rows(points, centres), return_inverse=True)
    return Partition(labels.astype(np.intp), centres[used])


def _sample(points: Array, size: int, rng: RandomState) -> Array:
    """Return `size` random rows in their original order, or all rows if there are fewer."""
    if size >= len(points):
        return points
    return points[np.sort(rng.choice(len(points), size, replace=False))]


def _kmeans(X: Array, n_centres: int, rng: RandomState) -> Array:
    """Return the k-means centres of X, shape (n_centres, d).

    One thread sums the rows, so the result does not depend on the number of processors.
    """
    from sklearn.cluster import KMeans

    # Iterations after the 30th move few rows.
    kmeans = KMeans(n_centres, n_init=1, max_iter=30, tol=0.0, random_state=rng)
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than centres
        return np.asarray(kmeans.fit(X).cluster_centers_)


class PartResult(NamedTuple):
    """The solution of one part's problem, with the coefficients `beta` in row order."""

    beta: Array
    value: float
    """The part's objective at `beta`."""
    gap: float
    """Upper bound on the difference between `value` and the part's optimum; nan if unknown."""
    n_iter: int
    status: str
    """Name of the solver's `pliant.core.progress.Status`."""
    seconds: float = 0.0
    """CPU time of the thread that solved the part, without BLAS threads; set by `run_parts`."""
    intercept: float = 0.0
    """Intercept of the part's decision function, or 0 if the problem has none."""


Work: TypeAlias = Callable[..., PartResult]
"""A module-level function that solves a part."""


@dataclass(frozen=True, eq=False)
class PartedSolution:
    """The solutions of all parts. Their problems are separate, so objectives and gaps add up."""

    partition: Partition
    results: list[PartResult]

    @cached_property
    def beta(self) -> Array:
        """The coefficients of all rows, shape (n,), from the blocks beta_p of the parts."""
        beta = np.zeros(len(self.partition.labels))
        for part, result in enumerate(self.results):
            beta[self.partition.members(part)] = result.beta
        return beta

    @property
    def value(self) -> float:
        """The sum of the objectives."""
        return math.fsum(result.value for result in self.results)

    @property
    def gap(self) -> float:
        """The sum of the gaps."""
        return math.fsum(result.gap for result in self.results)

    @property
    def n_iter(self) -> int:
        """The total number of iterations."""
        return sum(result.n_iter for result in self.results)

    @property
    def early(self) -> list[Status]:
        """The status of each part that stopped before the requested accuracy."""
        statuses = (Status[result.status] for result in self.results)
        return [each for each in statuses if each not in (Status.CONVERGED, Status.UNCERTIFIED)]

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes that describe the parts."""
        return {
            "part_labels_": self.partition.labels,
            "part_centres_": self.partition.centres,
            "part_gaps_": np.array([result.gap for result in self.results]),
            "part_seconds_": np.array([result.seconds for result in self.results]),
        }


def solve_parts(
    work: Work,
    arguments: Callable[[int], tuple[Any, ...]],
    skip: Callable[[int], PartResult],
    partition: Partition,
    *,
    n_jobs: int | None,
    callback: Callback,
) -> PartedSolution:
    """Solve all parts with `run_parts`.

    `skip` returns the solution of a part that was not started, or lost, because `callback`, called
    with None after each part, returned True.
    """
    solved = run_parts(
        work,
        arguments,
        sizes=partition.sizes.tolist(),
        n_jobs=n_jobs,
        report=lambda _done, _total: callback(None),
    )
    results = [skip(part) if result is None else result for part, result in enumerate(solved)]
    return PartedSolution(partition, results)


def expand_parts(
    X: Array,
    places: Indices,
    kernels: Sequence[Kernel],
    support_places: Indices,
    vectors: Array,
    coefficients: Array,
    intercepts: Array,
) -> Array:
    """Return f(x) = k_p(x, V_p) beta_p + b_p for each row x of X, with p its part, shape (m,).

    `places`, shape (m,), holds the part of each row; `support_places`, shape (s,), that of each of
    the s support points, the rows of `vectors`, with their `coefficients`. `kernels` and
    `intercepts` have one entry per part.
    """
    values = intercepts[places]
    for p in np.unique(places):
        rows, members = np.flatnonzero(places == p), support_places == p
        if members.any():
            values[rows] += expansion(kernels[p], X[rows], vectors[members], coefficients[members])
    return values


class _Stop(BaseException):
    """Thrown into joblib's generator to end it without the warning from ``close``."""


def run_parts(
    work: Work,
    arguments: Callable[[int], tuple[Any, ...]],
    *,
    sizes: Sequence[int],
    n_jobs: int | None = None,
    report: Callable[[int, int], object] | None = None,
) -> list[PartResult | None]:
    """Solve each part.

    Tasks run in threads or on the ``joblib.parallel_config`` backend, which must be able to return
    results one by one (threads, loky, Dask). The largest parts start first. The number of active
    tasks is less than twice the number of workers, to limit the number of copied parts. The first
    error is raised, with a note that names its part.

    Parameters
    ----------
    work : callable
        Solves a part. Other processes must be able to import it; it must not modify its arguments,
        which may be shared.
    arguments : callable
        Returns the arguments of `work`, given the number of a part. Called when the part
        starts, perhaps from another thread.
    sizes : sequence of int
        Number of rows of each part.
    n_jobs : int or None
        As in joblib: None means 1, or the value of ``parallel_config``; -1 means all processors.
    report : callable, optional
        Called as ``report(done, total)`` after each part. If it returns True, no further part
        starts, and the results of active parts are lost.

    Returns
    -------
    list of PartResult or None
        One item per part, in order; None for parts lost or not started after `report` was True.
    """
    total = len(sizes)
    # Start the largest parts first: a large part at the end would run alone.
    order = np.argsort(-np.asarray(sizes, dtype=np.intp), kind="stable").tolist()
    results: list[PartResult | None] = [None] * total
    parallel: Any = Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        batch_size=1,
        pre_dispatch="n_jobs",
        return_as="generator_unordered",
    )
    outcomes = parallel(_tasks(work, arguments, sizes, order))
    # Results arrive in order of completion; a break or an error stops the generator.
    try:
        for done, (part, result) in enumerate(outcomes, 1):
            results[part] = result
            if report is not None and report(done, total):
                break
    finally:
        with suppress(_Stop):
            outcomes.throw(_Stop())
    return results


def _tasks(
    work: Work,
    arguments: Callable[[int], tuple[Any, ...]],
    sizes: Sequence[int],
    order: list[int],
) -> Iterator[Any]:
    """Yield joblib tasks; each task's arguments are computed when it starts."""
    for part in order:
        name = f"part {part + 1} of {len(order)} ({sizes[part]} rows)"
        try:
            yield delayed(_attempt)(work, part, name, arguments(part))
        except Exception as error:  # joblib may iterate in a thread that drops exceptions
            yield delayed(_fail)(error)


def _fail(error: Exception) -> None:
    """Raise an error within a task."""
    raise error


@blas_limited
def _attempt(work: Work, part: int, name: str, args: tuple[Any, ...]) -> tuple[int, PartResult]:
    """Return a part's number and its result, with the CPU time."""
    try:
        start = time.thread_time()
        result = work(*args)
        return part, result._replace(seconds=time.thread_time() - start)
    except Exception as error:
        error.add_note(f"in {name}")
        raise
