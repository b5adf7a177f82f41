"""Classification with locally adaptive bandwidths and logistic regression.

With F = [K, X], class indicators t_ik, weights w_i and Z = F W + b, the objective is

    - sum_i w_i sum_k t_ik log softmax(Z_i)_k + (penalty / 2) |W|^2.

For two classes, W has one column, F W + b is the log-odds, and Z = [0, F W + b].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.special
from scipy.linalg.lapack import dpotrs, dtrtrs
from scipy.optimize import minimize

from pliant.core.dask import by_partition
from pliant.core.estimators import ClassifierMixin
from pliant.core.progress import FitProgress, with_callbacks
from pliant.core.state import forget_fit, reads, updates
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_parameters,
    check_weights,
    class_codes,
    class_factors,
    plain,
    positive_rows,
    validate_data,
)
from pliant.methods.lab_rbf.base import FLOAT_TYPES, BaseLABRBF
from pliant.methods.lab_rbf.collection import Encode
from pliant.methods.lab_rbf.constants import LOGISTIC_ALPHAS, SINGLE_ALPHA
from pliant.methods.lab_rbf.kernel import Warp
from pliant.methods.lab_rbf.members import Coefficients, FitState, LearnedBasis
from pliant.methods.lab_rbf.objective import cholesky_factor
from pliant.methods.lab_rbf.paper import LABRBFPaperAlgorithm
from pliant.methods.lab_rbf.table import Table
from pliant.methods.svm.estimators import documented_as

INTERCEPT_PENALTY = 1e-6  # Per row; keeps the intercept finite if a class has no rows.
GRADIENT_TOLERANCE = 3e-4  # For g'H^-1 g / n (Newton) and |scaled gradient| / sqrt(n) (L-BFGS-B).
MAX_NEWTON = 2_000_000  # Largest cost n (p q)^2 of a Hessian for Newton's method; else L-BFGS-B.


@documented_as(BaseLABRBF)
@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFClassifier(ClassifierMixin, BaseLABRBF):
    """LAB-RBF classifier: the mean of several kernel expansions with one score per class.

    All classes share the bandwidths, which are learned as in `LABRBFRegressor`, with targets of +1
    for the class and -1 for the others. Each member then fits a multinomial logistic regression to
    the kernel values and the features: it minimises the log loss plus alpha / 2 times the squared
    norm of the coefficients, with alpha selected on the held-out samples, which never include all
    samples of a class. Scores are averaged over the members, and probabilities are their softmax.
    `predict` returns the class with the largest probability.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Class weights, which multiply the sample weights. "balanced" gives class k the weight
        n_samples / (n_classes n_k), where n_k is the number of its samples. The probabilities are
        then those of the weighted samples.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
    alpha_, shrinkage_, validation_score_ : arrays of shape (n_members,)
        Penalties selected on the held-out samples, with one ``alpha_`` for all members, and
        held-out R2 for the targets +1 and -1.

    See Also
    --------
    LABRBFRegressor : Regression, with prediction intervals.

    Notes
    -----
    X and y may be Dask collections, as in `LABRBFRegressor`; the sample is stratified by class.
    The coefficients are fitted to at most 20 000 rows.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eq. 1. The paper does not treat classification.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import LABRBFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LABRBFClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None

    classes_: npt.NDArray[Any] = field(init=False)

    @blas_limited
    @updates
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn the support points, bandwidths and coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points, dense and finite: an array, a memory map, or a Dask collection.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 for the losses. Samples with weight zero are ignored.

        Returns
        -------
        self
        """
        state = self._warm_start_state()
        forget_fit(self)
        check_parameters(self)
        table, _ = self._build_table(X, y, sample_weight)
        if state is not None:
            self._check_warm_start(state)
        progress = FitProgress(self, X, y)
        if isinstance(self.algorithm, LABRBFPaperAlgorithm):
            fits, _ = self._build_paper_trainer(self.algorithm, table, progress).train(table)
        else:
            trainer = self._build_trainer(table, progress, _squared_error, self._logistic_layer)
            if state is None:
                scales = trainer.choose_scales(table)
                starts = trainer.choose_starts(table, [Warp.learn(table.X, s) for s in scales])
            else:
                starts = trainer.continue_members(table, state._local_members)
            fits = trainer.train(table, starts)
        fits = self._choose_penalty(table, fits)
        coefficients = self._solve_coefficients([fit.basis for fit in fits], table)
        self._store_members(table, fits, None, coefficients)
        progress.end()
        return self

    def _encode_arrays(
        self, X: Any, y: Any, sample_weight: Any, *, refit: bool
    ) -> tuple[Table, None]:
        n_min, reset = 1 if refit else 2, not refit
        X, y = validate_data(self, X, y, dtype=FLOAT_TYPES, ensure_min_samples=n_min, reset=reset)
        used, weights, X, y = positive_rows(check_weights(sample_weight, X), X, y)
        if refit:
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                label = plain(unknown[0])
                raise ValueError(f"expected labels in {self.classes_.tolist()}, got {label!r}")
        else:
            self.classes_, _ = class_codes(y)
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, self.classes_, y)
            weights = weights * factors[np.searchsorted(self.classes_, y)]
        elif sample_weight is None:
            weights = None
        table = Table.from_arrays(X, _encode_labels(self.classes_, y), weights)
        table = replace(table, numbers=used[table.numbers])
        if refit:
            return table, None
        if len(self.classes_) < 2:
            label = plain(self.classes_[0])
            raise ValueError(f"expected at least two classes, got one class: {label!r}")
        return table, None

    def _label_encoder(self) -> Callable[[Any], Encode]:
        return lambda labels: partial(_encode_labels, getattr(self, "classes_", labels))

    @property
    def _single_output(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _n_outputs(self) -> int:
        return 1 if self._single_output else len(self.classes_)

    def _class_codes(self, table: Table) -> Indices | None:
        return np.asarray(class_indicators(table.Y).argmax(axis=1))

    def _logistic_layer(self, features: Array, rows: Table, held_out: Array) -> Array:
        """Compute logistic scores of held-out rows for each penalty, shape (n_penalties, n, q)."""
        penalties = self._penalties(rows)
        path = logistic_path(features, class_indicators(rows.Y), rows.weights, penalties)
        return np.stack([held_out @ W + intercept for W, intercept in path])

    def _penalties(self, table: Table) -> Array:
        """Return the candidate penalties."""
        auto = self.alpha == "auto"
        return LOGISTIC_ALPHAS * table.mean_weight if auto else np.array([float(self.alpha)])

    def _choose_penalty(self, table: Table, fits: list[FitState]) -> list[FitState]:
        """Return the fits with one penalty, which is chosen on their held-out rows."""
        penalties, best = self._penalties(table), 0
        held_out = [fit.split.held_out for fit in fits if fit.split.held_out is not None]
        if held_out:
            rows = np.concatenate(held_out)
            scores = np.concatenate([np.asarray(fit.layer_output) for fit in fits], axis=1)
            indicators, weights = class_indicators(table.Y[rows]), table.weights_of(rows)
            losses = [(indicators * log_softmax(class_scores(each))).sum(axis=1) for each in scores]
            best = int(np.argmin([-np.average(loss, weights=weights) for loss in losses]))
        elif self.alpha == "auto":
            penalties = np.array([SINGLE_ALPHA * table.mean_weight])
        alpha = float(penalties[best])
        return [fit._replace(basis=replace(fit.basis, alpha_=alpha)) for fit in fits]

    def _solve_coefficients(
        self, bases: Sequence[LearnedBasis], table: Table
    ) -> list[Coefficients]:
        step = -(-len(table) // 20_000)  # rounded up: at most 20 000 rows
        rows = table.rows(np.arange(0, len(table), step))
        indicators, X = class_indicators(rows.Y), np.asarray(rows.X, dtype=np.float64)
        paths = (
            logistic_path(basis.features(X), indicators, rows.weights, np.array([basis.alpha_]))
            for basis in bases
        )
        return [path[0] for path in paths]

    @reads
    @by_partition
    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Compute the class scores of each point; the probabilities are their softmax.

        For two classes, the score is the log-odds of ``classes_[1]``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            For two classes, a vector; positive scores predict ``classes_[1]``.
        """
        return self._squeeze(self._expand(X))

    @reads
    @by_partition
    @blas_limited
    def predict_log_proba(self, X: npt.ArrayLike) -> Array:
        """Compute the log-probability of each class, shape (n_samples, n_classes)."""
        return np.asarray(scipy.special.log_softmax(class_scores(self._expand(X)), axis=1))

    @reads
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
        return np.asarray(scipy.special.softmax(class_scores(self._expand(X)), axis=1))

    @reads
    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Predict the class of each point, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        best = class_scores(self._expand(X)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check_loaded(self) -> None:
        classes = np.asarray(self.classes_)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ValueError(f"expected at least two distinct classes_, got {classes!r:.80}")
        super()._check_loaded()


def _encode_labels(classes: npt.NDArray[Any], y: npt.NDArray[Any]) -> Array:
    """Encode labels as +1 in the class's column and -1 elsewhere; one column for two classes."""
    codes = np.searchsorted(classes, y)
    signs = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    return signs[:, 1:] if len(classes) == 2 else signs


def _squared_error(table: Table, rows: Indices) -> Callable[[Array], float]:
    """Build the squared-error loss of the signs, relative to the error of their mean."""
    signs, weights = table.Y[rows], table.weights_of(rows)
    mean = np.average(signs, axis=0, weights=weights)
    variance = np.average((signs - mean) ** 2, axis=0, weights=weights)
    scale = float(variance.sum()) or 1.0
    return lambda scores: float(
        np.average((scores - signs) ** 2, axis=0, weights=weights).sum() / scale
    )


def class_scores(scores: Array) -> Array:
    """Return one column of scores per class; a single column of log-odds becomes [0, score]."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores


def class_indicators(signs: Array) -> Array:
    """Convert signs to indicators: 1 in the column of each row's class, 0 elsewhere."""
    positive = signs > 0
    indicators = np.hstack([~positive, positive]) if signs.shape[1] == 1 else positive
    return indicators.astype(np.float64)


def logistic_path(
    F: Array, indicators: Array, weights: Array | None, penalties: Array
) -> list[tuple[Array, Array]]:
    """Minimise the objective for decreasing penalties, with warm starts; return each W and b."""
    n, k = indicators.shape
    if n < F.shape[1]:  # F' = Q R: the minimiser is Q V, with |Q V| = |V| and F Q V = R'V
        Q, R = np.linalg.qr(F.T)
        path = logistic_path(R.T, indicators, weights, penalties)
        return [(Q @ V, intercept) for V, intercept in path]
    A, weight = np.hstack([F, np.ones((n, 1))]), np.ones(n) if weights is None else weights
    W, path = np.zeros((A.shape[1], 1 if k == 2 else k)), []
    use_newton = n * W.size**2 <= MAX_NEWTON
    # Since p (1 - p) <= 1/4, F'F / 4 is an upper bound on the diagonal blocks of the Hessian.
    gram = None if use_newton else (A * weight[:, None]).T @ A / 4.0
    for penalty in penalties:
        ridge = np.full((A.shape[1], 1), penalty)
        ridge[-1] = INTERCEPT_PENALTY * float(weight.sum())
        loss = PenalisedLogLoss(A, indicators, weight, ridge)
        W = _newton(loss, W) if gram is None else _quasi_newton(loss, W, gram)
        path.append((W[:-1], W[-1]))
    return path


class LogisticPoint(NamedTuple):
    """Objective, gradient of shape (p, q), and probabilities of q classes, shape (n, q)."""

    value: float
    gradient: Array
    probabilities: Array


class PenalisedLogLoss(NamedTuple):
    """Objective for one penalty as a function of W, with b in the last row."""

    A: Array
    indicators: Array
    weight: Array
    ridge: Array

    def evaluate(self, W: Array) -> LogisticPoint:
        """Compute the objective and its gradient."""
        logs, q = log_softmax(class_scores(self.A @ W)), W.shape[1]
        probabilities = np.exp(logs)[:, -q:]
        slopes = self.weight[:, None] * (probabilities - self.indicators[:, -q:])
        value = 0.5 * float((self.ridge * W * W).sum())
        value -= float(self.weight @ (self.indicators * logs).sum(axis=1))
        return LogisticPoint(value, self.A.T @ slopes + self.ridge * W, probabilities)

    def hessian(self, probabilities: Array) -> Array:
        """Compute the Hessian without the penalty, with respect to the stacked columns of W."""
        p, q = self.A.shape[1], probabilities.shape[1]
        blocks = np.empty((q, p, q, p))
        for a in range(q):
            for b in range(a + 1):
                # d P_a / d Z_b = P_a (1_ab - P_b): block (a, b) is F' diag(w P_a (1_ab - P_b)) F
                curvature = self.weight * probabilities[:, a] * ((a == b) - probabilities[:, b])
                blocks[a, :, b] = (self.A * curvature[:, None]).T @ self.A
                blocks[b, :, a] = blocks[a, :, b]
        return blocks.reshape(q * p, q * p)


def _newton(loss: PenalisedLogLoss, W: Array) -> Array:
    """Minimise by Newton steps from W until the decrease per row is small."""
    point, (p, q) = loss.evaluate(W), W.shape
    ridge, tolerance = np.tile(loss.ridge[:, 0], q), GRADIENT_TOLERANCE * float(loss.weight.sum())
    for _ in range(100):
        # (H + diag(ridge)) step = gradient, with the columns of W stacked
        factor = cholesky_factor(loss.hessian(point.probabilities), ridge)
        right = point.gradient.T.ravel()
        step = dpotrs(factor, right, lower=1)[0].reshape(q, p).T
        slope = float(np.vdot(step, point.gradient))
        for length in 0.5 ** np.arange(12):  # Armijo's condition
            candidate = loss.evaluate(W - length * step)
            if candidate.value <= point.value - 1e-4 * length * slope:
                break
        else:  # the remaining decrease is below the rounding error
            break
        W, point = W - length * step, candidate
        if slope <= tolerance:
            break
    return W


def _quasi_newton(loss: PenalisedLogLoss, W: Array, gram: Array) -> Array:
    """Minimise by quasi-Newton steps from W; `gram` is F'F / 4."""
    # With R R' = F'F / 4 + penalty I, the Hessian with respect to R'W is near the identity.
    R = cholesky_factor(gram, loss.ridge[:, 0])

    def coefficients(z: Array) -> Array:
        """Compute W = R'^-1 z."""
        return np.asarray(dtrtrs(R, z.reshape(len(R), -1), lower=1, trans=1)[0])

    def scaled(z: Array) -> tuple[float, Array]:
        """Compute the objective and its gradient as functions of z = R'W."""
        point = loss.evaluate(coefficients(z))
        return point.value, np.ravel(dtrtrs(R, point.gradient, lower=1)[0])

    tolerance = GRADIENT_TOLERANCE * math.sqrt(float(loss.weight.sum()))
    options: Any = {"maxiter": 100, "gtol": tolerance, "ftol": 1e-10}
    start = (R.T @ W).ravel()
    result = minimize(scaled, start, method="L-BFGS-B", jac=True, options=options)
    return coefficients(result.x)


def log_softmax(scores: Array) -> Array:
    """Compute the log-softmax of each row."""
    # scipy.special.log_softmax is slower for small arrays.
    shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.asarray(shifted)
