"""Going on from an earlier fit with ``warm_start=True``."""

import numpy as np
import pytest

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.methods.lab_rbf import ensemble, regressor

QUICK = {"n_support": 15, "n_members": 2, "max_iter": 4, "random_state": 0, "warm_start": True}


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, np.sin(4 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=n)


X, Y = table()


@pytest.mark.parametrize("transforms", ["auto", None])
@pytest.mark.parametrize("objective", ["ridge", "evidence", "mixed"])
def test_it_goes_on(objective, transforms):
    points = np.exp(2 * X)
    model = LABRBFRegressor(**QUICK, objective=objective, transforms=transforms).fit(points, Y)
    support, first = model.support_vectors_, model.score(points, Y)
    numbers, last = model.support_, [h[-1] for h in model.objective_history_]
    for _ in range(4):
        model.fit(points, Y)
    np.testing.assert_array_equal(model.support_vectors_, support)
    np.testing.assert_array_equal(model.support_, numbers)
    assert model.score(points, Y) > first
    for history, before in zip(model.objective_history_, last, strict=True):
        assert len(history) <= 4 + 2
        assert history[-1] < before


def test_the_start_is_where_the_fit_before_ended():
    model = LABRBFRegressor(**QUICK).fit(X, Y)
    member = model.members_[0]
    centres, stage = member.begun()
    u, W = member.warp_(X[:20]), np.exp(stage.log_squares)
    squares = (((u[:, None] - centres) ** 2) * W).sum(axis=2)
    np.testing.assert_allclose(squares, member.kernel_.squares(X[:20]), atol=1e-9)
    assert stage.shrinkage == member.shrinkage_


def test_more_members():
    model = LABRBFRegressor(**QUICK).fit(X, Y)
    support = model.support_vectors_
    model.set_params(n_members=3).fit(X, Y)
    assert len(model.members_) == 3
    np.testing.assert_array_equal(model.support_vectors_[: len(support)], support)


def test_scales_stay(monkeypatch):
    points, positive = np.exp(2 * X), np.exp(2 * Y)
    monkeypatch.setattr(regressor, "LEAST_ROWS", 2)
    monkeypatch.setattr(regressor, "GAIN", np.inf)
    model = LABRBFRegressor(**QUICK).fit(points, positive)
    assert model.target_transform_ == "log"
    scales = [member.warp_.key() for member in model.members_]
    calls = []
    monkeypatch.setattr(ensemble.EnsembleTrainer, "probe", lambda *args: calls.append(args))
    model.set_params(n_members=3).fit(points, positive)
    assert not calls
    assert model.target_transform_ == "log"
    assert [member.warp_.key() for member in model.members_[:2]] == scales
    assert model.members_[2].warp_.key() in scales
    with pytest.raises(ValueError, match="expected y > 0, since its logarithm was learned"):
        model.fit(points, Y)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    y = np.digitize(Y, [0.0, 0.5][: classes - 1])
    model = LABRBFClassifier(**QUICK).fit(X, y)
    support, last = model.support_vectors_, [h[-1] for h in model.objective_history_]
    model.fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, support)
    for history, before in zip(model.objective_history_, last, strict=True):
        assert history[-1] < before
    with pytest.raises(ValueError, match=r"expected labels .* with warm_start=True"):
        model.fit(X, y + 1)


@pytest.mark.parametrize(
    ("change", "data", "message"),
    [
        (
            {},
            (X[:, :2], Y),
            r"expected 3 features and 1 outputs with warm_start=True.* got 2 and 1",
        ),
        ({}, (X, np.column_stack([Y, Y])), r"expected 3 features and 1 outputs.* got 3 and 2"),
        ({"n_members": 1}, (X, Y), r"expected n_members >= 2, .* got 1"),
        ({"objective": "interpolation"}, (X, Y), r"expected warm_start=False .* got True"),
    ],
)
def test_what_does_not_go_together(change, data, message):
    model = LABRBFRegressor(**QUICK).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.set_params(**change).fit(*data)
    assert not model.__sklearn_is_fitted__()
