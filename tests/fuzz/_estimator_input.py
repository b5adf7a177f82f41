"""Random tables, targets, weights and hyper-parameters for the fuzzer of estimators."""

import inspect
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from pliant import (
    GeneralizedPolynomial,
    GKLClassifier,
    KernelEmbedding,
    LogDetLearner,
    OrderSpectralLearner,
    SCGLogDetLearner,
    TessellatedKernel,
)
from pliant.kernels import TL1, Gaussian, Kernel, Laplacian, Linear, Matern, On, Polynomial, Sigmoid
from tests.contracts.discovery import constraints_of

LARGEST = 300
"""Maximum absolute value of the decimal exponents of numbers."""

SIZES = (-300.0, -160.0, -100.0, -30.0, -5.0, 0.0, 5.0, 16.0, 30.0, 100.0, 150.0, 160.0, 300.0)
"""Decimal exponents near which products and squares overflow or underflow."""

REFUSED = (
    0, -1, -0.0, -3.5, 0.5, 1.5, 2, 5e-324, 1e-300, 1e300, 2**40, 2**70, 10**400,
    float("nan"), float("inf"), -float("inf"), True, None, "auto", "scale", "abc", "", b"abc",
    1j, [], [1], (1.0, 2.0), {}, np.float32(0.25), np.int8(1), np.array(2.0), np.array([1.0, 2.0]),
    np.bool_(True), object, len, float, Gaussian(), Gaussian,
)  # fmt: skip
"""Values that are invalid for most hyper-parameters."""


def power(rng: Generator, ordinary: float = 0.4) -> float:
    """Return a scale: 1 with probability `ordinary`, otherwise a random power of ten."""
    if rng.random() < ordinary:
        return 1.0
    if rng.random() < 0.5:
        return float(10.0 ** rng.choice(SIZES))
    return float(10.0 ** rng.uniform(-LARGEST, LARGEST))


def table(rng: Generator, n: int | None = None, d: int | None = None) -> np.ndarray:
    """Return float64 numbers of shape (n, d), rarely with NaN or infinity."""
    n = (
        int(rng.choice([3, 4, 5, 8, 12, 20, 30, 40]) if rng.random() < 0.9 else rng.integers(1, 3))
        if n is None
        else n
    )
    d = int(rng.integers(1, 9) if rng.random() < 0.97 else 0) if d is None else d
    sort = rng.integers(8)
    if sort == 0:
        X = rng.integers(-3, 4, (n, d)).astype(float)
    elif sort == 1:
        X = np.tile(rng.standard_normal(d), (n, 1))
    elif sort == 2:
        X = rng.standard_normal((max(1, n // 4), d))[rng.integers(max(1, n // 4), size=n)]
    elif sort == 3:
        X = np.where(rng.random((n, d)) < 0.8, 0.0, rng.standard_normal((n, d)))
    else:
        X = rng.standard_normal((n, d))
    sizes = rng.integers(9)
    with np.errstate(all="ignore"):
        if sizes == 0:
            X = X * power(rng, 0.0)
        elif sizes == 1:
            X = X * np.array([power(rng) for _ in range(d)])
        elif sizes == 2:
            X = X + power(rng, 0.0)
        elif sizes == 3 and X.size:
            X.flat[rng.integers(X.size)] = rng.choice([-1.0, 1.0]) * power(rng, 0.0)
        elif sizes == 5:
            X = X * 10.0 ** rng.uniform(-9, 9, d) + rng.choice([0.0, 1e6])
        elif sizes == 4 and rng.random() < 0.3:
            X = X * 10.0 ** rng.uniform(-LARGEST, LARGEST, X.shape)
    if X.size and rng.random() < 0.04:
        X.flat[rng.integers(X.size)] = rng.choice([np.nan, np.inf, -np.inf])
    if X.size and rng.random() < 0.05:
        X[:, rng.integers(d)] = 5e-324 * rng.integers(0, 9, n)
    return np.clip(X, -np.finfo(float).max, np.finfo(float).max)


def labels(rng: Generator, n: int, X: np.ndarray) -> Any:
    """Return class labels, mostly with a few classes."""
    count = int(rng.choice([1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 5, max(1, n)]))
    codes = rng.integers(count, size=n) if rng.random() < 0.7 else np.arange(n) % count
    if count == 2 and n and X.shape[1] and rng.random() < 0.4:
        codes = (X[:, 0] > np.median(X[:, 0])).astype(int)
    sort = rng.integers(20)
    if sort == 0:
        return np.array(["a", "b b", "é", "", "a\n"])[codes % 5]
    if sort == 1:
        return (codes % 2).astype(bool)
    if sort == 2:
        return codes.astype(float) * float(rng.choice([1.0, -7.0, 1e300]))
    if sort == 3:
        return np.array([0, "b", 2.5, None, True], dtype=object)[codes % 5]
    if sort == 4:
        return np.where(rng.random(n) < 0.2, np.nan, codes)
    return codes


def targets(rng: Generator, n: int, X: np.ndarray) -> Any:
    """Return real targets."""
    y = rng.standard_normal(n)
    if n and X.shape[1] and rng.random() < 0.4:
        first = X[:, 0]
        y = np.sin(np.where(np.abs(first) < 1e10, first, 0.0)) + 0.1 * y
    sort = rng.integers(12)
    if sort == 0:
        return y * power(rng, 0.0)
    if sort == 1:
        return y + power(rng, 0.0)
    if sort == 2:
        return np.full(n, power(rng))
    if sort == 3:
        return rng.integers(3, size=n)
    if sort == 4 and n:
        y[rng.integers(n)] = rng.choice([np.nan, np.inf, 1e300, -1e308, 1e-300])
    return y


def weights(rng: Generator, n: int) -> Any:
    """Return sample weights."""
    w = rng.random(n)
    several = [
        np.where(w < 0.5, 0.0, w), np.zeros(n), w - 0.5, w * 1e-300, w * 1e300, w[:-1],
        np.where(w < 0.2, 1e-300, np.where(w < 0.4, 1e300, 1.0)), np.where(w < 0.2, np.nan, w),
        ["a"] * n, rng.integers(0, 3, n), 10.0 ** (20 * w - 10), 2.0,
    ]  # fmt: skip
    return several[rng.integers(len(several))]


def some_kernel(rng: Generator, d: int) -> Any:
    """Return a kernel object with valid parameters, some of them extreme."""
    gamma: Any = power(rng, 0.6)
    if rng.random() < 0.15:
        gamma = np.array([power(rng) for _ in range(d)])
    one = gamma if np.ndim(gamma) == 0 else 1.0
    made: list[Kernel] = [
        Gaussian(gamma), Laplacian(gamma), Matern(float(rng.choice([0.5, 1.5, 2.5])), gamma),
        Linear(), Polynomial(int(rng.choice([1, 2, 3, 20, 1000])), one, power(rng, 0.7)),
        Sigmoid(one, power(rng, 0.7)), TL1(power(rng)), GeneralizedPolynomial(),
    ]  # fmt: skip
    kernel = made[rng.integers(len(made))]
    sort = rng.integers(8)
    if sort == 0:
        return kernel + Linear()
    if sort == 1:
        return kernel * Polynomial(2)
    if sort == 2:
        return kernel * power(rng, 0.3)
    if sort == 3:
        return On(kernel, [0])
    return kernel


def _kernels(rng: Generator, d: int) -> Any:
    names = ["gaussian", "rbf", "laplacian", "matern12", "matern52", "poly", "linear"]
    count = int(rng.choice([0, 1, 2, 3]))
    return [
        str(rng.choice(names)) if rng.random() < 0.5 else some_kernel(rng, d) for _ in range(count)
    ]


def _kernel(rng: Generator, d: int, owner: str) -> Any:
    if owner.startswith("GKL"):
        box = sorted([power(rng) * rng.choice([-1.0, 0.0, 1.0]), power(rng)])
        degree = int(rng.integers(1, 4))
        sort = TessellatedKernel if rng.random() < 0.5 else GeneralizedPolynomial
        return sort(box[0], box[1], degree)
    names = [
        "gaussian", "rbf", "laplacian", "matern12", "matern32", "matern52", "poly", "polynomial",
        "sigmoid", "linear", "tl1", "precomputed", "gausian", "graph",
    ]  # fmt: skip
    sort = rng.integers(8)
    if sort == 0:
        return lambda X, Y: X @ Y.T
    return some_kernel(rng, d) if sort < 4 else str(rng.choice(names))


def _learner(rng: Generator, d: int) -> Any:
    learners: list[Any] = [
        SCGLogDetLearner(strength=power(rng)), LogDetLearner(), OrderSpectralLearner(),
        KernelEmbedding(), SCGLogDetLearner(kernel="linear"), SVC(), None,
    ]  # fmt: skip
    return learners[rng.integers(len(learners))]


def _machine(rng: Generator, d: int) -> Any:
    machines: list[Any] = [
        SVC(kernel="precomputed"), SVC(), LogisticRegression(), None, GKLClassifier(), 3,
    ]  # fmt: skip
    return machines[rng.integers(len(machines))]


WORDS: dict[str, tuple[Any, ...]] = {
    "partition": (None, "kmeans", *({"n_parts": n} for n in (1, 2, 3, 1000))),
    "linear": (True, False, "auto"),
    "transforms": ("auto", None),
    "support": ("kmeans++", "random"),
    "device": ("cpu",),
    "class_weight": (None, "balanced", {0: 1.0, 1: 5.0}, {0: 1e300}, {0: -1.0}, "abc"),
    "n_jobs": (None, 1, 2),
    "verbose": (False,),
    "memory": (None,),
    "random_state": (0, 1, None, -1, "abc", 2**40),
    "unlabeled": (None, -1, "a", 0),
    "calibration": (None, 0.2, 0.5),
    "betas": (None, [1.0], [0.1, 10.0], [], [-1.0], [1e300], [1e-300, 1.0]),
    "n_members": (1, 2, 4),
    "max_iter": (1, 2, 10, 100, -1),
    "degree": (1, 2, 3, 4),
    "n_candidates": (None, 1, 10, 500),
    "n_components": (1, 2, 5, 50),
    "n_support": ("auto", 1, 2, 10, 1000),
    "n_neighbors": (1, 2, 5, 1000),
    "max_pairs": (None, 1, 10, 5000),
    "max_seconds": (None, 2.0, 1e-9),
    "n_bins": (2, 3, 5, 1000),
    "validation_fraction": (0.2, 0.5, 0.01, 0.99),
}  # fmt: skip
"""Values, most of them valid, of hyper-parameters with a limited range."""

HARMLESS = ("verbose", "memory", "device", "n_jobs")
"""Hyper-parameters that get valid values only: files, output, processors."""

MEMORY = ("n_components", "n_candidates", "n_members", "degree", "n_support")
"""Hyper-parameters that determine the size of an array or the number of fits."""


def hyper_parameters(rng: Generator, kind: type, d: int) -> dict[str, Any]:
    """Return valid and invalid values for some hyper-parameters of a class."""
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()
    }
    settings = {}
    if "random_state" in defaults:
        settings["random_state"] = 0
    if rng.random() < 0.4:
        return settings
    names = rng.choice(list(defaults), size=min(len(defaults), int(rng.choice([1, 1, 2, 4]))))
    for name in map(str, np.unique(names)):
        settings[name] = _value(rng, name, defaults[name], kind, d)
    return settings


def _value(rng: Generator, name: str, default: Any, kind: type, d: int) -> Any:
    if name not in HARMLESS and rng.random() < 0.1:
        value = REFUSED[rng.integers(len(REFUSED))]
        large = isinstance(value, int | float) and abs(value) > 1e4
        return default if large and name in MEMORY and value != 10**400 else value
    constraint = constraints_of(kind).get(name)
    choices = getattr(constraint, "keywords", {}).get("choices")
    if choices:
        return list(choices)[rng.integers(len(choices))]
    makers = {"kernels": _kernels, "learner": _learner, "machine": _machine}
    if name == "kernel":
        return _kernel(rng, d, kind.__name__)
    if name in makers:
        return makers[name](rng, d)
    if name in WORDS:
        return WORDS[name][rng.integers(len(WORDS[name]))]
    if isinstance(default, bool):
        return bool(rng.integers(2))
    if isinstance(default, tuple):
        return (power(rng), power(rng))
    if name == "tol":
        return float(rng.choice([1e-300, 1e-15, 1e-12, 1e-8, 1e-2, 0.5, 1.0, 1e10]))
    if name == "delta":
        return power(rng) if rng.random() < 0.5 else np.array([power(rng) for _ in range(d)])
    if isinstance(default, str) or rng.random() < 0.05:
        words = [default] if isinstance(default, str) else ["auto", "scale"]
        if rng.random() < 0.3:
            return str(rng.choice(words))
    return power(rng) if rng.random() < 0.5 else float(10.0 ** rng.uniform(-4, 4))
