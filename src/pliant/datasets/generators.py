"""Generated problems: the one that speed is measured on, and a picture-sized one in the plane."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import minmax_scale
from sklearn.utils import check_random_state

from pliant._typing import Array

__all__ = ["make_clowns", "make_speed_problem"]


def make_speed_problem(n: int, random_state: int = 0) -> tuple[Array, Array]:
    """Make the two-class problem on which speed is measured.

    Twelve Gaussian clusters on the corners of a cube in 8 dimensions, 14 features in all, one label
    in twenty drawn anew; hard enough that a large part of the points become support vectors.

    Parameters
    ----------
    n : int
        Number of points.
    random_state : int
        The seed.

    Returns
    -------
    X : ndarray of shape (n, 14)
        Scaled to [0, 1] in every feature.
    y : ndarray of shape (n,)
        Labels -1 and +1.

    Raises
    ------
    ValueError
        If n < 2.
    """
    if n < 2:
        raise ValueError(f"expected n >= 2, got {n}")
    X, y = make_classification(
        n, 14, n_informative=8, n_clusters_per_class=6, flip_y=0.05, random_state=random_state
    )
    return minmax_scale(X), np.where(y == 1, 1.0, -1.0)


def make_clowns(
    n_per_class: int = 100, random_state: int | np.random.RandomState | None = None
) -> tuple[Array, Array]:
    """Make two classes in the plane: a noisy arch, and a round cloud beneath it.

    Class +1 is the arch x2 = 6 - x1^2 + e with x1 uniform on [-3, 3] and e standard normal; class
    -1 is a standard normal cloud around the origin, so that the classes overlap little at the
    cloud's top and at the arch's feet. Both coordinates are then brought to mean 0 and standard
    deviation 1.

    Parameters
    ----------
    n_per_class : int
        Number of points in each class.
    random_state : int, RandomState or None
        Seed of the draw.

    Returns
    -------
    X : ndarray of shape (2 n_per_class, 2)
        The arch's points, then the cloud's.
    y : ndarray of shape (2 n_per_class,)
        Labels +1 and -1.

    Raises
    ------
    ValueError
        If n_per_class < 1.
    """
    if n_per_class < 1:
        raise ValueError(f"expected n_per_class >= 1, got {n_per_class}")
    rng = check_random_state(random_state)
    x = rng.uniform(-3, 3, n_per_class)
    arch = np.column_stack([x, 6 - x**2 + rng.standard_normal(n_per_class)])
    cloud = rng.standard_normal((n_per_class, 2))
    X = np.vstack([arch, cloud])
    return (X - X.mean(axis=0)) / X.std(axis=0), np.repeat([1.0, -1.0], n_per_class)
