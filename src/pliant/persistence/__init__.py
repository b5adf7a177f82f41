"""Save a fitted model and load it again, without pickle.

A model file is a zip archive in the format of skops. Before anything is built from it, its sizes
and every type it names are checked against a closed list (`trusted_types`): loading a file from a
stranger runs no code of theirs.
"""

from pliant.persistence._model_file import LoadedModel, load_model, save_model
from pliant.persistence._trees import SavedTreesClassifier, SavedTreesRegressor
from pliant.persistence._types import trusted_types

__all__ = [
    "LoadedModel",
    "SavedTreesClassifier",
    "SavedTreesRegressor",
    "load_model",
    "save_model",
    "trusted_types",
]
