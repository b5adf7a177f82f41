"""Altered model files: what loads, predicts; everything else is refused in one sentence.

A case takes a small model file of one public estimator, kernel or pipeline and alters its bytes,
its archive, the nodes of its schema, its arrays, or the data beside the model. Findings are any
error but `ModelFileError`, a prediction that fails or is not finite, code that ran (importing a
module that only a file names, or making a file), and more memory than the loader promises.
"""

import io
import json
import os
import re
import sys
import traceback
import tracemalloc
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from pliant import ModelFileError
from pliant.kernels import Kernel
from pliant.persistence import load_model
from tests.fuzz.model_file_cases import MODELS, rows_for, saved

METHODS = ("predict", "decision_function", "predict_proba", "transform", "predict_interval")
"""What is asked of a model that loads."""

CANARY = "pliant_fuzz_canary"
"""A module that no file may import, and the file that no code may make."""

SCALARS = (
    *("null", "true", "false", "0", "1", "-1", "2", "3", "1e308", "-1e308", "NaN", "Infinity"),
    *("-Infinity", "1e-320", "9223372036854775807", "-9223372036854775808", "1" + "0" * 400),
    *('""', '"x"', '"' + "x" * 10_000 + '"', '"../../x"', '"\\u001b[31m"', '"\\ud800"', "0.5"),
    *("[]", "{}", "[1]", "nul", "", '"precomputed"', '"linear"', '"rbf"', '"sigmoid"', "4711"),
)
"""What stands in the place of a plain value."""

NAMES = ("../../etc/passwd", "/tmp/x.npy", "C:\\x.npy", "x.py", "schema.json", "1.npz", "1.npy")

SLOW = 5.0
"""Seconds that loading and predicting may take, once code is compiled."""

OTHER_ROWS = (
    *("unknown categories", "the table lacks the", "columns are missing"),
    "ufunc 'isnan' not supported",
)
"""What is said of rows that do not fit, as the file was altered to hold other columns.

The last one is what scikit-learn's encoders say of numbers where they learned texts.
"""

Rng = np.random.Generator
Root = dict[str, Any]


def case(seed: int, folder: Path) -> str | None:
    """Alter one model file; return what was wrong with how it loads and predicts."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(MODELS)))
    original = saved(name)
    data = altered(original, rng)
    path = folder / "model.pliant"
    path.write_bytes(data)
    os.chdir(folder)
    sys.modules.pop(CANARY, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        what = _wrong(path, name)
    if sys.modules.get(CANARY) or [each for each in folder.iterdir() if each != path]:
        what = "code: the file ran some"
    return None if what is None else f"{what} [{name}]"


def _wrong(path: Path, name: str) -> str | None:
    """Load a file and predict; return what was wrong."""
    try:
        model = load_model(path).model
    except ModelFileError as error:
        return _wrong_message(str(error))
    except Exception as error:
        return f"load: {_described(error)}"
    rows = rows_for(model, name)
    if rows is None:  # a kernel of columns by name, which has values in an estimator only
        return None
    for method in METHODS:
        if callable(getattr(type(model), method, None)) and hasattr(model, method):
            try:
                values = getattr(model, method)(*([rows]))
            except NotFittedError as error:
                return None if str(error).isprintable() else f"message: {str(error)[:200]!r}"
            except Exception as error:
                if any(words in str(error) for words in OTHER_ROWS):
                    return None
                return f"{method}: {_described(error)}"
            if not _finite(values, method):
                return f"not finite: {method}"
    if isinstance(model, Kernel):
        try:
            values = model(*rows)
        except Exception as error:
            return f"kernel: {_described(error)}"
        if not _finite(values):
            return "not finite: kernel"
    return None


def _wrong_message(text: str) -> str | None:
    if not text.isprintable() or len(text) > 500:
        return f"message: {text[:200]!r}"
    return None


def _described(error: Exception) -> str:
    """Return the kind of an error and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "pliant/src" in f.filename or "/src/pliant/" in f.filename]
    places = [*ours[-1:], frames[-1]]
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(places))
    return f"{type(error).__name__} in {where}: {str(error)[:200]}"


def _finite(values: Any, method: str = "") -> bool:
    """Return whether all numbers are finite; an interval may reach to infinity."""
    parts = values if isinstance(values, list | tuple) else [values]
    arrays = [np.asarray(part) for part in parts]
    bad = np.isnan if method == "predict_interval" else lambda a: ~np.isfinite(a)
    return not any(a.dtype.kind == "f" and bad(a).any() for a in arrays)


def altered(data: bytes, rng: Rng) -> bytes:
    """Return a file with one to three alterations of a kind that is drawn."""
    kind = rng.choice(list(ALTERATIONS), p=[0.05, 0.05, 0.45, 0.4, 0.05])
    for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.3 else 1):
        try:
            data = ALTERATIONS[kind](data, rng)
        except Exception:
            return data  # what a first alteration left can no longer be read
    return data


# Bytes


def _bytes(data: bytes, rng: Rng) -> bytes:
    changed = bytearray(data)
    at = int(rng.integers(len(changed)))
    match int(rng.integers(6)):
        case 0:
            changed[at] ^= int(rng.integers(1, 256))
        case 1:
            del changed[at:]
        case 2:
            del changed[at : at + int(rng.integers(1, 100))]
        case 3:
            changed[at:at] = rng.bytes(int(rng.integers(1, 100)))
        case 4:
            directory = data.index(b"PK\x01\x02")
            changed[int(rng.integers(directory, len(changed)))] = int(rng.integers(256))
        case _:
            changed[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" * 8])
    return bytes(changed)


# The archive


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the members of a file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive of members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _archive(data: bytes, rng: Rng) -> bytes:
    members = unpacked(data)
    names = list(members)
    one, other = (str(name) for name in rng.choice(names, 2))
    match int(rng.integers(8)):
        case 0:
            return packed(members, zipfile.ZIP_DEFLATED)
        case 1:
            del members[one]
        case 2:
            members[one], members[other] = members[other], members[one]
        case 3:
            members[str(rng.choice(NAMES))] = members[one]
        case 4:
            members[str(rng.choice(NAMES))] = members.pop(one)
        case 5:
            members[f"{rng.integers(10)}.npy"] = bytes(int(rng.integers(1 << 16)))
        case 6:
            buffer = io.BytesIO(data)
            with zipfile.ZipFile(buffer, "a") as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr(one, members[other])
            return buffer.getvalue()
        case _:
            members[one] = members[one][: int(rng.integers(len(members[one]) + 1))]
    return packed(members)


# Nodes of the schema


def nodes_of(value: Any) -> list[Root]:
    """Return all nodes of a schema, a node before what is in it."""
    if isinstance(value, list):
        return [node for item in value for node in nodes_of(item)]
    if not isinstance(value, dict):
        return []
    below = [node for item in value.values() for node in nodes_of(item)]
    return [value, *below] if "__loader__" in value else below


@cache
def attributes_of_types() -> list[str]:
    """Return names that mean something on the classes of a file."""
    from pliant.persistence._nodes import loaders

    names: set[str] = set()
    for full in loaders()["ObjectNode"]:
        module, _, name = full.rpartition(".")
        kind = getattr(sys.modules.get(module), name, None)
        names |= set(dir(kind)) if isinstance(kind, type) else set()
    return sorted(names)


def _schema(data: bytes, rng: Rng) -> bytes:
    members = unpacked(data)
    root = json.loads(members["schema.json"])
    _change_nodes(root, rng)
    try:
        members["schema.json"] = json.dumps(root).encode()
    except (ValueError, RecursionError):
        return data  # a node that contains itself has no JSON
    return packed(members)


def _change_nodes(root: Root, rng: Rng) -> None:
    model = nodes_of(root["content"]["model"]) if rng.random() < 0.95 else []
    nodes = model or nodes_of(root)
    one, other = (nodes[int(i)] for i in rng.integers(len(nodes), size=2))
    dicts = [node for node in nodes if node["__loader__"] == "DictNode" and node["content"]]
    objects = [node for node in nodes if node["__loader__"] == "ObjectNode"] or nodes
    plain = [node for node in nodes if node["__loader__"] == "JsonNode"] or nodes
    lists = [n for n in nodes if isinstance(n.get("content"), list) and n["content"]] or [one]
    match int(rng.integers(14)):
        case 0:
            one.pop(str(rng.choice(list(one))))
        case 1 if dicts:  # an attribute less
            held = dicts[int(rng.integers(len(dicts)))]
            place = int(rng.integers(len(held["content"])))
            held["content"].pop(list(held["content"])[place])
            held["key_types"]["content"].pop(place)
        case 2 if dicts:  # an attribute of another name
            held = dicts[int(rng.integers(len(dicts)))]
            place = int(rng.integers(len(held["content"])))
            names = list(held["content"])
            names[place] = str(rng.choice([*attributes_of_types(), "__dict__", "__class__", "x"]))
            held["content"] = dict(zip(names, held["content"].values(), strict=True))
        case 3 | 4 if dicts:  # an attribute more, such as a method
            held = dicts[int(rng.integers(len(dicts)))]
            name = str(rng.choice([*attributes_of_types(), "__dict__", "__class__", "0"]))
            if name not in held["content"]:
                held["content"][name] = other if rng.random() < 0.5 else _plain("null")
                held["key_types"]["content"].append(_type("builtins", "str"))
        case 5:  # the type of another object
            one = objects[int(rng.integers(len(objects)))]
            other = objects[int(rng.integers(len(objects)))]
            one["__module__"], one["__class__"] = _kind(other, rng)
        case 6:  # two nodes exchanged
            held, kept = dict(one), dict(other)
            one.clear()
            other.clear()
            one.update(kept)
            other.update(held)
        case 7:  # a node in the place of another
            copied = dict(other)
            one.clear()
            one.update(copied)
        case 8:
            many = lists[int(rng.integers(len(lists)))]["content"]
            if isinstance(many, list) and many:
                many.insert(int(rng.integers(len(many))), many[int(rng.integers(len(many)))])
        case 9:
            many = lists[int(rng.integers(len(lists)))]["content"]
            if isinstance(many, list) and many:
                many.pop(int(rng.integers(len(many))))
        case 10:
            one["__id__"] = int(rng.choice([other.get("__id__") or 0, 0, -1, 1 << 40]))
        case 11:
            inner = dict(one)
            for level in range(int(rng.choice([1, 60, 150]))):
                inner = {
                    **_type("builtins", "list"),
                    "__loader__": "ListNode",
                    "__id__": 1000 + level,
                    "content": [inner],
                }
            one.clear()
            one.update(inner)
        case 12:
            key = str(rng.choice(list(one)))
            one[key] = [None, 0, -1, "", [], {}, "numpy", CANARY, *NAMES][int(rng.integers(15))]
            if rng.random() < 0.3:
                one.update({"__module__": CANARY, "__class__": "x"})
        case _:
            some = plain[int(rng.integers(len(plain)))]
            some["content"] = str(rng.choice(SCALARS))
            some["is_json"] = True


def _plain(text: str) -> Root:
    return {
        "__loader__": "JsonNode",
        "__module__": "builtins",
        "__class__": "str",
        "__id__": 4711,
        "content": text,
        "is_json": True,
    }


def _type(module: str, name: str) -> Root:
    return {"__loader__": "TypeNode", "__module__": module, "__class__": name, "__id__": 4712}


def _kind(node: Root, rng: Rng) -> tuple[str, str]:
    from pliant.persistence._nodes import loaders

    if rng.random() < 0.4:
        return str(node["__module__"]), str(node["__class__"])
    listed = sorted(loaders()["ObjectNode"])
    module, _, name = listed[int(rng.integers(len(listed)))].rpartition(".")
    return module, name


# Arrays


def _array(data: bytes, rng: Rng) -> bytes:
    members = unpacked(data)
    arrays = [name for name in members if name.endswith(".npy")]
    if not arrays:
        return _schema(data, rng)
    name = str(rng.choice(arrays))
    values = np.load(io.BytesIO(members[name]), allow_pickle=False)
    if rng.random() < 0.15:
        members[name] = _header(members[name], values, rng)
    else:
        buffer = io.BytesIO()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.save(buffer, np.asanyarray(_changed(values, rng)), allow_pickle=False)
        members[name] = buffer.getvalue()
    return packed(members)


NUMBERS = (
    *(np.nan, np.inf, -np.inf, -1, 0, 1, 1e308, -1e308, 1e-320, 1e18, -1e18, 2.5, 1e5, 127),
    *(2**31, -(2**31), 2**62, 3, 1e150, 1e-200, 1e30),
)
"""What stands in the place of a number."""


def _changed(values: Any, rng: Rng) -> Any:
    """Return an array that is changed in one way."""
    n = values.shape[0] if values.ndim else 1
    match int(rng.integers(14)):
        case 0 | 1 | 2 | 3 if values.size and values.dtype.kind in "iufb":
            changed = values.copy()
            some = rng.integers(values.size, size=1 if rng.random() < 0.7 else values.size)
            changed.reshape(-1)[some] = np.array(rng.choice(NUMBERS)).astype(values.dtype)
            return changed
        case 4:
            kinds = ["f4", "f8", "i4", "i8", "u1", "?", "i2", "U8", "S3", ">f8", "f2", "u8"]
            kind = str(rng.choice(kinds))
            return values.astype(kind) if values.dtype.kind in "iufb" else values.astype("U3")
        case 5 if values.ndim:
            return values.reshape(-1)
        case 6 if values.ndim:
            return values.T if values.ndim > 1 else values[:, None]
        case 7 if values.ndim:
            return rng.permutation(values, axis=int(rng.integers(values.ndim)))
        case 8 if values.ndim:
            return np.delete(values, int(rng.integers(n)), axis=0) if n else values
        case 9 if values.ndim and n:
            return np.concatenate([values, values[:1]])
        case 10 if values.ndim:
            return values[:0]
        case 11:
            return np.asfortranarray(values)
        case 12 if values.ndim > 1:
            return values[:, :-1]
        case 13 if values.ndim and values.dtype.kind in "iuf":
            return values[::-1] if rng.random() < 0.5 else -values
    return values[None] if rng.random() < 0.5 else np.zeros(3)


def _header(content: bytes, values: Any, rng: Rng) -> bytes:
    """Return an array with another header before the same bytes."""
    at = content.index(b"{")
    end = content.index(b"\n", at)
    shapes = ["(10000000000,)", "(-1,)", f"({values.size * 2},)", "(0,)", "()", "(1, 1, 1)"]
    kinds = ["'|O'", "'<U0'", "'|V8'", "'>f8'", "'<i8'", "'<f4'", "[('a', '<f8')]", "'<M8[s]'"]
    text = content[at:end].decode("latin1")
    if rng.random() < 0.5:
        text = re.sub(r"\([^)]*\)", str(rng.choice(shapes)), text)
    else:
        text = re.sub(r"'descr': '[^']*'", f"'descr': {rng.choice(kinds)}", text)
    if rng.random() < 0.2:
        text = text.replace("False", "True")
    padded = text.strip()[: end - at].ljust(end - at).encode("latin1")
    return content[:at] + padded + content[end:]


# The data beside the model


def _beside(data: bytes, rng: Rng) -> bytes:
    members = unpacked(data)
    root = json.loads(members["schema.json"])
    content = root["content"]
    names = ["schema", "metadata", "format", "format_version", "pliant_version"]
    name = str(rng.choice(names))
    if rng.random() < 0.2:
        content.pop(name)
    else:
        text = str(rng.choice(SCALARS))
        content[name]["content"] = json.dumps(text) if rng.random() < 0.5 else text
    if rng.random() < 0.2:
        root["_skops_version"] = text if rng.random() < 0.5 else None
    if rng.random() < 0.2:
        root["protocol"] = [None, -1, 0, 1, 99, "x", 2.5][int(rng.integers(7))]
    members["schema.json"] = json.dumps(root).encode()
    return packed(members)


ALTERATIONS = {
    "bytes": _bytes,
    "archive": _archive,
    "schema": _schema,
    "array": _array,
    "beside": _beside,
}


def peak_of(path: Path) -> int:
    """Return the largest memory that loading a file takes, in bytes."""
    tracemalloc.start()
    try:
        load_model(path)
    except ModelFileError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
