"""SCG-LDK: learning a kernel in closed form from partial labels or pairs (Pan et al.)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState

from pliant.core.parameters import (
    Constraint,
    automatic,
    check_flag,
    check_random_state,
    moderate_number,
    one_of,
)
from pliant.core.typing import Array, Indices
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gamma, KernelLike
from pliant.methods.supervised.information import (
    GRAPHS,
    GraphKind,
    SideInformation,
    check_exponent,
)
from pliant.methods.supervised.learner import KernelLearner, LearnedGram, LogDetKernel, PSDPart
from pliant.methods.supervised.scg_choice import (
    DEFAULT_STRENGTH,
    STRENGTHS,
    draw_sample,
    score_candidates,
)
from pliant.methods.supervised.scg_problem import SCGLogDet, graph_size


@dataclass(eq=False, repr=False)
class SCGLogDetLearner(KernelLearner):
    r"""Learn a kernel that is smooth over the graph of known pairs, in closed form (SCG-LDK).

    .. math::

        \min_K \; D_{ld}(K, K_0) + \gamma \, \mathrm{tr}(K S), \qquad
        K = (K_0^{-1} + \gamma S)^{-1},

    Eqs. 27 and 29 of [1]_, where S is the normalised Laplacian of the supervised complete graph
    with the weights :math:`W_{ij} = e^{\beta T_{ij}}`. T is +1 for similar points, -1 for
    dissimilar points, and 0 for unknown pairs. :math:`\gamma` is ``strength``, divided as
    ``scale_strength`` states; the parameter ``gamma`` belongs to the base kernel. The learned
    kernel is a function of any two points,

    .. math:: k(x, x') = k_0(x, x') + k_0(x, X_A) \, Q \, k_0(X_A, x'),

    where :math:`X_A` are the points of the graph. No potentially singular matrix is inverted.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        The base kernel k0, symmetric and PSD: a name in ``pliant.kernels.KERNEL_NAMES``, a kernel
        object, a function of two matrices, "precomputed", or "graph", the
        kernel of the neighbour graph of the training points, which suits embeddings.
    gamma : float or {"scale", "auto"}, default="scale"
        The parameter gamma of kernels given by name: "scale" is 1/(n_features var(X)), "auto" is
        1/n_features.
    strength : float or "auto", default="auto"
        Weight of the labels or pairs, from 1e-12 to 1e12. "auto" selects the power of ten from 1e-1
        to 1e6 with the best score in 5-fold cross-validation over the labels. The score is the
        accuracy of a support vector machine with C = 1 on the learned kernel. For pairs, it is the
        area under the ROC curve of distances of held-out pairs.
    scale_strength : bool, default=True
        If True, the strength is divided by the sum of k0(x, x) over the points in the graph, which
        is their number for a Gaussian kernel. A good strength then depends neither on this number
        nor on the units of the kernel. If False, the strength is :math:`\gamma` itself, as in the
        paper; "auto" then divides its choice by the sum.
    beta : float, default=1.0
        Exponent of the weights, in (0, 100]; 1 in the paper.
    graph : {"labeled", "complete"}, default="labeled"
        "labeled" is the graph of the points with side information. "complete" is the graph of all
        points, as in the paper. It whitens the kernel at unlabelled points, which reduces the
        accuracy if few labels are known.
    unlabeled : object, optional
        The value in y that marks an unknown class. None means -1, but a value is required if y
        contains only -1 and +1.
    random_state : int, RandomState or None, default=None
        Random seed for the folds of ``strength="auto"``.

    Attributes
    ----------
    kernel_ : LogDetKernel
        The learned kernel.
    support_vectors_ : array of shape (n_samples, n_features)
        The training points, or their row indices if the kernel is precomputed.
    members_ : array of shape (a,)
        Row indices of the points in the graph.
    strength_ : float
        The given or selected value of `strength`, before `scale_strength=True` divides it.
    objective_ : float
        The optimal value, log det(I + :math:`\gamma` S K0).
    classes_ : array of shape (n_classes,) or None
        The sorted classes; None for pairs.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    With a = ``len(members_)``, a fit takes one Cholesky factorisation, O(a^3), for any number of
    labels or pairs, and O(a^2) memory. Each new point costs O(n a). For large data, fit a sample of
    several thousand points: the learned kernel is a function of any two points.
    Select the strength together with the parameters that interact with it, by a search over a
    `LearnedKernelClassifier`, which learns the kernel in each fold, or by a `KernelEmbedding`.

    As S D^{1/2} 1 = 0, the direction D^{1/2} 1 is damped least. Centre the kernel before computing
    principal components, as `KernelEmbedding` does.

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
    >>> learner = SCGLogDetLearner(strength=1000.0).fit(X, y)
    >>> learner.transform(X[:3]).shape
    (3, 150)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "strength": automatic(moderate_number()),
        "scale_strength": check_flag,
        "beta": check_exponent,
        "graph": one_of(GRAPHS),
    }

    kernel: KernelLike = "gaussian"
    gamma: Gamma = "scale"
    strength: float | Literal["auto"] = "auto"
    scale_strength: bool = True
    beta: float = 1.0
    graph: GraphKind = "labeled"
    unlabeled: object = None
    random_state: Any = None

    def _fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None, similar: Any = None, dissimilar: Any = None
    ) -> LearnedGram:
        points, information = self._validate(X, y, similar, dissimilar)
        rng = check_random_state(self.random_state)
        kernel = self._base_kernel(points)
        graph = information.graph(self.graph, self.beta)
        members, support = graph.members, self.support_vectors_
        known = support[members]
        part = PSDPart.of(kernel, known)
        size = graph_size(part.gram.diagonal())
        if self.strength == "auto":
            strength = self._choose_strength(kernel, information, part.gram, rng)
            self.strength_: float = strength if self.scale_strength else strength / size
        else:
            self.strength_ = float(self.strength)
        gamma = self.strength_ / (size if self.scale_strength else 1.0)
        problem = SCGLogDet(part.gram, graph, gamma)
        optimum = problem.solve()
        within = problem.matrix_within_range() if kernel.psd else None
        Q = part.extend(optimum.matrix if within is None else within)
        self.kernel_ = learned = LogDetKernel(kernel, known, Q)
        self.members_ = members
        self.objective_: float = optimum.value

        def gram(rows: Indices) -> Array:
            # the closed form of K has smaller rounding errors than k0 + k0 Q k0
            return optimum.gram if np.array_equal(rows, members) else learned(support[rows])

        return gram

    def _choose_strength(
        self, kernel: Kernel, information: SideInformation, gram: Array, rng: RandomState
    ) -> float:
        """Return the scaled strength with the best mean score; `gram` is K0 on the graph."""
        rows, sample = draw_sample(information, self.graph, 500, rng)
        if len(rows) != len(gram):  # otherwise the sample is the entire graph
            gram = PSDPart.of(kernel, self.support_vectors_[rows]).gram
        candidates = [(strength, self.beta) for strength in STRENGTHS]
        # the best scaled strength does not depend on the sample size
        scores = score_candidates(
            gram, sample, candidates, graph=self.graph, scale_strength=True, rng=rng
        )
        return DEFAULT_STRENGTH if np.isnan(scores).all() else STRENGTHS[int(np.nanargmax(scores))]

    def _results(self) -> dict[str, Any]:
        return {"strength": float(self.strength_), "objective": float(self.objective_)}
