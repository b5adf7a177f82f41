"""A schema as plain data, whatever a file holds, and what holds for every table."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import TableError
from pliant.tables import TableFormat, TableSchema, UnknownCategoryWarning, iter_table, read_table
from tests.tables.test_schema import FRAME, frame_of

FORM = TableFormat(";", ",", ".", "cp1252", ("x",)).to_dict()


def changed(**changes):
    state = TableSchema.fit(FRAME, "label", missing="impute").to_dict()
    for path, value in changes.items():
        *keys, last = (int(key) if key.isdigit() else key for key in path.split("__"))
        place = state
        for key in keys:
            place = place[key]
        place[last] = value
    return state


@pytest.mark.parametrize(
    "state",
    [
        None,
        {"columns": []},
        changed(extra=1),
        changed(columns=[3]),
        changed(columns__0__name="label"),
        changed(columns__0__kind=[]),
        changed(columns__0__origin=float("nan")),
        changed(columns__0__kind="date", columns__0__parts=["eon"]),
        changed(columns__1__categories=["b", "a"]),
        changed(left_out=[{"name": "a", "reason": "taste"}]),
        changed(form={**FORM, "sep": "ab"}),
        changed(form={**FORM, "na_values": 3}),
        changed(form={**FORM, "numbers": {"a": "x"}}),
        changed(target__task={}),
        changed(target__kind="numeric"),
    ],
)
def test_odd_plain_data_is_refused(state):
    with pytest.raises(TableError, match=r"expected|cannot|more than one"):
        TableSchema.from_dict(state)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=4,
)
PLACES = [
    ("columns",),
    ("target",),
    ("columns", 0),
    *[("columns", i, key) for i in range(3) for key in ("name", "kind", "categories", "parts")],
    *[("columns", i, key) for i in range(3) for key in ("order", "origin")],
    *[(key,) for key in ("missing", "left_out", "notes", "form")],
    *[("target", key) for key in ("name", "task", "kind")],
]


@settings(deadline=None)
@given(st.sampled_from(PLACES), JSON)
def test_any_plain_data_is_a_working_schema_or_refused(place, value):
    state = changed(**{"__".join(map(str, place)): value})
    try:
        schema = TableSchema.from_dict(state)
    except TableError:
        return
    assert TableSchema.from_dict(schema.to_dict()) == schema
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        try:
            features = schema.features(FRAME)
        except TableError:
            return
    assert features.shape == (4, len(schema.feature_names))


# Properties


NUMBERS = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)
WORDS = st.sampled_from(["1", "2", "1.5", "true", "a", "ä b", "=x", '"q"', "x,y"])
TABLES = st.integers(2, 12).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "n": st.lists(NUMBERS | st.none(), min_size=n, max_size=n),
            "i": st.lists(st.integers(-9, 9), min_size=n, max_size=n),
            "w": st.lists(WORDS | st.none(), min_size=n, max_size=n),
            "b": st.lists(st.booleans(), min_size=n, max_size=n),
        }
    )
)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(1, 5), st.sampled_from(["csv", "parquet"]))
def test_chunks_have_the_features_of_the_whole(columns, rows, kind):
    columns = {name: cells for name, cells in columns.items() if set(cells) != {None}}
    frame = pd.DataFrame(columns)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        whole = read_table(path)
        schema = TableSchema.fit(whole, missing="impute")
        chunks = [schema.features(chunk) for chunk in iter_table(path, rows)]
    np.testing.assert_array_equal(np.concatenate(chunks), schema.features(whole))
    np.testing.assert_array_equal(
        schema.features(whole)[:, schema.feature_names.index("i")], frame["i"]
    )


@settings(deadline=None)
@given(TABLES)
def test_each_category_has_its_own_column(columns):
    words = [word or "none" for word in columns["w"]]
    schema = TableSchema.fit(frame_of(w=words))
    encoded = schema.features(frame_of(w=words))
    decoded = [schema.categories[0][int(code)] for code in encoded[:, 0]]
    assert decoded == words
