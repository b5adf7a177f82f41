"""DANK and KNPL warn about features on very different scales, and refuse hopeless ones."""

import numpy as np
import pandas as pd
import pytest

from pliant import DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor
from pliant.exceptions import FeatureScaleWarning

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
UNLIKE = X * [1.0, 5000.0, 2.0]


@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor])
def test_a_warning_or_an_error_names_both_columns_the_ratio_and_the_remedy(make):
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
    message = (
        r"^expected standard deviations of features within a factor of 1e8, got 2e\+08 between "
        r"column 2 and column 1; standardise the features, as in make_pipeline\(StandardScaler"
    )
    with pytest.raises(ValueError, match=message):
        make().fit(X / X.std(axis=0) * [1.0, 0.1, 2e7], Y)
    frame = pd.DataFrame(UNLIKE, columns=["age", "income", "size"])
    with pytest.warns(FeatureScaleWarning, match=r"'income' has .* of 'age', which"):
        make().fit(frame, Y)
