"""OSK and SCG-OSK: the weights of a neighbour graph's eigenvectors, under order constraints.

    K = sum_i mu_i v_i v_i',   mu >= 0,  sum_i mu_i = 1,   and

    strict      mu_1 >= mu_2 >= ... >= mu_r: smoother vectors count more
    improved    the same, but the weights of the null vectors of the Laplacian are free

Each set is the convex hull of a few extreme points: with "strict" of (1/k, ..., 1/k, 0, ..., 0)
for k = 1 to r. `OrderCone.rays` are multiples of them.

Alignment (OSK, problem (2) of Pan et al.): maximise <K, T>/(|K| |T|) on the known points. The
quotient does not depend on the length of mu. The point of a cone nearest to T has the largest
cosine with T, unless it is zero. With mu = E t for the rays E,

    min_{t >= 0} |sum_k t_k K_k - T|^2 = t'H t - 2 c't + const.,
    H = E'G E,  G = (V'V) o (V'V),   c = E'b,  b_i = v_i'T v_i,

is non-negative least squares. Its solution is zero only if c <= 0. Then no mu has an alignment
> 0, and an extreme ray is best: -<K, T> is linear and >= 0 on the cone, and on the slice
-<K, T> = 1 the alignment grows with |K|, a convex function. If <K, T> = 0 for some K, this holds
for a ray.

The loss of the supervised graph (SCG-OSK, problem (26)): minimise <K, S> = sum_i s_i mu_i,
s_i = v_i'S v_i. A linear function has its minimum at an extreme point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.optimize import nnls

from pliant.core.typing import Array, Indices
from pliant.core.validation import Constraint, check_flag, fresh, integer, one_of
from pliant.kernels.extension import CoordinateNeighbors
from pliant.methods.supervised.information import SideInformation, SupervisedGraph
from pliant.methods.supervised.learner import KernelLearner, LearnedGram
from pliant.methods.supervised.neighbor_graph import NeighborGraph, SpectralKernel

Order: TypeAlias = Literal["improved", "strict"]
"""A constraint on the weights besides mu >= 0."""

ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True)
class OrderCone:
    """The cone of r = `size` weights mu >= 0 under an order; null vectors are the first."""

    size: int
    order: Order = "strict"
    n_null: int = 0

    @property
    def rays(self) -> Array:
        """Extreme rays, one per column, with entries 0 and 1, shape (r, r)."""
        rays = np.triu(np.ones((self.size, self.size)))
        if self.order == "improved":
            free = min(self.n_null, self.size)
            rays[:free] = np.eye(free, self.size)
        return rays


@dataclass(frozen=True, eq=False)
class SpectralAlignment:
    """The alignment of sum_i mu_i v_i v_i' with T on the known points, as a function of mu.

    `products` are G, shape (r, r), `agreement` is b, shape (r,), and `size` is |T|.
    """

    products: Array
    agreement: Array
    size: float

    @classmethod
    def of(cls, vectors: Array, information: SideInformation) -> SpectralAlignment:
        """State the problem for eigenvectors, (n, r). O(a r^2) for a known points."""
        known = vectors[information.known]
        # <v_i v_i', v_j v_j'> = (v_i'v_j)^2 on the known points
        products = (known.T @ known) ** 2
        if information.labels is not None:
            labels = information.labels[information.known]
            # b_i = v_i'T v_i = 2 sum_c (1_c'v_i)^2 - (1'v_i)^2, as T = 2 sum_c 1_c 1_c' - 11'
            sums = np.stack([known[labels == c].sum(axis=0) for c in range(labels.max() + 1)])
            agreement = 2.0 * (sums**2).sum(axis=0) - sums.sum(axis=0) ** 2
            return cls(products, agreement, float(len(known)))
        # T has entries at (i, j) and (j, i): b = 2 sum T_ij v_i v_j, |T|^2 is twice their number
        i, j = information.pairs.T
        agreement = 2.0 * np.einsum("p,pi,pi->i", information.signs, vectors[i], vectors[j])
        return cls(products, agreement, float(np.sqrt(2.0 * len(i))))

    def alignment(self, mu: Array) -> float:
        """Return the cosine between the kernel matrix and T; 0 for a matrix of zeros."""
        square = float(np.vdot(mu, self.products @ mu))
        return float(mu @ self.agreement) / (square**0.5 * self.size) if square > 0.0 else 0.0

    def best(self, cone: OrderCone) -> Array:
        """Return the mu of the cone with the largest alignment, of sum 1. O(r^3).

        A ray with a last vector of zero on the known points is left out: on these points it equals
        the ray before it.
        """
        lengths = np.sqrt(np.diagonal(self.products))  # |v_i|^2; up to 1e-14 it is rounding
        seen = lengths > 1e-14 * lengths.max()
        if not seen.any():
            return np.asarray(cone.rays[:, 0])
        rays = cone.rays[:, seen]
        H, c = rays.T @ self.products @ rays, rays.T @ self.agreement
        norms = np.sqrt(np.diagonal(H))  # rays of equal length: a better-conditioned problem
        # the point of the cone nearest to T; if it is zero, the ray with the largest alignment
        t = _solve_nonnegative(H / np.outer(norms, norms), c / norms)
        mu = rays @ (t / norms) if t.any() else rays[:, int(np.argmax(c / norms))]
        return np.asarray(mu / mu.sum())


def _solve_nonnegative(H: Array, c: Array) -> Array:
    """Minimise t'H t - 2 c't over t >= 0, for H with unit diagonal; O(r^3).

    It is |A t - g|^2 up to a constant, with A'A = H and A'g = c, for a pivoted Cholesky factor A
    of H, which may be singular.
    """
    factor, pivots, rank, _ = dpstrf(H)
    order = pivots - 1
    A = np.empty((rank, len(c)))
    A[:, order] = np.triu(factor)[:rank]
    g = solve_triangular(factor[:rank, :rank], c[order[:rank]], trans=1)
    return np.asarray(nnls(A, g, maxiter=100 * len(c))[0])


def graph_losses(vectors: Array, graph: SupervisedGraph) -> Array:
    """Compute s_i = v_i'S v_i >= 0 for vectors of shape (n, r), in O(n r) for labels."""
    members = vectors[graph.members]
    losses = np.einsum("ij,ij->j", members, graph.laplacian(members))
    return np.asarray(np.maximum(losses, 0.0))


def best_vertex(losses: Array, cone: OrderCone) -> Array:
    """Return the mu of sum 1 in the cone with the smallest sum_i s_i mu_i.

    For "strict" its first k weights are 1/k, for the smallest k that minimises the mean of
    s_1, ..., s_k.
    """
    rays = cone.rays
    means = (losses @ rays) / rays.sum(axis=0)
    limit = means.min() + 1e-12 * np.abs(losses).max()  # equal up to rounding
    mu = rays[:, int(np.argmax(means <= limit))]
    return np.asarray(mu / mu.sum())


class OrderSpectralLearner(KernelLearner):
    r"""Learn a kernel on the smoothest functions on a neighbour graph of all points (OSK).

    .. math::

        K = n \sum_{i=1}^{r} \mu_i v_i v_i', \qquad \mu \ge 0, \;
        \sum_i \mu_i = 1, \; \mu_1 \ge \mu_2 \ge \ldots \ge \mu_r

    for the eigenvectors v_i of the normalised Laplacian of the graph, in ascending order of the
    eigenvalues. Points without a label shape the eigenvectors; the labels determine the weights.
    These maximise the alignment with the target T on the known points (OSK, problem (2) of [1]_),
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
    order : {"strict", "improved"}, default="strict"
        Constraint on the weights: "strict" asks for a non-increasing order; "improved" leaves the
        weights of null vectors of the Laplacian free (with drop_null it equals "strict").
    n_neighbors : int, default=5
        Two points are linked, with weight 1, if one is among the `n_neighbors` nearest of the
        other.
    n_components : int, default=100
        Maximum number r of eigenvectors; a graph may have fewer.
    drop_null : bool, default=True
        If True, the null space of the Laplacian is left out: one vector per connected component
        of the graph, nearly constant on it. With it the "scg" loss has a trivial minimum: S maps
        nearly the same vector to zero, which gets all weight. But only these vectors separate
        classes that largely coincide with components: keep them then, with the alignment.
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
    Equal points are one point of the graph: the kernel is a function of the points. Time is
    O(n^2 n_features) for the graph, then O(n^3) for all eigenvectors of few points, or Lanczos
    iterations for a few eigenvectors of many.

    The values at a new point follow from its links to points of the graph, by the Nystroem formula
    on the normalised weights, see `SpectralKernel`. They are 0 for eigenvectors with
    1 - lambda < 0.1, which have no meaning between the points. If the new points are known
    beforehand, pass them to `fit` without a label.

    S belongs to the graph over all points, as in the paper: over the labelled points alone, an
    eigenvector concentrated on the unlabelled points would have no loss at all.

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
    }

    kernel_: SpectralKernel
    spectrum_: Array
    eigenvalues_: Array
    eigenvectors_: Array
    objective_: float
    alignment_: float
    n_kept_: int
    n_connected_components_: int

    def __init__(
        self,
        loss: Literal["alignment", "scg"] = "alignment",
        order: Order = "strict",
        n_neighbors: int = 5,
        n_components: int = 100,
        drop_null: bool = True,
        unlabeled: object = None,
    ) -> None:
        self.loss = loss
        self.order = order
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.drop_null = drop_null
        self.unlabeled = unlabeled

    def _fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any = None, dissimilar: Any = None
    ) -> LearnedGram:
        with fresh(self):
            points, information = self._validate(X, y, similar, dissimilar)
            # nodes: the first of each set of equal points; node_of: the node of each point
            first = CoordinateNeighbors(points).duplicates(points)
            nodes, node_of = np.unique(first, return_inverse=True)
            graph = NeighborGraph(points[nodes], int(self.n_neighbors))
            smooth = graph.smoothest(self.n_components, drop_null=self.drop_null)
            vectors = smooth.vectors[node_of.reshape(-1)]
            vectors = np.asarray(vectors / np.linalg.norm(vectors, axis=0))
            problem = SpectralAlignment.of(vectors, information)
            cone = OrderCone(len(smooth.values), self.order, smooth.n_null)
            if self.loss == "alignment":
                spectrum = problem.best(cone)
                self.objective_ = problem.alignment(spectrum)
            else:
                losses = graph_losses(vectors, information.graph("complete"))
                spectrum = best_vertex(losses, cone)
                self.objective_ = float(losses @ spectrum)
            kept = spectrum > 0
            self.spectrum_ = spectrum
            self.eigenvalues_, self.eigenvectors_ = smooth.values, vectors
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
