"""Test functions of the LAB-RBF and DANK papers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pliant.core.parameters import check_choice, check_real
from pliant.core.typing import Array
from pliant.core.validation import check_points


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
    >>> from papers.generators import cherkassky_function
    >>> cherkassky_function([[0.5, 1.0, 0.5, 1.0, 1.0, 9.0]], "f2")
    array([25.])
    """
    check_choice("function", function, _FUNCTIONS)
    values, _, d = _FUNCTIONS[function]
    return values(*check_points(X, "X", n_features=d).T)


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
    >>> from papers.generators import step_function
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
