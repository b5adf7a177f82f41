"""The former place of `pliant.methods.svm.dual.project_box_hyperplane`."""

from pliant.methods.svm.dual import project_box_hyperplane

__all__ = ["project_box_hyperplane"]
