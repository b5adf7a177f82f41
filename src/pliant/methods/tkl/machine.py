"""What TKL and GKL share: the parameters, the fitted attributes, and prediction in parts.

The kernel is linear in a positive semi-definite matrix P (Talitckii, Colbert and Peet, 2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pliant.core.distances import nearest_rows
from pliant.core.form import SavedForm, indices, numbers
from pliant.core.parameters import (
    Constraint,
    check_random_state,
    check_real,
    optional,
    real_number,
)
from pliant.core.state import reads
from pliant.core.typing import Array
from pliant.kernels.base import Rescaled
from pliant.methods.svm.machine import BaseSVM
from pliant.methods.svm.parts import expand_parts
from pliant.methods.tkl.generalized_kernel import LARGEST_SHAPE, inner_kernel


def _check_floor(name: str, value: Any) -> None:
    """Raise ValueError unless `value` can be the least eigenvalue of a P with trace n_P."""
    if check_real(name, value, least=0) >= 1:
        raise ValueError(f"expected {name} < 1, got {value!r}: the mean eigenvalue of P is 1")


@dataclass(kw_only=True, eq=False, repr=False)
class BaseGKL(BaseSVM):
    """A support vector machine with the learned P of a generalised kernel, as after its fit."""

    C: float = 1.0
    floor: float = 0.0
    tol: float = 1e-3
    max_iter: int = 500
    max_seconds: float | None = None
    cache_mb: float = 2000.0
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "floor": _check_floor,
        "max_seconds": optional(real_number(above=0)),
        "cache_mb": real_number(above=0),
        "random_state": lambda _, seed: check_random_state(seed),
    }
    _finite: ClassVar[tuple[str, ...]] = (
        *("objective_", "lower_bound_", "dual_gap_", "objective_history_", "gap_history_"),
    )

    _form: ClassVar[SavedForm] = {
        "intercept_": numbers("parts", scalar=True),
        "support_parts_": indices("support", below="parts", optional=True),
    }

    def _expand(self, X: Array) -> Array:
        if "part_centres_" not in vars(self):
            return super()._expand(X)
        points = self.kernel_.rescale(X) if isinstance(self.kernel_, Rescaled) else X
        points = np.clip(points, box_corner(self, "lower"), box_corner(self, "upper"))
        return expand_parts(
            X,
            places=nearest_rows(points, self.part_centres_),
            kernels=[self.kernel_] * len(self.part_centres_),
            support_places=self.support_parts_,
            vectors=self.support_vectors_,
            coefficients=self.dual_coef_,
            intercepts=np.asarray(self.intercept_),
        )

    @property
    def shape_factor_(self) -> Array:
        """F with orthogonal columns, P = F F', shape (n_P, rank_)."""
        return np.asarray(inner_kernel(self.kernel_).factor)

    @property
    @reads
    def shape_matrix_(self) -> Array:
        """P, shape (n_P, n_P), of trace n_P."""
        return self.shape_factor_ @ self.shape_factor_.T

    @property
    @reads
    def rank_(self) -> int:
        """The rank of P."""
        return int(self.shape_factor_.shape[1])

    def _details(self) -> Mapping[str, Any]:
        parts = {"parts": len(self.part_centres_)} if "part_centres_" in vars(self) else {}
        return {"rank": self.rank_, **parts}

    def _check_loaded(self) -> None:
        for fitted in getattr(self, "estimators_", [self]):
            vectors, factor = fitted.support_vectors_, fitted.shape_factor_
            size = inner_kernel(fitted.kernel_).shape_size(vectors.shape[1])
            if factor.ndim != 2 or len(factor) != size or size > LARGEST_SHAPE:
                limit = f"at most {LARGEST_SHAPE}, got the shape {factor.shape}"
                raise ValueError(f"expected n_P rows in shape_factor_, {limit}")
            fitted.kernel_(vectors[:1])  # raises if kernel, factor and points disagree
            parts = {name in vars(fitted) for name in ("part_centres_", "support_parts_")}
            if parts != {np.ndim(fitted.intercept_) == 1}:
                raise ValueError("expected one intercept_, or one for each part")


def box_corner(estimator: BaseGKL, name: str) -> Array:
    """Return the ``lower`` or ``upper`` corner of the box of a learned tessellated kernel."""
    fitted = estimator.estimators_[0] if "estimators_" in vars(estimator) else estimator
    return np.asarray(getattr(inner_kernel(fitted.kernel_), name))
