"""Sparse rows: each estimator fits them as it fits dense rows, or refuses them with the remedy."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

import pliant
from pliant.core.sparse import as_csr
from pliant.exceptions import ModelFileError
from pliant.kernels import Gaussian, Laplacian, Linear, Normalized, On, Polynomial
from tests.contracts.discovery import ESTIMATORS

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
    return "-".join(repr(model).split())[:60]


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
    vectors = getattr(fitted, "support_vectors_", None)
    assert vectors is None or isinstance(vectors, scipy.sparse.csr_array)


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
