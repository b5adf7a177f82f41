"""KNPL in parts, against the dense twin on each part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pliant import DANKClassifier, KMeansPartition, KNPLClassifier, KNPLRegressor
from pliant.kernels import Gaussian
from pliant.methods import PartitionedKernel
from tests.methods.dank.test_dank import classification, regression
from tests.methods.dank.test_dank_parts import GAMMA
from tests.reference import naive_box, naive_kernels
from tests.reference import naive_hadamard as naive

PARTS = {"gamma": GAMMA, "C": 4.0, "eta": 3.0, "tol": 1e-8, "partition": KMeansPartition(4)}
CLASSIFIER, REGRESSOR = KNPLClassifier(**PARTS), KNPLRegressor(**PARTS, scale_target=False)
both_kinds = pytest.mark.parametrize("kind", ["classification", "regression"])


def machine_and_data(kind, **parameters):
    chosen, data = (
        (CLASSIFIER, classification(60))
        if kind == "classification"
        else (REGRESSOR, regression(60))
    )
    return clone(chosen).set_params(**parameters), *data


def twin_of(model, X, y):
    """Return the dense problem of KNPL without an intercept, on all points or on one part."""
    K, eta = Gaussian(GAMMA)(X), model.eta_
    if isinstance(model, KNPLClassifier):
        twin = naive_box.box_classification(K, y, 4.0, eta)
    else:
        twin = naive_box.box_regression(K, y, 4.0, 0.1, eta)
    twin.rule = "knpl"
    return twin


def parts_by_hand(model, X, y):
    """Yield the rows, the dense problem and the solution of each part; b is the mean of y."""
    centre = 0.0 if isinstance(model, KNPLClassifier) else y.mean()
    for part in range(len(model.part_centres_)):
        rows = np.flatnonzero(model.part_labels_ == part)
        twin = twin_of(model, X[rows], y[rows] - centre)
        beta, value, gap = naive.solve(twin, tol=1e-7)
        yield rows, twin, beta, value, gap


def decided_by_hand(new, X, rows, beta, eta, gamma=GAMMA):
    """Return (F o K) beta of new points in one part, with the smooth extension of the twin."""
    own, kernel = X[rows], Gaussian(gamma)
    joint = np.concatenate([own, new])
    b = np.array([naive_kernels.smooth(x, own, beta, 5) for x in joint])
    left = kernel(joint, own)
    F = naive.smooth_knpl(kernel(own), left, left, kernel(joint), b, b, beta, eta)
    return (F[len(own) :, : len(own)] * kernel(new, own)) @ beta


@both_kinds
@pytest.mark.parametrize("eta", [3.0, 0.1, "auto"])
def test_each_part_agrees_with_the_dense_twin(kind, eta):
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
def test_predictions_use_the_part_of_the_nearest_centre(kind):
    model, X, y = machine_and_data(kind, eta=0.3)
    model.fit(X, y)
    new = np.random.default_rng(1).uniform(-0.2, 1.2, size=(25, X.shape[1]))
    place = ((new[:, None] - model.part_centres_) ** 2).sum(axis=2).argmin(axis=1)
    values = np.empty(25)
    for part in range(4):
        rows = np.flatnonzero(model.part_labels_ == part)
        beta, here = model.kernel_.beta[rows], place == part
        values[here] = decided_by_hand(new[here], X, rows, beta, 0.3)
    b = 0.0 if kind == "classification" else y.mean()
    name = "decision_function" if kind == "classification" else "predict"
    np.testing.assert_allclose(getattr(model, name)(new), values + b, atol=1e-9)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    eta=st.sampled_from([1e-2, 1.0, 1e3, "auto"]),
    n_parts=st.integers(1, 12),
    C=st.floats(0.1, 30.0),
)
def test_rows_of_f_and_bounds_for_random_partitions(seed, eta, n_parts, C):
    """F is PSD with rows that sum to n_p in a part; the optimum is between DANK and the SVM."""
    X, y = classification(40, seed)
    partition = KMeansPartition(n_parts, random_state=seed)
    model = clone(CLASSIFIER).set_params(eta=eta, partition=partition, C=C, tol=1e-5)
    model.fit(X, y)
    F, same = model.adaptation_.toarray(), model.part_labels_[:, None] == model.part_labels_
    np.testing.assert_allclose((F * same).sum(axis=1), same.sum(axis=1), rtol=1e-9)
    np.testing.assert_array_equal(F[~same], 1.0)
    assert np.linalg.eigvalsh(F)[0] >= -1e-9
    options = model.get_params(deep=False) | {"eta": model.eta_, "eta_scale": 1.0}
    dank, svm = DANKClassifier(**options), DANKClassifier(**options | {"eta": np.inf})
    slack = 2e-5 * (1 + svm.fit(X, y).objective_)
    assert dank.fit(X, y).objective_ - slack <= model.objective_ <= svm.objective_ + slack
    new = np.random.default_rng(seed).uniform(-0.5, 1.5, size=(6, 3))
    together = model.decision_function(new)
    alone = np.concatenate([model.decision_function(x[None]) for x in new])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)


def test_rows_on_demand_and_threads_give_the_same_solution(monkeypatch):
    model, X, y = machine_and_data("classification", eta="auto")
    model.fit(X, y)
    threads = clone(model).set_params(partition=KMeansPartition(4, n_jobs=2)).fit(X, y)
    np.testing.assert_array_equal(threads.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(threads.decision_function(X), model.decision_function(X))
    monkeypatch.setattr("pliant.methods.dank.parts.SMALL_PART", 0)
    found = clone(model).set_params(cache_mb=1e-4, tol=1e-6).fit(X, y)
    assert found.objective_ == pytest.approx(model.objective_, rel=4e-6)


def test_time_and_step_limits_leave_a_valid_bound():
    model, X, y = machine_and_data("classification", C=100.0)
    exact = clone(model).fit(X, y)
    for limit, message in (
        ({"max_iter": 3}, r"of 4 parts stopped early.*raise max_iter"),
        ({"max_seconds": 1e-9}, r"of 4 parts stopped early.*max_seconds = 1e-09 was reached"),
    ):
        with pytest.warns(ConvergenceWarning, match=message):
            found = clone(model).set_params(**limit).fit(X, y)
        slack = 1e-7 * (1 + exact.objective_)
        assert found.objective_ <= exact.objective_ + slack
        assert exact.objective_ <= found.objective_ + found.dual_gap_ + slack


def test_a_small_eta_shrinks_the_start_of_a_part():
    X, y = regression(40)
    model = KNPLRegressor(eta_scale=1e-12, partition=KMeansPartition(1)).fit(X, y)
    assert model.n_iter_ < 10_000  # the coefficients of the plain SVM are 1e4 times too large
