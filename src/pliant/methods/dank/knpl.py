"""KNPL: the kernel with a nonlinear pairwise layer (Liu et al., AAAI 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.core.docstrings import documented_as
from pliant.methods.dank.dank import DANKClassifier, DANKRegressor, HadamardFit
from pliant.methods.svm.machine import SVMClassifier, SVMRegressor


@documented_as(DANKClassifier)
@dataclass(kw_only=True, eq=False, repr=False)
class KNPLClassifier(SVMClassifier, HadamardFit):
    r"""Classification with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\alpha \min_{F \succeq 0,\, F1 = n1}\; 1'\alpha
        - \tfrac12 \beta'(F \circ K)\beta + \eta \left(\|F\|_F^2 - n^2\right), \\
        \qquad 0 \le \alpha_i \le C, \; y'\alpha = 0, \; \beta = \alpha \circ y,

    problem (4) of [1]_ without its constant (the paper writes G and gamma for F and eta). F is
    eliminated in closed form, F = 11' + P A P/(4 eta) with A_ij = beta_i K_ij beta_j and
    P = I - 11'/n. The fit solves a short sequence of SVM duals with one quartic term. The paper's
    alternation between F and alpha does not converge. `DANKClassifier` documents the other
    parameters.

    Parameters
    ----------
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means and solve a KNPL problem on each, without b and
        y'alpha = 0. Each row of a part's F sums to the part's size. Together, the parts solve the
        problem over these F for a kernel that is 0 between parts; ``objective_`` and ``dual_gap_``
        refer to this problem. The time grows about linearly with n. Requires points with
        coordinates.

    Attributes
    ----------
    estimators_ : list of KNPLClassifier
        Only with more than two classes: a fitted classifier for each pair. ``kernel_`` and the
        attributes listed after it then belong to these classifiers.
    objective_ : float
        The objective at the solution: the dual objective at beta.
    objective_constant_ : float
        The constant term of objective_: 0.

    Notes
    -----
    The notes on `DANKClassifier` apply; the Gram matrix takes O(n^2) memory.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Nonlinear Pairwise Layer and Its Training
       for Kernel Learning. AAAI Conference on Artificial Intelligence (2018).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import KNPLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNPLClassifier(C=10).fit(X[50:], y[50:])
    >>> bool(model.dual_gap_ <= 1e-4 * (1 + model.objective_))
    True
    """

    _centred = True


@documented_as(DANKRegressor)
@dataclass(kw_only=True, eq=False, repr=False)
class KNPLRegressor(SVMRegressor, HadamardFit):
    r"""Epsilon-regression with a kernel that adapts to the data, entry by entry.

    Solves, to a certified gap,

    .. math::

        \max_\beta \min_{F \succeq 0,\, F1 = n1}\; y'\beta - \varepsilon \|\beta\|_1
        - \tfrac12 \beta'(F \circ K)\beta + \eta \left(\|F\|_F^2 - n^2\right), \\
        \qquad |\beta_i| \le C, \; 1'\beta = 0,

    the method of [1]_ with the epsilon-insensitive loss instead of the hinge loss. F is eliminated
    in closed form, as in `KNPLClassifier`. `DANKRegressor` documents the other parameters.

    Parameters
    ----------
    partition : KMeansPartition, dict of its settings or {"kmeans"}, optional
        Divide the samples into parts by k-means and solve a KNPL problem on each, with b = mean(y)
        and without 1'beta = 0. Each row of a part's F sums to the part's size. Together, the parts
        solve the problem over these F for a kernel that is 0 between parts; ``objective_`` and
        ``dual_gap_`` refer to this problem. The time grows about linearly with n. Requires points
        with coordinates.

    Attributes
    ----------
    objective_ : float
        The objective at the solution: the dual objective at beta. It is in units of the scaled
        target, as are the bounds and the gap.
    objective_constant_ : float
        The constant term of objective_: 0.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Nonlinear Pairwise Layer and Its Training
       for Kernel Learning. AAAI Conference on Artificial Intelligence (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import KNPLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = KNPLRegressor(C=100, epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> round(model.score(X, np.sin(6 * X[:, 0])), 2)
    1.0
    """

    _centred = True
