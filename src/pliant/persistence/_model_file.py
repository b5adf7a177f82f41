"""Write model files, and check and read them."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

from pliant._version import __version__
from pliant.core.exceptions import ModelFileError
from pliant.core.files import replacing
from pliant.core.text import printable, quoted
from pliant.persistence._checks import check_parts, copy_for_file, iter_objects
from pliant.persistence._contents import (
    MAX_BYTES,
    check_nodes,
    drop_repeats,
    loaders,
    open_archive,
    trusted_types,
)

FORMAT_VERSION = 2


@dataclass(frozen=True)
class LoadedModel:
    """The contents of a model file.

    Parameters
    ----------
    model : object
        The estimator, pipeline or kernel.
    schema : dict or None
        The schema of the model's table, as JSON data.
    metadata : dict or None
        Other JSON data.
    pliant_version : str
        The pliant version that wrote the file.
    """

    model: Any
    schema: dict[str, Any] | None
    metadata: dict[str, Any] | None
    pliant_version: str


def save_model(
    model: object,
    path: str | os.PathLike[str],
    *,
    schema: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a model to a file that `load_model` accepts.

    Parameters
    ----------
    model : object
        A fitted pliant estimator, a kernel, or one of scikit-learn's linear models, support vector
        machines, Gaussian processes, forests and histogram-based boosted trees. Also one of
        scikit-learn's meta-estimators of these: a pipeline, ColumnTransformer,
        TransformedTargetRegressor, CalibratedClassifierCV, or a voting or stacking estimator. For
        a search, such as GridSearchCV, the file contains the best estimator.
    path : path-like
        The file to create or replace.
    schema, metadata : dict, optional
        JSON data to store with the model.

    Raises
    ------
    ModelFileError
        If the file cannot be written, or cannot contain a part of the model, such as a callable
        kernel; the message names the part. No partial file is left behind.
    """
    skops = _import_skops()
    state: dict[str, Any] = {
        "format": "pliant-model",
        "format_version": FORMAT_VERSION,
        "pliant_version": __version__,
    }
    with _convert_errors("cannot save the model"):
        state["model"] = copy_for_file(model)
        for name, value in (("schema", schema), ("metadata", metadata)):
            try:
                state[name] = json.dumps(value)  # one node in the file
            except (TypeError, ValueError, RecursionError) as error:
                raise ModelFileError(f"expected plain data as {name}: {printable(error)}") from None
        data = _pack(skops.dumps(state))
        _unpack(data, skops)
    with replacing(path, ModelFileError) as draft:
        draft.write_bytes(data)


def load_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Read a model file written by `save_model`.

    Parameters
    ----------
    path : path-like
        The file, which may be untrusted.

    Returns
    -------
    LoadedModel

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged, is not a model file, has another format version, or
        names a type that is not on the closed list. No object is built in these cases.
    """
    skops, name = _import_skops(), quoted(path, 200)
    try:
        with open(path, "rb") as file:
            # `read` allocates all requested bytes, so request the file size at most
            data = file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot read {name}: {reason}") from None
    with _convert_errors(f"cannot load {name}"):
        return _unpack(data, skops)


def _pack(data: bytes) -> bytes:
    """Rewrite skops data with one description per object."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                content = json.dumps(drop_repeats(json.loads(content), set())).encode()
            new.writestr(name, content)
    return packed.getvalue()


def _unpack(data: bytes, skops: Any) -> LoadedModel:
    """Check the archive, format and nodes of a model file, then build and check its objects."""
    with open_archive(data) as archive:
        root = json.loads(archive.read("schema.json"))
        _check_format(root)
        names = check_nodes(root, archive)
    if root["content"]["model"]["__loader__"] != "ObjectNode":
        raise ModelFileError("expected an estimator or a kernel as the model")
    del root
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state: dict[str, Any] = skops.loads(data, trusted=sorted(names))
    for version in (w.message for w in caught if isinstance(w.message, InconsistentVersionWarning)):
        warnings.warn(
            f"the model was saved with scikit-learn {printable(version.original_sklearn_version)}, "
            f"but this is {version.current_sklearn_version}: its predictions may differ; refit it "
            "to be sure",
            stacklevel=2,
        )
        break
    check_parts(state["model"])
    texts = {name: state[name] for name in ("schema", "metadata")}
    values = {name: json.loads(x) if isinstance(x, str) else x for name, x in texts.items()}
    for name, value in values.items():
        if value is not None and not isinstance(value, dict):
            raise ModelFileError(f"expected a dict as {name}, got {quoted(value)}")
    return LoadedModel(state["model"], **values, pliant_version=printable(state["pliant_version"]))


def _check_format(root: Any) -> None:
    """Raise ModelFileError unless the data is a pliant model of the current format version."""
    try:
        facts = [json.loads(root["content"][f]["content"]) for f in ("format", "format_version")]
    except (TypeError, KeyError, ValueError):
        facts = []
    if facts[:1] != ["pliant-model"] or type(facts[1]) is not int:
        raise ModelFileError("expected a model saved by pliant")
    if facts[1] != FORMAT_VERSION:
        raise ModelFileError(
            f"expected format {FORMAT_VERSION} in this version of pliant, got "
            f"{printable(facts[1], 20)}: upgrade pliant, or save the model again"
        )


@contextmanager
def _convert_errors(prefix: str) -> Iterator[None]:
    """Convert errors to one-line ModelFileErrors that start with `prefix`."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{prefix}: {error}") from None
    except Exception as error:  # skops and NumPy raise many kinds of errors on damaged files
        kind = type(error).__name__
        raise ModelFileError(f"{prefix}: {kind}: {printable(error, 160)}") from None


def _import_skops() -> Any:
    """Import skops; if it is missing, raise an ImportError that names the extra to install.

    skops imports all modules of scikit-learn, including adapters that slowly import PyTorch, Dask
    and pytest. No model file needs these packages, so their imports are blocked meanwhile.
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
    known = loaders()["ObjectNode"]
    types = {type(part) for part in iter_objects(estimator) if hasattr(type(part), "get_params")}
    return all(f"{kind.__module__}.{kind.__qualname__}" in known for kind in types)
