"""scikit-learn's estimator checks for every estimator, and for settings with separate code."""

import joblib
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import pliant
from pliant import DANKClassifier, KMeansPartition, LABRBFAlgorithm, SCGLogDetLearner
from pliant.tables.comparison.blend import BlendClassifier, BlendRegressor
from tests.contracts.discovery import ESTIMATORS

GIVEN = SCGLogDetLearner(strength=100.0)  # SCGLogDetLearner() is checked with its search

ONE_START = LABRBFAlgorithm(initial_bandwidth=1.0)
LOCAL = {"n_support": 10, "n_members": 2, "max_iter": 2, "algorithm": ONE_START}

QUICK = {
    "GKLClassifier": {"tol": 0.1},
    "GKLRegressor": {"tol": 0.1},
    "KernelEmbedding": {"learner": GIVEN, "betas": (1.0,), "random_state": 0},
    "LABRBFClassifier": LOCAL,
    "LABRBFPaperRegressor": {"n_support": 8, "max_iter": 2},
    "LABRBFRegressor": LOCAL,
    "LearnedKernelClassifier": {"learner": GIVEN},
    "MKLClassifier": {"tol": 0.1},
    "MKLRegressor": {"tol": 0.1},
    "TKLClassifier": {"tol": 0.1},
    "TKLRegressor": {"tol": 0.1},
}
"""Settings that replace defaults with a slow search, averaging or a small gap."""

SETTINGS = [
    DANKClassifier(partition=KMeansPartition(n_parts=2)),
    SCGLogDetLearner("precomputed", strength=10.0),
    BlendRegressor([("linear", Ridge()), ("tree", DecisionTreeRegressor(random_state=0))], cv=2),
    BlendClassifier(
        [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(random_state=0))], cv=2
    ),
]
"""A partition, a Gram matrix in place of points, and the estimators that are not public."""

QUARTIC = "a sample of weight 2 is not two samples: the quartic term; scikit-learn's SVC fails too"
SADDLE = "a sample of weight 2 is two samples, but to tol only; scikit-learn's SVC fails too"
SCALE = "gamma='scale' looks at the rows and not at their weights"
UNWEIGHTED = "gamma or standardised features look at the rows, not their weights; SVC fails too"
LEARNER = "the kernel is learned without the weights"
DRAWN = "support points are drawn from the rows, whatever their weights"
HOLD_OUT = "rows are drawn and held out at random; a row twice may be both, a row of weight 2 not"


def expected_failures(estimator):
    name = type(estimator).__name__
    reason = QUARTIC
    if name.startswith(("AsymmetricKernelRidge", "SketchedKernelRidge")):
        if estimator.gamma != "scale":
            return {}
        reason = SCALE
    elif name == "LABRBFPaperRegressor":
        reason = DRAWN
    elif name.startswith("LABRBF"):
        reason = HOLD_OUT
    elif name.startswith("MKL"):
        reason = UNWEIGHTED
    elif name.startswith("Learned"):
        reason = LEARNER
    elif name.startswith(("TKL", "GKL")):
        reason = SADDLE
    kinds = ("dense", "sparse") if get_tags(estimator).input_tags.sparse else ("dense",)
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@pytest.fixture(autouse=True)
def _two_strengths(monkeypatch):
    """Let `SCGLogDetLearner` choose between two strengths, which is as good here as eight."""
    monkeypatch.setattr("pliant.methods.supervised.scg.STRENGTHS", (10.0, 1000.0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::pliant.exceptions.NonPSDWarning")
@pytest.mark.filterwarnings("ignore::pliant.exceptions.UniformWeightsWarning")  # random labels
@parametrize_with_checks(
    [*(kind(**QUICK.get(kind.__name__, {})) for kind in ESTIMATORS), *SETTINGS],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    with joblib.parallel_config("threading"):  # processes are slow to start
        assert check(estimator) is None


def test_no_public_estimator_is_left_out():
    names = {kind.__name__ for kind in ESTIMATORS}
    assert {"DANKClassifier", "GKLRegressor", "LABRBFRegressor", "MKLRegressor"} <= names
    assert names <= set(pliant.__all__)
