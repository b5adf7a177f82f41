"""A kernel of some columns only, by position or by name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from pliant.core.text import meant, quoted
from pliant.core.typing import Array, Between, Indices
from pliant.kernels.base import Kernel, _Wrapped, parameters


class On(_Wrapped):
    """A kernel of some columns: k(x, y) = kernel(x[columns], y[columns]).

    Estimators look names up in the columns of the data frame that they are fitted on; what they
    learn holds positions. `resolved` does the same by hand. Elsewhere a name is a ValueError.

    Parameters
    ----------
    kernel : Kernel
        Of the chosen columns, in the order given.
    columns : int, str, slice or array-like
        Positions, a negative one counted from the last column; a slice of int; a mask, with True
        or False for each column; or names. At least one column, and none twice.

    Examples
    --------
    >>> from pliant.kernels import Gaussian, Linear, On
    >>> kernel = On(Gaussian(0.5), [0, 2]) + On(Linear(), -1)
    >>> float(kernel([[1.0, 7.0, 2.0]], [[1.0, 8.0, 2.0]])[0, 0])
    5.0
    >>> On(Linear(), ["height"]).resolved(["age", "height"], 2).columns
    array([1])
    """

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def resolved(self, feature_names: Sequence[str] | None, n_features: int) -> On:
        """Return this kernel with positions >= 0, as `resolve_columns` does."""
        names = None if feature_names is None else [str(name) for name in feature_names]
        if names is not None and len(names) != n_features:
            raise ValueError(f"expected {n_features} feature names, got {len(names)}")
        positions = _positions(self.columns, n_features, names)
        chosen = None if names is None else [names[position] for position in positions]
        return type(self)(resolve_columns(self.kernel, chosen, len(positions)), positions)

    def prepared(self, points: Array) -> Between | None:
        """Return k between points, made ready for many calls; None if nothing is gained."""
        return self.kernel.prepared(self._chosen(points))

    def _check_pair(self, X: Array, Y: Array) -> None:
        Kernel._check_pair(self, X, Y)
        left = self._chosen(X)
        self.kernel._check_pair(left, left if Y is X else self._chosen(Y))

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self._chosen(X)
        return self.kernel._gram(left, left if Y is X else self._chosen(Y))

    def _diagonal(self, X: Array) -> Array:
        return self.kernel._diagonal(self._chosen(X))

    def _chosen(self, X: Array) -> Array:
        return X[:, _positions(self.columns, X.shape[1])]

    def _check_loaded(self) -> None:
        """Raise ValueError if the kernel or the columns, read from a file, cannot be such."""
        super()._check_loaded()
        _listed(self.columns)


def resolve_columns(kernel: Kernel, feature_names: Sequence[str] | None, n_features: int) -> Kernel:
    """Return a kernel whose columns are positions >= 0, wherever it is made of `On`.

    Parameters
    ----------
    kernel : Kernel
        It is left as it is, and returned if there is no `On` in it.
    feature_names : sequence of str of length n_features, or None
        The names of the columns; None if they have none.
    n_features : int
        The number of columns of the points.

    Raises
    ------
    ValueError
        For a column that is not there; the message quotes it, and the names that are known.

    Examples
    --------
    >>> from pliant.kernels import Gaussian, Linear, On, resolve_columns
    >>> kernel = On(Gaussian(), ["age"]) + On(Linear(), slice(1, None))
    >>> known = resolve_columns(kernel, ["height", "weight", "age"], 3)
    >>> known.left.columns, known.right.columns
    (array([2]), array([1, 2]))
    """
    if isinstance(kernel, On):
        return kernel.resolved(feature_names, n_features)

    def known(part: Any) -> Any:
        if isinstance(part, Kernel):
            return resolve_columns(part, feature_names, n_features)
        if isinstance(part, list | tuple) and any(isinstance(item, Kernel) for item in part):
            items = [known(item) for item in part]
            same = all(new is old for new, old in zip(items, part, strict=True))
            return part if same else items
        return part

    parts = parameters(kernel)
    changed = {name: known(part) for name, part in parts.items()}
    if all(changed[name] is part for name, part in parts.items()):
        return kernel
    return type(kernel)(**changed)


def _positions(columns: Any, n_features: int, names: list[str] | None = None) -> Indices:
    """Return the positions of columns, each >= 0, if each is there and none stands twice."""
    chosen = _listed(columns)
    if not isinstance(chosen, slice) and chosen.dtype.kind in "OU":
        chosen = np.array([_place(name, n_features, names) for name in chosen.tolist()])
    try:
        positions = np.arange(n_features)[chosen]
    except IndexError as error:
        raise ValueError(
            f"expected On(columns=...) among {n_features} features, got {columns!r:.200}: {error}"
        ) from None
    if not positions.size:
        raise ValueError(
            f"expected On(columns=...) to choose some of {n_features} features, got none"
        )
    values, counts = np.unique(positions, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"expected On(columns=...) with no column twice, got {values[counts > 1][0]} again"
        )
    return positions


def _listed(columns: Any) -> slice | npt.NDArray[Any]:
    """Return columns as a slice, or as an array of positions, of a mask or of names."""
    if isinstance(columns, slice):
        with suppress(TypeError, ValueError):
            columns.indices(1)
            return columns
    else:
        listed = columns if isinstance(columns, list | tuple) else [columns]
        texts = {isinstance(item, str) for item in listed}
        items = np.atleast_1d(np.asarray(columns if len(texts) == 1 else None))
        named = all(isinstance(item, str) for item in items.flat)
        if items.ndim == 1 and items.size and (named or items.dtype.kind in "biu"):
            return items
    raise ValueError(
        "expected On(columns=...) to be positions, a slice of int, a mask or names, got "
        f"{columns!r:.200}"
    )


def _place(name: str, n_features: int, names: list[str] | None) -> int:
    """Return the position of a column by its name."""
    if names is None:
        raise ValueError(
            f"expected On(columns=...) as positions, as the names of the {n_features} features are "
            f"not known here, got {quoted(name)}; fit an estimator on a data frame, or use "
            "On.resolved"
        )
    if names.count(name) > 1:
        raise ValueError(
            f"expected On(columns=...) as names that stand once, got {quoted(name)}, the name "
            f"of {names.count(name)} features"
        )
    if name not in names:
        raise ValueError(
            f"expected On(columns=...) among the features, got {quoted(name)}; {meant(name, names)}"
        )
    return names.index(name)
