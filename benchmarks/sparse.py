"""Sparse rows: fits to weighted word counts, compared with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.harness.calls import fitting, whole_process
from benchmarks.harness.spec import Params, Prepared
from pliant import DANKClassifier, SketchedKernelRidge
from pliant.core.typing import Array
from pliant.kernels.standard import scaled_gamma

N_TEST = 5000

FLIPPED = 0.05
"""Share of texts with the label of the other topic."""


def texts(rows: int, params: Params, seed: int) -> tuple[Any, Array]:
    """Draw texts of two topics; return their word counts and labels -1.0 and 1.0.

    Word j has the probability 1/j, times 3 for a twentieth of the words in each topic.
    """
    rng, topics = np.random.default_rng(seed), np.random.default_rng(0)
    columns, length = params["columns"], params["length"]
    common = 1.0 / np.arange(1, columns + 1)
    labels = rng.integers(2, size=rows)
    words = np.empty((rows, length), dtype=np.int32)
    for topic in range(2):
        shares = common.copy()
        shares[topics.permutation(columns)[: columns // 20]] *= 3.0
        own = labels == topic
        draws = rng.random((int(own.sum()), length)) * shares.sum()
        words[own] = np.minimum(np.searchsorted(shares.cumsum(), draws), columns - 1)
    places = np.repeat(np.arange(rows, dtype=np.int32), length), words.ravel()
    counts = scipy.sparse.coo_array((np.ones(words.size), places), shape=(rows, columns))
    flipped = rng.random(rows) < FLIPPED
    return counts.tocsr(), np.where(labels == 1, 1.0, -1.0) * np.where(flipped, -1.0, 1.0)


def svc(params: Params) -> Prepared:
    """Prepare scikit-learn's SVC."""
    return _on_texts(SVC(C=params["C"]), params)


def dank(params: Params) -> Prepared:
    """Prepare DANK with eta=inf, which is the plain SVM."""
    return _on_texts(DANKClassifier(C=params["C"], eta=np.inf), params)


def nystroem(params: Params) -> Prepared:
    """Prepare Nystroem features and Ridge."""
    X, _ = _weighted(params)[0]
    features = Nystroem(gamma=scaled_gamma(X), n_components=params["centres"], random_state=0)
    return _on_texts(make_pipeline(features, Ridge(params["alpha"])), params)


def sketched(params: Params) -> Prepared:
    """Prepare pliant's fit on the centres drawn by Nystroem."""
    (X, _), _ = _weighted(params)
    chosen = np.random.RandomState(0).permutation(params["rows"])[: params["centres"]]
    return _on_texts(SketchedKernelRidge(alpha=params["alpha"], centers=X[chosen]), params)


def _weighted(params: Params) -> tuple[tuple[Any, Array], tuple[Any, Array]]:
    """Return training and test texts, with the word counts weighted by TF-IDF."""
    (X, y), (T, t) = texts(params["rows"], params, seed=1), texts(N_TEST, params, seed=2)
    weighting = TfidfTransformer().fit(X)
    return (weighting.transform(X), y), (weighting.transform(T), t)


def _on_texts(model: Any, params: Params) -> Prepared:
    training, (T, t) = _weighted(params)

    def describe(fitted: Any) -> dict[str, Any]:
        facts: dict[str, Any] = whole_process("GiB")  # before the predictions below
        facts["accuracy"] = float(np.mean(np.sign(fitted.predict(T)) == t))
        facts["words per text"] = training[0].nnz / params["rows"]
        if hasattr(fitted, "support_") and not hasattr(fitted, "certified_error_"):
            facts["support"] = len(fitted.support_)
        if hasattr(fitted, "n_passes_"):
            facts |= {"iterations": fitted.n_iter_, "passes": fitted.n_passes_}
        return facts

    return fitting(model, *training, describe=describe)
