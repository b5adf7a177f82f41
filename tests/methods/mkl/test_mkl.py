"""MKLClassifier and MKLRegressor: public behaviour."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from pliant import C_path, MKLClassifier, MKLRegressor
from pliant.kernels import TL1, Gaussian, Linear, On, Polynomial, Precomputed, WeightedSum
from pliant.methods.mkl.candidates import MAX_DEFAULT_KERNELS, default_kernels
from tests.reference.mkl_conic import GAMMAS, optimum, svc_data, svr_data

GAUSSIANS = [Gaussian(gamma) for gamma in GAMMAS]


def wine(n_classes=3):
    X, y = load_wine(return_X_y=True)
    return X[y < n_classes], y[y < n_classes]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_uniform_matches_svc_on_the_mean_kernel(n_classes):
    X, y = wine(n_classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = MKLClassifier(GAUSSIANS, weights="uniform", C=3.0, tol=1e-13).fit(X, y)
    mean = np.mean([kernel(X) for kernel in GAUSSIANS], axis=0)
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-12, decision_function_shape="ovo").fit(mean, y)
    expected = svc.decision_function(mean)
    members = getattr(model, "estimators_", [model])
    ours = np.column_stack([each._expand(X) for each in members])
    expected = expected[:, None] if n_classes == 2 else -expected  # libsvm has the opposite sign
    np.testing.assert_allclose(ours, expected, atol=1e-8)
    np.testing.assert_array_equal(model.weights_, np.full(5, 0.2))


def test_uniform_matches_svr_on_the_mean_kernel():
    # libsvm rounds kernel values to float32, which leaves these values and their mean unchanged
    X, y = svr_data(1, 60)
    grams = [
        np.round(kernel(X) * 2.0**18) / 2.0**18 + np.eye(60) / 1024 for kernel in GAUSSIANS[1:]
    ]
    model = MKLRegressor(
        [Precomputed(gram) for gram in grams], weights="uniform", C=3.0, epsilon=0.05,
        scale_target=False, normalize=False, tol=1e-12,
    ).fit(np.arange(60)[:, None], y)  # fmt: skip
    mean = np.mean(grams, axis=0)
    svr = SVR(kernel="precomputed", C=3.0, epsilon=0.05, tol=1e-12).fit(mean, y)
    np.testing.assert_allclose(model.predict(np.arange(60)[:, None]), svr.predict(mean), atol=1e-8)


@pytest.mark.parametrize("norm", [1.0, 2.0])
def test_pairs_share_weights_of_the_mean_objective(norm):
    X, y = load_iris(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(150)[:60]
    X, y = X[chosen], y[chosen]
    model = MKLClassifier(GAUSSIANS[:3], norm=norm, C=2.0, tol=1e-8).fit(X, y)
    values = []
    for each, (low, high) in zip(model.estimators_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = np.flatnonzero((y == low) | (y == high))
        assert set(each.support_) <= set(rows)
        np.testing.assert_array_equal(each.weights_, model.weights_)
        sum_of = model.kernel_(X[rows])
        svc = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(sum_of, y[rows] == high)
        b = svc.dual_coef_[0]
        values.append(np.abs(b).sum() - 0.5 * b @ sum_of[np.ix_(svc.support_, svc.support_)] @ b)
        signs = np.where(svc.predict(sum_of), high, low)
        np.testing.assert_array_equal(each.predict(X[rows]), signs)
    assert model.objective_ == pytest.approx(np.mean(values), rel=1e-6)
    assert model.lower_bound_ <= np.mean(values) * (1 + 1e-8)


def test_prediction_matches_its_formula():
    X, y = svc_data(2, 60)
    model = MKLClassifier(GAUSSIANS, C=5.0).fit(X, y)
    points = np.random.default_rng(9).uniform(size=(30, 3))
    line = model.kernel_(points, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(model.decision_function(points), line, rtol=1e-12)
    assert isinstance(model.kernel_, WeightedSum)
    used = SVC(kernel=model.kernel_, C=5.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        used.decision_function(points), model.decision_function(points), atol=0.02
    )


def test_sample_weights_multiply_C():
    X, y = svc_data(4)
    weights = np.random.default_rng(4).uniform(0.1, 3.0, size=24)
    model = MKLClassifier(GAUSSIANS, C=2.0, tol=1e-7).fit(X, y, sample_weight=weights)
    upper = np.where(y > 0, 2.0 * weights, 0.0)
    lower = np.where(y < 0, -2.0 * weights, 0.0)
    value = optimum([kernel(X) for kernel in GAUSSIANS], y, lower, upper)
    assert model.objective_ == pytest.approx(value, rel=2e-6)
    weights[:6] = 0.0
    with_zeros = MKLClassifier(C=2.0, tol=1e-7).fit(X, y, sample_weight=weights)
    without = MKLClassifier(C=2.0, tol=1e-7).fit(X[6:], y[6:], sample_weight=weights[6:])
    np.testing.assert_array_equal(with_zeros.weights_, without.weights_)
    np.testing.assert_array_equal(with_zeros.support_, without.support_ + 6)


@pytest.mark.parametrize("learner", [MKLClassifier, MKLRegressor])
def test_noise_features_get_little_weight(learner):
    shares = []
    for seed in range(20):
        r = np.random.default_rng(seed)
        X = r.normal(size=(200, 6))
        f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * r.normal(size=200)
        kernels = [On(Gaussian(gamma), [j]) for j in range(6) for gamma in (0.1, 1.0)]
        model = learner(kernels).fit(X, f > 0 if learner is MKLClassifier else f)
        shares.append(model.weights_[4:].sum() / model.weights_.sum())
    assert np.median(shares) < 0.05


def test_default_kernels():
    r = np.random.default_rng(0)
    X = np.column_stack([r.normal(5.0, 3.0, size=50), np.full(50, 2.0), r.uniform(size=50)])
    kernels = default_kernels(X)
    assert len(kernels) == 13 * 3
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    widths = (0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0)
    twins = [Gaussian(0.5 / width**2) for width in widths]
    twins += [Polynomial(degree) for degree in (1, 2, 3)]
    for kernel, twin in zip(kernels[:13], twins, strict=True):
        np.testing.assert_allclose(kernel(X), twin(Z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernels[13 + 1](X), Gaussian(0.5)(Z[:, :1]), atol=1e-12)
    np.testing.assert_allclose(kernels[26](X), Gaussian(2.0)(Z[:, 2:]), atol=1e-12)
    assert len(default_kernels(r.normal(size=(20, 200)))) == 13 < MAX_DEFAULT_KERNELS
    model = MKLClassifier(C=10.0).fit(X, X[:, 0] > 5.0)
    assert all((each.diag(X) == pytest.approx(1.0)) for each in model.kernels_)
    assert model.score(X, X[:, 0] > 5.0) > 0.95


def test_column_names_of_a_data_frame():
    X, y = svc_data(5, 60)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = MKLClassifier([On(Gaussian(5.0), ["age"]), On(Linear(), ["weight"])])
    with pytest.raises(ValueError, match="k\\(x, x\\) > 0"):
        model.fit(frame - frame.iloc[0], y)
    model.set_params(normalize=False).fit(frame, y)
    assert model.kernel_names_ == ["Gaussian(gamma=5) of age", "Linear of weight"]
    by_number = MKLClassifier([On(Gaussian(5.0), [0]), On(Linear(), [2])], normalize=False)
    np.testing.assert_array_equal(by_number.fit(X, y).weights_, model.weights_)
    with pytest.raises(ValueError, match="'size'"):
        MKLClassifier([On(Gaussian(), ["size"])]).fit(frame, y)


def test_precomputed_grams_in_a_search():
    X, y = svc_data(6, 60)
    grams = [7.0 * Gaussian(5.0)(X), Linear()(X)]
    rows = np.arange(60)[:, None]
    model = MKLClassifier([Precomputed(gram) for gram in grams])
    search = GridSearchCV(model, {"C": [0.1, 1.0, 10.0]}, cv=3).fit(rows, y)
    best = search.best_estimator_
    assert search.best_score_ > 0.6
    assert best.kernels_[0](rows).trace() == pytest.approx(60.0)  # normalised by the trace
    train, test = rows[:40], rows[40:]
    fitted = clone(model).fit(train, y[:40])
    points = MKLClassifier([Gaussian(5.0), Linear()], normalize=False, C=1.0)
    scale = [1.0, 40 / np.trace(grams[1][:40, :40])]
    points.set_params(kernels=[Gaussian(5.0), scale[1] * Linear()]).fit(X[:40], y[:40])
    np.testing.assert_allclose(fitted.weights_, points.weights_, atol=1e-6)
    np.testing.assert_allclose(
        fitted.decision_function(test), points.decision_function(X[40:]), atol=1e-4
    )


def test_kernels_as_functions_and_names():
    def both(A, B):
        return (A @ B.T + 1.0) ** 2

    X, y = svc_data(7, 40)
    model = MKLClassifier([both, "laplacian", Gaussian(1.0)], C=5.0).fit(X, y)
    same = MKLClassifier([Polynomial(2), "laplacian", Gaussian(1.0)], C=5.0).fit(X, y)
    np.testing.assert_allclose(model.weights_, same.weights_, atol=1e-8)
    assert model.kernel_names_[0] == "both"


def test_C_path_and_threads_match_single_fits():
    X, y = svc_data(8, 60)
    path = C_path(MKLClassifier(GAUSSIANS, tol=1e-7), X, y, [0.1, 1.0, 10.0])
    for model in path:
        alone = MKLClassifier(GAUSSIANS, C=model.C, tol=1e-7, n_jobs=2).fit(X, y)
        assert alone.objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_certificate_at_any_tolerance():
    X, y = svc_data(0)
    best = MKLClassifier(GAUSSIANS, C=4.0, tol=1e-10).fit(X, y).objective_
    for tol in (0.3, 1e-2, 1e-4):
        model = MKLClassifier(GAUSSIANS, C=4.0, tol=tol).fit(X, y)
        assert model.lower_bound_ - 1e-9 <= best <= model.objective_ + 1e-9
        assert model.dual_gap_ == pytest.approx(model.objective_ - model.lower_bound_)
        assert model.relative_gap_ <= tol
        assert len(model.gap_history_) == model.n_iter_
        assert (np.diff(model.gap_history_) <= 1e-12).all()


def test_limits_warn_and_leave_a_usable_model():
    X, y = wine(2)
    with pytest.warns(ConvergenceWarning, match=r"relative gap of .*, above tol = 1e-06"):
        model = MKLClassifier(max_iter=1, tol=1e-6).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.warns(ConvergenceWarning, match="max_seconds = 1e-09 was reached"):
        timed = MKLClassifier(tol=1e-12, max_seconds=1e-9).fit(X, y)
    assert timed.n_iter_ <= 2
    assert timed.lower_bound_ <= timed.objective_


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"kernels": []}, ValueError, "at least one kernel, got an empty list"),
        ({"kernels": Gaussian()}, TypeError, "expected kernels='auto' or a list of kernels, got"),
        ({"kernels": "gaussian"}, TypeError, "or a list of kernels, got 'gaussian'"),
        ({"kernels": [Gaussian(), 3]}, TypeError, r"kernels\[1\]: .*got 3"),
        ({"kernels": [TL1(0.5)]}, ValueError, "positive semi-definite kernels, got TL1"),
        ({"kernels": ["precomputed"]}, ValueError, r"pass pliant\.kernels\.Precomputed"),
        ({"kernels": [lambda A, B: -(A @ B.T)]}, ValueError, "the eigenvalue -.* for kernel 0"),
        ({"kernels": [lambda A, B: A @ np.ones((3, 3)) @ B]}, ValueError, "to return an array"),
        ({"kernels": [Linear()]}, ValueError, r"k\(x, x\) > 0 to normalise kernels, got 0"),
        ({"norm": 2.0, "weights": "uniform"}, ValueError, "expected norm=1 with weights='uniform'"),
    ],
)
def test_invalid_parameters_raise(parameters, error, message):
    X, y = svc_data(0)
    X[0] = 0.0
    with pytest.raises(error, match=message):
        MKLClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize(("n", "sampled"), [(150, 40), (198, 49)])  # 198/(198/49) > 49
@pytest.mark.parametrize("learner", [MKLClassifier, MKLRegressor])
def test_start_from_a_sample_has_the_same_optimum(learner, n, sampled, monkeypatch):
    monkeypatch.setattr("pliant.methods.mkl.fit.START_SAMPLES", sampled)
    r = np.random.default_rng(3)
    X = r.normal(size=(n, 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = np.digitize(f, [-0.5, 0.5]) if learner is MKLClassifier else f
    kernels = [On(Gaussian(gamma), [j]) for j in range(3) for gamma in (0.1, 1.0)]
    whole = learner(kernels, C=5.0, tol=1e-7).fit(X, y)
    megabytes = 3.5 * 4 * n**2 / 2**20  # three of six kernels
    sampled = learner(kernels, C=5.0, tol=1e-7, cache_mb=megabytes).fit(X, y)
    assert sampled.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    np.testing.assert_allclose(sampled.weights_, whole.weights_, atol=1e-3)
    assert sampled.relative_gap_ <= 1e-7


def test_certificate_for_large_C():
    """Steps on two coordinates alone would reach the step limit."""
    r = np.random.default_rng(0)
    X, y = r.normal(size=(40, 1)), r.integers(0, 2, 40)
    kernels = [Linear() * Gaussian(1.0)]
    model = MKLClassifier(kernels, weights="uniform", C=1e9, tol=1e-6, normalize=False).fit(X, y)
    assert model.lower_bound_ <= model.objective_ <= (1 + 1e-6) * model.lower_bound_
    assert np.isfinite(model.decision_function(X)).all()


def test_errors_name_the_kernel():
    X, y = np.random.default_rng(9).normal(size=(20, 2)), np.arange(20) % 2
    rows, gram = np.arange(20)[:, None], Gaussian(1.0)(X)
    small, indefinite = Precomputed(gram[:9, :9]), Precomputed(gram - np.eye(20))
    for kernels, points, message in [
        ([Gaussian(), lambda a, b: np.ones(3)], X, r"^kernel 1: expected the kernel function to"),
        ([Precomputed(gram), small], rows, r"^kernel 1: expected row numbers of training points, "),
        ([indefinite], rows, r"^expected positive semi-definite .* for kernel 0, Precomputed; if"),
        ([Precomputed(gram)], X, r"^kernel 0: expected the row numbers of training points"),
    ]:
        with pytest.raises(ValueError, match=message):
            MKLClassifier(kernels).fit(points, y)


@pytest.mark.parametrize("weights", ["simple", "uniform"])
def test_pairs_share_kernel_values_in_predictions(weights):
    X = np.random.default_rng(9).normal(size=(50, 2))
    y = np.arange(50) % 10
    calls = []

    def record_call(a, b):
        calls.append(len(b))
        return Gaussian(1.0)(a, b)

    model = MKLClassifier([record_call], weights=weights, normalize=False).fit(X, y)
    calls.clear()
    decisions = model.decision_function(X[:7])
    assert len(calls) == 1
    votes = np.zeros((7, 10))
    pairs = [(i, j) for i in range(10) for j in range(i + 1, 10)]
    for (low, high), each in zip(pairs, model.estimators_, strict=True):
        chosen = np.where(each.decision_function(X[:7]) > 0, high, low)
        votes[np.arange(7), chosen] += 1.0
    np.testing.assert_array_equal(np.round(decisions), votes)


def test_the_remedy_for_a_matrix_of_float32_works():
    """A matrix of rank 3 has eigenvalues that rounding makes negative."""
    X = np.random.default_rng(0).normal(size=(150, 3))
    K, rows, y = (X @ X.T).astype(np.float32), np.arange(150.0)[:, None], X[:, 0] > 0
    with pytest.raises(ValueError, match=r"due to rounding, add .* to the diagonal$") as error:
        MKLClassifier([Precomputed(K)]).fit(rows, y)
    K[np.diag_indices(150)] += float(str(error.value).split()[-4])
    assert MKLClassifier([Precomputed(K)]).fit(rows, y).score(rows, y) > 0.9
