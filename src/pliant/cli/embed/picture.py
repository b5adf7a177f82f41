"""The picture of ``pliant embed``: the first two coordinates, by category."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pliant.cli.embed.embedding import Mapped
from pliant.core.exceptions import TableError
from pliant.core.files import replacing
from pliant.core.text import quoted
from pliant.plots import EmbeddingDisplay

ENDINGS = (".png", ".svg", ".pdf")

SIZE = (7.0, 5.5)
"""Width and height, in inches."""

DPI = 150


def check_picture(path: Path | None) -> None:
    """Raise an error if a picture cannot be drawn, or not with this name; None is no picture."""
    if path is None:
        return
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"expected --picture FILE with {' or '.join(ENDINGS)}, got {quoted(path)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError(
            "drawing needs matplotlib: pip install 'pliant[plots]', or --picture none"
        )


def draw(mapped: Mapped, path: Path) -> None:
    """Draw the first two coordinates into a file; the same rows give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # without pyplot, which would look for a screen

    display = EmbeddingDisplay(
        mapped.places[:, :2],
        mapped.categories.values,
        unlabeled=mapped.categories.unknown,
        names=mapped.names[:2],
    )
    kind = path.suffix.lower()[1:]
    date = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    figure = Figure(figsize=SIZE, layout="constrained")
    with replacing(path, TableError) as draft, rc_context({"svg.hashsalt": "pliant"}):
        display.plot(figure.subplots())
        figure.savefig(draft, format=kind, dpi=DPI, metadata=date)
