"""First bandwidths: equal, from tree importances, or from another member."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import RFE, SelectFromModel

from pliant import LABRBFRegressor
from pliant.methods.lab_rbf import constants, trainer

FUNCTIONS = {
    "wave": lambda a, b: np.cos(np.pi * (a + b)),
    "product": lambda a, b: a * b,
    "sine": lambda a, b: np.sin(2 * np.pi * a) + b,
    "sine of a product": lambda a, b: np.sin(3 * a * b),
    "two sines": lambda a, b: np.sin(np.pi * a) + np.sin(np.pi * b),
    "ridge": lambda a, b: np.maximum(0, a + b),
    "ring": lambda a, b: np.exp(-4 * (a * a + b * b - 0.5) ** 2),
    "step": lambda a, b: (a > 0) * 1.0 + 0.5 * b,
    "quotient": lambda a, b: a / (1.2 + b),
    "fourth power": lambda a, b: a**4 - b**2,
}
N_FEATURES = dict(zip(FUNCTIONS, (10, 20, 30, 40, 50, 60, 70, 80, 90, 100), strict=True))


def needle(name, seed, n_train=400):
    """Draw points of which two features matter; return training and test data."""
    rng = np.random.default_rng([list(FUNCTIONS).index(name), seed])
    d = N_FEATURES[name]
    X = rng.uniform(-1, 1, size=(n_train + 400, d))
    j, k = rng.choice(d, 2, replace=False)
    f = FUNCTIONS[name](X[:, j], X[:, k])
    y = f + 0.05 * f.std() * rng.normal(size=len(X))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_needle_in_a_haystack_is_found(name):
    for seed in range(2):
        X, y, X_new, y_new = needle(name, seed)
        trees = ExtraTreesRegressor(random_state=seed).fit(X, y).score(X_new, y_new)
        assert LABRBFRegressor(random_state=seed).fit(X, y).score(X_new, y_new) >= trees


def test_initial_squares_minimise_the_objective():
    X, y, _, _ = needle("product", 0)
    table = trainer.Table.from_arrays(X, y[:, None], None)
    model = LABRBFRegressor(random_state=0)
    model.target_low_, model.target_high_ = table.target_range
    steps = model._build_trainer(table, None, model._loss)
    start = steps.choose_starts(table, [trainer.Warp.learn(X, "raw")])[0]
    objective = trainer.build_objective(start, start.rows, steps.device)
    d = X.shape[1]
    equal, screened = (np.exp(s[0]) for s in start.initial)
    squares = [np.full((len(start.centres), d), q / d) for q in constants.INITIAL_SQUARES]
    values = [objective.value(np.log(each), start.level) for each in squares]
    np.testing.assert_allclose(equal, squares[int(np.argmin(values))][0])
    # theta^2 is proportional to the importances, which are the largest for the two features used
    ratio = screened.sum() / np.array(constants.INITIAL_SQUARES)
    assert np.abs(np.log(ratio)).min() < 0.01
    correlations = np.abs(np.corrcoef(np.c_[X**2, y], rowvar=False)[-1, :-1])
    assert set(np.argsort(screened)[-2:]) & set(np.argsort(correlations)[-4:])


def test_feature_selection_uses_the_relevance():
    X, y, _, _ = needle("product", 0)
    model = LABRBFRegressor(random_state=0, n_members=2)
    fitted = model.fit(X, y)
    best = set(np.argsort(fitted.feature_relevance_)[-2:])
    np.testing.assert_array_equal(fitted.feature_importances_, fitted.feature_relevance_)
    assert set(np.flatnonzero(SelectFromModel(model).fit(X, y).get_support())) == best
    assert (
        set(np.flatnonzero(RFE(model, n_features_to_select=2, step=4).fit(X, y).support_)) == best
    )


def test_shap_does_not_take_the_model_for_linear():
    shap = pytest.importorskip("shap")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 3))
    model = LABRBFRegressor(random_state=0, n_members=1).fit(X, X[:, 0] ** 2 + X[:, 1])
    with pytest.raises(TypeError, match="not callable"):
        shap.Explainer(model, X[:20])
    values = shap.Explainer(model.predict, X[:20])(X[:3])
    total = values.values.sum(axis=1) + values.base_values
    np.testing.assert_allclose(total, model.predict(X[:3]), atol=1e-10)
