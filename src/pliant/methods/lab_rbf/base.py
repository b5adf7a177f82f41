"""Parameters that the LAB-RBF regressor and classifier share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from itertools import compress
from typing import Any, ClassVar, Literal, Self

import numpy as np

from pliant.core import process
from pliant.core.estimators import NestedSettings
from pliant.core.parameters import (
    Constraint,
    automatic,
    check_choice,
    check_flag,
    check_job_count,
    check_parameters,
    integer,
    moderate_number,
    one_of,
    optional,
    real_number,
)
from pliant.core.progress import CallbackSupport, Deadline
from pliant.core.typing import Indices
from pliant.methods.lab_rbf import constants
from pliant.methods.lab_rbf.algorithm import LABRBFAlgorithm
from pliant.methods.lab_rbf.kernel import PROFILES
from pliant.methods.lab_rbf.members import (
    Coefficients,
    FitState,
    LABRBFMember,
    LearnedBasis,
    contributing,
)
from pliant.methods.lab_rbf.model import LABRBFModel

if not process.BARE:  # what a fit needs
    from pliant.core.device import get_device
    from pliant.methods.lab_rbf.dense import DenseFit
    from pliant.methods.lab_rbf.table import Table, feature_limits
    from pliant.methods.lab_rbf.trainer import (
        Layer,
        Loss,
        MemberSettings,
        Trainer,
        draw_seeds,
        resolve_support,
    )


def _check_algorithm(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is "default" or a valid algorithm."""
    if isinstance(value, LABRBFAlgorithm):
        check_parameters(value)
    else:
        check_choice(f"{name}, if not an instance of LABRBFAlgorithm,", value, ("default",))


@dataclass(eq=False, repr=False)
class BaseLABRBF(CallbackSupport, NestedSettings, LABRBFModel):
    """Parameters of the LAB-RBF estimators, and the training that they ask for.

    Parameters
    ----------
    n_support : int or "auto", default="auto"
        Maximum number of support points per member. "auto" is a third of the samples, at most 200,
        or at most 120 in regression with one output and fewer than 4000 samples.
        With n >= 4000 samples, a member learns the bandwidths of 200 support points. It then adds
        random samples, up to min(n / 5, 1000) support points in total, each with the bandwidths of
        the nearest learned one. In regression, there are at most sqrt(5e10 / min(n, 200 000)), and
        n / 25 in place of n / 5 beside dense members, but at least 200. Support points are distinct
        training samples.
    profile : {"gaussian", "laplacian", "matern32", "matern52"}, default="gaussian"
        Profile of the local members: h(D) = exp(-D) (as in the paper), exp(-sqrt(D)) (as in the
        authors' code), or the Matern function with smoothness 3/2 or 5/2. "laplacian" is the Matern
        function with smoothness 1/2, of a Euclidean distance; `pliant.kernels.Laplacian`, or
        ``kernel="laplacian"``, is a function of the 1-norm.
    n_members : int or "auto", default="auto"
        Number of local members (expansions) to average; "auto" is 10 for up to 1000 samples (15 in
        regression with up to 400), else 4. They have different support points, and consecutive
        members hold out different parts of the samples. A member whose held-out loss exceeds twice
        the median, or with more than 1000 samples twice the lowest, does not contribute.
    dense : bool, default=True
        If True, add dense members: kernel ridge regression with all samples as support points (at
        most 20 000), or kernel logistic regression (at most 2000 support points), in a metric that
        a local member has learned: one for each local member, as long as they have at most 4000
        support points in total. Their hyperparameters and their weight, which may be 0, are chosen
        on the held-out samples. With few samples, the members alternate between the kernels (a
        profile and a metric) that are hardly worse there than the best one.
    algorithm : "default" or LABRBFAlgorithm, default="default"
        Objective and initialization of the bandwidths; see `pliant.LABRBFAlgorithm`.
    transforms : "auto" or None, default="auto"
        "auto" also tries log(x + offset) and asinh transforms of features whose absolute skewness
        is above 1. Members alternate between them; with at most 1000 samples, only between the
        transforms whose held-out loss is within 10 % of the lowest. In regression, "auto" also
        tries asinh(y / u), where u is the median of the nonzero abs(y), for a target with an
        absolute skewness above 0.9 that asinh reduces. None disables transforms.
    alpha : float or "auto", default="auto"
        Ridge penalty, 1e-12 to 1e12, for features on [-1, 1] and squared errors summed over
        samples. While the bandwidths are learned, "auto" is 0.1, or 0.01 with fewer than 150
        support points, times the mean sample weight. The penalty on the coefficients is then
        selected on the held-out samples. Dense members always select theirs. The objective
        "evidence" always learns the penalty for the bandwidths; a number then sets only the penalty
        on the coefficients.
    validation_fraction : float, default=0.2
        Fraction of the samples, in [0, 1), that each member holds out, at most 10 000. 0 requires
        numbers for `alpha` and for the algorithm's ``shrinkage``. Without held-out samples, there
        are no dense members, and no transforms are tried, whatever `dense` and `transforms` are. In
        regression, intervals then require calibration.
    max_iter : int, default=30
        Maximum number of steps per stage; a quarter of it in the last one.
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
        the old fit. Members also keep their profile, objective and linear part. Another `profile`
        is refused, and so is an ``objective`` or ``linear`` of the algorithm that contradicts a
        member. The number of learned support points, and the algorithm's ``shrinkage`` and
        ``initial_bandwidth``, apply to added members only. `transforms` is ignored: added members
        use the transforms of the others.
    random_state : int, RandomState instance or None, default=None
        Seed for the support points and the held-out samples. Transforms do not depend on it.
    verbose : bool, default=False
        If True, print the progress of the fit to standard error every two seconds.
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

    _is_regression: ClassVar[bool] = True

    _settings: ClassVar = {"algorithm": lambda _: LABRBFAlgorithm()}

    n_support: int | Literal["auto"] = "auto"
    _: KW_ONLY
    profile: Literal["gaussian", "laplacian", "matern32", "matern52"] = "gaussian"
    n_members: int | Literal["auto"] = "auto"
    dense: bool = True
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

    def _check_combinations(self) -> None:
        fraction = self.validation_fraction
        if fraction >= 1:
            raise ValueError(f"expected validation_fraction < 1, got {fraction:g}")
        if fraction == 0 and "auto" in (self.alpha, self._algorithm.shrinkage):
            raise ValueError(
                "expected validation_fraction > 0 to tune alpha and shrinkage on held-out rows, "
                f"or numbers for alpha and shrinkage, got validation_fraction={fraction:g}"
            )

    @property
    def _algorithm(self) -> LABRBFAlgorithm:
        return LABRBFAlgorithm() if self.algorithm == "default" else self.algorithm

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
        shape = members[0].kernel_.centres.shape[1], len(members[0].intercept_)
        if shape != (self.n_features_in_, self._n_outputs):
            raise ValueError(
                f"expected {shape[0]} features and {shape[1]} outputs with warm_start=True, as in "
                f"the previous fit, got {self.n_features_in_} and {self._n_outputs}"
            )
        self._check_kept_settings(members)
        if self.n_members != "auto" and self.n_members < len(members):
            raise ValueError(
                f"expected n_members >= {len(members)} with warm_start=True, as in the previous "
                f"fit, got {self.n_members}"
            )

    def _check_kept_settings(self, members: Sequence[LABRBFMember]) -> None:
        """Raise ValueError if a parameter contradicts what members keep in a warm start."""
        algorithm = self._algorithm
        settings: list[tuple[str, Any, str | None, set[Any]]] = [
            ("profile", self.profile, None, {m.kernel_.profile for m in members}),
            ("algorithm__objective", algorithm.objective, "mixed", {m.objective_ for m in members}),
            ("algorithm__linear", algorithm.linear, "auto", {m.linear_ for m in members}),
        ]
        for name, value, automatic_value, kept in settings:
            # Members of two fits may have several profiles; no single value stands for all.
            if value == automatic_value or kept == {value} or (name == "profile" and value in kept):
                continue
            expected = automatic_value if automatic_value and len(kept) > 1 else min(kept)
            raise ValueError(
                f"expected {name}={expected!r} with warm_start=True, as in the previous fit, "
                f"got {value!r}"
            )

    def _build_trainer(
        self,
        table: Table,
        deadline: Deadline,
        loss: Loss,
        *,
        layer: Layer | None = None,
        classes: Indices | None = None,
        state: Self | None = None,
    ) -> Trainer:
        """Build the trainer for the members; `state` is a previous fit to continue."""
        fraction, algorithm = self.validation_fraction, self._algorithm
        if classes is not None and len(np.unique(classes)) == len(table):
            fraction = 0.0
        m = self._resolve_members(len(table))
        if state is not None and self.n_members == "auto":
            m = len(state._local_members)
        return Trainer(
            settings=[self._resolve_settings(table, algorithm, k) for k in range(m)],
            seeds=draw_seeds(self.random_state, m),
            device=get_device(self.device, algorithm.dtype),
            deadline=deadline.first(constants.LOCAL_SHARE) if self.dense else deadline,
            loss=loss,
            layer=layer,
            validation_fraction=fraction,
            tries_scales=self.transforms is not None and fraction > 0,
            n_jobs=self.n_jobs,
            classes=classes,
        )

    def _resolve_members(self, n_rows: int) -> int:
        """Return the number of local members."""
        if self.n_members != "auto":
            return int(self.n_members)
        if self._is_regression and n_rows <= constants.SMALL_ROWS:
            return constants.SMALL_MEMBERS
        if n_rows <= constants.MEMBER_ROWS:
            return constants.MANY_MEMBERS
        return constants.FEW_MEMBERS

    def _resolve_settings(self, table: Table, algorithm: LABRBFAlgorithm, k: int) -> MemberSettings:
        """Resolve the automatic parameters of the k-th member, k = 0, 1, ..."""
        n_rows, weight, objective = len(table), table.mean_weight, algorithm.objective
        many = n_rows >= constants.MANY_ROWS
        if objective == "mixed":
            objective = "evidence" if k % 2 and not many else "ridge"
        single = table.Y.shape[1] == 1
        few_support = single and not many and self._is_regression
        most = constants.FEW_SUPPORT if few_support else constants.MAX_SUPPORT
        n_support = n_grown = resolve_support(self.n_support, n_rows, most)
        if many and self.n_support == "auto":
            most, per_centre = constants.MAX_CENTRES, constants.ROWS_PER_CENTRE
            if self._is_regression:
                # Solving for the coefficients of m centres costs O(n m^2), which limits m.
                most = min(most, int(math.sqrt(constants.GROWTH_COST / table.n_rows)))
                per_centre = constants.DENSE_ROWS_PER_CENTRE if self.dense else per_centre
            n_grown = max(n_support, min(n_rows // per_centre, most))
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
            tolerance=constants.SINGLE_TOLERANCE if single else constants.TOLERANCE,
            learns_shared=algorithm.initial_bandwidth == "auto",
        )

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
        # Weights w and penalties w alpha have the coefficients of no weights and penalties alpha.
        bases = [replace(basis, alpha_=table.row_weight * basis.alpha_) for basis in bases]
        members = [
            LABRBFMember.build(basis, each, table.points(some))
            for basis, each, some in zip(bases, coefficients, samples, strict=True)
        ]
        share, used = 0.0 if dense is None else dense.weight, contributing(fits)
        n_dense = len(bases) - len(fits)
        local = np.where(used, (1.0 - share) / used.sum(), 0.0)
        weights = np.append(local, np.full(n_dense, share / max(1, n_dense)))
        self._store(table, members, weights)

    def _widened(self, table: Table) -> list[LABRBFMember]:
        """Return the members for the weights and with limits that contain the rows of a table."""
        (low, high), new = self.limits_, feature_limits(table)
        limits = np.stack([np.minimum(low, new[0]), np.maximum(high, new[1])])
        return [
            replace(member, limits_=limits, alpha_=member.alpha_ / table.row_weight)
            for member in self.members_
        ]

    def _store_refit(
        self, table: Table, bases: Sequence[LearnedBasis], coefficients: list[Coefficients]
    ) -> None:
        """Store the members with new coefficients."""
        points = table.points(np.arange(len(table))[:: max(1, len(table) // constants.SLOPE_ROWS)])
        bases = [replace(basis, alpha_=table.row_weight * basis.alpha_) for basis in bases]
        solved, self._held_out = zip(bases, coefficients, strict=True), None
        few = points[:: max(1, len(points) // constants.DENSE_SLOPE_ROWS)]
        self.members_ = [
            LABRBFMember.build(basis, each, few if basis.objective_ == "dense" else points)
            for basis, each in solved
        ]
