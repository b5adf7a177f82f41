"""A kernel learned in closed form from partial labels or pairs (Pan et al.)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_flag, check_integer, check_real
from pliant.methods.side_information.base_gram import PSDPart, base_kernel
from pliant.methods.side_information.components import Components
from pliant.methods.side_information.hidden_scores import ComponentScore, KernelScore, Score
from pliant.methods.side_information.information import GRAPHS, SideInformation, SupervisedGraph
from pliant.methods.side_information.information.graph import check_beta
from pliant.methods.side_information.landmark_kernel import LandmarkKernel
from pliant.methods.side_information.landmarks import Nystroem
from pliant.methods.side_information.learner import KernelLearner, MatrixOf
from pliant.methods.side_information.logdet_kernel import LogDetKernel
from pliant.methods.side_information.scg_problem import SCGLogDet, graph_size, learned_map
from pliant.methods.side_information.strength import STRENGTHS, Candidate, best_candidate

__all__ = ["SCGLogDetLearner"]

SOLVERS = ("auto", "cholesky", "eigh", "features")

MANY = 10_000
"""With more points in the graph than this, features take the place of the Gram matrix."""

DEFAULT_LANDMARKS = 256


class SCGLogDetLearner(KernelLearner):
    r"""Learn a kernel that is smooth over the graph of known pairs, in closed form (SCG-LDK).

    .. math::

        \min_K \; D_{ld}(K, K_0) + \gamma \, \mathrm{tr}(K S), \qquad
        K = (K_0^{-1} + \gamma S)^{-1},

    Eqs. 27 and 29 of [1]_, where S is the normalised Laplacian of the supervised complete graph:
    its weights are :math:`W_{ij} = e^{\beta T_{ij}}`, T = +1 for similar, -1 for dissimilar
    points, 0 where nothing is known. The learned kernel is a function of any two points,

    .. math:: k(x, x') = k_0(x, x') + k_0(x, X_A) \, Q \, k_0(X_A, x'),

    with the points :math:`X_A` of the graph. Nothing is inverted that may be singular.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        k0, symmetric and PSD: a name in ``pliant.kernels.KERNEL_NAMES``, a kernel object, a
        function of two matrices, "precomputed", or "graph": the
        `pliant.kernels.NeighborGraphKernel` of the fit points, which suits embeddings.
    gamma : float or {"scale", "auto"}, default="scale"
        Of kernels by name: "scale" is 1/(d var(X)), "auto" 1/d, for d features.
    strength : float or "auto", default="auto"
        > 0: how much the labels or pairs count. "auto": that power of ten from 1e-1 to 1e6
        which does best on a fifth of the labels, hidden in turn: by the accuracy of a support
        vector machine with C = 1 on the learned kernel or, with `n_components`, of 5 nearest
        neighbours in them. (For pairs: whose distances best tell hidden similar pairs from
        dissimilar ones.)
    scale_strength : bool, default=True
        Whether the strength is divided by the sum of k0(x, x) over the points in the graph: by
        their number, for a Gaussian. It then depends neither on how many there are nor on the
        units of the kernel. False: it is the :math:`\gamma` of the paper ("auto" then divides its
        choice by that sum).
    beta : float, default=1.0
        In (0, 100]: the exponent of the weights; 1 in the paper.
    graph : {"labeled", "complete"}, default="labeled"
        Over the points that something is known of; or over all points, as in the paper, which
        whitens the kernel at the others and hurts where few are known.
    n_components : int, optional
        `transform` then gives so many principal components of the learned kernel, centred: those
        of the points in the graph, as functions of all points.
    solver : {"auto", "cholesky", "eigh", "features"}, default="auto"
        A factorisation of an (a, a) matrix for a points in the graph; an eigendecomposition,
        slower and no more accurate; or explicit features from landmarks (Nystroem), for many
        points. "auto" takes the last with `n_landmarks` or more than 10 000 points in the graph,
        else the first.
    n_landmarks : int, optional
        Of the solver "features": so many fit points, drawn at random. By default 256.
    unlabeled : object, optional
        The value in y of points of unknown class. None: -1, unless y holds -1 and +1 only.
    random_state : int, RandomState or None, default=None
        For landmarks, and for the folds of ``strength="auto"``.

    Attributes
    ----------
    kernel_ : LogDetKernel or LandmarkKernel
        The learned kernel.
    support_vectors_ : array of shape (n, d)
        The fit points; their row numbers if the kernel is precomputed.
    members_ : array of shape (a,)
        The row numbers of the points in the graph.
    strength_ : float
        The strength used, before it is divided.
    objective_ : float
        The optimal value, log det(I + gamma S K0).
    classes_ : array of shape (p,) or None
        The classes, sorted; None for pairs.
    approximation_error_ : float
        Of the solver "features": the share of the trace of K0 that the landmarks miss.
    components_ : Components or None
        With `n_components`: what they are made of.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    For n points, a of them in the graph: O(a^3) with one Cholesky factorisation whatever the
    number of labels or pairs, and O(n a) for each new point; with m landmarks O(n m^2), memory
    O(n m). Strengths are best chosen with all that depends on them: use the learner in a
    `LearnedKernelClassifier` under a search, which learns again in every fold, or in a
    `KernelEmbedding`.

    The paper calls the graph over all points; it computes K and Q by inverses of K0, which have
    no right digit for a Gaussian kernel of ordinary width. Its Eq. 10 lacks a factor 1/2. With
    S D^{1/2} 1 = 0 the direction D^{1/2} 1 is the one least damped: centre the kernel before
    looking at its principal components, as `n_components` does.

    References
    ----------
    .. [1] B. Pan, W.-S. Chen, B. Chen, C. Xu. Efficient learning of supervised kernels with a
       graph-based loss function. Information Sciences, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import SCGLogDetLearner
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::2] = -1  # unknown
    >>> learner = SCGLogDetLearner(strength=1000.0, n_components=2).fit(X, y)
    >>> learner.transform(X[:3]).shape
    (3, 2)
    >>> learner.kernel_(X[:3], X[50:52]).shape
    (3, 2)
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        gamma: float | str = "scale",
        strength: float | str = "auto",
        scale_strength: bool = True,
        beta: float = 1.0,
        graph: str = "labeled",
        n_components: int | None = None,
        solver: str = "auto",
        n_landmarks: int | None = None,
        unlabeled: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.strength = strength
        self.scale_strength = scale_strength
        self.beta = beta
        self.graph = graph
        self.n_components = n_components
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.unlabeled = unlabeled
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not (isinstance(self.strength, str) and self.strength == "auto"):
            check_real("strength", self.strength, above=0)
        check_flag("scale_strength", self.scale_strength)
        check_beta(self.beta)
        check_choice("graph", self.graph, GRAPHS)
        check_choice("solver", self.solver, SOLVERS)
        for name in ("n_components", "n_landmarks"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least=1)
        if self.n_landmarks is not None and self.solver not in ("auto", "features"):
            raise ValueError(
                f"expected n_landmarks=None with solver={self.solver!r}, got {self.n_landmarks}"
            )

    def _learn(self, points: Array, information: SideInformation) -> MatrixOf:
        rng: np.random.RandomState = check_random_state(self.random_state)
        kernel = base_kernel(self.kernel, points, self.gamma)
        edges = information.graph(self.graph, self.beta)
        self.members_ = edges.members
        learn = self._learn_features if self._by_features(len(edges)) else self._learn_matrix
        learned = learn(kernel, information, edges, rng)
        self.components_: Components | None = None
        if self.n_components is not None:
            self.components_ = self._components_of(learned, self.n_components)
        return learned

    def _members(self) -> Indices:
        return self.members_

    def _by_features(self, size: int) -> bool:
        if self.solver == "auto":
            return self.n_landmarks is not None or size > MANY
        return self.solver == "features"

    def _learn_matrix(
        self,
        kernel: Kernel,
        information: SideInformation,
        edges: SupervisedGraph,
        rng: np.random.RandomState,
    ) -> MatrixOf:
        """Learn Q on the points of the graph."""
        points = self.support_vectors_
        members = points[edges.members]
        part = PSDPart.of(kernel, members)
        gram = part.gram
        size = graph_size(gram.diagonal())
        self.strength_ = self._strength_value(kernel, information, rng, size, gram)
        gamma = self.strength_ / size if self.scale_strength else self.strength_
        problem = SCGLogDet(gram, edges, gamma)
        found = problem.solve("eigh" if self.solver == "eigh" else "cholesky")
        self.objective_ = found.value
        self.kernel_ = LogDetKernel(kernel, members, part.extend(found.matrix))

        def learned(rows: Indices) -> Array:
            if np.array_equal(rows, edges.members):
                return found.gram
            return self._matrix(rows)

        return learned

    def _matrix(self, rows: Indices) -> Array:
        """Return the learned kernel values between some of the fit points."""
        return self.kernel_(self.support_vectors_[rows])

    def _strength_value(
        self,
        kernel: Kernel,
        information: SideInformation,
        rng: np.random.RandomState,
        size: float,
        gram: Array | None = None,
    ) -> float:
        if not isinstance(self.strength, str):
            return float(self.strength)
        chosen, _ = best_candidate(
            lambda points: kernel,
            self.support_vectors_,
            information,
            [Candidate(strength, self.beta) for strength in STRENGTHS],
            graph=self.graph,
            scale_strength=True,  # what is best on a sample holds for all points then
            rng=rng,
            gram=gram,
            score=self._score(),
        )
        return chosen.strength if self.scale_strength else chosen.strength / size

    def _score(self) -> Score:
        return KernelScore() if self.n_components is None else ComponentScore(self.n_components)

    def _learn_features(
        self,
        kernel: Kernel,
        information: SideInformation,
        edges: SupervisedGraph,
        rng: np.random.RandomState,
    ) -> MatrixOf:
        """Learn a map of the features that landmarks give."""
        points = self.support_vectors_
        count = min(self.n_landmarks or DEFAULT_LANDMARKS, len(points))
        features = Nystroem.of(kernel, points, count, rng)
        size = graph_size(kernel.diag(points[edges.members]))
        self.strength_ = self._strength_value(kernel, information, rng, size)
        gamma = self.strength_ / size if self.scale_strength else self.strength_
        at_points = features.values
        map_, self.objective_ = learned_map(at_points[edges.members], edges, gamma)
        self.approximation_error_ = features.missing
        self.kernel_ = LandmarkKernel(kernel, features.landmarks, features.projection @ map_)
        learned = at_points @ map_
        return lambda rows: np.asarray(learned[rows] @ learned[rows].T)

    @property
    def _gives_gram(self) -> bool:
        return isinstance(self.kernel_, LogDetKernel) and self.components_ is None

    def _outputs(self, points: Array) -> Array:
        """Return kernel values against the fit points, or features."""
        if self.components_ is not None:
            return self.components_(self._rows(points))
        if isinstance(self.kernel_, LandmarkKernel):
            return self.kernel_.features(points)
        return super()._outputs(points)

    @property
    def _n_features_out(self) -> int:
        if self.components_ is not None:
            return len(self.components_.variances)
        if isinstance(self.kernel_, LandmarkKernel):
            return self._width()
        return super()._n_features_out

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        super()._check_loaded()
        if self.components_ is not None:
            self.components_.check(self._width(), len(self.components_.variances))
