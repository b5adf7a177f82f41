"""What the displays of a value for each feature share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer
from pliant.plots._common import new_axes, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FeatureDisplay(ABC):
    """A row for each feature, or a heat map with a column for each."""

    ax_: Axes
    relevance: Array
    feature_names: list[str]
    image_: Any
    colorbar_: Any
    _title: ClassVar[str]
    _kinds: ClassVar[tuple[str, str]]

    @property
    def order(self) -> Indices:
        """The features, the most relevant one first; shape (d,)."""
        return np.asarray(np.argsort(-self.relevance, kind="stable"), dtype=np.intp)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str | None = None,
        most_features: int = 20,
        **style: Any,
    ) -> Self:
        """Draw a row for each feature, or the heat map.

        Parameters
        ----------
        ax, kind, most_features, **style
            As for ``from_estimator``, with the same defaults.

        Returns
        -------
        self
        """
        kind = self._checked_kind(self._kinds[0] if kind is None else kind)
        shown = self.order[: check_integer("most_features", most_features, least=1)]
        self.ax_ = new_axes(ax)
        self.image_ = self.colorbar_ = None
        draw = self._draw_features if kind == "features" else self._draw_points
        draw(shown, style)
        d = len(self.relevance)
        some = "" if len(shown) == d else f", {len(shown)} of {d} features"
        self.ax_.set_title(f"{self._title}{some}")
        return self

    @abstractmethod
    def _draw_features(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw a row for each feature, the first on top."""

    @abstractmethod
    def _draw_points(self, shown: Indices, style: dict[str, Any]) -> None:
        """Draw a row for each support point and a column for each feature."""

    def _checked_kind(self, kind: str) -> str:
        return check_choice("kind", kind, self._kinds)

    def _draw_cells(self, cells: Array, shown: Indices, look: dict[str, Any], label: str) -> None:
        """Draw the heat map, its scale and the names of its columns."""
        look = {"aspect": "auto", "interpolation": "nearest", **look}
        self.image_ = self.ax_.imshow(cells, **look)
        self.colorbar_ = self.image_.figure.colorbar(self.image_, ax=self.ax_, label=label)
        self.ax_.set_xticks(np.arange(len(shown)), self._names(shown), rotation=45, ha="right")

    def _name_rows(self, shown: Indices) -> None:
        """Name the rows, the first on top."""
        self.ax_.set_yticks(np.arange(len(shown)), self._names(shown))
        self.ax_.invert_yaxis()

    def _names(self, shown: Indices) -> list[str]:
        return [text(self.feature_names[j]) for j in shown]

    def _count_points(self, drawn: Indices, rows: Indices, more: str = "") -> None:
        """Write how many support points there are, and how many of them are drawn."""
        some = "" if len(drawn) == len(rows) else f"{len(drawn)} of "
        self.ax_.set_ylabel(f"{some}{len(rows)} support points{more}")
