"""KNPL part by part: each part fitted by hand with the dense twin and combined, and the options."""

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from pliant import DANKClassifier, KNPLClassifier, KNPLRegressor, ModelFileError
from pliant.kernels import Gaussian, HadamardKernel, PartitionedKernel
from pliant.persistence import load_model, save_model
from tests.methods.hadamard.parts.test_dank_parts import GAMMA, classification, regression
from tests.reference import naive_box, naive_kernels
from tests.reference import naive_hadamard as naive

CLASSIFIER = KNPLClassifier(
    gamma=GAMMA, C=4.0, eta=3.0, tol=1e-8, partition="kmeans", n_parts=4, random_state=0
)
REGRESSOR = KNPLRegressor(
    gamma=GAMMA, C=4.0, eta=3.0, tol=1e-8, partition="kmeans", n_parts=4, random_state=0,
    scale_target=False,
)  # fmt: skip
both_kinds = pytest.mark.parametrize("kind", ["classification", "regression"])


def machine_and_data(kind, **parameters):
    chosen, data = (
        (CLASSIFIER, classification()) if kind == "classification" else (REGRESSOR, regression())
    )
    return clone(chosen).set_params(**parameters), *data


def twin_of(model, X, y):
    """The dense problem of KNPL without an intercept, on all points or on those of one part."""
    K, eta = Gaussian(GAMMA)(X), model.eta_
    if isinstance(model, KNPLClassifier):
        twin = naive_box.box_classification(K, y, 4.0, eta)
    else:
        twin = naive_box.box_regression(K, y, 4.0, 0.1, eta)
    twin.rule = "knpl"
    return twin


def parts_by_hand(model, X, y):
    """Each part fitted by itself: its rows, its problem and its solution; b is the mean of y."""
    centre = 0.0 if isinstance(model, KNPLClassifier) else y.mean()
    for part in range(len(model.part_centres_)):
        rows = np.flatnonzero(model.part_labels_ == part)
        twin = twin_of(model, X[rows], y[rows] - centre)
        beta, value, gap = naive.solve(twin, tol=1e-7)
        yield rows, twin, beta, value, gap


def decided_by_hand(new, X, rows, beta, eta, gamma=GAMMA):
    """(F o K) beta of new points in one part, by the rule "smooth" of the twin."""
    own, kernel = X[rows], Gaussian(gamma)
    joint = np.concatenate([own, new])
    b = np.array([naive_kernels.smooth(x, own, beta, 5) for x in joint])
    left = kernel(joint, own)
    F = naive.smooth_knpl(kernel(own), left, left, kernel(joint), b, b, beta, eta)
    return (F[len(own) :, : len(own)] * kernel(new, own)) @ beta


@both_kinds
@pytest.mark.parametrize("eta", [3.0, 0.1, "auto"])
def test_the_parts_are_those_fitted_by_hand(kind, eta):
    model, X, y = machine_and_data(kind, eta=eta)
    model.fit(X, y)
    assert isinstance(model.kernel_, PartitionedKernel)
    total = slack = 0.0
    F = np.ones((60, 60))
    for rows, twin, beta, value, gap in parts_by_hand(model, X, y):
        total, slack = total + value, slack + gap
        mine = model.kernel_.beta[rows]
        assert twin.value(mine) == pytest.approx(value, rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(twin.fields(mine), twin.fields(beta), atol=3e-3)
        F[np.ix_(rows, rows)] = twin.adaptation(mine)
    assert model.objective_ <= total + slack + 1e-9
    assert total <= model.objective_ + model.dual_gap_ + 1e-9
    assert model.dual_gap_ == pytest.approx(model.part_gaps_.sum(), rel=1e-12)
    assert model.dual_gap_ <= 4e-8 * (1 + model.objective_)
    np.testing.assert_allclose(model.adaptation_.toarray(), F, atol=1e-12)
    assert model.adaptation_.radius == pytest.approx(np.linalg.norm(F - 1), rel=1e-9)
    assert model.adaptation_.rank == np.linalg.matrix_rank(F, hermitian=True, rtol=1e-12)


@both_kinds
def test_predictions_are_those_of_the_part_in_which_a_point_lies(kind):
    model, X, y = machine_and_data(kind, eta=0.3)
    model.fit(X, y)
    new = np.random.default_rng(1).uniform(-0.2, 1.2, size=(25, X.shape[1]))
    place = ((new[:, None] - model.part_centres_) ** 2).sum(axis=2).argmin(axis=1)
    values = np.empty(25)
    others = np.zeros(25)
    for part in range(4):
        rows = np.flatnonzero(model.part_labels_ == part)
        beta, here = model.kernel_.beta[rows], place == part
        values[here] = decided_by_hand(new[here], X, rows, beta, 0.3)
        others[~here] += Gaussian(GAMMA)(new[~here], X[rows]) @ beta
    b = 0.0 if kind == "classification" else y.mean()
    name = "decision_function" if kind == "classification" else "predict"
    np.testing.assert_allclose(getattr(model, name)(new), values + b, atol=1e-9)
    model.set_params(prediction="whole").fit(X, y)
    np.testing.assert_allclose(getattr(model, name)(new), values + others + b, atol=1e-9)


def test_automatic_eta_is_the_squared_length_of_all_plain_solutions():
    model, X, y = machine_and_data("classification", eta=np.inf)
    plain = clone(model).fit(X, y)
    model.set_params(eta="auto", eta_scale=0.5).fit(X, y)
    assert model.eta_ == pytest.approx(0.5 * (plain.kernel_.beta**2).sum(), rel=1e-4)
    assert plain.adaptation_.radius == 0.0


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    eta=st.sampled_from([1e-2, 1.0, 1e3, "auto"]),
    n_parts=st.integers(1, 12),
    prediction=st.sampled_from(["part", "whole"]),
    C=st.floats(0.1, 30.0),
)
def test_what_holds_for_any_parts(seed, eta, n_parts, prediction, C):
    """F is PSD, its rows sum to n_p in a part; less freedom than DANK's, more than an SVM's."""
    X, y = classification(40, seed)
    model = clone(CLASSIFIER).set_params(
        eta=eta, n_parts=n_parts, prediction=prediction, C=C, tol=1e-5, random_state=seed
    )
    model.fit(X, y)
    F, same = model.adaptation_.toarray(), model.part_labels_[:, None] == model.part_labels_
    np.testing.assert_allclose((F * same).sum(axis=1), same.sum(axis=1), rtol=1e-9)
    np.testing.assert_array_equal(F[~same], 1.0)
    assert np.linalg.eigvalsh(F)[0] >= -1e-9
    options = model.get_params() | {"eta": model.eta_, "eta_scale": 1.0}
    dank, svm = DANKClassifier(**options), DANKClassifier(**options | {"eta": np.inf})
    slack = 2e-5 * (1 + svm.fit(X, y).objective_)
    assert dank.fit(X, y).objective_ - slack <= model.objective_ <= svm.objective_ + slack
    new = np.random.default_rng(seed).uniform(-0.5, 1.5, size=(6, 3))
    together = model.decision_function(new)
    alone = np.concatenate([model.decision_function(x[None]) for x in new])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)


def test_one_part_differs_from_the_whole_by_the_intercept_only():
    model, X, y = machine_and_data("classification", n_parts=1)
    model.fit(X, y)
    [(_, twin, beta, value, _)] = parts_by_hand(model, X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), twin.fields(beta), atol=2e-3)
    assert clone(model).set_params(partition=None).fit(X, y).objective_ <= model.objective_


def test_pure_parts_more_classes_and_weights():
    X, _ = classification(80)
    sides = np.where(X[:, 0] < 0.5, "left", "right")
    pure = clone(CLASSIFIER).set_params(n_parts=6).fit(X, sides)
    assert any(len(set(sides[pure.part_labels_ == part])) == 1 for part in range(6))
    assert pure.score(X, sides) >= 0.95
    iris, species = load_iris(return_X_y=True)
    several = KNPLClassifier(C=10, partition="kmeans", n_parts=3, random_state=0)
    assert several.fit(iris, species).score(iris, species) >= 0.96
    assert [len(each.part_centres_) for each in several.estimators_] == [3, 3, 3]
    weights = np.random.default_rng(0).uniform(0.5, 3.0, size=60) * (np.arange(60) % 5 > 0)
    model, X, y = machine_and_data("classification", C=0.4, class_weight={-1: 2.0, 1: 0.5})
    beta = model.fit(X, y, weights).kernel_.beta
    used = weights > 0
    box = 0.4 * (weights * np.where(y == 1, 0.5, 2.0))[used]
    assert (y[used] * beta >= 0).all()
    assert (np.abs(beta) <= box).all()
    assert (np.abs(beta) == box).any()


def test_rows_on_demand_threads_and_processes_give_the_same_solution(monkeypatch):
    model, X, y = machine_and_data("classification", eta="auto")
    model.fit(X, y)
    threads = clone(model).set_params(n_jobs=2).fit(X, y)
    with joblib.parallel_config(backend="multiprocessing"):
        processes = clone(model).set_params(n_jobs=2).fit(X, y)
    for other in (threads, processes):
        np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    monkeypatch.setattr("pliant.methods.hadamard.parts.part.SMALL_PART", 0)
    found = clone(model).set_params(cache_mb=1e-4, tol=1e-6).fit(X, y)
    assert found.objective_ == pytest.approx(model.objective_, rel=4e-6)


def test_a_limit_of_time_or_steps_leaves_a_valid_bound():
    model, X, y = machine_and_data("classification", C=100.0)
    exact = clone(model).fit(X, y)
    for limit, message in (
        ({"max_iter": 3}, r"of 4 parts stopped early.*raise max_iter"),
        ({"max_seconds": 1e-9}, r"of 4 parts stopped early.*max_seconds = 1e-09 came first"),
    ):
        with pytest.warns(ConvergenceWarning, match=message):
            found = clone(model).set_params(**limit).fit(X, y)
        slack = 1e-7 * (1 + exact.objective_)
        assert found.objective_ <= exact.objective_ + slack
        assert exact.objective_ <= found.objective_ + found.dual_gap_ + slack


def test_a_checkpoint_continues_and_belongs_to_one_method(tmp_path, monkeypatch):
    model, X, y = machine_and_data("classification", eta="auto", checkpoint=tmp_path / "kept")
    expected = model.fit(X, y).dual_coef_
    calls = []
    monkeypatch.setattr("pliant.methods.hadamard.parts.run.solve_part", lambda *_: calls.append(1))
    np.testing.assert_array_equal(clone(model).fit(X, y).dual_coef_, expected)
    assert calls == []
    dank = DANKClassifier(**model.get_params())
    with pytest.raises(ValueError, match=r"method = .KNPL., now method = .DANK.;"):
        dank.fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e-300, 1e100])
def test_a_penalty_of_any_size(C):
    r = np.random.default_rng(0)
    X = r.normal(size=(60, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.3 * r.normal(size=60) > 0
    model = KNPLClassifier(C=C, partition="kmeans", n_parts=3, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(2.0 * X)).all()


@pytest.mark.parametrize("prediction", ["part", "whole"])
def test_a_model_file_keeps_what_the_first_prediction_needs(tmp_path, prediction, monkeypatch):
    model, X, y = machine_and_data("classification", prediction=prediction)
    model.fit(X, np.where(y > 0, "yes", "no"))
    expected = model.decision_function(X + 0.1)
    save_model(model, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    monkeypatch.delattr(HadamardKernel, "support_sums")  # only the file has them
    np.testing.assert_array_equal(loaded.decision_function(X + 0.1), expected)
    monkeypatch.undo()
    for name, forged, message in (
        ("support_sums", model.kernel_.support_sums + 0.1, "support_sums to be the sums"),
        ("support_sums", model.kernel_.support_sums[:-1], "expected .* support_sums, got shape"),
        ("centred", "yes", "expected centred True or False, got 'yes'"),
        ("labels", model.kernel_.labels[::-1], "support_sums to be the sums"),
    ):
        forgery = clone(model.kernel_, safe=False)
        forgery.prepare()
        vars(forgery)[name] = forged
        with pytest.raises(ModelFileError, match=message):
            save_model(forgery, tmp_path / "forged.pliant")


BAD = [
    ({"partition": "dask"}, ValueError, r"expected partition in \['kmeans'\], got 'dask'"),
    ({"n_parts": 0}, ValueError, "expected n_parts >= 1, an integer, got 0"),
    ({"n_parts": 61}, ValueError, "expected n_parts <= 60, the number of rows, got 61"),
    ({"prediction": "all"}, ValueError, r"expected prediction in \['part', 'whole'\], got 'all'"),
    ({"n_jobs": 0}, ValueError, "expected n_jobs"),
    ({"checkpoint": 5}, TypeError, "expected checkpoint to be a folder or None, got 5"),
    ({"kernel": "tl1", "gamma": "scale"}, ValueError, "leave out partition='kmeans'"),
    ({"partition": None, "checkpoint": "kept"}, ValueError, "expected checkpoint=None without"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD, ids=str)
@both_kinds
def test_bad_parameters_get_one_clear_error(kind, parameters, error, message):
    model, X, y = machine_and_data(kind, **parameters)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not hasattr(model, "kernel_")


def test_a_precomputed_gram_has_no_coordinates_to_divide_by():
    X, y = classification()
    model = KNPLClassifier("precomputed", partition="kmeans", extension="none")
    with pytest.raises(ValueError, match="expected a kernel of points for partition='kmeans'"):
        model.fit(Gaussian()(X), y)
