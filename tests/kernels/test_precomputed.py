"""Precomputed kernels: row numbers, kernel rows and undefined values."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.svm import SVC

from pliant import DANKClassifier, KNPLClassifier, MKLClassifier, SCGLogDetLearner
from pliant.exceptions import NonPSDWarning
from pliant.kernels import Gaussian, Normalized, On, Precomputed, WeightedSum
from pliant.kernels.standard import as_kernel

POINTS = np.random.default_rng(0).uniform(size=(6, 3))
NEW = np.random.default_rng(1).uniform(size=(4, 3))
GRAM = Gaussian()(POINTS)
ROWS = Gaussian()(NEW, POINTS)
kernel = Precomputed(GRAM)


def numbers(*which):
    return np.array(which, dtype=float)[:, None]


def test_row_numbers_stand_for_training_points():
    np.testing.assert_array_equal(kernel(numbers(0, 1, 2, 3, 4, 5)), GRAM)
    np.testing.assert_array_equal(
        kernel(numbers(4, 4, 0), numbers(1, 5)), GRAM[[4, 4, 0]][:, [1, 5]]
    )
    np.testing.assert_array_equal(kernel.diag(numbers(3, 1)), GRAM.diagonal()[[3, 1]])


def test_two_new_points_have_no_kernel_value():
    for call in (lambda: kernel(ROWS), lambda: kernel(ROWS, ROWS)):
        with pytest.raises(ValueError, match="undefined between new points"):
            call()
    with pytest.raises(ValueError, match=r"k\(x, x\) of a new point is unknown"):
        kernel.diag(ROWS)


@pytest.mark.parametrize("number", [-1.0, 6.0, 0.5, 1e100])
def test_row_numbers_must_be_those_of_training_points(number):
    said = re.escape(f"expected row numbers of training points, 0 to 5, got {number:g}")
    bad = numbers(0, number)
    for call in (
        lambda: kernel(bad),
        lambda: kernel(ROWS, bad),
        lambda: kernel(bad, ROWS),
        lambda: kernel.diag(bad),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_a_fitted_model_does_not_depend_on_the_users_matrix():
    labels = np.array([0, 1, 0, 1, 0, 1])
    for model in (SCGLogDetLearner("precomputed", strength=10.0), DANKClassifier("precomputed")):
        gram = GRAM.copy()
        model.fit(gram, labels)
        predict = getattr(model, "transform", None) or model.decision_function
        expected = predict(ROWS)
        gram *= 2.0
        np.testing.assert_array_equal(predict(ROWS), expected)


def test_a_clone_shares_the_matrix():
    assert clone(kernel).gram is GRAM
    assert clone(kernel) is not kernel
    assert as_kernel(kernel, numbers(0, 1)).gram is GRAM
    both = clone(WeightedSum([On(kernel, 0), Normalized(kernel)], [0.5, 0.5]))
    assert both.kernels[0].kernel.gram is GRAM
    assert both.kernels[1].kernel.gram is GRAM


class Tensor:
    """A matrix that converts itself to an array, such as a tensor of PyTorch."""

    shape = GRAM.shape

    def __array__(self, dtype=None, copy=None):
        return GRAM


@pytest.mark.parametrize("gram", [GRAM.tolist(), Tensor()])
def test_other_matrices_are_converted(gram):
    given = Precomputed(gram)
    np.testing.assert_array_equal(given(numbers(4, 0), numbers(1)), GRAM[[4, 0]][:, [1]])
    np.testing.assert_array_equal(given.diag(numbers(3)), GRAM.diagonal()[[3]])
    assert isinstance(clone(given).gram, np.ndarray)


def test_a_matrix_in_place_of_a_kernel_is_refused_by_its_shape():
    said = re.escape("got Tensor of shape (6, 6): write Precomputed(gram) for a Gram matrix")
    with pytest.raises(TypeError, match=said):
        as_kernel(Tensor(), POINTS)
    with pytest.raises(ValueError, match=r"dim 3.*kernels=\[Precomputed\(gram\), \.\.\.\] and row"):
        MKLClassifier().fit([GRAM, GRAM], [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    ("gram", "shape"),
    [(np.ones((3, 2)).tolist(), "list of shape (3, 2)"), (np.ones((3, 2)), "ndarray of shape (3")],
)
def test_the_matrix_is_a_square_array(gram, shape):
    for call in (lambda: Precomputed(gram)(numbers(0)), lambda: Precomputed(gram).diag(numbers(0))):
        with pytest.raises(ValueError, match=rf"of shape \(n, n\), got {re.escape(shape)}"):
            call()


def several_matrices():
    """Return two Gram matrices of 60 points, and labels that depend on both."""
    rng = np.random.default_rng(3)
    one, other = rng.uniform(-1, 1, size=(2, 60, 2))
    y = np.where(one[:, 0] + other[:, 1] > 0, "yes", "no")
    return Gaussian(1.0)(one), Gaussian(0.5)(other), y


@pytest.mark.parametrize("machine", [SVC(), DANKClassifier(), DANKClassifier(extension="none")])
def test_an_estimator_may_be_fitted_on_some_rows_of_a_matrix(machine):
    gram, _, y = several_matrices()
    rows = np.arange(60.0)[:, None]
    train, test = rows[::2], rows[1::2]
    fitted = clone(machine).set_params(kernel=Precomputed(gram)).fit(train, y[::2])
    twin = clone(machine).set_params(kernel="precomputed").fit(gram[::2, ::2], y[::2])
    np.testing.assert_allclose(
        fitted.decision_function(test), twin.decision_function(gram[1::2, ::2]), atol=1e-10
    )
    np.testing.assert_array_equal(fitted.predict(train), twin.predict(gram[::2, ::2]))


def test_a_grid_search_chooses_between_matrices_by_row_numbers():
    one, other, y = several_matrices()
    rows = np.arange(60.0)[:, None]
    half = WeightedSum([Precomputed(one), Precomputed(other)], 0.5)
    kernels = [Precomputed(one), Precomputed(other), half]
    splits = KFold(4, shuffle=True, random_state=0)
    search = GridSearchCV(SVC(C=10.0), {"kernel": kernels}, cv=splits).fit(rows, y)
    twins = [
        cross_val_score(SVC(C=10.0, kernel="precomputed"), gram, y, cv=splits).mean()
        for gram in (one, other, 0.5 * (one + other))
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], twins, rtol=1e-12)
    assert search.best_params_["kernel"] is half
    assert search.best_estimator_.kernel.kernels[0].gram is one


def test_a_sum_with_an_indefinite_matrix_is_noticed():
    gram, _, y = several_matrices()
    gram = gram - 0.1 * np.eye(60) * np.linalg.eigvalsh(gram)[-1]
    kernel = 2.0 * Precomputed(gram)
    with pytest.warns(NonPSDWarning, match="not positive semi-definite"):
        DANKClassifier(kernel, extension="none").fit(np.arange(60.0)[:, None], y)


def test_a_proof_is_left_out_only_where_that_is_asked_for():
    gram, _, y = several_matrices()
    rows = np.arange(60.0)[:, None]
    proved = DANKClassifier(Precomputed(gram), extension="none").fit(rows, y)
    assumed = DANKClassifier(Precomputed(gram, assume_psd=True), extension="none").fit(rows, y)
    assert assumed.dual_coef_.tobytes() == proved.dual_coef_.tobytes()
    assert assumed.dual_gap_ == proved.dual_gap_
    indefinite = gram - 0.1 * np.eye(60) * np.linalg.eigvalsh(gram)[-1]
    DANKClassifier(Precomputed(indefinite, assume_psd=True), extension="none").fit(rows, y)
    skewed = gram.copy()
    skewed[2, 5] += 1.0
    with pytest.raises(ValueError, match=r"symmetric Gram matrix, got .* at \(2, 5\)"):
        DANKClassifier(Precomputed(skewed, assume_psd=True), extension="none").fit(rows, y)
    with pytest.raises(ValueError, match=r"assume_psd=.... to be True or False, got 'yes'"):
        DANKClassifier(Precomputed(gram, assume_psd="yes"), extension="none").fit(rows, y)
    assert clone(Precomputed(gram, assume_psd=True)).assume_psd


def single(gram):
    """Return the matrix in float32 with an asymmetry of one rounding error."""
    rounded = gram.astype(np.float32)
    upper = np.triu_indices(len(gram), 1)
    rounded[upper] = np.nextafter(rounded[upper], np.float32(2.0))
    return rounded


@pytest.mark.parametrize("kind", [DANKClassifier, KNPLClassifier, SCGLogDetLearner])
def test_a_matrix_assembled_in_single_precision_is_accepted(kind):
    gram, _, y = several_matrices()
    gram = gram + 0.1 * np.eye(60)
    settings = {"random_state": 0} if kind is SCGLogDetLearner else {"extension": "none"}
    model = kind(kernel="precomputed", **settings)
    outputs = [
        fitted.transform(gram) if kind is SCGLogDetLearner else fitted.decision_function(gram)
        for fitted in (clone(model).fit(each, y) for each in (gram, single(gram)))
    ]
    assert (single(gram) != single(gram).T).any()
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=0, atol=1e-2 * np.ptp(outputs[0]))


@pytest.mark.parametrize("cache_mb", [1000, 0.03])
def test_multiple_kernels_in_single_precision_are_accepted(cache_mb):
    one, other, y = several_matrices()
    rows, noise = np.arange(60.0)[:, None], 0.1 * np.eye(60)
    outputs = [
        MKLClassifier([Precomputed(cast(one + noise)), Precomputed(cast(other + noise))], tol=1e-5)
        .set_params(cache_mb=cache_mb)
        .fit(rows, y)
        .decision_function(rows)
        for cast in (np.asarray, single)
    ]
    np.testing.assert_allclose(outputs[1], outputs[0], rtol=0, atol=1e-2 * np.ptp(outputs[0]))
