"""Kernel ridge regression and classification on a sketch, for many rows and any kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight

from pliant.core.dask import by_partition
from pliant.core.typing import Array
from pliant.core.validation import check_targets, class_codes, plain
from pliant.methods.sketched.base import BaseSketched


class SketchedKernelRidge(MultiOutputMixin, RegressorMixin, BaseSketched):
    r"""Kernel ridge regression on a few centres, for many samples and any kernel.

    With centres :math:`c_1, \dots, c_m`, weights :math:`s_i` and the norm of the kernel's space,

    .. math::

        \min_{f, b} \; \sum_{i=1}^n s_i (y_i - f(x_i) - b)^2 + \alpha \|f\|^2, \qquad
        f = \sum_{j=1}^m a_j k(c_j, \cdot).

    That is scikit-learn's ``Nystroem`` with these centres followed by ``Ridge(alpha)``, and for
    m = n centres and no intercept its ``KernelRidge``. The solver is that of FALKON [1]_:
    conjugate gradients with a preconditioner from the centres, in blocks of samples, so that
    neither the n x m matrix of kernel values nor features of this size are held. The target is
    centred by its weighted mean, and b takes no part in the penalty.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name in ``pliant.kernels.KERNEL_NAMES``, a kernel object, given or learned (``kernel_`` of
        a fitted model, ``symmetric_kernel_`` of LAB-RBF), or a function of two matrices. It must be
        symmetric, and positive semi-definite on the centres.
    alpha : float, default=1.0
        Penalty, > 0, of the sum of squared errors: the ``alpha`` of scikit-learn's ``Ridge`` and
        ``KernelRidge``.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of kernels by name: "scale" is 1/(n_features var(X)), "auto" 1/n_features.
    n_centers : int, default=1000
        Number of centres to draw. With as many as samples or more, the centres are all samples of
        weight > 0, and the result is exact kernel ridge regression.
    centers : "uniform" or array of shape (n_centers, n_features), default="uniform"
        Draw centres among the samples, with probabilities as their weights; or the centres.
    fit_intercept : bool, default=True
        Whether to learn b; else it is 0, as in scikit-learn's ``KernelRidge``.
    solver : {"auto", "cg", "direct"}, default="auto"
        "cg" iterates, a pass over all samples each. "direct" forms and factors the normal equations
        in one pass. "auto" iterates until that has cost as much as "direct" would, and goes on with
        that; where five iterations cost more, it starts with it.
    tol : float, default=1e-6
        Stop when predictions for the training samples are certified to be within ``tol`` standard
        deviations of the target from those of the optimum, root mean square; > 0.
    max_iter : int, default=500
        Largest number of iterations.
    dtype : {"float64", "float32"}, default="float64"
        Type of the kernel values during iterations. With "float32" they take half the time and
        memory; sums over blocks, residuals and certificates are float64 in either case, and the
        solution is refined until it has the same accuracy.
    device : str, default="cpu"
        Where kernel values are computed and multiplied: "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch
        on a GPU), or "torch" (PyTorch on the CPU). Values of kernels other than Gaussians are
        computed by their own code on the CPU and copied.
    cache_mb : float, default=1000.0
        Most memory for kernel values that are kept from one pass to the next, in MiB; the others
        are computed again. With Dask, none are kept.
    random_state : int, RandomState instance or None, default=None
        For the choice of centres.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel.
    support_vectors_ : array of shape (n_kept, n_features)
        The centres, without those that others span to rounding, such as duplicates.
    support_ : array of shape (n_kept,) or None
        Their rows in X; None if they were given.
    dual_coef_ : array of shape (n_kept,) or (n_kept, n_outputs)
        Coefficients: ``kernel_(x, support_vectors_) @ dual_coef_ + intercept_`` is f(x) + b.
    intercept_ : float or array of shape (n_outputs,)
        b; 0.0 with fit_intercept=False.
    objective_ : float
        The objective, summed over outputs.
    gap_ : float
        A bound on what it is above its minimum; see the notes of `SketchedKernelRidge`.
    certified_error_ : float
        A bound on the root mean square difference of predictions for the training samples from
        those of the optimum, in standard deviations of the target; the largest of all outputs.
    residual_ : float
        Norm of the residual of the normal equations over that of their right-hand side; the largest
        of all outputs.
    n_iter_ : int
        Iterations done.
    n_passes_ : int
        Passes over all samples.
    converged_ : bool
        Whether ``tol`` is certified.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X had such.

    See Also
    --------
    SketchedKernelRidgeClassifier : The same for classes.
    AsymmetricKernelRidge : All samples as centres, and kernels that need not be symmetric.
    sklearn.kernel_approximation.Nystroem : The features of the centres, as a transformer.

    Notes
    -----
    **Normal equations.** With K_nm between samples and centres, K_mm between centres, S = diag(s),
    W the sum of the weights and mu = K_nm's/W, the coefficients solve

    .. math::

        \left((K_{nm} - 1\mu')' S (K_{nm} - 1\mu') + \alpha K_{mm}\right) a
        = (K_{nm} - 1\mu')' S y, \qquad b = \bar y - \mu'a.

    For K_mm = U'U they are solved for w = U a, which makes the penalty alpha |w|^2. U comes from a
    Cholesky factorisation with pivots, which leaves out centres that others span to rounding.

    **Certificate.** In these coordinates the matrix Q of the system has no eigenvalue below alpha.
    With the residual g, computed in float64 by a pass of its own, the objective is g'Q^{-1}g above
    its minimum, at most ``gap_`` = |g|^2/alpha. The weighted sum of the squared differences between
    predictions for the training samples and those of the optimum is no larger.

    **Costs.** Time: O(m^3) for the factors; for each pass O(n m (d + t)) for d features and t
    outputs, or for "direct" O(n m^2) in all. Memory, in numbers: 2 m^2, a few times the block,
    what is kept of the kernel values, and 4 n t for centred targets and weights. 50 000 samples
    and 2000 centres beside scikit-learn: ``benchmarks/results/sketched.md``.

    **Dask.** X may be a Dask array or data frame: each pass is a sum over its partitions, by a
    tree, and `predict` then returns a Dask array. Targets and weights are computed, X is not.

    References
    ----------
    .. [1] A. Rudi, L. Carratino, L. Rosasco. FALKON: An Optimal Large Scale Kernel Method. NIPS,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SketchedKernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20_000, 3))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=20_000)
    >>> model = SketchedKernelRidge(n_centers=200, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97 and model.converged_)
    True
    >>> model.certified_error_ <= model.tol  # which is 1e-6
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        alpha: float = 1.0,
        *,
        gamma: float | str = "scale",
        n_centers: int = 1000,
        centers: Any = "uniform",
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
        dtype: str = "float64",
        device: str = "cpu",
        cache_mb: float = 1000.0,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.n_centers = n_centers
        self.centers = centers
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.device = device
        self.cache_mb = cache_mb
        self.random_state = random_state
        self.verbose = verbose

    _target_options: ClassVar[Mapping[str, Any]] = {"y_numeric": True, "multi_output": True}

    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        return check_targets(y), weights

    @by_partition
    def predict(self, X: Any) -> Any:
        """Return f at each point, shape (n_queries,) or (n_queries, n_outputs).

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or a Dask array or data frame
            Of Dask, the result is a Dask array that is computed partition by partition.
        """
        return self._outputs(X)


class SketchedKernelRidgeClassifier(ClassifierMixin, BaseSketched):
    r"""Least-squares classification with a kernel on a few centres, for many samples.

    With targets of -1 and 1, one column for two classes and one for each class of more,

    .. math::

        \min_{f, b} \; \sum_{i=1}^n s_i (y_i - f(x_i) - b)^2 + \alpha \|f\|^2, \qquad
        f = \sum_{j=1}^m a_j k(c_j, \cdot),

    for each column, as scikit-learn's ``RidgeClassifier`` on the features of its ``Nystroem``. All
    else is as in `SketchedKernelRidge`, whose page has the notes. There are no probabilities:
    scikit-learn's ``CalibratedClassifierCV`` gives some.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        A name in ``pliant.kernels.KERNEL_NAMES``, a kernel object, given or learned (``kernel_`` of
        a fitted model, ``symmetric_kernel_`` of LAB-RBF), or a function of two matrices. It must be
        symmetric, and positive semi-definite on the centres.
    alpha : float, default=1.0
        Penalty, > 0, of the sum of squared errors: the ``alpha`` of scikit-learn's ``Ridge`` and
        ``KernelRidge``.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of kernels by name: "scale" is 1/(n_features var(X)), "auto" 1/n_features.
    n_centers : int, default=1000
        Number of centres to draw. With as many as samples or more, the centres are all samples of
        weight > 0, and the result is exact kernel ridge regression.
    centers : "uniform" or array of shape (n_centers, n_features), default="uniform"
        Draw centres among the samples, with probabilities as their weights; or the centres.
    fit_intercept : bool, default=True
        Whether to learn b; else it is 0, as in scikit-learn's ``KernelRidge``.
    class_weight : dict or "balanced", optional
        Weights of the classes, by which sample weights are multiplied; "balanced" is
        n_samples / (n_classes n_samples of the class).
    solver : {"auto", "cg", "direct"}, default="auto"
        "cg" iterates, a pass over all samples each. "direct" forms and factors the normal equations
        in one pass. "auto" iterates until that has cost as much as "direct" would, and goes on with
        that; where five iterations cost more, it starts with it.
    tol : float, default=1e-6
        Stop when predictions for the training samples are certified to be within ``tol`` standard
        deviations of its targets from those of the optimum, root mean square; > 0.
    max_iter : int, default=500
        Largest number of iterations.
    dtype : {"float64", "float32"}, default="float64"
        Type of the kernel values during iterations. With "float32" they take half the time and
        memory; sums over blocks, residuals and certificates are float64 in either case, and the
        solution is refined until it has the same accuracy.
    device : str, default="cpu"
        Where kernel values are computed and multiplied: "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch
        on a GPU), or "torch" (PyTorch on the CPU). Values of kernels other than Gaussians are
        computed by their own code on the CPU and copied.
    cache_mb : float, default=1000.0
        Most memory for kernel values that are kept from one pass to the next, in MiB; the others
        are computed again. With Dask, none are kept.
    random_state : int, RandomState instance or None, default=None
        For the choice of centres.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    kernel_ : Kernel
        The kernel.
    support_vectors_ : array of shape (n_kept, n_features)
        The centres, without those that others span to rounding, such as duplicates.
    support_ : array of shape (n_kept,) or None
        Their rows in X; None if they were given.
    dual_coef_ : array of shape (n_kept,) or (n_kept, n_outputs)
        Coefficients: ``kernel_(x, support_vectors_) @ dual_coef_ + intercept_`` is f(x) + b.
    intercept_ : float or array of shape (n_outputs,)
        b; 0.0 with fit_intercept=False.
    objective_ : float
        The objective, summed over outputs.
    gap_ : float
        A bound on what it is above its minimum; see the notes of `SketchedKernelRidge`.
    certified_error_ : float
        A bound on the root mean square difference of predictions for the training samples from
        those of the optimum, in standard deviations of the target; the largest of all outputs.
    residual_ : float
        Norm of the residual of the normal equations over that of their right-hand side; the largest
        of all outputs.
    n_iter_ : int
        Iterations done.
    n_passes_ : int
        Passes over all samples.
    converged_ : bool
        Whether ``tol`` is certified.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X had such.

    See Also
    --------
    SketchedKernelRidge : The same for real targets, with notes on method and costs.
    sklearn.linear_model.RidgeClassifier : The same on features.

    References
    ----------
    .. [1] A. Rudi, L. Carratino, L. Rosasco. FALKON: An Optimal Large Scale Kernel Method. NIPS,
       2017.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SketchedKernelRidgeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> y = np.where(np.hypot(X[:, 0], X[:, 1]) < 1, "inside", "outside")
    >>> model = SketchedKernelRidgeClassifier(n_centers=100, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    >>> model.predict([[0.0, 0.0], [1.5, 0.0]]).tolist()
    ['inside', 'outside']
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        alpha: float = 1.0,
        *,
        gamma: float | str = "scale",
        n_centers: int = 1000,
        centers: Any = "uniform",
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
        dtype: str = "float64",
        device: str = "cpu",
        cache_mb: float = 1000.0,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.n_centers = n_centers
        self.centers = centers
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.device = device
        self.cache_mb = cache_mb
        self.random_state = random_state
        self.verbose = verbose

    def _targets(self, y: Any, weights: Array) -> tuple[Array, Array]:
        self.classes_, codes = class_codes(np.asarray(y))
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[0])!r}"
            )
        if self.class_weight is not None:
            weights = weights * self._class_weights(y)[codes]
        if len(self.classes_) == 2:
            return np.where(codes == 1, 1.0, -1.0), weights
        targets = np.full((len(codes), len(self.classes_)), -1.0)
        targets[np.arange(len(codes)), codes] = 1.0
        return targets, weights

    def _class_weights(self, y: Any) -> Array:
        """Return a weight > 0 for each class."""
        try:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"expected class_weight None, 'balanced' or a dict of the classes, got "
                f"{self.class_weight!r}: {error}"
            ) from None
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise ValueError(f"expected finite class weights > 0, got {self.class_weight!r}")
        return np.asarray(factors, dtype=np.float64)

    @by_partition
    def decision_function(self, X: Any) -> Any:
        """Return f at each point.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or a Dask array or data frame
            Of Dask, the result is a Dask array that is computed partition by partition.

        Returns
        -------
        array of shape (n_queries,), or (n_queries, n_classes) for more than two classes
            Two classes: positive for ``classes_[1]``. More: `predict` takes the largest.
        """
        return self._outputs(X)

    @by_partition
    def predict(self, X: Any) -> Any:
        """Return the predicted classes, shape (n_queries,).

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or a Dask array or data frame
            Of Dask, the result is a Dask array that is computed partition by partition.
        """
        f = self._outputs(X)
        codes = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        super()._check_loaded()
        classes: Any = self.classes_
        columns = np.shape(self.dual_coef_)[1:]
        if len(classes) < 2 or columns != (() if len(classes) == 2 else (len(classes),)):
            raise ValueError(
                f"expected coefficients for {len(classes)} classes, two or more, got dual_coef_ of "
                f"shape {np.shape(self.dual_coef_)}"
            )
