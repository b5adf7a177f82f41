"""The encoder learns from the rows of `fit` alone, as scikit-learn's transformers do."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pliant.tables.reading import encoder as encoder_module
from pliant.tables.reading.encoder import ColumnEncoder

N, MANY = 400, 50
RNG = np.random.default_rng(0)
WORDS = RNG.poisson(0.3, size=(N, 12)).astype(float)
X = np.column_stack(
    [
        RNG.normal(size=N),
        RNG.integers(0, 4, N),
        RNG.lognormal(size=N),
        RNG.integers(0, MANY, N) // 3 * 3,
    ]
)
X[RNG.uniform(size=X.shape) < 0.1] = np.nan
X = np.column_stack([X, WORDS])
CATEGORIES = {1: ("a", "b", "c", "d", "e"), 3: MANY}
Y = np.nan_to_num(X[:, 3]) / 10 + RNG.normal(size=N)
THREE = np.digitize(Y, [0.5, 2.5])


def test_gaps_and_few_categories_are_those_of_scikit_learn():
    encoder = ColumnEncoder({1: CATEGORIES[1]}).fit(X[:, :3])
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    reference = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), [0, 2]),
            ("categories", one_hot, [1]),
        ]
    ).fit(X[:, :3])
    new = np.array([[np.nan, np.nan, np.nan], [1, 5, 2], [1, 4, 2], [1, 0, 2]])
    for rows in (X[:, :3], new):
        np.testing.assert_array_equal(encoder.transform(rows), reference.transform(rows))
    names = encoder.get_feature_names_out(["u", "colour", "v"]).tolist()
    ones = [f"colour={each}" for each in "abcd"]
    assert names == ["u", "v", "u (missing)", "v (missing)", *ones, "colour (missing)"]


@pytest.mark.parametrize("most_one_hot", [30, 0])
def test_a_missing_category_is_a_category_if_fit_has_seen_it(most_one_hot):
    known, gaps, unknown = [[0.0]] * 6 + [[1.0]] * 4, [[np.nan]] * 5, [[2.0]]
    y = np.repeat([0.0, 2.0, 7.0], [6, 4, 5])
    options = {"most_one_hot": most_one_hot}
    learned = ColumnEncoder({0: ("a", "b")}, **options).fit(known + gaps, y)
    rows = learned.transform([known[0], known[-1], gaps[0], unknown[0]])
    # one-hot, or the mean targets of categories whose targets are equal
    expected = [[0.0], [2.0], [7.0], [y.mean()]]
    if most_one_hot:
        expected = [*np.eye(3), np.zeros(3)]
    np.testing.assert_allclose(rows, expected, rtol=1e-12)
    complete = ColumnEncoder({0: ("a", "b")}, **options).fit(known, y[:10])
    np.testing.assert_array_equal(complete.transform(gaps[:1]), complete.transform(unknown))


def slow_means(codes, y, learned, wanted):
    """Return the shrunk mean of the category of each wanted row, row by row."""
    rows = []
    for k in wanted:
        own = y[learned & (codes == codes[k])]
        overall, variance = y[learned].mean(), y[learned].var()
        weight = 0.0
        if len(own) and variance:
            weight = len(own) * variance / (len(own) * variance + own.var())
        rows.append(weight * (own.mean() if len(own) else overall) + (1 - weight) * overall)
    return np.array(rows)


def test_many_categories_become_means_and_training_rows_those_of_other_rows():
    codes = np.random.default_rng(2).integers(0, MANY, N).astype(float)
    encoder = ColumnEncoder({0: MANY}, random_state=3)
    crossed = encoder.fit_transform(codes[:, None], Y)[:, 0]
    whole = slow_means(codes, Y, np.ones(N, bool), range(N))
    np.testing.assert_allclose(encoder.transform(codes[:, None])[:, 0], whole, rtol=1e-9)
    rest = np.ones(N, bool)
    for _, test in KFold(5, shuffle=True, random_state=3).split(codes):
        rest[test] = False
        np.testing.assert_allclose(crossed[test], slow_means(codes, Y, rest, test), rtol=1e-9)
        rest[test] = True


def test_categories_that_mean_nothing_do_not_leak_the_target():
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 200, 400).astype(float)[:, None], rng.normal(size=400)
    scores = cross_val_score(
        make_pipeline(ColumnEncoder({0: 200}), LinearRegression()), codes, y, cv=5, scoring="r2"
    )
    assert scores.mean() < 0.02
    leaked = ColumnEncoder({0: 200}).fit(codes, y).transform(codes)
    assert LinearRegression().fit(leaked, y).score(leaked, y) > 0.3


def test_texts_are_projected_on_singular_vectors():
    encoder = ColumnEncoder(texts=((0, 12),), n_components=3).fit(WORDS)
    _, _, vectors = np.linalg.svd(WORDS, full_matrices=False)
    np.testing.assert_allclose(
        np.abs(encoder.transform(WORDS)), np.abs(WORDS @ vectors[:3].T), rtol=1e-3, atol=1e-3
    )


def test_many_texts_are_projected_on_singular_vectors_of_some(monkeypatch):
    monkeypatch.setattr(encoder_module, "TEXT_ROWS", N // 3)
    encoder = ColumnEncoder(texts=((0, 12),), n_components=3)
    features = encoder.fit_transform(WORDS)
    expected = ColumnEncoder(texts=((0, 12),), n_components=3).fit(WORDS[::4]).transform(WORDS)
    np.testing.assert_allclose(features, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(encoder.transform(WORDS), features)


@pytest.mark.parametrize(
    ("options", "rows", "y", "message"),
    [
        ({"categories": {9: ("a",)}}, WORDS[:, :3], None, "columns < 3, got 9"),
        ({"texts": ((1, 9),)}, WORDS[:, :3], None, r"texts in columns up to 3, got \(1, 9\)"),
        ({"task": "ranking"}, WORDS, None, "task"),
        ({"categories": {0: 99}}, WORDS, None, "expected a target y"),
        ({"categories": {0: 99}}, WORDS, [1.0], r"inconsistent numbers of samples"),
        ({}, WORDS[0], None, "2D"),
    ],
)
def test_what_cannot_be_encoded(options, rows, y, message):
    with pytest.raises(ValueError, match=message):
        ColumnEncoder(**options).fit(rows, y)
