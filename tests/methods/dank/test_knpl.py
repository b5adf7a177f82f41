"""KNPL: the centred F, and predictions with cached sums."""

import numpy as np
import pytest

from pliant import KNPLClassifier, KNPLRegressor
from pliant.kernels import Gaussian
from tests.methods.dank.test_dank import classification, regression
from tests.reference import naive_hadamard, naive_kernels


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
    assert values[-1] >= 50 - 1e-9  # ones are an eigenvector with eigenvalue n
    assert model.adaptation_.radius == pytest.approx(np.linalg.norm(F - 1), rel=1e-9)
    assert model.adaptation_.rank <= len(model.support_) + 1


KERNEL_VALUES = []


def counted(X, Y):
    KERNEL_VALUES.append(len(X) * len(Y))
    return Gaussian(2.0)(X, Y)


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal"])
def test_a_prediction_computes_no_kernel_values_between_support_points(extension):
    """Only the first prediction computes them; predictions agree with the twin."""
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
