"""``pliant embed``: a map of the rows of a table, learned from classes or pairs."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from pliant.cli import table_options as options
from pliant.cli.console import show, tell
from pliant.cli.embed.embedding import LEARNERS, Order, apply, learn
from pliant.cli.embed.picture import ENDINGS, check_picture, draw
from pliant.cli.outputs import STDOUT, check_outputs
from pliant.cli.parameters import whole
from pliant.cli.report import facts
from pliant.comparison.reading import table_name
from pliant.core.text import printable, quoted
from pliant.tables import write_csv, write_predictions

NO_PICTURE = "none"


def embed(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="CSV (also .gz, .tsv) or Parquet, with a header; a folder or 'pattern' of such.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Classes to learn from; empty cells are unknown."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pairs to learn from: a table of two rows each, and similar or dissimilar.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="MODEL", help="Map the rows by an embedding of --model."),
    ] = None,
    unlabeled: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="A value of the target that stands for unknown."),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Names the rows in --pairs; default: row numbers from 1."
        ),
    ] = None,
    color: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Categories to colour by; no feature. Default: the target."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="|".join(LEARNERS), help="What learns the kernel.")
    ] = "scg-ldk",
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Set a parameter of KernelEmbedding, such as center=false."
        ),
    ] = None,
    missing: options.Missing = "impute",
    drop: options.Drop = None,
    keep: options.Keep = None,
    categorical: options.Categorical = None,
    date_order: options.DateOrder = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    na_values: options.NaValues = None,
    seed: Annotated[
        int, typer.Option(parser=whole(0, 2**32 - 1), metavar="N", help="Decides all draws.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|-", help="Coordinates as CSV; default: TABLE.embedding.csv, here."
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar=f"FILE|{NO_PICTURE}",
            help=f"A picture ({', '.join(ENDINGS)}); default: TABLE.embedding.png, here.",
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the embedding, for --from.")
    ] = None,
) -> None:
    """Map the rows of a table to a plane in which classes or similar rows lie together.

    The kernel is learned from the classes of --target or from --pairs, and the map is its
    principal components. Rows of unknown class, and new rows with --from, are mapped as well.

    Example:  pliant embed digits.csv --target digit --picture digits.png
    """
    form = options.table_format(sep, decimal, thousands, encoding, na_values)
    order = Order(
        target=target,
        pairs=pairs,
        source=source,
        unlabeled=unlabeled,
        row_id=row_id,
        color=color,
        method=method,
        words=tuple(param or ()),
        table=options.TableOptions.of(missing, drop, keep, categorical, date_order, form),
        seed=seed,
    )
    order.check(model)
    place = table_name(table)
    coordinates = Path(f"{place}.embedding.csv") if out is None else out
    image = None if picture == NO_PICTURE else Path(picture or f"{place}.embedding.png")
    check_picture(image)
    if coordinates != STDOUT and not coordinates.name.lower().endswith((".csv", ".csv.gz")):
        raise ValueError(f"expected --out FILE.csv or FILE.csv.gz, got {quoted(coordinates, 200)}")
    inputs = [path for path in (table, pairs, source) if path is not None]
    check_outputs([coordinates, image, model], inputs=inputs)
    mapped = learn(table, order, model) if source is None else apply(table, order)
    if coordinates == STDOUT:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        write_csv(sys.stdout, [mapped.frame])
    else:
        write_predictions(coordinates, [mapped.frame])
    if image is not None:
        draw(mapped, image)
    written = {"coordinates": coordinates, "picture": image, "model": model}
    lines = [(name, printable(path, 200)) for name, path in written.items() if path is not None]
    if coordinates == STDOUT:
        tell(facts(mapped.facts))
    else:
        show(facts([*mapped.facts, *lines]))
