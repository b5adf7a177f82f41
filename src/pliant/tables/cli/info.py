"""``pliant info``: show the contents of a model file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from pliant.core.estimators import BaseEstimator
from pliant.core.exceptions import ModelFileError
from pliant.core.text import printable, quoted
from pliant.methods.summary import summarize
from pliant.persistence import LoadedModel
from pliant.records.estimators import last_step
from pliant.tables.cli.outputs import print_result
from pliant.tables.cli.predict import load_with_schema
from pliant.tables.cli.report import (
    Fact,
    describe_functions,
    describe_kernel,
    format_facts,
    format_number,
    function_facts,
    kernel_facts,
    plain_parameters,
)
from pliant.tables.comparison.baselines import BASELINES, available
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.comparison.search import names_after
from pliant.tables.reading.names import in_quotes
from pliant.tables.reading.schema import TableSchema, describe_left_out
from pliant.tables.registry import METHODS

SHOWN, LONGEST = 20, 40
"""Maximum number of columns and classes to list, and maximum length of each name."""


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file saved by pliant fit.")],
) -> None:
    """Show the method, columns, parameters and scores of a saved model."""
    loaded, schema = load_with_schema(model)
    try:
        known = _facts(loaded, schema)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ModelFileError(f"cannot read the metadata of {quoted(model, 200)}") from None
    print_result(format_facts((name, text) for name, text in known if text))


def _facts(loaded: LoadedModel, schema: TableSchema) -> list[Fact]:
    """Return all facts about a model; values from the file may have any type."""
    estimator = last_step(loaded.model)
    names = names_after(loaded.model, schema.feature_names)
    blend = isinstance(estimator, BlendClassifier | BlendRegressor)
    parameters = {} if blend else plain_parameters(estimator)
    functions = describe_functions(estimator, names)
    return [
        ("method", _describe_method(estimator)),
        *_table_facts(estimator, schema),
        *kernel_facts(describe_kernel(estimator, names)),
        *function_facts(summarize(estimator).n_support, functions),
        ("parameters", ", ".join(f"{name}={format_number(v)}" for name, v in parameters.items())),
        *_metadata_facts(loaded),
        ("saved by", f"pliant {loaded.pliant_version}"),
    ]


def _describe_method(estimator: BaseEstimator) -> str:
    """Return the name and summary of the method, or the weights of a blend."""
    if isinstance(estimator, BlendClassifier | BlendRegressor):
        parts = zip(estimator.weights_, estimator.members_, strict=True)
        shown = ", ".join(f"{w:.2f} {printable(name, LONGEST)}" for w, (name, _) in parts)
        return f"blend: {shown}"
    for method in [*METHODS.values(), *filter(available, BASELINES.values())]:
        if method.matches(estimator):
            return f"{method.name}: {method.summary}"
    return getattr(estimator, "origin", type(estimator).__name__)


def _table_facts(estimator: Any, schema: TableSchema) -> list[Fact]:
    kinds = Counter(column.kind for column in schema.columns)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    columns = in_quotes((column.name for column in schema.columns), SHOWN, LONGEST)
    target, classes = schema.target, getattr(estimator, "classes_", np.array([])).tolist()
    return [
        ("target", "" if target is None else f"{quoted(target.name)}, {target.task}"),
        ("classes", in_quotes(classes, SHOWN, LONGEST)),
        ("columns", f"{counts}: {columns}"),
        ("left out", describe_left_out(schema.left_out)),
    ]


def _metadata_facts(loaded: LoadedModel) -> list[Fact]:
    metadata = loaded.metadata or {}
    if "versions" not in metadata:
        return []
    noted = [("training rows", f"{int(metadata['data']['rows'])}")]
    cv = metadata["cross_validation"]
    if cv is not None:
        scores = (f"{n} {s['mean']:.4f} ± {s['std']:.4f}" for n, s in cv["scores"].items())
        noted.append(("scores", f"{', '.join(scores)} ({int(cv['folds'])} folds)"))
    if sentence := metadata.get("sentence"):
        noted.append(("expected", printable(sentence, 600)))
    versions = (f"{name} {version}" for name, version in metadata["versions"].items())
    return [*noted, ("versions", printable(", ".join(versions), 300))]
