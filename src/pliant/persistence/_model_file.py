"""Write model files, and read them after checking their sizes, arrays and types."""

from __future__ import annotations

import importlib
import io
import json
import math
import os
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

from pliant import kernels, methods
from pliant._version import __version__
from pliant.core.exceptions import ModelFileError
from pliant.core.files import open_regular, replacing
from pliant.core.text import printable, quoted
from pliant.methods.svm.estimators import SVMClassifier
from pliant.persistence._checks import check_parts, copy_for_file
from pliant.persistence._stacks import (
    MAX_VALUES,
    Stack,
    Stacker,
    Unstacker,
    dtype_kinds,
    iter_objects,
)

FORMAT_VERSION = 3

MAX_BYTES = 1 << 30
MAX_SCHEMA_BYTES = 20_000_000
MAX_NODES = 1_000_000
"""Maximum bytes in a model file and in its ``schema.json``, which takes 8 to 30 times its size in
memory; maximum number of nodes, counting a shared node at each use."""

MAX_PAIRS = MAX_VALUES // 50
"""Maximum number of pairs of classes; an estimator of a pair has up to 45 values."""

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

Their methods use Python and NumPy, which check every index. `pliant.persistence._checks` covers
the attributes that compiled code and sparse matrices rely on.
"""


@dataclass(frozen=True)
class LoadedModel:
    """The contents of a model file.

    Parameters
    ----------
    model : object
        The estimator, pipeline or kernel.
    metadata : dict or None
        JSON data saved with the model.
    pliant_version : str
        The pliant version that wrote the file.
    """

    model: Any
    metadata: dict[str, Any] | None
    pliant_version: str


def save(
    model: object, path: str | os.PathLike[str], *, metadata: dict[str, Any] | None = None
) -> None:
    """Write a model to a file that `load` accepts.

    Parameters
    ----------
    model : object
        A fitted pliant estimator, a kernel, or one of scikit-learn's linear models, support vector
        machines, Gaussian processes, forests and histogram-based boosted trees. A scikit-learn
        meta-estimator of these is also accepted: a pipeline, ColumnTransformer,
        TransformedTargetRegressor, CalibratedClassifierCV, or a voting or stacking estimator. For
        a search, such as GridSearchCV, the file contains the best estimator.
    path : path-like
        The file to create or replace.
    metadata : dict, optional
        JSON data to store with the model, for `load_file`.

    Raises
    ------
    ModelFileError
        If the file cannot be written, or cannot contain a part of the model, such as a callable
        kernel; the message names the part. No partial file is left behind.
    """
    data = _dump(model, metadata)
    with replacing(path, ModelFileError) as draft:
        draft.write_bytes(data)


def check_saving(model: object, n_classes: int = 2) -> None:
    """Raise ModelFileError if a file cannot contain a model after its fit to `n_classes`."""
    _dump(model)
    pairs = n_classes * (n_classes - 1) // 2
    if pairs > MAX_PAIRS and any(isinstance(part, SVMClassifier) for part in iter_objects(model)):
        raise ModelFileError(
            f"cannot save the model: expected at most {MAX_PAIRS} pairs of classes, got {pairs} "
            f"for {n_classes} classes"
        )


def _dump(model: object, metadata: dict[str, Any] | None = None) -> bytes:
    """Return the content of a model file, after a check that it can be loaded."""
    skops = _import_skops()
    state: dict[str, Any] = {"format": "pliant-model", "format_version": FORMAT_VERSION}
    state["pliant_version"] = __version__
    with _convert_errors("cannot save the model"):
        copied = copy_for_file(model)
        state["model"] = Stacker(copied).replace(copied)
        try:
            state["metadata"] = json.dumps(metadata)  # one node in the file
        except (TypeError, ValueError, RecursionError) as error:
            raise ModelFileError(f"expected plain data as metadata: {printable(error)}") from None
        data = _pack(skops.dumps(state))
        _unpack(data, skops)
    return data


def load(path: str | os.PathLike[str]) -> Any:
    """Read the model from a file written by `save`.

    Parameters
    ----------
    path : path-like
        The file, which may be untrusted.

    Returns
    -------
    estimator or kernel

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged, is not a model file, has another format version, or
        names a type that is not allowed. No object is built in these cases.
    """
    return load_file(path).model


def load_file(path: str | os.PathLike[str]) -> LoadedModel:
    """Read a model with its metadata and the version of pliant; see `load`."""
    skops, name = _import_skops(), quoted(path, 200)
    try:
        with open_regular(path) as file:
            # `read` allocates all requested bytes, so limit the request to the file size
            data = file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot read {name}: {getattr(error, 'strerror', error)}") from None
    with _convert_errors(f"cannot load {name}"):
        return _unpack(data, skops)


def _pack(data: bytes) -> bytes:
    """Rewrite skops data with one description per object."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                content = json.dumps(_drop_repeats(json.loads(content), set())).encode()
            new.writestr(name, content)
    return packed.getvalue()


def _unpack(data: bytes, skops: Any) -> LoadedModel:
    """Check the archive, format and nodes of a model file, then build and check its objects."""
    with _open_archive(data) as archive:
        root = json.loads(archive.read("schema.json"))
        _check_format(root)
        names = _check_nodes(root, archive)
    kind = root["content"]["model"]
    if kind["__loader__"] != "ObjectNode" or kind["__class__"] == Stack.__name__:
        raise ModelFileError("expected an estimator or a kernel as the model")
    del root, kind
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state: dict[str, Any] = skops.loads(data, trusted=sorted(names))
        model = Unstacker().replace(state["model"])
    skew = [w.message for w in caught if isinstance(w.message, InconsistentVersionWarning)]
    if skew:
        theirs, ours = skew[0].original_sklearn_version, skew[0].current_sklearn_version
        message = f"the model was saved with scikit-learn {printable(theirs)}, but this is {ours}"
        warnings.warn(f"{message}: its predictions may differ; refit it to be sure", stacklevel=2)
    check_parts(model)
    metadata = state["metadata"]
    metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
    if not isinstance(metadata, dict | None):
        raise ModelFileError(f"expected a dict as metadata, got {quoted(metadata)}")
    return LoadedModel(model, metadata, printable(state["pliant_version"]))


def _check_format(root: Any) -> None:
    """Raise ModelFileError unless the data is a pliant model of the current format version."""
    name = version = None
    with suppress(TypeError, KeyError, ValueError):
        keys = ("format", "format_version")
        name, version = (json.loads(root["content"][key]["content"]) for key in keys)
    if name != "pliant-model" or type(version) is not int:
        raise ModelFileError("expected a model saved by pliant")
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"expected format {FORMAT_VERSION} in this version of pliant, got "
            f"{printable(version, 20)}: upgrade pliant, or save the model again"
        )


@contextmanager
def _convert_errors(prefix: str) -> Iterator[None]:
    """Convert errors to one-line ModelFileErrors that start with `prefix`."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{prefix}: {error}") from None
    except Exception as error:  # skops and NumPy raise many kinds of errors on damaged files
        raise ModelFileError(f"{prefix}: {type(error).__name__}: {printable(error, 160)}") from None


def _import_skops() -> Any:
    """Import skops; if it is missing, raise an ImportError that names the extra to install.

    skops imports all modules of scikit-learn; some of them import CuPy, Dask, PyTorch or pytest,
    which is slow. No model file needs these packages, so they are blocked during the import.
    """
    adapters = [f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")]
    blocked = [name for name in (*adapters, "pytest") if name not in sys.modules]
    absent: dict[str, Any] = dict.fromkeys(blocked)
    sys.modules.update(absent)
    try:
        return importlib.import_module("skops.io")
    except ImportError:
        raise ImportError("model files need skops: pip install 'pliant[cli]'") from None
    finally:
        for name in absent:
            del sys.modules[name]


def holds(estimator: Any) -> bool:
    """Return True if all parts of an estimator have types that a model file may contain."""
    types = {type(part) for part in iter_objects(estimator) if hasattr(type(part), "get_params")}
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in types} <= loaders()["ObjectNode"]


@cache
def trusted_types() -> frozenset[str]:
    """Return the full names of pliant's types that a model file may contain.

    They are the public classes of ``pliant.kernels`` and ``pliant.methods``, blends, and the
    pipelines and features of tables.
    """
    others = ["BlendClassifier", "BlendRegressor", "TablePipeline"]
    names = {"pliant.TableFeatures", "pliant.tables.ColumnEncoder", "pliant.tables.TableSchema"}
    names |= {f"pliant.comparison.{name}" for name in others}
    exported = (getattr(module, name) for module in (kernels, methods) for name in module.__all__)
    names |= {f"{kind.__module__}.{kind.__name__}" for kind in exported if isinstance(kind, type)}
    return frozenset(names)


@cache
def loaders() -> dict[str, frozenset[str]]:
    """Return the types that each skops node kind may name.

    Unlisted kinds are errors: functions, methods, partials, operators, constructor calls, bytes,
    sparse matrices, and random states (NumPy does not check their stored position).
    """
    numpy_names = ["bool", "str_", "bytes_", "float16", "float32", "float64"]
    numpy_names += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    scalars = frozenset(f"numpy.{name}" for name in numpy_names)
    others = {
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
    }
    estimators = {
        f"{value.__module__}.{value.__qualname__}"
        for module in (importlib.import_module(f"sklearn.{name}") for name in SKLEARN_MODULES)
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
        "ObjectNode": trusted_types() | estimators | others | {f"{Stack.__module__}.Stack"},
    }


@contextmanager
def _open_archive(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open the archive in `data` after checking its directory.

    Model files are uncompressed, so no member can expand beyond its bytes in the file, and the
    declared sizes can be compared with the file size.
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"expected at most {MAX_BYTES} bytes, got more")
    if data.startswith(b"\x80"):
        raise ModelFileError("this is a pickle, which is never loaded since it can run code")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                name, size = entry.filename, entry.file_size
                if entry.compress_type != zipfile.ZIP_STORED or size != entry.compress_size:
                    raise ModelFileError(f"member {quoted(name)} is compressed")
                if name == "schema.json" and size > MAX_SCHEMA_BYTES:
                    raise ModelFileError(f"expected at most {MAX_SCHEMA_BYTES} bytes of {name}")
            declared = sum(entry.file_size for entry in archive.infolist())
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
    if not dtype_kinds(dtype) <= set("biufSU") or (shape and type_name != "numpy.ndarray"):
        raise ModelFileError(f"array {quoted(file)} has type {quoted(dtype)} and shape {shape}")
    rest = archive.getinfo(file).file_size - stream.tell()
    size = math.prod(shape) * dtype.itemsize
    if dtype.itemsize == 0 or min(shape, default=0) < 0 or size != rest:
        raise ModelFileError(f"array {quoted(file)} of shape {shape} does not fit its {rest} bytes")


def _check_nodes(root: Any, archive: zipfile.ZipFile) -> frozenset[str]:
    """Check all nodes of ``schema.json`` and return the names of their types.

    skops resolves a repeated id to the first node with this id. Here, only a reference may repeat
    an id, and the original node must be complete, so no object contains itself.
    """
    allowed, names, sizes = loaders(), set[str](), dict[int, int]()

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


def _drop_repeats(value: Any, seen: set[int]) -> Any:
    """Replace repeated descriptions of an object with references to the first.

    The parts of a node are visited in the order in which skops reads them.
    """
    if isinstance(value, list):
        return [_drop_repeats(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("__loader__"), str):
        return {name: _drop_repeats(item, seen) for name, item in value.items()}
    number = value["__id__"]
    if number in seen:
        return {"__loader__": "CachedNode", "__module__": "", "__class__": "", "__id__": number}
    read = ("key_types", "content", "shape", "__reduce__")
    parts = {name: _drop_repeats(value[name], seen) for name in read if name in value}
    seen.add(number)
    return {**{name: part for name, part in value.items() if name not in read}, **parts}
