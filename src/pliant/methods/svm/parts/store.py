"""Results of parts in a folder, so that an interrupted run continues where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pliant.core.progress import Status
from pliant.core.text import quoted
from pliant.core.typing import Array
from pliant.core.validation import stack_level
from pliant.methods.svm.parts.divide import Partition
from pliant.methods.svm.parts.folder import open_folder
from pliant.methods.svm.parts.npz import Damaged, Layout, read_arrays, write_arrays

STATUS_LENGTH = 32

STATUSES = {status.name for status in Status} - {Status.STOPPED.name}
"""What a stored result may say of its end; one that was stopped is not stored."""

SEAL = "seal"
"""The array with a hash of the run, the file's name and the other arrays."""

SEAL_LENGTH = 64

ROUNDING = 1e-6
"""How far rounding may take a coefficient beyond its bound, relative to it."""


class PartResult(NamedTuple):
    """The solution of one part's problem.

    Attributes
    ----------
    beta : array of shape (m,)
        Coefficients of the part's m rows, in the order of the rows.
    value : float
        The part's objective at `beta`.
    gap : float
        A bound on the distance of `value` from the part's optimum, in units of the objective;
        nan where there is no certificate.
    n_iter : int
        Iterations done.
    status : str
        Why the solver stopped, the name of a `pliant.core.progress.Status`.
    seconds : float
        Processor time of the thread that ran the part, set by `run_parts`. Other threads of a
        BLAS are not counted.
    intercept : float
        The b of the part's decision function; 0 for problems without one.
    """

    beta: Array
    value: float
    gap: float
    n_iter: int
    status: str
    seconds: float = 0.0
    intercept: float = 0.0


class Store:
    """A folder that keeps the results of one run.

    The folder has a manifest, a JSON file of everything that the run depends on, and an npz file
    for each result. Files are written atomically, so that a run may be killed at any time. Each has
    a hash of the run, its own name and its content: a file that was changed, renamed, or comes from
    another folder counts as missing. Nothing is ever deleted, nothing is unpickled, and links are
    not followed.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist; otherwise empty, or of a run with the same fingerprint. Hidden
        files do not count.
    fingerprint : mapping of str to JSON values
        Everything that the results depend on, from `fingerprint`.
    limit : float, optional
        The largest coefficient, in absolute value, that a result can have.

    Raises
    ------
    ValueError
        If the folder belongs to a run with another fingerprint, with the first difference, or has
        other files.
    OSError
        If the folder cannot be made or written to.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        fingerprint: Mapping[str, Any],
        limit: float = np.inf,
    ) -> None:
        self.folder = Path(folder)
        self._run = json.dumps(open_folder(self.folder, fingerprint), sort_keys=True)
        self._limit = limit

    def save(self, stage: str, part: int, result: PartResult) -> None:
        """Store the result of a part; `part` counts from 0."""
        if len(result.status) > STATUS_LENGTH:
            raise ValueError(
                f"expected a status of at most {STATUS_LENGTH} letters, got {result.status!r}"
            )
        types = {name: types for name, (types, _) in _layout(0).items()}
        arrays = {name: np.asarray(value, types[name]) for name, value in result._asdict().items()}
        self._write(self._file(stage, part), arrays)

    def load(self, stage: str, part: int, size: int) -> PartResult | None:
        """Return the result of a part of `size` rows, or None.

        A file without such a result counts as missing, with a warning.
        """
        arrays = self._read(self._file(stage, part), _layout(size))
        if arrays is None:
            return None
        return PartResult(
            arrays["beta"],
            float(arrays["value"]),
            float(arrays["gap"]),
            int(arrays["n_iter"]),
            str(arrays["status"]),
            float(arrays["seconds"]),
            float(arrays["intercept"]),
        )

    def save_state(self, name: str, **arrays: npt.ArrayLike) -> None:
        """Store arrays of real numbers or integers under a name; they replace older ones."""
        given = {key: np.asarray(values) for key, values in arrays.items()}
        kept = {key: a.astype("<i8" if a.dtype.kind in "bi" else "<f8") for key, a in given.items()}
        self._write(self._file(name), kept)

    def load_state(
        self, name: str, shapes: Mapping[str, tuple[int | None, ...]]
    ) -> dict[str, npt.NDArray[Any]] | None:
        """Return the arrays kept under a name, if they have these names and shapes, or None.

        One length of a shape may be None, for any. Arrays are float64 or int64, as they were
        stored. A file without them counts as missing, with a warning.
        """
        layout = {key: ("<f8 <i8", shape) for key, shape in shapes.items()}
        return self._read(self._file(name), layout)

    def save_partition(self, partition: Partition) -> None:
        """Store the division of the samples."""
        self.save_state("partition", labels=partition.labels, centres=partition.centres)

    def load_partition(self, points: Array) -> Partition | None:
        """Return the division of samples, shape (n_samples, n_features), or None.

        A file without it, or with centres outside the range of the samples, counts as missing,
        with a warning.
        """
        layout = {"labels": ("<i8", points.shape[:1]), "centres": ("<f8", (None, points.shape[1]))}
        arrays = self._read(self._file("partition"), layout)
        if arrays is None:
            return None
        try:
            partition = Partition(arrays["labels"].astype(np.intp), arrays["centres"])
            low, high = points.min(axis=0, initial=np.inf), points.max(axis=0, initial=-np.inf)
            slack = ROUNDING * np.maximum(np.abs(low), np.abs(high))
            if (partition.centres < low - slack).any() or (partition.centres > high + slack).any():
                raise Damaged("expected centres in the range of the samples")
        except ValueError as reason:
            _warn(self._file("partition"), reason)
            return None
        return partition

    def _file(self, name: str, part: int | None = None) -> Path:
        """Return the path of a state, or of the result of a part."""
        if re.fullmatch(r"[A-Za-z]\w*(-[A-Za-z]\w*)*", name, re.ASCII) is None:
            raise ValueError(f"expected a name of words joined by hyphens, got {quoted(name)}")
        number = "" if part is None else f"-{part + 1:05d}"
        return self.folder / f"{name}{number}.npz"

    def _write(self, path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        seal = np.asarray(self._seal(path, arrays), f"<U{SEAL_LENGTH}")
        write_arrays(path, {**arrays, SEAL: seal})

    def _read(self, path: Path, layout: Layout) -> dict[str, npt.NDArray[Any]] | None:
        try:
            arrays = read_arrays(path, {**layout, SEAL: (f"<U{SEAL_LENGTH}", ())})
            if arrays is None:
                return None
            seal = _word(arrays.pop(SEAL))
            _check(arrays, self._limit)
            if seal != self._seal(path, arrays):
                raise Damaged("it was changed or renamed, or comes from another run")
        except Damaged as reason:
            _warn(path, reason)
            return None
        return arrays

    def _seal(self, path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
        """Return the hash of the run, the name of a file and its arrays."""
        state = hashlib.sha256(f"{self._run} {path.name}".encode())
        for name, values in sorted(arrays.items()):
            state.update(f" {name} {values.dtype.str} {values.shape} ".encode())
            state.update(np.ascontiguousarray(values).tobytes())
        return state.hexdigest()


def _warn(path: Path, reason: Exception) -> None:
    """Warn that a file counts as missing."""
    warnings.warn(
        f"{quoted(path, 200)} cannot be used and is written again: {reason}",
        stacklevel=stack_level(),
    )


def _layout(size: int) -> Layout:
    """Return the layout of a PartResult of `size` rows."""
    return {
        "beta": ("<f8", (size,)),
        "value": ("<f8", ()),
        "gap": ("<f8", ()),
        "n_iter": ("<i8", ()),
        "status": (f"<U{STATUS_LENGTH}", ()),
        "seconds": ("<f8", ()),
        "intercept": ("<f8", ()),
    }


def _check(arrays: Mapping[str, npt.NDArray[Any]], limit: float) -> None:
    """Raise Damaged for numbers that are not finite (a gap may be nan) or out of range, or a status
    that no stored result has.
    """
    for name, values in arrays.items():
        real = values.dtype.kind == "f"
        if real and not (np.isfinite(values) | ((name == "gap") & np.isnan(values))).all():
            raise Damaged(f"expected finite numbers in {name}")
    for name in ("n_iter", "seconds"):
        if arrays.get(name, 0) < 0:
            raise Damaged(f"expected {name} >= 0, got {arrays[name]}")
    largest = np.abs(arrays["beta"]).max(initial=0.0) if "beta" in arrays else 0.0
    if largest > limit * (1 + ROUNDING):
        raise Damaged(f"expected coefficients up to {limit:g}, got {largest:g}")
    if "status" in arrays and _word(arrays["status"]) not in STATUSES:
        raise Damaged("expected the name of a status in status")


def _word(status: npt.NDArray[Any]) -> str:
    try:
        return str(status)
    except ValueError:  # a code point that no character has
        return ""
