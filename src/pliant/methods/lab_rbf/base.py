"""Parameters, fitted attributes and predictions of LAB-RBF regressors and classifiers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from inspect import cleandoc
from itertools import compress
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.dask import by_partition
from pliant.core.device import get_device
from pliant.core.progress import CallbackSupport, Deadline, FitProgress
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import (
    Constraint,
    automatic,
    check_choice,
    check_flag,
    check_integer,
    check_job_count,
    check_parameters,
    check_random_state,
    integer,
    is_collection,
    one_of,
    optional,
    real_number,
    validate_data,
)
from pliant.kernels.base import Kernel
from pliant.methods.lab_rbf.algorithm import LABRBFAlgorithm
from pliant.methods.lab_rbf.collection import Encode, draw
from pliant.methods.lab_rbf.constants import (
    ALPHAS,
    FEW,
    LARGE,
    PROBES,
    SHRINKAGES,
    SLOPE_ROWS,
    TINY,
)
from pliant.methods.lab_rbf.explain import LABRBFExplanation, explain, spread_over
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel
from pliant.methods.lab_rbf.members import (
    LABRBFMember,
    Table,
    check_members,
    correlated_features,
    joined,
    limits_of,
    mean_of,
    symmetric_kernel,
)
from pliant.methods.lab_rbf.trainer import (
    FitState,
    Layer,
    Loss,
    MemberSettings,
    Trainer,
)
from pliant.methods.summary import FunctionSummary, Summary

FLOATS = (np.float64, np.float32)

PARAMETERS = """
n_support : int or "auto", default="auto"
    Maximum number of support points of a member; "auto": a third of the samples up to 200, and
    400 from 4000 samples on. At most the number of different samples to learn from.
profile : {"gaussian", "laplacian", "matern52"}, default="gaussian"
    h(D) = exp(-D) (the paper's text), exp(-sqrt(D)) (the authors' code), or the Matern
    function of smoothness 5/2.
n_members : int, default=4
    Number of expansions that are averaged. Each has its own support points and held-out samples;
    a member with more than twice the median held-out loss is left out.
algorithm : "default" or LABRBFAlgorithm, default="default"
    Objective, start and solver of the bandwidths, see `pliant.methods.LABRBFAlgorithm`.
transforms : "auto" or None, default="auto"
    "auto": skewed features (skewness > 1) are tried on the scales log(x + offset) and asinh
    as well, and in regression a positive skewed target as its logarithm (from 1000 samples
    on); members alternate between the scales with nearly the lowest loss of small expansions.
    None: no other scale is tried.
alpha : float or "auto", default="auto"
    Ridge penalty > 0, for features on [-1, 1] and a sum over samples. "auto": .1, or .01 with
    fewer than 150 support points, while bandwidths are learned (times the mean sample weight;
    1e-3 with "interpolation"), then the best on the held-out samples. "evidence" learns the
    penalty of this stage; a number is then the penalty of the coefficients.
validation_fraction : float, default=0.2
    Share of the samples, in [0, 1), that each member holds out. 0 needs numbers for `alpha`
    and for ``shrinkage`` of the algorithm.
max_iter : int, default=30
    Maximum number of steps of each stage, the last one half as many; Adam needs some thousand.
max_seconds : float, optional
    Time limit, after which the best result so far is kept.
device : str, default="cpu"
    "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the CPU).
n_jobs : int, optional
    Number of threads, over members and blocks of samples; None: all cores where the table is
    large enough for that to save time (one in a worker of joblib or another child process).
warm_start : bool, default=False
    If True, `fit` continues the members of an earlier fit: they keep their support points, scales
    and penalties of the bandwidths, take up to `max_iter` more steps and get new coefficients, all
    on the samples given now. A larger `n_members` adds members.
random_state : int, RandomState instance or None, default=None
    Seed of the support points, the held-out samples and the mini-batches.
verbose : bool, default=False
    If True, print a line about the progress of the fit every two seconds, to standard error.
"""
"""Documentation of the parameters that both estimators have."""

Class = TypeVar("Class", bound=type)


def documented(cls: Class) -> Class:
    """Insert the documentation of the shared parameters at %(parameters)s of a docstring."""
    cls.__doc__ = cleandoc(cls.__doc__ or "") % {"parameters": cleandoc(PARAMETERS)}
    return cls


def _check_algorithm(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is "default" or a `LABRBFAlgorithm` of valid parameters."""
    if isinstance(value, LABRBFAlgorithm):
        check_parameters(value)
    else:
        check_choice(f"{name}, if not a LABRBFAlgorithm,", value, ("default",))


class WarmStartState(NamedTuple):
    """The part of an earlier fit that a warm start continues."""

    members: list[LABRBFMember]
    log_target: bool
    classes: npt.NDArray[Any] | None  # of a classifier


@dataclass(eq=False, repr=False)
class BaseLABRBF(CallbackSupport, BaseEstimator):
    """The mean of several LAB-RBF expansions."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_support": automatic(integer(least=1), named=True),
        "profile": one_of(PROFILES),
        "n_members": integer(least=1),
        "algorithm": _check_algorithm,
        "transforms": optional(one_of(("auto",))),
        "alpha": automatic(real_number(above=0), named=True),
        "validation_fraction": real_number(least=0),
        "max_iter": integer(least=1),
        "max_seconds": optional(real_number(above=0)),
        "n_jobs": check_job_count,
        "warm_start": check_flag,
        "verbose": check_flag,
    }

    n_support: int | Literal["auto"] = "auto"
    _: KW_ONLY
    profile: Literal["gaussian", "laplacian", "matern52"] = "gaussian"
    n_members: int = 4
    algorithm: Literal["default"] | LABRBFAlgorithm = "default"
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
    averaged_: Mask = field(init=False)
    n_iter_: int = field(init=False)
    correlated_features_: Indices = field(init=False)

    @property
    def _algorithm(self) -> LABRBFAlgorithm:
        """The algorithm, as an object."""
        given = self.algorithm
        return given if isinstance(given, LABRBFAlgorithm) else LABRBFAlgorithm()

    def _check_combinations(self) -> None:
        """Raise ValueError for parameters that do not go together."""
        share = self.validation_fraction
        if share >= 1:
            raise ValueError(f"expected validation_fraction < 1, got {share:g}")
        if share == 0 and "auto" in (self.alpha, self._algorithm.shrinkage):
            raise ValueError(
                "expected validation_fraction > 0, or numbers for alpha and shrinkage, which "
                f"the held-out rows choose, got {share:g}"
            )

    def _warm_start_state(self) -> WarmStartState | None:
        """Return the state to warm-start from, or None."""
        if not check_flag("warm_start", self.warm_start) or not self.__sklearn_is_fitted__():
            return None
        log_target = getattr(self, "target_transform_", None) == "log"
        return WarmStartState(self.members_, log_target, getattr(self, "classes_", None))

    def _check_warm_start(self, state: WarmStartState) -> None:
        """Raise ValueError if data or parameters do not belong to members of an earlier fit."""
        members = state.members
        if state.classes is not None and not np.array_equal(state.classes, self.classes_):
            raise ValueError(
                f"expected labels {list(state.classes)} with warm_start=True, as in the fit "
                f"before, got {list(self.classes_)}"
            )
        shape = members[0].kernel_.centres.shape[1], len(members[0].intercept_)
        if shape != (self.n_features_in_, self._n_outputs):
            raise ValueError(
                f"expected {shape[0]} features and {shape[1]} outputs with warm_start=True, as in "
                f"the fit before, got {self.n_features_in_} and {self._n_outputs}"
            )
        if self.n_members < len(members):
            raise ValueError(
                f"expected n_members >= {len(members)}, the number of members that warm_start=True "
                f"continues, got {self.n_members}"
            )
        if "interpolation" in (self._algorithm.objective, *(m.objective_ for m in members)):
            raise ValueError(
                "expected warm_start=False with or after objective='interpolation', whose "
                "coefficients belong to the samples of the first fit, got True"
            )

    def _table(
        self, X: Any, y: Any, sample_weight: Any, *, again: bool = False
    ) -> tuple[Table, Table | None]:
        """Validate and encode data: rows of positive weight, and calibration rows.

        `again` asks for data that fit an earlier fit. A Dask collection gives a `DaskTable`.
        """
        if not is_collection(X):
            return self._prepare(X, y, sample_weight, again=again)
        if y is None:
            raise ValueError(f"expected y, the targets of {type(self).__name__}, got None")
        drawn = draw(X, y, sample_weight, seed=self.random_state, encoder=self._label_encoder())
        table, reserved = self._prepare(*drawn.arrays, again=again)
        return drawn.attached(table, reserved), reserved

    def _trainer(
        self, table: Table, progress: FitProgress, loss: Loss, layer: Layer | None = None
    ) -> Trainer:
        """Build the trainer of the members."""
        rng, n = check_random_state(self.random_state), self.n_members
        return Trainer(
            settings=list(map(partial(self._member_settings, table), range(n))),
            seeds=rng.randint(2**31 - 1, size=n + PROBES).astype(np.intp),
            device=get_device(self.device, self._algorithm.dtype),
            deadline=Deadline(progress, self.max_seconds),
            loss=loss,
            layer=layer,
            validation_fraction=self.validation_fraction,
            tries_scales=self.transforms is not None and self.validation_fraction > 0,
            n_jobs=self.n_jobs,
        )

    def _member_settings(self, table: Table, k: int) -> MemberSettings:
        """Resolve the automatic parameters of the k-th member, k = 0, 1, ..."""
        algorithm, n_rows, weight = self._algorithm, len(table), table.mean_weight
        objective = algorithm.objective
        if objective == "mixed":
            objective = "evidence" if k % 2 and n_rows < LARGE else "ridge"
        n_support = 400 if n_rows >= LARGE else max(1, min(200, n_rows // 3))
        if self.n_support != "auto":
            n_support = int(self.n_support)
        few = n_support < FEW
        # Penalties belong to sums over rows: they grow with the mean weight.
        alpha = 1e-3 if objective == "interpolation" else (0.01 if few else 0.1) * weight
        alphas = weight * ALPHAS
        if self.alpha != "auto":
            alpha = float(self.alpha)
            alphas = np.array([alpha])
        shrinkages: tuple[float, ...] = (*SHRINKAGES, 1e-5, 0.0) if few else SHRINKAGES
        if algorithm.shrinkage != "auto":  # from 1e6 on, bandwidths of a feature are equal
            rigid = algorithm.shrinkage >= 1e6
            shrinkages = (math.inf if rigid else float(algorithm.shrinkage),)
        linear, first = algorithm.linear, algorithm.initial_bandwidth
        if linear == "auto":
            linear = objective != "interpolation" and k % 4 != 1
        return MemberSettings(
            n_support=n_support,
            objective=objective,
            linear=bool(linear),
            alpha=alpha,
            alphas=alphas,
            shrinkages=shrinkages,
            profile=self.profile,
            support=algorithm.support,
            solver=algorithm.solver,
            max_iter=self.max_iter,
            learning_rate=algorithm.learning_rate,
            initial_bandwidth=None if first == "auto" else float(first),
        )

    def _store(self, table: Table, fits: list[FitState]) -> None:
        """Store the members, their mean and their dependence on the features."""
        self.members_, self.n_iter_, losses = [], 0, []
        for member, split, *_ in fits:
            member.measure(table.points(split.everything[:SLOPE_ROWS]))
            self.members_.append(member)
            self.n_iter_ += len(member.objective_history_)
            losses.append(1.0 - member.validation_score_)
        self.n_iter_ = max(1, self.n_iter_)
        # A member with more than twice the median loss is left out; none where losses are nan.
        self.averaged_ = ~(np.array(losses) > 2.0 * np.median(losses))
        self.correlated_features_ = correlated_features(table, self.feature_relevance_)

    @abstractmethod
    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, again: bool
    ) -> tuple[Table, Table | None]:
        """Validate and encode arrays, as `_table` does."""

    @abstractmethod
    def _solve_coefficients(self, members: list[LABRBFMember], table: Table) -> None:
        """Fit the coefficients of members to all rows."""

    def _label_encoder(self) -> Callable[[Any], Encode] | None:
        """Return the encoder of a classifier: labels -> (labels of rows -> targets)."""
        return None

    def _take_target(self, table: Table) -> Table:
        """Return the table of new data with targets on the scale of an earlier fit."""
        return table

    @property
    @abstractmethod
    def _single_output(self) -> bool:
        """True for one output, given as a vector."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """The number of outputs of the members."""

    @blas_limited
    def refit_coefficients(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None
    ) -> Self:
        """Learn the coefficients again from new samples; support points and bandwidths stay.

        The coefficients of each member become the ridge fit with its ``alpha_``, for any objective.
        One pass over the samples, in blocks. A calibration of intervals is dropped, since its
        errors belong to the old coefficients: call `calibrate` again.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        check_is_fitted(self)
        data, _ = self._table(X, y, sample_weight, again=True)
        table = self._take_target(data)
        some = table.points(np.arange(len(table))[:: max(1, len(table) // SLOPE_ROWS)])
        (low, high), more = self.limits_, limits_of(table)
        for member in self.members_:
            member.limits_ = np.stack([np.minimum(low, more[0]), np.maximum(high, more[1])])
        self._solve_coefficients(self.members_, table)
        for member in self.members_:
            member.measure(some)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return True after a completed fit."""
        return "members_" in vars(self)

    @property
    def _used(self) -> list[LABRBFMember]:
        """The members that predict."""
        return list(compress(self.members_, self.averaged_))

    @property
    def _alike(self) -> list[LABRBFMember]:
        """The members that predict, if they map the features alike."""
        used = self._used
        if len({m.warp_.key() for m in used}) > 1:
            raise AttributeError(
                f"the members of this {type(self).__name__} map the features differently: use "
                "members_[k].kernel_, members_[k].dual_coef_ and so on"
            )
        return used

    def _points(self, X: npt.ArrayLike) -> Array:
        """Check points for a fitted model."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=FLOATS))

    def _mean(self, X: npt.ArrayLike) -> Array:
        """Compute the mean of the members' expansions, shape (n_samples, n_outputs)."""
        points = self._points(X)
        return mean_of(self._used, points, self.n_jobs)

    def _in_blocks(self, points: Array, outputs: Callable[[Array], Array]) -> Array:
        """Apply a function to checked points in float64, block by block."""
        width = max(len(member.support_) for member in self._used) + points.shape[1]
        return np.asarray(in_blocks(points, width, lambda block: outputs(block.astype(float))))

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._single_output else values

    @property
    def kernel_(self) -> LocalRBFKernel:
        """The learned kernel, asymmetric: ``kernel_(X, support_vectors_)``."""
        return joined([member.kernel_ for member in self._alike])

    @property
    def symmetric_kernel_(self) -> Kernel:
        """A symmetric kernel with the learned widths, for methods that cannot take ``kernel_``.

        Each feature has one bandwidth, the geometric mean over the support points of all members.
        Members that map the features differently have a kernel each, and this is their mean.
        """
        return symmetric_kernel(self._used)

    @property
    def support_(self) -> Indices:
        """Indices of the support points in the training data."""
        return np.concatenate([member.support_ for member in self._used])

    @property
    def support_vectors_(self) -> Array:
        """The support points, shape (n_support, n_features), in the units of the features."""
        return np.vstack([member.kernel_.centres for member in self._used])

    @property
    def bandwidths_(self) -> Array:
        """theta, shape (n_support, n_features), in inverse units; 0 for constant features."""
        return np.vstack([member.kernel_.bandwidths for member in self._alike])

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the support points: (n_support,), or (n_support, n_outputs)."""
        used = self._alike
        return self._shaped(np.vstack([member.dual_coef_ for member in used]) / len(used))

    @property
    def coef_(self) -> Array:
        """Coefficients of the features: (n_features,), or (n_features, n_outputs)."""
        return self._shaped(np.mean([m.linear_part()[0] for m in self._alike], axis=0))

    @property
    def intercept_(self) -> Any:
        """The constant, a number, or shape (n_outputs,)."""
        intercept = np.mean([m.linear_part()[1] for m in self._alike], axis=0)
        return float(intercept[0]) if self._single_output else intercept

    @property
    def limits_(self) -> Array:
        """Lowest and highest values of the features; points are moved, ``X.clip(*limits_)``."""
        return self.members_[0].limits_

    @property
    def alpha_(self) -> Array:
        """The ridge penalty of each member's coefficients."""
        return np.array([member.alpha_ for member in self.members_])

    @property
    def shrinkage_(self) -> Array:
        """The shrinkage penalty of each member; inf: one bandwidth for each feature."""
        return np.array([member.shrinkage_ for member in self.members_])

    @property
    def validation_score_(self) -> Array:
        """The score of each member on its held-out samples; 1 is perfect, 0 a constant."""
        return np.array([member.validation_score_ for member in self.members_])

    @property
    def objective_history_(self) -> list[Array]:
        """The objective of each member after each step of its solver."""
        return [member.objective_history_ for member in self.members_]

    @property
    def feature_relevance_(self) -> Array:
        """Shares of the features in the change of f by permutation, shape (n_features,)."""
        relevance = np.sum(list(map(LABRBFMember.relevance, self._used)), axis=0)
        return np.asarray(relevance / max(relevance.sum(), TINY))

    @property
    def feature_relevance_spread_(self) -> Array:
        """The standard deviation of each feature's share over the members; nan for one member."""
        return spread_over(np.array([member.relevance() for member in self._used]))

    @property
    def support_relevance_(self) -> Array:
        """Shares in the squared slope of each support point's term, (n_support, n_features)."""
        slopes = np.vstack([member.support_slopes_ for member in self._used])
        return np.asarray(slopes / np.maximum(slopes.sum(axis=1, keepdims=True), TINY))

    @by_partition
    @blas_limited
    def distance_to_support(self, X: npt.ArrayLike) -> Array:
        """Compute the distance of each point from the nearest support point, in its bandwidths.

        The distance is min_i |theta_i o (t - c_i)| over all members. A Gaussian at distance 2 has
        the value .02: beyond, a prediction returns to the linear part, or to the mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        points, kernels = self._points(X), [member.kernel_ for member in self._used]
        return self._in_blocks(
            points, lambda u: np.sqrt(np.min([k.squares(u).min(axis=1) for k in kernels], axis=0))
        )

    @blas_limited
    def explain(self, X: npt.ArrayLike, n_nearest: int = 5) -> LABRBFExplanation:
        """Explain the prediction of each point.

        The explanation has the nearest support points and their contributions; the kernel part, the
        linear part and the constant, whose sum is the prediction; and the effect of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_nearest : int, default=5
            Number of support points for each point, at most.

        Returns
        -------
        LABRBFExplanation
            On the scale that was learned, before predictions are clipped: the scores of a
            classifier, or log y where ``target_transform_`` is "log".
        """
        points, count = self._points(X), check_integer("n_nearest", n_nearest, least=1)
        return explain(self._used, points, count, single_output=self._single_output)

    def summary(self) -> Summary:
        """Summarise the fitted model, in the form that all methods share.

        Its one function is the mean of the members. The details are ``members`` (their number),
        ``held_out_score`` (their mean score on held-out samples; nan without such samples),
        ``relevance`` and ``relevance_spread``, arrays of shape (n_features,), and ``correlated``,
        the pairs of features that share a relevance.

        Returns
        -------
        Summary
        """
        check_is_fitted(self)
        support = self.support_
        details = {
            "members": int(self.averaged_.sum()),
            "held_out_score": float(self.validation_score_[self.averaged_].mean()),
            "relevance": self.feature_relevance_,
            "relevance_spread": self.feature_relevance_spread_,
            "correlated": self.correlated_features_,
        }
        function = FunctionSummary(self, len(support), int(self.n_iter_), details=details)
        return Summary(
            (function,),
            kernel=getattr(self, "kernel_", None),  # None where members map features differently
            n_support=len(np.unique(support)),
            drawings=self._drawings,
        )

    @property
    def _drawings(self) -> frozenset[str]:
        """Names of the drawings that plots can make of the model."""
        return frozenset({"bandwidths", "relevance"})

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        check_members(self.members_, self.averaged_, self.n_features_in_, self._n_outputs)
