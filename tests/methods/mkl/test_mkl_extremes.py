"""Multiple kernel learning on extreme data: an exact result, or one clear error."""

import numpy as np
import pytest

from pliant import MKLClassifier, MKLRegressor
from pliant.kernels import Gaussian, Linear, Precomputed

GAUSSIANS = [Gaussian(0.1), Gaussian(1.0)]


def data(n: int = 20) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, 0)


@pytest.mark.parametrize("weights", ["simple", "uniform"])
def test_tiny_objectives_are_solved_to_the_same_relative_gap(weights):
    X, y = data()
    units = [1.0, 1e-9]
    models = [
        MKLClassifier(GAUSSIANS, weights=weights, tol=1e-8).fit(X, y, np.full(20, unit))
        for unit in units
    ]
    for model, unit in zip(models, units, strict=True):
        assert model.dual_gap_ <= 1e-8 * model.objective_
        # with small C all samples are at their bounds: the objective is 2 C times the rarer class
        assert unit == 1.0 or model.objective_ == pytest.approx(2 * unit * min(sum(y), sum(1 - y)))
    plain, tiny = (
        MKLRegressor(GAUSSIANS, weights=weights, tol=1e-8, scale_target=False, epsilon=0.0, C=unit)
        .fit(X, unit * X[:, 0])
        for unit in (1.0, 1e-50)
    )  # fmt: skip
    assert tiny.objective_ == pytest.approx(1e-100 * plain.objective_, rel=1e-7)


def test_a_huge_C_is_certified():
    """Two-coordinate steps alone would reach their largest number."""
    r = np.random.default_rng(0)
    X, y = r.normal(size=(40, 1)), r.integers(0, 2, 40)
    kernels = [Linear() * Gaussian(1.0)]
    model = MKLClassifier(kernels, weights="uniform", C=1e9, tol=1e-6, normalize=False).fit(X, y)
    assert model.lower_bound_ <= model.objective_ <= (1 + 1e-6) * model.lower_bound_
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("rule", ["align", "alignf"])
def test_alignment_does_not_depend_on_the_unit_of_a_target_that_is_not_scaled(rule):
    X, _ = data()
    fitted = [
        MKLRegressor(GAUSSIANS, weights=rule, scale_target=False, epsilon=0.0, C=1e-3).fit(
            X, unit * X[:, 0]
        )
        for unit in (1.0, 1e90)
    ]
    for model in fitted[1:]:
        np.testing.assert_allclose(model.weights_, fitted[0].weights_, rtol=1e-9)


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
