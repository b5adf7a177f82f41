"""Lists of similar objects take few arrays in a file, and come back unchanged."""

import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.ensemble import HistGradientBoostingClassifier, VotingRegressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, MKLClassifier, ModelFileError
from pliant.kernels import Gaussian, HadamardKernel, Linear
from pliant.persistence import load, save
from pliant.persistence._stacks import MAX_ROW_BYTES, MAX_VALUES, Stack, Stacker, Unstacker


def samples(n_classes, n_features=4):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), 4)
    centres = 5 * rng.normal(size=(n_classes, n_features))
    return centres[labels] + rng.normal(size=(len(labels), n_features)), labels


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (DANKClassifier(), 25),
        (DANKClassifier(partition={"n_parts": 2}), 8),
        (MKLClassifier(), 10),
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
    assert sizes["schema.json"] < 120_000  # 500 classes would have the same number of nodes
    assert len(sizes) < 60
    loaded = load(tmp_path / "model.pliant")
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


def test_training_points_are_stored_once(tmp_path):
    X, labels = samples(20)
    save(DANKClassifier().fit(X, labels), tmp_path / "model.pliant")
    shapes = []
    with zipfile.ZipFile(tmp_path / "model.pliant") as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    shapes.append(np.load(member, allow_pickle=False).shape)
    assert shapes.count(X.shape) == 2  # all points, and the support vectors among them
    assert max(np.prod(shape) for shape in shapes) < 190 * 8 * 8  # 190 Gram matrices of 8 points


def test_shared_parts_stay_shared(tmp_path):
    X, labels = samples(4)
    model = DANKClassifier(partition={"n_parts": 2}).fit(X, labels)
    save(model, tmp_path / "model.pliant")
    fitted = load(tmp_path / "model.pliant").estimators_
    assert fitted[0].kernel_.base is fitted[5].kernel_.base
    assert all(each.part_labels_ is each.kernel_.labels for each in fitted)
    vote = VotingRegressor([("a", Ridge()), ("b", Ridge(2.0))]).fit(X, labels)
    save(vote, tmp_path / "model.pliant")
    vote = load(tmp_path / "model.pliant")
    assert vote.estimators_[1] is vote.named_estimators_["b"]


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
    expected = described(values)
    assert described(Unstacker().replace(Stacker(values).stack(values))) == expected


ONES = np.ones(2, dtype=np.int64)
ITEMS = Stack(2, None, [("same", 0.0)])

FORGED = {
    "too many": Stack(MAX_VALUES + 1, None, [("same", 0.0)]),
    "too many in lists": Stack(
        2, None, [("list", ONES * (MAX_VALUES // 2), Stack(MAX_VALUES, None, [("same", 0.0)]))]
    ),
    "size": Stack(-1, None, [("same", 0.0)]),
    "size of another type": Stack(True, None, [("same", 0.0)]),
    "no part": Stack(2, None, []),
    "two parts": Stack(2, None, [("same", 0.0), ("same", 1.0)]),
    "group of no part": Stack(2, ONES * 7, [("same", 0.0), ("same", 1.0)]),
    "negative group": Stack(2, -ONES, [("same", 0.0), ("same", 1.0)]),
    "real groups": Stack(2, ONES * 0.0, [("same", 0.0)]),
    "groups of another size": Stack(3, ONES * 0, [("same", 0.0)]),
    "unknown form": Stack(2, None, [("object_", 0.0)]),
    "no content": Stack(2, None, [("numbers",)]),
    "three numbers": Stack(2, None, [("numbers", np.ones(3))]),
    "texts": Stack(2, None, [("numbers", np.array(["a", "b"]))]),
    "shapes of more entries": Stack(2, None, [("arrays", np.ones(3), None, ONES[:, None] * 2)]),
    "shapes of fewer entries": Stack(2, None, [("arrays", np.ones(3), None, ONES[:, None])]),
    "negative shape": Stack(2, None, [("arrays", np.ones(2), None, -ONES[:, None])]),
    "huge shape": Stack(1, None, [("arrays", np.ones(2), None, np.full((1, 3), 2**62))]),
    "row beyond the rows": Stack(2, None, [("arrays", np.eye(2), ONES * 2, np.full((2, 2), 1))]),
    "negative row": Stack(2, None, [("arrays", np.eye(2), -ONES, np.array([[1, 2], [1, 2]]))]),
    "lengths": Stack(2, None, [("list", ONES * 2, ITEMS)]),
    "short lengths": Stack(2, None, [("list", ONES * 0, ITEMS)]),
    "negative length": Stack(2, None, [("list", np.array([3, -1]), ITEMS)]),
    "list of no stack": Stack(2, None, [("list", ONES, [1.0, 2.0])]),
    "columns of another size": Stack(3, None, [("object", Linear(), {"a": ITEMS})]),
    "columns that are no dict": Stack(2, None, [("object", Linear(), ITEMS)]),
    "array as object": Stack(2, None, [("object", np.ones(2), {})]),
    "method": Stack(2, None, [("object", Linear(), {"_gram": 0.0})]),
    "inconsistent objects": Stack(
        2, None, [("object", HadamardKernel(Linear(), np.eye(2), ONES), {"base": Linear()})]
    ),
    "stack in an array": Stack(2, None, [("same", np.array([ITEMS, None], dtype=object))]),
    "stack of stacks": Stack(2, None, [("object", ITEMS, {"size": 1})]),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_forged_stacks_are_refused(tmp_path, forged):
    model = StandardScaler().fit(np.eye(2))
    model.parts_ = forged
    with pytest.raises(ModelFileError, match="cannot save the model") as caught:
        save(model, tmp_path / "model.pliant")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_repeated_rows_take_limited_memory():
    """Two stacks may take the memory together, but not three; each file has 8 kB of rows."""
    row = np.zeros((1, 1000))
    half = np.zeros(MAX_ROW_BYTES // row.nbytes // 2, dtype=np.uint8)
    shapes = np.array([[len(half), 1000]])
    stacks = [Stack(1, None, [("arrays", row, half, shapes)]) for _ in range(3)]
    first, second = Unstacker().replace(stacks[:2])
    assert first[0].nbytes + second[0].nbytes == MAX_ROW_BYTES
    with pytest.raises(ValueError, match="bytes in repeated rows"):
        Unstacker().replace([*stacks[1:], Stack(1, None, [("arrays", row, half, shapes)])])


def test_rows_beyond_the_limit_are_stored_with_each_array():
    points = np.zeros((MAX_ROW_BYTES // 8000 // 2 + 1, 1000))
    kernels = [with_attributes({"points": points + 0.0}) for _ in range(2)]
    stack = Stacker(kernels).stack(kernels)
    form, _, columns = stack.parts[0]
    entries, rows, _ = columns["points"].parts[0][1:]
    assert (form, entries.size, rows) == ("object", 2 * points.size, None)
