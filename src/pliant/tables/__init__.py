"""The wing of tables: read, encode and compare tables, blend models, and run the command line.

`read_table` and `iter_table` read CSV, Parquet and LIBSVM files as data frames, and `TableSchema`
has the kinds of their columns.
`pliant.TableFeatures`, `pliant.compare` and `pliant.fit` are the other ways in.

Three subpackages: `reading` (files, column kinds, encoding), `comparison` (folds, race, blend,
report) and `cli`. Nothing outside the wing imports it. Names are imported on first use, so that
commands start fast.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # defined here, as importing typing is slow
if TYPE_CHECKING:
    from typing import Any

    from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
    from pliant.tables.comparison.result import ComparisonResult
    from pliant.tables.reading.infer import TableFormat
    from pliant.tables.reading.read import detect_format, iter_table, read_table
    from pliant.tables.reading.schema import TableSchema

__all__ = [
    "BlendClassifier",
    "BlendRegressor",
    "ComparisonResult",
    "TableFormat",
    "TableSchema",
    "detect_format",
    "iter_table",
    "read_table",
]

_HOMES = {
    "BlendClassifier": "comparison.blend",
    "BlendRegressor": "comparison.blend",
    "ColumnEncoder": "reading.encoder",
    "ComparisonResult": "comparison.result",
    "TableFormat": "reading.infer",
    "TableSchema": "reading.schema",
    "detect_format": "reading.read",
    "iter_table": "reading.read",
    "read_table": "reading.read",
}
"""Modules of the names; those that are not public are parts of saved models."""


def __getattr__(name: str) -> Any:
    """Import a name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pliant.tables' has no attribute {name!r}")
    value = getattr(import_module(f"pliant.tables.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
