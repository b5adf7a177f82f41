"""KNPL: reference optima, the centred F, and the corners of the interface."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

from pliant import DANKClassifier, KNPLClassifier, KNPLRegressor
from pliant.kernels import Gaussian, Linear
from tests.methods.hadamard.test_dank import bad_data, classification, regression
from tests.reference import naive_hadamard, naive_kernels


@pytest.mark.parametrize(
    ("s", "C", "eta", "optimum"),
    [(0.5, 4, 20, 13.91264525), (0.5, 4, 2, 8.75808456), (0.25, 16, 50, 12.49875788)],
)
def test_classification_reaches_the_reference_optimum(s, C, eta, optimum):
    X, y = classification()
    model = KNPLClassifier(gamma=1 / (2 * s**2), C=C, eta=eta, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(optimum, abs=3e-8)
    assert 0 <= model.dual_gap_ <= 1e-9 * (1 + model.objective_)


@pytest.mark.parametrize("eta", [0.2, 5.0])
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_is_that_of_the_dense_twin(seed, eta):
    X, y = classification(n=30, seed=seed)
    K = Gaussian(2.0)(X)
    model = KNPLClassifier(gamma=2.0, C=3.0, eta=eta, tol=1e-8).fit(X, y)
    _, value, gap = naive_hadamard.solve(
        naive_hadamard.classification(K, y, 3.0, eta, rule="knpl"), tol=1e-6
    )
    assert model.objective_ <= value + gap + 1e-9
    assert value <= model.objective_ + model.dual_gap_ + 1e-9
    X, y = regression(n=30, seed=seed)
    K, y = Gaussian(2.0)(X), y - y.mean()
    model = KNPLRegressor(gamma=2.0, C=3.0, eta=eta, epsilon=0.05, scale_target=False, tol=1e-8)
    model.fit(X, y)
    _, value, gap = naive_hadamard.solve(
        naive_hadamard.regression(K, y, 3.0, 0.05, eta, rule="knpl"), tol=1e-6
    )
    assert model.objective_ <= value + gap + 1e-9
    assert value <= model.objective_ + model.dual_gap_ + 1e-9


@pytest.mark.parametrize("eta_scale", [1e-3, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("make", [KNPLClassifier, KNPLRegressor])
def test_the_rows_of_f_sum_to_n_and_f_is_psd(make, eta_scale):
    X, y = classification(n=50) if make is KNPLClassifier else regression(n=50)
    model = make(C=5.0, eta_scale=eta_scale).fit(X, y)
    F = model.adaptation_.toarray()
    np.testing.assert_allclose(F.sum(axis=0), 50.0, rtol=1e-10)
    np.testing.assert_allclose(F, F.T, atol=1e-12)
    values = np.linalg.eigvalsh(F)
    assert values[0] >= -1e-10
    assert values[-1] >= 50 - 1e-9  # ones are an eigenvector, of eigenvalue n
    assert model.adaptation_.radius == pytest.approx(np.linalg.norm(F - 1), rel=1e-9)
    assert model.adaptation_.rank <= len(model.support_) + 1


@given(seed=st.integers(0, 10**6), eta=st.sampled_from([0.01, 1.0, 100.0]), C=st.floats(0.1, 30))
@example(seed=638, eta=0.01, C=13.0)  # the last gains are smaller than the rounding of the values
@settings(max_examples=15, deadline=None)
def test_less_freedom_gives_no_smaller_optimum(seed, eta, C):
    """F1 = n1 is one constraint more than DANK's; its penalty is the same but for eta n^2."""
    X, y = classification(seed=seed)
    y[:2] = 1, -1
    options = {"gamma": 2.0, "C": C, "eta": eta, "tol": 1e-8}
    knpl, dank = (make(**options).fit(X, y) for make in (KNPLClassifier, DANKClassifier))
    svm = DANKClassifier(**{**options, "eta": 1e12}).fit(X, y)
    slack = 1e-7 * (1 + svm.objective_)
    assert dank.objective_ - slack <= knpl.objective_ <= svm.objective_ + slack


def test_a_huge_eta_gives_the_plain_svm():
    X, y = classification(n=60)
    model = KNPLClassifier(gamma=2.0, C=2.0, eta=1e12, tol=1e-8).fit(X, y)
    svm = SVC(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), svm.decision_function(X), atol=1e-4)
    X, y = regression(n=60)
    line = KNPLRegressor(gamma=2.0, C=2.0, eta=1e12, tol=1e-9, scale_target=False).fit(X, y)
    svr = SVR(gamma=2.0, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(line.predict(X), svr.predict(X), atol=1e-4)


def test_parameters_are_those_of_dank_less_tau_and_refine():
    expected = set(DANKClassifier().get_params()) - {"tau", "refine"}
    assert set(KNPLClassifier().get_params()) == expected
    both = {"class_weight", "epsilon", "scale_target"}
    assert set(KNPLRegressor().get_params()) - both == expected - both
    with pytest.raises(TypeError, match="tau"):
        KNPLClassifier(tau=0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'tau'"):
        KNPLClassifier().set_params(tau=0.1)


def test_the_learned_kernel_works_in_another_machine():
    X, y = classification(n=80)
    model = KNPLClassifier(C=5.0, eta_scale=0.1).fit(X, y)
    peer = SVC(kernel=model.kernel_, C=5.0, tol=1e-8).fit(X, y)
    assert np.mean(peer.predict(X) == model.predict(X)) > 0.9
    base = clone(model).set_params(extension="none").fit(X, y)
    np.testing.assert_array_equal(base.kernel_(X), base.kernel_.base(X))


def test_a_grid_of_all_that_matters():
    X, y = classification(n=60)
    grid = {"C": [1.0, 10.0], "eta_scale": [0.1, 1.0], "extension": ["smooth", "nearest"]}
    search = GridSearchCV(KNPLClassifier(gamma=2.0), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    assert len(search.cv_results_["params"]) == 8


BAD_PARAMETERS = [
    ({"C": 0}, "expected C > 0, a finite number, got 0"),
    ({"C": np.inf}, "expected C > 0, a finite number, got inf"),
    ({"C": "big"}, "expected C > 0, a finite number, got 'big'"),
    ({"eta": 0}, "expected eta > 0, a number, got 0"),
    ({"eta": -1.0}, r"expected eta > 0, a number, got -1\.0"),
    ({"eta": np.nan}, "expected eta > 0, a number, got nan"),
    ({"eta": None}, "expected eta > 0, a number, got None"),
    ({"eta": True}, "expected eta > 0, a number, got True"),
    ({"eta": "best"}, r"expected eta in \['auto'\], got 'best'"),
    ({"eta": 1e-200, "eta_scale": 1e-200}, r"expected eta \(times eta_scale\) >= 1e-300"),
    ({"eta_scale": 0.0}, r"expected eta_scale > 0, a finite number, got 0\.0"),
    ({"extension": "nearst"}, r"got 'nearst' \(did you mean 'nearest'\?\)"),
    ({"n_neighbors": 0}, "expected n_neighbors >= 1, an integer, got 0"),
    ({"tol": -1e-3}, r"expected tol > 0, a finite number, got -0\.001"),
    ({"max_iter": 0}, "expected max_iter >= 1, or -1 for no limit, got 0"),
    ({"gamma": -1.0}, r"expected gamma > 0.* got -1\.0"),
    ({"kernel": "gausian"}, "did you mean 'gaussian'"),
    ({"kernel": "sigmoid", "gamma": 5.0}, "without negative eigenvalues, which KNPL"),
    ({"kernel": Gaussian(1.0), "gamma": 2.0}, "gamma belongs to kernels given by name"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=str)
@pytest.mark.parametrize("make", [KNPLClassifier, KNPLRegressor])
def test_bad_parameters_get_one_clear_error(make, parameters, message):
    X, y = classification() if make is KNPLClassifier else regression()
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, y)


def test_bad_parameters_of_one_kind_only():
    X, y = regression()
    with pytest.raises(ValueError, match=r"expected epsilon >= 0, a finite number, got -0\.1"):
        KNPLRegressor(epsilon=-0.1).fit(X, y)
    with pytest.raises(ValueError, match="expected scale_target True or False, got 'yes'"):
        KNPLRegressor(scale_target="yes").fit(X, y)
    X, y = classification()
    with pytest.raises(ValueError, match=r"expected class_weight .* got 'fair'"):
        KNPLClassifier(class_weight="fair").fit(X, y)


@pytest.mark.parametrize("case", bad_data())
def test_bad_data_get_one_clear_error(case):
    X, y, message = bad_data()[case]
    with pytest.raises(ValueError, match=message):
        KNPLClassifier().fit(X, y)


def test_bad_precomputed_grams():
    X, y = classification()
    with pytest.raises(ValueError, match=r"square Gram matrix of shape \(n, n\), got \(24, 3\)"):
        KNPLClassifier("precomputed").fit(X, y)
    with pytest.raises(ValueError, match=r"equal diagonal entries.*extension='none'"):
        KNPLClassifier("precomputed", extension="smooth").fit(Linear()(X), y)
    model = KNPLClassifier("precomputed", extension="none").fit(Linear()(X), y)
    assert np.isfinite(model.dual_gap_)


KERNEL_VALUES = []


def counted(X, Y):
    KERNEL_VALUES.append(len(X) * len(Y))
    return Gaussian(2.0)(X, Y)


@pytest.mark.parametrize("extension", ["smooth", "nearest", "reciprocal"])
def test_a_prediction_computes_no_kernel_values_between_support_points(extension):
    """They are needed once, in the fit, and survive pickles; predictions are those of the twin."""
    X, y = classification(n=60)
    model = KNPLClassifier(counted, C=5.0, eta_scale=0.1, extension=extension).fit(X[:50], y[:50])
    new, kernel, F = X[50:], model.kernel_, model.adaptation_.toarray()
    s = len(model.support_)
    KERNEL_VALUES.clear()
    values = pickle.loads(pickle.dumps(model)).decision_function(new)
    copied = 0 if extension == "smooth" else min(len(new), s) * s
    assert sum(KERNEL_VALUES) <= len(new) * s + copied < s * s
    K, cross = Gaussian(2.0)(X[:50]), Gaussian(2.0)(new, X[:50])
    if extension == "smooth":
        b = np.array([naive_kernels.smooth(x, X[:50], kernel.beta, 5) for x in X])
        joint = Gaussian(2.0)(X, X[:50])
        F = naive_hadamard.smooth_knpl(
            K, joint, joint, Gaussian(2.0)(X), b, b, kernel.beta, model.eta_
        )
        F = F[50:, :50]
    else:
        choose = {"nearest": naive_kernels.nearest, "reciprocal": naive_kernels.reciprocal}
        F = F[[choose[extension](x, X[:50]) for x in new]]
    assert np.abs(F - 1.0).max() > 0.01
    expected = (F * cross) @ kernel.beta + model.intercept_
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10)
