"""Exceptions and warnings of pliant, and the function that sets the public path of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any


def set_public_module(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Set ``__module__`` of the classes among `names` to ``namespace["__name__"]``.

    Model files and pickles store this public path, so a class can move to another file. The HTML
    of an estimator links to its page of the documentation.
    """
    for name in names:
        item: Any = namespace.get(name)
        if hasattr(item, "__mro__"):
            item.__module__ = namespace["__name__"]
            if hasattr(item, "_doc_link_module"):
                item._doc_link_module = "pliant"
                item._doc_link_template = property(_page_of)


def _page_of(estimator: Any) -> str:
    """Return a template for the address of a page; "" before pyproject.toml has a real one."""
    from importlib.metadata import PackageNotFoundError, metadata

    with suppress(PackageNotFoundError):
        for url in metadata("pliant").get_all("Project-URL", []):
            name, _, address = url.partition(", ")
            if name == "Documentation" and "//example.org/" not in address:
                page = "api/generated/{estimator_module}.{estimator_name}.html"
                return f"{address.rstrip('/')}/{page}"
    return ""


class NonPSDWarning(UserWarning):
    """A Gram matrix has a clearly negative eigenvalue, so the fit has no certificate."""


class FeatureScaleWarning(UserWarning):
    """Feature scales differ so much that the kernel hardly depends on some features."""


class SampleWeightWarning(UserWarning):
    """Positive sample weights are so much smaller than the largest that they count as zero."""


class UniformWeightsWarning(UserWarning):
    """A rule for kernel weights finds no difference between the kernels, and sets equal weights."""


class UnknownCategoryWarning(UserWarning):
    """A categorical column holds values that are not in the training table."""


class TableError(ValueError):
    """A table cannot be read, or a column is missing."""


class ModelFileError(ValueError):
    """A model file is damaged, malicious, not from pliant, or cannot be written."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended `pliant.fit` with a budget, and the best model so far is available.

    Parameters
    ----------
    result : ComparisonResult or None
        None if the comparison had not begun.
    best : callable
        Returns the best model so far, a `pliant.tables.comparison.comparing.BudgetedFit`.

    Attributes
    ----------
    result : ComparisonResult or None
        The fits (one per method and fold) that had finished.
    """

    def __init__(self, result: Any, best: Callable[[], Any]) -> None:
        super().__init__(result, best)
        self.result, self._best = result, best

    def __reduce__(self) -> Any:
        """Return the parts for a pickle: the result alone, as `best` fits in this process."""
        return type(self), (self.result, _refuse_to_fit)

    def __str__(self) -> str:
        return "the attribute `model` of this exception is the best model so far"

    @cached_property
    def best(self) -> Any:
        """The best model so far, with its name and the comparison; fitted on first access."""
        return self._best()

    @property
    def model(self) -> Any:
        """The best model so far: LAB-RBF, or a better model, fitted within the budget."""
        return self.best.model


def _refuse_to_fit() -> Any:
    """Raise ValueError in place of a fit."""
    raise ValueError("expected the process that Ctrl-C interrupted; another has the result alone")


set_public_module(
    {**globals(), "__name__": "pliant.exceptions"},
    [name for name in globals() if name.endswith(("Error", "Warning", "Interrupted"))],
)
