"""Learn kernels from data.

Methods learn a kernel function. ``fit`` sets up a problem, runs a solver, and stores the learned
kernel (``kernel_``), with coefficients if the method predicts. In regression and for two classes,
support vector machines and ridge regression compute
``kernel_(X, support_vectors_) @ dual_coef_ + intercept_``. Exceptions are TKL with ``partition``,
where a point's part has terms and an intercept of its own, and
``AsymmetricKernelRidge("precomputed")``, whose ``kernel_`` is None.

LAB-RBF clips features to ``limits_``, and averages the expansions of ``members_``, which may have a
linear part. A regressor that learned asinh(y / u) converts the mean f to u sinh(f). Regressors clip
predictions to the range of the training target.

A kernel learned from points is an ordinary kernel object: callable on new points, and usable in any
kernel method, directly or by its Gram matrix. Only LAB-RBF's is not symmetric: other kernel methods
take its ``symmetric_kernel_``.

Public names and modules are imported on demand, so importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module

from pliant._version import __version__

TYPE_CHECKING = False  # defined here, as importing typing is slow
if TYPE_CHECKING:
    from typing import Any

    from pliant.export import to_onnx
    from pliant.methods import (
        AsymmetricKernelRidge,
        C_path,
        DANKClassifier,
        DANKRegressor,
        GeneralizedPolynomial,
        GKLClassifier,
        GKLRegressor,
        KernelEmbedding,
        KMeansPartition,
        KNPLClassifier,
        KNPLRegressor,
        LABRBFAlgorithm,
        LABRBFClassifier,
        LABRBFPaperRegressor,
        LABRBFRegressor,
        LearnedKernelClassifier,
        LogDetLearner,
        MKLClassifier,
        MKLRegressor,
        OrderSpectralLearner,
        QuadratureKernel,
        SCGLogDetLearner,
        SCGLogDetPath,
        SideInformation,
        SketchedKernelRidge,
        SketchedKernelRidgeClassifier,
        TessellatedKernel,
        TKLClassifier,
        TKLRegressor,
    )
    from pliant.persistence import load, save
    from pliant.tables.comparison.comparing import compare, fit
    from pliant.tables.reading.encoder import TableFeatures

__all__ = [
    "AsymmetricKernelRidge",
    "C_path",
    "DANKClassifier",
    "DANKRegressor",
    "GKLClassifier",
    "GKLRegressor",
    "GeneralizedPolynomial",
    "KMeansPartition",
    "KNPLClassifier",
    "KNPLRegressor",
    "KernelEmbedding",
    "LABRBFAlgorithm",
    "LABRBFClassifier",
    "LABRBFPaperRegressor",
    "LABRBFRegressor",
    "LearnedKernelClassifier",
    "LogDetLearner",
    "MKLClassifier",
    "MKLRegressor",
    "OrderSpectralLearner",
    "QuadratureKernel",
    "SCGLogDetLearner",
    "SCGLogDetPath",
    "SideInformation",
    "SketchedKernelRidge",
    "SketchedKernelRidgeClassifier",
    "TKLClassifier",
    "TKLRegressor",
    "TableFeatures",
    "TessellatedKernel",
    "__version__",
    "compare",
    "fit",
    "load",
    "save",
    "to_onnx",
]

_ELSEWHERE = {
    "TableFeatures": "pliant.tables.reading.encoder",
    "compare": "pliant.tables.comparison.comparing",
    "fit": "pliant.tables.comparison.comparing",
    "load": "pliant.persistence",
    "save": "pliant.persistence",
    "to_onnx": "pliant.export",
}
"""Modules of the public names that are not in `pliant.methods`."""

_MODULES = ("datasets", "exceptions", "kernels", "metrics", "plots", "tables")
"""Public submodules, which are attributes of the package."""


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
