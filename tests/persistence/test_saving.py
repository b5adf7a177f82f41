"""Fitted machines survive a model file, and a forged one is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pliant import (
    DANKClassifier,
    DANKRegressor,
    GKLClassifier,
    GKLRegressor,
    KNPLClassifier,
    KNPLRegressor,
    ModelFileError,
    TKLClassifier,
    TKLRegressor,
)
from pliant.kernels import (
    Gaussian,
    GeneralizedPolynomial,
    Linear,
    QuadratureKernel,
    TessellatedKernel,
)
from pliant.persistence import load_model, save_model
from tests.methods.hadamard.test_dank import classification, regression


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal", "none"])
def test_a_classifier_survives(tmp_path, extension):
    X, y = classification(n=50)
    model = DANKClassifier(extension=extension).fit(X, np.where(y > 0, "yes", "no"))
    save_model(model, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").model
    new = np.random.default_rng(1).uniform(size=(20, 3))
    assert loaded.decision_function(new).tobytes() == model.decision_function(new).tobytes()
    assert list(loaded.predict(new)) == list(model.predict(new))
    assert loaded.adaptation_.radius == model.adaptation_.radius
    assert loaded.get_params() == model.get_params()


def test_pipelines_many_classes_composed_kernels_and_regressors_survive(tmp_path):
    X, y = load_iris(return_X_y=True)
    many = make_pipeline(StandardScaler(), DANKClassifier(Gaussian(0.5) + 0.1 * Linear())).fit(X, y)
    save_model(many, tmp_path / "many.skops")
    loaded = load_model(tmp_path / "many.skops").model
    np.testing.assert_array_equal(loaded.decision_function(X), many.decision_function(X))
    X, y = regression(n=50)
    line = DANKRegressor().fit(X, y)
    save_model(line, tmp_path / "line.skops")
    np.testing.assert_array_equal(
        load_model(tmp_path / "line.skops").model.predict(X), line.predict(X)
    )


def test_precomputed_machines_survive(tmp_path):
    X, y = classification(n=50)
    K = Gaussian(1.0)(X)
    model = DANKClassifier("precomputed").fit(K, y)
    save_model(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(
        load_model(tmp_path / "m.skops").model.decision_function(K), model.decision_function(K)
    )


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal", "none"])
@pytest.mark.parametrize(
    "model",
    [
        DANKClassifier(tau=0.05),
        DANKRegressor(tau=0.05),
        KNPLClassifier(eta_scale=0.1),
        KNPLRegressor(eta_scale=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_rule_survives(tmp_path, model, extension):
    X, y = classification(n=50)
    model = clone(model).set_params(extension=extension).fit(X, y)
    loaded = round_trip(model, tmp_path / "m.skops")
    new = np.random.default_rng(1).uniform(size=(20, 3))
    assert loaded.predict(new).tobytes() == model.predict(new).tobytes()
    assert loaded.kernel_(new, X).tobytes() == model.kernel_(new, X).tobytes()
    assert loaded.adaptation_.rank == model.adaptation_.rank
    assert loaded.get_params() == model.get_params()
    assert set(vars(loaded)) == set(vars(model))


def test_many_classes_with_an_adapted_kernel_survive(tmp_path):
    X, y = load_iris(return_X_y=True)
    for model in (DANKClassifier(tau=0.1), KNPLClassifier()):
        model.fit(X, y)
        loaded = round_trip(model, tmp_path / "m.skops")
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_machine_with_a_function_says_so_when_it_is_saved(tmp_path):
    X, y = classification(n=50)
    model = DANKClassifier(kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(ModelFileError, match="function"):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def round_trip(model, path):
    save_model(model, path)
    return load_model(path).model


FORGERIES = {
    "classes": lambda m: setattr(m, "classes_", m.classes_[:1]),
    "more classes": lambda m: setattr(m, "classes_", np.array([0, 1, 2])),
    "coefficients": lambda m: setattr(m, "dual_coef_", m.dual_coef_[:-1]),
    "nan": lambda m: setattr(m, "intercept_", np.nan),
    "beta": lambda m: setattr(m.kernel_, "beta", m.kernel_.beta[:-3]),
    "kernel": lambda m: setattr(m, "kernel_", 3.0),
    "base": lambda m: setattr(m.kernel_, "base", "gaussian"),
    "extension": lambda m: setattr(m.kernel_, "extension", "magic"),
    "support": lambda m: setattr(m, "support_vectors_", np.full((2, 2), np.inf)),
    "tau": lambda m: setattr(m.kernel_, "tau", -1.0),
    "two rules": lambda m: m.kernel_.set_params(tau=0.5, centred=True),
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, forge):
    X, y = classification(n=50)
    model = DANKClassifier().fit(X, y)
    FORGERIES[forge](model)
    with pytest.raises(ModelFileError, match="expected"):
        round_trip(model, tmp_path / "m.skops")


LEARNERS_OF_P = [
    TKLClassifier(C=5.0, degree=2, dtype="float32"),
    TKLClassifier(delta=(0.1, 0.5)),
    TKLClassifier(delta=np.array([0.1, 0.2, 0.3]), scale=False),
    TKLClassifier(cache_mb=1e-3, tol=0.9, random_state=0),
    TKLRegressor(degree=0, epsilon=0.01),
    TKLRegressor(epsilon=10.0),
    GKLClassifier(),
    GKLRegressor(TessellatedKernel(-0.5, [1.5, 1.4, 1.3])),
]


@pytest.mark.parametrize("model", LEARNERS_OF_P, ids=range(len(LEARNERS_OF_P)))
def test_every_learner_of_a_shape_matrix_survives(tmp_path, model):
    X, y = classification(n=50)
    model = clone(model).fit(X, y)
    loaded = round_trip(model, tmp_path / "m.skops")
    new = np.random.default_rng(1).uniform(-1, 2, size=(20, 3))
    assert loaded.predict(new).tobytes() == model.predict(new).tobytes()
    assert loaded.kernel_(new, X).tobytes() == model.kernel_(new, X).tobytes()
    assert loaded.shape_matrix_.tobytes() == model.shape_matrix_.tobytes()
    assert set(vars(loaded)) == set(vars(model))
    assert repr(loaded.get_params()) == repr(model.get_params())
    for name in ("rank_", "n_svm_solves_", "relative_gap_", "objective_", "lower_bound_"):
        assert getattr(loaded, name) == getattr(model, name)


def test_many_classes_with_learned_shape_matrices_survive(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), TKLClassifier(tol=0.1)).fit(X, y)
    loaded = round_trip(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded[-1].upper_, model[-1].upper_)
    np.testing.assert_array_equal(loaded[-1].n_svm_solves_, model[-1].n_svm_solves_)


def test_a_learned_kernel_survives_on_its_own(tmp_path):
    X, y = classification(n=50)
    for model in (TKLClassifier(), GKLClassifier(GeneralizedPolynomial(degree=2))):
        kernel = model.fit(X, y).kernel_
        loaded = round_trip(kernel, tmp_path / "k.skops")
        assert loaded(X).tobytes() == kernel(X).tobytes()


def test_a_basis_by_its_values_says_that_it_cannot_be_saved(tmp_path):
    def ones(nodes, points):
        return np.ones((len(nodes), len(points), 1))

    X, y = classification(n=50)
    model = GKLClassifier(QuadratureKernel(ones, np.ones((2, 1)), np.ones(2))).fit(X, y)
    with pytest.raises(ModelFileError, match="ones"):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def inner(model):
    """The kernel on the box."""
    return model.kernel_.kernel


FORGED_SHAPES = {
    "factor, rows": lambda m: setattr(inner(m), "factor", inner(m).factor[:-1]),
    "factor, 1-D": lambda m: setattr(inner(m), "factor", inner(m).factor[:, 0]),
    "factor, nan": lambda m: setattr(inner(m), "factor", np.nan * inner(m).factor),
    "factor, none": lambda m: setattr(inner(m), "factor", None),
    "degree": lambda m: setattr(inner(m), "degree", 7),
    "degree, other": lambda m: setattr(inner(m), "degree", 2),
    "degree, text": lambda m: setattr(inner(m), "degree", "one"),
    "box": lambda m: setattr(inner(m), "lower", 9.0),
    "box, nan": lambda m: setattr(inner(m), "upper", np.full(3, np.nan)),
    "box, length": lambda m: setattr(inner(m), "upper", np.full(2, 1.5)),
    "offset, nan": lambda m: setattr(m.kernel_, "offset", np.full(3, np.nan)),
    "offset, length": lambda m: setattr(m.kernel_, "offset", np.zeros(5)),
    "width, zero": lambda m: setattr(m.kernel_, "width", np.zeros(3)),
    "inner kernel": lambda m: setattr(m.kernel_, "kernel", Gaussian(1.0)),
    "kernel": lambda m: setattr(m, "kernel_", Gaussian(1.0)),
    "columns": lambda m: setattr(m, "support_vectors_", m.support_vectors_[:, :1]),
    "objective": lambda m: setattr(m, "objective_", np.nan),
    "lower bound": lambda m: setattr(m, "lower_bound_", np.inf),
    "gap": lambda m: setattr(m, "dual_gap_", np.nan),
    "history": lambda m: setattr(m, "objective_history_", np.array([np.nan])),
    "coefficients": lambda m: setattr(m, "dual_coef_", m.dual_coef_[:-1]),
    "intercept": lambda m: setattr(m, "intercept_", np.inf),
}


@pytest.mark.parametrize("forge", FORGED_SHAPES)
def test_shape_matrices_that_do_not_belong_to_their_kernel_are_refused(tmp_path, forge):
    X, y = classification(n=50)
    model = TKLClassifier(tol=0.1).fit(X, y)
    FORGED_SHAPES[forge](model)
    with pytest.raises(ModelFileError, match="expected"):
        round_trip(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []
