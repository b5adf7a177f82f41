"""What DANK and KNPL share: the parameters, the fitted attributes, and prediction in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pliant.core.form import SavedForm, shown
from pliant.core.parameters import (
    Constraint,
    automatic,
    moderate_number,
    one_of,
    optional,
    real_number,
)
from pliant.core.state import reads
from pliant.core.typing import Array, Indices
from pliant.kernels.standard import Gamma, KernelLike, takes_sparse_points
from pliant.methods.dank.kernel import (
    EXTENSIONS,
    AdaptiveMatrix,
    Extension,
    HadamardKernel,
    PartitionedKernel,
)
from pliant.methods.svm.machine import BaseSVM
from pliant.methods.svm.parts import (
    KMeansPartition,
    as_partition,
    expand_parts,
    partition_settings,
)


@dataclass(kw_only=True, eq=False, repr=False)
class BaseHadamard(BaseSVM):
    """A support vector machine with a kernel matrix adapted entry by entry, as it is after its fit.

    DANK adds the parameter tau. The rows of KNPL's F sum to n.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "eta": automatic(moderate_number(infinite=True)),
        "eta_scale": moderate_number(),
        "extension": one_of(EXTENSIONS),
        "cache_mb": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "partition": optional(as_partition),
    }
    _settings: ClassVar = {"partition": partition_settings}
    _drawings = frozenset({"adaptation"})
    _centred: ClassVar[bool] = False  # whether the rows of F sum to n
    _finite = ("objective_", "objective_constant_", "objective_history_", "step_history_")
    _form: ClassVar[SavedForm] = {
        "eta_": real_number(above=0, infinite=True),
        "step_history_": shown("checks"),
    }

    kernel: KernelLike = field(default="gaussian", kw_only=False)
    gamma: Gamma = "scale"
    C: float = 1.0
    eta: float | Literal["auto"] = "auto"
    eta_scale: float = 1.0
    tau: float | Literal["auto"] = field(init=False)  # a parameter of DANK
    extension: Extension = "smooth"
    tol: float = 1e-4
    max_iter: int = -1
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    partition: KMeansPartition | dict[str, Any] | Literal["kmeans"] | None = None
    verbose: bool = False

    kernel_: HadamardKernel | PartitionedKernel = field(init=False)
    eta_: float = field(init=False)
    objective_constant_: float = field(init=False)
    step_history_: npt.NDArray[Any] = field(init=False)
    part_labels_: Indices = field(init=False)
    part_centres_: Array = field(init=False)
    part_gaps_: Array = field(init=False)
    part_seconds_: Array = field(init=False)

    def _expand(self, X: Array) -> Array:
        kernel = self.kernel_
        if not isinstance(kernel, PartitionedKernel):
            return super()._expand(X)
        return expand_parts(
            X,
            places=kernel.place(X),
            kernels=kernel.parts,
            support_places=kernel.labels[kernel.support],
            vectors=self.support_vectors_,
            coefficients=self.dual_coef_,
            intercepts=np.full(len(kernel.centres), float(self.intercept_)),
        )

    def _takes_sparse(self) -> bool:
        return takes_sparse_points(self.kernel) and self.partition is None

    @property
    def lower_bound_(self) -> float:
        """Lower bound on the optimum: the dual objective, which a fit maximises."""
        return float(self.objective_)

    @property
    @reads
    def upper_bound_(self) -> float:
        """Upper bound on the optimum; nan if the Gram matrix is not PSD."""
        return float(self.objective_ + self.dual_gap_)

    @property
    @reads
    def relative_gap_(self) -> float:
        """The gap relative to 1 + abs(objective_ - objective_constant_), as for ``tol``."""
        return float(self.dual_gap_ / (1.0 + abs(self.objective_ - self.objective_constant_)))

    @property
    def adaptation_(self) -> AdaptiveMatrix:
        """F on the training points of positive weight, in implicit form."""
        return self.kernel_.adaptation()

    def _details(self) -> Mapping[str, Any]:
        details: dict[str, Any] = {} if self.eta == np.inf else {"eta": self.eta_}
        if isinstance(self.kernel_, PartitionedKernel):
            details["parts"] = len(self.kernel_.centres)
        return details

    def _check_loaded(self) -> None:
        for fitted in getattr(self, "estimators_", [self]):
            n, m = len(fitted.kernel_.support), len(fitted.dual_coef_)
            if n != m:
                raise ValueError(f"expected {n} support points, as in the kernel, got {m}")
