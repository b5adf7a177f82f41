"""OSK and SCG-OSK: weights for the eigenvectors of a neighbour graph, under order constraints.

    K = sum_i mu_i v_i v_i',   mu >= 0,  sum_i mu_i = 1,   and

    strict      mu_1 >= mu_2 >= ... >= mu_r: smoother vectors have larger weights
    improved    as strict, but the weights of the null vectors of the Laplacian are free

Each set is the convex hull of r extreme points. For "strict" these are (1/k, ..., 1/k, 0, ..., 0),
k = 1 to r. `OrderCone.rays` holds multiples of the extreme points.

Alignment (OSK, problem (2) of Pan et al.): maximise <K, T>/(|K| |T|) on the known points. The
alignment does not depend on the scale of mu. Within a cone, the projection of T has the largest
cosine with T, unless it is zero. With mu = E t for the rays E,

    min_{t >= 0} |sum_k t_k K_k - T|^2 = t'H t - 2 c't + const.,
    H = E'G E,  G = (V'V) o (V'V),   c = E'b,  b_i = v_i'T v_i,

is a non-negative least squares problem. Its solution is zero only if c <= 0. Then no alignment is
positive, and an extreme ray is optimal: -<K, T> is linear and >= 0 on the cone, and on the slice
-<K, T> = 1 the alignment grows with |K|, which is convex. If some K gives <K, T> = 0, a ray does.

Loss of the supervised graph (SCG-OSK, problem (26)): minimise <K, S> = sum_i s_i mu_i, with
s_i = v_i'S v_i. An extreme point minimises this linear function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from pliant.core.form import SavedForm, shown
from pliant.core.linalg import solve_nonnegative
from pliant.core.parameters import Constraint, check_flag, integer, one_of
from pliant.core.typing import Array, Indices
from pliant.kernels.extension import CoordinateNeighbors
from pliant.methods.supervised.information import SideInformation, SupervisedGraph
from pliant.methods.supervised.learner import KernelLearner, LearnedGram
from pliant.methods.supervised.neighbor_graph import NeighborGraph, SpectralKernel

Order: TypeAlias = Literal["improved", "strict"]
"""The constraint on the weights in addition to mu >= 0."""

ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True)
class OrderCone:
    """The cone of r = `size` ordered weights mu >= 0; the first `n_null` belong to null vectors."""

    size: int
    order: Order = "strict"
    n_null: int = 0

    @property
    def rays(self) -> Array:
        """The extreme rays as columns, with entries 0 and 1, shape (r, r)."""
        rays = np.triu(np.ones((self.size, self.size)))
        if self.order == "improved":
            free = min(self.n_null, self.size)
            rays[:free] = np.eye(free, self.size)
        return rays


@dataclass(frozen=True, eq=False)
class SpectralAlignment:
    """The alignment of sum_i mu_i v_i v_i' with T on the known points, as a function of mu.

    `products` is G, shape (r, r), `agreement` is b, shape (r,), and `size` is |T|.
    """

    products: Array
    agreement: Array
    size: float

    @classmethod
    def of(cls, vectors: Array, information: SideInformation) -> SpectralAlignment:
        """Build the problem for eigenvectors of shape (n, r), in O(len(known) r^2)."""
        known = vectors[information.known]
        # <v_i v_i', v_j v_j'> = (v_i'v_j)^2 on the known points
        products = (known.T @ known) ** 2
        if information.labels is not None:
            labels = information.labels[information.known]
            # T = 2 sum_c 1_c 1_c' - 11', so b_i = v_i'T v_i = 2 sum_c (1_c'v_i)^2 - (1'v_i)^2
            sums = np.stack([known[labels == c].sum(axis=0) for c in range(labels.max() + 1)])
            agreement = 2.0 * (sums**2).sum(axis=0) - sums.sum(axis=0) ** 2
            return cls(products, agreement, float(len(known)))
        # T has entries at (i, j) and (j, i), so b = 2 sum T_ij v_i v_j and |T|^2 = 2 n_pairs
        i, j = information.pairs.T
        agreement = 2.0 * np.einsum("p,pi,pi->i", information.signs, vectors[i], vectors[j])
        return cls(products, agreement, float(np.sqrt(2.0 * len(i))))

    def alignment(self, mu: Array) -> float:
        """Return the cosine between the kernel matrix and T, or 0 for a zero matrix."""
        square = float(np.vdot(mu, self.products @ mu))
        return float(mu @ self.agreement) / (square**0.5 * self.size) if square > 0.0 else 0.0

    def best(self, cone: OrderCone) -> Array:
        """Return the mu in the cone with sum 1 and the largest alignment, in O(r^3).

        If the last vector of a ray is zero on the known points, the ray is omitted, as it equals
        the previous ray on these points.
        """
        lengths = np.sqrt(np.diagonal(self.products))  # |v_i|^2
        nonzero = lengths > 1e-14 * lengths.max()
        if not nonzero.any():
            return np.asarray(cone.rays[:, 0])
        rays = cone.rays[:, nonzero]
        H, c = rays.T @ self.products @ rays, rays.T @ self.agreement
        norms = np.sqrt(np.diagonal(H))  # normalised rays improve the conditioning
        # the projection of T onto the cone, or the best-aligned ray if the projection is zero
        t = solve_nonnegative(H / np.outer(norms, norms), c / norms)
        mu = rays @ (t / norms) if t.any() else rays[:, int(np.argmax(c / norms))]
        return np.asarray(mu / mu.sum())


def graph_losses(vectors: Array, graph: SupervisedGraph) -> Array:
    """Compute s_i = v_i'S v_i >= 0 for vectors of shape (n, r), in O(n r) for labels."""
    members = vectors[graph.members]
    losses = np.einsum("ij,ij->j", members, graph.laplacian(members))
    return np.asarray(np.maximum(losses, 0.0))


def best_vertex(losses: Array, cone: OrderCone) -> Array:
    """Return the mu in the cone with sum 1 that minimises sum_i s_i mu_i.

    For "strict" the first k weights are 1/k, for the smallest k that minimises the mean of
    s_1, ..., s_k.
    """
    rays = cone.rays
    means = (losses @ rays) / rays.sum(axis=0)
    limit = means.min() + 1e-12 * np.abs(losses).max()  # ties up to rounding
    mu = rays[:, int(np.argmax(means <= limit))]
    return np.asarray(mu / mu.sum())


@dataclass(eq=False, repr=False)
class OrderSpectralLearner(KernelLearner):
    r"""Learn a kernel from the smoothest eigenvectors of a neighbour graph of all points (OSK).

    .. math::

        K = n \sum_{i=1}^{r} \mu_i v_i v_i', \qquad \mu \ge 0, \;
        \sum_i \mu_i = 1, \; \mu_1 \ge \mu_2 \ge \ldots \ge \mu_r

    for the eigenvectors v_i of the normalised Laplacian of the graph, in ascending order of the
    eigenvalues. The eigenvectors depend on all points, the weights on the labels. The weights
    maximise the alignment with the target T on the known points (OSK, problem (2) of [1]_), or
    minimise the loss <K, S> of the supervised complete graph (SCG-OSK, problem (26)),

    .. math::

        \max_\mu \frac{\langle K, T \rangle}{\|K\| \|T\|} \qquad \text{or} \qquad
        \min_\mu \sum_i \mu_i \, v_i'S v_i .

    The first problem is solved by non-negative least squares instead of the paper's quadratically
    constrained program. The second has a closed form instead of the paper's linear program: equal
    weights for the first k eigenvectors, where k minimises their mean v_i'S v_i.

    Parameters
    ----------
    loss : {"alignment", "scg"}, default="alignment"
        The objective.
    order : {"strict", "improved"}, default="strict"
        Constraint on the weights. "strict" makes them non-increasing. "improved" leaves the
        weights of the null vectors of the Laplacian free; with drop_null it equals "strict".
    n_neighbors : int, default=5
        Two points are linked, with weight 1, if one is among the `n_neighbors` nearest of the
        other.
    n_components : int, default=100
        Maximum number r of eigenvectors.
    drop_null : bool, default=True
        If True, the null space of the Laplacian is omitted: one vector per connected component,
        nearly constant on it. Keeping it gives the "scg" loss a trivial minimum, with all weight
        on a vector close to the null vector of S. Keep it, with the "alignment" loss, if classes
        largely coincide with components, as only null vectors separate components.
    unlabeled : object, optional
        The value in y that marks an unknown class. None means -1, but a value is required if y
        contains only -1 and +1.

    Attributes
    ----------
    kernel_ : SpectralKernel
        The learned kernel; its trace on the training points is n_samples.
    support_vectors_ : array of shape (n_samples, n_features)
        The training points.
    spectrum_ : array of shape (r,)
        The weights mu, with sum 1.
    eigenvalues_, eigenvectors_ : arrays of shape (r,) and (n_samples, r)
        Eigenvalues of the Laplacian in ascending order, and unit eigenvectors.
    objective_ : float
        The alignment, or the loss <K, S> of the kernel matrix scaled to trace 1.
    alignment_ : float
        The alignment with T on the known points, for either loss.
    n_kept_ : int
        Number of non-zero weights.
    n_connected_components_ : int
        Number of connected components of the graph.
    classes_ : array of shape (n_classes,) or None
        The sorted classes; None for pairs.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    Equal points are merged into one point of the graph, so that the kernel is well defined. The
    graph costs O(n^2 n_features). Its eigenvectors cost O(n^3) for few points;
    Lanczos iterations compute them for many.

    At a new point, the Nystroem formula gives the eigenvectors' values from the point's links to
    the graph (see `SpectralKernel`). The values are zero if 1 - lambda < 0.1. If new points are
    available during fit, pass them to `fit` unlabelled.

    S is the Laplacian of the supervised graph of all points, as in the paper. On a graph of the
    labelled points only, an eigenvector concentrated on unlabelled points would have zero loss.

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
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "loss": one_of(("alignment", "scg")),
        "order": one_of(ORDERS),
        "n_neighbors": integer(least=1),
        "n_components": integer(least=1),
        "drop_null": check_flag,
    }

    _form: ClassVar[SavedForm] = {
        "spectrum_, eigenvalues_": shown("functions"),
        "eigenvectors_": shown("points", "functions"),
    }

    loss: Literal["alignment", "scg"] = "alignment"
    order: Order = "strict"
    n_neighbors: int = 5
    n_components: int = 100
    drop_null: bool = True
    unlabeled: object = None
    eigenvalues_: Array = field(init=False)
    eigenvectors_: Array = field(init=False)

    def _fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any = None, dissimilar: Any = None
    ) -> LearnedGram:
        points, information = self._validate(X, y, similar, dissimilar)
        # a node is the first of a set of equal points; node_of holds each point's node
        twins = CoordinateNeighbors(points).duplicates(points)
        nodes, node_of = np.unique(twins, return_inverse=True)
        graph = NeighborGraph(points[nodes], int(self.n_neighbors))
        smooth = graph.smoothest(self.n_components, drop_null=self.drop_null)
        vectors = smooth.vectors[node_of.reshape(-1)]
        vectors = np.asarray(vectors / np.linalg.norm(vectors, axis=0))
        problem = SpectralAlignment.of(vectors, information)
        cone = OrderCone(len(smooth.values), self.order, smooth.n_null)
        if self.loss == "alignment":
            spectrum = problem.best(cone)
            self.objective_: float = problem.alignment(spectrum)
        else:
            losses = graph_losses(vectors, information.graph("complete"))
            spectrum = best_vertex(losses, cone)
            self.objective_ = float(losses @ spectrum)
        kept = spectrum > 0
        self.spectrum_ = spectrum
        self.eigenvalues_, self.eigenvectors_ = smooth.values, vectors
        self.alignment_: float = problem.alignment(spectrum)
        self.n_kept_: int = int(kept.sum())
        self.n_connected_components_: int = graph.n_components
        self.kernel_ = SpectralKernel(
            points=graph.points,
            vectors=vectors[np.ix_(nodes, kept)],
            eigenvalues=smooth.values[kept],
            spectrum=len(vectors) * spectrum[kept],
            n_neighbors=int(self.n_neighbors),
            radii=graph.radii,
            degrees=graph.degrees,
        )

        def gram(rows: Indices) -> Array:
            features = vectors[rows] * np.sqrt(len(vectors) * spectrum)
            return np.asarray(features @ features.T)

        return gram

    def _results(self) -> dict[str, Any]:
        objective = {} if self.loss == "alignment" else {"objective": self.objective_}
        return {
            **objective,
            "alignment": self.alignment_,
            "eigenvectors": self.n_kept_,
            "graph_parts": self.n_connected_components_,
        }
