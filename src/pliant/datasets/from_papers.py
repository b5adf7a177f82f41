"""Test functions and classification problems of the LAB-RBF, DANK, KNPL and SCG papers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pliant.core.typing import Array, Indices
from pliant.core.validation import check_choice, check_integer, check_points, check_real


def _f1(u: Array, v: Array) -> Array:
    return np.asarray((1 + np.sin(2 * u + 3 * v)) / (3.5 + np.sin(u - v)))


def _f2(a: Array, b: Array, c: Array, d: Array, e: Array, f: Array) -> Array:
    return np.asarray(10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 5 * d + 10 * e)


def _f3(a: Array, b: Array, c: Array, d: Array) -> Array:
    return np.asarray(np.exp(2 * np.pi * a * np.sin(d) + np.sin(b * c)))


def _surface(u: Array, v: Array) -> Array:
    p, q = u - 0.5, v - 0.5
    return np.asarray(42.659 * (0.1 + p * (p**4 - 10 * p**2 * q**2 + 5 * q**4 + 0.05)))


_FUNCTIONS: dict[str, tuple[Callable[..., Array], float, int]] = {
    "f1": (_f1, 2.0, 2),
    "f2": (_f2, 1.0, 6),
    "f3": (_f3, 0.25, 4),
    "surface": (_surface, 0.5, 2),
}
"""Each function with the half-width c and dimension d of its domain [-c, c]^d."""


def cherkassky_function(X: npt.ArrayLike, function: str = "f1") -> Array:
    r"""Evaluate a smooth test function of Cherkassky, Gehring and Mulier.

    The functions come from Appendix E of the LAB-RBF paper [1]_, except for "surface", which comes
    from Section 6.3.1 of the DANK paper [2]_:

    .. math::

        f_1(x) &= \frac{1 + \sin(2 x_1 + 3 x_2)}{3.5 + \sin(x_1 - x_2)}, \\
        f_2(x) &= 10 \sin(\pi x_1 x_2) + 20 (x_3 - 0.5)^2 + 5 x_4 + 10 x_5 + 0 x_6, \\
        f_3(x) &= \exp(2 \pi x_1 \sin x_4 + \sin(x_2 x_3)), \\
        g(u, v) &= 42.659 (0.1 + p (p^4 - 10 p^2 q^2 + 5 q^4 + 0.05)), \quad p = u - 0.5,
        \; q = v - 0.5.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points with 2 features for "f1" and "surface", 6 for "f2" (the last has no influence), and 4
        for "f3".
    function : {"f1", "f2", "f3", "surface"}, default="f1"
        Name of the function.

    Returns
    -------
    ndarray of shape (n_samples,)

    References
    ----------
    .. [1] F. He, M. He, L. Shi, X. Huang, J. A. K. Suykens. Enhancing Kernel Flexibility via
       Learning Asymmetric Locally-Adaptive Kernels.
    .. [2] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Learning Data-adaptive Non-parametric
       Kernels. JMLR 21 (2020).

    Examples
    --------
    >>> from pliant.datasets import cherkassky_function
    >>> cherkassky_function([[0.5, 1.0, 0.5, 1.0, 1.0, 9.0]], "f2")
    array([25.])
    """
    check_choice("function", function, _FUNCTIONS)
    values, _, d = _FUNCTIONS[function]
    return values(*check_points(X, "X", n_features=d).T)


def make_cherkassky(
    n_samples: int = 200,
    *,
    function: str = "f1",
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[Array, Array]:
    """Sample a smooth test function of Cherkassky, Gehring and Mulier at uniformly random points.

    The domains follow the papers: [-1, 1]^6 for "f2", [-0.25, 0.25]^4 for "f3" and [-0.5, 0.5]^2
    for "surface". For "f1", the domain is [-2, 2]^2, since the paper's [-2, -2]^2 is a single
    point.

    Parameters
    ----------
    n_samples : int, default=200
        Number of points, >= 1. The LAB-RBF paper uses 200 training points, the DANK paper 400.
    function : {"f1", "f2", "f3", "surface"}, default="f1"
        Name of the function, see `cherkassky_function`.
    noise : float, default=0.0
        Variance of the normal noise, >= 0, relative to the variance of the function values.
    random_state : int, numpy.random.Generator or None
        Random seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points.
    y : ndarray of shape (n_samples,)
        Noisy values.

    Examples
    --------
    >>> from pliant.datasets import make_cherkassky
    >>> X, y = make_cherkassky(50, function="f3", noise=0.1, random_state=0)
    >>> X.shape, y.shape
    ((50, 4), (50,))
    """
    check_integer("n_samples", n_samples, least=1)
    check_choice("function", function, _FUNCTIONS)
    check_real("noise", noise, least=0)
    (values, size, d), rng = _FUNCTIONS[function], np.random.default_rng(random_state)
    X = rng.uniform(-size, size, (n_samples, d))
    y = values(*X.T)
    return X, y + np.sqrt(noise * np.var(y)) * rng.standard_normal(n_samples)


def step_function(
    x: npt.ArrayLike, *, height: float = 3.0, period: float = 2.0, sharpness: float = 0.05
) -> Array:
    r"""Evaluate the step function of the DANK paper, Section 6.3.1.

    With step height s, period w and sharpness a, the function is

    .. math::

        g(x) = \left( \frac{\tanh(a x / w - a \lfloor x / w \rfloor - a / 2)}{2 \tanh(a / 2)}
        + \frac{1}{2} + \lfloor x / w \rfloor \right) s.

    With the paper's a = 0.05, tanh is almost linear: its argument is at most 0.025 in magnitude.
    Then g is almost the line s x/w, unlike the figure in the paper. Flat steps with steep
    risers need a sharpness of about 10 or more.

    Parameters
    ----------
    x : array-like of any shape
        Points.
    height, period : float, default=3.0 and 2.0
        Height of a step, and distance between steps, > 0. The defaults are the paper's values.
    sharpness : float, default=0.05
        Sharpness of the steps, > 0. The default is the paper's value.

    Returns
    -------
    ndarray of the shape of x

    Examples
    --------
    >>> from pliant.datasets import step_function
    >>> step_function([-0.5, 0.5, 1.5, 3.5], sharpness=200).round(6)
    array([0., 0., 3., 6.])
    """
    check_real("height", height)
    check_real("period", period, above=0)
    check_real("sharpness", sharpness, above=0)
    places = np.asarray(x, dtype=np.float64) / period
    number = np.floor(places)
    within = np.tanh(sharpness * (places - number) - sharpness / 2)
    return np.asarray((within / (2 * np.tanh(sharpness / 2)) + 0.5 + number) * height)


def make_sandwich(
    n_per_class: int = 100, random_state: int | np.random.Generator | None = None
) -> tuple[Array, Array]:
    """Generate two classes in the plane: a band, and a mixture of Gaussians on both sides of it.

    The problem imitates Figure 2 of the KNPL paper [1]_, which says only that "class +1 is a
    mixture of Gaussian which takes in sandwiches of the class -1". Class +1 is a mixture of six
    equally weighted Gaussians, with centres {-2, 0, 2} x {-1.2, 1.2} and standard deviations
    (0.7, 0.5). Class -1 is uniform on [-3, 3] along the first axis and normal with standard
    deviation 0.5 along the other. The Bayes classifier has an accuracy of about 84.7 %.

    Parameters
    ----------
    n_per_class : int, default=100
        Number of points in each class, >= 1.
    random_state : int, numpy.random.Generator or None
        Random seed.

    Returns
    -------
    X : ndarray of shape (2 n_per_class, 2)
        The points of class +1, then of class -1.
    y : ndarray of shape (2 n_per_class,)
        Labels +1 and -1.

    References
    ----------
    .. [1] F. Liu, X. Huang, C. Gong, J. Yang, L. Li. Nonlinear Pairwise Layer and Its Training for
       Kernel Learning. AAAI (2018).

    Examples
    --------
    >>> from pliant.datasets import make_sandwich
    >>> X, y = make_sandwich(50, random_state=0)
    >>> bool(abs(X[y == -1, 1]).mean() < abs(X[y == 1, 1]).mean())
    True
    """
    check_integer("n_per_class", n_per_class, least=1)
    rng = np.random.default_rng(random_state)
    centres = np.array([[x, side] for side in (-1.2, 1.2) for x in (-2.0, 0.0, 2.0)])
    spread = rng.standard_normal((n_per_class, 2)) * (0.7, 0.5)
    bread = centres[rng.integers(6, size=n_per_class)] + spread
    filling = np.column_stack(
        [rng.uniform(-3, 3, n_per_class), 0.5 * rng.standard_normal(n_per_class)]
    )
    return np.vstack([bread, filling]), np.repeat([1.0, -1.0], n_per_class)


def make_bimodal(
    n_per_class: int = 100,
    *,
    deviation: float = 0.4,
    random_state: int | np.random.Generator | None = None,
) -> tuple[Array, Indices]:
    """Generate two classes in the plane, each with Gaussians at two opposite corners of a square.

    The problem imitates Figure 1 of the SCG paper [1]_: 100 points per class, "the distribution of
    each class is a bimodal Gaussian distribution", and the classes are not linearly separable. The
    paper states neither centres nor standard deviations. Here the centres are (1, 1) and (-1, -1)
    for class 0, and (1, -1) and (-1, 1) for class 1.

    Parameters
    ----------
    n_per_class : int, default=100
        Number of points in each class, >= 1.
    deviation : float, default=0.4
        Standard deviation of each Gaussian along each axis, >= 0.
    random_state : int, numpy.random.Generator or None
        Random seed.

    Returns
    -------
    X : ndarray of shape (2 n_per_class, 2)
        The points of class 0, then of class 1; even and odd rows belong to opposite corners.
    y : ndarray of shape (2 n_per_class,)
        Labels 0 and 1.

    References
    ----------
    .. [1] B. Pan, W.-S. Chen, B. Chen, C. Xu. Efficient learning of supervised kernels with a
       graph-based loss function. Information Sciences (2016).

    Examples
    --------
    >>> from pliant.datasets import make_bimodal
    >>> X, y = make_bimodal(50, deviation=0.1, random_state=0)
    >>> bool(((X[:, 0] * X[:, 1] > 0) == (y == 0)).all())
    True
    """
    check_integer("n_per_class", n_per_class, least=1)
    check_real("deviation", deviation, least=0)
    rng = np.random.default_rng(random_state)
    corners = np.array([[[1.0, 1.0], [-1.0, -1.0]], [[1.0, -1.0], [-1.0, 1.0]]])
    y = np.repeat([0, 1], n_per_class)
    side = np.arange(2 * n_per_class) % 2
    return corners[y, side] + deviation * rng.standard_normal((2 * n_per_class, 2)), y
