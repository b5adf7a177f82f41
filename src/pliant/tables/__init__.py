"""Read CSV and Parquet files, whole or in chunks, infer the kinds of columns, write predictions.

`read_table` and `iter_table` return data frames. `TableSchema` infers the features and their kinds
from one frame, and turns later frames into the same numbers; `ColumnEncoder`, a step of a pipeline,
learns to fill in missing values and to encode categories and texts.
`write_predictions` writes a CSV that is safe in a spreadsheet.
"""

from pliant.tables._columns import Column, LeftOut, UnknownCategoryWarning
from pliant.tables._encoder import ColumnEncoder
from pliant.tables._infer import TableFormat
from pliant.tables._read import detect_format, iter_table, read_table
from pliant.tables._schema import TableSchema, Target
from pliant.tables._write import write_csv, write_predictions

__all__ = [
    "Column",
    "ColumnEncoder",
    "LeftOut",
    "TableFormat",
    "TableSchema",
    "Target",
    "UnknownCategoryWarning",
    "detect_format",
    "iter_table",
    "read_table",
    "write_csv",
    "write_predictions",
]
