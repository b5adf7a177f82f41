"""The columns of a table as inputs of an ONNX graph, and their features as nodes.

Each column is an input of its own, with its name and the shape (n_samples,): a text of a
categorical column, else a number. A date is the number of days since 1970. NaN and the empty text
stand for missing values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.export.graph import OnnxGraph

SECONDS_PER_DAY = 86_400.0

FIRST_DAY = 719_162
"""Number of days from 1 January of year 1 to 1 January 1970, in the Gregorian calendar."""


def add_table(graph: OnnxGraph, schema: Any) -> str:
    """Add an input per column; return the features of the schema, shape (n_samples, d)."""
    parts = []
    for column in schema.columns:
        if column.kind == "text":
            raise ValueError(
                f"expected columns without free text for ONNX, got {column.name!r:.80}: leave it "
                "out (drop=[...])"
            )
        texts = column.kind == "categorical"
        cells = graph.add_input(column.name, np.dtype(np.object_) if texts else graph.dtype)
        cells = graph.add("Reshape", cells, np.array([-1, 1]))
        if texts:
            parts.append(_codes(graph, column, schema, cells))
        else:
            parts += _calendar(graph, column, cells) if column.kind == "date" else [cells]
    return graph.add("Concat", *parts, axis=1)


def _codes(graph: OnnxGraph, column: Any, schema: Any, cells: str) -> str:
    """Add the number of each text's category: NaN if missing, the next number if unknown."""
    n = len(column.categories)
    # an integer may be written with a decimal point, as pandas does
    codes = {f"{text}.0": code for code, text in enumerate(column.categories)}
    codes |= dict.fromkeys(("", *(schema.form.na_values if schema.form else ())), -1)
    codes |= {text: code for code, text in enumerate(column.categories)}
    code = graph.add(
        "LabelEncoder",
        cells,
        domain="ai.onnx.ml",
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=n,
    )
    graph.require("ai.onnx.ml", 3)
    missing = graph.add("Less", code, np.array(0))
    return graph.add("Where", missing, np.nan, graph.cast(code, graph.dtype))


def _calendar(graph: OnnxGraph, column: Any, days: str) -> list[str]:
    """Add the calendar features of dates, as `calendar_features` of a table does."""
    add = graph.add
    missing = add("IsNaN", days)
    filled = add("Where", missing, 0.0, days)
    start = add("Floor", filled)
    day = graph.cast(start, np.int64)
    year, month, first = _civil(graph, day)
    weekday = add("Mod", add("Add", day, np.array(3)), np.array(7))  # 1970 began on a Thursday
    seconds = add("Round", add("Mul", add("Sub", filled, start), SECONDS_PER_DAY))
    features = {
        "days": add("Sub", days, column.origin),
        "year": year,
        "month": month,
        "day of year": add("Add", add("Sub", day, first), np.array(1)),
        "weekday": weekday,
        "hour": add("Div", seconds, 3600.0),
    }
    numbers = [graph.cast(features[part], graph.dtype) for part in column.parts]
    return [add("Where", missing, np.nan, each) for each in numbers]


def _civil(graph: OnnxGraph, day: str) -> tuple[str, str, str]:
    """Add year, month and the day of 1 January, given int64 days since 1970.

    The year of the computation begins in March, so that 29 February is its last day. All numbers
    are >= 0, so that the division of integers, which truncates, rounds down.
    """

    def combine(operator: str, left: Any, right: Any) -> str:
        sides = (each if isinstance(each, str) else np.array(each) for each in (left, right))
        return graph.add(operator, *sides)

    def divided(value: str, *numbers: int) -> list[str]:
        return [combine("Div", value, number) for number in numbers]

    z = combine("Add", day, FIRST_DAY + 306)  # days since 1 March of year 0
    (era,) = divided(z, 146_097)  # 400 years
    of_era = combine("Sub", z, combine("Mul", era, 146_097))
    fours, centuries, last = divided(of_era, 1460, 36_524, 146_096)
    corrected = combine("Sub", combine("Add", combine("Sub", of_era, fours), centuries), last)
    (year_of_era,) = divided(corrected, 365)
    leap, century = divided(year_of_era, 4, 100)
    before = combine("Sub", combine("Add", combine("Mul", year_of_era, 365), leap), century)
    of_year = combine("Sub", of_era, before)
    (from_march,) = divided(combine("Add", combine("Mul", of_year, 5), 2), 153)
    late = graph.cast(graph.add("Less", from_march, np.array(10)), np.int64)  # March to December
    # months 0 to 9 are March to December, months 10 and 11 January and February of the next year
    month = combine("Add", from_march, combine("Sub", combine("Mul", late, 12), 9))
    year = combine("Add", combine("Mul", era, 400), year_of_era)
    year = combine("Add", year, combine("Sub", 1, late))
    y = combine("Sub", year, 1)
    leap, century, four_centuries = divided(y, 4, 100, 400)
    days = combine(
        "Add", combine("Sub", combine("Add", combine("Mul", y, 365), leap), century), four_centuries
    )
    return year, month, combine("Sub", days, FIRST_DAY)
