"""Indefinite base kernels: where a PSD Gram matrix is needed, and where it is not.

h is concave, and the certificate a bound, for a Gram matrix of the training points without negative
eigenvalues. What the kernel is between other points does not matter.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant import DANKClassifier, DANKRegressor, KNPLClassifier, KNPLRegressor
from pliant.kernels import TL1, Sigmoid
from tests.papers.hadamard_cases import classification_data
from tests.reference.naive_hadamard import (
    classification,
    proximal_point,
    proximal_step,
    regression,
    solve,
)

RULES = {"quartic": ("dank", 0.0), "threshold": ("dank", 0.05), "centred": ("knpl", 0.0)}
every_rule = pytest.mark.parametrize("rule", RULES)
REFUSAL = "^expected a Gram matrix without negative eigenvalues, which .* choose a positive semi-"


def estimator(rule, kernel, task="classifier", **options):
    name, tau = RULES[rule]
    kinds = {"dank": (DANKClassifier, DANKRegressor), "knpl": (KNPLClassifier, KNPLRegressor)}
    kind = kinds[name][task == "regressor"]
    options = {"C": 2.0, "eta": 1.0, "tol": 1e-7, **options} | ({"tau": tau} if tau else {})
    if name == "dank":
        options.setdefault("tau", 0.0)
    if task == "regressor":
        options |= {"epsilon": 0.05, "scale_target": False}
    return kind(kernel, **options)


def feasible(problem, r, size):
    return proximal_point(size * r.uniform(-4, 4, len(problem.p)), problem.lower, problem.upper)


def bulge(problem, r):
    """How far h lies below a chord, at most, among random ones; > 0 where h is not concave."""
    worst = -np.inf
    for size in (0.1, 1.0) * 20:
        a, b = feasible(problem, r, size), feasible(problem, r, size)
        chord = (problem.value(a) + problem.value(b)) / 2
        worst = max(worst, chord - problem.value((a + b) / 2))
    return worst


indefinite_kernels = st.one_of(
    st.builds(TL1, st.floats(0.1, 6.0)),
    st.builds(Sigmoid, st.floats(0.01, 2.0), st.floats(-1.0, 2.0)),
)


@every_rule
@given(kernel=indefinite_kernels, seed=st.integers(0, 10**6), regress=st.booleans())
@settings(max_examples=10, deadline=None)
def test_a_psd_matrix_is_all_that_a_fit_needs(rule, kernel, seed, regress):
    r = np.random.default_rng(seed)
    points = r.uniform(-1, 1, size=(10, 3))
    y = points[:, 0] + 0.3 * r.standard_normal(10)
    y = y - y.mean() if regress else np.where(y > np.median(y), 1.0, -1.0)
    K = kernel(points)
    model = estimator(rule, kernel, "regressor" if regress else "classifier")
    if np.linalg.eigvalsh(K)[0] < -1e-8 * np.abs(np.diag(K)).max():
        with pytest.raises(ValueError, match=REFUSAL):
            model.fit(points, y)
        return
    name, tau = RULES[rule]
    arguments = (2.0, 0.05, 1.0, tau, name) if regress else (2.0, 1.0, tau, name)
    problem = (regression if regress else classification)(K, y, *arguments)
    assert bulge(problem, r) <= 1e-8
    model.fit(points, y)
    _, value, gap = solve(problem, tol=1e-7)
    slack = 1e-6 * (1 + abs(value))
    assert model.objective_ <= value + gap + slack
    assert model.objective_ + model.dual_gap_ >= value - slack


def climbed(problem, beta, steps=60):
    """A local maximum near `beta`, by projected gradient."""
    length = 1.0
    for _ in range(steps):
        beta, length = proximal_step(problem, beta, 1.2 * length)
    return beta


@every_rule
def test_the_gap_is_no_bound_for_an_indefinite_matrix(rule):
    """Of two points that compete, either may be the support point: two maxima without a gap."""
    K, (name, tau) = np.array([[1.0, 3.0, 0.0], [3.0, 1.5, 0.0], [0.0, 0.0, 1.0]]), RULES[rule]
    problem = classification(K, [1.0, 1.0, -1.0], 2.0, 10.0, tau, name)
    first, second = (climbed(problem, np.array(b)) for b in ([1.0, 0, -1.0], [0, 0.8, -0.8]))
    assert problem.gap(first) < 1e-6 > problem.gap(second)
    assert problem.value(first) > problem.value(second) + 0.1


def test_positive_on_differences_is_enough_for_a_plain_svm_only():
    """beta'K beta >= 0 where 1'beta = 0 makes the plain dual concave, not the quartic term."""
    K = np.array([[1.23, -2.33, -4.27], [-2.33, 1.06, 0.27], [-4.27, 0.27, 0.65]])
    beta, y = np.array([0.654, -1.743, 1.089]), np.array([1.0, -1.0, 1.0])
    along = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])
    assert np.linalg.eigvalsh(along @ K @ along.T)[0] > 0.1
    angles = np.linspace(0, np.pi, 60)
    steps = 1e-3 * (np.outer(np.cos(angles), along[0]) + np.outer(np.sin(angles), along[1]))

    def curvatures(eta):
        h = classification(K, y, 2.0, eta).value
        return np.array([h(beta + step) + h(beta - step) - 2 * h(beta) for step in steps])

    assert curvatures(1e12).max() < 0
    assert curvatures(0.01).max() > 1e-6


def test_a_matrix_that_cannot_be_tested_is_refused():
    points, y = classification_data()
    said = "^expected a positive semi-definite kernel where the Gram matrix is not kept whole and "
    tiny = {"cache_mb": 0.001}
    for model, remedy in (
        (DANKClassifier(TL1(), tau=0.0, partition="kmeans"), "leave out partition='kmeans', or"),
        (DANKClassifier("sigmoid", tau=0.0, **tiny), "got 'sigmoid': give cache_mb of 1 or more"),
        (KNPLClassifier(TL1(), **tiny), "give cache_mb of 1 or more, or choose another kernel$"),
    ):
        with pytest.raises(ValueError, match=f"{said}.*{remedy}"):
            model.fit(points, y)
