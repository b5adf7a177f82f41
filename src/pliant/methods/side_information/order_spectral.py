"""OSK: order spectral kernels, on the eigenvectors of a neighbour graph (Zhu et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pliant.core.kernels.extension import CoordinateNeighbors
from pliant.core.typing import Array, Indices
from pliant.core.validation import Constraint, check_flag, integer, one_of
from pliant.methods.side_information.information import SideInformation, check_exponent
from pliant.methods.side_information.learner import KernelLearner, LearnedMatrix
from pliant.methods.side_information.neighbor_graph import NeighborGraph, SpectralKernel
from pliant.methods.side_information.osk_problem import (
    ORDERS,
    OrderCone,
    SpectralAlignment,
    best_vertex,
    graph_losses,
)


class OrderSpectralLearner(KernelLearner):
    r"""Learn a kernel on the smoothest functions on a neighbour graph of all points (OSK).

    .. math::

        K = n \sum_{i=1}^{r} \mu_i v_i v_i', \qquad \mu \ge 0, \;
        \sum_i \mu_i = 1, \; \mu_1 \ge \mu_2 \ge \ldots \ge \mu_r

    for the eigenvectors v_i of the normalised Laplacian of the graph, in ascending order of the
    eigenvalues. Points without a label shape the eigenvectors; the labels determine the weights,
    which maximise the alignment with the target T on the known points (OSK, problem (2) of [1]_),
    or minimise the loss <K, S> of the supervised complete graph (SCG-OSK, problem (26)),

    .. math::

        \max_\mu \frac{\langle K, T \rangle}{\|K\| \|T\|} \qquad \text{or} \qquad
        \min_\mu \sum_i \mu_i \, v_i'S v_i .

    The first is solved as non-negative least squares, instead of the paper's quadratically
    constrained program. The second has a closed form instead of the paper's linear program: equal
    weights for the first k eigenvectors, with the k that minimises the mean of their v_i'S v_i.

    Parameters
    ----------
    loss : {"alignment", "scg"}, default="alignment"
        The objective.
    order : {"strict", "improved", "none"}, default="strict"
        Constraint on the weights: "strict" asks for a non-increasing order; "improved" too, but
        leaves the weights of null vectors of the Laplacian free (with drop_null there are none,
        and it equals "strict"); "none" asks for mu >= 0 only.
    n_neighbors : int, default=5
        Two points are linked, with weight 1, if one is among the `n_neighbors` nearest of the
        other.
    n_components : int, default=100
        Maximum number r of eigenvectors; a graph may have fewer.
    drop_null : bool, default=True
        Whether to leave out the null space of the Laplacian: one vector per connected component
        of the graph, nearly constant on it. With it the "scg" loss has a trivial minimum: S
        maps nearly the same vector to zero, which gets all weight. But where the classes largely
        coincide with components, only these vectors separate them: keep them then, with the
        alignment.
    beta : float, default=1.0
        For "scg", in (0, 100]: weights of the supervised graph are exp(beta T); 1 in the paper.
    unlabeled : object, optional
        The value in `y` of points of unknown class. None means -1, unless `y` holds -1 and +1
        only.

    Attributes
    ----------
    kernel_ : SpectralKernel
        The learned kernel; its trace on the fit points is n_samples.
    support_vectors_ : array of shape (n_samples, n_features)
        The fit points.
    spectrum_ : array of shape (r,)
        mu, with sum 1.
    eigenvalues_, eigenvectors_ : arrays of shape (r,) and (n_samples, r)
        Of the Laplacian, in ascending order; vectors of length 1.
    objective_ : float
        The alignment, or the loss <K, S> of the kernel matrix with trace 1.
    alignment_ : float
        The alignment with T on the known points, for both losses.
    n_kept_ : int
        Number of weights that are not zero.
    n_connected_components_ : int
        Number of connected components of the graph.
    classes_ : array of shape (n_classes,) or None
        The classes, sorted; None for pairs.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    Equal points are one point of the graph, so that the kernel is a function of the points. Time
    is O(n^2 n_features) for the graph, then O(n^3) for all eigenvectors of few points, or Lanczos
    iterations for a few eigenvectors of many.

    The values at a new point follow from the points that it would be linked to, by the Nystroem
    formula on the normalised weights of the graph, see `SpectralKernel`. They are 0 for
    eigenvectors with 1 - lambda < 0.1, which have no meaning between the points. If the new points
    are known beforehand, pass them to `fit` as unlabelled ones.

    S is that of the graph over all points, as in the paper: over the labelled ones alone, an
    eigenvector that is concentrated on the unlabelled ones would have no loss at all.

    References
    ----------
    .. [1] Pan, Chen, Chen, Xu: Efficient learning of supervised kernels with a graph-based loss
       function. Information Sciences, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import OrderSpectralLearner
    >>> t = np.linspace(0, np.pi, 40)
    >>> X = np.concatenate([np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)]])
    >>> y = np.full(80, -1)
    >>> y[[0, 20, 40, 60]] = [0, 0, 1, 1]  # two moons, two labels on each
    >>> learner = OrderSpectralLearner(drop_null=False).fit(X, y)
    >>> learner.n_connected_components_
    2
    >>> round(learner.alignment_, 2)
    0.71
    >>> learner.transform(X[:3]).shape
    (3, 80)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "loss": one_of(("alignment", "scg")),
        "order": one_of(ORDERS),
        "n_neighbors": integer(least=1),
        "n_components": integer(least=1),
        "drop_null": check_flag,
        "beta": check_exponent,
    }

    def __init__(
        self,
        loss: str = "alignment",
        order: str = "strict",
        n_neighbors: int = 5,
        n_components: int = 100,
        drop_null: bool = True,
        beta: float = 1.0,
        unlabeled: Any = None,
    ) -> None:
        self.loss = loss
        self.order = order
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.drop_null = drop_null
        self.beta = beta
        self.unlabeled = unlabeled

    def _learn(self, points: Array, information: SideInformation) -> LearnedMatrix:
        # nodes: the first of each set of equal points; node_of: the node of each point
        first = CoordinateNeighbors(points).twins(points)
        nodes, node_of = np.unique(first, return_inverse=True)
        graph = self._neighbor_graph(points[nodes])
        smooth = graph.smoothest(self.n_components, drop_null=self.drop_null)
        vectors = smooth.vectors[node_of.reshape(-1)]
        vectors = np.asarray(vectors / np.linalg.norm(vectors, axis=0))
        problem = SpectralAlignment.of(vectors, information)
        cone = OrderCone(len(smooth.values), self.order, smooth.n_null)
        if self.loss == "alignment":
            spectrum = problem.best(cone)
            objective = problem.alignment(spectrum)
        else:
            losses = graph_losses(vectors, information.graph("complete", self.beta))
            spectrum = best_vertex(losses, cone)
            objective = float(losses @ spectrum)
        kept = spectrum > 0
        self.spectrum_ = spectrum
        self.eigenvalues_, self.eigenvectors_ = smooth.values, vectors
        self.objective_ = objective
        self.alignment_ = problem.alignment(spectrum)
        self.n_kept_ = int(kept.sum())
        self.n_connected_components_ = graph.n_components
        self.kernel_ = SpectralKernel(
            graph.points,
            vectors[np.ix_(nodes, kept)],
            smooth.values[kept],
            len(points) * spectrum[kept],
            int(self.n_neighbors),
            graph.radii,
            graph.degrees,
        )

        def matrix(rows: Indices) -> Array:
            features = vectors[rows] * np.sqrt(len(vectors) * spectrum)
            return np.asarray(features @ features.T)

        return matrix

    def _neighbor_graph(self, points: Array) -> NeighborGraph:
        """Return the graph of distinct points."""
        if len(points) <= self.n_neighbors:
            raise ValueError(
                f"expected more than n_neighbors = {self.n_neighbors} distinct points, as each is "
                f"linked to that many others before n_components = {self.n_components} "
                f"eigenvectors are taken, got {len(points)}"
            )
        return NeighborGraph(points, int(self.n_neighbors))

    def _results(self) -> dict[str, Any]:
        objective = {} if self.loss == "alignment" else {"objective": self.objective_}
        return {
            **objective,
            "alignment": self.alignment_,
            "eigenvectors": self.n_kept_,
            "graph_parts": self.n_connected_components_,
        }
