"""Integrals that all pairs of classes share."""

import numpy as np
import pytest

from pliant import GKLClassifier, TKLClassifier
from pliant.kernels import GeneralizedPolynomial, QuadratureKernel, TessellatedKernel
from pliant.methods.tessellated import integrals
from pliant.methods.tessellated.generalized_kernel import GeneralizedKernel
from pliant.methods.tessellated.integrals import IntegralTable

RANDOM = np.random.default_rng(0)
X, LABELS = RANDOM.random((12, 3)), np.arange(12) % 6
KERNELS = [
    TessellatedKernel(-0.5, 1.5),
    TessellatedKernel(-0.5, 1.5, basis="xz"),
    GeneralizedPolynomial(-1e4, 1e6, 2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_table_gives_the_gram_matrix_and_d(kernel):
    """Also where the integrals are of very different sizes."""
    rows = np.array([1, 4, 5, 11])
    part = IntegralTable.of(kernel, X, 1000, np.inf).between(rows)
    w, factor = RANDOM.standard_normal(4), RANDOM.standard_normal((kernel.shape_size(3), 2))
    expected = kernel.with_factor(factor).gram(X[rows])
    np.testing.assert_allclose(part.gram(factor), expected, rtol=1e-10)
    D = kernel.quadratic(X[rows], w)
    size = np.sqrt(np.outer(D.diagonal(), D.diagonal()))
    np.testing.assert_allclose(part.quadratic(w) / size, D / size, atol=1e-10)


def test_where_there_is_no_table(monkeypatch):
    kernel = KERNELS[0]
    assert IntegralTable.of(kernel, X, 3, np.inf) is None  # 36 Gram matrices for 3 pairs
    assert IntegralTable.of(kernel, X, 1000, 0.05) is None  # 64 * 12^2 * 8 bytes
    assert IntegralTable.of(kernel, np.zeros((2001, 3)), 10**6, np.inf) is None
    overflowing = QuadratureKernel(lambda z, x: np.full((1, len(x), 2), 1e200), [[0.0]], [1.0])
    assert IntegralTable.of(overflowing, X, 1000, np.inf) is None
    monkeypatch.setattr(integrals, "LARGEST_PART", 1000)
    assert IntegralTable.of(kernel, X, 1000, np.inf).between(np.arange(4)) is None


@pytest.mark.parametrize("estimator", [TKLClassifier(), GKLClassifier()], ids=repr)
def test_a_fit_is_the_same_with_and_without_a_table(estimator, monkeypatch):
    model = estimator.fit(X, LABELS)
    objectives = [each.objective_ for each in model.estimators_]
    monkeypatch.setattr(integrals, "LARGEST_TABLE", 0)
    without = estimator.fit(X, LABELS)
    np.testing.assert_allclose(objectives, [e.objective_ for e in without.estimators_], rtol=2e-3)
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


def test_many_classes_of_few_samples_evaluate_the_kernel_once(monkeypatch):
    """Not once or more for each support vector machine, of which there are hundreds."""
    calls, gram = [], GeneralizedKernel.gram
    monkeypatch.setattr(
        GeneralizedKernel, "gram", lambda *args, **kwargs: calls.append(1) or gram(*args, **kwargs)
    )
    model = TKLClassifier().fit(X, LABELS)
    assert all(each.relative_gap_ <= 1e-3 for each in model.estimators_)
    assert len(calls) == 8 * 9 / 2
    assert model.n_svm_solves_.sum() > 2 * len(calls)
