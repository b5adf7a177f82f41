"""Classification with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin

from pliant.core.dask import by_partition
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import class_codes, plain, validate_data
from pliant.methods.lab_rbf.base import _FLOATS, BaseLABRBF, documented
from pliant.methods.lab_rbf.collection import Encode
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.logistic import (
    PENALTIES,
    columns,
    log_loss,
    logistic_path,
    shares_of,
)
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.methods.lab_rbf.trainer import Run, is_automatic

MOST_LOGISTIC = 20_000  # Maximum number of rows that logistic coefficients are fitted to.


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
        All other attributes are those of `LABRBFRegressor`.

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

    def _prepare(self, X: Any, y: Any, sample_weight: Any, *, again: bool) -> tuple[Table, None]:
        least = 1 if again else 2
        X, y = validate_data(self, X, y, dtype=_FLOATS, ensure_min_samples=least, reset=not again)
        if again:
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                given = plain(unknown[0])
                raise ValueError(f"expected y out of {list(self.classes_)}, got {given!r}")
            return Table.of(X, _encoded(self.classes_, y), sample_weight), None
        classes, codes = class_codes(y)
        self.classes_: npt.NDArray[Any] = classes
        table = Table.of(X, signs_of(codes, len(self.classes_)), sample_weight)
        seen = np.unique(codes[table.numbers])
        if len(seen) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[seen[0]])!r}"
            )
        return table, None

    def _encoder(self, labels: list[Any]) -> Encode:
        return partial(_encoded, self.classes_ if hasattr(self, "classes_") else np.array(labels))

    @property
    def _single_output(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _n_outputs(self) -> int:
        return 1 if self._single_output else len(self.classes_)

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the squared error of the signs, relative to that of the class shares."""
        signs, weights = table.Y[rows], table.weights_of(rows)
        shares = np.average(signs, axis=0, weights=weights)
        constant = np.average((signs - shares) ** 2, axis=0, weights=weights)
        size = float(constant.sum()) or 1.0
        return lambda scores: float(
            np.average((scores - signs) ** 2, axis=0, weights=weights).sum() / size
        )

    def _layer(self, features: Array, rows: Table, held_out: Array) -> Array:
        """Return logistic scores of held-out rows for each penalty, shape (penalties, n, q)."""
        shares = shares_of(rows.Y)
        path = logistic_path(features, shares, rows.weights, self._penalties(rows))
        return np.stack([held_out @ W + intercept for W, intercept in path])

    def _penalties(self, table: Table) -> Array:
        """Return the penalties to choose from."""
        if not is_automatic(self.alpha):
            return np.array([float(self.alpha)])
        return PENALTIES * table.mean_weight

    def _set_coefficients(
        self, members: list[LABRBFMember], table: Table, runs: Sequence[Run] = ()
    ) -> None:
        penalties, best = self._penalties(table), 0
        parts = [run.split.held_out for run in runs if run.split.held_out is not None]
        if parts:
            rows = np.concatenate(parts)
            scores = np.concatenate([np.asarray(run.learned.layered) for run in runs], axis=1)
            shares, weights = shares_of(table.Y[rows]), table.weights_of(rows)
            best = int(np.argmin([log_loss(each, shares, weights) for each in scores]))
        for run in runs:
            run.member.alpha_ = float(penalties[best])
        step = -(-len(table) // MOST_LOGISTIC)  # rounded up
        some = table.rows(np.arange(0, len(table), step))
        shares, X = shares_of(some.Y), np.asarray(some.X, dtype=np.float64)
        for member in members:
            penalty = np.array([member.alpha_])
            path = logistic_path(member.features(X), shares, some.weights, penalty)
            member.set_coefficients(*path[0])

    @by_partition
    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the scores of each point, whose softmax are probabilities.

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
        """Return the logarithms of `predict_proba`, shape (n_samples, n_classes)."""
        return np.asarray(log_softmax(columns(self._mean(X)), axis=1))

    @by_partition
    @blas_limited
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, the softmax of the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.asarray(softmax(columns(self._mean(X)), axis=1))

    @by_partition
    @blas_limited
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each point, shape (n_samples,).

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
    """Return the signs of labels out of some classes, which are sorted."""
    return signs_of(np.searchsorted(classes, y), len(classes))
