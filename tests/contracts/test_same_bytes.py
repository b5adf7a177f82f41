"""Predictions, kernels and saved models are bit-identical for any number of BLAS threads."""

import hashlib
import zipfile

import numpy as np
import pytest
from scipy.linalg import cho_factor, eigh
from sklearn.base import is_regressor
from threadpoolctl import threadpool_limits

import pliant
from pliant.kernels import Gaussian
from pliant.persistence import save

GIVEN = pliant.SCGLogDetLearner(strength=100.0)

QUICK = {
    "KernelEmbedding": {"learner": GIVEN, "betas": [1.0]},
    "LABRBFClassifier": {"n_members": 2, "max_iter": 5},
    "LABRBFPaperRegressor": {"max_iter": 5},
    "LABRBFRegressor": {"n_members": 2, "max_iter": 5},
    "LearnedKernelClassifier": {"learner": GIVEN},
    "LogDetLearner": {"max_pairs": 500},
}
"""Parameters that make fits faster; all others have their defaults."""

RESULTS = ("predict", "decision_function", "predict_proba", "transform", "predict_second")

ESTIMATORS = [
    name
    for name in sorted(pliant.__all__)
    if hasattr(getattr(pliant, name), "fit") and name != "KernelLearner"
]


def digest(values):
    """Return a short digest of some bytes."""
    return hashlib.sha256(values).hexdigest()[:16]


def content_of(path):
    """Return the digest of the contents of a model file."""
    with zipfile.ZipFile(path) as archive:
        return digest(archive.read("model.json") + archive.read("arrays"))


def bytes_of_everything(path):
    """Return digests of predictions, kernels and model files of every estimator, and of BLAS."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(160, 5)), rng.normal(size=(170, 5))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] - X[:, 3]
    y, labels = f + 0.1 * rng.normal(size=160), (f > 0.0).astype(int)
    found = {}
    for name in ESTIMATORS:
        model = getattr(pliant, name)(**QUICK.get(name, {}))
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, y if is_regressor(model) else labels)
        for method in RESULTS:
            if hasattr(model, method):
                found[f"{name} {method}"] = digest(np.asarray(getattr(model, method)(T)).tobytes())
        if getattr(model, "support_vectors_", None) is not None and hasattr(model, "kernel_"):
            found[f"{name} kernel"] = digest(model.kernel_(T, model.support_vectors_).tobytes())
        if name != "LearnedKernelClassifier":  # files cannot store a precomputed SVC
            save(model, path)
            found[f"{name} file"] = content_of(path)
    problem = pliant.SCGLogDetPath(Gaussian(0.2)(X))
    known = pliant.SideInformation.from_labels(labels, unlabeled=-1)
    found["SCGLogDetPath"] = digest(problem.gram(known, 100.0).tobytes())
    with threadpool_limits(1, user_api="blas"):
        products = [X @ T.T, X.T @ X, (X @ T.T) @ T, np.linalg.eigh(X @ X.T)[0], eigh(X @ X.T)[0]]
        products += [cho_factor(X @ X.T + np.eye(160))[0], X.astype(np.float32) @ T.astype("f").T]
    found["BLAS"] = digest(b"".join(each.tobytes() for each in products))
    return found


@pytest.mark.filterwarnings("ignore")
def test_threads_of_blas_change_no_byte(tmp_path):
    found = {}
    for number in (1, 2):
        with threadpool_limits(number):
            found[number] = bytes_of_everything(tmp_path / "model.pliant")
    if found[1].pop("BLAS") != found[2].pop("BLAS"):
        pytest.skip("this BLAS, limited to one thread, depends on the number of threads before")
    assert {name.partition(" ")[0] for name in found[1]} >= set(ESTIMATORS)
    assert [name for name in found[1] if found[1][name] != found[2][name]] == []
