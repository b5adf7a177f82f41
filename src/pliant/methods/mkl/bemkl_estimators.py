"""Bayesian efficient multiple kernel learning (Gönen 2012), for classification and regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, log_ndtr, softmax
from sklearn.base import ClassifierMixin, RegressorMixin

from pliant.core.blocks import finite_outputs
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_targets,
    class_codes,
    plain,
    real_number,
    validate_data,
)
from pliant.methods.mkl.bemkl import Model, Priors
from pliant.methods.mkl.bemkl_ascent import Fit
from pliant.methods.mkl.bemkl_base import FLAT, BaseBEMKL, Outputs, check_prior
from pliant.methods.mkl.grams import Grams
from pliant.methods.svm.estimators import scaled_target

SMALLEST_SIGMA = 1e-154
"""Lower bound on ``sigma_g``, whose inverse square has to be a number of double precision."""

LEAST_LOG = -1e300
"""In place of the logarithm of a probability of zero, whose differences would not be numbers."""


class BEMKLClassifier(ClassifierMixin, BaseBEMKL):
    r"""Bayesian multiple kernel learning for classes, with a posterior of the kernel weights.

    With kernels k_1, ..., k_M, latent features and outputs are

    .. math::

        g_m(x) \sim N\left(\sum_i a_i k_m(x, x_i), \; \sigma_g^2\right), \qquad
        f(x) \sim N\left(\sum_m e_m g_m(x) + b, \; 1\right),

    and a sample of class y = 1 or -1 has y f(x) > ``margin``. Coefficients a_i, kernel weights e_m
    and bias b are normal with mean zero, and their precisions have Gamma priors. The posterior is
    approximated by independent factors, whose lower bound of the log evidence rises in each
    iteration [1]_. With more than two classes each has an output of its own, against the others,
    with its own coefficients and bias; they share the kernel weights.

    Parameters
    ----------
    kernels : "auto", or list of str, Kernel or callable, default="auto"
        The kernels to combine: names in ``pliant.kernels.KERNEL_NAMES``, kernel objects, or
        functions of two matrices. "auto" takes Gaussians of ten widths and polynomials of degrees
        1 to 3, of all standardised features and of each one.
    normalize : bool, default=True
        Scale the kernels so that their weights can be compared: k(x, x) = 1, for ``Precomputed``
        kernels a mean diagonal of 1.
    margin : float, default=1.0
        Outputs of the training samples are at least this far on the side of their class, >= 0.
    sigma_g : float, default=0.1
        Standard deviation of the latent features, >= 1e-154.
    coef_prior, bias_prior, weights_prior : (float, float), default=(1.0, 1.0)
        Shape and scale, > 0, of the Gamma priors of the precisions of a, b and e. A small shape
        and a large scale, such as (1e-10, 1e10), for the weights make them sparse.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-5
        Stop when three iterations in a row raise the lower bound by less than
        ``tol`` (1 + |bound|) each.
    max_seconds : float, optional
        Stop after about this time.
    cache_mb : float, default=2000.0
        Most memory for Gram matrices, in MiB: float64 where they fit, else float32, else each is
        computed again in every iteration, several times.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    weights_, weights_std_ : array of shape (n_kernels,)
        Posterior means and standard deviations of the kernel weights e. Only products of e and a
        matter to predictions, so that e has no natural scale; it may be negative.
    kernels_ : list of Kernel
        The kernels, normalised.
    kernel_names_ : list of str
        Short names of these, such as "Gaussian(gamma=0.5) of petal length".
    kernel_ : WeightedSum
        The sum of the kernels with the mean weights. With a negative weight it may be indefinite.
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_classes)
        Posterior means of a, for more than two classes one column for each.
    intercept_ : float or array of shape (n_classes,)
        Posterior mean of b. ``kernel_(X, support_vectors_) @ dual_coef_ + intercept_`` is the
        mean of f(X).
    support_vectors_ : array of shape (n_samples, n_features)
        The training points, all of them.
    coef_cov_ : array of shape (n_outputs, n_samples, n_samples)
        Posterior covariance of a, n_outputs = 1 for two classes.
    line_cov_ : array of shape (n_outputs + n_kernels, n_outputs + n_kernels)
        Posterior covariance of the biases, first, and the kernel weights.
    latent_variance_ : float
        sigma_g^2.
    lower_bound_, lower_bound_history_ : float, array of shape (n_iter_,)
        The bound of the log evidence at the end, and after each iteration.
    n_iter_ : int
        Iterations done.
    classes_ : array of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    BEMKLRegressor : The same for real targets.

    Notes
    -----
    The sum of the squares of all M Gram matrices takes O(M n^3) once; an iteration takes O(n^3) for
    each output, O(M n^2) for each of a few passes over the matrices, and O(M^3 + n M^2).
    `predict_proba` takes O(M n^2) for each point, `predict` O(M n).

    Model and priors are those of the author's published programs
    (https://github.com/mehmetgonen/bemkl); the mean-field updates were derived from this model,
    agree with theirs, and are not checked against the equations of the paper [1]_. What differs:
    the means of a and g are also updated together, by conjugate gradients, and all updates have
    momentum, with the same stationary points after many times fewer iterations; the start is not
    random; iterations stop at ``tol``; the variance of f includes the variances of a and g (in the
    programs, of b and e only), and probabilities divide by its root (in the programs, by the
    variance); more than two classes are an extension.

    As in other models with a prior on each coefficient of a sum over training points, f varies
    *less* far from the data if the kernels are local: there k_m(x, x_i) is zero, and the mean of f
    is b. A probability is no warning of foreign points.

    References
    ----------
    .. [1] M. Gönen. Bayesian Efficient Multiple Kernel Learning. ICML, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import BEMKLClassifier
    >>> from pliant.kernels import Gaussian, On
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.where(np.abs(X[:, 0]) > 0.7, "outside", "inside")  # the second column is noise
    >>> model = BEMKLClassifier([On(Gaussian(1.0), [0]), On(Gaussian(1.0), [1])]).fit(X, y)
    >>> bool(abs(model.weights_[0]) > 2 * abs(model.weights_[1]))
    True
    >>> model.predict([[0.0, 0.0], [1.5, 0.0]]).tolist()
    ['inside', 'outside']
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseBEMKL._constraints,
        "margin": real_number(least=0),
        "sigma_g": real_number(least=SMALLEST_SIGMA),
    }

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        normalize: bool = True,
        margin: float = 1.0,
        sigma_g: float = 0.1,
        coef_prior: tuple[float, float] = FLAT,
        bias_prior: tuple[float, float] = FLAT,
        weights_prior: tuple[float, float] = FLAT,
        max_iter: int = 200,
        tol: float = 1e-5,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        verbose: bool = False,
    ) -> None:
        self.kernels = kernels
        self.normalize = normalize
        self.margin = margin
        self.sigma_g = sigma_g
        self.coef_prior = coef_prior
        self.bias_prior = bias_prior
        self.weights_prior = weights_prior
        self.max_iter = max_iter
        self.tol = tol
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.verbose = verbose

    def _checked_data(self, X: Any, y: Any) -> tuple[Array, Outputs]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = class_codes(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"expected at least two classes, got one class: {plain(self.classes_[0])!r}"
            )
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return X, Outputs(np.array([np.where(codes == each, 1.0, -1.0) for each in positive]))

    def _model(self, grams: Grams, target: Array) -> Model:
        names = ("coef_prior", "bias_prior", "weights_prior")
        priors = Priors(*(check_prior(name, getattr(self, name)) for name in names))
        return Model(grams, target, priors, sigma_g=float(self.sigma_g), margin=float(self.margin))

    @blas_limited
    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Return the posterior means of the outputs f.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        array of shape (n_queries,), or (n_queries, n_classes) for more than two classes
            Two classes: positive for ``classes_[1]``. More: `predict` takes the largest. The order
            of the points may differ from that of their probabilities, which depend on the variance
            of f as well.
        """
        return self._mean(self._checked_input(X))

    @blas_limited
    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the predicted classes, shape (n_queries,).

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        """
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    @blas_limited
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probabilities of the classes.

        Two classes: P(f > margin) / (P(f > margin) + P(f < -margin)), with the mean and the
        variance of f under the posterior. More: this for each class against the others, divided by
        the sum.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)

        Returns
        -------
        array of shape (n_queries, n_classes)
            The columns are in the order of ``classes_``, and rows sum up to 1.
        """
        points = self._checked_input(X)
        means = self._mean(points).reshape(len(points), -1)
        deviations = np.sqrt(1.0 + self._variances(points))
        margin = float(self.margin)
        above = np.maximum(log_ndtr((means - margin) / deviations), LEAST_LOG)
        odds = above - np.maximum(log_ndtr((-means - margin) / deviations), LEAST_LOG)
        if odds.shape[1] == 1:
            return np.column_stack([expit(-odds[:, 0]), expit(odds[:, 0])])
        return np.asarray(softmax(log_expit(odds), axis=1))


class BEMKLRegressor(RegressorMixin, BaseBEMKL):
    r"""Bayesian multiple kernel learning for real targets, with predictive standard deviations.

    With kernels k_1, ..., k_M, latent features and targets are

    .. math::

        g_m(x) \sim N\left(\sum_i a_i k_m(x, x_i), \; 1/\upsilon\right), \qquad
        y(x) \sim N\left(\sum_m e_m g_m(x) + b, \; 1/\varepsilon\right).

    Coefficients a_i, kernel weights e_m and bias b are normal with mean zero; their precisions, and
    those of the two noises, have Gamma priors. The posterior is approximated by independent
    factors, whose lower bound of the log evidence rises in each iteration [1]_.

    Parameters
    ----------
    kernels : "auto", or list of str, Kernel or callable, default="auto"
        The kernels to combine: names in ``pliant.kernels.KERNEL_NAMES``, kernel objects, or
        functions of two matrices. "auto" takes Gaussians of ten widths and polynomials of degrees
        1 to 3, of all standardised features and of each one.
    normalize : bool, default=True
        Scale the kernels so that their weights can be compared: k(x, x) = 1, for ``Precomputed``
        kernels a mean diagonal of 1.
    scale_target : bool, default=True
        Learn from y of mean 0 and standard deviation 1, which the priors are meant for. If False,
        y is centred only.
    coef_prior, bias_prior, weights_prior : (float, float), default=(1.0, 1.0)
        Shape and scale, > 0, of the Gamma priors of the precisions of a, b and e. A small shape
        and a large scale, such as (1e-10, 1e10), for the weights make them sparse.
    latent_noise_prior, noise_prior : (float, float), default=(1.0, 1.0)
        The same for the precisions of g and y, upsilon and epsilon. The defaults expect noise of
        the size of the target's spread; with few samples and little noise, a larger scale such as
        (1, 100) keeps standard deviations from being too large.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-5
        Stop when three iterations in a row raise the lower bound by less than
        ``tol`` (1 + |bound|) each.
    max_seconds : float, optional
        Stop after about this time.
    cache_mb : float, default=2000.0
        Most memory for Gram matrices, in MiB: float64 where they fit, else float32, else each is
        computed again in every iteration, several times.
    verbose : bool, default=False
        Whether to print a line about the progress of the fit every two seconds, to standard error.

    Attributes
    ----------
    weights_, weights_std_ : array of shape (n_kernels,)
        Posterior means and standard deviations of the kernel weights e. Only products of e and a
        matter to predictions, so that e has no natural scale; it may be negative.
    kernels_ : list of Kernel
        The kernels, normalised.
    kernel_names_ : list of str
        Short names of these, such as "Gaussian(gamma=0.5) of petal length".
    kernel_ : WeightedSum
        The sum of the kernels with the mean weights. With a negative weight it may be indefinite.
    dual_coef_ : array of shape (n_samples,)
        Posterior mean of a, in the units of y.
    intercept_ : float
        Posterior mean of b, in the units of y.
        ``kernel_(X, support_vectors_) @ dual_coef_ + intercept_`` is the mean of y(X).
    noise_std_ : float
        Standard deviation of the noise of y, from the posterior mean of its precision.
    target_scale_ : float
        What the target was divided by.
    support_vectors_ : array of shape (n_samples, n_features)
        The training points, all of them.
    coef_cov_ : array of shape (1, n_samples, n_samples)
        Posterior covariance of a, for the scaled target.
    line_cov_ : array of shape (1 + n_kernels, 1 + n_kernels)
        Posterior covariance of the bias, first, and the kernel weights, for the scaled target.
    latent_variance_ : float
        Variance of the noise of the latent features, from the posterior mean of its precision.
    lower_bound_, lower_bound_history_ : float, array of shape (n_iter_,)
        The bound of the log evidence of the scaled target at the end, and after each iteration.
    n_iter_ : int
        Iterations done.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    BEMKLClassifier : The same for classes.

    Notes
    -----
    The sum of the squares of all M Gram matrices takes O(M n^3) once; an iteration takes O(n^3),
    O(M n^2) for each of a few passes over the matrices, and O(M^3 + n M^2). Standard deviations
    take O(M n^2) for each point, means O(M n).

    Model and priors are those of the author's published programs
    (https://github.com/mehmetgonen/bemkl); the mean-field updates were derived from this model,
    agree with theirs, and are not checked against the equations of the paper [1]_. What differs:
    the means of a and g are also updated together, by conjugate gradients, and so is the scale of
    a, g and e, and all updates have momentum, with the same stationary points after many times
    fewer iterations; the start is not random; iterations stop at ``tol``; the predictive variance
    includes the variances of a and g (in the programs, of b, e and the noise of y only).

    As in other models with a prior on each coefficient of a sum over training points, the standard
    deviation *falls* towards the noise's far from the data if the kernels are local: there
    k_m(x, x_i) is zero, and so is its part of the variance. It is no warning of foreign points.
    With linear and polynomial kernels (``normalize=False``) it grows with the distance.

    References
    ----------
    .. [1] M. Gönen. Bayesian Efficient Multiple Kernel Learning. ICML, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import BEMKLRegressor
    >>> from pliant.kernels import Gaussian, On
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(100, 2))
    >>> y = 10 * np.sin(2 * X[:, 0]) + rng.normal(size=100)  # the second column is noise
    >>> model = BEMKLRegressor([On(Gaussian(1.0), [0]), On(Gaussian(1.0), [1])]).fit(X, y)
    >>> mean, std = model.predict([[0.5, 0.0]], return_std=True)
    >>> bool(abs(mean[0] - 10 * np.sin(1.0)) < 1.0 and 0.8 < std[0] < 2.0)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseBEMKL._constraints,
        "scale_target": check_flag,
        "latent_noise_prior": check_prior,
        "noise_prior": check_prior,
    }

    _shapes: ClassVar[Mapping[str, tuple[int, ...]]] = {"target_scale_": (), "noise_std_": ()}

    def __init__(
        self,
        kernels: Any = "auto",
        *,
        normalize: bool = True,
        scale_target: bool = True,
        coef_prior: tuple[float, float] = FLAT,
        bias_prior: tuple[float, float] = FLAT,
        weights_prior: tuple[float, float] = FLAT,
        latent_noise_prior: tuple[float, float] = FLAT,
        noise_prior: tuple[float, float] = FLAT,
        max_iter: int = 200,
        tol: float = 1e-5,
        max_seconds: float | None = None,
        cache_mb: float = 2000.0,
        verbose: bool = False,
    ) -> None:
        self.kernels = kernels
        self.normalize = normalize
        self.scale_target = scale_target
        self.coef_prior = coef_prior
        self.bias_prior = bias_prior
        self.weights_prior = weights_prior
        self.latent_noise_prior = latent_noise_prior
        self.noise_prior = noise_prior
        self.max_iter = max_iter
        self.tol = tol
        self.max_seconds = max_seconds
        self.cache_mb = cache_mb
        self.verbose = verbose

    def _checked_data(self, X: Any, y: Any) -> tuple[Array, Outputs]:
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = check_targets(y)
        target, centre, scale = scaled_target(y, self.scale_target)
        return X, Outputs(target[None], centre, scale)

    def _model(self, grams: Grams, target: Array) -> Model:
        names = ("coef_prior", "bias_prior", "weights_prior", "latent_noise_prior", "noise_prior")
        priors = Priors(*(check_prior(name, getattr(self, name)) for name in names))
        return Model(grams, target, priors)

    def _keep(self, fit: Fit, outputs: Outputs) -> None:
        super()._keep(fit, outputs)
        self.target_scale_ = outputs.scale
        self.noise_std_ = outputs.scale * float(np.sqrt(1.0 / fit.posterior.noise.mean))

    @blas_limited
    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Any:
        """Return the posterior means of the targets, and their standard deviations.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of a new y(x) as well: of the noise, of the
            latent features and of all that was learned.

        Returns
        -------
        mean : array of shape (n_queries,)
        std : array of shape (n_queries,)
            Only if ``return_std``.
        """
        points = self._checked_input(X)
        mean = self._mean(points)
        if not return_std:
            return mean
        deviations = np.sqrt(self._variances(points, self.target_scale_)[:, 0])
        with np.errstate(over="ignore"):
            std = np.hypot(self.target_scale_ * deviations, self.noise_std_)
        return mean, finite_outputs(std, points)
