"""The methods, one folder a family. No family imports another, except svm."""

from importlib import import_module

from pliant.core.exceptions import set_public_module
from pliant.kernels import LEARNED
from pliant.methods.dank.batch import batch_decision_function
from pliant.methods.dank.dank import DANKClassifier, DANKRegressor
from pliant.methods.dank.knpl import KNPLClassifier, KNPLRegressor
from pliant.methods.lab_rbf.classifier import LABRBFClassifier
from pliant.methods.lab_rbf.intervals import LABRBFErrorModel
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.methods.lab_rbf.regressor import LABRBFRegressor
from pliant.methods.mkl.estimators import MKLClassifier, MKLRegressor
from pliant.methods.ridge.asymmetric import AsymmetricKernelRidge
from pliant.methods.ridge.sketched import (
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
)
from pliant.methods.supervised.embedding import KernelEmbedding
from pliant.methods.supervised.kernels import Components
from pliant.methods.supervised.learned_kernel import (
    LearnedKernelClassifier,
)
from pliant.methods.supervised.log_det import LogDetLearner
from pliant.methods.supervised.order_spectral import OrderSpectralLearner
from pliant.methods.supervised.scg import SCGLogDetLearner
from pliant.methods.supervised.scg_problem import SCGLogDetPath
from pliant.methods.svm.estimators import C_path
from pliant.methods.svm.parts import KMeansPartition
from pliant.methods.tkl.estimators import TKLClassifier, TKLRegressor
from pliant.methods.tkl.gkl import GKLClassifier, GKLRegressor

__all__ = [
    "AsymmetricKernelRidge",
    "C_path",
    "Components",
    "DANKClassifier",
    "DANKRegressor",
    "GKLClassifier",
    "GKLRegressor",
    "KMeansPartition",
    "KNPLClassifier",
    "KNPLRegressor",
    "KernelEmbedding",
    "LABRBFClassifier",
    "LABRBFErrorModel",
    "LABRBFMember",
    "LABRBFRegressor",
    "LearnedKernelClassifier",
    "LogDetLearner",
    "MKLClassifier",
    "MKLRegressor",
    "OrderSpectralLearner",
    "SCGLogDetLearner",
    "SCGLogDetPath",
    "SketchedKernelRidge",
    "SketchedKernelRidgeClassifier",
    "TKLClassifier",
    "TKLRegressor",
    "batch_decision_function",
]

_OWN = {"Components", "LABRBFErrorModel", "LABRBFMember"}
"""Names that ``pliant`` does not export."""

set_public_module(globals(), _OWN)
set_public_module({**globals(), "__name__": "pliant"}, {*__all__} - _OWN)

_KERNELS = {
    name: getattr(import_module(f"{__name__}.{path}"), name) for name, path in LEARNED.items()
}
set_public_module({**_KERNELS, "__name__": "pliant.kernels"}, _KERNELS)
