"""Transforms of rows as arrays: scaling, imputation, one-hot codes, mean targets, projection.

Each maps float64 rows of shape (n_samples, n_features) to shape (n_samples, n_outputs), and names
its outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pliant.core.form import FEATURES, Object, Part, SavedForm
from pliant.core.parameters import one_of, optional, real_number
from pliant.core.typing import Array, Indices
from pliant.core.validation import LARGEST

Numbers = npt.NDArray[np.int32]

SMALLEST = 1e-100
"""Smallest absolute value of a divisor or a factor."""


@dataclass(eq=False)
class Affine:
    """z = factor (x - centre) / scale + offset, clipped to [low, high]; None leaves a step out.

    Attributes
    ----------
    centre, scale, factor, offset : array of shape (n_features,) or None
    low, high : float or None
    n_features : int
    """

    _form: ClassVar[SavedForm] = {
        "centre, scale, factor, offset": Part("f8", ("features",), optional=True),
        "low, high": optional(real_number()),
        "n_features": FEATURES,
    }

    centre: Array | None
    scale: Array | None
    factor: Array | None
    offset: Array | None
    low: float | None
    high: float | None
    n_features: int

    takes_missing: ClassVar[bool] = True

    def __call__(self, X: Array) -> Array:
        """Return the scaled rows."""
        Z = np.array(X, order="K")
        if self.centre is not None:
            Z -= self.centre
        if self.scale is not None:
            Z /= self.scale
        if self.factor is not None:
            Z *= self.factor
        if self.offset is not None:
            Z += self.offset
        return Z if self.low is None else np.clip(Z, self.low, self.high)

    def inverse(self, Z: Array) -> Array:
        """Return x for given z, without clipping."""
        X = np.array(Z, order="K")
        if self.offset is not None:
            X -= self.offset
        if self.factor is not None:
            X /= self.factor
        if self.scale is not None:
            X *= self.scale
        if self.centre is not None:
            X += self.centre
        return X

    def names(self, inputs: Sequence[str]) -> list[str]:
        """Return the names of the inputs."""
        return [*inputs]

    def _check_loaded(self) -> None:
        for each in (self.scale, self.factor):
            if each is not None and not (np.abs(each) >= SMALLEST).all():
                raise ValueError(f"expected scales of at least {SMALLEST:g} in absolute value")
        low, high = self.low, self.high
        if (low is None) != (high is None):
            raise ValueError(f"expected two limits, got {low!r} and {high!r}")
        if low is not None and high is not None and not -LARGEST <= low <= high <= LARGEST:
            raise ValueError(f"expected limits in order, at most 1e100, got {low!r} and {high!r}")


@dataclass(eq=False)
class Imputation:
    """Replace NaN by a value per feature; append an indicator of NaN for some features.

    Attributes
    ----------
    values : array of shape (n_features,)
    left_out : bool array of shape (n_features,)
        True for features that are left out of the result.
    indicators : int32 array of shape (n_indicators,)
        Features with an indicator, in ascending order.
    """

    _form: ClassVar[SavedForm] = {
        "values": Part("f8", ("features",)),
        "left_out": Part("b1", ("features",)),
        "indicators": Part("i4", ("indicators",), low=0, below="features", order=np.less),
    }

    values: Array
    left_out: npt.NDArray[np.bool_]
    indicators: Numbers

    takes_missing: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return len(self.values)

    def __call__(self, X: Array) -> Array:
        """Return rows without NaN, then the indicators."""
        missing = np.isnan(X)
        filled = np.where(missing, self.values, X)[:, ~self.left_out]
        return np.hstack([filled, missing[:, self.indicators].astype(np.float64)])

    def names(self, inputs: Sequence[str]) -> list[str]:
        """Return the names of the inputs kept, and of the indicators as scikit-learn does."""
        kept = [name for name, out in zip(inputs, self.left_out, strict=True) if not out]
        return [*kept, *(f"missingindicator_{inputs[j]}" for j in self.indicators)]


@dataclass(eq=False)
class Levels:
    """The known levels of each feature: ascending numbers, and possibly NaN as the last level.

    Attributes
    ----------
    levels : array of shape (n_levels,)
        The finite levels, feature after feature.
    counts : int32 array of shape (n_features,)
        Number of finite levels of each feature.
    missing : bool array of shape (n_features,)
        True if NaN is a level.
    """

    _form: ClassVar[SavedForm] = {
        "levels": Part("f8", ("levels",)),
        "counts": Part("i4", ("features",), low=0),
        "missing": Part("b1", ("features",)),
    }

    levels: Array
    counts: Numbers
    missing: npt.NDArray[np.bool_]

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return len(self.counts)

    @property
    def sizes(self) -> list[int]:
        """Number of levels of each feature, including NaN."""
        return [int(size) for size in self.counts + self.missing]

    @property
    def n_levels(self) -> int:
        """Number of levels of all features, including NaN."""
        return len(self.levels) + int(self.missing.sum())

    @property
    def each(self) -> list[Array]:
        """The finite levels of each feature."""
        return np.split(self.levels, np.cumsum(self.counts)[:-1])

    def of(self, j: int) -> Array:
        """Return the levels of feature j."""
        known = self.each[j]
        return np.append(known, np.nan) if self.missing[j] else known

    def codes(self, X: Array) -> Iterator[Indices]:
        """Yield the numbers of the levels in each column; -1 for unknown values."""
        for known, missing, column in zip(self.each, self.missing, X.T, strict=True):
            place = np.searchsorted(known, column)
            found = np.append(known, np.nan)[place] == column
            codes = np.where(found, place, -1)
            yield np.where(np.isnan(column), len(known), codes) if missing else codes

    def _check_loaded(self) -> None:
        if len(self.levels) != int(self.counts.sum(dtype=np.int64)):
            raise ValueError(f"expected {self.counts.sum()} levels, got {len(self.levels)}")
        starts = np.cumsum(self.counts)[:-1]
        rises = np.diff(self.levels) > 0
        rises[starts[(starts > 0) & (starts < len(self.levels))] - 1] = True
        if not rises.all():
            raise ValueError("expected the levels of each feature in ascending order")


@dataclass(eq=False)
class OneHot:
    """One indicator per level; all are 0 for an unknown value.

    Attributes
    ----------
    levels : Levels
    strict : bool
        True if an unknown value is an error.
    """

    _form: ClassVar[SavedForm] = {"levels": Object(Levels), "strict": Object(bool)}

    levels: Levels
    strict: bool

    takes_missing: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.levels.n_features

    @property
    def known_row(self) -> Array:
        """A row of known values, shape (1, n_features)."""
        first = [known[0] if len(known) else np.nan for known in self.levels.each]
        return np.array(first, ndmin=2)

    def __call__(self, X: Array) -> Array:
        """Return the indicators, feature after feature."""
        sizes = self.levels.sizes
        result = np.zeros((len(X), sum(sizes)))
        start = 0
        for j, (size, codes) in enumerate(zip(sizes, self.levels.codes(X), strict=True)):
            known = np.flatnonzero(codes >= 0)
            if self.strict and len(known) < len(codes):
                raise ValueError(f"found an unknown category in column {j}: {X[codes < 0, j][0]}")
            result[known, start + codes[known]] = 1.0
            start += size
        return result

    def names(self, inputs: Sequence[str]) -> list[str]:
        """Return names such as ``x0_1.0``, as scikit-learn does."""
        pairs = ((name, self.levels.of(j)) for j, name in enumerate(inputs))
        return [f"{name}_{level}" for name, levels in pairs for level in levels]

    def _check_loaded(self) -> None:
        if self.strict and 0 in self.levels.sizes:
            raise ValueError("expected one level or more of each feature")


@dataclass(eq=False)
class MeanTargets:
    """The mean target of each level, or the overall mean for an unknown value.

    Attributes
    ----------
    levels : Levels
    means : array of shape (n_levels including NaN, n_outputs)
        With several outputs, the shares of the classes.
    overall : array of shape (n_outputs,)
    """

    _form: ClassVar[SavedForm] = {
        "levels": Object(Levels, sizes={"n_levels": "levels"}),
        "means": Part("f8", ("levels", "outputs")),
        "overall": Part("f8", ("outputs",), least=1),
    }

    levels: Levels
    means: Array
    overall: Array

    takes_missing: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.levels.n_features

    def __call__(self, X: Array) -> Array:
        """Return the means, feature after feature, shape (n_samples, n_features n_outputs)."""
        result, start = [np.empty((len(X), 0))], 0
        for size, codes in zip(self.levels.sizes, self.levels.codes(X), strict=True):
            table = np.vstack([self.means[start : start + size], self.overall])  # -1: the last row
            result.append(table[codes])
            start += size
        return np.hstack(result)

    def names(self, inputs: Sequence[str]) -> list[str]:
        """Return the names of the inputs, with the number of the class if there are several."""
        k = len(self.overall)
        return [name if k == 1 else f"{name}_{c}" for name in inputs for c in range(k)]


@dataclass(eq=False)
class Projection:
    """z = (x - centre) W / scale; None leaves a step out.

    Attributes
    ----------
    components : array of shape (n_outputs, n_features)
        The transpose of W.
    centre : array of shape (n_features,) or None
    scale : array of shape (n_outputs,) or None
    prefix : {"pca", "truncatedsvd"}
        The outputs are named by it and their number.
    """

    _form: ClassVar[SavedForm] = {
        "components": Part("f8", ("outputs", "features")),
        "centre": Part("f8", ("features",), optional=True),
        "scale": Part("f8", ("outputs",), optional=True, low=SMALLEST),
        "prefix": one_of(("pca", "truncatedsvd")),
    }

    components: Array
    centre: Array | None
    scale: Array | None
    prefix: str

    takes_missing: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.components.shape[1]

    def __call__(self, X: Array) -> Array:
        """Return the projections; the centre is subtracted from them, as in scikit-learn."""
        Z = X @ self.components.T
        if self.centre is not None:
            Z -= self.centre[None] @ self.components.T
        if self.scale is not None:
            Z /= self.scale
        return np.asarray(Z)

    def names(self, inputs: Sequence[str]) -> list[str]:
        """Return names such as ``pca0``."""
        return [f"{self.prefix}{k}" for k in range(len(self.components))]
