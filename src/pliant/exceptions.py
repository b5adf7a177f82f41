"""Exceptions and warnings of pliant, for ``except`` clauses and warning filters."""

from pliant.core.exceptions import (
    FeatureScaleWarning,
    Interrupted,
    ModelFileError,
    NonPSDWarning,
    SampleWeightWarning,
    TableError,
    UniformWeightsWarning,
    UnknownCategoryWarning,
)

__all__ = [
    "FeatureScaleWarning",
    "Interrupted",
    "ModelFileError",
    "NonPSDWarning",
    "SampleWeightWarning",
    "TableError",
    "UniformWeightsWarning",
    "UnknownCategoryWarning",
]
