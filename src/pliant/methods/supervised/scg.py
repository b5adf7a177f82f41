"""SCG-LDK: learning a kernel in closed form from partial labels or pairs (Pan et al.)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import RandomState
from scipy.spatial import KDTree

from pliant.core.typing import Array, Indices, Mask
from pliant.core.validation import (
    Constraint,
    automatic,
    check_flag,
    check_random_state,
    moderate_number,
    one_of,
)
from pliant.kernels.base import Kernel
from pliant.kernels.standard import Gamma, KernelLike
from pliant.methods.supervised.components import Components
from pliant.methods.supervised.information import (
    GRAPHS,
    GraphKind,
    LabelGraph,
    SideInformation,
    check_exponent,
)
from pliant.methods.supervised.learner import KernelLearner, LearnedGram, LogDetKernel, PSDPart
from pliant.methods.supervised.scg_folds import FoldSpectrum
from pliant.methods.supervised.scg_problem import SCGLogDet, SCGLogDetPath, graph_size

Candidate: TypeAlias = tuple[float, float]
"""A strength, and the exponent beta of the weights."""

Embed: TypeAlias = Callable[[Array], Callable[[Array], Array]]
"""Computes the components of a kernel matrix; raises ValueError if there are too few."""

STRENGTHS = tuple(10.0**power for power in range(-1, 7))
"""Candidates for strength="auto"."""

DEFAULT_STRENGTH = 100.0
"""The result of strength="auto" if no label or pair can be held out."""

N_FOLDS = 5
"""Number of cross-validation folds."""


@dataclass(eq=False, repr=False)
class SCGLogDetLearner(KernelLearner):
    r"""Learn a kernel that is smooth over the graph of known pairs, in closed form (SCG-LDK).

    .. math::

        \min_K \; D_{ld}(K, K_0) + \gamma \, \mathrm{tr}(K S), \qquad
        K = (K_0^{-1} + \gamma S)^{-1},

    Eqs. 27 and 29 of [1]_, where S is the normalised Laplacian of the supervised complete graph
    with the weights :math:`W_{ij} = e^{\beta T_{ij}}`. T is +1 for similar points, -1 for
    dissimilar points, and 0 for unknown pairs. The learned kernel is a function of any two points,

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
        nor on the units of the kernel. If False, the strength is the :math:`\gamma` of the paper;
        "auto" then divides its choice by the sum.
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
        The optimal value, log det(I + gamma S K0).
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
        part = PSDPart.of(kernel, support[members])
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
        self.kernel_ = learned = LogDetKernel(kernel, support[members], Q)
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


def unit_scale(gram: Array) -> float:
    """Return the factor that scales a Gram matrix to unit variance in feature space.

    If all points are equal, the factor scales k(x, x) to 1, since an SVM solver may not terminate
    for large equal values.
    """
    # the mean of |phi(x_i) - mean phi|^2 is the mean of the diagonal minus the mean of the matrix
    size = float(gram.diagonal().mean())
    variance = size - float(gram.mean())
    spread = variance if variance > 1e-10 * size else size  # smaller values are rounding errors
    return 1.0 / spread if spread > 0.0 else 1.0


def draw_sample(
    information: SideInformation, graph: GraphKind, max_points: int, rng: RandomState
) -> tuple[Indices, SideInformation]:
    """Return the row indices of a sample of the points, and its side information.

    The sample has at most `max_points` known points and, with labels and the complete graph, at
    most `max_points` unknown points.
    """
    if information.labels is None:
        drawn = _draw_stratified(information.signs, max_points // 4, rng)
        pairs, signs = information.pairs[drawn], information.signs[drawn]
        rows, positions = np.unique(pairs, return_inverse=True)
        positions = positions.reshape(-1, 2)
        parts = [positions[signs == sign] for sign in (1, -1)]
        return rows, SideInformation.from_pairs(len(rows), *parts)
    rows = information.known
    rows = rows[_draw_stratified(information.labels[rows], max_points, rng)]
    if graph == "complete":
        unknown = np.flatnonzero(information.labels < 0)
        if len(unknown) > max_points:
            unknown = np.sort(rng.choice(unknown, max_points, replace=False))
        rows = np.union1d(rows, unknown)
    return rows, SideInformation.from_labels(information.labels[rows], unlabeled=-1)


def score_candidates(
    gram: Array,
    known: SideInformation,
    candidates: Sequence[Candidate],
    *,
    graph: GraphKind,
    scale_strength: bool,
    rng: RandomState,
    n_components: int | None = None,
    center: bool = True,
) -> Array:
    """Return the mean score of each candidate over the folds; nan if no fold has a score.

    The score is the accuracy on held-out labels of a support vector machine with C = 1 or, with
    `n_components`, of a nearest-neighbour classifier on the components, centred if `center`. For
    pairs, it is the area under the ROC curve of distances. `gram` is the base kernel matrix on the
    points of `known`. `graph` and `scale_strength` are parameters of `SCGLogDetLearner`.
    """
    folds, embed = _assign_folds(known, rng), None
    if n_components is not None:
        embed = partial(Components.of_gram, n_components=n_components, center=center)
        if known.labels is not None and graph == "labeled":
            scores = _score_embeddings(
                gram, known, folds, candidates, n_components, center, scale_strength
            )
            return _mean_over_folds(scores)
    path = SCGLogDetPath(gram)
    score = _score_labels if known.labels is not None else _score_pairs
    scores = np.empty((len(candidates), N_FOLDS))
    for row, (strength, beta) in zip(scores, candidates, strict=True):
        learn = partial(
            path.gram, strength=strength, beta=beta, graph=graph, scale_strength=scale_strength
        )
        for fold in range(N_FOLDS):
            row[fold] = score(learn, known, folds == fold, embed)
    return _mean_over_folds(scores)


def _mean_over_folds(scores: Array) -> Array:
    """Return the mean of each row; nan if a candidate fails in a fold that scores another one."""
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    return scores.mean(axis=1) if scores.size else np.full(len(scores), np.nan)


def _assign_folds(known: SideInformation, rng: RandomState) -> Indices:
    """Return the fold of each labelled point, or of each pair, stratified by class or sign."""
    strata = known.signs if known.labels is None else known.labels[known.known]
    # in random order within each stratum, the items get the folds 0, 1, 2, 3, 4, 0, 1, ...
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    folds = np.empty(len(strata), dtype=np.intp)
    folds[order] = np.arange(len(strata)) % N_FOLDS
    return folds


def _split_labels(known: SideInformation, held: Mask) -> tuple[Indices, Indices] | None:
    """Return the training and held-out rows; None if the labels cannot be held out."""
    labels, rows = known.labels, known.known
    assert labels is not None
    train, test = rows[~held], rows[held]
    # the training rows need at least two classes, one of which must be among the held-out rows
    if not np.isin(labels[test], labels[train]).any() or len(np.unique(labels[train])) < 2:
        return None
    return train, test


def _score_embeddings(
    gram: Array,
    known: SideInformation,
    folds: Indices,
    candidates: Sequence[Candidate],
    n_components: int,
    center: bool,
    scale_strength: bool,
) -> Array:
    """Return the accuracy of each candidate and fold on held-out labels, for graphs of labels.

    Each fold takes one eigendecomposition of the base kernel matrix, O(n^3), and each candidate
    O(n^2) for products of few columns.
    """
    labels, scores = known.labels, np.full((len(candidates), N_FOLDS), np.nan)
    assert labels is not None
    for fold in range(N_FOLDS):
        split = _split_labels(known, folds == fold)
        if split is None:
            continue
        train, test = split
        spectrum = FoldSpectrum.of(gram, train, test)
        size = graph_size(gram.diagonal()[train]) if scale_strength else 1.0
        kernels = {
            beta: spectrum.on_graph(LabelGraph(train, labels[train], beta))
            for beta in {beta for _, beta in candidates}
        }
        for row, (strength, beta) in zip(scores, candidates, strict=True):
            with suppress(ValueError, np.linalg.LinAlgError):  # too few components
                points, new = kernels[beta].embed(strength / size, n_components, center=center)
                row[fold] = neighbor_accuracy(points, labels[train], new, labels[test])
    return scores


def neighbor_accuracy(points: Array, labels: Indices, new: Array, truth: Indices) -> float:
    """Return the accuracy of a vote of the five nearest points; the lowest class wins a tie.

    Raise ValueError if a point is not finite.
    """
    if not (np.isfinite(points).all() and np.isfinite(new).all()):
        raise ValueError("expected finite components")
    _, nearest = KDTree(points).query(new, np.arange(1, min(5, len(points)) + 1))
    votes = (labels[nearest][:, :, None] == np.arange(labels.max() + 1)).sum(axis=1)
    return float(np.mean(votes.argmax(axis=1) == truth))


def _score_labels(
    learn: Callable[..., Array], known: SideInformation, held: Mask, embed: Embed | None
) -> float:
    """Return the score on the held-out labels; nan if they cannot be held out."""
    from sklearn.svm import SVC

    labels, split = known.labels, _split_labels(known, held)
    if labels is None or split is None:
        return math.nan
    train, test = split
    visible = np.full(known.n_samples, -1)
    visible[train] = labels[train]
    gram = learn(SideInformation.from_labels(visible, unlabeled=-1), columns=train)
    train_inputs, test_inputs = gram[train], gram[test]
    try:
        if embed is not None:
            components = embed(train_inputs)
            points, new = components(train_inputs), components(test_inputs)
            return neighbor_accuracy(points, labels[train], new, labels[test])
        scale = unit_scale(train_inputs)
        model = SVC(kernel="precomputed").fit(scale * train_inputs, labels[train])
        return float(np.mean(model.predict(scale * test_inputs) == labels[test]))
    except ValueError:  # too few components, or values that SVC rejects
        return math.nan


def _score_pairs(
    learn: Callable[..., Array], known: SideInformation, held: Mask, embed: Embed | None
) -> float:
    """Return the score on the held-out pairs; nan if they cannot be held out."""
    from sklearn.metrics import roc_auc_score

    pairs, signs = known.pairs, known.signs
    if len(np.unique(signs[held])) < 2 or held.all():  # no ROC curve, or no training pairs
        return math.nan
    parts = [pairs[~held & (signs == sign)] for sign in (1, -1)]
    train = SideInformation.from_pairs(known.n_samples, *parts)
    gram, (i, j) = learn(train), pairs[held].T
    # the decision value of a pair is its negative squared distance
    if embed is None:
        return float(roc_auc_score(signs[held], 2.0 * gram[i, j] - gram[i, i] - gram[j, j]))
    columns = gram[:, train.known]
    try:
        points = embed(columns[train.known])(columns)
    except ValueError:  # too few components
        return math.nan
    return float(roc_auc_score(signs[held], -((points[i] - points[j]) ** 2).sum(axis=1)))


def _draw_stratified(strata: Indices | Array, max_items: int, rng: RandomState) -> Indices:
    """Return the positions of at most `max_items` items, in proportion to the size of their strata.

    The first `N_FOLDS` items of each stratum, in random order, are drawn before all others.
    """
    if len(strata) <= max_items:
        return np.arange(len(strata))
    order = rng.permutation(len(strata))
    _, stratum, sizes = np.unique(strata[order], return_inverse=True, return_counts=True)
    by_stratum = np.argsort(stratum, kind="stable")
    # the rank of each item within its stratum, and the fraction of the stratum before it
    rank = np.empty(len(strata), dtype=np.intp)
    rank[by_stratum] = np.arange(len(strata)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = np.where(rank < N_FOLDS, 0.0, (rank + 0.5) / sizes[stratum])
    return np.sort(order[np.argsort(share, kind="stable")[:max_items]])
