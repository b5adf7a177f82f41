"""DANK with tau = 0: reference optima, the learned kernel, and the corners of the interface."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pliant import C_path, DANKClassifier, DANKRegressor, NonPSDWarning
from pliant.core.progress import HAS_CALLBACKS
from pliant.kernels import EXTENSIONS, TL1, Gaussian, Linear, Polynomial
from tests.reference.sdp import dank_by_sdp


def classification(n=24, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 3))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(n)
    return X, np.where(score > 0.3, 1, -1)


def regression(n=24, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)


def test_classification_reaches_the_reference_optimum():
    X, y = classification()
    model = DANKClassifier(kernel="gaussian", gamma=2.0, C=4, eta=20, tau=0, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(13.90887944, rel=1e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + model.objective_)


def test_regression_reaches_the_reference_optimum():
    X, y = regression()
    model = DANKRegressor(
        gamma=1 / 0.18, C=4, epsilon=0.05, eta=20, tau=0, scale_target=False, tol=1e-9
    ).fit(X, y)
    assert model.objective_ == pytest.approx(3.67543398, rel=1e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + model.objective_)


@pytest.mark.parametrize("eta", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_eliminated_problem_equals_the_semidefinite_program(seed, eta):
    X, y = classification(n=16, seed=seed)
    model = DANKClassifier(gamma=2.0, C=3.0, eta=eta, tau=0, tol=1e-9).fit(X, y)
    optimum, F = dank_by_sdp(Gaussian(2.0)(X), y, C=3.0, eta=eta)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(model.adaptation_.toarray(), F, atol=2e-3)


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal"])
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_the_learned_kernel_is_exact_on_the_training_points(kind, extension):
    if kind == "classifier":
        X, y = classification(n=60)
        model = DANKClassifier(C=5.0, eta_scale=0.1, extension=extension).fit(X, y)
        f = model.decision_function(X)
    else:
        X, y = regression(n=60)
        model = DANKRegressor(C=5.0, eta_scale=0.1, extension=extension, scale_target=False)
        f = model.fit(X, y).predict(X)
    K = model.kernel_.base(X)
    F = model.adaptation_.toarray()
    np.testing.assert_allclose(model.kernel_(X), F * K, atol=1e-12)
    np.testing.assert_allclose(model.kernel_(X, X.copy()), F * K, atol=1e-12)
    beta = model.kernel_.beta
    certified = (F * K) @ beta + model.intercept_
    np.testing.assert_allclose(f, certified, atol=1e-10)
    slack = beta @ (F * K) @ beta - model.objective_
    assert np.isfinite(slack)


def test_the_gap_is_that_of_the_decision_function():
    X, y = classification(n=80)
    model = DANKClassifier(C=2.0, eta=3.0, tol=1e-3).fit(X, y)
    f = model.decision_function(X)
    beta = model.kernel_.beta
    quadratic = beta @ (f - model.intercept_)
    gap = quadratic + 2.0 * np.maximum(0, 1 - y * f).sum() - np.abs(beta).sum()
    assert model.dual_gap_ == pytest.approx(gap, abs=1e-9)


def test_automatic_eta_is_the_squared_length_of_the_svm_solution():
    X, y = classification(n=80)
    model = DANKClassifier(gamma=2.0, C=2.0, eta_scale=3.0, tau=0, tol=1e-8).fit(X, y)
    svm = SVC(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    assert model.eta_ == pytest.approx(3.0 * (svm.dual_coef_**2).sum(), rel=1e-4)
    learned = model.adaptation_
    assert np.trace(learned.toarray() - 1) == pytest.approx(
        (model.dual_coef_**2).sum() / (4 * model.eta_)
    )
    assert 0 < learned.radius < 1
    assert learned.rank <= len(model.support_) + 1
    np.testing.assert_allclose(learned.columns([3, 5]), learned.toarray()[:, [3, 5]])


def test_a_huge_eta_gives_the_plain_svm():
    X, y = classification(n=80)
    model = DANKClassifier(gamma=2.0, C=2.0, eta=1e12, tol=1e-8).fit(X, y)
    svm = SVC(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-4)
    X, y = regression(n=80)
    model = DANKRegressor(gamma=2.0, C=2.0, eta=1e12, tol=1e-9, scale_target=False).fit(X, y)
    svr = SVR(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict(X), svr.predict(X), atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    extension=st.sampled_from(EXTENSIONS),
    C=st.floats(0.1, 100),
    eta=st.floats(0.01, 1e4),
)
def test_predictions_do_not_depend_on_the_batch(seed, extension, C, eta):
    X, y = classification(n=30, seed=seed)
    y[:2] = 1, -1
    model = DANKClassifier(C=C, eta=eta, extension=extension).fit(X, y)
    new = np.random.default_rng(seed + 1).uniform(size=(7, 3))
    together = model.decision_function(new)
    alone = np.concatenate([model.decision_function(x[None]) for x in new])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9 * C)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_objective_does_not_depend_on_row_order(seed):
    X, y = regression(n=30, seed=seed)
    order = np.random.default_rng(seed).permutation(30)
    first, second = (
        DANKRegressor(C=3.0, eta=1.0, tol=1e-8).fit(A, b) for A, b in [(X, y), (X[order], y[order])]
    )
    assert first.objective_ == pytest.approx(second.objective_, rel=1e-7)


def test_more_than_two_classes_learn_one_machine_per_pair():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DANKClassifier(C=10).fit(X, names)
    assert len(model.estimators_) == 3
    assert model.score(X, names) > 0.95
    assert model.decision_function(X).shape == (150, 3)
    pair = model.estimators_[2]
    both = np.flatnonzero(y > 0)
    alone = DANKClassifier(C=10, gamma=pair.kernel_.base.gamma).fit(X[both], names[both])
    assert list(pair.classes_) == ["versicolor", "virginica"]
    np.testing.assert_allclose(pair.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(pair.support_, both[alone.support_])
    with pytest.raises(AttributeError, match=r"use estimators_\[k\]\.kernel_"):
        _ = model.kernel_
    with pytest.raises(AttributeError, match=r"use estimators_\[k\]\.adaptation_"):
        _ = model.adaptation_
    model.fit(X[both], names[both])
    assert not hasattr(model, "estimators_")
    assert model.kernel_.points.shape == (100, 4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_precomputed_gram_gives_the_same_decisions(extension, n_classes):
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    X, y = X[y < n_classes] + rng.uniform(0, 0.01, size=(50 * n_classes, 4)), y[y < n_classes]
    test = rng.permutation(len(y))[:25]
    train = np.setdiff1d(np.arange(len(y)), test)
    kernel = Gaussian(0.3)
    direct = DANKClassifier(kernel=kernel, extension=extension, eta_scale=0.2).fit(
        X[train], y[train]
    )
    given = DANKClassifier(kernel="precomputed", extension=extension, eta_scale=0.2)
    given.fit(kernel(X[train]), y[train])
    cross = kernel(X[test], X[train])
    tol = 2e-2 if extension == "smooth" else 1e-8  # kernel distances weigh otherwise than lengths
    np.testing.assert_allclose(
        given.decision_function(cross), direct.decision_function(X[test]), atol=tol
    )
    tol = tol if n_classes == 3 else 1e-8  # a pair of classes has not seen the third
    np.testing.assert_allclose(
        given.decision_function(kernel(X[train])), direct.decision_function(X[train]), atol=tol
    )


def test_cross_validation_slices_a_precomputed_gram_on_both_sides():
    X, y = classification(n=120)
    K = Gaussian(2.0)(X)
    given = cross_val_score(DANKClassifier("precomputed", extension="nearest"), K, y)
    direct = cross_val_score(DANKClassifier(gamma=2.0, extension="nearest"), X, y)
    np.testing.assert_allclose(given, direct)


def test_zero_weights_leave_rows_out_and_weights_scale_C():
    X, y = classification(n=60)
    w = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    weighted = DANKClassifier(C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X, y, sample_weight=w)
    kept = w > 0
    left = DANKClassifier(C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X[kept], y[kept], w[kept])
    assert weighted.objective_ == pytest.approx(left.objective_, rel=1e-9)
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(kept)[left.support_])
    assert (np.abs(weighted.dual_coef_) <= 2.0 * w[weighted.support_] + 1e-12).all()
    doubled = DANKClassifier(C=4.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X, y)
    by_weight = DANKClassifier(C=2.0, eta=5.0, gamma=2.0, tol=1e-8).fit(X, y, np.full(60, 2.0))
    assert doubled.objective_ == pytest.approx(by_weight.objective_, rel=1e-9)


def test_class_weights_act_as_in_an_svm():
    X, y = classification(n=80)
    for weight in ("balanced", {1: 3.0, -1: 0.5}):
        model = DANKClassifier(gamma=2.0, eta=1e12, tau=0, tol=1e-8, class_weight=weight)
        model.fit(X, y)
        svm = SVC(gamma=2.0, tol=1e-8, class_weight=weight).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-4)


def test_a_scaled_target_makes_units_irrelevant():
    X, y = regression(n=80)
    model = DANKRegressor(C=3.0, tol=1e-8).fit(X, y)
    other = DANKRegressor(C=3.0, tol=1e-8).fit(X, 1e6 * y - 5e6)
    np.testing.assert_allclose(other.predict(X), 1e6 * model.predict(X) - 5e6, rtol=1e-5)
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
    by_hand = model.kernel_(X, model.support_vectors_) @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), by_hand)


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_no_unit_of_the_target_is_too_large_or_too_small(unit):
    X, y = regression(n=40)
    model, other = (DANKRegressor(tol=1e-8).fit(X, scale * y) for scale in (1.0, unit))
    np.testing.assert_allclose(other.predict(X) / unit, model.predict(X), rtol=1e-6)


def test_an_offset_of_the_target_changes_the_intercept_only():
    X, y = regression(n=60)
    model, other = (
        DANKRegressor(C=1e6, eta=1.0, scale_target=False).fit(X, y + offset) for offset in (0, 1e9)
    )
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-4)
    np.testing.assert_allclose(other.predict(X) - 1e9, model.predict(X), atol=1e-4)
    assert other.dual_gap_ <= 1e-4 * (1 + other.objective_)


def test_a_tube_that_covers_all_gives_a_constant_and_an_infinite_eta():
    X, y = regression(n=40)
    model = DANKRegressor(epsilon=10.0).fit(X, y)
    assert model.eta_ == np.inf
    assert model.dual_gap_ == 0.0
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.adaptation_.toarray(), np.ones((40, 40)))
    assert np.ptp(model.predict(X)) == 0.0


def test_grid_search_over_nested_parameters_in_a_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), DANKClassifier(kernel=Gaussian(0.1))),
        {"dankclassifier__kernel__gamma": [0.001, 0.03], "dankclassifier__C": [1, 10]},
        cv=3,
    ).fit(X[:300], y[:300])
    best = search.best_estimator_[-1]
    assert best.kernel_.base.gamma == search.best_params_["dankclassifier__kernel__gamma"]
    assert search.score(X[300:], y[300:]) > 0.9
    assert "dankclassifier__kernel__gamma" in search.best_params_


def test_a_fitted_model_does_not_change_with_its_parameters():
    X, y = classification(n=60)
    kernel = Gaussian(1.0)
    model = DANKClassifier(kernel=kernel).fit(X, y)
    before = model.decision_function(X)
    kernel.gamma = 50.0
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert clone(model).kernel.gamma == 50.0


def test_the_learned_kernel_works_in_another_machine():
    X, y = classification(n=80)
    model = DANKClassifier(C=5.0).fit(X, y)
    machine = SVC(kernel=model.kernel_, C=5.0, tol=1e-6).fit(X, y)
    agreement = np.mean(machine.predict(X) == model.predict(X))
    assert agreement > 0.95


def test_pickle_and_repeat_give_the_same_bytes():
    X, y = classification(n=60)
    model = DANKClassifier().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    again = DANKClassifier().fit(X, y)
    new = np.random.default_rng(5).uniform(size=(10, 3))
    assert copy.decision_function(new).tobytes() == model.decision_function(new).tobytes()
    assert again.dual_coef_.tobytes() == model.dual_coef_.tobytes()


def test_probabilities_come_from_calibration():
    X, y = classification(n=400, seed=1)
    calibrated = CalibratedClassifierCV(DANKClassifier(C=5.0), cv=3).fit(X[:200], y[:200])
    loss = log_loss(y[200:], calibrated.predict_proba(X[200:]))
    assert loss < log_loss(y[200:], np.full(200, np.mean(y == 1)))


def test_callable_kernels_are_used_and_checked():
    X, y = classification(n=50)
    named = DANKClassifier(kernel="linear").fit(X, y)
    function = DANKClassifier(kernel=lambda A, B: A @ B.T).fit(X, y)
    np.testing.assert_allclose(function.decision_function(X), named.decision_function(X))
    with pytest.raises(ValueError, match=r"return shape \(50, 50\), got \(50,\)"):
        DANKClassifier(kernel=lambda A, B: A[:, 0]).fit(X, y)

    def of_one_matrix(A):
        return A

    with pytest.raises(ValueError, match=r"expected kernel=of_one_matrix to return an array"):
        DANKClassifier(kernel=of_one_matrix).fit(X, y)


def test_an_unfinished_fit_warns_with_gap_and_advice():
    X, y = classification(n=100)
    with pytest.warns(ConvergenceWarning, match=r"after 3 steps with a gap of .* raise max_iter"):
        model = DANKClassifier(C=100, eta=1.0, max_iter=3).fit(X, y)
    assert model.dual_gap_ > 0
    assert model.n_iter_ == 3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_warnings_point_at_the_line_that_called_fit(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    machine = DANKClassifier(C=100, eta=1e-3, tol=1e-9, max_iter=3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        machine.fit(X, y)
        make_pipeline(StandardScaler(), machine).fit(X, y)
        DANKRegressor(C=100, epsilon=0.0, max_iter=3).fit(X, y)
        C_path(machine, X, y, [1.0])
        DANKClassifier("precomputed", extension="none").fit(TL1(rho=0.8)(X), y)
    assert {warning.category for warning in told} == {ConvergenceWarning, NonPSDWarning}
    assert {warning.filename for warning in told} == {__file__}


def test_all_pairs_of_classes_share_one_gram():
    X, y = load_iris(return_X_y=True)
    model = DANKClassifier()
    tasks = model._prepare(X, y, None)
    assert len({id(task.all_rows.gram) for task in tasks}) == 1
    for task in tasks:
        part = task.all_rows.gram[np.ix_(task.members, task.members)]
        np.testing.assert_array_equal(model._rows(task).gram, part)


def test_a_gram_that_is_not_psd_warns_and_has_no_certificate():
    X, y = classification(n=60)
    K = TL1(rho=0.8)(X)
    with pytest.warns(NonPSDWarning, match=r"smallest eigenvalue is -\d"):
        model = DANKClassifier("precomputed", extension="none").fit(K, y)
    assert np.isnan(model.dual_gap_)
    assert model.score(K, y) > 0.6


def test_an_interrupted_fit_leaves_an_unfitted_model(monkeypatch):
    X, y = classification(n=60)
    model = DANKClassifier().fit(X, y)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pliant.methods.hadamard.whole.smo.solve", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn before 1.9 has no callbacks")
def test_callbacks_see_progress_and_can_stop():
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

    X, y = classification(n=600)
    recorder = Recorder(stop=False)
    full = DANKClassifier(C=1000, eta=1e6).set_callbacks(recorder).fit(X, y)
    assert recorder.seen[0] == "setup"
    assert recorder.seen[-1] == "teardown"
    assert recorder.seen.count("begin") == recorder.seen.count("end") >= 3
    stopped = DANKClassifier(C=1000, eta=1e6).set_callbacks(Recorder(stop=True)).fit(X, y)
    assert stopped.n_iter_ < full.n_iter_
    assert stopped.dual_gap_ > full.dual_gap_


BAD_PARAMETERS = [
    ({"C": 0}, "expected C > 0, a finite number, got 0"),
    ({"C": -1.0}, "expected C > 0, a finite number, got -1.0"),
    ({"C": np.nan}, "expected C > 0, a finite number, got nan"),
    ({"C": "big"}, "expected C > 0, a finite number, got 'big'"),
    ({"C": True}, "expected C > 0, a finite number, got True"),
    ({"eta": 0}, "expected eta > 0"),
    ({"eta": "best"}, r"expected eta in \['auto'\], got 'best'"),
    ({"eta_scale": -2}, "expected eta_scale > 0"),
    ({"tau": -0.1}, "expected tau >= 0"),
    ({"tau": 1e9}, "expected tau < 2n = "),
    ({"tau": np.inf}, "expected tau >= 0, a finite number, got inf"),
    ({"tau": "low"}, "expected tau"),
    ({"extension": "smoth"}, r"got 'smoth' \(did you mean 'smooth'\?\)"),
    ({"n_neighbors": 0}, "expected n_neighbors >= 1, an integer, got 0"),
    ({"n_neighbors": 2.5}, "expected n_neighbors >= 1, an integer, got 2.5"),
    ({"tol": 0}, "expected tol > 0"),
    ({"max_iter": 0}, "expected max_iter >= 1, or -1 for no limit, got 0"),
    ({"max_iter": -2}, "expected max_iter >= -1"),
    ({"gamma": 0}, "expected gamma > 0"),
    ({"gamma": "wide"}, r"expected gamma in \['auto', 'scale'\]"),
    ({"kernel": "gausian"}, r"did you mean 'gaussian'"),
    ({"kernel": Gaussian(1.0), "gamma": 2.0}, "gamma belongs to kernels given by name"),
    ({"kernel": "linear", "gamma": 2.0}, "has no gamma"),
    ({"kernel": "precomputed", "gamma": 2.0}, "has no gamma"),
    ({"kernel": Gaussian(-1.0)}, r"expected Gaussian\(gamma=...\) > 0"),
    ({"kernel": "sigmoid", "gamma": 5.0}, "without negative eigenvalues, which DANK"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=str)
@pytest.mark.parametrize("machine", [DANKClassifier, DANKRegressor])
def test_bad_parameters_get_one_clear_error(machine, parameters, message):
    X, y = classification() if machine is DANKClassifier else regression()
    with pytest.raises(ValueError, match=message):
        machine(**parameters).fit(X, y)


def test_wrong_kernel_types_and_regression_parameters():
    X, y = regression()
    with pytest.raises(TypeError, match="expected kernel to be a name"):
        DANKRegressor(kernel=3).fit(X, y)
    with pytest.raises(ValueError, match="expected epsilon >= 0"):
        DANKRegressor(epsilon=-0.1).fit(X, y)
    with pytest.raises(ValueError, match="expected scale_target True or False, got 'yes'"):
        DANKRegressor(scale_target="yes").fit(X, y)


def bad_data():
    X, y = classification()
    with_nan, with_inf = X.copy(), X.copy()
    with_nan[3, 1], with_inf[3, 1] = np.nan, np.inf
    return {
        "nan": (with_nan, y, "contains NaN"),
        "inf": (with_inf, y, "contains infinity"),
        "one class": (X, np.ones(24), r"at least two classes, got one class: 1.0"),
        "text": (np.full((24, 2), "a"), y, "could not convert string to float"),
        "1-D": (X[:, 0], y, "Expected 2D array, got 1D"),
        "lengths": (X, y[:-1], "inconsistent numbers of samples"),
        "one row": (X[:1], y[:1], "1 sample"),
        "empty": (X[:0], y[:0], "0 sample"),
        "no features": (X[:, :0], y, "0 feature"),
        "real target": (X, X[:, 0], "Unknown label type"),
    }


@pytest.mark.parametrize("case", bad_data())
def test_bad_data_get_one_clear_error(case):
    X, y, message = bad_data()[case]
    with pytest.raises(ValueError, match=message):
        DANKClassifier().fit(X, y)


def test_kernel_values_that_overflow_are_refused():
    X, y = classification()
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match=r"expected finite kernel values.*scale the features"),
    ):
        DANKClassifier(kernel=Polynomial(degree=90)).fit(1e6 * X, y)


def test_machines_of_pairs_know_the_names_of_the_features():
    data = load_iris(as_frame=True)
    model = DANKClassifier().fit(data.data, data.target)
    for machine in model.estimators_:
        np.testing.assert_array_equal(machine.feature_names_in_, model.feature_names_in_)
        assert machine.decision_function(data.data).shape == (150,)


def test_bad_precomputed_grams():
    X, y = classification()
    K = Gaussian(1.0)(X)
    with pytest.raises(ValueError, match=r"square Gram matrix of shape \(n, n\), got \(24, 3\)"):
        DANKClassifier("precomputed").fit(X, y)
    skew = K.copy()
    skew[2, 5] += 1e-3
    with pytest.raises(ValueError, match=r"symmetric Gram matrix, got .* at \(2, 5\)"):
        DANKClassifier("precomputed").fit(skew, y)
    with pytest.raises(ValueError, match=r"equal diagonal entries.*extension='none'"):
        DANKClassifier("precomputed").fit(Linear()(X), y)
    model = DANKClassifier("precomputed").fit(K, y)
    with pytest.raises(ValueError, match="24 features"):
        model.predict(K[:, :5])


def test_products_that_over_or_underflow_are_refused():
    X, y = classification()
    with pytest.raises(ValueError, match=r"expected C times the weights to be finite, got C = 1e"):
        DANKClassifier(C=1e300).fit(X, y, np.full(24, 1e300))
    for eta in (1e-300, "auto"):
        with pytest.raises(ValueError, match=r"expected eta \(times eta_scale\) >= 1e-300"):
            DANKClassifier(eta=eta, eta_scale=1e-310).fit(X, y)


def test_bad_weights_and_constant_targets():
    X, y = classification()
    with pytest.raises(ValueError, match="expected sample_weight >= 0, got -1"):
        DANKClassifier().fit(X, y, sample_weight=-np.ones(24))
    with pytest.raises(ValueError, match=r"only zeros|non-zero"):
        DANKClassifier().fit(X, y, sample_weight=np.zeros(24))
    with pytest.raises(ValueError, match="at least two classes, got one class"):
        DANKClassifier().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="expected class_weight"):
        DANKClassifier(class_weight="fair").fit(X, y)
    with pytest.raises(ValueError, match="expected class weights > 0"):
        DANKClassifier(class_weight={1: -1.0, -1: 1.0}).fit(X, y)
    with pytest.raises(ValueError, match="expected a target that varies, got y = 3 in all 24 rows"):
        DANKRegressor().fit(X, np.full(24, 3.0))


def test_constant_features_and_opposite_duplicates_are_learned_from():
    X, y = classification(n=60)
    X = np.column_stack([X, np.full(60, 7.0)])
    assert DANKClassifier(C=10).fit(X, y).score(X, y) > 0.8
    model = DANKClassifier(C=2.0).fit(np.zeros((20, 2)), np.tile([0, 1], 10))
    assert np.isfinite(model.decision_function(np.zeros((3, 2)))).all()
    doubled = np.repeat(X[:20], 2, axis=0)
    model = DANKClassifier(C=2.0).fit(doubled, np.tile([0, 1], 20))
    one, two = model.decision_function(doubled).reshape(20, 2).T
    np.testing.assert_array_equal(one, two)


def test_no_warning_on_ordinary_data():
    X, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DANKRegressor(C=10).fit(X, y)
    assert model.score(X, y) > 0.5
