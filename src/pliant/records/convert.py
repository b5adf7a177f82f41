"""Convert fitted estimators of scikit-learn to records.

Each function copies the arrays of one family of estimators, by the rule of its own prediction: the
comparison, the precision, missing values, the first summand and the order of summation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from pliant.core.typing import Array
from pliant.kernels.base import Kernel, Product, Scaled, Sum
from pliant.kernels.standard import Gaussian, Laplacian, Linear, Matern, Polynomial, Sigmoid
from pliant.records.boosters import BOOSTERS
from pliant.records.estimators import (
    Pipeline,
    SavedCalibration,
    SavedClassifier,
    SavedRegressor,
    SavedTarget,
    SavedTransformer,
    Unfitted,
)
from pliant.records.functions import (
    ClassShares,
    Constant,
    KernelExpansion,
    LaplacePosterior,
    LinearFunction,
    PairExpansion,
)
from pliant.records.nodes import Nodes, f8, i4, refuse, tree_ensemble
from pliant.records.transforms import Affine, Imputation, Levels, MeanTargets, OneHot, Projection
from pliant.records.trees import TreeEnsemble


def converts(kind: type) -> bool:
    """Return True for types of estimators that become records, which depends on parameters too."""
    return hasattr(kind, "_to_record") or f"{kind.__module__}.{kind.__qualname__}" in CONVERTERS


def has_record(original: Any) -> bool:
    """Return True if an estimator of this type and with these parameters can become a record."""
    try:
        _check_settings(original)
    except ValueError:
        return False
    return converts(type(original))


def to_record(original: Any) -> Any:
    """Return the record of an estimator of another library.

    A part that is an estimator stays as it is, to be converted in its turn; an estimator that is
    not fitted becomes `Unfitted`. Raises ValueError if a setting has no record.
    """
    if hasattr(original, "_to_record"):
        return original._to_record()
    convert = CONVERTERS[_name(original)]
    _check_settings(original)
    if convert not in (_pipeline, _frozen) and not _is_fitted(original):
        return Unfitted.of(original, allow_nan=_takes_missing(original))
    return convert(original)


def _takes_missing(original: Any) -> bool:
    """Return True if an estimator of scikit-learn takes missing values."""
    from sklearn.utils import get_tags

    return bool(get_tags(original).input_tags.allow_nan)


def _name(original: Any) -> str:
    kind = type(original)
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_fitted(original: Any) -> bool:
    if hasattr(original, "__sklearn_is_fitted__"):
        return bool(original.__sklearn_is_fitted__())
    return any(name.endswith("_") and not name.startswith("__") for name in vars(original))


def _check_settings(original: Any) -> None:
    """Raise ValueError for a parameter whose predictions have no record; also before a fit."""
    known = original.get_params(deep=False)
    kernel, name = known.get("kernel"), type(original).__name__
    for parameter, allowed in PARAMETERS.get(name, {}).items():
        value = known.get(parameter, allowed[0])
        if value not in allowed:
            refuse(original, f"{parameter}={value!r:.80}")
    if name in ("SVC", "NuSVC", "SVR", "NuSVR", "KernelRidge") and kernel != "precomputed":
        own = isinstance(kernel, Kernel) and name == "KernelRidge"
        if not own and (not isinstance(kernel, str) or kernel not in KERNELS):
            refuse(original, f"kernel={kernel!r:.80}")
        if not own and kernel.startswith("poly") and float(known["degree"]) % 1 != 0:
            refuse(original, f"degree={known['degree']!r:.80}")
    if name.startswith("GaussianProcess") and kernel is not None:
        _process_kernel(original, kernel)
        if name.endswith("Classifier") and "WhiteKernel" in repr(kernel):
            refuse(original, "WhiteKernel")
    if name == "SimpleImputer":
        missing = known["missing_values"]
        if not (isinstance(missing, float | np.floating) and np.isnan(missing)):
            refuse(original, f"missing_values={missing!r:.80}")
    transformer = known.get("transformer")
    if transformer is not None and _name(transformer) not in SCALERS:
        refuse(original, f"transformer={transformer!r:.80}")


KERNELS = ("laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
"""scikit-learn's names of kernels that have a class in `pliant.kernels`."""

PARAMETERS: dict[str, dict[str, tuple[Any, ...]]] = {
    "SVC": {"probability": (False, "deprecated"), "break_ties": (False,)},
    "NuSVC": {"probability": (False, "deprecated"), "break_ties": (False,)},
    "KernelRidge": {"kernel_params": (None,)},
    "GaussianProcessClassifier": {"multi_class": ("one_vs_rest",)},
    # a parameter of scikit-learn 1.7 only
    "LogisticRegression": {"multi_class": ("deprecated", "auto")},
    "LogisticRegressionCV": {"multi_class": ("deprecated", "auto")},
    "DummyClassifier": {"strategy": ("prior", "most_frequent", "constant")},
    "GradientBoostingRegressor": {"init": (None, "zero")},
    "GradientBoostingClassifier": {"init": (None, "zero"), "loss": ("log_loss",)},
    "OneHotEncoder": {
        "drop": (None,),
        "min_frequency": (None,),
        "max_categories": (None,),
        "handle_unknown": ("ignore", "error"),
    },
    "TransformedTargetRegressor": {"func": (None,), "inverse_func": (None,)},
    "CalibratedClassifierCV": {"method": ("sigmoid", "isotonic")},
    "XGBRegressor": {"booster": (None, "gbtree")},
    "XGBClassifier": {"booster": (None, "gbtree")},
}
"""The values of parameters that have a record."""


# --- trees ---


def _nodes_of_tree(tree: Any, factor: float | None = None) -> Nodes:
    """Return the nodes of a compiled tree of scikit-learn; leaf values are times a factor."""
    values = tree.value[:, 0, :] if tree.n_outputs == 1 else tree.value[:, :, 0]
    return Nodes(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        values=values if factor is None else factor * values,
    )


def _mean_of_trees(original: Any, trees: Sequence[Any]) -> TreeEnsemble:
    nodes = [_nodes_of_tree(each.tree_) for each in trees]
    k, n = nodes[0].values.shape[1], len(trees)
    return tree_ensemble(
        *(nodes, [0] * n, np.zeros(k)),
        n_features=original.n_features_in_,
        divisor=float(n),
        single=True,
        takes_missing=_takes_missing(original),
    )


def _forest_regressor(original: Any) -> SavedRegressor:
    trees = getattr(original, "estimators_", [original])  # or a single tree
    single = original.n_outputs_ == 1
    function = _mean_of_trees(original, trees)
    return SavedRegressor.of(original, function=function, link="identity", single=single)


def _forest_classifier(original: Any) -> SavedClassifier:
    if original.n_outputs_ != 1:
        refuse(original, "more than one target")
    trees = getattr(original, "estimators_", [original])
    return _classifier(original, _mean_of_trees(original, trees), "shares")


def _classifier(original: Any, function: Any, head: str) -> SavedClassifier:
    classes = np.array(original.classes_)
    return SavedClassifier.of(original, function=function, head=head, classes_=classes)


def _gradient_boosting(original: Any) -> Any:
    """Sum the trees in the order of rounds and classes, after the initial prediction."""
    k = original.estimators_.shape[1]
    start = original._raw_predict_init(np.zeros((1, original.n_features_in_), np.float32))[0]
    rounds = original.estimators_.ravel()  # the trees of all classes, round by round
    nodes = [_nodes_of_tree(each.tree_, original.learning_rate) for each in rounds]
    outputs = [t % k for t in range(len(nodes))]
    function = tree_ensemble(
        *(nodes, outputs, start),
        n_features=original.n_features_in_,
        single=True,
        takes_missing=_takes_missing(original),
    )
    if not hasattr(original, "classes_"):
        return SavedRegressor.of(original, function=function, link="identity", single=True)
    return _classifier(original, function, "odds" if k == 1 else "softmax")


def _histogram_boosting(original: Any) -> Any:
    """Sum the trees in the order of rounds and classes, after the baseline."""
    if getattr(original, "is_categorical_", None) is not None:
        refuse(original, "the parameter categorical_features")
    nodes, outputs = [], []
    for iteration in original._predictors:
        for k, predictor in enumerate(iteration):
            each = predictor.nodes
            nodes.append(
                Nodes(
                    feature=each["feature_idx"],
                    threshold=each["num_threshold"],
                    left=np.where(each["is_leaf"] == 1, -1, each["left"].astype(np.int64)),
                    right=each["right"].astype(np.int64),
                    missing_left=each["missing_go_to_left"] == 1,
                    values=each["value"][:, None],
                )
            )
            outputs.append(k)
    start = np.ravel(original._baseline_prediction)
    function = tree_ensemble(nodes, outputs, start, n_features=original.n_features_in_)
    if not hasattr(original, "classes_"):
        link = "exp" if original.loss in ("poisson", "gamma") else "identity"
        return SavedRegressor.of(original, function=function, link=link, single=True)
    return _classifier(original, function, "logistic" if len(start) == 1 else "softmax")


# --- constants and linear functions ---


def _dummy_regressor(original: Any) -> SavedRegressor:
    value = f8(np.ravel(original.constant_))
    function = Constant(value, int(original.n_features_in_))
    single = original.n_outputs_ == 1
    return SavedRegressor.of(original, function=function, link="identity", single=single)


def _dummy_classifier(original: Any) -> SavedClassifier:
    if original.n_outputs_ != 1:
        refuse(original, "more than one target")
    X = np.zeros((1, original.n_features_in_))
    function = Constant(f8(original.predict_proba(X)[0]), int(original.n_features_in_))
    return _classifier(original, function, "shares")


def _linear_function(original: Any) -> LinearFunction:
    W = np.atleast_2d(original.coef_)
    b = np.broadcast_to(np.ravel(original.intercept_), len(W))
    return LinearFunction(f8(W.T), f8(b))


def _linear_regressor(original: Any) -> SavedRegressor:
    single = np.ndim(original.coef_) == 1
    link = (
        "exp" if type(original).__name__ in ("PoissonRegressor", "GammaRegressor") else "identity"
    )
    function = _linear_function(original)
    return SavedRegressor.of(original, function=function, link=link, single=single)


def _linear_classifier(original: Any) -> SavedClassifier:
    binarizer = getattr(original, "_label_binarizer", None)  # of ridge regression
    if binarizer is not None and binarizer.y_type_.startswith("multilabel"):
        refuse(original, "more than one label per row")
    return _classifier(original, _linear_function(original), "scores")


def _logistic(original: Any) -> SavedClassifier:
    """Logistic function of two classes, softmax of more, except in the solver of pairs."""
    binary = len(original.classes_) == 2
    several = "ratios" if original.solver == "liblinear" else "softmax"
    return _classifier(original, _linear_function(original), "logistic" if binary else several)


# --- expansions in kernel values ---


def _kernel(original: Any, name: Any, gamma: float | None, degree: Any, coef0: Any) -> Kernel:
    """Return the kernel with scikit-learn's name and parameters."""
    if isinstance(name, Kernel):
        return name
    known: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "rbf": lambda: Gaussian(float(gamma or 0.0)),
        "laplacian": lambda: Laplacian(float(gamma or 0.0)),
        "poly": lambda: Polynomial(int(degree), float(gamma or 0.0), float(coef0)),
        "polynomial": lambda: Polynomial(int(degree), float(gamma or 0.0), float(coef0)),
        "sigmoid": lambda: Sigmoid(float(gamma or 0.0), float(coef0)),
    }
    return known[name]()


def _centres(original: Any) -> tuple[Kernel | None, Any]:
    """Return the kernel and the support vectors of a support vector machine of scikit-learn."""
    if original._sparse:
        refuse(original, "a fit to sparse rows")
    if original.kernel == "precomputed":
        return None, i4(original.support_)
    kernel = _kernel(original, original.kernel, original._gamma, original.degree, original.coef0)
    return kernel, f8(original.support_vectors_)


def _support_vector_regressor(original: Any) -> SavedRegressor:
    kernel, points = _centres(original)
    function = KernelExpansion(
        *(kernel, points, f8(original._dual_coef_.T), np.ones(1), f8(original._intercept_)),
        n_features=int(original.n_features_in_),
    )
    return SavedRegressor.of(original, function=function, link="identity", single=True)


def _support_vector_classifier(original: Any) -> SavedClassifier:
    kernel, points = _centres(original)
    b, n_features = f8(original._intercept_), int(original.n_features_in_)
    coefficients = f8(original._dual_coef_.T)
    function: Any = PairExpansion(
        kernel, points, i4(original._n_support), coefficients, b, n_features
    )
    if len(original.classes_) == 2:  # libsvm's values elect the first class
        function = KernelExpansion(kernel, points, -coefficients, np.ones(1), -b, n_features)
    head = "votes" if original.decision_function_shape == "ovr" else "pairs"
    return _classifier(original, function, head)


def _kernel_ridge(original: Any) -> SavedRegressor:
    c = np.asarray(original.dual_coef_)
    X = original.X_fit_
    if not isinstance(X, np.ndarray):
        refuse(original, "a fit to sparse rows")
    gamma = 1.0 / X.shape[1] if original.gamma is None else original.gamma
    kernel, points = None, cast(Any, i4(np.arange(len(X))))
    if original.kernel != "precomputed":
        kernel = _kernel(original, original.kernel, gamma, original.degree, original.coef0)
        points = f8(X)
    C = f8(c.reshape(len(c), -1))
    ones, zeros = np.ones(C.shape[1]), np.zeros(C.shape[1])
    function = KernelExpansion(kernel, points, C, ones, zeros, int(original.n_features_in_))
    return SavedRegressor.of(original, function=function, link="identity", single=c.ndim == 1)


def _process_kernel(original: Any, kernel: Any) -> Kernel | None:
    """Return a Gaussian process's kernel between different points; None stands for zero."""
    if isinstance(kernel, Kernel):
        return kernel
    name = type(kernel).__name__
    if name == "WhiteKernel":
        return None
    if name in ("Sum", "Product"):
        pair = (kernel.k1, kernel.k2)
        scales = [k.constant_value for k in pair if type(k).__name__ == "ConstantKernel"]
        parts = [_process_kernel(original, k) for k in pair if type(k).__name__ != "ConstantKernel"]
        known = [part for part in parts if part is not None]
        if name == "Product" and len(scales) == 1:
            return Scaled(known[0], float(scales[0])) if known else None
        if not scales and len(known) == 2:
            return Sum(*known) if name == "Sum" else Product(*known)
        if name == "Sum" and not scales:
            return known[0] if known else None
        refuse(original, "a sum or product with ConstantKernel")
    length = getattr(kernel, "length_scale", None)
    # k = exp(-|x - y|^2 / (2 l^2)), by feature if l is a vector
    gamma: Any = None if length is None else 1.0 / (2.0 * np.square(length))
    if gamma is not None:
        gamma = f8(gamma) if np.ndim(gamma) else float(gamma)
    if name == "RBF":
        return Gaussian(gamma)
    if name == "Matern" and kernel.nu in (0.5, 1.5, 2.5):
        # r^2 = 2 nu |x - y|^2 / l^2 is 4 nu gamma |x - y|^2
        return Matern(float(kernel.nu), gamma)
    if name == "DotProduct":
        return Polynomial(1, 1.0, float(kernel.sigma_0**2))
    return refuse(original, f"the kernel {name}")


def _gaussian_process_regressor(original: Any) -> SavedRegressor:
    kernel = _process_kernel(original, original.kernel_)
    alpha = np.asarray(original.alpha_)
    C = f8(alpha.reshape(len(alpha), -1))
    scale = f8(np.broadcast_to(original._y_train_std, C.shape[1]))
    mean = f8(np.broadcast_to(original._y_train_mean, C.shape[1]))
    single = C.shape[1] == 1
    function: Any = Constant(mean, int(original.n_features_in_))
    if kernel is not None:
        points, width = f8(original.X_train_), int(original.n_features_in_)
        function = KernelExpansion(kernel, points, C, scale, mean, width)
    return SavedRegressor.of(original, function=function, link="identity", single=single)


def _gaussian_process_classifier(original: Any) -> SavedClassifier:
    outer = original.base_estimator_
    parts = []
    for each in getattr(outer, "estimators_", [outer]):
        kernel = _process_kernel(original, each.kernel_)
        assert kernel is not None
        weights = f8(each.y_train_ - each.pi_)
        parts.append(
            LaplacePosterior(
                *(kernel, f8(each.X_train_), weights, f8(each.W_sr_), f8(np.tril(each.L_))),
            )
        )
    return _classifier(original, ClassShares(parts), "shares")


# --- transformers ---


def _scaler(original: Any) -> SavedTransformer:
    """Scale features by the order of operations of each scaler."""
    found: dict[str, Any] = dict.fromkeys(("centre", "scale", "factor", "offset"))
    limits: tuple[float | None, float | None] = (None, None)
    name = type(original).__name__
    if name == "StandardScaler":
        found["centre"] = original.mean_ if original.with_mean else None
        found["scale"] = original.scale_
    elif name == "RobustScaler":
        found["centre"] = original.center_ if original.with_centering else None
        found["scale"] = original.scale_ if original.with_scaling else None
    elif name == "MaxAbsScaler":
        found["scale"] = original.scale_
        limits = (-1.0, 1.0) if getattr(original, "clip", False) else limits
    else:
        found["factor"], found["offset"] = original.scale_, original.min_
        low, high = original.feature_range
        limits = (float(low), float(high)) if original.clip else limits
    arrays = {name: None if part is None else f8(part) for name, part in found.items()}
    low, high = limits
    function = Affine(**arrays, low=low, high=high, n_features=int(original.n_features_in_))
    return SavedTransformer.of(original, function=function)


def imputation(original: Any) -> Imputation:
    """Return the arrays of a fitted SimpleImputer of numbers."""
    values = np.asarray(original.statistics_)
    if values.dtype.kind != "f":
        refuse(original, "imputation of texts")
    empty = np.isnan(values)
    # an empty feature becomes 0, or is left out
    kept = original.keep_empty_features
    fill = np.where(empty, 0.0, values)
    marked = original.indicator_.features_ if original.add_indicator else []
    return Imputation(f8(fill), empty & (not kept), i4(marked))


def _levels(original: Any) -> Levels:
    """Return the categories of an encoder of numbers."""
    if any(np.asarray(each).dtype.kind not in "biuf" for each in original.categories_):
        refuse(original, "a feature of texts")
    found = [np.asarray(each, dtype=np.float64) for each in original.categories_]
    missing = np.array([bool(np.isnan(known).any()) for known in found], dtype=np.bool_)
    known = [levels[~np.isnan(levels)] for levels in found]
    counts = i4([len(levels) for levels in known])
    return Levels(f8(np.concatenate(known)), counts, missing)


def one_hot(original: Any) -> OneHot:
    """Return the arrays of a fitted OneHotEncoder of numbers."""
    return OneHot(_levels(original), strict=original.handle_unknown == "error")


def mean_targets(original: Any) -> MeanTargets:
    """Return the arrays of a fitted TargetEncoder of numbers."""
    k = len(original.classes_) if original.target_type_ == "multiclass" else 1
    rows = original.encodings_  # per feature and class
    means = [np.column_stack(rows[j : j + k]) for j in range(0, len(rows), k)]
    overall = np.broadcast_to(np.ravel(original.target_mean_), k)
    return MeanTargets(_levels(original), f8(np.concatenate(means)), f8(overall))


def projection(original: Any) -> Projection:
    """Return the arrays of a fitted PCA or TruncatedSVD."""
    prefix = type(original).__name__.lower()
    centre, scale = getattr(original, "mean_", None), None
    if getattr(original, "whiten", False):
        scale = np.sqrt(original.explained_variance_)
        scale = f8(np.maximum(scale, np.finfo(scale.dtype).eps))
    components = f8(original.components_)
    return Projection(components, None if centre is None else f8(centre), scale, prefix)


def _transformer(arrays: Callable[[Any], Any]) -> Callable[[Any], SavedTransformer]:
    """Return the converter of transformers with arrays from a function."""
    return lambda original: SavedTransformer.of(original, function=arrays(original))


# --- estimators with parts ---


def _pipeline(original: Any) -> Pipeline:
    """Return the same steps in the class of pliant."""
    skipped = ("passthrough", None)
    steps = [(str(name), step) for name, step in original.steps if step not in skipped]
    if not steps:
        refuse(original, "an empty list of steps")
    return Pipeline(steps)


def _scaled_target(original: Any) -> SavedTarget:
    scaler = original.transformer_
    if original.transformer is None:
        identity = Affine(None, None, None, None, None, None, n_features=1)
        scaler = SavedTransformer.of(scaler, function=identity, n_features_in_=1)
    parts = {"regressor_": original.regressor_, "transformer_": scaler}
    # a regressor on one column returns a vector, also if the target had the shape (n, 1)
    return SavedTarget.of(original, **parts, single=original._training_dim == 1)


def _calibration(original: Any) -> SavedCalibration:
    """Return the members with the method that scikit-learn prefers, which their records may add."""
    members, responses, curves = [], [], []
    for each in original.calibrated_classifiers_:
        members.append(each.estimator)
        known = hasattr(each.estimator, "decision_function")
        responses.append("decision_function" if known else "predict_proba")
        curves.append([_curve(calibrator) for calibrator in each.calibrators])
    parts = {"members_": members, "responses_": responses, "curves_": curves}
    return SavedCalibration.of(original, **parts, classes_=np.array(original.classes_))


def _curve(calibrator: Any) -> Array:
    """Return a and b of Platt's curve, or the points of a piecewise linear one."""
    if hasattr(calibrator, "a_"):
        return f8([calibrator.a_, calibrator.b_])
    x, y = f8(calibrator.X_thresholds_), f8(calibrator.y_thresholds_)
    first = np.append(True, np.diff(x) > 0)
    return np.ascontiguousarray(np.stack([x[first], y[first]]))


def _frozen(original: Any) -> Any:
    return original.estimator


LINEAR_REGRESSORS = {
    "_base": ("LinearRegression",),
    "_bayes": ("ARDRegression", "BayesianRidge"),
    "_coordinate_descent": ("ElasticNet", "ElasticNetCV", "Lasso", "LassoCV"),
    "_glm.glm": ("GammaRegressor", "PoissonRegressor"),
    "_huber": ("HuberRegressor",),
    "_least_angle": ("Lars", "LassoLars"),
    "_omp": ("OrthogonalMatchingPursuit",),
    "_quantile": ("QuantileRegressor",),
    "_ridge": ("Ridge", "RidgeCV"),
    "_stochastic_gradient": ("SGDRegressor",),
    "_theil_sen": ("TheilSenRegressor",),
}

SCALERS = {
    f"sklearn.preprocessing._data.{name}"
    for name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
}

FORESTS = ("sklearn.ensemble._forest.RandomForest", "sklearn.ensemble._forest.ExtraTrees")
TREES = ("sklearn.tree._classes.DecisionTree", "sklearn.tree._classes.ExtraTree")
BOOSTING = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoosting"

CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **{f"{name}Classifier": _forest_classifier for name in (*FORESTS, *TREES)},
    **{f"{name}Regressor": _forest_regressor for name in (*FORESTS, *TREES)},
    **{f"{BOOSTING}{kind}": _histogram_boosting for kind in ("Classifier", "Regressor")},
    "sklearn.ensemble._gb.GradientBoostingClassifier": _gradient_boosting,
    "sklearn.ensemble._gb.GradientBoostingRegressor": _gradient_boosting,
    "sklearn.dummy.DummyClassifier": _dummy_classifier,
    "sklearn.dummy.DummyRegressor": _dummy_regressor,
    **{
        f"sklearn.linear_model.{module}.{name}": _linear_regressor
        for module, names in LINEAR_REGRESSORS.items()
        for name in names
    },
    "sklearn.svm._classes.LinearSVR": _linear_regressor,
    "sklearn.linear_model._logistic.LogisticRegression": _logistic,
    "sklearn.linear_model._logistic.LogisticRegressionCV": _logistic,
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": _logistic,
    "sklearn.linear_model._ridge.RidgeClassifier": _linear_classifier,
    "sklearn.linear_model._ridge.RidgeClassifierCV": _linear_classifier,
    "sklearn.linear_model._perceptron.Perceptron": _linear_classifier,
    "sklearn.svm._classes.LinearSVC": _linear_classifier,
    "sklearn.svm._classes.SVC": _support_vector_classifier,
    "sklearn.svm._classes.NuSVC": _support_vector_classifier,
    "sklearn.svm._classes.SVR": _support_vector_regressor,
    "sklearn.svm._classes.NuSVR": _support_vector_regressor,
    "sklearn.kernel_ridge.KernelRidge": _kernel_ridge,
    "sklearn.gaussian_process._gpr.GaussianProcessRegressor": _gaussian_process_regressor,
    "sklearn.gaussian_process._gpc.GaussianProcessClassifier": _gaussian_process_classifier,
    **dict.fromkeys(SCALERS, _scaler),
    "sklearn.impute._base.SimpleImputer": _transformer(imputation),
    "sklearn.preprocessing._encoders.OneHotEncoder": _transformer(one_hot),
    "sklearn.preprocessing._target_encoder.TargetEncoder": _transformer(mean_targets),
    "sklearn.decomposition._pca.PCA": _transformer(projection),
    "sklearn.decomposition._truncated_svd.TruncatedSVD": _transformer(projection),
    "sklearn.pipeline.Pipeline": _pipeline,
    "sklearn.compose._target.TransformedTargetRegressor": _scaled_target,
    "sklearn.calibration.CalibratedClassifierCV": _calibration,
    "sklearn.frozen._frozen.FrozenEstimator": _frozen,
    **BOOSTERS,
}
"""Converters by the full name of the class; a subclass may predict otherwise and has none."""
