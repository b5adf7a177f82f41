"""Pictures of learned kernels: only whole PNG files in plain base64 reach the page."""

from __future__ import annotations

import base64
import binascii
import re

from pliant.comparison.record import Entry
from pliant.comparison.report.markup import Markup, tag
from pliant.comparison.report.view import View

SIGNATURE = b"\x89PNG\r\n\x1a\n"
END = b"IEND\xaeB`\x82"
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
PARTS = ("title", "alt", "png")
WIDE = 1.6
"""A picture with a larger ratio of width to height takes two columns."""

LARGEST = 20_000
"""The most pixels of a side of a picture."""


def learned_kernels(view: View) -> Markup:
    """Show the pictures of each method, the best method first."""
    groups = [_group(view, standing.method) for standing in view.standings]
    shown = [group for group in groups if group is not None]
    return tag("div", shown) if shown else tag("p", "No pictures were drawn.")


def picture(title: str, alt: str, png: str) -> Markup:
    """Write a picture, a PNG file in base64, in a card; a message where it is damaged."""
    size = _size(png)
    look = "card picture"
    if size is None:
        shown = tag("p", "This picture is damaged and is not shown.", class_="refused")
    else:
        source = Markup(f"data:image/png;base64,{png}")
        width, height = size
        look += " wide" if width > WIDE * height else ""
        shown = tag("img", src=source, alt=alt or title, width=width, height=height)
    return tag("figure", shown, tag("figcaption", title), class_=look)


def _group(view: View, entry: Entry) -> Markup | None:
    """Write the pictures of a method under its name."""
    records = view.records(entry.name)
    pictures = [each for record in records for each in record.get("pictures") or ()]
    if not pictures:
        return None
    figures = [picture(*(str(each.get(part, "")) for part in PARTS)) for each in pictures]
    return tag(
        "div",
        view.heading(entry.title, 1),
        tag("p", f"Learns {entry.summary}.", class_="hint") if entry.summary else None,
        tag("div", figures, class_="gallery"),
    )


def _size(png: object) -> tuple[int, int] | None:
    """Return the width and height of a PNG file in base64, or None if it is no such thing."""
    if not isinstance(png, str) or not BASE64.fullmatch(png):
        return None
    try:
        data = base64.b64decode(png, validate=True)
    except binascii.Error:
        return None
    if not data.startswith(SIGNATURE) or not data.endswith(END) or data[12:16] != b"IHDR":
        return None
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    return (width, height) if 0 < width <= LARGEST and 0 < height <= LARGEST else None
