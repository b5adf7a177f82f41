"""Estimators: the only place where kernels, problems and solvers meet."""

from pliant.estimators.dank import DANKClassifier, DANKRegressor
from pliant.estimators.knpl import KNPLClassifier, KNPLRegressor
from pliant.estimators.path import C_path

__all__ = ["C_path", "DANKClassifier", "DANKRegressor", "KNPLClassifier", "KNPLRegressor"]
