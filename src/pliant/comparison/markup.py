"""HTML that what it shows cannot break: every text is cleaned and escaped on its way in."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import TypeAlias, Union

from pliant.core.text import printable

LONGEST = 2000
"""Characters of one piece of text at most."""

EMPTY = ("br", "img", "meta")
"""Elements without an end."""


class Markup(str):
    """Text that is HTML already, as `tag` makes it."""

    __slots__ = ()


Content: TypeAlias = Union[str, float, "Iterable[Content]", None]
"""What can stand in an element: `Markup` as it is, other text escaped, None for nothing."""


def clean(value: object) -> str:
    """Return text on one line, without control characters and marks that turn its direction."""
    return printable(" ".join(str(value).split()), LONGEST)


def joined(*children: Content) -> Markup:
    """Put pieces of HTML and of text behind each other.

    Examples
    --------
    >>> joined("a < b", tag("br"))
    'a &lt; b<br>'
    """
    return Markup("".join(_pieces(children)))


def tag(name: str, /, *children: Content, **attributes: object) -> Markup:
    """Write an element.

    In names of attributes underscores stand for hyphens, and one at the end for nothing. An
    attribute that is None or False is left out; one that is True has no value. `Markup` stays as
    it is.

    Examples
    --------
    >>> tag("td", "<b>", class_="number", data_value=3)
    '<td class="number" data-value="3">&lt;b&gt;</td>'
    """
    opened = f"<{name}{''.join(_attributes(attributes))}>"
    return Markup(opened if name in EMPTY else f"{opened}{joined(*children)}</{name}>")


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
        if value is True:
            yield f" {written}"
        elif value is not None and value is not False:
            text = value if isinstance(value, Markup) else html.escape(clean(value))
            yield f' {written}="{text}"'
