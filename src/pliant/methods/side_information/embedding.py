"""A few coordinates in which a learned kernel varies most, for the eye and for neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pliant.core.kernels.base import Kernel
from pliant.core.typing import Array
from pliant.core.validation import check_integer, check_real, fresh
from pliant.methods.side_information.base_gram import GRAPH_NEIGHBORS, base_kernel
from pliant.methods.side_information.hidden_scores import ComponentScore
from pliant.methods.side_information.information.graph import check_beta
from pliant.methods.side_information.learner import KernelLearner
from pliant.methods.side_information.scg import SCGLogDetLearner
from pliant.methods.side_information.strength import FALLBACK, Candidate, best_candidate

__all__ = ["KernelEmbedding"]

STRENGTHS = tuple(10.0**power for power in range(8))
BETAS = (1.0, 2.0, 4.0)

MOST_ROWS = 1000
"""Settings are compared on at most so many of the points that something is known of."""


class KernelEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Centred kernel PCA of a learned kernel: a map of all points, new ones too.

    .. math::

        f(x) = \Lambda^{-1/2} U' \left( k(X, x) - \frac{1}{n} k(X, X) 1 \right),

    where :math:`U, \Lambda` are the largest eigenvectors and eigenvalues of the centred matrix of
    the learned kernel k on n points X: those of the fit points that the graph or the pairs of the
    learner extend over, all of them if all are labelled. Points of the same class, or said to be
    similar, come to lie together, and so do new points that are like them.

    The strength and the weights' exponent of a `SCGLogDetLearner` are chosen on the training
    points: those whose f has the best accuracy of nearest neighbours on labels that were hidden
    (for pairs: whose kernel best tells hidden similar pairs from dissimilar ones).

    Parameters
    ----------
    learner : estimator, optional
        What learns the kernel: an `SCGLogDetLearner`, an `OrderSpectralLearner` or a
        `LogDetLearner`. None: an `SCGLogDetLearner` with ``kernel="graph"`` or with
        ``kernel="gaussian"``, whichever does better in the choice below.
    n_components : int, default=2
        Coordinates.
    strengths : sequence of float, optional
        What to choose from, for an `SCGLogDetLearner`; by default powers of ten from 1 to 1e7 if
        its strength is "auto", else its strength.
    betas : sequence of float, optional
        By default 1, 2 and 4 if its strength is "auto", else its beta.
    n_neighbors : int, default=5
        Neighbours that vote, in the choice.
    random_state : int, RandomState or None, default=None
        For the folds of the choice.

    Attributes
    ----------
    learner_ : estimator
        Fitted.
    kernel_ : Kernel
        The learned kernel.
    strength_, beta_ : float
        The choice, for an `SCGLogDetLearner`.
    choice_scores_ : dict of str to float
        The mean score of each setting that was tried, such as "graph, strength=100, beta=1"; nan
        if nothing could be hidden.
    components_ : Components
        What f is made of; ``components_.variances`` holds the eigenvalues.
    n_features_in_ : int

    Notes
    -----
    The kernel matrix is centred, since the direction that the supervised graph damps least is
    nearly constant. With kernel="graph" the graph has all training points, those with hidden
    labels too; it uses no labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pliant import KernelEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> embedding = KernelEmbedding(random_state=0).fit(X[::2], y[::2])
    >>> embedding.transform(X[1::2]).shape
    (75, 2)
    """

    def __init__(
        self,
        learner: Any = None,
        n_components: int = 2,
        strengths: Sequence[float] | None = None,
        betas: Sequence[float] | None = None,
        n_neighbors: int = 5,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.n_components = n_components
        self.strengths = strengths
        self.betas = betas
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _learners(self, points: Array) -> list[Any]:
        """Return the learners to choose from, which give kernel values and not components."""
        if self.learner is None:
            learners = [SCGLogDetLearner("graph"), SCGLogDetLearner("gaussian")]
            if len(np.unique(points, axis=0)) <= GRAPH_NEIGHBORS:
                learners = learners[1:]
        else:
            learners = [clone(self.learner)]
        for learner in learners:
            learner._check_parameters()
            if isinstance(learner, SCGLogDetLearner):
                learner.set_params(n_components=None)
            if getattr(learner, "random_state", 0) is None:
                learner.set_params(random_state=self.random_state)
        return learners

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        similar: npt.ArrayLike | None = None,
        dissimilar: npt.ArrayLike | None = None,
    ) -> Self:
        """Choose the settings, learn the kernel, find its components.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for a learner with kernel="precomputed"
        y : array-like of shape (n,), optional
            Classes; the value `unlabeled` of the learner for points of unknown class.
        similar, dissimilar : array-like of shape (m, 2), optional
            Pairs of row numbers, in place of `y`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a parameter out of range, or data or side information that cannot be learned from.
        """
        with fresh(self):
            self._fit(X, {"y": y, "similar": similar, "dissimilar": dissimilar})
        return self

    def _fit(self, X: Any, known: dict[str, Any]) -> None:
        count = check_integer("n_components", self.n_components, least=1)
        check_integer("n_neighbors", self.n_neighbors, least=1)
        _check_learner(self.learner)
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        seed = check_random_state(self.random_state).randint(2**31 - 1)  # the same folds for all
        learner = self._chosen_learner(points, known, count, seed)
        learned = learner._fit(points, **known)
        self.components_ = learner._components_of(learned, count)
        self.learner_ = learner

    def _chosen_learner(
        self, points: Array, known: dict[str, Any], count: int, seed: int
    ) -> KernelLearner:
        """Return the learner to fit, with the settings that do best on hidden labels or pairs."""
        learners = self._learners(points)
        trials = [
            (learner, candidate)
            for learner in learners
            if isinstance(learner, SCGLogDetLearner)
            for candidate in self._candidates(learner)
        ]
        if not trials:
            self._refuse_settings(learners[0])
            return learners[0]
        scores = np.full(len(trials), np.nan)
        if len(trials) > 1:
            scores = np.concatenate(
                [self._scores(each, points, known, count, seed) for each in learners]
            )
        learner, (strength, beta) = trials[0]
        if len(trials) > 1 and np.isnan(scores).all():
            strength = FALLBACK if self.strengths is None else strength
        elif len(trials) > 1:
            learner, (strength, beta) = trials[int(np.nanargmax(scores))]
        self.strength_, self.beta_ = strength, beta
        names = [_setting(each, candidate) for each, candidate in trials]
        self.choice_scores_ = dict(zip(names, scores.tolist(), strict=True))
        return learner.set_params(strength=strength, beta=beta)

    def _refuse_settings(self, learner: KernelLearner) -> None:
        for name in ("strengths", "betas"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"expected {name}=None, as {type(learner).__name__} has none, got "
                    f"{getattr(self, name)!r}"
                )

    def _scores(
        self, learner: SCGLogDetLearner, X: Array, known: dict[str, Any], count: int, seed: int
    ) -> Array:
        """Return the score of each candidate on what is hidden."""
        learner._check_parameters()
        points, information = learner._checked(X, **known)
        base = base_kernel(learner.kernel, points, learner.gamma)
        sampled = len(information.known) > MOST_ROWS
        on_graph = isinstance(learner.kernel, str) and learner.kernel == "graph"

        def of_sample(sample: Array) -> Kernel:
            # the graph of all points would be ahead of kernels that learn from a sample
            return base_kernel("graph", sample, "scale") if on_graph and sampled else base

        _, scores = best_candidate(
            of_sample,
            learner._named(points),
            information,
            self._candidates(learner),
            graph=learner.graph,
            scale_strength=learner.scale_strength,
            rng=check_random_state(seed),
            most=MOST_ROWS,
            score=ComponentScore(count, self.n_neighbors),
        )
        return scores

    def _candidates(self, learner: SCGLogDetLearner) -> list[Candidate]:
        auto = isinstance(learner.strength, str)
        strengths = self.strengths
        if strengths is None:
            strengths = STRENGTHS if auto else (float(learner.strength),)
        betas = self.betas
        if betas is None:
            betas = BETAS if auto else (learner.beta,)
        for name, values in (("strengths", strengths), ("betas", betas)):
            if np.ndim(values) != 1 or not np.size(values):
                raise ValueError(f"expected {name} to be a sequence of numbers, got {values!r}")
        return [
            Candidate(check_real("strengths", strength, above=0), check_beta(beta))
            for strength in strengths  # one after the other: they share most for all betas
            for beta in betas
        ]

    @property
    def kernel_(self) -> Kernel:
        """The learned kernel."""
        check_is_fitted(self)
        kernel: Kernel = self.learner_.kernel_
        return kernel

    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the coordinates f of points, shape (m, n_components).

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) for a learner with kernel="precomputed"
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        learner = self.learner_
        return learner._in_blocks(points, lambda block: self.components_(learner._rows(block)))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_.variances)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that targets are needed, and what a precomputed matrix is."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if isinstance(self.learner, KernelLearner):
            tags.input_tags.pairwise = get_tags(self.learner).input_tags.pairwise
        return tags

    def _check_loaded(self) -> None:
        """Raise ValueError if attributes, read from a file, do not belong together."""
        if not isinstance(self.learner_, KernelLearner):
            raise ValueError(f"expected a kernel learner, got {type(self.learner_).__name__}")
        self.components_.check(self.learner_._width(), len(self.components_.variances))


def _check_learner(learner: Any) -> None:
    if learner is not None and not isinstance(learner, KernelLearner):
        raise TypeError(
            "expected learner to be an SCGLogDetLearner, OrderSpectralLearner or LogDetLearner, "
            f"got {learner!r}"
        )


def _setting(learner: SCGLogDetLearner, candidate: Candidate) -> str:
    """Return what a setting is called."""
    kernel = learner.kernel if isinstance(learner.kernel, str) else type(learner.kernel).__name__
    return f"{kernel}, strength={candidate.strength:g}, beta={candidate.beta:g}"
