"""MKLOneClass: its optimum, what its weights tend to, and what a user sees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_outlier_detector
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from pliant import C_path, MKLOneClass, ModelFileError
from pliant.kernels import Gaussian, Laplacian, Linear, On, Polynomial, Precomputed
from pliant.persistence import load_model, save_model
from tests.reference.mkl_conic import GAMMAS, optimum, svc_data

GAUSSIANS = [Gaussian(gamma) for gamma in GAMMAS]
N = 60
ROWS = np.arange(N)[:, None]


def samples(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, 3))


def exact_grams(X):
    """Gram matrices that libsvm, which rounds kernel values to float32, need not round."""
    return [
        np.round(Gaussian(gamma)(X) * 2.0**18) / 2.0**18 + np.eye(len(X)) / 1024
        for gamma in (0.1, 0.5, 2.0, 8.0)
    ]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("nu", [0.03, 0.1, 0.33, 0.5, 0.9])
def test_uniform_is_a_one_class_svm_on_the_mean_kernel(nu, weighted):
    w = np.random.default_rng(1).uniform(0.2, 3.0, size=N) if weighted else np.ones(N)
    grams = exact_grams(samples())
    model = MKLOneClass([Precomputed(gram) for gram in grams], nu=nu, normalize=False, tol=1e-12)
    model.fit(ROWS, sample_weight=w)
    mean = np.mean(grams, axis=0)
    svm = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-12).fit(mean, sample_weight=w)
    np.testing.assert_allclose(
        model.decision_function(ROWS), svm.decision_function(mean), atol=1e-8
    )
    np.testing.assert_allclose(model.score_samples(ROWS), svm.score_samples(mean), atol=1e-8)
    assert model.offset_ == pytest.approx(svm.offset_[0], abs=1e-8)
    np.testing.assert_array_equal(model.weights_, np.full(4, 0.25))
    alpha = model.dual_coef_
    value = -0.5 * alpha @ mean[np.ix_(model.support_, model.support_)] @ alpha
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_nu_of_one_makes_all_coefficients_equal():
    X = samples()
    model = MKLOneClass(GAUSSIANS, nu=1.0).fit(X)
    np.testing.assert_allclose(model.dual_coef_, np.ones(N))
    assert model.offset_ == pytest.approx(model.score_samples(X).max(), rel=1e-9)
    assert (model.predict(X) == -1).sum() == N - 1


@pytest.mark.parametrize("norm", [1.0, 1.25, 2.0, 5.0])
@pytest.mark.parametrize("seed", range(1, 4))
def test_equals_a_conic_solver(seed, norm):
    r = np.random.default_rng(seed)
    X, w = samples(seed, 24), r.uniform(0.2, 3.0, size=24)
    kernels = [On(Laplacian(0.5), [0]), On(Gaussian(1.0), [1]), On(Laplacian(0.3), [2]), Linear()]
    model = MKLOneClass(kernels, nu=0.3, weights="simple", norm=norm, tol=1e-8)
    model.fit(X, sample_weight=w)
    grams = [kernel(X) for kernel in model.kernels_]
    total, zeros = 0.3 * w.sum(), np.zeros(24)
    value = total**2 * optimum(grams, zeros, zeros, w / total, norm=norm, total=1.0)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert model.lower_bound_ <= value * (1 - 1e-7)
    assert (model.weights_**norm).sum() == pytest.approx(1.0)
    assert model.relative_gap_ <= 1e-8
    at_equal = MKLOneClass(kernels, nu=0.3, tol=1e-8).fit(X, sample_weight=w)
    assert 4 ** (1 - 1 / norm) * at_equal.objective_ >= model.objective_ * (1 - 1e-8)


def test_with_norm_1_the_kernel_of_the_largest_values_takes_all():
    # The coefficients are not negative: where K_1 >= K_2 entrywise, d_1 is worth more than d_2.
    for seed in range(5):
        X = samples(seed)
        order = np.random.default_rng(seed).permutation(5)
        model = MKLOneClass([GAUSSIANS[m] for m in order], weights="simple", nu=0.2).fit(X)
        np.testing.assert_array_equal(model.weights_, (order == 0).astype(float))
        squared = MKLOneClass(GAUSSIANS, weights="simple", norm=2.0, nu=0.2, tol=1e-9).fit(X)
        assert (np.diff(squared.weights_) < 0).all()
        rows = squared.support_vectors_
        q = np.array([squared.dual_coef_ @ k(rows) @ squared.dual_coef_ for k in GAUSSIANS])
        np.testing.assert_allclose(squared.weights_, q / np.linalg.norm(q), rtol=1e-3)


def test_with_norm_1_a_constant_feature_takes_all():
    X = np.column_stack([samples(), np.full(N, 7.0)])
    model = MKLOneClass([On(Gaussian(1.0), [j]) for j in range(4)], weights="simple").fit(X)
    np.testing.assert_array_equal(model.weights_, [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(model.score_samples(X), N / 2)


@pytest.mark.parametrize("parameters", [{}, {"weights": "simple"}, {"tol": 0.1}], ids=str)
@pytest.mark.parametrize("nu", [0.015, 0.1, 0.25, 0.7])
def test_nu_bounds_outliers_from_above_and_support_vectors_from_below(nu, parameters):
    X, w = samples(3, 150), np.random.default_rng(3).uniform(0.1, 2.0, size=150)
    for weights in (np.ones(150), w):
        model = MKLOneClass(GAUSSIANS[:3], nu=nu, **parameters).fit(X, sample_weight=weights)
        assert weights[model.predict(X) == -1].sum() <= nu * weights.sum()
        assert weights[model.support_].sum() >= nu * weights.sum() * (1 - 1e-9)
        assert model.dual_coef_.sum() == pytest.approx(nu * weights.sum())
        assert (model.dual_coef_ > 0).all()
        assert (model.dual_coef_ <= weights[model.support_] * (1 + 1e-12)).all()


@pytest.mark.parametrize("weights", ["uniform", "simple"])
@pytest.mark.parametrize("nu", [0.001, 0.5])
def test_the_gap_is_relative_to_the_objective_in_any_unit(weights, nu):
    X = samples()
    kernels = [Gaussian(0.5), Laplacian(3.0)]
    plain = MKLOneClass(kernels, weights=weights, nu=nu, tol=1e-6).fit(X)
    for unit, factor in ((1e-3, 1e3), (1e3, 1e-60), (1.0, 1e60)):
        model = clone(plain).set_params(kernels=[unit * k for k in kernels], normalize=False)
        model.fit(X, sample_weight=np.full(N, factor))
        assert 0 <= model.dual_gap_ <= 1e-6 * -model.objective_
        gap = model.objective_ - model.lower_bound_
        assert model.dual_gap_ == pytest.approx(gap, abs=-1e-12 * model.objective_)
        assert model.objective_ / (unit * factor**2) == pytest.approx(plain.objective_, rel=3e-6)
        np.testing.assert_allclose(model.weights_, plain.weights_, atol=1e-4)


def test_sample_weights():
    X, r = samples(), np.random.default_rng(5)
    w = r.uniform(0.1, 3.0, size=N)
    w[:10] = 0.0
    with_zeros = MKLOneClass(weights="simple", norm=2.0, nu=0.2).fit(X, sample_weight=w)
    without = MKLOneClass(weights="simple", norm=2.0, nu=0.2).fit(X[10:], sample_weight=w[10:])
    np.testing.assert_array_equal(with_zeros.weights_, without.weights_)
    np.testing.assert_array_equal(with_zeros.support_, without.support_ + 10)
    counts = r.integers(1, 4, size=N)
    once = MKLOneClass(GAUSSIANS, nu=0.2, tol=1e-10).fit(X, sample_weight=counts)
    often = MKLOneClass(GAUSSIANS, nu=0.2, tol=1e-10).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(once.decision_function(X), often.decision_function(X), atol=1e-4)


def test_the_prediction_is_one_line():
    X, new = samples(), samples(9, 30)
    model = MKLOneClass(GAUSSIANS, weights="simple", norm=2.0, nu=0.2).fit(X)
    line = model.kernel_(new, model.support_vectors_) @ model.dual_coef_
    np.testing.assert_allclose(model.score_samples(new), line, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(new), line + model.intercept_, atol=1e-12)
    inside = model.decision_function(new) >= 0
    np.testing.assert_array_equal(model.predict(new), np.where(inside, 1, -1))
    np.testing.assert_array_equal(clone(model).fit_predict(X), model.predict(X))
    assert is_outlier_detector(model)


def test_in_a_pipeline_it_finds_another_class():
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), MKLOneClass(nu=0.1)).fit(X[y == 0])
    assert (model.predict(X[y == 2]) == -1).mean() > 0.95
    assert (model.predict(X[y == 0]) == 1).mean() >= 0.9


def test_names_of_columns_on_a_data_frame():
    X = samples()
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = MKLOneClass([On(Gaussian(), ["age"]), On(Gaussian(), ["weight"])], nu=0.2).fit(frame)
    by_number = MKLOneClass([On(Gaussian(), [0]), On(Gaussian(), [2])], nu=0.2).fit(X)
    np.testing.assert_array_equal(model.predict(frame), by_number.predict(X))
    assert model.kernel_names_[0] == "Gaussian(gamma=1) of age"
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "size"}))


def test_the_summary():
    model = MKLOneClass(GAUSSIANS, weights="simple", norm=2.0, nu=0.2).fit(samples())
    (function,) = model.summary().functions
    assert function.objective == model.objective_ < 0
    assert function.relative_gap == model.relative_gap_ <= 1e-3
    assert function.n_support == len(model.support_) == model.summary().n_support
    assert function.details["kernels"] == 5
    assert model.summary().kernel is model.kernel_
    assert len(function.convergence.gaps) == model.n_iter_


def test_a_model_file_brings_it_back(tmp_path):
    X = samples()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = MKLOneClass([On(Gaussian(), ["a"]), "laplacian", Polynomial(2)], nu=0.2).fit(frame)
    save_model(model, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    assert loaded.decision_function(frame).tobytes() == model.decision_function(frame).tobytes()
    assert loaded.offset_ == model.offset_
    assert set(vars(loaded)) == set(vars(model))
    model.weights_ = model.weights_[:2]
    with pytest.raises(ModelFileError, match="a weight for each of 3 kernels, got the shape"):
        save_model(model, tmp_path / "forged.pliant")


def test_limits_leave_a_usable_model_and_a_warning():
    X = samples()
    with pytest.warns(ConvergenceWarning, match=r"relative gap of .*, where tol = 1e-09"):
        model = MKLOneClass(weights="simple", norm=1.2, max_iter=1, tol=1e-9).fit(X)
    assert model.lower_bound_ < model.objective_ < 0
    with pytest.warns(ConvergenceWarning, match="max_seconds = 1e-09 came first"):
        MKLOneClass(weights="simple", norm=1.2, tol=1e-9, max_seconds=1e-9).fit(X)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"nu": 0.0}, ValueError, "expected nu > 0, .*got 0"),
        ({"nu": 1.5}, ValueError, "expected nu <= 1, got 1.5"),
        ({"nu": "half"}, ValueError, "expected nu > 0, .*got 'half'"),
        (
            {"weights": "easy"},
            ValueError,
            r"expected weights in \['simple', 'uniform'\], got 'easy'",
        ),
        ({"norm": 2.0}, ValueError, "expected norm=1 with weights='uniform'"),
        ({"norm": 0.5, "weights": "simple"}, ValueError, "norm >= 1, .*got 0.5"),
        ({"kernels": []}, ValueError, "at least one kernel, got an empty list"),
        ({"kernels": [lambda A, B: -(A @ B.T)]}, ValueError, "the eigenvalue -.* for kernel 0"),
        ({"kernels": ["linear"]}, ValueError, "separate the samples from the origin, got"),
        (
            {"kernels": ["linear", On(Linear(), [0])], "weights": "simple", "norm": 2.0},
            ValueError,
            "separate the samples from the origin, got",
        ),
        (
            {"kernels": [lambda A, B: 0.0 * (A @ B.T)], "normalize": False},
            ValueError,
            "expected kernels with a positive trace, got a mean of 0",
        ),
        ({"tol": 0.0}, ValueError, "tol > 0"),
    ],
)
def test_wrong_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        MKLOneClass(**parameters).fit(samples())


def test_wrong_data():
    X = samples()
    with pytest.raises(ValueError, match="sample_weight > 0, got only zeros"):
        MKLOneClass().fit(X, sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match=r"sample_weight of shape \(60,\), got \(3,\)"):
        MKLOneClass().fit(X, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="a finite sum of sample_weight, got inf"):
        MKLOneClass().fit(X, sample_weight=np.full(N, 1e308))
    with pytest.raises(ValueError, match="NaN"):
        MKLOneClass().fit(np.where(X > 2.0, np.nan, X))
    with pytest.raises(ValueError, match="Invalid parameter 'C'"):
        C_path(MKLOneClass(), X, None, [1.0])


@pytest.mark.parametrize("X", [[[1.0, 2.0]], [[1.0, 2.0]] * 5, svc_data(0)[0] * 1e-9], ids=range(3))
def test_one_point_and_points_that_hardly_differ(X):
    model = MKLOneClass(["gaussian", "laplacian"], weights="simple", norm=2.0, nu=0.4).fit(X)
    assert (model.predict(X) == 1).mean() >= 0.6
    assert model.relative_gap_ <= 1e-3
