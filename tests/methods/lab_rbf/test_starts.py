"""First bandwidths: equal, from tree importances, or from another member."""

import dataclasses

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_selection import RFE, SelectFromModel

from pliant import LABRBFClassifier, LABRBFRegressor
from pliant.core.progress import Deadline, FitProgress
from pliant.core.threads import blas_limited
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
    """Draw points with two relevant features; return training and test data, and the features."""
    rng = np.random.default_rng([list(FUNCTIONS).index(name), seed])
    d = N_FEATURES[name]
    X = rng.uniform(-1, 1, size=(n_train + 400, d))
    pair = rng.choice(d, 2, replace=False)
    f = FUNCTIONS[name](*X[:, pair].T)
    y = f + 0.05 * f.std() * rng.normal(size=len(X))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:], set(pair)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wave", "ring"])
def test_a_needle_in_a_haystack_is_found(name):
    X, y, X_new, y_new, _ = needle(name, 0)
    trees = ExtraTreesRegressor(random_state=0).fit(X, y).score(X_new, y_new)
    assert LABRBFRegressor(random_state=0).fit(X, y).score(X_new, y_new) >= trees


@blas_limited  # as fits do
def begin(X, y, n_members):
    """Return a trainer with its table, and the starts of the members."""
    table = trainer.Table.from_arrays(X, y[:, None], None)
    model = LABRBFRegressor(random_state=0, n_members=n_members)
    model.target_low_, model.target_high_ = table.target_range
    deadline = Deadline(FitProgress(model, X, y), None)
    steps = model._build_trainer(table, deadline, model._loss)
    return steps, table, steps.choose_starts(table, [trainer.Warp.learn(X, "raw")])


def test_the_starts_are_equal_widths_and_importances():
    X, y, _, _, pair = needle("product", 0)
    steps, _, (start,) = begin(X, y, 1)
    objective = trainer.build_objective(start, start.rows, steps.device)
    equal, screened = start.initial
    d = X.shape[1]
    sizes = [np.full_like(equal, np.log(square / d)) for square in constants.INITIAL_SQUARES]
    values = [objective.value(s, start.log_penalty) for s in sizes]
    np.testing.assert_allclose(equal, sizes[int(np.argmin(values))])
    values = [
        objective.value(screened + np.log(factor), start.log_penalty) for factor in (0.3, 1, 3)
    ]
    assert int(np.argmin(values)) == 1
    assert set(np.argsort(screened[0])[-2:]) == pair


def test_trees_whose_splits_reduce_no_error_give_a_finite_start():
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.tile([0.0, 1.0], 20)
    _, _, (start,) = begin(X, y, 1)
    assert np.isfinite(start.initial[1]).all()
    assert np.isfinite(LABRBFRegressor(random_state=0).fit(X, y).predict(X)).all()


def test_four_members_start_alone_and_the_others_follow():
    X, y, _, _, _ = needle("product", 0)
    _, _, starts = begin(X, y, 6)
    (equal, screened), six = begin(X, y, 1)[2][0].initial, [start.initial for start in starts]
    assert [len(initial) for initial in six] == [1, 1, 1, 1, 0, 0]
    for (initial,), expected in zip(six[:4], (equal, equal, screened, screened), strict=True):
        # The values differ by a factor that each member chooses on its own rows.
        np.testing.assert_allclose(np.ptp(initial[0] - expected[0]), 0.0, atol=1e-12)
    objectives = [start.settings.objective for start in starts[:4]]
    assert objectives == ["ridge", "evidence", "ridge", "evidence"]


@pytest.mark.parametrize("better", [0, 1])
def test_a_member_starts_from_the_value_with_the_lowest_held_out_loss(monkeypatch, better):
    X, y, _, _, _ = needle("product", 0, n_train=100)
    steps, table, (start,) = begin(X, y, 1)
    start = start.following([start.initial[0][0], start.initial[1][0] - 1.0])
    assert start.first_stage == (np.inf, 8)
    low = start.initial[better]
    train = trainer.BandwidthTraining
    monkeypatch.setattr(train, "minimise", lambda self, objective, shrinkage, point, n: point)
    monkeypatch.setattr(
        train,
        "validate",
        lambda self, objective, point, shrinkage: trainer.Stage(
            *point, 1.0, 0.0, float(point[0] is not low)
        ),
    )
    stage = steps._begin_training(table, start, required=True).stage
    assert stage.log_squares is low


def test_the_followers_start_from_the_bandwidths_of_the_leaders(monkeypatch):
    X, y, _, _, _ = needle("ridge", 0, n_train=100)
    steps, table, starts = begin(X, y, 6)
    follow, given = trainer.MemberStart.following, []

    def record(start, metrics):
        given.append(metrics)
        return follow(start, metrics)

    monkeypatch.setattr(trainer.MemberStart, "following", record)
    fits = steps.train(table, starts)
    assert len(fits) == 6
    assert len(given) == 2
    assert given[0] is given[1]
    first = [steps._begin_training(table, start, required=True) for start in starts[:4]]
    for metric, training in zip(given[0], first, strict=True):
        np.testing.assert_allclose(metric, training.stage.log_squares[0], rtol=1e-12)


def test_members_added_to_a_fit_follow_the_mean_bandwidths_of_the_others(monkeypatch):
    X, y, _, _, _ = needle("ridge", 0, n_train=100)
    model = LABRBFRegressor(random_state=0, n_members=2, dense=False, warm_start=True).fit(X, y)
    given, follow = [], trainer.MemberStart.following
    monkeypatch.setattr(
        trainer.MemberStart, "following", lambda start, m: given.append(m) or follow(start, m)
    )
    train, before = trainer.BandwidthTraining, model.members_
    assert any(np.ptp(member.kernel_.bandwidths, axis=0).max() > 0 for member in before)
    monkeypatch.setattr(train, "minimise", lambda self, objective, shrinkage, point, n: point)
    model.set_params(n_members=7).fit(X, y)
    assert len(model.members_) == 7
    assert len(given) == 1  # two continue, four are leaders
    assert len(given[0]) == 6
    for metric, member in zip(given[0], before, strict=False):
        squares = 2 * np.log(member.mapped_bandwidths().clip(1e-3, 1e2))
        np.testing.assert_allclose(metric, squares.mean(axis=0), atol=1e-12)
    model.set_params(n_members="auto").fit(X, y)
    assert len(model.members_) == 7


@pytest.mark.parametrize(("n", "members", "stages"), [(1000, 10, (1e-3,)), (1001, 4, (0.1, 1e-3))])
def test_more_rows_have_fewer_members_and_more_stages(n, members, stages):
    X = np.random.default_rng(0).normal(size=(n, 2))
    steps, _, _ = begin(X, X[:, 0], "auto")
    assert len(steps.settings) == members
    assert {settings.shrinkages for settings in steps.settings} == {stages}


def test_probes_do_not_depend_on_the_seed():
    X, y, _, _, _ = needle("ridge", 0, n_train=100)
    steps, table, _ = begin(X, y, 2)
    other = dataclasses.replace(steps, seeds=steps.seeds + 1, probe_losses={})
    assert steps.probe(table, "raw") == other.probe(table, "raw")
    assert not np.array_equal(steps._split(100, 0).held_out, other._split(100, 0).held_out)


def test_the_first_members_choose_the_penalty(monkeypatch):
    X, y, _, _, _ = needle("ridge", 0, n_train=100)
    chosen, choose = [], LABRBFClassifier._choose_penalty
    monkeypatch.setattr(
        LABRBFClassifier,
        "_choose_penalty",
        lambda self, table, fits: chosen.extend(fits) or choose(self, table, fits),
    )
    model = LABRBFClassifier(random_state=0, n_members=7, max_iter=1).fit(X, y > 0)
    assert [fit.layer_output is not None for fit in chosen] == [True] * 5 + [False] * 2
    assert len({member.alpha_ for member in model._local_members}) == 1


def test_a_failed_member_uses_the_bandwidths_of_the_best(monkeypatch):
    X, y, _, _, _ = needle("ridge", 0)
    steps, table, starts = begin(X, y, 2)
    best, failed = (steps._begin_training(table, start, required=True) for start in starts)
    failed.start = failed.start._replace(shrinkages=())  # there is no local stage
    small = np.full_like(failed.stage.log_squares, -13.0)
    failed.stage = failed.validate(failed.objective, (small, failed.stage.log_penalty), np.inf)
    assert failed.stage.loss > 1.5 * best.stage.loss
    shared = failed.learn_local(best.stage)
    np.testing.assert_array_equal(shared.log_squares[0], best.stage.log_squares[0])
    assert shared.loss < failed.stage.loss
    monkeypatch.setattr(constants, "SHARED_LOSS", np.inf)
    assert failed.learn_local(best.stage) is failed.stage


def test_noise_has_a_large_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(200, 10)), rng.normal(size=200)
    model = LABRBFRegressor(random_state=0).fit(X, y)
    assert model.alpha_.max() > 10
    assert model.score(rng.uniform(size=(500, 10)), rng.normal(size=500)) > -0.1


@pytest.mark.parametrize("sign", [1, -1])
def test_a_skewed_target_with_zeros_is_transformed(sign):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 4))
    y = sign * np.maximum(0, np.exp(4 * X.sum(axis=1) + 0.1 * rng.normal(size=400)) - 0.01)
    assert (y == 0).any()
    model = LABRBFRegressor(random_state=0).fit(X[:200], y[:200])
    np.testing.assert_allclose(model.target_unit_, np.median(np.abs(y[:200][y[:200] != 0])))
    plain = LABRBFRegressor(random_state=0, transforms=None).fit(X[:200], y[:200])
    assert plain.target_unit_ is None
    errors = [np.abs(each.predict(X[200:]) - y[200:]).mean() for each in (model, plain)]
    assert errors[0] < errors[1]


def test_a_target_whose_skewness_asinh_increases_is_not_transformed(monkeypatch):
    monkeypatch.setattr(constants, "MAX_ASINH_LOSS", np.inf)
    X = np.random.default_rng(0).uniform(size=(60, 1))
    y = 1 - 0.9 * X[:, 0] ** 8  # positive, skewed to the left
    kind = {"random_state": 0, "n_members": 1, "max_iter": 1}
    units = [LABRBFRegressor(**kind).fit(X, values).target_unit_ for values in (y, 1 - y)]
    assert units[0] is None
    assert units[1] is not None


def test_approximate_errors_grow_with_few_samples(monkeypatch):
    X, y, _, _, _ = needle("ridge", 0)
    model = LABRBFRegressor(random_state=0, n_members=2, max_iter=3, dense=False).fit(X, y)
    errors = model.error_model_.errors
    monkeypatch.setattr(constants, "OPTIMISM", 0.0)
    np.testing.assert_allclose(errors, (1 + 10 / 400) * model.fit(X, y).error_model_.errors)


def test_feature_selection_uses_the_relevance():
    X, y, _, _, pair = needle("product", 0)
    model = LABRBFRegressor(random_state=0, n_members=2, max_iter=10, dense=False)
    chosen = RFE(model, n_features_to_select=2, step=10).fit(X, y).support_
    assert set(np.flatnonzero(chosen)) == pair
    assert set(np.flatnonzero(SelectFromModel(model).fit(X, y).get_support())) == pair
    np.testing.assert_array_equal(model.fit(X, y).feature_importances_, model.feature_relevance_)


@pytest.mark.filterwarnings("ignore")
def test_shap_does_not_take_the_model_for_linear():
    shap = pytest.importorskip("shap")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(120, 3))
    model = LABRBFRegressor(random_state=0, n_members=1).fit(X, X[:, 0] ** 2 + X[:, 1])
    with pytest.raises(TypeError, match="not callable"):
        shap.Explainer(model, X[:20])
