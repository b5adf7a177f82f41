"""Check a model file before anything is built from it: its sizes, arrays and types."""

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
"""The description of an object in ``schema.json``, in the format of skops."""

MAX_BYTES = 1 << 30
"""Maximum size of a model file; all of it is held in memory."""

MAX_SCHEMA_BYTES = 20_000_000
"""Maximum size of ``schema.json``. Its objects take 8 times its bytes as a rule, 30 at most."""

MAX_NODES = 1_000_000
"""Maximum number of nodes, where a shared one counts each time."""

MAX_HEADER_BYTES = 1 << 16
"""Maximum size of the header of an array."""

OWN_TYPES = (
    *("pliant.comparison.BlendClassifier", "pliant.comparison.BlendRegressor"),
    *("pliant.comparison.TableEncoder", "pliant.comparison.TablePipeline"),
    "pliant.tables.ColumnEncoder",
)
"""Types of pliant beside its estimators and kernels: blends, and the first steps for tables."""

SKLEARN_MODULES = (
    *("calibration", "compose", "decomposition._pca", "decomposition._truncated_svd"),
    *("discriminant_analysis", "dummy", "ensemble._forest", "ensemble._stacking"),
    *("ensemble._hist_gradient_boosting.binning", "ensemble._voting", "frozen"),
    *("ensemble._hist_gradient_boosting.gradient_boosting",),
    *("gaussian_process", "gaussian_process._gpc", "gaussian_process.kernels", "impute"),
    *("isotonic", "kernel_approximation", "kernel_ridge", "linear_model", "multiclass"),
    *("naive_bayes", "pipeline", "preprocessing", "svm", "tree"),
)
"""Modules of scikit-learn whose estimators a file may hold.

Their methods are Python and NumPy, which check every index. `pliant.persistence._checks` checks
what their compiled code and sparse matrices rely on.
"""

SKLEARN_TYPES = (
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
)

SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        *("bool", "str_", "bytes_", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)


@cache
def trusted_types() -> frozenset[str]:
    """Return the full names of pliant's own types that a model file may hold.

    They are the classes that ``pliant.kernels`` and ``pliant.methods`` export, and `OWN_TYPES`.
    """
    exported = (getattr(module, name) for module in (kernels, methods) for name in module.__all__)
    names = (f"{t.__module__}.{t.__name__}" for t in exported if isinstance(t, type))
    return frozenset((*OWN_TYPES, *names))


@cache
def loaders() -> dict[str, frozenset[str]]:
    """Return the kinds of nodes (skops' name for them) and the types that each may name.

    Absent kinds are refused: functions, methods, partial calls, operators, calls of constructors,
    bytes, sparse matrices and random states, whose position in their table NumPy does not check.
    """
    modules = [import_module(f"sklearn.{name}") for name in SKLEARN_MODULES]
    estimators = {
        f"{value.__module__}.{value.__qualname__}"
        for module in modules
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
        "TypeNode": frozenset({"builtins.str", "builtins.int", "builtins.float"}) | SCALARS,
        "NdArrayNode": frozenset({"numpy.ndarray"}) | SCALARS,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
        "ObjectNode": trusted_types().union(SKLEARN_TYPES, estimators),
    }


@contextmanager
def opened(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open the archive in `data`, if `save_model` could have written its directory.

    A model file is stored without compression. So a member cannot unpack to more than it takes
    in the file, and the declared sizes can be compared with those of the file.
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"expected at most {MAX_BYTES} bytes, got more")
    if data.startswith(b"\x80"):
        raise ModelFileError("this is a pickle, which is never loaded since it can run any code")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_directory(archive.infolist(), len(data))
            yield archive
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ModelFileError(f"expected a whole zip archive: {printable(error)}") from None


def _check_directory(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Raise ModelFileError if this cannot be the directory of a model file of `size` bytes."""
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ModelFileError(f"member {quoted(entry.filename)} is compressed")
        if entry.filename == "schema.json" and entry.file_size > MAX_SCHEMA_BYTES:
            raise ModelFileError(f"expected at most {MAX_SCHEMA_BYTES} bytes of schema.json")
    declared = sum(entry.file_size for entry in entries)
    if declared > size:
        raise ModelFileError(f"{declared} bytes are declared in a file of {size}")


def _check_array(archive: zipfile.ZipFile, file: object, type_name: str) -> None:
    """Raise ModelFileError if a member is not a plain array, or scalar, that fills it exactly."""
    if not isinstance(file, str) or not file.endswith(".npy") or file not in archive.NameToInfo:
        raise ModelFileError(f"array {quoted(file)} is missing")
    with archive.open(file) as member:
        stream = io.BytesIO(member.read(MAX_HEADER_BYTES))
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

    skops takes a node whose number was used before for the first one. Here only a reference may
    have such a number, and only that of a node that is complete: no object contains itself.
    """
    allowed, names = loaders(), set()
    sizes: dict[int, int] = {}

    def check(value: Any, where: str) -> int:
        """Check a value and return the number of nodes in it."""
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
                f"{quoted(where)} is {what} {quoted(name)}; a model file holds only plain values, "
                "arrays, and estimators and kernels on a closed list"
            )
        if not isinstance(number, int) or number in sizes:
            raise ModelFileError(f"{quoted(where)} has no number or that of another object")
        if kind == "NdArrayNode" and value.get("type") == "numpy":
            _check_array(archive, value.get("file"), name)
        names.add(name)
        sizes[number] = 0  # not complete yet
        sizes[number] = size = 1 + sum(check(item, where) for item in value.values())
        if size > MAX_NODES:
            raise ModelFileError(f"expected at most {MAX_NODES} nested objects")
        return size

    check(root, "")
    return frozenset(names)


def without_repeats(value: Any, seen: set[int]) -> Any:
    """Return a description in which each object stands once; its repeats refer to the first.

    The parts of a node stand in the order in which skops reads them.
    """
    if isinstance(value, list):
        return [without_repeats(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("__loader__"), str):
        return {name: without_repeats(item, seen) for name, item in value.items()}
    number = value["__id__"]
    if number in seen:
        return {"__loader__": "CachedNode", "__module__": "", "__class__": "", "__id__": number}
    read = ("key_types", "content", "shape", "__reduce__")
    parts = {name: without_repeats(value[name], seen) for name in read if name in value}
    seen.add(number)
    return {**{name: part for name, part in value.items() if name not in read}, **parts}
