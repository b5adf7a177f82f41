"""Learn kernels from data.

Every method learns a kernel function. ``fit`` sets up a problem, runs a solver, and stores the
learned kernel (``kernel_``) with its coefficients; all methods predict by
``kernel_(X, support_vectors_) @ dual_coef_ + intercept_``. A learned kernel is an ordinary kernel
object: callable on new points, and usable in any kernel method, directly or by its Gram matrix.

Public names and modules are imported on demand, so importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module

from pliant._version import __version__

TYPE_CHECKING = False  # defined here, as importing typing is slow
if TYPE_CHECKING:
    from typing import Any

    from pliant.comparison import compare, fit
    from pliant.core.exceptions import (
        FeatureScaleWarning,
        Interrupted,
        ModelFileError,
        NonPSDWarning,
        SampleWeightWarning,
        TableError,
        UniformWeightsWarning,
    )
    from pliant.export import to_onnx
    from pliant.methods import (
        AsymmetricKernelRidge,
        C_path,
        DANKClassifier,
        DANKRegressor,
        GKLClassifier,
        GKLRegressor,
        KernelEmbedding,
        KMeansPartition,
        KNPLClassifier,
        KNPLRegressor,
        LABRBFClassifier,
        LABRBFRegressor,
        LearnedKernelClassifier,
        LogDetLearner,
        MKLClassifier,
        MKLRegressor,
        OrderSpectralLearner,
        SCGLogDetLearner,
        SCGLogDetPath,
        SketchedKernelRidge,
        SketchedKernelRidgeClassifier,
        TKLClassifier,
        TKLRegressor,
        batch_decision_function,
    )
    from pliant.methods.supervised.information import SideInformation, scg_loss
    from pliant.metrics import kernel_alignment
    from pliant.persistence import load, save
    from pliant.tables import TableFeatures

__all__ = [
    "AsymmetricKernelRidge",
    "C_path",
    "DANKClassifier",
    "DANKRegressor",
    "FeatureScaleWarning",
    "GKLClassifier",
    "GKLRegressor",
    "Interrupted",
    "KMeansPartition",
    "KNPLClassifier",
    "KNPLRegressor",
    "KernelEmbedding",
    "LABRBFClassifier",
    "LABRBFRegressor",
    "LearnedKernelClassifier",
    "LogDetLearner",
    "MKLClassifier",
    "MKLRegressor",
    "ModelFileError",
    "NonPSDWarning",
    "OrderSpectralLearner",
    "SCGLogDetLearner",
    "SCGLogDetPath",
    "SampleWeightWarning",
    "SideInformation",
    "SketchedKernelRidge",
    "SketchedKernelRidgeClassifier",
    "TKLClassifier",
    "TKLRegressor",
    "TableError",
    "TableFeatures",
    "UniformWeightsWarning",
    "__version__",
    "batch_decision_function",
    "compare",
    "fit",
    "kernel_alignment",
    "load",
    "save",
    "scg_loss",
    "to_onnx",
]

_ELSEWHERE = {
    "FeatureScaleWarning": "pliant.core.exceptions",
    "Interrupted": "pliant.core.exceptions",
    "ModelFileError": "pliant.core.exceptions",
    "NonPSDWarning": "pliant.core.exceptions",
    "SampleWeightWarning": "pliant.core.exceptions",
    "SideInformation": "pliant.methods.supervised.information",
    "TableError": "pliant.core.exceptions",
    "TableFeatures": "pliant.tables",
    "UniformWeightsWarning": "pliant.core.exceptions",
    "compare": "pliant.comparison",
    "fit": "pliant.comparison",
    "kernel_alignment": "pliant.metrics",
    "load": "pliant.persistence",
    "save": "pliant.persistence",
    "scg_loss": "pliant.methods.supervised.information",
    "to_onnx": "pliant.export",
}
"""Modules of the public names that are not in `pliant.methods`."""

_MODULES = (
    *("comparison", "datasets", "kernels", "methods", "metrics", "persistence", "plots"),
    *("registry", "tables"),
)
"""Submodules that are attributes of the package."""


def __getattr__(name: str) -> Any:
    """Import a public name or module at its first use."""
    if name in __all__:
        value = getattr(import_module(_ELSEWHERE.get(name, "pliant.methods")), name)
    elif name in _MODULES:
        value = import_module(f"pliant.{name}")
    else:
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and modules, including those not imported yet."""
    return sorted({*__all__, *_MODULES})
