"""All fixed and learned kernels in all kernel methods of scikit-learn, against Gram matrices."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, OneClassSVM

from pliant import (
    DANKClassifier,
    DANKRegressor,
    GKLClassifier,
    KNPLClassifier,
    LABRBFClassifier,
    LABRBFRegressor,
    LogDetLearner,
    MKLClassifier,
    OrderSpectralLearner,
    SCGLogDetLearner,
    TKLClassifier,
)
from pliant.kernels import Gaussian, Laplacian, Linear, Matern, On, Polynomial, WeightedSum
from tests.reference import naive_dense

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (40, 3))
X_NEW = RNG.uniform(-1, 1, (6, 3))
TARGET = np.sin(3 * X[:, 0]) + X[:, 1]
LABELS = np.where(TARGET > 0, "up", "down")

GIVEN = {
    "gaussian": Gaussian([0.5, 1.0, 0.0]),
    "laplacian": Laplacian(0.5),
    "matern": Matern(1.5, 0.5),
    "polynomial": Polynomial(2, 0.5, 1.0),
    "sum": On(Gaussian(0.5), [0, 1]) + 0.5 * Linear(),
}
LEARNED = {
    "dank": DANKClassifier(),
    "dank, low rank": DANKRegressor(tau=0.01, extension="nearest"),
    "dank, parts": DANKClassifier(partition={"n_parts": 2}),
    "knpl": KNPLClassifier(),
    "knpl, parts": KNPLClassifier(partition={"n_parts": 2}),
    "tkl": TKLClassifier(tol=0.1),
    "gkl": GKLClassifier(tol=0.1),
    "mkl": MKLClassifier(["rbf", "laplacian"]),
    "scg": SCGLogDetLearner(strength=10.0),
    "scg, graph": SCGLogDetLearner("graph", strength=10.0),
    "ldk": LogDetLearner(),
    "osk": OrderSpectralLearner(),
    "lab-rbf": LABRBFRegressor(n_members=1, max_iter=5, random_state=0),
}


def learn(name):
    """Return the symmetric kernel that an estimator learns."""
    estimator = LEARNED[name]
    learned = estimator.fit(X, TARGET if name in ("dank, low rank", "lab-rbf") else LABELS)
    return learned.symmetric_kernel_ if name == "lab-rbf" else learned.kernel_


@pytest.fixture(scope="module", params=[*GIVEN, *LEARNED])
def kernel(request):
    return GIVEN[request.param] if request.param in GIVEN else learn(request.param)


CONSUMERS = [
    (SVC, "kernel", {"tol": 1e-12}, "decision_function"),
    (SVR, "kernel", {"tol": 1e-12}, "predict"),
    (OneClassSVM, "kernel", {"tol": 1e-12, "max_iter": 10**5}, "decision_function"),
    (KernelRidge, "kernel", {"alpha": 0.1}, "predict"),
]


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")  # a kernel of separate parts
@pytest.mark.filterwarnings("ignore:Solver terminated early")  # OneClassSVM, after equal steps
def test_every_consumer_has_the_values_of_the_precomputed_way(kernel):
    gram, cross = kernel(X), kernel(X_NEW, X)
    scale = np.abs(gram).max()

    def assert_same(mine, theirs, tolerance=1e-10):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * max(1.0, scale))

    assert_same(pairwise_kernels(X, metric=kernel), gram)
    assert_same(pairwise_kernels(X_NEW, X, metric=kernel, n_jobs=2), cross)
    assert_same([[kernel(x, z) for z in X[:4]] for x in X_NEW[:2]], cross[:2, :4])
    for kind, name, settings, method in CONSUMERS:
        y = LABELS if kind is SVC else TARGET
        mine = kind(**{name: kernel}, **settings).fit(X, y)
        theirs = kind(**{name: "precomputed"}, **settings).fit(gram, y)
        assert_same(getattr(mine, method)(X_NEW), getattr(theirs, method)(cross))
    mine = KernelPCA(2, kernel=kernel, eigen_solver="dense").fit(X)
    theirs = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit(gram)
    assert_same(mine.transform(X_NEW), theirs.transform(cross))
    if gram.min() >= 0:  # required of graph weights
        clusters = SpectralClustering(2, affinity=kernel, random_state=0).fit(X)
        assert_same(clusters.affinity_matrix_, gram)
    features = Nystroem(kernel, n_components=len(X), random_state=0).fit(X)
    assert_same(features.transform(X_NEW) @ features.transform(X).T, cross, 1e-6)


def test_gaussian_processes_take_it_as_it_is(kernel):
    gram, cross = kernel(X), kernel(X_NEW, X)
    alpha = 0.1 * max(1.0, np.abs(gram).max())
    process = GaussianProcessRegressor(kernel, alpha=alpha).fit(X, TARGET)
    ridge = KernelRidge(kernel="precomputed", alpha=alpha).fit(gram, TARGET)
    mean, deviation = process.predict(X_NEW, return_std=True)
    np.testing.assert_allclose(mean, ridge.predict(cross), rtol=0, atol=1e-10)
    covariance = np.linalg.solve(gram + alpha * np.eye(len(X)), cross.T)
    variance = kernel.diag(X_NEW) - np.einsum("ij,ji->i", cross, covariance)
    np.testing.assert_allclose(deviation**2, variance, rtol=0, atol=1e-10 * alpha / 0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # at its bounds
def test_gaussian_processes_tune_scale_and_noise_beside_a_learned_kernel():
    learned = learn("dank, low rank")
    for prior in (ConstantKernel() * learned + WhiteKernel(), learned * ConstantKernel()):
        process = GaussianProcessRegressor(prior, alpha=0.01).fit(X, TARGET)
        start = GaussianProcessRegressor(prior, alpha=0.01, optimizer=None).fit(X, TARGET)
        assert len(process.kernel_.theta) == len(prior.theta) > 0
        assert process.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_
        again = process.kernel_.clone_with_theta(process.kernel_.theta)
        np.testing.assert_allclose(again(X), process.kernel_(X), rtol=1e-12)
        assert not again.is_stationary()
        assert again.requires_vector_input
    with pytest.raises(ValueError, match=r"expected theta of shape \(0,\), got \(2,\)"):
        learned.clone_with_theta([1.0, 2.0])
    classifier = GaussianProcessClassifier(learned).fit(X, LABELS)
    assert classifier.predict_proba(X_NEW).shape == (6, 2)


SYMMETRIC_ONLY = [
    lambda kernel, Z: pairwise_kernels(Z, metric=kernel),
    lambda kernel, Z: KernelPCA(kernel=kernel).fit(Z),
    lambda kernel, Z: SVC(kernel=kernel).fit(Z, np.arange(len(Z)) % 2),
    lambda kernel, Z: SpectralClustering(2, affinity=kernel).fit(Z),
    lambda kernel, Z: KernelRidge(kernel=kernel).fit(Z, Z[:, 0]),
    lambda kernel, Z: Nystroem(kernel, n_components=3).fit(Z),
    lambda kernel, Z: GaussianProcessRegressor(kernel).fit(Z, Z[:, 0]),
    lambda kernel, Z: kernel(Z),
    lambda kernel, Z: kernel(Z[0], Z[1]),
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # Nystroem, of few rows
def test_an_asymmetric_kernel_names_the_symmetric_one():
    model = LABRBFRegressor(10, n_members=1, max_iter=5, random_state=0).fit(X, TARGET)
    said = r"bandwidths belong to the support points.*symmetric kernel.*model\.symmetric_kernel_"
    for consumer in SYMMETRIC_ONLY:
        for Z in (X, model.support_vectors_):
            with pytest.raises(ValueError, match=said):
                consumer(model.kernel_, Z)
    with pytest.raises(ValueError, match="got Sum, which is not symmetric; call k"):
        pairwise_kernels(X, metric=model.kernel_ + Gaussian())
    both = pairwise_kernels(X, model.support_vectors_, metric=model.kernel_)
    np.testing.assert_array_equal(both, model.kernel_(X, model.support_vectors_))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("profile", naive_dense.PROFILES)
def test_the_symmetric_kernel_of_lab_rbf_has_the_mean_widths(profile, dense):
    model = LABRBFRegressor(
        10, n_members=2, max_iter=5, profile=profile, dense=dense, transforms=None, random_state=0
    ).fit(X, TARGET)
    own = [member for member in model.members_ if member.objective_ == "dense"]
    assert len(own) == (2 if dense else 0)
    local = np.vstack([m.bandwidths() for m in model.members_ if m.objective_ != "dense"])
    theta = np.exp(np.log(local).mean(axis=0))
    share = model.weights_[2:].sum()
    h = naive_dense.PROFILES[profile]
    expected = (1.0 - share) * h(((theta * (X[:, None] - X_NEW)) ** 2).sum(axis=2))
    for member, weight in zip(own, model.weights_[2:], strict=True):
        u, t = member.warp_(X), member.warp_(X_NEW)
        mixing = np.diag(member.mapped_bandwidths()[0]) if member.mixing is None else member.mixing
        squares = (((u[:, None] - t) @ mixing) ** 2).sum(axis=2)
        expected += weight * naive_dense.PROFILES[member.kernel_.profile](squares)
    np.testing.assert_allclose(model.symmetric_kernel_(X, X_NEW), expected, rtol=0, atol=1e-10)
    assert model.symmetric_kernel_.psd


def test_members_that_map_features_differently_have_the_mean_of_their_kernels():
    skewed = np.exp(3 * X)
    model = LABRBFClassifier(10, n_members=4, max_iter=5, random_state=0).fit(skewed, LABELS)
    first, second, *others = model.members_
    warp = type(first.warp_).learn(skewed, "asinh")
    second.kernel_.warp = warp
    model.members_ = [first, replace(second, warp_=warp), *others]
    kernel = model.symmetric_kernel_
    assert isinstance(kernel, WeightedSum)
    assert np.sum(kernel.weights) == pytest.approx(1.0)
    np.testing.assert_allclose(kernel.diag(skewed), 1.0)
    assert np.linalg.eigvalsh(kernel(skewed))[0] > -1e-12
