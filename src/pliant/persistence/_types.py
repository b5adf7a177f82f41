"""The closed list: all that a model file may name."""

from __future__ import annotations

from pliant import kernels, methods

OWN_TYPES = frozenset(
    {
        "pliant.comparison.TableEncoder",
        "pliant.persistence.SavedTreesClassifier",
        "pliant.persistence.SavedTreesRegressor",
        "pliant.tables.ColumnEncoder",
    }
)
"""Types of pliant beside the estimators and kernels: the first steps for tables, and trees."""

SKLEARN_TYPES = frozenset(
    {
        "sklearn.calibration.CalibratedClassifierCV",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.compose._target.TransformedTargetRegressor",
        "sklearn.decomposition._truncated_svd.TruncatedSVD",
        "sklearn.dummy.DummyClassifier",
        "sklearn.dummy.DummyRegressor",
        "sklearn.frozen._frozen.FrozenEstimator",
        "sklearn.gaussian_process._gpc.GaussianProcessClassifier",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process._gpr.GaussianProcessRegressor",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.gaussian_process.kernels.Sum",
        "sklearn.gaussian_process.kernels.WhiteKernel",
        "sklearn.impute._base.MissingIndicator",
        "sklearn.impute._base.SimpleImputer",
        "sklearn.isotonic.IsotonicRegression",
        "sklearn.kernel_ridge.KernelRidge",
        "sklearn.linear_model._logistic.LogisticRegression",
        "sklearn.linear_model._ridge.Ridge",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.multiclass.OneVsRestClassifier",
        "sklearn.pipeline.Pipeline",
        "sklearn.preprocessing._data.MaxAbsScaler",
        "sklearn.preprocessing._data.MinMaxScaler",
        "sklearn.preprocessing._data.RobustScaler",
        "sklearn.preprocessing._data.StandardScaler",
        "sklearn.preprocessing._encoders.OneHotEncoder",
        "sklearn.preprocessing._encoders.OrdinalEncoder",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        "sklearn.preprocessing._label.LabelBinarizer",
        "sklearn.preprocessing._label.LabelEncoder",
        "sklearn.preprocessing._target_encoder.TargetEncoder",
        "sklearn.svm._classes.SVC",
        "sklearn.svm._classes.SVR",
    }
)
"""Estimators of scikit-learn, and their parts.

A FunctionTransformer has no function in a file, as functions are refused: it passes columns on.

Their methods are Python and NumPy, but for SVC and SVR: their compiled code trusts the shapes of
its arrays, so `pliant.persistence._sklearn` checks these. Trees have no place here, for the same
reason: they are kept as plain arrays.
"""

NUMPY_SCALARS = frozenset(
    f"numpy.{name}"
    for name in (
        *("bool", "str_", "bytes_", "float16", "float32", "float64"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
)

KEY_TYPES = frozenset(
    {
        *("builtins.str", "builtins.int", "builtins.float"),
        *("numpy.str_", "numpy.int32", "numpy.int64", "numpy.float32", "numpy.float64"),
    }
)
"""Types of dictionary keys; a bool is none, since its text does not read back."""


def trusted_types() -> frozenset[str]:
    """Return the full names of pliant's own types that a model file may hold.

    They are the classes that ``pliant.kernels`` and ``pliant.methods`` export, and `OWN_TYPES`.
    """
    rooms = (kernels, methods)
    exported = (getattr(room, name) for room in rooms for name in room.__all__)
    names = (f"{t.__module__}.{t.__name__}" for t in exported if isinstance(t, type))
    return OWN_TYPES | frozenset(names)


def loaders() -> dict[str, frozenset[str]]:
    """Return the kinds of nodes (skops' name for them) and the types that each may name.

    What is absent is refused: functions, methods, partial calls, operators, calls of
    constructors, bytes, and random states, whose position in their table NumPy does not check.
    """
    return {
        "DictNode": frozenset({"builtins.dict"}),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({"builtins.tuple"}),
        "JsonNode": frozenset({"builtins.str"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "TypeNode": KEY_TYPES,
        "NdArrayNode": frozenset({"numpy.ndarray"}) | NUMPY_SCALARS,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "ObjectNode": SKLEARN_TYPES | trusted_types(),
    }
