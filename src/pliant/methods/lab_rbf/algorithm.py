"""The algorithm that learns the bandwidths of a LAB-RBF model, as one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from sklearn.base import BaseEstimator

from pliant.core.validation import (
    Constraint,
    automatic,
    check_flag,
    check_parameters,
    one_of,
    real_number,
)


@dataclass(kw_only=True, eq=False, repr=False)
class LABRBFAlgorithm(BaseEstimator):
    """Objective, start and solver of the bandwidths of LAB-RBF.

    The defaults are those of ``algorithm="default"``; `LABRBFRegressor.from_paper` has the values
    of the paper. Parameters are tuned as ``algorithm__objective`` and so on.

    Parameters
    ----------
    objective : {"mixed", "ridge", "evidence", "interpolation"}, default="mixed"
        Objective of the bandwidths, see `pliant.methods.lab_rbf.objective`: the penalised squared
        error of the ridge fit to all samples; the Gaussian marginal likelihood; the error of a
        function that interpolates the support points (the paper, Eq. 9). "mixed": "ridge" and
        "evidence" take turns; from 4000 samples on, where the evidence does worse, "ridge".
    linear : bool or "auto", default="auto"
        If True, the features themselves join the kernel values; "auto": in all members but every
        fourth, and never with "interpolation".
    shrinkage : float or "auto", default="auto"
        Penalty parameter >= 0 of the variance of log theta^2 over the support points; inf: one
        bandwidth for each feature. "auto": the best of a falling path on the held-out samples.
    support : {"kmeans++", "residual", "random"}, default="kmeans++"
        Choice of the support points: far apart in features and target; half at random, then where
        errors are largest (the paper, Algorithm 1); or at random.
    initial_bandwidth : float or "auto", default="auto"
        First theta of all support points and features, for features on [-1, 1]; "auto": the best
        of seven, then one for each feature is learned.
    solver : {"lbfgs", "adam"}, default="lbfgs"
        Quasi-Newton steps on all samples, capped; or Adam on mini-batches of 128 samples.
    learning_rate : float, default=0.01
        Learning rate of Adam, > 0.
    dtype : {"float32", "float64"}, default="float32"
        Floating-point type of the training. float32 takes about half the time and is as accurate:
        sums of products that rounding would spoil are taken in float64.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "objective": one_of(("ridge", "evidence", "interpolation", "mixed")),
        "linear": automatic(check_flag, named=True),
        "shrinkage": automatic(real_number(least=0, infinite=True), named=True),
        "support": one_of(("kmeans++", "residual", "random")),
        "initial_bandwidth": automatic(real_number(above=0), named=True),
        "solver": one_of(("lbfgs", "adam")),
        "learning_rate": real_number(above=0),
        "dtype": one_of(("float32", "float64")),
    }

    objective: Literal["mixed", "ridge", "evidence", "interpolation"] = "mixed"
    linear: bool | Literal["auto"] = "auto"
    shrinkage: float | Literal["auto"] = "auto"
    support: Literal["kmeans++", "residual", "random"] = "kmeans++"
    initial_bandwidth: float | Literal["auto"] = "auto"
    solver: Literal["lbfgs", "adam"] = "lbfgs"
    learning_rate: float = 0.01
    dtype: Literal["float32", "float64"] = "float32"

    def _check_combinations(self) -> None:
        """Raise ValueError for parameters that do not go together."""
        if self.objective == "interpolation" and self.linear and self.linear != "auto":
            raise ValueError("expected linear=False with objective='interpolation', got True")

    def _check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are out of range."""
        check_parameters(self)
