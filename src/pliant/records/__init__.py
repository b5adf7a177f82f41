"""Fitted parts of other libraries as records: arrays, and formulas that are written down.

`pliant.save` converts them; `pliant.load` returns them as estimators that predict.
"""

from pliant.core.exceptions import set_public_module
from pliant.records.convert import has_record, to_record
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
from pliant.records.transforms import (
    Affine,
    Imputation,
    Levels,
    MeanTargets,
    OneHot,
    Projection,
)
from pliant.records.trees import TreeEnsemble

__all__ = [
    "Affine",
    "ClassShares",
    "Constant",
    "Imputation",
    "KernelExpansion",
    "LaplacePosterior",
    "Levels",
    "LinearFunction",
    "MeanTargets",
    "OneHot",
    "PairExpansion",
    "Pipeline",
    "Projection",
    "SavedCalibration",
    "SavedClassifier",
    "SavedRegressor",
    "SavedTarget",
    "SavedTransformer",
    "TreeEnsemble",
    "Unfitted",
    "has_record",
    "to_record",
]

set_public_module(globals(), __all__)
