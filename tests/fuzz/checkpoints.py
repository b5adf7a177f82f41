"""Checkpoints that somebody altered: a resumed fit gives the same model, or refuses the folder.

Files are cut off, changed in bytes and in arrays, renamed, exchanged with those of another run or
with links, folders and pipes; the manifest is changed as JSON. Where the hash of a file is made
again after the change, as somebody could who reads the source, the model may differ, but it is
finite and no raw error appears.
"""

import io
import json
import os
import tempfile
import warnings
import zipfile
from functools import cache

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pliant import DANKClassifier, DANKRegressor
from pliant.methods.svm.parts.store import SEAL, SEAL_LENGTH, Store
from tests.fuzz.refusals import content_of, fault_of_refusal

KINDS = ("bytes", "arrays", "sealed", "place", "manifest", "foreign")

ROWS = 36

NUMBERS = (
    0,
    1,
    -1,
    0.5,
    1e-300,
    1e300,
    -1e300,
    np.nan,
    np.inf,
    -np.inf,
    2**31,
    2**63 - 1,
    -(2**63),
)
"""Values that are put into arrays."""

TEXTS = ("CONVERGED", "STOPPED", "MAX_ITER", "", "\x1b[31m", "converged", "ÄÖ", "x" * 32)


def machines():
    """The runs: parts alone or refined, with a given and an automatic eta; regression as well."""
    common = {"partition": "kmeans", "n_parts": 3, "random_state": 0}
    return (
        DANKClassifier(eta=2.0, **common),
        DANKClassifier(**common),
        DANKClassifier(refine=True, **common),
        DANKRegressor(refine=True, prediction="whole", **common),
    )


def data(number):
    """Rows and target of a run; 1 is of the same shape and different values."""
    rng = np.random.default_rng(number)
    X = rng.uniform(size=(ROWS, 2))
    return X, np.where(np.sin(6 * X[:, 0]) + X[:, 1] > 0.5, 1, -1)


@cache
def finished(which, number):
    """The files of a finished run and its predictions."""
    X, y = data(number)
    with tempfile.TemporaryDirectory() as folder:
        machine = clone(machines()[which]).set_params(checkpoint=folder).fit(X, y)
        return content_of(folder), predictions(machine, X)


def predictions(machine, X):
    return getattr(machine, "decision_function", machine.predict)(X)


def case(seed, folder):
    """Alter a checkpoint and go on with it; return what was wrong, or None."""
    rng = np.random.default_rng(seed)
    which = int(rng.integers(len(machines())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files, expected = finished(which, 0)
        others, _ = finished(which, 1)
    kind = str(rng.choice(KINDS))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    run = json.dumps(json.loads(files["manifest.json"])["made_with"], sort_keys=True)
    for _ in range(int(rng.integers(1, 4))):
        ALTER[kind](rng, folder, others, run)
    before = content_of(folder)
    X, y = data(0)
    machine = clone(machines()[which]).set_params(checkpoint=str(folder))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = predictions(machine.fit(X, y), X)
        except Exception as error:
            if content_of(folder).items() < before.items():
                return f"{kind}: a refused checkpoint has lost files"
            return fault_of_refusal(error, folder)
    if odd := [w for w in caught if not _is_named(w)]:
        return f"warning: {odd[0].category.__name__}: {odd[0].message}"
    if not np.isfinite(found).all():
        return f"not finite: {kind}"
    if kind == "sealed":
        return None
    exact = not machine.refine
    same = np.array_equal(found, expected) if exact else np.allclose(found, expected, atol=2e-3)
    if not same:
        return f"wrong result: {kind}, off by {np.abs(found - expected).max():.3g}"
    return None


def _is_named(warning):
    return (
        issubclass(warning.category, ConvergenceWarning)
        or "cannot be used and is written again" in str(warning.message)
    ) and str(warning.message).isprintable()


def _one(rng, folder, suffix=".npz"):
    """A file of the checkpoint, or None."""
    names = sorted(p.name for p in folder.iterdir() if p.name.endswith(suffix) and p.is_file())
    return folder / str(rng.choice(names)) if names else None


def alter_bytes(rng, folder, others, run):
    path = _one(rng, folder, ("npz", "json")[int(rng.integers(4) == 0)])
    if path is None:
        return
    content = bytearray(path.read_bytes())
    how = rng.integers(4)
    if how == 0 or not content:
        content = content[: int(rng.integers(len(content) + 1))]
    elif how == 1:
        content += rng.bytes(int(rng.integers(1, 2000)))
    elif how == 2:
        at = int(rng.integers(len(content)))
        content[at : at + int(rng.integers(1, 100))] = rng.bytes(int(rng.integers(100)))
    else:
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
    path.write_bytes(bytes(content))


def _spoiled(rng, values):
    """An array with another value, type or shape."""
    how = rng.integers(6)
    if values.dtype.kind == "U":
        return np.asarray(str(rng.choice(TEXTS)), values.dtype if how else "<U64")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if how <= 2 and values.size:
            spoiled = values.copy()
            number = NUMBERS[int(rng.integers(len(NUMBERS)))]
            places = slice(None) if how == 0 else int(rng.integers(values.size))
            try:
                spoiled.reshape(-1)[places] = number
            except (OverflowError, ValueError):
                spoiled.reshape(-1)[places] = -5
            return spoiled
        if how == 3:
            kind = str(rng.choice(["<f4", ">f8", "<i4", "<i8", "<f8", "?", "<c16", "<U8"]))
            return values.astype(kind)
        if how == 4:
            return np.repeat(np.atleast_1d(values), 2, axis=0)
        return np.atleast_1d(values)[: int(rng.integers(1 + len(np.atleast_1d(values))))]


def _alter_arrays(rng, folder, seal):
    path = _one(rng, folder)
    if path is None:
        return
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = dict(archive)
    except Exception:
        return
    name = str(rng.choice(sorted(arrays)))
    how = rng.integers(8)
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[str(rng.choice(["extra", "beta ", "../beta"]))] = np.zeros(3)
    else:
        arrays[name] = _spoiled(rng, arrays[name])
    if seal is not None:
        kept = {key: values for key, values in arrays.items() if key != SEAL}
        arrays[SEAL] = np.asarray(Sealing(seal)._seal(path, kept), f"<U{SEAL_LENGTH}")
    buffer = io.BytesIO()
    packed = zipfile.ZIP_DEFLATED if rng.integers(20) == 0 else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", packed) as archive:
        for key, values in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, values, version=(1, 0), allow_pickle=False)
            archive.writestr(f"{key}.npy", member.getvalue())
    path.write_bytes(buffer.getvalue())


class Sealing(Store):
    """Knows how the hash is made, but not the folder."""

    def __init__(self, run):
        self._run = run


def alter_arrays(rng, folder, others, run):
    _alter_arrays(rng, folder, None)


def alter_sealed(rng, folder, others, run):
    _alter_arrays(rng, folder, run)


def alter_place(rng, folder, others, run):
    """Remove, rename, exchange a file, or put something else in its place."""
    path, other = _one(rng, folder), _one(rng, folder)
    if path is None or other is None:
        return
    how, content = rng.integers(7), path.read_bytes()
    if how == 0:
        path.unlink()
    elif how == 1:
        other.write_bytes(content)
    elif how == 2:
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
    elif how == 3:
        elsewhere = folder / f".{path.name}"
        elsewhere.write_bytes(content)
        path.unlink()
        path.symlink_to(elsewhere)
    elif how == 4:
        path.unlink()
        path.mkdir()
    elif how == 5:
        path.unlink()
        os.mkfifo(path)
    else:
        (folder / "manifest.json").unlink(missing_ok=True)


JUNK = (None, True, 0, -1, 1.5, "x", [], {}, [[1]], {"a": 1}, "\x1b[31m", "x" * 5000, 10**400)


def alter_manifest(rng, folder, others, run):
    path = folder / "manifest.json"
    try:
        content = json.loads(path.read_bytes())
        made = dict(content["made_with"])
        content["made_with"] = made
        name = str(rng.choice(sorted(made)))
    except Exception:
        return
    junk, how = JUNK[int(rng.integers(len(JUNK)))], rng.integers(8)
    if how == 0:
        del made[name]
    elif how == 1:
        made[str(rng.choice(["extra", "C", "\x1b[31m", "ä" * 300]))] = junk
    elif how == 2:
        content[str(rng.choice(["format", "made_with"]))] = junk
    elif how == 3:
        content = junk
    elif how == 4:
        path.write_text('{"format":' + "[" * 5000 + "]" * 5000 + "}")
        return
    elif how == 5:
        path.write_bytes(path.read_bytes().replace(b"0", b"NaN").replace(b"1", b"1e999"))
        return
    else:
        made[name] = junk
    path.write_text(json.dumps(content) if junk != 10**400 else '{"format": 1' + "0" * 9000 + "}")


def alter_foreign(rng, folder, others, run):
    """Put files of a run with other data, or of something else, into the folder."""
    names = sorted(others)
    name = str(rng.choice(names))
    if name == "manifest.json" and rng.integers(3):
        name = names[-1]
    if rng.integers(5) == 0:
        (folder / str(rng.choice([".hidden", "thesis.tex", "plain-00009.npz"]))).write_bytes(
            b"mine"
        )
        return
    (folder / name).write_bytes(others[name])


ALTER = {
    "bytes": alter_bytes,
    "arrays": alter_arrays,
    "sealed": alter_sealed,
    "place": alter_place,
    "manifest": alter_manifest,
    "foreign": alter_foreign,
}
