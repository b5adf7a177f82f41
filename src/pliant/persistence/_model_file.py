"""Write model files, and read them after checking their sizes and types."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from pliant import kernels, methods, records
from pliant._version import __version__
from pliant.core.exceptions import ModelFileError
from pliant.core.files import open_regular, replacing
from pliant.core.text import printable, quoted
from pliant.persistence._codec import Decoder, encode, is_search, type_name
from pliant.persistence._objects import check_parts, iter_objects
from pliant.records import has_record

FORMAT = "pliant-model 1"

MAX_BYTES = 1 << 30
MAX_JSON_BYTES = 20_000_000
"""Maximum bytes in a model file and in its ``model.json``, which takes 8 to 30 times its size in
memory."""

MAX_PAIRS = 30_000
"""Maximum number of pairs of classes; each takes up to 16 parts and 620 bytes of JSON."""


NEVER_STORED = {
    *("pliant.kernels.Kernel", "pliant.methods.GeneralizedKernel", "pliant.SideInformation"),
    *("pliant.kernels.FunctionKernel", "pliant.QuadratureKernel", "pliant.SCGLogDetPath"),
}
"""Abstract classes, kernels with a function of the user, and classes that no model holds."""


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
        A fitted pliant estimator, a kernel, or a scikit-learn estimator that has a record: linear
        models, support vector machines, Gaussian processes, trees, forests, boosted trees, scalers,
        and pipelines, calibrations and target scalings of these. The file contains their arrays;
        they are loaded as classes of `pliant.records`, which predict and cannot be fitted again.
        For a search, such as GridSearchCV, the file contains the best estimator.
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
    from pliant.methods.svm.machine import SVMClassifier

    _dump(model)
    pairs = n_classes * (n_classes - 1) // 2
    if pairs > MAX_PAIRS and any(isinstance(part, SVMClassifier) for part in iter_objects(model)):
        raise ModelFileError(
            f"cannot save the model: expected at most {MAX_PAIRS} pairs of classes, got {pairs} "
            f"for {n_classes} classes"
        )


def _dump(model: object, metadata: dict[str, Any] | None = None) -> bytes:
    """Return the content of a model file, after a check that it can be loaded."""
    with _convert_errors("cannot save the model"):
        if is_search(model) and not hasattr(model, "best_estimator_"):
            kind = type(model).__name__
            raise ModelFileError(f"expected a fitted {kind} with refit=True: no best_estimator_")
        encoder = encode(model, trusted_types())
        root = {"format": FORMAT, "pliant_version": __version__, "metadata": metadata}
        try:
            text = json.dumps({**root, "kinds": encoder.kinds, "parts": encoder.parts})
        except (TypeError, ValueError, RecursionError) as error:
            raise ModelFileError(f"expected plain data as metadata: {printable(error)}") from None
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("model.json", text)
            archive.writestr("arrays", encoder.data)
        _unpack(packed.getvalue())
    return packed.getvalue()


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
    name = quoted(path, 200)
    try:
        with open_regular(path) as file:
            # `read` allocates all requested bytes, so limit the request to the file size
            data = file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"cannot read {name}: {getattr(error, 'strerror', error)}") from None
    with _convert_errors(f"cannot load {name}"):
        return _unpack(data)


def _unpack(data: bytes) -> LoadedModel:
    """Check the archive and the types in a model file, then build and check its objects."""
    root, arrays = _read_archive(data)
    trusted = trusted_types()
    model = Decoder(root["kinds"], arrays, trusted).decode(root["parts"])
    if type_name(type(model)) not in trusted:
        raise ModelFileError("expected an estimator or a kernel as the model")
    check_parts(model)
    metadata = root["metadata"]
    if not isinstance(metadata, dict | None):
        raise ModelFileError(f"expected a dict as metadata, got {quoted(metadata)}")
    return LoadedModel(model, metadata, printable(root["pliant_version"]))


def _read_archive(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the JSON data and the bytes of the arrays of a model file of the current format.

    Model files are uncompressed, so no member can expand beyond its bytes in the file.
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"expected at most {MAX_BYTES} bytes, got more")
    if data.startswith(b"\x80"):
        raise ModelFileError("this is a pickle, which is never loaded since it can run code")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(data):
                    raise ModelFileError(
                        f"member {quoted(entry.filename)} is compressed or too large"
                    )
            if archive.namelist() != ["model.json", "arrays"]:
                raise ModelFileError("expected a model saved by this version of pliant")
            if archive.getinfo("model.json").file_size > MAX_JSON_BYTES:
                raise ModelFileError(f"expected at most {MAX_JSON_BYTES} bytes of model.json")
            root, arrays = json.loads(archive.read("model.json")), archive.read("arrays")
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ModelFileError(f"expected a complete zip archive: {printable(error)}") from None
    if not isinstance(root, dict) or root.get("format") != FORMAT:
        raise ModelFileError("expected a model saved by this version of pliant")
    return root, arrays


@contextmanager
def _convert_errors(prefix: str) -> Iterator[None]:
    """Convert errors to one-line ModelFileErrors that start with `prefix`."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{prefix}: {printable(error, 400)}") from None
    except Exception as error:  # damaged files raise many kinds of errors
        raise ModelFileError(f"{prefix}: {type(error).__name__}: {printable(error, 160)}") from None


def holds(estimator: Any) -> bool:
    """Return True if a model file may contain an estimator, as far as its parameters show."""
    parts = [part for part in iter_objects(estimator) if hasattr(type(part), "get_params")]
    return all(type_name(type(part)) in trusted_types() or has_record(part) for part in parts)


@cache
def trusted_types() -> frozenset[str]:
    """Return the full names of pliant's types that a model file may contain.

    They are the public classes of ``pliant.kernels``, ``pliant.methods`` and ``pliant.records``,
    blends, and the features of tables, except for `NEVER_STORED`.
    """
    others = ["BlendClassifier", "BlendRegressor"]
    names = {"pliant.TableFeatures", "pliant.tables.ColumnEncoder", "pliant.tables.TableSchema"}
    names |= {f"pliant.tables.{name}" for name in others}
    names |= {f"{module}.{name}" for name, module in methods.CLASSES.items()}
    exported = (getattr(module, name) for module in (kernels, records) for name in module.__all__)
    names |= {type_name(kind) for kind in exported if isinstance(kind, type)}
    return frozenset(names - NEVER_STORED)
