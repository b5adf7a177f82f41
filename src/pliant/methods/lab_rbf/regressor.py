"""Regression with locally adaptive bandwidths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_integer, check_targets, check_vector, plain
from pliant.methods.lab_rbf.data import Table
from pliant.methods.lab_rbf.machine import LocalMachine, Probe
from pliant.methods.lab_rbf.warp import skewness

__all__ = ["LABRBFRegressor"]

SKEWED_TARGET = 0.9
"""A positive target at least as skewed as this may be learned as its logarithm."""

LEAST_ROWS = 1000
"""... with no fewer rows, on which held-out losses can tell,"""

GAIN = 0.95
"""... if that lowers the held-out loss, in the units of y, to this share."""


class LABRBFRegressor(MultiOutputMixin, RegressorMixin, LocalMachine):
    """Regression by a mean of LAB-RBF expansions: each support point has bandwidths of its own.

    f(t) = sum_i c_i h(|theta_i o (t - x_i)|^2) + v't + b. Bandwidths theta_i, one for each
    support point x_i and feature, minimise an objective from which the coefficients c and v are
    eliminated (variable projection); none of the objectives is convex, so there is no certificate.
    Coefficients are then the ridge fit to all rows. The mean of the members is one such expansion,
    ``kernel_(X, support_vectors_) @ dual_coef_ + X @ coef_ + intercept_``; predictions are held
    within the range of the training target.

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
        "evidence" take turns; from 4000 rows on, where the evidence does worse, "ridge".
    linear : bool or "auto"
        Whether the features themselves join the kernel values; "auto": in all members but every
        fourth, and never with "interpolation".
    transforms : "auto" or None
        "auto": skewed features (skewness > 1) are tried on the scales log(x + offset) and asinh
        as well, and a positive skewed target as its logarithm (from 1000 rows on); members take
        turns with the scales that a small expansion does about equally well on. None: nothing is
        tried.
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
    dual_coef_ : array of shape (n_support,) or (n_support, q)
        c, divided by the number of members.
    coef_ : array of shape (d,) or (d, q)
        v; 0 without a linear part.
    intercept_ : float or array of shape (q,)
        b.
    alpha_, shrinkage_, validation_score_ : arrays of shape (n_members,)
        What the held-out rows chose, and the R2 there, in the units
        of y.
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
    target_transform_ : {None, "log"}
        "log": the line above gives log y.
    target_low_, target_high_ : arrays of shape (q,)
        The range that predictions stay in.
    n_iter_ : int
        Steps of the solver, over all members and stages.

    See Also
    --------
    AsymmetricKernelRidge : Ridge regression with any asymmetric kernel.

    Notes
    -----
    One evaluation of value and gradient costs O(N m (4 d + m)) for N rows and m support points;
    a member takes some hundred of them. `sample_weight` multiplies squared errors; what is held
    out is drawn by rows, so that a weight of two is not the same as a row given twice.

    The paper's own algorithm is the setting ``n_members=1, objective="interpolation",
    solver="adam", support="residual", transforms=None, linear=False, alpha=1e-3, shrinkage=0.0,
    initial_bandwidth=..., validation_fraction=0, max_iter=9500``.

    References
    ----------
    He, He, Shi, Huang, Suykens: Enhancing Kernel Flexibility via Learning Asymmetric
    Locally-Adaptive Kernels, Eqs. 1, 8, 9 and Algorithm 1 (with the sign of its line 8
    corrected, and bandwidths on a logarithmic scale).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import LABRBFRegressor
    >>> X = np.linspace(-2, 2, 300)[:, None]
    >>> y = np.sin(2 * X[:, 0] ** 3)
    >>> model = LABRBFRegressor(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    target_transform_: str | None
    target_low_: Array
    target_high_: Array
    n_outputs_: int
    single_output_: bool

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, Indices]:
        table, rows = self._weighted(*self._checked(X, y), sample_weight)
        self.target_transform_ = None
        self.target_low_, self.target_high_ = table.Y.min(axis=0), table.Y.max(axis=0)
        constant = np.flatnonzero(table.Y.max(axis=0) <= table.Y.min(axis=0))
        if len(constant):
            which = "y" if self._flat else f"y[:, {constant[0]}]"
            value = plain(table.Y[0, constant[0]])
            raise ValueError(
                f"expected a target that varies, got {which} = {value} in all {len(table)} rows"
            )
        return table, rows

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Array, Array]:
        if np.asarray(y).dtype.kind in "SUmM" or scipy.sparse.issparse(y):
            check_targets(y)  # says what was expected
        X, y = validate_data(
            self,
            X,
            y,
            dtype=(np.float64, np.float32),
            y_numeric=True,
            multi_output=True,
            ensure_min_samples=2,
            reset=reset,
        )
        Y = check_targets(y)
        if reset:
            self.single_output_ = Y.ndim == 1
            self.n_outputs_ = 1 if Y.ndim == 1 else Y.shape[1]
        return X, Y.reshape(len(Y), -1)

    def _checked_again(self, X: Any, y: Any, sample_weight: Any) -> Table:
        X, Y = self._checked(X, y, reset=False)
        if Y.shape[1] != self._width:
            raise ValueError(f"expected y with {self._width} outputs, got {Y.shape[1]}")
        table, _ = self._weighted(X, Y, sample_weight)
        low, high = table.Y.min(axis=0), table.Y.max(axis=0)
        table = self._logarithmic(table) if self.target_transform_ == "log" else table
        self.target_low_, self.target_high_ = low, high
        return table

    @property
    def _flat(self) -> bool:
        return self.single_output_

    @property
    def _width(self) -> int:
        return self.n_outputs_

    def _scales(self, table: Table, probe: Probe) -> tuple[Table, list[str]]:
        """Learn log y as well, if the held-out loss in the units of y falls enough."""
        table, scales = super()._scales(table, probe)
        if not self._tries or len(table) < LEAST_ROWS or (table.Y <= 0).any():
            return table, scales
        if not (skewness(table.Y) > SKEWED_TARGET).all():
            return table, scales
        as_it_is = probe(table, scales[0])
        self.target_transform_ = "log"
        logarithmic = self._logarithmic(table)
        if probe(logarithmic, scales[0]) < GAIN * as_it_is:
            return logarithmic, scales
        self.target_transform_ = None
        return table, scales

    def _logarithmic(self, table: Table) -> Table:
        """Return the table with log y."""
        if not (table.Y > 0).all():
            raise ValueError(
                f"expected y > 0, since its logarithm was learned, got {table.Y.min():g}"
            )
        return Table(table.X, np.log(table.Y), table.weights)

    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the mean squared error in the units of y, relative to a constant's."""
        weights = None if table.weights is None else table.weights[rows]
        y = self._in_units(table.Y[rows]) / self._spread
        errors = (y - np.average(y, axis=0, weights=weights)) ** 2
        size = float(np.average(errors, axis=0, weights=weights).sum()) or 1.0

        def loss(predicted: Array) -> float:
            p = self._in_units(table.middle + table.spread * predicted.clip(-1.0, 1.0))
            squares = (p / self._spread - y) ** 2
            return float(np.average(squares, axis=0, weights=weights).sum()) / size

        return loss

    @property
    def _spread(self) -> Array:
        return self.target_high_ / 2 - self.target_low_ / 2

    def _in_units(self, Y: Array) -> Array:
        """Return targets in the units of y."""
        return np.exp(Y) if self.target_transform_ == "log" else Y

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the predicted target of each point, in the units of y and within its range.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,) or (m, q)
        """
        predicted = self._in_units(self._line(X)).clip(self.target_low_, self.target_high_)
        return self._shaped(predicted)

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        if self.target_transform_ not in (None, "log"):
            raise ValueError(
                f"expected target_transform_ None or 'log', got {self.target_transform_!r:.80}"
            )
        check_integer("n_outputs_", self.n_outputs_, least=1)
        single: object = self.single_output_
        if not isinstance(single, bool) or (single and self.n_outputs_ != 1):
            raise ValueError(f"expected single_output_ True or False, got {single!r:.80}")
        super()._check_loaded()
        low = check_vector("target_low_", self.target_low_, self._width)
        high = check_vector("target_high_", self.target_high_, self._width)
        if not (low <= high).all():
            raise ValueError("expected target_low_ <= target_high_")
