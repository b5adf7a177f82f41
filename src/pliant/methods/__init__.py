"""The methods with the kernels that they learn, one package per family.

A family imports no other family except svm. Users find the estimators, and the objects that they
pass to them, in `pliant`; learned kernels are attributes of models, such as ``kernel_``.

A process that only predicts imports each at its first use; see `pliant.core.process`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pliant.core import process
from pliant.core.exceptions import set_public_module

if TYPE_CHECKING:
    from pliant.methods.dank.dank import DANKClassifier, DANKRegressor
    from pliant.methods.dank.kernel import AdaptiveMatrix, HadamardKernel, PartitionedKernel
    from pliant.methods.dank.knpl import KNPLClassifier, KNPLRegressor
    from pliant.methods.lab_rbf.algorithm import LABRBFAlgorithm
    from pliant.methods.lab_rbf.classifier import LABRBFClassifier
    from pliant.methods.lab_rbf.intervals import LABRBFErrorModel
    from pliant.methods.lab_rbf.kernel import LocalRBFKernel, Mapped, Warp
    from pliant.methods.lab_rbf.members import LABRBFMember
    from pliant.methods.lab_rbf.paper import LABRBFPaperRegressor
    from pliant.methods.lab_rbf.regressor import LABRBFRegressor
    from pliant.methods.mkl.mkl import MKLClassifier, MKLRegressor
    from pliant.methods.path import C_path
    from pliant.methods.ridge.asymmetric import AsymmetricKernelRidge
    from pliant.methods.ridge.sketched import SketchedKernelRidge, SketchedKernelRidgeClassifier
    from pliant.methods.supervised.components import Components
    from pliant.methods.supervised.embedding import KernelEmbedding
    from pliant.methods.supervised.information import SideInformation
    from pliant.methods.supervised.learned_kernel import LearnedKernelClassifier
    from pliant.methods.supervised.learner import LogDetKernel
    from pliant.methods.supervised.log_det import LogDetLearner
    from pliant.methods.supervised.neighbor_graph import NeighborGraphKernel, SpectralKernel
    from pliant.methods.supervised.order_spectral import OrderSpectralLearner
    from pliant.methods.supervised.scg import SCGLogDetLearner
    from pliant.methods.supervised.scg_problem import SCGLogDetPath
    from pliant.methods.svm.parts import KMeansPartition
    from pliant.methods.tkl.generalized_kernel import (
        GeneralizedKernel,
        GeneralizedPolynomial,
        QuadratureKernel,
        TessellatedKernel,
    )
    from pliant.methods.tkl.gkl import GKLClassifier, GKLRegressor
    from pliant.methods.tkl.tkl import TKLClassifier, TKLRegressor

__all__ = [
    "AdaptiveMatrix",
    "AsymmetricKernelRidge",
    "C_path",
    "Components",
    "DANKClassifier",
    "DANKRegressor",
    "GKLClassifier",
    "GKLRegressor",
    "GeneralizedKernel",
    "GeneralizedPolynomial",
    "HadamardKernel",
    "KMeansPartition",
    "KNPLClassifier",
    "KNPLRegressor",
    "KernelEmbedding",
    "LABRBFAlgorithm",
    "LABRBFClassifier",
    "LABRBFErrorModel",
    "LABRBFMember",
    "LABRBFPaperRegressor",
    "LABRBFRegressor",
    "LearnedKernelClassifier",
    "LocalRBFKernel",
    "LogDetKernel",
    "LogDetLearner",
    "MKLClassifier",
    "MKLRegressor",
    "Mapped",
    "NeighborGraphKernel",
    "OrderSpectralLearner",
    "PartitionedKernel",
    "QuadratureKernel",
    "SCGLogDetLearner",
    "SCGLogDetPath",
    "SideInformation",
    "SketchedKernelRidge",
    "SketchedKernelRidgeClassifier",
    "SpectralKernel",
    "TKLClassifier",
    "TKLRegressor",
    "TessellatedKernel",
    "Warp",
]

_HOMES = {
    "AdaptiveMatrix": "dank.kernel",
    "AsymmetricKernelRidge": "ridge.asymmetric",
    "C_path": "path",
    "Components": "supervised.components",
    "DANKClassifier": "dank.dank",
    "DANKRegressor": "dank.dank",
    "GKLClassifier": "tkl.gkl",
    "GKLRegressor": "tkl.gkl",
    "GeneralizedKernel": "tkl.generalized_kernel",
    "GeneralizedPolynomial": "tkl.generalized_kernel",
    "HadamardKernel": "dank.kernel",
    "KMeansPartition": "svm.parts",
    "KNPLClassifier": "dank.knpl",
    "KNPLRegressor": "dank.knpl",
    "KernelEmbedding": "supervised.embedding",
    "LABRBFAlgorithm": "lab_rbf.algorithm",
    "LABRBFClassifier": "lab_rbf.classifier",
    "LABRBFErrorModel": "lab_rbf.intervals",
    "LABRBFMember": "lab_rbf.members",
    "LABRBFPaperRegressor": "lab_rbf.paper",
    "LABRBFRegressor": "lab_rbf.regressor",
    "LearnedKernelClassifier": "supervised.learned_kernel",
    "LocalRBFKernel": "lab_rbf.kernel",
    "LogDetKernel": "supervised.learner",
    "LogDetLearner": "supervised.log_det",
    "MKLClassifier": "mkl.mkl",
    "MKLRegressor": "mkl.mkl",
    "Mapped": "lab_rbf.kernel",
    "NeighborGraphKernel": "supervised.neighbor_graph",
    "OrderSpectralLearner": "supervised.order_spectral",
    "PartitionedKernel": "dank.kernel",
    "QuadratureKernel": "tkl.generalized_kernel",
    "SCGLogDetLearner": "supervised.scg",
    "SCGLogDetPath": "supervised.scg_problem",
    "SideInformation": "supervised.information",
    "SketchedKernelRidge": "ridge.sketched",
    "SketchedKernelRidgeClassifier": "ridge.sketched",
    "SpectralKernel": "supervised.neighbor_graph",
    "TKLClassifier": "tkl.tkl",
    "TKLRegressor": "tkl.tkl",
    "TessellatedKernel": "tkl.generalized_kernel",
    "Warp": "lab_rbf.kernel",
}
"""Modules of the names."""

_PARTS = {
    "AdaptiveMatrix",
    "Components",
    "GeneralizedKernel",
    "HadamardKernel",
    "LABRBFErrorModel",
    "LABRBFMember",
    "LocalRBFKernel",
    "LogDetKernel",
    "Mapped",
    "NeighborGraphKernel",
    "PartitionedKernel",
    "SpectralKernel",
    "Warp",
}
"""Parts of models, which model files and pickles name by ``pliant.methods``."""


CLASSES = {
    name: "pliant.methods" if name in _PARTS else "pliant" for name in __all__ if name != "C_path"
}
"""The public module of each class."""


def __getattr__(name: str) -> Any:
    """Import a name."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pliant.methods' has no attribute {name!r}")
    value = getattr(import_module(f"pliant.methods.{_HOMES[name]}"), name)
    if name in CLASSES:
        set_public_module({name: value, "__name__": CLASSES[name]}, [name])
    globals()[name] = value
    return value


if not process.BARE:  # at once, so that all classes have their public module
    for _name in __all__:
        __getattr__(_name)
