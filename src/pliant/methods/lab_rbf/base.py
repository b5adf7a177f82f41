"""Base class of the LAB-RBF regressor and classifier."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import compress
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.dask import by_partition
from pliant.core.device import get_device
from pliant.core.estimators import NestedSettings
from pliant.core.progress import CallbackSupport, Deadline
from pliant.core.state import reads, updates
from pliant.core.threads import blas_limited, threads_for
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    Constraint,
    automatic,
    check_choice,
    check_flag,
    check_integer,
    check_job_count,
    check_parameters,
    check_random_state,
    check_vector,
    integer,
    is_collection,
    moderate_number,
    one_of,
    optional,
    real_number,
    validate_data,
)
from pliant.kernels.base import Kernel, WeightedSum
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.algorithm import LABRBFAlgorithm
from pliant.methods.lab_rbf.collection import Encode, draw_sample
from pliant.methods.lab_rbf.dense import DenseFit
from pliant.methods.lab_rbf.explain import LABRBFExplanation, explain
from pliant.methods.lab_rbf.kernel import PROFILES, JoinedRBFKernel, LocalRBFKernel
from pliant.methods.lab_rbf.members import (
    Coefficients,
    FitState,
    LABRBFMember,
    LearnedBasis,
    contributing,
    correlated_pairs,
    join_kernels,
    sum_expansions,
)
from pliant.methods.lab_rbf.paper import LABRBFPaperAlgorithm, PaperTrainer
from pliant.methods.lab_rbf.table import Table, feature_limits
from pliant.methods.lab_rbf.trainer import Layer, Loss, MemberSettings, Trainer
from pliant.methods.summary import FunctionSummary, Summary

FLOAT_TYPES = (np.float64, np.float32)

ALGORITHM = LABRBFAlgorithm()
"""The default algorithm."""


def _check_algorithm(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is "default" or a valid algorithm."""
    if isinstance(value, LABRBFAlgorithm | LABRBFPaperAlgorithm):
        check_parameters(value)
    else:
        check_choice(f"{name}, if not an instance of an algorithm,", value, ("default",))


@dataclass(eq=False, repr=False)
class BaseLABRBF(CallbackSupport, NestedSettings):
    """Mean of several LAB-RBF expansions.

    Parameters
    ----------
    n_support : int or "auto", default="auto"
        Maximum number of support points per member. "auto" is a third of the samples, at most 200.
        With n >= 4000 samples, a member learns the bandwidths of 200 support points. It then adds
        random samples, up to min(n / 5, 1000, 4e5 / sqrt(n)) support points in total, each with the
        bandwidths of the nearest learned one. Support points are distinct training samples.
    profile : {"gaussian", "laplacian", "matern32", "matern52"}, default="gaussian"
        Profile of the local members: h(D) = exp(-D) (as in the paper), exp(-sqrt(D)) (as in the
        authors' code), or the Matern function with smoothness 3/2 or 5/2.
    n_members : int or "auto", default="auto"
        Number of local members (expansions) to average; "auto" is 10 for up to 1000 samples, else
        4. They have different support points, and consecutive members hold out different parts of
        the samples. A member whose held-out loss exceeds twice the median does not contribute.
    dense : bool, default=True
        If True, add dense members: kernel ridge regression with all samples as support points (at
        most 20 000), or kernel logistic regression (at most 2000 support points), in a metric that
        a local member has learned: one for each local member, as long as they have at most 4000
        support points in total. Their hyperparameters and their weight, which may be 0, are chosen
        on the held-out samples.
    algorithm : "default", LABRBFAlgorithm or LABRBFPaperAlgorithm, default="default"
        Objective and initialization of the bandwidths; see `pliant.LABRBFAlgorithm`, and
        `pliant.LABRBFPaperAlgorithm` for the paper's algorithm.
    transforms : "auto" or None, default="auto"
        "auto" also tries log(x + offset) and asinh transforms of features whose absolute skewness
        is above 1. Members alternate between the transforms whose held-out loss is within 10 % of
        the lowest. In regression, "auto" also tries asinh(y / u), where u is the median of the
        nonzero abs(y), for a target with an absolute skewness above 0.9 that asinh reduces. None
        disables transforms.
    alpha : float or "auto", default="auto"
        Ridge penalty, 1e-12 to 1e12, for features on [-1, 1] and squared errors summed over
        samples. While the bandwidths are learned, "auto" is 0.1, or 0.01 with fewer than 150
        support points, times the mean sample weight. The penalty on the coefficients is then
        selected on the held-out samples. Dense members always select theirs. The objective
        "evidence" always learns the penalty for the bandwidths; a number then sets only the penalty
        on the coefficients.
    validation_fraction : float, default=0.2
        Fraction of the samples, in [0, 1), that each member holds out. 0 requires numbers for
        `alpha` and for the algorithm's ``shrinkage``.
    max_iter : int, default=30
        Maximum number of steps per stage, halved in the last stage. Adam needs thousands of steps.
    max_seconds : float, optional
        Time limit; the fit then stops with the best result so far. Local members get three fifths
        of it, and dense members the rest; without enough time, there are no dense members.
    device : str, default="cpu"
        "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the CPU).
    n_jobs : int, optional
        Number of threads, for members and blocks of samples. None uses all cores if the table is
        large enough to benefit, but one thread in a joblib worker or another child process.
    warm_start : bool, default=False
        If True, `fit` continues the members of the previous fit on the given samples. Members keep
        their transforms, bandwidth penalties and the support points with learned bandwidths, take
        up to `max_iter` more steps, and get new coefficients. A larger `n_members` adds members.
        Retained support points keep their indices in ``support_``, which refer to the samples of
        the old fit.
    random_state : int, RandomState instance or None, default=None
        Seed for the support points, the held-out samples and the mini-batches. Transforms do not
        depend on it.
    verbose : bool, default=False
        If True, print the progress of the fit to standard error every two seconds.

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
        Penalties selected on the held-out samples, and held-out R2 in the units of y.
    objective_history_ : list of arrays
        Objective of each member after each step, over all stages.
    feature_relevance_ : array of shape (n_features,)
        Relevance of each feature; the sum is 1. It is proportional to the mean squared change of f
        when the feature is permuted among at most 200 training points, relative to the variance of
        each output of f.
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

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_support": automatic(integer(least=1), named=True),
        "profile": one_of(PROFILES),
        "n_members": automatic(integer(least=1), named=True),
        "dense": check_flag,
        "algorithm": _check_algorithm,
        "transforms": optional(one_of(("auto",))),
        "alpha": automatic(moderate_number(), named=True),
        "validation_fraction": real_number(least=0),
        "max_iter": integer(least=1),
        "max_seconds": optional(real_number(above=0)),
        "n_jobs": check_job_count,
        "warm_start": check_flag,
        "verbose": check_flag,
    }

    _settings: ClassVar = {"algorithm": lambda _: LABRBFAlgorithm()}

    n_support: int | Literal["auto"] = "auto"
    _: KW_ONLY
    profile: Literal["gaussian", "laplacian", "matern32", "matern52"] = "gaussian"
    n_members: int | Literal["auto"] = "auto"
    dense: bool = True
    algorithm: Literal["default"] | LABRBFAlgorithm | LABRBFPaperAlgorithm = "default"
    transforms: Literal["auto"] | None = "auto"
    alpha: float | Literal["auto"] = "auto"
    validation_fraction: float = 0.2
    max_iter: int = 30
    max_seconds: float | None = None
    device: str = "cpu"
    n_jobs: int | None = None
    warm_start: bool = False
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    members_: list[LABRBFMember] = field(init=False)
    weights_: Array = field(init=False)
    n_iter_: int = field(init=False)
    correlated_features_: Indices = field(init=False)

    def _check_combinations(self) -> None:
        fraction, algorithm = self.validation_fraction, self.algorithm
        if fraction >= 1:
            raise ValueError(f"expected validation_fraction < 1, got {fraction:g}")
        if isinstance(algorithm, LABRBFPaperAlgorithm):
            needed = {"validation_fraction": 0, "transforms": None, "warm_start": False}
            for name, value in needed.items():
                if getattr(self, name) != value:
                    raise ValueError(
                        f"expected {name}={value} with algorithm={algorithm}, as in "
                        f"LABRBFRegressor.from_paper, got {getattr(self, name)!r}"
                    )
            if self.alpha == "auto":
                raise ValueError(
                    f"expected a number for alpha with algorithm={algorithm}, such as 1e-3, got "
                    "'auto'"
                )
        learned = "auto" if algorithm == "default" else getattr(algorithm, "shrinkage", None)
        if fraction == 0 and "auto" in (self.alpha, learned):
            raise ValueError(
                "expected validation_fraction > 0 to tune alpha and shrinkage on held-out rows, "
                f"or numbers for alpha and shrinkage, got validation_fraction={fraction:g}"
            )

    def _warm_start_state(self) -> Self | None:
        """Return a copy of the fitted model to continue, or None without a warm start."""
        warm = check_flag("warm_start", self.warm_start) and self.__sklearn_is_fitted__()
        return copy(self) if warm else None

    def _check_warm_start(self, state: Self) -> None:
        """Raise ValueError if the data or parameters do not match the previous fit `state`."""
        members, classes = state._local_members, getattr(state, "classes_", None)
        got: Any = getattr(self, "classes_", None)
        if classes is not None and not np.array_equal(classes, got):
            raise ValueError(
                f"expected labels {classes.tolist()} with warm_start=True, as in the "
                f"previous fit, got {np.asarray(got).tolist()}"
            )
        if "interpolation" in {member.objective_ for member in members}:
            raise ValueError(
                "expected warm_start=False after a fit with LABRBFPaperAlgorithm (its coefficients "
                "depend on the samples), got True"
            )
        shape = members[0].kernel_.centres.shape[1], len(members[0].intercept_)
        if shape != (self.n_features_in_, self._n_outputs):
            raise ValueError(
                f"expected {shape[0]} features and {shape[1]} outputs with warm_start=True, as in "
                f"the previous fit, got {self.n_features_in_} and {self._n_outputs}"
            )
        if self.n_members != "auto" and self.n_members < len(members):
            raise ValueError(
                f"expected n_members >= {len(members)} with warm_start=True, as in the previous "
                f"fit, got {self.n_members}"
            )

    def _build_table(
        self, X: Any, y: Any, sample_weight: Any, *, refit: bool = False
    ) -> tuple[Table, Table | None]:
        """Build the tables of training and calibration rows; `refit` keeps the fitted encoding."""
        # Automatic penalties are proportional to the mean weight, so that its size has no effect.
        relative = not refit and self.alpha == "auto"
        if not is_collection(X):
            table, reserved = self._encode_arrays(X, y, sample_weight, refit=refit)
            return table.without_equal_weights() if relative else table, reserved
        if y is None:
            raise ValueError(f"expected targets y for {type(self).__name__}, got None")
        encoder = self._label_encoder()
        drawn = draw_sample(
            X, y, sample_weight, seed=self.random_state, encoder=encoder, relative=relative
        )
        table, reserved = self._encode_arrays(*drawn.arrays, refit=refit)
        return drawn.attach_rows(table, reserved), reserved

    def _build_trainer(
        self,
        table: Table,
        deadline: Deadline,
        loss: Loss,
        layer: Layer | None = None,
        state: Self | None = None,
    ) -> Trainer:
        """Build the trainer for the members; `state` is a previous fit to continue."""
        classes, fraction, algorithm = self._class_codes(table), self.validation_fraction, ALGORITHM
        if isinstance(self.algorithm, LABRBFAlgorithm):
            algorithm = self.algorithm
        if classes is not None and len(np.unique(classes)) == len(table):
            fraction = 0.0
        m = self._resolve_members(len(table))
        if state is not None and self.n_members == "auto":
            m = len(state._local_members)
        return Trainer(
            settings=[self._resolve_settings(table, algorithm, k) for k in range(m)],
            seeds=self._draw_seeds(m),
            device=get_device(self.device, algorithm.dtype),
            deadline=deadline.first(constants.LOCAL_SHARE) if self.dense else deadline,
            loss=loss,
            layer=layer,
            validation_fraction=fraction,
            tries_scales=self.transforms is not None and fraction > 0,
            n_jobs=self.n_jobs,
            classes=classes,
        )

    def _build_paper_trainer(
        self, algorithm: LABRBFPaperAlgorithm, table: Table, deadline: Deadline
    ) -> PaperTrainer:
        """Build the trainer for the paper's algorithm."""
        return PaperTrainer(
            algorithm=algorithm,
            n_support=self._resolve_support(len(table)),
            profile=self.profile,
            alpha=float(self.alpha),
            max_iter=self.max_iter,
            seeds=self._draw_seeds(self._resolve_members(len(table))),
            device=get_device(self.device, algorithm.dtype),
            deadline=deadline,
        )

    def _draw_seeds(self, n_members: int) -> Indices:
        """Draw one seed per member."""
        rng = check_random_state(self.random_state)
        return rng.randint(2**31 - 1, size=n_members).astype(np.intp)

    def _resolve_members(self, n_rows: int) -> int:
        """Return the number of local members."""
        if self.n_members != "auto":
            return int(self.n_members)
        if n_rows <= constants.MEMBER_ROWS:
            return constants.MANY_MEMBERS
        return constants.FEW_MEMBERS

    def _resolve_support(self, n_rows: int) -> int:
        """Return the number of support points with learned bandwidths."""
        if self.n_support != "auto":
            return int(self.n_support)
        return max(1, min(200, n_rows // 3))

    def _resolve_settings(self, table: Table, algorithm: LABRBFAlgorithm, k: int) -> MemberSettings:
        """Resolve the automatic parameters of the k-th member, k = 0, 1, ..."""
        n_rows, weight, objective = len(table), table.mean_weight, algorithm.objective
        many = n_rows >= constants.MANY_ROWS
        if objective == "mixed":
            objective = "evidence" if k % 2 and not many else "ridge"
        n_support = n_grown = self._resolve_support(n_rows)
        if many and self.n_support == "auto":
            # Solving for the coefficients of m centres costs O(n m^2), which limits m.
            most = int(math.sqrt(constants.GROWTH_COST / table.n_rows))
            n_grown = min(n_rows // constants.ROWS_PER_CENTRE, constants.MAX_CENTRES, most)
        few = n_support < constants.FEW_CENTRES
        # The objective is a sum over rows, so penalties are proportional to the mean weight.
        alpha, alphas = (0.01 if few else 0.1) * weight, weight * constants.ALPHAS
        if self.alpha != "auto":
            alpha = float(self.alpha)
            alphas = np.array([alpha])
        shrinkages: tuple[float, ...] = constants.SHRINKAGES
        if n_rows <= constants.MEMBER_ROWS:
            shrinkages = constants.FEW_SHRINKAGES
        if algorithm.shrinkage != "auto":
            shared = algorithm.shrinkage >= 1e6  # the bandwidths of a feature are then equal
            shrinkages = (math.inf if shared else float(algorithm.shrinkage),)
        return MemberSettings(
            algorithm=algorithm,
            n_support=n_support,
            n_grown=n_grown,
            objective=objective,
            linear=k % 4 != 1 if algorithm.linear == "auto" else bool(algorithm.linear),
            alpha=alpha,
            alphas=alphas,
            shrinkages=shrinkages,
            profile=self.profile,
            max_iter=self.max_iter,
            learns_shared=algorithm.initial_bandwidth == "auto",
        )

    def _moved(self, basis: LearnedBasis, table: Table) -> LearnedBasis:
        """Return the basis for new samples; the centres of dense regressors are the samples."""
        return basis

    @abstractmethod
    def _learn_dense(
        self, table: Table, fits: list[FitState], deadline: Deadline
    ) -> DenseFit | None:
        """Learn dense members from the local ones; None if there are none."""

    def _dense_sources(self, fits: list[FitState], deadline: Deadline) -> list[FitState]:
        """Return the local fits from which dense members are learned."""
        if not self.dense or deadline.stopped:
            return []
        # If all features are constant, there is no metric.
        used = [fit for fit in compress(fits, contributing(fits)) if fit.basis.warp_.slopes.any()]
        return [fit for fit in used if fit.metrics is not None]

    def _store_members(
        self,
        table: Table,
        fits: list[FitState],
        dense: DenseFit | None,
        coefficients: list[Coefficients],
    ) -> None:
        """Store the members with their relevances, and their weights."""
        bases = [fit.basis for fit in fits] + ([] if dense is None else dense.bases)
        samples = [fit.split.final[: constants.SLOPE_ROWS] for fit in fits]
        samples += [samples[0][: constants.DENSE_SLOPE_ROWS]] * (len(bases) - len(fits))
        self.members_ = [
            LABRBFMember.build(basis, each, table.points(some))
            for basis, each, some in zip(bases, coefficients, samples, strict=True)
        ]
        self.n_iter_ = sum(len(member.objective_history_) for member in self.members_)
        self.n_iter_ = max(1, self.n_iter_)
        share, used = 0.0 if dense is None else dense.weight, contributing(fits)
        n_dense = len(bases) - len(fits)
        local = np.where(used, (1.0 - share) / used.sum(), 0.0)
        self.weights_ = np.append(local, np.full(n_dense, share / max(1, n_dense)))
        # Correlate the 1000 most relevant features on 1000 training rows.
        rows = np.linspace(0, len(table) - 1, min(len(table), 1000)).astype(np.intp)
        features = np.sort(np.argsort(-self.feature_relevance_, kind="stable")[:1000])
        pairs = correlated_pairs(table.points(rows)[:, features])
        self.correlated_features_ = features[pairs]

    @abstractmethod
    def _encode_arrays(
        self, X: Any, y: Any, sample_weight: Any, *, refit: bool
    ) -> tuple[Table, Table | None]:
        """Validate and encode arrays for `_build_table`."""

    @abstractmethod
    def _solve_coefficients(
        self, bases: Sequence[LearnedBasis], table: Table
    ) -> list[Coefficients]:
        """Fit the coefficients of each basis to all rows."""

    def _class_codes(self, table: Table) -> Indices | None:
        """Return the class of each row as a number, or None for regression."""
        return None

    def _label_encoder(self) -> Callable[[Any], Encode] | None:
        """Return a function that builds an encoding from labels, or None for numeric targets."""
        return None

    def _set_target(self, table: Table) -> Table:
        """Return the table of new data, with targets on the scale of the previous fit."""
        return table

    @property
    @abstractmethod
    def _single_output(self) -> bool:
        """True if the output is a vector."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of outputs of the members."""

    @blas_limited
    @updates
    def refit_coefficients(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None
    ) -> Self:
        """Refit the coefficients to new samples, keeping the support points and bandwidths.

        For any objective, each member's coefficients are refitted with its ``alpha_``: by ridge
        regression in one pass over blocks of samples, or by logistic regression for classifiers.
        The new samples become the support points of a regressor's dense members.
        Any calibration of the intervals becomes invalid and is deleted; call `calibrate` again.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        table = self._build_table(X, y, sample_weight, refit=True)[0]
        (low, high), new = self.limits_, feature_limits(table)
        limits = np.stack([np.minimum(low, new[0]), np.maximum(high, new[1])])
        table = self._set_target(table)
        points = table.points(np.arange(len(table))[:: max(1, len(table) // constants.SLOPE_ROWS)])
        bases = [self._moved(replace(member, limits_=limits), table) for member in self.members_]
        solved = zip(bases, self._solve_coefficients(bases, table), strict=True)
        self.members_ = [LABRBFMember.build(basis, each, points) for basis, each in solved]
        return self

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
        n_centres = sum(len(term.support_) for term in terms)
        worth_it = len(points) * n_centres >= 10 * constants.MIN_THREADED
        parallel = Parallel(threads_for(self.n_jobs, worth_it=worth_it), require="sharedmem")
        blocks = (points[start : start + 8192] for start in range(0, len(points), 8192))
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
            key = b"%d" % k if member.objective_ == "dense" else member.warp_.key()
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
        Gaussian is 0.02; farther away, predictions approach the linear part or the mean.

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

    def _check_loaded(self) -> None:
        members: object = self.members_
        if not isinstance(members, list) or not all(isinstance(m, LABRBFMember) for m in members):
            raise ValueError("expected members_ to be a list of LABRBFMember")
        weights = check_vector("weights_", self.weights_, len(members))
        if weights.min() < 0 or not abs(weights.sum() - 1.0) < 1e-6:
            raise ValueError(f"expected weights_ >= 0 with the sum 1, got {weights!r:.80}")
        shape = self.n_features_in_, self._n_outputs
        if {(m.kernel_.centres.shape[1], len(m.intercept_)) for m in members} != {shape}:
            raise ValueError(f"expected members with {shape[0]} features and {shape[1]} outputs")
