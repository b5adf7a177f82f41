from collections.abc import Iterator

import matplotlib
import pytest
from matplotlib import pyplot

from pliant import DANKClassifier
from pliant.datasets import make_clowns


@pytest.fixture(autouse=True)
def _nothing_on_the_screen() -> Iterator[None]:
    backend = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    pyplot.close("all")  # left open by other tests, such as docstring examples
    yield
    pyplot.close("all")
    pyplot.switch_backend(backend)


@pytest.fixture(scope="package")
def clowns():
    return make_clowns(40, random_state=0)


@pytest.fixture(scope="package")
def model(clowns):
    return DANKClassifier(C=10.0, eta_scale=0.1, tau=0.0).fit(*clowns)
