"""Model files with the step that reads a table's columns: as it was, or refused."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import DANKClassifier, ModelFileError
from pliant.persistence import load_model, save_model
from pliant.tables import ColumnEncoder

RNG = np.random.default_rng(0)
X = np.column_stack(
    [RNG.normal(size=80), RNG.integers(0, 3, 80), RNG.integers(0, 40, 80), RNG.poisson(1, (80, 5))]
)
X[::7, :2] = np.nan
Y = (RNG.uniform(size=80) > 0.5).astype(int)


def fitted():
    encoder = ColumnEncoder(
        {1: ("a", "b", "c"), 2: 40}, ((3, 8),), task="classification", n_components=2
    )
    return make_pipeline(encoder, StandardScaler(), DANKClassifier()).fit(X, Y)


def test_predictions_are_the_same(tmp_path):
    model = fitted()
    save_model(model, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    names = loaded[:-1].get_feature_names_out(list("uvwabcde"))
    assert names.tolist() == model[:-1].get_feature_names_out(list("uvwabcde")).tolist()


CHANGES = {
    "part": ("parts_", lambda parts: parts[:-1]),
    "features": ("parts_", lambda parts: [(name, part, [9]) for name, part, _ in parts]),
    "kind": ("parts_", lambda parts: [(name, StandardScaler(), c) for name, _, c in parts]),
    "categories": ("categories", lambda _: {9: 3}),
    "texts": ("texts", lambda _: ((3, 99),)),
    "width": ("n_features_in_", lambda n: n + 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_step_whose_parts_do_not_fit_is_refused(tmp_path, name):
    attribute, change = CHANGES[name]
    model = fitted()
    setattr(model[0], attribute, change(getattr(model[0], attribute)))
    with pytest.raises(ModelFileError):
        save_model(model, tmp_path / "m.pliant")
    assert list(tmp_path.iterdir()) == []
