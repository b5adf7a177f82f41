"""HTML elements whose texts are cleaned and escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import TypeAlias, Union

from pliant.core.text import printable


class Markup(str):
    """Text that is HTML already, as `tag` makes it."""

    __slots__ = ()


Content: TypeAlias = Union[str, float, "Iterable[Content]", None]
"""The content of an element: `Markup` as it is, other text escaped, None for nothing."""


def clean(value: object) -> str:
    """Return text on one line, without control characters and marks that turn its direction."""
    return printable(" ".join(str(value).split()), 2000)


def tag(name: str, /, *children: Content, **attributes: object) -> Markup:
    """Write an element.

    In names of attributes underscores stand for hyphens, and one at the end for nothing. An
    attribute of value None is left out. `Markup` stays as it is.

    Examples
    --------
    >>> tag("td", "<b>", class_="number", data_value=3)
    '<td class="number" data-value="3">&lt;b&gt;</td>'
    """
    opened = f"<{name}{''.join(_attributes(attributes))}>"
    content = "".join(_pieces(children))
    return Markup(opened if name in ("img", "meta") else f"{opened}{content}</{name}>")


def _pieces(content: Content) -> Iterator[str]:
    if content is None:
        return
    if isinstance(content, Markup):
        yield content
    elif isinstance(content, str) or not isinstance(content, Iterable):
        text = str(content)  # a space at either end stays: it parts the pieces of a sentence
        first, last = (" " if end.isspace() else "" for end in (text[:1], text[-1:]))
        yield html.escape(f"{first}{clean(text)}{last}" if text.strip() else first)
    else:
        for child in content:
            yield from _pieces(child)


def _attributes(attributes: dict[str, object]) -> Iterator[str]:
    for name, value in attributes.items():
        written = name.rstrip("_").replace("_", "-")
        if value is not None:
            text = value if isinstance(value, Markup) else html.escape(clean(value))
            yield f' {written}="{text}"'
