"""From a table, with classes or pairs, to coordinates of its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pliant.cli.console import progress, tell
from pliant.cli.embed.pairs import read_pairs, row_names
from pliant.cli.model_facts import plain_parameters, settings, versions
from pliant.cli.parameters import check_names, parse_parameters
from pliant.cli.report import Fact, number
from pliant.cli.table_options import TableOptions
from pliant.comparison.reading import described_format
from pliant.core.exceptions import ModelFileError, TableError
from pliant.core.text import count, quoted
from pliant.core.typing import Array, Mask
from pliant.core.validation import check_choice, check_parameters
from pliant.methods import KernelEmbedding, LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.persistence import load_model, save_model
from pliant.registry import METHODS
from pliant.tables import TableSchema, detect_format, read_table
from pliant.tables._names import check_present
from pliant.tables._schema import Target
from pliant.tables._values import texts

if TYPE_CHECKING:
    import pandas as pd

LEARNERS = {
    "scg-ldk": SCGLogDetLearner,
    "scg-osk": lambda: OrderSpectralLearner("scg"),
    "osk": OrderSpectralLearner,
    "ldk": LogDetLearner,
}

MOST_ROWS = METHODS["scg-ldk"].max_rows

MOST_ONE_HOT = 10_000
"""All categories get a column each: means of the target would let hidden labels leak."""

MOST_CATEGORIES = 40
"""Categories that a picture names at most."""

IN_PAIR, IN_NO_PAIR = "in a pair", "in no pair"


@dataclass(frozen=True)
class Order:
    """The options of ``pliant embed`` that say what is learned, or mapped, from which columns."""

    target: str | None = None
    pairs: Path | None = None
    source: Path | None = None
    unlabeled: str | None = None
    row_id: str | None = None
    color: str | None = None
    method: str = "scg-ldk"
    words: tuple[str, ...] = ()
    table: TableOptions = field(default_factory=TableOptions)
    seed: int = 0

    def check(self, model: Path | None) -> None:
        """Raise ValueError unless the options go together."""
        ways = {"--target": self.target, "--pairs": self.pairs, "--from": self.source}
        given = [name for name, value in ways.items() if value is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none of them"
            raise ValueError(f"expected one of --target, --pairs and --from, got {got}")
        belongs = {
            "--unlabeled": ("--target", self.unlabeled),
            "--id": ("--pairs", self.row_id),
        }
        for name, (way, value) in belongs.items():
            if value is not None and way not in given:
                raise ValueError(f"{name} belongs to {way}, got {given[0]}")
        learned = {"--model": model is not None, "--param": bool(self.words)}
        for name, is_given in learned.items():
            if is_given and self.source is not None:
                raise ValueError(f"{name} is for an embedding that is learned, got --from")
        check_choice("--method", self.method, tuple(LEARNERS))

    @property
    def aside(self) -> list[str]:
        """The columns that are no features."""
        named = (self.target, self.row_id, self.color)
        return list(dict.fromkeys(name for name in named if name is not None))


class Known(NamedTuple):
    """What is known of the rows: arguments of `KernelEmbedding.fit`, and what to call it."""

    arguments: dict[str, Any]
    fact: Fact
    paired: Mask | None = None


class Categories(NamedTuple):
    """What to colour rows by, shape (n_rows,); `unknown` stands where no category is known."""

    values: npt.NDArray[Any]
    unknown: Any = None

    @classmethod
    def none(cls, rows: int) -> Categories:
        """Return the same category for all rows."""
        return cls(np.full(rows, "row"))


@dataclass(frozen=True, eq=False)
class Mapped:
    """Coordinates of the rows of a table, shape (n_rows, n_components), with their names.

    `frame` is the table to write, with the coordinates, and `facts` are to be printed.
    """

    places: Array
    names: list[str]
    categories: Categories
    frame: pd.DataFrame
    facts: list[Fact]


def learn(table: Path, order: Order, out: Path | None) -> Mapped:
    """Learn an embedding of a table, save it if asked for, and map all rows."""
    frame, order = _read(table, order)
    check_present(order.aside, [str(name) for name in frame])
    estimator = _estimator(order)
    known = _known(frame, order)
    colors = _categories(frame, order, known.paired)
    drop = [*dict.fromkeys([*order.table.drop, *order.aside])]
    choices = {name: value for name, value in order.table.choices.items() if name != "form"}
    schema = replace(TableSchema.fit(frame, **{**choices, "drop": drop}), form=order.table.form)
    for note in schema.remarks():
        tell(f"Note: {note}")
    X = schema.features(frame)
    encoder = schema.encoder(most_one_hot=MOST_ONE_HOT)
    model = Pipeline([("columns", encoder), ("scaler", StandardScaler()), ("machine", estimator)])
    y = known.arguments.get("y")
    pairs = {f"machine__{name}": rows for name, rows in known.arguments.items() if name != "y"}
    with progress(f"Learning from {count(len(X), 'row')}") as tick:
        model.fit(X, y, **pairs)
        tick(1)
    learned = _learned(model[-1], count(model[-1].n_features_in_, "feature"), len(X), known)
    if out is not None:
        noted = {
            "data": {"rows": len(X), "target": order.target},
            "parameters": plain_parameters(estimator),
            "versions": versions(),
        }
        save_model(model, out, schema=schema.to_dict(), metadata=noted)
    return _mapped(frame, schema, model, order, learned, colors)


def apply(table: Path, order: Order) -> Mapped:
    """Map the rows of a table by an embedding from a model file."""
    assert order.source is not None
    path = quoted(order.source, 200)
    loaded = load_model(order.source)
    model = loaded.model
    schema = None if loaded.schema is None else TableSchema.from_dict(loaded.schema)
    last = model[-1] if isinstance(model, Pipeline) else model
    if schema is None or not isinstance(last, KernelEmbedding):
        raise ModelFileError(f"{path} holds no embedding: expected one of pliant embed --model")
    if len(schema.feature_names) != model.n_features_in_:
        raise ModelFileError(
            f"{path} is inconsistent: its schema has {len(schema.feature_names)} features, its "
            f"model takes {model.n_features_in_}"
        )
    frame, order = _read(table, order)
    check_present(order.aside, [str(name) for name in frame])
    mapped = ("mapped", f"{count(len(frame), 'row')} by {path}")
    return _mapped(frame, schema, model, order, [mapped], _categories(frame, order))


def _read(table: Path, order: Order) -> tuple[pd.DataFrame, Order]:
    """Return a table that is short enough, and the options with its format."""
    form = detect_format(table, order.table.form)
    for note in described_format(form):
        tell(f"Note: {note}")
    frame = read_table(table, MOST_ROWS + 1, form)
    if len(frame) > MOST_ROWS:
        raise TableError(f"the table has more than {MOST_ROWS} rows: take a sample")
    return frame, replace(order, table=replace(order.table, form=form))


def _estimator(order: Order) -> KernelEmbedding:
    """Return the estimator with the parameters that were given, not fitted."""
    given = parse_parameters(order.words)
    chosen = order.method == "scg-ldk" and not any(n.startswith("learner__") for n in given)
    learner = None if chosen else LEARNERS[order.method]()  # None: with a choice of the kernel
    estimator = KernelEmbedding(learner, random_state=order.seed)
    check_names(given, settings(estimator), f"the embedding by {order.method}")
    check_parameters(estimator.set_params(**given))
    if estimator.n_components < 2:
        raise ValueError(
            f"expected --param n_components=K with K >= 2, got {estimator.n_components}"
        )
    return estimator


def _known(frame: pd.DataFrame, order: Order) -> Known:
    """Return the classes of the rows, or the pairs."""
    if order.pairs is not None:
        similar, dissimilar = read_pairs(order.pairs, row_names(frame, order.row_id))
        paired = np.zeros(len(frame), dtype=bool)
        paired[np.concatenate([similar, dissimilar]).ravel()] = True
        pairs = f"{len(similar)} similar, {len(dissimilar)} dissimilar"
        return Known({"similar": similar, "dissimilar": dissimilar}, ("pairs", pairs), paired)
    assert order.target is not None
    labels, labelled = _labels(frame[order.target], order.unlabeled)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise TableError(
            f"column {quoted(order.target)} holds {quoted(classes[0])} in all {len(labels)} rows "
            "of known class: expected at least two classes"
        )
    y = np.full(len(frame), -1)
    y[labelled] = codes
    some = "" if labelled.all() else f", known for {len(labels)} of {len(frame)} rows"
    return Known({"y": y}, ("classes", f"{len(classes)} of {quoted(order.target, 30)}{some}"))


def _labels(column: pd.Series, unlabeled: str | None) -> tuple[npt.NDArray[Any], Mask]:
    """Return the classes of the rows whose class is known, and which these are."""
    cells = texts(column)
    labelled = np.array([cell is not None and cell != unlabeled for cell in cells], dtype=bool)
    if unlabeled is not None and labelled.all():
        raise TableError(
            f"column {quoted(column.name)} holds {quoted(unlabeled)} nowhere: expected some rows "
            "with the value that stands for an unknown class"
        )
    if not labelled.any():
        raise TableError(f"column {quoted(column.name)} has no known class in any row")
    known = column[labelled]
    return Target.fit(known, "classification").values(known), labelled


def _learned(estimator: KernelEmbedding, features: str, rows: int, known: Known) -> list[Fact]:
    """Return what to print of a fitted embedding."""
    facts = [("learned from", f"{count(rows, 'row')}, {features}"), known.fact]
    learner = estimator.learner_
    kernel = getattr(learner, "kernel", None)
    facts.append(("kernel", kernel if isinstance(kernel, str) else type(learner).__name__))
    if isinstance(learner, SCGLogDetLearner):
        setting = f"{number(float(estimator.strength_))}, beta {number(float(estimator.beta_))}"
        facts.append(("strength", setting))
        scores = np.array(list(estimator.choice_scores_.values()))
        if len(scores) > 1 and not np.isnan(scores).all():
            what = "accuracy of nearest neighbours on hidden labels"
            if "y" not in known.arguments:
                what = "area under the ROC curve of hidden pairs"
            best = f"{what}: {np.nanmax(scores):.3f}, the best of {len(scores)} settings"
            facts.append(("5-fold score", best))
    return facts


def _mapped(
    frame: pd.DataFrame,
    schema: TableSchema,
    model: Any,
    order: Order,
    facts: Sequence[Fact],
    colors: Categories,
) -> Mapped:
    """Map the rows of a table, and collect what is written and drawn."""
    import pandas as pd

    places = np.asarray(model.transform(schema.features(frame)))
    names = [f"component {k + 1}" for k in range(places.shape[1])]
    ids = [column.name for column in schema.left_out if column.reason == "id"]
    through = dict.fromkeys([*ids, *order.aside])
    columns: dict[str, Any] = {
        name: frame[name].array for name in through if name in frame and name not in names
    }
    columns |= dict(zip(names, places.T, strict=True))
    return Mapped(places, names, colors, pd.DataFrame(columns), list(facts))


def _categories(frame: pd.DataFrame, order: Order, paired: Mask | None = None) -> Categories:
    """Return what to colour the rows by."""
    column = order.color or order.target
    if column is None:
        if paired is None:
            return Categories.none(len(frame))
        return Categories(np.where(paired, IN_PAIR, IN_NO_PAIR))
    cells = texts(frame[column])
    gone = np.array([cell is None for cell in cells])
    if order.color is None and order.unlabeled is not None:
        gone |= cells == order.unlabeled
    kinds = set(cells[~gone])
    if len(kinds) > MOST_CATEGORIES:
        if order.color is not None:
            raise TableError(
                f"column {quoted(column)} holds {len(kinds)} different values: expected at most "
                f"{MOST_CATEGORIES} categories for --color"
            )
        tell(f"Note: {len(kinds)} classes are too many to be named in a picture")
        return Categories.none(len(frame))
    if kinds and all(re.fullmatch(r"[-+]?\d{1,18}", cell) for cell in kinds):
        unknown = min(map(int, kinds)) - 1  # integers keep their own order, not that of texts
        numbers = [unknown if no else int(cell) for no, cell in zip(gone, cells, strict=True)]
        return Categories(np.array(numbers), unknown)
    return Categories(np.where(gone, "", cells).astype(str), "")
