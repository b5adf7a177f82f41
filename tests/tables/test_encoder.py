"""What the first step of a pipeline learns: from its own rows alone, as scikit-learn does."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils.extmath import randomized_svd

from pliant.tables import ColumnEncoder, TableSchema, temporary_map
from pliant.tables import _encoder as module

N, MANY = 400, 50
RNG = np.random.default_rng(0)
WORDS = RNG.poisson(0.3, size=(N, 12)).astype(float)
X = np.column_stack(
    [
        RNG.normal(size=N),
        RNG.integers(0, 4, N),
        RNG.lognormal(size=N),
        RNG.integers(0, MANY, N) // 3 * 3,
        WORDS,
    ]
)
X[RNG.uniform(size=X.shape) < 0.1] = np.nan
X[:, 4:] = WORDS
CATEGORIES = {1: ("a", "b", "c", "d", "e"), 3: MANY}
Y = np.nan_to_num(X[:, 3]) / 10 + RNG.normal(size=N)
THREE = np.digitize(Y, [0.5, 2.5])
ENCODER = ColumnEncoder(CATEGORIES, ((4, 16),), n_components=3)


def test_gaps_and_few_categories_are_those_of_scikit_learn():
    encoder = ColumnEncoder({1: CATEGORIES[1]}).fit(X[:, :3])
    reference = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median"), [0, 2]),
            (
                "categories",
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"),
                    OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                ),
                [1],
            ),
        ]
    ).fit(X[:, :3])
    new = np.array([[np.nan, np.nan, np.nan], [1, 5, 2], [1, 4, 2], [1, 0, 2]])
    for rows in (X[:, :3], new):
        np.testing.assert_array_equal(encoder.transform(rows), reference.transform(rows))
    names = encoder.get_feature_names_out(["u", "colour", "v"]).tolist()
    ones = [f"colour={each}" for each in "abcd"]
    assert names == ["u", "v", *ones]


@pytest.mark.parametrize("target", ["regression", "two classes", "three classes"])
def test_means_of_many_categories_are_those_of_scikit_learn(target):
    y = {"regression": Y, "two classes": Y > 1, "three classes": THREE}[target]
    task = "regression" if target == "regression" else "classification"
    kind = {"two classes": "binary", "three classes": "multiclass"}.get(target, "continuous")
    codes = np.where(np.isnan(X[:, 3]), 0.0, X[:, 3])[:, None]
    encoder = ColumnEncoder({0: MANY}, task=task).fit(codes, y)
    reference = TargetEncoder(target_type=kind).fit(codes, y)
    new = np.array([[0.0], [3.0], [1.0], [49.0], [77.0]])
    np.testing.assert_allclose(encoder.transform(new), reference.transform(new), rtol=1e-12)


def slow_crossed(codes, y, folds):
    """The mean of each row's category over the rows of other folds, one row after the other."""
    rows = []
    for k in range(len(y)):
        others = folds != folds[k]
        own = y[others & (codes == codes[k])]
        overall, variance = y[others].mean(), y[others].var()
        weight = 0.0
        if len(own) and variance:
            weight = len(own) * variance / (len(own) * variance + own.var())
        rows.append(weight * (own.mean() if len(own) else overall) + (1 - weight) * overall)
    return np.array(rows)


def test_rows_that_are_learned_from_are_encoded_by_other_rows():
    codes = RNG.integers(0, MANY, N).astype(float)
    encoder = ColumnEncoder({0: MANY}, random_state=3)
    encoded = encoder.fit_transform(codes[:, None], Y)[:, 0]
    folds = np.random.default_rng(3).permutation(N) % 5
    np.testing.assert_allclose(encoded, slow_crossed(codes, Y, folds), rtol=1e-12)


def test_categories_that_mean_nothing_do_not_leak_the_target():
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 200, 400).astype(float)[:, None], rng.normal(size=400)
    scores = cross_val_score(
        make_pipeline(ColumnEncoder({0: 200}), LinearRegression()), codes, y, cv=5, scoring="r2"
    )
    assert scores.mean() < 0.02
    leaked = ColumnEncoder({0: 200}).fit(codes, y).transform(codes)
    assert LinearRegression().fit(leaked, y).score(leaked, y) > 0.3


def test_rows_of_an_unknown_class_have_no_part_in_means():
    y = np.where(np.arange(N) % 2, THREE, -1)
    encoder = ColumnEncoder({0: MANY}, task="classification", unlabeled=-1)
    codes = np.nan_to_num(X[:, [3]])
    known = y != -1
    alone = clone(encoder).fit(codes[known], y[known])
    np.testing.assert_array_equal(encoder.fit(codes, y).means_[0], alone.means_[0])
    assert np.isfinite(encoder.fit_transform(codes, y)).all()


def test_texts_are_projected_on_singular_vectors():
    encoder = ColumnEncoder(texts=((0, 12),), n_components=3).fit(WORDS)
    _, _, reference = randomized_svd(WORDS, 3, n_oversamples=9, n_iter=20, random_state=0)
    np.testing.assert_allclose(np.abs(encoder.components_[0].T), np.abs(reference), atol=1e-6)
    np.testing.assert_allclose(encoder.transform(WORDS), WORDS @ encoder.components_[0])
    assert (encoder.components_[0].max(axis=0) > -encoder.components_[0].min(axis=0)).all()


def test_a_memory_map_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 1000)
    mapped = temporary_map([X])
    there, here = clone(ENCODER), clone(ENCODER)
    encoded = there.fit_transform(mapped, Y)
    assert isinstance(encoded, np.memmap)
    np.testing.assert_allclose(encoded, here.fit_transform(X, Y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there.transform(mapped), here.transform(X), rtol=1e-9, atol=1e-12)
    assert here.transform(X).shape[1] == len(here.get_feature_names_out()) == 2 + 4 + 1 + 3 + 1
    plain = temporary_map([WORDS])
    assert ColumnEncoder().fit_transform(plain) is plain


@pytest.mark.parametrize(
    ("options", "rows", "y", "message"),
    [
        ({"categories": {9: ("a",)}}, WORDS[:, :3], None, "features below 3, got 9"),
        ({"texts": ((1, 9),)}, WORDS[:, :3], None, r"texts in columns up to 3, got \(1, 9\)"),
        ({"n_components": 0}, WORDS, None, "n_components"),
        ({"most_one_hot": -1}, WORDS, None, "most_one_hot"),
        ({"task": "ranking"}, WORDS, None, "task"),
        ({"categories": {0: 99}}, WORDS, None, "expected a target y"),
        ({"categories": {0: 99}}, WORDS, [1.0], r"expected y of shape \(400,\), got \(1,\)"),
        ({}, WORDS[0], None, "2D"),
    ],
)
def test_what_cannot_be_encoded(options, rows, y, message):
    with pytest.raises(ValueError, match=message):
        ColumnEncoder(**options).fit(rows, y)


def test_the_encoder_of_a_schema_names_what_the_next_step_gets():
    frame = pd.DataFrame(
        {
            "city": [f"c{k % 40}" for k in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "note": [f"a good {k % 9} and bad {k}" for k in range(N)],
            "x": X[:, 0],
            "y": THREE,
        }
    )
    schema = TableSchema.fit(frame, "y")
    encoder = schema.encoder(n_components=2)
    encoded = encoder.fit_transform(schema.features(frame), schema.target_values(frame))
    names = encoder.get_feature_names_out(schema.feature_names).tolist()
    means = [f"city (mean target {k})" for k in range(3)]
    assert names == ["x", "sex=f", "sex=m", *means, "note (text 0)", "note (text 1)"]
    assert encoded.shape == (N, len(names))
    assert encoder.categories == {0: 40, 1: ("f", "m")}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_gaps_that_mean_something_are_marked(task):
    rng = np.random.default_rng(0)
    gaps = rng.normal(size=(400, 6))
    gaps[:19, 0] = gaps[:20, 1] = gaps[:20, 2] = np.nan  # too few; enough; the same ones
    gaps[::9, 3] = gaps[:, 4] = np.nan  # without a meaning; nothing else
    y = rng.normal(size=400) + 2.0 * (np.arange(400) < 20)
    y = y if task == "regression" else np.where(y > 1, "yes", "no")
    encoder = ColumnEncoder(task=task).fit(gaps, y)
    assert encoder.gaps_.tolist() == [1]
    np.testing.assert_array_equal(encoder.transform(gaps)[:, 6], np.isnan(gaps[:, 1]))
    assert encoder.get_feature_names_out()[-1] == "x1 (missing)"
    assert ColumnEncoder(task=task).fit(gaps).gaps_.tolist() == []
