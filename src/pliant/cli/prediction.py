"""A saved model that predicts tables, chunk by chunk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pliant.cli.console import Tick
from pliant.core.exceptions import ModelFileError
from pliant.core.files import printable, quoted
from pliant.core.typing import Array
from pliant.persistence import LoadedModel, load_model
from pliant.tables import TableSchema

if TYPE_CHECKING:
    import pandas as pd


def load_with_schema(path: Path) -> tuple[LoadedModel, TableSchema]:
    """Return what a model file holds, with the schema of the table that it was learned from.

    Raises
    ------
    ModelFileError
        If it cannot be loaded, was saved without a schema and a target, or cannot predict.
    """
    loaded = load_model(path)
    schema = None if loaded.schema is None else TableSchema.from_dict(loaded.schema)
    if schema is None or schema.target is None:
        raise ModelFileError(
            f"{quoted(path, 200)} holds a model without the schema of its table: "
            "expected one that pliant fit saved"
        )
    features, expected = len(schema.feature_names), getattr(loaded.model, "n_features_in_", None)
    if features != expected:
        raise ModelFileError(
            f"{quoted(path, 200)} is inconsistent: its schema has {features} features, "
            f"its model takes {expected}"
        )
    _rehearse(loaded.model, features, path)
    return loaded, schema


def _rehearse(model: Any, features: int, path: Path) -> None:
    """Raise ModelFileError if a model cannot predict a row, since its parts do not fit."""
    try:
        shape = np.shape(model.predict(np.zeros((1, features))))
        if shape != (1,):
            raise ValueError(f"expected one prediction for one row, got shape {shape}")
    except Exception as error:
        reason = f"{type(error).__name__}: {printable(error, 160)}"
        raise ModelFileError(f"the model in {quoted(path, 200)} is damaged: {reason}") from None


class TablePredictor:
    """Predicts one frame after the other.

    Parameters
    ----------
    model : fitted estimator
    schema : TableSchema
        With a target.
    decision : bool
        Whether to add decision values.

    Attributes
    ----------
    n_rows : int
        Rows predicted so far.
    """

    def __init__(self, model: Any, schema: TableSchema, decision: bool = False) -> None:
        if decision and not hasattr(model, "decision_function"):
            raise ValueError("--decision belongs to classification, this model does regression")
        self._model = model
        self._schema = schema
        self._decision = decision
        self._reported: set[str] = set()
        self.n_rows = 0

    @classmethod
    def load(cls, path: Path, decision: bool = False) -> Self:
        """Make a predictor from a model file."""
        loaded, schema = load_with_schema(path)
        return cls(loaded.model, schema, decision)

    def __call__(self, frame: pd.DataFrame, tick: Tick | None = None) -> pd.DataFrame:
        """Return a frame with the column ``prediction``, and the decision values if asked for.

        Raises
        ------
        TableError
            If columns are missing (all are listed), or a cell is not of its column's kind.
        """
        import pandas as pd

        X = self._schema.features(frame, self._reported)
        columns: dict[str, Array] = {"prediction": self._model.predict(X)}
        if self._decision:
            columns |= self._decisions(X)
        self.n_rows += len(X)
        if tick is not None:
            tick(len(X))
        return pd.DataFrame(columns)

    def _decisions(self, X: Array) -> dict[str, Array]:
        """Return the column ``decision``, or with more than two classes one for each class."""
        values: Array = np.asarray(self._model.decision_function(X))
        if values.ndim == 1:
            return {"decision": values}
        labels = self._model.classes_.tolist()
        return {f"decision {label}": values[:, k] for k, label in enumerate(labels)}
