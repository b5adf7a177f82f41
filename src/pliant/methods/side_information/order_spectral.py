"""Order spectral kernels: weights for the eigenvectors of a neighbour graph (Zhu et al.)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.core.kernels.extension import CoordinateNeighbors
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_flag, check_integer
from pliant.methods.side_information.information import SideInformation
from pliant.methods.side_information.information.graph import check_beta
from pliant.methods.side_information.information.neighbors import NeighborGraph
from pliant.methods.side_information.learner import KernelLearner, MatrixOf
from pliant.methods.side_information.osk_problem import (
    ORDERS,
    OrderCone,
    SpectralAlignment,
    best_vertex,
    graph_losses,
)
from pliant.methods.side_information.spectral_kernel import SpectralKernel

__all__ = ["OrderSpectralLearner"]

LOSSES = ("alignment", "scg")


class OrderSpectralLearner(KernelLearner):
    r"""Learn a kernel on the smoothest functions on a neighbour graph of all points (OSK).

    .. math::

        K = n \sum_{i=1}^{r} \mu_i v_i v_i', \qquad \mu \ge 0, \;
        \sum_i \mu_i = 1, \; \mu_1 \ge \mu_2 \ge \ldots \ge \mu_r

    for the eigenvectors v_i of the normalised Laplacian of the graph, eigenvalues rising: the
    points without a label shape the eigenvectors, the labels choose their weights. These maximise
    the alignment with the target T on the known points (OSK, problem (2) of [1]_), or minimise
    the loss <K, S> of the supervised complete graph (SCG-OSK, problem (26)),

    .. math::

        \max_\mu \frac{\langle K, T \rangle}{\|K\| \|T\|} \qquad \text{or} \qquad
        \min_\mu \sum_i \mu_i \, v_i'S v_i .

    The first is non-negative least squares, in place of the quadratically constrained program of
    the paper; the second has a closed form in place of its linear program: equal weights for the
    first k eigenvectors, with the k that makes the mean of the v_i'S v_i smallest.

    Parameters
    ----------
    loss : {"alignment", "scg"}, default="alignment"
        What is optimised.
    order : {"strict", "improved", "none"}, default="strict"
        What is asked of the weights: that none is larger than the one before it; the same, but
        for null vectors of the Laplacian, whose weights are free; or nothing but mu >= 0. With
        drop_null there are no null vectors: "improved" is then "strict".
    n_neighbors : int, default=5
        Points are linked with weight 1 if one of them is among so many nearest of the other.
    n_components : int, default=100
        At most so many eigenvectors, r; fewer where the graph has no more.
    drop_null : bool, default=True
        Whether to leave out the null space of the Laplacian: one vector per connected component
        of the graph, nearly constant on it. With it the "scg" loss has a trivial minimum: S
        maps nearly the same vector to zero, so all weight goes to it. But where components are
        much of what the classes are, only these vectors tell them apart: keep them then, with
        the alignment.
    beta : float, default=1.0
        In (0, 100], for "scg": weights of the supervised graph are exp(beta T); 1 in the paper.
    unlabeled : object, optional
        The value in `y` of points of unknown class. None: -1, unless `y` holds -1 and +1 only.

    Attributes
    ----------
    kernel_ : SpectralKernel
        The learned kernel; its trace on the fit points is n.
    support_vectors_ : array of shape (n, d)
        The fit points.
    spectrum_ : array of shape (r,)
        mu, of sum 1.
    eigenvalues_, eigenvectors_ : arrays of shape (r,) and (n, r)
        Of the Laplacian, rising; vectors of length 1.
    objective_ : float
        The alignment, or the loss <K, S> of the kernel matrix with trace 1.
    alignment_ : float
        With T on the known points, for both losses.
    n_kept_ : int
        How many weights are not zero.
    n_connected_components_ : int
        Of the graph.
    classes_ : array of shape (p,) or None
        The classes, sorted; None for pairs.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    Equal points are one point of the graph, so that the kernel is a function of the points. Time
    O(n^2 d) for the graph, O(n^3) for all eigenvectors of few points, Lanczos iterations for a few
    of many.

    New points get their values from the points that they would be linked to, by the Nystroem
    formula on the normalised weights of the graph, see `SpectralKernel`. That is 0 for
    eigenvectors with 1 - lambda < 0.1, which mean nothing between the points. Where the new points
    are known beforehand, give them to `fit` as unlabelled ones.

    S is that of the graph over all points, as in the paper: over the labelled ones alone, an
    eigenvector that lives on the unlabelled ones would have no loss at all.

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

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_choice("order", self.order, ORDERS)
        check_integer("n_neighbors", self.n_neighbors, least=1)
        check_integer("n_components", self.n_components, least=1)
        check_flag("drop_null", self.drop_null)
        check_beta(self.beta)

    def _learn(self, points: Array, information: SideInformation) -> MatrixOf:
        nodes, node_of = _distinct(points)
        graph = self._graph(points[nodes])
        found = graph.smoothest(self.n_components, drop_null=self.drop_null)
        vectors = _unit_columns(found.vectors[node_of])
        cone = OrderCone(len(found.values), self.order, found.n_null)
        self._weigh(SpectralAlignment.of(vectors, information), cone, vectors, information)
        self.eigenvalues_, self.eigenvectors_ = found.values, vectors
        self.n_connected_components_ = graph.n_components
        self.classes_ = information.classes
        kept = self.spectrum_ > 0
        self.n_kept_ = int(kept.sum())
        self.kernel_ = SpectralKernel(
            graph.points,
            vectors[np.ix_(nodes, kept)],
            found.values[kept],
            len(points) * self.spectrum_[kept],
            int(self.n_neighbors),
            graph.radii,
            graph.degrees,
        )
        return self._gram

    def _graph(self, points: Array) -> NeighborGraph:
        """Return the graph of distinct points."""
        if len(points) <= self.n_neighbors:
            raise ValueError(
                f"expected more than n_neighbors = {self.n_neighbors} distinct points, as each is "
                f"to be linked to so many others before n_components = {self.n_components} "
                f"eigenvectors are taken, got {len(points)}"
            )
        return NeighborGraph(points, int(self.n_neighbors))

    def _weigh(
        self,
        problem: SpectralAlignment,
        cone: OrderCone,
        vectors: Array,
        information: SideInformation,
    ) -> None:
        """Set the weights, and what they are worth."""
        if self.loss == "alignment":
            self.spectrum_ = problem.best(cone)
            self.objective_ = problem.alignment(self.spectrum_)
        else:
            losses = graph_losses(vectors, information.graph("complete", self.beta))
            self.spectrum_ = best_vertex(losses, cone)
            self.objective_ = float(losses @ self.spectrum_)
        self.alignment_ = problem.alignment(self.spectrum_)

    def _gram(self, rows: Indices) -> Array:
        """Return the learned kernel matrix of some of the fit points."""
        features = self.eigenvectors_[rows] * np.sqrt(len(self.eigenvectors_) * self.spectrum_)
        return np.asarray(features @ features.T)


def _distinct(points: Array) -> tuple[Indices, Indices]:
    """Return the rows of the distinct points, and which of these each point is."""
    first = CoordinateNeighbors(points).twins(points)
    nodes, node_of = np.unique(first, return_inverse=True)
    return nodes, node_of.reshape(-1)


def _unit_columns(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=0))
