"""Indefinite base kernels: fits require a PSD Gram matrix of the training points.

h is concave and the certificate is valid if this matrix has no negative eigenvalues. The kernel
between other points is irrelevant.
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
    """Return the maximum distance of h below random chords; > 0 if h is not concave."""
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
def test_a_fit_requires_only_a_psd_gram_matrix(rule, kernel, seed, regress):
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
    """Find a local maximum near `beta` by projected gradient steps."""
    length = 1.0
    for _ in range(steps):
        beta, length = proximal_step(problem, beta, 1.2 * length)
    return beta


@every_rule
def test_the_gap_is_not_a_bound_for_an_indefinite_matrix(rule):
    """Either of two competing points can be the support point: two maxima have no gap."""
    K, (name, tau) = np.array([[1.0, 3.0, 0.0], [3.0, 1.5, 0.0], [0.0, 0.0, 1.0]]), RULES[rule]
    problem = classification(K, [1.0, 1.0, -1.0], 2.0, 10.0, tau, name)
    first, second = (climbed(problem, np.array(b)) for b in ([1.0, 0, -1.0], [0, 0.8, -0.8]))
    assert problem.gap(first) < 1e-6 > problem.gap(second)
    assert problem.value(first) > problem.value(second) + 0.1


def test_an_untestable_gram_matrix_is_refused():
    points, y = classification_data()
    message = (
        "^expected a positive semi-definite kernel, as the full Gram matrix is not stored and "
    )
    tiny = {"cache_mb": 0.001}
    for model, remedy in (
        (DANKClassifier(TL1(), tau=0.0, partition="kmeans"), "omit partition, or"),
        (DANKClassifier("sigmoid", tau=0.0, **tiny), "got 'sigmoid': set cache_mb to 1 or more"),
        (KNPLClassifier(TL1(), **tiny), "set cache_mb to 1 or more, or choose another kernel$"),
    ):
        with pytest.raises(ValueError, match=f"{message}.*{remedy}"):
            model.fit(points, y)
