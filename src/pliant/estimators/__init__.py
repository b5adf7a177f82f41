"""Estimators: the only place where kernels, problems and solvers meet."""

from pliant.estimators.dank import DANKClassifier, DANKRegressor
from pliant.estimators.gkl import GKLClassifier, GKLRegressor
from pliant.estimators.knpl import KNPLClassifier, KNPLRegressor
from pliant.estimators.path import C_path
from pliant.estimators.tkl import TKLClassifier, TKLRegressor

__all__ = [
    "C_path",
    "DANKClassifier",
    "DANKRegressor",
    "GKLClassifier",
    "GKLRegressor",
    "KNPLClassifier",
    "KNPLRegressor",
    "TKLClassifier",
    "TKLRegressor",
]
