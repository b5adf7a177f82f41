"""Save fitted models and load them, without pickle.

A model file is a zip archive in the skops format. Before any object is built, all sizes are checked
and all types must be in `trusted_types`, so no file can run its own code.
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
