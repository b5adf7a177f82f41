"""Synthetic problems in the plane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from pliant.core.parameters import check_integer, check_real
from pliant.core.typing import Array
from pliant.core.validation import check_points


def make_clowns(
    n_per_class: int = 100, random_state: int | np.random.RandomState | None = None
) -> tuple[Array, Array]:
    """Generate two classes in the plane: a noisy arch and a round cloud beneath it.

    Class +1 is the arch x2 = 6 - x1^2 + e with x1 uniform on [-3, 3] and e standard normal. Class
    -1 is standard normal around the origin. The classes overlap slightly at the top of the cloud
    and the feet of the arch. Both coordinates are standardised.

    Parameters
    ----------
    n_per_class : int
        Number of points in each class, >= 1.
    random_state : int, RandomState or None
        Random seed.

    Returns
    -------
    X : ndarray of shape (2 n_per_class, 2)
        The points of the arch, then the cloud.
    y : ndarray of shape (2 n_per_class,)
        Labels +1 and -1.
    """
    check_integer("n_per_class", n_per_class, least=1)
    rng = check_random_state(random_state)
    x = rng.uniform(-3, 3, n_per_class)
    arch = np.column_stack([x, 6 - x**2 + rng.standard_normal(n_per_class)])
    cloud = rng.standard_normal((n_per_class, 2))
    X = np.vstack([arch, cloud])
    return (X - X.mean(axis=0)) / X.std(axis=0), np.repeat([1.0, -1.0], n_per_class)


def terrain_elevation(X: npt.ArrayLike, angle: float = 0.0) -> Array:
    """Return the elevation of a canyon with sharp edges, in metres, without noise.

    A river flows east along x2 = 0.4, and a tributary joins it from the north along x1 = 0.65. Each
    has cut a gorge, a platform and a terrace, separated by cliffs, into a plateau. The elevation is
    continuous and piecewise linear: 800 m at the river, about 2100 m at the south rim and 2400 m at
    the north rim. Every cliff is 0.02 wide.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Points of the unit square: east and north. The plateaus extend beyond it.
    angle : float, default=0.0
        Anticlockwise rotation of the canyon about (0.5, 0.5), in degrees. At 0 all edges are
        parallel to the axes.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from pliant.datasets import terrain_elevation
    >>> terrain_elevation([[0.2, 0.4], [0.2, 0.64], [0.2, 0.66]])
    array([ 800., 1850., 2400.])
    """
    # Distances from a river at which the slope changes, and elevations at these distances, in
    # metres: gorge, platform, terrace, rim and plateau.
    places = (0.0, 0.03, 0.05, 0.14, 0.16, 0.24, 0.26, 1.5)
    north_bank = (800.0, 800.0, 1150.0, 1250.0, 1700.0, 1850.0, 2400.0, 2500.0)
    south_bank = (800.0, 800.0, 1150.0, 1200.0, 1600.0, 1650.0, 2100.0, 2000.0)
    tributary_bank = (900.0, 900.0, 1150.0, 1250.0, 1700.0, 1850.0, 2450.0, 2600.0)
    points, turn = check_points(X, "X", n_features=2), np.deg2rad(angle)
    cosine, sine = np.cos(turn), np.sin(turn)
    east, north = ((points - 0.5) @ np.array([[cosine, -sine], [sine, cosine]]) + 0.5).T
    from_main, from_tributary = north - 0.4, np.abs(east - 0.65)
    south = np.interp(-from_main, places, south_bank)
    main = np.interp(from_main, places, north_bank)
    tributary = np.interp(from_tributary, places, tributary_bank)
    return np.where(from_main > 0, np.minimum(main, tributary), south)


def make_terrain(
    n_samples: int = 750,
    *,
    angle: float = 0.0,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Array, Array]:
    """Sample elevations of a canyon with rims and terraces, a regression problem with sharp edges.

    Parameters
    ----------
    n_samples : int, default=750
        Number of points, >= 1, uniform in the unit square.
    angle : float, default=0.0
        Rotation of the canyon, in degrees; see `terrain_elevation`, which returns the noise-free
        elevation of any point.
    noise : float, default=0.0
        Standard deviation of the normal noise, in metres, >= 0.
    random_state : int, RandomState or None
        Random seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        East and north, in [0, 1].
    y : ndarray of shape (n_samples,)
        Elevations in metres.
    """
    check_integer("n_samples", n_samples, least=1)
    check_real("noise", noise, least=0)
    rng = check_random_state(random_state)
    X = rng.uniform(size=(n_samples, 2))
    return X, terrain_elevation(X, angle) + noise * rng.standard_normal(n_samples)


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
