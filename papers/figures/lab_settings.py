"""LAB-RBF as its paper sets it and by default, and the functions of the paper with their noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from papers.figures.samples import Sample
from pliant import LABRBFRegressor
from pliant.core.typing import Array
from pliant.datasets import cherkassky_function

PRINTED: dict[str, Any] = {
    "n_members": 1,
    "objective": "interpolation",
    "solver": "adam",
    "support": "residual",
    "transforms": None,
    "linear": False,
    "alpha": 1e-3,
    "shrinkage": 0.0,
    "validation_fraction": 0.0,
    "learning_rate": 0.05,
}
"""The paper's Algorithm 1 as a setting of the class."""


def algorithm_1(n_support: int, start: float, seed: int, **options: Any) -> LABRBFRegressor:
    """Return the paper's algorithm, with theta = `start` for all points and features at first."""
    given = {**PRINTED, "initial_bandwidth": start, "random_state": seed, **options}
    return LABRBFRegressor(n_support, **given)


def by_default(n_support: int, seed: int, **options: Any) -> LABRBFRegressor:
    """Return the model with all defaults but the number of support points and the options."""
    return LABRBFRegressor(n_support, random_state=seed, **options)


@dataclass(frozen=True)
class Function:
    """A function on a cube, and how much noise its values get."""

    formula: str
    """As it stands above a panel."""
    values: Callable[[Array], Array]
    """Points, shape (n, d), -> values, shape (n,)."""
    low: float
    high: float
    """Ends of every variable."""
    n_features: int
    noise: float
    """Variance of the noise over that of the values."""

    def sample(self, n: int, n_test: int, random: np.random.Generator) -> Sample:
        """Draw uniform points; those to learn from have noise, those to be judged by have none."""
        X = random.uniform(self.low, self.high, (n + n_test, self.n_features))
        y = self.values(X)
        scale = np.sqrt(self.noise * np.var(y))
        return Sample(X[:n], y[:n] + scale * random.standard_normal(n), X[n:], y[n:])


def _cubed(X: Array) -> Array:
    return np.asarray(np.sin(X[:, 0] ** 3))


def _named(name: str) -> Callable[[Array], Array]:
    return partial(cherkassky_function, function=name)


FUNCTIONS = {
    "sin(x^3)": Function("$\\sin(x^3)$", _cubed, -2.0, 2.0, 1, 0.4),
    "f1": Function("$f_1$, two variables", _named("f1"), -2.0, 2.0, 2, 0.1),
    "f2": Function("$f_2$, six variables", _named("f2"), -1.0, 1.0, 6, 0.1),
    "f3": Function("$f_3$, four variables", _named("f3"), -0.25, 0.25, 4, 0.1),
}
"""sin(x^3) and those of Appendix E, with the noise of Figures 4 and 5. The domain of f1 is printed
as [-2, -2]^2, which is a point, and read as [-2, 2]^2; that of sin(x^3) is not given."""
