"""DANK in parts: solutions against generic solvers, predictions and parallel fits."""

import pickle
from contextlib import nullcontext

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from pliant import DANKClassifier, DANKRegressor, KMeansPartition, KNPLClassifier, TKLClassifier
from pliant.core.progress import Status
from pliant.kernels import Gaussian
from pliant.methods import HadamardKernel, PartitionedKernel
from pliant.methods.dank import parts
from pliant.persistence import load, save
from tests.methods.dank.test_dank import classification, regression
from tests.reference import conic
from tests.reference import naive_box as naive
from tests.reference.naive_hadamard import solve

GAMMA = 2.0


def classifier(n_parts=4, **parameters):
    defaults = {"gamma": GAMMA, "C": 4.0, "eta": 3.0}
    return DANKClassifier(partition=KMeansPartition(n_parts), **defaults | parameters)


def regressor(**parameters):
    defaults = {"gamma": GAMMA, "C": 4.0, "epsilon": 0.1, "eta": 3.0, "scale_target": False}
    return DANKRegressor(partition=KMeansPartition(4), **defaults | parameters)


def problem_of(kind, eta=3.0, C=4.0, n=60):
    """Return data, an unfitted estimator and the naive twin of its problem."""
    if kind == "classification":
        X, y = classification(n)
        twin = naive.box_classification(Gaussian(GAMMA)(X), y, C, eta)
        return X, y, classifier(C=C, eta=eta, tol=1e-9), twin
    X, y = regression(n)
    twin = naive.box_regression(Gaussian(GAMMA)(X), y - y.mean(), C, 0.1, eta)
    return X, y, regressor(C=C, eta=eta, tol=1e-9), twin


both_kinds = pytest.mark.parametrize("kind", ["classification", "regression"])


@both_kinds
@pytest.mark.parametrize(("eta", "C"), [(3.0, 4.0), (0.05, 20.0), (1e7, 4.0)])
def test_each_part_solves_its_box_problem(kind, eta, C):
    X, y, model, twin = problem_of(kind, eta, C)
    model.fit(X, y)
    total = 0.0
    for part in range(4):
        members = np.flatnonzero(model.part_labels_ == part)
        own = naive.restricted(twin, members)
        optimum, beta = naive.box_by_cone(own)
        total += optimum
        assert own.value(model.kernel_.beta[members]) == pytest.approx(optimum, rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(
            own.fields(model.kernel_.beta[members]), own.fields(beta), atol=2e-3
        )
    assert model.objective_ == pytest.approx(total, rel=1e-6)


@both_kinds
@pytest.mark.parametrize("eta", [3.0, 0.05])
def test_all_parts_solve_the_block_problem_with_a_certificate(kind, eta):
    """Lemma 5: the gap is computed from the Gram matrix with zeros between parts."""
    X, y, model, twin = problem_of(kind, eta)
    model.fit(X, y)
    block = naive.block_problem(twin, model.part_labels_)
    beta = model.kernel_.beta
    assert block.value(beta) == pytest.approx(model.objective_, rel=1e-12)
    assert block.gap(beta) == pytest.approx(model.dual_gap_, abs=1e-10)
    assert model.dual_gap_ == pytest.approx(model.part_gaps_.sum(), rel=1e-12)
    assert 0 <= model.dual_gap_ <= 4e-9 * (1 + model.objective_)
    _, optimum, _ = solve(block, tol=1e-8)
    assert model.objective_ <= optimum + 1e-7 * (1 + optimum)
    assert optimum <= model.objective_ + model.dual_gap_ + 1e-7 * (1 + optimum)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=1).fit(X, y)  # a gap of more than 50
    assert model.dual_gap_ == pytest.approx(block.gap(model.kernel_.beta), rel=1e-9)
    assert optimum <= model.objective_ + model.dual_gap_


@both_kinds
def test_predictions_agree_with_the_block_problem(kind):
    X, y, model, twin = problem_of(kind)
    model.fit(X, y)
    f = model.decision_function(X) if kind == "classification" else model.predict(X)
    block = naive.block_problem(twin, model.part_labels_)
    centre = 0.0 if kind == "classification" else y.mean()
    np.testing.assert_allclose(f, block.fields(model.kernel_.beta) + centre, atol=1e-10)
    assert model.intercept_ == pytest.approx(centre, abs=1e-15)


@both_kinds
def test_automatic_eta_is_the_squared_norm_of_all_plain_solutions(kind):
    X, y, model, _ = problem_of(kind)
    plain = clone(model).set_params(eta=np.inf).fit(X, y)
    model.set_params(eta="auto", eta_scale=0.5).fit(X, y)
    assert model.eta_ == pytest.approx(0.5 * (plain.kernel_.beta**2).sum(), rel=1e-4)
    given = clone(model).set_params(eta=model.eta_, eta_scale=1.0).fit(X, y)
    assert model.objective_ == pytest.approx(given.objective_, rel=1e-8)
    assert model.n_iter_ > plain.n_iter_
    np.testing.assert_array_equal(model.part_labels_, given.part_labels_)


@pytest.mark.parametrize(("gap", "told"), [(0.001, False), (0.2, True)])
def test_a_part_that_stops_early_is_told_only_if_the_gap_of_all_is_large(gap, told, monkeypatch):
    """All parts reach their limit of steps, and the sum of the gaps decides."""
    solve_part = parts.solve_part

    def stop_early(*given, **options):
        result = solve_part(*given, **options)
        return result._replace(gap=gap, status=Status.MAX_ITER.name)

    monkeypatch.setattr(parts, "solve_part", stop_early)
    model = classifier(2, tol=0.01)
    X, y = classification(n=60)
    warned = pytest.warns(ConvergenceWarning, match="parts stopped early")
    with warned if told else nullcontext():
        model.fit(X, y)
    assert model.dual_gap_ == pytest.approx(2 * gap)


def test_predictions_use_the_part_of_the_nearest_centre():
    X, y = classification(80)
    model = classifier(extension="nearest").fit(X, y)
    assert isinstance(model.kernel_, PartitionedKernel)
    new = np.random.default_rng(1).uniform(-0.3, 1.3, size=(40, 3))
    place = ((new[:, None] - model.part_centres_) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.kernel_.place(new), place)
    expected = np.zeros(40)
    for part in range(4):
        members = np.flatnonzero(model.part_labels_ == part)
        beta = model.kernel_.beta[members]
        own = HadamardKernel(Gaussian(GAMMA), X[members], beta, 3.0, "nearest")
        here = place == part
        expected[here] += own(new[here], X[members]) @ beta
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-10)
    np.testing.assert_allclose(
        model.kernel_(new, model.support_vectors_) @ model.dual_coef_ + model.intercept_,
        expected,
        atol=1e-10,
    )


@both_kinds
def test_threads_give_the_same_bytes(kind):
    X, y, model, _ = problem_of(kind)
    model.set_params(eta="auto").fit(X, y)
    other = clone(model).set_params(partition=KMeansPartition(4, n_jobs=2)).fit(X, y)
    for name in ("objective_", "dual_gap_", "eta_", "n_iter_", "dual_coef_", "part_labels_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))


def test_sample_and_class_weights_scale_the_box_of_each_row():
    X, y = classification(60)
    weights = np.random.default_rng(0).uniform(0.5, 3.0, size=60)
    model = classifier(tol=1e-9, class_weight={-1: 2.0, 1: 0.5}).fit(X, y, weights)
    box = 4.0 * weights * np.where(y == 1, 0.5, 2.0)
    beta = model.kernel_.beta
    assert (y * beta >= 0).all()
    assert (np.abs(beta) <= box).all()
    assert (np.abs(beta) == box).any()
    K = Gaussian(GAMMA)(X) * (model.part_labels_[:, None] == model.part_labels_)
    f = K @ beta + beta * (K**2 @ beta**2) / (4 * 3.0)
    gap = beta @ f + (box * np.maximum(0, 1 - y * f)).sum() - np.abs(beta).sum()
    assert model.dual_gap_ == pytest.approx(gap, abs=1e-9)
    assert gap <= 1e-7


def test_multiclass_divides_the_rows_of_each_pair():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DANKClassifier(C=10, partition=KMeansPartition(3)).fit(X, names)
    assert model.score(X, names) >= 0.96
    assert len(model.estimators_) == 3
    for pair, (low, high) in zip(model.estimators_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = (y == low) | (y == high)
        alone = DANKClassifier(pair.kernel_.base, C=10, partition={"n_parts": 3})
        alone.fit(X[rows], y[rows])
        assert pair.objective_ == pytest.approx(alone.objective_, rel=1e-12)
        np.testing.assert_array_equal(pair.part_labels_, alone.part_labels_)


@pytest.mark.parametrize("dense", [0, 2000])
@both_kinds
def test_parts_with_rows_on_demand_agree_with_stored_matrices(kind, dense, monkeypatch):
    X, y, model, _ = problem_of(kind, n=300)
    expected = model.fit(X, y)
    monkeypatch.setattr("pliant.methods.dank.parts.SMALL_PART", dense)
    for tol, rel in ((1e-7, 4e-7), (1e-5, 2e-5)):  # rows in float64 and in float32
        found = clone(model).set_params(cache_mb=0.01, tol=tol).fit(X, y)
        assert found.objective_ == pytest.approx(expected.objective_, rel=rel)


def conic_value(K, y, C):
    """Solve the plain SVM without an intercept by a conic solver."""
    beta = cp.Variable(len(y))
    gain = y @ beta - 0.5 * cp.quad_form(beta, cp.psd_wrap(K))
    limits = [cp.multiply(y, beta) >= 0, cp.multiply(y, beta) <= C]
    program = cp.Problem(cp.Maximize(gain), limits)
    conic.solve(program)
    return program.value


def test_an_infinite_eta_is_the_plain_svm_on_each_part():
    X, y = classification(60)
    model = classifier(eta=np.inf, tol=1e-9).fit(X, y)
    K = Gaussian(GAMMA)(X) * (model.part_labels_[:, None] == model.part_labels_)
    assert model.objective_ == pytest.approx(conic_value(K, y.astype(float), 4.0), rel=1e-6)
    assert model.eta_ == np.inf
    assert model.adaptation_.radius == 0.0


@pytest.mark.parametrize("partition", [KMeansPartition(3, n_jobs=1), {"n_parts": 3}])
def test_partition_settings_survive_copies_and_model_files(partition, tmp_path):
    X, y = classification(60)
    model = DANKClassifier(gamma=GAMMA, partition=partition).fit(X, y)
    save(model, tmp_path / "m.pliant")
    loaded = load(tmp_path / "m.pliant")
    for other in (clone(model), pickle.loads(pickle.dumps(model)), loaded):
        assert other.partition == partition
        again = other.fit(X, y)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert "partition=" in repr(model)


@pytest.mark.parametrize(
    ("make", "partition", "said"),
    [
        (DANKClassifier, "means", r"expected partition in \['kmeans'\], got 'means'"),
        (DANKClassifier, {"parts": 3}, r"expected partition with keys in \['n_parts', .*'parts'"),
        (DANKClassifier, {"n_parts": 0}, "expected n_parts >= 1, an integer, got 0"),
        (KNPLClassifier, {"refine": True}, "refine=False, as only DANK can refine, got KMeans"),
        (TKLClassifier, {"refine": True}, "refine=False for TKL, got KMeansPartition"),
    ],
)  # fmt: skip
def test_invalid_partition_settings_are_refused(make, partition, said):
    with pytest.raises(ValueError, match=said):
        make(partition=partition).fit(*classification(20))
