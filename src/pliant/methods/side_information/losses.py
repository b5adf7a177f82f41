"""Losses of Table 1 of Pan et al.: how well a kernel matrix agrees with side information.

`pliant.metrics.kernel_loss` computes each of them by name.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_gram, check_labels, check_points, has_fractions
from pliant.methods.side_information.information import SideInformation, check_information

Target: TypeAlias = "npt.ArrayLike | SideInformation"
"""Labels or real targets of n points, a target matrix of shape (n, n), or side information."""


def scg_loss(
    gram: npt.ArrayLike, information: SideInformation, *, beta: float = 1.0, graph: str = "complete"
) -> float:
    r"""Return the loss of the supervised complete graph, a linear function of the kernel matrix.

    .. math::

        \langle K, S \rangle = \frac{1}{2} \sum_{ij} W_{ij} \left\|
        \frac{\phi(x_i)}{\sqrt{D_{ii}}} - \frac{\phi(x_j)}{\sqrt{D_{jj}}} \right\|^2,
        \qquad W_{ij} = e^{\beta T_{ij}}, \; D_{ii} = \sum_j W_{ij}

    (Pan et al., Eq. 10, which lacks the factor 1/2). O(n^2).

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric kernel values.
    information : SideInformation
        On the same points.
    beta : float, default=1.0
        Exponent of the weights, in (0, 100].
    graph : {"complete", "labeled"}, default="complete"
        Over all points, as in the paper, or over those with side information.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SideInformation, scg_loss
    >>> known = SideInformation.from_labels([0, 0, 1, 1])
    >>> round(scg_loss(np.eye(4), known), 6)
    2.238406
    >>> same_class = known.target() > 0
    >>> round(scg_loss(same_class.astype(float), known), 6)
    0.476812
    """
    K = gram_of(gram, check_information(information))
    edges = information.graph(graph, beta)
    return edges.trace_with(K[np.ix_(edges.members, edges.members)])


def fisher_score(gram: npt.ArrayLike, target: Target) -> float:
    r"""Return the scatter between classes over the scatter within classes, in feature space.

    .. math::

        \frac{\mathrm{tr} S_b}{\mathrm{tr} S_w}, \qquad
        \mathrm{tr} S_b = \sum_c n_c \|m_c - m\|^2, \quad
        \mathrm{tr} S_w = \sum_c \sum_{y_i = c} \|\phi(x_i) - m_c\|^2

    with the means :math:`m_c` of the classes and m of all points (Xiong, Swamy and Ahmad 2005).
    It is a ratio of linear functions of the kernel matrix. O(n^2).

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric positive semi-definite kernel values K.
    target : array-like of shape (n_samples,) or SideInformation
        Class labels, or side information from labels. Points of unknown class are left out.

    Returns
    -------
    float
        0 or larger; inf where all points of each class coincide.

    Raises
    ------
    ValueError
        For pairs or real targets, if no class has two points, or if all points coincide.

    References
    ----------
    .. [1] H. Xiong, M. N. S. Swamy, M. O. Ahmad. Optimizing the kernel in the empirical feature
       space. IEEE Transactions on Neural Networks 16, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.metrics import fisher_score
    >>> x = np.array([0.0, 2.0, 10.0, 12.0])
    >>> round(fisher_score(np.outer(x, x), ["a", "a", "b", "b"]), 6)
    25.0
    """
    K, labels = _classified(gram, target, "the Fisher score")
    K, _ = _in_units(K)
    sizes = np.bincount(labels)
    if sizes.max() < 2:
        raise ValueError("expected a class with two labelled points or more, got none")
    members = np.equal.outer(np.arange(len(sizes)), labels) / np.sqrt(sizes)[:, None]
    of_classes = float(np.vdot(members, members @ K))  # sum_c 1_c'K 1_c / n_c
    within = float(K.trace()) - of_classes
    between = of_classes - float(K.mean()) * len(K)
    rounding = 8.0 * np.finfo(np.float64).eps * len(K)
    if min(within, between) < -rounding:
        raise ValueError(
            "expected a positive semi-definite Gram matrix, got one in which the squared distances "
            f"within classes have the sum {within:.3g}, and those between them {between:.3g}"
        )
    if max(within, between) <= rounding:
        raise ValueError("expected points that differ in feature space, got equal ones only")
    return max(between, 0.0) / within if within > rounding else np.inf


def hsic(gram: npt.ArrayLike, target: Target) -> float:
    r"""Return the Hilbert-Schmidt independence criterion of a kernel and a target.

    .. math:: \frac{1}{(n - 1)^2} \mathrm{tr}(K H L H), \qquad H = I - 11'/n

    the biased estimate of Gretton et al. (2005), a linear function of the kernel matrix. It is 0
    where K or L is constant. O(n^2).

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric kernel values K.
    target : array-like of shape (n_samples,) or (n_samples, n_samples), or SideInformation
        The matrix L, or what it is made of: L_ij is 1 where points i and j have the same label and
        else 0; for real numbers (float values with a fractional part) L = yy'. For side
        information from labels, points of unknown class are left out.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For pairs, for a single point, or if the shapes differ.

    References
    ----------
    .. [1] A. Gretton, O. Bousquet, A. Smola, B. Schoelkopf. Measuring statistical dependence with
       Hilbert-Schmidt norms. ALT, 2005.
    .. [2] L. Song, A. Smola, K. Borgwardt, A. Gretton. Colored maximum variance unfolding.
       NIPS, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.metrics import hsic
    >>> round(hsic(np.eye(4), ["a", "a", "b", "b"]), 6)
    0.222222
    """
    K, L = _with_target(gram, target, "the Hilbert-Schmidt independence criterion")
    if len(K) < 2:
        raise ValueError(f"expected kernel values of at least two points, got {len(K)}")
    return _centred_product(K, L) / (len(K) - 1) ** 2


def centered_polarization(gram: npt.ArrayLike, target: Target) -> float:
    r"""Return the inner product of a centred kernel matrix with a target.

    .. math:: \langle H K H, T \rangle, \qquad H = I - 11'/n

    the criterion of Tian and Wang (2015), a linear function of the kernel matrix; for labels it is
    :math:`2 (n - 1)^2` times `hsic`. O(n^2).

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric kernel values K.
    target : array-like of shape (n_samples,) or (n_samples, n_samples), or SideInformation
        The matrix T, or what it is made of: T_ij is 1 where points i and j have the same label and
        else -1, which is yy' for two classes; for real numbers (float values with a fractional
        part) T = yy'. For side information from labels, points of unknown class are left out.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For pairs, or if the shapes differ.

    References
    ----------
    .. [1] M. Tian, W. Wang. An efficient Gaussian kernel optimization based on centered kernel
       polarization criterion. Information Sciences 322, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.metrics import centered_polarization
    >>> round(centered_polarization(np.eye(4), ["a", "a", "b", "b"]), 6)
    4.0
    """
    K, T = _with_target(gram, target, "centred polarisation", different=-1.0)
    return _centred_product(K, T)


def _classified(gram: npt.ArrayLike, target: Target, name: str) -> tuple[Array, Indices]:
    """Return kernel values between labelled points, and the codes of their classes.

    Raises ValueError if `target` does not hold classes, two or more; `name` is that of the loss.
    """
    information = as_information(target, name)
    if information.labels is None:
        raise ValueError(f"expected labels for {name}, got pairs, which it cannot use")
    rows = information.known
    return gram_of(gram, information)[np.ix_(rows, rows)], information.labels[rows]


def as_information(target: Target, name: str) -> SideInformation:
    """Return side information, from labels if they are given; `name` is that of the loss."""
    if isinstance(target, SideInformation):
        return target
    if np.ndim(target) != 1:
        raise ValueError(
            f"expected labels of shape (n_samples,) or a SideInformation for {name}, got a target "
            f"of shape {np.shape(target)}"
        )
    values = np.asarray(target)
    if has_fractions(values):
        raise ValueError(f"expected classes for {name}, got real numbers such as {values[0]:g}")
    labels = check_labels(target)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"expected labels of at least two classes, got {len(classes)}")
    return SideInformation.from_labels(codes, unlabeled=-1)


def _with_target(
    gram: npt.ArrayLike, target: Target, name: str, different: float = 0.0
) -> tuple[Array, Array]:
    """Return K and the matrix of the target on the same points, both of shape (a, a).

    For classes the target is 1 for points of the same class, and `different` for others.
    """
    if not isinstance(target, SideInformation):
        values = np.asarray(target)
        if values.ndim == 2 or has_fractions(values):
            K = check_gram(check_points(gram, "gram"))
            with np.errstate(over="ignore"):  # refused below
                Y = np.multiply.outer(values, values) if values.ndim == 1 else values
            Y = check_gram(check_points(Y, "target"))
            if K.shape != Y.shape:
                raise ValueError(f"expected a target of shape {K.shape}, as gram, got {Y.shape}")
            return K, Y
    K, labels = _classified(gram, target, name)
    return K, np.where(np.equal.outer(labels, labels), 1.0, different)


def _centred_product(K: Array, Y: Array) -> float:
    """Return <H K H, Y>; raise ValueError if it leaves the range of floats."""
    (K, unit), (Y, unit_of_target) = _in_units(K), _in_units(Y)
    centred = K - K.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    product = float(np.vdot(centred, Y)) * unit * unit_of_target
    if not np.isfinite(product):
        raise ValueError(
            f"expected smaller values, got up to {unit:.3g} in gram and {unit_of_target:.3g} in "
            "the target, whose products are infinite"
        )
    return product


def _in_units(matrix: Array) -> tuple[Array, float]:
    """Return a matrix divided by its largest entry, and that entry; 1 for zeros."""
    largest = float(np.abs(matrix).max())
    unit = largest if largest > 0.0 else 1.0
    return matrix / unit, unit


def gram_of(gram: npt.ArrayLike, information: SideInformation) -> Array:
    """Return kernel values as an array, if they are those of the points of side information."""
    K = check_gram(check_points(gram, "gram"))
    if len(K) != information.n_samples:
        raise ValueError(
            f"expected kernel values of {information.n_samples} points, as the side information "
            f"has, got {len(K)}"
        )
    return K
