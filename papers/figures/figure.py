"""What a figure is, and how its picture is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pliant.core.files import replacing

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = [
    "LEARNED_LINE",
    "SVM_LINE",
    "Drawn",
    "PaperFigure",
    "canvas",
    "diverging",
    "eta_text",
    "save",
]

SVM_LINE, LEARNED_LINE = "--", "-"
"""As in the papers: the plain machine dashed, the learned kernel solid."""

DOTS_PER_INCH = 100


@dataclass(frozen=True)
class Drawn:
    """What is told of a picture.

    Attributes
    ----------
    caption : str
        What is seen, with the paper's and the measured numbers; plain text.
    measured : dict
        Parameters that were chosen, and results; for JSON.
    """

    caption: str
    measured: dict[str, Any]


class PaperFigure(Protocol):
    """A figure of a paper; a frozen dataclass whose fields are its setting.

    Attributes
    ----------
    name : str
        Of the picture's file, without ``.png``.
    title : str
    needs_data : bool
        Whether `draw` reads a set from the data folder.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    needs_data: ClassVar[bool]

    def draw(self, folder: Path, data: str | None) -> Drawn:
        """Measure, write ``NAME.png`` to `folder`, and say what is seen."""


def canvas(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches; it belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write ``NAME.png``."""
    with replacing(folder / f"{name}.png") as draft:
        figure.savefig(draft, dpi=DOTS_PER_INCH, pil_kwargs={"optimize": True})


def diverging() -> Colormap:
    """Return colours from blue over white to red; few, so that pictures stay small."""
    from matplotlib import colormaps

    return colormaps["RdBu_r"].resampled(21)


def eta_text(scale: float) -> str:
    """Return what eta is, as a multiple of the automatic one."""
    return "η = |α|²" if scale == 1 else f"η = {scale:g} |α|²"
