"""Write a model file, and read it back once it has passed every check."""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sklearn.exceptions import InconsistentVersionWarning

from pliant._version import __version__
from pliant.core.exceptions import ModelFileError
from pliant.core.files import replacing
from pliant.core.text import printable, quoted
from pliant.persistence._archive import MAX_BYTES, check_density, opened, schema_of
from pliant.persistence._fitted_parts import fitted_parts
from pliant.persistence._nodes import check_nodes
from pliant.persistence._objects import check_attributes, objects_in, templates_in
from pliant.persistence._probe import check_predictions
from pliant.persistence._sklearn import CHECKS
from pliant.persistence._types import SKLEARN_TYPES, trusted_types

T = TypeVar("T")

FORMAT = "pliant-model"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class LoadedModel:
    """What a model file held.

    Parameters
    ----------
    model : object
        The estimator, pipeline or kernel.
    schema : dict or None
        What its table means, as plain data.
    metadata : dict or None
        Whatever plain data was saved with it.
    pliant_version : str
        The version that wrote the file.
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
    """Write a model to a file that `load_model` reads, and nothing that it would refuse.

    Parameters
    ----------
    model : object
        A fitted estimator or a kernel of pliant, or one of scikit-learn's linear and ridge models,
        support vector machines, Gaussian processes, forests and boosted trees; or one of
        scikit-learn's that holds such: a pipeline, ColumnTransformer, TransformedTargetRegressor or
        CalibratedClassifierCV. Of a search, such as GridSearchCV, the file holds the best
        estimator. Forests and boosted trees are kept as plain arrays, see `SavedTreesClassifier`.
    path : path-like
        The file to make or to replace.
    schema, metadata : dict, optional
        Plain data, as JSON can hold it, that goes with the model.

    Raises
    ------
    ModelFileError
        If the model holds what a file cannot hold, such as a callable kernel (the message names
        the place), or the file cannot be written; then nothing is left behind.
    """
    skops = _skops()
    state = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "pliant_version": __version__,
        "model": _told(lambda: fitted_parts(model), "cannot save the model"),
        "schema": _as_json(schema, "schema"),
        "metadata": _as_json(metadata, "metadata"),
    }
    data = _told(lambda: skops.dumps(state), "cannot save the model")
    _told(lambda: _unpacked(data, skops), "cannot save the model")
    with replacing(path, ModelFileError) as draft:
        draft.write_bytes(data)


def load_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Read a model file that `save_model` wrote.

    Parameters
    ----------
    path : path-like
        The file; it may come from a stranger.

    Returns
    -------
    LoadedModel

    Raises
    ------
    ModelFileError
        If the file cannot be read, is damaged or no model file, was written in a newer format,
        or names a type that is not on the closed list. Nothing is built from it then.
    """
    skops, name = _skops(), quoted(path, 200)
    try:
        with open(path, "rb") as file:
            # as much as there is: `read` takes the memory for what is asked of it
            data = file.read(min(os.fstat(file.fileno()).st_size, MAX_BYTES) + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot read {name}: {reason}") from None
    return _told(lambda: _unpacked(data, skops), f"cannot load {name}")


def _unpacked(data: bytes, skops: Any) -> LoadedModel:
    """Check a model file from the outside to the inside, then build what it holds."""
    _check_outside(data)
    state = _built(data, skops)
    _check_parts(state["model"])
    check_predictions(state["model"])
    schema, metadata = (_from_json(state[name], name) for name in ("schema", "metadata"))
    return LoadedModel(state["model"], schema, metadata, printable(state["pliant_version"]))


def _check_outside(data: bytes) -> None:
    """Raise ModelFileError if a file is not one that may be built; what was read is dropped."""
    with opened(data) as archive:
        root = json.loads(schema_of(archive))
        _check_format(root)
        check_nodes(root, archive)
    if root["content"]["model"]["__loader__"] != "ObjectNode":
        raise ModelFileError("expected an estimator or a kernel as the model")


def _built(data: bytes, skops: Any) -> dict[str, Any]:
    """Build what a checked file holds; warn once if another version of scikit-learn wrote it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        known = trusted_types() | SKLEARN_TYPES | {"numpy.dtype"}
        state: dict[str, Any] = skops.loads(data, trusted=sorted(known))
    skew = [w.message for w in caught if isinstance(w.message, InconsistentVersionWarning)]
    if skew:
        theirs, ours = skew[0].original_sklearn_version, skew[0].current_sklearn_version
        warnings.warn(
            f"the model was saved with scikit-learn {printable(theirs)} and this is {ours}: "
            "its predictions may differ; learn it again to be sure",
            stacklevel=2,
        )
    return state


def _check_format(root: Any) -> None:
    """Raise ModelFileError if this is no model of pliant, or one in a newer format."""
    try:
        facts = [json.loads(root["content"][f]["content"]) for f in ("format", "format_version")]
    except (TypeError, KeyError, ValueError):
        facts = []
    match facts:
        case [str(name), int(version)] if name == FORMAT and version >= 1:
            if version > FORMAT_VERSION:
                raise ModelFileError(
                    f"it has format {printable(version, 20)}, this version of pliant reads up to "
                    f"{FORMAT_VERSION}: upgrade pliant"
                )
        case _:
            raise ModelFileError("it holds no model that pliant saved")


def _check_parts(model: object) -> None:
    """Have each object that can check its own attributes do so, inner ones first."""
    objects = objects_in(model)
    for value in objects:
        check_attributes(value)
    templates = templates_in(objects)
    for value in objects:
        check = CHECKS.get(type(value)) or getattr(type(value), "_check_loaded", None)
        if check is not None and id(value) not in templates:
            try:
                check(value)
            except AttributeError as error:
                raise ValueError(f"the file lacks an attribute: {error}") from None


def _as_json(value: dict[str, Any] | None, name: str) -> str:
    """Return plain data as JSON text; one string in the file instead of a node for each item."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"expected plain data as {name}: {printable(error)}") from None


def _from_json(text: object, name: str) -> dict[str, Any] | None:
    """Return plain data from JSON text."""
    if isinstance(text, str):
        check_density(text.encode("utf-8", "replace"))
    value = json.loads(text) if isinstance(text, str) else text
    if value is not None and not isinstance(value, dict):
        raise ModelFileError(f"expected a dict as {name}, got {quoted(value)}")
    return value


def _told(action: Callable[[], T], prefix: str) -> T:
    """Return the result of an action, or raise ModelFileError with one line of text."""
    try:
        return action()
    except ModelFileError as error:
        raise ModelFileError(f"{prefix}: {error}") from None
    except Exception as error:  # skops and NumPy fail in many ways on a forged or damaged file
        kind = type(error).__name__
        raise ModelFileError(f"{prefix}: {kind}: {printable(error, 160)}") from None


def _skops() -> Any:
    """Import skops, naming the extra that brings it if it is not there."""
    try:
        return importlib.import_module("skops.io")
    except ImportError:
        hint = "pip install 'pliant[cli]'"
        raise ImportError(f"model files need skops: {hint}") from None
