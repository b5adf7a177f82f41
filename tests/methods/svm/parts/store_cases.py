"""A run, the result of its first part, and the file where that is kept."""

import numpy as np

from pliant.methods.svm.parts import PartResult, fingerprint

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.sign(X[:, 0])
MADE = fingerprint(X, Y, None, {"C": 1.0, "kernel": "Gaussian(1.0)", "eta": float("inf")})
RESULT = PartResult(X[:, 1].copy(), 1.25, 1e-3, 17, "CONVERGED", 0.5)


def part_file(folder):
    return folder / "plain-00001.npz"


def unchanged(result):
    return (
        result is not None
        and result.beta.tobytes() == RESULT.beta.tobytes()
        and (result[1:] == RESULT[1:])
    )
