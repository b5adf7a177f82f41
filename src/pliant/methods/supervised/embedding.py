"""Embeddings: kernel PCA of a learned kernel, with settings chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from pliant.core.blocks import in_blocks
from pliant.core.estimators import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_is_fitted,
    clone,
)
from pliant.core.form import Object, SavedForm
from pliant.core.parameters import (
    Constraint,
    check_flag,
    check_parameters,
    check_random_state,
    integer,
    optional,
)
from pliant.core.sparse import row_keys
from pliant.core.state import reads, trains
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import validate_data
from pliant.kernels.base import Kernel
from pliant.methods.summary import Summary
from pliant.methods.supervised.components import Components
from pliant.methods.supervised.information import check_exponent
from pliant.methods.supervised.learner import (
    KernelLearner,
    LearnedGram,
    LogDetKernel,
    PSDPart,
    base_kernel,
    check_learner,
    resolve_columns_of,
)
from pliant.methods.supervised.scg import SCGLogDetLearner
from pliant.methods.supervised.scg_choice import (
    DEFAULT_STRENGTH,
    Candidate,
    draw_sample,
    score_candidates,
)

STRENGTHS = tuple(10.0**power for power in range(8))
BETAS = (1.0, 2.0, 4.0)
"""Candidate settings for an `SCGLogDetLearner` with strength="auto"."""

MAX_POINTS = 1000
"""Maximum number of points with side information used to cross-validate the settings."""


def _check_betas(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a sequence of at least one exponent."""
    if np.ndim(value) != 1 or not np.size(value):
        raise ValueError(f"expected {name} to be a sequence of numbers, got {value!r}")
    for number in value:
        check_exponent(name, number)


@dataclass(eq=False, repr=False)
class KernelEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Kernel PCA of a learned kernel: an embedding of training points and new points.

    .. math::

        f(x) = \Lambda^{-1/2} U' \left( k(X, x) - \frac{1}{n} k(X, X) 1 \right),

    where :math:`\Lambda` and U hold the leading eigenvalues and eigenvectors of the centred
    kernel matrix on n points X: the training points in the learner's graph or pairs, or all
    training points for an `OrderSpectralLearner`. Points of the same class, or in similar pairs,
    are mapped close together, and so are similar new points.

    Cross-validation on the training points chooses the strength and the exponent beta of an
    `SCGLogDetLearner`. The score is the accuracy of a nearest-neighbour classifier on f(x) for
    held-out labels. For held-out pairs, it is the area under the ROC curve of embedded distances.
    With ``strength="auto"``, the candidates are the powers of ten from 1 to 1e7, because embeddings
    need larger strengths than classifiers; the learner alone tries 1e-1 to 1e6. They are scaled to
    the size of the graph, also with ``scale_strength=False``, which ``learner_`` then has as True.

    Parameters
    ----------
    learner : estimator, optional
        Kernel learner: `SCGLogDetLearner`, `OrderSpectralLearner` or `LogDetLearner`.
        None chooses between an `SCGLogDetLearner` with ``kernel="graph"`` and one with
        ``kernel="gaussian"``.
    n_components : int, default=2
        Number of coordinates. Two suit a plot; before a classifier, use the number of classes minus
        one.
    betas : sequence of float, optional
        Candidates for the beta of an `SCGLogDetLearner`. The default is 1, 2 and 4 if its strength
        is "auto", otherwise its own beta.
    center : bool, default=True
        If False, the kernel is not centred: :math:`f(x) = \Lambda^{-1/2} U' k(X, x)`, with the
        leading eigenpairs of the kernel matrix, as in Figure 1 of [1]_.
    random_state : int, RandomState or None, default=None
        Random seed for the folds.

    Attributes
    ----------
    learner_ : estimator
        The fitted learner.
    kernel_ : Kernel
        The learned kernel.
    strength_, beta_ : float
        The settings of an `SCGLogDetLearner`, fixed or chosen.
    choice_scores_ : dict of str to float
        Mean score of each candidate, such as "graph, strength=100, beta=1"; nan if no label or
        pair could be held out.
    components_ : Components
        The coefficients of f; ``components_.variances`` holds the eigenvalues.
    n_features_in_ : int
        Number of features seen during fit.

    Notes
    -----
    The supervised graph damps a nearly constant direction least. This direction would be the first
    coordinate if the kernel matrix were not centred. With kernel="graph", the neighbour graph
    of each fold contains all training points; it uses no labels.

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

    learner: KernelLearner | None = None
    n_components: int = 2
    betas: Sequence[float] | None = None
    center: bool = True
    random_state: Any = None
    _form: ClassVar[SavedForm] = {
        "learner_": Object(KernelLearner),
        "components_": Object(Components),
    }

    strength_: float = field(init=False)
    beta_: float = field(init=False)

    def _check_combinations(self) -> None:
        learner = self.learner
        if learner is None or isinstance(learner, SCGLogDetLearner):
            return
        check_learner(learner)
        if self.betas is not None:
            raise ValueError(
                f"expected betas=None, as {type(learner).__name__} has no beta, got {self.betas!r}"
            )

    @blas_limited
    @trains
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
            Samples, and labels or pairs of row indices, as in the ``fit`` of the learner.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of range, or the data or the side information are unsuitable.
        """
        check_parameters(self)
        points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        known = {"y": y, "similar": similar, "dissimilar": dissimilar}
        self.learner_: KernelLearner = self._choose_learner(points, known)
        learned = self.learner_._fit(points, **known)
        self.components_: Components = self._compute_components(learned)
        return self

    def _build_learners(self, points: Array) -> list[Any]:
        """Return the candidate learners, with validated parameters."""
        if self.learner is not None:
            learners = [clone(self.learner)]
        elif len(set(row_keys(points))) <= 5:  # too few points for a graph with 5 neighbours
            learners = [SCGLogDetLearner("gaussian")]
        else:
            learners = [SCGLogDetLearner("graph"), SCGLogDetLearner("gaussian")]
        for learner in learners:
            resolve_columns_of(learner, self, points.shape[1])
            check_parameters(learner)
            if learner.get_params(deep=False).get("random_state", 0) is None:
                learner.set_params(random_state=self.random_state)
        return learners

    def _choose_learner(self, points: Array, known: dict[str, Any]) -> KernelLearner:
        """Return the learner to fit; store the settings and scores of an `SCGLogDetLearner`."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)  # same folds for all
        learners = self._build_learners(points)
        if not isinstance(learners[0], SCGLogDetLearner):
            return learners[0]
        trials = [(each, pair) for each in learners for pair in self._list_candidates(each)]
        scores = np.full(len(trials), np.nan)
        if len(trials) > 1:
            scores = np.hstack(
                [self._score_learner(each, points, known, seed) for each in learners]
            )
        scored = not np.isnan(scores).all()
        learner, (strength, beta) = trials[int(np.nanargmax(scores)) if scored else 0]
        automatic = learner.strength == "auto"
        if automatic and not scored:
            strength = DEFAULT_STRENGTH
        self.choice_scores_: dict[str, float] = {}
        for (each, (s, b)), score in zip(trials, scores.tolist(), strict=True):
            name = each.kernel if isinstance(each.kernel, str) else type(each.kernel).__name__
            self.choice_scores_[f"{name}, strength={s:g}, beta={b:g}"] = score
        self.strength_, self.beta_ = strength, beta
        scaled = learner.scale_strength or automatic
        return learner.set_params(strength=strength, beta=beta, scale_strength=scaled)

    def _list_candidates(self, learner: SCGLogDetLearner) -> list[Candidate]:
        """Return the candidate settings of a learner."""
        auto = learner.strength == "auto"
        strengths = STRENGTHS if auto else (float(learner.strength),)
        betas = self.betas
        if betas is None:
            betas = BETAS if auto else (learner.beta,)
        # strengths vary slowest, so that all betas of a strength share its resolvent
        return list(product(strengths, map(float, betas)))

    def _score_learner(
        self, learner: SCGLogDetLearner, X: Array, known: dict[str, Any], seed: int
    ) -> Array:
        """Return the mean score of each candidate setting of a learner, on a sample of points."""
        points, information = learner._validate(X, **known)
        rng = check_random_state(seed)
        rows, sample = draw_sample(information, learner.graph, MAX_POINTS, rng)
        sampled, base = learner.support_vectors_[rows], learner._base_kernel(points)
        on_graph = isinstance(learner.kernel, str) and learner.kernel == "graph"
        if on_graph and len(information.known) > MAX_POINTS:
            # the graph of all points would have an advantage over kernels fitted to a sample
            base = base_kernel("graph", sampled, "scale")
        return score_candidates(
            PSDPart.of(base, sampled).gram,
            sample,
            self._list_candidates(learner),
            graph=learner.graph,
            scale_strength=learner.scale_strength or learner.strength == "auto",
            rng=rng,
            n_components=self.n_components,
            center=self.center,
        )

    def _compute_components(self, learned: LearnedGram) -> Components:
        """Compute the components from the kernel matrix of the learner's members.

        The components of a `LogDetKernel` are functions of its base kernel.
        """
        kernel, gram = self.learner_.kernel_, learned(self.learner_._members())
        if not isinstance(kernel, LogDetKernel):
            return Components.of_gram(gram, self.n_components, center=self.center)
        # for a large strength, K is a small difference between numbers as large as k0(x, x)
        size = float(kernel.base.diag(kernel.points).max())
        components = Components.of_gram(gram, self.n_components, size, center=self.center)
        return components.on_base(kernel, center=self.center)

    @property
    @reads
    def kernel_(self) -> Kernel:
        """The learned kernel."""
        check_is_fitted(self)
        return self.learner_.kernel_

    @blas_limited
    def transform(self, X: npt.ArrayLike) -> Array:
        """Return the coordinates f(x) of each point, shape (n_samples, n_components).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points. For a learner with kernel="precomputed", kernel values between new and
            training points.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=np.float64)
        kernel: Any = self.learner_.kernel_
        inputs = self.learner_.support_vectors_
        width = inputs.shape[0]  # values in memory per row
        if isinstance(kernel, LogDetKernel):  # the components are functions of the base kernel
            kernel, inputs = kernel.base, kernel.points
        coordinates = self.components_
        return np.asarray(in_blocks(points, width, lambda X: coordinates(kernel(X, inputs))))

    @reads
    def summary(self) -> Summary:
        """Return the summary of the learner."""
        check_is_fitted(self)
        return self.learner_.summary()

    @property
    def _n_features_out(self) -> int:
        return len(self.components_.variances)

    def __sklearn_tags__(self) -> Any:
        """Declare that y is required, and that X is pairwise if the learner's X is."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        learner = self.learner if isinstance(self.learner, KernelLearner) else SCGLogDetLearner()
        inner = get_tags(learner).input_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.pairwise, inner.sparse
        return tags
