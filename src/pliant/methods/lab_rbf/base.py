"""What LAB-RBF regressors and classifiers share: parameters, fit, and the learned attributes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import cleandoc
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.dask import by_partition
from pliant.core.device import get_device
from pliant.core.progress import CallbackSupport, FitProgress, with_callbacks
from pliant.core.threads import blas_limited
from pliant.core.typing import Array, Indices
from pliant.core.validation import (
    Constraint,
    automatic,
    check_flag,
    check_integer,
    check_job_count,
    check_parameters,
    check_real,
    fresh,
    integer,
    is_collection,
    one_of,
    optional,
    real_number,
    validate_data,
)
from pliant.kernels.base import Kernel
from pliant.methods.lab_rbf.collection import Encode, draw
from pliant.methods.lab_rbf.explain import (
    LABRBFExplanation,
    explain,
    spread_over,
)
from pliant.methods.lab_rbf.features import Table
from pliant.methods.lab_rbf.kernel import PROFILES, LocalRBFKernel
from pliant.methods.lab_rbf.members import (
    TINY,
    LABRBFMember,
    check_members,
    correlated_features,
    fit_coefficients,
    joined,
    limits_of,
    mean_of,
    symmetric_kernel,
)
from pliant.methods.lab_rbf.trainer import (
    SLOPE_ROWS,
    STRATEGIES,
    EnsembleTrainer,
    Run,
    Watch,
    is_automatic,
)
from pliant.methods.summary import FunctionSummary, Summary

AVERAGED = 2.0  # Members whose held-out loss is more than this times the median are left out.

_FLOATS = (np.float64, np.float32)

PARAMETERS = """
n_support : int or "auto", default="auto"
    Maximum number of support points of a member; "auto": a third of the samples up to 200, and
    400 from 4000 samples on. At most the number of different samples to learn from.
profile : {"gaussian", "laplacian", "matern52"}, default="gaussian"
    h(D) = exp(-D) (the paper's text), exp(-sqrt(D)) (the authors' code), or the Matern
    function of smoothness 5/2.
n_members : int, default=4
    Number of expansions that are averaged. Each has its own support points and its own
    held-out samples; one whose held-out loss is more than twice the median is left out.
objective : {"mixed", "ridge", "evidence", "interpolation"}, default="mixed"
    Objective of the bandwidths, see `pliant.methods.lab_rbf.objective`: the penalised squared
    error of the ridge fit to all samples; the Gaussian marginal likelihood; the error of a
    function that interpolates the support points (the paper, Eq. 9). "mixed": "ridge" and
    "evidence" take turns; from 4000 samples on, where the evidence does worse, "ridge".
linear : bool or "auto", default="auto"
    Whether the features themselves join the kernel values; "auto": in all members but every
    fourth, and never with "interpolation".
transforms : "auto" or None, default="auto"
    "auto": skewed features (skewness > 1) are tried on the scales log(x + offset) and asinh
    as well, and in regression a positive skewed target as its logarithm (from 1000 samples
    on); members take turns with the scales that a small expansion does about equally well on.
    None: none of these is tried.
alpha : float or "auto", default="auto"
    Ridge penalty > 0, for features on [-1, 1] and a sum over samples. "auto": .1, or .01 with
    fewer than 150 support points, while bandwidths are learned (times the mean sample weight;
    1e-3 with "interpolation"), then the best on the held-out samples. With "evidence", which
    learns its own while bandwidths are learned, a number is the penalty of the coefficients.
shrinkage : float or "auto", default="auto"
    Penalty parameter >= 0 of the variance of log theta^2 over the support points; inf: one
    bandwidth for each feature. "auto": the best of a falling path on the held-out samples.
support : {"kmeans++", "residual", "random"}, default="kmeans++"
    How support points are chosen: far apart in features and target; half at random, then
    where errors are largest (the paper, Algorithm 1); or at random.
initial_bandwidth : float or "auto", default="auto"
    First theta of all support points and features, for features on [-1, 1]; "auto": the best
    of seven, then one for each feature is learned.
validation_fraction : float, default=0.2
    Share of the samples, in [0, 1), that each member holds out. 0 needs numbers for `alpha`
    and `shrinkage`.
solver : {"lbfgs", "adam"}, default="lbfgs"
    Quasi-Newton steps on all samples, capped; or Adam on mini-batches of 128 samples.
max_iter : int, default=30
    Maximum number of steps of each stage, the last one half as many; Adam needs some thousand.
learning_rate : float, default=0.01
    Learning rate of Adam, > 0.
max_seconds : float, optional
    Time limit, after which the best result so far is kept.
dtype : {"float32", "float64"}, default="float32"
    Floating-point type that bandwidths are learned with. float32 takes about half the time, and
    is as accurate: sums of products that rounding would spoil are taken in float64.
device : str, default="cpu"
    "cpu" (NumPy), "cuda" or "cuda:N" (PyTorch on a GPU), "torch" (PyTorch on the CPU).
n_jobs : int, optional
    Number of threads, over members and blocks of samples; None: all cores where the table is
    large enough for that to save time (one in a worker of joblib or another child process).
warm_start : bool, default=False
    Whether `fit` goes on from the members of an earlier fit: they keep their support points,
    scales and penalties of the bandwidths, take up to `max_iter` more steps and get new
    coefficients, all on the samples given now. A larger `n_members` adds members.
random_state : int, RandomState instance or None, default=None
    Seed of the support points, the held-out samples and the mini-batches.
verbose : bool, default=False
    Whether to print a line about the progress of the fit every two seconds, to standard error.
"""
"""Documentation of the parameters that both estimators have."""

Class = TypeVar("Class", bound=type)


def documented(cls: Class) -> Class:
    """Fill in the documentation of the shared parameters for %(parameters)s in a docstring."""
    cls.__doc__ = cleandoc(cls.__doc__ or "") % {"parameters": cleandoc(PARAMETERS)}
    return cls


def _check_fraction(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a number in [0, 1)."""
    number = check_real(name, value, least=0)
    if number >= 1:
        raise ValueError(f"expected {name} < 1, got {number:g}")


@dataclass(eq=False, repr=False)
class BaseLABRBF(CallbackSupport, BaseEstimator):
    """The mean of several LAB-RBF expansions."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_support": automatic(integer(least=1), named=True),
        "profile": one_of(PROFILES),
        "n_members": integer(least=1),
        "objective": one_of(("ridge", "evidence", "interpolation", "mixed")),
        "linear": automatic(check_flag, named=True),
        "transforms": optional(one_of(("auto",))),
        "alpha": automatic(real_number(above=0), named=True),
        "shrinkage": automatic(real_number(least=0, infinite=True), named=True),
        "support": one_of(STRATEGIES),
        "initial_bandwidth": automatic(real_number(above=0), named=True),
        "validation_fraction": _check_fraction,
        "solver": one_of(("lbfgs", "adam")),
        "max_iter": integer(least=1),
        "learning_rate": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "dtype": one_of(("float32", "float64")),
        "n_jobs": check_job_count,
        "warm_start": check_flag,
        "verbose": check_flag,
    }

    _layer: ClassVar[Any] = None  # a `Layer` that predicts held-out rows, if not a ridge fit

    n_support: int | str = "auto"
    _: KW_ONLY
    profile: str = "gaussian"
    n_members: int = 4
    objective: str = "mixed"
    linear: bool | str = "auto"
    transforms: str | None = "auto"
    alpha: float | str = "auto"
    shrinkage: float | str = "auto"
    support: str = "kmeans++"
    initial_bandwidth: float | str = "auto"
    validation_fraction: float = 0.2
    solver: str = "lbfgs"
    max_iter: int = 30
    learning_rate: float = 0.01
    max_seconds: float | None = None
    dtype: str = "float32"
    device: str = "cpu"
    n_jobs: int | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: bool = False

    def _check_combinations(self) -> None:
        """Raise ValueError for parameters that do not go together."""
        fraction, linear = self.validation_fraction, self.linear
        if fraction == 0 and (is_automatic(self.alpha) or is_automatic(self.shrinkage)):
            raise ValueError(
                "expected validation_fraction > 0, or numbers for alpha and shrinkage, which "
                f"the held-out rows choose, got {fraction:g}"
            )
        if self.objective == "interpolation" and linear and not is_automatic(linear):
            raise ValueError("expected linear=False with objective='interpolation', got True")

    @blas_limited
    @with_callbacks
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None) -> Self:
        """Learn support points, bandwidths and coefficients.

        With ``warm_start=True``, members that an earlier fit has learned go on from their support
        points and bandwidths, on the samples given now.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points; dense, finite; may be a memory map, or a dask.array or dask.dataframe.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or labels of shape (n_samples,).
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0 of the squared errors. Samples of weight zero are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data that cannot be learned from.
        ImportError
            If `device` needs PyTorch and it is not installed.
        """
        begun = self._begun()
        with fresh(self):
            check_parameters(self)
            device = get_device(self.device, self.dtype)
            table, reserved = self._table(X, y, sample_weight)
            self._set_range(table)
            if begun:
                self._check_begun(begun["members_"], begun.get("classes_"))
            progress = FitProgress(self, X, y)
            watch, parameters = Watch(progress, self.max_seconds), self.get_params(deep=False)
            trainer = EnsembleTrainer(parameters, device, watch, self._loss, self._layer)
            table, runs = trainer.learn(table, begun, self._choose_target)
            self._set_coefficients([run.member for run in runs], table, runs)
            for run in runs:
                run.member.measure(table.points(run.split.everything[:SLOPE_ROWS]))
            self._store(table, runs)
            if reserved is not None:
                self._calibrate(reserved.X, reserved.Y)
            progress.end()
        return self

    def _begun(self) -> dict[str, Any]:
        """Return the state to warm-start from."""
        names = ("members_", "target_transform_", "classes_")
        if not check_flag("warm_start", self.warm_start) or not self.__sklearn_is_fitted__():
            return {}
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def _check_begun(self, members: list[LABRBFMember], classes: Any) -> None:
        """Raise ValueError if data or parameters do not belong to members learned before."""
        if classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"expected labels {list(classes)} with warm_start=True, as in the fit before, got "
                f"{list(self.classes_)}"
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
                f"goes on from, got {self.n_members}"
            )
        if "interpolation" in (self.objective, *(member.objective_ for member in members)):
            raise ValueError(
                "expected warm_start=False with or after objective='interpolation', whose "
                "coefficients belong to the samples of the first fit, got True"
            )

    @abstractmethod
    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, again: bool
    ) -> tuple[Table, Table | None]:
        """Check data, of an earlier fit if `again`; return rows of weight, and calibration rows."""

    def _table(
        self, X: Any, y: Any, sample_weight: Any, *, again: bool = False
    ) -> tuple[Table, Table | None]:
        """Return the same of arrays, or of the sample of a Dask collection, all rows behind it."""
        if is_collection(X):
            drawn = draw(self, X, y, sample_weight)
            table, reserved = self._prepare(*drawn.arrays, again=again)
            table = drawn.attached(table, reserved)
        else:
            table, reserved = self._prepare(X, y, sample_weight, again=again)
        return table, reserved

    @abstractmethod
    def _encoder(self, labels: list[Any]) -> Encode:
        """Return what turns targets or labels, out of these, into the targets that are learned."""

    def _set_range(self, table: Table) -> None:
        """Store the range of predictions, where they have one."""

    def _calibrate(self, X: Array, Y: Array) -> None:
        """Take the errors on calibration rows, where the model has any use for them."""

    @abstractmethod
    def _loss(self, table: Table, rows: Indices) -> Callable[[Array], float]:
        """Return the loss of scaled predictions of held-out rows; about 1 for a constant."""

    def _set_coefficients(
        self, members: list[LABRBFMember], table: Table, runs: Sequence[Run] = ()
    ) -> None:
        """Set the coefficients of members from all rows, after the `runs` that trained them."""
        if not runs or self.objective != "interpolation":
            fit_coefficients(members, table, self.n_jobs)

    @property
    @abstractmethod
    def _single_output(self) -> bool:
        """Whether there is one output only, given as a vector."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """The number of outputs of the members."""

    def _choose_target(self, table: Table, probe: Callable[[Table], float]) -> Table:
        """Return the table with the target to learn; `probe` returns a held-out loss."""
        return table

    def _store(self, table: Table, runs: list[Run]) -> None:
        """Store what was learned."""
        members = [run.member for run in runs]
        losses = np.array([1.0 - member.validation_score_ for member in members])
        self.averaged_ = ~(losses > AVERAGED * np.median(losses))  # also where losses are nan
        self.n_iter_ = max(1, sum(len(member.objective_history_) for member in members))
        self.members_: list[LABRBFMember] = members
        self.correlated_features_ = correlated_features(table, self.feature_relevance_)

    @blas_limited
    def refit_coefficients(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Any = None
    ) -> Self:
        """Learn the coefficients again from new samples; support points and bandwidths stay.

        Every member's coefficients become the ridge fit with its ``alpha_``, whatever its
        objective was. One pass over the samples, in blocks. A calibration of intervals is dropped,
        since its errors are those of the old coefficients: call `calibrate` again.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        self
        """
        check_is_fitted(self)
        data, _ = self._table(X, y, sample_weight, again=True)
        logarithmic = getattr(self, "target_transform_", None) == "log"
        table = data.with_logarithms() if logarithmic else data
        self._set_range(data)
        some = table.points(np.arange(len(table))[:: max(1, len(table) // SLOPE_ROWS)])
        (low, high), more = self.limits_, limits_of(table)
        for member in self.members_:
            member.limits_ = np.stack([np.minimum(low, more[0]), np.maximum(high, more[1])])
        self._set_coefficients(self.members_, table)
        for member in self.members_:
            member.measure(some)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit was completed."""
        return "members_" in vars(self)

    @property
    def _used(self) -> list[LABRBFMember]:
        """The members that predict."""
        return [m for m, used in zip(self.members_, self.averaged_, strict=True) if used]

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
        return np.asarray(validate_data(self, X, reset=False, dtype=_FLOATS))

    def _mean(self, X: npt.ArrayLike) -> Array:
        """Return the mean of the members' expansions, shape (n_samples, n_outputs)."""
        points = self._points(X)
        return mean_of(self._used, points, self.n_jobs)

    def _in_blocks(self, points: Array, outputs: Callable[[Array], Array]) -> Array:
        """Return what is computed of checked points, some of them at a time, float64."""
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
        """How much f changes if a feature is permuted, as shares, shape (n_features,)."""
        relevance = np.sum([member.relevance() for member in self._used], axis=0)
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
        """Return the distance of each point from the nearest support point, in its bandwidths.

        That is min_i |theta_i o (t - c_i)| over all members. A Gaussian at distance 2 has the value
        .02: beyond, a prediction returns to the linear part, or to the mean.

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
        """Return why each point has its prediction.

        That is the nearest support points and what each contributes; the kernel part, the linear
        part and the constant, whose sum is the prediction; and the effect of each feature there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_nearest : int, default=5
            Number of support points for each point, at most.

        Returns
        -------
        LABRBFExplanation
            On the scale that was learned: the scores of a classifier, or log y where the logarithm
            of the target was learned, and before predictions are clipped to their range.
        """
        points, count = self._points(X), check_integer("n_nearest", n_nearest, least=1)
        return explain(self._used, points, count, single_output=self._single_output)

    def summary(self) -> Summary:
        """Return a summary of the fitted model, in the form that all methods share.

        Its one function is the mean of the members. The details are ``members`` (the number of
        those that predict), ``held_out_score`` (their mean score on held-out samples; nan without
        such samples), ``relevance`` and ``relevance_spread``, arrays of shape (n_features,), and
        ``correlated``, the pairs of features that share a relevance.

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
        """What can be drawn of the model."""
        return frozenset({"bandwidths", "relevance"})

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        check_members(self.members_, self.averaged_, self.n_features_in_, self._n_outputs)
