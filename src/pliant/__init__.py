"""Learn kernels from data.

Every method here learns a kernel function. ``fit`` states a problem, runs a solver, and keeps
the learned kernel (``kernel_``) with its coefficients; prediction is one line for all of them:
``kernel_(X, support_vectors_) @ dual_coef_ + intercept_``. A learned kernel is an ordinary
kernel object: callable on new points, and usable in any kernel method, as a function or through
its Gram matrix.
"""

from typing import TYPE_CHECKING, Any

from pliant._version import __version__
from pliant.core.exceptions import (
    FeatureScaleWarning,
    ModelFileError,
    NonPSDWarning,
    TableError,
    UniformWeightsWarning,
)
from pliant.core.public import set_public_module
from pliant.methods import (
    AlignedRandomFeatures,
    AsymmetricKernelRidge,
    BEMKLClassifier,
    BEMKLRegressor,
    C_path,
    DANKClassifier,
    DANKRegressor,
    GKLClassifier,
    GKLRegressor,
    KernelEmbedding,
    KNPLClassifier,
    KNPLRegressor,
    LABRBFClassifier,
    LABRBFRegressor,
    LearnedKernelClassifier,
    LearnedKernelRegressor,
    LogDetLearner,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    OrderSpectralLearner,
    SCGLogDetLearner,
    SCGLogDetPath,
    TKLClassifier,
    TKLRegressor,
)
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.losses import scg_loss
from pliant.metrics import kernel_alignment

if TYPE_CHECKING:
    from pliant.comparison import compare

__all__ = [
    "AlignedRandomFeatures",
    "AsymmetricKernelRidge",
    "BEMKLClassifier",
    "BEMKLRegressor",
    "C_path",
    "DANKClassifier",
    "DANKRegressor",
    "FeatureScaleWarning",
    "GKLClassifier",
    "GKLRegressor",
    "KNPLClassifier",
    "KNPLRegressor",
    "KernelEmbedding",
    "LABRBFClassifier",
    "LABRBFRegressor",
    "LearnedKernelClassifier",
    "LearnedKernelRegressor",
    "LogDetLearner",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "ModelFileError",
    "NonPSDWarning",
    "OrderSpectralLearner",
    "SCGLogDetLearner",
    "SCGLogDetPath",
    "SideInformation",
    "TKLClassifier",
    "TKLRegressor",
    "TableError",
    "UniformWeightsWarning",
    "__version__",
    "compare",
    "kernel_alignment",
    "scg_loss",
]


set_public_module(globals(), __all__)


def __getattr__(name: str) -> Any:
    """Import `compare` when it is asked for: it brings all of scikit-learn's baselines."""
    if name != "compare":
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    from pliant.comparison import compare

    return compare
