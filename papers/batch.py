"""The batch rule of the DANK paper: a prediction depends on the other rows of its batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from pliant.core.blocks import BLOCK_ENTRIES, row_blocks
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_points
from pliant.kernels.base import made_of
from pliant.kernels.standard import Precomputed
from pliant.methods.dank.kernel import HadamardKernel
from pliant.methods.dank.machine import BaseHadamard
from pliant.methods.svm.machine import votes


def batch_decision_function(model: BaseHadamard, X: npt.ArrayLike) -> Array:
    r"""Compute decision values for new points with the batch rule of the DANK paper.

    A new point :math:`x'_j` uses the column of F of one training point,

    .. math::

        j^* = \operatorname{argmax}_i M_{ij}, \qquad M_{ij} = \frac{1}{rs}, \qquad
        f(x'_j) = \sum_i \beta_i F_{i j^*} k(x_i, x'_j) + b,

    where :math:`x'_j` is the r-th nearest to :math:`x_i` *among the rows of X* and :math:`x_i` is
    the s-th nearest training point to :math:`x'_j` (Liu et al., JMLR 2020, equation (11)).

    The value of a row depends on all other rows of X, so this function only serves to reproduce the
    paper's experiments. ``predict`` and ``decision_function`` never use this rule; with
    ``extension="reciprocal"``, they rank a new point among the training points.

    Parameters
    ----------
    model : DANKClassifier, DANKRegressor, KNPLClassifier or KNPLRegressor
        Estimator fitted to points with coordinates, without ``partition`` or with ``refine=True``.
        Its parameter ``extension`` has no effect.
    X : array-like of shape (n_samples, n_features)
        The batch.

    Returns
    -------
    array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        Decision values, as from ``decision_function``, or the predictions of a regressor.

    Raises
    ------
    TypeError, ValueError
        If `model` is not as described above, or X has another number of features.

    Notes
    -----
    For n training and m new points, the ranks take O(n m log(n m)) time and 4 n m bytes.
    """
    if not isinstance(model, BaseHadamard):
        raise TypeError(f"expected a fitted DANK or KNPL estimator, got {type(model).__name__}")
    points = model._checked_input(X)
    if "estimators_" not in vars(model):
        return _values(model, points)
    return votes([_values(each, points) for each in model.estimators_], len(model.classes_))


def _values(model: BaseHadamard, X: Array) -> Array:
    """Compute the values of one learned function, shape (m,)."""
    kernel = model.kernel_
    if not isinstance(kernel, HadamardKernel) or made_of(kernel.base, Precomputed):
        raise ValueError(
            "expected a model fitted to coordinates, with one F for all training points, got a "
            "model fitted in parts or to a precomputed Gram matrix"
        )
    # f(x'_j) = sum_i beta_i F_(i, j*) k(x_i, x'_j) + b, in blocks of rows j
    values, places = np.empty(len(X)), batch_reciprocal_neighbors(X, kernel.points)
    for rows in row_blocks(len(X), len(kernel.support), BLOCK_ENTRIES):
        values[rows] = kernel.in_places(X[rows], places[rows]) @ model.dual_coef_
    return values + float(model.intercept_)


def batch_reciprocal_neighbors(X_new: npt.ArrayLike, X_train: npt.ArrayLike) -> Indices:
    """Return the row numbers of the paper's reciprocal nearest training points, shape (m,).

    The row number i for X_new[j] maximises 1/(r s), where X_new[j] is the r-th nearest *new*
    point to X_train[i], and X_train[i] the s-th nearest training point to X_new[j] (Liu et al.
    2020, equation (11)). Ties in distance, and ties in r s, go to the first point. The result for a
    point depends on the other points in its batch.

    Parameters
    ----------
    X_new : array-like of shape (m, d)
    X_train : array-like of shape (n, d)
    """
    train = check_points(X_train, "X_train")
    new = check_points(X_new, "X_new", n_features=train.shape[1])
    distances = cdist(train, new)
    r = rankdata(distances, "ordinal", axis=1)
    s = rankdata(distances.T, "ordinal", axis=1)
    return np.asarray((r.T * s).argmin(axis=1))
