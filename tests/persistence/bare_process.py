"""Predict with all model files of a folder, without scikit-learn.

    python -m tests.persistence.bare_process FOLDER

The rows are in points.npz, by the name of the model; the predictions are written to found.npz.
"""

import sys
from contextlib import suppress

import numpy as np

from pliant.core import process

HEAVY = ("matplotlib", "numba", "pandas", "scipy.stats", "sklearn")

CALLS = ("predict", "decision_function", "predict_proba", "transform", "predict_interval")


def outputs(model, rows):
    """Return all predictions of an estimator, or the values of a kernel."""
    if callable(model):
        return {"values": model(rows, getattr(model, "centres", None))}
    found = {}
    for call in CALLS:
        if hasattr(model, call):
            with suppress(ValueError):  # a regressor without held-out rows has no intervals
                found[call] = getattr(model, call)(rows)
    return found


if __name__ == "__main__":
    process.BARE = True
    from pliant.persistence import load

    folder, found = sys.argv[1], {}
    points = np.load(f"{folder}/points.npz")
    for name in points.files:
        values = outputs(load(f"{folder}/{name}.pliant"), points[name])
        found |= {f"{name} {call}": each for call, each in values.items()}
        imported = [each for each in HEAVY if each in sys.modules]
        assert not imported, (name, imported)
    np.savez(f"{folder}/found.npz", **found)
