"""Fitted LAB-RBF models: weighted means of expansions.

`LABRBFModel` computes the function, its kernel, relevances and explanations from the members;
`RegressionModel` adds targets. They have no parameters of their own: the estimators learn members.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pliant.core import process
from pliant.core.blocks import in_blocks
from pliant.core.dask import by_partition
from pliant.core.estimators import BaseEstimator, MultiOutputMixin, RegressorMixin, check_is_fitted
from pliant.core.form import POSITIVE, Object, Part, SavedForm, Size, indices, numbers
from pliant.core.parameters import check_flag, check_integer
from pliant.core.state import reads
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_targets, check_varies, validate_data
from pliant.kernels.base import Kernel, WeightedSum
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.kernel import JoinedRBFKernel, LocalRBFKernel
from pliant.methods.lab_rbf.members import (
    HeldOut,
    LABRBFMember,
    correlated_pairs,
    join_kernels,
    sum_expansions,
)
from pliant.methods.summary import FunctionSummary, Summary

if not process.BARE:  # what a fit needs
    import scipy.sparse

    from pliant.methods.lab_rbf.explain import LABRBFExplanation, explain
    from pliant.methods.lab_rbf.table import Table

FLOAT_TYPES = (np.float64, np.float32)

BLOCK_ROWS = 8192
"""Rows of a prediction per task of a thread."""


class LABRBFModel(BaseEstimator):
    """Weighted mean of LAB-RBF expansions.

    Attributes
    ----------
    kernel_ : LocalRBFKernel or JoinedRBFKernel
        Learned kernel with the support points of all members of positive weight. It is joined from
        the kernels of the members unless they have one transform and one profile.
    support_ : array of shape (n_support,)
        Indices of the support points in the training data, member by member.
    support_vectors_ : array of shape (n_support, n_features)
        Support points in the units of the features.
    bandwidths_ : array of shape (n_support, n_features)
        Bandwidths theta in inverse units of the features; 0 for constant features. For a dense
        member with the metric M, sqrt(M_jj). If members transform the features differently,
        ``bandwidths_``, ``linear_coef_`` and ``intercept_`` are unavailable; use ``members_``.
    dual_coef_ : array of shape (n_support,) or (n_support, n_outputs)
        Coefficients c times the weight of the member. The classifier has a column per class for
        more than two classes.
    linear_coef_ : array of shape (n_features,) or (n_features, n_outputs)
        Coefficients v; 0 without a linear part.
    intercept_ : float or array of shape (n_outputs,)
        Intercept b.
    alpha_, shrinkage_, validation_score_ : arrays of shape (n_members,)
        Penalties selected on the held-out samples, and held-out R2: of y for local members, and of
        the target as it was fitted, which may be asinh(y / u), for dense ones.
    objective_history_ : list of arrays
        Objective of each member after each step, over all stages.
    feature_relevance_ : array of shape (n_features,)
        Relevance of each feature; the sum is 1, or 0 for a constant f. It is proportional to the
        mean squared change of f when the feature is permuted among at most 200 training points,
        relative to the variance of each output of f.
    feature_importances_ : array of shape (n_features,)
        The relevance, under the name that `sklearn.feature_selection` reads.
    feature_relevance_spread_ : array of shape (n_features,)
        Standard deviation of the relevance over the members; nan for a single member.
    support_relevance_ : array of shape (n_support, n_features)
        Each feature's share of the mean squared slope of each support point's term.
    correlated_features_ : array of int of shape (n_pairs, 2)
        Pairs of features with an absolute rank correlation above 0.8 on at most 1000 training
        samples, strongest first. Either feature of a pair may get the relevance of both.
    members_ : list of LABRBFMember
        Members of the model: local members, then dense ones.
    weights_ : array of shape (n_members,)
        Weights of the members in the predictions; their sum is 1.
    limits_ : array of shape (2, n_features)
        Minimum and maximum to which features are clipped: the range of the training points,
        extended by an eighth of the range at both ends.
    n_iter_ : int
        Total number of solver steps over all members and stages.
    """

    _held_out: HeldOut | None = None  # of the last fit, in the process that trained the model

    n_jobs: int | None
    _form: ClassVar[SavedForm] = {
        "members_": Object(
            LABRBFMember,
            axis="members",
            sizes={"n_features": "features", "n_outputs": "outputs"},
        ),
        "_n_outputs": Size("outputs", least=1),
        "weights_": Part("number", ("members",), low=0.0, total=1.0),
        "correlated_features_": indices("pairs", 2, below="features"),
    }

    members_: list[LABRBFMember]
    weights_: Array
    n_iter_: int
    correlated_features_: Indices

    @property
    @abstractmethod
    def _single_output(self) -> bool:
        """True if the output is a vector."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of outputs of the members."""

    def _store(self, table: Table, members: list[LABRBFMember], weights: Array) -> None:
        """Store the members and their weights; correlate the features of the training rows."""
        self.members_, self.weights_, self._held_out = members, weights, None
        self.n_iter_ = max(1, sum(len(member.objective_history_) for member in members))
        # Correlate the 1000 most relevant features on 1000 training rows.
        rows = np.linspace(0, len(table) - 1, min(len(table), 1000)).astype(np.intp)
        features = np.sort(np.argsort(-self.feature_relevance_, kind="stable")[:1000])
        pairs = correlated_pairs(table.points(rows)[:, features])
        self.correlated_features_ = features[pairs]

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes, without the held-out predictions of the last fit."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_held_out"}

    @property
    def _local_members(self) -> list[LABRBFMember]:
        """The members with bandwidths of their own."""
        return [member for member in self.members_ if member.objective_ != "dense"]

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after a completed fit."""
        return "members_" in vars(self)

    @property
    def _terms(self) -> list[LABRBFMember]:
        """The members that contribute, times their weights: their sum is f."""
        pairs = zip(self.members_, self.weights_, strict=True)
        return [member.scaled(float(weight)) for member, weight in pairs if weight > 0]

    @property
    def _joinable(self) -> list[LABRBFMember]:
        """The weighted members. Raises AttributeError if their feature transforms differ."""
        terms = self._terms
        if len({m.warp_.key() for m in terms}) > 1:
            raise AttributeError(
                f"the members of this {type(self).__name__} transform the features differently: "
                "use the attributes of members_[k] (kernel_, linear_coef_ and so on)"
            )
        return terms

    def _validate_points(self, X: npt.ArrayLike) -> Array:
        """Validate the points at which to predict."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=FLOAT_TYPES))

    def _expand(self, X: npt.ArrayLike) -> Array:
        """Compute the weighted mean of the members' expansions, (n_samples, n_outputs)."""
        points, terms = self._validate_points(X), self._terms
        if len(points) <= BLOCK_ROWS:
            return sum_expansions(terms, points)
        from joblib import Parallel, delayed

        n_centres = sum(len(term.support_) for term in terms)
        worth_it = len(points) * n_centres >= 10 * constants.MIN_THREADED
        parallel = Parallel(threads_for(self.n_jobs, worth_it=worth_it), require="sharedmem")
        blocks = (points[start : start + BLOCK_ROWS] for start in range(0, len(points), BLOCK_ROWS))
        return np.concatenate(parallel(delayed(sum_expansions)(terms, X) for X in blocks))

    def _map_blocks(self, points: Array, outputs: Callable[[Array], Array]) -> Array:
        """Apply a function to blocks of points, converted to float64."""
        width = max(len(member.support_) for member in self.members_) + points.shape[1]
        return np.asarray(in_blocks(points, width, lambda block: outputs(block.astype(float))))

    def _squeeze(self, values: Array) -> Array:
        return values[:, 0] if self._single_output else values

    @property
    @reads
    def kernel_(self) -> LocalRBFKernel | JoinedRBFKernel:
        """The learned asymmetric kernel: ``kernel_(X, support_vectors_)``."""
        return join_kernels([term.kernel_ for term in self._terms])

    @property
    @reads
    def symmetric_kernel_(self) -> Kernel:
        """A symmetric kernel with the learned bandwidths, for methods that cannot use ``kernel_``.

        Each feature has one bandwidth, the geometric mean over the support points of the local
        members. If these transform the features differently, or there are dense members, this is a
        mean of such kernels and of the kernels of the dense members, with the members' weights.
        """
        groups: dict[bytes, list[tuple[LocalRBFKernel, float]]] = {}
        for k, (member, weight) in enumerate(zip(self.members_, self.weights_, strict=True)):
            key = member.warp_.key() + member.kernel_.profile.encode()
            key = b"%d" % k if member.objective_ == "dense" else key
            if weight > 0:
                groups.setdefault(key, []).append((member.kernel_, float(weight)))
        kernels, weights = [], []
        for group in groups.values():
            parts, shares = zip(*group, strict=True)
            joined = join_kernels(list(parts))
            assert isinstance(joined, LocalRBFKernel)  # the transform and the profile are the same
            kernels.append(joined.symmetric_kernel())
            weights.append(sum(shares))
        return kernels[0] if len(kernels) == 1 else WeightedSum(kernels, weights)

    @property
    @reads
    def support_(self) -> Indices:
        """Indices of the support points in the training data."""
        return np.concatenate([term.support_ for term in self._terms])

    @property
    @reads
    def support_vectors_(self) -> Array:
        """Support points, shape (n_support, n_features), in the units of the features."""
        return np.vstack([term.kernel_.centres for term in self._terms])

    @property
    @reads
    def bandwidths_(self) -> Array:
        """Bandwidths, shape (n_support, n_features), in inverse units; 0 for constant features."""
        return np.vstack([term.bandwidths() for term in self._joinable])

    @property
    @reads
    def dual_coef_(self) -> Array:
        """Coefficients of the support points: (n_support,), or (n_support, n_outputs)."""
        return self._squeeze(np.vstack([term.dual_coef_ for term in self._terms]))

    @property
    @reads
    def linear_coef_(self) -> Array:
        """Coefficients of the features: (n_features,), or (n_features, n_outputs)."""
        return self._squeeze(np.sum([m.linear_part()[0] for m in self._joinable], axis=0))

    @property
    @reads
    def intercept_(self) -> Any:
        """Intercept, a float or an array of shape (n_outputs,)."""
        intercept = np.sum([m.linear_part()[1] for m in self._joinable], axis=0)
        return float(intercept[0]) if self._single_output else intercept

    @property
    def limits_(self) -> Array:
        """Minimum and maximum to which features are clipped: ``X.clip(*limits_)``."""
        return self.members_[0].limits_

    @property
    def alpha_(self) -> Array:
        """Penalty of each member's coefficients."""
        return np.array([member.alpha_ for member in self.members_])

    @property
    def shrinkage_(self) -> Array:
        """Shrinkage penalty of each member; inf means one bandwidth per feature."""
        return np.array([member.shrinkage_ for member in self.members_])

    @property
    def validation_score_(self) -> Array:
        """Held-out score of each member: 1 for perfect predictions, 0 for constant ones."""
        return np.array([member.validation_score_ for member in self.members_])

    @property
    def objective_history_(self) -> list[Array]:
        """Objective of each member after each solver step."""
        return [member.objective_history_ for member in self.members_]

    @property
    @reads
    def feature_relevance_(self) -> Array:
        """Each feature's share of the change in f under its permutation, shape (n_features,)."""
        shares = np.array([member.relevance() for member in self.members_])
        relevance = self.weights_ @ shares
        return np.asarray(relevance / max(relevance.sum(), constants.TINY))

    @property
    def feature_importances_(self) -> Array:
        """The relevance, under the name that `sklearn.feature_selection` reads."""
        return self.feature_relevance_

    @property
    @reads
    def feature_relevance_spread_(self) -> Array:
        """Standard deviation of each feature's share over the members; nan for one member."""
        shares = np.array([term.relevance() for term in self._terms])
        n_members, n_features = shares.shape
        return shares.std(axis=0, ddof=1) if n_members > 1 else np.full(n_features, np.nan)

    @property
    @reads
    def support_relevance_(self) -> Array:
        """Features' shares of the squared slope of each term, shape (n_support, n_features)."""
        slopes = np.vstack([term.support_slopes_ for term in self._terms])
        return np.asarray(slopes / np.maximum(slopes.sum(axis=1, keepdims=True), constants.TINY))

    @reads
    @by_partition
    @blas_limited
    def distance_to_support(self, X: npt.ArrayLike) -> Array:
        """Compute each point's distance to the nearest support point, scaled by the bandwidths.

        The distance is min_i |theta_i o (t - c_i)| over the local members. At distance 2, the
        Gaussian is 0.02. Farther away, predictions approach the linear part or the mean, as far as
        the limits of the features allow: beyond ``limits_``, predictions are those at the limits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        points = self._validate_points(X)
        kernels = [term.kernel_ for term in self._terms if term.objective_ != "dense"]
        return self._map_blocks(
            points, lambda u: np.sqrt(np.min([k.squares(u).min(axis=1) for k in kernels], axis=0))
        )

    @reads
    @blas_limited
    def explain(self, X: npt.ArrayLike, n_nearest: int = 5) -> LABRBFExplanation:
        """Explain the prediction of each point.

        The explanation contains the nearest support points and their contributions; the kernel
        part, linear part and constant, which sum to the prediction; and the effect of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_nearest : int, default=5
            Maximum number of support points per sample.

        Returns
        -------
        LABRBFExplanation
            Values are on the scale of the fit, before clipping: the scores of a classifier, or
            asinh(y / u) if the regressor has a ``target_unit_`` u.
        """
        from sklearn.utils.validation import _check_feature_names_in

        points, count = self._validate_points(X), check_integer("n_nearest", n_nearest, least=1)
        names = _check_feature_names_in(self)
        return explain(self._terms, points, count, names, single=self._single_output)

    @reads
    def summary(self) -> Summary:
        """Summarise the fitted model.

        The summary has one function, the mean of the members. Its details are ``members`` (their
        number), ``held_out_score`` (their mean held-out score, or nan), the arrays ``relevance``
        and ``relevance_spread`` of shape (n_features,), and ``correlated``, the correlated pairs.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        support, used = self.support_, self.weights_ > 0
        details = {
            "members": int(used.sum()),
            "held_out_score": float(self.weights_[used] @ self.validation_score_[used]),
            "relevance": self.feature_relevance_,
            "relevance_spread": self.feature_relevance_spread_,
            "correlated": self.correlated_features_,
        }
        function = FunctionSummary(self, len(support), int(self.n_iter_), details=details)
        return Summary(
            (function,),
            kernel=self.kernel_,
            n_support=len(np.unique(support)),
            drawings=self._drawings,
        )

    @property
    def _drawings(self) -> frozenset[str]:
        """Names of the plots available for the model."""
        return frozenset({"bandwidths", "relevance"})


class RegressionModel(MultiOutputMixin, RegressorMixin, LABRBFModel):
    """Fitted LAB-RBF regressor."""

    _form: ClassVar[SavedForm] = {
        "single_output_": check_flag,
        "target_unit_": numbers("outputs", low=POSITIVE, optional=True),
        "target_low_, target_high_": numbers("outputs"),
    }

    target_low_: Array
    target_high_: Array
    target_unit_: Array | None
    single_output_: bool
    n_outputs_: int

    @property
    def _single_output(self) -> bool:
        return self.single_output_

    @property
    def _n_outputs(self) -> int:
        return self.n_outputs_

    def _validate_arrays(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Array, Array]:
        """Validate the points and targets; return targets of shape (n_samples, n_outputs)."""
        if np.asarray(y).dtype.kind in "SUmM" or scipy.sparse.issparse(y):
            check_targets(y)  # raises an error that names y
        options = {"dtype": FLOAT_TYPES, "y_numeric": True, "multi_output": True, "reset": reset}
        X, y = validate_data(self, X, y, ensure_min_samples=2, **options)
        Y = check_targets(y)
        if reset:
            self.single_output_, self.n_outputs_ = Y.ndim == 1, Y[:1].size
        Y = Y.reshape(len(Y), -1)
        if Y.shape[1] != self.n_outputs_:
            raise ValueError(f"expected y with {self.n_outputs_} outputs, got {Y.shape[1]}")
        return X, Y

    def _check_varies(self, table: Table) -> None:
        """Raise ValueError if a target is constant or its range is too small."""
        for k, column in enumerate(table.Y.T):
            name = "y" if self.single_output_ else f"y[:, {k}]"
            check_varies(name, column, float(np.ptp(column)) / 2, constants.MIN_HALF_RANGE)

    def _clip_to_range(self, mean: Array) -> Array:
        """Convert means to the units of y, and clip them to the target range."""
        predicted = from_scale(mean, self.target_unit_)
        return self._squeeze(predicted.clip(self.target_low_, self.target_high_))

    def _check_loaded(self) -> None:
        if self.single_output_ and self.n_outputs_ != 1:
            raise ValueError(f"expected single_output_ False for {self.n_outputs_} outputs")
        if not (self.target_low_ <= self.target_high_).all():
            raise ValueError("expected target_low_ <= target_high_")


def from_scale(f: Array, unit: Array | None) -> Array:
    """Convert values on the scale of the fit to the units of y: u sinh(f), or f without a unit."""
    if unit is None:
        return f
    return np.asarray(unit * np.sinh(f))  # predictions are then clipped to the target's range
