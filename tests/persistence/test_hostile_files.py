"""Loading any file returns the saved model or raises ModelFileError."""

import io
import json
import pickle
import re
import struct
import tempfile
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import TableFeatures
from pliant.exceptions import ModelFileError
from pliant.kernels import Gaussian
from pliant.persistence import load, load_file, save, trusted_types
from pliant.persistence._codec import MAX_ROW_BYTES, Decoder
from pliant.records import to_record
from tests.memory import peak_memory

X = np.random.default_rng(0).normal(size=(6, 2))
MODEL = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")).fit(X, X[:, 0])
EXPECTED = MODEL.predict(X)


@pytest.fixture(scope="module")
def valid():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pliant"
        save(MODEL, path, metadata={"b": 2.0})
        return path.read_bytes()


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_json(data, change):
    """Return the file after a change of its JSON data in place."""
    members = members_of(data)
    root = json.loads(members["model.json"])
    change(root)
    return packed({**members, "model.json": json.dumps(root).encode()})


def put(root, kind, *values, name="kernel"):
    """Give the expansion an attribute that is a new part, before the part of the model."""
    owner = next(kind for kind in root["kinds"] if kind[0].endswith("KernelExpansion"))
    ridge = next(part for part in root["parts"] if root["kinds"][part[0]] == owner)
    root["kinds"].append(kind)
    place = root["parts"].index(ridge)
    for part in root["parts"][place:]:
        part[1:] = [[v[0] + (v[0] >= place)] if isinstance(v, list) else v for v in part[1:]]
    root["parts"].insert(place, [len(root["kinds"]) - 1, *values])
    ridge[1 + owner[1].index(name)] = [place]


def refusal(tmp_path, data):
    path = tmp_path / "model.pliant"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 500
    assert "model.pliant" in message
    assert caught.value.__suppress_context__
    return message


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def joblib_dump(obj, **options):
    buffer = io.BytesIO()
    joblib.dump(obj, buffer, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "zip archive"),
        (b"a,b\n1,2\n", "zip archive"),
        (pickle.dumps(Bomb()), "pickle"),
        (joblib_dump(Bomb()), "pickle"),
        (joblib_dump(Bomb(), compress=3), "zip archive"),
        (packed({}), "expected a model saved by"),
        (packed({"schema.json": b"{}", "1.npy": b""}), "expected a model saved by"),
        (packed({"model.json": b"", "arrays": b""}), "JSON"),
        (packed({"model.json": b"[]", "arrays": b""}), "expected a model saved by"),
        (packed({"model.json": b"{}", "arrays": b""}), "expected a model saved by"),
        (packed({"model.json": b"[" * 200_000, "arrays": b""}), "RecursionError|JSON"),
    ],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else value,  # no times
)
def test_foreign_files_are_refused(tmp_path, data, message):
    assert re.search(message, refusal(tmp_path, data))


@pytest.mark.parametrize("name", ["folder", "none.pliant", "a\0b"])
def test_unreadable_paths_are_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="cannot read"):
        load(f"{tmp_path}/{name}")


@pytest.mark.parametrize("version", ["pliant-model 0", "pliant-model 2", 1, None, ["1"]])
def test_another_format_version_is_refused(tmp_path, valid, version):
    data = with_json(valid, lambda root: root.update(format=version, parts="of the future"))
    assert "expected a model saved by this version of pliant" in refusal(tmp_path, data)


HOSTILE = {
    "function": ["os.system"], "builtin": ["builtins.eval"], "process": ["subprocess.Popen", []],
    "network": ["sklearn.neural_network._multilayer_perceptron.MLPClassifier", []],
    "neighbors": ["sklearn.neighbors._kd_tree.KDTree", []], "partial": ["functools.partial", []],
    "ufunc": ["numpy.exp"], "generator": ["numpy.random._generator.Generator", []],
    "own function": ["pliant.save"], "own module": ["pliant.persistence._codec.Decoder", []],
    "sparse": ["scipy.sparse._csr.csr_matrix", []],
    "ridge": ["sklearn.linear_model._ridge.Ridge", ["coef_"]],
    "pipeline": ["sklearn.pipeline.Pipeline", ["steps"]], "tree": ["sklearn.tree._tree.Tree"],
    "forest": ["sklearn.ensemble._forest.RandomForestRegressor", ["estimators_"]],
    "name of another type": [["list"]],
    "no name": [], "no kind": 3,
}  # fmt: skip


@pytest.mark.parametrize("forged", HOSTILE.values(), ids=HOSTILE.keys())
def test_unknown_types_are_refused_before_anything_is_built(tmp_path, valid, forged, monkeypatch):
    monkeypatch.setattr(Decoder, "decode", lambda *_: pytest.fail("parts were built"))
    refusal(tmp_path, with_json(valid, lambda root: root["kinds"].append(forged)))


ODD = {
    "three ends": (["slice"], 1, 2, 3, 4), "odd dict": (["dict"], "a"),
    "object without attributes": (["pliant.kernels.Gaussian", []],), "kind": (["list"], {"a": 1}),
    "more values": (["pliant.kernels.Gaussian", []], 1), "list": ([["list"]],),
    "record without attributes": (["pliant.records.TreeEnsemble", []],),
    "array without start": (["array", "<f8", [], None],), "reference": (["list"], []),
    "array of objects": (["array", "|O", [], None], 0, 1),
    "fields of objects": (["array", [["a", "|O"]], [], None], 0, 1),
    "array of dates": (["array", "<M8[s]", [], None], 0, 1),
    "empty entries": (["array", "|V0", [], None], 0, 1 << 60),
    "more entries": (["array", "<f8", [], None], 0, 10**12),
    "huge entries": (["array", "<U99999999", [], None], 0, 1),
    "negative size": (["array", "<f8", [-1], None], 0, -1),
    "no rows": (["array", "<f8", [0], None], 0, 1 << 60),
    "text as size": (["array", "<f8", [10**9], None], 0, "a"),
    "real size": (["array", "<f8", [], None], 0, 1.0),
    "start": (["array", "<f8", [], None], -8, 1), "end": (["array", "<f8", [], None], 1 << 40, 1),
    "row beyond the table": (["array", "<f8", [2], [0, 1]], 0, 4),
    "table beyond the data": (["array", "<f8", [2], [0, 10**6]], 0, 1),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_odd_parts_are_refused(tmp_path, valid, odd):
    refusal(tmp_path, with_json(valid, lambda root: put(root, *odd)))


@pytest.mark.parametrize("ahead", [0, 1, 10**6])
def test_a_part_that_contains_itself_or_a_later_part_is_refused(tmp_path, valid, ahead):
    def change(root):
        root["kinds"].append(["list"])
        root["parts"].append([len(root["kinds"]) - 1, [len(root["parts"]) + ahead]])

    assert "IndexError" in refusal(tmp_path, with_json(valid, change))


def test_objects_that_share_parts_without_end_are_refused(tmp_path, valid):
    """Each list contains the one before it twice."""

    def change(root):
        root["kinds"].append(["list"])
        number = len(root["kinds"]) - 1
        root["parts"] += [[number, [len(root["parts"]) - 1 + k]] * 2 for k in range(40)]

    data = with_json(valid, change)
    assert "nested objects" in refusal(tmp_path, data)


def test_repeated_rows_take_limited_memory(tmp_path, valid):
    n = 10_000

    def change(root):
        root["kinds"].append(["array", "<f8", [2], [0, 6]])
        number = len(root["kinds"]) - 1
        root["parts"] += [[number, 0, n] for _ in range(MAX_ROW_BYTES // (16 * n) + 10)]

    data = packed({**members_of(valid), "arrays": bytes(4 * n)})
    assert "repeated rows" in refusal(tmp_path, with_json(data, change))


def test_arrays_cannot_repeat_one_another(tmp_path, valid):
    """Together, they take no more bytes than the file has."""

    def change(root):
        root["kinds"].append(["array", "<f8", [], None])
        root["parts"] += [[len(root["kinds"]) - 1, 0, 10_000] for _ in range(2)]

    data = packed({**members_of(valid), "arrays": bytes(90_000)})
    assert "expected arrays of 90000 bytes, got more" in refusal(tmp_path, with_json(data, change))


def test_lists_that_are_copied_take_limited_memory(tmp_path, valid):
    n = 100_000

    def change(root):
        root["kinds"] += [["list"], ["objects"]]
        number, place = len(root["kinds"]) - 2, len(root["parts"])
        root["parts"].append([number, *[None] * n])
        root["parts"] += [[number + 1, [place], n] for _ in range(MAX_ROW_BYTES // (8 * n) + 1)]

    assert "arrays of objects" in refusal(tmp_path, with_json(valid, change))


def decoded(kinds, parts):
    return Decoder([[kind] for kind in kinds], b"", trusted_types()).decode(parts)


def test_lists_of_lists_that_become_arrays_take_limited_memory():
    """NumPy would make one array of a list of references to one list."""
    assert decoded(["list"], [[0, 1, 2], [0, [0], [0]]]) == [[1, 2], [1, 2]]
    n = 3000
    with pytest.raises(ModelFileError, match="nested objects"):
        decoded(["list"], [[0, *[1.0] * n], [0, *[[0]] * n]])


def test_only_arrays_are_transposed():
    with pytest.raises(ModelFileError, match="expected an array to transpose, got a list"):
        decoded(["list", "transposed"], [[0, 1.0, 2.0], [1, [0]]])


@pytest.mark.parametrize("width", [10**7, 10**12, -1, 2.0, None])
def test_a_row_of_a_record_takes_limited_memory(tmp_path, width):
    model = to_record(DummyRegressor().fit(X, X[:, 0]))
    model.n_features_in_ = model.function.n_features = width
    with pytest.raises(ModelFileError, match="cannot save the model"):
        save(model, tmp_path / "model.pliant")


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_a_model_that_is_plain_data_is_refused(tmp_path, valid, kind):
    def change(root):
        root["kinds"].append([kind])
        root["parts"].append([len(root["kinds"]) - 1])

    assert "expected an estimator" in refusal(tmp_path, with_json(valid, change))


@pytest.mark.parametrize("metadata", [[1], "{", 3])
def test_metadata_that_is_no_dict_is_refused(tmp_path, valid, metadata):
    data = with_json(valid, lambda root: root.update(metadata=metadata))
    assert "expected a dict as metadata" in refusal(tmp_path, data)


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, 3])
def test_a_schema_that_is_no_dict_is_refused(tmp_path, text):
    def change(root):
        names = [name for name, *_ in root["kinds"]]
        number = names.index("pliant.tables.TableSchema")
        next(part for part in root["parts"] if part[0] == number)[1] = text

    save(TableFeatures().fit(pd.DataFrame({"a": [1.0, 2.0]})), tmp_path / "table")
    refusal(tmp_path, with_json((tmp_path / "table").read_bytes(), change))


def test_a_zip_bomb_is_refused_without_unpacking(tmp_path, valid):
    members = {**members_of(valid), "arrays": bytes(1 << 24)}
    bomb = packed(members, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 17
    assert "compressed" in refusal(tmp_path, bomb)


def test_a_declared_size_that_lies_is_refused(tmp_path, valid):
    """The directory and the local header give the first member a size of 2 GiB."""
    lie = struct.pack("<II", 1 << 31, 1 << 31)
    data = bytearray(valid)
    data[18:26] = lie
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = lie
    assert "compressed" in refusal(tmp_path, bytes(data))


def loads_equal_or_refuses(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pliant"
        path.write_bytes(data)
        try:
            loaded = load_file(path)
        except ModelFileError:
            return
    np.testing.assert_allclose(loaded.model.predict(X), EXPECTED, rtol=1e-12)
    assert loaded.metadata == {"b": 2.0}


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_changed_byte_is_refused_or_harmless(valid, data):
    at = data.draw(st.integers(0, len(valid) - 1))
    changed = bytearray(valid)
    changed[at] ^= data.draw(st.integers(1, 255))
    loads_equal_or_refuses(bytes(changed))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_changed_directory_is_refused_or_harmless(valid, data):
    """No checksum covers the bytes of the directory."""
    start = valid.index(b"PK\x01\x02")
    changed = bytearray(valid)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(start, len(valid) - 1))] = data.draw(st.integers(0, 255))
    loads_equal_or_refuses(bytes(changed))


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_refused(valid, share):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pliant"
        path.write_bytes(valid[: int(share * len(valid))])
        with pytest.raises(ModelFileError):
            load(path)


def test_loading_arrays_takes_four_times_the_file_at_most(tmp_path):
    path = tmp_path / "model.pliant"
    model = Gaussian()
    model.large_ = np.zeros(5_000_000)
    save(model, path)
    load(path)  # imports
    with peak_memory() as used:
        load(path)
    assert used.peak < 4 * path.stat().st_size
