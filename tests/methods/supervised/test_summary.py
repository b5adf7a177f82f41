"""Summaries of kernel learners, classifiers on learned kernels, and embeddings."""

import numpy as np
import pytest
from sklearn.base import clone

from pliant import LearnedKernelClassifier, LogDetLearner, OrderSpectralLearner, SCGLogDetLearner
from pliant.kernels import Gaussian
from pliant.methods.summary import summarize
from tests.methods.supervised.test_scg import data

X, Y = data()

PARTIAL = np.where(np.arange(len(Y)) % 4, Y, -1)

N_LABELLED = int((PARTIAL >= 0).sum())


def scg(**parameters):
    return SCGLogDetLearner(strength=10.0, random_state=0, **parameters)


LEARNERS = {
    "scg": scg(),
    "scg, auto": SCGLogDetLearner(random_state=0),
    "scg, precomputed": scg(kernel="precomputed"),
    "osk": OrderSpectralLearner(),
    "scg-osk": OrderSpectralLearner("scg"),
    "ldk": LogDetLearner(max_pairs=100, random_state=0),
}


def fitted(learner):
    points = Gaussian(0.3)(X) if learner.kernel == "precomputed" else X
    return clone(learner).fit(points, PARTIAL)


@pytest.mark.parametrize("name", LEARNERS)
def test_summary_of_learners(name):
    learner = fitted(LEARNERS[name])
    summary = summarize(learner)
    assert summary.functions == ()
    assert summary.n_support is None
    assert summary.kernel is learner.kernel_
    assert summary.learner["rows"] == len(X)
    assert all(isinstance(value, int | float | list) for value in summary.learner.values())
    if "osk" in name:
        assert summary.base_kernel is None
    else:
        assert summary.base_kernel is learner.kernel_.base


def test_summary_of_ldk():
    learner = fitted(LEARNERS["ldk"])
    summary = learner.summary()
    assert summary.learner == {
        "rows": 40,
        "objective": learner.objective_,
        "kernel_gap": learner.dual_gap_,
        "pairs": len(learner.pairs_),
        "bounds": [learner.similar_bound_, learner.dissimilar_bound_],
    }


@pytest.mark.parametrize("name", LEARNERS)
def test_summary_of_classifiers(name):
    learner = LEARNERS[name]
    points = Gaussian(0.3)(X) if learner.kernel == "precomputed" else X
    model = LearnedKernelClassifier(learner, unlabeled=-1).fit(points, PARTIAL)
    summary = summarize(model)
    assert list(summary.learner)[:2] == ["labelled", "rows"]
    assert summary.learner == {"labelled": N_LABELLED, **model.learner_.summary().learner}
    assert summary.learner["rows"] == 40
    (function,) = summary.functions
    assert function.estimator is model.machine_
    assert summary.n_support == function.n_support == len(model.machine_.support_)
    support = model.support_vectors_
    np.testing.assert_array_equal(summary.kernel(support), model.kernel_(support))
    assert summary.base_kernel is model.learner_.summary().base_kernel
