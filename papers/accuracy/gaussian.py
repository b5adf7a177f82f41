"""The support vector machine with a Gaussian kernel, by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from papers.accuracy.contestant import Contestant, Setting, listed

__all__ = ["GaussianSVM"]


@dataclass(frozen=True)
class GaussianSVM(Contestant):
    """SVC or epsilon-SVR on features scaled to [0, 1], C and gamma by cross-validation.

    Attributes
    ----------
    Cs, gammas : tuple of float
        What is tried.
    epsilon : float
        Errors left free, in standard deviations of the training target.
    tuning_max_iter, max_iter : int
        Limits of libsvm's steps while choosing, and at last.
    """

    Cs: tuple[float, ...] = tuple(10.0**p for p in range(-1, 6))
    gammas: tuple[float, ...] = tuple(4.0**p for p in range(-5, 5))
    epsilon: float = 0.1
    tuning_max_iter: int = 200_000
    max_iter: int = 2_000_000
    rows: int | None = 1000
    name: str = "svm"
    title: str = "Gaussian SVM"

    def settings(self) -> list[Setting]:
        """Return all pairs, the least C first, then the widest kernel."""
        return [{"C": C, "gamma": gamma} for C in self.Cs for gamma in self.gammas]

    def machine(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return scaling and machine in one."""
        max_iter = self.max_iter if final else self.tuning_max_iter
        options = {**setting, "cache_size": 1000, "max_iter": max_iter}
        if task == "classification":
            return make_pipeline(MinMaxScaler(), SVC(**options))
        machine = make_pipeline(MinMaxScaler(), SVR(**options, epsilon=self.epsilon))
        return TransformedTargetRegressor(machine, transformer=StandardScaler())

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        return (
            "scikit-learn's SVC or SVR on features scaled to [0, 1], C in "
            f"{listed(self.Cs)} (the least first), {len(self.gammas)} values of gamma from "
            f"{min(self.gammas):.2g} to {max(self.gammas):.2g} (the widest kernel first), "
            f"{self.chosen_on()}; at most {self.tuning_max_iter} steps while choosing and "
            f"{self.max_iter} at last"
        )
