"""DANK and KNPL warn about features on very different scales."""

import numpy as np
import pandas as pd
import pytest

from pliant import DANKClassifier, DANKRegressor, FeatureScaleWarning, KNPLClassifier, KNPLRegressor

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
UNLIKE = X * [1.0, 5000.0, 2.0]


@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor])
def test_one_warning_names_both_columns_the_ratio_and_the_remedy(make):
    with pytest.warns(FeatureScaleWarning) as caught:
        make().fit(UNLIKE, Y)
    assert len(caught) == 1
    ratio = UNLIKE[:, 1].std() / UNLIKE[:, 0].std()
    assert str(caught[0].message) == (
        f"{make.__name__} got features on very different scales: column 1 has {ratio:.2g} times "
        f"the standard deviation of column 0, which has almost no effect on the "
        f"kernel; scale the features, as in make_pipeline(StandardScaler(), {make.__name__}())"
    )
    assert caught[0].filename == __file__
    frame = pd.DataFrame(UNLIKE, columns=["age", "income", "size"])
    with pytest.warns(FeatureScaleWarning, match=r"'income' has .* of 'age', which"):
        make().fit(frame, Y)
