"""The nearest-neighbour graph, the smoothest eigenvectors of its Laplacian, and kernels on them.

    A_ij = 1 if x_i is one of the k nearest neighbours of x_j, or x_j one of x_i's, otherwise 0
    D = diag(A 1),   L = I - D^{-1/2} A D^{-1/2},   L v_i = lambda_i v_i,   0 <= lambda_i <= 2

L is the normalised Laplacian. Its null space is spanned by the vectors D^{1/2} 1_c of the connected
components c. The other eigenvectors are computed from I - L. Shifting the eigenvalue of the null
vectors from 1 to -2, below the rest of the spectrum, excludes these vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from pliant.core.eigen import last_eigenpairs
from pliant.core.form import POSITIVE, Part, SavedForm, numbers
from pliant.core.parameters import check_integer, check_real, integer
from pliant.core.sparse import euclidean_distances, in_form_of, is_sparse
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_points
from pliant.kernels.base import Kernel
from pliant.kernels.extension import CoordinateNeighbors, row_parts

MAX_DENSE_POINTS = 500
"""Maximum number of points in a component that is always decomposed by LAPACK."""

MAX_DISTANCES = 1_000_000
"""Maximum number of distances in memory at once."""


class SmoothVectors(NamedTuple):
    """The r smallest eigenvalues of L in ascending order, and orthonormal eigenvectors, (m, r).

    The first `n_null` vectors span the null space of L, or a subspace of it.
    """

    values: Array
    vectors: Array
    n_null: int


class NeighborGraph:
    """The graph of the k nearest neighbours of m > k distinct points, shape (m, n_features).

    Raises ValueError for too few points. Ties between neighbours are broken by row order. Each
    component has at least k + 1 points. Time is O(m^2 n_features), memory O(m k). `weights` is the
    sparse A, `degrees` holds D_ii >= k, `radii` holds the distance of each point to its k-th
    neighbour, and `components` its connected component.
    """

    weights: scipy.sparse.csr_array
    radii: Array

    def __init__(self, points: Array, n_neighbors: int) -> None:
        m = points.shape[0]
        if m <= n_neighbors:
            raise ValueError(
                f"expected more than n_neighbors = {n_neighbors} distinct points, got {m}"
            )
        self.points = points
        self.weights, self.radii = _connect(points, n_neighbors)
        self.degrees: Array = np.asarray(self.weights.sum(axis=1), dtype=np.float64)
        labels = connected_components(self.weights, directed=False)[1]
        self.components: Indices = labels.astype(np.intp)

    @property
    def n_components(self) -> int:
        """The number of connected components, which is the dimension of the null space of L."""
        return int(self.components.max()) + 1

    @cached_property
    def similarity(self) -> scipy.sparse.csr_array:
        """The sparse matrix I - L = D^{-1/2} A D^{-1/2}, shape (m, m)."""
        scale = scipy.sparse.diags_array(1.0 / np.sqrt(self.degrees))
        return scipy.sparse.csr_array(scale @ self.weights @ scale)

    def null_vectors(self, count: int) -> Array:
        """Return D^{1/2} 1_c / |D^{1/2} 1_c| for the `count` components c with the most edges."""
        volumes = np.bincount(self.components, weights=self.degrees)  # |D^{1/2} 1_c|^2
        largest = np.argsort(-volumes, kind="stable")[:count]
        indicators = self.components[:, None] == largest
        return np.sqrt(indicators * self.degrees[:, None] / volumes[largest])

    def smoothest(self, n_vectors: int, *, drop_null: bool) -> SmoothVectors:
        """Compute up to `n_vectors` >= 1 of the smallest eigenpairs of L.

        If `drop_null` is True, the null space is omitted.
        """
        n_null = 0 if drop_null else min(n_vectors, self.n_components)
        r = min(n_vectors - n_null, len(self.degrees) - self.n_components)
        values, vectors = self._decompose(r)
        all_values = np.concatenate([np.zeros(n_null), values])
        return SmoothVectors(all_values, np.hstack([self.null_vectors(n_null), vectors]), n_null)

    def _decompose(self, r: int) -> tuple[Array, Array]:
        """Compute the r smallest eigenpairs of L outside its null space, in ascending order.

        Each component is decomposed separately: Lanczos iterations on L could miss some of the
        equal eigenvalues of similar components.
        """
        components = [np.flatnonzero(self.components == c) for c in range(self.n_components)]
        pairs = [self._decompose_component(rows, min(r, len(rows) - 1)) for rows in components]
        all_values = np.concatenate([values for values, _ in pairs])
        chosen = np.argsort(all_values, kind="stable")[:r]
        # a component's eigenvector is zero elsewhere; `start` indexes the first of its eigenvalues
        vectors, start = np.zeros((len(self.degrees), r)), 0
        for rows, (values, own_vectors) in zip(components, pairs, strict=True):
            columns = np.flatnonzero((chosen >= start) & (chosen < start + len(values)))
            vectors[np.ix_(rows, columns)] = own_vectors[:, chosen[columns] - start]
            start += len(values)
        return all_values[chosen], vectors

    def _decompose_component(self, rows: Indices, r: int) -> tuple[Array, Array]:
        """Compute the r smallest eigenpairs of a component, without its null vector."""
        if r == 0:
            return np.empty(0), np.empty((len(rows), 0))
        null = np.sqrt(self.degrees[rows] / self.degrees[rows].sum())
        similarity = self.similarity[rows][:, rows]
        # Lanczos iterations compute at most a tenth of the eigenvectors of a large component
        few = len(rows) > MAX_DENSE_POINTS and r <= 0.1 * len(rows)
        pairs = _iterate_lanczos(similarity, null, r) if few else None
        if pairs is None:
            # I - L has eigenvalues >= -1; the eigenvalue 1 of the null vector becomes 1 - 3 = -2
            pairs = last_eigenpairs(similarity.toarray() - 3.0 * np.outer(null, null), r)
        values, vectors = pairs
        order = np.argsort(-values, kind="stable")
        return np.clip(1.0 - values[order], 0.0, 2.0), vectors[:, order]


def _iterate_lanczos(
    similarity: scipy.sparse.csr_array, null: Array, r: int
) -> tuple[Array, Array] | None:
    """Compute the r largest eigenpairs of I - L except the null vector; None if ARPACK fails."""
    m = len(null)

    def multiply(b: Array) -> Array:
        # I - L, with the eigenvalue of the null vector shifted from 1 to -2
        return np.asarray(similarity @ b - 3.0 * (null @ b) * null)

    operator = LinearOperator((m, m), matvec=multiply, dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(m)
    try:
        return eigsh(operator, r, which="LA", v0=start)
    except ArpackError:
        return None


def _connect(points: Array, k: int) -> tuple[scipy.sparse.csr_array, Array]:
    """Compute A, and the distance of each point to its k-th neighbour."""
    m = points.shape[0]
    columns, radii = [], []
    for rows in row_parts(np.arange(m), m, MAX_DISTANCES):
        distances = euclidean_distances(points[rows], points)
        distances[np.arange(len(rows)), rows] = np.inf  # a point is not its own neighbour
        near, radius = _find_nearest(distances, k)
        columns.append(np.nonzero(near)[1])
        radii.append(radius)
    radius = np.concatenate(radii)
    indices = (np.repeat(np.arange(m), k), np.concatenate(columns))
    directed = scipy.sparse.csr_array((np.ones(m * k), indices), shape=(m, m))
    return directed.maximum(directed.T), radius


def _find_nearest(distances: Array, k: int) -> tuple[Mask, Array]:
    """Return a mask of the k smallest entries of each row, and the k-th smallest entry.

    Ties are broken by column order.
    """
    # entries below the k-th smallest, then the first ties with it until there are k
    radius = np.partition(distances, k - 1, axis=1)[:, k - 1]
    near, tied = distances < radius[:, None], distances == radius[:, None]
    n_missing = k - near.sum(axis=1)
    return near | (tied & (tied.cumsum(axis=1) <= n_missing[:, None])), radius


def link_points(X: Array, points: Array, radii: Array, n_neighbors: int) -> Mask:
    """Return a mask of the links between n new points X and the points of the graph, shape (n, m).

    As in the graph, a new point is linked to its k nearest points, and to each point j nearer than
    radii_j, the distance from j to its k-th neighbour. New points are never linked to each other.
    """
    distances = euclidean_distances(in_form_of(X, points), points)
    return np.asarray(_find_nearest(distances, n_neighbors)[0] | (distances < radii))


@dataclass(eq=False, repr=False)
class SpectralKernel(Kernel):
    r"""k(x, y) = sum_i mu_i v_i(x) v_i(y), for eigenvectors v_i of a neighbour graph's Laplacian.

    If x exactly equals a point of the graph, v_i(x) is the entry of v_i for that point. At a
    new point, v_i(x) follows from the eigenvalue equation of the Laplacian (Nystroem extension),

    .. math::

        v_i(x) = \frac{1}{1 - \lambda_i} \sum_j \frac{a(x, x_j)}{\sqrt{d(x) d_j}} v_i(x_j),
        \qquad d(x) = \sum_j a(x, x_j),

    where a(x, x_j), as in the graph, is 1 if x_j is among the k nearest points of x, or x is
    nearer to x_j than x_j's k-th neighbour, and 0 otherwise. Values at a new point do not depend
    on other new points. For 1 - lambda_i < 0.1 the value at new points is zero: such a v_i
    oscillates between neighbours and cannot be interpolated.

    Parameters
    ----------
    points : array or sparse matrix of shape (m, n_features)
        The distinct points of the graph.
    vectors : array of shape (m, r)
        The eigenvectors v_i, one per column.
    eigenvalues : array of shape (r,)
        The eigenvalues lambda_i of the Laplacian.
    spectrum : array of shape (r,)
        The weights mu_i >= 0.
    n_neighbors : int
        The number of neighbours k, 1 <= k <= m.
    radii, degrees : arrays of shape (m,)
        For each point of the graph, the distance to its k-th neighbour and its degree d_j > 0.
    """

    _form: ClassVar[SavedForm] = {
        "points": Part("number", ("points", "features"), sparse=True),
        "vectors": Part("number", ("points", "functions")),
        "eigenvalues": numbers("functions"),
        "spectrum": numbers("functions", low=0.0),
        "n_neighbors": integer(least=1),
        "radii": numbers("points"),
        "degrees": numbers("points", low=POSITIVE),
    }

    points: npt.ArrayLike
    vectors: npt.ArrayLike
    eigenvalues: npt.ArrayLike
    spectrum: npt.ArrayLike
    n_neighbors: int
    radii: npt.ArrayLike
    degrees: npt.ArrayLike

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """True if the points of the graph are sparse."""
        return is_sparse(self.points)

    def eigenfunctions(self, X: npt.ArrayLike) -> Array:
        """Evaluate v_i(x) for each sample x of X, shape (n_samples, r)."""
        points = check_points(self.points, "points", sparse=True)
        X = check_points(X, "X", n_features=points.shape[1], sparse=True)
        twins = CoordinateNeighbors(points).duplicates(X)
        # rows of v at points of the graph; the rows of new points (twin -1) are replaced
        values = check_points(self.vectors, "vectors")[twins]
        new = np.flatnonzero(twins < 0)
        for part in row_parts(new, points.shape[0], MAX_DISTANCES):
            values[part] = self._at_new_points(X[part])
        return values

    def _at_new_points(self, X: Array) -> Array:
        """Evaluate the Nystroem extension of v_i, shape (n_samples, r)."""
        points = check_points(self.points, "points", sparse=True)
        degrees = np.asarray(self.degrees)
        linked = link_points(X, points, np.asarray(self.radii), self.n_neighbors)
        means = (linked / np.sqrt(degrees)) @ np.asarray(self.vectors)
        return np.asarray(means * self._gains() / np.sqrt(linked.sum(axis=1))[:, None])

    def _gains(self) -> Array:
        """Return 1/(1 - lambda_i), or zero for 1 - lambda_i < 0.1."""
        similarity = 1.0 - np.asarray(self.eigenvalues, dtype=np.float64)
        return np.divide(1.0, similarity, out=np.zeros_like(similarity), where=similarity >= 0.1)

    def _features(self, X: Array) -> Array:
        """Return the features sqrt(mu_i) v_i(x), whose inner product is k."""
        return self.eigenfunctions(X) * np.sqrt(np.asarray(self.spectrum, dtype=np.float64))

    def _check_pair(self, X: Array, Y: Array) -> None:
        super()._check_pair(X, Y)
        points: Any = self.points
        check_points(X, "X", n_features=np.shape(points)[1], sparse=True)

    def _gram(self, X: Array, Y: Array) -> Array:
        left = self._features(X)
        return left @ (left if Y is X else self._features(Y)).T

    def _diagonal(self, X: Array) -> Array:
        features = self._features(X)
        return np.einsum("ij,ij->i", features, features)

    def _check_loaded(self) -> None:
        if self.n_neighbors > np.size(self.radii):
            limit = f"{np.size(self.radii)}, the number of points"
            raise ValueError(f"expected n_neighbors <= {limit}, got {self.n_neighbors}")


class NeighborGraphKernel(SpectralKernel):
    r"""The regularised Laplacian kernel of the random walk on a nearest-neighbour graph.

    .. math::

        k(x, y) = c \sum_i \frac{u_i(x) \, u_i(y)}{\epsilon + \lambda_i},

    where :math:`(I - D^{-1} A) u_i = \lambda_i u_i` for the 0/1 weights A of the graph, and c
    scales the mean of k(x, x) over the points to 1. Points are close in feature space if many short
    paths connect them. Created by `from_points`.

    The Nystroem extension of u_i to a new point is the mean of u_i over the linked points, divided
    by 1 - lambda_i. It is zero if 1 - lambda_i < 0.1.

    The parameters are the same as in `SpectralKernel`, with u_i as `vectors`.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.methods import NeighborGraphKernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> kernel = NeighborGraphKernel.from_points(X)
    >>> round(float(kernel.diag(X).mean()), 6)
    1.0
    """

    @classmethod
    def from_points(
        cls, X: npt.ArrayLike, n_neighbors: int = 5, n_components: int = 100, epsilon: float = 0.01
    ) -> Self:
        """Build the kernel of the nearest-neighbour graph of X, in O(n^2 d), or O(n^3) for small n.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; equal points count once.
        n_neighbors : int, default=5
            Two points are linked if one is among the `n_neighbors` nearest of the other.
        n_components : int, default=100
            Maximum number of functions u_i; the smoothest are used.
        epsilon : float, default=0.01
            Regularisation, > 0; functions with far smaller eigenvalues have nearly equal weights.

        Raises
        ------
        ValueError
            If there are at most `n_neighbors` distinct points.
        """
        points = check_points(X, sparse=True)
        k = check_integer("n_neighbors", n_neighbors, least=1)
        count = check_integer("n_components", n_components, least=1)
        points = points[np.unique(CoordinateNeighbors(points).duplicates(points))]
        graph = NeighborGraph(points, k)
        # the null vector of a single component is constant, so it is omitted
        smooth = graph.smoothest(count, drop_null=graph.n_components == 1)
        # u = D^{-1/2} v are the eigenvectors of the random walk
        vectors = smooth.vectors / np.sqrt(graph.degrees)[:, None]
        # the mean of k(x, x) over the points is sum_i mu_i |u_i|^2 / n, which c scales to 1
        spectrum = 1.0 / (check_real("epsilon", epsilon, above=0) + smooth.values)
        spectrum *= points.shape[0] / float((vectors * vectors).sum(axis=0) @ spectrum)
        return cls(
            points=points,
            vectors=vectors,
            eigenvalues=smooth.values,
            spectrum=spectrum,
            n_neighbors=k,
            radii=graph.radii,
            degrees=graph.degrees,
        )

    def _at_new_points(self, X: Array) -> Array:
        """Evaluate the Nystroem extension of u_i, a mean over the linked points."""
        points = check_points(self.points, "points", sparse=True)
        linked = link_points(X, points, np.asarray(self.radii), self.n_neighbors)
        means = (linked @ np.asarray(self.vectors)) / linked.sum(axis=1)[:, None]
        return np.asarray(means * self._gains())
