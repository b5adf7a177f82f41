"""Modified model files: they load, or raise an error of one sentence.

A case modifies the bytes, the JSON data, or the arrays of a small model file. Findings are
errors other than `ModelFileError`, processes that crash when the loaded model predicts, outputs
that are not finite or have another shape, probabilities outside [0, 1], memory beyond the promise,
and executed code: the import of a module named by the file only, or the creation of a file.
"""

import json
import os
import sys
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from pliant.exceptions import ModelFileError
from pliant.kernels import Kernel
from pliant.persistence import load, save, trusted_types
from tests.memory import peak_memory
from tests.persistence.test_forged_models import CODES, MODELS, X
from tests.persistence.test_hostile_files import HOSTILE, members_of, packed

METHODS = ("predict", "decision_function", "predict_proba", "transform", "predict_interval")

CANARY = "pliant_fuzz_canary"
"""Name of a module that must not be imported, and of a file that must not be created."""

VALID = (
    *("null", "true", "0", "1", "-1", "2", "1e308", "NaN", "Infinity", "-Infinity", "1e-320", "[]"),
    *("9223372036854775807", "1" + "0" * 400, '""', '"x"', '"../../x"', '"\\u001b[31m"', "4711"),
    *('"\\ud800"', "0.5", "{}", "[1]", '"precomputed"', '"linear"', '"rbf"', "[0]", '"|O"'),
)
"""JSON texts of values."""

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
            data = (of_bytes, of_json, of_json, of_array, of_array)[rng.integers(5)](data, rng)
    path.write_bytes(data)
    os.chdir(folder)
    sys.modules.pop(CANARY, None)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        refused = None
        with peak_memory() as used:
            try:
                model = load(path)
            except ModelFileError as error:
                refused = str(error)
        if used.peak > 4 * len(data) + 500_000_000:
            return f"memory: {used.peak} bytes for a file of {name} with {len(data)}"
        if refused is not None:
            fits = refused.isprintable() and len(refused) < 500
            return None if fits else f"message: {refused[:200]!r}"
        if wrong := predicted(model, name):
            return f"output: {wrong} of {name}"
    if sys.modules.get(CANARY) or [each for each in folder.iterdir() if each != path]:
        return f"code: the file of {name} ran some"
    return None


def predicted(model, name):
    """Predict with a model, which may raise errors; return what is wrong with an output."""
    width = getattr(model, "n_features_in_", 3)
    width = min(width, 10_000) if width and isinstance(width, int) else 3
    rows = CODES if name in ("codes", "means") else np.resize(X, (20, width))
    wrong = None
    for method in METHODS:
        with suppress(Exception):
            values = np.asarray(getattr(model, method)(rows))
            wrong = wrong or fault(method, values, len(rows))
    if isinstance(model, Kernel):
        with suppress(Exception):
            wrong = wrong or fault("kernel", np.asarray(model(rows, rows[:5])), len(rows))
    return wrong


def fault(method, values, n):
    """Return what is wrong with an output for n rows, or None."""
    if values.shape[:1] != (n,) or values.ndim > 2:
        return f"{method} of shape {values.shape}"
    if values.dtype.kind != "f" or method == "predict_interval":
        return None
    if not np.isfinite(values).all():
        return f"{method} not finite"
    if method == "predict_proba" and not ((values >= 0) & (values <= 1 + 1e-6)).all():
        return f"{method} outside [0, 1]"
    return None


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


def of_json(data, rng):
    members = members_of(data)
    root = json.loads(members["model.json"])
    change_lists(root["kinds"], root["parts"], rng)
    return packed({**members, "model.json": json.dumps(root).encode()})


def change_lists(kinds, parts, rng):
    """Change a kind, or a part that has values."""
    parts = [part for part in parts if len(part) > 1]
    one, other = (parts[int(i)] for i in rng.integers(len(parts), size=2))
    kind = kinds[int(rng.integers(len(kinds)))]
    place = int(rng.integers(1, len(one)))
    types = sorted(trusted_types())
    match int(rng.integers(9)):
        case 0:
            one.pop(place)
        case 1:
            one[place] = other[-1]
        case 2:
            kind[0] = str(rng.choice([*types, f"{CANARY}.x"]))
        case 3:
            kind[:] = list(HOSTILE["process"])
        case 4:
            one[0] = int(rng.integers(-1, len(kinds) + 1))
        case 5:
            one[place] = [int(rng.integers(-1, 200))]
        case 6 if len(kind) > 1:
            names = kind[1] if isinstance(kind[1], list) and kind[1] else kind
            names[int(rng.integers(len(names)))] = json.loads(str(rng.choice(VALID)))
        case 7:
            one.insert(place, other[-1])
        case _:
            plain = [(each, k) for each in parts for k, v in enumerate(each) if type(v) is not list]
            each, k = plain[int(rng.integers(len(plain)))]
            each[k] = json.loads(str(rng.choice(VALID)))


def of_array(data, rng):
    """Change the entries of one type of arrays in place, at their alignment."""
    members = members_of(data)
    arrays = bytearray(members["arrays"])
    step = int(rng.choice([1, 4, 8]))
    values = np.frombuffer(
        arrays, {1: "u1", 4: "i4", 8: str(rng.choice(["f8", "i8"]))}[step], len(arrays) // step
    )
    some = rng.integers(len(values), size=1 if rng.random() < 0.7 else 1 + len(values) // 4)
    with np.errstate(all="ignore"):
        values[some] = np.array(rng.choice(NUMBERS)).astype(values.dtype)
    return packed({**members, "arrays": bytes(arrays[: len(arrays) - int(rng.random() < 0.1)])})
