"""Dense members of a LAB-RBF model: every row is a centre, and all centres share one metric.

With the transformed features u, the metric M = A A' and the profile h, the kernel is

    k(x, y) = h(factor (u(x) - u(y))'M (u(x) - u(y))) + (share / d) u(x)'u(y),

and the coefficients minimise sum_i s_i |y_i - f(x_i)|^2 + alpha |f|^2 in its RKHS. A local member
offers two metrics that it has learned from its training rows: the median over its centres of the
squared bandwidths, and the average outer product of its gradients (Trivedi, Wang, Kpotufe and
Shakhnarovich 2014), scaled to the same trace. The rows that the members hold out choose the metric,
the profile, the factor and alpha, which all dense members share, and the weight of dense members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg.lapack import dpotrf, dpotrs

from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array
from pliant.kernels.base import Kernel, WeightedSum
from pliant.kernels.standard import Linear
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel, Mapped, Warp
from pliant.methods.lab_rbf.members import Coefficients, FitState, LearnedBasis
from pliant.methods.lab_rbf.table import Table
from pliant.methods.ridge.sketched import SketchedKernelRidge

METRICS = ("bandwidths", "gradients")
DENSE_PROFILES = ("matern32", "gaussian", "laplacian")


class Choice(NamedTuple):
    """Hyperparameters that all dense members share."""

    metric: str  # key of `METRICS`
    profile: str
    factor: float
    alpha: float


@dataclass(frozen=True, eq=False)
class DenseFit:
    """Bases of the dense members, their weight beside the local ones, and held-out predictions."""

    bases: list[LearnedBasis]
    weight: float
    predicted: list[Array]  # of the dense members alone, one array for each local fit


def learn_dense(
    table: Table, fits: Sequence[FitState], seed: int, n_jobs: int | None
) -> DenseFit | None:
    """Choose the hyperparameters and the weight of dense members on the rows held out."""
    search = Search(table, fits, n_jobs)
    if sum(len(trial.target) for trial in search.trials) < constants.MIN_DENSE_ROWS:
        return None
    choice = search.best_choice()
    predicted = search.predict(choice)
    weight = search.weight(predicted)
    n_dense = len(fits) if len(fits) * len(table) <= constants.DENSE_CENTRES else 1
    score = 1.0 - search.loss(choice) / search.spread
    rng = np.random.RandomState(seed)
    bases = [build_basis(table, fit, choice, score, rng) for fit in fits[:n_dense]]
    return DenseFit(bases, weight, predicted)


def build_basis(
    table: Table, fit: FitState, choice: Choice, score: float, rng: np.random.RandomState
) -> LearnedBasis:
    """Build the basis of the dense member that takes its metric from a local one."""
    rows = np.arange(len(table))
    if len(rows) > constants.DENSE_CENTRES:
        rows = np.sort(rng.choice(len(rows), constants.DENSE_CENTRES, replace=False))
    distinct = np.sort(np.unique(table.points(rows), axis=0, return_index=True)[1])
    rows = rows[distinct]
    A, warp = np.sqrt(choice.factor) * getattr(fit.metrics, choice.metric), fit.basis.warp_
    return replace(
        fit.basis,
        kernel_=metric_kernel(table.points(rows), A, choice.profile, warp),
        linear_=True,
        support_=table.numbers[rows],
        n_learned_=0,
        objective_="dense",
        alpha_=choice.alpha,
        shrinkage_=np.inf,
        validation_score_=score,
        objective_history_=np.zeros(0),
    )


def metric_kernel(points: Array, A: Array, profile: str, warp: Warp) -> LocalRBFKernel:
    """Build the kernel h(|A'(u(x) - u(c))|^2) of centres c, with u = warp."""
    diagonal, ones = A.diagonal(), np.ones_like(points)
    if not np.array_equal(A, np.diag(diagonal)):
        return LocalRBFKernel(points, ones, profile, replace(warp, mixing=A))
    if warp.affine:  # u = (x - centre) o slope: theta in the inverse units of x
        return LocalRBFKernel(points, ones * (diagonal * warp.slopes), profile)
    return LocalRBFKernel(points, ones * diagonal, profile, warp)


@blas_limited
def dense_fit(basis: LearnedBasis, table: Table) -> Coefficients:
    """Fit the coefficients of a dense basis to the rows; the intercept is the mean target."""
    rows = np.arange(len(table))
    if len(rows) > constants.DENSE_ROWS:
        chosen = np.random.RandomState(0).choice(len(rows), constants.DENSE_ROWS, replace=False)
        rows = np.sort(chosen)
    table, mean, centres = table.rows(rows), table.mean, basis.kernel_.centres
    share = constants.DENSE_LINEAR / centres.shape[1]
    radial, linear = basis.kernel_.symmetric_kernel(), Mapped(Linear(), basis.warp_)
    kernel: Kernel = WeightedSum([radial, linear], [1.0, share])
    model = SketchedKernelRidge(
        kernel, basis.alpha_, centers=centres, fit_intercept=False, tol=constants.DENSE_TOL
    )
    model.fit(table.points(np.arange(len(table))), table.Y - mean, table.weights)
    # The fit drops centres in the span of others.
    place = {centre.tobytes(): i for i, centre in enumerate(centres)}
    c = np.zeros((len(centres), table.Y.shape[1]))
    c[[place[centre.tobytes()] for centre in model.support_vectors_]] = model.dual_coef_
    # sum_i c_i share u(x)'u(c_i) = u(x)'v
    v = share * basis.warp_(centres).T @ c
    return np.vstack([c, v]), mean


class Trial:
    """Kernel ridge regression on training rows of one local member, tried on its held-out rows."""

    def __init__(self, table: Table, fit: FitState) -> None:
        warp = fit.basis.warp_
        rows = table.sample(fit.split.train[: constants.DENSE_TRIAL_ROWS], warp)
        held_out = table.sample(fit.split.held_out[: constants.ERROR_ROWS], warp)
        self.mean, self.target = rows.mean, held_out.Y
        self.root = None if rows.weights is None else np.sqrt(rows.weights)[:, None]
        self.weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
        self.residual = rows.Y - self.mean
        self.local = np.asarray(fit.predicted)[: constants.ERROR_ROWS].clip(-1.0, 1.0)
        share = constants.DENSE_LINEAR / rows.X.shape[1]
        self.linear = share * rows.X @ rows.X.T, share * held_out.X @ rows.X.T
        self.distances = {name: _distances(rows.X, held_out.X, A) for name, A in zip(METRICS, fit.metrics, strict=True)}

    @blas_limited
    def predict(self, choice: Choice) -> Array:
        """Predict the held-out rows, on [-1, 1]."""
        value = PROFILES[choice.profile].value
        K, L = (
            value(np, choice.factor * D) + linear
            for D, linear in zip(self.distances[choice.metric], self.linear, strict=True)
        )
        # With R = diag(sqrt(s)), the coefficients are R (R K R + alpha I)^{-1} R y.
        right = self.residual
        if self.root is not None:
            K, right = self.root * K * self.root.T, self.root * right
        K[np.diag_indices_from(K)] += choice.alpha
        factor, failed = dpotrf(K.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            return np.full_like(self.target, np.nan)
        c = dpotrs(factor, right, lower=1)[0]
        c = c if self.root is None else self.root * c
        return np.asarray((self.mean + L @ c).clip(-1.0, 1.0))


def _distances(X: Array, T: Array, A: Array) -> tuple[Array, Array]:
    """Compute |A'(x - y)|^2 between the rows of X, and between those of T and X."""
    x, t = X @ A, T @ A
    sizes = np.einsum("ij,ij->i", x, x)
    inner = sizes[:, None] + sizes - 2.0 * x @ x.T
    outer = np.einsum("ij,ij->i", t, t)[:, None] + sizes - 2.0 * t @ x.T
    np.fill_diagonal(inner, 0.0)
    return np.maximum(inner, 0.0), np.maximum(outer, 0.0)


@dataclass(eq=False)
class Search:
    """Search for the hyperparameters with the lowest squared error on all rows held out."""

    table: Table
    fits: Sequence[FitState]
    n_jobs: int | None
    losses: dict[Choice, float] = field(default_factory=dict)

    @cached_property
    def trials(self) -> list[Trial]:
        return [Trial(self.table, fit) for fit in self.fits]

    @cached_property
    def weights(self) -> Array:
        return np.concatenate([trial.weights for trial in self.trials])

    @cached_property
    def target(self) -> Array:
        return np.concatenate([trial.target for trial in self.trials])

    @property
    def spread(self) -> float:
        """Squared error of the mean target."""
        mean = np.average(self.target, axis=0, weights=self.weights)
        return self._squares(self.target - mean) or 1.0

    def predict(self, choice: Choice) -> list[Array]:
        """Predict the held-out rows of each member."""
        n_values = sum(len(trial.residual) ** 2 for trial in self.trials)
        threads = threads_for(self.n_jobs, worth_it=n_values >= constants.MIN_THREADED)
        tasks = (delayed(trial.predict)(choice) for trial in self.trials)
        return list(Parallel(n_jobs=threads, require="sharedmem")(tasks))

    def loss(self, choice: Choice) -> float:
        """Compute the squared error over all held-out rows."""
        if choice not in self.losses:
            errors = np.concatenate(self.predict(choice)) - self.target
            loss = self._squares(errors)
            self.losses[choice] = loss if np.isfinite(loss) else np.inf
        return self.losses[choice]

    def best_choice(self) -> Choice:
        """Descend in factor and alpha by steps of the grid, for each metric and profile."""
        scale = self.table.mean_weight
        best = Choice(METRICS[0], DENSE_PROFILES[0], 0.25, 0.01 * scale)
        for profile, metric in product(DENSE_PROFILES, METRICS):
            here = best._replace(metric=metric, profile=profile)
            while True:
                step = min(_neighbours(here, scale), key=self.loss)
                if not self.loss(step) < self.loss(here):
                    break
                here = step
            best = min(best, here, key=self.loss)
        return best

    def weight(self, predicted: list[Array]) -> float:
        """Choose the weight of the dense members, shrunk towards its usual value.

        With the held-out errors e of local members and the differences g of dense from local
        predictions, it minimises |e - w g|^2 + strength |g|^2 (w - usual)^2 over [0, 1].
        """
        local = np.concatenate([trial.local for trial in self.trials])
        g = np.concatenate(predicted) - local
        weighted = self.weights[:, None] * g
        size = float(np.vdot(weighted, g))
        if not size > 0.0:
            return 0.0
        own = float(np.vdot(weighted, self.target - local)) / size
        strength = constants.DENSE_SHRINKAGE
        return float(np.clip((own + strength * constants.DENSE_WEIGHT) / (1.0 + strength), 0.0, 1.0))

    def _squares(self, errors: Array) -> float:
        return float(self.weights @ (errors * errors).sum(axis=1))


def _neighbours(choice: Choice, scale: float) -> Iterator[Choice]:
    """Iterate over the neighbours of a choice on the grid of factors and penalties."""
    for step in (4.0, 0.25):
        if constants.DENSE_FACTORS[0] <= choice.factor * step <= constants.DENSE_FACTORS[1]:
            yield choice._replace(factor=choice.factor * step)
    for step in (10.0, 0.1):
        alpha = choice.alpha * step
        if constants.DENSE_ALPHAS[0] * 0.99 <= alpha / scale <= constants.DENSE_ALPHAS[1] * 1.01:
            yield choice._replace(alpha=alpha)
