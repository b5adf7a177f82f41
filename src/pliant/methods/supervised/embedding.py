"""Embeddings: the coordinates in which a learned kernel varies most, with chosen settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from pliant.core.blocks import in_blocks
from pliant.core.text import one_line
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    Constraint,
    check_flag,
    check_parameters,
    check_random_state,
    fresh,
    integer,
    optional,
    validate_data,
)
from pliant.kernels.base import Kernel
from pliant.methods.summary import Summary
from pliant.methods.supervised.information import check_exponent
from pliant.methods.supervised.kernels import (
    GRAPH_NEIGHBORS,
    Components,
    LogDetKernel,
    base_kernel,
    component_inputs,
    resolve_columns_of,
)
from pliant.methods.supervised.learner import KernelLearner, LearnedMatrix
from pliant.methods.supervised.scg import (
    FALLBACK,
    Candidate,
    SCGLogDetLearner,
    mean_scores,
)

STRENGTHS = tuple(10.0**power for power in range(8))
BETAS = (1.0, 2.0, 4.0)

MAX_POINTS = 1000
"""Maximum number of points with side information on which settings are compared."""


def _check_betas(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a sequence of at least one exponent."""
    if np.ndim(value) != 1 or not np.size(value):
        raise ValueError(f"expected {name} to be a sequence of numbers, got {value!r}")
    for number in value:
        check_exponent(name, number)


class KernelEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Kernel PCA of a learned kernel: an embedding of all points, new ones included.

    .. math::

        f(x) = \Lambda^{-1/2} U' \left( k(X, x) - \frac{1}{n} k(X, X) 1 \right),

    where :math:`U, \Lambda` are the largest eigenvectors and eigenvalues of the centred matrix of
    the learned kernel k on n points X: the fit points in the graph or in the pairs of the learner,
    all of them if all are labelled. Points of the same class, or in similar pairs, are mapped near
    each other, and so are new points that resemble them.

    The strength and the exponent of the weights of an `SCGLogDetLearner` are chosen by
    cross-validation on the training points: those whose f has the best accuracy of nearest
    neighbours on hidden labels (for pairs: whose distances best separate hidden similar pairs from
    dissimilar ones).

    Parameters
    ----------
    learner : estimator, optional
        Learns the kernel: an `SCGLogDetLearner`, an `OrderSpectralLearner` or a `LogDetLearner`.
        None means an `SCGLogDetLearner` with ``kernel="graph"`` or ``kernel="gaussian"``,
        whichever has the better score.
    n_components : int, default=2
        Number of coordinates.
    betas : sequence of float, optional
        Candidates for the beta of an `SCGLogDetLearner`; by default 1, 2 and 4 if its strength is
        "auto", else its beta alone.
    center : bool, default=True
        Whether the kernel is centred first. If False, f consists of the largest eigenvectors of
        the kernel matrix as it is, :math:`f(x) = \Lambda^{-1/2} U' k(X, x)`, as in Figure 1 of
        [1]_.
    random_state : int, RandomState or None, default=None
        Seed of the folds.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    kernel_ : Kernel
        The learned kernel.
    strength_, beta_ : float
        The chosen settings of an `SCGLogDetLearner`.
    choice_scores_ : dict of str to float
        The mean score of each candidate, such as "graph, strength=100, beta=1"; nan if nothing
        could be hidden.
    components_ : Components
        The coefficients of f; ``components_.variances`` holds the eigenvalues.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    The kernel matrix is centred by default, since the direction that the supervised graph damps
    least is nearly constant: without `center` it becomes the first coordinate. With
    kernel="graph" the neighbour graph has all training points, those with hidden labels included;
    it uses no labels.

    References
    ----------
    .. [1] B. Pan, W.-S. Chen, B. Chen, C. Xu. Efficient learning of supervised kernels with a
       graph-based loss function. Information Sciences, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import KernelEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> embedding = KernelEmbedding(random_state=0).fit(X[::2], y[::2])
    >>> embedding.transform(X[1::2]).shape
    (75, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": integer(least=1),
        "center": check_flag,
        "betas": optional(_check_betas),
    }

    def __init__(
        self,
        learner: Any = None,
        n_components: int = 2,
        betas: Sequence[float] | None = None,
        center: bool = True,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.n_components = n_components
        self.betas = betas
        self.center = center
        self.random_state = random_state

    def _check_combinations(self) -> None:
        learner = self.learner
        if learner is None or isinstance(learner, SCGLogDetLearner):
            return
        if not isinstance(learner, KernelLearner):
            raise TypeError(
                "expected learner to be an SCGLogDetLearner, OrderSpectralLearner or "
                f"LogDetLearner, got {one_line(learner)}"
            )
        if self.betas is not None:
            raise ValueError(
                f"expected betas=None, as {type(learner).__name__} has none, got {self.betas!r}"
            )

    @blas_limited
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Self:
        """Choose the settings, learn the kernel, and compute its components.

        Parameters
        ----------
        X, y, similar, dissimilar
            Samples, and labels or pairs of row indices, as the ``fit`` of the learner takes them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, or the data or the side information are unsuitable.
        """
        with fresh(self):
            check_parameters(self)
            points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            known = {"y": y, "similar": similar, "dissimilar": dissimilar}
            seed = check_random_state(self.random_state).randint(2**31 - 1)  # equal folds for all
            learners = self._learners(points)
            learner = learners[0]
            if isinstance(learner, SCGLogDetLearner):
                learner, self.choice_scores_ = self._choose(learners, points, known, seed)
            learned = learner._fit(points, **known)
            if isinstance(learner, SCGLogDetLearner):
                self.strength_, self.beta_ = learner.strength_, learner.beta
            self.components_ = self._components(learner, learned)
            self.learner_ = learner
        return self

    def _components(self, learner: KernelLearner, learned: LearnedMatrix) -> Components:
        """Return the components of the points in the graph, or of all; see `component_inputs`."""
        kernel, members = learner.kernel_, learner._members()
        gram = learned(members)
        if not isinstance(kernel, LogDetKernel):
            return Components.of_gram(gram, self.n_components, center=self.center)
        size = float(kernel.base.diag(kernel.points).max())
        components = Components.of_gram(gram, self.n_components, size, center=self.center)
        return components.on_base(kernel, center=self.center)

    def _learners(self, points: Array) -> list[Any]:
        """Return the learners to choose from."""
        if self.learner is None:
            learners = [SCGLogDetLearner("graph"), SCGLogDetLearner("gaussian")]
            if len(np.unique(points, axis=0)) <= GRAPH_NEIGHBORS:
                learners = learners[1:]
        else:
            learners = [clone(self.learner)]
        for learner in learners:
            resolve_columns_of(learner, self, points.shape[1])
            check_parameters(learner)
            if learner.get_params(deep=False).get("random_state", 0) is None:
                learner.set_params(random_state=self.random_state)
        return learners

    def _choose(
        self, learners: list[SCGLogDetLearner], points: Array, known: dict[str, Any], seed: int
    ) -> tuple[SCGLogDetLearner, dict[str, float]]:
        """Return the learner with the best settings, and the score of each candidate."""
        trials = [(each, candidate) for each in learners for candidate in self._candidates(each)]
        scores = np.full(len(trials), np.nan)
        if len(trials) > 1:
            scores = np.concatenate([self._scores(each, points, known, seed) for each in learners])
        learner, (strength, beta) = trials[0]
        if not np.isnan(scores).all():
            learner, (strength, beta) = trials[int(np.nanargmax(scores))]
        elif isinstance(learner.strength, str):
            strength = FALLBACK
        names = [_setting(each, *candidate) for each, candidate in trials]
        return (
            learner.set_params(strength=strength, beta=beta),
            dict(zip(names, scores.tolist(), strict=True)),
        )

    def _scores(
        self, learner: SCGLogDetLearner, X: Array, known: dict[str, Any], seed: int
    ) -> Array:
        """Return the mean score of each candidate for one learner."""
        points, information = learner._checked_data(X, **known)
        names = getattr(learner, "feature_names_in_", None)
        base = base_kernel(learner.kernel, points, learner.gamma, names)
        sampled = len(information.known) > MAX_POINTS
        on_graph = isinstance(learner.kernel, str) and learner.kernel == "graph"

        def base_of_sample(sample: Array) -> Kernel:
            # the graph of all points would have an advantage over kernels that see a sample only
            return base_kernel("graph", sample, "scale") if on_graph and sampled else base

        return mean_scores(
            base_of_sample,
            learner._kernel_points(points),
            information,
            self._candidates(learner),
            partial(Components.of_gram, n_components=self.n_components, center=self.center),
            graph=learner.graph,
            scale_strength=learner.scale_strength,
            rng=check_random_state(seed),
            max_points=MAX_POINTS,
        )

    def _candidates(self, learner: SCGLogDetLearner) -> list[Candidate]:
        auto = isinstance(learner.strength, str)
        strengths = STRENGTHS if auto else (float(learner.strength),)
        betas = self.betas
        if betas is None:
            betas = BETAS if auto else (learner.beta,)
        # the outer loop is over strengths: all betas share the resolvent of a strength
        return [(strength, float(beta)) for strength in strengths for beta in betas]

    @property
    def kernel_(self) -> Kernel:
        """The learned kernel."""
        check_is_fitted(self)
        kernel: Kernel = self.learner_.kernel_
        return kernel

    @blas_limited
    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the coordinates f of points, shape (n_samples, n_components).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For a learner with kernel="precomputed" kernel values between new and fit points.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        kernel, support = self.learner_.kernel_, self.learner_.support_vectors_

        def coordinates(block: Array) -> Array:
            return self.components_(component_inputs(kernel, block, support))

        return np.asarray(in_blocks(points, len(support), coordinates))

    def summary(self) -> Summary:
        """Return the summary of the learner."""
        check_is_fitted(self)
        summary: Summary = self.learner_.summary()
        return summary

    @property
    def _n_features_out(self) -> int:
        return len(self.components_.variances)

    def __sklearn_tags__(self) -> Any:
        """Declare that targets are required, and whether X holds kernel values."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if isinstance(self.learner, KernelLearner):
            tags.input_tags.pairwise = get_tags(self.learner).input_tags.pairwise
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, are inconsistent."""
        learner = self.learner_
        if not isinstance(learner, KernelLearner):
            raise ValueError(f"expected a kernel learner, got {type(learner).__name__}")
        if not isinstance(self.components_, Components):
            raise ValueError(f"expected Components, got {self.components_!r:.100}")


def _setting(learner: SCGLogDetLearner, strength: float, beta: float) -> str:
    """Return the name of a candidate."""
    kernel = learner.kernel if isinstance(learner.kernel, str) else type(learner.kernel).__name__
    return f"{kernel}, strength={strength:g}, beta={beta:g}"
