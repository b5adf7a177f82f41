"""Classification with locally adaptive bandwidths and logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.dask import by_partition
from pliant.core.docstrings import documented_as
from pliant.core.estimators import ClassifierMixin, check_is_fitted
from pliant.core.form import Labels, SavedForm
from pliant.core.parameters import check_parameters, plain
from pliant.core.progress import Deadline, FitProgress, with_callbacks
from pliant.core.state import forget_fit, reads, updates
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    check_weights,
    class_codes,
    class_factors,
    positive_rows,
    validate_data,
)
from pliant.methods.lab_rbf.base import BaseLABRBF
from pliant.methods.lab_rbf.constants import (
    CLASS_ROWS,
    LOGISTIC_ALPHAS,
    LOGISTIC_ROWS,
    SINGLE_ALPHA,
)
from pliant.methods.lab_rbf.kernel import Warp
from pliant.methods.lab_rbf.members import (
    Coefficients,
    FitState,
    HeldOut,
    LearnedBasis,
    contributing,
)
from pliant.methods.lab_rbf.model import FLOAT_TYPES, LABRBFModel
from pliant.methods.lab_rbf.scores import class_scores

if not process.BARE:  # what a fit needs
    from pliant.methods.lab_rbf.collection import Encode, build_table
    from pliant.methods.lab_rbf.dense import (
        DenseFit,
        held_out_rows,
        learn_dense_classes,
        logistic_fit,
    )
    from pliant.methods.lab_rbf.logistic import (
        best_penalty,
        class_indicators,
        held_out_scores,
        log_softmax,
    )
    from pliant.methods.lab_rbf.table import Table


@documented_as(BaseLABRBF, LABRBFModel)
@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFClassifier(ClassifierMixin, BaseLABRBF):
    """LAB-RBF classifier: a weighted mean of kernel expansions with one score per class.

    All classes share the bandwidths, which are learned as in `LABRBFRegressor`, with targets of +1
    for the class and -1 for the others. Each member then fits a multinomial logistic regression to
    the kernel values and the features: it minimises the log loss plus alpha / 2 times the squared
    norm of the coefficients, with alpha selected on the held-out samples, which never include all
    samples of a class. Dense members are kernel logistic regressions with up to 2000 support
    points and one metric. Scores are averaged over the members; probabilities are their softmax.
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
        Penalties selected on the held-out samples, with one ``alpha_`` for all local members and
        one for the dense members of each kernel, and held-out R2 for the targets +1 and -1.

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

    _is_regression: ClassVar[bool] = False

    class_weight: dict[Any, float] | Literal["balanced"] | None = None

    _form: ClassVar[SavedForm] = {"classes_": Labels("classes", least=2)}
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
        table = self._build_table(X, y, sample_weight)
        if state is not None:
            self._check_warm_start(state)
        progress = FitProgress(self, X, y)
        deadline = Deadline(progress, self.max_seconds)
        classes = class_indicators(table.Y).argmax(axis=1)
        layer, loss = partial(self._logistic_layer, deadline), _squared_error
        trainer = self._build_trainer(
            table, deadline, loss, layer=layer, classes=classes, state=state
        )
        if state is None:
            scales = trainer.choose_scales(table)
            starts = trainer.choose_starts(table, [Warp.learn(table.X, s) for s in scales])
        else:
            starts = trainer.continue_members(table, state._local_members)
        fits = self._choose_penalty(table, trainer.train(table, starts))
        sources = self._dense_sources(fits, deadline)
        dense = learn_dense_classes(table, sources, deadline, self.n_jobs)
        bases = [fit.basis for fit in fits] + ([] if dense is None else dense.bases)
        coefficients = _logistic_fits(bases, table, deadline)
        self._store_members(table, fits, dense, coefficients)
        used = list(compress(fits, contributing(fits))) if dense is None else sources
        self._held_out = _held_out_probabilities(table, used, dense)
        progress.end()
        return self

    @blas_limited
    @updates
    def refit_coefficients(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None
    ) -> Self:
        """Refit the coefficients to new samples, keeping support points, bandwidths and metrics.

        The coefficients of each member minimise the penalised log loss, with its ``alpha_``.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the labels are classes of the previous fit.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        table = self._build_table(X, y, sample_weight, refit=True)
        members = self._widened(table)
        self._store_refit(table, members, _logistic_fits(members, table))
        return self

    def _build_table(self, X: Any, y: Any, sample_weight: Any, *, refit: bool = False) -> Table:
        """Build the table of the rows; a refit keeps the classes, and the penalties as they are."""
        return build_table(
            X,
            y,
            sample_weight,
            partial(self._encode_arrays, refit=refit),
            seed=self.random_state,
            encoder=self._label_encoder,
            relative=self.alpha == "auto",
            balanced=self.class_weight == "balanced",
        )[0]

    def _encode_arrays(
        self, X: Any, y: Any, sample_weight: Any, *, refit: bool = False
    ) -> tuple[Table, None]:
        """Validate arrays, and encode the labels; `refit` keeps the classes."""
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
            known = np.unique(y) if self.class_weight == "balanced" else self.classes_
            factors = class_factors(self.class_weight, known, y)
            weights = weights * factors[np.searchsorted(known, y)]
        elif sample_weight is None:
            weights = None
        table = Table.from_arrays(X, _encode_labels(self.classes_, y), weights)
        if len(lost := np.setdiff1d(y, y[table.numbers])):
            raise ValueError(
                f"expected class weights of similar size, got {self.class_weight!r}: rows of class "
                f"{plain(lost[0])!r} have less than 1e-9 of the largest weight"
            )
        table = replace(table, numbers=used[table.numbers])
        if refit:
            return table, None
        if len(self.classes_) < 2:
            label = plain(self.classes_[0])
            raise ValueError(f"expected at least two classes, got one class: {label!r}")
        return table, None

    def _label_encoder(self, labels: npt.NDArray[Any]) -> Encode:
        """Return the encoding of the classes, which are `labels` before the first fit."""
        return partial(_encode_labels, getattr(self, "classes_", labels))

    @property
    def _single_output(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _n_outputs(self) -> int:
        return 1 if self._single_output else len(self.classes_)

    def _logistic_layer(
        self, deadline: Deadline, F: Array, rows: Table, G: Array, held_out: Table
    ) -> Array | None:
        """Compute logistic scores of held-out rows for each penalty, shape (n_penalties, n, q).

        Return None after the time limit, or if it ends the path of penalties: a choice from the
        largest alone would be worse than none.
        """

        def is_over() -> bool:
            return deadline.is_over

        if is_over():
            return None
        scores = held_out_scores(F, rows, self._penalties(rows), G, held_out, is_over)
        return None if is_over() and np.isnan(scores[-1]).any() else scores

    def _penalties(self, table: Table) -> Array:
        """Return the candidate penalties."""
        auto = self.alpha == "auto"
        return LOGISTIC_ALPHAS * table.mean_weight if auto else np.array([float(self.alpha)])

    def _choose_penalty(self, table: Table, fits: list[FitState]) -> list[FitState]:
        """Return the fits with the penalty of the lowest log loss on all held-out rows.

        Their predictions are those with the best penalty tried.
        """
        penalties, best = self._penalties(table), 0
        alpha = float(penalties[0])
        tried = [fit for fit in fits if fit.layer_output is not None]
        if tried:
            rows = np.concatenate([np.asarray(fit.split.held_out) for fit in tried])
            scores = np.concatenate([np.asarray(fit.layer_output) for fit in tried], axis=1)
            indicators, weights = class_indicators(table.Y[rows]), table.weights_of(rows)
            losses = [(indicators * log_softmax(class_scores(each))).sum(axis=1) for each in scores]
            means = np.array([-np.average(loss, weights=weights) for loss in losses])
            best, alpha = int(np.nanargmin(means)), best_penalty(penalties, means)
        elif self.alpha == "auto":
            alpha = SINGLE_ALPHA * table.mean_weight
        chosen = []
        for fit in fits:
            predicted = None if fit.layer_output is None else fit.layer_output[best]
            basis = replace(fit.basis, alpha_=alpha)
            chosen.append(fit._replace(basis=basis, predicted=predicted))
        return chosen

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
        from scipy.special import log_softmax

        return np.asarray(log_softmax(class_scores(self._expand(X)), axis=1))

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
        from scipy.special import softmax

        return np.asarray(softmax(class_scores(self._expand(X)), axis=1))

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


def _encode_labels(classes: npt.NDArray[Any], y: npt.NDArray[Any]) -> Array:
    """Encode labels as +1 in the class's column and -1 elsewhere; one column for two classes."""
    codes = np.searchsorted(classes, y)
    signs = np.where(codes[:, None] == np.arange(len(classes)), 1.0, -1.0)
    return signs[:, 1:] if len(classes) == 2 else signs


def _logistic_fits(
    bases: Sequence[LearnedBasis], table: Table, deadline: Deadline | None = None
) -> list[Coefficients]:
    """Fit the coefficients of each basis by logistic regression on about `LOGISTIC_ROWS` rows."""
    is_over = None if deadline is None else (lambda: deadline.is_over)
    rows = _rows_of_all_classes(table, LOGISTIC_ROWS)
    indicators, X = class_indicators(rows.Y), np.asarray(rows.X, dtype=np.float64)
    return [logistic_fit(basis, X, indicators, rows.weights, is_over) for basis in bases]


def _rows_of_all_classes(table: Table, limit: int) -> Table:
    """Return all rows, or `limit` random ones, with some of each class.

    Rows of a class of which few are drawn are replaced by its first rows. Weights keep the share
    of the class.
    """
    chosen = table.random_rows(limit)
    if len(chosen) == len(table):
        return table.rows(chosen)
    codes = class_indicators(table.Y).argmax(axis=1)
    sizes = np.bincount(codes)
    factors = np.ones(len(sizes))
    drawn = np.bincount(codes[chosen], minlength=len(sizes))
    for k in np.flatnonzero(drawn < np.minimum(CLASS_ROWS, sizes)):
        first = np.flatnonzero(codes == k)[:CLASS_ROWS]
        factors[k] = sizes[k] * (limit / len(table)) / len(first)
        chosen = np.concatenate([chosen[codes[chosen] != k], first])
    rows = table.rows(np.sort(chosen))
    if (factors == 1.0).all():
        return rows
    weights = factors[codes[np.sort(chosen)]]
    return replace(rows, weights=weights if rows.weights is None else weights * rows.weights)


def _held_out_probabilities(
    table: Table, fits: Sequence[FitState], dense: DenseFit | None
) -> HeldOut | None:
    """Compute the softmax of the mean scores of members that held a row out."""
    tried = [fit for fit in fits if fit.layer_output is not None]
    if not tried:
        return None
    parts = held_out_rows(tried)
    rows = np.unique(np.concatenate(parts))
    sums, counts = np.zeros((len(rows), table.Y.shape[1])), np.zeros((len(rows), 1))
    for k, (fit, part) in enumerate(zip(tried, parts, strict=True)):
        scores = np.asarray(fit.predicted)[: len(part)]
        if dense is not None:
            scores = (1.0 - dense.weight) * scores + dense.weight * dense.predicted[k]
        places = np.searchsorted(rows, part)
        sums[places] += scores
        counts[places] += 1
    from scipy.special import softmax

    probabilities = softmax(class_scores(sums / counts), axis=1)
    return HeldOut(table.numbers[rows], probabilities)


def _squared_error(table: Table, rows: Indices) -> Callable[[Array], float]:
    """Build the squared-error loss of the signs, relative to the error of their mean."""
    signs, weights = table.Y[rows], table.weights_of(rows)
    mean = np.average(signs, axis=0, weights=weights)
    variance = np.average((signs - mean) ** 2, axis=0, weights=weights)
    scale = float(variance.sum()) or 1.0
    return lambda scores: float(
        np.average((scores - signs) ** 2, axis=0, weights=weights).sum() / scale
    )
