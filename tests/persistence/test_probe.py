"""What loads, predicts: a model of a file has all its attributes, no others, and finite numbers."""

import io
import json
import os

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from pliant import AsymmetricKernelRidge, DANKClassifier, LABRBFRegressor, ModelFileError
from pliant.kernels import (
    AdaptiveMatrix,
    Gaussian,
    GeneralizedPolynomial,
    HadamardKernel,
    Linear,
    NeighborGraphKernel,
    Normalized,
    On,
    PartitionedKernel,
    TessellatedKernel,
)
from pliant.persistence import load_model, save_model
from pliant.persistence._archive import DENSE_BYTES, MAX_SCHEMA_BYTES, check_density
from tests.fuzz.model_files import packed, peak_of, unpacked

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = X[:, 0] + np.sin(X[:, 1])
LABELS = np.digitize(Y, [-0.5, 0.5])
BETA = RNG.normal(size=20)


def scaled(scaler=None, model=None):
    return make_pipeline(scaler or StandardScaler(), model or Ridge()).fit(X, Y)


def without(name):
    return lambda model: vars(model).pop(name)


def with_value(name, value):
    def change(model):
        old = getattr(model, name, None)
        vars(model)[name] = value(old) if callable(value) else value

    return change


def exchanged(model):
    model.steps[0][1].__class__ = MinMaxScaler


def step(place, change):
    return lambda model: change(model.steps[place][1])


def steps_of(change):
    return lambda model: setattr(model, "steps", change(model.steps))


SMALLEST = np.nextafter(0.0, 1.0)

FORGED = {
    "scaler without an attribute": (scaled, step(0, without("scale_"))),
    "scaler of another type": (scaled, exchanged),
    "no parameter": (scaled, step(1, without("alpha"))),
    "scale of zero": (scaled, step(0, with_value("scale_", np.zeros(3)))),
    "tiny scale": (lambda: scaled(MaxAbsScaler()), step(0, with_value("scale_", SMALLEST))),
    "nan": (scaled, step(1, with_value("coef_", lambda c: c * np.nan))),
    "huge": (scaled, step(1, with_value("coef_", lambda c: np.full_like(c, 1e308)))),
    "intercept": (
        lambda: LogisticRegression().fit(X, LABELS),
        with_value("intercept_", lambda b: b[:, None]),
    ),
    "width": (scaled, step(0, with_value("n_features_in_", 0))),
    "names": (scaled, step(0, with_value("feature_names_in_", np.array(["a", "b"], object)))),
    "classes twice": (
        lambda: LogisticRegression().fit(X, LABELS),
        with_value("classes_", lambda c: np.zeros_like(c)),
    ),
    "classes of two types": (
        lambda: LogisticRegression().fit(X, LABELS),
        with_value("classes_", np.array([0, "a", 2], dtype=object)),
    ),
    "prior": (
        lambda: DummyClassifier().fit(X, LABELS),
        with_value("class_prior_", lambda p: p[:, None]),
    ),
    "half fitted": (
        lambda: IsotonicRegression(out_of_bounds="clip").fit(X[:, 0], Y),
        without("X_max_"),
    ),
    "steps of three": (scaled, steps_of(lambda steps: [(*each, 1) for each in steps])),
    "steps of one": (scaled, steps_of(lambda steps: [each[:1] for each in steps])),
    "no steps": (scaled, steps_of(lambda _: [])),
    "jobs": (
        lambda: ColumnTransformer([("a", StandardScaler(), [0])]).fit(X),
        with_value("n_jobs", "all"),
    ),
    "predict": (scaled, step(1, with_value("predict", 1.0))),
    "decision_function": (
        lambda: DANKClassifier().fit(X, LABELS > 1),
        with_value("decision_function", None),
    ),
    "_change": (
        lambda: HadamardKernel(Gaussian(), X, BETA, 0.5).adaptation(),
        with_value("_change", 3.0),
    ),
    "property": (lambda: Gaussian() + Linear(), with_value("psd", True)),
    "constant": (lambda: Gaussian(), with_value("symmetric", False)),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_model_that_cannot_predict_is_refused(tmp_path, name):
    make, change = FORGED[name]
    model = make()
    change(model)
    with pytest.raises(ModelFileError) as caught:
        save_model(model, tmp_path / "m.pliant")
    assert str(caught.value).isprintable()
    assert not list(tmp_path.iterdir())


PARTS = {"labels": np.arange(20) % 2, "centres": X[:2], "eta": 0.5}

INDICES = {
    "columns beyond": (On(Linear(), [0, 3]) + Gaussian(np.ones(3)), None, None),
    "parts": (PartitionedKernel(Gaussian(), X, BETA, **PARTS), "labels", np.full(20, 2)),
    "negative part": (PartitionedKernel(Gaussian(), X, BETA, **PARTS), "labels", np.full(20, -1)),
    "neighbours": (NeighborGraphKernel.from_points(X), "n_neighbors", 21),
    "no neighbours": (HadamardKernel(Gaussian(), X, BETA, 0.5), "n_neighbors", 0),
    "degree": (GeneralizedPolynomial(degree=1), "degree", 10**9),
    "box": (TessellatedKernel(np.zeros(3), 1.0), "lower", np.zeros(10**5)),
    "support": (DANKClassifier().fit(X, LABELS > 1), "support_", np.array([-1])),
    "fractions": (DANKClassifier().fit(X, LABELS > 1), "support_", lambda s: s + 0.5),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_are_in_range(tmp_path, name):
    model, attribute, value = INDICES[name]
    if attribute is not None:
        with_value(attribute, value)(model)
    with pytest.raises(ModelFileError):
        save_model(model, tmp_path / "m.pliant")


def test_members_of_local_kernels_have_row_numbers(tmp_path):
    model = LABRBFRegressor(4, n_members=1, max_iter=1, random_state=0).fit(X, Y)
    model.members_[0].support_ = -1 - model.members_[0].support_
    with pytest.raises(ModelFileError, match="support_ to hold row numbers"):
        save_model(model, tmp_path / "m.pliant")


def test_no_more_jobs_than_processors(tmp_path):
    """A transformer starts as many processes as its file says."""
    model = ColumnTransformer([("a", StandardScaler(), [0, 1, 2])]).fit(X).set_params(n_jobs=10**5)
    save_model(model, tmp_path / "m.pliant")
    assert load_model(tmp_path / "m.pliant").model.n_jobs == os.cpu_count()


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        AsymmetricKernelRidge(Normalized(Linear())).fit(X, Y),
        On(Linear(), ["a", "b"]),
        On(Gaussian(), slice(1, None)),
        IsotonicRegression().fit(X[:, 0], Y),
        AdaptiveMatrix(HadamardKernel(Gaussian(), X, BETA, 0.5)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_without_a_value_at_zero_and_models_not_fitted_are_saved(tmp_path, model):
    save_model(model, tmp_path / "m.pliant")
    assert type(load_model(tmp_path / "m.pliant").model) is type(model)


@pytest.mark.parametrize("text", ["[]", "{}", '{"":{}}', "12"])
def test_json_of_many_small_values_is_refused(text):
    dense = b"[" + b",".join([text.encode()] * (DENSE_BYTES // len(text))) + b"]"
    with pytest.raises(ModelFileError, match="too many small values"):
        check_density(dense)


def test_json_of_texts_is_not_dense():
    check_density(json.dumps(["[" * 100 + ",{" * 50 + '\\"' * 50] * (DENSE_BYTES // 200)).encode())


def test_memory_of_arrays_is_at_most_four_times_the_file(tmp_path):
    model = KernelRidge().fit(X, Y)
    model.X_fit_, model.dual_coef_ = np.ones((500_000, 3)), np.full(500_000, 1e-6)
    path = tmp_path / "m.pliant"
    save_model(model, path)
    load_model(path)  # imports
    assert peak_of(path) < 4 * path.stat().st_size


def test_memory_of_a_description_is_bounded(tmp_path):
    """The largest one would take 100 MB more than four times its size."""
    model = KernelRidge().fit(X, Y)
    model.texts_ = [f"text {i}" for i in range(1000)]
    path = tmp_path / "m.pliant"
    save_model(model, path)
    size = len(unpacked(path.read_bytes())["schema.json"])
    assert peak_of(path) - 4 * size < 100e6 * size / MAX_SCHEMA_BYTES + 2e6


def test_an_array_of_a_huge_shape_takes_no_memory(tmp_path):
    save_model(KernelRidge().fit(X, Y), tmp_path / "m.pliant")
    members = unpacked((tmp_path / "m.pliant").read_bytes())
    name = next(name for name in members if name.endswith(".npy"))
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    members[name] = stream.getvalue().replace(b"(3,), }        ", b"(99999999,), } ")
    (tmp_path / "m.pliant").write_bytes(packed(members))
    assert peak_of(tmp_path / "m.pliant") < 20e6


def test_a_kernel_of_scikit_learn_is_no_model(tmp_path):
    save_model(KernelRidge().fit(X, Y), tmp_path / "m.pliant")
    members = unpacked((tmp_path / "m.pliant").read_bytes())
    root = json.loads(members["schema.json"])
    node = root["content"]["model"]
    node["__module__"], node["__class__"] = "sklearn.gaussian_process.kernels", "RBF"
    (tmp_path / "m.pliant").write_bytes(
        packed({**members, "schema.json": json.dumps(root).encode()})
    )
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m.pliant")


@pytest.mark.parametrize("scaler", [StandardScaler, RobustScaler])
def test_a_model_of_tiny_numbers_loads(tmp_path, scaler):
    """A cube of 1 in units of 1e-120 would be infinite; the model predicts what it was made for."""
    model = make_pipeline(scaler(), DANKClassifier(kernel="polynomial"))
    model.fit(1e-120 * X, LABELS == 1)
    save_model(model, tmp_path / "m.pliant")
    loaded = load_model(tmp_path / "m.pliant").model
    np.testing.assert_array_equal(loaded.predict(1e-120 * X), model.predict(1e-120 * X))
