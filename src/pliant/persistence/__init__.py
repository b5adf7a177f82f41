"""Save fitted models and load them, without pickle.

A model file is a zip archive of JSON data and the bytes of arrays. Before any object is built, all
types in the file are compared with a closed list, so no file can run its own code.
"""

from pliant.persistence._model_file import (
    LoadedModel,
    check_saving,
    holds,
    load,
    load_file,
    save,
    trusted_types,
)

__all__ = ["LoadedModel", "check_saving", "holds", "load", "load_file", "save", "trusted_types"]
