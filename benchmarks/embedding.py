"""The choice of settings of a kernel embedding, compared with a matrix for each setting."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.harness.spec import Params, Prepared
from benchmarks.supervised_sets import UNKNOWN, generated
from pliant import KernelEmbedding, SCGLogDetLearner, SideInformation
from pliant.kernels import Gaussian
from pliant.methods import Components
from pliant.methods.supervised.embedding import BETAS, STRENGTHS
from pliant.methods.supervised.scg_problem import SCGLogDetPath

N_FOLDS = 5


def by_fold(params: Params) -> Prepared:
    """Prepare pliant's embedding with a Gaussian kernel, all settings chosen."""
    X, y = generated(params["rows"], seed=0, classes=params["classes"])
    embedding = KernelEmbedding(SCGLogDetLearner(), random_state=0)

    def describe(fitted: KernelEmbedding) -> dict[str, Any]:
        return _described(list(fitted.choice_scores_.values()))

    return lambda: embedding.fit(X, y), describe


def by_matrix(params: Params) -> Prepared:
    """Prepare kernel PCA of the learned matrix for each setting and fold, without a final fit."""
    X, y = generated(params["rows"], seed=0, classes=params["classes"])
    order = np.random.RandomState(0).permutation(len(y))
    folds = np.empty(len(y), dtype=int)
    folds[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % N_FOLDS

    def call() -> list[float]:
        path = SCGLogDetPath(Gaussian(1.0 / (X.shape[1] * X.var()))(X))
        scores = []
        for strength, beta in product(STRENGTHS, BETAS):
            accuracies = []
            for fold in range(N_FOLDS):
                train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
                known = SideInformation.from_labels(np.where(folds == fold, UNKNOWN, y), UNKNOWN)
                K = path.gram(known, strength, beta=beta, columns=train)
                components = Components.of_gram(K[train], 2)
                votes = KNeighborsClassifier(5).fit(components(K[train]), y[train])
                accuracies.append(votes.score(components(K[test]), y[test]))
            scores.append(float(np.mean(accuracies)))
        return scores

    return call, _described


def _described(scores: list[float]) -> dict[str, Any]:
    return {"settings": len(scores), "best accuracy": max(scores)}
