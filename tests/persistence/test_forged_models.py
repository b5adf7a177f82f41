"""Models with inconsistent attributes are an error before they predict."""

import tempfile
from copy import deepcopy
from functools import cache
from inspect import isfunction
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from pliant import (
    AsymmetricKernelRidge,
    DANKClassifier,
    KernelEmbedding,
    KMeansPartition,
    LABRBFRegressor,
    LearnedKernelClassifier,
    MKLClassifier,
    OrderSpectralLearner,
    SCGLogDetLearner,
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
    TKLClassifier,
)
from pliant.exceptions import ModelFileError
from pliant.kernels import TL1, Gaussian, Linear, On, Precomputed, Rescaled, WeightedSum
from pliant.methods import HadamardKernel, PartitionedKernel
from pliant.persistence import load, save
from pliant.records import to_record
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from pliant.tables.reading.encoder import ColumnEncoder

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(40, 3))
F = X[:, 0] + np.sin(2 * X[:, 1])
LABELS = (F > 0).astype(int)
POINTS = X[:12]
BETA = RNG.normal(size=12) * (np.arange(12) % 3 > 0)
CENTRES = np.array([[0.2, 0.2, 0.5], [-0.8, 0.4, 0.5], [0.4, -0.9, 0.5]])
PARTS = ((POINTS[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
GIVEN = [Gaussian(0.5), On(Linear(), [0, 2]), Rescaled(Gaussian(), [1.0, 2.0, 3.0], 2.0)]
NAN = np.nan


def adapted(**changed):
    return HadamardKernel(Gaussian(2.0), POINTS, BETA, eta=0.5, **changed)


def parted():
    return PartitionedKernel(Gaussian(2.0), POINTS, BETA, PARTS, CENTRES, 0.5, n_neighbors=2)


def machine():
    return DANKClassifier("precomputed", eta=np.inf, extension="none")


def columns():
    table = np.column_stack([X[:, 0], np.arange(40) % 3, np.arange(40), np.eye(40, 5)])
    encoder = ColumnEncoder(
        {1: ("a", "b", "c"), 2: 40}, ((3, 8),), task="classification", n_components=2
    )
    model = make_pipeline(encoder, StandardScaler(), DANKClassifier()).fit(table, LABELS)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model")
        return load(Path(folder) / "model")


CODES = np.column_stack([LABELS + 5.0, np.arange(40) % 3])
GAPS = np.where(RNG.random(X.shape) < 0.2, NAN, X)


def loaded(model):
    """Return a fitted model as it comes back from a file."""
    with tempfile.TemporaryDirectory() as folder:
        save(model.fit(X, LABELS if is_classifier(model) else F), Path(folder) / "model")
        return load(Path(folder) / "model")


MODELS = {
    "hadamard": lambda: adapted(),
    "partitioned": parted,
    "on": lambda: 2.0 * On(Gaussian(), [0, 1]),
    "sum": lambda: WeightedSum([Gaussian(), TL1()], [1.0, 2.0]),
    "gaussian": Gaussian,
    "gram": lambda: Precomputed(np.eye(2)),
    "dank": lambda: DANKClassifier().fit(X, LABELS),
    "parts": lambda: DANKClassifier(partition=KMeansPartition(n_parts=3)).fit(X, LABELS),
    "tkl": lambda: TKLClassifier(tol=0.1).fit(X, LABELS),
    "mkl": lambda: MKLClassifier(GIVEN, norm=2.0).fit(X, LABELS),
    "sparse pairs": lambda: DANKClassifier(tau=0.0).fit(
        csr_array(X * (X > 0)), (2 * F).round().clip(-1, 1).astype(int)
    ),
    "pairs": lambda: MKLClassifier(["gaussian", "linear"]).fit(*load_iris(return_X_y=True)),
    "scg": lambda: SCGLogDetLearner().fit(X, LABELS),
    "spectral": lambda: OrderSpectralLearner(n_components=10).fit(X, LABELS),
    "embedding": lambda: KernelEmbedding(OrderSpectralLearner(n_components=10)).fit(X, LABELS),
    "learned": lambda: LearnedKernelClassifier(SCGLogDetLearner(), machine()).fit(X, LABELS),
    "columns of a kernel": lambda: SCGLogDetLearner(WeightedSum([On(Gaussian(), [0, 2])], [1.0]))
    .fit(X, LABELS),
    "lab-rbf": lambda: LABRBFRegressor(10, n_members=2, max_iter=3, random_state=0).fit(X, F),
    "ridge": lambda: AsymmetricKernelRidge().fit(X, F),
    "sketched": lambda: SketchedKernelRidge(n_centers=9).fit(X, np.column_stack([F, F])),
    "sketched classes": lambda: SketchedKernelRidgeClassifier(n_centers=9).fit(X, LABELS),
    "table": columns,
    "svc": lambda: to_record(SVC().fit(*load_iris(return_X_y=True))),
    "svc of two classes": lambda: to_record(SVC().fit(X, LABELS)),
    "svr": lambda: to_record(SVR().fit(X, F)),
    "svc of a kernel": lambda: to_record(SVC(kernel="precomputed").fit(X @ X.T, LABELS)),
    "forest": lambda: to_record(RandomForestClassifier(3, random_state=0).fit(X, LABELS)),
    "trees": lambda: to_record(ExtraTreesRegressor(3, random_state=0).fit(X, F)),
    "boosting": lambda: to_record(HistGradientBoostingClassifier(max_iter=3).fit(X, LABELS)),
    "linear": lambda: to_record(LogisticRegression().fit(X, LABELS)),
    "constant": lambda: to_record(DummyClassifier().fit(X, LABELS)),
    "process": lambda: to_record(GaussianProcessClassifier(optimizer=None).fit(X, LABELS)),
    "codes": lambda: to_record(OneHotEncoder(handle_unknown="ignore").fit(CODES)),
    "means": lambda: to_record(TargetEncoder().fit(CODES, LABELS)),
    "imputer": lambda: to_record(SimpleImputer(add_indicator=True).fit(GAPS)),
    "scaler": lambda: to_record(MinMaxScaler(clip=True).fit(X)),
    "projection": lambda: to_record(PCA(2, whiten=True).fit(X)),
    "target": lambda: loaded(TransformedTargetRegressor(Ridge(), transformer=StandardScaler())),
    "calibration": lambda: loaded(CalibratedClassifierCV(SVC(), cv=2)),
    "isotonic": lambda: loaded(CalibratedClassifierCV(SVC(), cv=2, method="isotonic")),
    "pipeline": lambda: loaded(make_pipeline(StandardScaler(), Ridge())),
    "blend": lambda: loaded(BlendRegressor([("a", Ridge()), ("b", SVR())], cv=2)),
    "blend of classes": lambda: loaded(
        BlendClassifier([("a", LogisticRegression()), ("b", DummyClassifier())], cv=2)
    ),
    "unfitted": lambda: to_record(SVC()),
}  # fmt: skip


def put(path, value):
    """Return a function that sets an attribute of a model, to a value or a function of the old."""
    owner, _, name = path.rpartition(".")

    def change(model):
        for part in filter(None, owner.split(".")):
            model = model[int(part)] if part.isdigit() else getattr(model, part)
        vars(model)[name] = value(getattr(model, name)) if isfunction(value) else value

    return change


BOX = "kernel_.kernel."


EXPANSION = [
    ("function.points", lambda a: a[:-1].copy()), ("function.points", lambda a: a[:, :2].copy()),
    ("function.points", lambda a: a.astype(np.float32)), ("function.points", lambda a: a * NAN),
    ("function.coefficients", lambda a: a[:-1].copy()), ("function.coefficients", None),
    ("function.coefficients", lambda a: np.full_like(a, np.inf)),
    ("function.coefficients", lambda a: a[:, 0]),
    ("function.intercept", lambda a: a[:0].copy()), ("function.intercept", lambda a: a * NAN),
    ("function.kernel", "rbf"), ("function.kernel", None), ("function.kernel", Gaussian(-1.0)),
    ("function.kernel", Gaussian([1.0, 2.0])), ("function.n_features", 9), ("n_features_in_", 5),
    ("function.n_features", 4.0), ("n_features_in_", 4.0), ("function", 3.0),
    ("function", lambda function: function.kernel), ("predict", Gaussian()), ("origin", 3),
    ("settings", {"a": [1]}), ("settings", None), ("feature_names_in_", np.array(["a"])),
]  # fmt: skip


def children(a, inner):
    """Return child numbers, where each inner node is replaced by one of them."""
    return np.where(a >= 0, inner, a).astype(np.int32)


TREES = [
    ("function.left", lambda a: children(a, 0)), ("function.right", lambda a: children(a, len(a))),
    ("function.left", lambda a: np.full_like(a, -(2**31))), ("function.left", lambda a: a[:-1]),
    ("function.right", lambda a: np.full_like(a, -(10**6))), ("function.feature", lambda a: a + 3),
    ("function.feature", lambda a: a - 3), ("function.feature", lambda a: a.astype(np.int64)),
    ("function.roots", lambda a: a + 10**6), ("function.roots", lambda a: a[:-1].copy()),
    ("function.outputs", lambda a: a + 1), ("function.outputs", lambda a: a - 1),
    ("function.threshold", lambda a: a * NAN), ("function.threshold", lambda a: a[:-1].copy()),
    ("function.missing_left", lambda a: a.astype(np.uint8)), ("function.leaves", lambda a: a * NAN),
    ("function.leaves", lambda a: a[:0].copy()), ("function.leaves", lambda a: a[:, 0].copy()),
    ("function.leaves", lambda a: np.hstack([a, a, a])), ("function.start", np.zeros(0)),
    ("function.start", np.array([np.inf])), ("function.divisor", 0.0), ("function.divisor", NAN),
    ("function.divisor", 3), ("function.single", 1), ("function.n_features", 1), ("link", "cube"),
    ("function.takes_missing", None),
]  # fmt: skip

FORGERIES = {
    "hadamard": [("tau", v) for v in (-0.1, NAN, np.inf, "0.1", None, True, 24.0)]
    + [("centred", v) for v in ("yes", 1, None)]
    + [("eta", v) for v in (0.0, NAN, "auto")],
    "partitioned": [
        *(("labels", v) for v in (PARTS[:-1], PARTS[:, None], PARTS + 0.5, PARTS > 0, None)),
        *(("labels", v) for v in (PARTS + 1, PARTS - 1, PARTS.astype(np.uint64) + 2**63)),
        *(("labels", v) for v in (PARTS.astype(str), PARTS.astype(object))),
        *(("centres", v) for v in (CENTRES[:, :2], CENTRES[0], CENTRES[:0], CENTRES * np.inf, "c")),
        ("points", POINTS * NAN), ("points", POINTS[:-1]),
        ("beta", BETA[:-1]), ("beta", BETA * NAN),
        ("eta", 0.0), ("n_neighbors", 0), ("base", "gaussian"),
        ("extension", "smoth"),
    ],
    "on": [
        *(("kernel.columns", v) for v in ([], [0.5], [0, "a"], np.zeros((2, 2), int), None)),
        *(("kernel.columns", v) for v in (slice(None, None, 0), slice("a", "b"), Gaussian())),
        ("kernel.kernel", 3.0), ("kernel.kernel", [Gaussian()]), ("kernel", 3.0),
    ],
    "sum": [
        *(("kernels", v) for v in ([], Gaussian(), {"a": Gaussian(), "b": TL1()}, [Gaussian(), 2])),
        *(("kernels", v) for v in ([Gaussian(), On(Linear(), [])], [Gaussian()] * 3)),
        *(("weights", v) for v in ([1.0], [1.0, NAN], np.array([np.inf, 1]), ["1", "2"])),
        ("weights", np.ones((2, 1))),
    ],
    "gaussian": [
        *(("gamma", v) for v in (-1.0, None, "1", [], [1.0, -1.0], [0.0, 0.0], [1.0, NAN])),
        *(("gamma", v) for v in (np.ones((2, 2)), {"a": 1.0}, ["a"])),
    ],
    "gram": [("gram", v) for v in (np.ones((2, 3)), np.array([[1.0, 2], [3, 4]]), np.eye(2) * NAN)],
    "dank": [
        ("classes_", lambda a: a[:1]), ("classes_", np.arange(3)), ("intercept_", NAN),
        ("dual_coef_", lambda a: a[:-1]), ("kernel_.beta", lambda a: a[:-3]), ("kernel_", 3.0),
        ("kernel_.base", "gaussian"), ("kernel_.extension", "magic"), ("kernel_.tau", -1.0),
        ("support_vectors_", np.full((2, 2), np.inf)), ("predict", 3.0),
        ("decision_function", Gaussian()),
    ],
    "parts": [
        ("support_vectors_", lambda a: a[:-1]), ("support_", lambda a: a[:-1]), ("kernel_", None),
        ("dual_coef_", lambda a: a[:-1]), ("dual_coef_", lambda a: a * NAN),
    ],
    "tkl": [
        (f"{BOX}factor", lambda a: a[:-1]), (f"{BOX}factor", lambda a: a[:, 0]),
        (f"{BOX}factor", lambda a: a * NAN), (f"{BOX}factor", None), (f"{BOX}degree", 7),
        (f"{BOX}degree", "one"), (f"{BOX}lower", 9.0),
        (f"{BOX}upper", np.full(3, NAN)), (f"{BOX}upper", np.full(2, 1.5)),
        ("kernel_.offset", np.full(3, NAN)), ("kernel_.offset", np.zeros(5)),
        ("kernel_.width", np.zeros(3)), ("kernel_.kernel", Gaussian(1.0)), ("kernel_", Gaussian()),
        ("support_vectors_", lambda a: a[:, :1]), ("objective_", NAN), ("lower_bound_", np.inf),
        ("dual_gap_", NAN), ("objective_history_", np.array([NAN])), ("intercept_", np.inf),
    ],
    "mkl": [
        *(("weights_", v) for v in (lambda a: a[:-1], 1.0, None, lambda a: a * NAN)),
        ("weights_", lambda a: a + 0.1), ("kernels_", None), ("kernels_", lambda a: a[:-1]),
        ("kernels_", lambda a: ["gaussian", *a[1:]]), ("kernel_names_", lambda a: a[:-1]),
        ("kernel_names_", [1, 2, 3]), ("kernel_", Gaussian()), ("kernel_.kernels", []),
        ("kernel_.weights", lambda a: a[:-1]), ("kernel_.weights", lambda a: a * NAN),
        ("kernel_.kernels", lambda a: [3.0, *a[1:]]), ("kernel_.kernels", [On(Linear(), [7])] * 3),
        ("kernel_.kernels.1.kernel", "gaussian"), ("dual_coef_", lambda a: a[:-1]),
        ("lower_bound_", NAN), ("gap_history_", np.array([np.inf])),
    ],
    "pairs": [
        ("estimators_.1.weights_", np.ones(3)), ("estimators_.2.kernels_", [Gaussian()]),
        ("estimators_.2.kernel_names_", ["b", "a"]),
    ],
    "scg": [
        ("kernel_", 3.0), ("support_vectors_", np.ones(3)), ("kernel_.matrix", np.eye(3)),
    ],
    "spectral": [("kernel_.degrees", np.zeros(40))],
    "embedding": [
        ("n_features_in_", -1), ("n_features_in_", 2.5),
        ("learner_", 3.0), ("components_", 3.0), ("components_.centre", np.ones(3)),
        ("components_.coefficients", np.ones((3, 2))),
    ],
    "learned": [
        ("scale_", -1.0), ("support_vectors_", np.ones((3, 3))), ("machine_", 3.0),
        ("machine_", machine()), ("learner_", 3.0),
    ],
    "columns of a kernel": [("kernel_.base.kernels.0.columns", np.array([0, 3]))],
    "ridge": [
        ("dual_coef_", np.ones(39)), ("intercept_", NAN), ("kernel_", "gaussian"),
        ("support_vectors_", lambda a: a[:, :2]),
    ],
    "sketched": [
        ("dual_coef_", lambda a: a[1:]), ("dual_coef_", lambda a: a * NAN), ("kernel_", "gaussian"),
        ("intercept_", np.ones(3)), ("support_vectors_", lambda a: a[:, :2]),
    ],
    "sketched classes": [("classes_", np.arange(3))],
    "table": [
        ("0.parts_", lambda parts: parts[:-1]), ("0.parts_", lambda parts: parts[::-1]),
        ("0.parts_.0.1.values", lambda a: a[:0].copy()),
        ("0.parts_.1.1.levels.counts", np.zeros(0, np.int32)), ("0.parts_.2.1.means", np.eye(2)),
        ("0.parts_.2.1.overall", np.zeros(3)),
        ("0.parts_", lambda parts: [(name, Gaussian(), some) for name, _, some in parts]),
        ("0.parts_.3.1.components", lambda a: a[:, 1:].copy()),
        ("0.categories", {1: 10**15, 2: 40}),
        ("0.texts", ((3, 99),)), ("0.n_features_in_", lambda n: n + 1),
    ],
    "svc": [
        *EXPANSION,
        ("function.counts", lambda a: a + np.int32(1)), ("function.counts", lambda a: a[:-1]),
        ("function.counts", lambda a: np.array([-1, *a[1:-1], a[0] + a[-1] + 1], "i4")),
        ("classes_", np.arange(4)), ("classes_", np.arange(1)), ("classes_", np.zeros(3)),
        ("classes_", np.eye(3)), ("classes_", [0, 1, 2]), ("head", "softmax and"),
        ("head", "logistic"), ("head", "odds"), ("head", "shares"), ("head", None),
    ],
    "svc of two classes": [("classes_", np.arange(3)), ("head", "softmax"), ("head", "shares")],
    "svr": [*EXPANSION, ("single", 0), ("link", "exp and"), ("function.scale", np.ones(2))],
    "svc of a kernel": [
        ("function.points", lambda a: a + np.int32(40)),
        ("function.points", lambda a: a - np.int32(40)),
        ("n_features_in_", 50), ("function.n_features", 10), ("function.kernel", Gaussian()),
    ],
    "trees": TREES,
    "forest": [
        ("function.leaves", lambda a: a + 0.1), ("function.leaves", lambda a: a[:, :1].copy()),
        ("function.leaves", lambda a: np.column_stack([a[:, 0] - 2, a[:, 1] + 2])),
        ("function.start", np.array([1.0, 0.0])), ("function.divisor", 2.0), ("head", "votes"),
        ("classes_", np.arange(3)), ("function.roots", np.zeros(0, np.int32)),
    ],
    "boosting": [("head", "shares"), ("head", "softmax"), ("function.start", np.zeros(2))],
    "linear": [
        ("function.weights", lambda a: a * NAN), ("function.weights", lambda a: a[:-1].copy()),
        ("function.intercept", np.zeros(2)), ("head", "shares"), ("classes_", np.arange(3)),
        ("function.weights", lambda a: np.asfortranarray(a) * 1e101),
    ],
    "constant": [
        ("function.value", np.array([0.7, 0.7])), ("function.value", np.array([-0.5, 1.5])),
        ("function.value", np.array([1.0])), ("function.n_features", 2), ("head", "softmax or"),
    ],
    "process": [
        ("function.functions", []), ("function.functions", lambda each: each * 2),
        ("function.functions", [3.0]), ("function.functions.0.kernel", None),
        ("function.functions.0.cholesky", lambda a: a * 0.0),
        ("function.functions.0.cholesky", lambda a: a[:-1].copy()),
        ("function.functions.0.weights", lambda a: a * NAN),
        ("function.functions.0.roots", lambda a: a - 1.0), ("classes_", np.arange(3)),
    ],
    "codes": [
        ("function.levels.levels", lambda a: a[::-1].copy()), ("function.levels", None),
        ("function.levels.levels", lambda a: a[:-1].copy()), ("function.strict", 1),
        ("function.levels.levels", lambda a: a * 0.0), ("function.levels.counts", np.array([5])),
        ("function.levels.counts", np.array([2, -2], np.int32)), ("n_features_in_", 3),
        ("function.levels.missing", np.array([False])),
    ],
    "means": [
        ("function.means", lambda a: a[:-1].copy()), ("function.means", lambda a: a * NAN),
        ("function.overall", np.zeros(2)), ("function.levels.missing", np.array([True, False])),
    ],
    "imputer": [
        ("function.values", lambda a: a * NAN), ("function.values", lambda a: a[:-1].copy()),
        ("function.left_out", np.zeros(2, bool)), ("function.indicators", np.array([3], np.int32)),
        ("function.indicators", np.array([1, 0], np.int32)), ("function", Gaussian()),
    ],
    "scaler": [
        ("function.factor", lambda a: a * 0.0), ("function.factor", lambda a: a[:-1].copy()),
        ("function.offset", lambda a: a * NAN), ("function.low", 2.0), ("function.low", NAN),
        ("function.high", None), ("function.n_features", 4), ("function.centre", "none"),
    ],
    "projection": [
        ("function.components", lambda a: a[:, :2].copy()), ("function.scale", np.zeros(2)),
        ("function.centre", np.zeros(2)), ("function.prefix", "svd"), ("function.prefix", 3),
    ],
    "target": [
        ("transformer_", None), ("transformer_", lambda each: to_record(MinMaxScaler().fit(X))),
        ("regressor_", None), ("regressor_", lambda each: to_record(Ridge().fit(X[:, :2], F))),
        ("regressor_", lambda each: to_record(MinMaxScaler().fit(X))), ("single", 1),
    ],
    "calibration": [
        ("members_", []), ("members_", [3.0, 4.0]), ("members_", lambda each: each[:1]),
        ("members_", lambda each: [to_record(Ridge().fit(X, F))] * 2), ("curves_", None),
        ("members_", lambda each: [to_record(SVC().fit(X, LABELS + 1))] * 2),
        ("curves_", lambda each: [[], []]), ("curves_", lambda each: [each[0], [np.zeros(3)]]),
        ("curves_", lambda each: [each[0], [np.full(2, NAN)]]), ("classes_", np.arange(3)),
        ("curves_", lambda each: [each[0], ["ab"]]), ("n_features_in_", 2),
        ("responses_", ["predict_proba"] * 2), ("responses_", ["__repr__"] * 2),
        ("responses_", ["decision_function"]), ("responses_", None),
    ],
    "isotonic": [
        ("curves_", lambda each: [[each[0][0] + 1.0], each[1]]),
        ("curves_", lambda each: [[np.ascontiguousarray(each[0][0][:, ::-1])], each[1]]),
        ("curves_", lambda each: [[each[0][0][:, :0]], each[1]]),
    ],
    "pipeline": [
        ("steps", []), ("steps", None), ("steps", [("a", 3.0)]), ("steps", lambda s: [*s, s[0]]),
        ("steps", lambda s: [list(s[0]), s[1]]), ("steps", lambda s: [s[1], s[0]]),
        ("memory", "folder"), ("transform_input", ["a"]), ("verbose", 1), ("other", 3),
    ],
    "blend": [
        ("members_", []), ("members_", None), ("members_", lambda m: [m[0], ("b", 3.0)]),
        ("members_", lambda m: [m[0], ("b", to_record(Ridge().fit(X[:, :2], F)))]),
        ("members_", lambda m: [m[0], ("b", to_record(SVC().fit(X, LABELS)))]),
        ("weights_", np.array([0.5, 0.6])), ("weights_", np.array([-0.5, 1.5])),
        ("weights_", np.array([NAN, 1.0])), ("target_range_", np.array([2.0, 1.0])),
        ("errors_", lambda a: a[::-1].copy()), ("errors_", lambda a: a * NAN),
        ("feature_importances_", np.ones(2)),
    ],
    "blend of classes": [
        ("members_", lambda m: [m[0], ("b", to_record(DummyClassifier().fit(X, LABELS + 1)))]),
        ("members_", lambda m: [m[0], ("b", to_record(SVC().fit(X, LABELS)))]),
        ("classes_", np.arange(3)), ("classes_", np.array([1, 0])),
    ],
    "unfitted": [("origin", None), ("allow_nan", 1), ("settings", {"a": (1,)})],
}  # fmt: skip

CHANGES = [
    pytest.param(name, put(*forgery), id=f"{name}, {forgery[0]}, {place}")
    for name, forgeries in FORGERIES.items()
    for place, forgery in enumerate(forgeries)
]


@cache
def made(name):
    return MODELS[name]()


@pytest.mark.parametrize(("name", "forge"), CHANGES)
def test_attributes_that_do_not_belong_together_are_refused(tmp_path, name, forge):
    model = deepcopy(made(name))
    forge(model)
    with pytest.raises(ModelFileError) as caught:
        save(model, tmp_path / "model.pliant")
    assert str(caught.value).isprintable()
    assert "positional argument" not in str(caught.value)  # the object is built and checked
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted({"hadamard", "partitioned", "on", "sum", "dank"}))
def test_every_parameter_has_to_be_there(tmp_path, name):
    for parameter in made(name).get_params(deep=False):
        forged = deepcopy(made(name))
        delattr(forged, parameter)
        with pytest.raises(ModelFileError, match=parameter):
            save(forged, tmp_path / "model.pliant")


def test_a_tree_whose_roots_are_its_children_is_refused(tmp_path):
    """One array stands for both, and node 0 is its own child; nothing predicts here."""
    tree = DecisionTreeRegressor(max_leaf_nodes=2).fit(X, F)
    trees = to_record(tree).function
    trees.left = trees.roots
    with pytest.raises(ValueError, match="expected children after their parents"):
        trees._check_loaded()
    with pytest.raises(ModelFileError, match="expected children after their parents"):
        save(trees, tmp_path / "model.pliant")


def test_the_kernel_of_another_machine_is_refused(tmp_path):
    model, other = MODELS["parts"](), MODELS["parts"]()
    model.kernel_ = other.set_params(C=100.0).fit(X, LABELS).kernel_
    with pytest.raises(ModelFileError, match=r"expected .* support points"):
        save(model, tmp_path / "model.pliant")
    adapted_twice = adapted(tau=0.1, centred=True)
    with pytest.raises(ModelFileError, match=r"expected tau = 0 for a centred kernel, got 0\.1"):
        save(adapted_twice, tmp_path / "model.pliant")
