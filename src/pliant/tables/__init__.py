"""Tables in, tables out: CSV and Parquet files, whole or in chunks, and what their columns mean.

`read_table` and `iter_table` give data frames, `map_table` numbers in a temporary file for tables
that are larger than memory. `TableSchema` learns from one frame which columns
are features, of which kind, and turns every later frame into the same numbers.
`write_predictions` writes a CSV that a spreadsheet can open safely.
"""

from pliant.tables._column import Column, UnknownCategoryWarning
from pliant.tables._mapped import MappedTable, map_table, temporary_map
from pliant.tables._read import iter_table, read_table
from pliant.tables._schema import TableSchema
from pliant.tables._target import Target
from pliant.tables._write import write_csv, write_predictions

__all__ = [
    "Column",
    "MappedTable",
    "TableSchema",
    "Target",
    "UnknownCategoryWarning",
    "iter_table",
    "map_table",
    "read_table",
    "temporary_map",
    "write_csv",
    "write_predictions",
]
