"""The inferred kind of a column, such as an id or free text; all problems in one message."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from pliant.exceptions import TableError
from pliant.tables import TableSchema
from pliant.tables.reading import columns

N = 300
RNG = np.random.default_rng(0)
LATTER = RNG.permutation(N)
WORDS = ["good", "bad", "fast", "slow", "red", "old", "cheap", "quiet"]


def schema_of(name, values, **options):
    return TableSchema.fit(pd.DataFrame({name: values, "x": np.arange(N) / 7}), **options)


IDS = {
    "numbered": ("t", np.arange(1, N + 1)),
    "downwards": ("t", np.arange(N)[::-1]),
    "rising with gaps": ("customer_id", np.arange(N) * 7 + 1000),
    "shuffled": ("customerId", LATTER * 7),
    "keys": ("k", [f"A-{k}" for k in LATTER]),
    "names": ("k", [f"Ann Smith{k}" for k in LATTER]),
}
KEPT = {
    "measured": ("id", LATTER / 7),
    "years": ("year", np.arange(1700, 1700 + N)),
    "rising with gaps": ("t", np.arange(N) * 7),
    "shuffled": ("t", LATTER),
    "recurring": ("customer_id", LATTER % 200),
    "with a gap": ("id", [np.nan, *range(N - 1)]),
}


@pytest.mark.parametrize("case", IDS)
def test_ids_are_left_out_unless_kept(case):
    name, values = IDS[case]
    schema = schema_of(name, values)
    assert [(each.name, each.reason) for each in schema.left_out] == [(name, "id")]
    assert f"left out: '{name}' (a different value" in schema.remarks()[0]
    assert f"keep=['{name}']" in schema.remarks()[0]
    assert schema_of(name, values, keep=[name]).left_out == ()


@pytest.mark.parametrize("case", KEPT)
def test_numbers_that_may_be_measured_are_kept(case):
    assert schema_of(*KEPT[case]).left_out == ()


@pytest.mark.parametrize("value", [5, 0.5, "x", True])
def test_constants_are_left_out_unless_kept(value):
    schema = schema_of("c", [value] * N)
    assert [(each.name, each.reason) for each in schema.left_out] == [("c", "constant")]
    assert schema_of("c", [value] * N, keep=["c"]).left_out == ()


@pytest.mark.parametrize("name", ["zip", "ProductCode"])
def test_integers_that_look_like_codes_are_reported_and_not_changed(name):
    schema = schema_of(name, values := RNG.integers(0, 99, N))
    assert schema.columns[0].kind == "numeric"
    assert f"integers in '{name}' look like codes" in schema.notes[0]
    chosen = schema_of(name, values, categorical=[name])
    assert chosen.columns[0].kind == "categorical"
    assert chosen.columns[0].categories == tuple(sorted(set(map(str, values))))
    assert chosen.notes == ()


def test_free_text_is_recognised_by_its_words():
    notes = [" ".join(RNG.choice(WORDS, 5)) for _ in range(N)]
    schema = schema_of("note", notes)
    assert schema.columns[0].kind == "text"
    assert schema.texts == ((0, 512),)
    features = schema.features(pd.DataFrame({"note": ["good bad", "bad  GOOD", None], "x": 0.0}))
    np.testing.assert_array_equal(features[0], features[1])
    assert np.count_nonzero(features[0, :256]) == 2
    np.testing.assert_allclose(np.linalg.norm(features[0].reshape(-1)[:256]), 1)
    misspelt = schema.features(pd.DataFrame({"note": ["gooood bad"], "x": 0.0}))
    assert np.count_nonzero(misspelt[0, :256] * features[0, :256]) == 1
    assert misspelt[0, 256:512] @ features[0, 256:512] > 0.4
    np.testing.assert_array_equal(features[2], 0)
    few = [" ".join(WORDS[k % 5 : k % 5 + 3]) for k in range(N)]
    assert schema_of("note", few).columns[0].kind == "categorical"


@pytest.mark.parametrize("size", [1, 1000, 3000])
def test_texts_are_hashed_in_blocks(size, monkeypatch):
    """A block ends after a number of characters; a long text is a block of its own."""
    notes = [" ".join(RNG.choice(WORDS, 1000 if k % 40 == 0 else 5)) for k in range(N)]
    schema = schema_of("note", notes)
    monkeypatch.setattr(columns, "BLOCK_SIZE", size)
    blocks = [notes[rows] for rows in columns._text_blocks(notes)]
    assert [text for block in blocks for text in block] == notes
    assert max(sum(512 + len(text) for text in block[1:]) for block in blocks) <= size
    features = schema.features(pd.DataFrame({"note": notes, "x": 0.0}))
    for kind, lengths, first in (("word", (1, 1), 0), ("char_wb", (3, 4), 256)):
        options = {"analyzer": kind, "ngram_range": lengths, "n_features": 256}
        whole = HashingVectorizer(alternate_sign=False, **options).transform(notes).toarray()
        np.testing.assert_array_equal(features[:, first : first + 256], whole)


def test_features_that_do_not_fit_in_memory_are_one_sentence(monkeypatch):
    def full(*_):
        raise MemoryError

    schema = schema_of("note", [" ".join(RNG.choice(WORDS, 5)) for _ in range(N)])
    monkeypatch.setattr(columns, "_hash_words", full)
    message = (
        r"^expected memory for 3 rows of 513 features, 1\.15e-05 GiB, of which 512 are the "
        r"words in each of 'note': use fewer .* free text \(drop=\['note'\]\)$"
    )
    with pytest.raises(MemoryError, match=message):
        schema.features(pd.DataFrame({"note": ["good bad"] * 3, "x": 0.0}))


def test_all_problems_are_one_message_with_all_options_that_settle_them():
    frame = pd.DataFrame(
        {"list of": [[1]] * N, "x": np.arange(N) / 7, "gap": [None, *range(N - 1)]}
    )
    frame["big"] = [np.inf, *range(N - 1)]
    frame["day"] = [f"{1 + k % 28}.3.2024" for k in range(N - 1)] + ["oops"]
    with pytest.raises(TableError) as caught:
        TableSchema.fit(
            frame.assign(y=[None] + ["a", "b", "c"] * 99 + ["a", "b"]), "y", missing="error"
        )
    text = str(caught.value)
    assert text.isprintable()
    assert text.startswith("5 problems: (1) column 'list of'")
    for part in ("'gap' has a missing", "'big': expected a finite", "'oops' in row 300", "'y'"):
        assert part in text
    settled = frame.drop(columns=["list of", "big"]).replace({"day": {"oops": None}})
    assert len(TableSchema.fit(settled).columns) == 3
