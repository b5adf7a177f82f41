"""Save a fitted model and load it again, without pickle.

A model file is a zip archive in the format of skops. Before anything is built from it, its sizes
and all of its types are checked against a closed list (`trusted_types`): a file from a stranger
runs no code of theirs.
"""

from pliant.persistence._contents import trusted_types
from pliant.persistence._model_file import LoadedModel, holds, load_model, save_model

__all__ = ["LoadedModel", "holds", "load_model", "save_model", "trusted_types"]
