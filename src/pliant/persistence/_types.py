"""The closed list: all that a model file may name."""

from __future__ import annotations

from pliant import kernels, methods

SKLEARN_TYPES = frozenset(
    {
        "sklearn.compose._target.TransformedTargetRegressor",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.kernel_ridge.KernelRidge",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.MaxAbsScaler",
        "sklearn.preprocessing._data.MinMaxScaler",
        "sklearn.preprocessing._data.RobustScaler",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._label.LabelEncoder",
    }
)
"""Estimators of scikit-learn whose methods are Python and NumPy.

Those whose compiled code trusts the shapes and indices in its state (SVC, trees) have no place
here: a forged file could make them read beyond their arrays.
"""

TABLE_TYPES = frozenset({"pliant.tables.ColumnEncoder"})
"""The step of a pipeline that reads a table's columns; see `pliant.tables`."""

NUMPY_SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        *("bool", "str_", "bytes_", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)

KEY_TYPES = frozenset(
    {
        *("builtins.str", "builtins.int", "builtins.float"),
        *("numpy.str_", "numpy.int32", "numpy.int64", "numpy.float32", "numpy.float64"),
    }
)
"""Types of dictionary keys; a bool is none, since its text does not read back."""


def trusted_types() -> frozenset[str]:
    """Return the full names of pliant's own types that a model file may hold.

    They are the classes that ``pliant.kernels`` and ``pliant.methods`` export, and `TABLE_TYPES`.
    """
    rooms = (kernels, methods)
    exported = (getattr(room, name) for room in rooms for name in room.__all__)
    names = frozenset(f"{t.__module__}.{t.__name__}" for t in exported if isinstance(t, type))
    return names | TABLE_TYPES


def loaders() -> dict[str, frozenset[str]]:
    """Return the kinds of nodes (skops' name for them) and the types that each may name.

    What is absent is refused: functions, methods, partial calls, operators, calls of
    constructors, bytes, and random states, whose position in their table NumPy does not check.
    """
    return {
        "DictNode": frozenset({"builtins.dict"}),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({"builtins.tuple"}),
        "JsonNode": frozenset({"builtins.str"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "TypeNode": KEY_TYPES,
        "NdArrayNode": frozenset({"numpy.ndarray"}) | NUMPY_SCALARS,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "ObjectNode": SKLEARN_TYPES | trusted_types(),
    }
