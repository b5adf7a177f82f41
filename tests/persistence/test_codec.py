"""Similar objects take little space in a file, and all values come back unchanged."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.ensemble import HistGradientBoostingClassifier

from pliant import DANKClassifier, MKLClassifier
from pliant.kernels import Gaussian
from pliant.persistence import load, save, trusted_types
from pliant.persistence._codec import Decoder, Encoder


def samples(n_classes, n_features=4):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), 4)
    centres = 5 * rng.normal(size=(n_classes, n_features))
    return centres[labels] + rng.normal(size=(len(labels), n_features)), labels


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (DANKClassifier(), 12),
        (DANKClassifier(partition={"n_parts": 2}), 8),
        (MKLClassifier(), 6),
        (HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2), 10),
    ],
    ids=["DANK", "DANK in parts", "MKL", "boosting"],
)
def test_files_of_many_classes_are_small(tmp_path, model, n_classes):
    """After a prediction too, when kernels hold temporary copies of their points."""
    X, labels = samples(n_classes)
    model.fit(X, labels).predict(X)
    save(model, tmp_path / "model.pliant")
    with zipfile.ZipFile(tmp_path / "model.pliant") as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert sizes["model.json"] < 5000 + 700 * n_classes * (n_classes - 1) / 2
    loaded = load(tmp_path / "model.pliant")
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


def test_training_points_are_stored_once(tmp_path):
    X, labels = samples(15)
    save(DANKClassifier().fit(X, labels), tmp_path / "model.pliant")
    with zipfile.ZipFile(tmp_path / "model.pliant") as archive:
        arrays = archive.read("arrays")
    assert arrays.count(X[0].tobytes()) == 1
    assert len(arrays) < 105 * 8 * 8 * 10  # 105 Gram matrices of 8 points take the most


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
ARRAYS = arrays(
    st.sampled_from([np.float64, np.int32, np.dtype("U2"), np.bool_]),
    array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
LEAVES = NUMBERS | ARRAYS | st.floats(width=32).map(np.float32) | ARRAYS.map(np.asfortranarray)


def with_attributes(values):
    kernel = Gaussian()
    vars(kernel).update(values)
    return kernel


VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", 1]), inner, max_size=3)
        | st.dictionaries(st.sampled_from("uvw"), inner, max_size=3).map(with_attributes)
    ),
)


def described(value):
    """Return types and contents of a value as text."""
    if isinstance(value, np.ndarray | np.generic):
        order = value.flags.f_contiguous, value.flags.c_contiguous
        return repr((type(value), value.dtype, value.shape, order, value.tobytes()))
    if isinstance(value, list | tuple):
        return repr((type(value), [described(item) for item in value]))
    if isinstance(value, dict | Gaussian):
        state = value if isinstance(value, dict) else vars(value)
        return repr((type(value), [(name, described(item)) for name, item in state.items()]))
    return repr((type(value), value))


@given(st.lists(VALUES, max_size=6))
def test_any_values_come_back(values):
    encoder = Encoder(trusted_types())
    encoder.encode(values)
    kinds, parts = json.loads(json.dumps([encoder.kinds, encoder.parts]))
    decoded = Decoder(kinds, bytes(encoder.data), trusted_types()).decode(parts)
    assert described(decoded) == described(values)
