"""Kernel weights by the distance between two classes (EasyMKL; Aiolli and Donini 2015).

    g* = argmin (1 - lam) g'Y (sum_m K_m) Y g + lam |g|^2   over g >= 0, sum over each class 1
    d_m proportional to g*'Y K_m Y g*,    Y = diag(y)

Yg are the coefficients of the difference of two points, one of the convex hull of each class: the
closest two for lam = 0, and the means of the classes for lam = 1. A kernel has as much weight as it
contributes to their squared distance. The kernels are *summed*, as in MKLpy, so that the more
kernels there are, the less lam counts.

Neurocomputing 169, 215-224: the problem is taken from the code of MKLpy, by one of the authors; the
text of the paper was not available, so that its equations are unverified.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.core.typing import Array
from pliant.methods.mkl.grams import Grams
from pliant.methods.mkl.weighting import Weighting, normalised
from pliant.methods.svm.hulls import closest_hulls


def easy(grams: Grams, signs: Sequence[Array], lam: float, *, tol: float = 1e-9) -> list[Weighting]:
    """Return the weights of EasyMKL for each pair of classes.

    Parameters
    ----------
    grams : Grams
    signs : sequence of arrays of shape (n,)
        For each pair -1.0 and +1.0, and 0.0 for samples of other classes. For two classes there
        is one pair.
    lam : float
        From 0 to 1.
    tol : float
        The gap, relative to the value.

    Returns
    -------
    list of Weighting
        The value is the minimum, with its certified gap; `shared` takes the means. Weights
        are uniform, with a UniformWeightsWarning, where the two points are the same for all
        kernels.
    """
    total = grams.combined(np.ones(len(grams)))
    nearest = [closest_hulls(total[np.ix_(y != 0, y != 0)], y[y != 0], lam, tol=tol) for y in signs]
    differences = np.zeros((grams.n, len(signs)))
    for k, (y, hulls) in enumerate(zip(signs, nearest, strict=True)):
        differences[y != 0, k] = y[y != 0] * hulls.weights
    distances = np.maximum(grams.quadratics(differences), 0.0)
    floor = 1e-14 * np.abs(total.diagonal()).max()
    return [
        Weighting(
            normalised(
                np.where(distance.sum() > floor, distance, 0.0), "the classes do not differ"
            ),
            hulls.value,
            hulls.gap,
        )
        for distance, hulls in zip(distances.T, nearest, strict=True)
    ]
