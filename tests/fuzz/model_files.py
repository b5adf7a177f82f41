"""Modified model files: they load, or raise an error of one sentence.

A case modifies the bytes, the schema nodes, or the arrays of a small model file. Findings are
errors other than `ModelFileError`, processes that crash when the loaded model predicts, and
executed code: the import of a module named by the file only, or the creation of a file.
"""

import io
import json
import os
import sys
import tempfile
import warnings
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from pliant import ModelFileError
from pliant.kernels import Kernel
from pliant.persistence import load, save
from pliant.persistence._model_file import loaders
from tests.persistence.test_forged_models import CODES, MODELS, X
from tests.persistence.test_hostile_files import HOSTILE, nodes_of

METHODS = ("predict", "decision_function", "predict_proba", "transform", "predict_interval")

CANARY = "pliant_fuzz_canary"
"""Name of a module that must not be imported, and of a file that must not be created."""

SCALARS = (
    *("null", "true", "0", "1", "-1", "2", "1e308", "NaN", "Infinity", "-Infinity", "1e-320", ""),
    *("9223372036854775807", "1" + "0" * 400, '""', '"x"', '"../../x"', '"\\u001b[31m"', "[]"),
    *('"\\ud800"', "0.5", "{}", "[1]", '"precomputed"', '"linear"', '"rbf"', "4711"),
)
"""JSON texts of plain values."""

NUMBERS = (np.nan, np.inf, -1, 0, 1, 1e308, 1e-320, 2.5, 127, 2**31, -(2**31), 2**62, 3, 1e30)


@cache
def saved(name):
    """Return the bytes of a model file."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(MODELS[name](), Path(folder) / "model", metadata={"b": 2.0})
        return (Path(folder) / "model").read_bytes()


def case(seed, folder):
    """Modify one model file, load it and predict; return the finding or None."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(MODELS)))
    path = folder / "model.pliant"
    data = saved(name)
    for _ in range(int(rng.integers(1, 4))):
        with suppress(Exception):  # a modified file may not allow further modifications
            data = (of_bytes, of_schema, of_schema, of_array, of_array)[rng.integers(5)](data, rng)
    path.write_bytes(data)
    os.chdir(folder)
    sys.modules.pop(CANARY, None)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError as error:
            fits = str(error).isprintable() and len(str(error)) < 500
            return None if fits else f"message: {str(error)[:200]!r}"
        predicted(model, name)
    if sys.modules.get(CANARY) or [each for each in folder.iterdir() if each != path]:
        return f"code: the file of {name} ran some"
    return None


def predicted(model, name):
    """Predict with a model; it may raise errors, but not read beyond its arrays."""
    width = getattr(model, "n_features_in_", 3)
    width = min(width, 10_000) if width and isinstance(width, int) else 3
    rows = CODES if name == "codes" else np.resize(X, (20, width))
    for method in METHODS:
        with suppress(Exception):
            getattr(model, method)(rows)
    if isinstance(model, Kernel):
        with suppress(Exception):
            model(rows, rows[:5])


def of_bytes(data, rng):
    changed = bytearray(data)
    at = int(rng.integers(len(changed)))
    match int(rng.integers(4)):
        case 0:
            changed[at] ^= int(rng.integers(1, 256))
        case 1:
            del changed[at : at + int(rng.integers(1, 1000))]
        case 2:
            changed[at:at] = rng.bytes(int(rng.integers(1, 100)))
        case _:
            changed[int(rng.integers(data.index(b"PK\x01\x02"), len(changed)))] ^= 255
    return bytes(changed)


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def of_schema(data, rng):
    members = members_of(data)
    root = json.loads(members["schema.json"])
    nodes = list(nodes_of(root["content"]["model"] if rng.random() < 0.95 else root))
    change_nodes(nodes, rng)
    return packed({**members, "schema.json": json.dumps(root).encode()})


def change_nodes(nodes, rng):
    one, other = (nodes[int(i)] for i in rng.integers(len(nodes), size=2))
    holders = [n for n in nodes if n["__loader__"] == "DictNode" and n["content"]] or nodes
    content = holders[int(rng.integers(len(holders)))]["content"]
    types = sorted(loaders()["ObjectNode"])
    match int(rng.integers(8)):
        case 0:
            one.pop(str(rng.choice(list(one))))
        case 1:
            content[str(rng.choice(list(content)))] = other
        case 2:
            kind = str(rng.choice([*types, f"{CANARY}.x"]))
            one["__module__"], _, one["__class__"] = kind.rpartition(".")
        case 3:
            hostile = dict(list(HOSTILE.values())[int(rng.integers(len(HOSTILE)))])
            content[str(rng.choice(list(content)))] = hostile
        case 4:
            one["__id__"] = other.get("__id__")
        case 5:
            copied = {**other, "__id__": int(rng.integers(10**6))}
            one.clear()
            one.update(copied)
        case 6 if isinstance(one.get("content"), list) and one["content"]:
            one["content"].pop(int(rng.integers(len(one["content"]))))
        case _:
            plain = [node for node in nodes if node["__loader__"] == "JsonNode"]
            plain[int(rng.integers(len(plain)))]["content"] = str(rng.choice(SCALARS))


def of_array(data, rng):
    members = members_of(data)
    name = str(rng.choice([name for name in members if name.endswith(".npy")]))
    buffer = io.BytesIO()
    with np.errstate(all="ignore"):
        values = changed_array(np.load(io.BytesIO(members[name]), allow_pickle=False), rng)
    np.save(buffer, values, allow_pickle=False)
    return packed({**members, name: buffer.getvalue()})


def changed_array(values, rng):
    if values.dtype.names:  # the nodes of a tree
        field = str(rng.choice(values.dtype.names))
        values[field] = changed_array(values[field], rng)
        return values
    match int(rng.integers(7)):
        case 0 | 1 | 2 if values.size and values.dtype.kind in "iufb":
            changed = values.copy()
            some = rng.integers(values.size, size=1 if rng.random() < 0.7 else values.size)
            changed.reshape(-1)[some] = np.array(rng.choice(NUMBERS)).astype(values.dtype)
            return changed
        case 3:
            return values.astype(str(rng.choice(["f4", "f8", "i4", "i8", "bool", "U5", "c16"])))
        case 4 if values.ndim:
            return values[: int(rng.integers(len(values) + 1))]
        case 5 if values.ndim > 1:
            return values.T if rng.random() < 0.5 else values[:, :-1]
    return values[None] if rng.random() < 0.5 else np.zeros(3)
