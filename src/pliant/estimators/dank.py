"""DANK: the data-adaptive non-parametric kernel (Liu et al., JMLR 2020)."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pliant._typing import Array
from pliant._validation import check_choice, check_integer, check_real, stack_level
from pliant.estimators._base import KernelMachine, Task, WarmStart
from pliant.estimators._classifier import KernelClassifier
from pliant.estimators._regressor import KernelRegressor
from pliant.kernels import Precomputed
from pliant.kernels.extension import GramNeighbors
from pliant.kernels.hadamard import EXTENSIONS, AdaptiveMatrix, HadamardKernel
from pliant.problems.hadamard import automatic_eta, dank_dual
from pliant.problems.margin import Certificate, MarginDual, better_start, svc_dual, svr_dual
from pliant.solvers import Result, Status, smo

__all__ = ["DANKClassifier", "DANKRegressor"]


class _DANK(KernelMachine):
    """What classification and regression share."""

    C: float
    eta: float | str
    eta_scale: float
    tau: float
    extension: str
    n_neighbors: int
    tol: float
    max_iter: int

    @abstractmethod
    def _plain_dual(self, task: Task) -> MarginDual:
        """Return the dual of the plain support vector machine."""

    def _prices(self, task: Task) -> Array:
        with np.errstate(over="ignore"):
            prices = self.C * task.weights
        if not np.isfinite(prices).all():
            raise ValueError(
                f"expected C times the weights to be finite, got C = {self.C:g} and a weight of "
                f"{task.weights.max():g}"
            )
        return prices

    def _check_parameters(self) -> None:
        check_real("C", self.C, above=0)
        if isinstance(self.eta, str):
            check_choice("eta", self.eta, ("auto",))
        else:
            check_real("eta", self.eta, above=0)
        check_real("eta_scale", self.eta_scale, above=0)
        if check_real("tau", self.tau, least=0) > 0:
            raise ValueError(f"expected tau = 0, the only value so far, got {self.tau!r}")
        check_choice("extension", self.extension, EXTENSIONS)
        check_integer("n_neighbors", self.n_neighbors, least=1)
        check_real("tol", self.tol, above=0)
        if check_integer("max_iter", self.max_iter, least=-1) == 0:
            raise ValueError("expected max_iter >= 1, or -1 for no limit, got 0")

    def _learn(self, task: Task, start: WarmStart | None, callback: Callable[..., Any]) -> Array:
        if isinstance(task.kernel, Precomputed) and self.extension != "none":
            GramNeighbors(task.kernel, task.points)  # says now what prediction would say later
        dual = self._plain_dual(task)
        if self.eta == "auto":
            plain = self._solve(dual, start, callback)
            eta = automatic_eta(plain.x) * self.eta_scale
            result = self._solve(dank_dual(dual, eta), WarmStart(plain.x), callback)
            self.n_iter_ = plain.n_iter + result.n_iter
            solution = plain.x  # where the plain SVM of another C starts
        else:
            eta = float(self.eta) * self.eta_scale
            result = self._solve(dank_dual(dual, eta), start, callback)
            self.n_iter_ = result.n_iter
            solution = result.x
        self._store(task, result, eta if result.x.any() else np.inf)
        return solution

    def _solve(
        self, dual: MarginDual, start: WarmStart | None, callback: Callable[..., Any]
    ) -> Result[Certificate]:
        beta = None if start is None else better_start(dual, start.beta, start.growth)
        result = smo.solve(dual, beta, tol=self.tol, max_iter=self.max_iter, callback=callback)
        if result.status in (Status.MAX_ITER, Status.STALLED):
            asked = self.tol * (1.0 + abs(result.value))
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} steps with a gap of "
                f"{result.gap:.3g}, where {asked:.3g} was asked for: {result.status.advice}",
                ConvergenceWarning,
                stacklevel=stack_level(),
            )
        return result

    def _store(self, task: Task, result: Result[Certificate], eta: float) -> None:
        beta = result.x
        support = np.flatnonzero(beta)
        assert result.certificate is not None
        self.eta_ = eta
        self.kernel_ = HadamardKernel(
            task.kernel, task.points, beta, eta, self.extension, self.n_neighbors
        )
        self.support_ = task.members[support]
        self.support_vectors_ = task.points[support]
        self.dual_coef_ = task.scale * beta[support]
        self.intercept_ = task.centre + task.scale * result.certificate.intercept
        self.objective_ = result.value
        self.dual_gap_ = result.gap
        self.objective_history_ = result.objectives
        self.gap_history_ = result.gaps
        self.step_history_ = np.array([step.n_iter for step in result.history])

    @property
    def adaptation_(self) -> AdaptiveMatrix:
        """F on the training points (those of positive weight), never formed unless asked for."""
        kernel: HadamardKernel = self.kernel_
        return kernel.adaptation()


class DANKClassifier(_DANK, KernelClassifier):
    r"""Classification with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\alpha \min_{F \succeq 0}\; 1'\alpha - \tfrac12 \beta'(F \circ K)\beta
        + \eta \|F - 11'\|_F^2,
        \qquad 0 \le \alpha_i \le C, \; y'\alpha = 0, \; \beta = \alpha \circ y,

    problem (4) of [1]_ with tau = 0. F is eliminated in closed form, F = 11' + A/(4 eta) with
    A_ij = beta_i K_ij beta_j; what remains is an SVM dual with one quartic term, solved by
    two-coordinate ascent in about the time of an SVM.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        The base kernel: "gaussian", "laplacian", "matern12", "matern32", "matern52",
        "polynomial", "linear"; a pliant kernel; a function of two matrices; or "precomputed".
        Positive semi-definite.
    gamma : float or {"scale", "auto"}, default="scale"
        > 0, for kernels by name; "scale" is 1/(d var(X)), "auto" is 1/d.
    C : float, default=1.0
        > 0: the price of a unit of slack. Multiplied by class and sample weights.
    eta : float or "auto", default="auto"
        > 0: the weight that holds F near 11'; the smaller, the more the kernel adapts. "auto" is
        \|alpha\|^2 of the plain SVM, as in the paper.
    eta_scale : float, default=1.0
        > 0: multiplies eta.
    tau : float, default=0.0
        The weight of the trace of F. 0 is the only value so far.
    extension : {"smooth", "nearest", "reciprocal", "none"}, default="smooth"
        How a new point shares in the adaptation; see `pliant.kernels.HadamardKernel`.
    n_neighbors : int, default=5
        >= 1: neighbours of a new point, for "smooth".
    tol : float, default=1e-4
        > 0: the certified gap, relative to 1 + abs(objective).
    max_iter : int, default=-1
        Two-coordinate steps at most, for each solve; -1 for no limit. Unscaled features, or a
        linear or polynomial kernel, with C of 1000 and more can take minutes.
    class_weight : dict or "balanced", optional
        Factors of C, each > 0.
    random_state : int, RandomState or None, default=None
        Nothing is drawn at random here; accepted so that all learners take the same parameters.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    kernel_ : HadamardKernel
        The learned kernel, a function of two sets of points.
    support_ : array of shape (n_support,)
        Row numbers of the training points with beta != 0.
    support_vectors_ : array of shape (n_support, d)
        Those points; for kernel="precomputed" their row numbers, shape (n_support, 1).
    dual_coef_ : array of shape (n_support,)
        Their beta = alpha y.
    intercept_ : float
        The b of f(x).
    objective_ : float
        The dual objective that was reached, a lower bound of the optimum.
    dual_gap_ : float
        The optimum is at most objective_ + dual_gap_; nan if the Gram matrix is not PSD.
    eta_ : float
        The eta that was used; inf if no coefficient is needed.
    adaptation_ : AdaptiveMatrix
        F on the training points.
    n_iter_ : int
        Two-coordinate steps, of the plain SVM ("auto") and of DANK together; with more than two
        classes an array, one number per pair.
    objective_history_, gap_history_, step_history_ : arrays of shape (n_checks,)
        Objective and gap each time that they were computed, and the two-coordinate steps done by
        then (of DANK alone, where "auto" solves a plain SVM first).
    estimators_ : list of DANKClassifier
        Only with more than two classes: one machine per pair, in place of the attributes above
        from ``kernel_`` on.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    Time and memory: O(n^2) for the Gram matrix; two-coordinate steps cost O(n) each and their
    number grows between n and n^2. ``kernel_`` keeps the training points. A sample of weight 2 is
    not two samples (the quartic term), and no probabilities are given: wrap the machine in
    `sklearn.calibration.CalibratedClassifierCV` for them.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. Journal of Machine Learning Research 21 (2020).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import DANKClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DANKClassifier(C=10).fit(X[50:], y[50:])
    >>> bool(model.dual_gap_ <= 1e-4 * (1 + model.objective_))
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        gamma: float | str = "scale",
        C: float = 1.0,
        eta: float | str = "auto",
        eta_scale: float = 1.0,
        tau: float = 0.0,
        extension: str = "smooth",
        n_neighbors: int = 5,
        tol: float = 1e-4,
        max_iter: int = -1,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.eta = eta
        self.eta_scale = eta_scale
        self.tau = tau
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state

    def _plain_dual(self, task: Task) -> MarginDual:
        return svc_dual(task.rows, task.target, self._prices(task), psd=task.psd)


class DANKRegressor(_DANK, KernelRegressor):
    r"""Epsilon-regression with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\beta \min_{F \succeq 0}\; y'\beta - \varepsilon \|\beta\|_1
        - \tfrac12 \beta'(F \circ K)\beta + \eta \|F - 11'\|_F^2,
        \qquad |\beta_i| \le C, \; 1'\beta = 0,

    section 5 of [1]_ with tau = 0 (and with the constraint 1'beta = 0, where the paper misprints
    y'). F is eliminated in closed form, as in `DANKClassifier`.

    Parameters
    ----------
    kernel, gamma, C, eta, eta_scale, tau, extension, n_neighbors, tol, max_iter, random_state
        As in `DANKClassifier`.
    epsilon : float, default=0.1
        >= 0: errors up to this size are free, in units of the scaled target.
    scale_target : bool, default=True
        Learn (y - mean)/std instead of y, so that C and epsilon mean the same for every unit of
        y. Predictions are in the units of y.

    Attributes
    ----------
    kernel_, support_, support_vectors_, eta_, adaptation_, n_iter_, objective_history_
        As in `DANKClassifier`; so are ``gap_history_`` and ``step_history_``.
    dual_coef_ : array of shape (n_support,)
        Coefficients in the units of y: kernel_(X, support_vectors_) @ dual_coef_ + intercept_ is
        the prediction. Divided by std(y), they are the beta of the objective.
    intercept_ : float
        In the units of y.
    objective_, dual_gap_ : float
        As in `DANKClassifier`, in units of the scaled target.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. Journal of Machine Learning Research 21 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import DANKRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = DANKRegressor(C=100, epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> round(model.score(X, np.sin(6 * X[:, 0])), 2)
    1.0
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        gamma: float | str = "scale",
        C: float = 1.0,
        epsilon: float = 0.1,
        eta: float | str = "auto",
        eta_scale: float = 1.0,
        tau: float = 0.0,
        extension: str = "smooth",
        n_neighbors: int = 5,
        scale_target: bool = True,
        tol: float = 1e-4,
        max_iter: int = -1,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.epsilon = epsilon
        self.eta = eta
        self.eta_scale = eta_scale
        self.tau = tau
        self.extension = extension
        self.n_neighbors = n_neighbors
        self.scale_target = scale_target
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("epsilon", self.epsilon, least=0)
        if not isinstance(self.scale_target, bool | np.bool_):
            raise ValueError(f"expected scale_target True or False, got {self.scale_target!r}")

    def _plain_dual(self, task: Task) -> MarginDual:
        prices = self._prices(task)
        return svr_dual(task.rows, task.target, prices, float(self.epsilon), psd=task.psd)
