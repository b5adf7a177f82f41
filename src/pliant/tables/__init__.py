"""Read CSV and Parquet files, whole or in chunks, infer column kinds, and write predictions.

`read_table` and `iter_table` return data frames. `TableFeatures`, a pipeline step, encodes them as
numeric features. Its `TableSchema` has the kinds of the columns, and its `ColumnEncoder` imputes
missing values and encodes categories and text.
`write_predictions` writes a CSV file that is safe to open in a spreadsheet.
"""

from pliant.tables._columns import Column, LeftOut, UnknownCategoryWarning
from pliant.tables._encoder import ColumnEncoder, TableFeatures
from pliant.tables._infer import TableFormat
from pliant.tables._read import detect_format, iter_table, read_table
from pliant.tables._schema import TableSchema, Target
from pliant.tables._write import write_csv, write_predictions

__all__ = [
    "Column",
    "ColumnEncoder",
    "LeftOut",
    "TableFeatures",
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
