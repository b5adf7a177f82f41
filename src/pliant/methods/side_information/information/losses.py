"""How well a kernel matrix agrees with what is known of pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array
from pliant.core.validation import check_gram, check_points
from pliant.methods.side_information.information.information import (
    SideInformation,
    check_information,
)

__all__ = ["kernel_alignment", "scg_loss"]


def scg_loss(
    gram: npt.ArrayLike,
    information: SideInformation,
    *,
    beta: float = 1.0,
    graph: str = "complete",
) -> float:
    r"""Return the supervised-complete-graph loss of a kernel matrix, linear in it.

    .. math::

        \langle K, S \rangle = \frac{1}{2} \sum_{ij} W_{ij} \left\|
        \frac{\phi(x_i)}{\sqrt{D_{ii}}} - \frac{\phi(x_j)}{\sqrt{D_{jj}}} \right\|^2,
        \qquad W_{ij} = e^{\beta T_{ij}}, \; D_{ii} = \sum_j W_{ij}

    (Pan et al., Eq. 10, which lacks the factor 1/2). O(n^2).

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric kernel values.
    information : SideInformation
        Of the same n points.
    beta : float, default=1.0
        In (0, 100].
    graph : {"complete", "labeled"}, default="complete"
        Over all points, as in the paper, or over those that something is known of.

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
    K = _gram_of(gram, check_information(information))
    edges = information.graph(graph, beta)
    return edges.trace_with(K[np.ix_(edges.members, edges.members)])


def kernel_alignment(gram: npt.ArrayLike, target: npt.ArrayLike | SideInformation) -> float:
    r"""Return the cosine of the angle between two kernel matrices.

    .. math::

        \rho(K, Y) = \frac{\langle K, Y \rangle}{\sqrt{\langle K, K \rangle \langle Y, Y \rangle}}

    (Pan et al., Eq. 1).

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric kernel values K.
    target : array-like of shape (n, n), or SideInformation
        Y. Of side information: T, with +1, -1 and 0, on the points that something is known of.

    Raises
    ------
    ValueError
        If the shapes differ, or one of the matrices is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SideInformation, kernel_alignment
    >>> known = SideInformation.from_labels([0, 0, 1, 1])
    >>> kernel_alignment(np.eye(4), known)
    0.5
    """
    if isinstance(target, SideInformation):
        K, rows = _gram_of(gram, target), target.known
        return _cosine(K[np.ix_(rows, rows)], target.target()[np.ix_(rows, rows)])
    K, Y = check_points(gram, "gram"), check_points(target, "target")
    if K.shape != Y.shape:
        raise ValueError(f"expected a target of shape {K.shape}, as gram, got {Y.shape}")
    return _cosine(check_gram(K), Y)


def _gram_of(gram: npt.ArrayLike, information: SideInformation) -> Array:
    K = check_gram(check_points(gram, "gram"))
    if len(K) != information.n_samples:
        raise ValueError(
            f"expected kernel values of {information.n_samples} points, as the side information "
            f"has, got {len(K)}"
        )
    return K


def _cosine(K: Array, Y: Array) -> float:
    left, right = _unit("gram", K), _unit("target", Y)
    return float(np.clip(np.vdot(left, right), -1.0, 1.0))


def _unit(name: str, matrix: Array) -> Array:
    """Return a matrix divided by its Frobenius norm."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0.0:
        raise ValueError(f"expected {name} with some value other than 0, got zeros only")
    scaled = matrix / largest
    return np.asarray(scaled / np.linalg.norm(scaled))
