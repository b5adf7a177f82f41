"""Sparse arrays in model files come back as they were, and damaged ones are refused."""

import json
import zipfile
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import pliant
from pliant.exceptions import ModelFileError
from pliant.persistence._codec import MAX_WIDTH, Decoder, Encoder, encode
from pliant.persistence._model_file import trusted_types

ROWS = scipy.sparse.csr_array(
    np.array([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.5, 0.25, 0.0]])
)


def encoded(value):
    encoder = Encoder(trusted_types())
    encoder.encode([value])
    return encoder


def decoded(encoder):
    kinds, parts = json.loads(json.dumps([encoder.kinds, encoder.parts]))
    return Decoder(kinds, bytes(encoder.data), trusted_types()).decode(parts)[0]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        scipy.sparse.csr_matrix(ROWS),
        ROWS.tocoo(),
        ROWS[:0],
        scipy.sparse.csr_array((3, 4)),
        scipy.sparse.csr_array((0, 0)),
    ],
)
def test_sparse_arrays_come_back(rows):
    found = decoded(encoded(rows))
    assert isinstance(found, scipy.sparse.csr_array)
    assert (found.shape, found.dtype, found.nnz) == (rows.shape, np.float64, rows.nnz)
    np.testing.assert_array_equal(found.toarray(), rows.toarray())


WRONG = {
    "data": [[1.0, np.nan, 3, 4, 5], [1.0, np.inf, 3, 4, 5], [1e101, 2, 3, 4, 5], [0.0, 1, 2, 3, 4],
             [1.0, 2.0], np.ones(5, np.float32), np.ones(5, np.int64), np.ones((5, 1)), 3.0, None],
    "indices": [[1, 4, 0, 1, 2], [-1, 3, 0, 1, 2], [3, 1, 0, 1, 2], [1, 3, 0, 0, 2], [1, 3, 0, 1],
                np.array([1, 3, 0, 1, 2], np.int16), np.array([1.0, 3, 0, 1, 2]), "13012"],
    "indptr": [[0, 2, 1, 5], [0, 6, 2, 5], [1, 2, 2, 5], [0, 2, 2, 4], [0, 2, 2, 6], [0, -1, 2, 5],
               [], [0, 5], np.array([0, 2, 2, 5], np.int64), [[0, 2, 2, 5]]],
    "width": [-1, 3, 4.0, True, "4", None, MAX_WIDTH + 1, 10**30],
}  # fmt: skip
"""Values that make an attribute of `ROWS` wrong; lists have the type of the right ones."""


@pytest.mark.parametrize(("name", "wrong"), [(n, w) for n, each in WRONG.items() for w in each])
def test_damaged_sparse_arrays_are_refused(name, wrong):
    places = {"data": 0, "indices": 1, "indptr": 2, "width": 3}
    parts = [ROWS.data, ROWS.indices.astype(np.int32), ROWS.indptr.astype(np.int32), 4]
    kind = getattr(parts[places[name]], "dtype", None)
    parts[places[name]] = np.array(wrong, kind) if isinstance(wrong, list) else wrong
    encoder = Encoder(trusted_types())
    encoder.encode(parts)
    encoder.kinds.append(["csr"])
    encoder.parts[-1][0] = len(encoder.kinds) - 1  # the list becomes a sparse array
    kinds, stored = json.loads(json.dumps([encoder.kinds, encoder.parts]))
    with pytest.raises(ModelFileError, match=r"^expected .*(sparse|columns)"):
        Decoder(kinds, bytes(encoder.data), trusted_types()).decode(stored)


def of_pairs():
    """Return the encoded rows of pairs of ten classes, and the arrays."""
    X = scipy.sparse.random_array((60, 300), density=0.1, rng=np.random.default_rng(0))
    X = X.tocsr()
    pairs = [X[np.flatnonzero(np.isin(np.arange(60) % 10, pair))] for pair in PAIRS]
    return encode([*pairs, ROWS], trusted_types()), [*pairs, ROWS]


PAIRS = list(combinations(range(10), 2))


def test_rows_that_pairs_of_classes_share_are_stored_once():
    encoder, arrays = of_pairs()
    once = sum(rows.data.nbytes + rows.indices.nbytes for rows in arrays[:9]) / 2 + 5000
    assert len(encoder.data) < once + 4 * sum(rows.shape[0] for rows in arrays)
    kinds, parts = json.loads(json.dumps([encoder.kinds, encoder.parts]))
    found = Decoder(kinds, bytes(encoder.data), trusted_types()).decode(parts)
    for rows, expected in zip(found, arrays, strict=True):
        assert rows.indices.dtype == np.int32
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(expected, name))


@pytest.mark.parametrize(
    "wrong",
    [np.array([0, 3]), np.array([0, 3], "<u4"), np.array([[0]], "<u4"), [0], None, ROWS],
)
def test_wrong_numbers_of_rows_are_refused(wrong):
    encoder = Encoder(trusted_types())
    encoder.encode([ROWS, wrong])
    encoder.kinds.append(["rows"])
    encoder.parts[-1][0] = len(encoder.kinds) - 1  # the list becomes an array of rows
    with pytest.raises(ModelFileError, match=r"^expected .*numbers of .*rows"):
        Decoder(encoder.kinds, bytes(encoder.data), trusted_types()).decode(encoder.parts)


def test_repeated_sparse_rows_take_limited_memory():
    encoder, arrays = of_pairs()
    decoder = Decoder(encoder.kinds, bytes(encoder.data), trusted_types())
    decoder.free_row_bytes = sum(16 * rows.nnz + 8 * rows.shape[0] for rows in arrays[:-1])
    decoder.decode(encoder.parts)
    assert decoder.free_row_bytes == 0
    decoder = Decoder(encoder.kinds, bytes(encoder.data), trusted_types())
    decoder.free_row_bytes = 1000
    with pytest.raises(ModelFileError, match="bytes of repeated rows"):
        decoder.decode(encoder.parts)


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    X = np.tile(ROWS.toarray(), (3, 1)) + np.eye(9, 4)
    path = tmp_path_factory.mktemp("models") / "model.pliant"
    model = pliant.DANKClassifier(tau=0.0).fit(scipy.sparse.csr_array(X), np.arange(9) % 2)
    pliant.save(model, path)
    with zipfile.ZipFile(path) as archive:
        return path, {name: archive.read(name) for name in archive.namelist()}, X


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_changed_byte_of_a_sparse_model_is_refused_or_harmless(valid, data):
    """With a valid checksum; no loop reads beyond an array."""
    path, members, X = valid
    name = data.draw(st.sampled_from(["model.json", "arrays"]))
    changed = bytearray(members[name])
    at = data.draw(st.integers(0, len(changed) - 1))
    changed[at] ^= data.draw(st.integers(1, 255))
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in {**members, name: bytes(changed)}.items():
            archive.writestr(each, content)
    try:
        model = pliant.load(path)
    except ModelFileError:
        return
    try:
        found = model.decision_function(scipy.sparse.csr_array(X))
    except (TypeError, ValueError):  # another kernel, or numbers beyond the range of float64
        return
    assert found.shape == (9,)


def test_a_kernel_of_dense_points_with_sparse_ones_is_refused(tmp_path):
    model = pliant.SketchedKernelRidge(n_centers=2).fit(ROWS, [1.0, 2.0, 4.0])
    for change in (
        {"kernel_": pliant.kernels.Precomputed(np.eye(2))},
        {"support_vectors_": model.support_vectors_[:1]},
        {"support_vectors_": scipy.sparse.csr_array((2, 5))},
    ):
        forged = pliant.SketchedKernelRidge()
        vars(forged).update({**vars(model), **change})
        with pytest.raises(ModelFileError, match="expected"):
            pliant.save(forged, tmp_path / "model.pliant")
