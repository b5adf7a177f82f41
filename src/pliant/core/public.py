"""The public path of exported classes, whichever file they are defined in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def set_public_module(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Set ``__module__`` of the classes among `names` to the module that exports them.

    Model files, pickles and reprs name a class by ``__module__``. With the public path there, they
    survive when the file that defines the class moves. `namespace` is ``globals()`` of the module
    that exports the names, which are its ``__all__``.
    """
    for name in names:
        item = namespace.get(name)
        if isinstance(item, type):
            item.__module__ = namespace["__name__"]
