"""DANK's own rule for new points, by which a prediction depends on the batch that it is made in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import finite_outputs
from pliant.core.kernels.base import made_of
from pliant.core.kernels.extension import batch_reciprocal_neighbors
from pliant.core.kernels.precomputed import Precomputed
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.methods.hadamard.estimators import BaseHadamard
from pliant.methods.hadamard.kernel import HadamardKernel
from pliant.methods.hadamard.problem import row_blocks
from pliant.methods.svm.expansion import votes


@blas_limited
def batch_decision_function(model: Any, X: npt.ArrayLike) -> Array:
    r"""Return the decision values of new points by the batch rule of the DANK paper.

    A new point :math:`x'_j` takes the column of F of one training point,

    .. math::

        j^* = \operatorname{argmax}_i M_{ij}, \qquad M_{ij} = \frac{1}{rs}, \qquad
        f(x'_j) = \sum_i \beta_i F_{i j^*} k(x_i, x'_j) + b,

    where :math:`x'_j` is the r-th nearest to :math:`x_i` *among the rows of X* and :math:`x_i` the
    s-th nearest training point to :math:`x'_j` (equation (11) of [1]_, Euclidean distances).

    The value of one row depends on all other rows of X: the same point has another prediction in
    another batch, and alone it takes its nearest training point. That suits the repetition of the
    paper's experiments, where X is the whole test set. It does not suit predictions in use, so
    that ``predict`` and ``decision_function`` never do this; their rule ``extension="reciprocal"``
    ranks a new point among the training points instead.

    Parameters
    ----------
    model : DANKClassifier, DANKRegressor, KNPLClassifier or KNPLRegressor
        Fitted, on points with coordinates, without ``partition`` or with ``refine``. Its
        ``extension`` is without effect.
    X : array-like of shape (n_samples, n_features)
        The batch.

    Returns
    -------
    array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        What ``decision_function`` of a classifier means: the predicted classes are
        ``classes_[(values > 0).astype(int)]``, or ``classes_[values.argmax(axis=1)]``. For a
        regressor the predictions, in the units of y.

    Raises
    ------
    TypeError, ValueError
        If the model is another one, or X does not fit it.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    O(n m log(n m)) time and 4 n m bytes for the ranks, with n training and m new points.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. Journal of Machine Learning Research 21 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import DANKRegressor, batch_decision_function
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = DANKRegressor(C=100).fit(X, np.sin(6 * X[:, 0]))
    >>> batch = X[:10] + 0.005
    >>> together, alone = (batch_decision_function(model, part) for part in (batch, batch[:1]))
    >>> together.shape, alone.shape
    ((10,), (1,))
    """
    if not isinstance(model, BaseHadamard):
        raise TypeError(
            "expected a fitted DANKClassifier, DANKRegressor, KNPLClassifier or KNPLRegressor, "
            f"got {type(model).__name__}"
        )
    points = model._checked_input(X)
    if "estimators_" not in vars(model):
        return _values(model, points)
    return votes([_values(each, points) for each in model.estimators_], len(model.classes_))


def _values(model: BaseHadamard, X: Array) -> Array:
    """Return the values of one function, shape (m,)."""
    kernel = model.kernel_
    if not isinstance(kernel, HadamardKernel):
        raise ValueError(
            "expected a model of one F for all training points, got one that was learned in parts: "
            "fit it without partition, or with refine=True"
        )
    if made_of(kernel.base, Precomputed):
        raise ValueError(
            "expected a model of points with coordinates, between which there are distances, got "
            "one of a precomputed Gram matrix"
        )
    if not len(kernel.support):
        return np.full(len(X), float(model.intercept_))
    places = batch_reciprocal_neighbors(X, kernel.points)
    values = np.empty(len(X))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in row_blocks(len(X), len(kernel.support)):
            gram = kernel.in_places(X[rows], places[rows])
            values[rows] = gram @ model.dual_coef_ + model.intercept_
    return np.asarray(finite_outputs(values, X))
