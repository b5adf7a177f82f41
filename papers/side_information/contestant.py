"""What the studies ask of a contestant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from papers.side_information.protocol import SideProtocol, SideSample

__all__ = ["MEASURED", "Contestant", "Variants"]

Variants: TypeAlias = dict[str, dict[str, Any]]
"""What was measured, and what was chosen, under the name of each variant."""

MEASURED = "measured"
"""The name where there is only one."""


class Contestant(ABC):
    """A frozen dataclass whose fields say how it is tuned.

    Attributes
    ----------
    name, title : str
        In the records and on the pages.
    """

    name: str
    title: str

    @abstractmethod
    def measure(self, sample: SideSample, protocol: SideProtocol, seed: int) -> Variants:
        """Choose parameters by the labelled points, learn, and judge."""

    @abstractmethod
    def words(self) -> str:
        """Say in a sentence how it is tuned and judged."""
