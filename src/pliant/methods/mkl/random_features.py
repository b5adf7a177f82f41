"""Random Fourier features that are chosen and weighted by their alignment with a target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pliant.core.kernels.standard import scaled_gamma
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    Constraint,
    automatic,
    check_choice,
    check_labels,
    check_parameters,
    check_points,
    check_random_state,
    check_real,
    check_vector,
    has_fractions,
    integer,
    one_of,
    optional,
    plain,
    real_number,
    validate_data,
)

BLOCK_ENTRIES = 1 << 18
"""Feature values that are held at once: they stay in the cache."""

FARTHEST = 1e30
"""Largest product of a frequency and a point: float32 goes up to 3e38."""

LARGEST = 1e37
"""Largest frequency, for the same reason."""

CANDIDATES = 10
"""Candidates for each feature that is kept, by default."""


class AlignedRandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Random Fourier features, chosen and weighted by their alignment with a target.

    From n_candidates features :math:`\cos(w_i'x + b_i)` of a shift-invariant kernel, those are kept
    whose kernel agrees with the target:

    .. math::

        \max_q \sum_i q_i s_i \;\; \text{such that} \;\; q \geq 0, \; \sum_i q_i = 1, \;
        N \|q - 1/N\|^2 \leq \rho, \qquad
        s_i = \sum_c \left( \frac{1}{n} \sum_j (Y_{jc} - \bar Y_c) \cos(w_i'x_j + b_i) \right)^2,

    the problem of Sinha and Duchi [1]_ with N = n_candidates and a centred target. `transform`
    returns :math:`\sqrt{2 q_i} \cos(w_i'x + b_i)` for all :math:`q_i > 0`, so the products of its
    rows are a learned kernel. With ``rho=0`` they are the Gaussian kernel's, as those of
    scikit-learn's ``RBFSampler``.

    Parameters
    ----------
    n_components : int, default=100
        Features to keep, at most; >= 1.
    rho : float or "auto", default="auto"
        Radius of the chi-square ball around equal weights, >= 0; 1/(1 + rho) is the effective share
        of candidates. "auto" is the smallest radius with no more than `n_components` weights > 0.
        Where a radius leaves more, the largest of them are kept and divided by their sum.
    n_candidates : int or None, default=None
        Features to choose from, >= `n_components`; None for 10 times as many.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of the kernel, > 0: "scale" is 1/(n_features var(X)), "auto" 1/n_features.
    kernel : {"gaussian", "rbf", "laplacian"}, default="gaussian"
        Kernel whose spectral density the candidates are drawn from: exp(-gamma |x - x'|^2), or
        exp(-gamma |x - x'|_1).
    target : {"auto", "classes", "real"}, default="auto"
        What y holds. "auto" takes y for real numbers if it holds float values with a fractional
        part, else for classes.
    random_state : int, RandomState instance or None, default=None
        For the candidates.

    Attributes
    ----------
    frequencies_ : array of shape (n_features, n_kept)
        The w_i of the features that are kept, the heaviest first.
    offsets_ : array of shape (n_kept,)
        Their b_i, for features x less `center_`.
    weights_ : array of shape (n_kept,)
        Their q_i > 0, with sum 1.
    center_ : array of shape (n_features,)
        Mean of the training points; it is subtracted from x, for accuracy.
    rho_ : float
        The radius N |q|^2 - 1 of all weights before the largest were kept; below `rho` if that is
        larger than a single feature needs.
    gamma_ : float
        The kernel's parameter.
    scores_ : array of shape (n_candidates,)
        All s_i.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    sklearn.kernel_approximation.RBFSampler : Features that do not know the target.

    Notes
    -----
    Y holds -1 and 1 for two classes, one column of 0 and 1 for each of more classes, or the real
    target. Centring it is the same as centring the features in s: s_i is the product <K_i, HYY'H>
    of centred kernel alignment (see `pliant.metrics.kernel_alignment`), without its norms. Without
    centring, classes of unequal size or a target far from 0 would prefer the features that vary
    least.

    The weights have a closed form, q_i proportional to max(0, s_i - t): for "auto", t is the
    largest score that is left out; else it is the root of a quadratic equation.

    What to expect, from ``docs/numbers/random-features.csv``: mean errors of ridge or logistic
    regression on the features of 19 tables (11 of classification, 8 of regression; 3 generated),
    five splits each. With 100 features of 1000 candidates the error was 0.86 times that with 100
    plain random features (geometric mean; lower on 17 tables), with 30 of 300 it was 0.79 times. A
    smaller radius, rho = .005 N, was as good (0.85 and 0.77). All 1000 or 300 candidates, without
    weights, gave 0.65 and 0.53 times the error: where time allows for more features, take more. The
    authors' .005 N leaves an effective number of less than 200 features, however large N is. A
    choice of rho by held-out rows was not better than "auto".

    One pass over the rows, in blocks: O(n N (d + c)) operations for c columns of Y, in float32. A
    million rows of 20 features in float32 and 1000 candidates took 1.5 s of processor time, and
    `transform` 0.7 s.

    References
    ----------
    .. [1] A. Sinha, J. Duchi. Learning Kernels with Random Features. NIPS, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from pliant import AlignedRandomFeatures
    >>> X = np.random.default_rng(0).standard_normal((1200, 10))
    >>> y = np.abs(X[:, 0]) > 0.7
    >>> scores = []
    >>> for rho in (0.0, "auto"):
    ...     features = AlignedRandomFeatures(50, rho=rho, random_state=0)
    ...     model = make_pipeline(features, LogisticRegression(C=100.0)).fit(X[:800], y[:800])
    ...     scores.append(model.score(X[800:], y[800:]))
    >>> scores[1] > scores[0] + 0.05  # 0.65 and 0.74
    True
    >>> model[0].transform(X).shape
    (1200, 50)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": integer(least=1),
        "rho": automatic(real_number(least=0)),
        "n_candidates": optional(integer(least=1)),
        "kernel": one_of(("gaussian", "rbf", "laplacian")),
        "target": one_of(("auto", "classes", "real")),
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        rho: float | str = "auto",
        n_candidates: int | None = None,
        gamma: float | str = "scale",
        kernel: str = "gaussian",
        target: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.rho = rho
        self.n_candidates = n_candidates
        self.gamma = gamma
        self.kernel = kernel
        self.target = target
        self.random_state = random_state

    @blas_limited
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Draw candidates, and choose and weigh features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two training points; float32 and float64 are not copied.
        y : array-like of shape (n_samples,)
            Labels of two or more classes, or real targets.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or a target that is constant.
        """
        check_parameters(self)
        points, y = validate_data(
            self, X, y, dtype=(np.float64, np.float32), ensure_min_samples=2, y_numeric=False
        )
        columns = _centred_columns(np.asarray(y), self.target)
        with np.errstate(over="ignore", invalid="ignore"):
            self.center_ = points.mean(axis=0, dtype=np.float64)
        self.gamma_ = self._bandwidth(points)
        self.frequencies_, self.offsets_ = self._candidates(points.shape[1])
        self.scores_ = self._scores(points, columns)
        if self.rho == "auto":
            q = weights_of_largest(self.scores_, self.n_components)
        else:
            q = weights_in_ball(self.scores_, float(self.rho))
        self.rho_ = float(len(q) * (q @ q) - 1.0)
        kept = np.argsort(-q, kind="stable")[: self.n_components]
        kept = kept[q[kept] > 0.0]
        self.weights_ = q[kept] / q[kept].sum()
        self.frequencies_, self.offsets_ = self.frequencies_[:, kept], self.offsets_[kept]
        return self

    @blas_limited
    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the weighted features, shape (n_samples, n_kept), in float32 if X is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        features = np.empty((len(points), len(self.weights_)), dtype=points.dtype)
        scale = np.sqrt(2.0 * self.weights_).astype(points.dtype)
        for rows, block in self._blocks(points, points.dtype):
            np.multiply(block, scale, out=features[rows])
        return features

    def _bandwidth(self, points: Array) -> float:
        """Return gamma as a number."""
        if not isinstance(self.gamma, str):
            return check_real("gamma", self.gamma, above=0)
        scaled = check_choice("gamma", self.gamma, ("scale", "auto")) == "scale"
        if scaled and points.max() == points.min():
            return 1.0
        return scaled_gamma(points) if scaled else 1.0 / points.shape[1]

    def _candidates(self, n_features: int) -> tuple[Array, Array]:
        """Return the frequencies w_i as columns, and the offsets b_i."""
        count = self.n_candidates
        if count is None:
            count = CANDIDATES * self.n_components
        if count < self.n_components:
            raise ValueError(
                f"expected n_candidates >= n_components = {self.n_components}, got {count}"
            )
        draw, shape = check_random_state(self.random_state), (n_features, count)
        if self.kernel in ("gaussian", "rbf"):
            frequencies = np.sqrt(2.0 * self.gamma_) * draw.standard_normal(shape)
        else:
            frequencies = self.gamma_ * draw.standard_cauchy(shape)
        largest = float(np.abs(frequencies).max())
        if largest > LARGEST:
            raise ValueError(
                f"expected frequencies up to {LARGEST:g}, got {largest:.3g} for gamma = "
                f"{self.gamma_:.3g}; scale the features"
            )
        return frequencies, draw.uniform(0.0, 2.0 * np.pi, count)

    def _scores(self, points: Array, columns: Array) -> Array:
        """Return s_i for all candidates: sums in float64 over products in float32."""
        sums = np.zeros((columns.shape[1], len(self.offsets_)))
        for rows, block in self._blocks(points, np.float32):
            sums += columns[rows].T @ block
        sums /= len(points)
        return np.asarray((sums**2).sum(axis=0))

    def _blocks(self, points: Array, dtype: Any) -> Iterator[tuple[slice, Array]]:
        """Yield cos(w_i'x + b_i) for some rows at a time, with the rows; each overwrites the last.

        They are float32 or float64; points are centred first, in float64.
        """
        longest = float(np.abs(self.frequencies_).sum(axis=0).max())
        farthest = min(FARTHEST / longest, FARTHEST) if longest > 0.0 else FARTHEST
        frequencies, offsets = self.frequencies_.astype(dtype), self.offsets_.astype(dtype)
        step = max(1, BLOCK_ENTRIES // len(offsets))
        room = np.empty((min(step, len(points)), len(offsets)), dtype=dtype)
        for low in range(0, len(points), step):
            rows = slice(low, min(low + step, len(points)))
            with np.errstate(over="ignore"):
                centred = points[rows] - self.center_
            distance = float(np.abs(centred).max())
            if distance > farthest:
                raise ValueError(
                    f"expected features at most {farthest:.3g} from their means, got {distance:.3g}"
                    "; scale the features"
                )
            centred = centred.astype(dtype, copy=False)
            block = np.matmul(centred, frequencies, out=room[: len(centred)])
            block += offsets
            yield rows, np.cos(block, out=block)

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def __sklearn_tags__(self) -> Any:
        """Declare that targets are required, and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        frequencies = check_points(self.frequencies_, "frequencies_")
        kept = frequencies.shape[1]
        check_vector("center_", self.center_, self.n_features_in_)
        check_vector("offsets_", self.offsets_, kept)
        weights = check_vector("weights_", self.weights_, kept)
        if len(frequencies) != self.n_features_in_ or not (weights > 0.0).all():
            raise ValueError(
                f"expected frequencies_ of {self.n_features_in_} features and weights_ > 0, got "
                f"shape {frequencies.shape} and {weights.min(initial=np.inf):g}"
            )


def _centred_columns(y: npt.NDArray[Any], target: str) -> Array:
    """Return Y less the mean of each column, shape (n, 1) for real targets or two classes."""
    if target == "real" or (target == "auto" and has_fractions(y)):
        columns = check_vector("y", y, len(y))[:, None]
    else:
        classes, codes = np.unique(check_labels(y), return_inverse=True)
        columns = (codes[:, None] == np.arange(classes.size)).astype(np.float64)
        if classes.size == 2:
            columns = columns[:, 1:]
    # In (-1, 1), to the last bit: sums do not overflow.
    columns = np.ldexp(columns, -math.frexp(float(np.abs(columns).max()))[1])
    columns -= columns.mean(axis=0)
    spread = float(np.abs(columns).max())
    if not spread > 0.0:
        raise ValueError(f"expected at least two different values in y, got {plain(y[0])!r} only")
    return np.asarray(columns / spread, dtype=np.float32)


def weights_of_largest(scores: Array, count: int) -> Array:
    """Return the best weights for the smallest rho with at most `count` of them > 0.

    They are proportional to s_i - t for the `count` largest scores, and zero for the others, with t
    the largest of the others (equal where these scores are all the same).

    Parameters
    ----------
    scores : array of shape (N,)
        s.
    count : int
        >= 1.
    """
    if count >= scores.size:
        return np.full(scores.size, 1.0 / scores.size)
    falling = np.argsort(-scores, kind="stable")
    q = np.maximum(scores - scores[falling[count]], 0.0)
    if not q.any():
        q[falling[:count]] = 1.0
    return q / q.sum()


def weights_in_ball(scores: Array, rho: float) -> Array:
    r"""Return the q that maximises s'q on the simplex with N |q - 1/N|^2 <= rho.

    They are max(0, s_i - t) divided by their sum. With m and v the mean and variance of the k
    scores above t, N |q|^2 = (N/k) (1 + v/(m - t)^2), which gives t; k is found by bisection,
    as |q| grows with t.

    Parameters
    ----------
    scores : array of shape (N,)
        s.
    rho : float
        >= 0. From N/j - 1 on, j the number of largest scores, all weight is on these.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.methods.mkl.random_features import weights_in_ball
    >>> weights_in_ball(np.array([3.0, 2.0, 1.0, 0.0]), 0.2).round(3).tolist()
    [0.4, 0.3, 0.2, 0.1]
    """
    n = scores.size
    spread = float(scores.max() - scores.min())
    if rho == 0.0 or spread == 0.0:
        return np.full(n, 1.0 / n)
    s = (scores - scores.max()) / spread  # from -1 to 0
    falling = np.sort(s)[::-1]

    def radius(k: int) -> float:
        """Return N |q|^2 - 1 for t = the score after the k largest."""
        q = falling[:k] - falling[k]
        total = float(q.sum())
        return n * float(q @ q) / total**2 - 1.0 if total > 0.0 else np.inf

    low, high = 0, n  # t is below the `high` largest scores, and not below the `low + 1` largest
    while high - low > 1:
        k = (low + high) // 2
        if radius(k) > rho:
            low = k
        else:
            high = k
    top = falling[:high]
    excess = high * (1.0 + rho) / n - 1.0
    mean, variance = float(top.mean()), float(top.var())
    if variance == 0.0 or excess <= 0.0:
        q = np.where(s >= top[-1], 1.0, 0.0)
    else:
        q = np.maximum(s - (mean - np.sqrt(variance / excess)), 0.0)
    return np.asarray(q / q.sum())
