"""DANK and KNPL warn of features whose scales are so unlike that the kernel misses some."""

import numpy as np
import pandas as pd
import pytest

from pliant import (
    DANKClassifier,
    DANKRegressor,
    FeatureScaleWarning,
    KNPLClassifier,
    KNPLRegressor,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
UNLIKE = X * [1.0, 5000.0, 2.0]


@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor])
def test_it_names_both_columns_the_ratio_and_the_remedy_once(make):
    with pytest.warns(FeatureScaleWarning) as caught:
        make().fit(UNLIKE, Y)
    assert len(caught) == 1
    ratio = UNLIKE[:, 1].std() / UNLIKE[:, 0].std()
    assert str(caught[0].message) == (
        f"{make.__name__} got features of very unlike scale: the standard deviation of column 1 is "
        f"{ratio:.2g} times that of column 0, which the kernel hardly sees; scale the features, as "
        f"in make_pipeline(StandardScaler(), {make.__name__}())"
    )
    assert caught[0].filename == __file__
    frame = pd.DataFrame(UNLIKE, columns=["age", "income", "size"])
    with pytest.warns(FeatureScaleWarning, match=r"of 'income' is .* that of 'age', which"):
        make().fit(frame, Y)
