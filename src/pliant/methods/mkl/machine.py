"""What the MKL estimators share: the parameters and the fitted attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pliant.core.form import Object, SavedForm, numbers
from pliant.core.parameters import (
    Constraint,
    check_flag,
    check_job_count,
    optional,
    real_number,
)
from pliant.core.state import reads
from pliant.kernels.base import Kernel, WeightedSum, short_names
from pliant.kernels.standard import takes_sparse_points
from pliant.methods.summary import KernelWeights, Summary
from pliant.methods.svm.machine import BaseSVM


@dataclass(eq=False, repr=False)
class BaseMKL(BaseSVM):
    """A support vector machine with a weighted sum of kernels, as it is after its fit."""

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "norm": real_number(least=1),
        "normalize": check_flag,
        "cache_mb": real_number(above=0),
        "max_seconds": optional(real_number(above=0)),
        "n_jobs": check_job_count,
    }
    _drawings = frozenset({"weights"})
    _finite = (
        *("weights_", "objective_", "lower_bound_", "dual_gap_"),
        *("objective_history_", "gap_history_"),
    )

    _form: ClassVar[SavedForm] = {
        "kernels_": Object(Kernel, axis="kernels"),
        "weights_": numbers("kernels"),
    }
    _form_of_pairs: ClassVar[SavedForm] = {**_form, "kernel_": Object(Kernel)}

    kernels: Any = "auto"
    _: KW_ONLY
    weights: str = "simple"
    norm: float = 1.0
    C: float = 1.0
    normalize: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    n_jobs: int | None = None
    verbose: bool = False

    @property
    def kernel_names_(self) -> list[str]:
        """Short names of the kernels."""
        return short_names(self.kernels_, getattr(self, "feature_names_in_", None))

    @reads
    def summary(self) -> Summary:
        """Return a summary of the fitted estimator.

        Returns
        -------
        Summary
            Holds the ``weights`` and one function, or one per pair for more than two classes.
            The detail ``kernels`` is the number of kernels with positive weight, and
            ``mean_objective`` marks objectives and gaps that are means over pairs.
        """
        summary = super().summary()
        weights = KernelWeights(self.kernels_, self.weights_[None])
        functions = summary.functions
        if len(functions) > 1:
            mean = {"mean_objective": True}
            functions = tuple(replace(f, details={**f.details, **mean}) for f in functions)
        return replace(summary, functions=functions, kernel=self.kernel_, weights=weights)

    def _takes_sparse(self) -> bool:
        kernels = self.kernels  # "auto" centres the features
        return isinstance(kernels, list | tuple) and all(map(takes_sparse_points, kernels))

    def _details(self) -> Mapping[str, Any]:
        return {"kernels": int(np.count_nonzero(self.weights_))}

    def _check_loaded(self) -> None:
        for fitted in [self, *getattr(self, "estimators_", [])]:
            weights, kernel = np.asarray(fitted.weights_), fitted.kernel_
            summed = kernel.weights if isinstance(kernel, WeightedSum) else np.empty(0)
            if not np.array_equal(summed, weights[weights != 0.0]):
                raise ValueError("expected kernel_ to be the sum with the weights in weights_")
        for fitted in getattr(self, "estimators_", [self]):
            fitted.kernel_(fitted.support_vectors_[:1])
