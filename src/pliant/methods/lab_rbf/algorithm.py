"""Algorithm that learns the bandwidths of a LAB-RBF model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pliant.core.estimators import BaseEstimator
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
    """Objective, initialization and solver of the LAB-RBF bandwidths.

    The default values are equivalent to ``algorithm="default"``; `LABRBFRegressor.from_paper` uses
    values close to the paper's. To tune a parameter, set ``algorithm__objective`` and so on.

    Parameters
    ----------
    objective : {"mixed", "ridge", "evidence", "interpolation"}, default="mixed"
        Objective for the bandwidths; see `pliant.methods.lab_rbf.objective`. "ridge" is the
        penalised squared error of a ridge fit; "evidence" is the Gaussian marginal likelihood;
        "interpolation" is the error of the interpolant of the support points (Eq. 9 of the paper).
        "mixed" alternates "ridge" and "evidence" across members, and uses only "ridge" for 4000
        or more samples, where "evidence" is less accurate.
    linear : bool or "auto", default="auto"
        If True, the model has a linear part. "auto" adds it to three of four members, but to none
        with the objective "interpolation".
    shrinkage : float or "auto", default="auto"
        Penalty >= 0 on the variance of log theta^2 over the support points; inf means one bandwidth
        per feature. "auto" decreases the penalty as long as this lowers the held-out loss.
    support : {"kmeans++", "residual", "random"}, default="kmeans++"
        Selection of the support points. "kmeans++" spreads them over X and y; "random" draws them
        at random; "residual" draws half of them at random and adds samples with the largest
        residuals (Algorithm 1 of the paper).
    initial_bandwidth : float or "auto", default="auto"
        Initial value of all bandwidths theta, for features scaled to [-1, 1]. "auto" learns one
        theta per feature from two starting points: equal bandwidths, and theta^2 proportional to
        the feature importances of randomised trees, each with the best of seven factors.
    solver : {"lbfgs", "adam"}, default="lbfgs"
        "lbfgs" takes quasi-Newton steps of bounded size on all samples; "adam" uses mini-batches of
        128 samples.
    learning_rate : float, default=0.01
        Learning rate of Adam, > 0.
    dtype : {"float32", "float64"}, default="float32"
        Floating-point type used in training. With float32, training takes about half the time and
        is as accurate, since sums that are sensitive to rounding use float64.
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
        if self.objective == "interpolation" and self.linear and self.linear != "auto":
            raise ValueError("expected linear=False with objective='interpolation', got True")

    def _check_loaded(self) -> None:
        check_parameters(self)
