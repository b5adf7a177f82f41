"""Linear algebra that kernel learning needs and SciPy does not have in one call."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from pliant._typing import Array

__all__ = ["negative_eigenvalue"]


def negative_eigenvalue(matrix: Array, tol: float = 1e-8) -> float | None:
    """Return the smallest eigenvalue of a symmetric matrix if it is clearly negative.

    That is below -`tol` times the largest diagonal entry. A Cholesky factorisation decides; only
    where it fails is the eigenvalue computed. O(n^3).

    Parameters
    ----------
    matrix : array of shape (n, n)
        Symmetric.
    tol : float
        What counts as clearly negative.

    Returns
    -------
    float or None
        The eigenvalue, or None if there is no such one.
    """
    shift = tol * max(float(np.abs(matrix.diagonal()).max()), np.finfo(np.float64).tiny)
    shifted = np.array(matrix, dtype=np.float64, order="F")
    shifted[np.diag_indices_from(shifted)] += shift
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        smallest = float(scipy.linalg.eigvalsh(matrix, subset_by_index=[0, 0])[0])
        return smallest if smallest < -shift else None
    return None
