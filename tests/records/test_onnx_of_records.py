"""ONNX Runtime predicts what records, pipelines and blends predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeRegressor

from pliant import DANKClassifier, LABRBFClassifier, LABRBFRegressor, TableFeatures, load, save
from pliant import to_onnx as exported
from pliant.records import Constant, to_record
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.reading.encoder import ColumnEncoder
from tests.records.test_boosters import REGRESSORS as BOOSTERS
from tests.records.test_boosters import made
from tests.records.test_same_predictions import Shares, codes, table, targets


def run(model, points, dtype="float64"):
    """Return the outputs of ONNX Runtime with one thread, by name."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    graph = exported(model, dtype)
    onnx.checker.check_model(graph, full_check=True)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(graph.SerializeToString(), options)
    values = session.run(None, {"X": np.asarray(points, dtype=dtype)})
    return dict(zip([output.name for output in session.get_outputs()], values, strict=True))


def assert_same(model, points, tolerance, dtype="float64"):
    """Compare all outputs, at a tolerance relative to their range."""
    found = run(model, points, dtype)
    if "label" not in found:
        expected = model.predict(points)
        atol = tolerance * np.abs(expected).max()
        np.testing.assert_allclose(found["predicted"], expected, rtol=0, atol=atol)
        return
    np.testing.assert_array_equal(found["label"], model.predict(points))
    if hasattr(model, "predict_proba"):
        expected, got = model.predict_proba(points), found["probabilities"]
    else:
        expected, got = model.decision_function(points), found["decision"]
    atol = tolerance * np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


TREES = [
    (RandomForestRegressor(15, random_state=0), 0), (DecisionTreeRegressor(max_depth=3), 0),
    (ExtraTreesRegressor(9, random_state=0), -2), (HistGradientBoostingRegressor(max_iter=20), 0),
    (HistGradientBoostingRegressor(min_samples_leaf=300, max_iter=2), 0),
]  # fmt: skip


@pytest.mark.parametrize(("model", "n_targets"), TREES, ids=str)
def test_regression_trees_predict_the_same_bits(model, n_targets):
    """Also on rows with missing values, and far outside the range."""
    X = table(0, missing=0.1)
    y = targets(X, 0) if n_targets == 0 else np.column_stack([targets(X, 0), targets(X, 1)])
    points = np.vstack([table(10, missing=0.1), 1e3 * table(11)])
    assert_same(model.fit(X, y), points, 0.0)


CLASSIFIERS = [
    RandomForestClassifier(15, random_state=0), HistGradientBoostingClassifier(max_iter=10),
    GradientBoostingClassifier(n_estimators=10),
]  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_classification_trees_agree(model, n_classes):
    X = table(0)
    assert_same(model.fit(X, targets(X, 0, n_classes)), table(10), 1e-14)


@pytest.mark.parametrize("name", BOOSTERS)
def test_boosters_agree(name):
    X = table(0, missing=0.1)
    points = table(10, missing=0.1)
    record = made(name, "Regressor", n_estimators=15).fit(X, targets(X, 0))
    assert_same(record, points, 0.0)


OTHERS = [
    (Ridge(), 0), (PoissonRegressor(), 0), (DummyRegressor(), 0), (SVR(), 0),
    (SVR(kernel="poly"), 0),
    (KernelRidge(kernel="sigmoid", gamma=0.01), 0), (KernelRidge(kernel="rbf", alpha=0.1), 0),
    (GaussianProcessRegressor(ConstantKernel() * RBF(2.0) + WhiteKernel(0.1)), 0),
    (GaussianProcessRegressor(Matern(2.0, nu=2.5) + WhiteKernel(0.1), normalize_y=True), 0),
    (TransformedTargetRegressor(make_pipeline(MinMaxScaler(), SVR()), transformer=StandardScaler()),
     0),
    (LogisticRegression(), 2), (LogisticRegression(), 3), (RidgeClassifier(), 3),
    (DummyClassifier(), 3), (LinearSVC(), 2), (SVC(), 2), (SVC(), 4), (SVC(kernel="linear"), 3),
    (LinearDiscriminantAnalysis(), 3), (CalibratedClassifierCV(SVC(), ensemble=False), 2),
    (CalibratedClassifierCV(SVC(), cv=2), 3),
    (CalibratedClassifierCV(RandomForestClassifier(5), cv=2), 2),
    (CalibratedClassifierCV(Shares(), cv=2), 2), (CalibratedClassifierCV(Shares(), cv=2), 3),
    (make_pipeline(StandardScaler(), DANKClassifier(extension="none")), 2),
    (make_pipeline(MinMaxScaler(clip=True), PCA(3, whiten=True), LogisticRegression()), 2),
    (make_pipeline(SimpleImputer(add_indicator=True), LABRBFClassifier(10, random_state=0)), 3),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "n_classes"), OTHERS, ids=str)
def test_other_models_agree(model, n_classes):
    X = StandardScaler().fit_transform(table(0))
    points = np.random.default_rng(1).normal(size=(300, 5)) * 1.5
    assert_same(model.fit(X, targets(X, 0, n_classes)), points, 1e-10)
    assert_same(model, points[:1], 1e-10)


@pytest.mark.parametrize("model", [SVC(), NuSVC(), GradientBoostingClassifier()], ids=str)
def test_zero_elects_the_same_of_two_classes(model):
    X = table(0)
    record = to_record(model.fit(X, targets(X, 0, 2)))
    if isinstance(model, GradientBoostingClassifier):
        record.function.leaves[:] = record.function.start[:] = 0.0
    else:
        record.function.coefficients[:] = record.function.intercept[:] = 0.0
    assert (record.decision_function(X) == 0.0).all()
    assert (record.predict(X) == record.classes_[1]).all()
    assert_same(record, X, 1e-14)
    record.function = Constant(np.zeros(1), 5)
    for head in ("scores", "logistic"):
        record.head = head
        assert (record.predict(X) == record.classes_[0]).all()
        assert_same(record, X, 1e-14)


def test_a_scaled_target_of_one_column_agrees():
    """Predictions have the shape (n_samples, 1), as the target."""
    X = StandardScaler().fit_transform(table(0))
    model = TransformedTargetRegressor(Ridge(), transformer=StandardScaler())
    assert_same(model.fit(X, targets(X, 0)[:, None]), X, 1e-10)
    assert run(model, X)["predicted"].shape == (len(X), 1)


def test_an_encoder_of_categories_agrees(tmp_path):
    X = np.column_stack([table(0, d=2, missing=0.1), codes(0)])
    categories = {2: ("a", "b"), 3: ("u", "v", "w", "x", "y"), 4: 40}
    for n_classes in (0, 3):
        task = "classification" if n_classes else "regression"
        last = LABRBFClassifier(10, random_state=0) if n_classes else LABRBFRegressor(10)
        model = make_pipeline(ColumnEncoder(categories, task=task), last)
        model.fit(X, targets(table(0), 0, n_classes))
        points = np.column_stack([table(1, d=2, missing=0.1), codes(1)])
        points[::7, 4] = 77.0  # an unknown category
        assert_same(model, points, 1e-10)
        save(model, tmp_path / "model.pliant")
        assert_same(load(tmp_path / "model.pliant"), points, 1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_blends_agree(n_classes, seed, tmp_path):
    """As fitted and as loaded, on far points too."""
    X = table(seed)
    y = targets(X, seed, n_classes)
    if n_classes:
        svm = CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), ensemble=False)
        members = [("forest", RandomForestClassifier(9, random_state=0)), ("svm", svm)]
        members += [("lab-rbf", LABRBFClassifier(10, n_members=2, random_state=0))]
        blend = BlendClassifier(members, cv=2).fit(X, y)
    else:
        svm = TransformedTargetRegressor(
            make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
        )
        members = [("boosting", HistGradientBoostingRegressor(max_iter=9)), ("svm", svm)]
        members += [("lab-rbf", LABRBFRegressor(10, n_members=2, random_state=0))]
        blend = BlendRegressor(members, cv=2).fit(X, y)
    blend.weights_ = np.array([0.3, 0.3, 0.4])
    points = np.vstack([table(seed + 10), 10 * table(seed + 20)])
    assert_same(blend, points, 1e-10)
    save(blend, tmp_path / "model.pliant")
    assert_same(load(tmp_path / "model.pliant"), points, 1e-10)


def test_a_table_of_numbers_agrees():
    """With missing values, as numbers of all columns in order, also of one that is left out."""
    X = table(0, missing=0.1)
    X[:, 1] = 7.0
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(TableFeatures(), LABRBFRegressor(10, random_state=0))
    model.fit(frame, targets(table(0), 0))
    assert [column.name for column in model[0].schema_.columns] == list("acde")
    points = pd.DataFrame(table(1, missing=0.1), columns=list("abcde"))
    found = run(model, points.to_numpy())["predicted"]
    np.testing.assert_allclose(found, model.predict(points), rtol=1e-10)


def test_trees_in_float32_compare_with_thresholds_rounded_down():
    """Predictions for float32 rows differ by the rounding of sums alone."""
    X = table(0).astype(np.float32)
    model = RandomForestRegressor(15, random_state=0).fit(X, targets(X, 0))
    points = np.vstack([table(10).astype(np.float32), X])
    assert_same(model, points, 1e-6, "float32")


UNKNOWN = [
    (lambda X, y: GaussianNB().fit(X, y > 100), "GaussianNB"),
    (lambda X, y: CalibratedClassifierCV(SVC(), method="isotonic").fit(X, y > 100), "isotonic"),
    (lambda X, y: SVC(decision_function_shape="ovo").fit(X, targets(X, 0, 3)), "'ovo'"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), UNKNOWN)
def test_what_has_no_form_in_onnx_is_refused(make, message):
    pytest.importorskip("onnx")
    X = table(0)
    with pytest.raises(ValueError, match=message):
        exported(make(X, targets(X, 0)))
