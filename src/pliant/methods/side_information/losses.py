"""The loss of the supervised graph: how well a kernel matrix agrees with side information."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array
from pliant.core.validation import check_gram, check_points
from pliant.methods.side_information.information import SideInformation, check_information


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


def gram_of(gram: npt.ArrayLike, information: SideInformation) -> Array:
    """Return kernel values as an array, if they are those of the points of side information."""
    K = check_gram(check_points(gram, "gram"))
    if len(K) != information.n_samples:
        raise ValueError(
            f"expected kernel values of {information.n_samples} points, as the side information "
            f"has, got {len(K)}"
        )
    return K
