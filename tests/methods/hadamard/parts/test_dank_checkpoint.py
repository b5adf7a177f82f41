"""A run part by part that goes on where an earlier one ended, and refuses to be mistaken."""

import json
import re

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from pliant import C_path, DANKClassifier, DANKRegressor
from pliant.core.progress import Deadline
from pliant.kernels import Gaussian, HadamardKernel, Laplacian, Linear
from pliant.methods.hadamard.parts.part import solve_part
from pliant.methods.svm import smo


def classification(n=80, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 3))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(n)
    return X, np.where(score > 0.3, 1, -1)


def regression(n=80, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)


def machine_in(folder, **parameters):
    common = {"gamma": 2.0, "C": 4.0, "eta": 3.0, "n_parts": 5, "random_state": 0}
    return DANKClassifier(partition="kmeans", checkpoint=folder, **common | parameters)


@pytest.fixture
def solved(monkeypatch):
    """How many rows each problem had that was solved."""
    sizes = []
    solve = smo.solve

    def counting(problem, *args, **kwargs):
        sizes.append(len(problem.linear))
        return solve(problem, *args, **kwargs)

    monkeypatch.setattr("pliant.methods.svm.smo.solve", counting)
    return sizes


@pytest.fixture
def interrupt_at(monkeypatch):
    """Let the k-th problem from now on be broken off."""

    def arm(k):
        calls = []
        solve = smo.solve

        def breaking(*args, **kwargs):
            calls.append(1)
            if len(calls) == k:
                raise KeyboardInterrupt
            return solve(*args, **kwargs)

        monkeypatch.setattr("pliant.methods.svm.smo.solve", breaking)

    yield arm
    monkeypatch.undo()


def assert_same(one, other):
    for name in ("objective_", "dual_gap_", "eta_", "n_iter_", "intercept_"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("dual_coef_", "support_", "part_labels_", "part_centres_", "part_gaps_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(("eta", "problems"), [(3.0, 5), ("auto", 10)])
def test_a_finished_run_is_read_and_not_solved_again(tmp_path, solved, eta, problems):
    X, y = classification()
    machine = machine_in(tmp_path, eta=eta)
    first = clone(machine).fit(X, y)
    assert len(solved) == problems
    again = clone(machine).fit(X, y)
    assert len(solved) == problems
    assert_same(first, again)
    np.testing.assert_array_equal(first.part_seconds_, again.part_seconds_)
    without = clone(machine).set_params(checkpoint=None).fit(X, y)
    assert_same(first, without)
    np.testing.assert_array_equal(first.decision_function(X), again.decision_function(X))


@pytest.mark.parametrize(("eta", "k"), [(3.0, 1), (3.0, 3), ("auto", 4), ("auto", 8)])
def test_a_run_that_was_broken_off_goes_on(tmp_path, solved, interrupt_at, eta, k, monkeypatch):
    X, y = classification()
    machine = machine_in(tmp_path, eta=eta)
    interrupt_at(k)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert not hasattr(machine, "kernel_")
    monkeypatch.undo()
    solved.clear()
    sizes = []
    solve = smo.solve
    monkeypatch.setattr(
        "pliant.methods.svm.smo.solve", lambda *a, **k: sizes.append(1) or solve(*a, **k)
    )
    machine.fit(X, y)
    assert len(sizes) == (10 if eta == "auto" else 5) - (k - 1)
    assert_same(machine, clone(machine).set_params(checkpoint=None).fit(X, y))


@pytest.mark.parametrize("changed", [{"refine": True}, {"prediction": "whole"},
                                     {"extension": "nearest"}, {"cache_mb": 50.0},
                                     {"n_jobs": 2}, {"max_seconds": 600}], ids=str)  # fmt: skip
def test_what_the_parts_do_not_depend_on_may_change(tmp_path, solved, changed):
    X, y = classification()
    machine_in(tmp_path).fit(X, y)
    count = len(solved)
    machine_in(tmp_path, **changed).fit(X, y)
    assert len(solved) - count <= (2 if "refine" in changed else 0)


REFUSED = [
    ({"C": 5.0}, r"C = 4\.0, now C = 5\.0"),
    ({"eta": 2.0}, r"eta = 3\.0, now eta = 2\.0"),
    ({"eta": "auto"}, r'eta = 3\.0, now eta = "auto"'),
    ({"eta_scale": 2.0}, r"eta_scale = 1\.0, now eta_scale = 2\.0"),
    ({"tol": 1e-5}, r"tol = 0\.0001, now tol = 1e-05"),
    ({"max_iter": 10}, r"max_iter = -1, now max_iter = 10"),
    ({"n_parts": 6}, r"n_parts = 5, now n_parts = 6"),
    ({"dtype": "float32"}, r'dtype = "auto", now dtype = "float32"'),
    ({"gamma": 3.0}, r"kernel__gamma = 2\.0, now kernel__gamma = 3\.0"),
    ({"kernel": "laplacian"}, r'kernel = "Gaussian", now kernel = "Laplacian"'),
    ({"random_state": 1}, r"random_state = 0, now random_state = 1"),
]


@pytest.mark.parametrize(("changed", "message"), REFUSED, ids=str)
def test_other_parameters_are_refused_with_both_values(tmp_path, changed, message):
    X, y = classification()
    first = machine_in(tmp_path).fit(X, y)
    other = machine_in(tmp_path, **changed)
    said = f"the run in checkpoint .* was made with .*{message}; choose another folder or delete it"
    with pytest.raises(ValueError, match=said):
        other.fit(X, y)
    assert not hasattr(other, "kernel_")
    assert_same(machine_in(tmp_path).fit(X, y), first)


def test_other_regression_parameters_are_refused(tmp_path):
    X, y = regression()
    machine = DANKRegressor(partition="kmeans", n_parts=3, checkpoint=tmp_path, random_state=0)
    first = machine.fit(X, y)
    assert_same(clone(machine).fit(X, y), first)
    with pytest.raises(ValueError, match=r"epsilon = 0\.1, now epsilon = 0\.2"):
        clone(machine).set_params(epsilon=0.2).fit(X, y)
    with pytest.raises(ValueError, match="made with another target"):
        clone(machine).set_params(scale_target=False).fit(X, y)


@pytest.mark.parametrize("name", ["X", "y", "weights", "one row more"])
def test_other_data_are_refused(tmp_path, name):
    X, y = classification()
    weights = np.ones(80)
    machine_in(tmp_path).fit(X, y, weights)
    if name == "X":
        X = X + 1e-9
    elif name == "y":
        y = np.where(np.arange(80) == 7, -y, y)
    elif name == "weights":
        weights[3] = 2.0
    else:
        X, y, weights = X[:-1], y[:-1], None
    with pytest.raises(ValueError, match="was made with another"):
        machine_in(tmp_path).fit(X, y, weights)


def power(degree):
    return lambda A, B: (A @ B.T + 1.0) ** degree


@pytest.mark.parametrize(
    ("kernel", "other"),
    [
        (power(1), power(2)),
        (Gaussian(1.0) + Linear(), Gaussian(1.5) + Linear()),
        (Gaussian(1.0), 2.0 * Gaussian(1.0)),
        (Laplacian(1.0), Gaussian(1.0)),
    ],
    ids=["two functions", "two sums", "a scale", "two kinds"],
)
def test_another_kernel_is_refused(tmp_path, kernel, other):
    X, y = classification()
    machine_in(tmp_path, kernel=kernel, gamma="scale").fit(X, y)
    with pytest.raises(ValueError, match="was made with"):
        machine_in(tmp_path, kernel=other, gamma="scale").fit(X, y)


def test_a_kernel_that_holds_many_points_may_be_resumed(tmp_path, solved):
    X, y = classification(1500)
    r = np.random.default_rng(0)
    kernel = HadamardKernel(Gaussian(2.0), r.uniform(size=(9000, 3)), r.standard_normal(9000), 1e4)
    machine = machine_in(tmp_path, kernel=kernel, gamma="scale", extension="none")
    machine.fit(X, y)
    count = len(solved)
    assert machine.set_params(checkpoint=str(tmp_path)).fit(X, y).kernel_.base is not None
    assert len(solved) == count
    assert all(path.stat().st_size < 1 << 20 for path in tmp_path.glob("*.json"))


def test_parameters_of_a_kernel_do_not_hide_those_of_the_machine(tmp_path):
    X, y = classification()
    learned = HadamardKernel(Gaussian(2.0), X, np.where(np.arange(80) % 2, 1.0, -1.0), eta=7.0)
    machine_in(tmp_path, kernel=learned, gamma="scale").fit(X, y)
    with pytest.raises(ValueError, match=r"eta = 3\.0, now eta = 2\.0"):
        machine_in(tmp_path, kernel=learned, gamma="scale", eta=2.0).fit(X, y)


@pytest.mark.parametrize(("eta", "problems"), [(3.0, 2), ("auto", 3)])
def test_a_finished_refinement_takes_no_step_again(tmp_path, solved, eta, problems):
    X, y = classification()
    machine = machine_in(tmp_path, eta=eta, refine=True, tol=1e-6)
    first = clone(machine).fit(X, y)
    count = len(solved)
    again = clone(machine).fit(X, y)
    assert len(solved) - count <= problems
    assert again.n_iter_ == 0
    assert again.objective_ == pytest.approx(first.objective_, rel=1e-9)
    assert again.dual_gap_ <= 1e-6 * (1 + again.objective_)


def broken_off(machine, X, y, monkeypatch, checks):
    """Let the refinement be broken off after so many checks; return what it had reached."""
    seen = []
    solve = smo.solve

    def breaking(problem, *args, keep=None, **kwargs):
        def keep_and_break(beta):
            keep(beta)
            seen.append(problem.value(beta))
            if len(seen) == checks:
                raise KeyboardInterrupt

        return solve(problem, *args, keep=None if keep is None else keep_and_break, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr("pliant.methods.svm.smo.solve", breaking)
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
    assert not hasattr(machine, "kernel_")
    return seen[-1]


@pytest.mark.parametrize("eta", [3.0, "auto"])
@pytest.mark.parametrize("checks", [1, 2])
def test_a_refinement_that_was_broken_off_goes_on_from_its_last_check(
    tmp_path, eta, checks, monkeypatch
):
    X, y = classification(400)
    machine = machine_in(tmp_path, C=100.0, gamma=20.0, eta=eta, refine=True, tol=1e-9)
    reached = broken_off(machine, X, y, monkeypatch, checks)
    begun = []
    solve = smo.solve

    def watching(problem, start, *args, **kwargs):
        if start is not None and kwargs.get("keep") is not None:
            begun.append(problem.value(start))
        return solve(problem, start, *args, **kwargs)

    monkeypatch.setattr("pliant.methods.svm.smo.solve", watching)
    machine.fit(X, y)
    assert begun[0] >= reached - 1e-9 * abs(reached)
    monkeypatch.undo()
    exact = clone(machine).set_params(checkpoint=None, partition=None, refine=False, tau=0)
    exact.fit(X, y)
    assert machine.objective_ == pytest.approx(exact.objective_, rel=1e-8 if eta == 3.0 else 1e-5)


def test_a_run_that_ended_by_its_time_is_continued(tmp_path):
    X, y = classification(300)
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        return Gaussian(2.0)(A, B)

    late = machine_in(tmp_path, kernel=kernel, gamma="scale", max_seconds=1e-9)
    with pytest.warns(ConvergenceWarning, match="5 of 5 parts stopped early"):
        late.fit(X, y)
    gaps = [late.dual_gap_]
    assert not list(tmp_path.glob("adapted*"))
    full = clone(late).set_params(max_seconds=None).fit(X, y)
    gaps.append(full.dual_gap_)
    assert gaps[1] <= 5e-4 * (1 + full.objective_) < gaps[0]
    assert_same(full, clone(full).set_params(checkpoint=None).fit(X, y))


def stopped_at(number):
    """A callback that asks to stop once, at the given call."""
    asked = []

    def once(_=None):
        asked.append(1)
        return len(asked) == number

    return Deadline(once, None)


def run_until(machine, X, y, number):
    """Fit in place until a callback asks to stop; return the model."""
    [task] = machine._prepare(X, y, None)
    machine._learn(task, None, stopped_at(number))
    return machine


@pytest.mark.parametrize("eta", [100.0, "auto"])
def test_a_refinement_that_is_stopped_again_and_again_comes_to_its_end(tmp_path, eta, monkeypatch):
    monkeypatch.setattr(
        "pliant.methods.svm.smo.solver.SLICE_READS", 4e3
    )  # so that it is asked often
    X, y = classification(400)
    machine = machine_in(tmp_path, C=100.0, gamma=20.0, eta=eta, tol=1e-8, refine=True)
    exact = clone(machine).set_params(checkpoint=None, partition=None, refine=False, tau=0)
    exact.fit(X, y)
    gaps, values = [], []
    while not gaps or gaps[-1] > 1e-8 * (1 + values[-1]):
        found = run_until(clone(machine), X, y, 25)
        gaps.append(found.dual_gap_)
        values.append(found.objective_)
        assert len(gaps) < 100
    assert len(gaps) > 2
    assert values[-1] == pytest.approx(exact.objective_, rel=1e-8 if eta == 100.0 else 1e-5)
    if eta == 100.0:  # else eta changes on the way
        assert (np.diff(values) >= -1e-9 * values[-1]).all()


@pytest.mark.parametrize("eta", [3.0, "auto"])
@pytest.mark.parametrize("number", [1, 3, 5, 6, 7])
def test_a_run_that_was_stopped_once_leaves_nothing_wrong_behind(tmp_path, eta, number):
    """Not even what was solved for an eta that came of half of the parts."""
    X, y = classification()
    run_until(machine_in(tmp_path, eta=eta), X, y, number)
    assert_same(machine_in(tmp_path, eta=eta).fit(X, y), machine_in(None, eta=eta).fit(X, y))


def test_each_pair_of_classes_has_a_folder_of_its_own(tmp_path, solved):
    X, y = load_iris(return_X_y=True)
    machine = machine_in(tmp_path, n_parts=3, gamma="scale")
    first = clone(machine).fit(X, y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-1", "0-2", "1-2"]
    count = len(solved)
    again = clone(machine).fit(X, y)
    assert len(solved) == count
    for one, other in zip(first.estimators_, again.estimators_, strict=True):
        assert_same(one, other)
    with pytest.raises(ValueError, match=r"C = 4\.0, now C = 5\.0"):
        clone(machine).set_params(C=5.0).fit(X, y)


@pytest.mark.slow
def test_processes_and_threads_share_a_folder(tmp_path, solved):
    X, y = classification()
    with joblib.parallel_config(backend="loky"):
        first = machine_in(tmp_path, n_jobs=2).fit(X, y)
    assert solved == []
    assert_same(machine_in(tmp_path, n_jobs=2).fit(X, y), first)
    assert solved == []


def test_a_path_with_one_folder_is_refused_at_its_second_price(tmp_path):
    X, y = classification()
    with pytest.raises(ValueError, match=r"C = 1\.0, now C = 2\.0"):
        C_path(machine_in(tmp_path), X, y, [1.0, 2.0])


@pytest.mark.parametrize("damage", ["part", "partition", "state"])
def test_a_damaged_file_is_made_anew_with_a_warning(tmp_path, damage):
    X, y = classification()
    machine = machine_in(tmp_path, refine=True)
    first = clone(machine).fit(X, y)
    pattern = {"part": "adapted-00002*", "partition": "partition*", "state": "refined*"}[damage]
    [file] = tmp_path.glob(pattern)
    file.write_bytes(b"no zip at all")
    with pytest.warns(UserWarning, match="cannot be used and is written again") as told:
        again = clone(machine).fit(X, y)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert again.objective_ == pytest.approx(first.objective_, rel=1e-4)
    np.testing.assert_array_equal(again.part_labels_, first.part_labels_)


@pytest.mark.parametrize("labels", ["too large", "one part empty", "fractions", "too few"])
def test_a_partition_that_is_none_is_made_anew(tmp_path, labels):
    X, y = classification()
    first = machine_in(tmp_path).fit(X, y)
    with np.load(tmp_path / "partition.npz") as file:
        kept = dict(file)
    forged = {
        "too large": kept["labels"] + 1,
        "one part empty": np.where(kept["labels"] == 2, 0, kept["labels"]),
        "fractions": kept["labels"] + 0.5,
        "too few": kept["labels"][:-1],
    }[labels]
    np.savez(tmp_path / "partition.npz", **kept | {"labels": forged})
    with pytest.warns(UserWarning, match="cannot be used and is written again"):
        again = machine_in(tmp_path).fit(X, y)
    assert_same(first, again)


def test_a_state_that_somebody_else_wrote_is_no_start(tmp_path):
    X, y = classification()
    machine = machine_in(tmp_path, refine=True, tol=1e-7)
    first = clone(machine).fit(X, y)
    [state] = tmp_path.glob("refined*")
    np.savez(state, beta=np.full(80, 1e3))
    with pytest.warns(UserWarning, match="cannot be used and is written again"):
        again = clone(machine).fit(X, y)
    assert (np.abs(again.kernel_.beta) <= 4.0).all()
    assert again.objective_ == pytest.approx(first.objective_, rel=2e-7)


def test_a_folder_that_is_a_file_gets_one_clear_error(tmp_path):
    file = tmp_path / "notes"
    file.write_text("mine")
    X, y = classification()
    with pytest.raises(ValueError, match=r"expected checkpoint (to be )?a folder, got the file"):
        machine_in(file).fit(X, y)
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, OSError), match=re.escape(str(file))):
        machine_in(file).fit(X, y)
    assert file.read_text() == "mine"


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"expected checkpoint a new or empty folder.*thesis"):
        machine_in(tmp_path).fit(*classification())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_manifest_can_be_read_by_people(tmp_path):
    machine_in(tmp_path).fit(*classification())
    made_with = json.loads((tmp_path / "manifest.json").read_text())["made_with"]
    assert made_with["C"] == 4.0
    assert made_with["kernel"] == "Gaussian"
    assert made_with["kernel__gamma"] == 2.0
    assert made_with["X"].startswith("sha256:")


def test_a_checkpoint_without_parts_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected checkpoint=None without partition"):
        DANKClassifier(checkpoint=tmp_path / "new").fit(*classification())
    assert not (tmp_path / "new").exists()


def test_a_failing_part_leaves_the_others_in_the_folder(tmp_path):
    X, y = classification()
    bad = []

    def kernel(A, B):
        if bad and len(A) == bad[0] and len(B) == bad[0]:
            raise ArithmeticError("no kernel here")
        return Gaussian(2.0)(A, B)

    machine = machine_in(tmp_path, kernel=kernel, gamma="scale")
    sizes = np.bincount(machine_in(None).fit(X, y).part_labels_)
    bad.append(sizes.min())  # the last to be run
    with pytest.raises(ArithmeticError, match=r"^part \d of 5 \(\d+ rows\): no kernel here$"):
        machine.fit(X, y)
    assert len(list(tmp_path.glob("adapted-*"))) == 5 - (sizes == sizes.min()).sum()
    bad.clear()
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "pliant.methods.hadamard.parts.run.solve_part",
            lambda *args: calls.append(1) or solve_part(*args),
        )
        machine.fit(X, y)
    assert len(calls) == (sizes == sizes.min()).sum()
