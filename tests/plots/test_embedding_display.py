"""Points are at their transformed coordinates, and classes look different."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import colors
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from pliant import KernelEmbedding, SCGLogDetLearner
from pliant.plots import EmbeddingDisplay

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]


@pytest.fixture(scope="module")
def embedding():
    return KernelEmbedding(SCGLogDetLearner(strength=100.0)).fit(X[::2], Y[::2])


def offsets(display):
    return np.concatenate([np.asarray(points.get_offsets()) for points in display.points_])


def test_held_out_points_stand_where_transform_puts_them(embedding):
    display = EmbeddingDisplay.from_estimator(embedding, X[1::2], NAMES[1::2])
    places = embedding.transform(X[1::2])
    np.testing.assert_array_equal(offsets(display), places)  # the classes are already sorted
    assert display.classes == ["setosa", "versicolor", "virginica"]
    assert display.ax_.get_xlabel() == "kernelembedding0"
    assert display.ax_.get_ylabel() == "kernelembedding1"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == display.classes


@pytest.mark.parametrize(
    "transformer",
    [
        KernelEmbedding(SCGLogDetLearner(strength=10.0)),
        make_pipeline(StandardScaler(), KernelEmbedding(SCGLogDetLearner(strength=1.0))),
        make_pipeline(StandardScaler(), PCA(2)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_other_transformers_and_pipelines(transformer):
    display = EmbeddingDisplay.from_estimator(transformer.fit(X, Y), X, Y)
    np.testing.assert_array_equal(offsets(display), transformer.transform(X))
    assert [display.ax_.get_xlabel(), display.ax_.get_ylabel()] == [
        *transformer.get_feature_names_out()
    ]


def test_data_frames_and_names_that_a_transformer_does_not_know(embedding):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = KernelEmbedding(SCGLogDetLearner(strength=1.0)).fit(frame, Y)
    fitted.set_output(transform="pandas")
    display = EmbeddingDisplay.from_estimator(fitted, frame, pd.Series(NAMES))
    np.testing.assert_array_equal(offsets(display), fitted.transform(frame))
    nameless = FunctionTransformer(lambda points: points[:, :2]).fit(X)
    display = EmbeddingDisplay.from_estimator(nameless, X, Y)
    assert display.ax_.get_ylabel() == "component 2"


def test_many_classes_have_looks_of_their_own():
    digits, labels = load_digits(return_X_y=True)
    display = EmbeddingDisplay.from_estimator(PCA(2).fit(digits), digits, labels)
    assert [text.get_text() for text in display.legend_.get_texts()] == [*"0123456789"]
    looks = {
        (colors.to_hex(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes())
        for points in display.points_
    }
    assert len(looks) == 10
