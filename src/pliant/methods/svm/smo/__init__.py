"""Sequential minimal optimisation (SMO) of the dual, with or without a quartic term."""

from pliant.methods.svm.smo.solver import solve

__all__ = ["solve"]
