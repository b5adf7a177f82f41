"""Estimators: the only place where kernels, problems and solvers meet."""

from pliant.estimators._components import Components
from pliant.estimators._local_member import LABRBFMember
from pliant.estimators.asymmetric import AsymmetricKernelRidge
from pliant.estimators.compose import LearnedKernelClassifier, LearnedKernelRegressor
from pliant.estimators.dank import DANKClassifier, DANKRegressor
from pliant.estimators.embedding import KernelEmbedding
from pliant.estimators.gkl import GKLClassifier, GKLRegressor
from pliant.estimators.knpl import KNPLClassifier, KNPLRegressor
from pliant.estimators.lab_rbf import LABRBFRegressor
from pliant.estimators.lab_rbf_classifier import LABRBFClassifier
from pliant.estimators.log_det import LogDetLearner
from pliant.estimators.order_spectral import OrderSpectralLearner
from pliant.estimators.path import C_path
from pliant.estimators.scg import SCGLogDetLearner
from pliant.estimators.scg_path import SCGLogDetPath
from pliant.estimators.tkl import TKLClassifier, TKLRegressor

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
    "LABRBFMember",
    "LABRBFRegressor",
    "LearnedKernelClassifier",
    "LearnedKernelRegressor",
    "LogDetLearner",
    "OrderSpectralLearner",
    "SCGLogDetLearner",
    "SCGLogDetPath",
    "TKLClassifier",
    "TKLRegressor",
]
