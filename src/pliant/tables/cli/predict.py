"""``pliant predict``: apply a saved model to the rows of a table."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from pliant.core.exceptions import ModelFileError, TableError
from pliant.core.parameters import check_share
from pliant.core.text import printable, quoted
from pliant.core.typing import Array
from pliant.persistence import LoadedModel, load_file
from pliant.records import Pipeline
from pliant.records.estimators import last_step
from pliant.tables.cli.options import Text, Texts, flag, option, with_table_options
from pliant.tables.cli.outputs import STDOUT, check_outputs, print_status
from pliant.tables.reading.columns import UnknownCells, warn_of_unknown
from pliant.tables.reading.encoder import TableFeatures
from pliant.tables.reading.infer import TableFormat, described_format
from pliant.tables.reading.names import check_present
from pliant.tables.reading.read import detect_format, iter_with_texts
from pliant.tables.reading.schema import TableSchema
from pliant.tables.reading.write import write_csv, write_predictions

if TYPE_CHECKING:
    import pandas as pd


@with_table_options
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file saved by pliant fit.")],
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz, .tsv), Parquet or LIBSVM; or a folder or 'pattern' of files.",
        ),
    ],
    *,
    out: Annotated[Path, option("FILE", "A .csv or .csv.gz file; - is stdout.")] = STDOUT,
    columns: Annotated[Texts, option("COLUMN", "Copy a column to the output; repeatable.")] = None,
    proba: Annotated[bool, flag("--proba", "Add the probability of each class.")] = False,
    decision: Annotated[bool, flag("--decision", "Add decision values of a classifier.")] = False,
    interval: Annotated[
        float | None,
        option("SHARE", "Add columns low and high: a prediction interval with this coverage."),
    ] = None,
    threshold: Annotated[
        Text,
        option(
            "CLASS=SHARE",
            "For two classes: predict CLASS if its probability is at least SHARE (sick=0.2).",
        ),
    ] = None,
    form: TableFormat,
) -> None:
    """Predict the target for each row of a table, in row order.

    The table is read in chunks, so it may be larger than memory. Columns are found by name.
    Columns treated as ids, or named by --columns, are copied to the output.
    Labels that a spreadsheet could interpret as formulas get a leading single quote.

    Example:  pliant predict model.pliant new.csv --out predictions.csv
    """
    check_outputs([out], inputs=[model, table])
    predictor = TablePredictor(
        model,
        decision=decision,
        interval=interval,
        proba=proba,
        columns=columns or (),
        threshold=threshold,
    )
    form = detect_format(table, form, predictor.reading)
    for note in [*described_format(form), *form.notes]:
        print_status(f"Note: {note}")
    chunks = iter_with_texts(table, form=form)
    predictions = (predictor(frame, text) for frame, text in chunks)
    if out == STDOUT:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        write_csv(sys.stdout, predictions)
    else:
        write_predictions(out, predictions)
        print_status(f"Wrote {predictor.n_rows} predictions to {quoted(out, 200)}")
    warn_of_unknown(predictor.unknown)


def load_with_schema(path: Path) -> tuple[LoadedModel, TableSchema]:
    """Load a model of features, without its first step, and the schema of its training table.

    Raise ModelFileError if the first step is not `TableFeatures`, or the model cannot predict.
    """
    loaded = load_file(path)
    first, *steps = loaded.model.steps if isinstance(loaded.model, Pipeline) else [("", None)]
    features = first[1]
    if not isinstance(features, TableFeatures) or not steps:
        raise ModelFileError(
            f"{quoted(path, 200)} contains a model without the schema of its table: expected a "
            "file saved by pliant fit, or a pipeline that starts with TableFeatures"
        )
    encoder = [("encoder", features.encoder_)] if features.encode else []
    model = Pipeline([*encoder, *steps])
    _check_prediction(model, len(features.schema_.feature_names), path)
    return replace(loaded, model=model), features.schema_


def _check_prediction(model: Any, features: int, path: Path) -> None:
    """Raise ModelFileError if the model cannot predict a row."""
    try:
        shape = np.shape(model.predict(np.zeros((1, features))))
        if shape != (1,):
            raise ValueError(f"expected one prediction per row, got shape {shape}")
    except Exception as error:
        reason = f"{type(error).__name__}: {printable(error, 160)}"
        raise ModelFileError(f"the model in {quoted(path, 200)} is damaged: {reason}") from None


class TablePredictor:
    """Predict the chunks of a table in order.

    `reading` is the format of the training table; `n_rows` counts the predicted rows, and `unknown`
    those with unknown categories.
    """

    def __init__(
        self,
        path: Path,
        *,
        decision: bool = False,
        interval: float | None = None,
        proba: bool = False,
        columns: Sequence[str] = (),
        threshold: str | None = None,
    ) -> None:
        loaded, self._schema = load_with_schema(path)
        self.reading = self._schema.reading
        self._model = loaded.model
        machine = last_step(self._model)
        kind = type(machine).__name__
        if interval is not None:
            check_share("--interval", interval)
            if not hasattr(self._model, "predict_interval"):
                got, remedy = f"a model of {kind}", ""
                if hasattr(self._model, "classes_"):
                    got = "a classification model"
                    remedy = " (pliant fit --task regression fits a target of numbers)"
                needed = "a regression model of lab-rbf or a blend"
                raise ValueError(f"--interval needs {needed}, got {got}{remedy}")
        self._interval = interval
        if decision and not hasattr(self._model, "decision_function"):
            raise ValueError("--decision needs a classification model, got a regression model")
        self._decision = decision
        if proba and not hasattr(self._model, "predict_proba"):
            raise ValueError(f"--proba needs a classifier with probabilities, got {kind}")
        self._proba = proba
        self._threshold = None if threshold is None else self._parse_threshold(threshold)
        self._columns = tuple(dict.fromkeys(columns))
        self.unknown: dict[str, UnknownCells] = {}
        self._reported = set[str]()
        self.n_rows: int = 0

    def _parse_threshold(self, threshold: str) -> tuple[int, float]:
        """Return the class index (1 if no class is named) and its minimum probability."""
        labels = [str(label) for label in getattr(self._model, "classes_", ())]
        name, equals, share = threshold.rpartition("=")
        n_classes = len(labels)
        if n_classes != 2 or not hasattr(self._model, "predict_proba"):
            kind = f"{type(last_step(self._model)).__name__} with {n_classes} classes"
            raise ValueError(
                f"--threshold needs a model of two classes with probabilities, got {kind}"
            )
        if equals and name not in labels:
            known = " or ".join(map(quoted, labels))
            raise ValueError(f"expected --threshold CLASS=SHARE for {known}, got {quoted(name)}")
        try:
            least = float(share)
        except ValueError:
            raise ValueError(
                f"expected --threshold CLASS=SHARE, such as {labels[1]}=0.2, got "
                f"{quoted(threshold)}"
            ) from None
        check_share("--threshold", least)
        return labels.index(name) if equals else 1, least

    def __call__(self, frame: pd.DataFrame, text: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return ids and selected columns, from ``text`` if given, with the predictions."""
        import pandas as pd

        check_present(self._columns, list(map(str, frame)))
        X = self._schema.features(frame, self.unknown, self._reported)
        columns: dict[str, Any] = {"prediction": self._predict(X)}
        if self._proba:
            columns |= self._class_columns("probability", self._model.predict_proba(X))
        if self._decision:
            columns |= self._decision_columns(X)
        self._check_finite(columns)
        if self._interval is not None:
            low, high = self._model.predict_interval(X, self._interval).T
            columns |= {"low": low, "high": high}
        self.n_rows += len(X)
        return pd.DataFrame(
            {**self._copied_columns(frame if text is None else text, columns), **columns}
        )

    def _predict(self, X: Array) -> npt.NDArray[Any]:
        """Predict rows; a threshold applies to the probability of its class."""
        if self._threshold is None:
            return np.asarray(self._model.predict(X))
        place, least = self._threshold
        likely = self._model.predict_proba(X)[:, place] >= least
        labels: npt.NDArray[Any] = self._model.classes_[np.where(likely, place, 1 - place)]
        return labels

    def _check_finite(self, columns: Mapping[str, Any]) -> None:
        for name, values in columns.items():
            cells = np.asarray(values)
            if cells.dtype.kind == "f" and not np.isfinite(cells).all():
                at = int(np.isfinite(cells).argmin())
                raise TableError(
                    f"the {name} of row {self.n_rows + at + 1} is not finite, got {cells[at]}: its "
                    "features may be far outside the range of the training rows"
                )

    def _copied_columns(self, frame: pd.DataFrame, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ids and selected columns of a table; skip ids named like an output."""
        ids = [each.name for each in self._schema.left_out if each.reason in ("id", "many")]
        free = [name for name in ids if name in frame and name not in columns]
        names = dict.fromkeys([*free, *self._columns])
        if taken := [name for name in self._columns if name in columns]:
            raise ValueError(f"--columns {quoted(taken[0])} is the name of an output column")
        return {name: frame[name].array for name in names}

    def _decision_columns(self, X: Array) -> dict[str, Array]:
        values: Array = np.asarray(self._model.decision_function(X))
        return {"decision": values} if values.ndim == 1 else self._class_columns("decision", values)

    def _class_columns(self, what: str, values: Array) -> dict[str, Array]:
        labels = self._model.classes_.tolist()
        return {f"{what} {label}": values[:, k] for k, label in enumerate(labels)}
