"""Short names of kernels, for tables and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from inspect import Parameter, signature

import numpy as np

from pliant.core.kernels.base import FunctionKernel, Kernel, Normalized, Rescaled, Scaled
from pliant.core.kernels.on import On
from pliant.core.text import listed, printable

LONGEST_NAME = 60
"""Number of characters of a name at most."""


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
