"""Many strengths, exponents and labellings on one Gram matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pliant.core.linalg import spd_inverse
from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import check_choice, check_flag, check_gram, check_points, check_real
from pliant.methods.side_information.information import GRAPHS, SideInformation, SupervisedGraph
from pliant.methods.side_information.information.information import check_information
from pliant.methods.side_information.scg_problem import (
    Coupling,
    Resolvent,
    SCGLogDet,
    Solution,
    Spectrum,
    graph_size,
    solution,
)

__all__ = ["SCGLogDetPath"]


class SCGLogDetPath:
    r"""SCG-LDK kernel matrices that share one eigendecomposition.

    Each call solves

    .. math:: \min_K D_{ld}(K, K_0) + \gamma \, \mathrm{tr}(K S)

    (see `SCGLogDetLearner`) for its own :math:`\gamma`, weights and labels, on the same K0. The
    eigendecomposition of K0 is made once; each new strength costs two matrix products; each
    labelling costs O(n^2 q) for q classes when it labels all points or the graph is complete,
    and O(h^3 + n h^2) more for h points that are left out of the graph, such as a fold that is
    held out. With pairs q is the number of points in the graph.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        K0: kernel values of the base kernel, PSD.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import SCGLogDetPath, SideInformation, scg_loss
    >>> from pliant.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> path = SCGLogDetPath(Gaussian(0.5)(X))
    >>> known = SideInformation.from_labels(y)
    >>> [round(scg_loss(path.gram(known, s), known), 2) for s in (1, 100, 10000)]
    [66.5, 18.12, 0.75]
    """

    def __init__(self, gram: npt.ArrayLike) -> None:
        self._gram = check_gram(check_points(gram, "gram"))
        self._spectrum: Spectrum | None = None
        self._resolvent: tuple[float, Resolvent] | None = None

    def gram(
        self,
        information: SideInformation,
        strength: float,
        *,
        beta: float = 1.0,
        graph: str = "labeled",
        scale_strength: bool = True,
        rows: Indices | Mask | None = None,
        columns: Indices | Mask | None = None,
    ) -> Array:
        """Return learned kernel values between some of the n points and others.

        Parameters
        ----------
        information : SideInformation
            Of the n points. Those that it knows nothing of are new points, or held out, if the
            graph is "labeled".
        strength : float
            > 0.
        beta : float, default=1.0
            The weights of the graph are exp(beta T).
        graph : {"labeled", "complete"}, default="labeled"
        scale_strength : bool, default=True
            Whether the strength is divided by the sum of the Gram's diagonal over the points in
            the graph.
        rows, columns : array of indices or mask, optional
            By default all points.

        Returns
        -------
        array of shape (number of rows, number of columns)
        """
        edges, gamma = self._stated(information, strength, beta, graph, scale_strength)
        every = np.arange(len(self._gram))
        i = every if rows is None else every[rows]
        j = every if columns is None else every[columns]
        left_out = np.setdiff1d(every, edges.members, assume_unique=True)
        if len(left_out) > len(edges):
            members = np.ix_(edges.members, edges.members)
            problem = SCGLogDet(self._gram[members], edges, gamma)
            return self._extended(edges.members, problem.solve(), i, j)
        if not len(left_out):
            return solution(edges, self._at(gamma), gamma).gram[np.ix_(i, j)]
        return self._without(left_out, edges, gamma, i, j)

    def _stated(
        self,
        information: SideInformation,
        strength: float,
        beta: float,
        graph: str,
        scale_strength: bool,
    ) -> tuple[SupervisedGraph, float]:
        """Return the graph, and gamma."""
        check_information(information)
        check_flag("scale_strength", scale_strength)
        if information.n_samples != len(self._gram):
            raise ValueError(
                f"expected side information on {len(self._gram)} points, as the Gram matrix has, "
                f"got {information.n_samples}"
            )
        check_choice("graph", graph, GRAPHS)
        edges = information.graph(graph, beta)
        gamma = check_real("strength", strength, above=0)
        if scale_strength:
            gamma /= graph_size(self._gram.diagonal()[edges.members])
        return edges, gamma

    def _at(self, gamma: float) -> Resolvent:
        """Return R and M on all points for one gamma; the last one is kept."""
        if self._spectrum is None:
            self._spectrum = Spectrum.of(self._gram)
        if self._resolvent is None or self._resolvent[0] != gamma:
            self._resolvent = gamma, self._spectrum.resolvent(gamma)
        return self._resolvent[1]

    def _extended(self, members: Indices, found: Solution, i: Indices, j: Indices) -> Array:
        """Return K0 + K0 Q K0 between points i and j."""
        left, right = self._gram[np.ix_(i, members)], self._gram[np.ix_(members, j)]
        return self._gram[np.ix_(i, j)] + (left @ found.matrix) @ right

    def _without(
        self, out: Indices, edges: SupervisedGraph, gamma: float, i: Indices, j: Indices
    ) -> Array:
        """Return K between points i and j where the points `out` are left out of the graph.

        With B = out, R_A = R_AA - R_AB R_BB^{-1} R_BA is the resolvent of the graph's members A,
        and without classes K would be M + gamma M_:B R_BB^{-1} M_B:, both from R and M of all
        points.
        """
        whole = self._at(gamma)
        among, _ = spd_inverse(whole.inverse[np.ix_(out, out)])
        members = edges.members
        towards = whole.inverse[np.ix_(members, out)]
        inverse = whole.inverse[np.ix_(members, members)] - towards @ among @ towards.T
        coupling = Coupling.of(edges, 0.5 * (inverse + inverse.T))
        left = self._gram[np.ix_(i, members)] @ coupling.left.T
        right = self._gram[np.ix_(j, members)] @ coupling.left.T
        freed = whole.shrunk[np.ix_(i, out)] @ among @ whole.shrunk[np.ix_(out, j)]
        return whole.shrunk[np.ix_(i, j)] + gamma * (freed + left @ coupling.between @ right.T)
