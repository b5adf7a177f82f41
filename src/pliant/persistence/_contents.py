"""Check the sizes, arrays and types of a model file before any object is built."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from pliant import kernels, methods
from pliant.core.exceptions import ModelFileError
from pliant.core.text import printable, quoted

Node: TypeAlias = dict[str, Any]
"""Description of an object in ``schema.json``, in the skops format."""

MAX_BYTES = 1 << 30
MAX_SCHEMA_BYTES = 20_000_000
MAX_NODES = 1_000_000
"""Maximum size of a model file, which is read into memory, and of its ``schema.json``, which takes
8 to 30 times its size in memory; maximum number of nodes, counting each use of a shared node."""

SKLEARN_MODULES = (
    *("calibration", "compose", "decomposition._pca", "decomposition._truncated_svd"),
    *("discriminant_analysis", "dummy", "ensemble._forest", "ensemble._stacking"),
    *("ensemble._hist_gradient_boosting.binning", "ensemble._voting", "frozen"),
    *("ensemble._hist_gradient_boosting.gradient_boosting",),
    *("gaussian_process", "gaussian_process._gpc", "gaussian_process.kernels", "impute"),
    *("isotonic", "kernel_approximation", "kernel_ridge", "linear_model", "multiclass"),
    *("naive_bayes", "pipeline", "preprocessing", "svm", "tree"),
)
"""scikit-learn modules with estimators that a file may contain.

Their methods are Python and NumPy, which check every index. `pliant.persistence._checks` covers
the attributes that compiled code and sparse matrices rely on.
"""


@cache
def trusted_types() -> frozenset[str]:
    """Return the full names of pliant's types that a model file may contain.

    They are the public classes of ``pliant.kernels`` and ``pliant.methods``, blends, and the
    pipelines and encoders for tables.
    """
    others = ["BlendClassifier", "BlendRegressor", "TableEncoder", "TablePipeline"]
    names = {"pliant.tables.ColumnEncoder", *(f"pliant.comparison.{name}" for name in others)}
    exported = (getattr(module, name) for module in (kernels, methods) for name in module.__all__)
    names |= {f"{kind.__module__}.{kind.__name__}" for kind in exported if isinstance(kind, type)}
    return frozenset(names)


@cache
def loaders() -> dict[str, frozenset[str]]:
    """Return the types that each skops node kind may name.

    Unlisted kinds are errors: functions, methods, partials, operators, constructor calls, bytes,
    sparse matrices, and random states (NumPy does not check the position in their state table).
    """
    numpy_names = ["bool", "str_", "bytes_", "float16", "float32", "float64"]
    numpy_names += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    scalars = frozenset(f"numpy.{name}" for name in numpy_names)
    estimators = {
        f"{value.__module__}.{value.__qualname__}"
        for module in (import_module(f"sklearn.{name}") for name in SKLEARN_MODULES)
        for value in vars(module).values()
        if isinstance(value, type) and hasattr(value, "get_params")
        if value.__module__.startswith(module.__name__)
    }
    return {
        "DictNode": frozenset({"builtins.dict", "sklearn.utils._bunch.Bunch"}),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({"builtins.tuple"}),
        "JsonNode": frozenset({"builtins.str"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "TypeNode": frozenset({"builtins.str", "builtins.int", "builtins.float"}) | scalars,
        "NdArrayNode": frozenset({"numpy.ndarray"}) | scalars,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
        "ObjectNode": trusted_types()
        | estimators
        | {
            "sklearn.calibration._CalibratedClassifier",
            "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
            "sklearn.model_selection._split.KFold",
            "sklearn.model_selection._split.StratifiedKFold",
        },
    }


@contextmanager
def open_archive(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open the archive in `data`, after a check of its directory.

    Model files are uncompressed, so no member can expand beyond its bytes in the file, and the
    declared sizes are comparable with the file size.
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"expected at most {MAX_BYTES} bytes, got more")
    if data.startswith(b"\x80"):
        raise ModelFileError("this is a pickle, which is never loaded since it can run code")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            declared = 0
            for entry in archive.infolist():
                declared += entry.file_size
                if entry.compress_type or entry.file_size != entry.compress_size:
                    raise ModelFileError(f"member {quoted(entry.filename)} is compressed")
                if entry.filename == "schema.json" and entry.file_size > MAX_SCHEMA_BYTES:
                    raise ModelFileError(
                        f"expected at most {MAX_SCHEMA_BYTES} bytes of schema.json"
                    )
            if declared > len(data):
                raise ModelFileError(f"members declare {declared} bytes in a file of {len(data)}")
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ModelFileError(f"expected a complete zip archive: {printable(error)}") from None


def _check_array(archive: zipfile.ZipFile, file: object, type_name: str) -> None:
    """Raise ModelFileError unless a member holds exactly one plain array or scalar."""
    if not isinstance(file, str) or not file.endswith(".npy") or file not in archive.NameToInfo:
        raise ModelFileError(f"array {quoted(file)} is missing")
    with archive.open(file) as member:
        stream = io.BytesIO(member.read(1 << 16))  # NumPy rejects longer headers
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ModelFileError(f"array {quoted(file)} is in an unknown format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    kinds = [dtype[name].kind for name in dtype.names] if dtype.names else [dtype.kind]
    if not set(kinds) <= set("biufSU") or (shape and type_name != "numpy.ndarray"):
        raise ModelFileError(f"array {quoted(file)} has type {quoted(dtype)} and shape {shape}")
    rest = archive.getinfo(file).file_size - stream.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.itemsize == 0 or min(shape, default=0) < 0 or size != rest:
        raise ModelFileError(f"array {quoted(file)} of shape {shape} does not fit its {rest} bytes")


def check_nodes(root: Node, archive: zipfile.ZipFile) -> frozenset[str]:
    """Check all nodes of ``schema.json`` and return the names of their types.

    skops resolves a repeated id to the first node with this id. Here only a reference may repeat
    an id, and only of a complete node, so no object contains itself.
    """
    allowed, names = loaders(), set()
    sizes: dict[int, int] = {}

    def check(value: Any, where: str) -> int:
        """Check a value and return its number of nodes."""
        if isinstance(value, list):
            return sum(check(item, f"{where}[{i}]") for i, item in enumerate(value))
        if not isinstance(value, dict):
            return 0
        if "__loader__" not in value:
            prefix = f"{where}." if where else ""
            return sum(check(item, f"{prefix}{key}") for key, item in value.items())
        number, kind = value.get("__id__"), value["__loader__"]
        name = f"{value.get('__module__')}.{value.get('__class__')}"
        if kind == "CachedNode" and isinstance(number, int) and sizes.get(number):
            return sizes[number]
        if not isinstance(kind, str) or name not in allowed.get(kind, frozenset()):
            what = {"FunctionNode": "the function", "MethodNode": "a method of"}.get(str(kind), "a")
            raise ModelFileError(
                f"{quoted(where)} is {what} {quoted(name)}; a model file may contain only plain "
                "values, arrays, and the estimators and kernels on a closed list"
            )
        if not isinstance(number, int) or number in sizes:
            raise ModelFileError(f"{quoted(where)} has no id, or the id of another object")
        if kind == "NdArrayNode" and value.get("type") == "numpy":
            _check_array(archive, value.get("file"), name)
        names.add(name)
        sizes[number] = 0  # incomplete
        sizes[number] = size = 1 + sum(check(item, where) for item in value.values())
        if size > MAX_NODES:
            raise ModelFileError(f"expected at most {MAX_NODES} nested objects")
        return size

    check(root, "")
    return frozenset(names)


def drop_repeats(value: Any, seen: set[int]) -> Any:
    """Replace repeated descriptions of an object by references to the first one.

    The parts of a node are in the order in which skops reads them.
    """
    if isinstance(value, list):
        return [drop_repeats(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("__loader__"), str):
        return {name: drop_repeats(item, seen) for name, item in value.items()}
    number = value["__id__"]
    if number in seen:
        return {"__loader__": "CachedNode", "__module__": "", "__class__": "", "__id__": number}
    read = ("key_types", "content", "shape", "__reduce__")
    parts = {name: drop_repeats(value[name], seen) for name in read if name in value}
    seen.add(number)
    return {**{name: part for name, part in value.items() if name not in read}, **parts}
