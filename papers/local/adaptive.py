"""LAB-RBF itself: with the paper's support points, as it comes, and as a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from papers.local.contestant import Contestant, Setting
from papers.local.protocol import LocalSample
from papers.local.sets import SETS

__all__ = ["DefaultLAB", "LABClassifier", "PaperLAB"]

OWN_UNITS = (
    "it gets the rows in their own units, since it scales them itself and may take logarithms of "
    "skewed positive features and targets"
)


@dataclass(frozen=True)
class DefaultLAB(Contestant):
    """LABRBFRegressor with its default settings; it scales features and target itself."""

    scaled: ClassVar[bool] = False
    name: str = "lab"
    title: str = "LAB-RBF"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the estimator."""
        from pliant import LABRBFRegressor

        return LABRBFRegressor(random_state=seed)

    def details(self, machine: Any) -> dict[str, float]:
        """Return the number of support points, over all members."""
        return {"support": float(len(machine.support_))}

    def words(self) -> str:
        """Say that nothing is tuned."""
        return f"LABRBFRegressor with its defaults; {OWN_UNITS}"


@dataclass(frozen=True)
class PaperLAB(DefaultLAB):
    """The paper's model: one member, the paper's number of support points, no linear part.

    Attributes
    ----------
    draws : int
        Draws of the support points, of which the held-out rows choose one.
    """

    name: str = "paper-lab"
    title: str = "LAB-RBF, one member"
    draws: int = 3

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the estimator."""
        from pliant import LABRBFRegressor

        return LABRBFRegressor(
            n_support=SETS[sample.name].support,
            n_members=1,
            n_draws=self.draws,
            linear=False,
            transforms=None,
            random_state=seed,
        )

    def words(self) -> str:
        """Say what is not a default."""
        return (
            f"LABRBFRegressor(n_support=the paper's number, n_members=1, n_draws={self.draws}, "
            "linear=False, transforms=None)"
        )


@dataclass(frozen=True)
class LABClassifier(DefaultLAB):
    """LABRBFClassifier with its default settings."""

    name: str = "lab-classifier"
    title: str = "LAB-RBF"

    def machine(self, sample: LocalSample, setting: Setting, seed: int) -> Any:
        """Return the estimator."""
        from pliant import LABRBFClassifier

        return LABRBFClassifier(random_state=seed)

    def words(self) -> str:
        """Say that nothing is tuned."""
        return f"LABRBFClassifier with its defaults; {OWN_UNITS}"
