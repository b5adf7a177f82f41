"""Figures small enough to stand in the page itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from importlib.util import find_spec

from papers.overview.overview import Figure

__all__ = ["MOST_BYTES", "embedded"]

WIDTH = 720
"""Of a picture, in pixels."""

COLOURS = 48

MOST_BYTES = 1_000_000
"""Of all pictures together; what comes later has its caption alone."""


def embedded(figures: Sequence[Figure]) -> dict[str, str]:
    """Return the figures as data URIs by name; none where Pillow is not installed."""
    if find_spec("PIL") is None:
        return {}
    found: dict[str, str] = {}
    for figure in figures:
        picture = _reduced(figure)
        if sum(map(len, found.values())) + len(picture) <= MOST_BYTES:
            found[figure.name] = picture
    return found


def _reduced(figure: Figure) -> str:
    """Return a picture of few colours."""
    from PIL import Image

    with Image.open(figure.path) as whole:
        small = whole.convert("RGB")
    small.thumbnail((WIDTH, 4 * WIDTH))
    target = io.BytesIO()
    small.quantize(COLOURS).save(target, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"
