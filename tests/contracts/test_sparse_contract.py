"""Sparse rows: each estimator fits them as it fits dense rows, or refuses them with the remedy."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

import pliant
from pliant.kernels import Gaussian, Laplacian, Linear, Normalized, On, Polynomial
from tests.contracts.discovery import ESTIMATORS
from tests.memory import peak_memory

GIVEN = pliant.SCGLogDetLearner(strength=100.0)
TIGHT = {"tol": 1e-10}

SETTINGS = [
    *(kind(**TIGHT, extension=extension)
      for kind in (pliant.DANKClassifier, pliant.KNPLClassifier)
      for extension in ("smooth", "nearest", "reciprocal", "none")),
    pliant.DANKClassifier(**TIGHT, eta=np.inf),
    pliant.DANKClassifier(Normalized(Linear() + Polynomial(2)), **TIGHT, tau=0.0),
    pliant.DANKClassifier(**TIGHT, tau=0.0, cache_mb=0.005),  # rows on demand
    pliant.DANKRegressor(On(Laplacian(), slice(1, 9)), **TIGHT),
    pliant.KNPLRegressor("matern32", **TIGHT),
    pliant.MKLClassifier(["gaussian", "laplacian", Polynomial(2)], **TIGHT),
    pliant.MKLClassifier(["gaussian", "laplacian"], weights="alignf", **TIGHT),
    pliant.MKLRegressor(["gaussian", "matern12"], weights="align", **TIGHT),
    pliant.AsymmetricKernelRidge("tl1"),
    *(pliant.SketchedKernelRidge(n_centers=20, random_state=0, solver=solver, cache_mb=0)
      for solver in ("cg", "direct")),
    pliant.SketchedKernelRidge(Gaussian(np.arange(12.0)), n_centers=20, random_state=0),
    pliant.SketchedKernelRidge("laplacian", n_centers=20, random_state=0),
    pliant.SketchedKernelRidge(n_centers=20, random_state=0, dtype="float32", tol=1e-5),
    pliant.SketchedKernelRidgeClassifier(n_centers=20, random_state=0),
    GIVEN,
    pliant.SCGLogDetLearner("graph", strength=10.0),
    pliant.LogDetLearner(max_pairs=50, random_state=0, tol=1e-8, max_iter=2000),
    pliant.OrderSpectralLearner(),
    pliant.KernelEmbedding(GIVEN, betas=(1.0,)),
    pliant.KernelEmbedding(pliant.OrderSpectralLearner()),
    pliant.LearnedKernelClassifier(GIVEN),
]  # fmt: skip
"""Settings with which estimators take sparse rows; tolerances make dense fits comparable."""

DENSE = [
    *(kind() for kind in ESTIMATORS if kind.__name__[:3] in ("GKL", "TKL", "LAB", "Tab")),
    *(kind() for kind in (pliant.MKLClassifier, pliant.MKLRegressor)),  # the defaults centre
    pliant.DANKClassifier(lambda X, Y: X @ Y.T),
    pliant.DANKClassifier(partition="kmeans"),
    pliant.SketchedKernelRidge(lambda X, Y: X @ Y.T),
    pliant.MKLClassifier(["linear", lambda X, Y: X @ Y.T]),
]

OF_GIVEN_KERNELS = (
    *(pliant.MKLClassifier, pliant.MKLRegressor, pliant.AsymmetricKernelRidge),
    *(pliant.SketchedKernelRidge, pliant.SketchedKernelRidgeClassifier),
)
"""Estimators whose kernel takes sparse rows, also after a fit to dense ones; a kernel that holds
training points takes them in the form of these points."""

METHODS = ("decision_function", "predict", "transform", "predict_second")


def rows_of(seed, n=48):
    """Return dense rows of which a third of the entries are not zero, and one row is empty."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 12)) < 0.35, rng.normal(size=(n, 12)), 0.0)
    X[3] = 0.0
    return X


X, T = rows_of(0), rows_of(1, 20)
f = X[:, 0] + 2.0 * X[:, 1] * X[:, 2] - X[:, 3] + X[:, 4] ** 2
LABELS = np.digitize(f, np.quantile(f, [0.4, 0.7]))


def target_of(model):
    return f if is_regressor(model) else LABELS


def name_of(model):
    """Return a name that is the same in every process: without the address of a function."""
    return "-".join(re.sub(" at 0x[0-9a-f]+", "", repr(model)).split())[:60]


def outputs(model, points):
    """Return what a model says of points; labels and other outputs are numbers."""
    found = [getattr(model, name)(points) for name in METHODS if hasattr(model, name)]
    return [np.asarray(each, dtype=np.float64) for each in found]


def messy(dense, index=np.int64):
    """Return a CSR matrix with entries twice and out of order, zeros stored, and wide indices."""
    rows, columns = np.indices(dense.shape).reshape(2, -1)[:, ::-1]
    values = np.repeat(0.5 * dense[rows, columns], 2)
    n, d = dense.shape
    order = np.argsort(rows, kind="stable")
    values = np.repeat(0.5 * dense[rows, columns][order], 2)
    starts = np.arange(0, 2 * n * d + 1, 2 * d, dtype=index)
    parts = values, np.repeat(columns[order], 2).astype(index), starts
    return scipy.sparse.csr_matrix(parts, shape=dense.shape)


def test_every_estimator_is_here():
    assert {type(each) for each in SETTINGS + DENSE} == set(ESTIMATORS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # tol = 1e-10
@pytest.mark.parametrize("model", SETTINGS, ids=name_of)
def test_sparse_rows_give_the_model_of_dense_rows(model):
    assert get_tags(model).input_tags.sparse
    y, sparse = target_of(model), scipy.sparse.csr_array(X)
    given = [part.copy() for part in (sparse.data, sparse.indices, sparse.indptr)]
    dense, fitted = clone(model).fit(X, y), clone(model).fit(sparse, y)
    expected = outputs(dense, T)
    scale = max(1.0, max(np.abs(each).max() for each in expected))
    found = outputs(fitted, scipy.sparse.csr_array(T))
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        # gaps of 1e-10 allow functions to differ by the root, 1e-5
        np.testing.assert_allclose(one, other, atol=1e-4 * scale)
    for one, other in zip(outputs(fitted, T), found, strict=True):  # dense rows of a sparse model
        np.testing.assert_allclose(one, other, atol=1e-9 * scale)
    for part, before in zip((sparse.data, sparse.indices, sparse.indptr), given, strict=True):
        np.testing.assert_array_equal(part, before)  # the user's matrix is not changed
    if hasattr(fitted, "fit_gram"):
        gram = clone(model).fit_gram(sparse, y)
        np.testing.assert_allclose(gram, clone(model).fit_gram(X, y), atol=1e-6 * scale)
    assert type(fitted.summary().kernel) is type(dense.summary().kernel)
    vectors = getattr(fitted, "support_vectors_", None)
    assert vectors is None or isinstance(vectors, scipy.sparse.csr_array)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", SETTINGS[::2], ids=name_of)
def test_a_model_of_dense_rows_takes_sparse_ones_or_refuses_them(model):
    fitted, sparse = clone(model).fit(X, target_of(model)), scipy.sparse.csr_array(T)
    expected = outputs(fitted, T)
    if not isinstance(model, OF_GIVEN_KERNELS):
        with pytest.raises(TypeError, match=r"expected X to be a dense array.* use X\.toarray\(\)"):
            outputs(fitted, sparse)
        return
    scale = max(1.0, max(np.abs(each).max() for each in expected))
    for one, other in zip(outputs(fitted, sparse), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9 * scale)


def test_arrays_that_are_read_only_are_taken():
    """As joblib passes large arrays to other processes."""
    rows = scipy.sparse.csr_array(X)
    expected = pliant.SketchedKernelRidge(n_centers=9, random_state=0).fit(rows, f).predict(rows)
    for part in (rows.data, rows.indices, rows.indptr):
        part.flags.writeable = False
    for model in (pliant.SketchedKernelRidge(n_centers=9, random_state=0), pliant.DANKRegressor()):
        found = model.fit(rows, f).predict(rows)
        assert np.isfinite(found).all()
        if isinstance(model, pliant.SketchedKernelRidge):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", SETTINGS[::3], ids=name_of)
def test_the_form_of_the_matrix_does_not_matter(model):
    y = target_of(model)
    expected = outputs(clone(model).fit(scipy.sparse.csr_array(X), y), scipy.sparse.csr_array(T))
    for form in (messy, lambda rows: scipy.sparse.coo_array(rows), scipy.sparse.csc_matrix):
        found = outputs(clone(model).fit(form(X), y), form(T))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    single = X.astype(np.float32), T.astype(np.float32)
    whole = [outputs(clone(model).fit(form(single[0]), y), form(single[1])) for form in (
        scipy.sparse.csr_array, lambda rows: scipy.sparse.csr_array(rows.astype(np.float64)),
    )]  # fmt: skip
    for one, other in zip(*whole, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("model", DENSE, ids=name_of)
def test_other_methods_refuse_sparse_rows_with_the_remedy(model):
    assert not get_tags(model).input_tags.sparse
    message = r"^expected dense rows for .*, got a sparse matrix of shape .*: use .*TruncatedSVD"
    for rows in (scipy.sparse.csr_array(X), scipy.sparse.coo_matrix(X)):
        with pytest.raises(TypeError, match=message):
            clone(model).fit(rows, target_of(model))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", SETTINGS[::2], ids=name_of)
def test_fitted_models_come_back_from_pickles_and_files(model, tmp_path):
    points = scipy.sparse.csr_array(T)
    fitted = clone(model).fit(scipy.sparse.csr_matrix(X), target_of(model))
    copies = [pickle.loads(pickle.dumps(fitted))]
    if not isinstance(model, pliant.LearnedKernelClassifier):  # files cannot store its SVC
        pliant.save(fitted, tmp_path / "model.pliant")
        copies.append(pliant.load(tmp_path / "model.pliant"))
    for copy in copies:
        for one, other in zip(outputs(copy, points), outputs(fitted, points), strict=True):
            np.testing.assert_array_equal(one, other)


def test_onnx_needs_dense_support_vectors():
    pytest.importorskip("onnx")
    model = pliant.SketchedKernelRidge(n_centers=5).fit(scipy.sparse.csr_array(X), f)
    with pytest.raises(ValueError, match=r"^expected dense support vectors for ONNX, got sparse"):
        pliant.to_onnx(model)


def test_sparse_centres_of_dense_rows_and_dense_centres_of_sparse_rows():
    sparse, expected = scipy.sparse.csr_array(X), None
    for rows in (X, sparse):
        for centres in (X[:9], sparse[:9]):
            model = pliant.SketchedKernelRidge(centers=centres).fit(rows, f)
            assert scipy.sparse.issparse(model.support_vectors_) is (rows is sparse)
            found = model.predict(rows)
            expected = found if expected is None else expected
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_frames_of_sparse_columns_are_sparse_rows():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X)).add_prefix("word ")
    model = pliant.DANKClassifier().fit(frame, LABELS)
    assert model.feature_names_in_[0] == "word 0"
    expected = pliant.DANKClassifier().fit(scipy.sparse.csr_array(X), LABELS)
    np.testing.assert_array_equal(model.predict(frame), expected.predict(X))
    with pytest.raises(TypeError, match=r"^expected dense rows for LABRBFClassifier.*TruncatedSVD"):
        pliant.LABRBFClassifier().fit(frame, LABELS)


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e101])
def test_entries_that_are_no_numbers_are_refused(entry):
    broken = scipy.sparse.csr_array(X)
    broken.data[7] = entry
    with pytest.raises(ValueError, match=r"NaN|infinity|at most 1e100 .* in X at row 1"):
        pliant.DANKClassifier().fit(broken, LABELS)


def test_columns_beyond_the_width_are_refused():
    broken = scipy.sparse.csr_array(X)
    broken.indices[-1] = 12
    with pytest.raises(ValueError, match="ind"):
        pliant.SketchedKernelRidge().fit(broken, f)


def test_sparse_kernel_values_are_refused():
    gram = scipy.sparse.csr_array(X @ X.T)
    for model in (pliant.DANKClassifier("precomputed"), pliant.SCGLogDetLearner("precomputed")):
        message = r"^expected dense kernel values for .*: use X\.toarray\(\)$"
        with pytest.raises(TypeError, match=message):
            model.fit(gram, LABELS)


@pytest.mark.parametrize(
    ("model", "copies", "grams"),
    [
        (pliant.DANKClassifier(eta=np.inf, tol=0.1), 2.0, 3),  # points of the kernel, and support
        (pliant.MKLClassifier(["linear", "gaussian"], tol=0.1), 2.0, 5),
        (pliant.AsymmetricKernelRidge(), 1.0, 4),
        (pliant.SCGLogDetLearner(strength=10.0), 2.0, 8),  # of all points, and of those with labels
        (pliant.SketchedKernelRidge(n_centers=50, cache_mb=0), 1.0, 1),  # rows of a preconditioner
    ],
    ids=name_of,
)
def test_a_fit_holds_the_rows_of_its_model_and_kernel_values(model, copies, grams):
    """Beyond the rows that a fit of dense rows copies too, a fifth of the matrix is the limit."""
    rng = np.random.default_rng(0)
    n, d = 400, 20_000  # dense rows take 64 MB
    rows = scipy.sparse.random_array((n, d), density=0.2, rng=rng, format="csr")
    rows.data += 1.0  # no tiny features
    size = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes  # 19 MB
    y = rng.normal(size=n) if is_regressor(model) else np.arange(n) % 2
    clone(model).fit(rows, y)  # compiles the loops
    with peak_memory() as used:
        clone(model).fit(rows, y)
    assert used.peak < (copies + 0.2) * size + grams * 8.0 * n**2
