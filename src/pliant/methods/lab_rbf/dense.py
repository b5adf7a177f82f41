"""Dense members of a LAB-RBF model: every row is a centre, and all centres share one metric.

With the transformed features u, the metric M = A A' and the profile h, the kernel is

    k(x, y) = h(factor (u(x) - u(y))'M (u(x) - u(y))) + (share / d) u(x)'u(y),

and the coefficients minimise sum_i s_i |y_i - f(x_i)|^2 + alpha |f|^2 in its RKHS. A local member
offers two metrics that it has learned from its training rows: the median over its centres of the
squared bandwidths, and the average outer product of its gradients (Trivedi, Wang, Kpotufe and
Shakhnarovich 2014), scaled to the same trace. The rows that the members hold out choose the metric,
the profile, the factor and alpha, and the weight of the dense members. With few rows, the
members take turns: they use all kernels (a metric and a profile) that are hardly worse than the
best one. Which of these is best depends on the rows held out, and their mean varies less.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs, spotrf, spotrs
from scipy.special import softmax

from pliant.core.progress import Deadline
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.gram import DenseGram
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel, Warp
from pliant.methods.lab_rbf.logistic import (
    best_penalty,
    class_indicators,
    held_out_scores,
    log_softmax,
    logistic_path,
)
from pliant.methods.lab_rbf.members import Coefficients, FitState, LearnedBasis
from pliant.methods.lab_rbf.scores import class_scores
from pliant.methods.lab_rbf.table import Table

METRICS = ("bandwidths", "gradients")
DENSE_PROFILES = ("matern32", "gaussian", "laplacian")


class Choice(NamedTuple):
    """Hyperparameters of dense members."""

    metric: str  # key of `METRICS`
    profile: str
    factor: float
    alpha: float


@dataclass(frozen=True, eq=False)
class DenseFit:
    """Bases of the dense members, their weight beside the local ones, and held-out predictions."""

    bases: list[LearnedBasis]
    weight: float
    predicted: list[Array]  # of the dense members alone, one array for each local fit tried


def learn_dense(
    table: Table, fits: Sequence[FitState], deadline: Deadline, n_jobs: int | None
) -> DenseFit | None:
    """Choose the hyperparameters and the weight of dense members on the rows held out.

    Return None if the best weight is 0, too few rows are held out, or the time does not suffice.
    """
    if sum(map(len, held_out_rows(fits))) < constants.MIN_DENSE_ROWS:
        return None
    n_rows = constants.DENSE_TRIAL_ROWS
    choices = choose(table, fits[: constants.CHOOSING_MEMBERS], n_rows, deadline, n_jobs)
    if not choices:
        return None
    search = Search(table, fits, constants.BANDWIDTH_ROWS, n_jobs, deadline)
    rows = table.random_rows(constants.DENSE_ROWS)
    count = dense_count(len(fits), rows, constants.DENSE_CENTRES)
    choices = choices[:count]
    predicted = search.predict(choices)
    if not search.has_time():
        return None
    local = [np.asarray(fit.predicted)[: constants.ERROR_ROWS].clip(-1.0, 1.0) for fit in fits]
    weight = search.weight(search.target, local, predicted)
    if weight == 0.0:
        return None
    return DenseFit(build_bases(search, choices, rows, count), weight, predicted)


def learn_dense_classes(
    table: Table, fits: Sequence[FitState], deadline: Deadline, n_jobs: int | None
) -> DenseFit | None:
    """Choose as `learn_dense`, but the penalty by log loss and the weight by probabilities.

    The held-out predictions of the fits are scores.
    """
    if sum(map(len, held_out_rows(fits))) < constants.MIN_DENSE_ROWS:
        return None
    n_tried, total = constants.CHOOSING_MEMBERS, constants.DENSE_CENTRES
    if table.Y.shape[1] > constants.MANY_CLASSES:
        n_tried, total = constants.FEW_CHOOSING_MEMBERS, constants.FEW_DENSE_CENTRES
    n_rows = constants.DENSE_CLASS_TRIAL_ROWS
    choices = choose(table, fits[:n_tried], n_rows, deadline, n_jobs)
    tried = [fit for fit in fits if fit.layer_output is not None]
    if not choices or not tried:
        return None
    n_rows, rows = constants.BANDWIDTH_ROWS, table.random_rows(constants.DENSE_CLASS_CENTRES)
    count = dense_count(len(fits), rows, total)
    choices = choices[:count]
    search = Search(table, tried, n_rows, n_jobs, deadline)
    # Kernels with a larger ridge penalty get a larger penalty here.
    factors = [choice.alpha / choices[0].alpha for choice in choices]
    penalties = constants.DENSE_LOGISTIC * table.mean_weight
    tasks = (
        delayed(trial.logistic_scores)(choice, factor * penalties, deadline)
        for trial, choice, factor in zip(search.trials, cycle(choices), cycle(factors))
    )
    began, paths = time.monotonic(), list(search.parallel()(tasks))
    if deadline.is_over:  # the paths ended early
        return None
    seconds = (time.monotonic() - began) / len(penalties)
    indicators = class_indicators(search.target)

    def log_loss(scores: Sequence[Array]) -> float:
        logs = log_softmax(class_scores(np.concatenate(scores)))
        return -float(search.weights @ (indicators * logs).sum(axis=1))

    losses = np.array([log_loss(scores) for scores in zip(*paths, strict=True)])
    best, penalty = int(np.nanargmin(losses)), best_penalty(penalties, losses)
    predicted = [path[best] for path in paths]
    local = [np.asarray(fit.predicted)[: constants.ERROR_ROWS] for fit in tried]
    probabilities = (
        [softmax(class_scores(each), axis=1) for each in scores] for scores in (local, predicted)
    )
    weight = search.weight(indicators, *probabilities)
    search = Search(table, fits, n_rows, n_jobs, deadline, seconds=seconds)
    if weight == 0.0 or not search.has_time():
        return None
    bases = build_bases(search, choices, rows, count)
    alphas = [factor * penalty for factor in factors]
    bases = [replace(b, alpha_=alpha) for b, alpha in zip(bases, cycle(alphas))]
    return DenseFit(bases, weight, predicted)


def held_out_rows(fits: Sequence[FitState]) -> list[Indices]:
    """Return the held-out rows of each local fit that are predicted."""
    return [np.asarray(fit.split.held_out)[: constants.ERROR_ROWS] for fit in fits]


def choose(
    table: Table, fits: Sequence[FitState], n_few: int, deadline: Deadline, n_jobs: int | None
) -> list[Choice]:
    """Search with at most `n_few` training rows of each member.

    If these are all, return the choices of kernels that are hardly worse than the best one, which
    is first. Otherwise, the best choice descends with more training rows of the best member. There
    are no choices if the fit is stopped before there is one.
    """
    search = Search(table, fits, n_few, n_jobs, deadline)
    choices = search.best_choices()
    n_rows = max(len(fit.split.train) for fit in fits)
    if not choices or deadline.stopped or n_rows <= n_few:
        return choices
    best = fits[int(np.argmin(search.relative_losses(choices[:1])))]
    more = Search(table, [best], constants.DENSE_DESCENT_ROWS, n_jobs, deadline)
    return [more.descend(choices[0])]


def dense_count(n_fits: int, rows: Indices, total: int) -> int:
    """Return the number of dense members: one for each fit, with at most `total` centres."""
    return min(n_fits, max(1, total // len(rows)))


def build_bases(
    search: Search, choices: Sequence[Choice], rows: Indices, count: int
) -> list[LearnedBasis]:
    """Build `count` bases from the best local fits; they take the choices in turn."""
    table, fits = search.table, search.fits
    errors = np.concatenate(search.predict(choices)) - search.target
    score = 1.0 - search._squares(errors) / search.spread
    best = np.argsort(search.relative_losses(choices), kind="stable")[:count]
    sources = [fits[k] for k in np.sort(best)]
    pairs = zip(sources, cycle(choices))
    return [_build_basis(table, fit, choice, score, rows) for fit, choice in pairs]


def _build_basis(
    table: Table, fit: FitState, choice: Choice, score: float, rows: Indices
) -> LearnedBasis:
    """Build the basis of the dense member that takes its metric from a local one."""
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


def moved_to(basis: LearnedBasis, table: Table) -> LearnedBasis:
    """Return the dense basis with the rows of another table as centres."""
    rows = table.random_rows(constants.DENSE_ROWS)
    points, kernel = table.points(rows), basis.kernel_
    theta = np.broadcast_to(kernel.bandwidths[0], points.shape).copy()
    kernel = LocalRBFKernel(points, theta, kernel.profile, kernel.warp)
    return replace(basis, kernel_=kernel, support_=table.numbers[rows])


def metric_kernel(points: Array, A: Array, profile: str, warp: Warp) -> LocalRBFKernel:
    """Build the kernel h(|A'(u(x) - u(c))|^2) of centres c, with u = warp; see `Metrics` for A."""
    diagonal, ones = A if A.ndim == 1 else A.diagonal(), np.ones_like(points)
    if A.ndim == 2 and not np.array_equal(A, np.diag(diagonal)):
        return LocalRBFKernel(points, ones, profile, replace(warp, mixing=A))
    if warp.affine:  # u = (x - centre) o slope: theta in the inverse units of x
        return LocalRBFKernel(points, ones * (diagonal * warp.slopes), profile)
    return LocalRBFKernel(points, ones * diagonal, profile, warp)


@blas_limited
def dense_fit(basis: LearnedBasis, table: Table) -> Coefficients:
    """Solve the kernel ridge regression of a dense basis; the intercept is the mean target."""
    table = table.rows(table.random_rows(constants.DENSE_ROWS))
    u, y = basis.warp_(table.X), table.Y - table.mean
    A = basis.mapped_bandwidths()[0] if basis.mixing is None else basis.mixing
    share = _linear_share(basis)
    noise = basis.alpha_ / (np.ones(len(u)) if table.weights is None else table.weights)
    # The coefficients solve (K + diag(alpha / s_i)) c = y.
    gram = DenseGram(_mapped(u, A), math.sqrt(share) * u, basis.kernel_.profile)
    if len(u) > constants.DENSE_DIRECT:
        c = gram.solve(noise, y, max(1.0 - basis.validation_score_, constants.TINY))
    else:
        c = gram.solve_directly(noise, y)
    return np.vstack([c, share * u.T @ c]), table.mean  # sum_i c_i share u(x)'u(x_i) = u(x)'v


def logistic_fit(
    basis: LearnedBasis,
    X: Array,
    indicators: Array,
    weights: Array | None,
    is_over: Callable[[], bool] | None,
) -> Coefficients:
    """Fit the coefficients and the intercept of a basis by logistic regression."""
    penalty = np.array([basis.alpha_])
    if basis.objective_ != "dense":
        return logistic_path(basis.features(X), indicators, weights, penalty, is_over)[0]
    # With K_mm = R R' and the features K_nm R'^-1, |w|^2 is the squared norm in the RKHS.
    centres, share = basis.kernel_.centres, _linear_share(basis)
    K = basis.kernel_.values(centres)
    if np.array_equal(X, centres):  # all rows are centres, and K R'^-1 = R
        u = basis.warp_(X)
        R = jittered_factor(K + share * u @ u.T)
        w, intercept = logistic_path(R, indicators, weights, penalty, is_over)[0]
        c = dtrtrs(R, w, lower=1, trans=1)[0]
        return np.vstack([c, share * u.T @ c]), intercept  # share u(x)'u'c = u(x)'v
    R, m = jittered_factor(K), len(centres)
    F = np.hstack([whitened(R, basis.kernel_.values(X)), math.sqrt(share) * basis.warp_(X)])
    w, intercept = logistic_path(F, indicators, weights, penalty, is_over)[0]
    c = dtrtrs(R, w[:m], lower=1, trans=1)[0]
    return np.vstack([c, math.sqrt(share) * w[m:]]), intercept


def jittered_factor(K: Array) -> Array:
    """Compute the lower Cholesky factor of a kernel matrix, plus a multiple of I if necessary."""
    for jitter in constants.JITTER * len(K) * 10.0 ** np.arange(0, 7, 2):
        factor, failed = dpotrf(K + jitter * np.eye(len(K)), lower=1, clean=1)
        if not failed:
            break
    return np.asarray(factor)


def whitened(R: Array, K: Array) -> Array:
    """Compute K R'^-1 for the factor R of K_mm = R R'; for K_mm itself, the result is R."""
    return np.asarray(solve_triangular(R, K.T, lower=True).T)


def _linear_share(basis: LearnedBasis) -> float:
    """Return the weight of the linear kernel."""
    return constants.DENSE_LINEAR / len(basis.warp_.slopes)


class Trial:
    """Kernel ridge regression on training rows of one local member, tried on its held-out rows."""

    def __init__(self, table: Table, fit: FitState, held_out: Indices, n_rows: int) -> None:
        self.rows = table.sample(fit.split.train[:n_rows], fit.basis.warp_)
        self.held_out = table.sample(held_out, fit.basis.warp_)
        self.metrics = fit.metrics
        # With more rows, `DenseGram.solve` has single precision too, and the penalty is larger.
        self.dtype = np.float64 if len(table) <= constants.DENSE_DIRECT else np.float32
        self.distances: dict[str, tuple[Array, Array]] = {}
        self.last: dict[Choice, list[Array]] = {}  # the kernel matrices of the last kernel

    def kernels(self, choice: Choice) -> list[Array]:
        """Compute the kernel matrices of training rows, and of held-out and training rows."""
        X, T, kernel = self.rows.X, self.held_out.X, choice._replace(alpha=0.0)
        if kernel in self.last:
            return self.last[kernel]
        if choice.metric not in self.distances:
            inner, outer = _distances(X, T, getattr(self.metrics, choice.metric))
            self.distances[choice.metric] = inner.astype(self.dtype), outer.astype(self.dtype)
        X, T = X.astype(self.dtype), T.astype(self.dtype)
        value, share = PROFILES[choice.profile].value, constants.DENSE_LINEAR / X.shape[1]
        pairs = zip((X, T), self.distances[choice.metric], strict=True)
        matrices = [value(np, choice.factor * D) + share * points @ X.T for points, D in pairs]
        if len(X) <= constants.DENSE_DESCENT_ROWS:  # several penalties are tried
            self.last = {kernel: matrices}
        return matrices

    @blas_limited
    def logistic_scores(self, choice: Choice, penalties: Array, deadline: Deadline) -> Array:
        """Compute logistic scores of the held-out rows for each penalty, (n_penalties, n, q)."""
        K, L = self.kernels(choice)
        m = min(len(K), constants.DENSE_LOGISTIC_CENTRES)  # the first rows are the centres
        R = jittered_factor(K[:m, :m])
        F, G = np.vstack([R, whitened(R, K[m:, :m])]), whitened(R, L[:, :m])
        return held_out_scores(F, self.rows, penalties, G, self.held_out, lambda: deadline.is_over)

    @blas_limited
    def predict(self, choice: Choice) -> Array:
        """Predict the held-out rows, on [-1, 1]."""
        K, L = self.kernels(choice)
        # With R = diag(sqrt(s)), the coefficients are R (R K R + alpha I)^{-1} R y.
        root, mean = self.rows.root, self.rows.mean
        right = self.rows.Y - mean
        if root is not None:
            K = root * K * root.T
        elif self.last:  # other penalties need K
            K = K.copy()
        right = right if root is None else root * right
        K[np.diag_indices_from(K)] += choice.alpha
        single = self.dtype == np.float32
        potrf, potrs = (spotrf, spotrs) if single else (dpotrf, dpotrs)
        factor, failed = potrf(K.T, lower=1, overwrite_a=1, clean=0)
        if failed:
            return np.full_like(self.held_out.Y, np.nan)
        if right.shape[1] > len(L):  # more classes than rows: solve for the rows
            weighted = L if root is None else L * root.T
            c = potrs(factor, weighted.T, lower=1)[0]
            return np.asarray((mean + c.T @ right).clip(-1.0, 1.0))
        c = potrs(factor, right, lower=1)[0]
        c = c if root is None else root * c
        return np.asarray((mean + L @ c).clip(-1.0, 1.0))


def _mapped(u: Array, A: Array) -> Array:
    """Compute the rows A'u of the matrix A, or of the diagonal matrix with the entries A."""
    return u * A if A.ndim == 1 else u @ A


def _distances(X: Array, T: Array, A: Array) -> tuple[Array, Array]:
    """Compute |A'(x - y)|^2 between the rows of X, and between those of T and X."""
    x, t = _mapped(X, A), _mapped(T, A)
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
    n_rows: int  # maximum number of training rows of a trial
    n_jobs: int | None
    deadline: Deadline | None = None
    losses: dict[Choice, float] = field(default_factory=dict)
    predictions: dict[tuple[Choice, ...], list[Array]] = field(default_factory=dict)  # the last
    seconds: float = 0.0  # duration of the last prediction

    def __post_init__(self) -> None:
        pairs = zip(self.fits, held_out_rows(self.fits), strict=True)
        self.trials = [Trial(self.table, fit, rows, self.n_rows) for fit, rows in pairs]
        self.target = np.concatenate([trial.held_out.Y for trial in self.trials])
        rows = np.concatenate(held_out_rows(self.fits))
        weights = self.table.weights_of(rows)
        self.weights = np.ones(len(rows)) if weights is None else weights

    @property
    def spread(self) -> float:
        """Squared error of the mean target."""
        mean = np.average(self.target, axis=0, weights=self.weights)
        return self._squares(self.target - mean) or 1.0

    def predict(self, choices: Sequence[Choice]) -> list[Array]:
        """Predict the held-out rows of the members, which take the choices in turn.

        The last predictions are kept.
        """
        key = tuple(choices)
        if key not in self.predictions:
            pairs, began = zip(self.trials, cycle(choices)), time.monotonic()
            tasks = (delayed(trial.predict)(choice) for trial, choice in pairs)
            self.predictions = {key: list(self.parallel()(tasks))}
            self.seconds = time.monotonic() - began
        return self.predictions[key]

    @property
    def _stopped(self) -> bool:
        return self.deadline is not None and self.deadline()

    def has_time(self) -> bool:
        """Return True if a fit to all rows, at a cost quadratic in the rows, ends in time."""
        if self.deadline is None or self._stopped or self.deadline.seconds_left is None:
            return not self._stopped
        factor = min(len(self.table), constants.DENSE_ROWS) / len(self.trials[0].rows)
        return self.seconds * factor**2 < self.deadline.seconds_left

    def parallel(self) -> Parallel:
        """Build a thread pool, with one thread for few rows."""
        n_values = sum(len(trial.rows) ** 2 for trial in self.trials)
        threads = threads_for(self.n_jobs, worth_it=n_values >= constants.MIN_THREADED)
        return Parallel(n_jobs=threads, require="sharedmem")

    def loss(self, choice: Choice) -> float:
        """Compute the squared error over all held-out rows."""
        if choice not in self.losses:
            predicted = self.predict([choice])
            loss = self._squares(np.concatenate(predicted) - self.target)
            loss = loss if np.isfinite(loss) else np.inf
            self.losses[choice] = loss
        return self.losses[choice]

    def relative_losses(self, choices: Sequence[Choice]) -> list[float]:
        """Compute the squared error of each trial, relative to that of the mean target."""
        losses = []
        for trial, predicted in zip(self.trials, self.predict(choices), strict=True):
            held_out = trial.held_out
            shares = 1.0 if held_out.weights is None else held_out.weights[:, None]
            loss = float((shares * (predicted - held_out.Y) ** 2).sum())
            spread = float((shares * (held_out.Y - held_out.mean) ** 2).sum())
            losses.append(loss / max(spread, constants.TINY))
        return losses

    def best_choices(self) -> list[Choice]:
        """Search; return the best choice of each kernel with a loss near the lowest, best first.

        A kernel is a metric and a profile; with n held-out rows, near is a relative difference of
        `constants.DENSE_NEAR` / sqrt(n). There are no choices if the fit is stopped before a step.
        """
        if not self._stopped:
            self._explore()
        best: dict[tuple[str, str], Choice] = {}
        for choice in sorted(self.losses, key=self.loss):
            best.setdefault((choice.metric, choice.profile), choice)
        limit = 1.0 + constants.DENSE_NEAR / math.sqrt(len(self.target))
        lowest = min(self.losses.values(), default=0.0)
        return [choice for choice in best.values() if self.loss(choice) <= limit * lowest]

    def _explore(self) -> None:
        """Choose metric, profile and metric again, each with a descent in factor and alpha."""
        best = Choice(METRICS[0], DENSE_PROFILES[0], 0.25, 0.01 * self.table.mean_weight)
        best = self.descend(best)
        for metric in METRICS:
            best = self._better(best, best._replace(metric=metric))
        for profile in DENSE_PROFILES:
            best = self._better(best, best._replace(profile=profile))
        for metric in METRICS:
            best = self._better(best, best._replace(metric=metric))

    def _better(self, best: Choice, other: Choice) -> Choice:
        """Return the better of a choice and the descent from another, if it is not hopeless."""
        if self._stopped or self.loss(other) > constants.DENSE_HOPELESS * self.loss(best):
            return best
        return min(best, self.descend(other), key=self.loss)

    def descend(self, choice: Choice) -> Choice:
        """Take steps of the grid of penalties and factors while one lowers the loss enough."""
        found: Choice | None = choice
        while found is not None:
            choice = found
            limit = (1.0 - constants.DENSE_GAIN) * self.loss(choice)
            steps = (step for step in self._neighbours(choice) if not self._stopped)
            found = next((step for step in steps if self.loss(step) < limit), None)
        return choice

    def _neighbours(self, choice: Choice) -> Iterator[Choice]:
        """Iterate over the neighbours of a choice on the grid of factors and penalties."""
        low, high = constants.DENSE_ALPHAS
        if len(self.table) > constants.DENSE_DIRECT:
            low = constants.DENSE_LEAST_ALPHA
        for alpha in (10.0 * choice.alpha, choice.alpha / 10.0):
            if 0.99 * low <= alpha / self.table.mean_weight <= 1.01 * high:
                yield choice._replace(alpha=alpha)
        low, high = constants.DENSE_FACTORS
        for factor in (4.0 * choice.factor, 0.25 * choice.factor):
            if low <= factor <= high:
                yield choice._replace(factor=factor)

    def weight(self, target: Array, local: list[Array], dense: list[Array]) -> float:
        """Choose the weight of the dense members, given held-out predictions of each member."""
        before, after = np.concatenate(local), np.concatenate(dense)
        return best_weight(self.weights, target - before, after - before)

    def _squares(self, errors: Array) -> float:
        return float(self.weights @ (errors * errors).sum(axis=1))


def best_weight(weights: Array, errors: Array, steps: Array) -> float:
    """Choose the weight w of dense members beside local ones, in [0, 1].

    With the errors e of local members on n held-out rows and the steps g from local to dense
    predictions, shape (n, q), least squares minimise sum_i s_i |e_i - w g_i|^2. The estimate and a
    normal prior are averaged by their precisions.
    """
    products, squares = (weights * (x * steps).sum(axis=1) for x in (errors, steps))
    size = float(squares.sum())
    if not size > 0.0:
        return 0.0
    own = float(products.sum()) / size
    deviation = float(np.linalg.norm(products - own * squares)) / size  # of `own`, over the rows
    prior, spread = constants.DENSE_WEIGHT, constants.DENSE_WEIGHT_SPREAD
    weight = (own * spread**2 + prior * deviation**2) / (spread**2 + deviation**2)
    return float(np.clip(weight, 0.0, constants.MAX_DENSE_WEIGHT))
