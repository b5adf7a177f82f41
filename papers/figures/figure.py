"""What a figure is, and what several of them draw in the same way."""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pliant.core.files import replacing
from pliant.core.typing import Array

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

SVM_LINE, LEARNED_LINE = "--", "-"
"""As in the papers: the plain model dashed, the learned kernel solid."""

DOTS_PER_INCH = 100

_CAPTIONS, _SETTINGS = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    for name in ("captions", "settings")
)


class PaperFigure(ABC):
    """A figure of a paper.

    Its setting, each value an attribute, stands in settings.toml, and in `more` where TOML has no
    such value; `changes` replace values.
    """

    name: ClassVar[str]
    """Of the picture's file, without ``.png``, and of its tables in captions.toml, settings.toml"""
    needs_data: ClassVar[bool] = False
    """Whether it reads a set from the data folder."""
    more: ClassVar[dict[str, Any]] = {}

    def __init__(self, **changes: Any) -> None:
        given = {**self.more, **_SETTINGS[self.name]}
        if unknown := sorted(changes.keys() - given):
            raise TypeError(f"expected settings out of {', '.join(given)}, got {unknown[0]!r}")
        vars(self).update(given | changes)

    @property
    def setting(self) -> dict[str, Any]:
        """The setting as data for JSON."""
        return {k: asdict(v) if is_dataclass(v) else v for k, v in vars(self).items()}

    @property
    def title(self) -> str:
        """The title in captions.toml."""
        return _CAPTIONS[self.name]["title"]

    def draw(self, folder: Path, data: str | None) -> dict[str, Any]:
        """Measure, write ``NAME.png`` to `folder`; return the figure's entry in numbers.json."""
        figure, measured = self._plot(data)
        with replacing(folder / f"{self.name}.png") as draft:
            figure.savefig(draft, dpi=DOTS_PER_INCH, pil_kwargs={"optimize": True})
        return {
            "title": self.title,
            "file": f"{self.name}.png",
            "caption": self.caption(measured),
            "setting": self.setting,
            "measured": measured,
        }

    def caption(self, measured: dict[str, Any]) -> str:
        """Return what is seen, with the paper's and the measured numbers, in plain text."""
        texts, words = _CAPTIONS[self.name], self._words(measured)
        for key, phrase in texts.get("each", {}).items():
            line = " ".join(phrase.split())
            words[key] = "; ".join(line.format(**item) for item in words[key])
        return " ".join(texts["caption"].split()).format(s=self, m=measured, **words)

    @abstractmethod
    def _plot(self, data: str | None) -> tuple[Figure, dict[str, Any]]:
        """Measure and draw; return the picture, and parameters and results for JSON."""

    @abstractmethod
    def _words(self, measured: dict[str, Any]) -> dict[str, Any]:
        """Return what the caption takes from the numbers besides setting and results.

        Where captions.toml has a phrase for `each` item, the value is a list of dicts.
        """


def canvas(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure of this size in inches, which belongs to no window, and its axes.

    The axes are an array of shape (rows, columns); `options` go to ``Figure.subplots``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def legend_of(ax: Any, place: str = "upper center") -> None:
    """Name the lines of one panel outside all panels, on the side that `place` names."""
    handles, labels = ax.get_legend_handles_labels()
    ax.figure.legend(handles, labels, loc=f"outside {place}", ncols=4, frameon=False)


def lettered(panels: Sequence[Any], titles: Sequence[str]) -> None:
    """Write (a), (b), ... and a title above each panel."""
    for ax, part, title in zip(panels, "abcdef", titles, strict=False):
        ax.set_title(f"({part}) {title}", fontsize=10)


def places(u: Array, v: Array) -> Array:
    """Return all points of a grid with these positions along its axes, shape (n, 2)."""
    return np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)


def diverging() -> Colormap:
    """Return colours from blue over white to red; few, so that pictures stay small."""
    from matplotlib import colormaps

    return colormaps["RdBu_r"].resampled(21)


def eta_text(scale: float) -> str:
    """Return what eta is, as a multiple of the automatic one."""
    return "η = |α|²" if scale == 1 else f"η = {scale:g} |α|²"
