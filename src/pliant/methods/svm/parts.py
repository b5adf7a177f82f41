"""Learning in parts: rows divided by k-means, and one task for each part on any joblib backend."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from pliant.core.linalg import nearest_rows
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    automatic,
    check_choice,
    check_flag,
    check_job_count,
    check_random_state,
    integer,
    plain,
)

AUTO_SIZE = 4000
"""Mean number of rows of a part for ``n_parts="auto"``."""

SAMPLE, SAMPLE_PER_PART = 20_000, 200
"""Least number of rows on which k-means runs, in all and for each part; all are assigned then."""

ROUNDS = 50
"""Times that large parts are halved at most: a sample may not show the rows that differ."""

STEPS = 30
"""Maximum number of steps of k-means; later steps move few rows."""


@dataclass(frozen=True)
class KMeansPartition:
    """Settings of a fit in parts, for the parameter ``partition`` of DANK, KNPL and TKL.

    ``partition="kmeans"`` stands for ``KMeansPartition()``, and a dict of settings for one with
    these.

    Parameters
    ----------
    n_parts : int or "auto", default="auto"
        Number of parts, for each pair of classes; "auto" makes parts of about 4000 samples, none
        of more than 8000.
    prediction : {"part", "whole"}, default="part"
        For DANK and KNPL: predict by the part of the nearest centre, or by all parts, with F = 1
        between them. The latter is slower, and worse wherever parts overlap.
    refine : bool, default=False
        For DANK: start from the parts and solve the exact problem, with b and its certificate in
        ``dual_gap_``; ``prediction`` is then without effect.
    n_jobs : int, optional
        Number of parts solved at once, in threads or on the backend of `joblib.parallel_config`.
        Each worker may take the memory ``cache_mb``. Callbacks are called after each part.
    random_state : int, RandomState or None, default=0
        Seed of the first centres of k-means.

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
    prediction: Literal["part", "whole"] = "part"
    refine: bool = False
    n_jobs: int | None = None
    random_state: int | RandomState | None = 0

    def __post_init__(self) -> None:
        """Raise ValueError for a setting out of range."""
        automatic(integer(least=1))("n_parts", self.n_parts)
        check_choice("prediction", self.prediction, ("part", "whole"))
        check_flag("refine", self.refine)
        check_job_count("n_jobs", self.n_jobs)
        check_random_state(self.random_state)

    _check_loaded = __post_init__


def as_partition(name: str, value: Any) -> KMeansPartition:
    """Return a `KMeansPartition` for the value of a parameter: "kmeans", itself or a dict."""
    if isinstance(value, KMeansPartition):
        return value
    if isinstance(value, dict):  # as from the command line
        try:
            return KMeansPartition(**value)
        except TypeError:
            known = [each.name for each in fields(KMeansPartition)]
            raise ValueError(f"expected {name} with keys of {known}, got {value!r}") from None
    check_choice(name, value, ("kmeans",))
    return KMeansPartition()


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows divided into parts, none of them empty.

    Attributes
    ----------
    labels : array of shape (n,)
        The part of each row, from 0 to v - 1.
    centres : array of shape (v, d)
        One centre for each part.
    """

    labels: Indices
    centres: Array

    def __len__(self) -> int:
        return len(self.centres)

    @property
    def sizes(self) -> Indices:
        """Rows in each part, shape (v,)."""
        return np.bincount(self.labels, minlength=len(self)).astype(np.intp)

    def members(self, part: int) -> Indices:
        """Return the rows of a part, rising."""
        return np.flatnonzero(self.labels == part)


def kmeans_partition(
    points: Array, n_parts: int | str = "auto", random_state: int | RandomState | None = None
) -> Partition:
    """Divide rows into compact parts by k-means, in bounded memory.

    k-means runs on a sample of the rows; then each row is assigned to its nearest centre.

    Parameters
    ----------
    points : array of shape (n, d)
        The rows, n >= 1, finite.
    n_parts : int or "auto"
        From 1 to n parts, as in the DANK paper; "auto" makes parts of about 4000 rows, and halves
        parts of more than 8000.
    random_state : int, RandomState or None
        The seed of the sample and of the starts. The same seed gives the same parts.

    Returns
    -------
    Partition
        Equal rows are in one part. The label of a row is that of its nearest centre.

    Raises
    ------
    ValueError
        If there are fewer rows than parts.
    """
    n, rng = len(points), check_random_state(random_state)
    wanted = math.ceil(n / AUTO_SIZE) if n_parts == "auto" else int(n_parts)
    if wanted > n:
        raise ValueError(f"expected n_parts <= {n}, the number of rows, got {plain(n_parts)!r}")
    # k-means makes uneven parts: halve those above twice the mean size, each on a sample of its own
    most = 2 * AUTO_SIZE if n_parts == "auto" else n
    centres = _kmeans(_sample(points, max(SAMPLE, SAMPLE_PER_PART * wanted), rng), wanted, rng)
    for _ in range(ROUNDS):
        used, labels = np.unique(nearest_rows(points, centres), return_inverse=True)
        centres = centres[used]
        large = [
            part
            for part in np.flatnonzero(np.bincount(labels) > most)
            if np.ptp(points[labels == part], axis=0).any()  # no centres divide equal rows
        ]
        if not large:
            break
        halves = [_kmeans(_sample(points[labels == part], SAMPLE, rng), 2, rng) for part in large]
        centres = np.vstack([np.delete(centres, large, axis=0), *halves])
    # drop centres without rows and number the others from zero
    used, labels = np.unique(nearest_rows(points, centres), return_inverse=True)
    return Partition(labels.astype(np.intp), centres[used])


def _sample(points: Array, size: int, rng: RandomState) -> Array:
    """Return `size` random rows in their order, or all if there are no more."""
    if size >= len(points):
        return points
    return points[np.sort(rng.choice(len(points), size, replace=False))]


def _kmeans(X: Array, n_centres: int, rng: RandomState) -> Array:
    """Return the centres of k-means on all rows of X, shape (n_centres, d).

    One thread adds up the rows: the last digits do not depend on the number of processors.
    """
    machine = KMeans(n_centres, n_init=1, max_iter=STEPS, tol=0.0, random_state=rng)
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than centres
        return np.asarray(machine.fit(X).cluster_centers_)


class PartResult(NamedTuple):
    """The solution of one part's problem.

    Attributes
    ----------
    beta : array of shape (m,)
        Coefficients of the part's m rows, in the order of the rows.
    value : float
        The part's objective at `beta`.
    gap : float
        A bound on the distance of `value` from the part's optimum, in units of the objective;
        nan where there is no certificate.
    n_iter : int
        Iterations done.
    status : str
        The name of the solver's `pliant.core.progress.Status`.
    seconds : float
        Processor time of the thread that ran the part, set by `run_parts`. Other threads of a
        BLAS are not counted.
    intercept : float
        The b of the part's decision function; 0 for problems without one.
    """

    beta: Array
    value: float
    gap: float
    n_iter: int
    status: str
    seconds: float = 0.0
    intercept: float = 0.0


Work: TypeAlias = Callable[..., PartResult]
"""Solves a part; a function of a module, which other processes can import."""


class _Stop(BaseException):
    """Ends joblib's generator without the warning of ``close``."""


def run_parts(
    work: Work,
    arguments: Callable[[int], tuple[Any, ...]],
    *,
    sizes: Sequence[int],
    n_jobs: int | None = None,
    report: Callable[[int, int], object] | None = None,
) -> list[PartResult | None]:
    """Solve each part.

    Tasks run in threads, or on the backend of ``joblib.parallel_config``, which has to return
    results one by one (threads, loky, Dask). The largest parts start first. At any time, fewer
    than twice as many tasks are active as the backend has workers; this bounds the number of parts
    whose data are copied at once.

    Parameters
    ----------
    work : callable
        Solves a part. Other processes must be able to import it by its name; it must not write
        into its arguments, which may be shared.
    arguments : callable
        Returns the arguments of `work` for a part, given by its number from 0 on. It is called when
        the task of the part starts, perhaps from another thread.
    sizes : sequence of int
        The number of rows of each part.
    n_jobs : int or None
        As in joblib: None is 1, or the value of ``parallel_config``; -1 is all processors.
    report : callable, optional
        Called as ``report(done, total)`` after each part. If it returns True, no other part starts,
        and the results of parts that are active then are lost.

    Returns
    -------
    list of PartResult or None
        In the order of the parts; None for parts without a result because `report` returned True.

    Raises
    ------
    Exception
        The first error of a part, with a note that names the part.
    """
    total = len(sizes)
    # the largest first: a large part at the end would run alone
    order = np.argsort(-np.asarray(sizes, dtype=np.intp), kind="stable").tolist()
    results: list[PartResult | None] = [None] * total
    parallel: Any = Parallel(
        n_jobs, prefer="threads", batch_size=1, pre_dispatch="n_jobs",
        return_as="generator_unordered",
    )  # fmt: skip
    outcomes = parallel(_tasks(work, arguments, sizes, order))
    # Results arrive in the order in which parts end; a break or an error stops the generator.
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
    """Yield joblib's tasks; the arguments of each are read when it starts."""
    for part in order:
        name = f"part {part + 1} of {len(order)} ({sizes[part]} rows)"
        try:
            yield delayed(_attempt)(work, part, name, arguments(part))
        except Exception as error:  # joblib may iterate in a thread where it would be lost
            yield delayed(_fail)(error)


def _fail(error: Exception) -> None:
    """Raise an error within a task."""
    raise error


@blas_limited
def _attempt(work: Work, part: int, name: str, given: tuple[Any, ...]) -> tuple[int, PartResult]:
    """Return the number of a part, and its result with its processor time."""
    try:
        start = time.thread_time()
        result = work(*given)
        return part, result._replace(seconds=time.thread_time() - start)
    except Exception as error:
        error.add_note(f"in {name}")
        raise
