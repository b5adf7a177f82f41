"""``pliant predict``: what a saved model says of the rows of a table."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.console import progress, tell
from pliant.cli.outputs import STDOUT, check_outputs
from pliant.cli.prediction import TablePredictor
from pliant.core.files import quoted


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that pliant fit saved.")],
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="CSV (also .gz, .tsv) or Parquet, of any length."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="A .csv or .csv.gz file; - is stdout.")
    ] = STDOUT,
    decision: Annotated[
        bool, typer.Option("--decision", help="Add the decision values of a classifier.")
    ] = False,
) -> None:
    """Predict the target for each row of a table, in the order of its rows.

    The table is read in chunks, so it may be larger than memory. Its columns are found by name.
    A label that a spreadsheet could take for a formula gets a single quote in front.

    Example:  pliant predict model.pliant new.csv --out predictions.csv
    """
    from pliant.tables import iter_table, write_csv, write_predictions

    check_outputs([out], inputs=[model, table])
    predictor = TablePredictor.load(model, decision)
    frames = iter_table(table)
    if out == STDOUT:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        write_csv(sys.stdout, map(predictor, frames))
        return
    with progress("Predicting rows") as tick:
        write_predictions(out, (predictor(frame, tick) for frame in frames))
    tell(f"Wrote {predictor.n_rows} predictions to {quoted(out, 200)}")
