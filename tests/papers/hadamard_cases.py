"""Data, Gram matrices and random cases for the checks of the DANK and KNPL papers."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests.reference.naive_hadamard import project_alpha

# width s of exp(-d^2/(2 s^2)), C, eta, tau, optimum
DANK_OPTIMA = [
    (0.5, 4.0, 20.0, 0.01, 18.82078802),
    (0.5, 4.0, 2.0, 0.1, 13.83269699),
    (0.25, 16.0, 50.0, 0.05, 72.92221085),
]
# width s, C, eta, optimum less eta n^2
KNPL_OPTIMA = [
    (0.5, 4.0, 20.0, 13.91264525),
    (0.5, 4.0, 2.0, 8.75808456),
    (0.25, 16.0, 50.0, 12.49875788),
]


def classification_data(n=24, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 3))
    score = np.sin(6 * X[:, 0]) + X[:, 1] - X[:, 2] + 0.3 * r.standard_normal(n)
    return X, np.where(score > 0.3, 1.0, -1.0)


def regression_data(n=24, seed=0):
    r = np.random.default_rng(seed)
    X = r.uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * r.standard_normal(n)


def gaussian_gram(X, s, Y=None):
    differences = X[:, None, :] - (X if Y is None else Y)[None, :, :]
    return np.exp(-(differences**2).sum(axis=2) / (2 * s**2))


@dataclass
class Case:
    """A Gram matrix, labels, constants, and two feasible points, sometimes close to each other."""

    K: np.ndarray
    y: np.ndarray
    C: float
    eta: float
    tau: float
    alpha: np.ndarray
    other: np.ndarray


def exponents(low, high):
    return st.floats(low, high).map(lambda e: 10.0**e)


@st.composite
def cases(draw, gaussian=None):
    """Yield random cases: Gaussian or linear kernels, tau from 0 to 2n (F can vanish beyond)."""
    n = draw(st.integers(3, 12))
    r = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = r.standard_normal((n, 3))
    use_gaussian = draw(st.booleans()) if gaussian is None else gaussian
    K = gaussian_gram(X, draw(st.floats(0.2, 5.0))) if use_gaussian else X @ X.T
    y = np.where(np.arange(n) < draw(st.integers(1, n - 1)), 1.0, -1.0)
    C, eta = draw(exponents(-1, 1.5)), draw(exponents(-1, 3))
    tau = draw(st.sampled_from([0.0, 0.01, 0.3, 1.0, 2.0])) * n
    alpha = project_alpha(r.uniform(-C, 2 * C, n), y, C)
    distance = draw(exponents(-3, 0.5))
    other = project_alpha(alpha + distance * C * r.standard_normal(n), y, C)
    return Case(K, y, C, eta, tau, alpha, other)
