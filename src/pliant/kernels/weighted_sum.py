"""A weighted sum of any number of kernels, and short names of kernels for tables and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from inspect import Parameter, signature

import numpy as np
import numpy.typing as npt

from pliant.core.text import listed, one_line, printable
from pliant.core.typing import Array
from pliant.core.validation import check_vector
from pliant.kernels.base import FunctionKernel, Kernel, Normalized, Rescaled, Scaled
from pliant.kernels.on import On

LONGEST_NAME = 60
"""Number of characters of a name at most."""

SHOWN = 3
"""Kernels that the name of a sum shows, those of the largest weights."""


class WeightedSum(Kernel):
    """k(x, y) = sum_m weights[m] kernels[m](x, y).

    Kernels of weight zero are not evaluated. The sum is symmetric if all kernels are, and positive
    semi-definite if all kernels are and no weight is negative.

    Parameters
    ----------
    kernels : list or tuple of Kernel
        At least one.
    weights : array-like of shape (n_kernels,)
        Finite numbers; one number stands for equal weights.

    Examples
    --------
    >>> from pliant.kernels import Gaussian, Linear, WeightedSum
    >>> kernel = WeightedSum([Gaussian(0.5), Linear()], [0.75, 0.25])
    >>> float(kernel([[1.0, 2.0]])[0, 0])
    2.0
    >>> kernel
    WeightedSum(0.75 Gaussian(gamma=0.5) + 0.25 Linear)
    """

    def __init__(self, kernels: Sequence[Kernel], weights: npt.ArrayLike) -> None:
        self.kernels = kernels
        self.weights = weights

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether all kernels are symmetric."""
        return all(kernel.symmetric for kernel, _ in self._terms())

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether all kernels are positive semi-definite, and no weight is negative."""
        return all(kernel.psd and weight >= 0 for kernel, weight in self._terms())

    def _terms(self) -> list[tuple[Kernel, float]]:
        """Return the kernels and their weights, if they can be such."""
        kernels = self.kernels
        if not isinstance(kernels, list | tuple) or not kernels:
            raise ValueError(
                f"expected WeightedSum(kernels=...) to be a list of kernels, at least one, got "
                f"{kernels!r:.200}"
            )
        for place, kernel in enumerate(kernels):
            if not isinstance(kernel, Kernel):
                raise ValueError(
                    "expected WeightedSum(kernels=...) to hold kernels, got "
                    f"{one_line(kernel, 200)} at {place}"
                )
        weights = check_vector("WeightedSum(weights=...)", self.weights, len(kernels))
        return list(zip(kernels, weights.tolist(), strict=True))

    def _used(self) -> Iterator[tuple[Kernel, float]]:
        return ((kernel, weight) for kernel, weight in self._terms() if weight)

    def _check_pair(self, X: Array, Y: Array) -> None:
        for kernel, _ in self._terms():
            kernel._check_pair(X, Y)

    def _gram(self, X: Array, Y: Array) -> Array:
        gram = np.zeros((len(X), len(Y)))
        for kernel, weight in self._used():
            gram += weight * kernel._gram(X, Y)
        return gram

    def _diagonal(self, X: Array) -> Array:
        diagonal = np.zeros(len(X))
        for kernel, weight in self._used():
            diagonal += weight * kernel._diagonal(X)
        return diagonal

    def _check_loaded(self) -> None:
        """Raise ValueError if the kernels or the weights, read from a file, cannot be such."""
        super()._check_loaded()
        self._terms()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the kernels of the largest weights, and the number of the others."""
        try:
            terms = sorted(self._terms(), key=lambda term: -abs(term[1]))
        except (ValueError, AttributeError):
            return super().__repr__(N_CHAR_MAX)
        shown = [f"{weight:.3g} {short_name(kernel)}" for kernel, weight in terms[:SHOWN]]
        rest = len(terms) - SHOWN
        return f"WeightedSum({' + '.join([*shown, f'{rest} more'] if rest > 0 else shown)})"


def short_name(kernel: Kernel, feature_names: Sequence[str] | None = None) -> str:
    """Return a kernel's name without its scaling, such as "Gaussian(gamma=0.5) of petal length"."""
    if isinstance(kernel, Normalized | Scaled | Rescaled):
        return short_name(kernel.kernel, feature_names)
    if isinstance(kernel, On):
        columns = np.atleast_1d(kernel.columns)
        known = [printable(j if feature_names is None else feature_names[j]) for j in columns]
        noun = "feature " if len(columns) == 1 else "features "
        word = noun if feature_names is None else ""
        return f"{short_name(kernel.kernel)} of {word}{listed(known)}"
    if isinstance(kernel, FunctionKernel):
        return printable(getattr(kernel.function, "__name__", "function"), LONGEST_NAME)
    shown = []  # numbers and texts: the first one, and others that are not the default
    for place, each in enumerate(_signature(type(kernel))):
        value = getattr(kernel, each.name)
        if isinstance(value, str | float | int) and (place == 0 or value != each.default):
            text = f"{value:.3g}" if isinstance(value, float) else printable(value)
            shown.append(f"{each.name}={text}")
    name = type(kernel).__name__ + (f"({', '.join(shown)})" if shown else "")
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def short_names(kernels: Sequence[Kernel], feature_names: Sequence[str] | None = None) -> list[str]:
    """Return the names of several kernels; those that stand more than once with their position."""
    names = [short_name(kernel, feature_names) for kernel in kernels]
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} [{m}]" for m, name in enumerate(names)]


@cache
def _signature(kind: type[Kernel]) -> list[Parameter]:
    return list(signature(kind).parameters.values())
