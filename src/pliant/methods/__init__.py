"""The methods, one folder a family. No family imports another, except svm."""

from pliant.core.exceptions import set_public_module
from pliant.methods.hadamard.batch import batch_decision_function
from pliant.methods.hadamard.dank import DANKClassifier, DANKRegressor
from pliant.methods.hadamard.knpl import KNPLClassifier, KNPLRegressor
from pliant.methods.lab_rbf.classifier import LABRBFClassifier
from pliant.methods.lab_rbf.intervals import LABRBFErrorModel
from pliant.methods.lab_rbf.members import LABRBFMember
from pliant.methods.lab_rbf.regressor import LABRBFRegressor
from pliant.methods.mkl.estimators import MKLClassifier, MKLRegressor
from pliant.methods.ridge.asymmetric import AsymmetricKernelRidge
from pliant.methods.side_information.embedding import KernelEmbedding
from pliant.methods.side_information.kernels import Components
from pliant.methods.side_information.learned_kernel import (
    LearnedKernelClassifier,
)
from pliant.methods.side_information.log_det import LogDetLearner
from pliant.methods.side_information.order_spectral import OrderSpectralLearner
from pliant.methods.side_information.scg import SCGLogDetLearner
from pliant.methods.side_information.scg_problem import SCGLogDetPath
from pliant.methods.sketched.estimators import (
    SketchedKernelRidge,
    SketchedKernelRidgeClassifier,
)
from pliant.methods.svm.estimators import C_path
from pliant.methods.tessellated.gkl import GKLClassifier, GKLRegressor
from pliant.methods.tessellated.tkl import TKLClassifier, TKLRegressor

__all__ = [
    "AsymmetricKernelRidge",
    "C_path",
    "Components",
    "DANKClassifier",
    "DANKRegressor",
    "GKLClassifier",
    "GKLRegressor",
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
