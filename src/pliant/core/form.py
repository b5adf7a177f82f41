"""The declared form of the objects in model files, and its check.

A class declares its stored attributes once, in the table `_form`: arrays as `Part`, with the type
of their entries, the sizes of their axes by name, and their range; parts that are objects as
`Object`; numbers, texts and flags by the constraints of `pliant.core.parameters`. An axis has one
size in the whole object. What no table can say is left to the method `_check_loaded` of a class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.estimators import BaseEstimator
from pliant.core.parameters import Constraint
from pliant.core.sparse import is_sparse
from pliant.core.validation import LARGEST

FINITE = float(np.finfo(np.float64).max)
"""Largest finite number."""

POSITIVE = 5e-324
"""Smallest positive number."""

Axis: TypeAlias = str | int
"""A number, or a name that stands for one size in the whole object."""

Sizes: TypeAlias = dict[str, int]
"""The sizes of axes by name."""


class Entry:
    """The form of one attribute."""

    optional: bool
    """True if the attribute may be None or missing."""

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Raise ValueError unless a value has the form; store and compare the sizes of its axes."""

    def relate(self, name: str, value: Any, record: Any, sizes: Sizes) -> None:
        """Raise ValueError unless a value fits the rest of the object, whose sizes are known."""


SavedForm: TypeAlias = Mapping[str, Entry | Constraint]
"""The forms of attributes; a key holds one name or several, such as "radii, degrees"."""


@dataclass(eq=False, repr=False)
class Part(Entry):
    """The form of an array.

    Parameters
    ----------
    dtype : str
        The exact type of the entries, such as "f8", for a C-contiguous array; "integer" or
        "number" for numbers, nested lists of numbers, and arrays of any type of number.
    axes : tuple of str or int
        The size of each axis.
    low, high : float
        Closed range of the entries.
    nan : bool
        True if entries may be any number, such as results for display.
    below : str
        The axis that the entries index: they are less than its size.
    order : callable, optional
        Holds between neighbours on the first axis, such as `numpy.less`.
    total : float, optional
        The sum of the entries, up to 1e-6.
    least : int
        Minimum size of the first axis.
    scalar, flat, sparse, optional : bool
        True if one number may stand for all entries; if the last axis may be missing; if the array
        may be a CSR array; if the part may be None or missing.
    """

    dtype: str
    axes: tuple[Axis, ...]
    low: float = -LARGEST
    high: float = LARGEST
    nan: bool = False
    below: str = ""
    order: Callable[[Any, Any], Any] | None = None
    total: float | None = None
    least: int = 0
    scalar: bool = False
    flat: bool = False
    sparse: bool = False
    optional: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Check the type, the sizes and the entries of an array."""
        sparse = self.sparse and is_sparse(value)  # the decoder has checked its entries
        array = value if sparse else self._array(name, value)
        shape = array.shape
        if not (self.scalar and shape == ()):
            shape += (1,) if self.flat and len(shape) == len(self.axes) - 1 else ()
            if len(shape) != len(self.axes) or (self.least and shape[0] < self.least):
                expected = f"({', '.join(map(str, self.axes))})"
                raise ValueError(f"expected {name} of shape {expected}, got {array.shape}")
            for axis, size in zip(self.axes, shape, strict=True):
                match_size(name, axis, size, sizes)
        if not (sparse or self.nan or array.dtype.kind == "b" or array.size == 0):
            self._check_entries(name, array)

    def _array(self, name: str, value: Any) -> npt.NDArray[Any]:
        """Return a value as an array of the right type."""
        if kinds := {"number": "biuf", "integer": "iu"}.get(self.dtype):
            array = np.asarray(value if _is_numeric(value) else None)
            known = array.dtype.kind in kinds or (not array.size and array.dtype.kind == "f")
        else:
            array, dtype = value, np.dtype(self.dtype)
            known = isinstance(array, np.ndarray) and array.dtype == dtype
            known = known and array.flags.c_contiguous
        if not known:
            got = f"{value.dtype} array" if isinstance(value, np.ndarray) else f"{value!r:.80}"
            raise ValueError(f"expected {name} as an array of {self.dtype}, got {got}")
        return array

    def _check_entries(self, name: str, array: npt.NDArray[Any]) -> None:
        """Check the range, the order and the sum of entries."""
        # Python's numbers: NumPy would round the limits to the type of the entries, such as float32
        low, high = array.min().item(), array.max().item()  # NaN if one entry is NaN
        if not (self.low <= low and high <= self.high):
            limits = f"from {self.low:g} to {self.high:g}"
            if self.high == FINITE:
                limits = "> 0" if self.low == POSITIVE else f">= {self.low:.4g}, finite"
            raise ValueError(f"expected {name} {limits}, got {low} to {high}")
        if self.order is not None and not self.order(array[:-1], array[1:]).all():
            raise ValueError(f"expected {name} in ascending order")
        if self.total is not None and not abs(array.sum() - self.total) <= 1e-6:
            raise ValueError(f"expected {name} with the sum {self.total:g}, got {array.sum():g}")

    def relate(self, name: str, value: Any, record: Any, sizes: Sizes) -> None:
        """Check that indices are in their range."""
        if self.below and np.size(value) and np.max(value) >= sizes[self.below]:
            limit = f"{sizes[self.below]}, the number of {self.below}"
            raise ValueError(f"expected {name} below {limit}, got {np.max(value)}")


def _is_numeric(value: Any) -> bool:
    """Return True for an array, a number, or a nested list of numbers.

    In a list, NumPy would repeat arrays, and give each text the length of the longest.
    """
    if isinstance(value, list | tuple):
        return all(not isinstance(each, np.ndarray) and _is_numeric(each) for each in value)
    return isinstance(value, np.ndarray | np.bool_ | Real)


def numbers(*axes: Axis, **options: Any) -> Part:
    """Declare finite numbers, by default of any real type."""
    return Part("number", axes, **{"low": -FINITE, "high": FINITE, **options})


def shown(*axes: Axis, **options: Any) -> Part:
    """Declare numbers that reports show and that no prediction uses."""
    return Part("number", axes, nan=True, **options)


def indices(*axes: Axis, **options: Any) -> Part:
    """Declare integers >= 0, such as row numbers."""
    return Part("integer", axes, **{"low": 0, "high": 2**62, **options})


@dataclass(eq=False, repr=False)
class Object(Entry):
    """The form of a part that is an object, or a list of objects.

    Parameters
    ----------
    types : type or tuple of types
    sizes : dict of str to str or int
        Attributes of the object that are sizes of axes.
    axis : str
        The axis along a list of objects, of at least one; empty for a single object.
    named : bool
        True for a list of pairs (name, object).
    method : str
        A method that each object has.
    shared : str
        An array that each object has, equal to that of the record.
    optional : bool
        True if the part may be None or missing.
    """

    types: type[Any] | tuple[type[Any], ...]
    sizes: Mapping[str, Axis] = field(default_factory=dict)
    axis: str = ""
    named: bool = False
    method: str = ""
    shared: str = ""
    optional: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Check the types of objects, and compare their sizes."""
        members = self._members(name, value)
        if self.axis:
            match_size(name, self.axis, len(members), sizes)
        for each in members:
            if not isinstance(each, self.types) or not hasattr(each, self.method or "__class__"):
                types = self.types if isinstance(self.types, tuple) else (self.types,)
                kinds = " or ".join(kind.__name__ for kind in types)
                method = f" with {self.method}" if self.method else ""
                raise ValueError(f"expected {name} to be a {kinds}{method}, got {each!r:.80}")
            for attribute, axis in self.sizes.items():
                match_size(f"{name}.{attribute}", axis, getattr(each, attribute), sizes)

    def _members(self, name: str, value: Any) -> list[Any]:
        """Return the objects of a list, or the only object."""
        if not self.axis:
            return [value]
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f"expected {name} to be a list, not empty, got {value!r:.80}")
        if not self.named:
            return list(value)
        for each in value:
            if type(each) is not tuple or len(each) != 2 or type(each[0]) is not str:
                raise ValueError(f"expected {name} as pairs (name, object), got {each!r:.80}")
        return [each for _, each in value]

    def relate(self, name: str, value: Any, record: Any, sizes: Sizes) -> None:
        """Check that the objects share an array."""
        for each in self._members(name, value) if self.shared else ():
            own, theirs = getattr(record, self.shared), getattr(each, self.shared, None)
            if not isinstance(theirs, np.ndarray) or theirs.tolist() != own.tolist():
                place = f"{name} with {self.shared} {own!r:.80}"
                raise ValueError(f"expected {place}, got {theirs!r:.80}")


@dataclass(eq=False, repr=False)
class Size(Entry):
    """The form of an integer that is the size of an axis."""

    axis: str
    least: int = 0
    most: int = 2**53
    optional: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Check the range of a size."""
        if type(value) is not int or not self.least <= value <= self.most:
            limits = f"from {self.least} to {self.most}"
            raise ValueError(f"expected {name} {limits}, an integer, got {value!r:.80}")
        match_size(name, self.axis, value, sizes)


@dataclass(eq=False, repr=False)
class Labels(Entry):
    """The form of an array of different labels (texts, numbers or bytes), or of texts alone."""

    axis: str
    least: int = 1
    texts: bool = False
    optional: bool = False

    def check(self, name: str, value: Any, sizes: Sizes) -> None:
        """Check the shape and the types of labels, and that they differ."""
        known = isinstance(value, np.ndarray) and value.ndim == 1 and len(value) >= self.least
        labels = value.tolist() if known else [None]
        kinds = (str,) if self.texts else (str, int, float, bool, bytes)
        fits = all(type(label) in kinds for label in labels)
        if not fits or (not self.texts and len(set(labels)) != len(labels)):
            noun = "texts" if self.texts else "different labels"
            raise ValueError(f"expected {name} to be {self.least}+ {noun}, got {value!r:.80}")
        match_size(name, self.axis, len(labels), sizes)


FEATURES = Size("features", most=1_000_000)
"""The number of features of a record; a row takes at most 8 MB."""

ESTIMATOR: SavedForm = {
    "n_features_in_": Size("features", optional=True),
    "feature_names_in_": Labels("features", least=0, texts=True, optional=True),
    "classes_": Labels("classes", optional=True),
}
"""The form of what scikit-learn's interface names, for all estimators."""


@cache
def form_of(kind: Any, table: str = "_form") -> SavedForm:
    """Return the form of a class: its table of the given name, and those of its base classes."""
    form = dict(ESTIMATOR) if issubclass(kind, BaseEstimator) else {}
    for each in reversed(kind.__mro__):
        for names, entry in vars(each).get(table, {}).items():
            form |= dict.fromkeys(names.split(", "), entry)
    return form


def check_form(record: Any, form: SavedForm) -> Sizes:
    """Raise ValueError unless the attributes of an object have a form; return the sizes of axes."""
    sizes: Sizes = {}
    values = []
    for name, entry in form.items():
        if not isinstance(entry, Entry):
            entry(name, getattr(record, name))
            continue
        value = getattr(record, name, None) if entry.optional else getattr(record, name)
        if value is not None or not entry.optional:
            entry.check(name, value, sizes)
            values.append((name, entry, value))
    for name, entry, value in values:
        entry.relate(name, value, record, sizes)
    return sizes


def check_loaded(record: Any) -> None:
    """Raise ValueError unless an object from a file has the form that its class declares."""
    kind: Any = type(record)
    check_form(record, form_of(kind, getattr(record, "_table", "_form")))
    for check in _checks(kind):
        check(record)


@cache
def _checks(kind: Any) -> list[Callable[[Any], None]]:
    """Return the methods `_check_loaded` of a class and its base classes, the bases first."""
    tables = map(vars, reversed(kind.__mro__))
    return [table["_check_loaded"] for table in tables if "_check_loaded" in table]


def match_size(name: str, axis: Axis, size: Any, sizes: Sizes) -> None:
    """Raise ValueError unless a size equals the size of its axis, if that is known."""
    expected = axis if isinstance(axis, int) else sizes.setdefault(axis, size)
    if size != expected:
        noun = "entries" if isinstance(axis, int) else axis
        raise ValueError(f"expected {name} with {expected} {noun}, got {size!r:.80}")
