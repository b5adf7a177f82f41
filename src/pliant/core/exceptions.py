"""The errors and warnings of pliant, and the public path of its classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def set_public_module(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Set ``__module__`` of the classes among `names` to the module that exports them.

    Model files, pickles and reprs name a class by ``__module__``. With the public path there, they
    survive a move of the file that defines the class. `namespace` is ``globals()`` of the module
    that exports the names in its ``__all__``.
    """
    for name in names:
        item = namespace.get(name)
        if isinstance(item, type):
            item.__module__ = namespace["__name__"]


class NonPSDWarning(UserWarning):
    """A Gram matrix has a clearly negative eigenvalue: there is no certificate."""


class FeatureScaleWarning(UserWarning):
    """Features differ so much in scale that the kernel hardly depends on some of them."""


class UniformWeightsWarning(UserWarning):
    """A rule for kernel weights prefers no kernel, so all weights are equal."""


class TableError(ValueError):
    """A table cannot be read, or lacks columns."""


class ModelFileError(ValueError):
    """A model file is damaged, foreign, hostile, or cannot be written."""


for _kind in (
    NonPSDWarning,
    FeatureScaleWarning,
    UniformWeightsWarning,
    TableError,
    ModelFileError,
):
    _kind.__module__ = "pliant"
