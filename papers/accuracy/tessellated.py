"""The support vector machine with a learned tessellated kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from papers.accuracy.contestant import Contestant, Setting, listed
from pliant import TKLClassifier, TKLRegressor

__all__ = ["TKL"]


@dataclass(frozen=True)
class TKL(Contestant):
    """TKL of degree 1, C and delta by cross-validation.

    Attributes
    ----------
    Cs, deltas : tuple of float
        What is tried.
    epsilon : float
        Errors left free, in standard deviations of the training target.
    tuning_tol, tol : float
        Relative gaps to which machines are solved while choosing, and at last.
    tuning_max_iter, max_iter : int
        How many support vector machines are solved at most while choosing, and at last.
    """

    Cs: tuple[float, ...] = tuple(10.0**p for p in range(6))
    deltas: tuple[float, ...] = (0.1, 0.5, 1.0)
    degree: int = 1
    epsilon: float = 0.1
    tuning_tol: float = 1e-2
    tol: float = 1e-3
    tuning_max_iter: int = 20
    max_iter: int = 500
    rows: int | None = 1000
    name: str = "tkl"
    title: str = "TKL"

    def settings(self) -> list[Setting]:
        """Return all pairs, the least C first, then the least box."""
        return [{"C": C, "delta": delta} for C in self.Cs for delta in self.deltas]

    def machine(self, task: str, setting: Setting, seed: int, *, final: bool = True) -> Any:
        """Return the estimator, which scales features and target itself."""
        options: dict[str, Any] = {**setting, "degree": self.degree, "random_state": seed}
        options["tol"] = self.tol if final else self.tuning_tol
        options["max_iter"] = self.max_iter if final else self.tuning_max_iter
        if task == "classification":
            return TKLClassifier(**options)
        return TKLRegressor(**options, epsilon=self.epsilon)

    def details(self, machine: Any) -> dict[str, float]:
        """Return the certified relative gap and the rank of P."""
        return {
            "gap": float(machine.dual_gap_ / machine.objective_),
            "rank": float(machine.rank_),
        }

    def words(self) -> str:
        """Say how it is tuned and fitted."""
        return (
            f"degree {self.degree}, features scaled to [0, 1], C in {listed(self.Cs)} (the least "
            f"first), delta in {listed(self.deltas)}, {self.chosen_on()}; certified relative gap "
            f"{self.tuning_tol:g} while choosing and {self.tol:g} at last, or at most "
            f"{self.tuning_max_iter} and {self.max_iter} support vector machines"
        )
