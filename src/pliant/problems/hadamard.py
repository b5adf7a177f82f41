"""The problem of DANK: an SVM dual whose kernel matrix is adapted entry by entry.

    max_alpha min_F  1'alpha - 1/2 beta'(F o K) beta + eta |F - 11'|_F^2,   F PSD

(Liu et al. 2020, problem (4) with tau = 0), with beta = alpha y and o the entrywise product. The
inner minimum has the closed form F = 11' + A/(4 eta), A_ij = beta_i K_ij beta_j; what is left is
the SVM dual with one quartic term of weight c = 1/(4 eta), a `MarginDual`. Regression replaces
1'alpha by y'beta - epsilon |beta|_1.
"""

from __future__ import annotations

import numpy as np

from pliant._typing import Array
from pliant._validation import check_real
from pliant.problems.margin import MarginDual

__all__ = ["automatic_eta", "dank_dual"]


def dank_dual(plain: MarginDual, eta: float) -> MarginDual:
    """Return the dual of DANK for the dual of a plain SVM; eta > 0, inf for no adaptation."""
    check_real("eta (times eta_scale)", eta, least=1e-300, infinite=True)
    return plain.with_quartic(1.0 / (4.0 * eta))


def automatic_eta(beta: Array) -> float:
    """Return the paper's scale of eta, |alpha|^2 of the plain SVM; inf where that is zero.

    With it and K_ii = 1, trace(F - 11') = 1/4.
    """
    size = float(beta @ beta)
    return size if size > 0 else np.inf
