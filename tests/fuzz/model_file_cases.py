"""Small models of every kind that a model file holds, each fitted once in a process."""

import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR

import pliant
from pliant import kernels as k
from pliant.comparison import BASELINES, TableEncoder
from pliant.persistence import save_model
from pliant.persistence._probe import _has_names, points_that_fit
from pliant.tables import ColumnEncoder, TableSchema

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
NEW = RNG.normal(size=(7, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
TWO = np.where(Y > 0, "up", "down")
THREE = np.digitize(Y, [-0.5, 0.5])
FRAME = pd.DataFrame(X, columns=["u", "v", "w"]).assign(
    colour=np.where(X[:, 2] > 0, "red", "blue"), size=RNG.integers(3, size=len(X))
)
CODED = np.column_stack([X[:, 0], THREE, np.arange(24) % 12, RNG.poisson(1, (24, 3))])
CODED[::7, :2] = np.nan
BETA = RNG.normal(size=len(X)) * (np.arange(len(X)) % 3 > 0)
CENTRES = X[:3].copy()
PARTS = ((X[:, None] - CENTRES) ** 2).sum(axis=2).argmin(axis=1)
GRAM = k.Gaussian(0.5)(X)


def _columns() -> Any:
    return ColumnTransformer(
        [
            ("scaled", StandardScaler(), ["u", "v"]),
            ("coded", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["colour"]),
            ("numbered", OrdinalEncoder(), ["size"]),
        ],
        remainder="drop",
    )


def _on_frame(model: Any, y: Any = THREE) -> Any:
    return make_pipeline(_columns(), model).fit(FRAME, y)


def _table(model: Any) -> Any:
    schema = TableSchema.fit(FRAME.assign(y=Y), target="y")
    return make_pipeline(TableEncoder.of(schema), ColumnEncoder(), StandardScaler(), model)


def _coded() -> Any:
    encoder = ColumnEncoder({1: ("a", "b", "c"), 2: 12}, ((3, 6),), most_one_hot=5, n_components=2)
    return make_pipeline(encoder, StandardScaler(), Ridge())


def _baseline(name: str, kind: str) -> Any:
    return getattr(BASELINES[name], kind)()


def _local(kind: Any, y: Any, **settings: Any) -> Any:
    return kind(5, n_members=1, max_iter=3, random_state=0, **settings).fit(X, y)


LEARNER = pliant.SCGLogDetLearner(strength=10.0)

MODELS: dict[str, Callable[[], Any]] = {
    "AsymmetricKernelRidge": lambda: pliant.AsymmetricKernelRidge().fit(X, Y),
    "DANKClassifier": lambda: pliant.DANKClassifier().fit(X, THREE),
    "DANKClassifier frame": lambda: pliant.DANKClassifier(
        k.On(k.Gaussian(0.5), ["u", "w"]) + k.On(k.Linear(), "v")
    ).fit(FRAME[["u", "v", "w"]], TWO),
    "DANKClassifier parts": lambda: pliant.DANKClassifier(
        partition="kmeans", n_parts=2, random_state=0
    ).fit(X, TWO),
    "DANKClassifier pre": lambda: pliant.DANKClassifier("precomputed", extension="none").fit(
        GRAM, TWO
    ),
    "DANKClassifier tau": lambda: pliant.DANKClassifier(tau=0.01, eta=1.0).fit(X, TWO),
    "DANKRegressor": lambda: pliant.DANKRegressor(extension="nearest").fit(X, Y),
    "DANKRegressor reciprocal": lambda: pliant.DANKRegressor(extension="reciprocal").fit(X, Y),
    "GKLClassifier": lambda: pliant.GKLClassifier(tol=0.1).fit(X, TWO),
    "GKLRegressor": lambda: pliant.GKLRegressor(tol=0.5).fit(X, Y),
    "KNPLClassifier": lambda: pliant.KNPLClassifier().fit(X, TWO),
    "KNPLRegressor": lambda: pliant.KNPLRegressor().fit(X, Y),
    "KernelEmbedding": lambda: pliant.KernelEmbedding(LEARNER, n_components=1).fit(X, THREE),
    "LABRBFClassifier": lambda: _local(pliant.LABRBFClassifier, THREE),
    "LABRBFClassifier two": lambda: _local(pliant.LABRBFClassifier, TWO, profile="laplacian"),
    "LABRBFRegressor": lambda: _local(pliant.LABRBFRegressor, Y),
    "LABRBFRegressor log": lambda: _local(pliant.LABRBFRegressor, np.exp(3.0 * Y), calibration=0.3),
    "LearnedKernelClassifier": lambda: pliant.LearnedKernelClassifier(
        LEARNER, pliant.DANKClassifier("precomputed", extension="none")
    ).fit(X, THREE),
    "LearnedKernelClassifier osk": lambda: pliant.LearnedKernelClassifier(
        pliant.OrderSpectralLearner(), pliant.KNPLClassifier("precomputed", extension="none")
    ).fit(X, TWO),
    "LearnedKernelRegressor": lambda: pliant.LearnedKernelRegressor(
        LEARNER, KernelRidge(kernel="precomputed")
    ).fit(X, Y),
    "LogDetLearner": lambda: pliant.LogDetLearner().fit(X, TWO),
    "MKLClassifier": lambda: pliant.MKLClassifier(["gaussian", "linear"]).fit(X, THREE),
    "MKLRegressor": lambda: pliant.MKLRegressor(["gaussian", "linear"]).fit(X, Y),
    "OrderSpectralLearner": lambda: pliant.OrderSpectralLearner().fit(X, TWO),
    "SCGLogDetLearner": lambda: pliant.SCGLogDetLearner("graph", strength=10.0).fit(X, THREE),
    "SCGLogDetLearner landmarks": lambda: pliant.SCGLogDetLearner(
        strength=10.0, n_landmarks=6, random_state=0
    ).fit(X, TWO),
    "SCGLogDetLearner components": lambda: pliant.SCGLogDetLearner(
        strength=10.0, n_components=1
    ).fit(X, TWO),
    "SketchedKernelRidge": lambda: pliant.SketchedKernelRidge(n_centers=12, random_state=0).fit(
        X, np.column_stack([Y, -Y])
    ),
    "SketchedKernelRidgeClassifier": lambda: pliant.SketchedKernelRidgeClassifier(
        k.On(k.Gaussian(0.5), [0, 2]) + k.On(k.Linear(), 1), n_centers=12, random_state=0
    ).fit(X, THREE),
    "TKLClassifier": lambda: pliant.TKLClassifier(tol=0.1).fit(X, TWO),
    "TKLClassifier three": lambda: pliant.TKLClassifier(tol=0.5).fit(X, THREE),
    "TKLRegressor": lambda: pliant.TKLRegressor(tol=0.5).fit(X, Y),
    "saved linear": lambda: _on_frame(LogisticRegression(max_iter=200)),
    "saved two classes": lambda: _on_frame(LogisticRegression(max_iter=200), TWO),
    "saved ridge": lambda: make_pipeline(SimpleImputer(), RobustScaler(), Ridge()).fit(CODED, Y),
    "saved kernel ridge": lambda: make_pipeline(MaxAbsScaler(), KernelRidge(kernel="rbf")).fit(
        X, Y
    ),
    "saved SVC": lambda: make_pipeline(StandardScaler(), SVC()).fit(X, THREE),
    "saved SVC two": lambda: SVC(kernel="poly", degree=2).fit(X, TWO),
    "saved SVR": lambda: make_pipeline(MinMaxScaler(), SVR(kernel="sigmoid")).fit(X, Y),
    "saved GP": lambda: make_pipeline(
        StandardScaler(), _baseline("gp", "classifier").set_params(optimizer=None)
    ).fit(X, THREE),
    "saved GP two": lambda: _baseline("gp", "classifier").set_params(optimizer=None).fit(X, TWO),
    "saved GP regression": lambda: (
        _baseline("gp", "regressor").set_params(optimizer=None).fit(X, Y)
    ),
    "saved forest": lambda: RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, THREE),
    "saved forest regression": lambda: RandomForestRegressor(3, random_state=0).fit(X, Y),
    "saved boosting": lambda: HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2).fit(
        CODED, THREE
    ),
    "saved boosting two": lambda: HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=2
    ).fit(X, TWO),
    "saved boosting regression": lambda: HistGradientBoostingRegressor(
        max_iter=3, min_samples_leaf=2
    ).fit(CODED, Y),
    "saved columns": lambda: _on_frame(pliant.DANKClassifier()),
    "saved calibrated": lambda: CalibratedClassifierCV(
        make_pipeline(StandardScaler(), SVC()), cv=2
    ).fit(X, TWO),
    "saved isotonic": lambda: CalibratedClassifierCV(
        pliant.DANKClassifier(), cv=2, method="isotonic"
    ).fit(X, THREE),
    "saved temperature": lambda: CalibratedClassifierCV(
        LogisticRegression(), cv=2, method="temperature"
    ).fit(X, THREE),
    "saved frozen": lambda: CalibratedClassifierCV(
        FrozenEstimator(LogisticRegression().fit(X, TWO)), method="sigmoid"
    ).fit(X, TWO),
    "saved target": lambda: TransformedTargetRegressor(
        make_pipeline(FunctionTransformer(), Ridge()), transformer=StandardScaler()
    ).fit(X, Y),
    "saved dummy": lambda: make_pipeline(DummyClassifier()).fit(X, THREE),
    "saved dummy regression": lambda: make_pipeline(DummyRegressor()).fit(X, Y),
    "saved isotonic regression": lambda: IsotonicRegression(out_of_bounds="clip").fit(X[:, 0], Y),
    "table": lambda: _table(pliant.DANKRegressor()).fit(FRAME, Y),
    "coded": lambda: _coded().fit(CODED, Y),
    "kernel Exponential": lambda: k.Exponential(k.Gaussian(0.5), 2.0),
    "kernel Gaussian": lambda: k.Gaussian([0.5, 0.0, 2.0]),
    "kernel Hadamard": lambda: k.HadamardKernel(k.Gaussian(2.0), X, BETA, eta=0.5),
    "kernel Hadamard centred": lambda: k.HadamardKernel(
        k.Gaussian(2.0), X, BETA, 0.5, "reciprocal", centred=True
    ),
    "kernel Hadamard tau": lambda: k.HadamardKernel(k.Gaussian(2.0), X, BETA, eta=0.5, tau=0.2),
    "kernel Mapped": lambda: _local(pliant.LABRBFRegressor, Y).symmetric_kernel_,
    "kernel On": lambda: k.On(k.Gaussian(0.5), [2, 0]) + k.On(k.Linear(), -1),
    "kernel On mask": lambda: k.On(k.Laplacian([1.0, 2.0]), (True, True, False)),
    "kernel Partitioned": lambda: k.PartitionedKernel(
        k.Gaussian(2.0), X, BETA, PARTS, CENTRES, 0.5
    ),
    "kernel Precomputed": lambda: k.Precomputed(GRAM),
    "kernel Rescaled": lambda: k.Rescaled(k.Matern(1.5), [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]),
    "kernel Spectral": lambda: k.NeighborGraphKernel.from_points(X),
    "kernel Tessellated": lambda: k.TessellatedKernel(-3.0, 3.0),
    "kernel polynomial": lambda: k.GeneralizedPolynomial(-3.0, 3.0, 1),
    "kernel sum": lambda: 2.0 * k.Laplacian(0.3) + k.Matern(1.5, 0.7) * k.Linear(),
    "kernel sums": lambda: k.WeightedSum(
        [k.Normalized(k.Polynomial()), k.On(k.TL1(2.0), 1), k.Sigmoid()], [0.5, 0.25, 0.0]
    ),
}
"""What makes each model, by a name."""


@cache
def saved(name: str) -> bytes:
    """Return the file of a model."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.pliant"
        save_model(MODELS[name](), path, schema={"a": [1]}, metadata={"b": 2.0})
        return path.read_bytes()


def rows_for(model: Any, name: str) -> Any:
    """Return rows that fit a model, which may have other columns than that of the case had."""
    if isinstance(model, k.Kernel):
        return None if _has_names(model) else _pair_for(model, name)
    if name in ("saved linear", "saved two classes", "saved columns", "table"):
        return FRAME
    if name == "DANKClassifier frame":
        return FRAME[["u", "v", "w"]]
    if name == "saved isotonic regression":
        return NEW[:, 0]
    whole = {"DANKClassifier pre": GRAM}.get(name, X)
    whole = CODED if name in CODED_ONES else whole
    n_features = getattr(model, "n_features_in_", whole.shape[1])
    if name == "DANKClassifier pre" and n_features == 1:
        return np.zeros((1, 1))  # a point by its row number
    return np.tile(whole, -(-n_features // whole.shape[1]))[:, :n_features]


CODED_ONES = ("coded", "saved ridge", "saved boosting", "saved boosting regression")


def _pair_for(kernel: Any, name: str) -> Any:
    """Return two sets of points for a kernel; the second one are its own, if it keeps some."""
    rows, others = points_that_fit(kernel)
    if len(rows) < 3 or rows.shape[1] == 0:
        return rows, others
    return np.tile(NEW, -(-rows.shape[1] // 3))[:, : rows.shape[1]], others
