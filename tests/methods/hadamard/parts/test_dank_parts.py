"""DANK part by part: the parts against generic solvers, how they predict, where they run."""

import pickle
from itertools import pairwise

import cvxpy as cp
import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import C_path, DANKClassifier, DANKRegressor, ModelFileError, NonPSDWarning
from pliant.kernels import (
    EXTENSIONS,
    TL1,
    Gaussian,
    HadamardKernel,
    Laplacian,
    PartitionedKernel,
)
from pliant.methods.svm import smo
from pliant.methods.svm.parts import kmeans_partition
from pliant.persistence import load_model, save_model
from tests.reference import conic
from tests.reference import naive_box as naive
from tests.reference.naive_hadamard import solve

GAMMA = 2.0


def classification(n=60, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 3))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(n)
    return X, np.where(score > 0.3, 1, -1)


def regression(n=60, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)


def classifier(**parameters):
    defaults = {"gamma": GAMMA, "C": 4.0, "eta": 3.0, "n_parts": 4, "random_state": 0}
    return DANKClassifier(partition="kmeans", **defaults | parameters)


def regressor(**parameters):
    defaults = {"gamma": GAMMA, "C": 4.0, "epsilon": 0.1, "eta": 3.0, "n_parts": 4}
    defaults |= {"scale_target": False, "random_state": 0}
    return DANKRegressor(partition="kmeans", **defaults | parameters)


def problem_of(kind, eta=3.0, C=4.0, n=60):
    """Data, a machine that is not fitted yet, and the naive twin of its problem."""
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
def test_the_parts_are_solutions_of_the_box_problem_on_each(kind, eta, C):
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
def test_together_they_solve_the_block_problem_with_a_certificate(kind, eta):
    """Lemma 5; the gap is computed from the Gram matrix with zeros between parts."""
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


@both_kinds
def test_predictions_are_the_decisions_of_the_block_problem(kind):
    X, y, model, twin = problem_of(kind)
    model.fit(X, y)
    f = model.decision_function(X) if kind == "classification" else model.predict(X)
    block = naive.block_problem(twin, model.part_labels_)
    centre = 0.0 if kind == "classification" else y.mean()
    np.testing.assert_allclose(f, block.fields(model.kernel_.beta) + centre, atol=1e-10)
    assert model.intercept_ == pytest.approx(centre, abs=1e-15)


@both_kinds
def test_automatic_eta_is_the_squared_length_of_all_plain_solutions(kind):
    X, y, model, _ = problem_of(kind)
    plain = clone(model).set_params(eta=np.inf).fit(X, y)
    model.set_params(eta="auto", eta_scale=0.5).fit(X, y)
    assert model.eta_ == pytest.approx(0.5 * (plain.kernel_.beta**2).sum(), rel=1e-4)
    given = clone(model).set_params(eta=model.eta_, eta_scale=1.0).fit(X, y)
    assert model.objective_ == pytest.approx(given.objective_, rel=1e-8)
    assert model.n_iter_ > plain.n_iter_
    np.testing.assert_array_equal(model.part_labels_, given.part_labels_)


@both_kinds
def test_adapted_parts_start_from_the_plain_ones(kind, monkeypatch):
    X, y, model, _ = problem_of(kind)
    solve, ends, starts = smo.solve, [], []

    def watching(problem, start, **options):
        starts.append(start)
        result = solve(problem, start, **options)
        ends.append(result.x)
        return result

    monkeypatch.setattr("pliant.methods.svm.smo.solve", watching)
    model.set_params(eta="auto").fit(X, y)
    assert len(ends) == 8
    for plain, start in zip(ends[:4], starts[4:], strict=True):
        np.testing.assert_array_equal(start[:-1], plain[:-1])
        assert abs(start.sum()) <= 1e-12


def test_one_part_is_the_problem_without_an_intercept():
    X, y, _, twin = problem_of("classification")
    model = classifier(n_parts=1, tol=1e-9).fit(X, y)
    optimum, beta = naive.box_by_cone(twin)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), twin.fields(beta), atol=1e-3)
    whole = clone(model).set_params(prediction="whole").fit(X, y)
    new = np.random.default_rng(5).uniform(-0.2, 1.2, size=(30, 3))
    np.testing.assert_allclose(
        whole.decision_function(new), model.decision_function(new), atol=1e-12
    )


@both_kinds
def test_as_many_parts_as_rows_are_solved_in_closed_form(kind):
    """Each row alone: max p b - epsilon |b| - b^2/2 - b^4/(16 eta) over its box."""
    X, y, model, twin = problem_of(kind, C=0.4, n=20)
    model.set_params(n_parts=20).fit(X, y)
    assert sorted(model.part_labels_) == list(range(20))
    grid = np.linspace(-0.4, 0.4, 20_001)
    for p, epsilon, low, high, b in zip(
        twin.p, np.full(20, twin.epsilon), twin.lower, twin.upper, model.kernel_.beta, strict=True
    ):
        values = p * grid - epsilon * abs(grid) - grid**2 / 2 - grid**4 / (16 * twin.eta)
        values[(grid < low) | (grid > high)] = -np.inf
        assert b == pytest.approx(grid[values.argmax()], abs=1e-3)


def test_parts_of_one_class_are_learned_from():
    X, _ = classification(80)
    y = np.where(X[:, 0] < 0.5, "left", "right")
    model = classifier(n_parts=6).fit(X, y)
    pure = [len(set(y[model.part_labels_ == part])) == 1 for part in range(6)]
    assert any(pure)
    assert model.score(X, y) >= 0.95


@pytest.mark.parametrize("prediction", ["part", "whole"])
def test_predictions_by_parts_and_by_all(prediction):
    X, y = classification(80)
    model = classifier(prediction=prediction, extension="nearest").fit(X, y)
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
        if prediction == "whole":
            expected[~here] += Gaussian(GAMMA)(new[~here], X[members]) @ beta
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-10)
    np.testing.assert_allclose(
        model.kernel_(new, model.support_vectors_) @ model.dual_coef_ + model.intercept_,
        expected,
        atol=1e-10,
    )


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    extension=st.sampled_from(EXTENSIONS),
    prediction=st.sampled_from(["part", "whole"]),
    n_parts=st.integers(1, 12),
    eta=st.floats(0.01, 1e4),
)
def test_predictions_do_not_depend_on_the_batch(seed, extension, prediction, n_parts, eta):
    X, y = classification(n=40, seed=seed)
    model = classifier(extension=extension, prediction=prediction, n_parts=n_parts, eta=eta)
    model.fit(X, y)
    new = np.random.default_rng(seed + 1).uniform(-0.5, 1.5, size=(9, 3))
    new[:2] = X[:2]
    together = model.decision_function(new)
    alone = np.concatenate([model.decision_function(x[None]) for x in new])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prediction", ["part", "whole"])
def test_not_even_where_points_lie_between_two_centres(prediction):
    r = np.random.default_rng(0)
    for seed in range(20):
        X = r.integers(0, 4, size=(60, 2)).astype(float)
        y = np.where(r.standard_normal(60) + X[:, 0] > 1.5, 1, -1)
        model = classifier(n_parts=6, prediction=prediction, random_state=seed).fit(X, y)
        new = np.concatenate([X, X[::-1] + 0.5])
        alone = [model.decision_function(x[None])[0] for x in new]
        np.testing.assert_allclose(model.decision_function(new), alone, atol=1e-9)


def test_blocks_of_new_points_change_nothing(monkeypatch):
    X, y = classification(80)
    for prediction in ("part", "whole"):
        model = classifier(prediction=prediction).fit(X, y)
        before = model.decision_function(X)
        monkeypatch.setattr("pliant.core.blocks.BLOCK_ENTRIES", 100)
        np.testing.assert_allclose(model.decision_function(X), before, atol=1e-12)
        monkeypatch.undo()


def test_the_adaptation_is_that_of_each_part():
    X, y = classification()
    model = classifier(eta=0.5).fit(X, y)
    beta, labels = model.kernel_.beta, model.part_labels_
    F = 1 + np.diag(beta) @ Gaussian(GAMMA)(X) @ np.diag(beta) / 2.0 * (labels[:, None] == labels)
    np.testing.assert_allclose(model.adaptation_.toarray(), F, atol=1e-12)
    assert model.adaptation_.radius == pytest.approx(np.linalg.norm(F - 1))


def by_backend(backend, n_jobs, machine, X, y):
    with joblib.parallel_config(backend=backend):
        return clone(machine).set_params(n_jobs=n_jobs).fit(X, y)


@pytest.mark.parametrize("n_jobs", [2, -1])
@both_kinds
def test_threads_give_the_same_bytes(kind, n_jobs):
    X, y, model, _ = problem_of(kind)
    model.set_params(eta="auto").fit(X, y)
    for other in (
        clone(model).set_params(n_jobs=n_jobs).fit(X, y),
        by_backend("threading", n_jobs, model, X, y),
    ):
        assert_same_bytes(model, other)


@pytest.mark.slow
@both_kinds
def test_processes_give_the_same_bytes(kind):
    X, y, model, _ = problem_of(kind)
    model.set_params(eta="auto").fit(X, y)
    assert_same_bytes(model, by_backend("loky", 2, model, X, y))


def assert_same_bytes(one, other):
    for name in ("objective_", "dual_gap_", "eta_", "n_iter_", "intercept_"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("dual_coef_", "support_", "part_labels_", "part_centres_", "part_gaps_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_the_same_seed_gives_the_same_bytes_and_another_one_other_parts():
    X, y = classification(200)
    model = classifier(n_parts=9)
    one, again, other = (clone(model).set_params(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert_same_bytes(one, again)
    assert not np.array_equal(one.part_labels_, other.part_labels_)
    drawn = clone(model).set_params(random_state=np.random.RandomState(3)).fit(X, y)
    assert_same_bytes(one, drawn)


def test_the_parts_are_those_of_the_partition_package():
    X, y = classification(200)
    model = classifier(n_parts=5, random_state=7).fit(X, y)
    found = kmeans_partition(X, 5, random_state=np.random.RandomState(7))
    np.testing.assert_array_equal(model.part_labels_, found.labels)
    np.testing.assert_array_equal(model.part_centres_, found.centres)
    np.testing.assert_array_equal(model.kernel_.place(X), model.part_labels_)


@pytest.mark.parametrize("seed", range(3))
@both_kinds
def test_with_the_same_parts_the_order_of_the_rows_does_not_matter(kind, seed, monkeypatch):
    X, y, model, _ = problem_of(kind)
    model.fit(X, y)
    order = np.random.default_rng(seed).permutation(len(y))
    partition = type(kmeans_partition(X, 2, random_state=0))
    monkeypatch.setattr(
        "pliant.methods.svm.parts.divide.kmeans_partition",
        lambda *args, **kwargs: partition(model.part_labels_[order], model.part_centres_),
    )
    turned = clone(model).fit(X[order], y[order])
    assert turned.objective_ == pytest.approx(model.objective_, rel=1e-8)
    new = np.random.default_rng(9).uniform(size=(20, X.shape[1]))
    np.testing.assert_allclose(turned.predict(new), model.predict(new), atol=1e-3)


def test_auto_makes_more_parts_of_more_rows(monkeypatch):
    monkeypatch.setattr("pliant.methods.svm.parts.divide.AUTO_SIZE", 50)
    X, y = classification(420)
    sizes = np.bincount(classifier(n_parts="auto").fit(X, y).part_labels_)
    assert len(sizes) >= 9
    assert sizes.max() <= 100
    small = classifier(n_parts="auto").fit(X[:50], y[:50])
    assert len(small.part_centres_) == 1


def test_weights_and_class_weights_scale_the_box_of_each_row():
    X, y = classification()
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


def test_rows_without_weight_are_not_divided():
    X, y = classification()
    used = np.arange(60) % 3 > 0
    X_far = np.where(used[:, None], X, 1e6)
    one = classifier().fit(X_far, y, used.astype(float))
    other = classifier().fit(X[used], y[used])
    assert one.objective_ == other.objective_
    np.testing.assert_array_equal(one.part_labels_, other.part_labels_)
    np.testing.assert_array_equal(one.support_, np.flatnonzero(used)[other.support_])


@pytest.mark.parametrize("prediction", ["part", "whole"])
def test_more_than_two_classes_divide_the_rows_of_each_pair(prediction):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = DANKClassifier(
        C=10, partition="kmeans", n_parts=3, prediction=prediction, random_state=0
    ).fit(X, names)
    assert model.score(X, names) >= (0.96 if prediction == "part" else 0.7)
    assert len(model.estimators_) == 3
    for pair, (low, high) in zip(model.estimators_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = (y == low) | (y == high)
        alone = DANKClassifier(
            pair.kernel_.base, C=10, partition="kmeans", n_parts=3, random_state=0
        ).fit(X[rows], y[rows])
        assert pair.objective_ == pytest.approx(alone.objective_, rel=1e-12)
        np.testing.assert_array_equal(pair.part_labels_, alone.part_labels_)
    for name in ("kernel_", "part_labels_", "part_centres_", "part_gaps_", "part_seconds_"):
        with pytest.raises(AttributeError, match=rf"use estimators_\[k\]\.{name}"):
            getattr(model, name)


def awkward():
    X, y = classification(60)
    constant = X.copy()
    constant[:, 1] = 7.0
    few = np.repeat(X[:6], 10, axis=0)
    return {
        "constant feature": (constant, y),
        "few different rows": (few, np.repeat([1, -1, 1, -1, 1, -1], 10)),
        "opposite twins": (np.concatenate([X, X]), np.concatenate([y, -y])),
        "one feature": (X[:, :1], y),
        "many features": (np.tile(X, 30), y),
        "small units": (1e-150 * X, y),
        "large units": (1e150 * X, y),
    }


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("case", awkward())
def test_awkward_rows_are_learned_from(case, refine):
    X, y = awkward()[case]
    model = DANKClassifier(
        C=4, partition="kmeans", n_parts=8, refine=refine, random_state=0, tol=1e-6
    ).fit(X, y)
    assert model.dual_gap_ <= 8e-6 * (1 + model.objective_)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, y) >= (0.45 if case == "opposite twins" else 0.8)


@pytest.mark.parametrize("offset", [1e6, -1e9])
def test_a_far_origin_changes_little(offset):
    X, y = classification(100)
    X = np.round(X * 2**10) / 2**10  # so that nothing is lost
    model, moved = (classifier(eta="auto").fit(X + o, y) for o in (0.0, offset))
    np.testing.assert_array_equal(model.part_labels_, moved.part_labels_)
    assert moved.objective_ == pytest.approx(model.objective_, rel=1e-6)
    np.testing.assert_array_equal(model.predict(X), moved.predict(X + offset))


def test_a_tube_that_covers_all_gives_the_mean():
    X, y = regression()
    model = regressor(epsilon=10.0, eta="auto").fit(X, y)
    assert model.eta_ == np.inf
    assert model.support_.size == 0
    np.testing.assert_allclose(model.predict(X), np.full(60, y.mean()), rtol=1e-12)
    assert model.adaptation_.radius == 0.0


def test_a_scaled_target_makes_units_irrelevant():
    X, y = regression()
    model, scaled = (
        regressor(scale_target=True, eta="auto", tol=1e-8).fit(X, target)
        for target in (y, 1e6 * y - 3e6)
    )
    np.testing.assert_allclose(1e6 * model.predict(X) - 3e6, scaled.predict(X), rtol=1e-5, atol=10)


@both_kinds
def test_parameters_that_are_set_later_do_not_change_a_fitted_machine(kind):
    X, y, model, _ = problem_of(kind)
    before = model.fit(X, y).predict(X)
    model.set_params(prediction="whole", extension="none", n_neighbors=1, gamma=9.0)
    np.testing.assert_array_equal(model.predict(X), before)


@both_kinds
def test_pickle_clone_and_repeat_give_the_same_bytes(kind):
    X, y, model, _ = problem_of(kind)
    model.fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)
    assert clone(model).get_params() == model.get_params()


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = classification()
    model = classifier().fit(X, y)
    model.set_params(partition=None).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("part_")]
    assert isinstance(model.kernel_, HadamardKernel)


def test_the_learned_kernel_works_in_another_machine():
    X, y = classification(100)
    for prediction in ("part", "whole"):
        model = classifier(prediction=prediction).fit(X, y)
        assert SVC(kernel=model.kernel_, C=4).fit(X, y).score(X, y) >= 0.9
        for mb in (1e-3, 100.0):
            again = DANKClassifier(model.kernel_, tau=0, eta=10.0, cache_mb=mb).fit(X, y)
            assert again.score(X, y) >= 0.9


@pytest.mark.parametrize("kernel", ["laplacian", "matern32", "linear", Laplacian(0.5), "callable"])
def test_other_base_kernels_are_divided_too(kernel):
    X, y = classification(100)
    kernel = product if kernel == "callable" else kernel
    model = DANKClassifier(kernel, C=4, partition="kmeans", n_parts=3, random_state=0).fit(X, y)
    assert model.dual_gap_ <= 3e-4 * (1 + model.objective_)
    assert model.score(X, y) >= 0.8


def product(A, B):
    return A @ B.T + 1.0


def test_grid_search_pipelines_and_cross_validation():
    X, y = classification(120)
    pipeline = make_pipeline(StandardScaler(), classifier(gamma="scale", eta="auto"))
    grid = {
        "dankclassifier__n_parts": [1, 3],
        "dankclassifier__prediction": ["part", "whole"],
        "dankclassifier__refine": [False, True],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ >= 0.8
    assert cross_val_score(regressor(), *regression(90), cv=3).min() > 0.5


@pytest.mark.parametrize("eta", ["auto", 3.0])
def test_each_machine_of_a_path_equals_its_own_fit(eta):
    X, y = classification(80)
    model = classifier(eta=eta, tol=1e-8)
    machines = C_path(model, X, y, [8.0, 0.5, 2.0])
    for machine, C in zip(machines, [8.0, 0.5, 2.0], strict=True):
        assert_same_bytes(machine, clone(model).set_params(C=C).fit(X, y))


def test_a_better_block_problem_is_not_needed_for_a_larger_price():
    X, y = classification()
    values = [classifier(C=C, tol=1e-8).fit(X, y).objective_ for C in (0.1, 1.0, 10.0)]
    assert all(less < more for less, more in pairwise(values))


def broken(A, B):
    """A kernel that fails among the points of one corner."""
    if len(A) > 1 and A[:, 0].min() > 0.5 and A[:, 1].max() < 0.5:
        raise ArithmeticError("no kernel here")
    return Gaussian(GAMMA)(A, B)


def test_a_part_whose_kernel_fails_names_itself():
    r = np.random.default_rng(0)
    corners = np.array([[0.0, 0.0], [0.7, 0.0], [0.0, 0.7], [0.7, 0.7]])
    X = np.concatenate([corner + r.uniform(0, 0.2, size=(20, 2)) for corner in corners])
    y = r.choice([-1, 1], size=80)
    model = DANKClassifier(broken, partition="kmeans", n_parts=4, random_state=0)
    with pytest.raises(ArithmeticError, match=r"^part [1-4] of 4 \(20 rows\): no kernel here$"):
        model.fit(X, y)
    assert not hasattr(model, "kernel_")
    assert not hasattr(model, "part_labels_")


@pytest.mark.filterwarnings("ignore:overflow")
def test_kernel_values_that_are_not_finite_name_their_part():
    X, y = classification()
    X[3] = 1e200
    model = DANKClassifier("linear", partition="kmeans", n_parts=3, random_state=0)
    with pytest.raises(ValueError, match=r"part \d of 3 \(\d+ rows\): expected finite kernel val"):
        model.fit(X, y)


BAD = [
    ({"partition": "dask"}, ValueError, r"expected partition in \['kmeans'\], got 'dask'"),
    ({"partition": True}, ValueError, r"expected partition in \['kmeans'\], got True"),
    ({"n_parts": 0}, ValueError, "expected n_parts >= 1, an integer, got 0"),
    ({"n_parts": 2.5}, ValueError, "expected n_parts >= 1, an integer, got 2.5"),
    ({"n_parts": "all"}, ValueError, r"expected n_parts in \['auto'\], got 'all'"),
    ({"n_parts": None}, ValueError, "expected n_parts >= 1"),
    ({"n_parts": 61}, ValueError, "expected n_parts <= 60, the number of rows, got 61"),
    ({"prediction": "all"}, ValueError, r"expected prediction in \['part', 'whole'\], got 'all'"),
    ({"refine": "yes"}, ValueError, "expected refine True or False, got 'yes'"),
    ({"n_jobs": 0}, ValueError, "expected n_jobs"),
    ({"n_jobs": "two"}, ValueError, "expected n_jobs"),
    ({"n_jobs": 1.5}, ValueError, "expected n_jobs"),
    ({"checkpoint": 5}, TypeError, "expected checkpoint to be a folder or None, got 5"),
    ({"max_seconds": 0}, ValueError, "expected max_seconds > 0, a finite number, got 0"),
    ({"max_seconds": "1"}, ValueError, "expected max_seconds > 0"),
    ({"cache_mb": 0}, ValueError, "expected cache_mb > 0, a finite number, got 0"),
    ({"dtype": "float16"}, ValueError, "expected dtype in"),
    ({"tau": 0.1}, ValueError, "expected tau = 0 or 'auto' with partition='kmeans'"),
    ({"tau": "small"}, ValueError, "expected tau in"),
    ({"random_state": -1}, ValueError, "expected random_state None, a RandomState, or an"),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD, ids=str)
@both_kinds
def test_bad_parameters_get_one_clear_error(kind, parameters, error, message):
    X, y = classification() if kind == "classification" else regression()
    model = classifier() if kind == "classification" else regressor()
    with pytest.raises(error, match=message):
        model.set_params(**parameters).fit(X, y)
    assert not hasattr(model, "kernel_")


def test_a_precomputed_gram_has_no_coordinates_to_divide_by():
    X, y = classification()
    model = DANKClassifier("precomputed", partition="kmeans", extension="none")
    with pytest.raises(ValueError, match="expected a kernel of points for partition='kmeans'"):
        model.fit(Gaussian()(X), y)


@pytest.mark.parametrize("dense", [0, 2000])
@both_kinds
def test_parts_by_rows_on_demand_are_parts_by_whole_matrices(kind, dense, monkeypatch):
    X, y, model, _ = problem_of(kind, n=300)
    expected = model.fit(X, y)
    monkeypatch.setattr("pliant.methods.hadamard.parts.part.SMALL_PART", dense)
    for dtype, rel in (("float64", 1e-8), ("float32", 1e-6), ("auto", 1e-6)):
        found = clone(model).set_params(dtype=dtype, cache_mb=0.01, tol=1e-7).fit(X, y)
        assert found.objective_ == pytest.approx(expected.objective_, rel=max(rel, 4e-7))


def test_a_step_limit_is_told_once_for_all_parts():
    X, y = classification(100)
    model = classifier(C=100, max_iter=3)
    with pytest.warns(
        ConvergenceWarning, match=r"of 4 parts stopped early.*raise max_iter"
    ) as told:
        model.fit(X, y)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert model.n_iter_ <= 12
    assert model.dual_gap_ > 0
    assert model.score(X, y) > 0.5


def conic_value(K, y, C):
    """The plain SVM without an intercept, once more."""
    beta = cp.Variable(len(y))
    gain = y @ beta - 0.5 * cp.quad_form(beta, cp.psd_wrap(K))
    limits = [cp.multiply(y, beta) >= 0, cp.multiply(y, beta) <= C]
    program = cp.Problem(cp.Maximize(gain), limits)
    conic.solve(program)
    return program.value


def test_an_infinite_eta_is_the_plain_svm_on_each_part():
    X, y = classification()
    model = classifier(eta=np.inf, tol=1e-9).fit(X, y)
    K = Gaussian(GAMMA)(X) * (model.part_labels_[:, None] == model.part_labels_)
    assert model.objective_ == pytest.approx(conic_value(K, y.astype(float), 4.0), rel=1e-6)
    assert model.eta_ == np.inf
    assert model.adaptation_.radius == 0.0


@pytest.mark.parametrize("prediction", ["part", "whole"])
@pytest.mark.parametrize("refine", [False, True])
def test_a_machine_survives_a_model_file(tmp_path, prediction, refine):
    X, y = classification()
    model = classifier(prediction=prediction, refine=refine).fit(X, np.where(y > 0, "yes", "no"))
    loaded = round_trip(model, tmp_path / "m.skops")
    new = np.random.default_rng(1).uniform(-0.2, 1.2, size=(20, 3))
    assert loaded.decision_function(new).tobytes() == model.decision_function(new).tobytes()
    assert loaded.adaptation_.radius == model.adaptation_.radius
    assert loaded.get_params() == model.get_params()
    assert_same_bytes(loaded, model)


def round_trip(model, path):
    save_model(model, path)
    return load_model(path).model


def one_support_point_less(model):
    for name in ("support_", "support_vectors_", "dual_coef_"):
        setattr(model, name, getattr(model, name)[:-1])


FORGERIES = {
    "labels": lambda m: setattr(m.kernel_, "labels", m.kernel_.labels + 1),
    "centres": lambda m: setattr(m.kernel_, "centres", m.kernel_.centres[:, :2]),
    "between": lambda m: setattr(m.kernel_, "between", "half"),
    "points": lambda m: setattr(m.kernel_, "points", m.kernel_.points[:-1]),
    "beta": lambda m: setattr(m.kernel_, "beta", m.kernel_.beta[:-1]),
    "support": one_support_point_less,
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_attributes_from_a_file_that_do_not_belong_together_are_refused(tmp_path, forge):
    model = classifier().fit(*classification())
    FORGERIES[forge](model)
    with pytest.raises(ModelFileError, match="expected"):
        round_trip(model, tmp_path / "forged.skops")


def test_a_kernel_that_is_not_psd_has_no_certificate():
    X, y = classification()
    with pytest.warns(NonPSDWarning, match=r"smallest eigenvalue is -\d"):
        model = classifier(kernel=truncated, gamma="scale").fit(X, y)
    assert np.isnan(model.dual_gap_)
    assert np.isnan(model.part_gaps_).all()
    assert model.score(X, y) > 0.7


def truncated(A, B):
    return np.asarray(TL1(0.8)(A, B))


@pytest.mark.slow
def test_processes_may_share_large_read_only_tables():
    r = np.random.default_rng(0)
    X = r.uniform(size=(6000, 60))
    y = np.where(np.sin(6 * X[:, 0]) + X[:, 1] > 0.6, 1, -1)
    model = classifier(n_parts=2, gamma="scale")
    assert_same_bytes(model.fit(X, y), by_backend("loky", 2, model, X, y))
