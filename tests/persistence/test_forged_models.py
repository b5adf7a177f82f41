"""Models with inconsistent attributes are an error before they predict."""

from copy import deepcopy
from functools import cache
from inspect import isfunction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree._tree import Tree

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
from pliant.persistence import save
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
    return make_pipeline(encoder, StandardScaler(), DANKClassifier()).fit(table, LABELS)


SETS = [np.array(["blue", "red"]), np.array([0, 1, 2])]
CODES = np.column_stack([np.array(["blue", "red"], object)[LABELS], np.arange(40) % 3])

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
    "svc": lambda: SVC().fit(*load_iris(return_X_y=True)),
    "classes of an svc": lambda: SVC().fit(*load_iris(return_X_y=True)),
    "svr": lambda: SVR().fit(X, F),
    "svc of a kernel": lambda: SVC(kernel="precomputed").fit(X @ X.T, LABELS),
    "forest": lambda: RandomForestClassifier(3, random_state=0).fit(X, LABELS),
    "tree": lambda: ExtraTreesRegressor(3, random_state=0).fit(X, F),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=3).fit(X, LABELS),
    "codes": lambda: OneHotEncoder().fit(CODES),
    "grouped": lambda: OneHotEncoder(max_categories=2).fit(CODES[:, 1:]),
    "imputer": lambda: SimpleImputer().fit(X),
}  # fmt: skip


class Broken(Tree):
    """A compiled tree that is pickled with changed nodes, as type `Tree`."""

    __module__ = Tree.__module__

    def __reduce__(self):
        kind, (width, classes, outputs), state = super().__reduce__()
        changed = {k: v for k, v in self.change.items() if k not in state["nodes"].dtype.names}
        nodes = state["nodes"].copy()
        for name in self.change.keys() - changed.keys():
            nodes[name] = self.change[name](nodes[name])
        return (
            kind,
            (changed.pop("width", width), classes, outputs),
            state | {"nodes": nodes} | changed,
        )


Broken.__name__ = Broken.__qualname__ = "Tree"


def with_tree(model, **change):
    old = model.estimators_[1].tree_
    _, arguments, state = old.__reduce__()
    new = type("Tree", (Broken,), {"change": change, "__module__": Tree.__module__})(*arguments)
    new.__setstate__(state)
    model.estimators_[1].tree_ = new


def with_nodes(model, **change):
    old = model._predictors[1][0]
    nodes = old.nodes.copy()
    for name, of in change.items():
        nodes[name] = of(nodes[name])
    model._predictors[1][0] = TreePredictor(
        nodes, old.binned_left_cat_bitsets, old.raw_left_cat_bitsets
    )


def put(path, value):
    """Return a function that sets an attribute of a model, to a value or a function of the old."""
    owner, _, name = path.rpartition(".")

    def change(model):
        for part in filter(None, owner.split(".")):
            model = model[int(part)] if part.isdigit() else getattr(model, part)
        vars(model)[name] = value(getattr(model, name)) if isfunction(value) else value

    return change


BOX = "kernel_.kernel."


MACHINE = [
    ("support_vectors_", lambda a: a[:-1].copy()), ("_gamma", np.array([1.0, 2.0])),
    ("support_vectors_", lambda a: a[:, :2].copy()), ("_probA", np.zeros(1)),
    ("support_vectors_", lambda a: a.astype(np.float32)), ("_sparse", True),
    ("support_vectors_", lambda a: np.asfortranarray(a)), ("support_", lambda a: a[:3].copy()),
    ("_n_support", lambda a: a[:1].copy()), ("_dual_coef_", lambda a: a[:, :-1].copy()),
    ("_intercept_", lambda a: a[:0].copy()), ("n_features_in_", 5), ("n_features_in_", 4.0),
    ("shape_fit_", (150, 9)), ("kernel", "precomputed"), ("degree", 2.5),
    ("_impl", "one_class"), ("support_", [1, 2]), ("_validate_for_predict", Gaussian()),
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
        ("0.parts_.0.1.statistics_", lambda a: a[:0]),
        ("0.parts_.1.1.categories_", lambda each: [each[0][:-1]]),
        ("0.parts_.1.1.categories_", []), ("0.parts_.2.1.encodings_", []),
        ("0.parts_.3.1.components_", lambda a: a[:, 1:]), ("0.categories", {1: 10**15, 2: 40}),
        ("0.texts", ((3, 99),)), ("0.n_features_in_", lambda n: n + 1),
    ],
    "classes of an svc": [
        ("_n_support", lambda a: a + np.int32(1)), ("_n_support", lambda a: a.astype(np.int64)),
        ("_n_support", lambda a: np.r_[-1, a[1:-1], a[0] + a[-1] + 1].astype("i4")),
        ("classes_", np.arange(4)), ("classes_", np.arange(1)),
    ],
    "svc": MACHINE,
    "svr": MACHINE,
    "svc of a kernel": [
        ("support_", lambda a: a + np.int32(40)), ("support_", lambda a: a - np.int32(40)),
        ("n_features_in_", 50), ("shape_fit_", (40, 50)), ("_dual_coef_", np.ones((1, 3))),
        ("support_vectors_", np.ones((40, 40))), ("kernel", "rbf"),
    ],
    "forest": [
        ("estimators_.1.n_features_in_", 2), ("n_features_in_", 2), ("estimators_", [SVC()]),
    ],
    "boosting": [
        ("_bin_mapper.is_categorical_", np.ones(3, np.uint8)), ("_predictors", [[3.0]]),
        ("loss", "poisson"),
    ],
    "codes": [
        ("categories_", [SETS[0], np.array([2, 1, 0])]), ("categories_", [SETS[0], np.zeros(3)]),
        ("categories_", [SETS[0], np.eye(2)]), ("categories_", SETS[:1]),
        ("_n_features_outs", [1, 3]), ("_n_features_outs", [2]),
        ("_drop_idx_after_grouping", np.array([-5, None], object)),
    ],
    "grouped": [
        ("_default_to_infrequent_mappings", [np.array(groups)])
        for groups in ([0, 1, 7], [0, -1, 1], [0, 1])
    ],
    "imputer": [("strategy", "magic"), ("missing_values", [1])],
}  # fmt: skip

CHANGES = [
    pytest.param(name, put(*forgery), id=f"{name}, {forgery[0]}, {place}")
    for name, forgeries in FORGERIES.items()
    for place, forgery in enumerate(forgeries)
]

CIRCLE = {"left_child": lambda a: np.where(a < 0, a, 0)}
NODES = [
    CIRCLE, {"left_child": lambda a: np.where(a < 0, a, len(a))}, {"feature": lambda a: a + 3},
    {"right_child": lambda a: np.where(a < 0, a, -7)}, {"feature": lambda a: a - 2},
    {"left_child": lambda a: np.where(a < 0, -2, a)}, {"width": 9}, {"max_depth": 0},
    {"node_count": 1}, {"node_count": 0},
]  # fmt: skip
LEAVES = [
    {"left": lambda a: a + 1000}, {"right": lambda a: a * 0}, {"feature_idx": lambda a: a + 3},
    {"feature_idx": lambda a: a - 3}, {"is_leaf": lambda a: a * 0},
    {"is_categorical": lambda a: a * 0 + 1},
]  # fmt: skip
CHANGES += [
    pytest.param(
        name, lambda model, change=change, of=of: of(model, **change), id=f"{name}, {place}"
    )
    for name, of, changes in (("tree", with_tree, NODES), ("boosting", with_nodes, LEAVES))
    for place, change in enumerate(changes)
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


@pytest.mark.parametrize("name", sorted({"hadamard", "partitioned", "on", "sum", "dank", "svc"}))
def test_every_parameter_has_to_be_there(tmp_path, name):
    for parameter in made(name).get_params(deep=False):
        forged = deepcopy(made(name))
        delattr(forged, parameter)
        with pytest.raises(ModelFileError, match=parameter):
            save(forged, tmp_path / "model.pliant")


def test_the_kernel_of_another_machine_is_refused(tmp_path):
    model, other = MODELS["parts"](), MODELS["parts"]()
    model.kernel_ = other.set_params(C=100.0).fit(X, LABELS).kernel_
    with pytest.raises(ModelFileError, match=r"expected .* support points"):
        save(model, tmp_path / "model.pliant")
    adapted_twice = adapted(tau=0.1, centred=True)
    with pytest.raises(ModelFileError, match=r"expected tau = 0 for a centred kernel, got 0\.1"):
        save(adapted_twice, tmp_path / "model.pliant")
