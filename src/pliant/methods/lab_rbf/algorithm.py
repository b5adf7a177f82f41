"""Algorithm that learns the bandwidths of a LAB-RBF model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pliant.core.estimators import BaseEstimator
from pliant.core.form import SavedForm
from pliant.core.parameters import (
    Constraint,
    automatic,
    check_flag,
    one_of,
    real_number,
)


@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFAlgorithm(BaseEstimator):
    """Objective and initialization of the LAB-RBF bandwidths.

    The default values are equivalent to ``algorithm="default"``. To tune a parameter, pass an
    instance, and set ``algorithm__objective`` and so on.

    Parameters
    ----------
    objective : {"mixed", "ridge", "evidence"}, default="mixed"
        Objective for the bandwidths; see `pliant.methods.lab_rbf.objective`. "ridge" is the
        penalised squared error of a ridge fit; "evidence" is the Gaussian marginal likelihood.
        "mixed" alternates "ridge" and "evidence" across members, and uses only "ridge" for 4000
        or more samples, where "evidence" is less accurate.
    linear : bool or "auto", default="auto"
        If True, the model has a linear part. "auto" adds it to three of four members.
    shrinkage : float or "auto", default="auto"
        Penalty >= 0 on the variance of log theta^2 over the support points; inf means one bandwidth
        per feature. "auto" is 1e-3, after a stage with 0.1 for more than 1000 samples; stages that
        do not lower the held-out loss are not used.
    initial_bandwidth : float or "auto", default="auto"
        Initial value of all bandwidths theta, for features scaled to [-1, 1]. "auto" learns one
        theta per feature. The first four members start from equal bandwidths, or from theta^2
        proportional to the feature importances of randomised trees, with the best of seven factors.
        The others start from the bandwidths of one of the four, by their own held-out loss.
    dtype : {"float32", "float64"}, default="float32"
        Floating-point type used in training. With float32, training takes about half the time and
        is as accurate, since sums that are sensitive to rounding use float64.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "objective": one_of(("ridge", "evidence", "mixed")),
        "linear": automatic(check_flag, named=True),
        "shrinkage": automatic(real_number(least=0, infinite=True), named=True),
        "initial_bandwidth": automatic(real_number(above=0), named=True),
        "dtype": one_of(("float32", "float64")),
    }
    _form: ClassVar[SavedForm] = _constraints

    objective: Literal["mixed", "ridge", "evidence"] = "mixed"
    linear: bool | Literal["auto"] = "auto"
    shrinkage: float | Literal["auto"] = "auto"
    initial_bandwidth: float | Literal["auto"] = "auto"
    dtype: Literal["float32", "float64"] = "float32"
