"""Short names of kernels, for tables and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from inspect import Parameter, signature

import numpy as np

from pliant.core.kernels.base import FunctionKernel, Kernel, Normalized, Rescaled, Scaled
from pliant.core.kernels.on import On
from pliant.core.text import listed, printable

LONGEST_NAME = 60
"""Number of characters of a name at most."""


def short_name(kernel: Kernel, feature_names: Sequence[str] | None = None) -> str:
    """Return a kernel's name for tables and pictures, without its scaling.

    Such as "Gaussian(gamma=0.5) of petal length". A name of more than 60 characters is cut.
    """
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
    shown = [
        text for text, first, value, default in _parameters(kernel) if first or value != default
    ]
    name = type(kernel).__name__ + (f"({', '.join(shown)})" if shown else "")
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def short_names(kernels: Sequence[Kernel], feature_names: Sequence[str] | None = None) -> list[str]:
    """Return the names of several kernels; one that stands more than once has its position.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.core.kernels.names import short_names
    >>> from pliant.kernels import Linear, Precomputed
    >>> short_names([Precomputed(np.eye(2)), Precomputed(np.ones((2, 2))), Linear()])
    ['Precomputed [0]', 'Precomputed [1]', 'Linear']
    """
    names = [short_name(kernel, feature_names) for kernel in kernels]
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} [{m}]" for m, name in enumerate(names)]


def _parameters(kernel: Kernel) -> Iterator[tuple[str, bool, object, object]]:
    """Yield numbers and texts among the parameters: "name=value", whether first, value, default."""
    for place, each in enumerate(_signature(type(kernel))):
        value = getattr(kernel, each.name)
        if isinstance(value, str | float | int):
            text = f"{value:.3g}" if isinstance(value, float) else printable(value)
            yield f"{each.name}={text}", place == 0, value, each.default


@cache
def _signature(kind: type[Kernel]) -> list[Parameter]:
    return list(signature(kind).parameters.values())
