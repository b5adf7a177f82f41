"""Multiple kernel learning on extreme data: an exact result, or one clear error."""

import numpy as np
import pytest

from pliant import MKLClassifier
from pliant.kernels import Gaussian, Linear, Precomputed

GAUSSIANS = [Gaussian(0.1), Gaussian(1.0)]


def data(n: int = 20) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, 0)


def test_a_huge_C_is_certified():
    """Two-coordinate steps alone would reach their largest number."""
    r = np.random.default_rng(0)
    X, y = r.normal(size=(40, 1)), r.integers(0, 2, 40)
    kernels = [Linear() * Gaussian(1.0)]
    model = MKLClassifier(kernels, weights="uniform", C=1e9, tol=1e-6, normalize=False).fit(X, y)
    assert model.lower_bound_ <= model.objective_ <= (1 + 1e-6) * model.lower_bound_
    assert np.isfinite(model.decision_function(X)).all()


def test_errors_of_a_kernel_give_its_number_in_one_line():
    X, y = data()
    rows, gram = np.arange(20)[:, None], Gaussian(1.0)(X)
    small, indefinite = Precomputed(gram[:9, :9]), Precomputed(gram - np.eye(20))
    for kernels, points, words in [
        ([Gaussian(), lambda a, b: np.ones(3)], X, r"^kernel 1: expected the kernel function to"),
        ([Precomputed(gram), small], rows, r"^kernel 1: expected row numbers of training points, "),
        ([indefinite], rows, r"^expected positive semi-definite .* for kernel 0, Precomputed$"),
        ([Precomputed(gram)], X, r"^kernel 0: expected one side to name training points by"),
    ]:
        with pytest.raises(ValueError, match=words):
            MKLClassifier(kernels).fit(points, y)


@pytest.mark.parametrize("weights", ["simple", "uniform"])
def test_pairs_of_ten_classes_share_the_kernel_values_of_a_prediction(weights):
    X, _ = data(50)
    y = np.arange(50) % 10
    calls = []

    def counted(a, b):
        calls.append(len(b))
        return Gaussian(1.0)(a, b)

    model = MKLClassifier([counted], weights=weights, normalize=False).fit(X, y)
    calls.clear()
    decisions = model.decision_function(X[:7])
    assert len(calls) == 1
    votes = np.zeros((7, 10))
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    for (low, high), each in zip(pairs, model.estimators_, strict=True):
        chosen = np.where(each.decision_function(X[:7]) > 0, high, low)
        votes[np.arange(7), chosen] += 1.0
    np.testing.assert_array_equal(np.round(decisions), votes)
