"""With eta=inf, DANK and KNPL agree with libsvm."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import DANKClassifier, KNPLClassifier
from pliant.kernels import Gaussian


@pytest.mark.parametrize("learner", [DANKClassifier, KNPLClassifier])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_precomputed_kernel_values(learner, load, C):
    X, y = load(return_X_y=True)
    gram = Gaussian(0.1)(StandardScaler().fit_transform(X))
    square, cross = gram[::2, ::2], gram[1::2, ::2]
    machine = learner("precomputed", C=C, eta=np.inf, extension="none", tol=1e-9)
    machine.fit(square, y[::2])
    plain = SVC(kernel="precomputed", C=C, tol=1e-9).fit(square, y[::2])
    ours, theirs = machine.decision_function(cross), plain.decision_function(cross)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_array_equal(machine.predict(cross), plain.predict(cross))


def test_the_learned_kernel_is_the_base_kernel():
    X, y = load_iris(return_X_y=True)
    machine = DANKClassifier(gamma=0.5, eta=np.inf).fit(X[50:], y[50:])
    assert machine.eta_ == np.inf
    np.testing.assert_array_equal(machine.kernel_(X[:60], X), Gaussian(0.5)(X[:60], X))
    assert machine.dual_gap_ <= machine.tol * (1 + machine.objective_)
