"""Learners of kernels from labels and machines on their kernels come back from a file the same."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pliant import (
    DANKClassifier,
    KernelEmbedding,
    LearnedKernelClassifier,
    LearnedKernelRegressor,
    LogDetLearner,
    ModelFileError,
    OrderSpectralLearner,
    SCGLogDetLearner,
)
from pliant.kernels import (
    Gaussian,
    LandmarkKernel,
    LogDetKernel,
    NeighborGraphKernel,
    Precomputed,
    SpectralKernel,
)
from pliant.methods.side_information.neighbor_graph import NeighborGraph
from pliant.persistence import load_model, save_model

random = np.random.default_rng(0)
X, NEW = random.normal(size=(2, 40, 3))
X[:20, 0] += 2.0
Y = np.repeat([0, 1], 20)
Y[::4] = -1
GRAPH = NeighborGraph(X, 4)
SMOOTH = GRAPH.smoothest(6, drop_null=True)


def reloaded(tmp_path, model):
    save_model(model, tmp_path / "model.pliant")
    return load_model(tmp_path / "model.pliant").model


@pytest.mark.parametrize(
    "kernel",
    [
        LogDetKernel(Gaussian(0.5), X, -0.1 * np.eye(len(X))),
        LandmarkKernel(Gaussian(0.5), X[:5], np.eye(5)[:, :3]),
        SpectralKernel(X, SMOOTH.vectors, SMOOTH.values, np.ones(6), 4, GRAPH.radii, GRAPH.degrees),
        NeighborGraphKernel.from_points(X),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_kernel(tmp_path, kernel):
    loaded = reloaded(tmp_path, kernel)
    assert type(loaded) is type(kernel)
    np.testing.assert_allclose(loaded(X, NEW), kernel(X, NEW), rtol=1e-13)


LEARNERS = [
    SCGLogDetLearner(strength=10.0),
    SCGLogDetLearner(strength=10.0, n_components=2),
    SCGLogDetLearner(strength=10.0, n_landmarks=8, random_state=0),
    SCGLogDetLearner(strength=10.0, n_components=2, n_landmarks=8, random_state=0),
    SCGLogDetLearner("graph", strength=10.0),
    SCGLogDetLearner(Gaussian(0.5), strength=10.0),
    OrderSpectralLearner(n_components=10),
    OrderSpectralLearner("scg", n_components=10),
    LogDetLearner(random_state=0),
    KernelEmbedding(random_state=0),
    KernelEmbedding(OrderSpectralLearner(n_components=10)),
    KernelEmbedding(SCGLogDetLearner(strength=10.0, n_landmarks=8), 3, random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_learner(tmp_path, learner):
    learner.fit(X, Y)
    loaded = reloaded(tmp_path, learner)
    np.testing.assert_array_equal(loaded.transform(NEW), learner.transform(NEW))
    np.testing.assert_array_equal(loaded.kernel_(X, NEW), learner.kernel_(X, NEW))
    np.testing.assert_array_equal(loaded.get_feature_names_out(), learner.get_feature_names_out())


def test_a_learner_of_pairs_on_a_precomputed_kernel(tmp_path):
    gram = Gaussian(0.5)(X)
    learner = SCGLogDetLearner("precomputed", strength=10.0)
    learner.fit(gram, similar=[(0, 1), (2, 3)], dissimilar=[(0, 30)])
    loaded = reloaded(tmp_path, learner)
    assert isinstance(loaded.kernel_.base, Precomputed)
    np.testing.assert_array_equal(loaded.transform(gram[:3]), learner.transform(gram[:3]))


def plain_machine(**parameters):
    return DANKClassifier("precomputed", eta=np.inf, extension="none", **parameters)


@pytest.mark.parametrize(
    "learner", [None, OrderSpectralLearner(), LogDetLearner()], ids=lambda part: type(part).__name__
)
@pytest.mark.parametrize("names", [np.array(["a", "b", "?"]), np.array([7, 3, -1])], ids=str)
def test_a_machine_on_a_learned_kernel(tmp_path, learner, names):
    machine = LearnedKernelClassifier(
        learner, plain_machine(C=3.0), unlabeled=names[-1].item(), random_state=0
    )
    model = make_pipeline(StandardScaler(), machine).fit(X, names[Y])
    loaded = reloaded(tmp_path, model)
    assert loaded[-1].machine.C == 3.0
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))


def test_three_classes(tmp_path):
    labels = np.arange(len(X)) % 3
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), plain_machine()).fit(X, labels)
    np.testing.assert_array_equal(reloaded(tmp_path, model).predict(NEW), model.predict(NEW))


def test_a_regressor(tmp_path):
    model = LearnedKernelRegressor(
        SCGLogDetLearner(strength=1.0), KernelRidge(kernel="precomputed")
    )
    model.fit(X, X[:, 0])
    np.testing.assert_array_equal(reloaded(tmp_path, model).predict(NEW), model.predict(NEW))


def test_a_machine_that_a_file_cannot_hold_is_named(tmp_path):
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), SVC(kernel="precomputed"))
    with pytest.raises(ModelFileError, match=r"expected kernel in .* got 'precomputed'"):
        save_model(model.fit(X, Y == 0), tmp_path / "model.pliant")
    assert list(tmp_path.iterdir()) == []


def forged(learner, name, value):
    learner = clone(learner).fit(X, Y)
    owner, _, last = name.rpartition(".")
    vars(getattr(learner, owner) if owner else learner)[last] = value
    return learner


@pytest.mark.parametrize(
    ("learner", "name", "value", "said"),
    [
        (LEARNERS[0], "kernel_", 3.0, "expected a kernel, got float"),
        (
            LEARNERS[0],
            "support_vectors_",
            np.ones(3),
            r"support_vectors_ of shape \(n_samples, ",
        ),
        (LEARNERS[0], "kernel_.matrix", np.eye(3), "a matrix for 30 points, got 3 rows"),
        (LEARNERS[1], "components_", 3.0, "expected Components or None, got 3.0"),
        (LEARNERS[1], "components_.centre", np.ones(3), r"centre of shape \(30,\), got \(3,\)"),
        (LEARNERS[1], "components_.coefficients", np.ones((3, 2)), r"shape \(3,\), got \(30,\)"),
        (LEARNERS[6], "kernel_.degrees", np.zeros(40), "expected degrees > 0"),
        (LEARNERS[9], "learner_", 3.0, "expected a kernel learner, got float"),
        (LEARNERS[9], "components_.centre", np.ones(3), r"centre of shape \(30,\), got \(3,\)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_forged_learner_is_refused(tmp_path, learner, name, value, said):
    with pytest.raises(ModelFileError, match=said):
        save_model(forged(learner, name, value), tmp_path / "model.pliant")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("scale_", -1.0, r"expected scale_ > 0, a finite number, got -1\.0"),
        ("support_vectors_", np.ones((3, 3)), "expected machine_ to take 3 kernel values, got 40"),
        ("machine_", 3.0, "expected machine_ to take 40 kernel values, got None"),
        ("machine_", plain_machine(), "lacks an attribute"),
        ("learner_", 3.0, "expected learner to learn one kernel"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_forged_machine_is_refused(tmp_path, name, value, said):
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), plain_machine()).fit(X, Y == 0)
    setattr(model, name, value)
    with pytest.raises(ModelFileError, match=said):
        save_model(model, tmp_path / "model.pliant")


def test_a_fitted_part_among_the_parameters_is_checked(tmp_path):
    model = LearnedKernelClassifier(SCGLogDetLearner(strength=1.0), plain_machine()).fit(X, Y == 0)
    model.machine = model.machine_
    save_model(model, tmp_path / "model.pliant")
    model.machine = DANKClassifier().fit(X, Y == 0)
    model.machine.dual_coef_ = np.ones(1)
    with pytest.raises(ModelFileError, match="coefficients, got shape"):
        save_model(model, tmp_path / "other.pliant")


def test_a_function_as_the_base_kernel_is_refused(tmp_path):
    learner = SCGLogDetLearner(lambda a, b: a @ b.T, strength=1.0)
    with pytest.raises(ModelFileError, match=r"'model\.kernel_\.base\.function' is the function"):
        save_model(learner.fit(X, Y), tmp_path / "model.pliant")


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="lacks an attribute"):
        save_model(LearnedKernelClassifier(machine=plain_machine()), tmp_path / "model.pliant")
