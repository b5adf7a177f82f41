"""The methods with the kernels that they learn, one package per family.

A family imports no other family except svm. Users find the estimators, and the objects that they
pass to them, in `pliant`; learned kernels are attributes of models, such as ``kernel_``.
"""

from pliant.core.exceptions import set_public_module
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

set_public_module(globals(), _PARTS)
set_public_module({**globals(), "__name__": "pliant"}, {*__all__} - _PARTS)
