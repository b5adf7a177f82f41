"""BEMKLClassifier and BEMKLRegressor: what they predict, keep, save and refuse."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

from pliant import BEMKLClassifier, BEMKLRegressor, ModelFileError
from pliant.core.progress import HAS_CALLBACKS
from pliant.kernels import Gaussian, Linear, On, Precomputed, WeightedSum
from pliant.persistence import load_model, save_model

FAMILY = ["linear", Gaussian(0.5), Gaussian(5.0)]


def classes(n=60, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    y = np.digitize(f, np.quantile(f, np.arange(1, n_classes) / n_classes))
    return X, np.array(["low", "middle", "high"])[y]


def targets(n=60, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 5.0 + 3.0 * (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.normal(size=n))


FITS = {
    "two classes": (BEMKLClassifier(FAMILY), classes()),
    "three classes": (BEMKLClassifier(FAMILY), classes(n_classes=3)),
    "regression": (BEMKLRegressor(FAMILY), targets()),
}
each_fit = pytest.mark.parametrize("name", FITS)


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(model).fit(*data) for name, (model, data) in FITS.items()}


@each_fit
def test_the_prediction_is_one_line(fitted, name):
    model = fitted[name]
    new = np.random.default_rng(1).normal(size=(20, 3))
    line = model.kernel_(new, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    mean = model.predict(new) if name == "regression" else model.decision_function(new)
    np.testing.assert_allclose(mean, line, rtol=1e-12, atol=1e-12)
    assert isinstance(model.kernel_, WeightedSum)
    assert model.kernel_.weights is model.weights_
    assert model.kernel_names_[0] == "Linear"
    assert len(model.kernels_) == len(model.weights_) == len(model.weights_std_) == 3
    assert (model.weights_std_ > 0).all()


@each_fit
def test_the_bound_rises_to_the_end(fitted, name):
    model = fitted[name]
    history = model.lower_bound_history_
    assert len(history) == model.n_iter_
    assert history[-1] == model.lower_bound_
    assert np.all(np.diff(history) >= -1e-10 * (1 + np.abs(history[1:])))


def sampled(model, points, output, count=40_000):
    """Values of e'g + b drawn from the posterior, shape (count, n_points)."""
    rng = np.random.default_rng(0)
    scale = getattr(model, "target_scale_", 1.0)
    mean = model.dual_coef_.reshape(len(model.support_vectors_), -1)[:, output] / scale
    outputs = len(model.coef_cov_)
    values = np.array([kernel(points, model.support_vectors_) for kernel in model.kernels_])
    a = rng.multivariate_normal(mean, model.coef_cov_[output], size=count, method="cholesky")
    line = np.concatenate([np.zeros(outputs), model.weights_])
    line = rng.multivariate_normal(line, model.line_cov_, size=count)
    total = line[:, [output]] * np.ones(len(points))
    for m in range(len(values)):
        noise = np.sqrt(model.latent_variance_) * rng.normal(size=(count, len(points)))
        total += line[:, [outputs + m]] * (a @ values[m].T + noise)
    return total


@each_fit
def test_the_variances_are_those_of_draws_from_the_posterior(fitted, name):
    model = fitted[name]
    points = np.array([[0.1, 0.0, 0.0], [1.0, -1.0, 0.5], [4.0, 4.0, 4.0]])
    scale = getattr(model, "target_scale_", 1.0)
    variances = model._variances(points, scale)
    assert variances.shape == (3, len(model.coef_cov_))
    for output in range(variances.shape[1]):
        drawn = sampled(model, points, output).var(axis=0)
        np.testing.assert_allclose(drawn, variances[:, output], rtol=0.05)


def test_the_standard_deviation_is_of_the_posterior_and_of_the_noise(fitted):
    model, new = fitted["regression"], np.random.default_rng(1).normal(size=(20, 3))
    mean, std = model.predict(new, return_std=True)
    variance = model._variances(new, model.target_scale_)[:, 0] * model.target_scale_**2
    np.testing.assert_allclose(std**2, variance + model.noise_std_**2, rtol=1e-10)
    np.testing.assert_array_equal(mean, model.predict(new))


def test_two_classes_have_the_probabilities_of_the_two_sides_of_the_margin(fitted):
    model, new = fitted["two classes"], np.random.default_rng(1).normal(size=(20, 3))
    f, spread = model.decision_function(new), np.sqrt(1 + model._variances(new)[:, 0])
    above, below = ndtr((f - 1) / spread), ndtr((-1 - f) / spread)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], above / (above + below), rtol=1e-9)


@pytest.mark.parametrize("name", ["two classes", "three classes"])
def test_probabilities_sum_up_to_one_and_agree_with_the_decision(fitted, name):
    model, new = fitted[name], 3 * np.random.default_rng(1).normal(size=(50, 3))
    probabilities = model.predict_proba(new)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0).all()
    if name == "two classes":
        np.testing.assert_array_equal(
            model.classes_[probabilities.argmax(axis=1)], model.predict(new)
        )
    else:
        assert model.decision_function(new).shape == (50, 3)
        assert model.dual_coef_.shape == (60, 3)
        assert model.weights_.shape == (3,)  # shared by the classes


def test_extreme_points_have_finite_probabilities(fitted):
    for name in ("two classes", "three classes"):
        probabilities = fitted[name].predict_proba(np.array([[1e4, 1e4, 1e4], [-1e4, 0, 0]]))
        assert np.isfinite(probabilities).all()


def test_probabilities_are_calibrated_as_far_as_classes_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    truth = ndtr(2.5 * np.sin(1.5 * X[:, 0]))
    y = rng.uniform(size=1200) < truth
    model = BEMKLClassifier([Gaussian(0.5), "linear"], margin=0.0).fit(X[:200], y[:200])
    guessed = model.predict_proba(X[200:])[:, 1]
    best, base = log_loss(y[200:], truth[200:]), log_loss(y[200:], np.full(1000, y[:200].mean()))
    assert log_loss(y[200:], guessed) < best + 0.25 * (base - best)
    assert np.mean(guessed) == pytest.approx(np.mean(y[200:]), abs=0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("regression", [True, False])
def test_kernels_of_noise_have_smaller_weights(regression, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6))
    f = 2 * np.sin(2 * X[:, 0]) + 2 * np.sin(2 * X[:, 1]) + 0.2 * rng.normal(size=120)
    kernels = [On(Gaussian(1.0), [j]) for j in range(6)]
    model = BEMKLRegressor(kernels) if regression else BEMKLClassifier(kernels)
    weights = np.abs(model.fit(X, f if regression else f > 0).weights_)
    assert weights[:2].min() > weights[2:].max()


def test_sparse_priors_leave_few_kernels():
    X, y = targets(noise=0.1)
    kernels = [On(Gaussian(1.0), [j]) for j in range(3)]
    flat = BEMKLRegressor(kernels).fit(X, y)
    sparse = BEMKLRegressor(kernels, weights_prior=(1e-10, 1e10)).fit(X, y)
    share = [np.abs(model.weights_[2]) / np.abs(model.weights_).max() for model in (sparse, flat)]
    assert share[0] < 0.1 * share[1]


def test_standard_deviations_fall_to_the_noise_far_away_if_the_kernels_are_local():
    X, y = targets()
    local = BEMKLRegressor([Gaussian(1.0)]).fit(X, y)
    near, far = local.predict([[0.0, 0.0, 0.0], [50.0, 50.0, 50.0]], return_std=True)[1]
    assert far <= near
    assert far >= local.noise_std_
    line = BEMKLRegressor([Linear()], normalize=False).fit(X, y)
    near, far = line.predict([[0.0, 0.0, 0.0], [50.0, 50.0, 50.0]], return_std=True)[1]
    assert far > 2 * near


def test_predictions_follow_the_units_of_the_target():
    X, y = targets()
    model = BEMKLRegressor(FAMILY).fit(X, y)
    other = BEMKLRegressor(FAMILY).fit(X, 1e-3 * y + 7.0)
    mean, std = model.predict(X, return_std=True)
    moved, spread = other.predict(X, return_std=True)
    np.testing.assert_allclose(moved, 1e-3 * mean + 7.0, rtol=1e-7)
    np.testing.assert_allclose(spread, 1e-3 * std, rtol=1e-6)
    raw = BEMKLRegressor(FAMILY, scale_target=False).fit(X, y)
    assert raw.target_scale_ == 1.0
    assert raw.predict(X) != pytest.approx(mean, rel=1e-6)


def test_it_predicts_well():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(BEMKLClassifier(FAMILY), X, y, cv=3).mean() > 0.94
    X, y = targets(150)
    kernels = [On(Gaussian(0.5), [j]) for j in range(3)]
    assert cross_val_score(BEMKLRegressor(kernels), X, y, cv=3).mean() > 0.8


def test_default_kernels():
    X, y = classes(40)
    model = BEMKLClassifier(tol=1e-3).fit(X, y)
    assert len(model.kernels_) == 13 * 4
    assert model.score(X, y) > 0.9


def test_gram_matrices_and_kernels_of_points_agree():
    X, y = targets()
    kernels = [Gaussian(0.5), Linear()]
    points = BEMKLRegressor(kernels, normalize=False).fit(X[:40], y[:40])
    grams = [Precomputed(kernel(X)) for kernel in kernels]
    rows = np.arange(60)[:, None]
    matrices = BEMKLRegressor(grams, normalize=False).fit(rows[:40], y[:40])
    np.testing.assert_allclose(matrices.predict(rows[40:]), points.predict(X[40:]), rtol=1e-8)
    np.testing.assert_allclose(matrices.weights_, points.weights_, rtol=1e-8)


def test_float32_and_recomputed_matrices_give_the_same_model():
    X, y = classes(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = BEMKLClassifier(FAMILY, max_iter=15).fit(X, y)
        halved = BEMKLClassifier(FAMILY, max_iter=15, cache_mb=0.5).fit(X, y)
        never = BEMKLClassifier(FAMILY, max_iter=15, cache_mb=0.4).fit(X, y)
    np.testing.assert_allclose(halved.weights_, whole.weights_, rtol=1e-3)
    np.testing.assert_allclose(never.weights_, whole.weights_, rtol=1e-6)
    with pytest.raises(ValueError, match="cache_mb"):
        BEMKLClassifier(FAMILY, cache_mb=0.1).fit(X, y)


def test_names_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    X, y = targets()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    named = BEMKLRegressor([On(Gaussian(1.0), ["a"]), On(Gaussian(1.0), ["b"])]).fit(frame, y)
    numbered = BEMKLRegressor([On(Gaussian(1.0), [0]), On(Gaussian(1.0), [1])]).fit(X, y)
    np.testing.assert_array_equal(named.predict(frame), numbered.predict(X))
    assert named.kernel_names_[0].endswith("of a")
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["b", "a", "c"]])


WRONG = {
    "normalize": ("yes", "normalize True or False"),
    "coef_prior": ((1.0, 0.0), "the scale of coef_prior > 0"),
    "bias_prior": (1.0, "bias_prior = .shape, scale."),
    "weights_prior": ((1.0, 1.0, 1.0), "weights_prior = .shape, scale."),
    "max_iter": (0, "max_iter >= 1"),
    "tol": (-1.0, "tol >= 0"),
    "max_seconds": (0, "max_seconds > 0"),
    "cache_mb": ("much", "cache_mb > 0"),
    "kernels": ([], "at least one kernel"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name):
    value, message = WRONG[name]
    for model, data in ((BEMKLClassifier(), classes()), (BEMKLRegressor(), targets())):
        with pytest.raises(ValueError, match=message):
            model.set_params(**{name: value}).fit(*data)


def test_wrong_parameters_and_data_of_only_one_of_them_are_refused():
    X, y = classes()
    for name, value in (("margin", -1.0), ("sigma_g", 0.0), ("sigma_g", 1e-160)):
        with pytest.raises(ValueError, match=f"expected {name} >"):
            BEMKLClassifier(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        BEMKLClassifier().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="the shape of noise_prior > 0"):
        BEMKLRegressor(noise_prior=(-1.0, 1.0)).fit(*targets())
    with pytest.raises(ValueError, match="scale_target True or False"):
        BEMKLRegressor(scale_target=1).fit(*targets())
    with pytest.raises(ValueError, match="a target that varies"):
        BEMKLRegressor().fit(X, np.ones(60))


def test_kernels_that_cannot_be_learned_from_are_refused():
    X, y = targets()
    with pytest.raises(ValueError, match="positive semi-definite"):
        BEMKLRegressor([lambda A, B: -(A @ B.T)], normalize=False).fit(X, y)
    with pytest.raises(ValueError, match="normalize=True"):
        BEMKLRegressor(["linear"], normalize=False).fit(1e90 * X, y)
    with pytest.raises(ValueError, match=r"y from 1e-100 to 1e\+100 with"):
        BEMKLRegressor(["gaussian"], scale_target=False).fit(X, 1e200 * y)


def test_limits_are_reported():
    X, y = targets()
    with pytest.warns(ConvergenceWarning, match="max_iter = 3 came first"):
        model = BEMKLRegressor(FAMILY, max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="max_seconds = 1e-06 came first"):
        model = BEMKLRegressor(FAMILY, max_seconds=1e-6).fit(X, y)
    assert model.n_iter_ == 1


def test_a_summary_has_the_weights_and_their_spread(fitted):
    model = fitted["regression"]
    summary = model.summary()
    (function,) = summary.functions
    assert function.objective == model.lower_bound_
    assert function.details["kernels"] == 3
    np.testing.assert_array_equal(summary.weights.weights, [model.weights_])
    np.testing.assert_array_equal(summary.weights.spread, model.weights_std_)
    assert summary.weights.names() == model.kernel_names_
    assert "weights" in summary.drawings
    assert summary.n_support == 60


@each_fit
def test_a_model_file_holds_all(fitted, name, tmp_path):
    pytest.importorskip("skops")
    model, new = fitted[name], np.random.default_rng(1).normal(size=(20, 3))
    loaded = round_trip(model, tmp_path / "m.skops")
    if name == "regression":
        for one, two in zip(
            loaded.predict(new, return_std=True), model.predict(new, return_std=True), strict=True
        ):
            np.testing.assert_array_equal(one, two)
    else:
        np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert set(vars(loaded)) == set(vars(model))


def round_trip(model, path):
    save_model(model, path)
    return load_model(path).model


FORGERIES = {
    "kernel": lambda m: setattr(m, "kernel_", 3.0),
    "kernel, other": lambda m: setattr(m, "kernel_", m.kernels_[0]),
    "kernel, weights": lambda m: setattr(m.kernel_, "weights", 2.0 * m.weights_),
    "kernels, none": lambda m: setattr(m, "kernels_", 3.0),
    "kernels, features": lambda m: m.kernels_.__setitem__(0, On(Gaussian(1.0), [7])),
    "kernels": lambda m: setattr(m, "kernels_", m.kernels_[:-1]),
    "names": lambda m: setattr(m, "kernel_names_", []),
    "weights": lambda m: setattr(m, "weights_", m.weights_[:-1]),
    "nan": lambda m: setattr(m, "intercept_", np.nan),
    "coefficients": lambda m: setattr(m, "dual_coef_", m.dual_coef_[:-1]),
    "covariance": lambda m: setattr(m, "coef_cov_", m.coef_cov_[:, :-1]),
    "line": lambda m: setattr(m, "line_cov_", m.line_cov_[:-1]),
    "points": lambda m: setattr(m, "support_vectors_", m.support_vectors_[:, :-1]),
    "scale": lambda m: setattr(m, "target_scale_", np.inf),
    "history": lambda m: setattr(m, "lower_bound_history_", m.lower_bound_history_[:-1]),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_forged_files_are_refused(forge, tmp_path):
    pytest.importorskip("skops")
    model = BEMKLRegressor(["gaussian", "linear"], tol=1e-3).fit(*targets(20))
    FORGERIES[forge](model)
    with pytest.raises(ModelFileError, match="expected"):
        round_trip(model, tmp_path / "m.skops")


def test_a_function_as_kernel_works_and_is_not_saved(tmp_path):
    pytest.importorskip("skops")
    X, y = targets(30)
    model = BEMKLRegressor([lambda A, B: A @ B.T + 1.0, "gaussian"]).fit(X, y)
    assert model.predict(X).shape == (30,)
    with pytest.raises(ModelFileError, match="function"):
        save_model(model, tmp_path / "m.skops")


def test_the_weights_are_drawn_with_their_spread(fitted):
    pytest.importorskip("matplotlib").use("agg")
    from pliant.plots import WeightsDisplay

    model = fitted["regression"]
    assert "weights" in model.summary().drawings
    display = WeightsDisplay.from_estimator(model)
    np.testing.assert_array_equal(np.ravel(display.spread), model.weights_std_)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
def test_callbacks_follow_a_fit_and_stop_it():
    class Recorder:
        def __init__(self, stop):
            self.stop = stop
            self.seen = []

        def setup(self, estimator, context):
            self.seen.append("setup")

        def teardown(self, estimator, context):
            self.seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            self.seen.append("begin")

        def on_fit_task_end(self, estimator, context):
            self.seen.append("end")
            return self.stop

    X, y = targets()
    recorder = Recorder(stop=False)
    full = BEMKLRegressor(FAMILY).set_callbacks(recorder).fit(X, y)
    assert recorder.seen[0] == "setup"
    assert recorder.seen[-1] == "teardown"
    assert recorder.seen.count("begin") == recorder.seen.count("end") == full.n_iter_ + 1
    stopped = BEMKLRegressor(FAMILY).set_callbacks(Recorder(stop=True)).fit(X, y)
    assert stopped.n_iter_ == 1
