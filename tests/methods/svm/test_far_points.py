"""Points that are so far out that distances overflow."""

import numpy as np
import pytest

from pliant import DANKClassifier, KNPLClassifier
from pliant.kernels import EXTENSIONS
from tests.methods.hadamard.test_dank import classification


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("machine", [DANKClassifier(), DANKClassifier(tau=0), KNPLClassifier()])
def test_a_point_at_infinity_gets_the_intercept(machine, extension):
    X, y = classification(n=60)
    model = machine.set_params(extension=extension).fit(X, y)
    decision = model.decision_function(np.full((1, 3), 1e200))
    np.testing.assert_allclose(decision, model.intercept_, rtol=1e-12)
