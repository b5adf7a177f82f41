"""Loading any file returns the saved model or raises ModelFileError."""

import io
import json
import pickle
import re
import struct
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import ModelFileError, TableFeatures
from pliant.persistence import load, load_file, save

X = np.random.default_rng(0).normal(size=(6, 2))
MODEL = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")).fit(X, X[:, 0])


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


def with_schema(data, change):
    """Return the file after a change of its tree of nodes in place."""
    members = members_of(data)
    root = json.loads(members["schema.json"])
    change(root)
    return packed({**members, "schema.json": json.dumps(root).encode()})


def attributes(root):
    """Return the attribute nodes of the KernelRidge in the tree."""
    steps = root["content"]["model"]["content"]["content"]["steps"]
    return steps["content"][1]["content"][1]["content"]["content"]


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
        (packed({}), "schema.json"),
        (packed({"schema.json": b""}), "JSON"),
        (packed({"schema.json": b"[]"}), "expected a model saved by pliant"),
        (packed({"schema.json": b"{}"}), "expected a model saved by pliant"),
        (packed({"schema.json": b"[" * 200_000}), "RecursionError|JSON"),
        (skops.io.dumps(MODEL), "expected a model saved by pliant"),
        (skops.io.dumps({"format": "other"}), "expected a model saved by pliant"),
    ],
)
def test_foreign_files_are_refused(tmp_path, data, message):
    assert re.search(message, refusal(tmp_path, data))


@pytest.mark.parametrize("name", ["folder", "none.pliant", "a\0b"])
def test_unreadable_paths_are_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="cannot read"):
        load(f"{tmp_path}/{name}")


@pytest.mark.parametrize("version", ["2", "4", "3.0", '"3"', "null", "[2]", "true"])
def test_another_format_version_is_refused(tmp_path, valid, version):
    def change(root):
        root["content"]["format_version"]["content"] = version
        root["content"]["model"] = {"from": "the future"}

    message = "upgrade pliant" if version.isdigit() else "expected a model saved by pliant"
    assert message in refusal(tmp_path, with_schema(valid, change))


def node(loader, module, name, **rest):
    return {"__loader__": loader, "__module__": module, "__class__": name, "__id__": 7, **rest}


TEXT = {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str", "__id__": 8}
NONE = {**TEXT, "content": "null", "is_json": True}
LIST = node("ListNode", "builtins", "list", content=[])

HOSTILE = {
    "function": node("FunctionNode", "os", "system"),
    "type": node("TypeNode", "builtins", "eval"),
    "builtin": node("TypeNode", "os", "system"),
    "object": node("ObjectNode", "subprocess", "Popen", content=NONE),
    "constructor": node("ConstructorFromReduceNode", "subprocess", "Popen", content=LIST),
    "method": node("MethodNode", "builtins", "str", content={"func": "format", "obj": NONE}),
    "partial": node(
        "PartialNode", "functools", "partial", content=dict.fromkeys(["func", "args", "kwds"], NONE)
    ),
    "operator": node("OperatorFuncNode", "operator", "methodcaller", attrs=LIST),
    "ufunc": node("FunctionNode", "numpy", "exp"),
    "tree of another type": node("TreeNode", "os", "system", content=NONE),
    "network": node("ObjectNode", "sklearn.neural_network._multilayer_perceptron", "MLPClassifier"),
    "neighbors": node("ObjectNode", "sklearn.neighbors._kd_tree", "KDTree", content=NONE),
    "listed type, other kind": node("ConstructorFromReduceNode", "builtins", "str", content=LIST),
    "callable as a list": node("ListNode", "os", "system", content=[]),
    "subclass of dict": node("DictNode", "collections", "OrderedDict", content={}, key_types=LIST),
    "cached": node("CachedNode", "builtins", "str"),
    "generator": node("RandomGeneratorNode", "numpy.random._generator", "Generator", content={}),
    "random state": node("RandomStateNode", "numpy.random.mtrand", "RandomState", content=NONE),
    "sparse": node("SparseMatrixNode", "scipy.sparse._csr", "csr_matrix", type="scipy", file="x"),
    "unknown loader": node("NoSuchNode", "builtins", "str", content="1"),
    "loader of another type": {**NONE, "__loader__": ["JsonNode"]},
    "class of another type": {**NONE, "__class__": ["str"]},
    "no number": {**NONE, "__id__": None},
    "another object's number": {**LIST, "__id__": 8},
    "missing array": node("NdArrayNode", "numpy", "ndarray", type="numpy", file="1.npy"),
    "schema as array": node("NdArrayNode", "numpy", "ndarray", type="numpy", file="schema.json"),
    "array of a function": node("NdArrayNode", "numpy", "load", type="numpy", file="1.npy"),
    "array of unknown type": node("NdArrayNode", "numpy", "ndarray", type="pickle", file="1.npy"),
    "slice of another type": node(
        "SliceNode", "os", "system", content={"start": 0, "stop": 1, "step": None}
    ),
}


@pytest.mark.parametrize("forged", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_nodes_are_refused_before_skops_sees_them(tmp_path, valid, forged, monkeypatch):
    monkeypatch.setattr(skops.io, "loads", lambda *_, **__: pytest.fail("skops was called"))

    def change(root):
        attributes(root)["alpha"] = {**TEXT, "content": "1"}
        attributes(root)["kernel"] = forged

    refusal(tmp_path, with_schema(valid, change))


ODD = {
    "no node": 3, "nothing": None, "empty": {}, "text for a list": {**LIST, "content": "abc"},
    "list without content": node("ListNode", "builtins", "list"),
    "huge number": {**NONE, "content": "9" * 5000}, "number for JSON": {**NONE, "content": 1},
    "slice without a step": node("SliceNode", "builtins", "slice", content={"start": 0, "stop": 1}),
    "keys that are no types": node(
        "DictNode", "builtins", "dict", content={"a": NONE}, key_types={**LIST, "__id__": 9}
    ),
    "reference to nothing": node("CachedNode", "", ""), "tree without arguments": node(
        "TreeNode", "sklearn.tree._tree", "Tree", content=NONE
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_odd_nodes_are_refused(tmp_path, valid, odd):
    refusal(tmp_path, with_schema(valid, lambda root: attributes(root).update(kernel=odd)))


def reference(number):
    return {**node("CachedNode", "", ""), "__id__": number}


def test_objects_that_share_parts_without_end_are_refused(tmp_path, valid):
    """Each list contains the inner list twice, the second time by reference."""

    def change(root):
        inner = {**LIST, "__id__": 100}
        for number in range(101, 140):
            inner = {**LIST, "__id__": number, "content": [inner, reference(number - 1)]}
        attributes(root)["kernel_params"] = inner

    assert "nested objects" in refusal(tmp_path, with_schema(valid, change))


@pytest.mark.parametrize("inner", [LIST, reference(7)])
def test_an_object_in_itself_is_refused(tmp_path, valid, inner):
    def change(root):
        attributes(root)["kernel"] = {**LIST, "content": [inner]}

    refusal(tmp_path, with_schema(valid, change))


def test_the_refusal_names_the_type_and_its_place(tmp_path, valid):
    def change(root):
        attributes(root)["kernel"] = HOSTILE["function"]

    message = refusal(tmp_path, with_schema(valid, change))
    assert "'model.steps[1][1].kernel' is the function 'os.system'" in message


STACK = node("ObjectNode", "pliant.persistence._stacks", "Stack", content={**NONE, "__id__": 9})


@pytest.mark.parametrize("data", [LIST, STACK], ids=["list", "stack"])
def test_a_model_that_is_plain_data_is_refused(tmp_path, valid, data):
    def change(root):
        root["content"]["model"] = data

    assert "expected an estimator" in refusal(tmp_path, with_schema(valid, change))


def test_deep_nesting_is_refused(tmp_path, valid):
    def change(root):
        inner = NONE
        for level in range(400):
            inner = {**LIST, "__id__": 100 + level, "content": [inner]}
        attributes(root)["kernel_params"] = inner

    assert "RecursionError" in refusal(tmp_path, with_schema(valid, change))


@pytest.mark.parametrize("text", ["[1]", '"{"', '"' + "[" * 100_000 + '"', "3"])
def test_metadata_or_a_schema_that_is_no_dict_is_refused(tmp_path, valid, text):
    text = text if text.startswith('"') else json.dumps(text)

    def change(root):
        root["content"]["metadata"]["content"] = text

    def change_schema(root):
        features = root["content"]["model"]["content"]["content"]
        features["schema_"]["content"]["content"]["schema"]["content"] = text

    refusal(tmp_path, with_schema(valid, change))
    save(TableFeatures().fit(pd.DataFrame({"a": [1.0, 2.0]})), tmp_path / "table")
    refusal(tmp_path, with_schema((tmp_path / "table").read_bytes(), change_schema))


def array_bytes(header, payload=b""):
    text = (header + " " * (63 - (10 + len(header)) % 64) + "\n").encode("latin1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + payload


def header(shape, descr="'<f8'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04N.",
        array_bytes(header("(10000000000000,)")),
        array_bytes(header("(-1, -1)"), b"\0" * 8),
        array_bytes(header("(2,)"), b"\0" * 8),
        array_bytes(header("(1,)"), b"\0" * 16),
        array_bytes(header("(99999999999,)", "'|V0'")),
        array_bytes(header("(99999999999,)", "'<U0'")),
        array_bytes(header("(1,)", "'|O'"), b"\0" * 8),
        array_bytes(header("(1,)", "[('a', '|O')]"), b"\0" * 8),
        array_bytes(header("(1,)", "'<M8[s]'"), b"\0" * 8),
        array_bytes(header("__import__('os').getcwd()"), b"\0" * 8),
        array_bytes("{}"),
        packed({"a.npy": b""}),
    ],
)
def test_forged_arrays_are_refused_before_skops_sees_them(tmp_path, valid, content, monkeypatch):
    monkeypatch.setattr(skops.io, "loads", lambda *_, **__: pytest.fail("skops was called"))
    members = members_of(valid)
    name = next(name for name in members if name.endswith(".npy"))
    refusal(tmp_path, packed({**members, name: content}))


def test_a_scalar_with_a_dimension_is_refused(tmp_path, valid):
    def change(root):
        attributes(root)["dual_coef_"]["__class__"] = "float64"

    assert "shape (6,)" in refusal(tmp_path, with_schema(valid, change))


def test_a_zip_bomb_is_refused_without_unpacking(tmp_path, valid):
    bomb = packed({**members_of(valid), "1.npy": bytes(1 << 24)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 17
    assert "compressed" in refusal(tmp_path, bomb)


def test_a_declared_size_that_lies_is_refused(tmp_path, valid):
    """The directory and the local header give the first member a size of 2 GiB."""
    lie = struct.pack("<II", 1 << 31, 1 << 31)
    data = bytearray(valid)
    data[18:26] = lie
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = lie
    assert "members declare" in refusal(tmp_path, bytes(data))


def test_members_that_share_their_bytes_are_refused(tmp_path, valid):
    """Every directory entry points at the largest member, so the sum of sizes is too large."""
    with zipfile.ZipFile(io.BytesIO(valid)) as archive:
        infos = archive.infolist()
        largest = max(infos, key=lambda info: info.file_size)
        for info in infos:
            info.header_offset, info.CRC = largest.header_offset, largest.CRC
            info.file_size = info.compress_size = largest.file_size
        buffer = io.BytesIO(valid)
        with zipfile.ZipFile(buffer, "a") as forged:
            forged.filelist = infos
            forged._didModify = True
    refusal(tmp_path, buffer.getvalue())


def load_or_refuse(path):
    """Return the contents, or None after a short one-line error."""
    refusals = []
    try:
        return load_file(path)
    except ModelFileError as error:
        refusals.append(str(error))
    assert len(refusals[0]) < 500
    assert refusals[0].isprintable()
    return None


def loads_equal_or_refuses(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pliant"
        path.write_bytes(data)
        loaded = load_or_refuse(path)
    if loaded is None:
        return
    np.testing.assert_array_equal(loaded.model.predict(X), MODEL.predict(X))
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


def nodes_of(value):
    if isinstance(value, dict):
        if "__loader__" in value:
            yield value
        for item in value.values():
            yield from nodes_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes_of(item)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_swapped_node_is_refused_or_loads_something(valid, data):
    """Copied or damaged fields of nodes cause no error except ModelFileError."""

    def change(root):
        nodes = list(nodes_of(root))
        one = nodes[data.draw(st.integers(1, len(nodes) - 1))]
        other = nodes[data.draw(st.integers(1, len(nodes) - 1))]
        key = data.draw(st.sampled_from(sorted(one)))
        one[key] = other.get(key, data.draw(st.sampled_from([None, 0, -1, "", [], {}, "numpy"])))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pliant"
        try:
            path.write_bytes(with_schema(valid, change))
        except (RecursionError, ValueError):
            return  # a node that contains itself has no JSON
        load_or_refuse(path)


def test_loading_arrays_takes_four_times_the_file_at_most(tmp_path):
    path = tmp_path / "model.pliant"
    model = StandardScaler().fit(X)
    model.large_ = np.zeros(5_000_000)
    save(model, path)
    load(path)  # imports
    tracemalloc.start()
    load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * path.stat().st_size
