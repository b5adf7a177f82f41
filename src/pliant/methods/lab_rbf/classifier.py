"""Classification with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_real, plain
from pliant.methods.lab_rbf.data import Table
from pliant.methods.lab_rbf.machine import LocalMachine, Run

__all__ = ["LABRBFClassifier"]

SHARPEST = 4.0
"""Bounds on the logarithm of the factor of the scores."""


class LABRBFClassifier(ClassifierMixin, LocalMachine):
    """Classification by a mean of LAB-RBF expansions, one column of scores for each class.

    The scores are ridge fits to +1 for the class and -1 for the others (one column for two
    classes), with bandwidths that all classes share, learned as in `LABRBFRegressor`. The class
    with the largest score wins. Probabilities are softmax(sharpness_ * scores) with the one factor
    that gives the least log loss on the rows that the members held out.

    Parameters
    ----------
    n_support : int or "auto"
        The most support points of a member; "auto": a third of the rows up to 200, and 400 from
        4000 rows on. No more than there are different rows to learn from.
    profile : {"gaussian", "laplacian", "matern52"}
        h(D) = exp(-D) (the paper's text), exp(-sqrt(D)) (the authors' code), or the Matern
        function of smoothness 5/2.
    n_members : int
        How many expansions are averaged. Each has its own support points and its own held-out
        rows; one whose held-out loss is more than twice the median is left out.
    n_draws : int
        How often each member draws its support points; the best draw on the held-out rows is
        kept. More members serve better than more draws, where there may be more than one.
    objective : {"mixed", "ridge", "evidence", "interpolation"}
        What bandwidths minimise, see `pliant.methods.lab_rbf.objective`: the penalised squared
        error of the ridge fit to all rows; the Gaussian marginal likelihood; the error of a
        function that interpolates the support points (the paper, Eq. 9). "mixed": "ridge" and
        "evidence" take turns; from 4000 rows on, "ridge".
    linear : bool or "auto"
        Whether the features themselves join the kernel values; "auto": in all members but every
        fourth, and never with "interpolation".
    transforms : "auto" or None
        "auto": skewed features (skewness > 1) are tried on the scales log(x + offset) and
        asinh as well; members take turns with the scales that a small
        expansion does about equally well on. None: nothing is tried.
    alpha : float or "auto"
        > 0, the ridge, for features on [-1, 1] and a sum over rows. "auto": .1, or .01 with
        fewer than 150 support points, while bandwidths are learned (times the mean sample weight;
        1e-3 with "interpolation"), then what is best on the held-out rows. With "evidence", which
        learns its own while bandwidths are learned, a number is the ridge of the coefficients.
    shrinkage : float or "auto"
        >= 0, the penalty on the variance of log theta^2 over the support points; inf: one
        bandwidth for each feature. "auto": the best of a falling path on the held-out rows.
    support : {"kmeans++", "residual", "sorted", "random"} or array of int
        How support points are chosen: far apart in features and target; half at random, then
        where errors are largest (the paper, Algorithm 1); evenly along the sorted target; at
        random; or these rows.
    initial_bandwidth : float or "auto"
        theta of all support points and features at the start, for features on [-1, 1]; "auto":
        the best of seven, then one for each feature is learned.
    validation_fraction : float
        In [0, 1): the share of the rows that each member holds out. 0 needs numbers for `alpha`
        and `shrinkage`.
    solver : {"lbfgs", "adam"}
        Quasi-Newton steps on all rows, capped; or Adam on mini-batches of 128 rows.
    max_iter : int
        The most steps of each stage; Adam needs some thousand.
    learning_rate : float
        Of Adam, in (0, 1].
    max_seconds : float, optional
        After this time the best so far is kept.
    batch_rows : int
        Rows looked at together while bandwidths are learned; memory grows with it.
    max_bandwidth_rows : int
        The most rows that bandwidths are learned from. Coefficients are fitted to all.
    scale : bool
        Whether features are mapped to [-1, 1] first, by the least and the greatest training
        value. Turn it off only for features that are of about that size.
    dtype : {"float64", "float32"}
        The numbers that bandwidths are learned with; float32 takes about two thirds of the time.
    device : str
        "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the processor).
    n_jobs : int, optional
        Threads: members, and blocks of rows for the coefficients. Set BLAS threads to 1 with it.
    random_state : int, RandomState instance or None
        For support points, held-out rows and mini-batches.

    Attributes
    ----------
    kernel_ : LocalRBFKernel
        The learned kernel, against the support points of all members. Not there (nor are
        ``dual_coef_``, ``coef_``, ``intercept_``, ``bandwidths_``) where members map the features
        to different scales: use ``members_``.
    support_ : array of shape (n_support,)
        Row numbers of the support points, all members one after the other.
    support_vectors_ : array of shape (n_support, d)
        The support points in the units of the features.
    bandwidths_ : array of shape (n_support, d)
        theta, in inverse units of the features; > 0 for features that vary.
    dual_coef_ : array of shape (n_support,) or (n_support, n_classes)
        c, divided by the number of members.
    coef_ : array of shape (d,) or (d, n_classes)
        v; 0 without a linear part.
    intercept_ : float or array of shape (n_classes,)
        b.
    alpha_, shrinkage_, validation_score_ : arrays of shape (n_members,)
        What the held-out rows chose, and 1 - the squared
        error there, relative to that of a constant.
    objective_history_ : list of arrays
        The objective of each member after each step, one stage after the other.
    feature_relevance_ : array of shape (d,)
        The share of the slope of f along each feature, from mean squared derivatives over training
        points; sums to 1.
    support_relevance_ : array of shape (n_support, d)
        The same for each support point's own term.
    members_ : list of LABRBFMember
        The expansions.
    averaged_ : array of bool, shape (n_members,)
        Which of them predict.
    classes_ : array of shape (n_classes,)
        The labels.
    sharpness_ : float
        What scores are multiplied by before they become probabilities.
    n_iter_ : int
        Steps of the solver, over all members and stages.

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
    sharpness_: float

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Indices]:
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        table, rows = self._weighted(X, self._signs(codes), sample_weight)
        seen = np.unique(codes[rows])
        if len(seen) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[seen[0]])!r}"
            )
        return table, rows

    def _signs(self, codes: Indices) -> Array:
        """Return +1 in the column of the class, -1 elsewhere; one column for two classes."""
        signs = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return signs[:, 1:] if len(self.classes_) == 2 else signs

    @property
    def _flat(self) -> bool:
        return len(self.classes_) == 2

    @property
    def _width(self) -> int:
        return 1 if self._flat else len(self.classes_)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        classes = np.asarray(self.classes_)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ValueError(f"expected at least two different classes_, got {classes!r:.80}")
        super()._check_loaded()
        check_real("sharpness_", self.sharpness_, above=0)

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the squared error of the signs, relative to that of the class shares."""
        signs = table.Y[rows]
        weights = None if table.weights is None else table.weights[rows]
        chance = np.average(
            (signs - np.average(signs, axis=0, weights=weights)) ** 2, axis=0, weights=weights
        )
        size = float(chance.sum()) or 1.0
        return lambda scores: float(
            np.average((scores - signs) ** 2, axis=0, weights=weights).sum() / size
        )

    def _conclude(self, table: Table, runs: list[Run]) -> None:
        """Choose the sharpness on all held-out rows, each scored by its own member."""
        judged = [(run.judges, run.predicted) for run in runs if run.judges is not None]
        self.sharpness_ = 1.0
        if judged:
            rows = np.concatenate([judges for judges, _ in judged])
            scores = np.vstack([np.asarray(predicted) for _, predicted in judged])
            weights = None if table.weights is None else table.weights[rows]
            self.sharpness_ = _sharpness(scores, table.Y[rows], weights)

    def _checked_again(self, X: Any, y: Any, sample_weight: Any) -> Table:
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), reset=False)
        strange = np.setdiff1d(y, self.classes_)
        if len(strange):
            raise ValueError(f"expected y out of {list(self.classes_)}, got {plain(strange[0])!r}")
        codes = np.searchsorted(self.classes_, y)
        return self._weighted(X, self._signs(codes), sample_weight)[0]

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the scores of each point: about +1 in the column of its class, -1 elsewhere.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,), positive for ``classes_[1]``, or (m, n_classes) for more than two
        """
        return self._shaped(self._line(X))

    def predict_log_proba(self, X: npt.ArrayLike) -> Array:
        """Return the logarithms of `predict_proba`, shape (m, n_classes)."""
        return np.asarray(log_softmax(self._sharpened(X), axis=1))

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class: softmax(sharpness_ * scores).

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m, n_classes)
        """
        return np.asarray(softmax(self._sharpened(X), axis=1))

    def _sharpened(self, X: npt.ArrayLike) -> Array:
        columns = _columns(self._line(X))
        return self.sharpness_ * columns

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of each point, shape (m,).

        Parameters
        ----------
        X : array-like of shape (m, d)
        """
        best = _columns(self._line(X)).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _columns(scores: Array) -> Array:
    """Return a column for each class, also for two."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def _sharpness(scores: Array, signs: Array, weights: Array | None) -> float:
    """Return the factor of the scores with the least log loss.

    As in Platt's calibration, a row counts a little for the other classes, so that the factor
    stays finite where all rows are told apart.
    """
    columns, classes = _columns(scores), _columns(signs) > 0
    doubt = 1.0 / (len(columns) + 2.0)
    shares = np.where(classes, 1.0 - doubt, doubt / (classes.shape[1] - 1))

    def log_loss(logarithm: float) -> float:
        logs = log_softmax(np.exp(logarithm) * columns, axis=1)
        return -float(np.average((shares * logs).sum(axis=1), weights=weights))

    found = minimize_scalar(log_loss, bounds=(-SHARPEST, SHARPEST), method="bounded")
    return float(np.exp(found.x))
