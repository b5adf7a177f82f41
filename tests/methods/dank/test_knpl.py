"""KNPL: reference optima, the centred F, and the corners of the interface."""

import numpy as np
import pytest

from pliant import KNPLClassifier, KNPLRegressor
from pliant.kernels import Gaussian
from tests.methods.dank.test_dank import classification, regression
from tests.reference import naive_hadamard, naive_kernels


@pytest.mark.parametrize(
    ("s", "C", "eta", "optimum"),
    [(0.5, 4, 20, 13.91264525), (0.5, 4, 2, 8.75808456), (0.25, 16, 50, 12.49875788)],
)
def test_classification_reaches_the_reference_optimum(s, C, eta, optimum):
    X, y = classification()
    model = KNPLClassifier(gamma=1 / (2 * s**2), C=C, eta=eta, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, abs=3e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + model.objective_)


@pytest.mark.parametrize("eta", [0.2, 5.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_is_that_of_the_dense_twin(seed, eta):
    X, y = classification(n=30, seed=seed)
    K = Gaussian(2.0)(X)
    model = KNPLClassifier(gamma=2.0, C=3.0, eta=eta, tol=1e-8).fit(X, y)
    _, value, gap = naive_hadamard.solve(
        naive_hadamard.classification(K, y, 3.0, eta, rule="knpl"), tol=1e-6
    )
    assert model.objective_ <= value + gap + 1e-9
    assert value <= model.objective_ + model.dual_gap_ + 1e-9
    X, y = regression(n=30, seed=seed)
    K, y = Gaussian(2.0)(X), y - y.mean()
    model = KNPLRegressor(gamma=2.0, C=3.0, eta=eta, epsilon=0.05, scale_target=False, tol=1e-8)
    model.fit(X, y)
    _, value, gap = naive_hadamard.solve(
        naive_hadamard.regression(K, y, 3.0, 0.05, eta, rule="knpl"), tol=1e-6
    )
    assert model.objective_ <= value + gap + 1e-9
    assert value <= model.objective_ + model.dual_gap_ + 1e-9


@pytest.mark.parametrize("eta_scale", [1e-3, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("make", [KNPLClassifier, KNPLRegressor])
def test_the_rows_of_f_sum_to_n_and_f_is_psd(make, eta_scale):
    X, y = classification(n=50) if make is KNPLClassifier else regression(n=50)
    model = make(C=5.0, eta_scale=eta_scale).fit(X, y)
    F = model.adaptation_.toarray()
    np.testing.assert_allclose(F.sum(axis=0), 50.0, rtol=1e-10)
    np.testing.assert_allclose(F, F.T, atol=1e-12)
    values = np.linalg.eigvalsh(F)
    assert values[0] >= -1e-10
    assert values[-1] >= 50 - 1e-9  # ones are an eigenvector, of eigenvalue n
    assert model.adaptation_.radius == pytest.approx(np.linalg.norm(F - 1), rel=1e-9)
    assert model.adaptation_.rank <= len(model.support_) + 1


KERNEL_VALUES = []


def counted(X, Y):
    KERNEL_VALUES.append(len(X) * len(Y))
    return Gaussian(2.0)(X, Y)


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal"])
def test_a_prediction_computes_no_kernel_values_between_support_points(extension):
    """They are needed once, in the first prediction; predictions are those of the twin."""
    X, y = classification(n=60)
    model = KNPLClassifier(counted, C=5.0, eta_scale=0.1, extension=extension).fit(X[:50], y[:50])
    new, kernel, F = X[50:], model.kernel_, model.adaptation_.toarray()
    s = len(model.support_)
    model.decision_function(new[:1])
    KERNEL_VALUES.clear()
    values = model.decision_function(new)
    copied = 0 if extension == "smooth" else min(len(new), s) * s
    assert sum(KERNEL_VALUES) <= len(new) * s + copied < s * s
    K, cross = Gaussian(2.0)(X[:50]), Gaussian(2.0)(new, X[:50])
    if extension == "smooth":
        b = np.array([naive_kernels.smooth(x, X[:50], kernel.beta, 5) for x in X])
        joint = Gaussian(2.0)(X, X[:50])
        F = naive_hadamard.smooth_knpl(
            K, joint, joint, Gaussian(2.0)(X), b, b, kernel.beta, model.eta_
        )
        F = F[50:, :50]
    else:
        choose = {"nearest": naive_kernels.nearest, "reciprocal": naive_kernels.reciprocal}
        F = F[[choose[extension](x, X[:50]) for x in new]]
    assert np.abs(F - 1.0).max() > 0.01
    expected = (F * cross) @ kernel.beta + model.intercept_
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)
