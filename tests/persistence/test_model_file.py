"""Models go to a file and come back as they were; what cannot be saved says so."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Perceptron
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelEncoder, MinMaxScaler, PowerTransformer, StandardScaler
from sklearn.svm import NuSVC

from pliant import ModelFileError, __version__
from pliant.persistence import load_model, save_model, trusted_types

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.sin(X[:, 0])


def fitted():
    return make_pipeline(MinMaxScaler(), KernelRidge(kernel="rbf", gamma=0.5)).fit(X, Y)


def written(tmp_path, model, **extra):
    path = tmp_path / "model.pliant"
    save_model(model, path, **extra)
    return path


def test_a_loaded_model_predicts_the_same(tmp_path):
    model = fitted()
    loaded = load_model(written(tmp_path, model))
    assert isinstance(loaded.model, Pipeline)
    np.testing.assert_array_equal(loaded.model.predict(X), model.predict(X))


def test_a_model_with_a_scaled_target_predicts_the_same(tmp_path):
    model = TransformedTargetRegressor(fitted(), transformer=StandardScaler()).fit(X, 9.0 * Y)
    loaded = load_model(written(tmp_path, model)).model
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_file_says_who_wrote_it_and_keeps_plain_data(tmp_path):
    schema = {"columns": [{"name": "a", "kind": "numeric"}], "target": None}
    metadata = {"score": 0.25, "folds": [1, 2], "text": "naïve \u2028", "nothing": None}
    loaded = load_model(written(tmp_path, fitted(), schema=schema, metadata=metadata))
    assert loaded.schema == schema
    assert loaded.metadata == metadata
    assert loaded.pliant_version == __version__


def test_another_scikit_learn_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn.base.__version__", "0.0.1")
    path = written(tmp_path, fitted())
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 0\.0\.1 and this is") as told:
        loaded = load_model(path)
    assert len(told) == 1
    np.testing.assert_array_equal(loaded.model.predict(X), fitted().predict(X))


def test_schema_and_metadata_are_optional(tmp_path):
    loaded = load_model(written(tmp_path, fitted()))
    assert (loaded.schema, loaded.metadata) == (None, None)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a", "ä"]),
        np.array(["b", "a", None], dtype=object)[:2],
        np.array([3, 1, 2]),
        np.array([0.5, -0.5]),
        np.array([True, False]),
    ],
    ids=["text", "object", "int", "float", "bool"],
)
def test_class_labels_keep_their_type(tmp_path, labels):
    loaded = load_model(written(tmp_path, LabelEncoder().fit(labels))).model
    np.testing.assert_array_equal(loaded.classes_, np.unique(labels))
    assert loaded.classes_.dtype == np.unique(labels).dtype


@pytest.mark.parametrize(
    "model",
    [
        SimpleImputer(strategy="most_frequent").fit(np.array([["a"], ["b"], ["a"]], dtype=object)),
        SimpleImputer().fit(np.array([[1.0], [np.nan]])),
        StandardScaler().fit(X),
        KernelRidge(kernel="poly", kernel_params={"a": 1, 2: "b", 2.5: None}),
    ],
    ids=["texts", "numbers", "scaler", "keys"],
)
def test_attributes_survive(tmp_path, model):
    loaded = load_model(written(tmp_path, model)).model
    assert type(loaded) is type(model)
    assert vars(loaded).keys() == vars(model).keys()
    for name, value in vars(model).items():
        np.testing.assert_equal(vars(loaded)[name], value)


def test_a_part_that_stands_twice_is_one_part(tmp_path):
    imputer = SimpleImputer().fit([[1.0], [np.nan]])
    loaded = load_model(written(tmp_path, Pipeline([("a", imputer), ("b", imputer)]))).model
    assert loaded.steps[0][1] is loaded.steps[1][1]


def test_empty_and_transposed_arrays_survive(tmp_path):
    model = StandardScaler().fit(X)
    model.empty_, model.turned_ = np.empty((0, 3)), np.asfortranarray(X)
    loaded = load_model(written(tmp_path, model)).model
    assert loaded.empty_.shape == (0, 3)
    np.testing.assert_array_equal(loaded.turned_, X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda a, b: a @ b.T, r"'model\.steps\[1\]\[1\]\.kernel' is the function .*<lambda>"),
        (np.dot, r"'model\.steps\[1\]\[1\]\.kernel' is the function 'numpy\.dot'"),
        (X.dot, r"cannot save the model"),
        (NuSVC(), r"'model\.steps\[1\]\[1\]\.kernel' is a 'sklearn\.svm\._classes\.NuSVC'"),
        (np.random.RandomState(0), r"\.kernel' is a 'numpy\.random\.mtrand\.RandomState'"),
        (b"bytes", r"\.kernel' is a 'builtins\.bytes'"),
        ({True: 1}, r"the keys of|is a 'builtins\.bool'"),
        (iter([]), r"cannot save the model"),
    ],
    ids=["lambda", "numpy", "method", "svc", "random", "bytes", "bool key", "iterator"],
)
def test_what_cannot_be_saved_says_where_it_is(tmp_path, kernel, message):
    model = make_pipeline(StandardScaler(), KernelRidge(kernel=kernel))
    with pytest.raises(ModelFileError, match=message) as caught:
        save_model(model, tmp_path / "model.pliant")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", [{"a": 1}, None, X, 3, "text", KernelRidge], ids=repr)
def test_only_estimators_and_kernels_are_models(tmp_path, model):
    with pytest.raises(ModelFileError, match="cannot save the model"):
        save_model(model, tmp_path / "model.pliant")


@pytest.mark.parametrize(
    "model", [PowerTransformer().fit(X), Perceptron().fit(X, Y > 0), NuSVC().fit(X, Y > 0)]
)
def test_estimators_that_are_not_on_the_list_are_refused(tmp_path, model):
    with pytest.raises(ModelFileError, match="'model' is a 'sklearn"):
        save_model(model, tmp_path / "model.pliant")


@pytest.mark.parametrize("extra", [{"schema": {"a": X}}, {"metadata": {"a": {1, 2}}}])
def test_schema_and_metadata_must_be_plain(tmp_path, extra):
    with pytest.raises(ModelFileError, match=f"plain data as {next(iter(extra))}"):
        save_model(fitted(), tmp_path / "model.pliant", **extra)


def test_a_model_that_contains_itself_is_refused(tmp_path):
    model = KernelRidge()
    model.kernel = model
    with pytest.raises(ModelFileError, match="cannot save the model"):
        save_model(model, tmp_path / "model.pliant")


@pytest.mark.parametrize("where", [".", "none/model.pliant", "file/model.pliant", "a\0b"])
def test_an_unwritable_place_is_one_error_and_leaves_nothing(tmp_path, where):
    (tmp_path / "file").write_text("here before")
    with pytest.raises(ModelFileError, match="cannot write '"):
        save_model(fitted(), f"{tmp_path}/{where}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_refused_model_leaves_the_old_file(tmp_path):
    path = written(tmp_path, fitted())
    before = path.read_bytes()
    with pytest.raises(ModelFileError):
        save_model(NuSVC(), path)
    assert path.read_bytes() == before


def test_trusted_types_are_classes_of_pliant():
    for name in trusted_types():
        module, _, cls = name.rpartition(".")
        parts = ("kernels", "methods", "comparison", "persistence", "tables")
        assert module in {"pliant", *(f"pliant.{part}" for part in parts)}
        assert cls.isidentifier()


def test_parts_that_can_check_themselves_are_asked(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        MinMaxScaler, "_check_loaded", lambda self: asked.append(type(self)), raising=False
    )
    path = written(tmp_path, fitted())
    asked.clear()
    load_model(path)
    assert asked == [MinMaxScaler]


def test_a_part_that_fails_its_own_check_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path, fitted())

    def refuse(self):
        raise ValueError("expected two shapes to agree")

    monkeypatch.setattr(KernelRidge, "_check_loaded", refuse, raising=False)
    with pytest.raises(ModelFileError, match="expected two shapes to agree"):
        load_model(path)


def test_members_are_stored_uncompressed(tmp_path):
    with zipfile.ZipFile(written(tmp_path, fitted())) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        assert json.loads(archive.read("schema.json"))["__class__"] == "dict"
