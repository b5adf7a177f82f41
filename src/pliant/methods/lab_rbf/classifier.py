"""Classification with locally adaptive bandwidths, by logistic regression on their features.

With F = [K, X], targets of class k in row i t_ik and Z = F W + b, the objective is

    - sum_i w_i sum_k t_ik log softmax(Z_i)_k + (penalty / 2) |W|^2.

For two classes, W has one column, whose scores are log-odds: the columns of Z are [0, F W + b].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.special
from scipy.optimize import minimize
from sklearn.base import ClassifierMixin

from pliant.core.dask import by_partition
from pliant.core.progress import FitProgress, with_callbacks
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_parameters, class_codes, fresh, plain, validate_data
from pliant.methods.lab_rbf.base import FLOATS, BaseLABRBF, documented
from pliant.methods.lab_rbf.collection import Encode
from pliant.methods.lab_rbf.constants import LOGISTIC_ALPHAS
from pliant.methods.lab_rbf.kernel import Warp
from pliant.methods.lab_rbf.members import LABRBFMember, Table
from pliant.methods.lab_rbf.objective import cholesky_factor
from pliant.methods.lab_rbf.trainer import FitState

FREE = 1e-6  # Penalty of the intercept per row: it is finite where a class has no rows.
GRADIENT = 3e-4  # Largest entry of the scaled gradient, per row, at the end.
SMALL = 2_000_000  # Number of products in a Hessian, n (p q)^2, up to which Newton steps save time.


@documented
class LABRBFClassifier(ClassifierMixin, BaseLABRBF):
    """Classification by a mean of LAB-RBF expansions, one column of scores for each class.

    Bandwidths, which all classes share, are learned as in `LABRBFRegressor` from the squared error
    of +1 for the class and -1 for the others. On the features that they make, the kernel values
    and the features themselves, each member fits a multinomial logistic regression: the scores
    minimise the log loss plus alpha / 2 times the squared coefficients, with the alpha that does
    best on the samples that the members held out. Scores are averaged over the members;
    probabilities are their softmax, and the class with the largest one is predicted.

    Parameters
    ----------
    %(parameters)s

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    alpha_ : array of shape (n_members,)
        Penalty of the coefficients, the same for all members.
    validation_score_ : array of shape (n_members,)
        1 - the squared error on the held-out samples, relative to that of a constant.
    dual_coef_, coef_, intercept_ : arrays
        With a column for each class where there are more than two.
    kernel_, support_vectors_, bandwidths_, members_, ...
        All other attributes, as in `LABRBFRegressor`.

    See Also
    --------
    LABRBFRegressor : Regression; describes parameters and attributes in more detail.

    Notes
    -----
    X and y may be Dask collections, as in `LABRBFRegressor`; the sample takes an equal share of
    each class. Coefficients are fitted to at most 20 000 rows of the sample.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eq. 1; classification is not in the paper.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import LABRBFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LABRBFClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    classes_: npt.NDArray[Any]

    @blas_limited
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn support points, bandwidths and coefficients, as `LABRBFRegressor.fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points; dense, finite; may be a memory map, or a dask.array or dask.dataframe.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 of the losses. Samples of weight zero are left out.

        Returns
        -------
        self
        """
        state = self._warm_start_state()
        with fresh(self):
            check_parameters(self)
            table, _ = self._table(X, y, sample_weight)
            if state is not None:
                self._check_warm_start(state)
            progress = FitProgress(self, X, y)
            trainer = self._trainer(table, progress, _squared_error, self._logistic_layer)
            if state is None:
                scales = trainer.choose_scales(table)
                starts = trainer.choose_starts(table, [Warp.learn(table.X, s) for s in scales])
            else:
                starts = trainer.continue_members(table, state.members)
            fits = trainer.train(table, starts)
            self._choose_penalty(table, fits)
            self._solve_coefficients([fit.member for fit in fits], table)
            self._store(table, fits)
            progress.end()
        return self

    def _prepare(self, X: Any, y: Any, sample_weight: Any, *, again: bool) -> tuple[Table, None]:
        least = 1 if again else 2
        X, y = validate_data(self, X, y, dtype=FLOATS, ensure_min_samples=least, reset=not again)
        if again:
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                given = plain(unknown[0])
                raise ValueError(f"expected y out of {list(self.classes_)}, got {given!r}")
            return Table.of(X, _encoded(self.classes_, y), sample_weight), None
        self.classes_, codes = class_codes(y)
        table = Table.of(X, signs_of(codes, len(self.classes_)), sample_weight)
        seen = np.unique(codes[table.numbers])
        if len(seen) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[seen[0]])!r}"
            )
        return table, None

    def _label_encoder(self) -> Callable[[Any], Encode]:
        return lambda labels: partial(_encoded, getattr(self, "classes_", labels))

    @property
    def _single_output(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _n_outputs(self) -> int:
        return 1 if self._single_output else len(self.classes_)

    def _logistic_layer(self, features: Array, rows: Table, held_out: Array) -> Array:
        """Compute logistic scores of held-out rows for each penalty, shape (penalties, n, q)."""
        shares, scores = shares_of(rows.Y), []
        for W, intercept in logistic_path(features, shares, rows.weights, self._penalties(rows)):
            scores.append(held_out @ W + intercept)
        return np.stack(scores)

    def _penalties(self, table: Table) -> Array:
        """Return the penalties to choose from."""
        if self.alpha == "auto":
            return LOGISTIC_ALPHAS * table.mean_weight
        return np.array([float(self.alpha)])

    def _choose_penalty(self, table: Table, fits: list[FitState]) -> None:
        """Choose one penalty for all members on the rows that they hold out."""
        penalties, best = self._penalties(table), 0
        parts = [fit.split.held_out for fit in fits if fit.split.held_out is not None]
        if parts:
            rows = np.concatenate(parts)
            scores = np.concatenate([np.asarray(fit.layered) for fit in fits], axis=1)
            shares, weights = shares_of(table.Y[rows]), table.weights_of(rows)
            best = int(np.argmin([log_loss(each, shares, weights) for each in scores]))
        for fit in fits:
            fit.member.alpha_ = float(penalties[best])

    def _solve_coefficients(self, members: list[LABRBFMember], table: Table) -> None:
        step = -(-len(table) // 20_000)  # rounded up: at most 20 000 rows
        some = table.rows(np.arange(0, len(table), step))
        shares, X = shares_of(some.Y), np.asarray(some.X, dtype=np.float64)
        for member in members:
            penalty = np.array([member.alpha_])
            path = logistic_path(member.features(X), shares, some.weights, penalty)
            member.set_coefficients(*path[0])

    @by_partition
    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Compute the scores of each point; their softmax are probabilities.

        For two classes, the log-odds of ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            One column, positive for ``classes_[1]``, for two classes.
        """
        return self._shaped(self._mean(X))

    @by_partition
    @blas_limited
    def predict_log_proba(self, X: npt.ArrayLike) -> Array:
        """Compute the logarithms of `predict_proba`, shape (n_samples, n_classes)."""
        return np.asarray(scipy.special.log_softmax(columns(self._mean(X)), axis=1))

    @by_partition
    @blas_limited
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Compute the probability of each class, the softmax of the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.asarray(scipy.special.softmax(columns(self._mean(X)), axis=1))

    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Predict the class of each point, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        best = columns(self._mean(X)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        classes = np.asarray(self.classes_)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ValueError(f"expected at least two different classes_, got {classes!r:.80}")
        super()._check_loaded()


def signs_of(codes: Indices, n_classes: int) -> Array:
    """Return +1 in the column of the class, -1 elsewhere; one column for two classes."""
    signs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return signs[:, 1:] if n_classes == 2 else signs


def _encoded(classes: npt.NDArray[Any], y: npt.NDArray[Any]) -> Array:
    """Encode labels out of sorted classes as signs."""
    return signs_of(np.searchsorted(classes, y), len(classes))


def _squared_error(table: Table, rows: Indices) -> Callable[[Array], float]:
    """Build the squared error of the signs, relative to that of the class shares."""
    signs, weights = table.Y[rows], table.weights_of(rows)
    shares = np.average(signs, axis=0, weights=weights)
    constant = np.average((signs - shares) ** 2, axis=0, weights=weights)
    size = float(constant.sum()) or 1.0
    return lambda scores: float(
        np.average((scores - signs) ** 2, axis=0, weights=weights).sum() / size
    )


Coefficients: TypeAlias = tuple[Array, Array]
"""W, shape (p, q), and b, shape (q,); q is 1 for two classes, else their number."""


def columns(scores: Array) -> Array:
    """Return a column for each class: [0, score] for a single score, the log-odds."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def shares_of(signs: Array) -> Array:
    """Return 1 in the column of each row's class, 0 elsewhere, from signs +1 and -1."""
    member = signs > 0
    whole = np.hstack([~member, member]) if signs.shape[1] == 1 else member
    return whole.astype(np.float64)


def logistic_path(
    F: Array, shares: Array, weights: Array | None, penalties: Array
) -> list[Coefficients]:
    """Minimise the objective for falling penalties, each from the solution before."""
    n, k = shares.shape
    A, weight = np.hstack([F, np.ones((n, 1))]), np.ones(n) if weights is None else weights
    W, path = np.zeros((A.shape[1], 1 if k == 2 else k)), []
    small = n * W.size**2 <= SMALL
    # Diagonal blocks of the Hessian are at most F'F / 4, since p (1 - p) <= 1/4.
    gram = None if small else (A * weight[:, None]).T @ A / 4.0
    for penalty in penalties:
        ridge = np.full((A.shape[1], 1), penalty)
        ridge[-1] = FREE * float(weight.sum())
        penalised = PenalisedLogLoss(A, shares, weight, ridge)
        W = _newton(penalised, W) if gram is None else _quasi_newton(penalised, W, gram)
        path.append((W[:-1], W[-1]))
    return path


class LogisticPoint(NamedTuple):
    """The objective, its gradient, shape (p, q), and the probabilities of q classes, (n, q)."""

    value: float
    gradient: Array
    probabilities: Array


class PenalisedLogLoss(NamedTuple):
    """The objective for one penalty, as a function of W; its last row is b."""

    A: Array
    shares: Array
    weight: Array
    ridge: Array

    def at(self, W: Array) -> LogisticPoint:
        """Evaluate the objective and its gradient."""
        logs, q = log_softmax(columns(self.A @ W)), W.shape[1]
        probabilities = np.exp(logs)[:, -q:]
        slopes = self.weight[:, None] * (probabilities - self.shares[:, -q:])
        value = 0.5 * float((self.ridge * W * W).sum())
        value -= float(self.weight @ (self.shares * logs).sum(axis=1))
        return LogisticPoint(value, self.A.T @ slopes + self.ridge * W, probabilities)

    def hessian(self, probabilities: Array) -> Array:
        """Compute the Hessian without the penalty, for the columns of W one below the other."""
        p, q = self.A.shape[1], probabilities.shape[1]
        blocks = np.empty((q, p, q, p))
        for a in range(q):
            for b in range(a + 1):
                # d P_a / d Z_b = P_a (1_ab - P_b): block (a, b) is F' diag(w P_a (1_ab - P_b)) F
                curvature = self.weight * probabilities[:, a] * ((a == b) - probabilities[:, b])
                blocks[a, :, b] = (self.A * curvature[:, None]).T @ self.A
                blocks[b, :, a] = blocks[a, :, b]
        return blocks.reshape(q * p, q * p)


def _newton(penalised: PenalisedLogLoss, W: Array) -> Array:
    """Minimise by Newton steps from W until a step gains little per row."""
    at, (p, q) = penalised.at(W), W.shape
    ridge, least = np.tile(penalised.ridge[:, 0], q), GRADIENT * float(penalised.weight.sum())
    for _ in range(100):
        # (H + diag(ridge)) step = gradient, with the columns of W one below the other
        factor = cholesky_factor(penalised.hessian(at.probabilities), ridge)
        right = at.gradient.T.ravel()
        step = scipy.linalg.lapack.dpotrs(factor, right, lower=1)[0].reshape(q, p).T
        slope = float(np.vdot(step, at.gradient))
        for share in 0.5 ** np.arange(12):  # Armijo's condition
            better = penalised.at(W - share * step)
            if better.value <= at.value - 1e-4 * share * slope:
                break
        else:  # rounding errors hide the remaining gain
            break
        W, at = W - share * step, better
        if slope <= least:
            break
    return W


def _quasi_newton(penalised: PenalisedLogLoss, W: Array, gram: Array) -> Array:
    """Minimise by quasi-Newton steps from W; `gram` is F'F / 4."""
    # With R R' = F'F / 4 + penalty I, the Hessian of R'W is about the identity at first.
    R = cholesky_factor(gram, penalised.ridge[:, 0])

    def coefficients(z: Array) -> Array:
        """Compute W = R'^-1 z."""
        return _solve(R, z.reshape(len(R), -1), transpose=1)

    def scaled(z: Array) -> tuple[float, Array]:
        """Evaluate the objective and its gradient as functions of z = R'W."""
        at = penalised.at(coefficients(z))
        return at.value, _solve(R, at.gradient, transpose=0).ravel()

    tolerance = GRADIENT * math.sqrt(float(penalised.weight.sum()))
    options: Any = {"maxiter": 100, "gtol": tolerance, "ftol": 1e-10}
    start = (R.T @ W).ravel()
    result = minimize(scaled, start, method="L-BFGS-B", jac=True, options=options)
    return coefficients(result.x)


def _solve(R: Array, right: Array, *, transpose: int) -> Array:
    """Compute R^-1 or R'^-1 times `right`, R lower triangular."""
    return np.asarray(scipy.linalg.lapack.dtrtrs(R, right, lower=1, trans=transpose)[0])


def log_softmax(scores: Array) -> Array:
    """Compute the logarithms of the softmax of each row."""
    # scipy.special.log_softmax takes longer for small arrays.
    shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)


def log_loss(scores: Array, shares: Array, weights: Array | None) -> float:
    """Compute the mean log loss of the softmax of the columns of scores."""
    logs = log_softmax(columns(scores))
    return -float(np.average((shares * logs).sum(axis=1), weights=weights))
