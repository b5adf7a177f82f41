"""ONNX Runtime predicts what the exported model predicts."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    DANKRegressor,
    KNPLClassifier,
    LABRBFClassifier,
    LABRBFRegressor,
    MKLClassifier,
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
    to_onnx,
)
from pliant.kernels import Matern
from pliant.methods import LocalRBFKernel, Warp
from pliant.methods.lab_rbf import constants, dense, trainer
from pliant.methods.lab_rbf.kernel import PROFILES

rng = np.random.default_rng(0)
digits = rng.integers(0, 10, 300)
X = np.column_stack(
    [
        *(rng.normal(size=300), np.exp(2 * rng.normal(size=300)), rng.normal(size=300) ** 3),
        *(1.6e7 + digits, np.full(300, 3.0)),  # the mean is no float32; a constant feature
    ]
)
f = np.sin(X[:, 0]) + np.log(X[:, 1] + 1) + 0.1 * digits
TWO = np.column_stack([f, X[:, 0]])
CODES = np.digitize(f, [0.5, 1.5])
NEW = np.vstack([X, 3 * X, X - 5, X[:100] / 2])  # 1000 rows, in and far outside the range
QUICK = {"n_support": 40, "n_members": 2, "max_iter": 2, "random_state": 0}
SCALED = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)


def run(model, points, dtype="float64"):
    """Return the outputs of ONNX Runtime for the exported model, by name."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    exported = to_onnx(model, dtype)
    onnx.checker.check_model(exported, full_check=True)
    session = runtime.InferenceSession(exported.SerializeToString())
    values = session.run(None, {"X": np.asarray(points, dtype=dtype)})
    return dict(zip([output.name for output in session.get_outputs()], values, strict=True))


def assert_same_predictions(model, points, float32):
    """Compare predictions, relative to their range, and the outputs for one row."""
    size = np.abs(model.predict(points)).max()
    assert_agree(model, points, {"float64": 1e-12 * size, "float32": float32 * size})


def assert_same_sums(model, points, slope=1.0):
    """Compare predictions of LAB-RBF; each term c_i k of the sum f has rounding errors.

    `slope` is the largest derivative of the prediction with respect to f.
    """
    terms = np.abs(model.dual_coef_).sum() + np.abs(model.predict(points)).max()
    sizes = {dtype: 16.0 * slope * np.finfo(dtype).eps * terms for dtype in ("float64", "float32")}
    assert_agree(model, points, sizes)


def assert_agree(model, points, tolerances):
    """Compare the predictions for points, and for one point, at absolute tolerances."""
    expected = model.predict(points)
    for dtype, atol in tolerances.items():
        predicted = run(model, points, dtype)["predicted"]
        assert predicted.shape == expected.shape
        assert predicted.dtype == dtype
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=atol)
    first = run(model, points[:1])["predicted"]
    np.testing.assert_allclose(first, expected[:1], rtol=0, atol=tolerances["float64"])


@pytest.mark.parametrize(
    ("profile", "y"),
    [*((profile, TWO) for profile in PROFILES), ("gaussian", f), ("gaussian", f[:, None])],
)
@pytest.mark.parametrize("count", [2, 4], ids=["local", "dense"])
def test_predictions_of_lab_rbf(profile, y, count):
    model = LABRBFRegressor(profile=profile, **QUICK, dense=count == 4, transforms=None).fit(X, y)
    assert any(member.linear_ for member in model.members_)
    assert len(model.members_) == count
    assert_same_sums(model, NEW)


@pytest.mark.parametrize("metric", ["bandwidths", "gradients"])
@pytest.mark.parametrize("profile", ["matern32", "gaussian", "laplacian"])
def test_dense_members_in_each_metric_and_profile(monkeypatch, profile, metric):
    choice = dense.Choice(metric, profile, factor=1.0, alpha=0.1)
    monkeypatch.setattr(dense.Search, "best_choices", lambda _: [choice])
    monkeypatch.setattr(dense, "best_weight", lambda *_: 0.5)
    for scale in ("raw", "log"):
        monkeypatch.setattr(trainer.Trainer, "choose_scales", lambda *_, s=scale: [s])
        model = LABRBFRegressor(**QUICK).fit(X, TWO)
        for member in model.members_[2:]:
            assert member.warp_.affine == (scale == "raw")
            assert (member.mixing is None) == (metric == "bandwidths")
        assert_same_sums(model, NEW)


def test_dense_members_with_different_kernels(monkeypatch):
    choices = [
        dense.Choice("bandwidths", "laplacian", factor=0.25, alpha=0.1),
        dense.Choice("gradients", "gaussian", factor=1.0, alpha=0.2),
    ]
    monkeypatch.setattr(dense.Search, "best_choices", lambda _: choices)
    monkeypatch.setattr(dense, "best_weight", lambda *_: 0.5)
    model = LABRBFRegressor(**QUICK).fit(X, TWO)
    profiles = [member.kernel_.profile for member in model.members_[2:]]
    assert profiles == [choice.profile for choice in choices]
    assert_same_sums(model, NEW)


def test_members_with_different_transforms_and_an_asinh_target():
    model = LABRBFRegressor(**{**QUICK, "n_members": 4}, transforms=None).fit(X, TWO)
    n_dense = len(model.members_) - 4
    assert n_dense
    model.weights_ = np.array([0.3, 0.2, 0.0, 0.1, *np.full(n_dense, 0.4 / n_dense)])
    for k, kind in enumerate(["log", "raw", "asinh"], start=1):
        member = model.members_[k]
        warp, theta = Warp.learn(X, kind), member.mapped_bandwidths()
        assert warp.affine == (kind == "raw")
        nonlinear = None if warp.affine else warp
        kernel = LocalRBFKernel(member.kernel_.centres, theta, "gaussian", nonlinear)
        model.members_[k] = replace(member, kernel_=kernel, warp_=warp)
    model.target_unit_ = np.array([0.5, 2.0])
    inside = (model.target_low_ < model.predict(NEW)) & (model.predict(NEW) < model.target_high_)
    assert inside.any(axis=0).all()
    assert not inside.all(axis=0).any()  # predictions are also clipped
    # The derivative of u sinh(f) is at most |u sinh(f)| + u.
    assert_same_sums(model, NEW, np.abs(model.predict(NEW)).max() + model.target_unit_.max())


def test_centres_that_were_added_after_the_bandwidths_were_learned(monkeypatch):
    monkeypatch.setattr(constants, "MANY_ROWS", 600)
    monkeypatch.setattr(constants, "ROWS_PER_CENTRE", 1)
    monkeypatch.setattr(constants, "MAX_CENTRES", 450)
    points, target = NEW[:600], np.sin(NEW[:600, 0])
    model = LABRBFRegressor(n_members=1, dense=False, max_iter=2, random_state=0)
    model.fit(points, target)
    assert (model.members_[0].n_learned_, len(model.support_)) == (200, 450)
    assert_same_predictions(model, NEW, 1e-4)


@pytest.mark.parametrize(
    "y",
    [f > 1, CODES, CODES * 2.0, np.array(["low", "mid", "high"])[CODES]],
    ids=["bool", "int", "float", "str"],
)
def test_classes_and_probabilities(y):
    model = LABRBFClassifier(**QUICK).fit(X, y)
    outputs, expected = run(model, NEW), model.predict_proba(NEW)
    np.testing.assert_array_equal(outputs["label"], model.predict(NEW))
    assert outputs["label"].dtype == (object if y.dtype.kind == "U" else np.int64)
    # Each term c_i k of a score has rounding errors, and so has the logarithm of a probability.
    # A probability near 0 has the absolute error of one near 1.
    rtol = max(1e-12, 5e-16 * float(np.abs(model.dual_coef_).sum()))
    np.testing.assert_allclose(outputs["probabilities"], expected, rtol=rtol, atol=1e-15)
    single = run(model, NEW[:1], "float32")["probabilities"]
    np.testing.assert_allclose(single, expected[:1], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_row_with_nan_has_nan_as_prediction_and_probabilities(dtype):
    points = NEW[:3].copy()
    points[1, 0] = np.nan
    for model, y in ((LABRBFRegressor(**QUICK), f), (LABRBFClassifier(**QUICK), CODES)):
        outputs = run(model.fit(X, y), points, dtype)
        outputs.pop("label", None)
        (values,) = outputs.values()
        np.testing.assert_array_equal(np.isnan(values.reshape(3, -1)).all(axis=1), [0, 1, 0])
        with pytest.raises(ValueError, match="contains NaN"):
            model.predict(points)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SketchedKernelRidge(n_centers=40, alpha=0.1), f),
        (SketchedKernelRidge(Matern(1.5, [0.1, 0.0, 0.2, 0.1, 1.0]), n_centers=40), TWO),
        (AsymmetricKernelRidge("matern12"), TWO),
        (AsymmetricKernelRidge("matern52"), f),
        (DANKRegressor(extension="none"), f),
    ],
)
def test_predictions_of_kernel_expansions(model, y):
    assert_same_predictions(model.fit(SCALED, y), np.vstack([SCALED, 1e12 * SCALED]), 1e-4)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SketchedKernelRidgeClassifier(n_centers=40), f > 1),
        (SketchedKernelRidgeClassifier("matern32", n_centers=40), CODES),
        (DANKClassifier(extension="none"), CODES),
        (KNPLClassifier(extension="none"), np.where(f > 1, "high", "low")),
    ],
)
def test_decisions_of_kernel_classifiers(model, y):
    outputs, expected = run(model.fit(SCALED, y), SCALED), model.decision_function(SCALED)
    np.testing.assert_array_equal(outputs["label"], model.predict(SCALED))
    assert outputs["decision"].shape == expected.shape
    np.testing.assert_allclose(outputs["decision"], expected, atol=1e-11)


@pytest.mark.parametrize(
    ("model", "got"),
    [
        (DANKClassifier(), "DANKClassifier .*HadamardKernel with extension='smooth', not 'none'"),
        (MKLClassifier(), "MKLClassifier .*WeightedSum"),
        (SketchedKernelRidge("poly"), "SketchedKernelRidge .*Polynomial"),
        (DANKRegressor(extension="none", epsilon=10), "a constant DANKRegressor"),
    ],
)
def test_other_models_raise_an_error(model, got):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match=got):
        to_onnx(model.fit(SCALED, f > 1))


def test_a_precomputed_kernel_and_other_estimators_raise_an_error():
    pytest.importorskip("onnx")
    from sklearn.neighbors import KNeighborsRegressor

    model = AsymmetricKernelRidge("precomputed").fit(SCALED @ SCALED.T, f)
    with pytest.raises(ValueError, match="got a precomputed kernel"):
        to_onnx(model)
    with pytest.raises(ValueError, match="got KNeighborsRegressor"):
        to_onnx(KNeighborsRegressor().fit(X, f))


def test_another_dtype_and_a_model_before_its_fit_raise_an_error():
    with pytest.raises(ValueError, match=r"expected dtype in \['float32', 'float64'\], got 'half'"):
        to_onnx(LABRBFRegressor(), "half")
    pytest.importorskip("onnx")
    with pytest.raises(NotFittedError):
        to_onnx(LABRBFRegressor())


def test_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx.helper", None)
    with pytest.raises(ImportError, match=r"pip install 'pliant\[onnx\]'"):
        to_onnx(LABRBFRegressor())
